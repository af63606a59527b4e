"""The audit of class labels: binary, multiclass (each class against the rest), and a classifier's scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evenhand._analysis import Analysis
from evenhand._compare import Pair, against, compare, kept, reference_of, widest, worst_subgroup
from evenhand._declared import Declared
from evenhand._labels import Attribute
from evenhand._strata import held_equal, say_paradox, within_strata
from evenhand.audits.predictions.asked import Options, say_task
from evenhand.audits.predictions.cells import all_others
from evenhand.audits.predictions.claims import label_claims
from evenhand.audits.predictions.class_cells import ClassCell, Labelled
from evenhand.audits.predictions.class_exhibits import add_classification, add_conditional
from evenhand.audits.predictions.continuous import add_continuous
from evenhand.audits.predictions.inputs import Input, not_streamed
from evenhand.audits.predictions.practice.absent import add_absent
from evenhand.audits.predictions.practice.periods import over_time
from evenhand.audits.predictions.practice.selection import law_of_labels
from evenhand.audits.predictions.practice.small import without_small
from evenhand.audits.predictions.practice.unlabelled import add_unlabelled
from evenhand.audits.predictions.searched.frontier import add_frontier
from evenhand.audits.predictions.searched.worst import worst_of_labels
from evenhand.audits.predictions.sources import Source
from evenhand.audits.predictions.units import needs_groups
from evenhand.measures.classification import ACCURACY, BASE, FPR, ROWS, SELECTED, TPR
from evenhand.measures.contrasts import rate_gap


def labels(given: Input, declared: Declared, analysis: Analysis, options: Options) -> dict[str, int]:
    """The tables of a law, then the claims; rows read, used and left out."""
    found = given.labelled(options.positive)
    first = found.compared[0]
    kept_groups = without_small(found.source, options.min_group, analysis, lambda c: c.of[first].moments.n)
    found = replace(found, source=kept_groups)
    say_task(analysis, given.named, options, "classification", found.compared)
    if options.law is not None:
        law_of_labels(found, options, declared, analysis, weighted=given.named.weight is not None)
    period = given.named.period
    classification(found.only(options.crossing), declared, analysis, measures=options.measures, period=period)
    add_absent(found.source.absent, declared, analysis)
    if options.frontier:
        needs_groups(given.named, "a frontier of thresholds")
        if given.large is not None:
            raise not_streamed("the frontier of thresholds (--frontier)")
        add_frontier(given.rows(labels=True), declared, analysis, options)
    if given.named.search:
        for name in found.compared:
            where = f"class={name}" if len(found.compared) > 1 else None
            worst_of_labels(given.rows(labels=True), name, declared, analysis, options, where)
    if given.named.continuous:
        rows = given.rows(labels=True)
        favoured = rows.labels["y_pred"].is_level(found.favourable(options.positive)).astype(float)
        add_continuous(rows, declared, analysis, favoured)
    return given.counts(found.source)


def classification(
    found: Labelled,
    declared: Declared,
    analysis: Analysis,
    *,
    measures: str | Sequence[str],
    period: str | None = None,
) -> None:
    """Every claim about every group against the reference, for the favourable class or for each of
    several.

    Args:
        period: the control factor that is time.
    """
    several = len(found.compared) > 1
    for name in found.compared:
        source = found.against_rest(name)
        _notice(source.everyone, name, analysis)
        given = f"class={name}" if several else None
        for attribute in source.attributes:
            _attribute(source, attribute, declared, analysis, measures=measures, given=given, period=period)
    if found.overall is not None:
        _overall(found.overall, declared, analysis, measures=measures)
    if several:
        analysis.note(
            "multiclass",
            f"{len(found.compared)} classes: each is held against the rest; positive= picks one of them.",
        )


def _overall(
    source: Source[ClassCell], declared: Declared, analysis: Analysis, *, measures: str | Sequence[str]
) -> None:
    """The accuracy over all classes, beside that of each class against the rest, which is another thing."""
    wanted = [measures] if isinstance(measures, str) else measures
    for attribute in source.attributes:
        cells = source.cells(attribute, None)
        every = label_claims(cells[0].moments.names, declared) if len(cells) > 1 else []
        claims = [c for c in every if c.name == ACCURACY.name and {"default", c.name, c.key} & {*wanted}]
        if claims:
            reference = reference_of(cells, attribute, declared, analysis, size=lambda c: c.moments.weight)
            family = f"{attribute}, all classes"
            compare(against(cells, reference), claims, declared, analysis, family=family)


def _attribute(
    source: Source[ClassCell],
    attribute: Attribute,
    declared: Declared,
    analysis: Analysis,
    *,
    measures: str | Sequence[str],
    given: str | None,
    period: str | None,
) -> None:
    """The claims about one attribute, for one class against the rest."""
    cells = source.cells(attribute, None)
    if len(cells) < 2:
        text = f"{attribute} has {len(cells)} group with rows: there is nothing to compare."
        analysis.note("one-group", text, warning=True)
        return
    claims = kept(
        label_claims(cells[0].moments.names, declared),
        measures,
        hint='measures of numbers need numeric predictions: task="regression"',
    )
    reference = reference_of(cells, attribute, declared, analysis, size=lambda c: c.moments.weight)
    family = str(attribute) if given is None else f"{attribute}, {given}"
    mine = claims if not attribute.crossed else [replace(c, primary=False) for c in claims]
    compare(against(cells, reference), mine, declared, analysis, family=family, given=given)
    by_name = {c.name: c for c in mine}
    rows = [(row, by_name[row.name]) for row in ROWS if row.name in by_name]
    add_unlabelled(analysis, against(cells, reference), rows, attribute, declared)
    if given is None:
        say_base_rates(against(cells, reference), analysis, declared.level)
        widest(cells, claims, declared, analysis, family=f"{attribute}, widest gap")
        if attribute.crossed:
            worst_subgroup(cells, all_others(cells), claims, declared, analysis, attribute)
    add_classification(analysis, cells, attribute, declared, given)
    for name, levels in source.strata.items():
        within = [(level, source.cells(attribute, (name, level))) for level in levels]
        if name == period:
            each = [(level, _held(own, reference)) for level, own in within]
            over_time([x for x in each if x[1]], claims, declared, analysis, attribute, name, given)
            continue
        strata = []
        for level, own in within:
            pairs = _held(own, reference)
            if pairs:
                strata.append((" and ".join(x for x in (given, f"{name}={level}") if x), pairs))
        within_strata(strata, claims, declared, analysis, attribute)
        if source.everyone.moments.units is None and given is None:
            found = held_equal(strata, claims, declared, attribute, name)
            say_paradox(found, analysis, name)
            analysis.findings += found
        add_conditional(analysis, [c.label for c in cells], [c for _, c in within], attribute, name, given)


def _held(cells: Sequence[ClassCell], reference: ClassCell) -> list[Pair[ClassCell]]:
    """Everyone against the reference, of the cells of a stratum; none where it has no rows there."""
    own = next((c for c in cells if c.label == reference.label), None)
    return [] if own is None else against(cells, own)


def say_base_rates(pairs: Sequence[tuple[ClassCell, ClassCell]], analysis: Analysis, level: float) -> None:
    """A note where outcomes differ, so that parity of selection and parity of errors cannot both hold.

    Source: Kleinberg, Mullainathan & Raghavan (2017), Inherent trade-offs in the fair determination of risk
    scores; Chouldechova (2017), Fair prediction with disparate impact.
    """
    for a, b in pairs:
        if not {"act", "tp"} <= set(a.moments.names):
            return
        base, chosen, found, wrong = (rate_gap(row, a, b, level, 0) for row in (BASE, SELECTED, TPR, FPR))
        apart = [
            g.low is not None and g.high is not None and not g.low <= 0 <= g.high
            for g in (chosen, found, wrong)
        ]
        if base.p_value is None or base.p_value >= 1 - level or apart[0] == (apart[1] or apart[2]):
            continue
        one, two = (c.moments.means["act"] for c in (a, b))
        which = ("selection rates", "error rates") if apart[0] else ("error rates", "selection rates")
        analysis.note(
            "base-rates",
            f"{a.label} and {b.label} differ in their {which[0]}, not evidently in their {which[1]}, and in"
            f" their base rates, {one:.3g} and {two:.3g}: where these differ, equal selection rates and equal"
            " error rates cannot both hold, unless the predictions say nothing. Which of the two matters is"
            " not a question of statistics.",
        )


def _notice(everyone: ClassCell, label: str, analysis: Analysis) -> None:
    selected = everyone.moments.means["sel"]
    if selected in (0.0, 1.0):
        who = "everybody" if selected else "nobody"
        analysis.note(
            "constant-predictions",
            f"The model gives {label} to {who}: that shows nothing about groups.",
            warning=True,
        )
