"""How texts are read: templates, shipped texts, files, lists, and the streamed Civil Comments."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand._model import Factor
from evenhand.plans.civil import civil_comments, is_civil_comments
from evenhand.plans.templates import SHIPPED, Templates, templates
from evenhand.texts import Texts
from evenhand.texts import texts as load_texts


@dataclass(frozen=True, kw_only=True)
class CivilComments:
    """A CSV in the layout of Civil Comments: the texts of a category of terms are read when asked for."""

    path: str | os.PathLike[str]

    def of(self, category: str) -> Texts:
        """Comments that the identity columns place in this category; `toxicity` ≥ ½ becomes their label."""
        ids: list[str] = []
        texts: list[str] = []
        toxic: list[str | None] = []
        for batch in civil_comments(self.path, category):
            ids += batch.ids
            texts += batch.texts
            toxic += [None if np.isnan(t) else str(int(t >= 0.5)) for t in batch.toxicity]
        factors = {"label": Factor.of(toxic)}
        return Texts(id="civil comments", ids=tuple(ids), texts=tuple(texts), factors=factors)


def source_of(texts: Any, *, column: str | None = None) -> Texts | Templates | CivilComments:
    """What the texts of an audit are read from.

    Args:
        texts: templates, a shipped name ("eec", "letters"), a file, a list of texts, a dataframe, or `Texts`.
        column: with the texts, where they are a table.
    """
    if isinstance(texts, Templates):
        return texts
    if isinstance(texts, str | os.PathLike):
        if is_civil_comments(texts):
            return CivilComments(path=texts)
        if texts in SHIPPED or str(texts).endswith(".toml"):
            return templates(texts)
    return texts if isinstance(texts, Texts) else load_texts(texts, column=column)
