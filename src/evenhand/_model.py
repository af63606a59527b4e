"""The nouns of evenhand, the Protocols between its rooms, and the type aliases.

Imports nothing of ours. Everything here is frozen, keyword-only and columnar: a million probes are ordinary.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.signedinteger[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Columns: TypeAlias = Mapping[str, npt.NDArray[Any]]
Scalar: TypeAlias = str | int | float | bool | None
Verdict: TypeAlias = Literal["disparity", "gap", "inconclusive", "within tolerance"]
Span: TypeAlias = tuple[float, float]
"""The two ends of an interval."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A column of category labels, stored as integer codes into a short list of levels.

    Args:
        codes: signed integers, shape (n,); ``-1`` marks a missing label.
        levels: the distinct labels; ``codes[i]`` indexes into it.

    >>> f = Factor.of(["b", "a", None, "b"])
    >>> f.levels, f.codes.tolist()
    (('b', 'a'), [0, 1, -1, 0])
    """

    codes: IntArray
    levels: tuple[str, ...]

    @classmethod
    def of(cls, labels: Sequence[Any] | npt.NDArray[Any] | Factor) -> Factor:
        """Codes for any sequence of labels, levels in order of first appearance; None and NaN are missing."""
        if isinstance(labels, Factor):
            return labels
        index: dict[Any, int] = {}
        codes = np.empty(len(labels), dtype=np.int32)
        for i, label in enumerate(labels):
            missing = label is None or label != label
            codes[i] = -1 if missing else index.setdefault(str(label), len(index))
        return cls(codes, tuple(index))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice | npt.NDArray[Any]) -> Factor:
        return Factor(self.codes[rows], self.levels)

    def __iter__(self) -> Iterator[str | None]:
        return (self.levels[c] if c >= 0 else None for c in self.codes.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Factor) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def is_level(self, level: str) -> BoolArray:
        """Which rows carry `level`; all False where the level does not occur."""
        code = self.levels.index(level) if level in self.levels else -2
        return np.asarray(self.codes == code)

    def counts(self) -> dict[str, int]:
        """Rows per level, in the order of the levels."""
        found = np.bincount(self.codes[self.codes >= 0], minlength=len(self.levels))
        return dict(zip(self.levels, found.tolist(), strict=True))


@dataclass(frozen=True, kw_only=True, slots=True)
class Probes:
    """A batch of questions to a model: inputs, and where each one comes from.

    Args:
        inputs: what the subject is asked, length n (usually texts).
        factors: name → Factor of length n: the groups (`race`), and the units the row was drawn from
            (`text`, `term`).
    """

    inputs: Sequence[Any]
    factors: Mapping[str, Factor] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.inputs)


@dataclass(frozen=True, slots=True)
class Arrived:
    """What came over the wire for one row: an answer that it may share with others of its request.

    Args:
        body: the answer as it arrived, without secrets.
        at: which of its `of` inputs the row is.
        sent, received: tokens that the service counted for the whole answer; 0 where it says none.
    """

    body: bytes
    at: int = 0
    of: int = 1
    sent: int = field(default=0, repr=False, compare=False)
    received: int = field(default=0, repr=False, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Replies:
    """The answers to a batch, row by row.

    Args:
        scores: name → float array of length n; NaN exactly where the row is in `errors`.
        errors: row → reason. A failed row is counted, never lost and never 0.
        arrived: row → what came over the wire, where something did; scores can be read from it again.
    """

    scores: Mapping[str, FloatArray]
    errors: Mapping[int, str] = field(default_factory=dict)
    arrived: Mapping[int, Arrived] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.scores.values()))) if self.scores else len(self.errors)

    def take(self, rows: npt.NDArray[np.intp]) -> Replies:
        """The replies at these rows, in this order; a row may be taken more than once.

        >>> Replies(scores={"score": np.array([1.0, 2.0])}).take(np.array([1, 1])).scores["score"]
        array([2., 2.])
        """
        back = list(enumerate(rows.tolist()))
        return Replies(
            scores={name: column[rows] for name, column in self.scores.items()},
            errors={i: self.errors[at] for i, at in back if at in self.errors} if self.errors else {},
            arrived={i: self.arrived[at] for i, at in back if at in self.arrived} if self.arrived else {},
        )


class Subject(Protocol):
    """What is audited: a synchronous batch callable with a stable identity."""

    @property
    def id(self) -> str:
        """Identity of model, version and parameters; part of every journal key. Never a secret."""
        ...

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        """Score `inputs`, in order, one reply or one error per row."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Traits:
    """What a subject declares of itself beside its scores.

    A subject says so in an attribute ``traits``, or in plain attributes of these names, on the object, its
    class, or a function (``predict.ordinal = True``). Whatever wraps it passes them on.

    Args:
        ordinal: scores are ordered but not spaced, so that only ranks mean something (levels of severity).
        whole: all probes are wanted in one call (a job that is paid for as one).
        notice: what a reader of every result should know; empty for most.
        batches_itself: given many inputs at once it splits them better than a wrapper could.
        score_range: the least and the largest score that it gives, e.g. ``(0, 100)``; None where nobody
            knows.
        reuse: when a reply in a journal may stand for another call: `always` (the id says everything that
            can change an answer), `unfinished` (only to finish a run that came to no end) or `never`.

    >>> import evenhand as eh
    >>> def stars(texts):
    ...     return [len(text) % 5 for text in texts]
    >>> stars.ordinal = True
    >>> texts = ["Arthur left.", "I met Arthur."]
    >>> result = eh.audit_text(stars, texts, terms="names/weat-gender", replace="Arthur")
    >>> "ordinal-scores" in {note.slug for note in result.notes}
    True
    """

    ordinal: bool = False
    whole: bool = False
    notice: str = ""
    batches_itself: bool = False
    score_range: Span | None = None
    reuse: str = "always"


