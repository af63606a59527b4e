"""A drawing of a result as an Altair chart (extra ``plots``): for a notebook, or saved as PNG, SVG or PDF."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from evenhand._errors import UsageError
from evenhand._model import Exhibit, Finding, Scalar
from evenhand._wording import deciding, null_of
from evenhand.reports import words
from evenhand.reports.charts import chart

if TYPE_CHECKING:
    from evenhand._record import Record

FOREST = "forest"
WIDTH = 520
"""Pixels of a chart outside of a page, which would give it its own width."""
INK = "#1c2024"
MOST = 60
"""Findings of a forest, the worst first."""


def names(result: Record) -> list[str]:
    """What can be drawn: the judged claims of each contrast, and every exhibit with a chart."""
    drawn = [name for name, exhibit in result.exhibits.items() if chart(exhibit) is not None]
    contrasts = list(_by_contrast(result))
    return [*[FOREST][: len(contrasts)], *(f"{FOREST}: {contrast}" for contrast in contrasts), *drawn]


def _by_contrast(result: Record) -> dict[str, list[Finding]]:
    """Contrast → its judged claims, the worst first; the contrast with the worst claim first."""
    found: dict[str, list[Finding]] = {}
    for f in words.worst_first(result.findings):
        if f.verdict is not None and f.estimate.value is not None:
            found.setdefault(f.estimate.contrast, []).append(f)
    return found


def _exhibit(result: Record, name: str) -> Exhibit | None:
    kind, _, contrast = name.partition(": ")
    if kind != FOREST:
        return result.exhibits.get(name)
    found = _by_contrast(result)
    claims = found.get(contrast or next(iter(found), ""))
    return None if claims is None else forest(result.title, claims[:MOST])


def forest(title: str, claims: Sequence[Finding]) -> Exhibit:
    """Claims of one contrast as intervals: those that their verdicts are made of."""
    rows: list[dict[str, Scalar]] = []
    for f in claims:
        low, high = deciding(f)
        e = f.estimate
        rows.append(
            {
                "claim": f"{words.comparison(f)}: {e.measure}",
                "estimate": e.value,
                "low": low,
                "high": high,
                "verdict": f.verdict,
            }
        )
    contrast, bounds = claims[0].estimate.contrast, {f.tolerance for f in claims}
    encode: dict[str, Any] = {"y": "claim", "value": "estimate", "low": "low", "high": "high"}
    encode |= {"verdict": "verdict", "null": null_of(contrast), "title": contrast}
    if len(bounds) == 1 and claims[0].tolerance is not None:
        encode["tolerance"] = list(claims[0].tolerance)
    return Exhibit.of(title, rows, chart="forest", encode=encode)


def altair_chart(result: Record, name: str = FOREST) -> Any:
    """The drawing as an ``altair`` chart, which knows ``save("x.png")``, ``.svg`` and ``.pdf``.

    Raises:
        UsageError: `missing-extra`; `unknown-chart` for a name that nothing drawable has.
    """
    try:
        altair = import_module("altair")
    except ImportError:
        raise UsageError(
            "missing-extra",
            "altair is not installed",
            expected="altair and vl-convert-python, which come with the extra `plots`",
            hint="pip install 'evenhand[plots]'",
        ) from None
    exhibit = _exhibit(result, name)
    drawn = None if exhibit is None else chart(exhibit, alone=True)
    if exhibit is None or drawn is None:
        raise UsageError(
            "unknown-chart", "nothing here is drawn by that name", given=name, available=names(result)
        )
    spec = _inked(drawn.vega_lite())
    del spec["autosize"]
    spec["config"]["background"] = "white"
    return altair.Chart.from_dict({**spec, "width": WIDTH, "title": exhibit.title})


def _inked(part: Any) -> Any:
    """A page's colour of text, which it knows and a picture does not, as one of its own."""
    if isinstance(part, dict):
        return {key: _inked(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_inked(value) for value in part]
    return INK if part == "currentColor" else part
