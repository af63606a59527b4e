"""What an audit adds up to while it runs: findings, exhibits, notes."""

from __future__ import annotations

from dataclasses import dataclass, field

from evenhand._model import Exhibit, Finding
from evenhand._record import Note


@dataclass(kw_only=True)
class Analysis:
    """What an analysis adds up to; grows section by section."""

    findings: list[Finding] = field(default_factory=list)
    exhibits: dict[str, Exhibit] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def note(self, slug: str, text: str, *, warning: bool = False) -> None:
        """Add a note once."""
        made = Note(slug=slug, level="warning" if warning else "info", text=text)
        if made not in self.notes:
            self.notes.append(made)
