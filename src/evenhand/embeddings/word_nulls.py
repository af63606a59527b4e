"""How sure an embedding test is: jackknife over words, exchange of words, random words as frequent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evenhand._model import FloatArray, IntArray
from evenhand.embeddings._matrix import Vectors
from evenhand.embeddings.dictionary import FUNCTION_WORDS
from evenhand.embeddings.word_measures import Sets, WordMeasure

ALTERNATIVES = ("two-sided", "greater", "less")
EXACT = 20_000
"""Exchanges up to which all are tried, where a try is cheap."""
FEWEST = 3
"""Words of a set, or pairs, below which no interval is given."""
TINY = 1e-12


class Interval(NamedTuple):
    """Both ends, or why there are none."""

    low: float | None
    high: float | None
    why_not: str | None


def raw(space: Vectors, rows: Sequence[int]) -> FloatArray:
    """(n, d) vectors at the lengths that they have in the file."""
    listed = np.asarray(rows, dtype=np.int64)
    return np.asarray(space.unit[listed], dtype=np.float64) * np.asarray(space.norms[listed])[:, None]


def jackknife(measure: WordMeasure, targets: Sets, attributes: Sets, value: float, level: float) -> Interval:
    """value ± t·se, se² = Σ over sets of (n − 1)/n Σ (θ₍ᵢ₎ − θ̄)², one word (or pair) left out at a time."""
    from scipy.special import stdtrit

    cut, every = len(targets), [*targets, *attributes]
    groups: list[tuple[int, ...]] = [(i,) for i in range(len(every))]
    if measure.exchanged == "pairs":
        groups = [(0, 1), *groups[2:]]
    fewest = min(len(every[group[0]]) for group in groups)
    if fewest < FEWEST:
        return Interval(None, None, f"a set of {fewest} words; {FEWEST} are needed")
    parts, freedom = [], 0.0
    for group in groups:
        n = len(every[group[0]])
        left = np.empty(n)
        for i in range(n):
            some = [np.delete(rows, i, axis=0) if k in group else rows for k, rows in enumerate(every)]
            left[i] = measure.of(some[:cut], some[cut:])[0]
        parts.append((n - 1) / n * float(((left - left.mean()) ** 2).sum()))
        freedom += parts[-1] ** 2 / (n - 1)
    variance = sum(parts)
    if not variance > 0 or not math.isfinite(variance):
        return Interval(None, None, "the value does not vary with the words")
    half = float(stdtrit(variance**2 / freedom, 0.5 + level / 2.0)) * math.sqrt(variance)
    return Interval(max(value - half, measure.low), min(value + half, measure.high), None)


def exchange(
    measure: WordMeasure,
    sets: tuple[Sets, Sets],
    value: float,
    *,
    alternative: str,
    draws: int,
    seed: int,
) -> tuple[float | None, str]:
    """p of the exchange: every exchange where there are few, else (1 + those that reach it)/(draws + 1)."""
    if measure.exchanged is None:
        return None, "this test has no grouping to exchange"
    one, other = sets[measure.exchanged == "attributes"]
    paired = measure.exchanged == "pairs"
    number = 2 ** len(one) if paired else math.comb(len(one) + len(other), len(one))
    exact = number <= (draws if measure.exchanged == "attributes" else EXACT)
    masks = _masks(len(one), len(other), None if exact else draws, np.random.default_rng([seed, 5]), paired)
    every = np.concatenate([one, other])
    others = []
    for mask in masks:
        if paired:
            turned = mask[:, None]
            pair = np.where(turned, other, one), np.where(turned, one, other)
        else:
            pair = every[mask], every[~mask]
        moved = (sets[0], pair) if measure.exchanged == "attributes" else (pair, sets[1])
        others.append(measure.of(*moved)[0])
    reach = _reach(measure, value, np.nan_to_num(np.array(others)), alternative)
    what = {
        "targets": "words of the targets",
        "attributes": "words of the attributes",
        "pairs": "pairs turned",
    }
    how = f"{what[measure.exchanged]}, " + (
        f"all {number:,} exchanges" if exact else f"{draws:,} of {number:.3g} exchanges"
    )
    how += f", {alternative}" if measure.extreme == "away from 0" else f", {measure.extreme} values count"
    return (reach / number if exact else (1 + reach) / (draws + 1)), how


def _masks(
    n: int, m: int, draws: int | None, rng: np.random.Generator, paired: bool
) -> Iterator[npt.NDArray[np.bool_]]:
    """Which words are in the first set, or which pairs are turned; all ways where `draws` is None."""
    if paired:
        signs = (
            product((False, True), repeat=n) if draws is None else (rng.random(n) < 0.5 for _ in range(draws))
        )
        yield from (np.asarray(sign, dtype=np.bool_) for sign in signs)
        return
    chosen = (
        combinations(range(n + m), n) if draws is None else (rng.permutation(n + m)[:n] for _ in range(draws))
    )
    for some in chosen:
        mask = np.zeros(n + m, dtype=np.bool_)
        mask[list(some)] = True
        yield mask


def _reach(measure: WordMeasure, value: float, others: FloatArray, alternative: str = "two-sided") -> int:
    """How many of the others are at least as extreme."""
    if measure.extreme == "small" or (measure.extreme == "away from 0" and alternative == "less"):
        return int(np.sum(others <= value + TINY))
    if measure.extreme == "large" or (measure.extreme == "away from 0" and alternative == "greater"):
        return int(np.sum(others >= value - TINY))
    return int(np.sum(np.abs(others) >= abs(value) - TINY))


def rank(measure: WordMeasure, value: float, placebos: FloatArray) -> float | None:
    """Where the value stands among random words; both tails where neither is the extreme one."""
    if not len(placebos):
        return None
    count = len(placebos) + 1
    if measure.extreme == "either":
        tail = min(int(np.sum(placebos <= value + TINY)), int(np.sum(placebos >= value - TINY)))
        return min(1.0, 2.0 * (1 + tail) / count)
    return (1 + _reach(measure, value, placebos)) / count


def ordinary_words(space: Vectors, taken: frozenset[str]) -> IntArray:
    """Rows of words that may stand in for others: no function words, none of `taken` (lower case)."""
    out = taken | FUNCTION_WORDS
    return np.flatnonzero([len(w) > 2 and w.isalpha() and w.lower() not in out for w in space.words])


def placebos(
    space: Vectors,
    ordinary: IntArray,
    rows: Sequence[Sequence[int]],
    of: Callable[[Sets], float],
    *,
    count: int,
    seed: int,
) -> FloatArray:
    """The test with random words in place of the targets: (count,) values; none in too small a vocabulary.

    Args:
        ordinary: rows of the words to draw from. rows: of the words of each target set. of: targets → value.
    """
    if not count or len(ordinary) < 2 * sum(map(len, rows)):
        return np.empty(0)
    rng = np.random.default_rng([seed, 6])
    values = []
    for _ in range(count):
        used: set[int] = set()
        drawn = [raw(space, [_like(space, ordinary, row, used, rng) for row in listed]) for listed in rows]
        values.append(of(drawn))
    return np.asarray(np.nan_to_num(np.array(values)))


def _like(space: Vectors, ordinary: IntArray, rank: int, used: set[int], rng: np.random.Generator) -> int:
    """A word not used yet, at half to twice the rank in the file or so, capitalised like the word there."""
    low, high = np.searchsorted(ordinary, [rank // 2, 2 * rank + 200]).tolist()
    capital = space.words[rank][:1].isupper()
    same = [
        i for i in ordinary[low:high].tolist() if space.words[i][:1].isupper() == capital and i not in used
    ]
    if len(same) < 10:
        free = ordinary[~np.isin(ordinary, list(used))]
        same = free[np.argsort(np.abs(free - rank), kind="stable")[:50]].tolist()
    chosen = int(same[int(rng.integers(len(same)))])
    used.add(chosen)
    return chosen
