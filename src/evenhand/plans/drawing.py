"""An even random sample of the texts that a design can use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.plans.templates import Templates


@dataclass(frozen=True, kw_only=True)
class Sample:
    """At most so many of the texts that can be used; all where `most` is None."""

    most: int | None = None
    seed: int = 0

    def order(self, n: int) -> Sequence[int]:
        """In which order n texts are tried: at random where some may be left out."""
        if self.most is None or n <= self.most:
            return range(n)
        return [int(i) for i in np.random.default_rng(self.seed).permutation(n)]

    def of(self, made: Templates) -> Templates:
        """The templates that are drawn, in their order."""
        n = len(made.templates)
        if self.most is None or n <= self.most:
            return made
        return rows_of(made, sorted(self.order(n)[: self.most]))


EVERY = Sample()


def rows_of(made: Templates, rows: Sequence[int]) -> Templates:
    """Some of the templates, with all that belongs to them."""
    index = np.array(rows, dtype=np.intp)
    return replace(
        made,
        templates=tuple(made.templates[i] for i in rows),
        ids=tuple(made.ids[i] for i in rows),
        bases=tuple(made.bases[i] for i in rows) if made.bases else (),
        flags=tuple(made.flags[i] for i in rows) if made.flags else (),
        follow=tuple(made.follow[i] for i in rows) if isinstance(made.follow, tuple) else made.follow,
        factors={name: factor[index] for name, factor in made.factors.items()},
    )
