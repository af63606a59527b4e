"""The leakage part of an amplification audit: attackers on outputs, and on a human baseline of the same
size."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import UsageError
from evenhand._estimate import evidence
from evenhand._judge import judge
from evenhand._model import Estimate, Exhibit, FloatArray, IntArray
from evenhand.audits.amplification.captions import all_words, tokenise
from evenhand.audits.amplification.corpus import Corpus, members
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
        analysis.note(
            "no-leakage",
            f"Leakage needs {FEWEST} images of each group whose annotation names exactly one; there are"
            f" {int(sizes.min())}.",
        )
        return
    rng = np.random.default_rng(attackers.seed)
    if len(images) > MOST_IMAGES:
        kept = np.sort(rng.choice(len(images), MOST_IMAGES, replace=False))
        analysis.note(
            "leakage-sample",
            f"Leakage is measured on {MOST_IMAGES:,} of {len(images):,} images, drawn at random.",
        )
        images, groups = images[kept], groups[kept]
    scores = _scores(prepared, truth, outputs, images, groups, attackers, rng)
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


def _scores(
    prepared: Matched,
    truth: Corpus,
    outputs: Corpus,
    images: IntArray,
    groups: IntArray,
    attackers: Attackers,
    rng: np.random.Generator,
) -> FloatArray:
    """(seeds, 2 corpora, 2 scores, n): right and confident guesses from outputs and from the human
    baseline."""
    found = np.zeros((attackers.seeds, 2, 2, len(images)))
    for k in range(attackers.seeds):
        features = _features(prepared, (outputs, truth), images, rng)
        for c, matrix in enumerate(features):
            guesses = cross_fitted(
                matrix, groups, classifier=attackers.classifier, folds=FOLDS, seed=attackers.seed + k
            )
            found[k, c] = leaked(guesses, groups)
    return found


def _features(
    prepared: Matched, corpora: tuple[Corpus, Corpus], images: IntArray, rng: np.random.Generator
) -> tuple[Any, Any]:
    """One row an image of each corpus, drawn at random where it has several; the same words may be used in
    both."""
    picked = [_one_row(c, images, rng) for c in corpora]
    words = prepared.who.words
    if not all(len(c.texts) for c in corpora) or words is None:
        made = [c.items[p].astype(np.float64) for c, p in zip(corpora, picked, strict=True)]
        return made[0], made[1]
    banned = words.words()
    texts = [_masked([c.texts[r] for r in p.tolist()], banned) for c, p in zip(corpora, picked, strict=True)]
    tokens = tokenise([*texts[0], *texts[1]])
    bags = all_words(tokens)
    n = len(images)
    # The vocabulary of the outputs serves for both: human captions have more words to give a group away by.
    seen = np.flatnonzero(np.asarray(bags[:n].sum(axis=0)).ravel() >= MIN_WORD)
    return bags[:n][:, seen].astype(np.float64), bags[n:][:, seen].astype(np.float64)


def _masked(texts: Sequence[str | None], banned: frozenset[str]) -> list[str]:
    import re

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
    weight = class_weights(groups)
    items, rows = [], []
    for s, (name, what) in enumerate((("leakage", "accuracy"), ("LIC", "confidence-weighted accuracy"))):
        by_seed = (scores[:, :, s] * weight).mean(axis=-1)
        gap = ((scores[:, 0, s] - scores[:, 1, s]) * weight).mean(axis=0)
        n = len(groups)
        between = (
            float((by_seed[:, 0] - by_seed[:, 1]).var(ddof=1) / attackers.seeds)
            if attackers.seeds > 1
            else 0.0
        )
        se = float(np.sqrt(gap.var(ddof=1) / n + between))
        made = from_standard_error(
            float(gap.mean()),
            se,
            df=float(n - 1),
            level=level,
            method=f"{attackers.seeds} attackers, each guessing images it never saw; class-balanced {what};"
            " paired over images",
            detail={"units": {"image": n}},
        )
        estimate = Estimate(
            measure=name,
            contrast="difference",
            group="outputs",
            reference="human captions",
            n=n,
            units={"image": n},
        )
        items.append(evidence(estimate, made))
        rows.append((name, what, by_seed))
    analysis.findings += judge(items, tolerance=None, family="leakage", correction="none")
    analysis.exhibits["leakage"] = Exhibit.of(
        "Leakage: guessing the group from masked outputs",
        (
            {
                "score": name,
                "what": what,
                "seed": attackers.seed + k,
                "outputs": float(o),
                "human baseline": float(h),
            }
            for name, what, by_seed in rows
            for k, (o, h) in enumerate(by_seed)
        ),
        note="Chance is 1/groups for the accuracy. Group words are masked, the human baseline has one caption"
        " an image and the vocabulary of the outputs. Outputs above the baseline give the group away more"
        " than people's own captions do.",
    )
