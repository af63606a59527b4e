"""Whether "her" is an object or a determiner, and whether "his" is a determiner or stands alone."""

from __future__ import annotations

import re

from evenhand.plans._agreement import CONJUNCTIONS, DETERMINERS, OBJECTS, PREPOSITIONS, SUBJECTS
from evenhand.plans._edits import Edits
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

_AUX = frozenset(TO_PLURAL) | frozenset(TO_SINGULAR) | MODALS | {"am", "been", "being", "be"}
FUNCTION = (
    (DETERMINERS - word_set("one two three four five six seven eight nine ten several many few all both"))
    | OBJECTS
    | PREPOSITIONS
    | CONJUNCTIONS
    | SUBJECTS
    | _AUX
    | word_set(
        "because when if while who whom which what where why how than though although since unless so again "
        "yesterday today tomorrow there here alone anything something everything nothing too not enough let "
        "once ago now tonight later afterwards soon often always never everywhere somewhere anywhere "
        "instead together either well right straight him them us me anyway someone anyone aside apart home "
        "upon via per despite except throughout besides beyond amid among amongst beneath beside behind "
        "below above concerning inside outside till whilst whereas hence http https cause cuz cos tho rn "
        "lol lmao smh bc lmfao omg wtf we're they're i'm that's it's there's i've i'll i'd"
    )
)
# function words that also begin a noun phrase after "her"
_ALSO_ADJECTIVE = word_set(
    "very own then now once so well right home back out up down like off over near away"
)
NUMBERS = word_set(
    "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred "
    "several many few"
)
_ORDINALS = word_set(
    "first second third fourth fifth sixth seventh eighth ninth tenth last fourteenth twentieth"
)
_LEAVE = word_set("leave leaves left leaving secure secures secured securing earn earns earned earning")
_HELD = word_set(
    "hold holds held holding take takes took taken taking keep keeps kept leave leaves left leaving "
    "believe believes believed find finds found prove proves proved proven render rendered make makes "
    "made making consider considered think thinks thought declare declared"
)
_STATES_AFTER = word_set(
    "hostage captive prisoner responsible accountable dead alive wrong right guilty innocent unable "
    "able capable incapable aware eligible unprotected slipping"
)
_NAMED = word_set(
    "rechristen rechristening rechristened christen christened rename renamed dub dubbed dubbing name "
    "named naming nickname nicknamed call called calls crown crowned make made makes title titled style "
    "styled call calling"
)
_QUANTITIES = word_set("much plenty enough more")
_WENT = word_set("went came sprang began took gave ran knew grew became fell wrote told asked seems seemed")
_EARNED = word_set(
    "earn earns earned earning win wins won winning procure procured secure secured securing afford "
    "afforded grant granted enable enabled allow allowed gain gained garner garnered bring brings "
    "brought net netted land landed"
)
_ACCLAIM = word_set(
    "praise recognition acclaim fame notoriety access admission entry entrance permission access accolades"
    " nominations notice acclaim points membership"
)
_TAUGHT = word_set("teach teaches taught teaching")
_PUPILS = word_set("class classes course courses pupils lessons language subject skills trade")
_HURT = word_set("hurt hurts injure injured injures break broke broken strain strained throw threw on in of")
_MOVES = word_set(
    "send sends sent sending take takes took taken taking drive drives drove driving bring brings brought"
    " bringing walk "
    "walks walked walking call calls called calling want wants wanted get gets got put puts pay paid turn"
    " turned push "
    "pushed pull pulled hold held win won follow followed let accompany accompanied see saw carry carried"
    " escort escorted "
    "invite invited fly flew keep kept treat treated serve served help helped"
)
_APPOINT = word_set(
    "elect elected electing appoint appointed appointing name named crown crowned declare declared "
    "pronounce pronounced"
)
_CAUSATIVE = word_set(
    "let lets letting make makes made making help helps helped helping have having see sees saw seeing "
    "hear hears heard hearing watch watches watched watching feel feels felt bid"
)
_PERCEIVE = _CAUSATIVE | word_set(
    "find finds found finding catch catches caught keep keeps kept keeping leave leaves left leaving "
    "notice notices noticed spot spotted remember remembers remembered stop stops stopped imagine picture "
    "pictured"
)
_RESULT = word_set(
    "make makes made making keep keeps kept keeping find finds found finding drive drives drove call "
    "calls called calling consider considers considered considering think thinks thought get gets got "
    "leave leaves left set sets render rendered turn turns turned declare declared pronounce pronounced "
    "deem deemed name named elect elected"
)
_GIVE = frozenset(
    f"{b}{s}"
    for b in (
        "tell",
        "send",
        "show",
        "bring",
        "teach",
        "ask",
        "award",
        "grant",
        "wish",
        "promise",
        "owe",
        "offer",
        "hand",
        "lend",
        "deny",
        "pay",
        "cost",
        "allow",
        "call",
        "name",
        "wish",
        "serve",
        "feed",
    )
    for s in ("", "s", "ed", "ing")
) | word_set(
    "give gives gave given giving told sent brought taught granting promised owing offered denied denying "
    "denies paid lent awarding making buy buys bought buying wishes promises fed got get gets getting "
    "write wrote written"
)
_STRONG_GIVE = word_set(
    "give gives gave given giving offer offers offered offering tell tells told telling send sends sent "
    "sending grant grants granted award awards awarded promise promised wish wishes wished owe owes owed "
    "deny denied cost costs"
)
_RELATIONS = word_set(
    "mother father mom mum dad parents parent sister brother sisters brothers son daughter sons daughters "
    "child children kids husband wife partner spouse boyfriend girlfriend friend friends boss manager "
    "supervisor colleague colleagues coworker coworkers team teacher teachers student students doctor "
    "nurse lawyer neighbor neighbour neighbors neighbours family uncle aunt cousin cousins grandmother "
    "grandfather client clients patient patients employer employees staff landlord assistant best own "
    "life time name address number phone opinion consent blessing word permission approval attention "
    "thanks resignation notice story side secret taxes bills rent dues respects way hand hands head eyes"
)
_HEADS_OF_DOUBLE_GENITIVE = word_set(
    "friend friends colleague colleagues cousin cousins neighbor neighbour student students client "
    "clients relative acquaintance acquaintances idea ideas habit habits hobby fan fans photo picture "
    "book books fault dream"
)
_ADJECTIVES = word_set(
    "happy sad angry nervous anxious proud uncomfortable comfortable sick ill better worse safe busy "
    "awake alive dead mad crazy famous rich poor guilty innocent responsible accountable calm warm cold "
    "hungry tired welcome unhappy furious jealous lonely afraid ready late early available helpful "
    "pleasant rude difficult honest reliable unconscious unresponsive free upset feel stronger weaker "
    "laugh cry"
)


