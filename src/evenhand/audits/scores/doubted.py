"""Names that are of their group by chances: the comparison corrected for it, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import Claim, Spread, either_way_rows
from evenhand._estimate import by_chance_of_names
from evenhand._labels import OTHERS, Label
from evenhand._model import Exhibit, FloatArray, IntArray, Observations, Scalar
from evenhand.audits.scores.gaps import Gap, gap_of, range_of
from evenhand.audits.scores.sides import NameChances, Question, Side
from evenhand.stats.chanced_units import ByChance
from evenhand.stats.few_units import Pair, unit_means, with_hidden

DOUBTFUL = 0.8
"""Mean chance of a group's names below which there is a warning."""
SHOWN, NAMED = 5, 2
"""Least sure names in the table of a group, and in the warning."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Corrected:
    """The rows of some groups, as texts × names with the chances of the names.

    Args:
        sides: the groups that are compared. over: the units that claims generalise over.
    """

    observations: Observations
    asked: Question
    names: NameChances
    sides: Sequence[Side]
    over: tuple[str, ...]

    @cached_property
    def _axes(self) -> tuple[IntArray, IntArray, IntArray]:
        """(text of each row, name of each row, names' codes), of the groups' rows, scored or not."""
        rows = np.logical_or.reduce([side.asked for side in self.sides])
        term = self.observations.units[self.names.unit].codes
        own, name = np.unique(term[rows], return_inverse=True)
        text = np.zeros(len(name), dtype=np.int64)
        for unit in dict.fromkeys((*self._texts, "text")):
            codes = self.observations.units[unit].codes[rows]
            text = np.unique(text * (int(codes.max(initial=0)) + 2) + codes + 1, return_inverse=True)[1]
        return text, name, own

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return tuple(u for u in self.over if u != self.names.unit)

    @cached_property
    def _score(self) -> FloatArray:
        rows = np.logical_or.reduce([side.asked for side in self.sides])
        return self.observations.columns[self.asked.score][rows]

    @cached_property
    def table(self) -> ByChance:
        """Every text with every name."""
        text, name, own = self._axes
        known = np.isfinite(self._score)
        shape = (int(text.max(initial=-1)) + 1, len(own))
        cell = text * shape[1] + name
        count = np.bincount(cell[known], minlength=shape[0] * shape[1])
        total = np.bincount(cell[known], self._score[known], shape[0] * shape[1])
        cells = np.where(count > 0, total / np.maximum(count, 1), np.nan).reshape(shape)
        first = np.unique(text, return_index=True)[1]
        rows = np.flatnonzero(np.logical_or.reduce([side.asked for side in self.sides]))[first]
        levels = self.observations.units[self.names.unit].levels
        chances = self.names.chances.values[[self.names.row[levels[code]] for code in own.tolist()]]
        units = {u: self.observations.units[u].codes[rows] for u in self._texts}
        return ByChance(cells=cells, chances=chances, units=units)

    def contrast(self, a: Label, b: Label) -> FloatArray:
        """(k,) of the groups' means: 1 for the group, −1 for its reference, or shared among all others."""
        levels = self.names.chances.levels
        found = np.zeros(len(levels))
        found[levels.index(a.level)] = 1.0
        if b.parts != (OTHERS,):
            found[levels.index(b.level)] = -1.0
            return found
        others = [levels.index(s.label.level) for s in self.sides if s.label != a]
        share = self.table.chances[:, others].sum(axis=0)
        found[others] = -share / share.sum()
        return found

    def gap(self, a: Side, b: Side) -> Gap:
        """The corrected gap of two groups, with what few differing names and missing replies allow."""
        plain = gap_of(self.observations, self.asked, self.over, a, b, None)
        contrast = self.contrast(a.label, b.label)
        stretch = self.table.stretch(contrast)
        found = self.table.difference(contrast)
        if plain.found.se is None and plain.found.why_not is not None:
            found = found.with_(low=None, high=None, p_value=None, se=None, why_not=plain.found.why_not)
        found = with_hidden(found, [self._means(a, b)], times=stretch**2)
        return replace(
            plain, found=found, spread=plain.spread * stretch, slack=self._slack(contrast), missing=None
        )

    def _means(self, a: Side, b: Side) -> Pair:
        codes, score = (
            self.observations.units[self.names.unit].codes,
            self.observations.columns[self.asked.score],
        )
        one, two = (unit_means(score, codes, side.rows) for side in (a, b))
        return one, two

    def _slack(self, contrast: FloatArray) -> tuple[float, float]:
        """How far down and up any scores in the place of missing replies could move the corrected gap."""
        weights = self.table.weights(contrast)
        if weights is None or not self.asked.counts_missing:
            return 0.0, 0.0
        low, high = range_of(self.observations, self.asked.score)
        _, name, own = self._axes
        lost = np.bincount(name, ~np.isfinite(self._score), len(own)) / np.bincount(name, minlength=len(own))
        means = self.table.filled.mean(axis=0)
        down, up = lost * (low - means), lost * (high - means)
        ends = np.sort(np.stack([weights * down, weights * up]), axis=0).sum(axis=1)
        return max(0.0, -float(ends[0])), max(0.0, float(ends[1]))


def corrected_of(
    observations: Observations, asked: Question, sides: Sequence[Side], over: Sequence[str]
) -> Corrected | None:
    """The corrected comparison of these groups; None where their names are sure, where the chances of all
    groups are not known, or where nothing is sampled over names."""
    attribute = None if not sides or sides[0].label.attribute is None else str(sides[0].label.attribute)
    names = asked.chances.get(attribute or "")
    if names is None or names.sure or not names.chances.whole or names.unit not in over:
        return None
    return Corrected(observations=observations, asked=asked, names=names, sides=sides, over=tuple(over))


def either_way(corrected: Corrected, a: Side, b: Side) -> Spread[Side]:
    """The two sides as they are listed, and corrected, which is read by `Corrected.gap`."""
    names = corrected.table.cells.shape[1]
    if corrected.table.weights(corrected.contrast(a.label, b.label)) is None:
        return Spread(rows=names, doubt=by_chance_of_names)
    one, two = replace(a, corrected=True), replace(b, corrected=True)
    return Spread(rows=names, doubt=by_chance_of_names, low=(one, two), high=(one, two))


def show_either_way(
    claim: Claim[Side], pairs: Sequence[tuple[Side, Side]], attribute: str, level: float, analysis: Analysis
) -> None:
    """Every gap of the names as they are listed, and corrected, where they are of their groups by chances."""
    found = either_way_rows(claim, pairs, level, "as listed")
    note = (
        "As listed: every name counts for the group that it is listed in. Corrected: the regression of names'"
        " mean scores on their chances, which is the gap between names that are surely of the one and surely"
        " of the other group, where a score depends on the group and on nothing else that goes with the"
        " chances. Verdicts are those that hold with both intervals."
    )
    title = f"{attribute} known by chances: {claim.name} either way"
    analysis.show({f"chances of {attribute}": Exhibit.of(title, found, note=note)})


def note_doubt(chances: Mapping[str, NameChances], word: str, analysis: Analysis) -> None:
    """How surely the names are of their groups, as a note and a table of each attribute.

    Args:
        word: what a reader calls one of them.
    """
    for attribute, names in chances.items():
        if names.sure:
            continue
        rows = [_told(names, level) for level in names.listed]
        means = ", ".join(f"{row['mean chance']:.2f} {row['group']}" for row in rows)
        way = (
            " A verdict on mean scores is given where it holds with the names as they are listed and"
            " corrected for these chances; other measures, and intersections, take them as they are listed."
            if names.chances.whole
            else " The list does not say of which other groups they may be, so nothing is corrected: all"
            " of it is about the names as they are listed. See what --surer-than leaves of it."
        )
        said = f"{attribute}: the {word}s are of their groups by chances (mean chance {means})."
        analysis.note("names-by-chance", said + way)
        title = f"How surely the {word}s are of their groups: {attribute}"
        meant = f"Doubtful: a mean chance below {DOUBTFUL:g}, or {word}s of which another group is likelier."
        analysis.show({f"names by {attribute}": Exhibit.of(title, rows, note=meant)})
        if doubtful := [row for row in rows if row["doubtful"]]:
            least = "; ".join(
                f"{row['group']}: {', '.join(str(row['least sure']).split(', ')[:NAMED])}" for row in doubtful
            )
            analysis.note(
                "doubtful-names",
                f"{attribute}: some groups' {word}s are doubtful ({least}). Where scores follow the group,"
                " the gap between such names is smaller than that between the groups.",
                warning=True,
            )


def stretch_of(names: NameChances) -> float | None:
    """How many times the gap between listed names the gap between groups is, of the two least sure groups;
    None where names are sure, or nothing is corrected."""
    if names.sure or not names.chances.whole:
        return None
    listed, levels = list(names.listed), names.chances.levels
    means = {level: names.chances.values[names.listed[level]].mean(axis=0) for level in listed}
    gaps = [(means[a] - means[b])[[levels.index(a), levels.index(b)]] for a, b in combinations(listed, 2)]
    shares = [float(own[0] - own[1]) / 2 for own in gaps]
    return 1.0 / min(shares) if shares and min(shares) > 0 else None


def _told(names: NameChances, level: str) -> dict[str, Scalar]:
    """What is said of the names of one group."""
    listed, terms, own = names.listed[level], list(names.row), names.chances.own
    least = sorted(listed, key=lambda i: float(own[i]))[:SHOWN]
    mean = float(np.mean(own[list(listed)]))
    likelier = sum(bool((names.chances.values[i] > own[i]).any()) for i in listed)
    return {
        "group": level,
        "names": len(listed),
        "mean chance": mean,
        "likelier of another group": likelier,
        "doubtful": mean < DOUBTFUL or likelier > 0,
        "least sure": ", ".join(f"{terms[i]} {own[i]:.2f}" for i in least),
    }
