"""Two groups with a legitimate factor held equal: within each of its levels, and pooled over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand._analysis import Analysis
from evenhand._compare import Claim, Pair, S, compare, evidence_of, extremes_of
from evenhand._declared import Declared
from evenhand._estimate import allowing
from evenhand._judge import judge
from evenhand._labels import Attribute, Label
from evenhand._model import Estimate, Finding
from evenhand.measures.row import null_of


def within_strata(
    strata: Sequence[tuple[str, Sequence[Pair[S]]]],
    claims: Sequence[Claim[S]],
    declared: Declared,
    analysis: Analysis,
    attribute: Attribute,
) -> None:
    """The claims within each level of a legitimate factor; each stratum has its own families."""
    for where, pairs in strata:
        own = [c for c in claims if c.given is None]
        compare(
            pairs, own, declared, analysis, family=f"{attribute} given {where}", given=where, headline=False
        )


def held_equal(
    strata: Sequence[tuple[str, Sequence[Pair[S]]]],
    claims: Sequence[Claim[S]],
    declared: Declared,
    attribute: Attribute,
    name: str,
) -> list[Finding]:
    """The claims that can be pooled, over all levels of the factor `name`."""
    by_side: dict[Label, list[Pair[S]]] = {}
    for _, pairs in strata:
        for a, b in pairs:
            by_side.setdefault(a.label, []).append((a, b))
    poolable = [c for c in claims if c.pooled is not None and c.given is None]
    own = [(c, _over(c, pairs), pairs) for c in poolable for pairs in by_side.values()]
    given, level = f"{name} held equal", declared.level
    found = []
    for claim, over, pairs in own:
        made = evidence_of(over, *_whole(pairs), level=level, given=given)
        ends = None if claim.pooled is None else extremes_of(claim, pairs, claim.pooled)
        found.append(made if ends is None else allowing(made, ends, null_of(claim.contrast)))
    return judge(
        found,
        tolerances=[c.tolerance for c, _, _ in own],
        family=f"{attribute} with {name} held equal",
        correction=declared.correction,
    )


@dataclass(frozen=True, kw_only=True)
class _Whole:
    """One side of several strata: it is only counted."""

    label: Label
    n: int


def _whole(pairs: Sequence[Pair[S]]) -> tuple[_Whole, _Whole]:
    first, second = (
        _Whole(label=side[0].label, n=sum(s.n for s in side)) for side in zip(*pairs, strict=True)
    )
    return first, second


def _over(claim: Claim[S], pairs: Sequence[Pair[S]]) -> Claim[_Whole]:
    pooled = claim.pooled
    if pooled is None:
        raise TypeError(claim.name)
    return Claim(name=claim.name, infer=lambda _a, _b, level: pooled(pairs, level), contrast=claim.contrast)


def say_paradox(found: Sequence[Finding], analysis: Analysis, name: str) -> None:
    """A note where a gap points one way overall and the other way with a factor held equal (Simpson 1951).

    Args:
        found: claims with `name` held equal; those without are among the findings so far.
    """
    crude = {
        (e.measure, e.group, e.reference): e
        for f in analysis.findings
        if not (e := f.estimate).given and e.value is not None
    }
    crude |= {
        (e.measure.split(", largest of")[0], e.group, e.reference): e
        for e in (item.estimate for item, _ in analysis.primary)
        if not e.given and e.value is not None
    }
    for finding in found:
        e = finding.estimate
        other, null = crude.get((e.measure, e.group, e.reference)), null_of(e.contrast)
        if other is None or other.value is None or e.value is None:
            continue
        if (other.value - null) * (e.value - null) < 0 and (_apart(e, null) or _apart(other, null)):
            analysis.note(
                "simpson",
                f"{e.measure}, {e.group} against {e.reference}: {other.value:.3g} overall, but"
                f" {e.value:.3g} with {name} held equal. They point different ways: the groups differ in"
                f" {name}.",
                warning=True,
            )


def _apart(e: Estimate, null: float) -> bool:
    """Whether the plain interval excludes no difference."""
    return e.low is not None and e.high is not None and not e.low <= null <= e.high
