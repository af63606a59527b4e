"""A compiled design: base texts × terms, rendered on demand and streamed in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import overload

import numpy as np

from evenhand._model import Factor, IntArray, Plan, Probes
from evenhand.terms import Terms

VARIANT, CONTROL = 0, 1
ROLES = ("variant", "control")


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Rows that share one base text and one wording: `form` is a %-format with one %s per slot occurrence.

    Args:
        text: number of the base text.
        wording: %-format string.
        columns: for every %s, the surface form of each row.
        rows: the term of each row, -1 for a control.
        role: VARIANT or CONTROL.
        form, flag: numbers into the grid's `forms` and `flags`, -1 for none.
        confidence: the chance, in [0, 1], that the rewriting is right.
    """

    text: int
    wording: str
    columns: tuple[tuple[str, ...], ...]
    rows: IntArray
    role: int = VARIANT
    form: int = -1
    flag: int = -1
    confidence: float = 1.0

    def __len__(self) -> int:
        return len(self.rows)

    def render(self, low: int, high: int) -> Iterator[str]:
        """The texts of rows low..high."""
        if not self.columns:
            return repeat(self.wording % (), high - low)
        whole = low == 0 and high == len(self.rows)
        if all(column is self.columns[0] for column in self.columns) and "%%" not in self.wording:
            terms = self.columns[0] if whole else self.columns[0][low:high]
            return map(str.join, terms, repeat(self.wording.split("%s")))
        columns = self.columns if whole else tuple(c[low:high] for c in self.columns)
        if len(columns) == 1:
            return map(self.wording.__mod__, columns[0])
        return map(self.wording.__mod__, zip(*columns, strict=True))


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """A base text, or one of its rows, that is not in the grid, and why."""

    text: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Every base text with every term that fits it, in the order of the texts.

    Args:
        terms: what is filled in.
        texts: ids of the base texts.
        bases: the base texts as they were given.
        blocks: the compiled rows.
        text_factors: further columns of the texts (length of `texts`), e.g. ``sentiment`` or ``emotion``.
        forms, flags: levels of the columns of the same name.
        skipped: what was left out and why.
    """

    terms: Terms
    texts: tuple[str, ...]
    bases: tuple[str, ...]
    blocks: tuple[Block, ...]
    text_factors: Mapping[str, Factor] = field(default_factory=dict)
    forms: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    def __len__(self) -> int:
        return int(self._offsets[-1])

    @cached_property
    def _offsets(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.concatenate([[0], np.cumsum([len(b) for b in self.blocks], dtype=np.int64)]).astype(
            np.int64
        )

    @cached_property
    def _by_block(self) -> Mapping[str, IntArray]:
        return {
            name: np.array([getattr(b, name) for b in self.blocks], dtype=np.int32)
            for name in ("text", "role", "form", "flag")
        }

    @cached_property
    def _by_term(self) -> Mapping[str, tuple[IntArray, tuple[str, ...]]]:
        """Codes of every group by term, with a missing code at the end: so that term -1 (a control) finds
        it."""
        return {
            name: (np.append(f.codes, np.int32(-1)).astype(np.int32), f.levels)
            for name, f in self.terms.factors.items()
            if name not in self.text_factors
        }

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        """The factors that every batch carries, and their levels."""
        return {
            "text": self.texts,
            "term": self.terms.terms,
            **{k: f.levels for k, f in self.terms.factors.items()},
            **{k: f.levels for k, f in self.text_factors.items()},
            "role": ROLES,
            "form": self.forms,
            "flag": self.flags,
        }

    def base(self, text_index: int) -> str:
        """The base text as it was given."""
        return self.bases[text_index]

    def render(self, row: int) -> str:
        """The text of one row.

        Raises:
            IndexError: `row` is not in the grid.
        """
        row = row + len(self) if row < 0 else row
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of a grid of {len(self)}")
        b = int(np.searchsorted(self._offsets, row, side="right")) - 1
        at = row - int(self._offsets[b])
        return next(iter(self.blocks[b].render(at, at + 1)))

    def __iter__(self) -> Iterator[str]:
        for block in self.blocks:
            yield from block.render(0, len(block))

    def whole(self) -> Probes:
        """The whole grid as one step, whose texts are rendered where they are read."""
        parts = [(b, 0, len(block)) for b, block in enumerate(self.blocks)]
        return self._probes(Rendered(self, 0, len(self)), parts)

    def rendered(self, low: int, high: int) -> Iterator[str]:
        """The texts of rows low..high."""
        first = int(np.searchsorted(self._offsets, low, side="right")) - 1
        for b in range(max(first, 0), len(self.blocks)):
            start, stop = int(self._offsets[b]), int(self._offsets[b + 1])
            if start >= high:
                return
            yield from self.blocks[b].render(max(low, start) - start, min(high, stop) - start)

    def plan(self, batch: int = 10_000) -> Plan:
        """Yields the whole grid as Probes of `batch` rows (the last may be shorter); ignores what it is sent.

        Raises:
            ValueError: `batch` is not positive.
        """
        if batch < 1:
            raise ValueError(f"a batch has at least one row, not {batch}")
        return self._plan(batch)

    def _plan(self, batch: int) -> Plan:
        inputs: list[str] = []
        parts: list[tuple[int, int, int]] = []
        for b, block in enumerate(self.blocks):
            low, n = 0, len(block)
            while low < n:
                high = min(n, low + batch - len(inputs))
                inputs.extend(block.render(low, high))
                parts.append((b, low, high))
                low = high
                if len(inputs) == batch:
                    yield self._probes(inputs, parts)
                    inputs, parts = [], []
        if inputs:
            yield self._probes(inputs, parts)

    def _probes(self, inputs: Sequence[str], parts: Sequence[tuple[int, int, int]]) -> Probes:
        which = np.array([b for b, _, _ in parts], dtype=np.intp)
        lengths = np.array([high - low for _, low, high in parts], dtype=np.intp)
        term = np.concatenate([self.blocks[b].rows[low:high] for b, low, high in parts])
        spread = {k: np.repeat(codes[which], lengths) for k, codes in self._by_block.items()}
        text = spread["text"]
        return Probes(
            inputs=inputs,
            factors={
                "text": Factor(text, self.texts),
                "term": Factor(term, self.terms.terms),
                **{k: Factor(codes[term], levels) for k, (codes, levels) in self._by_term.items()},
                **{k: Factor(f.codes[text], f.levels) for k, f in self.text_factors.items()},
                "role": Factor(spread["role"], ROLES),
                "form": Factor(spread["form"], self.forms),
                "flag": Factor(spread["flag"], self.flags),
            },
        )


class Rendered(Sequence[str]):
    """Texts of a grid, each made when it is read; what travels is the grid and two numbers.

    >>> from evenhand.plans.templates import Templates
    >>> from evenhand.terms import terms
    >>> grid = Templates(templates=("{name} left.",), ids=("t",)).grid(terms("names/weat-gender"))
    >>> texts = Rendered(grid, 0, len(grid))
    >>> texts[1], list(texts[1:3]) == [grid.render(1), grid.render(2)], len(texts[5:])
    ('Paul left.', True, 11)
    """

    def __init__(self, grid: Grid, low: int, high: int) -> None:
        self.grid, self.low, self.high = grid, low, high

    def __len__(self) -> int:
        return self.high - self.low

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Rendered: ...
    def __getitem__(self, at: int | slice) -> str | Rendered:
        if isinstance(at, slice):
            start, stop, _ = at.indices(len(self))
            return Rendered(self.grid, self.low + start, self.low + max(start, stop))
        return self.grid.render(self.low + range(len(self))[at])

    def __iter__(self) -> Iterator[str]:
        return self.grid.rendered(self.low, self.high)
