"""Run a spread of audits and write each result.json, with time and version taken out: what a redesign must not change.

    python tools/golden.py before; …change…; python tools/golden.py after; diff -r before after

15 audits, about 20 CPU seconds: numbers (plain, weighted, the notebook's table, streamed from Parquet and CSV), labels, many
classes, rankings, lists, recorded scores, two text audits, two amplification audits, an attack.
"""

from __future__ import annotations

import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import evenhand as eh
from evenhand.engines import files as engine_files

ROWS = 600
MASKS = (
    (r'"created": "[^"]*"', '"created": "-"'),
    (r"evenhand\.audits\.[\w.]+:", "evenhand.audits.:"),
    (r"0x[0-9a-f]+", "0x"),
    (r'"evenhand": "[^"]*"', '"evenhand": "-"'),
)
WORDS = {
    "man": [1, 0, 0.2], "woman": [-1, 0, 0.2], "nice": [0.2, 1, 0], "kind": [0.3, 1, 0.1],
    "lovely": [-0.3, 1, 0], "day": [0, 0.1, 1], "sun": [0.1, 0.2, 1],
}  # fmt: skip


def people() -> dict[str, list[Any]]:
    """Predictions of every kind for the same 600 people."""
    rng = np.random.default_rng(0)
    outcome = rng.normal(size=ROWS)
    made: dict[str, Any] = {
        "y": outcome,
        "sex": rng.choice(list("FM"), ROWS),
        "race": rng.choice(["x", "y", "z"], ROWS),
        "job": rng.choice(["a", "b"], ROWS),
        "age": rng.integers(18, 80, ROWS).astype(float),
        "w": rng.random(ROWS),
    }
    made["p"] = outcome * 0.6 + rng.normal(size=ROWS)
    made |= {"lo": made["p"] - 1, "hi": made["p"] + 1.5, "s": 1 / (1 + np.exp(-outcome))}
    made |= {"yc": (outcome > 0).astype(int), "pc": (made["p"] > 0.2).astype(int)}
    made["q"] = np.array([str(i // 20) for i in range(ROWS)])
    made["mc"] = rng.choice(["red", "green", "blue"], ROWS)
    made["mt"] = rng.choice(["red", "green", "blue"], ROWS)
    return {k: v.tolist() for k, v in made.items()}


def captions(extra: int) -> list[str]:
    """Captions that tie a car to men by `extra` more of them."""
    return [
        f"a {who} with a {item}"
        for who in ("man", "woman")
        for item in ("dog", "cat", "car", "hat")
        for _ in range(6 + extra * (who == "man" and item == "car"))
    ]


def mood(texts: list[str]) -> list[dict[str, float]]:
    """A classifier that one word flips."""
    return [{"good": 0.9 - 0.6 * ("lovely" in t), "bad": 0.1 + 0.6 * ("lovely" in t)} for t in texts]


def streamed(rows: dict[str, list[Any]], kind: str) -> eh.Result:
    """The numeric and the label audit of a file that is read batch by batch."""
    engine_files.STREAM_ROWS = engine_files.STREAM_BYTES = 0
    table = pa.table(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"people.{kind}"
        if kind == "parquet":
            pyarrow.parquet.write_table(table, path)
            return eh.audit_predictions(
                path, y_pred="p", y_true="y", groups=["sex", "race"], control="job", intersections=True
            )
        pyarrow.csv.write_csv(table, path)
        return eh.audit_predictions(
            path, y_pred="pc", y_true="yc", y_score="s", groups=["sex", "race"], intersections=True
        )


def audits() -> dict[str, Callable[[], eh.Result]]:
    """Name → the audit."""
    rows = people()
    by_text = {
        "score": rows["s"], "race": rows["race"], "text": [str(i % 50) for i in range(ROWS)], "lab": rows["yc"]
    }  # fmt: skip
    counts = [
        {"item": ["cooking", "driving"], "man": [m, 1000 - m], "woman": [1000 - m, m]} for m in (340, 160)
    ]
    predictions = eh.audit_predictions
    return {
        "reg": lambda: predictions(
            rows, y_pred="p", y_true="y", groups=["sex", "race"], intersections=True, control="job",
            continuous="age", interval=("lo", "hi"), pinball=0.5, replicates=200, suggest_threshold=True,
            law="four-fifths",
        ),
        "regw": lambda: predictions(rows, y_pred="p", y_true="y", groups="race", weight="w", law="ll144"),
        "nb": lambda: predictions(
            rows, y_pred="p", y_true="y", groups="sex", reference="M", measures="notebook-2022"
        ),
        "cls": lambda: predictions(
            rows, y_pred="pc", y_true="yc", y_score="s", groups=["sex", "race"], intersections=True,
            control="job", law="ll144",
        ),
        "multi": lambda: predictions(rows, y_pred="mc", y_true="mt", groups="race"),
        "rank": lambda: predictions(rows, y_pred="p", groups="sex", task="ranking"),
        "lists": lambda: predictions(rows, y_pred="p", groups="sex", lists="q"),
        "scores": lambda: eh.audit_scores(by_text, scores="score", groups="race", units="text", labels="lab"),
        "text": lambda: eh.audit_text(
            "vader", "person", terms="names/freakonomics", replace="Arthur", most_texts=12
        ),
        "ident": lambda: eh.audit_text("vader", "eec", terms="names/weat-gender"),
        "amp": lambda: eh.audit_amplification(
            captions(3), captions(7), items=["dog", "cat", "car", "hat"], draws=200, leakage=False,
            min_support=2,
        ),
        "ampc": lambda: eh.audit_amplification(*counts, draws=200),
        "attack": lambda: eh.attack(
            mood, ["a nice day", "a kind man", "nice and kind"], embeddings=WORDS, fluency="none", placebos=9,
            match="none",
        ),
        "parquet": lambda: streamed(rows, "parquet"),
        "csv": lambda: streamed(rows, "csv"),
    }  # fmt: skip


def main(out: Path) -> None:
    """Write one file an audit; a failure is its message."""
    out.mkdir(parents=True, exist_ok=True)
    for name, audit in audits().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                text = audit().to_json()
            except Exception as error:  # a failure is a result to compare, too
                text = f"{type(error).__name__}: {error}"
        for pattern, mask in MASKS:
            text = re.sub(pattern, mask, text)
        text = re.sub(r'"table": "[^"]*"', '"table": "-"', text) if name in ("parquet", "csv") else text
        (out / f"{name}.json").write_text(text, encoding="utf-8")
        print(name, len(text), text[:90].replace("\n", " ") if len(text) < 400 else "")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
