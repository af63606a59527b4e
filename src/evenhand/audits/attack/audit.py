"""The attack: replace single words along a direction in embedding space until the verdict changes, or the budget ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import UsageError
from evenhand._judge import Correction, tolerance_of
from evenhand._model import Subject
from evenhand._provenance import digest_of, provenance
from evenhand._result import Result
from evenhand._run import Progress
from evenhand._store import Journal
from evenhand.audits.attack.asking import Asking, attacked_subject
from evenhand.audits.attack.axes import Axis, axes_of
from evenhand.audits.attack.confirmation import Confirmed, halves, plan_confirmation
from evenhand.audits.attack.exhibits import add_exhibits, traces
from evenhand.audits.attack.field import Field, Match, field_of
from evenhand.audits.attack.findings import Attacked, add_findings
from evenhand.audits.attack.search import Effort, plan_again, plan_searches
from evenhand.embeddings.dictionary import Rules
from evenhand.embeddings.fluency import Fluency, contexts_of, fluency
from evenhand.embeddings.vectors import Vectors, vectors
from evenhand.plans.alter import Tagger
from evenhand.plans.goal import Goal, Kind, goal_for
from evenhand.plans.search import MakesSearch, search
from evenhand.stats.interval import check_level
from evenhand.subjects.python import from_path
from evenhand.texts import Texts
from evenhand.texts import texts as texts_of


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

    A label that flips shows that the words matter, not that the direction does: any change of words flips some labels. So
    the same searches run along `placebos` random word-pair directions matched on cosine, norm and number of candidates.
    Judged are the mean flip rate and, where a direction and its opposite are given, the asymmetry between them: by their
    rank among the placebos, and by how much they exceed the placebos' average.

    Args:
        subject: a name of `evenhand list subjects`, or "module:attr". In Python also a callable; it gives a probability for
            each label, or one score.
        texts: a file (txt, csv, jsonl, parquet, toml) or a shipped name. In Python also a list of texts, or a dataframe.
        embeddings: a file of word vectors; see `evenhand embeddings`. In Python also whatever `eh.embeddings.vectors` reads.
        directions: each woman-man (towards woman, away from man), mean:definitional, pc:FILE. In Python also pairs.
        text_column: column with the texts, where they are a table.
        search: beam, greedy, exhaustive, genetic, genetic-practice or single.
        search_options: options of the search, e.g. width=10. In Python a mapping, ``{"width": 10}``.
        goal: untargeted (any other label), targeted (`target`), minimise or maximise (`score` by `amount`).
        target: label that a targeted search is after.
        score: one score, instead of label probabilities.
        labels: scores that are label probabilities, or the labels that a subject answers with; all by default.
        threshold: where the label of `score` changes.
        amount: by how much `score` must move.
        n: most candidates for a word.
        min_similarity: least cosine with the word.
        min_gain: least change along the direction, in spreads. Of the vocabulary's projections onto it.
        max_rank: a candidate is among so many nearest words.
        max_target: most words that one candidate may stand for. In Python None for no cap.
        inflections: also accept inflections of a word.
        strength: length of the step; by default of the sum and difference of unit vectors itself.
        match: equal budgets both ways: candidates, mutual or none. `candidates` gives both directions equally many at every
            place, `mutual` keeps w → c only where the opposite direction has c → w.
        definitional: apart (also test without words that say the attribute itself, he → she) or include.
        definitional_words: further words that say the attribute itself.
        fluency: ngram, none, a KenLM file, masked:NAME, causal:NAME, or "module:attr". See `evenhand.embeddings.fluency`.
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
        level: confidence level of the intervals.
        correction: adjustment of p-values for many claims: holm, bh or none.
        seed: seed of everything random.
        limit: only the first words of the file.
        fold_case: lower-case the words.
        journal: file with replies that arrived earlier; they are not asked again.
        repeats: identical calls on purpose, for subjects that answer differently each time.
        batch_size: inputs in one call of the subject.
        budget: most inputs to ask.
        rate: most inputs a second.
        executor: runs calls side by side.
        progress: called with (asked, failed).

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
    declared = {k: v for k, v in locals().items() if k not in _NOT_DECLARED}
    _check(max_queries, max_changed, placebos, holdout, definitional, fluency_ratio, repeats)
    check_level(level)
    rules = Rules(
        n=n, min_similarity=min_similarity, min_gain=min_gain, max_rank=max_rank, max_target=max_target,
        inflections=inflections,
    )  # fmt: skip
    given = texts_of(texts, column=text_column)
    space = vectors(embeddings, limit=limit, fold_case=fold_case)
    axes = axes_of(directions, space, strength)
    parts: Any = from_path(tagger).function if isinstance(tagger, str) else tagger
    effort = Effort(
        make=_search(search, search_options), max_queries=max_queries, max_changed=max_changed, seed=seed,
        block=200_000 if budget is None else max(200, budget // 10),
    )  # fmt: skip
    bounds = (float("-inf"), tolerance_of(tolerance)[1])
    chosen = attacked_subject(subject, labels, budget, rate)
    analysis, attacked, read_by = Analysis(), [], None
    for problem in space.problems:
        analysis.note("vectors-left-out", f"While reading {space.id}: {problem}.", warning=True)
    with ExitStack() as stack:
        store = stack.enter_context(Journal(journal)) if isinstance(journal, str | os.PathLike) else journal
        asking = Asking(
            subject=chosen, journal=store, repeats=repeats, batch_size=batch_size, executor=executor, progress=progress
        )  # fmt: skip
        columns = asking.columns(list(given.texts))
        if columns or asking.stopped is None:
            wanted = goal_for(
                columns,
                kind=goal,
                score=score,
                labels=labels,
                target=target,
                threshold=threshold,
                amount=amount,
            )
            contexts = contexts_of(given.texts)
            reads = _fluency(fluency, contexts.tokens, corpus, space, fluency_order, fluency_pmi)
            read_by = None if reads is None else reads.id
            unstable = asking.unstable(list(given.texts), wanted, analysis)
            for axis in axes:
                laid = field_of(
                    axis, contexts, space, rules, reads, placebos=placebos, seed=seed, match=match,
                    ratio=fluency_ratio, tagger=parts, extra=definitional_words,
                )  # fmt: skip
                apart = definitional == "apart"
                attacked.append(
                    _attack_axis(laid, wanted, effort, asking, apart=apart, holdout=holdout, again=unstable)
                )
            _note_texts(given, wanted, attacked, analysis)
            add_findings(attacked, analysis, tolerance=bounds, level=level, correction=correction)
            add_exhibits(attacked, analysis, traces(attacked, wanted, asking.trace), fluency=read_by)
        _note_asked(asking, analysis)
    return _result(given, space, axes, chosen, asking, analysis, declared, read_by)


_NOT_DECLARED = frozenset({"subject", "texts", "embeddings", "journal", "executor", "progress", "corpus"})


def _result(
    given: Texts, space: Vectors, axes: Sequence[Axis], chosen: Subject, asking: Asking, analysis: Analysis,
    declared: Mapping[str, Any], read_by: str | None,
) -> Result:  # fmt: skip
    arguments = {**declared, "directions": [side.name for axis in axes for side in axis.sides]}
    return Result(
        audit="attack",
        title=f"{chosen.id} attacked along {' and '.join(axis.name for axis in axes)}",
        findings=tuple(analysis.findings),
        exhibits=analysis.exhibits,
        notes=tuple(analysis.notes),
        counts={"texts": len(given), "asked": asking.asked, "failed": asking.failed},
        provenance=provenance(
            attack, arguments, subject=chosen.id, seeds={"attack": declared["seed"]},
            data={"texts": digest_of(list(given.texts)), "embeddings": space.id}, fluency=read_by,
        ),
        complete=asking.stopped is None,
    )  # fmt: skip


def _attack_axis(
    laid: Field, goal: Goal, effort: Effort, asking: Asking, *, apart: bool, holdout: float, again: bool
) -> Attacked:
    """Search, ask flips again where the subject is unstable, confirm on the unseen half."""
    texts = np.flatnonzero(goal.attackable).tolist()
    plan, whole, without = plan_searches(laid, goal, effort, texts, apart=apart)
    asking.run(plan)
    lost = 0

    def fails(count: int) -> None:
        nonlocal lost
        lost += count

    if again and asking.stopped is None:
        asking.run(plan_again(laid, goal, [r for r in (whole, without) if r is not None], fails), fresh=True)
    searched = np.flatnonzero(whole.done & goal.attackable).tolist()
    seen, unseen = halves(searched, len(goal.base), holdout, effort.seed)
    confirmed: list[Confirmed] = []
    if holdout:
        strata = [records for records in (whole, without) if records is not None]
        plan, confirmed = plan_confirmation(laid, goal, strata, seen, unseen, max_changed=effort.max_changed)
        if asking.stopped is None:
            asking.run(plan)
    return Attacked(
        field=laid, whole=whole, without=without, texts=whole.done & goal.attackable,
        confirmed=confirmed[0] if confirmed else None,
        confirmed_without=confirmed[1] if len(confirmed) > 1 else None,
        labels=goal.label,
        not_repeated=lost,
    )  # fmt: skip


def _check(
    max_queries: int,
    max_changed: float,
    placebos: int,
    holdout: float,
    definitional: str,
    ratio: float,
    repeats: int,
) -> None:
    if max_queries < 1:
        raise UsageError(
            "bad-budget", "a search needs at least one query for a text", given=max_queries,
            hint="max_queries= (--max-queries) is per text and direction; budget= limits the whole audit",
        )  # fmt: skip
    for name, value, top in (("max_changed", max_changed, 1.0), ("holdout", holdout, 0.9)):
        if not 0.0 <= value <= top:
            raise UsageError("bad-share", f"{name} is a share from 0 to {top:g}", given=value)
    if placebos < 0 or repeats < 1:
        raise UsageError(
            "bad-count", "placebos is at least 0 and repeats at least 1", given=(placebos, repeats)
        )
    if not ratio > 0:
        raise UsageError("bad-ratio", "the fluency ratio is above 0", given=ratio, expected="e.g. 0.25")
    if definitional not in ("apart", "include"):
        raise UsageError(
            "unknown-definitional", "no such treatment of definitional words", given=definitional,
            available=["apart", "include"],
        )  # fmt: skip


def _search(name: str, options: Mapping[str, Any] | None) -> MakesSearch:
    return search(name, **dict(options or {}))


def _fluency(
    spec: Any, tokens: Sequence[Sequence[str]], corpus: Any, space: Vectors, order: int, pmi: bool
) -> Fluency | None:
    further = () if corpus is None else texts_of(corpus).texts
    if (
        isinstance(spec, str)
        and ":" in spec
        and not spec.startswith(("masked:", "causal:"))
        and not Path(spec).exists()
    ):
        spec = from_path(spec).function
    return fluency(spec, texts=tokens, corpus=further, vectors=space, order=order, pmi=pmi)


def _note_texts(given: Texts, goal: Goal, attacked: Sequence[Attacked], analysis: Analysis) -> None:
    for flag in given.flags:
        analysis.note("texts-flagged", flag)
    for slug, text in goal.notes:
        analysis.note(slug, text, warning=True)
    unscored = int(np.sum(~np.isfinite(goal.base).all(axis=1)))
    if unscored:
        analysis.note(
            "failed-rows",
            f"{unscored} of {len(given)} texts have no score and are not attacked.",
            warning=True,
        )
    reached = int(np.sum(np.isfinite(goal.base).all(axis=1) & ~goal.attackable))
    if reached:
        analysis.note(
            "target-reached", f"{reached} texts have the target label as they are and are not attacked."
        )
    for one in attacked:
        name = one.field.axis.name
        bare = int(np.sum(one.texts & ~one.whole.open[0].any(axis=0)))
        if bare:
            analysis.note(
                "not-alterable",
                f"{name}: {bare} of {int(one.texts.sum())} texts have no word with a fluent alteration; they are counted, and"
                " rates are given over alterable texts and over all.",
            )
        if one.field.placebos.skipped:
            analysis.note(
                "few-placebos",
                f"{name}: only {len(one.field.placebos.directions)} placebo directions could be matched in this vocabulary; the"
                f" smallest possible p is {1 / (len(one.field.placebos.directions) + 1):.3g}.",
                warning=True,
            )
        if one.not_repeated:
            analysis.note(
                "flips-not-repeated",
                f"{name}: {one.not_repeated} flips (placebos included) did not come back when asked again and do not count.",
                warning=True,
            )


def _note_asked(asking: Asking, analysis: Analysis) -> None:
    if asking.failed:
        reasons = "; ".join(f"{r} × {n}" for r, n in sorted(asking.reasons.items(), key=lambda x: -x[1])[:5])
        analysis.note(
            "failed-rows", f"{asking.failed} of {asking.asked} inputs have no score: {reasons}.", warning=True
        )
    if asking.stopped is not None:
        analysis.note(
            "incomplete",
            f"The audit stopped early: {asking.stopped}. Findings are over the texts whose searches had all ended.",
            warning=True,
        )