def is_determiner(words: Words, i: int, edits: Edits) -> bool:
    """Whether the "her" at word i belongs to a following noun (her book) rather than being an object (saw
    her).

    Decides by the next words and the verb before; flags the row where both readings are open.
    """
    if not noun_may_follow(words, i):
        return False
    nxt, before, beyond = words.at(i + 1), _verb_before(words, i), words.at(i + 2)
    last = words.ends_sentence(i + 1) or bool(words.gap(i + 1).strip(" \n"))
    closes = last or beyond in FUNCTION
    if _object_by_its_neighbours(words, i, closes=closes):
        return False
    if words.gap(i + 1).startswith(("-", "‑")) and nxt not in ("and", "or"):
        if before in _STRONG_GIVE:
            edits.flag(f"'{before} {words.low[i]} {nxt}': object or possessive?")
        return before not in _STRONG_GIVE or beyond in ("old", "time", "year")
    if nxt in _ORDINALS and not closes:
        return not (before in _STRONG_GIVE and beyond in ("place", "prize", "aid"))
    if nxt in NUMBERS or nxt in _ORDINALS or nxt.isdigit():
        if before in _GIVE or before in _LEAVE:
            edits.flag(f"'{words.low[i]} {nxt}' after '{before}': object or possessive?")
            return False
        return True
    if nxt in FUNCTION or nxt in ("very", "own"):
        return _function_word_starts_noun_phrase(words, i, edits, closes=closes)
    if is_adverb(nxt):
        return not closes and not is_adverb(beyond)
    if is_participle_ing(nxt) and before in _PERCEIVE:
        return False
    if before in _RESULT and nxt in _ADJECTIVES and closes:
        return False
    return _after_verb(words, i, edits, closes=closes)


