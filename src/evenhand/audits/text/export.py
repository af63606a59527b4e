"""Probes and templates as files: for services that are asked elsewhere, and for a person's review."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from evenhand._errors import UsageError
from evenhand._files import write_whole
from evenhand.audits.text.designs import Design
from evenhand.plans._placeholders import joined
from evenhand.reports.csv import neutral


def write_probes(made: Design, path: str | os.PathLike[str]) -> tuple[int, Path]:
    """Every probe as a CSV row (`Line`, `text`, the factors), and beside it the texts alone, one a line.

    The second file is what batch services read (Amazon Comprehend's ONE_DOC_PER_LINE); its line numbers,
    from 0, are the column `Line`. Line breaks inside a text become spaces in both.

    Returns:
        (number of probes, path of the second file).
    """
    target = Path(path)
    lines = target.with_suffix(".lines.txt")
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    names = ["text_id", "term", *made.attributes, "category", "role", "form", "flag"]
    with (
        target.open("w", newline="", encoding="utf-8") as table,
        lines.open("w", encoding="utf-8") as documents,
    ):
        writer = csv.writer(table)
        extra = sorted({name for part in made.parts for name in part.grid.text_factors})
        writer.writerow(["Line", "text", *names, *extra])
        for probes in made.plan():
            factors = {**probes.factors, "text_id": probes.factors["text"]}
            columns = [
                list(factors[name]) if name in factors else [None] * len(probes) for name in [*names, *extra]
            ]
            for row, text in enumerate(probes.inputs):
                line = " ".join(text.splitlines())
                documents.write(line + "\n")
                writer.writerow([written, *map(neutral, (line, *(column[row] for column in columns)))])
                written += 1
    return written, lines


def write_templates(made: Design, path: str | os.PathLike[str]) -> int:
    """The texts with their placeholders as TOML, which a person may edit and `--texts` reads again."""
    whole = [part.templates for part in made.parts if part.templates is not None]
    if not whole:
        raise UsageError(
            "no-templates", "this design has no templates to write", hint="names and identity terms have"
        )
    both = joined(whole)
    write_whole(path, both.to_toml())
    return len(both.templates)
