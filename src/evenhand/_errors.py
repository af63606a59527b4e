"""One error tree. Every error has a slug that docs/reference/messages.md explains.

EvenhandError
├── UsageError          bad arguments or bad input                   exit 2
│   ├── DataError       a file or table that cannot be used          exit 2
│   └── TermsError      a lexicon that is unknown or cannot be used  exit 2
├── SubjectError        the model or service failed                  exit 3
│   ├── CredentialError no or wrong key: nothing will succeed        exit 3
│   └── BudgetSpent     the declared budget would be passed          exit 3
├── EngineError         workers were lost, or failed                 exit 3
└── JournalError        the journal cannot be read or written        exit 3
"""

from __future__ import annotations

import difflib
import functools
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import PurePath

_HIDDEN = "\N{REPLACEMENT CHARACTER}"
"""Stands for what a terminal would obey instead of showing."""
_DIRECTIONS = "\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


class EvenhandError(Exception):
    """Base of all errors a user may meet: what was given, what was expected, what is available, a hint."""

    exit_code = 2

    def __init__(
        self,
        slug: str,
        message: str,
        *,
        given: object = None,
        expected: str | None = None,
        available: Iterable[str] | None = None,
        hint: str | None = None,
    ) -> None:
        self.slug = slug
        self.message = message
        self.given = given
        self.expected = expected
        self.available = list(available) if available is not None else None
        self.hint = hint
        super().__init__(self.render())

    def __reduce__(self) -> tuple[Callable[..., EvenhandError], tuple[object, ...]]:
        """So that an error of a worker arrives as it is."""
        again = functools.partial(
            type(self),
            given=None if self.given is None else str(self.given),
            expected=self.expected,
            available=self.available,
            hint=self.hint,
        )
        return again, (self.slug, self.message)

    def render(self) -> str:
        """The whole message, one fact a line; what a name or a file smuggled in is shown, not obeyed."""
        lines = [self.message]
        if self.given is not None:
            lines.append(f"  given:     {_shorten(str(self.given))}")
        if self.expected:
            lines.append(f"  expected:  {self.expected}")
        if self.available is not None:
            shown = ", ".join(self.available[:12]) + (
                f", … ({len(self.available)} in all)" if len(self.available) > 12 else ""
            )
            lines.append(f"  available: {shown or '(nothing)'}")
        near = self._near()
        if near:
            lines.append(f"  did you mean {near}?")
        if self.hint:
            lines.append(f"  hint:      {self.hint}")
        lines.append(f"  [{self.slug}]")
        return "".join(_HIDDEN if _is_obeyed(c) else c for c in "\n".join(lines))

    def _near(self) -> str:
        if self.available is None or self.given is None:
            return ""
        lowered = {a.lower(): a for a in self.available}
        sought = self.given.name if isinstance(self.given, PurePath) else str(self.given)
        close = difflib.get_close_matches(sought.lower(), list(lowered), n=3, cutoff=0.6)
        return " or ".join(repr(lowered[c]) for c in close)


class UsageError(EvenhandError):
    """Arguments that do not fit together, or an input that cannot be used."""


class DataError(UsageError):
    """A file or table that cannot be used."""


class TermsError(UsageError):
    """A lexicon that is unknown or cannot be used."""


class EngineError(EvenhandError):
    """Workers of an engine were lost or failed, so there is no result."""

    exit_code = 3


class SubjectError(EvenhandError):
    """The model or service failed, so the audit is incomplete."""

    exit_code = 3


class CredentialError(SubjectError):
    """No key or a wrong one: asking again cannot help."""


class BudgetSpent(SubjectError):
    """The declared budget would be passed by the next call."""


class JournalError(EvenhandError):
    """The journal cannot be read or written."""

    exit_code = 3


def _is_obeyed(c: str) -> bool:
    return c in _DIRECTIONS or (c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cs"))


def _shorten(text: str, width: int = 200) -> str:
    printable = "".join(c if c.isprintable() else _HIDDEN for c in text)
    return printable if len(printable) <= width else printable[: width - 1] + "…"
