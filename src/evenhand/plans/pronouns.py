"""A text once for every set of pronouns: he, she, they, xe, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import Factor
from evenhand.plans._rewriting import rewrite
from evenhand.plans._slots import Levels
from evenhand.plans.grid import Block, Grid, Skipped
from evenhand.terms import Terms


def pronoun_grid(
    texts: Sequence[str],
    terms: Terms,
    *,
    ids: Sequence[str] | None = None,
    factors: Mapping[str, Factor] | None = None,
) -> Grid:
    """Each text that has third-person pronouns, once with every set. Texts without any are in `skipped`.

    Here the group is the term: factor ``pronoun`` and unit ``term`` have the same levels.

    Raises:
        UsageError: no text has a third-person pronoun.

    >>> from evenhand.terms import terms
    >>> list(pronoun_grid(["He lost his keys."], terms("pronouns")))[:3]
    ['He lost his keys.', 'She lost her keys.', 'They lost their keys.']
    """
    names = list(ids) if ids is not None else [f"t{i + 1}" for i in range(len(texts))]
    flags, blocks, skipped, keep = Levels(), list[Block](), list[Skipped](), list[int]()
    for i, text in enumerate(texts):
        versions = [rewrite(text, pronouns=name) for name in terms.terms]
        if len({v.text for v in versions}) == 1:
            skipped.append(Skipped(text=names[i], reason="has no third-person pronoun"))
            continue
        for code, version in enumerate(versions):
            blocks.append(
                Block(
                    text=len(keep),
                    wording=version.text.replace("%", "%%"),
                    columns=(),
                    rows=np.array([code], dtype=np.int32),
                    flag=flags.code("; ".join(version.flags)),
                )
            )
        keep.append(i)
    if not keep:
        raise UsageError("no-pronouns", "no text has a third-person pronoun", given=f"{len(texts)} texts")
    index = np.array(keep)
    return Grid(
        terms=Terms(
            id=terms.id,
            kind="pronouns",
            terms=terms.terms,
            factors={"pronoun": Factor.of(list(terms.terms))},
            source=terms.source,
            licence=terms.licence,
        ),
        texts=tuple(names[i] for i in keep),
        bases=tuple(texts[i] for i in keep),
        blocks=tuple(blocks),
        text_factors={k: f[index] for k, f in (factors or {}).items()},
        flags=tuple(flags.index),
        skipped=tuple(skipped),
    )
