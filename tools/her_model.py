"""Learn which "her" is an object and which a determiner, and measure it on kinds of text that were not used.

    python tools/her_model.py fit TRAIN         writes src/evenhand/plans/data/her.npz (needs scikit-learn)
    python tools/her_model.py report TEST       prints the table of docs/explanation/rewriting.md

TRAIN and TEST are folders of `*.txt`, one kind of text a file, one text (or paragraph) a line. The gold is free: "him" and
"his" say what "her" hides, so they are turned into "her" and the model learns to undo it; "me" and "my", "them" and "their",
"us" and "our" say the same of their neighbours and count half. What the shipped weights were learnt from is in NOTICE.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import evenhand as eh
from evenhand.plans._agreement import Edits
from evenhand.plans._her import BUCKETS, bucket, features
from evenhand.plans._roles import is_determiner, stands_alone
from evenhand.plans._words import match_case, words_of
from evenhand.stats.rates import wilson

PAIRS = (("him", "his"), ("me", "my"), ("them", "their"), ("us", "our"))
ALTERNATIVE = r"\W*(?:or|and/or|/)\W*"


def masked(text: str, pair: tuple[str, str]) -> tuple[str, dict[int, bool]]:
    """The text with a pair of pronouns written "her", and by its place whether each was the determiner.

    "A friend of his" (hers) and "him or her" are left as they are.
    """
    pattern = re.compile(rf"(?<![\w'’@#/&-])(?:{pair[0]}|{pair[1]})(?![\w'’-])", re.I)
    words = words_of(text)
    alone = {
        words.starts[i] for i, low in enumerate(words.low) if low == "his" and stands_alone(words, i, Edits())
    }
    parts, at, place, gold = [], 0, 0, {}
    for m in pattern.finditer(text):
        either = re.match(rf"{ALTERNATIVE}hers?\b", text[m.end() :], re.I)
        or_her = re.search(rf"\bhers?{ALTERNATIVE}\Z", text[max(0, m.start() - 12) : m.start()], re.I)
        if m.start() in alone or m.group() == "US" or either or or_her:
            continue
        parts += [text[at : m.start()], match_case("her", m.group())]
        place += m.start() - at
        gold[place] = m.group().lower() == pair[1]
        place, at = place + 3, m.end()
    return "".join([*parts, text[at:]]), gold


def examples(text: str, pair: tuple[str, str]) -> Iterator[tuple[bool, list[int]]]:
    """(is it a determiner, the places of its features) for each pronoun of a pair."""
    hidden, gold = masked(text, pair)
    words = words_of(hidden) if gold else words_of("")
    for i, start in enumerate(words.starts):
        if start in gold and words.low[i] == "her":
            doubts = Edits()
            rule = is_determiner(words, i, doubts)
            seen = features(words, i, rule=rule, unsure=bool(doubts.flags))
            yield gold[start], [bucket(f) for f in seen]


def kinds(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The kinds of text of a folder."""
    for file in sorted(folder.glob("*.txt")):
        yield file.stem, file.read_text(encoding="utf-8").splitlines()


def fit(folder: Path, to: Path) -> None:
    """Logistic regression (C = 2) on all kinds, kept in 8 bits a weight."""
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    y: list[bool] = []
    rows: list[list[int]] = []
    weight: list[float] = []
    for kind, texts in kinds(folder):
        for pair in PAIRS:
            found = [e for text in texts for e in examples(text, pair)]
            y += [gold for gold, _ in found]
            rows += [seen for _, seen in found]
            weight += [1.0 if pair == PAIRS[0] else 0.5] * len(found)
        print(kind, len(y), flush=True)
    ends = np.cumsum([0, *(len(row) for row in rows)])
    x = csr_matrix((np.ones(ends[-1], np.float32), np.concatenate(rows), ends), shape=(len(rows), BUCKETS))
    model = LogisticRegression(C=2, solver="liblinear", fit_intercept=False, tol=1e-3)
    w = model.fit(x, y, sample_weight=weight).coef_[0]
    scale = np.abs(w).max() / 127
    np.savez_compressed(to, weights=np.round(w / scale).astype(np.int8), scale=np.float64(scale))


def measured(texts: list[str]) -> dict[bool, list[int]]:
    """For objects (False) and determiners (True): how many, wrong, wrong without a flag, flagged, by `eh.rewrite`."""
    out = {False: [0] * 4, True: [0] * 4}
    for text in texts:
        hidden, gold = masked(text, PAIRS[0])
        if not gold:
            continue
        back = eh.rewrite(hidden, pronouns="he", all_people=True)
        became = {c.start: c.after.lower() for c in back.changes}
        doubted = any("object or possessive" in flag for flag in back.flags)
        for start, determiner in gold.items():
            if start in became:
                bad = became[start] != ("his" if determiner else "him")
                for k, holds in enumerate((True, bad, bad and not doubted, doubted)):
                    out[determiner][k] += holds
    return out


def report(folder: Path) -> None:
    """One line a kind, with Wilson intervals at 95 %."""

    def share(k: int, n: int) -> str:
        edge = wilson(k, n)
        return f"{k} of {n} ({edge.low:.1%} to {edge.high:.1%})"

    print("| texts | object wrong | of these without a flag | determiner wrong | without a flag | doubted |")
    print("|---|---|---|---|---|---|")
    for kind, texts in kinds(folder):
        found = measured(texts)
        (n, wrong, silent, doubt), (m, bad, quiet, doubts) = found[False], found[True]
        cells = (
            share(wrong, n),
            share(silent, n),
            share(bad, m),
            share(quiet, m),
            f"{(doubt + doubts) / (n + m):.1%}",
        )
        print(f"| {kind} | {' | '.join(cells)} |")


if __name__ == "__main__":
    if sys.argv[1] == "fit":
        fit(Path(sys.argv[2]), Path("src/evenhand/plans/data/her.npz"))
    else:
        report(Path(sys.argv[2]))
