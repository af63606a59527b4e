"""From what the user has to corpora that can be compared: same groups, same items, known images, enough
support."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import DataError, UsageError
from evenhand._model import FloatArray
from evenhand.audits.amplification.corpus import (
    Corpus,
    Items,
    Who,
    annotated,
    annotation,
    build,
    grouping,
    members,
)
from evenhand.audits.amplification.identity import (
    Units,
    agree,
    image_of,
    row_numbers,
    units_of,
    withhold_of_units,
)
from evenhand.audits.amplification.items import counted_words, items_of
from evenhand.audits.amplification.panel import Blocks, Panel, panel
from evenhand.audits.amplification.reading import RULES, Reading
from evenhand.audits.amplification.sources import RawCorpus, read_source

CALLED = {
    "train": "training data",
    "before": "training data before balancing",
    "without": "outputs without balancing",
}
Dropped: TypeAlias = tuple[str, str, int, int]
"""(item, reason, mentions in train, mentions in outputs)."""


@dataclass(kw_only=True)
class Matched:
    """Corpora ready to compare.

    Args:
        corpora: "train", and where given "outputs", "truth", "before" (the training data before they were
            balanced) and "without" (outputs of a model of these).
        groups, items: what is left of them. images: how many there are in all. known: whether ids tell them
            apart.
        sources: as they were read. dropped: items left out.
        who: how rows are told apart. units: what images belong to, None where each is one.
    """

    corpora: dict[str, Corpus]
    groups: tuple[str, ...]
    items: Items
    images: int
    known: bool
    sources: dict[str, RawCorpus]
    who: Who
    dropped: list[Dropped] = field(default_factory=list)
    units: Units | None = None

    @property
    def unit(self) -> str:
        """What is resampled."""
        return "image" if self.units is None else self.units.name

    def panel(self, blocks: Blocks) -> Panel:
        """Blocks of counts of images as one panel, summed by unit."""
        return panel(blocks, None if self.units is None else self.units.of)

    def naming(self, corpus: Corpus) -> int:
        """How many images, or units, name a group."""
        images = np.unique(corpus.images[corpus.member.any(axis=1)])
        return len(images) if self.units is None else len(np.unique(self.units.of[images]))

    @property
    def train(self) -> Corpus:
        """The training data, or the only corpus."""
        return self.corpora["train"]

    @property
    def outputs(self) -> Corpus | None:
        """The model's outputs."""
        return self.corpora.get("outputs")

    def recounted(self, change: Callable[[Corpus], Corpus]) -> None:
        """Change every corpus in the same way."""
        self.corpora = {name: change(corpus) for name, corpus in self.corpora.items()}


def prepare(sources: dict[str, RawCorpus], how: Reading, analysis: Analysis) -> Matched:
    """Count all corpora with the same groups and items, and say what was left out.

    Raises:
        DataError: nobody is named, or one group only. UsageError: sources of different kinds.
    """
    listed = list(sources.values())
    tables = annotated(sources)
    alike = [s for name, s in sources.items() if name not in tables]
    if len({s.kind for s in alike}) > 1:
        raise UsageError(
            "mixed-kinds",
            "training data and outputs are of different kinds",
            given=", ".join(f"{s.name}: {s.kind}" for s in listed),
            expected="captions or labels, or counts with counts",
        )
    if how.pool not in ("caption", "image"):
        raise UsageError("unknown-pool", "no such pool", given=how.pool, available=["caption", "image"])
    if how.min_support < 1:
        raise UsageError("bad-support", "the minimum support is at least 1", given=how.min_support)
    if "before" in sources and "outputs" not in sources:
        raise UsageError("before-alone", "sides are for outputs, and none are given", hint="pass outputs too")
    who = grouping(how.groups, alike, plurals=how.plurals)
    tokens = counted_words(sources, who, how)
    indices, images, known = image_of(sources)
    items = items_of(sources, tokens, who, how, analysis)
    corpora = {
        name: build(s, who, items, how, indices[name], tokens.get(name))
        for name, s in sources.items()
        if name not in tables
    }
    corpora |= {name: annotation(s, who, items, how.rule, indices[name]) for name, s in tables.items()}
    corpora = {name: corpora[name] for name in sources}
    _note_reading(sources, corpora, who, how, analysis)
    prepared = Matched(
        corpora=corpora,
        groups=members(np.zeros((0, len(who.names)), dtype=bool), who.names, how.rule)[1],
        items=items,
        images=images,
        known=known,
        sources=sources,
        who=who,
    )
    moved = _check_identity(prepared, how, analysis)
    places = {n: index + (images if n in moved else 0) for n, index in indices.items()}
    if how.units:
        prepared.units = units_of(how.units, sources, places, prepared.images, analysis)
    elif how.units is None:
        withhold_of_units(sources, indices, who.columns, analysis)
    _match(prepared, how, analysis)
    _same_images(prepared)
    _drop_groups(prepared, analysis)
    _drop_items(prepared, how, analysis)
    return prepared


