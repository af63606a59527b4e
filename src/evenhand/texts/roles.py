"""Who does what in a sentence: the verbs that a person does or undergoes and the adjectives that describe
them, read from a dependency parse.

The parse comes from spaCy or anything that gives its tokens; nothing is downloaded. Labels of spaCy's English
models (nsubj, dobj, agent) and of Universal Dependencies (nsubj:pass, obj, obl:agent) are both understood.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

from evenhand._errors import UsageError

KINDS = ("agent", "object", "adjective")
"""What a person does; what is done to a person; what a person is said to be."""
SUBJECTS = ("nsubj", "csubj")
PASSIVE = ("nsubjpass", "nsubj:pass")
OBJECTS = ("dobj", "obj", "dative", "iobj")


class Token(Protocol):
    """What is read of a parsed word: the attributes that spaCy gives it."""

    i: int
    text: str
    lemma_: str
    pos_: str
    tag_: str
    dep_: str

    @property
    def head(self) -> Token:
        """The word it hangs on; itself at the root."""
        ...

    @property
    def children(self) -> Iterable[Token]:
        """The words that hang on it."""
        ...


Parser: TypeAlias = Callable[[Sequence[str]], Iterable[Iterable[Token]]]
"""Texts → the tokens of each, in their order; e.g. ``nlp.pipe`` of spaCy."""


def parser_of(given: object) -> Parser:
    """A parser: ``"spacy:MODEL"`` (installed by the user), ``"module:attr"``, spaCy's pipeline, a callable.

    Raises:
        UsageError: `unknown-parser`.
    """
    found: Any = given
    if isinstance(given, str):
        module, _, name = given.partition(":")
        try:
            if module == "spacy":
                found = importlib.import_module("spacy").load(name)
            else:
                found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError, OSError) as error:
            raise UsageError(
                "unknown-parser",
                f"the parser cannot be loaded: {error}",
                given=given,
                expected="spacy:MODEL, or module:function",
                hint="pip install 'evenhand[parser]' and a model of spaCy's; evenhand downloads none",
            ) from None
    pipe = getattr(found, "pipe", found)
    if not callable(pipe):
        raise UsageError(
            "unknown-parser", "this is no parser", given=type(given).__name__, expected="spacy:MODEL"
        )
    parser: Parser = pipe
    return parser


def roles(tokens: Iterable[Token], people: Collection[str]) -> set[tuple[str, str]]:
    """(lemma, kind) of every role that a person has in one parsed text; `kind` is one of `KINDS`.

    Args:
        tokens: in their order. people: words that name the persons who are meant, lower case.

    "A man holding a child watches a dog that bites the woman": the man holds and watches, the woman is
    bitten, and the dog's biting is nobody's deed.
    """
    listed, found = list(tokens), set()
    for person in listed:
        if person.text.lower() in people:
            verbs = {(verb.i, kind): (verb, kind) for verb, kind in _verbs(person)}
            found |= {(verb.lemma_.lower(), kind) for verb, kind in verbs.values()}
            found |= {(adjective.lemma_.lower(), "adjective") for adjective in _adjectives(person)}
    return found


def _verbs(person: Token) -> Iterator[tuple[Token, str]]:
    """The verbs of a person, and whether they do or undergo them."""
    noun = _first_of(person)
    head = noun.head
    if noun.dep_ in SUBJECTS and head.pos_ == "VERB":
        yield from _with_others(head, "agent")
    elif noun.dep_ in SUBJECTS and head.pos_ == "AUX":  # "a man is on a horse, riding": is says nothing
        yield from (
            (v, kind) for c in head.children if c.dep_ == "advcl" for v, kind in _with_others(c, "agent")
        )
    elif noun.dep_ in PASSIVE:
        yield from _with_others(head, "object")
    elif noun.dep_ in OBJECTS and head.pos_ == "VERB":
        yield head, "object"
    elif noun.dep_ == "obl:agent":
        yield head, "agent"
    elif noun.dep_ == "pobj" and head.dep_ == "agent":
        yield head.head, "agent"
    for child in noun.children:
        if child.pos_ != "VERB" or child.i < noun.i:
            continue
        if child.dep_ in ("acl", "acl:relcl", "relcl"):
            yield from _clause(child)


def _clause(verb: Token) -> Iterator[tuple[Token, str]]:
    """The verb of a clause about a noun: "a man riding", "a man seated", "a man who rides", "a man whom she
    sees"."""
    own = [c for c in verb.children if c.dep_ in (*SUBJECTS, *PASSIVE)]
    relative = [c for c in own if c.tag_ in ("WDT", "WP") or c.text.lower() in ("who", "that", "which")]
    if relative:
        yield from _with_others(verb, "object" if relative[0].dep_ in PASSIVE else "agent")
    elif own:
        yield verb, "object"
    else:
        yield from _with_others(verb, "object" if verb.tag_ == "VBN" else "agent")


def _with_others(verb: Token, kind: str) -> Iterator[tuple[Token, str]]:
    """A verb, and those joined to it, or depending on it, without a subject of their own: "sits and reads",
    "tries to catch", "stands holding"."""
    yield verb, kind
    for child in verb.children:
        if child.pos_ == "VERB" and child.dep_ in ("conj", "xcomp", "advcl"):
            own = [c for c in child.children if c.dep_ in (*SUBJECTS, *PASSIVE)]
            passive = child.tag_ == "VBN" and any(c.dep_ in ("auxpass", "aux:pass") for c in child.children)
            if not own:
                same = kind if child.dep_ == "conj" and kind == "object" else "agent"
                yield from _with_others(child, "object" if passive else same)


def _first_of(person: Token) -> Token:
    """The first of joined nouns: "a boy and a man ride" has one subject."""
    noun = person
    while noun.dep_ == "conj" and noun.head is not noun and noun.head.pos_ in ("NOUN", "PROPN", "PRON"):
        noun = noun.head
    return noun


def _adjectives(person: Token) -> Iterator[Token]:
    """ "A young man", "the man is young"."""
    yield from (c for c in person.children if c.dep_ == "amod" and c.pos_ in ("ADJ", "VERB"))
    head = person.head
    if person.dep_ in SUBJECTS:
        if head.pos_ == "ADJ":  # Universal Dependencies
            yield head
        elif head.pos_ in ("AUX", "VERB"):
            yield from (c for c in head.children if c.dep_ == "acomp" and c.pos_ == "ADJ")
