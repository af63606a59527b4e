"""Two results, compared number by number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def differences(one: Any, two: Any, at: str = "", *, within: float = 1e-12) -> Iterator[str]:
    """Where two JSON values, or details of an inference, are apart by more than addition in another order allows."""
    if isinstance(one, dict) and isinstance(two, dict):
        if one.keys() != two.keys():
            yield f"{at}: {sorted(one.keys() ^ two.keys())}"
        for key in one.keys() & two.keys():
            yield from differences(one[key], two[key], f"{at}.{key}", within=within)
    elif isinstance(one, list) and isinstance(two, list):
        if len(one) != len(two):
            yield f"{at}: {len(one)} / {len(two)}"
        for i, (a, b) in enumerate(zip(one, two, strict=False)):
            yield from differences(a, b, f"{at}[{i}]", within=within)
    elif isinstance(one, float) and isinstance(two, float):
        if not np.isclose(one, two, rtol=within, atol=1e-12):
            yield f"{at}: {one!r} / {two!r}"
    elif one != two:
        yield f"{at}: {one!r} / {two!r}"
