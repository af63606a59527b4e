"""How large a gap counts as even-handed: as declared; a default only where their scale is known."""

from __future__ import annotations

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import UsageError
from evenhand._judge import tolerance_of
from evenhand._model import Observations, Plan, Probes, Replies, Span, Traits

SHARE_TOLERANCE = 0.1
"""Of scores between −1 and 1, where nobody says another."""


def tolerance_for(
    given: float | Span | None,
    score: str,
    observations: Observations,
    analysis: Analysis,
    *,
    strict: bool = True,
) -> Span | None:
    """The tolerance as declared, else the default for scores between −1 and 1, which a note says.

    Args:
        strict: whether scores beyond, where none was declared, end the audit; else nothing is judged, and a
            note says why.

    Raises:
        UsageError: `bad-tolerance`.
    """
    if given is not None:
        return tolerance_of(given)
    low, high = observations.span(score) or (0.0, 0.0)
    if beyond(low, high) and strict:
        raise unknown(score, low, high)
    if beyond(low, high):
        analysis.note(
            "no-tolerance",
            f"No tolerance was declared, and {score} is on a scale of its own ({low:g} to {high:g}): gaps are"
            " described, and nothing is judged. Declare a tolerance in units of the score, and keep replies"
            " in a journal, so that they need not be asked again.",
            warning=True,
        )
        return None
    analysis.note(
        "default-tolerance",
        f"No tolerance was declared: {score} lies between {low:g} and {high:g}, so that gaps within"
        f" ±{SHARE_TOLERANCE:g} count as even-handed. On another scale, or for another use, declare one.",
    )
    return tolerance_of(SHARE_TOLERANCE)


def beyond(low: float, high: float) -> bool:
    """Whether scores leave [−1, 1]."""
    return max(-low, high) > 1.0


def unknown(score: str, low: float, high: float, hint: str | None = None) -> UsageError:
    """Scores on a scale of their own, and no tolerance."""
    return UsageError(
        "bad-tolerance",
        f"{score} is on a scale of its own ({low:g} to {high:g}), so no default tells how"
        " large a gap counts as even-handed",
        expected="a tolerance in units of the score, declared before looking (tolerance=, --tolerance)",
        hint=hint,
    )


def asking_first(plan: Plan, declared: bool, traits: Traits, score: str | None, kept: bool) -> Plan:
    """The plan, which ends where the scores turn out to need a tolerance that nobody declared.

    A range that the subject declares is looked at before anything is asked. Where none is, one probe is asked
    before the others; later the run ends only where the replies are kept, so that none is paid for twice.

    Args:
        declared: whether a tolerance was. score: that will be compared, None for the first.
        kept: whether in a journal.

    Raises:
        UsageError: `bad-tolerance`.
    """
    if declared or traits.ordinal or (traits.score_range and not beyond(*traits.score_range)):
        yield from plan
        return
    if traits.score_range:
        raise unknown(score or "the score", *traits.score_range, hint="nothing was asked yet")
    alone = not traits.whole
    for probes in plan:
        parts = [slice(0, 1), slice(1, None)] if alone else [slice(0, None)]
        for rows in parts:
            factors = {name: factor[rows] for name, factor in probes.factors.items()}
            asked = Probes(inputs=probes.inputs[rows], factors=factors)
            if len(asked):
                _look(score, (yield asked), kept or alone)
            alone = False


def _look(score: str | None, replies: Replies, stop: bool) -> None:
    name = next(iter(replies.scores), None) if score is None else score
    values = replies.scores.get(name or "", np.empty(0))
    known = values[np.isfinite(values)]
    if stop and len(known) and name is not None and beyond(float(known.min()), float(known.max())):
        hint = "replies in the journal are not asked again"
        raise unknown(name, float(known.min()), float(known.max()), hint=hint)
