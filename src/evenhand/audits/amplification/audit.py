"""The amplification audit: do outputs tie people to things more tightly than the training data did?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from evenhand._analysis import Analysis
from evenhand._declared import Declared, named_primary
from evenhand._errors import UsageError
from evenhand._judge import Correction, tolerance_of
from evenhand._provenance import provenance, tells_its_call
from evenhand._result import Result
from evenhand.audits.amplification.balance import check_ratio
from evenhand.audits.amplification.circle import check_without
from evenhand.audits.amplification.comparison import of_counts, of_rows
from evenhand.audits.amplification.counts import counted
from evenhand.audits.amplification.leakage.attackers import Attackers
from evenhand.audits.amplification.prepare import open_sources, prepare
from evenhand.audits.amplification.reading import Groups, Listed, Pool, Reading, Rule, Tagger
from evenhand.audits.amplification.resampling import Judging, tolerances
from evenhand.stats.interval import check_level
from evenhand.texts.roles import Parser


@tells_its_call(
    "train",
    "outputs",
    "truth",
    "before",
    "without",
    "text",
    "id",
    "tagger",
    "parser",
    "leakage",
    "classifier",
    "seeds",
)
def audit_amplification(
    train: object,
    outputs: object = None,
    *,
    groups: Groups | None = None,
    items: Listed | None = None,
    truth: object = None,
    before: object = None,
    without: object = None,
    units: str | Literal[False] | None = None,
    text: str | None = None,
    id: str | None = None,
    rule: Rule = "exactly-one",
    pool: Pool = "caption",
    match: str = "auto",
    plurals: bool = False,
    min_support: int = 10,
    top_n: int = 25,
    tagger: Tagger | str | None = None,
    parser: Parser | str | None = None,
    tolerance: float | Mapping[str, float] = 0.02,
    item_tolerance: float | None = None,
    primary: str | Sequence[str] = (),
    margin: float = 0.05,
    balance: float | None = None,
    leakage: bool | None = None,
    classifier: Any = None,
    seeds: int = 3,
    permutations: int = 19,
    draws: int = 1000,
    level: float = 0.95,
    correction: Correction = "single-step",
    seed: int = 0,
) -> Result:
    """Measure how much more tightly `outputs` tie groups of people to items than `train` does.

    Args:
        train: training captions, labels or counts: COCO caption JSON, JSON lines, CSV, TSV, Parquet, Arrow,
            or .txt with a caption a line. Labels have a group column and 0/1 item columns; counts are item,
            and one column a group, or item, group, count, or a row for each item and group. In Python also a
            frame, or a list of texts. Alone it gives the association part.
        outputs: what the model made; without it, what is tied to whom in `train`. Captions or labels, or
            counts beside counts.
        groups: who is compared: a list of `evenhand list terms`, a file {group: [words]}, a column, or
            several 0/1 columns. In Python also a mapping. By default the lists of 'Women also Snowboard' for
            captions, a column named gender, sex, group or race for labels.
        items: items to count: names, or a file with an item and its synonyms a line. In Python also a mapping
            of name to synonyms. Words count as written. By default nouns and verbs are mined from the
            training captions.
        truth: annotation of the outputs' images, for directional amplification, errors and leakage. By
            default the training rows of the same images. Without ids it is aligned to the outputs row by row.
        before: the training data before they were balanced. Where training data are balanced, items are tied
            to no side there; each item's side is then taken from this corpus.
        without: outputs of a model of the data before they were balanced. They stand beside `outputs`, those
            of a model of the balanced data, and the page shows what balancing changed.
        units: column with what images belong to, where several are no independent evidence: a photographer, a
            video, a prompt. Intervals are then made of these. False says that images are independent.
        text: column with captions, where its name does not tell.
        id: column with image ids, where its name does not tell.
        rule: captions that name several groups: exactly-one (left out), any, or both (a group of their own).
        pool: count each caption, or join the captions of an image first: caption or image.
        match: images compared: auto, all or shared. "auto" restricts outputs to the images of the training
            data where it has (nearly) all of them in common, "shared" always does, "all" never.
        plurals: count plurals of group words and items too. Regular ones.
        min_support: mentions with a group that an item needs in the training data.
        top_n: mined items per group and part of speech.
        tagger: for parts of speech: "module:attr", or spacy:MODEL. In Python also a callable.
        parser: of sentences, to count what people do, undergo and are said to be, instead of nouns and verbs
            that stand beside them: spacy:MODEL, of a model that is installed, or module:attr. In Python also
            a pipeline of spaCy, or a callable.
        tolerance: largest growth of shares that counts as none. Declared beforehand, for mean amplification
            and T→A, on both sides; who is named keeps 0.05. Or measure → tolerance.
        item_tolerance: judge single items too: largest change of a share that counts as none. Undeclared they
            are described, with p adjusted for their number.
        primary: names of the claims that make the headline; by default a rule of the audit chooses them.
            Here they are names of measures that have a tolerance.
        margin: change of a share that is a violation.
        balance: also compare with training data balanced so that no item's ratio of groups exceeds this
            number.
        leakage: train attackers that guess the group from outputs; by default where scikit-learn is
            installed.
        classifier: any scikit-learn classifier; logistic regression by default.
        seeds: times each attacker is trained.
        permutations: times groups are dealt anew among the images for the null of leakage.
        draws: bootstrap resamples of images.
        level: confidence level of the intervals.
        correction: adjustment of p-values: single-step, holm, bh or none. Verdicts follow the intervals.
        seed: seed of everything random.

    Raises:
        DataError: nobody is named, JSON of an unknown shape, a caption that is not text, items that are not
            0/1, …
        UsageError, TermsError: arguments that do not fit together.

    >>> train = {"item": ["cooking", "driving"], "man": [340, 660], "woman": [660, 340]}
    >>> made = {"item": ["cooking", "driving"], "man": [160, 840], "woman": [840, 160]}
    >>> result = audit_amplification(train, made, draws=200)
    >>> value = {f.estimate.measure: f.estimate.value for f in result.findings}
    >>> round(value["mean bias amplification"], 2), result.verdict
    (0.18, 'disparity')
    """
    how = Reading(
        groups=groups,
        items=items,
        text=text,
        id=id,
        rule=rule,
        pool=pool,
        plurals=plurals,
        min_support=min_support,
        top_n=top_n,
        tagger=tagger,
        parser=parser,
        match=match,
        units=units,
    )
    judging = Judging(
        declared=Declared(
            tolerance=tolerances(tolerance, margin),
            primary=named_primary(primary),
            level=check_level(level),
            correction=correction,
            seed=seed,
        ),
        margin=margin,
        item_tolerance=None if item_tolerance is None else tolerance_of(float(item_tolerance))[1],
        draws=draws,
    )
    attackers = Attackers(
        wanted=leakage, classifier=classifier, seeds=seeds, permutations=permutations, seed=seed
    )
    if truth is not None and outputs is None:
        raise UsageError(
            "truth-alone", "truth belongs to outputs, and none are given", hint="pass outputs as well"
        )
    check_without(without, before)
    if balance is not None:
        check_ratio(balance)
    analysis = Analysis()
    sources = open_sources(how, train, outputs, truth=truth, before=before, without=without)
    if sources["train"].kind == "counts":
        check_without(without, before, counts=True)
        if units:
            raise UsageError("units", "counts have no images, so none belong together", given=units)
        told = of_counts(*counted(sources, how), judging, analysis)
    else:
        prepared = prepare(sources, how, analysis)
        told = of_rows(prepared, how, judging, attackers, balance, analysis)
    return analysis.result(
        audit="amplification",
        title=_title(train, outputs),
        counts=told,
        correction=correction,
        provenance=provenance(
            audit_amplification,
            {},
            data={name: s.digest for name, s in sources.items()},
            seeds={"resampling": seed},
        ),
    )


def _title(train: object, outputs: object) -> str:
    def name(source: object, default: str) -> str:
        return Path(source).name if isinstance(source, str | os.PathLike) else default

    if outputs is None:
        return f"Association of groups and items in {name(train, 'a corpus')}"
    return f"Amplification from {name(train, 'training data')} to {name(outputs, 'outputs')}"
