"""Interpolated Kneser–Ney n-gram model in NumPy: trained in seconds, asked in batches, memory-mapped.

p(w | h) = max(c(h w) − D, 0)/c(h ·) + D·N1+(h ·)/c(h ·) · p(w | h'), with continuation counts N1+(· h w) in
place of c below the highest order (Kneser & Ney 1995; Chen & Goodman 1999, eq. 4.37). Contexts are numbered
from the word backwards, so that an n-gram is one integer (context, word) and dropping the farthest word is
one division.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evenhand._errors import DataError, UsageError
from evenhand._files import foreign
from evenhand._model import FloatArray

Ids = npt.NDArray[np.int64]
UNKNOWN, START, END = 0, 1, 2
TOKEN = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*|[.,!?;:]")


def tokens_of(text: str) -> list[str]:
    """Lower-case words and punctuation marks, as the model sees them.

    >>> tokens_of("She's well-read, no?")
    ["she's", 'well-read', ',', 'no', '?']
    """
    return TOKEN.findall(text.lower().replace("’", "'"))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, slots=True)
class Level:
    """One order of the model.

    Args:
        contexts: sorted keys (farther word × number of shorter contexts + shorter context) → context id is
            the place.
        shorter: how many contexts the level below has.
        grams: sorted keys (context id × vocabulary + word). alpha: their discounted share.
        gamma: per context, the mass that is handed down.
    """

    contexts: Ids
    shorter: int
    grams: Ids
    alpha: FloatArray
    gamma: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NGram:
    """A trained model; `probability` and `log_ratios` ask it.

    Args:
        words: id → word; the first three are ``<unk>``, ``<s>``, ``</s>``.
        levels: orders 1 to n. unigram: (V,) probabilities of the lowest order.
        tokens: how many it was trained on.
    """

    words: tuple[str, ...]
    index: Mapping[str, int]
    levels: tuple[Level, ...]
    unigram: FloatArray
    tokens: int

    @property
    def order(self) -> int:
        """The n of n-gram."""
        return len(self.levels)

    @property
    def id(self) -> str:
        """What it is, in words."""
        return f"interpolated Kneser–Ney, order {self.order}, {self.tokens:,} tokens"

    def ids(self, tokens: Sequence[str]) -> Ids:
        """Words as numbers; 0 for unknown ones."""
        get = self.index.get
        return np.fromiter((get(t, UNKNOWN) for t in tokens), dtype=np.int64, count=len(tokens))

    def probability(self, words: Ids, contexts: Ids) -> FloatArray:
        """p(word | context) for m rows at once.

        Args:
            words: (m,) ids. contexts: (m, order − 1) ids, the nearest word last.
        """
        found = np.array(self.unigram[words], dtype=np.float64)
        context = np.zeros(len(words), dtype=np.int64)
        known = np.ones(len(words), dtype=np.bool_)
        width = len(self.words)
        for k, level in enumerate(self.levels[1:], 1):
            key = contexts[:, contexts.shape[1] - k] * level.shorter + context
            place = np.minimum(np.searchsorted(level.contexts, key), len(level.contexts) - 1)
            known = known & (level.contexts[place] == key)
            if not known.any():
                break
            context = np.where(known, place, 0)
            gram = context * width + words
            at = np.minimum(np.searchsorted(level.grams, gram), len(level.grams) - 1)
            alpha = np.where(level.grams[at] == gram, level.alpha[at], 0.0)
            found = np.where(known, alpha + level.gamma[context] * found, found)
        return found

    def log_ratios(
        self,
        texts: Sequence[Sequence[str]],
        rows: Ids,
        places: Ids,
        words: Sequence[str],
        *,
        pmi: bool = False,
    ) -> FloatArray:
        """How much likelier each text becomes with one word changed: Σ log p over every n-gram the word is
        in, after minus before; so what precedes and what follows both count.

        Args:
            texts: tokenised texts. rows, places: (m,) which text, and which of its tokens is replaced.
            words: (m,) the replacements. pmi: also subtract the change of the words' own log p.
        """
        n = self.order
        lengths = np.array([len(t) for t in texts], dtype=np.int64)
        begins = np.concatenate([[0], np.cumsum(lengths + 2 * n - 1)])
        flat = np.full(int(begins[-1]), START, dtype=np.int64)
        for text, begin in zip(texts, begins[:-1].tolist(), strict=True):
            flat[begin + n - 1 : begin + n - 1 + len(text)] = self.ids(text)
            flat[begin + n - 1 + len(text)] = END
        centre = begins[rows] + n - 1 + places
        window = flat[centre[:, None] + np.arange(-(n - 1), n)[None, :]]
        ahead = np.minimum(n, lengths[rows] - places + 1)
        fresh = self.ids([w.lower().replace("’", "'") for w in words])
        changed = window.copy()
        changed[:, n - 1] = fresh
        ratio = self._window(changed, ahead)
        pairs, back = np.unique(centre, return_inverse=True)
        first = np.zeros(len(pairs), dtype=np.int64)
        first[back] = np.arange(len(centre))
        ratio = ratio - self._window(window[first], ahead[first])[back]
        if pmi:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = ratio - (np.log(self.unigram[fresh]) - np.log(self.unigram[window[:, n - 1]]))
        return np.asarray(np.nan_to_num(ratio, nan=-np.inf, posinf=np.inf, neginf=-np.inf))

    def _window(self, window: Ids, ahead: Ids) -> FloatArray:
        n = self.order
        total = np.zeros(len(window))
        for j in range(n):
            inside = np.flatnonzero(ahead > j)
            if len(inside):
                part = window[inside, j : j + n]
                with np.errstate(divide="ignore"):
                    total[inside] += np.log(self.probability(part[:, n - 1], part[:, : n - 1]))
        return total

    def score(self, tokens: Sequence[str]) -> float:
        """log p of a whole text, its end included."""
        n = self.order
        line = np.concatenate([np.full(n - 1, START), self.ids(tokens), [END]])
        windows = np.lib.stride_tricks.sliding_window_view(line, n)
        with np.errstate(divide="ignore"):
            return float(np.sum(np.log(self.probability(windows[:, -1], windows[:, :-1]))))


def train(
    texts: Iterable[Sequence[str]],
    *,
    order: int = 3,
    discount: float | None = None,
    base: Mapping[str, float] | None = None,
    open_vocabulary: bool = True,
) -> NGram:
    """An n-gram model of tokenised texts.

    Args:
        texts: each a sequence of tokens (`tokens_of`).
        order: 1 to 5.
        discount: D of every order, in (0, 1); estimated as n1/(n1 + 2 n2) per order by default (Ney et al.
            1994).
        base: word → weight of the distribution below the unigrams, e.g. from the ranks of an embeddings file;
            words that the texts lack get their share of the discounted mass by it. Uniform by default.
        open_vocabulary: discount the unigrams too, and give the mass to `base` and unknown words; False
            leaves them as they are, and unknown words have probability 0.

    Raises:
        UsageError: `bad-order`, `bad-discount`; DataError: `no-tokens`.

    >>> model = train([["a", "b", "a"], ["a", "c"]], order=2, discount=0.5)
    >>> everything = np.arange(len(model.words))
    >>> after_a = np.full((len(model.words), 1), model.index["a"])
    >>> round(float(model.probability(everything, after_a).sum()), 12)
    1.0
    """
    if not 1 <= order <= 5:
        raise UsageError("bad-order", "the order of an n-gram model is 1 to 5", given=order)
    if discount is not None and not 0 < discount < 1:
        raise UsageError("bad-discount", "a discount lies between 0 and 1", given=discount)
    line, index, events = _flatten(texts, order)
    for word in base or ():
        index.setdefault(word, len(index))
    words = tuple(index)
    size = len(words)
    at = np.flatnonzero(events)
    contexts = [np.zeros(len(at), dtype=np.int64)]
    keys: list[Ids] = [np.zeros(1, dtype=np.int64)]
    for k in range(1, order):
        key = line[at - k] * len(keys[-1]) + contexts[-1]
        unique, inverse = np.unique(key, return_inverse=True)
        keys.append(unique)
        contexts.append(inverse.astype(np.int64))
    grams, counts = np.unique(contexts[-1] * size + line[at], return_counts=True)
    tables: list[tuple[Ids, Ids]] = [(grams, counts)]
    for k in range(order - 1, 0, -1):
        longer = tables[0][0]
        parent = keys[k][longer // size] % len(keys[k - 1])
        tables.insert(0, np.unique(parent * size + longer % size, return_counts=True))
    levels = [
        _level(
            *tables[k],
            keys[k],
            1 if k == 0 else len(keys[k - 1]),
            size,
            discount if k or open_vocabulary else 0.0,
        )
        for k in range(order)
    ]
    unigram = _unigram(levels[0], index, base, open_vocabulary)
    return NGram(words=words, index=index, levels=tuple(levels), unigram=unigram, tokens=len(at))


def _flatten(texts: Iterable[Sequence[str]], order: int) -> tuple[Ids, dict[str, int], npt.NDArray[np.bool_]]:
    """One line of ids with order − 1 starts before every text; the words; which places are predicted."""
    flat: list[str] = []
    pad = ["<s>"] * (order - 1)
    for text in texts:
        flat += pad
        flat += text
        flat.append("</s>")
    index = {"<unk>": UNKNOWN, "<s>": START, "</s>": END}
    for word in dict.fromkeys(flat):
        index.setdefault(word, len(index))
    line = np.fromiter(map(index.__getitem__, flat), dtype=np.int64, count=len(flat))
    events = line != START
    if not events.any():
        raise DataError("no-tokens", "there is no text to train an n-gram model on")
    return line, index, events


def _level(grams: Ids, counts: Ids, contexts: Ids, shorter: int, size: int, discount: float | None) -> Level:
    context = grams // size
    n = len(contexts)
    total = np.bincount(context, weights=counts, minlength=n)
    kinds = np.bincount(context, minlength=n)
    cut = _discount(counts) if discount is None else discount
    return Level(
        contexts=contexts,
        shorter=shorter,
        grams=grams,
        alpha=np.maximum(counts - cut, 0.0) / total[context],
        gamma=cut * kinds / total,
    )


def _discount(counts: Ids) -> float:
    """n1/(n1 + 2 n2), kept inside (0, 1) for tiny corpora."""
    once, twice = int(np.sum(counts == 1)), int(np.sum(counts == 2))
    return min(0.95, max(0.05, once / (once + 2 * twice))) if once else 0.5


def _unigram(
    lowest: Level, index: Mapping[str, int], base: Mapping[str, float] | None, open_vocabulary: bool
) -> FloatArray:
    found = np.zeros(len(index))
    found[lowest.grams] = lowest.alpha
    if not open_vocabulary:
        return found
    below = np.zeros(len(index))
    if base:
        for word, weight in base.items():
            below[index[word]] = weight
        below *= 0.99 / below.sum()
        below[UNKNOWN] += 0.01
    else:
        below[:] = 1.0 / (len(index) - 1)
        below[START] = 0.0
    return np.asarray(found + float(lowest.gamma[0]) * below)


def save(model: NGram, folder: str | os.PathLike[str]) -> Path:
    """Write a model to a folder of arrays that `load` maps into memory."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for k, level in enumerate(model.levels):
        for name in ("contexts", "grams", "alpha", "gamma"):
            np.save(target / f"{name}{k}.npy", getattr(level, name))
    np.save(target / "unigram.npy", model.unigram)
    meta = {
        "format": "evenhand-ngram/1",
        "order": model.order,
        "tokens": model.tokens,
        "shorter": [level.shorter for level in model.levels],
        "words": list(model.words),
    }
    (target / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    return target


def load(folder: str | os.PathLike[str]) -> NGram:
    """A model that `save` wrote, memory-mapped.

    Raises:
        DataError: `not-ngram`.
    """
    source = Path(folder)
    with foreign(source, "not-ngram", "this folder holds no n-gram model"):
        meta = json.loads((source / "meta.json").read_text(encoding="utf-8"))
        if meta["format"] != "evenhand-ngram/1":
            raise ValueError(f"its format is {meta['format']!r}")

        def array(name: str) -> npt.NDArray[np.generic]:
            return np.load(source / f"{name}.npy", mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]

        levels = tuple(
            Level(
                shorter=shorter,
                **{name: array(f"{name}{k}") for name in ("contexts", "grams", "alpha", "gamma")},  # type: ignore[arg-type]
            )
            for k, shorter in enumerate(meta["shorter"])
        )
        words = tuple(meta["words"])
        return NGram(
            words=words,
            index={w: i for i, w in enumerate(words)},
            levels=levels,
            unigram=array("unigram"),  # type: ignore[arg-type]
            tokens=meta["tokens"],
        )
