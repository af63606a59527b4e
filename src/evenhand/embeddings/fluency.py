"""Whether a text still reads well with one word changed: n-gram model, KenLM, a language model, or any
callable."""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand._model import FloatArray
from evenhand.embeddings._matrix import Vectors
from evenhand.embeddings.ngram import NGram, load, tokens_of, train

Ids = npt.NDArray[np.int64]
Scorer = Callable[[Sequence[str]], Sequence[float]]


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Contexts:
    """Texts cut into tokens, with their places.

    Args:
        texts: as they are. tokens: lower case, per text. starts, ends: of every token, in characters.
    """

    texts: tuple[str, ...]
    tokens: tuple[tuple[str, ...], ...]
    starts: tuple[tuple[int, ...], ...]
    ends: tuple[tuple[int, ...], ...]

    def altered(self, row: int, place: int, word: str) -> str:
        """One text with one token replaced."""
        text = self.texts[row]
        return text[: self.starts[row][place]] + word + text[self.ends[row][place] :]


class Fluency(Protocol):
    """Says how much likelier texts become with one word changed."""

    @property
    def id(self) -> str: ...

    def log_ratios(self, contexts: Contexts, rows: Ids, places: Ids, words: Sequence[str]) -> FloatArray:
        """(m,) log p(altered) − log p(original), natural logarithm."""
        ...


@dataclass(frozen=True, kw_only=True)
class ByNGram:
    """The n-gram model; `pmi` sets the words' own frequencies aside."""

    model: NGram = field(repr=False)
    pmi: bool = False

    @property
    def id(self) -> str:
        return self.model.id + (" (PMI)" if self.pmi else "")

    def log_ratios(self, contexts: Contexts, rows: Ids, places: Ids, words: Sequence[str]) -> FloatArray:
        return self.model.log_ratios(contexts.tokens, rows, places, words, pmi=self.pmi)


@dataclass(frozen=True, kw_only=True)
class ByFolds:
    """N-gram models that never saw the text they judge: each is trained on the other folds.

    A model that was trained on the very text finds its words likely and every other word unlikely.

    Args:
        models: one a fold. fold: text → its fold (equal texts share one).
    """

    models: tuple[NGram, ...] = field(repr=False)
    pmi: bool = False

    @property
    def id(self) -> str:
        tokens = max(m.tokens for m in self.models)
        order = self.models[0].order
        return f"interpolated Kneser–Ney, order {order}, {tokens:,} tokens of other texts" + (
            " (PMI)" if self.pmi else ""
        )

    def log_ratios(self, contexts: Contexts, rows: Ids, places: Ids, words: Sequence[str]) -> FloatArray:
        fold = np.array([fold_of(tokens, len(self.models)) for tokens in contexts.tokens], dtype=np.int64)
        found = np.empty(len(rows))
        for k, model in enumerate(self.models):
            mine = np.flatnonzero(fold[rows] == k)
            if len(mine):
                part = [words[i] for i in mine.tolist()]
                found[mine] = model.log_ratios(contexts.tokens, rows[mine], places[mine], part, pmi=self.pmi)
        return found


def fold_of(tokens: Sequence[str], folds: int) -> int:
    """The fold of a text, by its words: copies of a text never judge each other."""
    return zlib.crc32(" ".join(tokens).encode("utf-8", "surrogatepass")) % folds


@dataclass(frozen=True, kw_only=True)
class ByText:
    """Any function from texts to their log-probabilities."""

    id: str
    scorer: Scorer = field(repr=False)
    batch: int = 256

    def log_ratios(self, contexts: Contexts, rows: Ids, places: Ids, words: Sequence[str]) -> FloatArray:
        asked = np.unique(rows)
        place = {int(r): i for i, r in enumerate(asked)}
        before = self._scores([contexts.texts[r] for r in asked.tolist()])
        spelled = zip(rows.tolist(), places.tolist(), words, strict=True)
        after = self._scores([contexts.altered(r, p, w) for r, p, w in spelled])
        return after - before[[place[r] for r in rows.tolist()]]

    def _scores(self, texts: Sequence[str]) -> FloatArray:
        parts = [
            np.asarray(self.scorer(list(texts[s : s + self.batch])), dtype=np.float64)
            for s in range(0, len(texts), self.batch)
        ]
        found = np.concatenate(parts) if parts else np.empty(0)
        if found.shape != (len(texts),):
            raise UsageError(
                "fluency-shape",
                f"the fluency function returned an array of shape {found.shape} for {len(texts)} texts",
                expected="one log-probability for each text",
            )
        return found


