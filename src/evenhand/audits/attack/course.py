"""The course of an attack: the texts as they are, then each axis with its placebos, then what follows from
all of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand._analysis import Analysis
from evenhand._judge import Correction
from evenhand._model import FloatArray, Subject
from evenhand._provenance import digest_of, provenance
from evenhand._result import Result
from evenhand.audits.attack.asking import Asking
from evenhand.audits.attack.axes import Axis
from evenhand.audits.attack.exhibits import add_exhibits, traces
from evenhand.audits.attack.field import Laying, field_of
from evenhand.audits.attack.findings import Attacked, add_findings
from evenhand.audits.attack.notes import note_asked, note_texts
from evenhand.audits.attack.search import Effort, attack_axis
from evenhand.embeddings._matrix import Vectors
from evenhand.embeddings.fluency import Fluency, contexts_of
from evenhand.plans.goal import Goal
from evenhand.texts import Texts


@dataclass(frozen=True, kw_only=True, eq=False)
class Course:
    """What is attacked, along what, and to what end.

    Args:
        given: the texts. space: the embeddings. axes: directions and their opposites.
        wants: scores of the texts → the goal. reads: tokens of the texts, embeddings → the fluency filter.
    """

    given: Texts
    space: Vectors
    axes: Sequence[Axis]
    wants: Callable[[dict[str, FloatArray]], Goal]
    reads: Callable[[Sequence[Sequence[str]], Vectors], Fluency | None]


def pursue(
    course: Course,
    laying: Laying,
    effort: Effort,
    asking: Asking,
    analysis: Analysis,
    bounds: tuple[float, float],
    level: float,
    correction: Correction,
) -> str | None:
    """Ask, attack along every axis, and put what was found into `analysis`; the id of the fluency filter
    comes back.

    Nothing is attacked where not even the unchanged texts could be asked.
    """
    texts = list(course.given.texts)
    for problem in course.space.problems:
        analysis.note("vectors-left-out", f"While reading {course.space.id}: {problem}.", warning=True)
    columns = asking.columns(texts)
    read_by = None
    if columns or asking.stopped is None:
        goal = course.wants(columns)
        contexts = contexts_of(course.given.texts)
        reader = course.reads(contexts.tokens, course.space)
        read_by = None if reader is None else reader.id
        unstable = asking.unstable(texts, goal, analysis)
        attacked: list[Attacked] = []
        for axis in course.axes:
            laid = field_of(axis, contexts, course.space, reader, laying)
            attacked.append(attack_axis(laid, goal, effort, asking, again=unstable))
        note_texts(course.given, goal, attacked, analysis)
        add_findings(attacked, analysis, tolerance=bounds, level=level, correction=correction)
        add_exhibits(attacked, analysis, traces(attacked, goal, asking.trace), fluency=read_by)
    note_asked(asking, analysis)
    return read_by


def closed(
    door: Callable[..., Any],
    course: Course,
    subject: Subject,
    asking: Asking,
    analysis: Analysis,
    *,
    seed: int,
    fluency: str | None,
) -> Result:
    """The result of what `analysis` adds up to."""
    return Result(
        audit="attack",
        title=f"{subject.id} attacked along {' and '.join(axis.name for axis in course.axes)}",
        findings=tuple(analysis.findings),
        exhibits=analysis.exhibits,
        notes=tuple(analysis.notes),
        counts={"texts": len(course.given), "asked": asking.asked, "failed": asking.failed},
        provenance=provenance(
            door,
            {"directions": [side.name for axis in course.axes for side in axis.sides]},
            subject=subject.id,
            seeds={"attack": seed},
            data={"texts": digest_of(list(course.given.texts)), "embeddings": course.space.id},
            fluency=fluency,
        ),
        complete=asking.stopped is None,
    )