def _object_by_its_neighbours(words: Words, i: int, *, closes: bool) -> bool:
    """Whether the verb before and the words behind say that "her" is an object: held her hostage, named her
    Queen, helped her find it, earned her much praise."""
    nxt, before, beyond = words.at(i + 1), _verb_before(words, i), words.at(i + 2)
    name = words.words[i + 1][0].isupper() and not words.words[i].isupper()
    if before in _HELD and nxt in _STATES_AFTER and (closes or nxt not in ("right", "dead")):
        return True
    if name and (nxt.endswith("'s") or before in _NAMED) and nxt not in _RELATIONS:
        made = before in _NAMED and (closes or not before.startswith("ma"))
        return made or (nxt.endswith("'s") and before in _EARNED | _GIVE)
    if before in _GIVE | _EARNED and (nxt in _QUANTITIES or (nxt in _ACCLAIM and before in _EARNED)):
        return True
    if before in _TAUGHT and nxt not in _RELATIONS | _PUPILS and not nxt.endswith("s"):
        return True
    if (
        before in _HELPED
        and nxt not in _RELATIONS
        and (beyond in OBJECTS | DETERMINERS - _QUANTIFIED or (bool(beyond) and words.words[i + 2].istitle()))
    ):
        return to_base(nxt) is None and not is_participle_ing(nxt)
    if before in _RESULT and closes and nxt.endswith(("ful", "less", "ous", "able", "ible")):
        return True
    return nxt in _WENT


_HELPED = word_set("help helps helped helping let lets letting make makes made making")
_QUANTIFIED = word_set("one two three four five six seven eight nine ten both all")


_BREAK = re.compile(r"[,;:)\]}—–/…&@#|<>]|--|^[\"”’'*_]|\s-\s")


def noun_may_follow(words: Words, i: int) -> bool:
    """Whether a word follows in the same phrase."""
    if i + 1 >= len(words) or words.ends_sentence(i):
        return False
    gap = words.gap(i)
    return gap == " " or not _BREAK.search(gap)


def _verb_before(words: Words, i: int) -> str:
    """The word before "her", over a particle or adverb."""
    p = i - 1
    if (
        words.at(p) in ("up", "out", "off", "back", "over", "down", "again", "to")
        and words.at(p - 1) in _GIVE
    ):
        return ""
    while is_adverb(words.at(p)) and words.at(p) != "of" and p > 0:
        p -= 1
    return words.at(p)


def _function_word_starts_noun_phrase(words: Words, i: int, edits: Edits, *, closes: bool) -> bool:
    nxt, beyond = words.at(i + 1), words.at(i + 2)
    if nxt in _ALSO_ADJECTIVE - {"very"} and words.at(i - 1) in PREPOSITIONS and not closes:
        return nxt not in ("up", "down", "out", "off", "over", "like", "near", "away", "so", "well")
    if nxt == "back" and words.at(i - 1) in _HURT:
        return True
    if nxt in ("very", "own"):
        return beyond not in ("much", "well", "little", "often", "highly", "badly")
    if nxt in _ALSO_ADJECTIVE and not closes:
        # her back hurts, her then boss — but: called her back later
        return nxt in ("back", "home", "right", "then", "now", "once") and (
            to_base(beyond) is not None or beyond in _RELATIONS or is_past(beyond)
        )
    if nxt in ("back", "home", "right"):
        if beyond in _AUX or words.at(i - 1) in PREPOSITIONS:
            return True
        if _verb_before(words, i) not in _MOVES:
            edits.flag(f"'{words.low[i]} {nxt}': object or possessive?")
            return nxt == "home"
    return False


