"""The difference of two groups' means where sampled units (names) are of a group by chances only.

A name is of group g with the published chance p_g. Where its scores depend on its group, and on nothing else
that goes with the chances, the mean of its scores is expected to be Σ p_g·μ_g, so the regression of names'
means on their chances gives the groups' means μ (`group_chances`). The difference of two of them is a
weighted sum of the names' means, d = Σ w_n·m_n, whose error is estimated over names and texts as that of the
plain difference is (`crossed`), with the same result where every name is surely of its group:

    names   V = Σ w_n²·e_n² ÷ (1 − h_n), e the residuals, h the leverages; degrees of freedom of the sum of
            squares under equal variances (Bell & McCaffrey 2002)
    texts   V = U/(U − 1) · Σ_u (share of d that unit u makes, less the mean share)²
    cells   what both count, of the residuals of each text's own regression

Source: the correction as in `group_chances`; Bell & McCaffrey (2002), Bias reduction in standard errors for
linear regression with multi-stage samples; Clark (1973); Cameron, Gelbach & Miller (2011).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand._model import FloatArray, IntArray
from evenhand.stats.crossed import Component, combined, satterthwaite
from evenhand.stats.group_chances import MOST_COLLINEAR, contrast_weights
from evenhand.stats.interval import Inference, from_standard_error

MOST_MISSING = 0.2
"""Share of the cells (text × name) without a score beyond which nothing is corrected."""
SWEEPS = 50
"""Most rounds of fitting text and name effects where cells are missing."""
METHOD = "difference of means corrected for the chance that a name is of another group"


@dataclass(frozen=True, kw_only=True)
class ByChance:
    """Scores of names that are of each group by chance.

    Args:
        cells: (T, N) mean score of each text with each name; NaN where there is none.
        chances: (N, k) of each name and group, which add up to 1 in each row.
        units: what the texts were drawn from: name → (T,) codes; none where the claim is about these texts.
    """

    cells: FloatArray
    chances: FloatArray
    units: Mapping[str, IntArray]

    @cached_property
    def missing(self) -> float:
        """Share of cells without a score."""
        return 1.0 - float(np.isfinite(self.cells).mean()) if self.cells.size else 1.0

    @cached_property
    def filled(self) -> FloatArray:
        """The cells; those without a score as text and name would have it without each other."""
        known = np.isfinite(self.cells)
        if known.all():
            return self.cells
        texts, names = np.zeros(len(self.cells)), np.zeros(self.cells.shape[1])
        for _ in range(SWEEPS):
            before = names
            texts = np.nanmean(self.cells - names, axis=1)
            names = np.nanmean(self.cells - texts[:, None], axis=0)
            if np.abs(names - before).max(initial=0.0) <= 1e-12 * np.abs(names).max(initial=1.0):
                break
        return np.where(known, self.cells, texts[:, None] + names)

    def weights(self, contrast: FloatArray) -> FloatArray | None:
        """(N,) of the names' means; None where the chances do not determine the contrast."""
        return contrast_weights(self.chances, np.ones(len(self.chances)), contrast)

    def stretch(self, contrast: FloatArray) -> float:
        """How many times a change of every score can move the corrected difference against the plain one: 1
        where all names are surely of their groups.

        >>> p = np.array([[0.9, 0.1], [0.9, 0.1], [0.3, 0.7], [0.3, 0.7]])
        >>> made = ByChance(cells=np.zeros((1, 4)), chances=p, units={})
        >>> round(made.stretch(np.array([1.0, -1.0])), 3)
        1.667
        """
        weights = self.weights(contrast)
        return 1.0 if weights is None else float(np.abs(weights).sum() / 2)

    def difference(self, contrast: FloatArray, *, level: float = 0.95) -> Inference:
        """A contrast of the groups' corrected means, generalised over names and over `units`.

        Args:
            contrast: (k,) e.g. 1 for the group, −1 for its reference.
            level: of the interval, in (0, 1).

        Returns:
            value in units of the score; value without interval and `why_not` where the chances do not tell
            the groups apart, too many cells are missing, or too few names are left.

        >>> p = np.repeat([[0.9, 0.1], [0.3, 0.7]], 4, axis=0)
        >>> cells = np.tile(p @ [0.5, 0.2], (3, 1)) + 0.01 * np.array([1, -1, 1, -1, 1, -1, 1, -1])
        >>> round(ByChance(cells=cells, chances=p, units={}).difference(np.array([1.0, -1.0])).value, 3)
        0.3
        """
        weights = self.weights(contrast)
        if weights is None:
            return _none("the chances of the names do not tell these groups apart", level)
        if self.missing > MOST_MISSING or not np.isfinite(self.filled).all():
            return _none("too many replies are missing to correct for the chances of names", level)
        own = _Names(weights=weights, chances=self.chances)
        means = self.filled.mean(axis=0)
        value = float(weights @ means)
        names = own.component(own.residuals(means))
        if names is None:
            return _none("too few names to correct for their chances", level)
        found = self._spread(own, weights, names)
        if found is None:
            return _none("a unit of the texts stands alone: nothing is sampled over it", level)
        by = 1.0 / (1.0 - self.missing)
        over = "names" + "".join(f" and {name}s" for name in self.units)
        return from_standard_error(
            value,
            float(np.sqrt(by * found.variance)),
            df=found.df,
            level=level,
            method=f"{METHOD}, over {over}",
        )

    def _spread(self, own: _Names, weights: FloatArray, names: Component) -> Component | None:
        """The variance over names and over what the texts were drawn from."""
        means = self.filled.mean(axis=0)
        off = (own.residuals(self.filled) - own.residuals(means)) / len(self.filled)
        parts = [[names]]
        cells: list[Component] = []
        for codes in self.units.values():
            unit = np.unique(codes, return_inverse=True)[1]
            n = int(unit.max(initial=-1)) + 1
            if n < 2:
                return None
            share = np.bincount(unit, self.filled @ weights / len(self.filled), n)
            parts.append(
                [Component(variance=float(n / (n - 1) * np.sum((share - share.mean()) ** 2)), df=n - 1)]
            )
            summed = np.zeros((n, len(weights)))
            np.add.at(summed, unit, off)
            minus = [own.component(row, at_least=0.0) for row in summed]
            both = n / (n - 1) * sum(c.variance for c in minus if c is not None)
            cells.append(Component(variance=both, df=(n - 1) * names.df))
        if len(parts) == 1:
            return names
        if len(parts) == 2:
            return combined(parts, cells)
        # What several kinds of units count in common is left in: the interval is wide rather than narrow.
        single = [part for own_parts in parts for part in own_parts]
        return Component(variance=sum(c.variance for c in single), df=satterthwaite(single))


