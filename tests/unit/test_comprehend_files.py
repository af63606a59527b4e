"""Comprehend's own result files: JSON lines, the archive and the flattened CSV say the same."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand._errors import DataError
from evenhand.subjects.comprehend_files import is_comprehend, read_comprehend

SCORES = [
    {"Positive": 0.7, "Negative": 0.1, "Neutral": 0.15, "Mixed": 0.05},
    {"Positive": 0.2, "Negative": 0.5, "Neutral": 0.25, "Mixed": 0.05},
    {"Positive": 0.6, "Negative": 0.2, "Neutral": 0.1, "Mixed": 0.1},
]


def written(folder: Path, order: tuple[int, ...] = (2, 0, 1)) -> dict[str, Path]:
    """The same replies in the three forms, the lines out of order, as the service returns them."""
    records = [
        {"File": "p.txt", "Line": n, "Sentiment": "POSITIVE", "SentimentScore": SCORES[n]} for n in order
    ]
    raw = "\n".join(map(json.dumps, records)).encode()
    (folder / "output.jsonl").write_bytes(raw)
    with tarfile.open(folder / "output.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("output")
        info.size = len(raw)
        archive.addfile(info, io.BytesIO(raw))
    names = list(SCORES[0])
    lines = [",".join(["File", "Line", "Sentiment", *(f"SentimentScore__{n}" for n in names)])]
    lines += [f"p.txt,{n},POSITIVE," + ",".join(str(SCORES[n][k]) for k in names) for n in order]
    (folder / "flat.csv").write_text("\n".join(lines) + "\n")
    return {name: folder / name for name in ("output.jsonl", "output.tar.gz", "flat.csv")}


def test_the_three_forms_give_the_same_rows_in_the_order_of_the_probes(tmp_path: Path) -> None:
    """Joined on Line, with the probes' own columns beside the scores."""
    probes = tmp_path / "probes.csv"
    probes.write_text("text,name\nfirst,Ann\nsecond,Bo\nthird,Cy\n")
    for path in written(tmp_path).values():
        assert is_comprehend(path)
        table = read_comprehend(path, probes)
        assert table.column("name").to_pylist() == ["Ann", "Bo", "Cy"]
        assert table.column("Negative").to_pylist() == [s["Negative"] for s in SCORES]


def test_an_audit_of_the_flattened_csv_is_that_of_the_json_lines(tmp_path: Path) -> None:
    """The same estimates from either file."""
    probes = tmp_path / "probes.csv"
    probes.write_text("text,group\nfirst,a\nsecond,b\nthird,a\n")
    made = written(tmp_path)
    found = [
        eh.audit_scores(made[name], probes=probes, scores="Negative", groups=["group"])
        for name in ("flat.csv", "output.jsonl")
    ]
    values = [[f.estimate.value for f in result.findings] for result in found]
    assert len(values[0]) > 0
    np.testing.assert_array_equal(values[0], values[1])


def test_a_csv_with_a_line_twice_or_past_the_probes_is_refused(tmp_path: Path) -> None:
    """A join that would be wrong is not made."""
    with pytest.raises(DataError, match="comprehend-line"):
        read_comprehend(written(tmp_path, order=(0, 0, 1))["flat.csv"])
    probes = tmp_path / "probes.csv"
    probes.write_text("text\nfirst\nsecond\n")
    with pytest.raises(DataError, match="comprehend-line"):
        read_comprehend(written(tmp_path)["flat.csv"], probes)