def _after_verb(words: Words, i: int, edits: Edits, *, closes: bool) -> bool:
    nxt, before, beyond = words.at(i + 1), _verb_before(words, i), words.at(i + 2)
    if before in _CAUSATIVE and nxt in SURE:
        return False
    if before in _CAUSATIVE and nxt in AMBIGUOUS and before != "had":
        edits.flag(f"'{before} {words.low[i]} {nxt}': is '{nxt}' a verb or a noun?")
        return not (closes or beyond in _RELATIONS)
    if before in _GIVE:
        if beyond in DETERMINERS - {"her", "that", "this"} or nxt in _RELATIONS or nxt.endswith("'s"):
            return True
        if before in _STRONG_GIVE or nxt == beyond:
            edits.flag(f"'{before} {words.low[i]} {nxt}': object or possessive?")
            return not (closes and (nxt.endswith("s") or (before in _STRONG_GIVE and not _countable(nxt))))
        edits.flag(f"'{before} {words.low[i]} {nxt}': object or possessive?")
    if before in _APPOINT and closes and nxt not in _RELATIONS:
        edits.flag(f"'{before} {words.low[i]} {nxt}': object or possessive?")
        return False
    if before in _RESULT and nxt in _ADJECTIVES:
        edits.flag(f"'{before} {words.low[i]} {nxt}': object or possessive?")
    return True


def _countable(low: str) -> bool:
    """A bare singular count noun cannot follow an object ("gave her book"), so "her" must belong to it."""
    mass = (
        "advice money time help food water credit medicine information feedback support permission work"
        " trouble hope"
    )
    return not low.endswith("s") and low not in mass.split()


def stands_alone(words: Words, i: int, edits: Edits) -> bool:
    """Whether the "his" at word i stands without a noun ("the book is his", "a friend of his")."""
    if not noun_may_follow(words, i):
        cut_short = words.at(i - 1) in PREPOSITIONS - {"of"} and re.match(r"\s?(?:…|\.\.)", words.gap(i))
        return not (_opens_quote(words, i) or cut_short)
    nxt = words.at(i + 1)
    of_head = words.at(i - 1) == "of" and words.at(i - 2) in _HEADS_OF_DOUBLE_GENITIVE
    if nxt in (
        "very",
        "own",
        "then",
        "now",
        "once",
        "one",
        "two",
        "three",
        "several",
        "many",
        "few",
        "first",
    ):
        return False
    if words.gap(i).strip(" \n") or words.gap(i + 1).startswith(("-", "‑")):
        return False
    if nxt in (
        "back",
        "right",
        "home",
        "like",
        "well",
        "out",
        "off",
        "up",
        "down",
        "over",
        "near",
        "away",
        "so",
    ):
        return words.at(i - 1) in ("is", "was", "be", "are", "were") or of_head
    if nxt in FUNCTION:
        if nxt in CONJUNCTIONS and words.at(i + 2) in ("her", "hers", "my", "your", "their"):
            edits.flag(f"'{words.low[i]} {nxt} {words.at(i + 2)}': which noun do they share?")
            return words.at(i + 2) == "hers"
        return True
    if of_head and (is_past(nxt) or to_base(nxt) in SURE):
        return True
    return is_adverb(nxt) and (words.ends_sentence(i + 1) or words.at(i + 2) in FUNCTION)


def _opens_quote(words: Words, i: int) -> bool:
    return i + 1 < len(words) and bool(re.fullmatch(r"\s+[\"“‘'(*_]+", words.gap(i)))
