"""The regression audit: claims about every attribute, within and over strata, with the exhibits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import UsageError
from evenhand._estimate import Evidence
from evenhand._judge import judge
from evenhand._model import Estimate
from evenhand.audits.predictions import exhibits
from evenhand.audits.predictions.bootstrap import add_bootstrap
from evenhand.audits.predictions.cells import Cell, selected_term
from evenhand.audits.predictions.claims import Claim, bounds_of, difference, regression_claims
from evenhand.audits.predictions.compare import (
    Settings,
    because,
    compare,
    reference_cell,
    widest,
    worst_subgroup,
)
from evenhand.audits.predictions.rates import hits
from evenhand.audits.predictions.sources import Source
from evenhand.audits.predictions.thresholds import add_suggestion
from evenhand.measures.regression import MEAN
from evenhand.stats.interval import Inference
from evenhand.stats.strata import mantel_haenszel_ratio, pooled_difference

TINY = 5


def regression(
    source: Source,
    settings: Settings,
    analysis: Analysis,
    *,
    quantiles: Sequence[float],
    measures: str | Sequence[str],
    suggest: bool = False,
    replicates: int = 0,
) -> None:
    """Everything about numeric predictions (and rankings) whose cells `source` gives."""
    claims = kept(regression_claims(source.frame, quantiles, seed=settings.seed), measures)
    sized = replace(settings, units=units(source.everyone))
    _notice(source, analysis)
    for attribute in source.attributes:
        cells = source.cells(attribute, None)
        _remark(cells, attribute, analysis)
        if len(cells) < 2:
            continue
        reference = reference_cell(cells, attribute, sized, analysis)
        analysis.findings += compare(cells, reference, claims, sized, family=attribute)
        analysis.findings += widest(cells, claims, sized, attribute)
        if " & " in attribute:
            analysis.findings += worst_subgroup(cells, claims, sized, attribute)
        exhibits.add_regression(
            analysis, source.frame, cells, reference, source.everyone, attribute, sized, quantiles
        )
        if suggest:
            add_suggestion(analysis, source.frame, cells, attribute, quantiles, level=settings.level)
        if replicates:
            add_bootstrap(analysis, source, attribute, reference, claims, sized, replicates)
        for name in source.strata:
            _strata(source, attribute, name, reference, claims, sized, analysis)


def _strata(
    source: Source,
    attribute: str,
    name: str,
    reference: Cell,
    claims: Sequence[Claim],
    settings: Settings,
    analysis: Analysis,
) -> None:
    """The claims within each level of a legitimate factor, and pooled over the levels."""
    simple = [c for c in claims if c.given is None]
    strata: list[tuple[Cell, list[Cell]]] = []
    for level in source.strata[name]:
        cells = source.cells(attribute, (name, level))
        own = next((c for c in cells if c.label == reference.label), None)
        if own is None or len(cells) < 2:
            who = reference.label.partition("=")[2]
            analysis.note(
                "empty-stratum", f"{name}={level} has no {who} or nobody else of {attribute}: not compared."
            )
            continue
        strata.append((own, cells))
        where = f"{name}={level}"
        analysis.findings += compare(
            cells, own, simple, settings, family=f"{attribute} given {where}", given=where
        )
    labels = list(dict.fromkeys(c.label for own, cells in strata for c in cells if c is not own))
    items: list[Evidence] = []
    bounds = []
    for claim in simple:
        if claim.key not in ("disparate impact", "average score"):
            continue
        for label in labels:
            pairs = [(c, own) for own, cells in strata for c in cells if c.label == label]
            items.append(_pooled(claim, pairs, label, reference.label, name, settings.level))
            bounds.append(bounds_of(claim, settings.tolerances[claim.key], settings.units))
    analysis.findings += judge(
        items,
        tolerances=bounds,
        family=f"{attribute} with {name} held equal",
        correction=settings.correction,
        say=because,
    )


def _pooled(
    claim: Claim, pairs: Sequence[tuple[Cell, Cell]], label: str, reference: str, name: str, level: float
) -> Evidence:
    def infer(at: float) -> Inference:
        if claim.key == "disparate impact":
            term = selected_term(float(claim.measure.partition("q=")[2]))
            counts = (
                np.array([(*hits(a.moments, term), *hits(b.moments, term)) for a, b in pairs])
                .reshape(-1, 4)
                .T
            )
            return mantel_haenszel_ratio(*counts, level=at)
        gap = difference(MEAN)
        found = [gap(a, b, at) for a, b in pairs]
        values = [np.nan if f.value is None or f.se is None else f.value for f in found]
        ses = [np.nan if f.se is None else f.se for f in found]
        sizes = [[c.moments.n_effective for c in side] for side in zip(*pairs, strict=True)] or [[], []]
        return pooled_difference(values, ses, sizes[0], sizes[1], level=at)

    found, inner = infer(level), infer(1 - 2 * (1 - level))
    item = Estimate(
        measure=claim.measure,
        contrast=claim.contrast,
        group=label,
        reference=reference,
        given=f"{name} held equal",
        value=found.value,
        low=found.low,
        high=found.high,
        level=level,
        p_value=found.p_value,
        n=sum(a.n + b.n for a, b in pairs),
        n_group=sum(a.n for a, _ in pairs),
        n_reference=sum(b.n for _, b in pairs),
        method=found.method,
        why_not=found.why_not,
    )
    narrow = None if inner.low is None or inner.high is None else (inner.low, inner.high)
    return Evidence(estimate=item, narrow=narrow)


def kept(claims: Sequence[Claim], measures: str | Sequence[str]) -> list[Claim]:
    """The claims of these names (of a key or of a measure); all for "default".

    Raises:
        UsageError: `unknown-measure`.
    """
    wanted = [measures] if isinstance(measures, str) else list(measures)
    if wanted == ["default"]:
        return list(claims)
    keys = {c.key for c in claims} | {c.measure for c in claims}
    for name in wanted:
        if name not in keys:
            raise UsageError(
                "unknown-measure",
                "no such measure here",
                given=name,
                available=sorted({"notebook-2022", *keys}),
            )
    return [c for c in claims if c.key in wanted or c.measure in wanted]


def units(everyone: Cell) -> dict[str, float]:
    """The standard deviations that some tolerances are measured in."""
    means = everyone.moments.means
    found = {"sd of predictions": float(np.sqrt(max(means["pp"] - means["p"] ** 2, 0.0)))}
    if "yy" in means:
        found["sd of outcomes"] = float(np.sqrt(max(means["yy"] - means["y"] ** 2, 0.0)))
    return found


def _remark(cells: Sequence[Cell], attribute: str, analysis: Analysis) -> None:
    for c in cells:
        if c.n < TINY:
            text = (
                f"{c.label} has {c.n} row{'s' * (c.n != 1)}: what can be estimated is, the rest says why not."
            )
            analysis.note("tiny-group", text, warning=True)
    if len(cells) < 2:
        text = f"{attribute} has {len(cells)} group{'s' * (len(cells) != 1)} with rows: there is nothing to compare."
        analysis.note("one-group", text, warning=True)


def _notice(source: Source, analysis: Analysis) -> None:
    scores = source.everyone.scores
    if int(np.count_nonzero(scores.weight)) == 1:
        value = float(scores.values[int(np.argmax(scores.weight))])
        text = f"Every prediction is {value:g}: a model that says the same of everyone shows nothing about groups."
        analysis.note("constant-predictions", text, warning=True)
