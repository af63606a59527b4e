"""VADER, a sentiment lexicon with rules that ships inside an ordinary package (Hutto & Gilbert 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from evenhand._model import Replies


@dataclass(frozen=True, kw_only=True)
class Vader:
    """Scores compound (−1 to 1), pos, neu and neg (shares, 0 to 1). Deterministic, local, no download."""

    id: str
    score_range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    analyzer: Any = field(repr=False, compare=False)

    def __call__(self, inputs: Sequence[str], /) -> Replies:
        replies = [self.analyzer.polarity_scores(text) for text in inputs]
        names = ("compound", "pos", "neu", "neg")
        return Replies(scores={n: np.array([r[n] for r in replies], dtype=np.float64) for n in names})


def vader() -> Vader:
    """The subject `vader`.

    >>> vader()(["What a wonderful day!"]).scores["compound"].round(2)
    array([0.61])
    """
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return Vader(id=f"vader {version('vaderSentiment')}", analyzer=SentimentIntensityAnalyzer())
