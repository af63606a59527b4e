"""Which verbs must change when a singular subject becomes "they", and back."""

from __future__ import annotations

import re
from bisect import bisect_right

from evenhand.plans._edits import Edits
from evenhand.plans._verbs import (
    AMBIGUOUS,
    MODALS,
    PARTICIPLES,
    SURE,
    TO_PLURAL,
    TO_SINGULAR,
    UNCHANGED_PAST,
    VERBS,
    is_adverb,
    is_participle_ing,
    is_past,
    to_base,
    to_third,
)
from evenhand.plans._words import Words, match_case, word_set

SUBJECTS = word_set("i you he she we they it xe ze ey fae he's she's they're it's we're you're i'm")
_PERSONS = frozenset(("he", "she", "they", "xe", "ze", "ey", "fae", "he's", "she's", "they're"))
NESTING = word_set(
    "that because when if while which who whom whose where what how whether although though unless why "
    "whenever wherever whatever"
)
CONJUNCTIONS = frozenset(("and", "or", "but", "yet", "then", "nor", "&", "plus"))
DETERMINERS = word_set(
    "the a an this that these those my your his her its our their xyr hir eir faer some any no every each "
    "another one two three four five six seven eight nine ten several many few both all"
)
OBJECTS = word_set("me you him her it us them himself herself themself themselves everyone everything people")
PREPOSITIONS = word_set(
    "to in on at by with from of about for into onto over under after before between through against "
    "during without within around as until off out up down away back along across toward towards like "
    "near"
)
# after "pears" in "eats apples and pears every day" they begin an adverbial, not an object
_WHOLE = word_set("every each all both one two three four five six seven eight nine ten this that")
_CLOSED = (
    PREPOSITIONS | CONJUNCTIONS | NESTING | DETERMINERS | SUBJECTS | word_set("as than so because too is are")
)
_WH = word_set("who whom what where when why how which whose")
_BEFORE_INVERSION = _WH | word_set(
    "and but or nor neither so than as only never rarely seldom hardly scarcely not then there here little"
)
_ALWAYS_INVERTED = word_set(
    "does doesn't has hasn't isn't wasn't aren't weren't do don't have haven't doesnt isnt wasnt dont"
)


def agree(words: Words, i: int, edits: Edits, *, plural: bool) -> None:
    """Makes the verbs of the subject at word i agree with a plural (they) or singular (he, she, xe) pronoun.

    Finds the finite verb after the subject, over adverbs and a parenthesis between commas, or before it where
    subject and verb are inverted ("is he", "doesn't he"), then the verbs coordinated with it ("he runs and
    jumps").
    """
    if inverted(words, i, edits, plural=plural):
        return
    j = _verb_after(words, i, edits)
    if j is None:
        return
    changed = _change(words, j, edits, plural=plural, sure=True)
    if words.at(i + 1) in ("who", "that", "which"):
        _relative(words, i, j, edits, plural=plural)
    coordinate(words, j, edits, plural=plural, base_chain=changed)


def _relative(words: Words, i: int, j: int, edits: Edits, *, plural: bool) -> None:
    """Changes the second verb of "he, who lives here, runs" and "he who waits wins"."""
    if "," in words.gap(i):
        inner = _over_adverbs(words, i + 2)
        if inner < j:
            _change(words, inner, edits, plural=plural, sure=True)
        return
    forms = TO_PLURAL if plural else TO_SINGULAR
    for k in range(j + 1, len(words)):
        low = words.low[k]
        if words.sentence[k] != words.sentence[j] or low in SUBJECTS | NESTING | CONJUNCTIONS:
            break
        if low in forms or (k == j + 1 and plural and to_base(low) in VERBS):
            _change(words, k, edits, plural=plural, sure=True)
            return


