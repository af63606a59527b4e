"""What an audit adds up to while it runs: findings, exhibits, notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from evenhand._estimate import Evidence
from evenhand._judge import Correction, judge
from evenhand._model import Exhibit, Finding, Span
from evenhand._record import Note
from evenhand._result import Result
from evenhand._shared import Shared

PRIMARY = "primary claims"
"""The family whose error is that of the headline."""


@dataclass(kw_only=True)
class Analysis:
    """What an analysis adds up to; grows section by section.

    Args:
        primary: evidence that the headline rests on, with its tolerance; judged together by `settle`.
        claimed: the names by which its claims can be called primary.
        withheld: why nothing is judged whatever the intervals, e.g. that they stand on copied rows.
        shared: what a comparison with another audit of the same units needs.
    """

    primary: list[tuple[Evidence, Span | None]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    exhibits: dict[str, Exhibit] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    claimed: set[str] = field(default_factory=set)
    withheld: str | None = None
    shared: Shared = field(default_factory=Shared)

    def note(self, slug: str, text: str, *, warning: bool = False) -> None:
        """Add a note once."""
        made = Note(slug=slug, level="warning" if warning else "info", text=text)
        if made not in self.notes:
            self.notes.append(made)

    @contextmanager
    def about(self, score: str, *, first: bool) -> Iterator[None]:
        """What is shown inside is about one of several scores; of those after the first it is called after
        them."""
        shown, self.exhibits = self.exhibits, {}
        yield
        own, self.exhibits = self.exhibits, shown
        if not first:
            own = {f"{n}, {score}": replace(x, title=f"{x.title}: {score}") for n, x in own.items()}
        self.show(own)

    def settle(self, correction: Correction = "single-step") -> None:
        """Judge the primary claims as one family over the whole audit, and put them first."""
        self.findings[:0] = judge(
            [item for item, _ in self.primary],
            tolerances=[bounds for _, bounds in self.primary],
            family=PRIMARY,
            correction=correction,
            primary=True,
        )
        self.primary.clear()
        if self.withheld is not None:
            self.findings[:] = [_described(found, self.withheld) for found in self.findings]

    def show(self, exhibits: Mapping[str, Exhibit]) -> None:
        """Add the exhibits that have rows."""
        self.exhibits.update((name, exhibit) for name, exhibit in exhibits.items() if len(exhibit))

    def result(
        self,
        *,
        audit: str,
        title: str,
        counts: Mapping[str, int],
        provenance: Mapping[str, Any],
        complete: bool = True,
        correction: Correction = "single-step",
    ) -> Result:
        """What the door of an audit returns, its primary claims judged; arguments are those of a `Result`."""
        self.settle(correction)
        kept = self.shared.plain()
        provenance = {**provenance, "shared": kept} if kept else provenance
        return Result(
            audit=audit,
            title=title,
            findings=tuple(self.findings),
            exhibits=self.exhibits,
            notes=tuple(self.notes),
            counts=counts,
            provenance=provenance,
            complete=complete,
        )


def _described(found: Finding, why: str) -> Finding:
    """The finding with its value alone: no interval, no p, no verdict but `inconclusive`."""
    nothing = dict.fromkeys(("low", "high", "statistic", "df", "p_value", "p_adjusted"))
    estimate = found.estimate.with_(**nothing, why_not=why)
    if found.verdict is None:
        return replace(found, estimate=estimate)
    return replace(
        found,
        estimate=estimate,
        verdict="inconclusive",
        because=f"The data can tell neither: {why}.",
        detectable=None,
        simultaneous=None,
        equivalence=None,
    )
