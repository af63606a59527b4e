"""TextBlob's pattern lexicon: polarity and subjectivity (extra `textblob`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np

from evenhand._model import Replies


@dataclass(frozen=True, kw_only=True)
class TextBlobSubject:
    """Scores polarity (−1 to 1) and subjectivity (0 to 1). Deterministic, local, no download."""

    id: str
    analyze: Any = field(repr=False, compare=False)

    def __call__(self, inputs: Sequence[str], /) -> Replies:
        values = np.array([tuple(self.analyze(text))[:2] for text in inputs], dtype=np.float64).reshape(-1, 2)
        return Replies(scores={"polarity": values[:, 0], "subjectivity": values[:, 1]})


def textblob() -> TextBlobSubject:
    """The subject `textblob`."""
    from textblob.en.sentiments import PatternAnalyzer

    return TextBlobSubject(id=f"textblob {version('textblob')}", analyze=PatternAnalyzer().analyze)
