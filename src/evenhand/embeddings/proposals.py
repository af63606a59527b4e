"""Which words a masked language model expects at a place of a text: candidates in their context.

The model reads the text with the word masked, so what it proposes fits the sentence, whatever it means. What
it means is the embeddings' business: a candidate is proposed *and* near the word, along the direction, of its
form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand.embeddings._matrix import Vectors
from evenhand.embeddings.fluency import Contexts
from evenhand.embeddings.hugging_face import Proposer, proposer

Codes = npt.NDArray[np.int64]
GAPS = 5_000
"""Places that a model is asked at a time."""


@dataclass(kw_only=True, eq=False)
class Proposals:
    """Asks a model once for every place of every text.

    Args:
        id: of the model. propose: the model. k: words for a place.
    """

    id: str
    propose: Proposer = field(repr=False)
    k: int
    _found: dict[tuple[int, int], Codes] = field(default_factory=dict)
    _nothing: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def ask(self, contexts: Contexts, places: Iterable[tuple[int, int]], vectors: Vectors) -> None:
        """Ask for the places that were not asked for yet.

        Args:
            places: (text, token) of each. vectors: the words that may be proposed.
        """
        new = [place for place in places if place not in self._found]
        rows = {word: row for row, word in reversed(list(enumerate(vectors.words)))}
        for start in range(0, len(new), GAPS):
            part = new[start : start + GAPS]
            gaps = [_around(contexts, *place) for place in part]
            said = self.propose(gaps, vectors.words, self.k)
            if len(said) != len(gaps):
                raise UsageError(
                    "candidates-shape",
                    f"the function of candidates returned {len(said)} lists for {len(gaps)} gaps",
                    expected="one list of words for each gap",
                )
            for place, words in zip(part, said, strict=True):
                known = [rows[word] for word in words if word in rows][: self.k]
                self._found[place] = np.array(sorted(known), dtype=np.int64)

    def at(self, text: int, token: int) -> Codes:
        """Rows of the words that were proposed for a place, ascending."""
        return self._found.get((text, token), self._nothing)


def proposals(spec: str | Callable[..., Any] | Proposals, *, k: int = 50) -> Proposals | None:
    """What must propose a candidate besides the embeddings: nothing (None), or a model.

    Args:
        spec: ``"embeddings"``; ``"masked:NAME"`` for a Hugging Face model (folder or name of a downloaded
            one); a function from gaps (what stands before, what stands behind), all words with a vector, and
            k to a list of words for each gap, best first.
        k: most words that are proposed for a place, of those that have a vector.

    Raises:
        UsageError: `unknown-candidates`, `missing-extra`, `bad-count`.

    >>> found = proposals(lambda gaps, words, k: [["lovely", "unheard"] for _ in gaps])
    >>> from evenhand.embeddings import vectors
    >>> from evenhand.embeddings.fluency import contexts_of
    >>> v = vectors({"nice": [1.0, 0.0], "lovely": [0.9, 0.1]})
    >>> found.ask(contexts_of(["a nice day"]), [(0, 1)], v)
    >>> [v.words[row] for row in found.at(0, 1)]
    ['lovely']
    """
    if isinstance(spec, Proposals):
        return spec
    if k < 1:
        raise UsageError("bad-count", "a model proposes at least 1 word for a place", given=k)
    if callable(spec):
        name = getattr(spec, "__qualname__", type(spec).__name__)
        return Proposals(id=f"function {name}", propose=spec, k=k)
    if spec == "embeddings":
        return None
    kind, _, model = str(spec).partition(":")
    if kind == "masked" and model:
        return Proposals(id=f"masked model {model}, {k} words a place", propose=proposer(model), k=k)
    raise UsageError(
        "unknown-candidates",
        "there is no such source of candidates",
        given=spec,
        expected='"embeddings", "masked:NAME" or "module:attr"',
    )


def _around(contexts: Contexts, text: int, token: int) -> tuple[str, str]:
    raw = contexts.texts[text]
    return raw[: contexts.starts[text][token]], raw[contexts.ends[text][token] :]