def inverted(words: Words, i: int, edits: Edits, *, plural: bool) -> bool:
    """Changes an auxiliary that stands before its subject; False where the subject comes first."""
    forms = TO_PLURAL if plural else TO_SINGULAR
    p = i - 1
    aux = words.at(p)
    if plural and aux.endswith("'s") and aux[:-2] in _WH and not words.gap(p).strip(" \n"):
        verb, _ = contraction(words, i, edits)  # What's he doing? → What are they doing?
        start, end = words.starts[p], words.ends[p]
        edits.spans[(start + len(aux) - 2, end)] = (match_case(f" {verb}", words.words[p][-1] * 2), "verb")
        return True
    if aux not in forms or words.gap(p).strip(" \n"):
        return False
    after = i + 1
    while is_adverb(words.at(after)) and not words.gap(after - 1).strip(" \n"):
        after += 1
    asks = words.at(p - 1) == "who" and (p == 1 or words.ends_sentence(p - 2))  # Who is he?
    if words.at(p - 1) in ("it", "this", "that", "there", "who") and not asks:
        return False  # it is he who …
    following = words.at(after)
    same = bool(following) and not words.gap(after - 1).strip(" \n")
    if same and (following in forms or (plural and to_base(following) in VERBS) or following in MODALS):
        return False
    opens = p == 0 or words.ends_sentence(p - 1) or bool(re.search(r"[,;:—–(\"“‘…-]", words.gap(p - 1)))
    near = any(words.at(k) in _WH for k in range(max(0, p - 5), p))
    if aux in _ALWAYS_INVERTED or opens or near or words.at(p - 1) in _BEFORE_INVERSION:
        if near and not opens and aux in ("is", "was", "are", "were") and same and is_past(following):
            edits.flag(f"verb agreement: is '{aux} {words.low[i]}' a question?")
        edits.word(words, p, forms[aux], "verb")
        return True
    edits.flag(f"verb agreement: cannot tell whether '{aux}' belongs to '{words.low[i]}'")
    return True


def _verb_after(words: Words, i: int, edits: Edits) -> int | None:
    """The word that should be the finite verb of the subject at i, or None."""
    j, gap = i + 1, words.gap(i)
    if words.ends_sentence(i) or re.search(r"[;:)\]]", gap):
        return None
    if "," in gap or re.search(r"\(|[—–]|--|\s-\s", gap):
        after = _after_parenthesis(words, i)
        if after is None:
            return None
        j = after
    if words.at(j) in ("and", "or", "&", "nor"):
        return None  # he and his brother are …: a plural subject already
    if words.at(j) in ("who", "that", "which"):
        edits.flag("verb agreement in a relative clause after the pronoun")
        j += 1
    j = _over_adverbs(words, j)
    if (
        j > i + 1 and words.gap(j - 1).strip() == "," and is_adverb(words.low[j - 1])
    ):  # he now, after years, has
        j = _over_adverbs(words, _after_parenthesis(words, j - 1) or j)
    if j >= len(words) or words.sentence[j] != words.sentence[i]:
        return None
    return j


_FILLERS = word_set("most likely kinda sorta outright straight")


def _over_adverbs(words: Words, j: int) -> int:
    """The first word from j on that is no adverb; "quietly and quickly" and "like" are passed over, too."""
    while j < len(words) and not words.ends_sentence(j):
        low, following = words.low[j], words.at(j + 1)
        verb = to_base(following) in VERBS
        filler = (low in _FILLERS and (verb or is_adverb(following))) or (low == "like" and verb)
        joined = low in CONJUNCTIONS and is_adverb(words.at(j - 1)) and is_adverb(following)
        if not (filler or joined or is_adverb(low)) or to_base(low) in VERBS:
            break
        j += 1
    return j


def _after_parenthesis(words: Words, i: int) -> int | None:
    """The first word after the second comma (or dash, or bracket) of "he, …, runs", or after a later one
    where only there a verb follows: "he, an actor, singer and painter, runs"."""
    first = None
    for k in range(i + 1, len(words) - 1):
        if words.ends_sentence(k):
            break
        if re.search(r"[,)—–]|--|\s-\s", words.gap(k)):
            low = words.low[_over_adverbs(words, k + 1)] if _over_adverbs(words, k + 1) < len(words) else ""
            if (
                low in TO_PLURAL
                or low in TO_SINGULAR
                or low in MODALS
                or is_past(low)
                or to_base(low) in SURE
            ):
                return k + 1
            first = first or k + 1
    return first


