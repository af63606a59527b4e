"""Corpora side by side: who each row names, which items it mentions, and which image it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from evenhand._errors import DataError, UsageError
from evenhand._model import BoolArray, Factor, FloatArray, IntArray
from evenhand._table import factor, require
from evenhand.audits.amplification.captions import Tokens, mentions, tokenise, with_plurals
from evenhand.audits.amplification.sources import ID_COLUMNS, TEXT_COLUMNS, RawCorpus, binary, binary_columns
from evenhand.terms.groups import GroupWords, group_words, is_group_list

Rule: TypeAlias = Literal["exactly-one", "any", "both"]
Pool: TypeAlias = Literal["caption", "image"]
RULES: Mapping[str, str] = {
    "exactly-one": "a caption that names several groups counts for none",
    "any": "a caption that names several groups counts for each of them",
    "both": "captions that name several groups are a group of their own",
}
DEFAULT_GROUPS = "groups/women-snowboard"
GROUP_COLUMNS = ("gender", "sex", "group", "race")


@dataclass(frozen=True, kw_only=True)
class Grouping:
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
    """One corpus, counted.

    Args:
        name: "train", "outputs", "truth". rows: captions (or labelled people).
        images: (rows,) index of the image of each row, in the index shared by all corpora.
        named: (rows, G0) which groups a row names, before the rule; member: (rows, G) after it.
        neutral: (rows,) names a person of no group, and no group.
        items: sparse 0/1 (rows, I). tokens: of the captions, None for labels. known: whether items were
            looked for at all.
    """

    name: str
    images: IntArray
    named: BoolArray
    member: FloatArray
    neutral: BoolArray
    items: Any
    tokens: Tokens | None = None
    texts: Sequence[str | None] = field(default_factory=tuple)
    known: bool = True

    def __len__(self) -> int:
        return len(self.images)

    def take(self, rows: IntArray) -> Corpus:
        """Some rows of it. Tokens stay those of all rows, so they are dropped."""
        return replace(
            self,
            images=self.images[rows],
            named=self.named[rows],
            member=self.member[rows],
            neutral=self.neutral[rows],
            items=self.items[rows],
            tokens=None,
            texts=[self.texts[r] for r in rows.tolist()] if len(self.texts) else (),
        )

    def counts(self) -> FloatArray:
        """c(o, g), shape (G, I): one sparse product."""
        return np.asarray((self.items.T @ self.member).T, dtype=float)

    def rows_of(self) -> FloatArray:
        """(G,) rows of each group."""
        return np.asarray(self.member.sum(axis=0), dtype=float)


def grouping(groups: Any, sources: Sequence[RawCorpus], *, plurals: bool = False) -> Grouping:
    """Who is compared: a column that every source has, several 0/1 columns, or lists of words.

    Raises:
        UsageError: labels without a group column. TermsError: an unknown list.
    """
    tables = [set(s.table.column_names) if s.table is not None else set() for s in sources]
    common = set.intersection(*tables) if tables else set()
    if isinstance(groups, list | tuple) and groups and all(g in common for g in groups):
        return Grouping(names=tuple(map(str, groups)), columns=tuple(groups))
    if isinstance(groups, list | tuple) and len(groups) == 1:
        groups = groups[0]
    if isinstance(groups, str) and groups in common:
        return _by_column(groups, sources)
    if all(s.kind == "captions" for s in sources):
        chosen = DEFAULT_GROUPS if groups is None else groups
        if isinstance(chosen, list | tuple):
            raise UsageError(
                "unknown-groups", "not every table has these columns", given=", ".join(map(str, chosen))
            )
        words = group_words(chosen, plurals=plurals)
        return Grouping(names=words.names, words=words)
    if groups is None:
        usual = next((c for c in GROUP_COLUMNS if c in common), None)
        if usual is not None:
            return _by_column(usual, sources)
    _refuse_group(groups, common)
    raise UsageError("no-groups", "no column tells the groups")


def _refuse_group(groups: Any, common: set[str]) -> None:
    if isinstance(groups, str) and is_group_list(groups):
        hint = "lists of words need captions; a table of labels needs a column"
    else:
        hint = "name the column with groups= (--groups); every table needs it"
    raise UsageError(
        "no-groups",
        "no column tells the groups of these rows",
        given=groups,
        available=sorted(common),
        hint=hint,
    )


def _by_column(column: str, sources: Sequence[RawCorpus]) -> Grouping:
    levels: dict[str, None] = {}
    for source in sources:
        if source.table is not None:
            levels.update(dict.fromkeys(sorted(factor(source.table, column).levels)))
    if len(levels) < 2:
        raise DataError(
            "one-group",
            f"the column {column!r} holds fewer than two groups",
            given=", ".join(levels) or "(nothing)",
        )
    return Grouping(names=tuple(levels), columns=(column,))


def named_by(source: RawCorpus, tokens: Tokens | None, who: Grouping) -> tuple[BoolArray, BoolArray]:
    """(which groups each row names (rows, G), which rows name a person of no group)."""
    if who.words is not None and tokens is not None:
        lists = [who.words.groups[g] for g in who.names]
        found = mentions(tokens, [*lists, who.words.neutral]).toarray().astype(np.bool_)
        return found[:, :-1], found[:, -1] & ~found[:, :-1].any(axis=1)
    table = source.table
    if table is None:
        raise UsageError("no-groups", f"the {source.name} has no columns, so none tells the groups")
    if len(who.columns) == 1:
        label: Factor = factor(table, who.columns[0])
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


@dataclass(frozen=True, kw_only=True)
class Items:
    """What is counted: the items' names, and the forms that mention each (captions) or the columns
    (labels)."""

    names: tuple[str, ...]
    forms: tuple[tuple[str, ...], ...] = ()
    given: bool = True
    how: str = "given"
    kinds: tuple[str, ...] = ()


def given_items(items: Any, *, plurals: bool = False) -> Items:
    """Items as the user gave them: names; a mapping of name to synonyms; or a file (COCO's synonyms, one item
    a line).

    A word counts as it is written; with `plurals` its regular plural counts too.

    >>> given_items({"sofa": ["couch"], "dog": []}).forms
    (('sofa', 'couch'), ('dog',))
    """
    if isinstance(items, Mapping):
        forms = {str(k): [str(k), *([v] if isinstance(v, str) else list(v))] for k, v in items.items()}
    else:
        listed = [items] if isinstance(items, str) else list(items)
        if not all(isinstance(i, str) for i in listed):
            raise UsageError("items", "items are texts", given=listed[:3], expected='["umbrella", "tie"]')
        forms = {i: [i] for i in listed}
    if not forms:
        raise UsageError("items", "the list of items is empty", hint="leave items out to have them mined")
    tidy = {k: tuple(dict.fromkeys(w.strip().lower() for w in v if w.strip())) for k, v in forms.items()}
    if plurals:
        tidy = {k: tuple(with_plurals(v)) for k, v in tidy.items()}
    return Items(names=tuple(tidy), forms=tuple(tidy.values()))


def read_items(path: str, text: str) -> dict[str, list[str]]:
    """Items of a file: JSON {item: [synonyms]} or [items]; else one item a line, with its synonyms after
    commas."""
    import json

    if path.lower().endswith(".json"):
        try:
            value = json.loads(text)
        except ValueError as error:
            raise DataError("unreadable-file", f"the file is not JSON: {error}", given=path) from error
        if isinstance(value, dict):
            return {str(k): [v] if isinstance(v, str) else [str(s) for s in v] for k, v in value.items()}
        return {str(v): [] for v in value}
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        parts = [p.strip() for p in line.split(",") if p.strip()]
        if parts:
            found.setdefault(parts[0], []).extend(parts[1:])
    return found


def build(
    source: RawCorpus,
    who: Grouping,
    items: Items,
    *,
    rule: Rule,
    pool: Pool,
    image_of: IntArray,
    tokens: Tokens | None,
) -> Corpus:
    """Count one source: groups and items of each row, or of each image where captions are pooled."""
    named, neutral = named_by(source, tokens, who)
    matrix = _item_matrix(source, items, tokens)
    if pool == "image":
        named, neutral, matrix, image_of = _pooled(named, neutral, matrix, image_of)
        tokens = None
    member, _ = members(named, who.names, rule)
    texts = source.texts if pool == "caption" else ()
    return Corpus(
        name=source.name,
        images=image_of,
        named=named,
        member=member,
        neutral=neutral,
        items=matrix,
        tokens=tokens,
        texts=texts,
    )


def annotation(source: RawCorpus, who: Grouping, items: Items, rule: Rule, image_of: IntArray) -> Corpus:
    """People annotated in a table (a column that holds the groups' names), as the truth of outputs that are
    captions.

    Items are the columns of their names; items without a column are unknown, so nothing is said about them.

    Raises:
        UsageError: `truth-groups` where no column holds the groups' names.
    """
    from scipy import sparse

    table = source.table
    columns = [] if table is None else table.column_names
    found = None
    for column in columns:
        levels = set(factor(table, column).levels) if table is not None else set()
        if levels and levels <= {*who.names, "several"} and len(levels) > 1:
            found = column
            break
    if table is None or found is None:
        raise UsageError(
            "truth-groups",
            "no column of the truth holds the names of the groups",
            given=", ".join(columns),
            expected=f"a column with {' and '.join(who.names)}",
        )
    label = factor(table, found)
    named = np.stack([label.is_level(g) for g in who.names], axis=1)
    member, _ = members(named, who.names, rule)
    known = [
        binary(table, i, source.name).astype(np.int32) if i in columns else np.zeros(len(named))
        for i in items.names
    ]
    matrix = sparse.csr_matrix(np.stack(known, axis=1)) if known else sparse.csr_matrix((len(named), 0))
    return Corpus(
        name=source.name,
        images=image_of,
        named=named,
        member=member,
        neutral=np.zeros(len(named), dtype=np.bool_),
        items=matrix.astype(np.int32),
        known=all(i in columns for i in items.names),
    )


def annotated_truth(sources: Mapping[str, RawCorpus]) -> RawCorpus | None:
    """The truth, where it is a table of annotated people beside captions."""
    truth = sources.get("truth")
    beside = truth is not None and truth.kind == "labels" and sources["train"].kind == "captions"
    return truth if beside else None


def _item_matrix(source: RawCorpus, items: Items, tokens: Tokens | None) -> Any:
    from scipy import sparse

    if tokens is not None:
        return mentions(tokens, items.forms)
    table = source.table
    if table is None:
        raise UsageError("items", f"the {source.name} has no columns of items")
    for name in items.names:
        require(table, name)
    dense = [
        sparse.csc_matrix(binary(table, name, source.name)[:, None].astype(np.int32)) for name in items.names
    ]
    return sparse.hstack(dense).tocsr() if dense else sparse.csr_matrix((table.num_rows, 0), dtype=np.int32)


def _pooled(
    named: BoolArray, neutral: BoolArray, matrix: Any, image_of: IntArray
) -> tuple[BoolArray, BoolArray, Any, IntArray]:
    from scipy import sparse

    kept, index = np.unique(image_of, return_inverse=True)
    gather = sparse.csr_matrix(
        (np.ones(len(index), dtype=np.int32), (index, np.arange(len(index)))), shape=(len(kept), len(index))
    )
    joined = (gather @ matrix).tocsr()
    joined.data[:] = 1
    together = np.asarray(gather @ named.astype(np.int32)) > 0
    plain = (np.asarray(gather @ neutral.astype(np.int32)) > 0) & ~together.any(axis=1)
    return together, plain, joined, kept


def label_items(sources: Sequence[RawCorpus], items: Sequence[str] | None, who: Grouping) -> Items:
    """The item columns of tables of labels: those named, or every 0/1 column that all of them have."""
    if items is not None:
        return Items(names=tuple(items))
    found: list[str] | None = None
    for source in sources:
        if source.table is None:
            continue
        taken = {*who.columns, *TEXT_COLUMNS, *ID_COLUMNS}
        columns = binary_columns(
            source.table, {c for c in source.table.column_names if c in taken or c.lower() in ID_COLUMNS}
        )
        found = columns if found is None else [c for c in found if c in columns]
    if not found:
        raise UsageError(
            "no-items",
            "the tables have no 0/1 column in common",
            available=sources[0].table.column_names if sources[0].table is not None else [],
            hint="name the item columns with items= (--item)",
        )
    return Items(names=tuple(found), how="every 0/1 column of both tables")


def image_indices(sources: Sequence[RawCorpus]) -> tuple[list[IntArray], int, bool]:
    """(the image index of each source's rows, number of images in all, whether ids tell which images are the
    same).

    Without ids in every source each row is an image of its own.
    """
    if all(s.ids is not None for s in sources):
        index: dict[str, int] = {}
        found = [
            np.fromiter(
                (index.setdefault(i, len(index)) for i in (s.ids or ())),
                dtype=np.int64,
                count=len(s.ids or ()),
            )
            for s in sources
        ]
        return found, len(index), True
    found, start = [], 0
    for source in sources:
        if source.ids is not None:
            own = Factor.of(list(source.ids))
            found.append(own.codes.astype(np.int64) + start)
            start += len(own.levels)
        else:
            n = (
                len(source.texts)
                if source.kind == "captions"
                else (source.table.num_rows if source.table is not None else 0)
            )
            found.append(np.arange(start, start + n, dtype=np.int64))
            start += n
    return found, start, False


def tokens_of(source: RawCorpus) -> Tokens | None:
    """The tokens of a corpus of captions."""
    return tokenise(source.texts) if source.kind == "captions" else None


Tagger: TypeAlias = Callable[[list[str]], Sequence[Any]]
