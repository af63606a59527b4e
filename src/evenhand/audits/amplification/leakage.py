"""The leakage part of an amplification audit: attackers on outputs, and on a human baseline of the same
size."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from evenhand._analysis import Analysis
from evenhand._errors import UsageError
from evenhand._model import Exhibit, FloatArray, IntArray, Scalar
from evenhand.audits.amplification.captions import all_words, tokenise
from evenhand.audits.amplification.corpus import Corpus, members
from evenhand.audits.amplification.findings import describe, difference
from evenhand.audits.amplification.prepare import Matched, truth_of
from evenhand.measures.leakage import class_weights, cross_fitted, leaked
from evenhand.stats.interval import Inference, from_standard_error

FOLDS = 5
FEWEST = 50
MOST_IMAGES = 5000
MIN_WORD = 2
BELOW = 2.6
"""Standard errors below chance beyond which an attacker is taken to be misled by balanced data."""


@dataclass(frozen=True, kw_only=True)
class Attackers:
    """Who attacks: wanted (None: where scikit-learn is installed), the classifier, how many seeds."""

    wanted: bool | None
    classifier: Any
    seeds: int
    seed: int

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise UsageError("bad-seeds", "an attacker is trained at least once", given=self.seeds)


def add_leakage(prepared: Matched, attackers: Attackers, level: float, analysis: Analysis) -> None:
    """Findings `leakage` (accuracy) and `LIC` (confidence): outputs minus the human baseline.

    Raises:
        UsageError: `extra-missing` where leakage was asked for and scikit-learn is not installed.
    """
    if attackers.wanted is False:
        return
    if importlib.util.find_spec("sklearn") is None:
        if attackers.wanted:
            raise UsageError(
                "extra-missing", "leakage needs scikit-learn", hint="pip install 'evenhand[sklearn]'"
            )
        analysis.note("no-leakage", "Leakage and LIC need scikit-learn: pip install 'evenhand[sklearn]'.")
        return
    truth, outputs = truth_of(prepared), prepared.outputs
    if truth is None or outputs is None:
        return
    people = _baseline(prepared, truth, outputs)
    if people is None:
        lacking = "captions" if len(outputs.texts) else "items"
        analysis.note(
            "no-leakage",
            f"Leakage holds outputs against what people said of the same images, and the truth has no"
            f" {lacking}: give it with them, or training data of these images.",
        )
        return
    images, groups = _labelled(prepared, truth, outputs)
    images, groups = (a[np.isin(images, people.images)] for a in (images, groups))
    sizes = np.bincount(groups, minlength=2) if len(groups) else np.zeros(2)
    if len(sizes) < 2 or sizes.min() < FEWEST:
        needed = f"{FEWEST} images of each group whose annotation names exactly one"
        analysis.note("no-leakage", f"Leakage needs {needed}; there are {int(sizes.min())}.")
        return
    rng = np.random.default_rng(attackers.seed)
    if len(images) > MOST_IMAGES:
        kept = np.sort(rng.choice(len(images), MOST_IMAGES, replace=False))
        text = f"Leakage is measured on {MOST_IMAGES:,} of {len(images):,} images, drawn at random."
        analysis.note("leakage-sample", text)
        images, groups = images[kept], groups[kept]
    both = (outputs, people)
    drawn = (_features(prepared, both, images, rng) for _ in range(attackers.seeds))
    scores = np.stack([_guessed(features, groups, attackers, k) for k, features in enumerate(drawn)])
    _report(scores, groups, attackers, level, analysis)


def _baseline(prepared: Matched, truth: Corpus, outputs: Corpus) -> Corpus | None:
    """What people said of the outputs' images, in the same form as the outputs; None where nobody knows."""
    if not len(outputs.texts):
        return truth if truth.known else None
    if len(truth.texts):
        return truth
    train = prepared.train
    return train if len(train.texts) and np.isin(outputs.images, train.images).any() else None


def _labelled(prepared: Matched, truth: Corpus, outputs: Corpus) -> tuple[IntArray, IntArray]:
    """(images that truth and outputs share and whose annotation names exactly one group, its code)."""
    shared = np.intersect1d(truth.images, outputs.images)
    rows = np.flatnonzero(np.isin(truth.images, shared))
    named = np.zeros((len(shared), truth.named.shape[1]), dtype=np.bool_)
    np.logical_or.at(named, np.searchsorted(shared, truth.images[rows]), truth.named[rows])
    alone, names = members(named, prepared.who.names, "exactly-one")
    keep = [k for k, g in enumerate(names) if g in prepared.groups]
    one = alone[:, keep].sum(axis=1) == 1
    return shared[one], alone[one][:, keep].argmax(axis=1)


def _guessed(
    features: Sequence[sparse.csr_matrix], groups: IntArray, attackers: Attackers, k: int
) -> FloatArray:
    """(2 corpora, 2 scores, n): right and confident guesses of the k-th attacker, from outputs and from the
    human baseline."""
    how, seed = attackers.classifier, attackers.seed + k
    units = _alike(features)
    guesses = (cross_fitted(m, groups, units=units, classifier=how, folds=FOLDS, seed=seed) for m in features)
    return np.stack([leaked(g, groups) for g in guesses])