def _change(words: Words, j: int, edits: Edits, *, plural: bool, sure: bool) -> bool:
    """Changes the verb at word j; returns whether it is a plain present-tense verb (so that others may
    follow)."""
    low = words.low[j]
    forms = TO_PLURAL if plural else TO_SINGULAR
    if low in forms:
        edits.word(words, j, forms[low], "verb")
        return True
    if low in MODALS or is_participle_ing(low):
        return False
    if plural:
        base = to_base(low)
        if base is None:
            return False
        edits.word(words, j, base, "verb")
        return True
    if low in UNCHANGED_PAST:
        edits.flag(f"verb agreement: '{low}' may be present or past")
        return False
    if is_past(low) or not low.isalpha() or low in PREPOSITIONS | DETERMINERS | OBJECTS:
        return False
    if low not in VERBS:
        edits.flag(f"verb agreement: '{low}' is not a known verb")
        if not sure:
            return False
    edits.word(words, j, to_third(low), "verb")
    return True


def coordinate(words: Words, j: int, edits: Edits, *, plural: bool, base_chain: bool) -> None:
    """Changes the verbs that share the subject with the verb at word j.

    Args:
        words: the text.
        j: the last verb known to belong to the subject.
        edits: where changes and flags go.
        plural: the new number of the subject.
        base_chain: whether the verb at j is in the present tense (a base form after "they … and" needs that).
    """
    nested, k, verb = False, j + 1, j
    infinitive = words.low[j] in MODALS
    while k < len(words) and words.sentence[k] == words.sentence[j]:
        low = words.low[k]
        if low in SUBJECTS and words.at(k - 1) not in DETERMINERS and not _is_object(words, k):
            if low in _PERSONS or words.at(k - 1) in CONJUNCTIONS:
                return
            nested = True
        opens = low in NESTING and k + 1 < len(words) and not is_participle_ing(words.at(k + 1))
        nested = nested or (opens and (low != "while" or words.at(k - 1) != "a"))
        if low in ("to", "let", "help", "make"):
            infinitive = True
        comma = "," in words.gap(k - 1)
        joined = low in CONJUNCTIONS
        if joined or (comma and _listed(words, k, verb)):
            c = k + 1 if joined else k
            while c < len(words) and (is_adverb(words.low[c]) or words.low[c] in ("then", "also")):
                if to_base(words.low[c]) in VERBS:
                    break
                c += 1
            if c < len(words) and words.sentence[c] == words.sentence[j] and "," not in words.gap(c - 1)[:0]:
                found = _coordinated(words, c, joined_at=k, verb=verb, plural=plural)
                bare = words.low[c] not in TO_SINGULAR or words.low[c] in ("do", "have")
                if not plural and found and bare and (infinitive or not base_chain):
                    found = None if not base_chain else "unclear"
                if found == "yes" and not nested:
                    _change(words, c, edits, plural=plural, sure=False)
                    verb, k = c, c
                elif found:
                    edits.flag(
                        f"verb agreement: '{words.low[c]}' after '{low}' may or may not belong to the person"
                    )
        k += 1


def _is_object(words: Words, k: int) -> bool:
    """Whether "you" or "it" closes its phrase: "hurts you and leaves"."""
    if words.low[k] not in ("you", "it"):
        return False
    return words.at(k + 1) in CONJUNCTIONS or bool(words.gap(k).strip(" \n"))


def _listed(words: Words, k: int, verb: int) -> bool:
    """Whether word k, after a comma, looks like a further verb in a list: "reads, writes and paints"."""
    low = words.low[k]
    if low in TO_PLURAL or low in TO_SINGULAR:
        # "has" in "gets up, has breakfast and leaves", but not in "says John, the boss, has left"
        last = min(bisect_right(words.sentence, words.sentence[k]), len(words) - 1)
        return any(
            words.low[m] == "and" and (to_base(words.low[m + 1]) in VERBS or words.low[m + 1] in TO_SINGULAR)
            for m in range(k + 1, last)
        )
    base = to_base(low)
    return base in VERBS and (words.sentence[k] == words.sentence[verb])


