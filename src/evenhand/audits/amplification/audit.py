"""The amplification audit: do outputs tie people to things more tightly than the training data did?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import UsageError
from evenhand._judge import Correction, tolerance_of
from evenhand._model import FloatArray
from evenhand._provenance import provenance
from evenhand._result import Result
from evenhand.audits.amplification import exhibits as show
from evenhand.audits.amplification.association import association
from evenhand.audits.amplification.corpus import Corpus, Grouping, Items, Pool, Rule
from evenhand.audits.amplification.findings import (
    MIN_IMAGES,
    Judging,
    Resampled,
    findings,
    item_findings,
    resample,
    resample_counts,
)
from evenhand.audits.amplification.items import Tagger
from evenhand.audits.amplification.leakage import Attack, add_leakage
from evenhand.audits.amplification.panel import Panel, by_group, corpus_blocks, exchangeable, gather, panel
from evenhand.audits.amplification.prepare import (
    Prepared,
    Reading,
    image_level,
    item_sets,
    open_sources,
    prepare,
    truth_of,
)
from evenhand.audits.amplification.sources import Source, count_table
from evenhand.stats.interval import check_level


def audit_amplification(
    train: Any,
    outputs: Any = None,
    *,
    groups: Any = None,
    items: Any = None,
    truth: Any = None,
    text: str | None = None,
    id: str | None = None,
    rule: Rule = "exactly-one",
    pool: Pool = "caption",
    match: str = "auto",
    plurals: bool = False,
    min_support: int = 10,
    top_n: int = 25,
    tagger: Tagger | str | None = None,
    tolerance: float | Mapping[str, float] = 0.02,
    item_tolerance: float | None = None,
    margin: float = 0.05,
    balance: float | None = None,
    leakage: bool | None = None,
    classifier: Any = None,
    seeds: int = 3,
    draws: int = 1000,
    level: float = 0.95,
    correction: Correction = "holm",
    seed: int = 0,
) -> Result:
    """Measure how much more tightly `outputs` tie groups of people to items than `train` does.

    Args:
        train: training captions, labels or counts: COCO caption JSON, JSON lines, CSV, TSV, Parquet, Arrow, or .txt with a
            caption a line. Labels have a group column and 0/1 item columns; counts are item, and one column a group, or
            item, group, count. In Python also a frame, or a list of texts. Alone it gives the association part.
        outputs: what the model made, of the same kind; without it, what is tied to whom in `train`.
        groups: who is compared: a list of `evenhand list terms`, a file {group: [words]}, a column, or several 0/1 columns.
            In Python also a mapping. By default the lists of 'Women also Snowboard' for captions, a column named gender,
            sex, group or race for labels.
        items: items to count: names, or a file with an item and its synonyms a line. In Python also a mapping of name to
            synonyms. Words count as written. By default nouns and verbs are mined from the training captions.
        truth: annotation of the outputs' images, for directional amplification, errors and leakage. By default the
            training rows of the same images. Without ids it is aligned to the outputs row by row.
        text: column with captions, where its name does not tell.
        id: column with image ids, where its name does not tell.
        rule: captions that name several groups: exactly-one (left out), any, or both (a group of their own).
        pool: count each caption, or join the captions of an image first: caption or image.
        match: images compared: auto, all or shared. "auto" restricts outputs to the images of the training data where it
            has (nearly) all of them in common, "shared" always does, "all" never.
        plurals: count plurals of group words and items too. Regular ones.
        min_support: mentions with a group that an item needs in the training data.
        top_n: mined items per group and part of speech.
        tagger: for parts of speech: "module:attr", or spacy:MODEL. In Python also a callable.
        tolerance: largest growth of shares that counts as none. Declared beforehand, for mean amplification and T→A; or
            measure → tolerance.
        item_tolerance: judge single items too: largest change of a share that counts as none. Undeclared they are
            described, with p adjusted for their number.
        margin: change of a share that is a violation.
        balance: also compare with training data balanced so that no item's ratio of groups exceeds this number.
        leakage: train attackers that guess the group from outputs; by default where scikit-learn is installed.
        classifier: any scikit-learn classifier; logistic regression by default.
        seeds: times each attacker is trained.
        draws: bootstrap resamples of images.
        level: confidence level of the intervals.
        correction: adjustment of p-values for many claims: holm, bh or none.
        seed: seed of everything random.

    Raises:
        DataError: nobody is named, JSON of an unknown shape, a caption that is not text, items that are not 0/1, …
        UsageError, TermsError: arguments that do not fit together.

    >>> train = {"item": ["cooking", "driving"], "man": [340, 660], "woman": [660, 340]}
    >>> made = {"item": ["cooking", "driving"], "man": [160, 840], "woman": [840, 160]}
    >>> result = audit_amplification(train, made, draws=200)
    >>> value = {f.estimate.measure: f.estimate.value for f in result.findings}
    >>> round(value["mean bias amplification"], 2), result.verdict
    (0.18, 'disparity')
    """
    how = Reading(
        groups=groups, items=items, text=text, id=id, rule=rule, pool=pool, plurals=plurals,
        min_support=min_support, top_n=top_n, tagger=tagger, match=match,
    )  # fmt: skip
    judging = Judging(
        tolerance=_checked(tolerance),
        margin=margin,
        item_tolerance=None if item_tolerance is None else tolerance_of(float(item_tolerance))[1],
        draws=draws,
        level=check_level(level),
        correction=correction,
        seed=seed,
    )
    _check(draws=draws, margin=margin, seeds=seeds, truth=truth, outputs=outputs, balance=balance)
    analysis = Analysis()
    sources = open_sources(train, outputs, truth, how)
    counts: dict[str, int]
    if sources["train"].kind == "counts":
        counts = _of_counts(sources, groups, how, judging, analysis)
    else:
        prepared = prepare(sources, how, analysis)
        attack = Attack(wanted=leakage, classifier=classifier, seeds=seeds, seed=seed)
        counts = _of_rows(prepared, how, judging, attack, balance, analysis)
    return Result(
        audit="amplification",
        title=_title(train, outputs),
        findings=tuple(analysis.findings),
        exhibits=analysis.exhibits,
        notes=tuple(analysis.notes),
        counts=counts,
        provenance=provenance(
            audit_amplification,
            {
                "groups": groups, "items": items, "rule": rule, "pool": pool, "match": match, "plurals": plurals,
                "min_support": min_support, "item_tolerance": item_tolerance, "top_n": top_n, "tolerance": tolerance, "margin": margin,
                "balance": balance, "draws": draws, "level": level, "correction": correction, "seed": seed,
            },
            data={name: s.digest for name, s in sources.items()},
            seeds={"resampling": seed},
        ),
    )  # fmt: skip


def _checked(tolerance: float | Mapping[str, float]) -> float | Mapping[str, float]:
    for value in tolerance.values() if isinstance(tolerance, Mapping) else [tolerance]:
        tolerance_of(float(value))
    return tolerance


def _check(*, draws: int, margin: float, seeds: int, truth: Any, outputs: Any, balance: float | None) -> None:
    if draws < 100:
        raise UsageError(
            "bad-draws", "an interval needs at least 100 resamples", given=draws, expected="1000 or more"
        )
    if not 0 < margin < 1:
        raise UsageError(
            "bad-margin", "the margin is a change of a share", given=margin, expected="between 0 and 1"
        )
    if seeds < 1:
        raise UsageError("bad-seeds", "an attacker is trained at least once", given=seeds)
    if truth is not None and outputs is None:
        raise UsageError(
            "truth-alone", "truth belongs to outputs, and none are given", hint="pass outputs as well"
        )
    if balance is not None and balance < 1:
        raise UsageError("bad-alpha", "a ratio of groups is at least 1", given=balance, expected="1, 2, 3, …")


def _title(train: Any, outputs: Any) -> str:
    def name(source: Any, default: str) -> str:
        return Path(source).name if isinstance(source, str | os.PathLike) else default

    if outputs is None:
        return f"Association of groups and items in {name(train, 'a corpus')}"
    return f"Amplification from {name(train, 'training data')} to {name(outputs, 'outputs')}"


def _of_rows(
    prepared: Prepared,
    how: Reading,
    judging: Judging,
    attack: Attack,
    balance: float | None,
    analysis: Analysis,
) -> dict[str, int]:
    """Captions or labels: everything."""
    if prepared.outputs is None:
        association(prepared, how, judging, analysis)
    elif not prepared.items.names:
        analysis.note("no-items-left", "No item has enough support to be compared.", warning=True)
        _nothing(analysis, judging, "no item has enough support in both corpora")
        _groups_only(prepared, how, judging, analysis)
        analysis.exhibits["coverage"] = show.coverage(prepared, how.rule)
        add_leakage(prepared, attack, judging.level, analysis)
    else:
        _compare(prepared, how, judging, analysis)
        add_leakage(prepared, attack, judging.level, analysis)
        association(prepared, how, judging, analysis, beside=True)
    if balance is not None:
        from evenhand.audits.amplification.balance import add_balanced

        add_balanced(prepared, judging, balance, analysis)
    if prepared.dropped:
        analysis.exhibits["dropped"] = show.dropped(prepared)
    called = {"train": "training rows", "outputs": "output rows", "truth": "truth rows"}
    counted = {called[name]: len(c) for name, c in prepared.corpora.items()}
    return counted | {
        "groups": len(prepared.groups),
        "items": len(prepared.items.names),
        "items left out": len(prepared.dropped),
    }


def _nothing(analysis: Analysis, judging: Judging, why: str) -> None:
    from evenhand._estimate import Evidence
    from evenhand._judge import judge
    from evenhand._model import Estimate

    estimate = Estimate(
        measure="mean bias amplification beyond its null",
        contrast="difference",
        group="outputs",
        reference="training data",
        why_not=why,
    )
    default = judging.tolerance if isinstance(judging.tolerance, float | int) else 0.02
    analysis.findings += judge(
        [Evidence(estimate=estimate)], tolerance=(-np.inf, float(default)), family="amplification"
    )


def _compare(prepared: Prepared, how: Reading, judging: Judging, analysis: Analysis) -> None:
    joint, names = panel_of(prepared, how, analysis)
    outputs = prepared.outputs
    if outputs is None:
        return
    exact = exchangeable(prepared.train, outputs)
    done = resample(joint, judging, exact=exact, images=_images(prepared), blocks=list(joint.shapes))
    analysis.findings += findings(done, judging, items=prepared.items.names)
    analysis.findings += item_findings(done, judging, groups=prepared.groups, items=prepared.items.names)
    analysis.exhibits.update(show.add_all(prepared, done, judging, how.rule))
    if "outcomes" in joint.shapes:
        analysis.exhibits["outcomes"] = show.outcome_table(done.point["outcomes"][0], prepared.groups)
    if "train_sets" in joint.shapes and any(" + " in n for n in names):
        analysis.exhibits["sets"] = show.set_table(names, done, prepared.groups)
    _note_separation(done, prepared, analysis)


def _groups_only(prepared: Prepared, how: Reading, judging: Judging, analysis: Analysis) -> None:
    """What needs no items: who is named rightly, wrongly or not at all."""
    truth = truth_of(prepared)
    if truth is None:
        return
    blocks = {k: v for k, v in _image_blocks(prepared, truth, how).items() if k in ("outcomes", "two_groups")}
    joint = panel(blocks)
    done = resample(joint, judging, exact=False, images=joint.images, blocks=list(blocks))
    analysis.findings += findings(done, judging, items=())
    analysis.exhibits["measures"] = show.measure_table(done)
    analysis.exhibits["outcomes"] = show.outcome_table(done.point["outcomes"][0], prepared.groups)


def _images(prepared: Prepared) -> int:
    sizes = []
    for corpus in (prepared.train, prepared.outputs):
        if corpus is not None:
            sizes.append(len(np.unique(corpus.images[corpus.member.any(axis=1)])))
    return min(sizes)


def _note_separation(done: Resampled, prepared: Prepared, analysis: Analysis) -> None:
    """Say in words when the items are too few to tell the model from one that amplifies nothing."""
    if done.images < MIN_IMAGES:
        analysis.note(
            "few-images",
            f"Only {done.images} images name a group in both corpora; that is too few for any interval, so nothing is concluded.",
            warning=True,
        )
        return
    claims = [f for f in analysis.findings if f.family == "amplification" and f.estimate.value is not None]
    if (
        claims
        and all((f.estimate.low or 0) <= 0 <= (f.estimate.high or 0) for f in claims)
        and any(f.detectable for f in claims)
    ):
        names = prepared.items.names
        shown = f"{len(names)} items ({', '.join(names)})" if 1 < len(names) <= 12 else f"{len(names)} items"
        analysis.note(
            "not-separated",
            f"The {shown} cannot separate this model from zero amplification: the intervals of"
            f" {' and of '.join(f.estimate.measure.removesuffix(' beyond its null') for f in claims)} contain zero.",
        )


def panel_of(prepared: Prepared, how: Reading, analysis: Analysis) -> tuple[Panel, list[str]]:
    """Everything that is counted per image, as far as the data allow, and the names of the item sets."""
    outputs = prepared.outputs
    if outputs is None:
        raise UsageError("no-outputs", "a comparison needs outputs")
    blocks = corpus_blocks(prepared.train, prepared.images, "train") | corpus_blocks(
        outputs, prepared.images, "out"
    )
    names, sets = item_sets(prepared, how.min_support)
    for key, corpus in (("train", prepared.train), ("out", outputs)):
        if names:
            wide = replace(corpus, items=sets[key])
            blocks[f"{key}_sets"] = corpus_blocks(wide, prepared.images, key)[key]
    truth = truth_of(prepared)
    if truth is None:
        analysis.note(
            "no-truth",
            "The truth of the outputs' images is not known, so directional amplification, gender error, outcome divergence"
            " and leakage are not computed: give truth= (--truth), or ids that training data and outputs share.",
        )
    else:
        blocks |= _image_blocks(prepared, truth, how)
    return panel(blocks), names


def _image_blocks(prepared: Prepared, truth: Corpus, how: Reading) -> dict[str, tuple[Any, tuple[int, ...]]]:
    from scipy import sparse

    level = image_level(prepared, truth, how.rule)
    g, i = len(prepared.groups), len(prepared.items.names)
    n = len(level["images"])
    place = sparse.csr_matrix((np.ones(n), (level["images"], np.arange(n))), shape=(prepared.images, n))
    truly, named = level["attributes"], level["predicted_attributes"]
    alone = truly.sum(axis=1) == 1
    silent = np.maximum(1.0 - named.sum(axis=1), 0.0)
    told = np.column_stack([named, silent]) * alone[:, None]
    if how.rule == "any":  # a caption that names several groups names none for certain
        told = told / np.maximum(told.sum(axis=1, keepdims=True), 1.0)
    outcomes = sparse.hstack([sparse.csr_matrix(told * truly[:, [k]]) for k in range(g)])
    only = place @ sparse.diags(level["usable"])
    blocks = {
        "both": (only @ by_group(truly, level["tasks"]), (g, i)),
        "forward": (only @ by_group(truly, level["predicted_tasks"]), (g, i)),
        "backward": (only @ by_group(named, level["tasks"]), (g, i)),
        "attributes": (only @ sparse.csr_matrix(truly), (g,)),
        "tasks": (only @ level["tasks"], (i,)),
        "outcomes": (place @ outcomes, (g, g + 1)),
    }
    if not truth.known:  # people are annotated, items are not
        blocks = {"outcomes": blocks["outcomes"]}
    if g == 2:
        blocks["two_groups"] = (sparse.csr_matrix((prepared.images, 1)), (1,))
    return blocks | _sign_blocks(prepared, how) if truth.known else blocks


def _sign_blocks(prepared: Prepared, how: Reading) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """What tells the direction of each pair: the training data, image by image."""
    from scipy import sparse

    train = prepared.train
    whole = image_level(replace_outputs(prepared, train), train, how.rule)
    n = len(whole["images"])
    place = sparse.csr_matrix((whole["usable"], (whole["images"], np.arange(n))), shape=(prepared.images, n))
    g, i = len(prepared.groups), len(prepared.items.names)
    return {
        "sign_both": (place @ by_group(whole["attributes"], whole["tasks"]), (g, i)),
        "sign_attributes": (place @ sparse.csr_matrix(whole["attributes"]), (g,)),
        "sign_tasks": (place @ whole["tasks"], (i,)),
        "sign_rows": (place @ sparse.csr_matrix(np.ones((n, 1))), (1,)),
    }


def replace_outputs(prepared: Prepared, corpus: Corpus) -> Prepared:
    """The same comparison with another corpus as its outputs."""
    return replace(prepared, corpora={**prepared.corpora, "outputs": corpus})


def _of_counts(
    sources: Mapping[str, Source], groups: Any, how: Reading, judging: Judging, analysis: Analysis
) -> dict[str, int]:
    """Tables of counts: what needs no images."""
    named = [groups] if isinstance(groups, str) else groups
    wanted = list(named) if isinstance(named, Sequence) else None
    tables = {name: count_table(s, wanted) for name, s in sources.items() if name != "truth"}
    items, names, before = tables["train"]
    if how.items is not None:
        chosen = [how.items] if isinstance(how.items, str) else list(how.items)
        missing = [i for i in chosen if i not in items]
        if missing:
            raise UsageError(
                "unknown-item", "the counts have no such item", given=missing[0], available=items
            )
        before, items = before[:, [items.index(i) for i in chosen]], chosen
    after = np.zeros_like(before)
    if "outputs" in tables:
        listed, other, counts = tables["outputs"]
        if set(other) != set(names):
            raise UsageError(
                "counts-groups",
                "the two tables of counts have different groups",
                given=other,
                available=names,
            )
        for k, g in enumerate(names):
            for i, item in enumerate(items):
                after[k, i] = counts[other.index(g), listed.index(item)] if item in listed else 0.0
    prepared = _counted(before, after if "outputs" in tables else None, items, names, sources, how)
    kept = [items.index(i) for i in prepared.items.names]
    if "outputs" not in tables:
        association(prepared, how, judging, analysis)
    elif not kept:
        analysis.note("no-items-left", "No item has enough support to be compared.", warning=True)
        _nothing(analysis, judging, "no item has enough support in both tables")
    else:
        point: dict[str, FloatArray] = {"train": before[None][:, :, kept], "out": after[None][:, :, kept]}
        done = resample_counts(point, judging)
        analysis.findings += findings(done, judging, items=prepared.items.names)
        analysis.findings += item_findings(done, judging, groups=names, items=prepared.items.names)
        analysis.exhibits.update(
            {
                "scatter": show.scatter(prepared, done),
                "dumbbells": show.dumbbells(prepared, done),
                "measures": show.measure_table(done),
                "items": show.item_table(prepared, done, judging),
            }
        )
        _note_separation(done, prepared, analysis)
    if prepared.dropped:
        analysis.exhibits["dropped"] = show.dropped(prepared)
    analysis.note(
        "counts-only",
        "Counts do not say which mentions share an image: mentions are taken as independent, so intervals are too narrow"
        " where images have several captions. Directional measures, errors and leakage need rows.",
    )
    return {"groups": len(names), "items": len(kept), "items left out": len(prepared.dropped)}


def _counted(
    before: FloatArray,
    after: FloatArray | None,
    items: Sequence[str],
    names: Sequence[str],
    sources: Mapping[str, Source],
    how: Reading,
) -> Prepared:
    """Counts as corpora of one row a mention would be: only what exhibits read."""
    from scipy import sparse

    dropped = []
    keep = []
    for i, item in enumerate(items):
        n, m = int(before[:, i].sum()), 0 if after is None else int(after[:, i].sum())
        if n < how.min_support:
            dropped.append(
                (item, f"fewer than {how.min_support} mentions with a group in the training data", n, m)
            )
        elif after is not None and m == 0:
            dropped.append((item, "never mentioned with a group in the outputs", n, m))
        else:
            keep.append(i)
    counts = before[:, keep]
    corpus = Corpus(
        name="train",
        images=np.arange(len(names)),
        named=np.eye(len(names), dtype=bool),
        member=np.eye(len(names)),
        neutral=np.zeros(len(names), dtype=bool),
        items=sparse.csr_matrix(counts),
    )
    return Prepared(
        corpora={"train": corpus},
        groups=tuple(names),
        items=Items(names=tuple(items[i] for i in keep)),
        images=len(names),
        known=False,
        sources=dict(sources),
        who=Grouping(names=tuple(names), columns=tuple(names)),
        dropped=dropped,
    )


__all__ = ["audit_amplification", "gather", "panel_of"]
