"""From replies to claims: which score, which groups, and what each part of a design asks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import SubjectError, UsageError
from evenhand._estimate import Evidence
from evenhand._model import Factor, Observations, Scalar
from evenhand._run import Asked
from evenhand._units import path_of, samples_among
from evenhand.audits.scores.doubted import note_doubt
from evenhand.audits.scores.measures import checked_classes
from evenhand.audits.scores.scale import tolerance_for
from evenhand.audits.scores.sections import add_sections
from evenhand.audits.scores.sides import LABEL, Question
from evenhand.audits.text.designs import Design, chances_of
from evenhand.audits.text.flagged import flagged_exhibit, without_flagged


def first_of(score: str | Sequence[str] | None) -> str | None:
    """The first of the scores that the user named."""
    return score if score is None or isinstance(score, str) else next(iter(score), None)


def scores_of(
    asked: Asked, score: str | Sequence[str] | None, classes: Sequence[str] = ()
) -> tuple[str, ...]:
    """The scores that are compared: those named, else the subject's first.

    Raises:
        SubjectError: `no-replies`. UsageError: `unknown-score`.
    """
    names = list(asked.observations.columns)
    if not any(np.isfinite(column).any() for column in asked.observations.columns.values()):
        common = asked.failures.most_common(1)
        raise SubjectError(
            "no-replies",
            "the subject answered nothing",
            given=common[0][0] if common else "no probes",
            hint="every row failed; nothing can be compared",
        )
    wanted = names[:1] if score is None else [score] if isinstance(score, str) else list(dict.fromkeys(score))
    check_scores([*wanted, *checked_classes(classes)], names)
    return tuple(wanted or names[:1])


def check_scores(wanted: Sequence[str], names: Sequence[str]) -> None:
    """UsageError (`unknown-score`) where a score is none of the subject's."""
    for score in wanted:
        if score not in names:
            raise UsageError("unknown-score", "the subject gives no such score", given=score, available=names)


def grouped(
    observations: Observations, made: Design, units: str | Sequence[str], analysis: Analysis
) -> tuple[Observations, tuple[str, ...]]:
    """Attributes move from the units to the groups, labels of texts to the columns; copies of a text are one.

    Args:
        units: what the texts were drawn from, as paths.

    Returns:
        the observations, and the units of the texts.

    Raises:
        UsageError: `unknown-unit`, `units-order`.
    """
    columns = dict(observations.columns)
    label = observations.units.get("label")
    if label is not None and set(label.levels) <= {"0", "1"}:
        columns[LABEL] = np.array([*map(float, label.levels), np.nan])[label.codes]
    kept = {name: factor for name, factor in observations.units.items() if name not in made.attributes}
    kept["text"] = _without_copies(kept["text"], made, analysis)
    paths = [path_of(unit, kept) for unit in ([units] if isinstance(units, str) else units) or ["text"]]
    for name in (name for path in paths for name in path if name not in kept):
        available = [name for name in kept if name not in ("term", "role", "category", "flag", "form")]
        raise UsageError("unknown-unit", "the texts have no such column", given=name, available=available)
    found = samples_among(kept, paths)
    for slug, said, warning in found.told:
        analysis.note(slug, said, warning=warning)
    return Observations(
        columns=columns,
        groups={a: observations.units[a] for a in made.attributes},
        units=kept,
        weight=observations.weight,
    ), found.names


def _without_copies(texts: Factor, made: Design, analysis: Analysis) -> Factor:
    """The unit of each row, where texts that are word for word the same are one."""
    words: dict[str, tuple[str, ...]] = {}
    for part in made.parts:
        for block in part.grid.blocks:
            text = part.grid.texts[block.text]
            words[text] = (*words.get(text, ()), " ".join(block.wording.split()))
    first: dict[tuple[str, ...], str] = {}
    same = {text: first.setdefault(said, text) for text, said in words.items()}
    if len(first) == len(words):
        return texts
    analysis.note(
        "copies",
        f"{len(words) - len(first)} of {len(words)} texts repeat another one word for word: the {len(first)}"
        " different ones are the units, and copies add no evidence.",
        warning=True,
    )
    levels = tuple(dict.fromkeys(same.get(text, text) for text in texts.levels))
    place = np.array([*(levels.index(same.get(text, text)) for text in texts.levels), -1])
    return Factor(place[texts.codes], levels)


