"""Hugging Face pipelines, batched, on the device you choose (extra `huggingface`).

Text classification and zero-shot classification.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from evenhand._errors import SubjectError, UsageError
from evenhand._model import Replies
from evenhand.subjects.identity import digest_of_files

Task: TypeAlias = Literal["text-classification", "zero-shot-classification"]


@dataclass(frozen=True, kw_only=True)
class HuggingFace:
    """Every label becomes a score of its own name."""

    id: str
    pipeline: Any = field(repr=False, compare=False)
    labels: tuple[str, ...] = ()
    batch_size: int = 32
    reuse: str = "always"

    def __call__(self, inputs: Sequence[str], /) -> Replies:
        texts = [str(text) for text in inputs]
        if not texts:
            return Replies(scores={})
        if self.labels:
            raw = self.pipeline(
                texts, candidate_labels=list(self.labels), batch_size=self.batch_size, multi_label=False
            )
            raw = raw if isinstance(raw, list) else [raw]
            rows = [dict(zip(item["labels"], item["scores"], strict=True)) for item in raw]
        else:
            raw = self.pipeline(texts, top_k=None, batch_size=self.batch_size, truncation=True)
            rows = [{item["label"]: item["score"] for item in items} for items in raw]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return Replies(
            scores={n: np.array([row.get(n, np.nan) for row in rows], dtype=np.float64) for n in names}
        )


def huggingface(
    *,
    model: str,
    task: Task = "text-classification",
    labels: Sequence[str] | str = (),
    device: str | int | None = None,
    batch_size: int = 32,
    revision: str | None = None,
) -> HuggingFace:
    """The subject `huggingface`.

    Args:
        model: a folder, or a name on your hub. labels: candidate labels, for zero-shot.
        device: ``"cpu"``, ``"cuda:0"``, …; the library's choice by default. revision: pins the model's
            version.

    Texts longer than the model's window are cut by its tokenizer; the audit's note on long texts applies.
    """
    from transformers import pipeline

    if task not in ("text-classification", "zero-shot-classification"):
        available = ["text-classification", "zero-shot-classification"]
        raise UsageError("unknown-task", "no such task here", given=task, available=available)
    candidates = tuple(labels.split(",")) if isinstance(labels, str) and labels else tuple(labels)
    if (task == "zero-shot-classification") != bool(candidates):
        raise UsageError(
            "zero-shot-labels", "labels belong to zero-shot classification, and it needs them", given=task
        )
    try:
        made = pipeline(task, model=model, device=device, revision=revision)
    except (OSError, ValueError) as error:
        raise SubjectError(
            "model-not-loaded",
            f"the model cannot be loaded: {str(error).splitlines()[0][:200]}",
            given=model,
            hint="a folder with the weights, or a name that your hub knows (and a network)",
        ) from error
    folder = Path(model)
    version = digest_of_files(sorted(folder.rglob("*"))) if folder.is_dir() else _revision(made)
    parts = ["huggingface", task, model, version or revision or "local", ",".join(candidates)]
    return HuggingFace(
        id=" ".join(p for p in parts if p),
        pipeline=made,
        labels=candidates,
        batch_size=batch_size,
        reuse="always" if version else "unfinished",
    )


def _revision(made: Any) -> str:
    """The commit that the hub's files are of; empty where it is not known: a name may move."""
    return str(getattr(made.model.config, "_commit_hash", None) or "")
