"""What a reader must know before relying on the answer: at most four things that touch a primary claim."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from evenhand._facts import Audited, attribute_of, named_attribute
from evenhand._headline import Answer
from evenhand._model import Finding
from evenhand._wording import in_brief, middle_cut

MOST = 4
FEW_UNITS = 20
SAID_OF_FAILURES = ("failed-rows", "incomplete")
"""Notes on what the first sentence says already, with what could come of it."""
RESUME = "“evenhand run audit.toml” (beside result.json), or the same call with its journal, goes on"
AS_FAR = "Were all as low or as high as scores here go, no group's mean would move by more than"
TOOTHLESS = "this verdict says little"
"""How an audit's sentence ends where its tolerance is larger than what could be found."""
ALWAYS = ("It shows a difference, not its cause.", "Nothing here says why, or whether it is lawful.")
_SENTENCE = re.compile(r"(?<=[.:])\s+(?=[A-Z“0-9])")


def caveats(result: Audited, answer: Answer) -> list[tuple[str, str]]:
    """(said in bold, and more), first what could change a verdict; always that a difference is no cause."""
    return [*list(dict.fromkeys(_found(result, answer)))[: MOST - 1], ALWAYS]


def _found(result: Audited, answer: Answer) -> Iterator[tuple[str, str]]:
    asked = result.counts.get("asked", result.counts.get("probes", 0))
    if failed := result.counts.get("failed", 0):
        share = f" ({100 * failed / asked:.2g}\N{NO-BREAK SPACE}%)" if asked else ""
        yield (
            f"{failed:,} replies are missing{share}.",
            f"{_at_worst(result)}{RESUME} and asks for these alone.",
        )
    elif not result.complete:
        yield "The audit stopped early.", f"{RESUME} where it stopped."
    if toothless := [f for f in result.primary if TOOTHLESS in f.because]:
        yield (
            f"The tolerance is too wide to say much{_by(toothless)}.",
            "It exceeds everything that was found there; “within tolerance” could hardly have failed.",
        )
    if left := result.counts.get("left out", 0):
        yield f"{left:,} rows were left out.", "The reasons stand under “How this was measured”."
    said = set(SAID_OF_FAILURES) if failed else set()
    if any(note.slug == "groups-missing" for note in result.notes):
        said.add("missing-values")
    for note in result.notes:
        if note.level == "warning" and note.slug not in said:
            head, *rest = _SENTENCE.split(note.text, maxsplit=1)
            yield middle_cut(head, 160), middle_cut(rest[0], 160) if rest else ""
    resting: dict[str, list[str]] = {}
    for f in result.primary:
        if f.rests_on:
            resting.setdefault(f.rests_on, []).append(named_attribute(attribute_of(f)))
    for rests, attributes in list(resting.items())[:1]:
        who = ", ".join(dict.fromkeys(attributes))
        yield (
            f"By {who}: {middle_cut(rests, 120)}.",
            "An effect of one word or text says little about a group.",
        )
    few = [(f.estimate.n_units, f) for f in result.primary if f.estimate.units]
    if few and (least := min(few, key=lambda pair: pair[0]))[0] < FEW_UNITS:
        units = least[1].estimate.units
        name = min(units, key=lambda unit: units[unit])
        yield (
            f"Only {least[0]} {in_brief(name)}s.",
            "Others of them may give another picture; the intervals allow for it.",
        )
    if "was not stated" in answer.outcome:
        yield "Nobody said which outcome is favourable.", "So no group is called worse off."
    if any(note.slug == "default-tolerance" for note in result.notes):
        yield (
            "The tolerance is a default.",
            "Whether gaps of that size matter for this use, nobody has declared.",
        )


def _by(findings: Sequence[Finding]) -> str:
    """Of which attributes, where the audit has several."""
    names = dict.fromkeys(named_attribute(attribute_of(f)) for f in findings)
    return f" by {', '.join(names)}"


def _at_worst(result: Audited) -> str:
    """How far the missing replies could move a group's mean, where the audit has worked it out."""
    moves = []
    for name, exhibit in result.exhibits.items():
        columns = [exhibit.columns.get(c, ()) for c in ("mean of the others", "lowest mean", "highest mean")]
        if name.startswith("missing replies by ") and all(columns):
            for mean, low, high in zip(*columns, strict=True):
                if isinstance(mean, float) and isinstance(low, float) and isinstance(high, float):
                    moves += [mean - low, high - mean]
    return f"{AS_FAR} {max(moves):.2g}. " if moves else ""
