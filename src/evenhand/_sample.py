"""What an audit would draw: from a true gap to the standard error of its estimate, by kind of design."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeAlias

from evenhand.stats.crossed import LEAST_UNITS, Component, combined, nested_parts, satterthwaite
from evenhand.stats.few_units import FEW

Error: TypeAlias = tuple[float, float | None]
"""A standard error and its degrees of freedom; None for a normal estimate."""
MOST = 10**7
"""Units that a search for the cheapest design looks at, at most."""
MOST_TEXTS = 100_000
"""The same for texts."""


class Drawn(Protocol):
    """What would be drawn, and so how exactly a gap would be known."""

    @property
    def log(self) -> bool:
        """Whether gaps are ratios, known on the scale of logarithms."""
        ...

    @property
    def groups(self) -> int:
        """Groups compared; of more than two the claim is their widest gap."""
        ...

    @property
    def own_df(self) -> float | None:
        """Degrees of freedom of a pair's own error, where that of all groups pooled stands beside it."""
        ...

    def error(self, gap: float, /) -> Error | None:
        """Standard error and df of the estimate where the true gap (or the log of the ratio) is this.

        None where the audit would give no interval."""
        ...

    def cheapest(self, enough: Callable[[Drawn], bool]) -> Drawn | None:
        """The smallest sample like this one that is enough."""
        ...

    def __str__(self) -> str: ...


def _least(enough: Callable[[int], bool], low: int, most: int = MOST) -> int | None:
    """The smallest whole number from `low` on that is enough, if one is: what is enough stays so."""
    high = low
    while not enough(high):
        if high >= most:
            return None
        low, high = high + 1, min(2 * high, most)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high


def _two(n: float, other: float | None) -> tuple[float, float]:
    return n, n if other is None else other


def _people(n: float, other: float | None, groups: int) -> str:
    each = f"{n:,.0f}" if other is None or other == n else f"{n:,.0f} and {other:,.0f}"
    return f"{each} a group" + (f", {groups} groups" if groups > 2 else "")


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Two rates, told as a ratio (the impact ratio): `n` people a group, `rate` in the reference."""

    n: float
    rate: float
    n_reference: float | None = None
    groups: int = 2
    log = True
    own_df = None

    def error(self, gap: float, /) -> Error | None:
        """Katz's standard error of the log of a ratio."""
        n, m = _two(self.n, self.n_reference)
        other = min(self.rate * math.exp(-abs(gap)), 1.0)
        if min(n * other, m * self.rate) < 1:  # hardly a case is expected: no log of a rate
            return None
        return math.sqrt((1 - other) / (n * other) + (1 - self.rate) / (m * self.rate)), None

    def cheapest(self, enough: Callable[[Drawn], bool]) -> Drawn | None:
        """By people a group, as many in each."""
        n = _least(lambda n: enough(replace(self, n=n, n_reference=None)), 2)
        return None if n is None else replace(self, n=n, n_reference=None)

    def __str__(self) -> str:
        return f"rates of {self.rate:g}, {_people(self.n, self.n_reference, self.groups)}"


@dataclass(frozen=True, kw_only=True)
class Means:
    """Two means: `n` independent rows a group, of standard deviation `sd`.

    Without `sd` gaps are standardised mean differences, whose divisor is estimated too."""

    n: float
    n_reference: float | None = None
    sd: float | None = None
    groups: int = 2
    log = False
    own_df = None

    def error(self, gap: float, /) -> Error | None:
        """Welch's for equal spreads; for Cohen's d with its divisor's share."""
        n, m = _two(self.n, self.n_reference)
        if min(n, m) < 2 or (self.sd is None and min(n, m) < 5):
            return None
        parts = [Component(variance=1 / k, df=k - 1) for k in (n, m)]
        if self.sd is not None:
            return self.sd * math.sqrt(1 / n + 1 / m), satterthwaite(parts)
        # As the audit widens functions of means that are curved: n/(n − 4).
        own = [(1 / k + gap**2 * k / (2 * (n + m) ** 2)) * k / (k - 4) for k in (n, m)]
        parts = [Component(variance=v, df=k - 1) for v, k in zip(own, (n, m), strict=True)]
        return math.sqrt(sum(p.variance for p in parts)), satterthwaite(parts)

    def cheapest(self, enough: Callable[[Drawn], bool]) -> Drawn | None:
        """By rows a group, as many in each."""
        n = _least(lambda n: enough(replace(self, n=n, n_reference=None)), 2)
        return None if n is None else replace(self, n=n, n_reference=None)

    def __str__(self) -> str:
        spread = "standardised means" if self.sd is None else f"means, sd {self.sd:g}"
        return f"{spread}, {_people(self.n, self.n_reference, self.groups)}"


