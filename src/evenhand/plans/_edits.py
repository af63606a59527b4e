"""What is to change in a text, how sure each change is, and what could not be decided."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import prod

from evenhand.plans._words import Words, match_case

SURE = {
    "pronoun": 0.999,
    "verb": 0.99,
    "title": 0.99,
    "article": 0.99,
    "term": 0.99,
    "name": 0.999,
    "agreement": 0.98,
}
"""How sure a change is about which no rule had a doubt, by its kind."""
DOUBT = 0.9
"""How sure a rewriting is where a rule had a doubt that nothing measures: whose "he" is it? A convention."""
GENDERED = 0.97
"""How often texts were right in which a gendered noun was kept (docs/explanation/rewriting.md)."""


@dataclass
class Edits:
    """What is to change: (start, end) → new text and kind, and what could not be decided.

    Args:
        spans: what changes.
        sure: how sure a span is, where it is not as sure as its kind.
        flags: reason → how sure the whole is in spite of it; 1 where a change says it already.
    """

    spans: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)
    sure: dict[tuple[int, int], float] = field(default_factory=dict)
    flags: dict[str, float] = field(default_factory=dict)

    def word(self, words: Words, i: int, new: str, kind: str, *, sure: float | None = None) -> None:
        """Replaces word i, keeping its letter case and its kind of apostrophe."""
        old = words.words[i]
        if "’" in old:
            new = new.replace("'", "’")
        if " " in old:  # tokenised text: doesn 't, does n't, doesn ' t
            after = " " if re.search("['’] ", old) else ""
            new = re.sub("(n['’]t)$" if re.search(" n['’]t", old, re.I) else "(['’])", rf" \1{after}", new)
        span = (words.starts[i], words.ends[i])
        self.spans[span] = (match_case(new, old), kind)
        if sure is not None:
            self.sure[span] = sure

    def flag(self, reason: str, *, sure: float = DOUBT) -> None:
        """Notes a reason once."""
        self.flags.setdefault(reason, sure)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One changed stretch: ``text[start:end]`` of the original was `before` and became `after`.

    `kind` is "name", "pronoun", "verb", "article", "title", "term" or "agreement"; `confidence`, in [0, 1],
    the chance that this change is right (docs/explanation/rewriting.md says how often it was).
    """

    start: int
    end: int
    before: str
    after: str
    kind: str
    confidence: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewrite:
    """A rewritten text.

    Args:
        text: the new text.
        changes: what was changed, in order of place.
        flags: what could not be decided, in words; empty where the rewriting is believed to be right.
        confidence: the chance, in [0, 1], that all of it is right: those of the changes, multiplied, and a
            tenth less for every doubt that nothing measures (whose "he" is it?). 1 where nothing was to
            change.
    """

    text: str
    changes: tuple[Change, ...] = ()
    flags: tuple[str, ...] = ()
    confidence: float = 1.0


def apply_edits(text: str, edits: Edits) -> Rewrite:
    """The text with all edits made at once, from left to right: an inserted word is never replaced again."""
    if not edits.spans:
        return Rewrite(text=text, flags=tuple(edits.flags), confidence=prod(edits.flags.values(), start=1.0))
    parts, changes, at = [], [], 0
    for (start, end), (new, kind) in sorted(edits.spans.items()):
        old = text[start:end]
        if start < at or new == old:
            continue
        parts += [text[at:start], new]
        sure = edits.sure.get((start, end), SURE[kind])
        changes.append(Change(start=start, end=end, before=old, after=new, kind=kind, confidence=sure))
        at = end
    parts.append(text[at:])
    confidence = prod([c.confidence for c in changes]) * prod(edits.flags.values())
    return Rewrite(
        text="".join(parts), changes=tuple(changes), flags=tuple(edits.flags), confidence=confidence
    )
