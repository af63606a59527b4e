"""The text audit: the same texts with other names, pronouns or identity terms, asked live."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import replace as replaced
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._errors import EvenhandError, SubjectError, UsageError
from evenhand._judge import Correction, tolerance_of
from evenhand._labels import references
from evenhand._model import Exhibit, Factor, Observations, Scalar, Subject, traits_of
from evenhand._provenance import digest_of, provenance
from evenhand._result import Result
from evenhand._run import Asked, Progress, ask
from evenhand._store import Journal
from evenhand.audits.scores.claims import LABEL, Question, check_question, compare_groups
from evenhand.audits.scores.exhibits import add_exhibits
from evenhand.audits.scores.measures import add_labels, add_measures
from evenhand.audits.text.designs import Design, design_of, skipped
from evenhand.audits.text.examples import examples
from evenhand.subjects import Budgeted, Cached, Limited, subject
from evenhand.subjects.long_texts import How, LongTexts
from evenhand.subjects.service import Service
from evenhand.terms import Terms
from evenhand.terms.collide import collisions

LONG = 500
"""Characters from which a service may read only the beginning of a text (seen with real-time sentiment)."""


def audit_text(
    subject: str | Callable[..., Any] | Subject,
    texts: Any,
    *,
    terms: str | os.PathLike[str] | Terms | Sequence[Any],
    groups: str | Sequence[str] | None = None,
    reference: str | Mapping[str, str] | None = None,
    replace: str | None = None,
    text_column: str | None = None,
    most_texts: int | None = None,
    strata: str | None = None,
    strata_subject: str | Callable[..., Any] | Subject | None = None,
    control: bool = True,
    score: str | None = None,
    tolerance: float | tuple[float, float] = 0.1,
    threshold: float | None = None,
    level: float = 0.95,
    correction: Correction = "holm",
    seed: int = 0,
    journal: str | os.PathLike[str] | Journal | None = None,
    repeats: int = 1,
    batch_size: int = 1_000,
    budget: int | None = None,
    max_cost: float | None = None,
    price: float | None = None,
    price_per_100: float | None = None,
    rate: float | None = None,
    long_texts: How = "error",
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Result:
    """Rewrite every text for every term, ask the subject, compare the groups.

    Args:
        subject: a name of `evenhand list subjects`, or "module:attr". In Python also any callable that scores a list of texts.
        texts: a file (txt, csv, jsonl, parquet, toml) or a shipped name. In Python also a list of texts, a dataframe, or
            templates with slots (`eh.templates`).
        terms: names, pronouns, gendered pairs or identity terms: a name of `evenhand list terms`, or a file. One list or several.
        groups: which attributes of the terms to compare; all by default. Each is a family of claims.
        reference: the group that the others are held against; all pairs by default.
        replace: the name in the texts that gives way to those of `terms`. Pronouns follow.
        text_column: column with the texts, where they are a table.
        most_texts: an even random sample of so many texts.
        strata: column that classes the texts, e.g. by sentiment. Used where present.
        strata_subject: a subject whose scores of the base texts class them negative, neutral, positive instead.
        control: also ask each text without its term.
        score: the score to compare; the subject's first by default.
        tolerance: largest difference of means that counts as even-handed, declared beforehand. One number or bounds.
        threshold: score from which a reply counts as positive, for measures of label changes.
        level: confidence level of the intervals.
        correction: adjustment of p-values for many claims: holm, bh or none.
        seed: seed of everything random.
        journal: file with replies that arrived earlier; they are not asked again.
        repeats: identical calls on purpose, for subjects that answer differently each time.
        batch_size: inputs in one call of the subject.
        budget: most inputs to ask. Stops cleanly before it would be passed, as does `max_cost`.
        max_cost: most money to spend, at the prices given.
        price: money for one call.
        price_per_100: money for each 100 characters begun.
        rate: most inputs a second.
        long_texts: what becomes of texts over the service's limit: error, split (at sentences) or stop.
        executor: runs calls side by side.
        progress: called with (asked, failed).

    Raises:
        UsageError, DataError, TermsError: bad input. SubjectError: the subject cannot be used at all.

    >>> from evenhand.testing import Planted
    >>> model = Planted(
    ...     gap=0.3, words=["John", "Paul", "Mike", "Kevin", "Steve", "Greg", "Jeff", "Bill"], noise_sd=0.01
    ... )
    >>> texts = [f"Arthur lost his {thing}." for thing in ("keys", "dog", "way", "hat", "map")]
    >>> audit_text(model, texts, terms="names/weat-gender", replace="Arthur").findings[0].verdict
    'disparity'
    """
    made = design_of(
        {
            "texts": texts, "terms": terms, "replace": replace, "groups": groups, "control": control,
            "text_column": text_column, "most_texts": most_texts, "seed": seed,
        }
    )  # fmt: skip
    chosen = _subject(subject, rate, long_texts)
    paying = _budgeted(chosen, budget, max_cost, price, price_per_100)
    if strata_subject is not None:
        made, strata = _classed(made, strata_subject), "sentiment"
    traits = traits_of(chosen)
    whole = traits.whole and len(made) > 0
    analysis = Analysis()
    _note_lengths(made, analysis)
    if traits.notice:
        analysis.note("about-the-service", traits.notice, warning=True)
    with ExitStack() as stack:
        store = stack.enter_context(Journal(journal)) if isinstance(journal, str | os.PathLike) else journal
        asked = ask(
            made.plan(len(made) if whole else 10_000),
            paying,
            executor=executor,
            journal=store,
            repeats=repeats,
            batch_size=len(made) if whole else batch_size,
            progress=progress,
        )
        name = _score_name(asked, score)
        _note_collisions(made, paying, name, store, analysis)
    observations = _grouped(asked.observations, made)
    if traits.ordinal:
        observations = _ranked(observations, name, analysis)
    bounds = tolerance_of(tuple(tolerance) if isinstance(tolerance, list) else tolerance)
    declared = Declared(
        reference=references(reference, list(made.attributes)), tolerance={"mean score": bounds}, level=level,
        correction=correction, seed=seed,
    )  # fmt: skip
    _analyse(observations, made, analysis, Question(
        score=name, attributes=(), strata=strata, tolerance=bounds, declared=declared
    ), threshold)  # fmt: skip
    _note_asked(asked, observations, name, analysis)
    worst = examples(observations, made, analysis.findings, name, repeats=repeats)
    if len(worst):
        analysis.exhibits = {"examples": worst, **analysis.exhibits}
    arguments = {
        "terms": _named(terms), "groups": groups, "reference": reference, "replace": replace, "strata": strata,
        "control": control, "score": name, "tolerance": tolerance, "level": level, "correction": correction, "seed": seed,
        "repeats": repeats, "threshold": threshold, "most_texts": most_texts,
    }  # fmt: skip
    return _result(made, asked, analysis, chosen, name, arguments)


def _result(
    made: Design, asked: Asked, analysis: Analysis, chosen: Subject, score: str, arguments: dict[str, Any]
) -> Result:
    lists = [part.grid.terms for part in made.parts]
    bases = [base for part in made.parts for base in part.grid.bases]
    return Result(
        audit="text",
        title=f"{chosen.id}: {score} by {', '.join(made.attributes)}",
        findings=tuple(analysis.findings),
        exhibits=analysis.exhibits,
        notes=tuple(analysis.notes),
        counts={
            "probes": len(asked.observations),
            "failed": asked.failed,
            "texts": len({text for part in made.parts for text in part.grid.texts}),
            "terms": sum(len(terms) for terms in lists),
        },
        provenance=provenance(
            audit_text,
            arguments,
            subject=chosen.id,
            data={"texts": digest_of(bases)},
            terms=[{"id": terms.id, "source": terms.source, "licence": terms.licence} for terms in lists],
        ),
        complete=asked.stopped is None,
    )


def _analyse(
    observations: Observations, made: Design, analysis: Analysis, asked: Question, threshold: float | None
) -> None:
    """The claims, measures and exhibits of every part of the design."""
    strata = asked.strata or ("sentiment" if "sentiment" in observations.units else None)
    if strata is not None and strata not in observations.units:
        raise UsageError(
            "unknown-strata",
            "the texts have no such column",
            given=strata,
            available=list(observations.units),
        )
    for part in made.parts:
        attributes = tuple(part.attributes.values())
        named = {k: v for k, v in asked.declared.reference.items() if k in attributes}
        words = {"term": part.word, "text": "text"}
        question = replaced(
            asked,
            attributes=attributes,
            samples=("text", "term") if part.sampled else ("text",),
            nested="term" if part.sampled else None,
            strata=strata,
            declared=replaced(asked.declared, reference=named, words=words),
        )
        check_question(observations, question)
        evidence = compare_groups(observations, question, analysis)
        if not part.sampled:
            analysis.note(
                "groups-are-terms",
                f"{', '.join(attributes)}: the groups are the words themselves, so nothing is sampled over terms; the claims"
                " are about these words and generalise over texts.",
            )
        add_measures(observations, question, analysis, threshold=threshold, part=part.name)
        if LABEL in observations.columns:
            add_labels(observations, question, analysis)
        add_exhibits(observations, question, evidence, analysis)


def _subject(given: str | Callable[..., Any] | Subject, rate: float | None, long_texts: How) -> Subject:
    if long_texts not in ("error", "split", "stop"):
        raise UsageError(
            "long-texts",
            "no such way with long texts",
            given=long_texts,
            available=["error", "split", "stop"],
        )
    chosen = subject(given)
    if rate is not None:
        chosen = (
            replaced(chosen, rate=rate)
            if isinstance(chosen, Service)
            else Limited(subject=chosen, calls=rate)
        )
    return chosen if long_texts == "error" else LongTexts(subject=chosen, how=long_texts)


def _budgeted(
    chosen: Subject, calls: int | None, money: float | None, price: float | None, per_100: float | None
) -> Subject:
    if calls is None and money is None:
        return chosen
    if money is not None and price is None and per_100 is None:
        raise UsageError("no-price", "a budget in money needs a price", expected="price= or price_per_100=")

    def cost(text: Any) -> float:
        return (price or 0.0) + (per_100 or 0.0) * max(1, -(-len(str(text)) // 100))

    return Budgeted(subject=chosen, calls=calls, money=money, price=cost)


def _score_name(asked: Asked, score: str | None) -> str:
    names = list(asked.observations.columns)
    if not names:
        common = asked.failures.most_common(1)
        raise SubjectError(
            "no-replies",
            "the subject answered nothing",
            given=common[0][0] if common else "no probes",
            hint="every row failed; nothing can be compared",
        )
    if score is None:
        return names[0]
    if score not in names:
        raise UsageError("unknown-score", "the subject gives no such score", given=score, available=names)
    return score


def _grouped(observations: Observations, made: Design) -> Observations:
    """Attributes move from the units to the groups."""
    attributes = made.attributes
    columns = dict(observations.columns)
    label = observations.units.get("label")
    if label is not None and set(label.levels) <= {"0", "1"}:
        values = np.array([float(level) for level in label.levels] + [np.nan])
        columns[LABEL] = values[label.codes]
    return Observations(
        columns=columns,
        groups={a: observations.units[a] for a in attributes},
        units={name: factor for name, factor in observations.units.items() if name not in attributes},
        weight=observations.weight,
    )


def _ranked(observations: Observations, score: str, analysis: Analysis) -> Observations:
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
        f"{score} is ordinal: its levels are ordered but not evenly spaced. Groups are compared by midranks, so a gap of"
        " 0.1 is 0.1 in the probability of scoring higher than a randomly drawn text.",
    )
    return replaced(observations, columns={**observations.columns, score: ranks})


def _classed(made: Design, given: str | Callable[..., Any] | Subject) -> Design:
    """Base texts classed by a subject: below −0.05 negative, above 0.05 positive (VADER's own cuts), else neutral."""
    judge = subject(given)
    parts = []
    for part in made.parts:
        replies = judge(list(part.grid.bases))
        values = next(iter(replies.scores.values()), np.full(len(part.grid.bases), np.nan))
        classes = ["negative" if v < -0.05 else "positive" if v > 0.05 else "neutral" for v in values]
        factors = {**part.grid.text_factors, "sentiment": Factor.of(classes)}
        parts.append(replaced(part, grid=replaced(part.grid, text_factors=factors)))
    return Design(parts=tuple(parts))


def _note_lengths(made: Design, analysis: Analysis) -> None:
    longest = max((len(base) for part in made.parts for base in part.grid.bases), default=0)
    if longest > LONG:
        analysis.note(
            "long-texts",
            f"The longest text has {longest:,} characters. Some services read only the beginning of a text (500 characters"
            " have been seen); check what yours does before believing a small gap.",
        )
    if made.noticed:
        analysis.note("texts-noticed", " ".join(made.noticed), warning=True)
    for reason, n in skipped(made).items():
        control = reason.startswith("no control")
        text = (
            f"{n} text{'s' * (n != 1)}: {reason}."
            if control
            else f"{n} text{'s' * (n != 1)} left out: {reason}."
        )
        analysis.note("texts-skipped", text, warning=not control)


def _note_collisions(
    made: Design, chosen: Subject, name: str, store: Journal | None, analysis: Analysis
) -> None:
    """Names that are ordinary words, or that the subject itself has an opinion on."""
    for part in made.parts:
        if part.word != "name":
            continue

        def single(words: Sequence[str]) -> list[float]:
            asking = chosen if store is None else Cached(subject=chosen, journal=store)
            try:
                found = asking(list(words)).scores.get(name)
            except EvenhandError:  # a spent budget, say: the audit stands without this check
                found = None
            return [float("nan")] * len(words) if found is None else found.tolist()

        found = collisions(part.grid.terms, single)
        words_ = [c.term for c in found if "ordinary word" in c.reason]
        scored = [c.term for c in found if "subject scores" in c.reason]
        if words_:
            analysis.note(
                "name-collisions", f"Names that are also ordinary words: {', '.join(words_)}.", warning=True
            )
        if scored:
            text = f"Names on which {chosen.id} itself has an opinion ({name} of the name alone is unusual): {', '.join(scored)}."
            analysis.note("name-collisions", text, warning=True)


def _note_asked(asked: Asked, observations: Observations, score: str, analysis: Analysis) -> None:
    if asked.failed:
        reasons = "; ".join(f"{reason} × {n}" for reason, n in asked.failures.most_common(5))
        analysis.note(
            "failed-rows",
            f"{asked.failed} of {len(observations)} probes have no score and are left out: {reasons}.",
            warning=True,
        )
    if asked.stopped:
        analysis.note("incomplete", f"The audit stopped early: {asked.stopped}.", warning=True)
    values = observations.columns[score]
    finite = values[np.isfinite(values)]
    if len(finite) > 1 and float(np.ptp(finite)) == 0.0:
        text = f"Every {score} is {finite[0]:g}: a subject that answers the same to everything shows nothing about groups."
        analysis.note("constant-subject", text, warning=True)
    flags = observations.units.get("flag")
    if flags is not None:
        counted = {flag: n for flag, n in flags.counts().items() if n}
        if counted:
            shown = sorted(counted.items(), key=lambda item: -item[1])
            columns: dict[str, list[Scalar]] = {"flag": [k for k, _ in shown], "rows": [v for _, v in shown]}
            analysis.exhibits["flags"] = Exhibit(
                title="Rewritten texts that a person should look at",
                columns=columns,
                note="The grammar could not be decided for certain. The rows are part of the audit.",
            )
            analysis.note(
                "flagged-rows",
                f"{sum(counted.values())} rewritten texts are flagged; see the table of flags.",
            )


def _named(terms: Any) -> Any:
    if isinstance(terms, Terms):
        return terms.id
    if isinstance(terms, str | os.PathLike):
        return str(terms)
    return [_named(item) for item in terms]
