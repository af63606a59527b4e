"""Learn which "her" is an object and which a determiner, and measure it on kinds of text that were not used.

    python tools/her_model.py fit TRAIN         writes src/evenhand/plans/data/her.npz (needs scikit-learn)
    python tools/her_model.py report TEST       prints the tables of docs/explanation/rewriting.md

TRAIN and TEST are folders of `*.txt`, one kind of text a file, one text (or paragraph) a line. The gold is free: "him" and
"his" say what "her" hides, so they are turned into "her" and the model learns to undo it; "me" and "my", "them" and "their",
"us" and "our" say the same of their neighbours and count half. First the words of TRAIN are sorted into kinds by the words that
they stand beside. What the shipped weights were learnt from is in NOTICE.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import evenhand as eh
from evenhand.plans._edits import Edits
from evenhand.plans._her import BUCKETS, Kinds, bucket, features
from evenhand.plans._roles import is_determiner, stands_alone
from evenhand.plans._words import match_case, words_of
from evenhand.stats.rates import wilson

PAIRS = (("him", "his"), ("me", "my"), ("them", "their"), ("us", "our"))
ALTERNATIVE = r"\W*(?:or|and/or|/)\W*"
TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|\.\.+|[^\s\w]")
NEIGHBOURS = 1_500
MOST_NEIGHBOURS = 12_000
"""Most examples of another pair than him and his from one kind of text."""


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


def examples(text: str, pair: tuple[str, str], kinds: Kinds) -> Iterator[tuple[bool, list[int]]]:
    """(is it a determiner, the places of its features) for each pronoun of a pair."""
    hidden, gold = masked(text, pair)
    words = words_of(hidden) if gold else words_of("")
    for i, start in enumerate(words.starts):
        if start in gold and words.low[i] == "her":
            doubts = Edits()
            rule = is_determiner(words, i, doubts)
            seen = features(words, i, rule=rule, unsure=bool(doubts.flags), kinds=kinds)
            yield gold[start], [bucket(f) for f in seen]


def texts_by_kind(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The kinds of text of a folder."""
    for file in sorted(folder.glob("*.txt")):
        yield file.stem, file.read_text(encoding="utf-8").splitlines()


