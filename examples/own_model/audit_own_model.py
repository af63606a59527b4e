"""Audit your own model: any callable that scores a list of texts.

Run with `python examples/own_model/audit_own_model.py`; it writes report.html beside it.
"""

from __future__ import annotations

from pathlib import Path

import evenhand as eh

WARM = {"kind", "helpful", "thanked", "praised", "reliable", "patient"}


def predict(texts: list[str]) -> list[float]:
    """A stand-in for your model: the share of warm words, as a score between 0 and 1."""
    scores = []
    for text in texts:
        words = [word.strip(".,;!?").lower() for word in text.split()]
        scores.append(min(1.0, 10 * sum(word in WARM for word in words) / max(len(words), 1)))
    return scores


def main() -> None:
    """Audit it with 80 names in 52 texts."""
    model = eh.subject(predict, id="warm-words 1")  # an id with a version: what the journal knows it by
    result = eh.audit_text(model, "person", terms="names/freakonomics", tolerance=0.05)
    print(result)
    result.to_html(Path(__file__).with_name("report.html"))


if __name__ == "__main__":
    main()
