"""The subject of the example: probabilities of the two labels from model.skops in the current folder."""

from __future__ import annotations

from functools import cache
from typing import Any

import skops.io


@cache
def _model() -> Any:
    return skops.io.load("model.skops", trusted=skops.io.get_untrusted_types(file="model.skops"))


def predict(texts: list[str]) -> dict[str, Any]:
    """P(fine) and P(abusive) of every text."""
    p = _model().predict_proba(texts)
    return {"fine": p[:, 0], "abusive": p[:, 1]}
