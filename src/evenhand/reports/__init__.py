"""Views of a result: one module a format, each with ``render(result) -> str``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from evenhand._errors import UsageError

if TYPE_CHECKING:
    from evenhand._record import Record

REPORTS: dict[str, str] = {
    "csv": "evenhand.reports.csv:render",
    "html": "evenhand.reports.html:render",
    "json": "evenhand.reports.json:render",
    "junit": "evenhand.reports.junit:render",
    "markdown": "evenhand.reports.markdown:render",
    "terminal": "evenhand.reports.terminal:render",
}
"""Name → where the renderer is. A new format is one module and one line here."""


def render(result: Record, kind: str, **options: Any) -> str:
    """`result` as `kind`, a name of `REPORTS`; `options` go to that renderer.

    Raises:
        UsageError: there is no such format.
    """
    if kind not in REPORTS:
        raise UsageError("unknown-report", "there is no such report format", given=kind, available=REPORTS)
    module, _, attribute = REPORTS[kind].partition(":")
    text: str = getattr(import_module(module), attribute)(result, **options)
    return text