def _alike(features: Sequence[sparse.csr_matrix]) -> IntArray | None:
    """(n,) codes of images of which outputs and people say exactly the same: copies, which stay in one fold.

    Where most images are like another, words are too few to tell copies by: None.
    """
    known: dict[bytes, int] = {}
    both = sparse.hstack(features).tocsr()
    both.sort_indices()
    ends = both.indptr
    marks = [both.indices[i:j].tobytes() + both.data[i:j].tobytes() for i, j in pairwise(ends)]
    codes = np.array([known.setdefault(mark, len(known)) for mark in marks], dtype=np.int64)
    return codes if 2 * len(known) > len(codes) else None


def _features(
    prepared: Matched, corpora: tuple[Corpus, Corpus], images: IntArray, rng: np.random.Generator
) -> Sequence[sparse.csr_matrix]:
    """One row an image of each corpus, drawn at random where it has several; the same words may be used in
    both."""
    picked = [_one_row(c, images, rng) for c in corpora]
    words = prepared.who.words
    if not all(len(c.texts) for c in corpora) or words is None:
        return [c.items[p].astype(np.float64) for c, p in zip(corpora, picked, strict=True)]
    banned = words.words()
    texts = [_masked([c.texts[r] for r in p.tolist()], banned) for c, p in zip(corpora, picked, strict=True)]
    tokens = tokenise([*texts[0], *texts[1]])
    bags, n = all_words(tokens), len(images)
    # The vocabulary of the outputs serves for both: human captions have more words to give a group away by.
    seen = np.flatnonzero(np.asarray(bags[:n].sum(axis=0)).ravel() >= MIN_WORD)
    return bags[:n][:, seen].astype(np.float64), bags[n:][:, seen].astype(np.float64)


def _masked(texts: Sequence[str | None], banned: frozenset[str]) -> list[str]:
    longest = sorted(banned, key=len, reverse=True)
    pattern = re.compile(r"\b(?:" + "|".join(re.escape(w).replace(r"\ ", r"\W+") for w in longest) + r")\b")
    return [pattern.sub(" ", (t or "").lower()) for t in texts]


def _one_row(corpus: Corpus, images: IntArray, rng: np.random.Generator) -> IntArray:
    order = rng.permutation(len(corpus))
    first = np.full(int(max(corpus.images.max(), images.max())) + 1, -1, dtype=np.int64)
    first[corpus.images[order]] = order
    return first[images]


def _below_chance(right: FloatArray, weight: FloatArray, groups: IntArray) -> str | None:
    """Why guesses (seeds, 2 corpora, n) cannot be compared: in data balanced on purpose what one fold has too
    much of the others lack, so that an attacker does worse than a coin."""
    chance = 1.0 / len(np.unique(groups))
    by_image = (right * weight).mean(axis=0)
    accuracy, error = by_image.mean(axis=1), by_image.std(axis=1, ddof=1) / np.sqrt(len(groups))
    low = accuracy - chance < -BELOW * error
    if not low.any():
        return None
    which = " and ".join(
        name for name, is_low in zip(("outputs", "human captions"), low, strict=True) if is_low
    )
    return (
        f"the attacker on {which} is right in {accuracy[low].min():.3f} where chance is {chance:.3f}: the"
        " data are balanced so that guesses across folds lean the wrong way, and a difference would say"
        " nothing"
    )


def _report(
    scores: FloatArray, groups: IntArray, attackers: Attackers, level: float, analysis: Analysis
) -> None:
    weight, n = class_weights(groups), len(groups)
    below = _below_chance(scores[:, :, 0], weight, groups)
    items, rows = [], []
    for s, (name, what) in enumerate((("leakage", "accuracy"), ("LIC", "confidence-weighted accuracy"))):
        by_seed = (scores[:, :, s] * weight).mean(axis=-1)
        gap = ((scores[:, 0, s] - scores[:, 1, s]) * weight).mean(axis=0)
        apart = by_seed[:, 0] - by_seed[:, 1]
        between = float(apart.var(ddof=1) / attackers.seeds) if attackers.seeds > 1 else 0.0
        method = f"{attackers.seeds} attackers, each guessing images it never saw; class-balanced {what}"
        made = from_standard_error(
            float(gap.mean()),
            float(np.sqrt(gap.var(ddof=1) / n + between)),
            df=float(n - 1),
            level=level,
            method=f"{method}; paired over images",
        )
        if below is not None:
            made = Inference(value=made.value, level=level, why_not=below)
        items.append(difference(name, made, reference="human captions", n=n, units={"image": n}))
        for k, (o, h) in enumerate(by_seed.tolist()):
            row: dict[str, Scalar] = {"score": name, "what": what, "seed": attackers.seed + k}
            rows.append(row | {"outputs": o, "human baseline": h})
    analysis.findings += describe(items, "leakage")
    analysis.exhibits["leakage"] = Exhibit.of(
        "Leakage: guessing the group from masked outputs",
        rows,
        note="Chance is 1/groups for the accuracy. Group words are masked, the human baseline has one caption"
        " an image and the vocabulary of the outputs. Outputs above the baseline give the group away more"
        " than people's own captions do.",
    )
