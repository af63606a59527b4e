"""Items: those the user named, those the tables have, or those of the captions themselves: the nouns and
verbs most tied to each group, by part of speech and lemma.

Word *types* are tagged, each in a few of its captions, not every token: a thousandth of the work, and a type
has one part of speech in captions nearly always.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from evenhand._analysis import Analysis
from evenhand._encoding import decode
from evenhand._errors import DataError, UsageError
from evenhand._model import BoolArray, FloatArray
from evenhand.audits.amplification.captions import Tokens, all_words, mentions, tokenise, with_words
from evenhand.audits.amplification.corpus import (
    Items,
    Who,
    annotated,
    annotated_items,
    given_items,
    label_items,
    listed_names,
    members,
    named_by,
    read_items,
)
from evenhand.audits.amplification.reading import Listed, Reading, Tagger
from evenhand.audits.amplification.sources import RawCorpus
from evenhand.embeddings import forms
from evenhand.measures.association import log_odds
from evenhand.terms.groups import GroupWords
from evenhand.texts.roles import parser_of, roles

CONTEXTS = 7
_COMMONEST = """
a an the and or but of in on at to by for with from into onto over under up down out off as is are was were be
been being has have had do does did it its this that these those there here some any no not he she they him
her them his hers their very while who which what where when how s t
"""
_FUNCTION_WORDS = frozenset(_COMMONEST.split())


def mined_items(
    trained: Tokens, others: Sequence[Tokens], member: FloatArray, words: GroupWords | None, how: Reading
) -> tuple[Items, list[tuple[str, str]]]:
    """The `top_n` nouns and verbs most tied to each group in the training captions, and notes on how they
    were found.

    Args:
        trained: tokens of the training captions; others: of the corpora that are counted with the same items.
        member: (captions, G) after the rule.
        words: group and neutral words, which are no items.
        how: its tagger is a callable from the words of a caption to their tags, ``"module:attr"``,
            ``"spacy:MODEL"``, or None for TextBlob's tagger where it is installed, else no tagging.

    Returns:
        items with the kinds "noun" and "verb" (or "word"), and (slug, text) notes.
    """
    notes: list[tuple[str, str]] = []
    matrix = all_words(trained)
    support = np.asarray((matrix.T @ member).sum(axis=1)).ravel()
    excluded = _FUNCTION_WORDS.union(() if words is None else words.words() | set(words.neutral))
    candidates = [
        code
        for code in np.flatnonzero(support >= min(how.min_support, 5)).tolist()
        if (word := trained.words[code]) not in excluded
        and len(word) > 1
        and not any(c.isdigit() for c in word)
    ]
    tagger, lemma = _tagger(how.tagger), None
    if tagger is None:
        why = (
            "No part-of-speech tagger is installed, so all words but the commonest function words are"
            " items: pip install 'evenhand[captions]'."
        )
        notes.append(("no-tagger", why))
        kinds = dict.fromkeys(candidates, "word")
    else:
        kinds = _kinds(trained, candidates, tagger)
        lemma = _lemmatiser()
        if lemma is None:
            why = "lemminflect is not installed, so each form of a word is an item of its own."
            notes.append(("no-lemmas", why))
    concepts = _concepts(trained, others, kinds, lemma, excluded)
    picked = _most_tied(trained, concepts, member, how)
    found = Items(
        names=tuple(f"to {root}" if kind == "verb" else root for root, kind in picked),
        forms=tuple(tuple(sorted(concepts[key])) for key in picked),
        kinds=tuple(kind for _, kind in picked),
    )
    return found, notes


def _tagger(tagger: Tagger | str | None) -> Tagger | None:
    if callable(tagger):
        return tagger
    if isinstance(tagger, str):
        module, _, attribute = tagger.partition(":")
        if module == "spacy":
            return _spacy(attribute)
        try:
            found: Tagger = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError, ValueError) as error:
            raise UsageError(
                "unknown-tagger",
                f"the tagger cannot be imported: {error}",
                given=tagger,
                expected="module:function, or spacy:MODEL",
            ) from None
        return found
    return None if importlib.util.find_spec("textblob") is None else forms.pattern_tagger()


def _spacy(model: str) -> Tagger:
    try:
        spacy = importlib.import_module("spacy")
        pipeline = spacy.load(model)
    except (ImportError, OSError) as error:
        raise UsageError(
            "unknown-tagger",
            f"spaCy's model cannot be loaded: {error}",
            given=model,
            hint="evenhand downloads no models",
        ) from None

    return lambda words: [t.tag_ for t in pipeline(spacy.tokens.Doc(pipeline.vocab, words=words))]


def _kinds(tokens: Tokens, candidates: Sequence[int], tagger: Tagger) -> dict[int, str]:
    """ "noun" or "verb" for each candidate that mostly is one, from the tags in a few captions spread over
    the corpus."""
    order = np.argsort(tokens.codes, kind="stable")
    first = np.searchsorted(tokens.codes[order], np.arange(len(tokens.words) + 1))
    kinds: dict[int, str] = {}
    for code in candidates:
        begin, end = int(first[code]), int(first[code + 1])
        spread = np.unique(np.linspace(begin, end - 1, CONTEXTS).astype(int))
        votes: Counter[str] = Counter()
        for left, position in zip(range(len(spread), 0, -1), order[spread].tolist(), strict=True):
            if _decided(votes, left):
                break
            row = int(np.searchsorted(tokens.starts, position, side="right")) - 1
            votes[_part(tagger, tokens.caption(row), position - int(tokens.starts[row]))] += 1
        best = max(votes, key=lambda k: votes[k])
        if best:
            kinds[code] = best
    return kinds


def _decided(votes: Counter[str], left: int) -> bool:
    """Whether no vote that is left can change who has most."""
    most = [count for _, count in votes.most_common(2)]
    return bool(most) and most[0] > left + (most[1] if len(most) > 1 else 0)


def _part(tagger: Tagger, words: list[str], place: int) -> str:
    tags = list(tagger(words))
    if len(tags) != len(words):
        return ""
    tag = str(tags[place][1] if isinstance(tags[place], tuple | list) else tags[place]).upper()
    starts = {"NN": "noun", "VB": "verb"}  # of the Penn Treebank's tags
    return starts.get(tag[:2]) or {"NOUN": "noun", "VERB": "verb"}.get(tag, "")


def _lemmatiser() -> Callable[[str, str], str] | None:
    try:
        lemminflect = importlib.import_module("lemminflect")
    except ImportError:
        return None

    def lemma(word: str, kind: str) -> str:
        found = lemminflect.getLemma(word, upos=kind.upper())
        return str(found[0]) if found else word

    return lemma


def _concepts(
    tokens: Tokens,
    others: Sequence[Tokens],
    kinds: Mapping[int, str],
    lemma: Callable[[str, str], str] | None,
    excluded: Iterable[str],
) -> dict[tuple[str, str], set[str]]:
    """(lemma, kind) → forms. A form seen only in the outputs joins the lemma that the training captions
    have."""
    concepts: dict[tuple[str, str], set[str]] = {}
    known: set[str] = set()
    for code, kind in kinds.items():
        word = tokens.words[code]
        known.add(word)
        concepts.setdefault((lemma(word, kind) if lemma else word, kind), set()).add(word)
    if lemma:
        _join_verbs(concepts, lemma)
        left = {w for t in others for w in t.words} - known - set(excluded)
        for word in sorted(w for w in left if w.isalpha()):
            if word in tokens.index:
                continue  # the training captions have it, as something else
            for kind in ("noun", "verb"):
                key = (lemma(word, kind), kind)
                if key in concepts:
                    concepts[key].add(word)
                    break
    return concepts


def _join_verbs(concepts: dict[tuple[str, str], set[str]], lemma: Callable[[str, str], str]) -> None:
    """Taggers take "rides" for a plural: a noun seen only inflected belongs to the verb of the same form, if
    there is one."""
    for key in [k for k in concepts if k[1] == "noun" and k[0] not in concepts[k]]:
        verbs = {(lemma(word, "verb"), "verb") for word in concepts[key]}
        if len(verbs) == 1 and (verb := verbs.pop()) in concepts:
            concepts[verb] |= concepts.pop(key)


def _most_tied(
    tokens: Tokens, concepts: Mapping[tuple[str, str], set[str]], member: FloatArray, how: Reading
) -> list[tuple[str, str]]:
    keys = list(concepts)
    if not keys:
        return []
    counts = np.asarray((mentions(tokens, [concepts[k] for k in keys]).T @ member).T, dtype=float)
    enough: BoolArray = counts.sum(axis=0) >= how.min_support
    _, z = log_odds(counts, member.sum(axis=0))
    kinds = np.array([k[1] for k in keys])
    picked: dict[int, float] = {}
    for kind in np.unique(kinds):
        places = np.flatnonzero(enough & (kinds == kind))
        for g in range(counts.shape[0]):
            tied = places[np.argsort(-z[g, places], kind="stable")][: how.top_n]
            picked.update({p: float(z[g, p]) for p in tied.tolist() if z[g, p] > 0})
    return [keys[p] for p in sorted(picked, key=lambda p: (-picked[p], keys[p]))]


# --- who does what
ROLE = "__"
"""Between a lemma and what somebody has to do with it, in the word that a parsed role is counted as."""
SAID = {"agent": "to {} (does)", "object": "to {} (undergoes)", "adjective": "{} (is)"}


def counted_words(sources: Mapping[str, RawCorpus], who: Who, how: Reading) -> dict[str, Tokens]:
    """The words of every corpus of captions; with a parser also the roles of persons, each as one word.

    Raises:
        UsageError: `parser-with-items`, `unknown-parser`.
    """
    tokens = {name: tokenise(s.texts) for name, s in sources.items() if s.kind == "captions"}
    if how.parser is None or who.words is None:
        return tokens
    if how.items is not None:
        raise UsageError(
            "parser-with-items",
            "a parser finds the items, and items are given",
            given=how.items if isinstance(how.items, str) else None,
            hint="leave out items= (--item) or parser= (--parser)",
        )
    parse, people = parser_of(how.parser), who.words.words()
    for name, found in tokens.items():
        texts, own = sources[name].texts, [set[str]() for _ in range(len(found))]
        named = np.flatnonzero(np.asarray(mentions(found, [people]).sum(axis=1)).ravel())
        parsed = parse([" ".join((texts[k] or "").split()) for k in named.tolist()])
        for k, document in zip(named.tolist(), parsed, strict=True):
            found_roles = roles(document, people)
            own[k] = {f"{re.sub('[^a-z]+', '_', lemma)}{ROLE}{kind}" for lemma, kind in found_roles}
        tokens[name] = with_words(found, own)
    return tokens


def _role_items(tokens: Tokens, member: FloatArray, how: Reading) -> Items:
    """The `top_n` deeds, sufferings and adjectives most tied to each group, as the captions parse."""
    parts = [(word, *word.split(ROLE)) for word in tokens.words if ROLE in word]
    concepts = {
        (root, kind): {word} for word, root, kind in (p for p in parts if len(p) == 3) if kind in SAID
    }
    picked = _most_tied(tokens, concepts, member, how)
    return Items(
        names=tuple(SAID[kind].format(root) for root, kind in picked),
        forms=tuple(tuple(concepts[key]) for key in picked),
        kinds=tuple(kind for _, kind in picked),
    )


# --- which items


def items_of(
    sources: Mapping[str, RawCorpus],
    tokens: Mapping[str, Tokens],
    who: Who,
    how: Reading,
    analysis: Analysis,
) -> Items:
    """The items that the user named, or that the tables have, or that are mined."""
    listed = list(sources.values())
    if not tokens:
        skipped = replace(who, columns=(*who.columns, *(listed_names(how.units or None) or ())))
        return label_items(listed, listed_names(how.items), skipped)
    given = None if how.items is None else given_items(_from_file(how.items), plurals=how.plurals)
    labels = [s for name, s in annotated(sources).items() if name != "truth"]
    if labels:
        _say_mixed(sources, labels, analysis)
        return _without_groups(annotated_items(labels, given, who), who, analysis)
    if given is not None:
        return _without_groups(given, who, analysis)
    named, _ = named_by(listed[0], tokens["train"], who)
    member, _ = members(named, who.names, how.rule)
    if how.parser is not None and who.words is not None:
        return _role_items(tokens["train"], member, how)
    others = [t for name, t in tokens.items() if name != "train"]
    items, notes = mined_items(tokens["train"], others, member, who.words, how)
    for slug, text in notes:
        analysis.note(slug, text, warning=slug == "no-tagger")
    return items


def _say_mixed(sources: Mapping[str, RawCorpus], labels: Sequence[RawCorpus], analysis: Analysis) -> None:
    seen = " and ".join(s.name for s in labels)
    told = " and ".join(s.name for s in sources.values() if s.kind == "captions")
    analysis.note(
        "labels-beside-captions",
        f"The {seen} are labels, the {told} captions. A label says what is there, a caption what somebody"
        " found worth saying: items that captions rarely mention, and people whom they leave out, differ"
        " between the two whatever the model does. Captions by people of the same images, as training data,"
        " would tell this apart.",
        warning=True,
    )


def _from_file(items: Listed) -> Listed:
    """The items of the file that is named; what names no file as it is."""
    if not isinstance(items, str | os.PathLike):
        return items
    path = Path(items)
    if path.suffix.lower() not in (".txt", ".json", ".csv") and not path.is_file():
        return items
    if not path.is_file():
        raise DataError("no-such-file", "there is no such file of items", given=path)
    return read_items(str(path), decode(path.read_bytes(), name=path.name))


def _without_groups(items: Items, who: Who, analysis: Analysis) -> Items:
    """Words that name a group are no item's synonyms (COCO's *person* lists man and woman): they would tie it
    by themselves."""
    if who.words is None:
        return items
    words = who.words.words()
    given = dict(zip(items.names, items.forms, strict=True))
    left = {name: tuple(f for f in forms if f not in words) for name, forms in given.items()}
    cut = [name for name, forms in given.items() if len(left[name]) < len(forms)]
    if cut:
        analysis.note(
            "items-name-groups",
            "Words that name a group are not counted as mentions of an item: taken out of"
            f" {', '.join(cut[:8])}.",
        )
    kept = [i for i, forms in enumerate(left.values()) if forms]
    if not kept:
        raise UsageError("items", "all items are words that name a group", given=", ".join(items.names[:8]))
    return replace(items, forms=tuple(left.values())).only(kept)