@dataclass(frozen=True, kw_only=True)
class _Names:
    """The regression on the names' chances, and one contrast of it: (N,) weights, (N, k) chances."""

    weights: FloatArray
    chances: FloatArray

    @cached_property
    def base(self) -> FloatArray:
        """(N, rank) orthonormal columns that span the chances."""
        base, size, _ = np.linalg.svd(self.chances, full_matrices=False)
        return np.asarray(base[:, size**2 > size[0] ** 2 / MOST_COLLINEAR], dtype=np.float64)

    @cached_property
    def room(self) -> FloatArray:
        """(N,) 1 − h: what the leverage of each name leaves."""
        return np.asarray(np.maximum(1.0 - np.sum(self.base**2, axis=1), 0.0))

    def residuals(self, values: FloatArray) -> FloatArray:
        """(..., N) less what the chances explain."""
        return values - (values @ self.base) @ self.base.T

    def component(self, off: FloatArray, at_least: float = 1e-9) -> Component | None:
        """The variance Σ w²e² ÷ (1 − h); None where a name that counts has no like."""
        counts = np.abs(self.weights) > 1e-12 * np.abs(self.weights).max(initial=0.0)
        if len(off) <= self.base.shape[1] or (at_least > 0 and (self.room[counts] < at_least).any()):
            return None
        room = np.maximum(self.room, 1e-9)
        return Component(variance=float(np.sum(self.weights**2 * off**2 / room)), df=self.df)

    @cached_property
    def df(self) -> float:
        """Degrees of freedom of that sum under equal variances: (tr M)² ÷ tr M², where M = D(I − H)D and D²
        are the squared weights over 1 − h."""
        d = np.abs(self.weights) / np.sqrt(np.maximum(self.room, 1e-9))
        mixed = self.base * d[:, None]
        # tr M² of D² − BB′, by parts: no matrix of names × names.
        square = float(np.sum(d**4) - 2 * np.sum(mixed**2 * (d**2)[:, None]) + np.sum((mixed.T @ mixed) ** 2))
        total = float(np.sum(d**2 * self.room))
        return max(1.0, total**2 / square) if square > 0 else 1.0


def _none(why: str, level: float) -> Inference:
    return Inference(value=None, level=level, method=METHOD, why_not=why)
