"""From the text of a CSV, TOML or JSON file to columns of terms, factors and forms."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand._errors import TermsError
from evenhand.terms.chances import Columns, chance_columns

TERM_COLUMNS = ("term", "name", "word", "identity", "pronoun", "first_name", "pair")
FORMS: Mapping[str, tuple[str, ...]] = {
    "pronouns": ("subject", "object", "determiner", "possessive", "reflexive"),
    "identity": ("adjective", "noun", "noun_plural", "seen_adjective", "seen_noun", "seen_noun_plural"),
    "pairs": ("male", "female", "neutral", "male_plural", "female_plural", "neutral_plural"),
}
ALL_FORMS = tuple(dict.fromkeys(f for forms in FORMS.values() for f in forms))


@dataclass(frozen=True, kw_only=True)
class Table:
    """Columns of one file: `rows` by column name; which column holds the terms, which the factors, the
    forms and the chances of groups."""

    term: str
    factors: tuple[str, ...]
    forms: tuple[str, ...]
    rows: Mapping[str, list[str]]
    chances: Columns
    kind: str | None = None
    source: str = ""
    licence: str = ""


def parse(text: str, *, suffix: str, name: str) -> Table:
    """The table in `text`, by the ending of its file.

    Raises:
        TermsError: not valid TOML or JSON, no terms column, rows of the wrong length, duplicates, or no rows.
    """
    head: Mapping[str, Any] = {}
    if suffix in (".csv", ".tsv"):
        records = _delimited(text, suffix=suffix, name=name)
    elif suffix == ".txt":
        records = [{"term": line.strip()} for line in text.splitlines() if line.strip()]
    else:
        head, records = _structured(text, suffix=suffix, name=name)
    return _table(records, head=head, name=name)


def _delimited(text: str, *, suffix: str, name: str) -> list[dict[str, str]]:
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = (
        "\t" if suffix == ".tsv" or "\t" in first else ";" if first.count(";") > first.count(",") else ","
    )
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        lines = [line for line in reader if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise TermsError("bad-csv", f"{name} cannot be read as CSV: {error}.") from None
    if not lines:
        raise TermsError("empty-file", "The file has no rows.", given=name)
    header = [cell.strip() for cell in lines[0]]
    for number, line in enumerate(lines[1:], start=2):
        if len(line) > len(header):
            raise TermsError(
                "ragged-csv",
                f"Row {number} of {name} has more cells than the header.",
                given=delimiter.join(line),
                expected=f"{len(header)} cells: {', '.join(header)}",
            )
    return [dict(zip(header, [*line, *[""] * (len(header) - len(line))], strict=True)) for line in lines[1:]]


def _structured(text: str, *, suffix: str, name: str) -> tuple[Mapping[str, Any], list[dict[str, Any]]]:
    try:
        if suffix == ".toml":
            content: Any = tomllib.loads(text)
        elif suffix == ".jsonl":
            content = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            content = json.loads(text)
    except ValueError as error:
        raise TermsError("bad-terms-file", f"{name} is not valid {suffix[1:].upper()}: {error}.") from None
    head: Mapping[str, Any] = content if isinstance(content, dict) else {}
    rows = head.get("rows", head.get("terms")) if head else content
    if isinstance(rows, list) and rows and all(isinstance(r, str) for r in rows):
        return head, [{"term": r} for r in rows]
    if isinstance(rows, list) and all(isinstance(r, dict) for r in rows):
        return head, rows
    columns = head.get("columns")
    if isinstance(rows, list) and isinstance(columns, list):
        for row in rows:
            if not isinstance(row, list) or len(row) != len(columns):
                raise TermsError(
                    "ragged-terms",
                    f"A row of {name} does not fit its columns.",
                    given=row,
                    expected=str(columns),
                )
        return head, [dict(zip(columns, row, strict=True)) for row in rows]
    if head and all(isinstance(v, list) and all(isinstance(t, str) for t in v) for v in head.values()):
        # the shape of most published lists: {"group": ["term", …], …}
        return {}, [{"term": t, "group": group} for group, members in head.items() for t in members]
    raise TermsError(
        "bad-terms-file",
        f"{name} does not hold a list of terms.",
        expected="a list of strings, a list of objects, {columns, rows}, or {group: [terms]}",
    )


def _table(records: Sequence[Mapping[str, Any]], *, head: Mapping[str, Any], name: str) -> Table:
    if not records:
        raise TermsError("empty-file", "The list of terms has no rows.", given=name)
    columns = list(dict.fromkeys(str(k) for r in records for k in r))
    lowered = {c.strip().lower(): c for c in columns}
    term = next((lowered[t] for t in TERM_COLUMNS if t in lowered), None)
    if term is None:
        raise TermsError(
            "missing-column",
            f"{name} has no column of terms.",
            given=", ".join(columns),
            expected=f"a column named {' or '.join(repr(t) for t in TERM_COLUMNS[:4])}",
            hint=_near(columns),
        )
    rows = {c: [_cell(r.get(c)) for r in records] for c in columns}
    blank = next((i for i, t in enumerate(rows[term]) if not t), None)
    if blank is not None:
        raise TermsError(
            "blank-term", f"Row {blank + 1} of {name} has no term.", expected=f"text in {term!r}"
        )
    declared = head.get("forms")
    forms = [c for c in columns if c in declared] if isinstance(declared, list) else _forms(columns, term)
    factors = [
        c for c in columns if c != term and c not in forms and c.lower() not in ("rank", "source", "note")
    ]
    chances = chance_columns(factors, rows, name)
    _refuse_duplicates(rows, term=term, name=name)
    return Table(
        term=term,
        factors=tuple(c for c in factors if c not in chances.all),
        forms=tuple(forms),
        rows=rows,
        chances=chances,
        kind=_text(head, "kind"),
        source=_text(head, "source") or f"the user's file {name}",
        licence=_text(head, "licence") or "",
    )


def _forms(columns: Iterable[str], term: str) -> list[str]:
    return [c for c in columns if c in ALL_FORMS and c != term]


def _text(head: Mapping[str, Any], key: str) -> str | None:
    value = head.get(key)
    return value if isinstance(value, str) else None


def _cell(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _near(columns: Sequence[str]) -> str | None:
    import difflib

    close = [c for c in columns if difflib.get_close_matches(c.lower(), TERM_COLUMNS, n=1, cutoff=0.6)]
    return f"did you mean the column {close[0]!r}? Rename it to 'term'" if close else None


def _refuse_duplicates(rows: Mapping[str, list[str]], *, term: str, name: str) -> None:
    seen: dict[str, int] = {}
    double: list[str] = []
    for i, label in enumerate(rows[term]):
        if label in seen:
            double.append(f"{label} (rows {seen[label] + 1} and {i + 1})")
        seen.setdefault(label, i)
    if double:
        raise TermsError(
            "duplicate-terms",
            f"{name} lists {len(double)} term(s) more than once; each would be counted twice.",
            given=", ".join(double[:5]),
            expected="every term once",
            hint="a term that belongs to several groups cannot tell them apart: keep one row, or rename it",
        )