def _note_reading(
    sources: Mapping[str, RawCorpus],
    corpora: Mapping[str, Corpus],
    who: Who,
    how: Reading,
    analysis: Analysis,
) -> None:
    for source in sources.values():
        if source.repeated:
            text = f"{source.repeated} rows of the {source.name} repeat a caption of the same image"
            analysis.note("repeated-captions", f"{text} and are counted once.", warning=True)
        blank = sum(1 for t in source.texts if not t or not t.strip())
        if blank:
            text = f"{blank} captions of the {source.name} are empty; they name nobody."
            analysis.note("blank-captions", text)
    several = {name: int((c.named.sum(axis=1) > 1).sum()) for name, c in corpora.items()}
    if any(several.values()):
        counted = ", ".join(f"{n} of the {sources[name].name}" for name, n in several.items())
        text = f"Rows that name several groups: {counted}. Rule {how.rule}: {RULES[how.rule]}."
        analysis.note("several-groups", text)
    train = corpora["train"]
    if not train.named.any():
        looked = "" if who.words is None else ", ".join(sorted(who.words.words())[:12])
        nobody = "caption of the training data names" if who.words else "row of the training data has"
        raise DataError(
            "no-group-named",
            f"no {nobody} a group",
            given=f"{len(train)} rows",
            expected=f"words such as {looked}" if looked else None,
            hint="other words: groups= (--groups) takes a list of evenhand list terms, a file {group:"
            " [words]}, or a column",
        )


def _check_identity(prepared: Matched, how: Reading, analysis: Analysis) -> Sequence[str]:
    """Row numbers in two files make no pair of images: they are taken for one image where the user says so,
    or where what is said of the two agrees more than by chance. Which corpora got images of their own."""
    outputs, train = prepared.outputs, prepared.train
    if outputs is None or not prepared.known or how.id is not None:
        return ()
    both = ("train", "outputs")
    if not all(row_numbers(prepared.sources[name].ids or ()) for name in both) or agree(train, outputs):
        return ()
    apart = [name for name in ("train", "before") if name in prepared.corpora]
    for name in apart:
        corpus = prepared.corpora[name]
        prepared.corpora[name] = replace(corpus, images=corpus.images + prepared.images)
    prepared.images, prepared.known = 2 * prepared.images, False
    analysis.note(
        "ids-are-row-numbers",
        "The ids of training data and outputs are row numbers, and rows of the same number say nothing more"
        " alike than others: they are taken as different images. If they are the same, name the column: id="
        " (--id).",
        warning=True,
    )
    return apart


def _match(prepared: Matched, how: Reading, analysis: Analysis) -> None:
    """Outputs of more images than the training data has are restricted to the shared ones: like with like."""
    outputs = prepared.outputs
    if how.match not in ("auto", "all", "shared"):
        raise UsageError(
            "unknown-match", "no such choice", given=how.match, available=["auto", "all", "shared"]
        )
    if outputs is None or not prepared.known:
        return
    inside = np.isin(outputs.images, prepared.train.images)
    if not inside.any():
        if "truth" not in prepared.corpora:
            text = (
                "Training data and outputs have no image in common. Amplification compares shares, so that is"
                " no obstacle; directional amplification, errors and leakage need the truth of the outputs'"
                " images: truth= (--truth)."
            )
            analysis.note("disjoint-images", text)
        if how.match == "shared":
            raise DataError("disjoint-images", "training data and outputs have no image in common")
        return
    covered = np.isin(np.unique(prepared.train.images), outputs.images).mean()
    if how.match == "shared" or (how.match == "auto" and covered >= 0.95 and not inside.all()):
        prepared.corpora["outputs"] = outputs.take(np.flatnonzero(inside))
        analysis.note(
            "shared-images",
            f"{int((~inside).sum())} rows of the outputs belong to images without training captions and are"
            ' left out: the same images are compared. match="all" (--match all) keeps them.',
        )


