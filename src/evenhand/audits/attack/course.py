"""The course of an attack: the texts as they are, then each axis with its placebos, then what follows from
all of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._model import FloatArray
from evenhand._provenance import digest_of, provenance
from evenhand._result import Result
from evenhand.audits.attack.asking import Asking
from evenhand.audits.attack.axes import Axis
from evenhand.audits.attack.exhibits import add_exhibits, traces
from evenhand.audits.attack.field import Laying, field_of
from evenhand.audits.attack.findings import Attacked, add_findings
from evenhand.audits.attack.notes import note_asked, note_reading, note_texts
from evenhand.audits.attack.search import Effort, attack_axis
from evenhand.embeddings._matrix import Vectors
from evenhand.embeddings.fluency import Fluency, contexts_of
from evenhand.plans.goal import Goal
from evenhand.texts import Texts


@dataclass(frozen=True, kw_only=True, eq=False)
class Course:
    """What is attacked, along what, to what end, and how.

    Args:
        given: the texts. space: the embeddings. axes: directions and their opposites.
        wants: scores of the texts → the goal. reads: tokens of the texts, embeddings → the fluency filter.
        laying: what may be done to a text. effort: how hard each search tries.
    """

    given: Texts
    space: Vectors
    axes: Sequence[Axis]
    wants: Callable[[dict[str, FloatArray]], Goal]
    reads: Callable[[Sequence[Sequence[str]], Vectors], Fluency | None]
    laying: Laying
    effort: Effort


def pursue(door: Callable[..., Result], course: Course, asking: Asking, declared: Declared) -> Result:
    """Ask, attack along every axis, and say what was found.

    Nothing is attacked where not even the unchanged texts could be asked.

    Args:
        door: the function that was called.
    """
    analysis, texts, space = Analysis(), list(course.given.texts), course.space
    for problem in space.problems:
        analysis.note("vectors-left-out", f"While reading {space.id}: {problem}.", warning=True)
    columns = asking.columns(texts)
    read_by, attacked = None, list[Attacked]()
    if columns or asking.stopped is None:
        goal = course.wants(columns)
        contexts = contexts_of(course.given.texts)
        reader = course.reads(contexts.tokens, space)
        read_by = None if reader is None else reader.id
        unstable = asking.unstable(texts, goal, analysis)
        laying = replace(course.laying, reading=course.laying.reading.asking(goal, asking.columns))
        for axis in course.axes:
            laid = field_of(axis, contexts, space, reader, laying)
            attacked.append(attack_axis(laid, goal, course.effort, asking, again=unstable))
        note_texts(course.given, goal, attacked, analysis)
        note_reading(laying.reading, len(course.space), analysis)
        add_findings(attacked, declared, analysis)
        add_exhibits(attacked, analysis, traces(attacked, goal, asking.trace), fluency=read_by)
    note_asked(asking, analysis)
    asking.finish()
    return Result(
        audit="attack",
        title=f"{asking.subject.id} attacked along {' and '.join(axis.name for axis in course.axes)}",
        findings=tuple(analysis.findings),
        exhibits=analysis.exhibits,
        notes=tuple(analysis.notes),
        counts={
            "texts": len(texts),
            "asked": asking.asked,
            "distinct": asking.distinct,
            "evaluations": sum(int(r.evaluations.sum()) for one in attacked for _, r, _ in one.strata()),
            "failed": asking.failed,
        },
        provenance=provenance(
            door,
            {"directions": [side.name for axis in course.axes for side in axis.sides]},
            subject=asking.subject.id,
            seeds={"attack": declared.seed},
            data={"texts": digest_of(texts), "embeddings": space.id},
            fluency=read_by,
            candidates=None if course.laying.proposals is None else course.laying.proposals.id,
            replies=asking.reused.record(),
        ),
        complete=asking.stopped is None,
    )
