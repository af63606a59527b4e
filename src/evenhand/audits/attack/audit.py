"""The attack: replace single words along a direction in embedding space until the verdict changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any

import numpy as np

from evenhand._declared import Declared, named_primary
from evenhand._errors import UsageError
from evenhand._judge import Correction, tolerance_of
from evenhand._model import IntArray, Subject
from evenhand._provenance import tells_its_call
from evenhand._result import Result
from evenhand._run import Progress
from evenhand._store import Journal, opened
from evenhand.audits.attack.asking import Asking, attacked_subject
from evenhand.audits.attack.axes import axes_of
from evenhand.audits.attack.course import Course, pursue
from evenhand.audits.attack.field import Laying, Match, proposals_from, reader_of, tagger_of
from evenhand.audits.attack.findings import CLAIMS, EXCESS
from evenhand.audits.attack.readable import reading_of
from evenhand.audits.attack.search import Effort
from evenhand.embeddings.dictionary import Rules
from evenhand.embeddings.vectors import vectors
from evenhand.plans.alter import Tagger
from evenhand.plans.goal import Kind, goal_for
from evenhand.plans.search import search as make_search
from evenhand.stats.interval import check_level
from evenhand.subjects import versioned
from evenhand.texts import Texts, distinct_texts
from evenhand.texts import texts as texts_of


@tells_its_call("subject", "texts", "embeddings", "corpus", "journal", "executor", "progress")
def attack(
    subject: str | Callable[..., Any] | Subject,
    texts: Any,
    *,
    embeddings: Any,
    directions: Sequence[Any] = ("woman-man", "man-woman"),
    text_column: str | None = None,
    units: str | None = None,
    search: str = "beam",
    search_options: Mapping[str, Any] | None = None,
    goal: Kind = "untargeted",
    target: str | None = None,
    score: str | None = None,
    labels: Sequence[str] | None = None,
    threshold: float | None = None,
    amount: float | None = None,
    candidates: Any = "embeddings",
    proposals: int = 50,
    n: int = 8,
    min_similarity: float = 0.5,
    min_gain: float = 0.1,
    max_rank: int = 50,
    max_target: int | None = 40,
    min_sentence_similarity: float = -1.0,
    inflections: bool = False,
    dictionary: str = "rules",
    any_form: bool = False,
    antonyms: bool = False,
    label_words: str = "include",
    strength: float | None = None,
    match: Match = "candidates",
    definitional: str = "apart",
    definitional_words: Sequence[str] = (),
    fluency: Any = "ngram",
    fluency_ratio: float = 0.25,
    fluency_order: int = 3,
    fluency_pmi: bool = False,
    corpus: Any = None,
    tagger: str | Tagger | None = None,
    max_changed: float = 0.25,
    max_queries: int = 500,
    placebos: int = 99,
    holdout: float = 0.5,
    tolerance: float = 0.05,
    primary: str | Sequence[str] = (),
    level: float = 0.95,
    correction: Correction = "single-step",
    seed: int = 0,
    limit: int | None = None,
    fold_case: bool = False,
    subject_version: str | None = None,
    journal: str | os.PathLike[str] | Journal | None = None,
    rescore: bool = False,
    repeats: int = 1,
    batch_size: int = 1_000,
    budget: int | None = None,
    rate: float | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Result:
    """Attack every text along every direction, and hold what was found against random directions.

    A label that flips shows that the words matter, not that the direction does: any change of words flips
    some labels. So the same searches run along `placebos` random word-pair directions matched on cosine, norm
    and number of candidates. Judged are the mean flip rate and, where a direction and its opposite are given,
    the asymmetry between them: by their rank among the placebos, and by how much they exceed the placebos'
    average.

    Args:
        subject: a name of `evenhand list subjects`, or "module:attr". In Python also a callable; it gives a
            probability for each label, or one score.
        texts: a file (txt, csv, jsonl, parquet, toml) or a shipped name. In Python also a list or a frame.
        embeddings: a file of word vectors; see `evenhand embeddings`. In Python also whatever
            `eh.embeddings.vectors` reads.
        directions: each woman-man (towards woman, away from man), mean:definitional, pc:FILE. Or pairs.
        text_column: column with the texts, where they are a table.
        units: column that says whom a text is of, e.g. its author. Texts of one are one piece of evidence,
            and are kept for confirmation together.
        search: beam, greedy, exhaustive, genetic, genetic-practice or single.
        search_options: options of the search, e.g. width=10. In Python a mapping, ``{"width": 10}``.
        goal: untargeted (any other label), targeted (`target`), minimise or maximise (`score` by `amount`).
        target: label that a targeted search is after.
        score: one score, instead of label probabilities.
        labels: scores that are label probabilities, or the labels that a subject answers with; all by
            default.
        threshold: where the label of `score` changes.
        amount: by how much `score` must move.
        candidates: embeddings (a word's nearest words), masked:NAME (those of them that a masked language
            model expects at the place), or module:attr. See `evenhand.embeddings.proposals`; needs the extra
            `huggingface`.
        proposals: words that a model proposes for a place. Of those with a vector.
        n: most candidates for a word.
        min_similarity: least cosine with the word.
        min_gain: least change along the direction, in spreads. Of the vocabulary's projections onto it.
        max_rank: a candidate is among so many nearest words. And the word among the candidate's.
        max_target: most words that one candidate may stand for. In Python None for no cap.
        min_sentence_similarity: least cosine of a sentence before and after. Of the means of its words'
            vectors, function words left out; each change by itself; −1 for no bound.
        inflections: also accept inflections of a word.
        dictionary: rules or seed (the words plainly nearest to word + direction). The latter is what the
            practice does, for comparison: no rule of similarity, gain, form or opposites, for the direction
            and its placebos alike.
        any_form: also accept words of another part of speech or form, and change names. Without it, "he is
            lied" is no alteration, and "her" becomes him or his as the rewriting decides; this needs the
            extra `captions`.
        antonyms: also accept words that say something else, such as wrong → right. That is opposites, words
            that feel much better or worse, others of a family (son → father) or series (three → four).
        label_words: include or leave (alter no word that flips the label when it stands alone). For this the
            subject is asked every word in question; a lexicon of single words then hardly flips at all.
        strength: length of the step; by default of the sum and difference of unit vectors itself.
        match: equal budgets both ways: candidates, mutual or none. `candidates` gives both directions equally
            many at every place, `mutual` keeps w → c only where the opposite direction has c → w.
        definitional: apart (also test without words that say the attribute itself, he → she) or include.
        definitional_words: further words that say the attribute itself.
        fluency: ngram, none, a KenLM file, masked:NAME, causal:NAME, or "module:attr". See
            `evenhand.embeddings.fluency`.
        fluency_ratio: least p(altered)/p(original).
        fluency_order: words in a row that the n-gram model sees.
        fluency_pmi: set the words' own frequencies aside (pointwise mutual information).
        corpus: further texts for the n-gram model.
        tagger: "module:attr" from words to parts of speech; candidates must keep theirs.
        max_changed: share of a text's words that may change.
        max_queries: most queries for one text in one direction.
        placebos: random directions.
        holdout: share of texts on which flips are confirmed.
        tolerance: excess of the flip rate over placebos that counts as even-handed, declared beforehand.
        primary: names of the claims that make the headline; by default a rule of the audit chooses them.
            Here of: asymmetry of flip rates, asymmetry within labels, mean flip rate.
        level: confidence level of the intervals.
        correction: adjustment of p-values: single-step, holm, bh or none. Verdicts follow the intervals.
        seed: seed of everything random.
        limit: only the first words of the file.
        fold_case: lower-case the words.
        subject_version: version of the model, where its id does not say it. Replies of your own code are used
            again by a later run only with one.
        journal: file with replies that arrived earlier; they are not asked again.
        rescore: ask nothing: read the answers in the journal again. As far as they lead to texts that were
            asked.
        repeats: identical calls on purpose, for subjects that answer differently each time.
        batch_size: inputs in one call of the subject.
        budget: most inputs to ask. Of all runs on one journal together.
        rate: most inputs a second.
        executor: runs calls side by side.
        progress: called with (asked, failed).

    Raises:
        UsageError, DataError: bad input. SubjectError: the subject cannot be used at all.

    >>> v = {"man": [1, 0, 0.2], "woman": [-1, 0, 0.2]}
    >>> v |= {"nice": [0.2, 1, 0], "kind": [0.3, 1, 0.1], "lovely": [-0.3, 1, 0]}
    >>> def model(texts):
    ...     return [{"good": 0.9 - 0.6 * ("lovely" in t), "bad": 0.1 + 0.6 * ("lovely" in t)} for t in texts]
    >>> r = attack(model, ["a nice day"], embeddings=v, fluency="none", placebos=0, match="none")
    >>> [(f.estimate.group, f.estimate.value) for f in r.findings if f.estimate.given == "all texts"]
    [('woman-man', 1.0), ('man-woman', 0.0)]
    """
    if placebos < 0 or repeats < 1:
        given = (placebos, repeats)
        raise UsageError("bad-count", "placebos is at least 0 and repeats at least 1", given=given)
    declared = _declared(tolerance, primary, level, correction, seed)
    rules = Rules(
        n=n,
        min_similarity=min_similarity,
        min_gain=min_gain,
        max_rank=max_rank,
        max_target=max_target,
        inflections=inflections,
    )
    wants = partial(
        goal_for, kind=goal, score=score, labels=labels, target=target, threshold=threshold, amount=amount
    )
    sentences = distinct_texts(texts_of(texts, column=text_column))
    effort = Effort(
        make=make_search(search, **dict(search_options or {})),
        max_queries=max_queries,
        max_changed=max_changed,
        holdout=holdout,
        definitional=definitional,
        seed=seed,
        block=200_000 if budget is None else max(200, budget // 10),
        units=_units_of(sentences, units),
    )
    laying = Laying(
        rules=rules,
        placebos=placebos,
        match=match,
        ratio=fluency_ratio,
        tagger=tagger_of(tagger),
        extra=tuple(definitional_words),
        seed=seed,
        reading=reading_of(dictionary, any_form=any_form, antonyms=antonyms, label_words=label_words),
        dictionary=dictionary,
        sentence=min_sentence_similarity,
        proposals=proposals_from(candidates, proposals),
    )
    space = vectors(embeddings, limit=limit, fold_case=fold_case)
    course = Course(
        given=sentences,
        space=space,
        axes=axes_of(directions, space, strength),
        wants=wants,
        reads=partial(reader_of, fluency, corpus=corpus, order=fluency_order, pmi=fluency_pmi),
        laying=laying,
        effort=effort,
    )
    chosen = attacked_subject(versioned(subject, subject_version), labels, budget, rate)
    with opened(journal) as kept:
        asking = Asking(chosen, kept, repeats, batch_size, executor, progress, asks=not rescore)
        return pursue(attack, course, asking, declared)


def _declared(
    tolerance: float, primary: str | Sequence[str], level: float, correction: Correction, seed: int
) -> Declared:
    declared = Declared(
        tolerance={EXCESS: (float("-inf"), tolerance_of(tolerance)[1])},
        primary=named_primary(primary),
        level=check_level(level),
        correction=correction,
        seed=seed,
    )
    declared.check_primary(CLAIMS)
    return declared


def _units_of(given: Texts, column: str | None) -> IntArray | None:
    """Codes of whom each text is of; a text of nobody known is its own."""
    if column is None:
        return None
    if column not in given.factors:
        raise UsageError(
            "unknown-unit", "the texts have no such column", given=column, available=list(given.factors)
        )
    codes = given.factors[column].codes.astype(np.int64)
    return np.where(codes < 0, len(codes) + np.arange(len(codes)), codes)
