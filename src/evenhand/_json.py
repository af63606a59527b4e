"""Findings and exhibits to and from strict JSON, with every field checked on the way in.

`Result.to_json` and `Result.from_json` are built on it; docs/reference/result-schema.md describes the
outcome.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from evenhand._errors import DataError
from evenhand._model import ChartKind, Estimate, Exhibit, Finding, Verdict

SCHEMA = "evenhand-result/2"
"""Name and version of the JSON. Fields may be added within a version; a change of meaning raises the
number."""

SEVERITY: tuple[Verdict, ...] = ("disparity", "gap", "inconclusive", "within tolerance")
"""The verdicts, worst first."""
RULE = 2
"""How verdicts are reached: 1 by significance and size (docs/decisions/0003), 2 by where the interval lies
(0010)."""

ESTIMATE_FIELDS: dict[str, tuple[type, ...]] = {
    "measure": (str,),
    "contrast": (str,),
    "group": (str,),
    "reference": (str,),
    "given": (str, type(None)),
    "value": (float, type(None)),
    "low": (float, type(None)),
    "high": (float, type(None)),
    "level": (float,),
    "statistic": (float, type(None)),
    "df": (float, type(None)),
    "p_value": (float, type(None)),
    "p_adjusted": (float, type(None)),
    "n": (int,),
    "n_group": (int, type(None)),
    "n_reference": (int, type(None)),
    "units": (dict,),
    "method": (str,),
    "why_not": (str, type(None)),
}
FINDING_FIELDS: dict[str, tuple[type, ...]] = {
    "tolerance": (list, type(None)),
    "verdict": (str, type(None)),
    "because": (str,),
    "rests_on": (str, type(None)),
    "detectable": (float, type(None)),
    "family": (str,),
    "primary": (bool,),
    "simultaneous": (list, type(None)),
    "equivalence": (list, type(None)),
}
SINCE_2 = {"statistic": None, "df": None, "primary": False, "simultaneous": None, "equivalence": None}
"""Fields that results of schema 1 do not have, and what they are read as."""


SPANS = ("tolerance", "simultaneous", "equivalence")
"""Fields that hold two bounds."""


def span_out(span: tuple[float, float] | None) -> list[float | None] | None:
    """The ends of an interval, an open side as None."""
    return None if span is None else [float(b) if math.isfinite(b) else None for b in span]


def plain(value: Any) -> Any:
    """`value` as JSON values only. Never fails: what JSON cannot say becomes a name or None, and keys are
    sorted.

    >>> plain({"b": (1, float("nan")), "a": np.float64(0.5), "f": math.sqrt})
    {'a': 0.5, 'b': [1, None], 'f': 'math:sqrt'}
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Mapping):
        return {k: plain(v) for k, v in sorted((clean(str(k)), v) for k, v in value.items())}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(v) for v in value), key=lambda v: json.dumps(v, sort_keys=True))
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple, range)):
        return [plain(v) for v in value]
    return clean(_name_of(value))


def _name_of(value: Any) -> str:
    """A stable word for anything else: never a memory address."""
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}:{named.__qualname__}"


def clean(value: str) -> str:
    """`value`, with lone surrogates (which UTF-8 cannot hold) replaced."""
    if value.isascii():
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def plain_exhibit(exhibit: Exhibit) -> Exhibit:
    columns = {clean(str(name)): [plain(v) for v in values] for name, values in exhibit.columns.items()}
    return replace(
        exhibit,
        title=clean(exhibit.title),
        note=clean(exhibit.note),
        columns=columns,
        encode=plain(dict(exhibit.encode)),
    )


def tolerance_out(finding: Finding) -> list[float | None] | None:
    """The tolerance with open sides (infinite bounds) as None."""
    return span_out(finding.tolerance)


def finding_out(f: Finding) -> dict[str, Any]:
    """One finding as a flat object: the fields of the estimate, then those of the judgement."""
    return {
        **plain({name: getattr(f.estimate, name) for name in ESTIMATE_FIELDS}),
        **plain({name: getattr(f, name) for name in FINDING_FIELDS}),
        **{name: span_out(getattr(f, name)) for name in SPANS},
    }


def exhibit_out(exhibit: Exhibit) -> dict[str, Any]:
    names = ("title", "note", "chart", "encode", "columns")
    return {name: getattr(exhibit, name) for name in names}


def lines(opening: str, items: Sequence[str], closing: str) -> str:
    return opening + closing if not items else f"{opening}\n    " + ",\n    ".join(items) + f"\n  {closing}"


def dumps(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)


