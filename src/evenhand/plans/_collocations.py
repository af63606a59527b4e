"""What stands around a "her" and leaves no noun that it could go with, whatever the model says."""

from __future__ import annotations

from evenhand.plans._roles import FUNCTION, NUMBERS
from evenhand.plans._words import Words, word_set

_BE = word_set("is are was were am be been being it's that's")
_CHARGES = word_set(
    "charge charges charged charging fine fines fined bill bills billed billing loan loans loaned bet tip"
    " tips tipped"
)
"""Not "pay her five pounds", which is flagged: they may be those that she is owed."""
_SCALES = word_set("hundred thousand million billion hundreds thousands millions")
_MONEY = word_set("dollar dollars buck bucks euro euros pound pounds quid cent cents pence yen rupees grand")
_PLACES = word_set("here there now away then")
_TREATS = word_set("treat treats treated treating")
_LOOKS = word_set("look looks looked looking stare stares stared staring glance glances glanced glancing")
_WISHES = word_set("wish wishes wished wishing")
_WISHED = word_set("birthday anniversary christmas easter holiday holidays new luck night")
_MANNERS = word_set(
    "bad badly nice nicely good poorly wrong funny weird strange odd crazy different sideways"
)


def is_surely_an_object(words: Words, i: int) -> bool:
    """Whether what stands around the "her" at word i leaves no noun for it: burn her right here, charged her
    two thousand dollars, treated her bad, looked at her funny."""
    nxt, beyond = words.at(i + 1), words.at(i + 2)
    if nxt == "right" and beyond in _PLACES and words.gap(i + 1) == " ":
        return words.at(i - 1) not in _BE
    if words.at(i - 1) in _WISHES and nxt in ("happy", "merry", "good"):
        return beyond in _WISHED
    before = words.at(i - 2) if words.at(i - 1) == "at" else words.at(i - 1)
    if nxt in _MANNERS and before in (_LOOKS if words.at(i - 1) == "at" else _TREATS):
        return _closes(words, i + 1)
    return words.at(i - 1) in _CHARGES and _is_sum_of_money(words, i + 1)


def _is_sum_of_money(words: Words, k: int) -> bool:
    """Whether an amount, and nothing that is paid for, begins at word k: two thousand dollars, $20."""
    sign = words.gap(k - 1).strip() in ("$", "€", "£")
    first = k
    while words.at(k) in NUMBERS | _SCALES or words.at(k).isdigit():
        k += 1
    if k == first:
        return False
    return _closes(words, k) if words.at(k) in _MONEY else sign and _closes(words, k - 1)


def _closes(words: Words, k: int) -> bool:
    """Whether a phrase ends with word k."""
    marked = words.gap(k).strip(" \n") not in ("", ",")  # her odd, old shoes
    return words.ends_sentence(k) or marked or words.at(k + 1) in FUNCTION