@dataclass(frozen=True, kw_only=True)
class Paired:
    """One mean of `n` paired differences of standard deviation `sd`."""

    n: float
    sd: float
    groups: int = 2
    log = False
    own_df = None

    def error(self, _gap: float, /) -> Error | None:
        """The paired t's."""
        return None if self.n < 2 else (self.sd / math.sqrt(self.n), self.n - 1)

    def cheapest(self, enough: Callable[[Drawn], bool]) -> Drawn | None:
        """By pairs."""
        n = _least(lambda n: enough(replace(self, n=n)), 2)
        return None if n is None else replace(self, n=n)

    def __str__(self) -> str:
        return f"{self.n:,.0f} pairs, sd {self.sd:g}"


@dataclass(frozen=True, kw_only=True)
class Crossed:
    """A text audit: `n` names a group, each put into every one of `texts`.

    Args:
        n: names a group; 1 for groups that are single words, over which nothing is sampled.
        term_sd: of a name's own effect. text_sd: of a text's reaction to a group. residual_sd: of the rest.
    """

    n: float
    texts: float
    n_reference: float | None = None
    term_sd: float = 0.0
    text_sd: float = 0.0
    residual_sd: float = 0.0
    groups: int = 2
    log = False

    @property
    def own_df(self) -> float | None:
        """Of single words, over texts alone."""
        return self.texts - 1 if self.n < 2 and self.groups > 2 else None

    def error(self, _gap: float, /) -> Error | None:
        """The crossed variance of `evenhand.stats.crossed` on a complete grid, in expectation."""
        names, t, rest = _two(self.n, self.n_reference), self.texts, self.residual_sd**2
        if min(names) < 2:
            if t < 2:
                return None
            pooled = (t - 1) * (self.groups - 1) if self.groups > 2 else t - 1
            return math.sqrt(2 * (self.text_sd**2 + rest) / t), pooled
        if min(names) < LEAST_UNITS:
            return None
        nested = [Component(variance=(self.term_sd**2 + rest / t) / k, df=k - 1) for k in names]
        over_names = nested_parts(nested, [int(k) for k in names])
        if t < 2:
            own = sum(p.variance for p in over_names)
            return math.sqrt(own), satterthwaite(over_names)
        cells = [Component(variance=rest / (k * t), df=(k - 1) * (t - 1)) for k in names]
        spread = 2 * self.text_sd**2 / t + sum(c.variance for c in cells)
        whole = combined([over_names, [Component(variance=spread, df=t - 1)]], cells)
        return math.sqrt(whole.variance), whole.df

    def cheapest(self, enough: Callable[[Drawn], bool]) -> Drawn | None:
        """By the number of probes: names a group × texts. Of few texts nothing is learnt about texts."""
        best: Crossed | None = None
        fewest = int(min(self.texts, FEW))
        sizes = [1] if min(_two(self.n, self.n_reference)) < 2 else _sizes()
        for n in sizes:
            most = MOST if best is None else int(best.n * best.texts / n)
            if most < fewest:
                break
            own = replace(self, n=n, n_reference=None)
            # No number of texts makes up for too few names: asked first.
            if not enough(replace(own, texts=min(most, MOST_TEXTS))):
                continue
            t = _least(partial(_with_texts, own, enough), fewest, min(most, MOST_TEXTS))
            if t is not None:
                best = replace(own, texts=t)
        return best

    def __str__(self) -> str:
        names = [f"{k:,.0f}" for k in dict.fromkeys(_two(self.n, self.n_reference))]
        named = "" if self.n < 2 else f", {' and '.join(names)} names a group"
        groups = f", {self.groups} groups" if self.groups > 2 else ""
        return (
            f"{self.texts:,.0f} texts{named}{groups}, sd {self.term_sd:g} of names,"
            f" {self.text_sd:g} of texts, {self.residual_sd:g} of the rest"
        )


def _with_texts(sample: Crossed, enough: Callable[[Drawn], bool], texts: int) -> bool:
    return enough(replace(sample, texts=texts))


def _sizes() -> list[int]:
    """Names a group that are looked at: each up to 20, then ever sparser."""
    return sorted({*range(LEAST_UNITS, 21), *(int(20 * 1.12**k) for k in range(50))})


@dataclass(frozen=True, kw_only=True)
class Redrawn:
    """What a finding rested on, drawn `times` as often."""

    se: float
    df: float | None
    log: bool
    title: str
    times: float = 1.0
    groups: int = 2
    own_df: float | None = None

    def error(self, _gap: float, /) -> Error | None:
        """That of the finding, whatever the gap."""
        return self.se / math.sqrt(self.times), None if self.df is None else max(1.0, self.df * self.times)

    def cheapest(self, enough: Callable[[Drawn], bool]) -> Drawn | None:
        """In tenths of what was at hand."""
        tenths = _least(lambda k: enough(replace(self, times=k / 10)), 1, 10**5)
        return None if tenths is None else replace(self, times=tenths / 10)

    def __str__(self) -> str:
        return self.title if self.times == 1 else f"{self.times:g} times the units of {self.title}"