def kinds_of_words(folder: Path) -> Kinds:
    """Words seen at least six times, sorted into 64 and into 200 kinds (k-means) by the positive pointwise mutual
    information with the 1,500 commonest words one and two places before and after them (60 singular vectors)."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.linalg import svds
    from sklearn.cluster import MiniBatchKMeans

    texts = [
        ["^", *TOKEN.findall(line.lower().replace("’", "'")), "^"]
        for _, lines in texts_by_kind(folder)
        for line in lines
    ]
    counts = Counter(token for text in texts for token in text)
    words = [word for word, n in counts.most_common() if n >= 6]
    place = {word: k for k, word in enumerate(words)}
    ids = np.array([place.get(token, -1) for text in texts for token in text])
    rows, columns = [], []
    for k, (here, there) in enumerate(
        ((ids[1:], ids[:-1]), (ids[:-1], ids[1:]), (ids[2:], ids[:-2]), (ids[:-2], ids[2:]))
    ):
        both = (here >= 0) & (there >= 0) & (there < NEIGHBOURS)
        rows.append(here[both])
        columns.append(there[both] + k * NEIGHBOURS)
    row, column = np.concatenate(rows), np.concatenate(columns)
    seen = csr_matrix(
        (np.ones(len(row), np.float32), (row, column)), shape=(len(words), 4 * NEIGHBOURS)
    ).tocoo()
    seen.sum_duplicates()
    by_row, by_column = np.bincount(row, minlength=len(words)), np.bincount(column, minlength=4 * NEIGHBOURS)
    information = np.log(seen.data * len(row) / (by_row[seen.row] * by_column[seen.col]))
    table = csr_matrix((np.maximum(information, 0), (seen.row, seen.col)), shape=seen.shape)
    left, values, _ = svds(table, k=60, random_state=0)
    vectors = left * np.sqrt(values)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
    found = []
    for k in (64, 200):
        means = MiniBatchKMeans(k, random_state=0, n_init=3, batch_size=4096)
        means.fit(vectors[:12_000], sample_weight=np.sqrt(by_row[:12_000]))
        found.append(means.predict(vectors).tolist())
    return {w: (str(coarse), str(fine)) for w, coarse, fine in zip(words, *found, strict=True)}


def fit(folder: Path, to: Path) -> None:
    """Logistic regression (C = 0.5) on all kinds, kept in 8 bits a weight."""
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    kinds = kinds_of_words(folder)
    y: list[bool] = []
    rows: list[list[int]] = []
    weight: list[float] = []
    for kind, texts in texts_by_kind(folder):
        for pair in PAIRS:
            found = [e for text in texts for e in examples(text, pair, kinds)]
            if pair != PAIRS[0] and len(found) > MOST_NEIGHBOURS:
                kept = np.random.default_rng(0).permutation(len(found))[:MOST_NEIGHBOURS]
                found = [found[k] for k in sorted(kept)]
            y += [gold for gold, _ in found]
            rows += [seen for _, seen in found]
            weight += [1.0 if pair == PAIRS[0] else 0.5] * len(found)
        print(kind, len(y), flush=True)
    ends = np.cumsum([0, *(len(row) for row in rows)])
    x = csr_matrix((np.ones(ends[-1], np.float32), np.concatenate(rows), ends), shape=(len(rows), BUCKETS))
    model = LogisticRegression(C=0.5, solver="liblinear", fit_intercept=False, tol=1e-3)
    w = model.fit(x, y, sample_weight=weight).coef_[0]
    scale = np.abs(w).max() / 127
    np.savez_compressed(
        to,
        weights=np.round(w / scale).astype(np.int8),
        scale=np.float64(scale),
        words=np.frombuffer("\n".join(kinds).encode(), np.uint8),
        kinds=np.array([[int(k) for k in both] for both in kinds.values()], np.uint8).T,
    )


def read_back(texts: list[str]) -> Iterator[tuple[bool, bool, bool, float]]:
    """For every hidden pronoun: was it a determiner, did `eh.rewrite` get it right, is it flagged, how sure it was."""
    for text in texts:
        hidden, gold = masked(text, PAIRS[0])
        if not gold:
            continue
        back = eh.rewrite(hidden, pronouns="he", all_people=True)
        became = {c.start: c for c in back.changes}
        doubted = any("object or possessive" in flag for flag in back.flags)
        for start, determiner in gold.items():
            if start in became:
                right = became[start].after.lower() == ("his" if determiner else "him")
                yield determiner, right, doubted, became[start].confidence


def measured(texts: list[str]) -> dict[bool, list[int]]:
    """For objects (False) and determiners (True): how many, wrong, wrong without a flag, flagged."""
    out = {False: [0] * 4, True: [0] * 4}
    for determiner, right, doubted, _ in read_back(texts):
        for k, holds in enumerate((True, not right, not right and not doubted, doubted)):
            out[determiner][k] += holds
    return out


def share(k: int, n: int) -> str:
    """A share with Wilson's interval at 95 %."""
    edge = wilson(k, n)
    return f"{k} of {n} ({edge.low:.1%} to {edge.high:.1%})"


def report(folder: Path) -> None:
    """One line a kind of text, one line for all of them, and how often each degree of confidence was right."""
    print("| texts | object wrong | of these without a flag | determiner wrong | without a flag | flagged |")
    print("|---|---|---|---|---|---|")
    everything: list[str] = []
    for kind, texts in [*texts_by_kind(folder), ("all of them", everything)]:
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
        everything += texts if texts is not everything else []
    print("\n| confidence | changes | mean confidence | right |\n|---|---|---|---|")
    sure = [(confidence, right) for _, right, _, confidence in read_back(everything)]
    for low, high in itertools.pairwise((0, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1.01)):
        inside = [(c, right) for c, right in sure if low <= c < high]
        if inside:
            mean = sum(c for c, _ in inside) / len(inside)
            right = share(sum(right for _, right in inside), len(inside))
            print(f"| {max(low, 0.5)} to {min(high, 1)} | {len(inside)} | {mean:.3f} | {right} |")


if __name__ == "__main__":
    if sys.argv[1] == "fit":
        fit(Path(sys.argv[2]), Path("src/evenhand/plans/data/her.npz"))
    else:
        report(Path(sys.argv[2]))
