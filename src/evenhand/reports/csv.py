"""The table of estimates as CSV that a spreadsheet cannot be tricked with."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from evenhand._files import FORMULA_STARTS
from evenhand._record import TABLE
from evenhand._wording import visible

if TYPE_CHECKING:
    from evenhand._model import Scalar
    from evenhand._record import Record


def render(result: Record) -> str:
    """The columns of ``result.table()``, numbers in full precision, empty cells where there is no value.

    >>> from evenhand._record import Record
    >>> render(Record(audit="text", title="t"))[:22]
    'measure,contrast,group'
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(TABLE)
    writer.writerows([neutral(value) for value in row.values()] for row in result.rows())
    return out.getvalue()


def neutral(value: Scalar) -> Scalar:
    r"""Numbers as they are; text on one line, with an apostrophe before what a spreadsheet would run.

    Tabs and line ends at the beginning, after which some programs look for a formula, go the same way.

    >>> neutral("=1+1"), neutral(-1.5), neutral("\t@x"), neutral("fine")
    ("'=1+1", -1.5, "' @x", 'fine')
    """
    if not isinstance(value, str):
        return value
    shown = visible(value)
    risky = value[:1] in ("\t", "\r", "\n") or shown.lstrip().startswith(FORMULA_STARTS)
    return f"'{shown}" if risky else shown
