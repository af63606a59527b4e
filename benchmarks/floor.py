"""What nothing can be cheaper than: one read, one sort, one matrix product, and a subject called bare beside its audit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import evenhand as eh
from benchmarks._figures import Figure, cpu


def floors(rows: int, side: int, most_texts: int) -> Iterator[Figure]:
    """Of so many rows, a square matrix of this side, and an audit of so many texts."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    column = np.random.default_rng(0).normal(size=rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "column.parquet"
        parquet.write_table(pa.table({"x": column}), path)
        read, _ = cpu(lambda: parquet.read_table(path), 3)
    yield Figure(
        name=f"one read, {rows:,} numbers", figure=f"{rows / read / 1e6:,.0f} million a CPU s", cpu=read
    )
    sort, _ = cpu(lambda: np.sort(column), 3)
    yield Figure(
        name=f"one sort, {rows:,} numbers", figure=f"{rows / sort / 1e6:,.1f} million a CPU s", cpu=sort
    )
    matrix = np.random.default_rng(0).normal(size=(side, side))
    product, _ = cpu(lambda: matrix @ matrix, 3)
    said = f"{2 * side**3 / product / 1e9:,.1f} Gflop a CPU s"
    yield Figure(name=f"one matrix product, {side:,}²", figure=said, cpu=product)
    from evenhand.audits.text.designs import design_of

    call = {"texts": "person", "terms": "names/freakonomics", "most_texts": most_texts}
    probes = list(design_of(call).inputs())
    model = eh.subject("vader")
    bare, _ = cpu(lambda: model(probes))
    ours, _ = cpu(lambda: eh.audit_text(model, **call))
    yield Figure(
        name=f"audit of VADER, {len(probes):,} probes",
        figure=f"{len(probes) / ours:,.0f} probes a CPU s",
        cpu=ours,
        peer="VADER called bare",
        ratio=bare / ours,
    )


def run(*, quick: bool) -> Iterator[Figure]:
    """Ten million numbers, 2,000 × 2,000, all texts."""
    yield from floors(10_000, 100, 3) if quick else floors(10_000_000, 2_000, 52)
