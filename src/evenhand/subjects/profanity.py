"""alt-profanity-check: a linear model of profanity (extra `profanity`, which pins scikit-learn exactly)."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np

from evenhand.subjects.python import PythonSubject


def profanity() -> PythonSubject:
    """The subject `profanity`: the probability of profanity, 0 to 1. Local, no download."""
    from profanity_check import predict_prob

    def score(texts: list[str]) -> list[float]:
        return [float(p) for p in np.asarray(predict_prob(texts))]

    return PythonSubject(
        id=f"profanity {version('alt-profanity-check')}", function=score, names=("profanity",)
    )
