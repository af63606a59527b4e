"""What must hold for any predictions: order, weights, labels, chunks and ties."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand._compare import evidence_of
from evenhand._declared import Declared
from evenhand._labels import grouping
from evenhand.audits.predictions.cells import cells_of, everyone, prepare
from evenhand.audits.predictions.claims import number_claims
from evenhand.audits.predictions.rows import Rows
from evenhand.engines import files as engine_files

Values = dict[tuple[str, str, str | None], float | None]


def table(seed: int, n: int = 60, decimals: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return {
        "y": y,
        "p": (0.5 * y + rng.normal(size=n)).round(decimals),
        "g": np.where(np.arange(n) % 3 == 0, "a", "b"),
        "w": rng.integers(1, 4, n).astype(float),
    }


def values(rows: dict[str, np.ndarray], *, weight: bool = False, reference: str = "b") -> Values:
    """Every claim's value, without the curves."""
    groups = eh.Factor.of(rows["g"].tolist())
    made = prepare(
        Rows(columns={"y_pred": rows["p"], "y_true": rows["y"]}, groups={"g": groups}, weight=rows["w"] if weight else None),
        [0.8, 0.5],
    )  # fmt: skip
    listed = cells_of(made, grouping("g", groups))
    cells = {c.label.level: c for c in listed}
    other = next(k for k in cells if k != reference)
    found: Values = {}
    for claim in number_claims(made.scale, [0.8, 0.5], Declared(), everyone(listed)):
        e = evidence_of(claim, cells[other], cells[reference], level=0.95).estimate
        found[(e.measure, e.contrast, e.given)] = e.value
    return found


def same(a: Values, b: Values, tolerance: float = 1e-9) -> None:
    assert a.keys() == b.keys()
    for key, value in a.items():
        assert b[key] == (value if value is None else pytest.approx(value, abs=tolerance)), key


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_the_order_of_rows_never_matters(seed: int) -> None:
    """Shuffled rows, ties included, give the same table."""
    rows = table(seed)
    order = np.random.default_rng(seed + 1).permutation(60)
    same(values(rows), values({k: v[order] for k, v in rows.items()}))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_weights_equal_repetition(seed: int) -> None:
    """A row of weight 3 counts as three rows, in thresholds too."""
    rows = table(seed)
    repeated = {k: np.repeat(v, rows["w"].astype(int)) for k, v in rows.items()}
    weighted, plain = values(rows, weight=True), values(repeated)
    # Pooled variances know how many rows there are: weights count people, repetition makes more of them.
    for key, value in plain.items():
        if "standardised" not in key[0] and weighted[key] is not None:
            assert weighted[key] == pytest.approx(value, abs=1e-9), key


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_swapping_the_groups_flips_signs(seed: int) -> None:
    """Differences change sign, ratios invert, the AUC mirrors at ½, distances stay."""
    rows = table(seed)
    one, two = values(rows, reference="b"), values(rows, reference="a")
    for key, value in one.items():
        if value is None or two[key] is None:
            continue
        turned = {"difference": -value, "ratio": 1 / value if value else None, "AUC": 1 - value}.get(
            key[1], value
        )
        if turned is not None:
            assert two[key] == pytest.approx(turned, abs=1e-9), key


def test_a_streamed_file_gives_the_numbers_of_rows_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks of a Parquet file, in any partition, add up to one pass; sums exactly, thresholds to the stated error."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rows = table(3, n=3000, decimals=6)
    parquet.write_table(pa.table({k: pa.array(v) for k, v in rows.items()}), tmp_path / "p.parquet")
    call = {"y_true": "y", "y_pred": "p", "groups": "g", "reference": "b"}
    whole = eh.audit_predictions(tmp_path / "p.parquet", **call)
    monkeypatch.setattr(engine_files, "STREAM_ROWS", 100)
    monkeypatch.setattr(engine_files, "BATCH", 700)
    streamed = eh.audit_predictions(tmp_path / "p.parquet", **call)
    assert "streamed" in {n.slug for n in streamed.notes}
    for a, b in zip(whole.findings, streamed.findings, strict=True):
        assert (a.estimate.measure, a.verdict) == (b.estimate.measure, b.verdict)
        assert b.estimate.value == pytest.approx(a.estimate.value, abs=2e-3)
    exact = {"average score", "mean residual", "RMSE", "MAE", "concurrent validity", "calibration slope"}
    for a, b in zip(whole.findings, streamed.findings, strict=True):
        if a.estimate.measure in exact and a.estimate.given is None:
            assert b.estimate.value == pytest.approx(a.estimate.value, rel=1e-9)
            assert b.estimate.low == pytest.approx(a.estimate.low, rel=1e-9)


def test_intersections_of_independent_halves_add_up() -> None:
    """Every person is in exactly one combination."""
    rng = np.random.default_rng(0)
    rows = {
        "p": rng.normal(size=400),
        "a": rng.choice(["x", "y"], 400),
        "b": rng.choice(["u", "v", "w"], 400),
    }
    result = eh.audit_predictions(rows, y_pred="p", groups=["a", "b"], intersections=True)
    assert sum(result.exhibits["intersections of a & b"].columns["n"]) == 400
    assert any("worst of 6 subgroups" in f.estimate.measure for f in result.findings)
