"""Whether a "her" is an object or a determiner, learnt from texts where "him" and "his" say which."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

from evenhand.plans._agreement import CONJUNCTIONS, DETERMINERS, OBJECTS, PREPOSITIONS, SUBJECTS
from evenhand.plans._collocations import is_surely_an_object
from evenhand.plans._edits import Edits
from evenhand.plans._roles import NUMBERS, is_determiner, noun_may_follow
from evenhand.plans._verbs import (
    AMBIGUOUS,
    MODALS,
    SURE,
    TO_PLURAL,
    TO_SINGULAR,
    is_adverb,
    is_participle_ing,
    is_past,
    to_base,
)
from evenhand.plans._words import Words, word_set

Kinds: TypeAlias = Mapping[str, tuple[str, str]]
"""Word → its kind by the words that it stands beside in texts, coarse (of 64) and fine (of 200)."""
_Tokens: TypeAlias = tuple[tuple[str, str], ...]
BUCKETS = 1 << 18
CERTAIN = 0.97
NO_WORD_FOLLOWS = 0.995
_PUNCTUATION = re.compile(r"\.\.+|…|--|[^\s\w]")
_ENTITIES = frozenset(("amp", "lt", "gt", "quot", "nbsp", "apos"))
_SAME = {
    **dict.fromkeys(("he", "she"), "she"),
    **dict.fromkeys(("him", "his", "her", "hers"), "her"),
    **dict.fromkeys(("himself", "herself"), "herself"),
    **dict.fromkeys(("he's", "she's"), "she's"),
    **dict.fromkeys(("husband", "wife"), "spouse"),
    **dict.fromkeys(("boyfriend", "girlfriend"), "lover"),
    **dict.fromkeys(("man", "woman"), "person"),
    **dict.fromkeys(("boy", "girl"), "kid"),
    **dict.fromkeys(("mother", "father"), "parent"),
    **dict.fromkeys(("mom", "dad", "mum", "daddy", "mommy"), "mum"),
    **dict.fromkeys(("brother", "sister"), "sibling"),
    **dict.fromkeys(("son", "daughter"), "child"),
    **dict.fromkeys(("mr", "mrs", "ms", "miss"), "mr"),
}
_BE = word_set("is are was were am be been being i'm you're they're it's she's isn't wasn't")
_HAVE = word_set("has have had having hasn't haven't hadn't i've")
_DITRANSITIVE = word_set(
    "give gives gave given giving offer offers offered tell tells told telling send sends sent show shows "
    "showed ask asks asked teach taught grant granted award awarded promise promised wish wished owe owed "
    "deny denied cost costs pay paid call calls called name named lend lent hand handed bring brought buy "
    "bought earn earned win won make made do did get got serve served cause caused allow allowed"
)
_PERCEPTION = word_set(
    "let lets letting make makes made making help helps helped helping see sees saw seen seeing watch "
    "watched hear heard feel felt have had find found keep kept catch caught leave left notice noticed"
)


@cache
def _classes(token: str) -> tuple[str, ...]:
    """What kinds of word a token can be, the most telling first."""
    if not token[:1].isalnum():
        return ("edge",)
    kinds = [
        name
        for name, holds in (
            ("number", token.isdigit()),
            ("determiner", token in DETERMINERS),
            ("be", token in _BE),
            ("have", token in _HAVE),
            ("modal", token in MODALS),
            ("auxiliary", token in TO_PLURAL or token in TO_SINGULAR),
            ("subject", token in SUBJECTS),
            ("object", token in OBJECTS),
            ("conjunction", token in CONJUNCTIONS),
            ("preposition", token in PREPOSITIONS),
            ("ditransitive", token in _DITRANSITIVE),
            ("perception", token in _PERCEPTION),
            ("adverb", is_adverb(token)),
            ("past", is_past(token)),
            ("ing", is_participle_ing(token)),
            ("verb", token in SURE),
            ("verb or noun", token in AMBIGUOUS),
            ("third", to_base(token) in SURE),
            ("third or plural", to_base(token) in AMBIGUOUS),
            ("possessive", token.endswith("'s")),
            ("plural", token.endswith("s") and not token.endswith("ss")),
            ("adjective", token.endswith(("ful", "less", "ous", "able", "ible", "ive", "ic", "al"))),
            ("abstract", token.endswith(("tion", "ment", "ness", "ity", "ance", "ence", "ship"))),
        )
        if holds
    ]
    return tuple(kinds) or ("word",)


def _tokens(words: Words, i: int, step: int, most: int) -> list[tuple[str, str]]:
    """The tokens on one side of word i, nearest first, as (as features see it, as written).

    Punctuation between words is a token of its own; "^" ends a side.
    """
    found: list[tuple[str, str]] = []
    k = i
    while len(found) < most:
        marks = _PUNCTUATION.findall(words.gap(k if step > 0 else k - 1))
        k += step
        if marks:
            mark = "#" if "#" in marks else marks[0] if step > 0 else marks[-1]
            entity = marks[-1] == "&" and words.at(k) in _ENTITIES  # &amp; of a web page
            found.append((words.low[k],) * 2 if entity else (mark, mark))
            k += step * (entity or (mark == "#" and words.at(k).isdigit()))
        if not 0 <= k < len(words):
            break
        low = words.low[k]
        found.append((_SAME.get(low, low), words.words[k]))
    found += [("^", "^")] * (most - len(found))
    return found[:most]


def features(words: Words, i: int, *, rule: bool, unsure: bool, kinds: Kinds) -> list[str]:
    """What the model sees of the "her" at word i.

    Args:
        words: the text.
        i: the word.
        rule: what the rules say: whether it is a determiner.
        unsure: whether the rules flagged it.
        kinds: word → its kinds by the company it keeps, coarse and fine.
    """
    return _features(*_window(words, i), rule=rule, unsure=unsure, kinds=kinds)


def _window(words: Words, i: int) -> tuple[_Tokens, _Tokens, bool]:
    """The tokens before and after word i, nearest first, and whether it is in capitals."""
    return tuple(_tokens(words, i, -1, 3)), tuple(_tokens(words, i, 1, 5)), words.words[i].isupper()


def _features(
    left: _Tokens, right: _Tokens, shouted: bool, *, rule: bool, unsure: bool, kinds: Kinds
) -> list[str]:
    (p1, before), (p2, _), (p3, _) = left
    (n1, after), (n2, after2), (n3, _), (n4, _), _ = right
    c1, c2, c3, b1, b2 = (_classes(t)[0] for t in (n1, n2, n3, p1, p2))
    said = f"{rule:d}{unsure:d}"
    cap = f"{after[:1].isupper():d}{after2[:1].isupper():d}{shouted:d}"
    out = [
        "bias",
        f"r {said}",
        f"r+ {said} {c1}",
        f"r- {said} {b1}",
        f"r= {said} {b1} {c1} {c2}",
        f"a {n1}",
        f"b {n2}",
        f"c {n3}",
        f"d {n4}",
        f"x {p1}",
        f"y {p2}",
        f"z {p3}",
        f"a3 {n1[-3:]}",
        f"a2 {n1[-2:]}",
        f"b3 {n2[-3:]}",
        f"b2 {n2[-2:]}",
        f"x3 {p1[-3:]}",
        f"ab {n1} {n2}",
        f"xa {p1} {n1}",
        f"xy {p1} {p2}",
        f"aB {n1} {c2}",
        f"Ab {c1} {n2}",
        f"xA {p1} {c1}",
        f"xAB {p1} {c1} {c2}",
        f"Xa {b1} {n1}",
        f"XaB {b1} {n1} {c2}",
        f"XA {b1} {c1}",
        f"XAB {b1} {c1} {c2}",
        f"AB {c1} {c2}",
        f"ABc {c1} {c2} {c3}",
        f"YXA {b2} {b1} {c1}",
        f"YXAB {b2} {b1} {c1} {c2}",
        f"a3B {n1[-3:]} {c2}",
        f"xa3 {p1} {n1[-3:]}",
        f"cap {cap}",
        f"capx {cap} {p1}",
        f"capA {cap} {c1} {c2}",
        f"capX {before[:1].isupper():d}",
    ]
    for slot, token in (("a", n1), ("b", n2), ("x", p1)):
        out += [f"{slot}: {kind}" for kind in _classes(token)]
    return out + _by_company(said, [t for t, _ in left], [t for t, _ in right], kinds)


def _by_company(said: str, left: list[str], right: list[str], kinds: Kinds) -> list[str]:
    """Features of the kinds of the words around: nouns that were never seen after "his" are nouns."""
    after = [kinds.get(t.lower(), ("?", "?")) for t in right]
    before = [kinds.get(t.lower(), ("?", "?")) for t in left]
    (a, fine_a), (b, fine_b), (c, fine_c), (d, _), _ = after
    (x, fine_x), (y, _), _ = before
    (p1, p2, p3), (n1, n2, n3, n4, n5) = left, right
    return [
        f"ka {fine_a}",
        f"kb {fine_b}",
        f"kc {fine_c}",
        f"kx {fine_x}",
        f"kab {fine_a} {fine_b}",
        f"kabc {a} {b} {c}",
        f"kabcd {a} {b} {c} {d}",
        f"kxa {fine_x} {fine_a}",
        f"kxab {x} {a} {b}",
        f"kyxa {y} {x} {a}",
        f"kyxab {y} {x} {a} {b}",
        f"kpa {p1} {fine_a}",
        f"kpab {p1} {a} {b}",
        f"kxn {fine_x} {n1}",
        f"knb {n1} {fine_b}",
        f"kan {fine_a} {n2}",
        f"knbc {n1} {b} {c}",
        f"kr {said} {fine_a}",
        f"krab {said} {a} {b}",
        f"k4 {n1[-4:]} {fine_b}",
        f"k3 {p1} {n1[-3:]} {fine_b}",
        f"wd {n4}",
        f"we {n5}",
        f"wxyz {p1} {p2} {p3}",
        f"wxab {p1} {n1} {n2}",
        f"wyxa {p2} {p1} {n1}",
        f"wabc {n1} {n2} {n3}",
    ]


def bucket(feature: str) -> int:
    """The place of a feature's weight."""
    return crc32(feature.encode()) % BUCKETS


