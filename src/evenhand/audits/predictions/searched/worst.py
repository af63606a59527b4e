"""The worst subgroup over features: searched on one half of the rows, confirmed on the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import Claim, evidence_of
from evenhand._declared import Declared
from evenhand._estimate import Evidence
from evenhand._judge import judge
from evenhand._labels import OTHERS, Attribute
from evenhand._model import BoolArray, Exhibit, Factor, FloatArray, Scalar, Span
from evenhand.audits.predictions.asked import Options
from evenhand.audits.predictions.cells import Cell
from evenhand.audits.predictions.claims import label_claims, number_claims
from evenhand.audits.predictions.class_cells import class_terms, read_labels
from evenhand.audits.predictions.class_cells import from_rows as labelled_of
from evenhand.audits.predictions.rows import Rows
from evenhand.audits.predictions.sources import Source
from evenhand.audits.predictions.sources import from_rows as numbers_of
from evenhand.measures import classification, regression
from evenhand.measures.row import Measure
from evenhand.stats.subgroups import LEAST, Subgroup, search

FEWEST = 8 * LEAST
"""Rows without which two halves have no subgroups."""
MOST_SEARCHED = 200_000
"""Rows of the first half that are looked at."""
ATTRIBUTE = "subgroup"


@dataclass(frozen=True, kw_only=True)
class Sought:
    """What is searched, and how what is found is confirmed.

    Args:
        rows: all of them. terms: of each row, by name. claims: row of measures → the claim about summaries of
            some rows, and these summaries.
        given: what all of it is conditional on.
    """

    rows: Rows
    terms: Mapping[str, FloatArray]
    measures: Sequence[Measure]
    confirm: Callable[[Measure, Rows], tuple[Claim[Cell], Source[Cell]] | None]
    given: str | None = None


def add_worst(sought: Sought, declared: Declared, analysis: Analysis) -> None:
    """For each measure the subgroup that the first half of the rows finds, and the claim about it in the
    second; one family."""
    rows = sought.rows
    if len(rows) < FEWEST:
        text = f"{len(rows)} rows: a search for subgroups needs {FEWEST}, half of them to confirm it."
        analysis.note("search-few", text, warning=True)
        return
    first = halves(rows, declared.seed)
    chosen = np.flatnonzero(first)
    if len(chosen) > MOST_SEARCHED:
        drawn = np.random.default_rng(declared.seed).choice(len(chosen), MOST_SEARCHED, replace=False)
        chosen = chosen[np.sort(drawn)]
    features = {name: values[chosen] for name, values in rows.features.items()}
    second = rows.take(~first)
    made: list[tuple[Evidence, Span | None]] = []
    table: list[dict[str, Scalar]] = []
    looked = 0
    for measure in sought.measures:
        value, cases = _by_row(measure, sought.terms)
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        found, n = search(value[chosen], (cases * weight)[chosen], features)
        looked += n
        if found is None:
            continue
        item = _confirmed(found, measure, second, sought, declared)
        if item is None:
            continue
        made.append(item)
        table.append(_line(measure, found, item[0]))
    if not table:
        analysis.note("search-nothing", "No subgroup over these features has enough rows in either half.")
        return
    name = " and ".join(x for x in ("worst subgroup over features", sought.given) if x)
    analysis.findings += judge(
        [item for item, _ in made],
        tolerances=[bounds for _, bounds in made],
        family=name,
        correction=declared.correction,
    )
    analysis.exhibits[name] = Exhibit.of(
        f"Worst subgroups over {', '.join(rows.features)}",
        table,
        note=f"Of {looked:,} subgroups of up to three conditions, the one whose rows in the first half differ"
        " most, in standard errors, from all others. What the search saw is the best of all these and proves"
        " nothing; what the second half says, which the search did not see, is an ordinary claim.",
    )


def halves(rows: Rows, seed: int) -> BoolArray:
    """(n,) the rows that are searched; a unit is wholly in one half."""
    rng = np.random.default_rng(seed)
    if rows.unit is None:
        return np.asarray(rng.permutation(len(rows)) < len(rows) // 2)
    codes = np.unique(rows.unit, return_inverse=True)[1]
    return np.asarray((rng.permutation(int(codes.max()) + 1) % 2 == 0)[codes])


def _by_row(measure: Measure, terms: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """(what is averaged, over which rows) of a measure."""
    if measure.searched is None:
        raise TypeError(measure.name)
    value = np.asarray(measure.searched(terms), dtype=float)
    cases = (
        np.ones(len(value)) if measure.trials is None else np.broadcast_to(measure.trials(terms), value.shape)
    )
    return value * (cases > 0), np.asarray(cases, dtype=float)


def _confirmed(
    found: Subgroup, measure: Measure, second: Rows, sought: Sought, declared: Declared
) -> tuple[Evidence, Span | None] | None:
    inside = found.holds(second.features)
    factor = Factor(np.where(inside, 0, 1).astype(np.int32), (str(found), OTHERS))
    own = sought.confirm(measure, replace(second, groups={ATTRIBUTE: factor}, control={}))
    if own is None or inside.all() or not inside.any():
        return None
    claim, source = own
    cells = source.cells(Attribute((ATTRIBUTE,)), None)
    one = next(c for c in cells if c.label.level == str(found))
    rest = next(c for c in cells if c is not one)
    item = evidence_of(claim, one, rest, level=declared.level, given=sought.given)
    return item.with_estimate(measure=f"{claim.name}, worst subgroup over features"), claim.tolerance


def _line(measure: Measure, found: Subgroup, item: Evidence) -> dict[str, Scalar]:
    e = item.estimate
    return {
        "measure": measure.name,
        "subgroup": str(found),
        "cases searched": found.n,
        "mean there": found.inside,
        "mean of all others": found.outside,
        "standard errors apart": found.statistic,
        "confirmed": e.value,
        "low": e.low,
        "high": e.high,
        "p": e.p_value,
        "rows of the second half": e.n_group,
    }


def worst_of_labels(
    rows: Rows, name: str, declared: Declared, analysis: Analysis, options: Options, given: str | None
) -> None:
    """Of one class against the rest.

    Args:
        name: the class.
    """
    columns = read_labels(rows, options.positive)[2][name]
    names, values = class_terms(columns)
    terms = dict(zip(names, values, strict=True))

    def confirm(measure: Measure, some: Rows) -> tuple[Claim[Cell], Source[Cell]] | None:
        found = labelled_of(some, options.positive, crossing=False)
        if name not in found.compared:
            return None
        source = found.against_rest(name)
        some_cell = source.cells(source.attributes[0], None)[0]
        claims = label_claims(some_cell.moments.names, declared)
        claim = next((c for c in claims if c.name == measure.name), None)
        return None if claim is None else (claim, source)  # type: ignore[return-value]

    own = [r for r in classification.ROWS if r.searched is not None and set(r.terms) <= set(terms)]
    add_worst(Sought(rows=rows, terms=terms, measures=own, confirm=confirm, given=given), declared, analysis)


def worst_of_numbers(rows: Rows, declared: Declared, analysis: Analysis, options: Options) -> None:
    """Of numeric predictions."""
    terms = {"p": rows.columns["y_pred"], "pp": rows.columns["y_pred"] ** 2}
    if "y_true" in rows.columns:
        terms |= {"y": rows.columns["y_true"]}

    def confirm(measure: Measure, some: Rows) -> tuple[Claim[Cell], Source[Cell]] | None:
        found = numbers_of(some, options.quantiles, crossing=False)
        claims = number_claims(found.scale, options.quantiles, declared, found.source.everyone)
        claim = next((c for c in claims if c.name == measure.name and c.given is None), None)
        return None if claim is None else (claim, found.source)

    own = [r for r in regression.ROWS if r.searched is not None and set(r.terms) <= set(terms)]
    add_worst(Sought(rows=rows, terms=terms, measures=own, confirm=confirm), declared, analysis)
