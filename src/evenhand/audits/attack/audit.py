"""The attack: replace single words along a direction in embedding space until the verdict changes, or the
budget ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from functools import partial
from typing import Any

from evenhand._analysis import Analysis
from evenhand._errors import UsageError
from evenhand._judge import Correction, tolerance_of
from evenhand._model import Subject
from evenhand._provenance import tells_its_call
from evenhand._result import Result
from evenhand._run import Progress
from evenhand._store import Journal
from evenhand.audits.attack.asking import Asking, attacked_subject
from evenhand.audits.attack.axes import axes_of
from evenhand.audits.attack.course import Course, closed, pursue
from evenhand.audits.attack.field import Laying, Match, reader_of
from evenhand.audits.attack.search import Effort
from evenhand.embeddings.dictionary import Rules
from evenhand.embeddings.vectors import vectors
from evenhand.plans.alter import Tagger
from evenhand.plans.goal import Kind, goal_for
from evenhand.plans.search import search as make_search
from evenhand.stats.interval import check_level
from evenhand.subjects.python import from_path
from evenhand.texts import texts as texts_of


@tells_its_call("subject", "texts", "embeddings", "corpus", "journal", "executor", "progress")
def attack(
    subject: str | Callable[..., Any] | Subject,
    texts: Any,
    *,
    embeddings: Any,
    directions: Sequence[Any] = ("woman-man", "man-woman"),
    text_column: str | None = None,
    search: str = "beam",
    search_options: Mapping[str, Any] | None = None,
    goal: Kind = "untargeted",
    target: str | None = None,
    score: str | None = None,
    labels: Sequence[str] | None = None,
    threshold: float | None = None,
    amount: float | None = None,
    n: int = 8,
    min_similarity: float = 0.5,
    min_gain: float = 0.5,
    max_rank: int = 50,
    max_target: int | None = 40,
    inflections: bool = False,
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
    level: float = 0.95,
    correction: Correction = "holm",
    seed: int = 0,
    limit: int | None = None,
    fold_case: bool = False,
    journal: str | os.PathLike[str] | Journal | None = None,
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
        subject: a name of `evenhand list subjects`, "module:attr", or a callable; it gives a probability for
            each label, or one score.
        texts: a list of texts, a file, a dataframe, or a shipped name. text_column: where `texts` is a table.
        embeddings: a file of word vectors, or whatever `evenhand.embeddings.vectors` reads.
        directions: each ``"woman-man"`` (towards woman, away from man), a pair, a list of pairs,
            ``"mean:definitional"`` …
        search: beam, greedy, exhaustive, genetic, genetic-practice, single. search_options: of it, e.g.
            ``{"width": 5}``.
        goal: `untargeted` (any other label), `targeted` (`target`), `minimise` or `maximise` (`score` by
            `amount`). target: the label of a targeted goal. amount: by which a minimised or maximised score
            must move.
        labels: the scores that are label probabilities, or the labels that a subject answers with. score,
            threshold: one score and where its label changes.
        n, min_similarity, min_gain, max_rank, max_target, inflections: see `evenhand.embeddings.Rules`.
        strength: length of the step; by default of the sum and difference of unit vectors itself.
        match: `candidates` gives both directions equally many candidates at every place, `mutual` keeps w → c
            only where the opposite direction has c → w, `none` neither.
        definitional: `apart` also tests without words that say the attribute itself (he → she); `include`
            does not. definitional_words: further such words.
        fluency: "ngram", "none", a KenLM file, "masked:NAME", "causal:NAME", or a function; see
            `evenhand.embeddings.fluency`. fluency_ratio: least p(altered)/p(original). fluency_order: words
            of an n-gram. fluency_pmi: set the words' own frequencies aside.
        corpus: further texts (a list, or a file) that the n-gram model is trained on.
        tagger: from words to parts of speech (a function, or "module:attr"); candidates must keep theirs.
        max_changed: most of a text's words that may change, as a share. max_queries: for one text in one
            direction.
        placebos: random directions. holdout: share of texts on which the alterations that carried flips are
            confirmed.
        tolerance: excess over the placebos (a difference of rates) that counts as even-handed, declared
            beforehand.
        level: of the intervals. correction: "holm", "bh" or "none", over the claims that are judged.
        limit, fold_case: of the embeddings. seed: of placebos, halves and random searches.
        journal, repeats, batch_size, budget, rate, executor, progress: as in `audit_text`.

    Raises:
        UsageError, DataError: bad input. SubjectError: the subject cannot be used at all.

    >>> v = {
    ...     "man": [1, 0, 0.2],
    ...     "woman": [-1, 0, 0.2],
    ...     "nice": [0.2, 1, 0],
    ...     "kind": [0.3, 1, 0.1],
    ...     "lovely": [-0.3, 1, 0],
    ... }
    >>> def model(texts):
    ...     return [{"good": 0.9 - 0.6 * ("lovely" in t), "bad": 0.1 + 0.6 * ("lovely" in t)} for t in texts]
    >>> r = attack(model, ["a nice day"], embeddings=v, fluency="none", placebos=0, match="none")
    >>> [(f.estimate.group, f.estimate.value) for f in r.findings if f.estimate.given == "all texts"]
    [('woman-man', 1.0), ('man-woman', 0.0)]
    """
    if placebos < 0 or repeats < 1:
        given = (placebos, repeats)
        raise UsageError("bad-count", "placebos is at least 0 and repeats at least 1", given=given)
    check_level(level)
    bounds = (float("-inf"), tolerance_of(tolerance)[1])
    effort = Effort(
        make=make_search(search, **dict(search_options or {})),
        max_queries=max_queries,
        max_changed=max_changed,
        holdout=holdout,
        definitional=definitional,
        seed=seed,
        block=200_000 if budget is None else max(200, budget // 10),
    )
    parts: Any = from_path(tagger).function if isinstance(tagger, str) else tagger
    laying = Laying(
        rules=Rules(
            n=n,
            min_similarity=min_similarity,
            min_gain=min_gain,
            max_rank=max_rank,
            max_target=max_target,
            inflections=inflections,
        ),
        placebos=placebos,
        match=match,
        ratio=fluency_ratio,
        tagger=parts,
        extra=tuple(definitional_words),
        seed=seed,
    )
    space = vectors(embeddings, limit=limit, fold_case=fold_case)
    course = Course(
        given=texts_of(texts, column=text_column),
        space=space,
        axes=axes_of(directions, space, strength),
        wants=partial(
            goal_for, kind=goal, score=score, labels=labels, target=target, threshold=threshold, amount=amount
        ),
        reads=partial(reader_of, fluency, corpus=corpus, order=fluency_order, pmi=fluency_pmi),
    )
    chosen = attacked_subject(subject, labels, budget, rate)
    analysis = Analysis()
    with ExitStack() as stack:
        kept = stack.enter_context(Journal(journal)) if isinstance(journal, str | os.PathLike) else journal
        asking = Asking(chosen, kept, repeats, batch_size, executor, progress)
        read_by = pursue(course, laying, effort, asking, analysis, bounds, level, correction)
    return closed(attack, course, chosen, asking, analysis, seed=seed, fluency=read_by)