@cache
def _learnt() -> tuple[npt.NDArray[np.int8], float, Kinds]:
    """The weights, what one step of them is worth, and the kinds of words."""
    shipped = files("evenhand.plans") / "data" / "her.npz"
    with shipped.open("rb") as file, np.load(file) as stored:
        words = stored["words"].tobytes().decode().split("\n")
        kinds = {w: (str(k), str(f)) for w, k, f in zip(words, *stored["kinds"].tolist(), strict=True)}
        return stored["weights"], float(stored["scale"]), kinds


def chance_of_determiner(words: Words, i: int, *, rule: bool, unsure: bool) -> float:
    """The model's probability that the "her" at word i belongs to a noun (her book), between 0 and 1."""
    return _chance(*_window(words, i), rule, unsure)


@lru_cache(maxsize=1 << 14)  # an audit writes one text with many sets of pronouns
def _chance(left: _Tokens, right: _Tokens, shouted: bool, rule: bool, unsure: bool) -> float:
    weights, scale, kinds = _learnt()
    seen = _features(left, right, shouted, rule=rule, unsure=unsure, kinds=kinds)
    total = int(weights[[bucket(f) for f in seen]].sum(dtype=np.int64)) * scale
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, total))))


def belongs(words: Words, i: int, edits: Edits) -> tuple[bool, float]:
    """Whether the "her" at word i belongs to a noun (her book) rather than being an object (saw her), and how
    sure that is.

    The rules decide where no word follows in the phrase, or none that "her" could go with, and before numbers
    (the model takes "met her two sons" for "gave her two"); elsewhere the model, which hears what they say. A
    chance from 0.03 to 0.97 is flagged.
    """
    if not noun_may_follow(words, i) or is_surely_an_object(words, i):
        return False, NO_WORD_FOLLOWS
    doubts = Edits()
    rule = is_determiner(words, i, doubts)
    chance = chance_of_determiner(words, i, rule=rule, unsure=bool(doubts.flags))
    if CERTAIN > chance > 1 - CERTAIN:
        said = " ".join(w for w in (words.at(i - 1), words.low[i], words.at(i + 1)) if w)
        edits.flag(f"'{said}': object or possessive?", sure=1)
    belonging = rule if words.at(i + 1) in NUMBERS else chance > 0.5
    return belonging, max(0.5, chance if belonging else 1 - chance)