def read(path: Path) -> str:
    target = path / "result.json" if path.is_dir() else path
    try:
        return target.read_text("utf-8-sig")
    except FileNotFoundError:
        raise DataError(
            "result-missing",
            "there is no such result file",
            given=target,
            expected="the result.json that an audit wrote",
            available=sorted(p.name for p in target.parent.glob("*.json"))[:50],
        ) from None
    except UnicodeDecodeError:
        raise foreign(str(target), "it is not UTF-8 text") from None
    except OSError as error:
        raise DataError(
            "result-unreadable", f"the file cannot be read: {error.strerror}", given=target
        ) from error


def parse(text: str, where: str) -> Mapping[str, Any]:
    def refuse(constant: str) -> Any:
        raise foreign(where, f"{constant} is not strict JSON")

    try:
        parsed = json.loads(text.removeprefix("\ufeff"), parse_constant=refuse)
    except json.JSONDecodeError as error:
        ends = error.pos >= len(text.rstrip()) - 1 or "Unterminated" in error.msg
        reason = "it ends too early: was the file cut short?" if ends else error.msg
        raise DataError(
            "result-not-json",
            "the result cannot be read as JSON",
            given=f"{where}, line {error.lineno}: {reason}",
            expected="the result.json that an audit wrote, unchanged",
        ) from None
    except RecursionError:
        raise foreign(where, "it is nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise foreign(where, str(error)[:200]) from None
    if not isinstance(parsed, dict):
        raise foreign(where, f"it holds a {type(parsed).__name__}, not an object")
    return parsed


def foreign(where: str, reason: str) -> DataError:
    return DataError(
        "result-foreign",
        f"this is not an evenhand result: {reason}",
        given=where,
        expected=f'JSON with "schema": "{SCHEMA}", as in docs/reference/result-schema.md',
    )


def check_schema(schema: object) -> None:
    name, _, version = str(schema).partition("/")
    if not isinstance(schema, str) or name != SCHEMA.partition("/")[0] or not version.isdecimal():
        raise foreign(f'"schema": {json.dumps(schema, default=str)}', "the schema is missing or another one")
    if int(version) > int(SCHEMA.partition("/")[2]):
        raise DataError(
            "result-newer",
            "the result was written by a newer evenhand",
            given=schema,
            expected=f"{SCHEMA} or older",
            hint="upgrade evenhand, or make the report with the version named under provenance",
        )


def finding_in(row: Any, where: str) -> Finding:
    if isinstance(row, Mapping):
        row = {**SINCE_2, **row}
    expect(row, where, **ESTIMATE_FIELDS, **FINDING_FIELDS)
    if row["verdict"] is not None:
        one_of(row["verdict"], SEVERITY, f"{where}.verdict")
    for name in row["units"]:
        expect(row["units"], f"{where}.units", **{name: (int,)})
    estimate = Estimate(**{name: row[name] for name in ESTIMATE_FIELDS})
    spans = {name: _span_in(row[name], f"{where}.{name}") for name in SPANS}
    judged: dict[str, Any] = {name: row[name] for name in FINDING_FIELDS if name not in SPANS}
    return Finding(estimate=estimate, **{**judged, **spans})


def _span_in(bounds: Any, where: str) -> tuple[float, float] | None:
    if bounds is None:
        return None
    if len(bounds) != 2:
        raise foreign(where, "it has two bounds")
    expect(
        dict(zip(("low", "high"), bounds, strict=True)),
        where,
        low=(float, type(None)),
        high=(float, type(None)),
    )
    low, high = bounds
    return (-math.inf if low is None else float(low), math.inf if high is None else float(high))


def exhibit_in(part: Any, where: str) -> Exhibit:
    expect(part, where, title=(str,), note=(str,), chart=(str,), encode=(dict,), columns=(dict,))
    one_of(part["chart"], get_args(ChartKind), f"{where}.chart")
    for name in part["columns"]:
        expect(part["columns"], f"{where}.columns", **{name: (list,)})
    try:
        return Exhibit(**{name: part[name] for name in ("title", "note", "chart", "encode", "columns")})
    except ValueError as error:
        raise foreign(where, str(error)) from None


def expect(part: Any, where: str, /, **fields: tuple[type, ...]) -> None:
    """Each field is there and of one of its types; whole numbers count as floats, booleans never as
    numbers."""
    if not isinstance(part, Mapping):
        raise foreign(where, f"expected an object, found {type(part).__name__}")
    for name, kinds in fields.items():
        if name not in part:
            raise foreign(where, f"the field {name!r} is missing")
        value = part[name]
        allowed = (*kinds, int) if float in kinds else kinds
        boolean = isinstance(value, bool) and bool not in kinds
        if boolean or not isinstance(value, allowed):
            raise foreign(f"{where}.{name}", f"unexpected {type(value).__name__}")


def one_of(value: str, allowed: Sequence[str], where: str) -> str:
    if value not in allowed:
        raise foreign(where, f"{value!r} is none of {', '.join(allowed)}")
    return value
