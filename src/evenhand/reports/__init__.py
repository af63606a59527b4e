"""Views of a result: one module a format, each with ``render(result) -> str``."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evenhand._errors import UsageError

if TYPE_CHECKING:
    from evenhand._record import Record


class Report(NamedTuple):
    """A row of `REPORTS`: where the renderer is, how files of the format end, and what it is good for."""

    call: str
    suffix: str
    about: str


REPORTS: dict[str, Report] = {
    "csv": Report("evenhand.reports.csv:render", ".csv", "The estimates, one row each."),
    "html": Report("evenhand.reports.html:render", ".html", "One self-contained page."),
    "json": Report("evenhand.reports.json:render", ".json", "The result again, in today's schema."),
    "junit": Report("evenhand.reports.junit:render", ".xml", "JUnit XML: a test case for each finding."),
    "markdown": Report("evenhand.reports.markdown:render", ".md", "GitHub-flavoured Markdown."),
    "model-card": Report(
        "evenhand.reports.model_card:render",
        ".card.md",
        "A model card's evaluation, with the metadata that Hugging Face reads.",
    ),
    "model-card-json": Report(
        "evenhand.reports.model_card:render_json", ".card.json", "The same in Google's Model Card Toolkit."
    ),
    "terminal": Report("evenhand.reports.terminal:render", ".txt", "For the terminal (the default)."),
}
"""Name → its row. A new format is one module and one line here; the command line reads this table."""


def render(result: Record, kind: str, **options: Any) -> str:
    """`result` as `kind`, a name of `REPORTS`; `options` go to that renderer.

    Raises:
        UsageError: there is no such format.
    """
    if kind not in REPORTS:
        raise UsageError("unknown-report", "there is no such report format", given=kind, available=REPORTS)
    module, _, attribute = REPORTS[kind].call.partition(":")
    text: str = getattr(import_module(module), attribute)(result, **options)
    return text


def format_of(path: str | os.PathLike[str]) -> str:
    """The name of the format whose files end like `path`.

    >>> format_of("out/report.md")
    'markdown'

    Raises:
        UsageError: no format has this ending.
    """
    endings = {row.suffix: name for name, row in REPORTS.items()}
    suffixes = [s.lower() for s in Path(path).suffixes]
    ending = next(
        (e for e in ("".join(suffixes[-2:]), "".join(suffixes[-1:])) if e in endings), "".join(suffixes[-1:])
    )
    if ending not in endings:
        raise UsageError(
            "unknown-report", "no report format has this ending", given=ending or path, available=endings
        )
    return endings[ending]