TRAITS: Mapping[str, type] = {
    trait.name: type(trait.default) for trait in fields(Traits) if trait.default is not None
}
"""What is said in one word, by its type."""
WRAPPED_IN = ("subject", "endpoint", "function")
"""Where a wrapper, a service and a subject made of a callable keep what they ask."""
DEEPEST = 32
"""Layers that are looked through: more than anyone stacks, and an end for an object that wraps itself."""


def traits_of(subject: object) -> Traits:
    """The traits of a subject under all its wrappers; what an outer layer declares itself goes before the
    inner ones.

    >>> from evenhand.subjects import Limited
    >>> traits_of(Limited(subject=type("Graded", (), {"ordinal": True})(), calls=2.0)).ordinal
    True
    """
    found: dict[str, Any] = {}
    for layer in layers(subject):
        declared = getattr(layer, "traits", None)
        if isinstance(declared, Traits):
            return replace(declared, **found)
        for name, kind in TRAITS.items():
            said = getattr(layer, name, None)
            if isinstance(said, str if kind is str else int | np.bool_):  # a method of that name says nothing
                found.setdefault(name, kind(said))
        if isinstance(ends := getattr(layer, "score_range", None), tuple):
            found.setdefault("score_range", ends)
    return Traits(**found)


def layers(subject: object) -> Iterator[Any]:
    """A subject and what it wraps, from the outside in."""
    layer: Any = subject
    for _ in range(DEEPEST):
        yield layer
        layer = next(
            (inner for name in WRAPPED_IN if (inner := getattr(layer, name, None)) is not None), None
        )
        if layer is None:
            return


