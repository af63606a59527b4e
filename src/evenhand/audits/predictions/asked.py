"""What a user asks of the predictions audit, checked before anything is read: the task, the reference, the
tolerances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._errors import DataError, UsageError
from evenhand._vocabulary import Positive
from evenhand._wording import short
from evenhand.audits.predictions.class_cells import MOST_LABELS
from evenhand.audits.predictions.roles import Named
from evenhand.measures import attribute_flip, classification, regression

if TYPE_CHECKING:
    import pyarrow as pa

Selection: TypeAlias = Literal["good", "bad"]
First: TypeAlias = Literal["highest", "lowest"]
SELECTIONS: tuple[Selection, ...] = ("good", "bad")
Task: TypeAlias = Literal["auto", "regression", "classification", "ranking"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What may be asked of an audit of predictions besides what is declared.

    Args:
        quantiles: of everyone's scores, above which people count as selected. measures: names of claims to
            keep.
        positive: the favourable class. crossing: the combinations of all groups are compared too. law: whose
            tables are added.
        selection: whether being selected is good for people.
        top: how many of a ranked list are taken, where it is asked for. first: which predictions stand first
            in a list. frontier: add what other thresholds of the scores would give.
            min_group: rows below which a group is not compared.
        suggest: add the thresholds that keep the impact ratio in its band. replicates: of the bootstrap
            check.
    """

    quantiles: Sequence[float]
    measures: str | Sequence[str] = "default"
    positive: Positive = None
    selection: Selection = "good"
    crossing: bool = False
    law: str | None = None
    top: int | None = None
    first: First = "highest"
    suggest: bool = False
    frontier: bool = False
    min_group: int = 1
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

    def distinct(self, name: str, most: int) -> list[Any] | None:
        """The values of all of a column; None where there are more."""
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
    flip = attribute_flip.LABELS if task == "classification" else attribute_flip.NUMBERS
    merged[flip.name] = flip.tolerance
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


def check_claims(given: Mapping[str, Any] | None, declared: Declared, analysis: Analysis) -> None:
    """Once all claims are made: those named as primary are there, and tolerances that nobody gave are told.

    Raises:
        UsageError: `unknown-primary`.
    """
    declared.check_primary(analysis.claimed)
    found = {
        f"{item.estimate.measure.partition(',')[0]} {short(bounds[0])} to {short(bounds[1])}"
        for item, bounds in analysis.primary
        if bounds is not None
    }
    if not given and found:
        analysis.note(
            "default-tolerance",
            f"No tolerance was declared; the usual ones were taken: {'; '.join(sorted(found))}. For another"
            " use, declare your own (tolerance=, --tolerance).",
        )


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
    if not isinstance(reference, Mapping):
        if len(named.groups) > 1:
            raise UsageError(
                "reference",
                "with several attributes a reference names its own",
                given=reference,
                expected='{"attribute": "group"}',
                available=list(named.groups),
            )
        return {named.groups[0]: str(reference)} if named.groups else {}
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


def task_of(task: Task, given: Head, positive: Positive) -> Task:
    """The task that was named, else what all of the predictions and outcomes look like.

    Args:
        positive: the favourable class; where it, or the scores of a classifier, are given, predictions are
            labels.

    Raises:
        UsageError: `unknown-task`, `lists`. DataError: `not-a-number`.
    """
    named = given.named
    if named.lists is not None and task in ("regression", "classification"):
        raise UsageError("lists", "ranked lists belong to a ranking", given=task, expected='task="ranking"')
    if task not in TASKS:
        raise UsageError("unknown-task", "no such task", given=task, available=TASKS)
    if task != "auto":
        return task
    if named.lists is not None:
        return "ranking"
    if positive is not None or named.y_score is not None:
        return "classification"
    predicted = given.distinct(named.y_pred, MOST_LABELS)
    if predicted is None:
        first = given.head().column(named.y_pred).drop_null()
        if len(first) and not are_numbers([first[0].as_py()]):
            raise DataError(
                "not-a-number",
                f"the predictions in {named.y_pred!r} are text, and too many different ones to be"
                " class labels",
                given=first[0].as_py(),
                expected=f"numbers, or at most {MOST_LABELS} class labels",
            )
        return "regression"
    true = None if named.y_true is None else given.distinct(named.y_true, MOST_LABELS)
    if named.y_true is not None and true is None:
        return "regression" if are_numbers(predicted) else "classification"
    return "classification" if are_labels(predicted, true) else "regression"