def _coordinated(words: Words, c: int, *, joined_at: int, verb: int, plural: bool) -> str | None:
    """Whether word c, after a conjunction, is a verb of the same subject: "yes", "unclear", or None for
    no."""
    low = words.low[c]
    if low in (TO_PLURAL if plural else TO_SINGULAR):
        return None if words.at(c + 1) in ("it", "there", "that") else "yes"  # or was it something else
    base = to_base(low) if plural else low
    if base is None or low in MODALS or is_adverb(low):
        return None
    following = words.at(c + 1)
    close = c + 1 < len(words) and not words.gap(c).strip(" \n")
    takes_object = close and (
        following in DETERMINERS - _WHOLE
        or following in OBJECTS
        or following in ("to", "that", "not")
        or is_adverb(following)
    )
    directly = joined_at - 1 == verb
    if base in SURE or (plural and directly):
        return "yes"
    if base in AMBIGUOUS:
        if takes_object or directly or joined_at == c or (plural and words.low[joined_at] == "then"):
            return "yes"
        if close and plural and following.isalpha() and following not in PREPOSITIONS | CONJUNCTIONS:
            return "yes"  # plays soccer: a plural noun is not followed by another noun
        return "unclear"
    if not plural or not close:
        return None
    if following in (DETERMINERS | OBJECTS) - _WHOLE:
        return "yes"
    noun_goes_on = is_past(following) or is_participle_ing(following) or not following.isalpha()
    return None if noun_goes_on or following in _CLOSED or following in MODALS else "unclear"


_STATES = word_set(
    "married divorced engaged tired bored excited interested worried scared pleased concerned qualified "
    "experienced disappointed satisfied confused retired motivated dedicated committed talented gifted "
    "skilled prepared organized organised determined educated dressed supposed allowed required expected "
    "known liked loved respected admired based located related involved used worn lost broken hurt drunk "
    "sick gone done predisposed addicted entitled attached opposed limited devoted "
    "accustomed inclined obliged"
)


_AFTER_DONE = (
    PREPOSITIONS | CONJUNCTIONS - {"&"} | word_set("now already when if because but by yet here as so too")
)


def contraction(words: Words, i: int, edits: Edits) -> tuple[str, float]:
    """What "'s" after a pronoun stands for, and how sure that is: "are" (he's tired) or "have" (he's been).

    A past participle in -ed can be either; its neighbours decide, and where they do not, the row is flagged.
    """
    j = i + 1
    while is_adverb(words.at(j)) and words.sentence[j] == words.sentence[i]:
        j += 1
    nxt = words.at(j)
    if words.at(j - 1) in ("himself", "herself") and nxt == "to":
        return "have", _CLEAR  # she's only herself to blame
    if nxt in (
        "been",
        "got",
        "gotten",
        "had",
        "become",
        "begun",
        "seen",
        "taken",
        "given",
        "made",
        "said",
        "come",
    ):
        alone = nxt in ("seen", "taken", "given", "made") and not _has_object(words, j)
        return ("are" if alone else "have"), _CLEAR
    if nxt == "done" and not words.gap(j).strip(" \n") and words.at(j + 1) not in _AFTER_DONE | {""}:
        return "have", _CLEAR
    if nxt in _STATES and not _has_object(words, j):
        return "are", _CLEAR
    if nxt in PARTICIPLES or (nxt.endswith("ed") and len(nxt) > 3 and is_past(nxt)):
        if _has_object(words, j):
            return "have", _CLEAR
        if words.at(j + 1) == "by" or nxt in _STATES:
            return "are", _CLEAR
        edits.flag(f"'{words.low[i]} {nxt}': is it 'is' or 'has'?", sure=1)
        return ("have" if words.at(j + 1) in ("for", "since", "here", "there", "to") else "are"), _OPEN
    return "are", _CLEAR


_CLEAR, _OPEN = 0.99, 0.7
"""How sure "is" or "has" is, where its neighbours tell and where they do not."""


def _has_object(words: Words, j: int) -> bool:
    following = words.at(j + 1)
    return (
        j + 1 < len(words)
        and not words.gap(j).strip(" \n")
        and (following in DETERMINERS | OBJECTS | _THINGS or _is_plural(following) or _is_named(words, j))
    )


def _is_plural(low: str) -> bool:
    """Whether a word looks like a plural noun: "he's run marathons"."""
    base = to_base(low)
    return base is not None and base not in SURE and len(low) > 3


_THINGS = word_set("here since there something anything nothing everything someone anyone")
_CALLED = word_set("called named dubbed nicknamed titled pronounced")


def _is_named(words: Words, j: int) -> bool:
    """Whether a participle takes a name as its object: "he's joined Spurs", but not "he's called Tom"."""
    return words.words[j + 1][0].isupper() and words.low[j] not in _CALLED and not words.words[j].isupper()
