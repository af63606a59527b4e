"""Grids in which each text stands once in every version: the group is the rewriting itself (pronouns,
gendered words)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from evenhand._model import Factor
from evenhand.plans._edits import Rewrite
from evenhand.plans._slots import Levels
from evenhand.plans.drawing import EVERY, Sample
from evenhand.plans.grid import Block, Grid, Skipped
from evenhand.terms import Terms


def version_grid(
    texts: Sequence[str],
    versions: Callable[[str], Sequence[Rewrite]],
    terms: Terms,
    *,
    skip: str,
    sample: Sample = EVERY,
    ids: Sequence[str] | None = None,
    factors: Mapping[str, Factor] | None = None,
) -> Grid | None:
    """Every text in every version; None where no text changes.

    Args:
        versions: text → one rewriting for each of `terms`, in their order.
        terms: one term a version, which is its own group.
        skip: reason given for texts that no version changes.
        sample: how many of the texts that do change are used.
    """
    names = list(ids) if ids is not None else [f"t{i + 1}" for i in range(len(texts))]
    flags, blocks, skipped, keep = Levels(), list[Block](), list[Skipped](), list[int]()
    changed: dict[int, Sequence[Rewrite]] = {}
    for i in sample.order(len(texts)):
        made = versions(texts[i])
        if len({version.text for version in made}) == 1:
            skipped.append(Skipped(text=names[i], reason=skip))
            continue
        changed[i] = made
        if len(changed) == sample.most:
            break
    for i in sorted(changed):
        for code, version in enumerate(changed[i]):
            blocks.append(
                Block(
                    text=len(keep),
                    wording=version.text.replace("%", "%%"),
                    columns=(),
                    rows=np.array([code], dtype=np.int32),
                    flag=flags.code("; ".join(version.flags)),
                    confidence=version.confidence,
                )
            )
        keep.append(i)
    if not keep:
        return None
    index = np.array(keep)
    return Grid(
        terms=terms,
        texts=tuple(names[i] for i in keep),
        bases=tuple(texts[i] for i in keep),
        blocks=tuple(blocks),
        text_factors={k: f[index] for k, f in (factors or {}).items()},
        flags=tuple(flags.index),
        skipped=tuple(skipped),
    )