def check_selection(selection: Selection, law: str | None, *, suggest: bool) -> None:
    """What is bad for those who get it is no selection in the sense of a law.

    Raises:
        UsageError: `selection`.
    """
    if selection not in SELECTIONS:
        raise UsageError(
            "selection", "being selected is good or bad", given=selection, available=list(SELECTIONS)
        )
    if selection == "bad" and (law is not None or suggest):
        raise UsageError(
            "selection",
            "tables of a law and suggested thresholds count those who got something good",
            given='selection="bad"',
            expected="positive= (--positive), the class that is good for people",
        )


def check_top(top: int | None, first: First, lists: object) -> None:
    """Who stands first in a ranked list, and how many of it are taken.

    Raises:
        UsageError: `lists`.
    """
    if first not in ("highest", "lowest"):
        raise UsageError("lists", "who stands first in a list", given=first, available=["highest", "lowest"])
    if top is not None and lists is None:
        raise UsageError(
            "lists",
            "how many of a list are taken needs lists",
            given=f"top={top}",
            expected="lists= (--list)",
        )
    if top is not None and top < 1:
        raise UsageError("lists", "at least one of a list is taken", given=f"top={top}", expected="e.g. 1")


def check_min_group(least: int) -> None:
    """UsageError (`min-group`) for less than one row."""
    if least < 1:
        raise UsageError("min-group", "a group has at least one row", given=least, expected="e.g. 30")


def check_period(period: object, lists: object, measures: str | Sequence[str]) -> None:
    """What has no claims within the levels of a factor has none over time.

    Raises:
        UsageError: `periods`.
    """
    if period is not None and (lists is not None or is_notebook(measures)):
        what = "ranked lists" if lists is not None else "the table of the 2022 notebook"
        raise UsageError(
            "periods",
            f"{what} are not compared over time",
            hint="audit the rows of each period by themselves",
        )


def say_task(
    analysis: Analysis, named: Named, options: Options, task: Task, compared: Sequence[str] = ()
) -> None:
    """What the audit was made as, and which way is good.

    Args:
        compared: the classes that are held against the rest.
    """
    what = f"{named.y_pred} as {'class labels' if task == 'classification' else 'numbers'}"
    good = options.selection == "good"
    if task != "classification":
        which = "The first place of a list" if options.first == "lowest" else "A high prediction"
        way = f"{which} is taken as {'good' if good else 'bad'} for people."
    elif len(compared) == 1:
        way = f"Favourable: {compared[0]}." if good else f"Unfavourable, and looked at: {compared[0]}."
        if not good:
            way += " A group with the higher rate has the disadvantage."
    else:
        way = f"{len(compared)} classes, none of them named as favourable."
    analysis.note("audited-as", f"Audited as {task}, {what}. {way}")


def say_bootstrap(analysis: Analysis, named: Named, options: Options, task: Task) -> None:
    """Where replicates are asked for and none are drawn."""
    closed = task == "classification" or named.lists is not None or named.unit is not None
    if options.replicates and closed:
        text = "Only a regression table of independent rows is bootstrapped: intervals are closed forms."
        analysis.note("no-bootstrap", text)


def are_numbers(values: Sequence[object]) -> bool:
    """Numbers, or texts that are; true and false are none."""
    try:
        [float(str(v)) for v in values]
    except ValueError:
        return False
    return True


def are_labels(predicted: Sequence[object], true: Sequence[object] | None) -> bool:
    """Whether few distinct predictions (and outcomes) are classes: anything but numbers, 0 and 1 among whole
    numbers, or any two whole numbers that outcomes are of, too."""
    if not are_numbers(predicted):
        return True
    ours = {float(str(v)) for v in predicted}
    if not ours or not all(v.is_integer() for v in ours):
        return False
    if true is None:
        return ours <= {0.0, 1.0} or ours == {-1.0, 1.0}
    if not are_numbers(true):
        return len(ours) <= 2
    theirs = {float(str(v)) for v in true}
    if ours <= {0.0, 1.0}:
        return all(v.is_integer() for v in theirs)
    return len(ours) <= 2 and len(theirs) <= 2 and all(v.is_integer() for v in theirs)