def ranked(observations: Observations, scores: Sequence[str], analysis: Analysis) -> Observations:
    """Scores that are ordered but not spaced become midranks between 0 and 1.

    A difference of mean midranks is the difference in the probability of exceeding a randomly drawn score.
    """
    from scipy.stats import rankdata

    columns = dict(observations.columns)
    for score in scores:
        values = columns[score]
        known = np.isfinite(values)
        ranks = np.full(len(values), np.nan)
        ranks[known] = (rankdata(values[known]) - 0.5) / max(int(known.sum()), 1)
        columns[score] = ranks
    are = f"{', '.join(scores)} are" if len(scores) > 1 else f"{scores[0]} is"
    analysis.note(
        "ordinal-scores",
        f"{are} ordinal: the levels are ordered but not evenly spaced. Groups are compared by midranks, so"
        " a gap of 0.1 is 0.1 in the probability of scoring higher than a randomly drawn text.",
    )
    return replace(observations, columns=columns)


def compare_scores(
    observations: Observations,
    made: Design,
    asked: Question,
    scores: Sequence[str],
    tolerance: float | tuple[float, float] | None,
    analysis: Analysis,
) -> dict[str, Sequence[Evidence]]:
    """The sections of every score: all claims, and of the first what is shown by default.

    Args:
        asked: what the scores share. tolerance: as declared.

    Returns:
        attribute → evidence of its overall pairs, of the first score.

    Raises:
        UsageError: `unknown-primary`, `bad-tolerance`, and as `compare_parts`.
    """
    asked.declared.check_primary(scores)
    found: list[dict[str, Sequence[Evidence]]] = []
    for name in scores:
        bounds = tolerance_for(tolerance, name, observations, analysis, strict=False)
        classes = () if found else asked.classes
        with analysis.about(name, first=not found):
            question = replace(asked, score=name, tolerance=bounds, classes=classes)
            found.append(compare_parts(observations, made, question, analysis))
    return found[0]


def compare_parts(
    observations: Observations, made: Design, asked: Question, analysis: Analysis
) -> dict[str, Sequence[Evidence]]:
    """The sections of every part of the design, each asked about its own attributes.

    Args:
        asked: what the parts share.

    Returns:
        attribute → evidence of its overall pairs.

    Raises:
        UsageError: `unknown-strata`.
    """
    strata = asked.strata or ("sentiment" if "sentiment" in observations.units else None)
    if strata is not None and strata not in observations.units:
        available = list(observations.units)
        raise UsageError("unknown-strata", "the texts have no such column", given=strata, available=available)
    evidence: dict[str, Sequence[Evidence]] = {}
    doubtful: list[Mapping[str, Scalar]] = []
    for part in made.parts:
        attributes = tuple(part.attributes.values())
        named = {k: v for k, v in asked.declared.reference.items() if k in attributes}
        words = {"term": part.word, "text": "text"}
        question = replace(
            asked,
            attributes=attributes,
            samples=(*asked.samples, "term") if part.sampled else asked.samples,
            nested="term" if part.sampled else None,
            chances=chances_of(part),
            strata=strata,
            declared=replace(asked.declared, reference=named, words=words),
        )
        note_doubt(question.chances, part.word, analysis)
        evidence |= add_sections(observations, question, analysis, part=part.name)
        doubtful += without_flagged(observations, question, evidence, part.name)
        if not part.sampled:
            analysis.note(
                "groups-are-terms",
                f"{', '.join(attributes)}: the groups are the words themselves, so nothing is sampled over"
                " terms; the claims are about these words and generalise over texts.",
            )
    analysis.show({"flagged": flagged_exhibit(doubtful)})
    return evidence
