"""What is done faster gives what the plain way gives, to the last bit."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evenhand._labels import groupings
from evenhand._model import Factor
from evenhand._provenance import digest_of
from evenhand._table import as_numpy, read_table
from evenhand.audits.predictions.class_cells import class_cell, class_cells
from evenhand.audits.predictions.rows import rows_by_level


@pytest.mark.parametrize("outcomes", [True, False])
@pytest.mark.parametrize("within", [None, "half"])
def test_labels_that_are_counted_are_labels_that_are_summed(outcomes: bool, within: str | None) -> None:
    """Every sum and product of three 0/1 terms, with a level that has no row and rows without a level."""
    rng = np.random.default_rng(0)
    n = 2000
    columns = {"selected": rng.integers(0, 2, n).astype(float)}
    if outcomes:
        columns["actual"] = rng.integers(0, 2, n).astype(float)
    codes = rng.choice([-1, 0, 2], n).astype(np.int32)
    (groups,) = groupings({"race": Factor(codes, ("a", "nobody", "b"))})
    mask = None if within is None else rng.random(n) < 0.5
    counted = class_cells(columns, None, groups, mask)
    assert [str(c.label) for c in counted] == ["race=a", "race=b"]
    rows = [r for r in rows_by_level(groups.factor, mask) if len(r)]
    for cell, own in zip(counted, rows, strict=True):
        summed = class_cell(columns, None, own, cell.label).moments
        made = cell.moments
        assert (made.names, made.n, made.weight, made.weight2) == (
            summed.names,
            summed.n,
            summed.weight,
            summed.weight2,
        )
        for name in ("sums", "sums2", "cross"):
            np.testing.assert_array_equal(getattr(made, name), getattr(summed, name))


ARRAYS: dict[str, Any] = {
    "floats": np.array([1.5, np.nan, -0.0, np.inf]),
    "single": np.array([1.5, np.nan], dtype=np.float32),
    "whole": np.array([-1, 2**40]),
    "small": np.array([1, -2], dtype=np.int8),
    "unsigned": np.array([1, 2**63], dtype=np.uint64),
    "booleans": np.arange(19) % 3 == 0,
    "texts": np.array(["", "Zoë", "a\U0001f600", "Zoë", " x"]),
    "every other": np.array(["a", "b", "c", "d"])[::2],
    "backwards": np.arange(5.0)[::-1],
    "big endian": np.array([1.0, 2.0], dtype=">f8"),
    "empty": np.empty(0),
    "no texts": np.empty(0, dtype="<U3"),
    "objects": np.array([None, "a"], dtype=object),
    "days": np.array(["2024-01-01"], dtype="datetime64[D]"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_becomes_the_column_that_arrow_would_make(name: str) -> None:
    """Value for value and null for null, whatever its type and layout; its digest is that of the values."""
    values = ARRAYS[name]
    ours, theirs = (
        read_table({"x": values}),
        pa.table({"x": pa.array(np.ascontiguousarray(values).astype(values.dtype.newbyteorder("=")))}),
    )
    assert repr(ours.column("x").to_pylist()) == repr(theirs.column("x").to_pylist())
    assert digest_of(None, ours) == digest_of(None, theirs)


def test_a_column_becomes_an_array_that_cannot_be_written_to() -> None:
    """Nulls are what was asked for, pieces are put together, and the user's numbers stay theirs."""
    column = pa.chunked_array([[1.0, None], [3.0]])
    assert as_numpy(column, -1.0).tolist() == [1.0, -1.0, 3.0]
    whole = as_numpy(pa.array([1, 2, 3]), 0)
    with pytest.raises(ValueError, match="read-only"):
        whole[0] = 5
    assert as_numpy(pa.chunked_array([], type=pa.float64()), 0.0).tolist() == []


def test_an_audit_of_arrays_and_of_a_file_imports_no_pandas(tmp_path: Any) -> None:
    """It takes longer to import than ten thousand rows to audit."""
    path = tmp_path / "rows.csv"
    path.write_text(
        "p,sex\n" + "".join(f"{i % 7 / 7:.3f},{'FM'[i % 2]}\n" for i in range(200)), encoding="utf-8"
    )
    program = (
        "import sys, numpy as np, evenhand as eh\n"
        f"eh.audit_predictions({str(path)!r}, y_pred='p', groups='sex')\n"
        "x = np.arange(200.0) % 7 / 7\n"
        "eh.audit_predictions({'p': x, 'sex': np.where(x > 0.5, 'F', 'M')}, y_pred='p', groups='sex')\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_command_with_all_its_reports_imports_neither_pandas_nor_optimisers(tmp_path: Any) -> None:
    """An inconclusive audit, whose sentences say what it could have found; every file of --out is written."""
    path = tmp_path / "rows.csv"
    path.write_text("p,sex\n" + "".join(f"{i % 7 / 7},{'FM'[i % 2]}\n" for i in range(30)), encoding="utf-8")
    words = ["predictions", str(path), "--y-pred", "p", "--group", "sex", "--out", str(tmp_path / "out")]
    program = (
        f"import sys; from evenhand.cli import run; run({words!r})\n"
        "print([m for m in ('pandas', 'scipy.optimize', 'scipy.stats', 'altair') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"
    result = (tmp_path / "out" / "result.json").read_text(encoding="utf-8")
    assert "four times in five" in result
