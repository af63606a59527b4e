"""What is to change in a text, how sure each change is, and what could not be decided."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from evenhand.plans._words import Words, match_case

SURE = {"pronoun": 0.999, "verb": 0.99, "title": 0.99, "article": 0.99, "term": 0.99, "name": 0.999}
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