Plan: TypeAlias = Generator[Probes, Replies, None]
"""Yields probes and is sent their replies; does no I/O. A fixed grid ignores what it is sent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Folded:
    """What n rows stand for, each for several that agree in all codes and in their weight: what to them is a
    sum, and which of it a mean does not tell.

    Args:
        count: (n,) rows. weight: (n,) of each of these rows. within: (n,) Σ(x − x̄)² of their scores; low,
            high: (n,) the least and the largest of them. tallies: (n,) value → rows where they are few
            different ones, else None; nothing where nobody asks.
    """

    count: IntArray
    weight: FloatArray
    within: FloatArray
    low: FloatArray
    high: FloatArray
    tallies: Sequence[Mapping[float, int] | None] = ()

    def __getitem__(self, rows: npt.NDArray[Any] | slice) -> Folded:
        """Of some of the rows (boolean mask, indices or slice)."""
        return Folded(
            count=self.count[rows],
            weight=self.weight[rows],
            within=self.within[rows],
            low=self.low[rows],
            high=self.high[rows],
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Observations:
    """Equal-length columns: where live audits and recorded audits meet.

    Args:
        columns: name → array (n,), what measures read (`score`, `y_true`, …).
        groups: name → Factor (n,), the attributes compared.
        units: name → Factor (n,), the samples that an estimate generalises over (`text`, `term`).
        weight: case weights (n,), non-negative, or None for all ones.
        folded: column → what its rows stand for, where they stand for several each: `columns` has their means
            then, and `weight` their sums.
    """

    columns: Columns
    groups: Mapping[str, Factor] = field(default_factory=dict)
    units: Mapping[str, Factor] = field(default_factory=dict)
    weight: FloatArray | None = None
    folded: Mapping[str, Folded] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lengths = {
            name: len(c) for part in (self.columns, self.groups, self.units) for name, c in part.items()
        }
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns of different lengths: {lengths}")

    def __len__(self) -> int:
        for part in (self.columns, self.groups, self.units):
            for column in part.values():
                return len(column)
        return 0

    @property
    def count(self) -> IntArray | None:
        """(n,) how many rows each stands for; None where it is one."""
        return next((folded.count for folded in self.folded.values()), None)

    def weighing(self, column: str) -> FloatArray | Folded | None:
        """The case weights, or what stands behind the rows of a column."""
        return self.folded.get(column, self.weight)

    def rows(self, among: BoolArray | None = None) -> int:
        """How many rows there are (among some), each as often as it counts."""
        if self.count is not None:
            return int(self.count.sum() if among is None else self.count[among].sum())
        return len(self) if among is None else int(np.count_nonzero(among))

    def span(self, column: str) -> Span | None:
        """The lowest and highest finite value of a column; None where there is none."""
        values = self.columns[column]
        finite = np.isfinite(values)
        if not finite.any():
            return None
        folded = self.folded.get(column)
        low, high = (values, values) if folded is None else (folded.low, folded.high)
        return (
            float(np.min(low, where=finite, initial=np.inf)),
            float(np.max(high, where=finite, initial=-np.inf)),
        )

    def take(self, rows: npt.NDArray[Any]) -> Observations:
        """The same observations, `rows` only (boolean mask or indices)."""
        return Observations(
            columns={k: v[rows] for k, v in self.columns.items()},
            groups={k: v[rows] for k, v in self.groups.items()},
            units={k: v[rows] for k, v in self.units.items()},
            weight=None if self.weight is None else self.weight[rows],
            folded={k: v[rows] for k, v in self.folded.items()},
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """One comparison of two groups with its uncertainty.

    Args:
        measure, contrast: names.
        group, reference: the two sides, e.g. ``"race=black"`` and ``"race=white"``. `reference` may also
            name a null ("all", "training data").
        given: the stratum, e.g. ``"sentiment=negative"``; None for all rows.
        value, low, high: the estimate and its interval; None where `why_not` says why. level: of the
            interval.
        statistic, df: value ÷ standard error and its degrees of freedom, where the method has them; df is
            None for a normal statistic.
        p_value, p_adjusted: two-sided unless `method` says otherwise; raw and after multiplicity.
        n: rows used. n_group, n_reference: rows on each side.
        units: sampled dimension → distinct units used, e.g. ``{"text": 40, "term": 80}``.
        method: how value, interval and p were computed, in words.
        why_not: reason why there is no (complete) estimate.
    """

    measure: str
    contrast: str
    group: str
    reference: str
    given: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    statistic: float | None = None
    df: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    n: int = 0
    n_group: int | None = None
    n_reference: int | None = None
    units: Mapping[str, int] = field(default_factory=dict)
    method: str = ""
    why_not: str | None = None

    def __post_init__(self) -> None:
        """No NaN or infinity ever stands for 'undefined': that is what `why_not` is for."""
        for name in ("value", "low", "high", "statistic", "df", "p_value", "p_adjusted"):
            number = getattr(self, name)
            if number is None:
                continue
            number = float(number)
            object.__setattr__(self, name, number if np.isfinite(number) else None)
        if self.value is None and not self.why_not:
            object.__setattr__(self, "why_not", "undefined for these data")

    @property
    def n_units(self) -> int:
        """Units of the scarcest sampled dimension: what limits the evidence. Rows where nothing is
        sampled."""
        return min(self.units.values()) if self.units else self.n

    def with_(self, **changes: Any) -> Estimate:
        """A copy with some fields changed."""
        return replace(self, **changes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """An estimate held against a tolerance that was declared before looking.

    Args:
        estimate: what was measured.
        tolerance: the two bounds of the contrast inside which groups count as treated alike, or None where
            the estimate is descriptive and no verdict was asked for.
        verdict: where the intervals lie (docs/decisions/0010): `disparity`, `gap`, `within tolerance`,
            `inconclusive`; None for descriptive estimates.
        because: one sentence for a reader without statistics.
        rests_on: what carries the estimate, e.g. "carried by 1 of 40 names: Precious".
        detectable: smallest true gap that this design would have called a disparity four times in five, on
            the contrast's scale.
        family: the family of claims whose error is shared.
        primary: whether the headline rests on it.
        simultaneous: the interval that holds for the whole family: beyond the tolerance it shows a disparity.
        equivalence: the interval of two one-sided tests: inside the tolerance it shows that any gap is
            smaller.
    """

    estimate: Estimate
    tolerance: tuple[float, float] | None = None
    verdict: Verdict | None = None
    because: str = ""
    rests_on: str | None = None
    detectable: float | None = None
    family: str = ""
    primary: bool = False
    simultaneous: Span | None = None
    equivalence: Span | None = None


ChartKind: TypeAlias = Literal[
    "none", "forest", "density", "heatmap", "line", "band", "scatter", "dumbbell", "bars", "examples", "trace"
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Exhibit:
    """A titled table that travels with a result, and how a report may draw it (docs/decisions/0002).

    Args:
        title: what the reader sees.
        columns: name → list of JSON scalars, equal lengths.
        note: one or two sentences: how to read it, what was left out.
        chart: the drawing; `none` for a plain table.
        encode: channel → column for the chart, e.g. ``{"x": "score", "color": "group"}``. See
            `reports/charts.py`.
    """

    title: str
    columns: Mapping[str, Sequence[Scalar]]
    note: str = ""
    chart: ChartKind = "none"
    encode: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lengths = {k: len(v) for k, v in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"exhibit {self.title!r} has columns of different lengths: {lengths}")

    @classmethod
    def of(
        cls,
        title: str,
        rows: Iterable[Mapping[str, Scalar]],
        *,
        columns: Sequence[str] | None = None,
        note: str = "",
        chart: ChartKind = "none",
        encode: Mapping[str, Any] | None = None,
    ) -> Exhibit:
        """The exhibit of a table that is made row by row.

        Args:
            title, note, chart, encode: as they stand in the exhibit.
            rows: the table; a cell that a row lacks is None.
            columns: the names in their order, also where there are no rows; keys beside them are left out.
                By default all names, in order of first appearance.

        >>> Exhibit.of("sizes", [{"group": "F", "n": 3}, {"group": "M"}]).columns
        {'group': ['F', 'M'], 'n': [3, None]}
        >>> Exhibit.of("sizes", [], columns=["group", "n"]).columns
        {'group': [], 'n': []}
        """
        table = list(rows)
        names = dict.fromkeys(columns if columns is not None else (name for row in table for name in row))
        filled = {name: [row.get(name) for row in table] for name in names}
        return cls(title=title, columns=filled, note=note, chart=chart, encode=dict(encode or {}))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def rows(self) -> Iterator[dict[str, Scalar]]:
        """The table row by row."""
        for values in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, values, strict=True))
