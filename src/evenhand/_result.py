"""What every audit returns: its record, and the doors out of it to tables, files and reports.

Reports are views; they see the record only, and are imported when a door is opened.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand._errors import UsageError
from evenhand._files import write_whole
from evenhand._json import parse, read
from evenhand._record import Record, decode, encode

if TYPE_CHECKING:
    import altair
    import pandas
    import polars


@dataclass(frozen=True, kw_only=True, repr=False)
class Result(Record):
    """A whole audit: findings, exhibits, notes and provenance; equal to what is read back from its JSON.

    Fields and verdicts are those of the record.

    >>> from evenhand import Estimate, Finding
    >>> e = Estimate(
    ...     measure="mean score",
    ...     contrast="difference",
    ...     group="a",
    ...     reference="b",
    ...     value=0.1,
    ...     low=0.0,
    ...     high=0.2,
    ... )
    >>> r = Result(
    ...     audit="text",
    ...     title="toy",
    ...     findings=(Finding(estimate=e, tolerance=(-0.3, 0.3), verdict="within tolerance"),),
    ... )
    >>> r.verdict, Result.from_json(r.to_json()) == r
    ('within tolerance', True)
    """

    def to_pandas(self) -> pandas.DataFrame:
        """`table()` as a pandas DataFrame (extra ``frames``)."""
        _require("pandas")
        frame: pandas.DataFrame = self.table().to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        """`table()` as a polars DataFrame (extra ``frames``)."""
        frame: polars.DataFrame = _require("polars").from_arrow(self.table())
        return frame

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The result as strict JSON, the same bytes for the same result; also written to `path` where
        given."""
        return _deliver(encode(self), path)

    @classmethod
    def from_json(cls, source: str | os.PathLike[str] | Mapping[str, Any]) -> Result:
        """A result from a file, from JSON text (beginning with ``{``) or from parsed JSON.

        Raises:
            DataError: the file is missing, cut short, not a result, or from a newer evenhand.
        """
        if isinstance(source, Mapping):
            return decode(cls, source)
        if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("{"):
            return decode(cls, parse(source, "JSON text"))
        return decode(cls, parse(read(Path(source)), str(source)))

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """One self-contained page that needs no network; also written to `path` where given."""
        from evenhand.reports.html import render

        return _deliver(render(self), path)

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """The findings and notes as GitHub-flavoured Markdown; also written to `path` where given."""
        from evenhand.reports.markdown import render

        return _deliver(render(self), path)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """`table()` as CSV, with cells neutralised that a spreadsheet would run as formulas."""
        from evenhand.reports.csv import render

        return _deliver(render(self), path)

    def plot(self, name: str = "forest") -> altair.Chart:
        """A drawing as an Altair chart (extra ``plots``), which knows ``save("x.png")``, ``.svg``, ``.pdf``.

        Args:
            name: ``"forest"``, the judged claims as intervals; or the name of an exhibit that has a chart.

        Raises:
            UsageError: `missing-extra` without altair; `unknown-chart`, which lists the names there are.
        """
        from evenhand.reports.plot import altair_chart

        drawn: altair.Chart = altair_chart(self, name)
        return drawn

    def __repr__(self) -> str:
        from evenhand.reports.words import brief

        return brief(self)

    def _repr_html_(self) -> str:
        from evenhand.reports.notebook import render

        return render(self)


def _deliver(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        write_whole(path, text)
    return text


def _require(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise UsageError(
            "missing-extra",
            f"{package} is not installed",
            expected="pandas and polars come with the extra `frames`",
            hint="pip install 'evenhand[frames]'",
        ) from None
