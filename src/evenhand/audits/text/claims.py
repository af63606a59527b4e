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
from evenhand.audits.scores.sections import add_sections
from evenhand.audits.scores.sides import LABEL, Question
from evenhand.audits.text.designs import Design
from evenhand.audits.text.flagged import flagged_exhibit, without_flagged


def score_of(asked: Asked, score: str | None) -> str:
    """The score that is compared: the one named, else the subject's first.

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
    if score is not None and score not in names:
        raise UsageError("unknown-score", "the subject gives no such score", given=score, available=names)
    return names[0] if score is None else score


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


def ranked(observations: Observations, score: str, analysis: Analysis) -> Observations:
    """Scores that are ordered but not spaced become midranks between 0 and 1.

    A difference of mean midranks is the difference in the probability of exceeding a randomly drawn score.
    """
    from scipy.stats import rankdata

    values = observations.columns[score]
    known = np.isfinite(values)
    ranks = np.full(len(values), np.nan)
    ranks[known] = (rankdata(values[known]) - 0.5) / max(int(known.sum()), 1)
    analysis.note(
        "ordinal-scores",
        f"{score} is ordinal: its levels are ordered but not evenly spaced. Groups are compared by midranks,"
        " so a gap of 0.1 is 0.1 in the probability of scoring higher than a randomly drawn text.",
    )
    return replace(observations, columns={**observations.columns, score: ranks})


def compare_parts(
    observations: Observations, made: Design, asked: Question, analysis: Analysis, threshold: float | None
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
            strata=strata,
            declared=replace(asked.declared, reference=named, words=words),
        )
        evidence |= add_sections(observations, question, analysis, threshold=threshold, part=part.name)
        doubtful += without_flagged(observations, question, evidence, part.name)
        if not part.sampled:
            analysis.note(
                "groups-are-terms",
                f"{', '.join(attributes)}: the groups are the words themselves, so nothing is sampled over"
                " terms; the claims are about these words and generalise over texts.",
            )
    analysis.show({"flagged": flagged_exhibit(doubtful)})
    return evidence
