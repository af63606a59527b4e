"""A synthetic embedding whose directions are known, for the attack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand._model import FloatArray
from evenhand.embeddings._matrix import Vectors, from_arrays

_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


@dataclass(frozen=True, kw_only=True, eq=False)
class PlantedWords:
    """Words in clusters of synonyms, each leaning a known way along one direction.

    Args:
        vectors: the embedding; "woman" − "man" is the direction.
        clusters: words that are similar to each other. loading: word → how far it leans towards "woman".
    """

    vectors: Vectors
    clusters: tuple[tuple[str, ...], ...]
    loading: Mapping[str, float]

    def sentences(self, n: int, *, seed: int, words: int = 8) -> list[str]:
        """Texts of random words."""
        rng = np.random.default_rng(seed)
        pool = [w for cluster in self.clusters for w in cluster]
        return [" ".join(pool[i] for i in rng.integers(0, len(pool), words)) for _ in range(n)]


def planted(
    *,
    clusters: int = 60,
    size: int = 8,
    width: int = 40,
    lean: float = 0.35,
    noise: float = 0.35,
    seed: int = 0,
) -> PlantedWords:
    """An embedding with `clusters` groups of synonyms.

    Args:
        lean: spread of the words' loadings. noise: spread of a word around its cluster in all other directions together.

    >>> p = planted(clusters=3, size=2)
    >>> len(p.vectors), p.clusters[0][0] in p.loading
    (8, True)
    """
    rng = np.random.default_rng(seed)
    axis = np.zeros(width)
    axis[0] = 1.0
    names = _names(clusters * size, rng)
    rows: list[FloatArray] = []
    loading: dict[str, float] = {}
    for c in range(clusters):
        centre = rng.normal(size=width)
        centre[0] = 0.0
        centre /= np.linalg.norm(centre)
        for i in range(size):
            lean_i = float(rng.normal(0.0, lean))
            scatter = rng.normal(size=width) * noise / np.sqrt(width)
            scatter[0] = 0.0
            rows.append(centre + scatter + lean_i * axis)
            loading[names[c * size + i]] = lean_i
    person = rng.normal(size=width)
    person[0] = 0.0
    person /= np.linalg.norm(person)
    rows += [person + 0.3 * axis, person - 0.3 * axis]
    made = from_arrays([*names, "woman", "man"], np.array(rows), id=f"planted {seed}")
    grouped = tuple(tuple(names[c * size : (c + 1) * size]) for c in range(clusters))
    return PlantedWords(vectors=made, clusters=grouped, loading=loading)


def _names(n: int, rng: np.random.Generator) -> Sequence[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        syllables = rng.integers(0, 70, 3)
        word = "".join(_CONSONANTS[s % 14] + _VOWELS[s // 14] for s in syllables.tolist())
        found.setdefault(word + "x")
    return list(found)
