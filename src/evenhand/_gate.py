"""The gate: which claims of a result fail a check, by a policy and beside a baseline.

A policy is TOML, or a mapping of the same shape:

fail_on = "gap"                   # the mildest verdict that fails: disparity, gap, inconclusive, or never
claims = "primary"                # or "all"

[[rule]]                          # the last rule that fits a claim decides
measure = "disparate impact*"     # each of these is a pattern; what is left out fits all
attribute = "race"
group = "*"
given = "class=hired"
fail_on = "disparity"

A claim that a baseline has failed as well is known: it fails only where it grew, by more than the uncertainty
of the change.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

from evenhand._changes import Origins, change_of, keyed, paired_change
from evenhand._encoding import decode
from evenhand._errors import UsageError
from evenhand._files import foreign
from evenhand._json import SEVERITY
from evenhand._labels import spoken
from evenhand._model import Finding
from evenhand._result import Result
from evenhand.measures.row import null_of

FailOn: TypeAlias = Literal["disparity", "gap", "inconclusive", "never"]
FAIL_ON: tuple[FailOn, ...] = ("disparity", "gap", "inconclusive", "never")
FITS = ("measure", "attribute", "group", "given")
"""What a rule can say of the claims that it is about."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What fails the claims that fit; each pattern as in file names, ``*`` for anything."""

    fail_on: FailOn
    measure: str = "*"
    attribute: str = "*"
    group: str = "*"
    given: str = "*"

    def fits(self, finding: Finding) -> bool:
        """Whether the rule is about this claim."""
        e = finding.estimate
        attribute, group, _ = spoken(e.group, e.reference, finding.family)
        said = {"measure": e.measure, "attribute": attribute, "group": group, "given": e.given or ""}
        return all(fnmatchcase(said[name], getattr(self, name)) for name in FITS)


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Which claims are looked at, and which verdict fails them.

    Args:
        fail_on: the mildest verdict that fails, where no rule fits. claims: primary, or all that are judged.
    """

    fail_on: FailOn = "gap"
    claims: Literal["primary", "all"] = "primary"
    rules: Sequence[Rule] = field(default_factory=tuple)

    def fails(self, finding: Finding) -> bool:
        """Whether the verdict of a claim fails.

        >>> from evenhand._model import Estimate
        >>> e = Estimate(measure="m", contrast="difference", group="race=b", reference="race=w", value=1.0)
        >>> claim = Finding(estimate=e, tolerance=(-1, 1), verdict="gap")
        >>> Policy().fails(claim), Policy(rules=[Rule(attribute="race", fail_on="disparity")]).fails(claim)
        (True, False)
        """
        mildest = next((r.fail_on for r in reversed(self.rules) if r.fits(finding)), self.fail_on)
        if mildest == "never" or finding.verdict is None:
            return False
        return finding.verdict in SEVERITY[: SEVERITY.index(mildest) + 1]


def policy_of(source: str | PathLike[str] | Mapping[str, Any]) -> Policy:
    """A policy from a TOML file, or from a mapping of the same shape.

    Raises:
        DataError: the file is missing or is not TOML. UsageError: `policy`.
    """
    given = source
    if not isinstance(given, Mapping):
        with foreign(given, what="the file holds no policy"):
            given = tomllib.loads(decode(Path(given).read_bytes(), name=str(given)))
    _known(given, ("fail_on", "claims", "rule"), "a policy")
    claims, rules = given.get("claims", "primary"), given.get("rule", [])
    if claims not in ("primary", "all"):
        raise UsageError("policy", "no such claims", given=claims, available=["primary", "all"])
    if not isinstance(rules, list | tuple):
        raise UsageError("policy", "rules are a list", given=type(rules).__name__, expected="[[rule]]")
    return Policy(
        fail_on=_fail_on(given.get("fail_on", "gap")), claims=claims, rules=tuple(_rule(r) for r in rules)
    )


def _rule(given: Mapping[str, Any]) -> Rule:
    if not isinstance(given, Mapping) or "fail_on" not in given:
        raise UsageError("policy", "a rule says what fails", given=given, expected='fail_on = "disparity"')
    _known(given, (*FITS, "fail_on"), "a rule")
    patterns = {name: str(given[name]) for name in FITS if name in given}
    return Rule(fail_on=_fail_on(given["fail_on"]), **patterns)


def _known(given: Mapping[str, Any], names: Sequence[str], what: str) -> None:
    other = [name for name in given if name not in names]
    if other:
        raise UsageError("policy", f"{what} has no such entry", given=other[0], available=list(names))


def _fail_on(given: Any) -> FailOn:
    found = next((name for name in FAIL_ON if name == given), None)
    if found is None:
        raise UsageError("policy", "no such verdict to fail on", given=given, available=list(FAIL_ON))
    return found


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What a check found.

    Args:
        failed: claims that fail, with a word on what is new about them beside the baseline. known: those that
            failed before and did not grow. tally: verdicts of the claims that were looked at.
        empty: why nothing can pass whatever the verdicts; empty where something was judged.
        unused: the rules, counted from 1, that fit no claim.
    """

    failed: Sequence[tuple[Finding, str]]
    known: Sequence[Finding]
    tally: Mapping[str, int]
    empty: str = ""
    unused: Sequence[int] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing fails and something was judged."""
        return not (self.failed or self.empty)


def check(result: Result, policy: Policy | None = None, baseline: Result | None = None) -> Checked:
    """Hold a result against a policy, and beside a baseline.

    Raises:
        UsageError: `baseline`: of another kind of audit, of another rule of verdicts, or with no claim in
            common.
    """
    policy = Policy() if policy is None else policy
    judged = [f for f in result.findings if f.verdict is not None]
    looked = judged if policy.claims == "all" else list(result.primary)
    before = {} if baseline is None else _before(result, baseline)
    here = {id(finding): key for key, finding in keyed(result.findings).items()}
    # A claim about the largest of several gaps is the same claim whichever gap is the largest.
    same = {} if baseline is None else {_claimed(f): f for f in baseline.primary}
    failed: list[tuple[Finding, str]] = []
    known: list[Finding] = []
    for finding in (f for f in looked if policy.fails(f)):
        old = before.get(here[id(finding)]) or (same.get(_claimed(finding)) if finding.primary else None)
        news = (
            "" if baseline is None else _news(old, finding, policy, (baseline.provenance, result.provenance))
        )
        if baseline is not None and not news:
            known.append(finding)
        else:
            failed.append((finding, news))
    return Checked(
        failed=failed,
        known=known,
        tally=Counter(str(f.verdict) for f in looked),
        empty=_unjudged(result, looked),
        unused=[i for i, rule in enumerate(policy.rules, 1) if not any(map(rule.fits, looked))],
    )


def _claimed(finding: Finding) -> tuple[str, str, str, str | None]:
    e = finding.estimate
    return e.measure, e.contrast, spoken(e.group, e.reference, finding.family)[0], e.given


def _before(result: Result, baseline: Result) -> Mapping[Any, Finding]:
    for what, one, two in (
        ("kinds of audit", result.audit, baseline.audit),
        ("rules of verdicts", f"rule {result.rule}", f"rule {baseline.rule}"),
    ):
        if one != two:
            raise UsageError(
                "baseline",
                f"a baseline of another kind says nothing: {what} differ",
                given=f"{one}, baseline {two}",
                hint="make the baseline anew with this version of evenhand" if "rule" in what else "",
            )
    before = keyed(baseline.findings)
    if result.findings and not set(before) & set(keyed(result.findings)):
        raise UsageError(
            "baseline",
            "the baseline has no claim in common with this result",
            given=baseline.title,
            expected=f"an earlier result of “{result.title}”",
        )
    return before


def _news(old: Finding | None, new: Finding, policy: Policy, origins: Origins) -> str:
    """What is new about a failing claim beside the baseline; empty where nothing is.

    Args:
        origins: the provenance of the baseline and of the new result.
    """
    if old is None or old.verdict is None:
        return "not in the baseline"
    if not policy.fails(old):
        return f"was {old.verdict}"
    sides = [(e.group, e.reference) for e in (old.estimate, new.estimate)]
    if sides[0] != sides[1]:
        return f"was {' against '.join(sides[0])}"
    together = paired_change(old.estimate, new.estimate, origins)
    change, low, high = together or change_of(old.estimate, new.estimate)
    value = new.estimate.value
    if change is None or low is None or high is None or value is None:
        worse = SEVERITY.index(new.verdict or "inconclusive") < SEVERITY.index(old.verdict)
        return f"was {old.verdict}" if worse else ""
    away = 1.0 if value >= null_of(new.estimate.contrast) else -1.0
    grew = low > 0 if away > 0 else high < 0
    return f"grew by {abs(change):.3g}" if grew else ""


def _unjudged(result: Result, looked: Sequence[Finding]) -> str:
    asked = max((result.counts.get(name, 0) for name in ("asked", "probes", "rows")), default=0)
    if asked and result.counts.get("failed", 0) >= asked:
        return f"nothing was judged, since every one of {asked:,} replies failed"
    if not result.findings:
        return "nothing was judged, since nothing was compared"
    if not looked:
        return "nothing was judged, since no estimate was held against a tolerance"
    if all(f.estimate.value is None for f in looked):
        return "nothing was judged, since no comparison could be estimated"
    return ""


def assert_within(
    result: Result,
    *,
    fail_on: FailOn = "gap",
    policy: Policy | str | PathLike[str] | Mapping[str, Any] | None = None,
    baseline: Result | str | PathLike[str] | None = None,
) -> None:
    """Raise AssertionError where a claim of a result fails: for tests of a model beside its other tests.

    Args:
        result: of any audit.
        fail_on: the mildest verdict of a primary claim that fails: disparity, gap, inconclusive or never.
        policy: a file, or a mapping, that says more; instead of `fail_on`.
        baseline: an earlier result, or its file: what failed there fails here only where it grew.

    Raises:
        AssertionError: with the sentence of each claim that fails; also where nothing was judged, or the
            audit is incomplete. UsageError: `policy`, `baseline`.

    >>> rows = {"hired": [1] * 90 + [0] * 10 + [1] * 20 + [0] * 80, "sex": ["M"] * 100 + ["F"] * 100}
    >>> from evenhand import audit_predictions
    >>> result = audit_predictions(rows, y_pred="hired", groups="sex", units=False)
    >>> assert_within(result)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: 1 claim of “hired of a table by sex” fails:
    disparity: disparate impact, sex=M against sex=F: ... larger than the tolerance of 0.8 to 1.25.
    """
    found_policy = (
        Policy(fail_on=_fail_on(fail_on))
        if policy is None
        else policy
        if isinstance(policy, Policy)
        else policy_of(policy)
    )
    old = baseline if baseline is None or isinstance(baseline, Result) else Result.from_json(baseline)
    found = check(result, found_policy, old)
    if not result.complete:
        raise AssertionError(f"the audit “{result.title}” is incomplete")
    if found.empty:
        raise AssertionError(f"“{result.title}”: {found.empty}")
    if found.failed:
        many = len(found.failed)
        lines = [told(finding, news) for finding, news in found.failed]
        head = f"{many} claim{'s' * (many != 1)} of “{result.title}” fail{'s' * (many == 1)}:"
        raise AssertionError("\n".join([head, *lines]))


def told(finding: Finding, news: str = "") -> str:
    """A failing claim in a line."""
    e = finding.estimate
    where = f"{e.group} against {e.reference}" + (f" ({e.given})" if e.given else "")
    return f"{finding.verdict}{f' ({news})' if news else ''}: {e.measure}, {where}: {finding.because}"
