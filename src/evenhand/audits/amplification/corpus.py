"""Corpora side by side: who each row names, which items it mentions, and which image it belongs to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from evenhand._errors import DataError, UsageError
from evenhand._files import foreign
from evenhand._model import BoolArray, Factor, FloatArray, IntArray
from evenhand._table import factor, require
from evenhand.audits.amplification.captions import Tokens, mentions, with_plurals
from evenhand.audits.amplification.reading import RULES, Groups, Listed, Reading, Rule
from evenhand.audits.amplification.sources import ID_COLUMNS, TEXT_COLUMNS, RawCorpus, binary, binary_columns
from evenhand.terms.groups import GroupWords, group_words, is_group_list

DEFAULT_GROUPS = "groups/women-snowboard"
GROUP_COLUMNS = ("gender", "sex", "group", "race")


@dataclass(frozen=True, kw_only=True)
class Who:
    """How rows are told apart.

    Args:
        names: the groups. words: lists that name them in a text, None where a column (or columns) tells.
        columns: the column with the group, or one 0/1 column for each.
    """

    names: tuple[str, ...]
    words: GroupWords | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """One corpus, counted; its rows are captions, labelled people, or images where captions are pooled.

    Args:
        images: (rows,) index of the image of each row, in the index shared by all corpora.
        named: (rows, G0) which groups a row names, before the rule; member: (rows, G) after it.
        neutral: (rows,) names a person of no group, and no group.
        items: sparse 0/1 (rows, I). known: whether items were looked for at all.
        texts: the captions, where each is a row.
    """

    images: IntArray
    named: BoolArray
    member: FloatArray
    neutral: BoolArray
    items: sparse.csr_matrix
    texts: Sequence[str | None] = ()
    known: bool = True

    def __len__(self) -> int:
        return len(self.images)

    def take(self, rows: IntArray) -> Corpus:
        """Some rows of it."""
        return replace(
            self,
            images=self.images[rows],
            named=self.named[rows],
            member=self.member[rows],
            neutral=self.neutral[rows],
            items=self.items[rows],
            texts=[self.texts[r] for r in rows.tolist()] if len(self.texts) else (),
        )

    def counts(self) -> FloatArray:
        """c(o, g), shape (G, I): one sparse product."""
        return np.asarray((self.items.T @ self.member).T, dtype=float)

    def rows_of(self) -> FloatArray:
        """(G,) rows of each group."""
        return np.asarray(self.member.sum(axis=0), dtype=float)


def gathering(of: IntArray, size: int) -> sparse.csr_matrix:
    """Sparse 0/1 (size, rows): a product with it adds the rows `of` each image up."""
    return sparse.csr_matrix((np.ones(len(of)), (of, np.arange(len(of)))), shape=(size, len(of)))


# --- who is compared


def grouping(groups: Groups | None, sources: Sequence[RawCorpus], *, plurals: bool = False) -> Who:
    """Who is compared: a column that every source has, several 0/1 columns, or lists of words.

    Raises:
        UsageError: labels without a group column. TermsError: an unknown list.
    """
    common = set.intersection(*(set(s.columns) for s in sources)) if sources else set()
    if isinstance(groups, list | tuple) and groups and all(g in common for g in groups):
        return Who(names=tuple(map(str, groups)), columns=tuple(groups))
    if isinstance(groups, list | tuple) and len(groups) == 1:
        groups = groups[0]
    if isinstance(groups, str) and groups in common:
        return _by_column(groups, sources)
    if all(s.kind == "captions" for s in sources):
        if isinstance(groups, Sequence) and not isinstance(groups, str):
            raise UsageError(
                "unknown-groups", "not every table has these columns", given=", ".join(map(str, groups))
            )
        words = group_words(DEFAULT_GROUPS if groups is None else groups, plurals=plurals)
        return Who(names=words.names, words=words)
    usual = next((c for c in GROUP_COLUMNS if c in common), None)
    if groups is None and usual is not None:
        return _by_column(usual, sources)
    listed = isinstance(groups, str) and is_group_list(groups)
    raise UsageError(
        "no-groups",
        "there are no captions, and no column tells the groups of these rows",
        given=groups,
        available=sorted(common),
        hint="lists of words need captions; a table of labels needs a column"
        if listed
        else "captions: text= (--text) names their column; labels: groups= (--groups) names the column of the"
        " groups, which every table needs",
    )


def _by_column(column: str, sources: Sequence[RawCorpus]) -> Who:
    found = [sorted(factor(s.table, column).levels) for s in sources if s.table is not None]
    levels = tuple(dict.fromkeys(level for own in found for level in own))
    if len(levels) < 2:
        raise DataError(
            "one-group",
            f"the column {column!r} holds fewer than two groups",
            given=", ".join(levels) or "(nothing)",
        )
    return Who(names=levels, columns=(column,))


def named_by(source: RawCorpus, tokens: Tokens | None, who: Who) -> tuple[BoolArray, BoolArray]:
    """(which groups each row names (rows, G), which rows name a person of no group)."""
    if who.words is not None and tokens is not None:
        lists = [who.words.groups[g] for g in who.names]
        found = mentions(tokens, [*lists, who.words.neutral]).toarray().astype(np.bool_)
        return found[:, :-1], found[:, -1] & ~found[:, :-1].any(axis=1)
    table = source.needs_table("no-groups", "no columns, so none tells the groups")
    if len(who.columns) == 1:
        label = factor(table, who.columns[0])
        named = np.stack([label.is_level(g) for g in who.names], axis=1)
    else:
        named = np.stack([binary(table, c, source.name) for c in who.columns], axis=1)
    return named, np.zeros(len(named), dtype=np.bool_)


def members(named: BoolArray, names: Sequence[str], rule: Rule) -> tuple[FloatArray, tuple[str, ...]]:
    """Membership (rows, G) as floats after the rule for rows that name several groups, and the groups' names.

    >>> members(np.array([[True, True], [True, False]]), ["man", "woman"], "exactly-one")[0].tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    >>> members(np.array([[True, True], [True, False]]), ["man", "woman"], "both")
    (array([[0., 0., 1.],
           [1., 0., 0.]]), ('man', 'woman', 'several'))
    """
    if rule not in RULES:
        raise UsageError(
            "unknown-rule", "no such rule for captions that name several groups", given=rule, available=RULES
        )
    several = named.sum(axis=1) > 1
    if rule == "any":
        return named.astype(float), tuple(names)
    alone = (named & ~several[:, None]).astype(float)
    if rule == "exactly-one":
        return alone, tuple(names)
    return np.column_stack([alone, several.astype(float)]), (*names, "several")


# --- what is counted


@dataclass(frozen=True, kw_only=True)
class Items:
    """What is counted: the items' names, and the forms that mention each (captions) or the columns (labels).

    Args:
        kinds: of each mined item: noun, verb or word.
    """

    names: tuple[str, ...]
    forms: tuple[tuple[str, ...], ...] = ()
    kinds: tuple[str, ...] = ()

    def only(self, kept: Sequence[int]) -> Items:
        """Some of them."""
        return Items(
            names=tuple(self.names[i] for i in kept),
            forms=tuple(self.forms[i] for i in kept) if self.forms else (),
            kinds=tuple(self.kinds[i] for i in kept) if self.kinds else (),
        )


def given_items(items: Listed, *, plurals: bool = False) -> Items:
    """Items as the user gave them: names; a mapping of name to synonyms; or a file (COCO's synonyms, one item
    a line).

    A word counts as it is written; with `plurals` its regular plural counts too.

    >>> given_items({"sofa": ["couch"], "dog": []}).forms
    (('sofa', 'couch'), ('dog',))
    """
    if isinstance(items, Mapping):
        forms = {str(k): [str(k), *([v] if isinstance(v, str) else list(v))] for k, v in items.items()}
    else:
        listed = listed_names(items) or []
        if not all(isinstance(i, str) for i in listed):
            raise UsageError("items", "items are texts", given=listed[:3], expected='["umbrella", "tie"]')
        forms = {i: [i] for i in listed}
    if not forms:
        raise UsageError("items", "the list of items is empty", hint="leave items out to have them mined")
    tidy = {k: tuple(dict.fromkeys(w.strip().lower() for w in v if w.strip())) for k, v in forms.items()}
    if plurals:
        tidy = {k: tuple(with_plurals(v)) for k, v in tidy.items()}
    return Items(names=tuple(tidy), forms=tuple(tidy.values()))


def listed_names(given: object) -> list[str] | None:
    """One name or several, as a list; None where none was given."""
    if given is None:
        return None
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [str(given)]


def read_items(path: str, text: str) -> dict[str, list[str]]:
    """Items of a file: JSON {item: [synonyms]} or [items]; else one item a line, with its synonyms after
    commas."""
    if path.lower().endswith(".json"):
        with foreign(path, what="the file holds no items"):
            value = json.loads(text)
            if isinstance(value, dict):
                return {str(k): [v] if isinstance(v, str) else [str(s) for s in v] for k, v in value.items()}
            return {str(v): [] for v in value}
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        parts = [p.strip() for p in line.split(",") if p.strip()]
        if parts:
            found.setdefault(parts[0], []).extend(parts[1:])
    return found


def label_items(sources: Sequence[RawCorpus], items: Sequence[str] | None, who: Who) -> Items:
    """The item columns of tables of labels: those named, or every 0/1 column that all of them have."""
    if items is not None:
        return Items(names=tuple(items))
    taken = {*who.columns, *TEXT_COLUMNS}
    found: list[str] | None = None
    for source in sources:
        if source.table is not None:
            skipped = {c for c in source.columns if c in taken or c.lower() in ID_COLUMNS}
            own = binary_columns(source.table, skipped)
            found = own if found is None else [c for c in found if c in own]
    if not found:
        raise UsageError(
            "no-items",
            "the tables have no 0/1 column in common",
            available=sources[0].columns,
            hint="name the item columns with items= (--item)",
        )
    return Items(names=tuple(found))


def _item_matrix(source: RawCorpus, items: Items, tokens: Tokens | None) -> sparse.csr_matrix:
    if tokens is not None:
        return mentions(tokens, items.forms)
    table = source.needs_table("items", "no columns of items")
    for name in items.names:
        require(table, name)
    dense = [binary(table, name, source.name)[:, None].astype(np.int32) for name in items.names]
    if not dense:
        return sparse.csr_matrix((table.num_rows, 0), dtype=np.int32)
    return sparse.hstack([sparse.csc_matrix(column) for column in dense]).tocsr()


# --- corpora


def build(
    source: RawCorpus, who: Who, items: Items, how: Reading, image_of: IntArray, tokens: Tokens | None
) -> Corpus:
    """Count one source: groups and items of each row, or of each image where captions are pooled."""
    named, neutral = named_by(source, tokens, who)
    matrix = _item_matrix(source, items, tokens)
    texts = source.texts
    if how.pool == "image":
        texts = ()
        image_of, index = np.unique(image_of, return_inverse=True)
        gather = gathering(index, len(image_of)).astype(np.int32)
        matrix = (gather @ matrix).tocsr()
        matrix.data[:] = 1
        named = np.asarray(gather @ named.astype(np.int32)) > 0
        neutral = (np.asarray(gather @ neutral.astype(np.int32)) > 0) & ~named.any(axis=1)
    member, _ = members(named, who.names, how.rule)
    return Corpus(images=image_of, named=named, member=member, neutral=neutral, items=matrix, texts=texts)


def annotation(source: RawCorpus, who: Who, items: Items, rule: Rule, image_of: IntArray) -> Corpus:
    """People annotated in a table beside captions: a column that holds the groups' names (or words for them),
    or a 0/1 column for each.

    Items are the columns of their names; items without a column are unknown, so nothing is said about them.

    Raises:
        UsageError: `truth-groups` where no column holds the groups' names.
    """
    named = _annotated_groups(source, who)
    table = source.needs_table("truth-groups", "no column with the names of the groups")
    known = [i in source.columns for i in items.names]
    found = np.zeros((len(named), len(items.names)), dtype=np.int32)
    for i in np.flatnonzero(known).tolist():
        found[:, i] = binary(table, items.names[i], source.name)
    return Corpus(
        images=image_of,
        named=named,
        member=members(named, who.names, rule)[0],
        neutral=np.zeros(len(named), dtype=np.bool_),
        items=sparse.csr_matrix(found),
        known=all(known),
    )


def _annotated_groups(source: RawCorpus, who: Who) -> BoolArray:
    """(rows, G): which groups each row of a table has."""
    table = source.needs_table("truth-groups", "no column with the names of the groups")
    if set(who.names) <= set(source.columns):
        return np.stack([binary(table, name, source.name) for name in who.names], axis=1)
    for column in source.columns:
        label = factor(table, column)
        groups = [_group_called(level, who) for level in label.levels]
        if len(label.levels) > 1 and all(g is not None for g in groups):
            of = np.array([[g == name for name in who.names] for g in groups])
            return np.where((label.codes >= 0)[:, None], of[label.codes], False)
    raise UsageError(
        "truth-groups",
        f"no column of the {source.name} holds the names of the groups",
        given=", ".join(source.columns),
        expected=f"a column with {' and '.join(who.names)} (or words for them), or a 0/1 column of each",
    )


def _group_called(level: str, who: Who) -> str | None:
    """The group that a label of a table names, "several" for those that name more; None for another label."""
    if level in (*who.names, "several"):
        return level
    words = {} if who.words is None else who.words.groups
    return next((name for name, own in words.items() if level.strip().lower() in own), None)


def annotated(sources: Mapping[str, RawCorpus]) -> dict[str, RawCorpus]:
    """The tables of annotated people, where there are captions beside them."""
    beside = any(source.kind == "captions" for source in sources.values())
    return {name: s for name, s in sources.items() if beside and s.kind == "labels"}


def annotated_items(tables: Sequence[RawCorpus], items: Items | None, who: Who) -> Items:
    """The items of labels beside captions: those given, which must be columns, or every 0/1 column in common,
    looked for in captions by its name.

    Raises:
        DataError: `missing-column`.
    """
    if items is None:
        found = label_items(tables, None, replace(who, columns=(*who.columns, *who.names)))
        return given_items([name for name in found.names])
    for source in tables:
        for name in items.names:
            require(source.needs_table("items", "no columns of items"), name)
    return items


def image_indices(sources: Sequence[RawCorpus]) -> tuple[list[IntArray], int, bool]:
    """(the image index of each source's rows, number of images in all, whether ids tell which images are the
    same).

    Without ids in every source each row is an image of its own.
    """
    if all(s.ids is not None for s in sources):
        index: dict[str, int] = {}
        numbered = [[index.setdefault(i, len(index)) for i in s.ids or ()] for s in sources]
        return [np.array(n, dtype=np.int64) for n in numbered], len(index), True
    found, start = [], 0
    for source in sources:
        own = np.arange(len(source)) if source.ids is None else Factor.of(list(source.ids)).codes
        found.append(own.astype(np.int64) + start)
        start += len(source) if source.ids is None else len(set(source.ids))
    return found, start, False
