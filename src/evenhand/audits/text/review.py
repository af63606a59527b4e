"""A sheet for a person: every rewritten version, the least sure first; and what the person decided."""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace as replaced
from hashlib import blake2s

from evenhand._errors import DataError
from evenhand._files import FORMULA_STARTS
from evenhand._table import read_table, text_column, write_csv
from evenhand.audits.text.parts import Part, with_texts
from evenhand.plans.grid import CONTROL, Block
from evenhand.reports.csv import neutral

DECISIONS = ("keep", "drop")
_PLACE = re.compile(r"\{(\d+)\}")


def write_review(parts: Sequence[Part], path: str | os.PathLike[str]) -> int:
    """Write the versions that a person may look at, one a row, the least sure first; how many there are.

    Versions that change nothing are left out. Where terms are filled in, `{1}` stands for the first. A person
    fills `decision` (keep or drop; empty: undecided) or writes a better version into `replacement`.
    """
    rows: dict[str, dict[str, str | float | int]] = {}
    for part in parts:
        for block in part.grid.blocks:
            original, wording = part.grid.bases[block.text], _shown(block)
            if block.role == CONTROL or (wording == original and block.flag < 0):
                continue
            key = _key(part, block)
            if key in rows:
                rows[key]["probes"] = int(rows[key]["probes"]) + len(block)
                continue
            rows[key] = {
                "text": part.grid.texts[block.text],
                "version": _version(part, block),
                "original": original,
                "rewritten": wording,
                "changed": _changed(original, wording),
                "flag": _flag(part, block),
                "confidence": round(block.confidence, 4),
                "probes": len(block),
                "decision": "",
                "replacement": "",
                "key": key,
            }
    listed = sorted(rows.values(), key=lambda row: (row["confidence"], not row["flag"]))
    names = list(listed[0]) if listed else ["decision", "replacement", "key"]
    write_csv(path, {name: [neutral(row[name]) for row in listed] for name in names})
    return len(listed)


def read_review(path: str | os.PathLike[str]) -> dict[str, str]:
    """Key of a version → "keep", "drop", or the text that takes its place; undecided rows are left out.

    Raises:
        DataError: no such file or columns; a decision that is neither keep nor drop, or dropped and replaced.
    """
    table = read_table(path, columns=["key", "decision", "replacement"])
    found: dict[str, str] = {}
    columns = (text_column(table, name) for name in ("key", "decision", "replacement"))
    for k, (key, decision, replacement) in enumerate(zip(*columns, strict=True)):
        said, new = (decision or "").strip().lower(), _as_written(replacement or "")
        if (said and said not in DECISIONS) or (said == "drop" and new):
            raise DataError(
                "review-decision",
                "a decision is keep or drop; a replacement goes with keep, or alone",
                given=f"row {k + 2} of {path}: decision {decision!r}"
                + (f", replacement {new!r}" if new else ""),
                available=DECISIONS,
            )
        if key and (new or said):
            found[key] = f"={new}" if new else said
    return found


def reviewed(parts: Sequence[Part], path: str | os.PathLike[str]) -> tuple[list[Part], Mapping[str, int]]:
    """The parts as a person decided, and how many versions were kept and written anew, and texts dropped.

    What a person kept or wrote has no flag any more. A text is dropped whole, with all its versions.

    Raises:
        DataError: no decision is about a version of these texts; or as `read_review`.
    """
    decisions = read_review(path)
    counts: Counter[str] = Counter()
    used: set[str] = set()
    out = []
    for part in parts:
        blocks, dropped = [], set[int]()
        for block in part.grid.blocks:
            key = _key(part, block)
            decision = decisions.get(key, "") if block.role != CONTROL else ""
            used |= {key} & decisions.keys()
            if decision == "drop":
                dropped.add(block.text)
            elif decision:
                counts["kept" if decision == "keep" else "written anew"] += 1
                block = replaced(block, flag=-1, confidence=1.0)
                block = block if decision == "keep" else _with_wording(block, decision[1:], path)
            blocks.append(block)
        part = replaced(part, grid=replaced(part.grid, blocks=tuple(blocks)))
        counts["dropped"] += len(dropped)
        left = [i for i in range(len(part.grid.texts)) if i not in dropped]
        out.append(
            with_texts(part, left, "dropped in the review sheet", given=str(path)) if dropped else part
        )
    if not used:
        raise DataError(
            "review-of-others",
            "no decision in the sheet is about a version of these texts",
            given=f"{path}: {len(decisions)} decisions",
            expected="a sheet that --review wrote for the same texts, terms and groups, with decisions",
        )
    counts["without a version here"] = len(decisions) - len(used)
    return out, {name: n for name, n in counts.items() if n}


def _key(part: Part, block: Block) -> str:
    """What tells a version from all others, whatever a spreadsheet made of its text.

    One wording may be right for some names and in doubt for others: those are two versions.
    """
    told = "\0".join((part.name, part.grid.bases[block.text], block.wording, _flag(part, block)))
    return blake2s(told.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _flag(part: Part, block: Block) -> str:
    return part.grid.flags[block.flag] if block.flag >= 0 else ""


def _version(part: Part, block: Block) -> str:
    if block.form >= 0:
        return part.grid.forms[block.form]
    terms = part.grid.terms.terms
    return terms[int(block.rows[0])] if len(block) == 1 else f"{len(block)} terms"


def _shown(block: Block) -> str:
    """The wording with {1}, {2} … for what is filled in."""
    return str(block.wording % tuple(f"{{{k + 1}}}" for k in range(len(block.columns))))


def _changed(original: str, wording: str) -> str:
    """ "her → his; runs → run": the words that differ."""
    a, b = original.split(), wording.split()
    steps = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return "; ".join(
        f"{' '.join(a[i:j]) or '∅'} → {' '.join(b[k:m]) or '∅'}"
        for what, i, j, k, m in steps
        if what != "equal"
    )


def _as_written(cell: str) -> str:
    """A cell without the apostrophe that keeps a spreadsheet from running it."""
    return cell[1:] if cell[:1] == "'" and cell[1:].lstrip().startswith(FORMULA_STARTS) else cell.strip()


def _with_wording(block: Block, text: str, path: str | os.PathLike[str]) -> Block:
    places = [int(k) - 1 for k in _PLACE.findall(text)]
    if (block.columns and not places) or any(not 0 <= k < len(block.columns) for k in places):
        raise DataError(
            "review-replacement",
            "a replacement keeps the places where terms are filled in",
            given=f"{path}: {text}",
            expected=f"text with some of {', '.join(f'{{{k + 1}}}' for k in range(len(block.columns)))}"
            if block.columns
            else "text without places such as {1}",
        )
    plain = _PLACE.sub("%s", text.replace("%", "%%"))
    return replaced(block, wording=plain, columns=tuple(block.columns[k] for k in places))
