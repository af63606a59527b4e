"""The text audit: the same texts with other names, pronouns or identity terms, asked live."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._judge import Correction
from evenhand._model import Subject, traits_of
from evenhand._provenance import digest_of, provenance, tells_its_call
from evenhand._result import Result
from evenhand._run import Progress, ask, finish
from evenhand._store import Journal, opened
from evenhand.audits.scores.measures import checked_classes
from evenhand.audits.scores.scale import asking_first
from evenhand.audits.scores.sides import Question
from evenhand.audits.text.asking import classed, limited, steps_of, where_asked
from evenhand.audits.text.claims import compare_scores, first_of, grouped, ranked, scores_of
from evenhand.audits.text.designs import TermsGiven, design_of
from evenhand.audits.text.exhibits import add_examples
from evenhand.audits.text.notes import note_collisions, note_run, note_texts
from evenhand.audits.text.parts import Flagged
from evenhand.plans.pairs import Mode
from evenhand.stats.interval import Alternative
from evenhand.subjects.long_texts import How
from evenhand.terms import Terms


@tells_its_call(
    "subject",
    "texts",
    "journal",
    "batch_size",
    "budget",
    "max_cost",
    "price",
    "price_per_100",
    "rate",
    "rescore",
    "executor",
    "progress",
)
def audit_text(
    subject: str | Callable[..., object] | Subject,
    texts: Any,
    *,
    terms: str | os.PathLike[str] | Terms | Sequence[str | os.PathLike[str] | Terms],
    groups: str | Sequence[str] | None = None,
    reference: str | Mapping[str, str] | None = None,
    surer_than: float | None = None,
    replace: str | None = None,
    person_column: str | None = None,
    mode: Mode = "swap",
    flagged: Flagged = "keep",
    reviewed: str | os.PathLike[str] | None = None,
    text_column: str | None = None,
    language: str = "en",
    most_texts: int | None = None,
    strata: str | None = None,
    strata_subject: str | Callable[..., object] | Subject | None = None,
    units: str | Sequence[str] = (),
    control: bool = True,
    score: str | Sequence[str] | None = None,
    tolerance: float | tuple[float, float] | None = None,
    alternative: Alternative = "two-sided",
    primary: str | Sequence[str] = (),
    threshold: float | None = None,
    classes: Sequence[str] = (),
    level: float = 0.95,
    correction: Correction = "single-step",
    seed: int = 0,
    subject_version: str | None = None,
    journal: str | os.PathLike[str] | Journal | None = None,
    rescore: bool = False,
    repeats: int = 1,
    batch_size: int = 1_000,
    budget: int | None = None,
    max_cost: float | None = None,
    price: float | None = None,
    price_per_100: float | None = None,
    rate: float | None = None,
    long_texts: How = "error",
    engine: str | None = None,
    gpu: float | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Result:
    """Rewrite every text for every term, ask the subject, compare the groups.

    Args:
        subject: a name of `evenhand list subjects`, or "module:attr". In Python also any callable that scores
            a list of texts.
        texts: a file (txt, csv, jsonl, parquet, toml) or a shipped name. In Python also a list of texts, a
            dataframe, or templates with slots (`eh.templates`).
        terms: names, pronouns, gendered pairs or identity terms: a name of `evenhand list terms`, or a file.
            One list or several.
        groups: which attributes of the terms to compare; all by default. Each is a family of claims.
            ``race*gender`` also compares their intersections: each pair that differs in one of the two.
        reference: the group that the others are held against; all pairs by default.
        surer_than: take only names whose chance to be of their group is larger, of lists that say it.
        replace: the name in the texts that gives way to those of `terms`. Pronouns follow.
        person_column: column with the name of the person in each text, where it is not the same in all. The
            first name gives way, the surname stays.
        mode: what becomes of men and women in one text where `terms` are gendered pairs: swap (both at once),
            person (only the person's words) or collapse (all become one gender).
        flagged: what becomes of texts of which some version is flagged: keep, drop or only. The page has the
            estimates with and without them.
        reviewed: a review sheet that a person has filled in. What they kept or wrote anew is flagged no more;
            a text of which they dropped a version is left out.
        text_column: column with the texts, where they are a table.
        language: of the texts: en, or es (Spanish), where nouns, adjectives and articles follow the gender of
            the name.
        most_texts: an even random sample of so many texts, of those that can be used.
        strata: column that classes the texts, e.g. by sentiment. Used where present.
        strata_subject: a subject whose scores of the base texts class them negative, neutral, positive
            instead.
        units: what the texts were sampled from, where every text is not a unit of its own: a column, or
            "family/text" where families hold paraphrases. Estimates generalise over it, and over names.
        control: also ask each text without its term.
        score: the score to compare; the subject's first by default. Of several the first makes the exhibits
            and examples, and the claims of all share one family.
        tolerance: largest difference of means that counts as even-handed, declared beforehand. By default
            0.1 for scores in [−1, 1]; scores on another scale need one.
        alternative: which direction of mean gaps is looked for, declared beforehand: two-sided, or whether
            others are greater, or less, than their reference. Other measures stay two-sided.
        primary: names of the claims that make the headline; by default a rule of the audit chooses them.
            Here the name of the score.
        threshold: score from which a reply counts as positive, for measures of label changes.
        classes: scores that are the chances of all classes, for measures of label changes. A reply's label is
            the most likely class.
        level: confidence level of the intervals.
        correction: adjustment of p-values: single-step, holm, bh or none. Verdicts follow the intervals.
        seed: seed of everything random.
        subject_version: version of the model, where its id does not say it. Replies of your own code are used
            again by a later run only with one.
        journal: file with replies that arrived earlier; they are not asked again.
        rescore: ask nothing: read the answers in the journal again. With another parser, label or judge.
        repeats: identical calls on purpose, for subjects that answer differently each time.
        batch_size: inputs in one call of the subject.
        budget: most inputs to ask. Of all runs on one journal together; stops cleanly before it would be
            passed, as does `max_cost`.
        max_cost: most money to spend, at the prices given.
        price: money for one call.
        price_per_100: money for each 100 characters begun.
        rate: most inputs a second.
        long_texts: what becomes of texts over the service's limit: error, split (at sentences) or stop.
        engine: where the subject is asked: local, ray or ray://host:port. Workers make it themselves, so it
            must have a name, and keep what arrives in the one journal. The result is that of one process.
        gpu: GPUs for each worker of a cluster, or a share of one, e.g. 0.5.
        executor: runs calls side by side.
        progress: called with (asked, failed).

    Raises:
        UsageError, DataError, TermsError: bad input. SubjectError: the subject cannot be used at all.
            EngineError: workers were lost again and again.

    >>> from evenhand.testing import Planted
    >>> model = Planted(
    ...     gap=0.3, words=["John", "Paul", "Mike", "Kevin", "Steve", "Greg", "Jeff", "Bill"], noise_sd=0.01
    ... )
    >>> texts = [f"Arthur lost his {thing}." for thing in ("keys", "dog", "way", "hat", "map")]
    >>> audit_text(model, texts, terms="names/weat-gender", replace="Arthur").findings[0].verdict
    'disparity'
    """
    call = locals()
    made, chosen = design_of(call), limited(subject, call)
    if strata_subject is not None:
        made, strata = classed(made, strata_subject, journal, asks=not rescore), "sentiment"
    declared = Declared.of(call, made.attributes)
    traits = traits_of(chosen)
    analysis = Analysis()
    note_texts(made, traits, analysis)
    with opened(journal) as store, where_asked(chosen, store, call) as paying:
        step, batch_size = steps_of(made, paying, batch_size)
        asked = ask(
            asking_first(made.plan(step), tolerance is not None, traits, first_of(score), store is not None),
            paying,
            executor=executor,
            journal=store,
            repeats=repeats,
            batch_size=batch_size,
            progress=progress,
            asks=not rescore,
        )
        name, *others = names = scores_of(asked, score, classes)
        note_collisions(made, paying, name, store, analysis, asks=not rescore)
        finish(store, asked)
    observations, samples = grouped(asked.observations, made, units, analysis)
    observations = ranked(observations, names, analysis) if traits.ordinal else observations
    question = Question(
        score=name,
        attributes=(),
        samples=samples,
        strata=strata,
        counts_missing=asked.stopped is None,
        threshold=threshold,
        classes=checked_classes(classes),
        declared=declared,
    )
    evidence = compare_scores(observations, made, question, names, tolerance, analysis)
    note_run(asked, observations, name, analysis)
    add_examples(observations, made, evidence, name, analysis)
    return analysis.result(
        correction=correction,
        audit="text",
        title=f"{chosen.id}: {', '.join(names)} by {', '.join(made.attributes)}",
        counts={"probes": len(observations), "failed": asked.failed, **made.counts},
        provenance=provenance(
            audit_text,
            {"terms": _named(terms), "score": list(names) if others else name, "strata": strata},
            subject=chosen.id,
            data={"texts": digest_of(made.bases)},
            replies=asked.reused.record(),
            terms=[{"id": each.id, "source": each.source, "licence": each.licence} for each in made.lists],
        ),
        complete=asked.stopped is None,
    )


def _named(terms: TermsGiven) -> Any:
    """Lists of terms by their names."""
    if isinstance(terms, Terms):
        return terms.id
    return str(terms) if isinstance(terms, str | os.PathLike) else [_named(each) for each in terms]
