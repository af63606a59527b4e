"""The subgroup, described by a few features, whose mean differs most from everyone else's: a beam search.

What it finds is the best of very many, so what it says of the rows that it looked at means nothing: it is
confirmed on others.

Source: Atzmueller (2015), Subgroup discovery (beam search over conjunctions); Zhang & Neill (2016),
Identifying significant predictive bias in classifiers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand._model import BoolArray, Factor, FloatArray

Feature: TypeAlias = Factor | FloatArray
Kind: TypeAlias = Literal["is", "is not", "at most", "above", "missing"]
CUTS = 5
"""Parts of equal size that the values of a number are cut into."""
MOST_LEVELS = 20
"""Levels of a feature, the most common first, that are looked at."""
BEAM, DEEPEST = 20, 3
"""Subgroups that are followed from each depth, and conditions of one subgroup."""
MOST_EXACT = 10_000_000
"""Conditions × rows that are held in double precision; more in single precision."""
LEAST = 50
"""Cases inside and outside of a subgroup."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a row of a subgroup fulfils.

    Args:
        feature: its name. kind: how its value stands to `value`.
        value: a level, or a cut of a number; "" for missing.

    >>> str(Condition("age", "at most", 25.0)), str(Condition("job", "is not", "none"))
    ('age ≤ 25', 'job ≠ none')
    """

    feature: str
    kind: Kind
    value: str | float

    def __str__(self) -> str:
        shown = f"{self.value:.6g}" if isinstance(self.value, float) else self.value
        sign = {"is": "=", "is not": "≠", "at most": "≤", "above": ">"}.get(self.kind)
        return f"{self.feature} is missing" if sign is None else f"{self.feature} {sign} {shown}"

    def holds(self, features: Mapping[str, Feature]) -> BoolArray:
        """(n,) the rows that fulfil it; a missing value fulfils only that it is missing."""
        values = features[self.feature]
        if isinstance(values, Factor):
            if self.kind == "missing":
                return np.asarray(values.codes < 0)
            inside = values.is_level(str(self.value))
            return inside if self.kind == "is" else np.asarray(~inside & (values.codes >= 0))
        if self.kind == "missing":
            return np.asarray(np.isnan(values))
        cut = float(self.value)
        with np.errstate(invalid="ignore"):
            return np.asarray(values <= cut if self.kind == "at most" else values > cut)


@dataclass(frozen=True, kw_only=True, slots=True)
class Subgroup:
    """What a search found.

    Args:
        conditions: all of them hold. statistic: difference ÷ its standard error, in the rows searched.
        inside, outside: means there. n: cases inside.
    """

    conditions: tuple[Condition, ...]
    statistic: float
    inside: float
    outside: float
    n: int

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions))

    def holds(self, features: Mapping[str, Feature]) -> BoolArray:
        """(n,) the rows of the subgroup."""
        found = self.conditions[0].holds(features)
        for condition in self.conditions[1:]:
            found &= condition.holds(features)
        return found


def conditions_of(features: Mapping[str, Feature]) -> list[Condition]:
    """Every condition that is looked at: the common levels, the cuts between parts of equal size.

    >>> [str(c) for c in conditions_of({"sex": Factor.of("FM" * 50), "x": np.arange(100.0)})][:4]
    ['sex = F', 'sex = M', 'x ≤ 19.8', 'x > 19.8']
    """
    found: list[Condition] = []
    for name, values in features.items():
        if isinstance(values, Factor):
            found += _of_levels(name, values)
            lost = int((values.codes < 0).sum())
        else:
            known = values[~np.isnan(values)]
            lost = len(values) - len(known)
            cuts = np.unique(np.quantile(known, np.arange(1, CUTS) / CUTS)) if len(known) else known
            for cut in cuts:
                found += [Condition(name, "at most", float(cut)), Condition(name, "above", float(cut))]
        if lost >= LEAST:
            found.append(Condition(name, "missing", ""))
    return found


def _of_levels(name: str, values: Factor) -> list[Condition]:
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.levels))
    common = [i for i in np.argsort(-counts, kind="stable")[:MOST_LEVELS].tolist() if counts[i] >= LEAST]
    made = [Condition(name, "is", values.levels[i]) for i in common]
    return made + ([Condition(name, "is not", c.value) for c in made] if len(values.levels) > 2 else [])


def search(
    value: FloatArray, cases: FloatArray, features: Mapping[str, Feature], *, least: int = LEAST
) -> tuple[Subgroup | None, int]:
    """The subgroup whose mean differs most, in standard errors, from that of all others; and how many were
    looked at.

    Args:
        value: (n,) what is averaged. cases: (n,) over which rows, as weights; 0 leaves one out.
        features: name → (n,). least: cases inside and outside.

    >>> x = np.arange(400.0)
    >>> str(search(((x > 319) & (x % 2 > 0)) * 1.0, np.ones(400), {"x": x})[0])
    'x > 319.2'
    """
    conditions = conditions_of(features)
    if not conditions or not cases.any():
        return None, 0
    kind = np.float64 if len(conditions) * len(value) <= MOST_EXACT else np.float32
    rows: npt.NDArray[np.floating[Any]] = np.array([c.holds(features) for c in conditions], dtype=kind)
    both = np.stack([cases, cases * value]).astype(np.float64)
    total, summed = both.sum(axis=1)
    mean = summed / total
    spread = float(cases @ (value - mean) ** 2 / total)
    effective = float(total**2 / (cases @ cases))
    if spread <= 0:
        return None, 0
    best: Subgroup | None = None
    beam: list[tuple[int, ...]] = [()]
    looked: set[tuple[int, ...]] = set()
    for _ in range(DEEPEST):
        scored: list[tuple[float, tuple[int, ...], float, float, float]] = []
        for path in beam:
            held = np.prod(rows[list(path)], axis=0) if path else np.ones(rows.shape[1], dtype=kind)
            n, s = ((rows @ (held * part).astype(kind)).astype(float) for part in both)
            with np.errstate(all="ignore"):
                inside, outside = s / n, (summed - s) / (total - n)
                share = n / total * effective
                z = (inside - outside) / np.sqrt(spread * (1 / share + 1 / (effective - share)))
            fits = (share >= least) & (effective - share >= least) & np.isfinite(z)
            for i in np.flatnonzero(fits).tolist():
                key = tuple(sorted({*path, i}))
                if i in path or key in looked:
                    continue
                looked.add(key)
                scored.append((abs(float(z[i])), key, float(z[i]), float(inside[i]), float(outside[i])))
                if best is None or _better(float(z[i]), float(n[i]), key, best):
                    own = tuple(conditions[k] for k in key)
                    best = Subgroup(
                        conditions=own,
                        statistic=float(z[i]),
                        inside=float(inside[i]),
                        outside=float(outside[i]),
                        n=round(float(n[i])),
                    )
        scored.sort(key=lambda item: (-item[0], item[1]))
        beam = _distinct(scored)
    return best, len(looked)


def _better(statistic: float, n: float, key: tuple[int, ...], best: Subgroup) -> bool:
    """Whether it is further away; of a subgroup and its complement the smaller one is told."""
    more = abs(statistic) - abs(best.statistic)
    return more > 1e-9 or (more > -1e-9 and len(key) == len(best.conditions) and n < best.n - 0.5)


def _distinct(
    scored: Sequence[tuple[float, tuple[int, ...], float, float, float]],
) -> list[tuple[int, ...]]:
    """The first of the best that are not the same rows in other words."""
    found: dict[tuple[float, float, float], tuple[int, ...]] = {}
    for _, key, *numbers in scored:
        found.setdefault((numbers[0], numbers[1], numbers[2]), key)
        if len(found) == BEAM:
            break
    return list(found.values())
