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
        weighted = self.chances * self.weights[:, None]
        there = weighted.sum(axis=0) > 0
        products = (weighted.T @ self.chances)[np.ix_(there, there)]
        if not there.any() or not np.linalg.cond(products) < MOST_COLLINEAR:
            return None
        found = np.zeros_like(self.chances)
        found[:, there] = np.linalg.solve(products, weighted[:, there].T).T
        return found

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
