"""The leakage part of an amplification audit: attackers on outputs, and on a human baseline of the same
size."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass
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
from evenhand.stats.interval import from_standard_error

FOLDS = 5
FEWEST = 50
MOST_IMAGES = 5000
MIN_WORD = 2


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
    images, groups = _labelled(prepared, truth, outputs)
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
    both = (outputs, truth)
    drawn = (_features(prepared, both, images, rng) for _ in range(attackers.seeds))
    scores = np.stack([_guessed(features, groups, attackers, k) for k, features in enumerate(drawn)])
    _report(scores, groups, attackers, level, analysis)


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
    guesses = (cross_fitted(m, groups, classifier=how, folds=FOLDS, seed=seed) for m in features)
    return np.stack([leaked(g, groups) for g in guesses])


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


def _report(
    scores: FloatArray, groups: IntArray, attackers: Attackers, level: float, analysis: Analysis
) -> None:
    weight, n = class_weights(groups), len(groups)
    items, rows = [], []
    for s, (name, what) in enumerate((("leakage", "accuracy"), ("LIC", "confidence-weighted accuracy"))):
        by_seed = (scores[:, :, s] * weight).mean(axis=-1)
        gap = ((scores[:, 0, s] - scores[:, 1, s]) * weight).mean(axis=0)
        apart = by_seed[:, 0] - by_seed[:, 1]
        between = float(apart.var(ddof=1) / attackers.seeds) if attackers.seeds > 1 else 0.0
        made = from_standard_error(
            float(gap.mean()),
            float(np.sqrt(gap.var(ddof=1) / n + between)),
            df=float(n - 1),
            level=level,
            method=f"{attackers.seeds} attackers, each guessing images it never saw; class-balanced {what};"
            " paired over images",
        )
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
