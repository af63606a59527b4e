"""Names drawn into a group with their published chance, scores that depend on the group drawn.

The audit's own verdicts over 600 runs of nine worlds are in docs/decisions/0026.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

import evenhand as eh
from evenhand.stats.chanced_units import ByChance
from evenhand.terms import terms_from_rows

RUNS = 400
GROUPS = ("white", "black")


@pytest.mark.parametrize("gap", [0.0, 0.3])
@pytest.mark.parametrize(
    ("texts", "names", "groups", "sure", "sds"),
    [
        (20, 40, 2, 0.8, (0.1, 0.05, 0.1)),
        (20, 80, 4, 0.8, (0.1, 0.05, 0.1)),
        (5, 16, 2, 0.8, (0.1, 0.05, 0.1)),
        (3, 40, 2, 0.8, (0.05, 0.1, 0.2)),
        (10, 24, 2, 0.7, (0.2, 0.0, 0.1)),
    ],
)
def test_the_corrected_interval_covers_the_gap(
    texts: int, names: int, groups: int, sure: float, sds: tuple[float, float, float], gap: float
) -> None:
    """In at least 93 %, less two standard errors of so many runs, with names, texts and both as samples."""
    rng = np.random.default_rng(31)
    contrast = np.eye(groups)[0] - np.eye(groups)[1]
    covered = 0
    for _ in range(RUNS):
        shape = np.full((names, groups), 8 * (1 - sure) / (groups - 1))
        shape[np.arange(names), np.arange(names) % groups] = 8 * sure
        drawn = rng.gamma(shape)
        chances = drawn / drawn.sum(axis=1, keepdims=True)
        of = (rng.random((names, 1)) > chances.cumsum(axis=1)).sum(axis=1).clip(max=groups - 1)
        own = gap * (of == 0) + sds[0] * rng.normal(size=names)
        by_text = 0.3 * rng.normal(size=(texts, 1)) + (sds[1] * rng.normal(size=(texts, groups)))[:, of]
        cells = own + by_text + sds[2] * rng.normal(size=(texts, names))
        found = ByChance(cells=cells, chances=chances, units={"text": np.arange(texts)}).difference(contrast)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= gap <= found.high
    assert covered / RUNS >= 0.93 - 2 * (0.93 * 0.07 / RUNS) ** 0.5


def audit(seed: int, gap: float) -> str | None:
    """The verdict on 20 names of each group in 8 texts, of which each is of its group with chance .6 to .95."""
    rng = np.random.default_rng(seed)
    rows, effect = [], {}
    for i in range(40):
        own, name = float(rng.uniform(0.6, 0.95)), f"N{chr(97 + i // 26)}{chr(97 + i % 26)}"
        group = GROUPS[i % 2] if rng.random() < own else GROUPS[1 - i % 2]
        effect[name] = gap * (group == "black") + 0.02 * float(rng.normal())
        rows.append({"name": name, "race": GROUPS[i % 2], "chance": own})
    by_text = 0.05 * rng.normal(size=8)

    def model(given: Sequence[str]) -> list[float]:
        found = []
        for text in given:
            name, _, k = text.partition(" wrote ")
            found.append(0.4 + effect[name] + by_text[int(k)] + 0.01 * float(rng.normal()))
        return found

    texts = eh.templates([f"{{name}} wrote {k}" for k in range(8)])
    terms = terms_from_rows(rows)
    return eh.audit_text(model, texts, terms=terms, control=False, tolerance=0.1).verdict


def test_verdicts_of_doubtful_names_are_rarely_false() -> None:
    """Of a gap that is the tolerance neither "disparity" nor "within" comes more often than in 5 %, less two
    standard errors; without a gap nothing is found."""
    at = Counter(audit(seed, 0.1) for seed in range(60))
    most = 60 * 0.05 + 2 * (60 * 0.05 * 0.95) ** 0.5
    assert max(at["disparity"], at["within tolerance"]) <= most
    none = Counter(audit(seed, 0.0) for seed in range(60))
    assert none["disparity"] + none["gap"] <= most
    assert none["within tolerance"] > 30
    large = Counter(audit(seed, 0.4) for seed in range(20))
    assert large["disparity"] >= 8
