"""Numbers of vector files, parsed as whole arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand.embeddings import vectors
from evenhand.embeddings.decimals import CHUNK, decimals


def test_every_plain_decimal_is_the_float_that_python_reads() -> None:
    """All lengths and signs, over more tokens than one chunk, equal float() rounded once to float32."""
    rng = np.random.default_rng(3)
    tokens = [
        f"{x:.{k}f}" for x, k in zip(rng.normal(0, 10, 2 * CHUNK), rng.integers(1, 6, 2 * CHUNK), strict=True)
    ]
    text = "".join(t + " " for t in ["1.", ".5", "-.25", *tokens]).encode()
    data = np.frombuffer(text, dtype=np.uint8)
    values, plain = decimals(data, np.flatnonzero(data == 32))
    assert plain.all()
    assert values.tolist() == [float(np.float32(float(t))) for t in text.split()]


@pytest.mark.parametrize(
    "token",
    [
        "",
        "-",
        ".",
        "-.",
        "1e-3",
        "1.2.3",
        "--1.5",
        "1-2.5",
        "nan",
        "a.b",
        "1.5x",
        "1:.5",
        "+1.5",
        "é.1",
        "12345678.5",
    ],
)
def test_anything_else_is_not_taken_for_a_decimal(token: str) -> None:
    """Words, exponents, doubled points and signs, and long numbers are left to a careful parser, wherever they stand."""
    text = f"{token} 0.5000 {token} ".encode()
    data = np.frombuffer(text, dtype=np.uint8)
    _, plain = decimals(data, np.flatnonzero(data == 32))
    assert plain.tolist() == [False, True, False]


@pytest.mark.parametrize("every", [1, 2, 200])
def test_few_or_many_unusual_numbers_are_read_the_same(tmp_path: Path, every: int) -> None:
    """Exponents and long numbers are read right, whether they are rare or the rule."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(300, 4)).astype(np.float32)
    forms = ["{:.9e}", "{:.12f}", "{:.9g}"]
    lines = []
    for i, row in enumerate(rows):
        form = forms[i % 3] if i % every == 0 else "{:.5f}"
        lines.append(f"w{i} " + " ".join(form.format(x) for x in row))
    path = tmp_path / "v.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    found = vectors(path)
    assert len(found) == 300
    np.testing.assert_allclose(found.unit * found.norms[:, None], rows, atol=6e-6)
