"""Which words may stand for which along a direction, and of what kind the change is.

The nearest word to w + g is w itself for nearly every word, and without w mostly w's plain nearest neighbour.
So a candidate must be similar to w *and* move along the direction, in units of the direction's spread over
the vocabulary.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand._errors import DataError, UsageError
from evenhand._files import foreign, write_whole
from evenhand.embeddings._matrix import Matrix, Vectors
from evenhand.embeddings.directions import Direction, gender_words, loaded
from evenhand.embeddings.neighbours import nearest

Kind: TypeAlias = Literal["definitional", "directional", "both ways", "inflection"]
Codes = npt.NDArray[np.int64]

FUNCTION_WORDS = frozenset(
    word
    for line in files("evenhand.embeddings")
    .joinpath("data/function_words.txt")
    .read_text("utf-8")
    .splitlines()
    if not line.startswith("#")
    for word in line.split()
)
"""Words that are not altered (project's own list): pronouns, determiners, prepositions, auxiliaries,
negations."""
_WORD = re.compile(r"[^\W\d_]{2,}(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """What counts as an alteration.

    Args:
        n: most candidates for a word in one direction.
        min_similarity: least cosine of w and candidate (δ; 0.4 to 0.5 in the literature).
        min_gain: least change along the direction, in standard deviations of the vocabulary's projections
            onto it.
        max_rank: the candidate is among this many nearest words of w, and w among as many of the candidate's.
        max_target: most words that one candidate may stand for in one direction (hubs); None for no cap.
        inflections: also accept inflections of w.
        function_words: also alter function words; gender words by definition (he, she) are altered in any
            case.
    """

    n: int = 8
    min_similarity: float = 0.5
    min_gain: float = 0.1
    max_rank: int = 50
    max_target: int | None = 40
    inflections: bool = False
    function_words: bool = False

    def __post_init__(self) -> None:
        if self.n < 1 or self.max_rank < 1 or (self.max_target is not None and self.max_target < 1):
            raise UsageError("bad-rules", "n, max_rank and max_target are at least 1", given=self)
        if not -1.0 <= self.min_similarity <= 1.0:
            raise UsageError("bad-rules", "a cosine lies between −1 and 1", given=self.min_similarity)


@dataclass(frozen=True, kw_only=True, slots=True)
class Alteration:
    """One word that may stand for another.

    Args:
        word: the replacement. cosine: with the shifted vector. similarity: cosine with w.
        gain: change along the direction, in spreads of the vocabulary.
        kind: `definitional` (man → woman), `inflection`, `both ways` (offered in the opposite direction too,
            so a plain synonym), or `directional`.
    """

    word: str
    cosine: float
    similarity: float
    gain: float
    kind: Kind


@dataclass(frozen=True, kw_only=True, eq=False)
class Pools:
    """Similar words of every source word, before any direction: edges source → candidate.

    Args:
        sources: (m,) rows of the source words.
        source: (e,) index into `sources`. candidate: (e,) rows. similarity: (e,) cosines.
        dropped: rule → edges that it removed.
    """

    sources: Codes
    source: Codes
    candidate: Codes
    similarity: Matrix
    dropped: Mapping[str, int] = field(default_factory=dict)


def pools(
    vectors: Vectors, sources: Iterable[int], rules: Rules, *, definitional: frozenset[str] | None = None
) -> Pools:
    """The candidates of the source words that pass every rule that needs no direction.

    Args:
        definitional: words (lower case) that may be altered although they are function words.
    """
    special = gender_words() if definitional is None else definitional
    rows = np.array(sorted(set(sources)), dtype=np.int64)
    rows = rows[[_alterable(vectors.words[r], rules, special) for r in rows]] if len(rows) else rows
    if not len(rows):
        empty = np.empty(0, dtype=np.int64)
        return Pools(sources=rows, source=empty, candidate=empty, similarity=np.empty(0, dtype=np.float32))
    found = nearest(vectors, rows, [None], n=min(rules.max_rank, len(vectors)))[0]
    source = np.repeat(np.arange(len(rows)), found.rows.shape[1])
    candidate, similarity = found.rows.ravel(), found.cosine.ravel()
    keep = (candidate >= 0) & (similarity >= rules.min_similarity)
    dropped = {"not similar enough": int(np.sum((candidate >= 0) & ~keep))}
    source, candidate, similarity = source[keep], candidate[keep], similarity[keep]
    words, same = _fit(vectors, rows[source], candidate, rules, special)
    dropped["function words and signs"] = int(np.sum(~words))
    dropped["inflections of the word"] = int(np.sum(words & same))
    keep = words & ~same
    back = np.zeros(len(vectors), dtype=np.float32)
    targets = np.unique(candidate[keep])
    if len(targets):
        last = nearest(vectors, targets, [None], n=min(rules.max_rank, len(vectors)))[0].cosine
        back[targets] = np.where(np.isfinite(last), last, np.inf).min(axis=1)
    mutual = similarity >= back[candidate] - 1e-6
    dropped["not among the candidate's own nearest"] = int(np.sum(keep & ~mutual))
    keep &= mutual
    return Pools(
        sources=rows,
        source=source[keep],
        candidate=candidate[keep],
        similarity=similarity[keep],
        dropped=dropped,
    )


def plain_pools(
    vectors: Vectors,
    sources: Iterable[int],
    steps: Sequence[Matrix],
    rules: Rules,
    *,
    definitional: frozenset[str],
) -> Pools:
    """For every source word the words nearest to w + g by cosine, of all directions together, and no rule.

    The best of one direction in such a pool are those that a plain search along it finds.

    Args:
        steps: (d,) of each direction.
    """
    rows = np.array(sorted(set(sources)), dtype=np.int64)
    rows = rows[[_alterable(vectors.words[r], rules, definitional) for r in rows]] if len(rows) else rows
    size, codes = len(vectors), np.empty(0, dtype=np.int64)
    for found in nearest(vectors, rows, list(steps), n=rules.n) if len(rows) else ():
        edges = np.arange(len(rows))[:, None] * size + found.rows
        codes = np.union1d(codes, edges[found.rows >= 0])
    source, candidate = codes // size, codes % size
    near = np.einsum("ij,ij->i", vectors.unit[rows[source]], vectors.unit[candidate])
    return Pools(
        sources=rows, source=source, candidate=candidate, similarity=np.asarray(near, dtype=np.float32)
    )


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Chosen:
    """The alterations of one direction: edges sorted by source and then by cosine with the shifted vector.

    Args:
        source, candidate, score, similarity, gain: (e,). begin: (m + 1,) where each source's edges begin.
        dropped: rule → edges that it removed.
    """

    source: Codes
    candidate: Codes
    score: Matrix
    similarity: Matrix
    gain: Matrix
    begin: Codes
    dropped: Mapping[str, int]


def choose(vectors: Vectors, pool: Pools, step: Matrix, rules: Rules) -> Chosen:
    """The best `rules.n` candidates of every source word along one direction."""
    along, spread = loaded(vectors, step)
    length = np.float32(np.linalg.norm(step))
    gain = (along[pool.candidate] - along[pool.sources[pool.source]]) / np.float32(spread)
    score = pool.similarity + length * along[pool.candidate]
    keep = np.flatnonzero(gain >= rules.min_gain)
    dropped = {"does not move along the direction": len(gain) - len(keep)}
    order = keep[np.lexsort((pool.candidate[keep], -score[keep], pool.source[keep]))]
    rank = _rank_within(pool.source[order])
    best = order[rank < rules.n]
    dropped["beyond the best n"] = len(order) - len(best)
    if rules.max_target is not None and len(best):
        by_target = best[np.lexsort((-score[best], pool.candidate[best]))]
        good = np.zeros(len(gain), dtype=np.bool_)
        good[by_target[_rank_within(pool.candidate[by_target]) < rules.max_target]] = True
        dropped["target is a hub"] = int(np.sum(~good[best]))
        best = best[good[best]]
    begin = np.searchsorted(pool.source[best], np.arange(len(pool.sources) + 1))
    return Chosen(
        source=pool.source[best],
        candidate=pool.candidate[best],
        score=score[best],
        similarity=pool.similarity[best],
        gain=gain[best],
        begin=begin,
        dropped=dropped,
    )


def _rank_within(sorted_codes: Codes) -> Codes:
    """0, 1, 2 … within every run of equal codes."""
    n = len(sorted_codes)
    if not n:
        return np.empty(0, dtype=np.int64)
    first = np.concatenate([[True], sorted_codes[1:] != sorted_codes[:-1]])
    starts = np.flatnonzero(first)
    return np.arange(n) - np.repeat(starts, np.diff(np.append(starts, n)))


def _alterable(word: str, rules: Rules, special: frozenset[str]) -> bool:
    if not _WORD.fullmatch(word):
        return False
    low = word.lower()
    return rules.function_words or low not in FUNCTION_WORDS or low in special


def _fit(
    vectors: Vectors, sources: Codes, candidates: Codes, rules: Rules, special: frozenset[str]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Per edge: both are words of one sort (he → she, never he → returned); they are the same word or
    inflections of it."""
    used, code = np.unique(np.concatenate([sources, candidates]), return_inverse=True)
    source, candidate = code[: len(sources)], code[len(sources) :]
    listed = [vectors.words[r] for r in used.tolist()]
    low = [word.lower() for word in listed]
    words = np.array([_alterable(word, rules, special) for word in listed], dtype=np.bool_)[candidate]
    if not rules.function_words:
        function = np.array([word in FUNCTION_WORDS for word in low], dtype=np.bool_)
        words &= function[source] == function[candidate]
    begin = np.unique([word[:2] for word in low], return_inverse=True)[1]
    same = words & (begin[source] == begin[candidate])  # no ending leaves fewer than two letters
    for e in np.flatnonzero(same).tolist():
        one, other = low[source[e]], low[candidate[e]]
        same[e] = one == other or (not rules.inflections and same_lemma(one, other))
    return words, same


def same_lemma(word: str, other: str) -> bool:
    """Whether two words look like inflections of one (regular English endings only).

    >>> same_lemma("nurse", "nurses"), same_lemma("stopping", "stopped"), same_lemma("actor", "actress")
    (True, True, False)
    """
    return bool(_stems(word.lower()) & _stems(other.lower()))


@cache
def _stems(word: str) -> frozenset[str]:
    found = {word}
    for ending in ("'s", "’s", "s", "es", "ed", "d", "ing", "er", "est", "r", "st", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            stem = word[: -len(ending)]
            found.add(stem)
            if ending in ("ed", "ing", "er", "est"):
                found.add(stem + "e")
                if len(stem) > 3 and stem[-1] == stem[-2]:
                    found.add(stem[:-1])
    for ending in ("ies", "ied", "ier", "iest", "ily"):
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            found.add(word[: -len(ending)] + "y")
    return frozenset(found)


# --- the dictionary a person looks at
# -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Alterations:
    """Direction → word → its alterations, best first. Saved as JSON.

    Args:
        vectors: id of the embeddings. rules: under which they were chosen.
        entries: direction's name → word → alterations.
    """

    vectors: str
    rules: Rules
    entries: Mapping[str, Mapping[str, tuple[Alteration, ...]]]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the dictionary as JSON."""
        listed = {
            d: {w: [asdict(a) for a in found] for w, found in e.items()} for d, e in self.entries.items()
        }
        document = {"format": "evenhand-alterations/1", "vectors": self.vectors, "rules": asdict(self.rules)}
        write_whole(path, json.dumps({**document, "entries": listed}, ensure_ascii=False))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Alterations:
        """A dictionary that `save` wrote.

        Raises:
            DataError: no such file, or another kind of file.
        """
        if not Path(path).is_file():
            raise DataError("no-such-file", "there is no such file", given=path)
        with foreign(path, "not-alterations", "this is no dictionary of alterations"):
            found = json.loads(Path(path).read_text(encoding="utf-8"))
            if found["format"] != "evenhand-alterations/1":
                raise ValueError(f"its format is {found['format']!r}")
            entries = {
                d: {w: tuple(Alteration(**a) for a in listed) for w, listed in e.items()}
                for d, e in found["entries"].items()
            }
            return cls(vectors=found["vectors"], rules=Rules(**found["rules"]), entries=entries)

    def __iter__(self) -> Iterator[tuple[str, str, Alteration]]:
        for name, entries in self.entries.items():
            for word, found in entries.items():
                for alteration in found:
                    yield name, word, alteration


def alterations(
    vectors: Vectors,
    directions: Sequence[Direction],
    *,
    words: Iterable[str] | None = None,
    rules: Rules | None = None,
) -> Alterations:
    """The alterations of words along directions.

    Args:
        words: for which; the whole vocabulary by default. Words without a vector are left out.

    >>> from evenhand.embeddings import direction, vectors
    >>> v = vectors({"he": [1, 0, 0], "she": [-1, 0, 0], "nice": [0.1, 1, 0], "lovely": [-0.4, 1, 0]})
    >>> found = alterations(v, [direction("she-he", v)], words=["nice"])
    >>> [a.word for a in found.entries["she-he"]["nice"]]
    ['lovely']
    """
    rules = rules or Rules()
    rows = range(len(vectors)) if words is None else [r for w in words if (r := vectors.find(w)) is not None]
    special = gender_words() | {w.lower() for d in directions for w in d.words}
    pool = pools(vectors, rows, rules, definitional=special)
    chosen = {d.name: choose(vectors, pool, d.step, rules) for d in directions}
    contrary = {d.name: choose(vectors, pool, -d.step, rules) for d in directions}
    entries = {}
    for d in directions:
        backwards = set(
            zip(contrary[d.name].source.tolist(), contrary[d.name].candidate.tolist(), strict=True)
        )
        entries[d.name] = dict(_listed(vectors, pool, chosen[d.name], d, special, backwards))
    return Alterations(vectors=vectors.id, rules=rules, entries=entries)


def _listed(
    vectors: Vectors,
    pool: Pools,
    chosen: Chosen,
    direction: Direction,
    special: frozenset[str],
    backwards: set[tuple[int, int]],
) -> Iterator[tuple[str, tuple[Alteration, ...]]]:
    step = direction.step
    squared = 1.0 + step @ step + 2.0 * (vectors.unit[pool.sources] @ step)
    cosine = chosen.score / np.sqrt(np.maximum(squared, 1e-12))[chosen.source]
    columns = (chosen.candidate, cosine, chosen.similarity, chosen.gain)
    edges = list(zip(*(c.tolist() for c in columns), strict=True))
    for i, row in enumerate(pool.sources.tolist()):
        word = vectors.words[row]
        found = []
        for c, near, similar, gain in edges[chosen.begin[i] : chosen.begin[i + 1]]:
            target = vectors.words[c]
            kind = kind_of(word, target, special, both=(i, c) in backwards)
            found.append(Alteration(word=target, cosine=near, similarity=similar, gain=gain, kind=kind))
        yield word, tuple(found)


def kind_of(word: str, target: str, definitional: frozenset[str], *, both: bool = False) -> Kind:
    """The kind of one alteration; `definitional` where either word says the attribute by definition."""
    if word.lower() in definitional or target.lower() in definitional:
        return "definitional"
    if same_lemma(word, target):
        return "inflection"
    return "both ways" if both else "directional"