def _same_images(prepared: Matched) -> None:
    """Outputs with and without balancing are of the same images, where ids tell."""
    without, outputs = prepared.corpora.get("without"), prepared.outputs
    if without is not None and outputs is not None and prepared.known:
        shared = np.intersect1d(without.images, outputs.images)
        for name, corpus in (("without", without), ("outputs", outputs)):
            if len(shared):
                prepared.corpora[name] = corpus.take(np.flatnonzero(np.isin(corpus.images, shared)))


def _drop_groups(prepared: Matched, analysis: Analysis) -> None:
    train = prepared.train
    present = train.member.sum(axis=0) > 0
    left = [g for g, p in zip(prepared.groups, present, strict=True) if p]
    if len(left) < 2:
        several = int((train.named.sum(axis=1) > 1).sum())
        raise DataError(
            "one-group-named",
            "the training data name one group only" if left else "every row that names a group names several",
            given=", ".join(left) or f"{several} rows with several groups",
            expected="rows that name each of at least two groups",
            hint='rule="any" (--rule any) counts rows that name several groups for each of them'
            if several
            else "other words: groups= (--groups) takes a list of evenhand list terms, a file or a column",
        )
    gone = [g for g in prepared.groups if g not in left]
    if gone:
        analysis.note(
            "group-not-named",
            f"The training data never name {', '.join(gone)}: left out, so each of the other groups is held"
            f" against 1/{len(left)}.",
            warning=True,
        )
        prepared.groups = tuple(left)
        prepared.recounted(lambda corpus: replace(corpus, member=corpus.member[:, present]))


def _drop_items(prepared: Matched, how: Reading, analysis: Analysis) -> None:
    before = prepared.train.counts().sum(axis=0)
    after = None if prepared.outputs is None else prepared.outputs.counts().sum(axis=0)
    kept, prepared.dropped = supported(prepared.items.names, before, after, how.min_support)
    if prepared.dropped:
        analysis.note(
            "items-dropped",
            f"{len(prepared.dropped)} of {len(before)} items are left out for want of support and count"
            " nowhere, never as 0; the table of dropped items says why.",
        )
    prepared.items = prepared.items.only(kept)
    columns = np.array(kept, dtype=np.int64)
    prepared.recounted(lambda corpus: replace(corpus, items=corpus.items[:, columns]))


def supported(
    items: Sequence[str], before: FloatArray, after: FloatArray | None, support: int
) -> tuple[list[int], list[Dropped]]:
    """(places of the items that are mentioned often enough to be compared, the others and why).

    Args:
        before, after: (I,) mentions with a group, in the training data and in the outputs.
    """
    kept: list[int] = []
    dropped: list[Dropped] = []
    for i, item in enumerate(items):
        n, m = int(before[i]), 0 if after is None else int(after[i])
        if n == 0:
            why = "never mentioned with a group in the training data"
        elif n < support:
            why = f"fewer than {support} mentions with a group in the training data"
        elif after is not None and m == 0:
            why = "never mentioned with a group in the outputs"
        else:
            kept.append(i)
            continue
        dropped.append((item, why, n, m))
    return kept, dropped


def truth_of(prepared: Matched) -> Corpus | None:
    """The annotated images behind the outputs: the given truth, or training rows of the same images."""
    if "truth" in prepared.corpora:
        return prepared.corpora["truth"]
    outputs = prepared.outputs
    if outputs is None or not prepared.known:
        return None
    shared = np.isin(prepared.train.images, outputs.images)
    return prepared.train.take(np.flatnonzero(shared)) if shared.any() else None


def open_sources(
    how: Reading, train: object, outputs: object = None, **others: object
) -> dict[str, RawCorpus]:
    """Read whatever was given, as "train", "outputs", and of `others` "truth", "before" and "without"."""
    from pyarrow import default_memory_pool

    sources: dict[str, RawCorpus] = {}
    for name, source in {"train": train, "outputs": outputs, **others}.items():
        if source is None:
            continue
        called = CALLED.get(name, name)
        found = read_source(source, name=called, text=how.text, id=how.id)
        if found.kind == "captions" and _labelled(found, how):
            found = read_source(source, name=called, text=how.text, id=how.id, labels=True)
        sources[name] = found
        default_memory_pool().release_unused()  # what reading needed is not kept beside what is read
    return sources


def _labelled(source: RawCorpus, how: Reading) -> bool:
    """A table whose groups and items are all columns holds labels, also where it has captions beside them."""
    listed: list[str] = []
    for part in (how.groups, how.items):
        named = [part] if isinstance(part, str) else part
        if not named or not isinstance(named, list | tuple):
            return False
        listed += map(str, named)
    return set(listed) <= set(source.columns)