def fluency(
    spec: str | Path | NGram | Fluency | Scorer | None,
    *,
    texts: Sequence[Sequence[str]] = (),
    corpus: Sequence[str] = (),
    vectors: Vectors | None = None,
    order: int = 3,
    pmi: bool = False,
) -> Fluency | None:
    """A fluency filter from a specification.

    Args:
        spec: ``"ngram"`` (trained now, on `texts`, `corpus` and the shipped texts, over unigrams by the ranks
            of the embeddings file; no text is judged by a model that saw it); an `NGram` or the folder of
            one; a KenLM file (``.arpa``, ``.bin``, ``.klm``); ``"masked:NAME"`` or ``"causal:NAME"`` for a
            Hugging Face model (folder or name of a downloaded one); a function from texts to
            log-probabilities; None or ``"none"`` for no filter.

    Raises:
        UsageError: `unknown-fluency`, `missing-extra`.

    >>> f = fluency(lambda texts: [-len(t) for t in texts])
    >>> c = contexts_of(["a nice day"])
    >>> f.log_ratios(c, np.array([0]), np.array([1]), ["lovely"]).tolist()
    [-2.0]
    """
    if spec is None or spec == "none":
        return None
    if isinstance(spec, NGram):
        return ByNGram(model=spec, pmi=pmi)
    if hasattr(spec, "log_ratios"):
        return spec  # type: ignore[return-value]
    if callable(spec):
        return ByText(id=f"function {getattr(spec, '__qualname__', type(spec).__name__)}", scorer=spec)
    name = str(spec)
    if name == "ngram":
        return ByFolds(models=_trained(texts, corpus, vectors, order), pmi=pmi)
    kind, colon, model = name.partition(":")
    if colon and kind in ("masked", "causal"):
        from evenhand.embeddings.hugging_face import scorer

        return ByText(id=f"{kind} model {model}", scorer=scorer(model, masked=kind == "masked"), batch=1_000)
    if Path(name).is_dir():
        return ByNGram(model=load(name), pmi=pmi)
    if Path(name).is_file():
        return ByText(id=f"KenLM {Path(name).name}", scorer=_kenlm(name))
    raise UsageError(
        "unknown-fluency",
        "there is no such fluency filter",
        given=name,
        expected='"ngram", "none", a KenLM file, a folder with an n-gram model, "masked:NAME" or'
        ' "causal:NAME"',
    )


FOLDS = 4


def _trained(
    texts: Sequence[Sequence[str]], corpus: Sequence[str], vectors: Vectors | None, order: int
) -> tuple[NGram, ...]:
    from evenhand.texts import texts as shipped

    base = None
    if (
        vectors is not None
    ):  # Zipf's law by the rank in the file, which common distributions sort by frequency
        base = {w.lower(): 1.0 / (2.7 + rank) for rank, w in reversed(list(enumerate(vectors.words)))}
    extra = [tokens_of(t) for t in (*corpus, *shipped("person").texts)]
    fold = [fold_of(tokens, FOLDS) for tokens in texts]
    return tuple(
        train([*(t for t, f in zip(texts, fold, strict=True) if f != k), *extra], order=order, base=base)
        for k in range(FOLDS)
    )


def _kenlm(path: str) -> Scorer:
    if importlib.util.find_spec("kenlm") is None:
        raise UsageError(
            "missing-extra",
            "a KenLM file needs a package that is not installed",
            given=path,
            expected="the package kenlm",
            hint="pip install 'evenhand[kenlm]'",
        )
    import kenlm

    try:
        model = kenlm.Model(path)
    except (OSError, RuntimeError) as error:
        raise UsageError("unknown-fluency", f"KenLM cannot read this file: {error}", given=path) from error
    tenth = float(np.log(10.0))  # KenLM answers in log10
    return lambda texts: [tenth * model.score(" ".join(tokens_of(t))) for t in texts]


def contexts_of(texts: Sequence[str]) -> Contexts:
    """Texts cut into the tokens that the n-gram model knows.

    >>> contexts_of(["Nice DAY!"]).tokens
    (('nice', 'day', '!'),)
    """
    cut = [list(_cut(t)) for t in texts]
    return Contexts(
        texts=tuple(texts),
        tokens=tuple(tuple(w for w, _, _ in row) for row in cut),
        starts=tuple(tuple(s for _, s, _ in row) for row in cut),
        ends=tuple(tuple(e for _, _, e in row) for row in cut),
    )


def _cut(text: str) -> Iterator[tuple[str, int, int]]:
    from evenhand.embeddings.ngram import TOKEN

    for found in TOKEN.finditer(text):
        yield found.group().lower().replace("’", "'"), found.start(), found.end()


def passes(ratios: FloatArray, ratio: float) -> Any:
    """Which candidates are at least `ratio` times as probable as the original word."""
    return ratios >= np.log(ratio)
