"""How texts are read: templates, shipped texts, files, lists, and the streamed Civil Comments."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand._model import Factor
from evenhand.plans.civil import civil_comments, is_civil_comments
from evenhand.plans.templates import SHIPPED, Templates, templates
from evenhand.texts import Texts
from evenhand.texts import texts as load_texts


@dataclass(frozen=True, kw_only=True)
class Sample:
    """An even random sample of at most so many texts; of all, where `most` is None."""

    most: int | None = None
    seed: int = 0

    def of(self, source: Texts) -> Texts:
        """The texts that are drawn, in their order."""
        if self.most is None or len(source) <= self.most:
            return source
        rows = np.sort(np.random.default_rng(self.seed).choice(len(source), size=self.most, replace=False))
        return replace(
            source,
            ids=tuple(source.ids[i] for i in rows),
            texts=tuple(source.texts[i] for i in rows),
            factors={name: factor[rows] for name, factor in source.factors.items()},
        )


@dataclass(frozen=True, kw_only=True)
class CivilComments:
    """A CSV in the layout of Civil Comments: the texts of a category of terms are read when asked for."""

    path: str | os.PathLike[str]
    sample: Sample

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
        return self.sample.of(Texts(id="civil comments", ids=tuple(ids), texts=tuple(texts), factors=factors))


def source_of(
    texts: Any, *, column: str | None = None, most: int | None = None, seed: int = 0
) -> Texts | Templates | CivilComments:
    """What the texts of an audit are read from.

    Args:
        texts: templates, a shipped name ("eec", "letters"), a file, a list of texts, a dataframe, or `Texts`.
        column: with the texts, where they are a table.
        most, seed: of a random sample; templates are never sampled.
    """
    sample = Sample(most=most, seed=seed)
    if isinstance(texts, Templates):
        return texts
    if isinstance(texts, str | os.PathLike):
        if is_civil_comments(texts):
            return CivilComments(path=texts, sample=sample)
        if texts in SHIPPED or str(texts).endswith(".toml"):
            return templates(texts)
    return sample.of(texts if isinstance(texts, Texts) else load_texts(texts, column=column))
