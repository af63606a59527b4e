"""What a user asks of the predictions audit, checked before anything is read: the task, the reference, the
tolerances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from evenhand._errors import DataError, UsageError
from evenhand.audits.predictions.class_cells import Positive
from evenhand.audits.predictions.roles import Named
from evenhand.measures import classification, regression

if TYPE_CHECKING:
    import pyarrow as pa

Task: TypeAlias = Literal["auto", "regression", "classification", "ranking"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What may be asked of an audit of predictions besides what is declared.

    Args:
        quantiles: of everyone's scores, above which people count as selected. measures: names of claims to
            keep.
        positive: the favourable class. crossing: the combinations of all groups are compared too. law: whose
            tables are added.
        suggest: add the thresholds that keep the impact ratio in its band. replicates: of the bootstrap
            check.
    """

    quantiles: Sequence[float]
    measures: str | Sequence[str] = "default"
    positive: Positive = None
    crossing: bool = False
    law: str | None = None
    suggest: bool = False
    replicates: int = 0


class Head(Protocol):
    """Data whose first rows can be looked at."""

    @property
    def named(self) -> Named:
        """Which column plays which role."""
        ...

    def head(self) -> pa.Table:
        """The first rows."""
        ...


TASKS: tuple[Task, ...] = ("auto", "regression", "classification", "ranking")


def tolerances(given: Mapping[str, Any] | None, task: Task) -> dict[str, Any]:
    """Defaults of the measures of a task, with the user's own put in.

    Raises:
        UsageError: `unknown-tolerance` for a name that no claim has.
    """
    rows = (
        classification.ROWS if task == "classification" else (*regression.at_quantile(0.8), *regression.ROWS)
    )
    merged: dict[str, Any] = {
        r.tolerance_name: r.tolerance if r.judged else None for r in rows if r.tolerance is not None
    }
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(
            "bad-tolerance",
            "predictions have many measures, so a tolerance names its own",
            given=given,
            expected='a mapping, e.g. {"disparate impact": 0.8}',
            available=sorted(merged),
        )
    for name, value in (given or {}).items():
        if name not in merged:
            raise UsageError(
                "unknown-tolerance", "no claim has this name", given=name, available=sorted(merged)
            )
        merged[name] = tuple(value) if isinstance(value, list) else value
    return merged


def is_notebook(measures: str | Sequence[str]) -> bool:
    """Whether the table of the 2022 notebook is asked for."""
    return measures == "notebook-2022" or list(measures) == ["notebook-2022"]


def references(reference: str | Mapping[str, str] | None, named: Named) -> dict[str, str]:
    """Attribute → the group that others are held against.

    Raises:
        UsageError: `reference`.
    """
    if reference is None:
        return {}
    if isinstance(reference, str):
        if len(named.groups) > 1:
            raise UsageError(
                "reference",
                "with several attributes a reference names its own",
                given=reference,
                expected='{"attribute": "group"}',
                available=list(named.groups),
            )
        return {named.groups[0]: reference} if named.groups else {}
    for name in reference:
        if name not in named.groups:
            raise UsageError(
                "reference",
                "the reference names no attribute of this audit",
                given=name,
                available=list(named.groups),
            )
    return {k: str(v) for k, v in reference.items()}


def tau_of(pinball: float | None, y_true: object) -> float | None:
    """The quantile that a model predicts.

    Raises:
        UsageError: `bad-quantile`, `no-outcome`.
    """
    if pinball is None:
        return None
    if not 0 < pinball < 1:
        raise UsageError(
            "bad-quantile", "τ lies strictly between 0 and 1", given=pinball, expected="e.g. 0.9"
        )
    if y_true is None:
        raise UsageError(
            "no-outcome", "the pinball loss needs outcomes", hint="name them with y_true= (--y-true)"
        )
    return float(pinball)


def checked_quantiles(quantiles: Sequence[float]) -> list[float]:
    """Each quantile once.

    Raises:
        UsageError: `bad-quantile`.
    """
    chosen = [float(q) for q in quantiles]
    for q in chosen:
        if not 0 < q < 1:
            raise UsageError(
                "bad-quantile", "a quantile lies strictly between 0 and 1", given=q, expected="e.g. 0.8"
            )
    if not chosen:
        raise UsageError("bad-quantile", "no quantile is given", expected="e.g. 0.8")
    return list(dict.fromkeys(chosen))


def task_of(task: Task, given: Head) -> Task:
    """The task that was named, else what the predictions look like.

    Raises:
        UsageError: `unknown-task`, `lists`. DataError: `not-a-number`.
    """
    import pyarrow.types as types

    named = given.named
    if named.lists is not None and task in ("regression", "classification"):
        raise UsageError("lists", "ranked lists belong to a ranking", given=task, expected='task="ranking"')
    if task not in TASKS:
        raise UsageError("unknown-task", "no such task", given=task, available=TASKS)
    if task != "auto":
        return task
    table = given.head()
    kind = table.column(named.y_pred).type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_boolean(kind):
        return "classification"
    if types.is_string(kind) or types.is_large_string(kind):
        texts = [t for t in table.column(named.y_pred).unique().to_pylist() if t is not None and t.strip()]
        try:
            [float(t) for t in texts]
        except ValueError:
            if len(texts) > 50:
                raise DataError(
                    "not-a-number",
                    f"the predictions in {named.y_pred!r} are text, and too many different ones to be"
                    " class labels",
                    given=texts[0],
                    expected="numbers, or at most 50 class labels",
                ) from None
            return "classification"
    if types.is_floating(kind) or types.is_integer(kind):
        import pyarrow.compute as pc

        values = [
            v for v in pc.unique(table.column(named.y_pred).slice(0, 10_000)).to_pylist() if v is not None
        ]
        if set(values) <= {0, 1} and len(values) == 2:
            return "classification"
    return "regression"
