"""Rows whose group is known by chances only, e.g. of race by name and address.

Two estimates of a group's mean are made of the chances p. Taken as *weights*, Σ p·t ÷ Σ p is right where a
row's value does not depend on its group beyond what p knows. *Corrected for misclassification*, the
coefficients of the regression of t on all chances without intercept are right where it depends on nothing
but the group. Where value and group go together in the same direction given p and at large, the truth lies
between the two.

The coefficients are weighted means as well, with the weights L = W·P·(P′WP)⁻¹, some of them negative, so
whatever is a function of sums can be had either way.

Source: Chen, Kallus, Mao, Svacha & Udell (2019), Fairness under unawareness; Elzayn et al. (2023), Measuring
and mitigating racial disparities in tax audits; McCartan, Fisher, Goldin, Ho & Imai (2024), Estimating racial
disparities when race is not observed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evenhand._model import BoolArray, FloatArray
from evenhand.stats.missing_groups import Unlabelled
from evenhand.stats.moments import Moments, moments, moments_of_units

MOST_COLLINEAR = 1e8
"""Condition number of the chances' products beyond which they do not tell the groups apart."""


def contrast_weights(chances: FloatArray, weights: FloatArray, contrast: FloatArray) -> FloatArray | None:
    """(n,) weights w of the rows' values whose sum is a contrast of the corrected means; None where the
    chances do not determine it.

    They are W·P·(P′WP)⁺·c. A contrast may be determined where its means are not: of names that all have the
    same chance of some third group, that group's mean is not known, and does not matter to the difference.

    Args:
        chances: (n, k). weights: (n,) case weights. contrast: (k,) c, e.g. 1 and −1 for a difference.

    >>> p = np.array([[0.8, 0.0, 0.2], [0.8, 0.0, 0.2], [0.0, 0.8, 0.2]])
    >>> contrast_weights(p, np.ones(3), np.array([1.0, -1.0, 0.0])).round(3).tolist()
    [0.625, 0.625, -1.25]
    >>> contrast_weights(p, np.ones(3), np.array([1.0, 0.0, 0.0])) is None
    True
    """
    weighted = chances * weights[:, None]
    size, along = np.linalg.eigh(weighted.T @ chances)
    told = size > max(float(size[-1]), 0.0) / MOST_COLLINEAR
    if not told.any() or np.linalg.norm(contrast @ along[:, ~told]) > 1e-6 * np.linalg.norm(contrast):
        return None
    inverse = (along[:, told] / size[told]) @ along[:, told].T
    return np.asarray(weighted @ inverse @ contrast, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Chanced(Unlabelled):
    """Rows, each once for every group that it may be of.

    Args:
        levels: the k groups. chances: (n, k) of all groups, which add up to 1. The weights are case weight ×
            chance of the group that a row stands for; its unit is whose row it is.
    """

    levels: tuple[str, ...]
    chances: FloatArray

    @property
    def people(self) -> int:
        """Rows before they were repeated."""
        return self.n if self.unit is None else len(np.unique(self.unit))

    def only(self, rows: BoolArray) -> Chanced:
        """The rows of a mask."""
        return replace(
            self,
            n=int(rows.sum()),
            terms=None if self.terms is None else self.terms[:, rows],
            weight=None if self.weight is None else self.weight[rows],
            unit=None if self.unit is None else self.unit[rows],
            top=None if self.top is None else self.top[rows],
            chances=self.chances[rows],
        )

    @cached_property
    def corrected_weights(self) -> FloatArray | None:
        """(n, k) weights of the corrected means, those of a group adding up to 1; None where the chances do
        not tell the groups apart.

        >>> p = np.array([[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]])
        >>> made = Chanced(names=("y",), n=3, levels=("a", "b"), chances=p)
        >>> made.corrected_weights.sum(axis=0).round(12).tolist()
        [1.0, 1.0]
        >>> y = p @ [0.6, 0.2]  # of a row that is a with chance p
        >>> (y @ made.corrected_weights).round(12).tolist()
        [0.6, 0.2]
        """
        columns = []
        for i in range(len(self.levels)):
            own = contrast_weights(self.chances, self.weights, np.eye(len(self.levels))[i])
            if own is None and self.chances[:, i].any():
                return None
            columns.append(np.zeros(self.n) if own is None else own)
        return np.column_stack(columns) if self.chances.any() else None

    def corrected(
        self, level: str, other: str, rows: BoolArray | None = None
    ) -> tuple[Moments, Moments] | None:
        """The sums of two groups with corrected weights; None where there are none.

        The two share every row and their errors go against each other. Sums of two groups are taken for
        independent later, so the variances are widened by 1 + |r|, r being the correlation of the two
        coefficients: a difference of equally noisy rows then has the variance that it has.

        Args:
            rows: (n,) which rows count; all by default.
        """
        weights = self.corrected_weights
        if weights is None or self.terms is None:
            return None
        a, b = (weights[:, self.levels.index(name)] for name in (level, other))
        left, right = (_of_units(self, w) for w in (a, b))
        size = float(np.sqrt((left @ left) * (right @ right)))
        by = 1.0 + max(0.0, -float(left @ right) / size) if size > 0 else 1.0
        used = np.ones(self.n, dtype=bool) if rows is None else rows
        return _widened(self._sums(a, used), by), _widened(self._sums(b, used), by)

    def _sums(self, weight: FloatArray, rows: BoolArray) -> Moments:
        if self.terms is None:
            raise TypeError("the rows were not kept")
        if self.unit is None:
            return moments(self.terms[:, rows], self.names, weight[rows])
        return moments_of_units(self.terms[:, rows], self.names, self.unit[rows], weight[rows])


def _of_units(rows: Chanced, weight: FloatArray) -> FloatArray:
    """The weight of every unit."""
    if rows.unit is None:
        return weight
    place = np.unique(rows.unit, return_inverse=True)[1]
    return np.asarray(np.bincount(place, weight), dtype=np.float64)


def _widened(m: Moments, by: float) -> Moments:
    """The same means with so many times their variance."""
    return replace(m, weight2=by * m.weight2, sums2=by * m.sums2, cross=by * m.cross)
