"""Many ranked lists: the exposure that each gives to the groups in it, with lists as the units of inference,
and candidates where they recur."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import Spread, against, claim_of, compare, reference_of
from evenhand._declared import Declared
from evenhand._labels import Attribute, Grouped, Label, groupings
from evenhand._model import BoolArray, Exhibit, Factor, FloatArray, IntArray, Scalar
from evenhand.audits.predictions.asked import Options
from evenhand.audits.predictions.rows import Rows
from evenhand.measures.classification import IMPACT
from evenhand.measures.contrasts import FEWEST_UNITS, from_log
from evenhand.measures.ranking import exposure, taken
from evenhand.measures.regression import EXPOSURE
from evenhand.stats.crossed import Component, combined, nested_parts
from evenhand.stats.interval import Inference, bounds, from_standard_error
from evenhand.stats.rates import binomial_tails, clopper_pearson

FEWEST = 10
FEWEST_TAKEN = 5
"""Members of a group that are taken, below which the log of a share is not normal."""
SMALL = 30
"""Candidates of a group below which it borrows the variance of a much larger one: exposures are skewed."""
METHOD = "ratio of mean exposures over lists with both groups, t on the log scale, error at least by chance"


@dataclass(frozen=True, kw_only=True)
class People:
    """Rows of one group in ranked lists.

    Args:
        given: (n,) exposures. lists, who: (n,) codes of the list and of the candidate.
    """

    given: FloatArray
    lists: IntArray
    who: IntArray


@dataclass(frozen=True, kw_only=True)
class Listed:
    """What a group gets in ranked lists.

    Args:
        means: (lists,) mean exposure of its members in each list, NaN where it has none. size: (lists,) its
            members. places: (lists,) variance of the exposures of all places of a list. level: (lists,) their
            mean. length: (lists,) rows of any group. people: its rows, where candidates recur. unlabelled:
            rows of unknown group.
    """

    label: Label
    means: FloatArray
    size: FloatArray
    places: FloatArray
    level: FloatArray
    length: FloatArray
    people: People | None = None
    unlabelled: int = 0

    @property
    def n(self) -> int:
        """People."""
        return int(self.size.sum())


def ranked_lists(rows: Rows, lists: Factor, declared: Declared, analysis: Analysis, options: Options) -> None:
    """Exposure of every group against the reference, averaged over lists; and who is taken, where lists say
    so (their predictions are 0 and 1) or it is asked for.

    Args:
        lists: which list each row is of; places are counted within it.
    """
    way = -1.0 if options.first == "lowest" else 1.0
    score = way * rows.columns["y_pred"]
    told = options.top is None and bool(np.isin(rows.columns["y_pred"], (0.0, 1.0)).all())
    if way > 0 and not told and _are_places(score, lists):
        text = (
            "The predictions of every list count from 1 to its length, and the highest is taken for the"
            ' first. If they are places, 1 being the first, say so: first="lowest" (--first lowest).'
        )
        analysis.note("list-places", text, warning=True)
    sought = []
    if told or options.top is not None:
        given = score + (way < 0) if told else taken(score, options.top or 1, lists=lists.codes)
        who = "taken from each list" if told else f"top {options.top} of each list"
        row = IMPACT.with_(key="disparate impact")
        claim = claim_of(row, declared, _taken, units={}, given=who, spread=_without_group)
        sought.append((given, claim, Shown("taken", f"Taken from ranked lists ({who})", "share taken", who)))
    if not told:
        claim = claim_of(
            EXPOSURE, declared, _exposures, units={}, given="within lists", spread=_without_group
        )
        claim = replace(claim, primary=claim.primary and not sought)
        sought.append((exposure(score, lists=lists.codes), claim, EXPOSED))
    for groups in groupings(rows.groups, crossing=options.crossing):
        attribute = groups.attribute
        for given, claim, shown in sought:
            sides = [s for s in _sides(given, lists, groups, rows.unit) if s.n >= options.min_group]
            _table(analysis, attribute, sides, declared.level, shown)
            if len(sides) < 2:
                text = f"{attribute} has {len(sides)} group with rows: there is nothing to compare."
                analysis.note("one-group", text, warning=True)
                continue
            reference = reference_of(sides, attribute, declared, analysis)
            own = replace(claim, primary=claim.primary and not attribute.crossed)
            compare(against(sides, reference), [own], declared, analysis, family=str(attribute))
    if rows.weight is not None:
        analysis.note("list-weights", "Lists count alike: the case weights are not used.", warning=True)


@dataclass(frozen=True, slots=True)
class Shown:
    """How what groups get in lists is shown.

    Args:
        name: of the exhibit. title: its title. column: what is averaged. what: what that is, in words.
    """

    name: str
    title: str
    column: str
    what: str


EXPOSED = Shown(
    "exposure",
    "Exposure in ranked lists",
    "exposure",
    "mean of 1/log₂(1 + rank) of the group's members in a list",
)


def _are_places(score: FloatArray, lists: Factor) -> bool:
    """Whether every list of two and more holds each number from 1 to its length once."""
    size = np.bincount(lists.codes, minlength=len(lists.levels))
    order = np.lexsort((score, lists.codes))
    begins = np.repeat(np.cumsum(size) - size, size)
    return bool(size.max(initial=0) > 1 and (score[order] == np.arange(len(score)) - begins + 1).all())


def _without_group(a: Listed, b: Listed) -> Spread[Listed] | None:
    """That some rows have no group; the worst case of lists is not known."""
    rows = max(a.unlabelled, b.unlabelled)
    return Spread(rows=rows) if rows else None


def _sides(given: FloatArray, lists: Factor, groups: Grouped, who: IntArray | None) -> list[Listed]:
    means, size = _by_list(given, lists, groups.factor)
    whole = Factor(np.zeros(len(given), dtype=np.int32), ("",))
    (level,), (rows,) = _by_list(given, lists, whole)
    (square,), _ = _by_list((given - level[lists.codes]) ** 2, lists, whole)
    places = square * rows / np.maximum(rows - 1, 1)
    codes = groups.factor.codes
    people: list[People | None] = [None] * len(groups.labels)
    if who is not None:
        own = [np.flatnonzero(codes == i) for i in range(len(groups.labels))]
        people = [People(given=given[r], lists=lists.codes[r], who=who[r]) for r in own]
    unlabelled = int((codes < 0).sum())
    return [
        Listed(
            label=label,
            means=m,
            size=s,
            places=places,
            level=level,
            length=rows,
            people=p,
            unlabelled=unlabelled,
        )
        for label, m, s, p in zip(groups.labels, means, size, people, strict=True)
    ]


def _by_list(given: FloatArray, lists: Factor, groups: Factor) -> tuple[FloatArray, FloatArray]:
    """(groups, lists): mean exposure of a group in a list (NaN where it is not in it), and its rows there."""
    shape = (len(groups.levels), len(lists.levels))
    known = groups.codes >= 0
    place = groups.codes[known].astype(np.intp) * shape[1] + lists.codes[known]
    size = np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
    total = np.bincount(place, given[known], shape[0] * shape[1]).reshape(shape)
    with np.errstate(invalid="ignore"):
        return total / size, size


def exposure_ratio(means: FloatArray, *, level: float, least: float = 0.0) -> Inference:
    """Mean exposure of the first group ÷ that of the second, over lists that hold both; a list is one
    observation.

    The two groups of a list compete for its places, so their exposures are paired: the variance of the log
    ratio is that of x/x̄ − y/ȳ over lists ÷ their number (Singh & Joachims 2018 for the measure; delta
    method, t with lists − 1 df).

    Args:
        means: (2, lists) mean exposure of either group in each list, NaN where it is not in it.
        least: standard error of the log ratio below which the lists' own is not trusted.

    >>> x = np.array([0.5, 0.6, 0.4, 0.55, 0.45] * 2)
    >>> round(exposure_ratio(np.stack([x, 2 * x[::-1]]), level=0.95).value, 6)
    0.5
    """
    both = means[:, np.isfinite(means).all(axis=0)]
    n = both.shape[1]
    if n == 0:
        return Inference(level=level, method=METHOD, why_not="no list holds both groups")
    x, y = both.mean(axis=1)
    if n < FEWEST:
        why = f"{n} list{'s' * (n != 1)} hold both groups; at least {FEWEST} are needed"
        return Inference(value=float(x / y), level=level, method=METHOD, why_not=why)
    spread = both[0] / x - both[1] / y
    se = max(float(spread.std(ddof=1) / np.sqrt(n)), least)
    on = from_standard_error(float(np.log(x / y)), se, df=n - 1, level=level, method=METHOD)
    return from_log(on)


def _exposures(a: Listed, b: Listed, level: float) -> Inference:
    both = np.isfinite(a.means) & np.isfinite(b.means)
    least = _by_chance(a, b, both)
    found = exposure_ratio(np.stack([a.means, b.means]), level=level, least=least)
    if a.people is not None and b.people is not None and found.se is not None:
        found = _of_candidates(found, (a, b), (a.people, b.people), both)
    return found.with_(detail={**found.detail, "n": tuple(int(side.size[both].sum()) for side in (a, b))})


def _taken(a: Listed, b: Listed, level: float) -> Inference:
    """Ratio of the shares taken; where fewer than `FEWEST_TAKEN` of a group are, of single lists with one
    winner an exact interval, else none."""
    both = np.isfinite(a.means) & np.isfinite(b.means)
    n = int(both.sum())
    hits = [float((side.means * side.size)[both].sum()) for side in (a, b)]
    if n == 0 or (n < FEWEST and hits[1] > 0) or min(hits) >= FEWEST_TAKEN:
        found = _exposures(a, b, level)
        return found.with_(method=found.method.replace("mean exposures", "shares taken"))
    value = float(a.means[both].mean() / b.means[both].mean()) if hits[1] > 0 else None
    one, two = a.size[both], b.size[both]
    single = bool(((a.means * a.size + b.means * b.size)[both] <= 1.0 + 1e-9).all())
    alike = len(np.unique(np.column_stack([one, two]), axis=0)) == 1
    trials = round(sum(hits))
    if not (single and alike and trials and a.people is None):
        few = min(hits)
        why = f"{few:g} of a group are taken in {n} lists; at least {FEWEST_TAKEN} are needed"
        why = why if value is not None else "nobody of the reference is taken"
        return Inference(value=value, level=level, method="ratio of shares taken", why_not=why)
    share = clopper_pearson(round(hits[0]), trials, level=level)
    odds = float(two[0] / one[0])
    low, high = ((share.low or 0.0), (share.high or 1.0))
    null = float(one[0] / (one[0] + two[0]))
    tails = binomial_tails(round(hits[0]), trials, null)
    return Inference(
        value=value,
        low=odds * low / (1 - low) if low < 1 else None,
        high=odds * high / (1 - high) if high < 1 else None,
        p_value=min(1.0, 2 * min(tails)),
        level=level,
        method="Clopper–Pearson's interval of who of the two is taken, as a ratio of their rates",
        why_not=None if value is not None and high < 1 else "nobody of the reference is taken",
        detail={"n": (int(one.sum()), int(two.sum())), "units": {"list": n}},
    )


def _of_candidates(
    found: Inference, sides: tuple[Listed, Listed], people: tuple[People, People], both: BoolArray
) -> Inference:
    """The inference over lists and over candidates, who are nested in the groups and recur in lists.

    V = V_list + V_candidate − V_residual, the residual being counted in both; never less than the larger.
    df is at most that of the fewest clusters. The places of a list are given out once: what one candidate
    gains the other L − 1 of the list lose, alike, and that moves the ratio too.

    Source: Cameron, Gelbach & Miller (2011), Robust inference with multiway clustering, eq. 2.7 to 2.12.
    """
    n, level = int(both.sum()), sides[0].level / sides[0].level[both].mean()
    parts, residuals, counts = [], [], []
    for side, other, own in zip(sides, sides[::-1], people, strict=True):
        mean, rows = side.means[both].mean(), both[own.lists]
        rest_of = np.maximum(side.length - 1.0, 1.0)
        gained = (side.length - side.size + side.size * mean / other.means[both].mean()) / rest_of
        at, who = own.lists[rows], np.unique(own.who[rows], return_inverse=True)[1]
        moved = gained[at] * (own.given[rows] - mean * level[at]) / (side.size[at] * n * mean)
        k = int(who.max(initial=-1)) + 1
        counts.append(k)
        sums, times = np.bincount(who, moved, k), np.bincount(who, minlength=k)
        rest = moved - (sums / np.maximum(times, 1))[who]
        parts.append(Component(variance=float(np.sum(sums**2)) * k / max(k - 1, 1), df=max(k - 1, 1)))
        residuals.append(Component(variance=float(np.sum(rest**2)), df=max(len(rest) - k, 1)))
    method = f"{METHOD}; candidates recur, two-way clustered, Satterthwaite df"
    units = {"list": n, "candidate": sum(counts)}
    if min(counts) < FEWEST_UNITS:
        why = f"{min(counts)} candidates of a group; at least {FEWEST_UNITS} are needed"
        nothing = Inference(value=found.value, level=found.level, method=method, why_not=why)
        return nothing.with_(detail={"units": units})
    lists = Component(variance=(found.se or 0.0) ** 2, df=n - 1)
    whole = combined([[lists], nested_parts(parts, counts, SMALL)], residuals)
    log, df = float(np.log(found.value or 1.0)), min(whole.df, min(n, *counts) - 1)
    on = from_standard_error(log, float(np.sqrt(whole.variance)), df=df, level=found.level, method=method)
    return from_log(on.with_(detail={"units": units}))


def _by_chance(a: Listed, b: Listed, both: BoolArray) -> float:
    """Standard error of the log ratio if the places of every list were dealt at random: sampling without
    replacement.

    Few lists with one place each for a group often lack its rare good places, and then vary too little.
    """
    if not both.any():
        return 0.0
    dealt = a.places[both] * (1 / a.size[both] + 1 / b.size[both])
    return float(np.sqrt(np.sum(dealt)) / np.sum(a.level[both]))


def _table(
    analysis: Analysis, attribute: Attribute, sides: Sequence[Listed], level: float, shown: Shown
) -> None:
    rows: list[dict[str, Scalar]] = []
    best = max((float(side.means[np.isfinite(side.means)].mean()) for side in sides), default=0.0)
    for side in sides:
        own = side.means[np.isfinite(side.means)]
        n, value = len(own), float(own.mean())
        low = high = None
        if n >= FEWEST:
            low, high = bounds(value, float(own.std(ddof=1) / np.sqrt(n)), df=n - 1, level=level)
        row: dict[str, Scalar] = {"group": str(side.label), shown.column: value, "low": low, "high": high}
        row["ratio to the highest"] = value / best if best > 0 else None
        rows.append(row | {"lists": n, "n": side.n})
    analysis.exhibits[f"{shown.name} by {attribute}"] = Exhibit.of(
        f"{shown.title} by {attribute}",
        rows,
        columns=("group", shown.column, "low", "high", "ratio to the highest", "lists", "n"),
        note=f"{shown.what[:1].upper()}{shown.what[1:]}, averaged over the lists that hold the group; each"
        f" list counts once. {100 * level:.0f} % t intervals over lists.",
    )
