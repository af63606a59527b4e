"""A text once for every set of pronouns: he, she, they, xe, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenhand._errors import UsageError
from evenhand._model import Factor
from evenhand.plans._rewriting import rewrite
from evenhand.plans.drawing import EVERY, Sample
from evenhand.plans.grid import Grid
from evenhand.plans.versions import version_grid
from evenhand.terms import Terms


def pronoun_grid(
    texts: Sequence[str],
    terms: Terms,
    *,
    sample: Sample = EVERY,
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
    own = Terms(
        id=terms.id,
        kind="pronouns",
        terms=terms.terms,
        factors={"pronoun": Factor.of(list(terms.terms))},
        source=terms.source,
        licence=terms.licence,
    )
    grid = version_grid(
        texts,
        lambda text: [rewrite(text, pronouns=name) for name in terms.terms],
        own,
        skip="has no third-person pronoun",
        sample=sample,
        ids=ids,
        factors=factors,
    )
    if grid is None:
        raise UsageError("no-pronouns", "no text has a third-person pronoun", given=f"{len(texts)} texts")
    return grid
