"""What holds for every text that is rewritten."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evenhand.plans import pronoun_set, rewrite
from evenhand.plans._edits import Edits
from evenhand.plans._pronouns import change_pronouns
from evenhand.plans._rewriting import flag_gendered_nouns, says_nothing
from evenhand.plans._titles import change_titles
from evenhand.plans._verbs import AMBIGUOUS, SURE, to_base, to_third
from evenhand.plans._words import words_of
from evenhand.plans.people import person_templates
from evenhand.terms import terms

NOISE = st.text(max_size=60)
PIECES = st.sampled_from(
    [
        "he",
        "his",
        "him",
        "HE",
        "He’s",
        "is",
        "runs",
        "and",
        "her",
        "she-he",
        "Mr. Smith",
        "ma'am",
        "2nd",
        "actress",
        "per",
        "'",
        ",",
        ".",
        "İ",
        "{x}",
        "%s",
        "\n",
    ]
)
MESSY = st.lists(st.one_of(NOISE, PIECES), max_size=12).map(" ".join)


@given(MESSY, st.sampled_from(["he", "she", "they", "xe"]))
@settings(max_examples=150, deadline=None)
def test_changes_account_for_every_difference(text: str, pronouns: str) -> None:
    """Undoing the recorded changes gives back the original text, for any input."""
    result = rewrite(text, pronouns=pronouns)
    rebuilt, at, shift = [], 0, 0
    for c in result.changes:
        assert text[c.start : c.end] == c.before
        rebuilt += [result.text[at + shift : c.start + shift], c.before]
        shift += len(c.after) - len(c.before)
        at = c.end
    rebuilt.append(result.text[at + shift :])
    assert "".join(rebuilt) == text


@given(NOISE.filter(lambda t: not any("\ufdd0" <= c <= "\ufdef" for c in t)))
@settings(max_examples=100, deadline=None)
def test_only_the_name_changes_in_a_text_without_pronouns(noise: str) -> None:
    """Braces, percent signs and odd characters around the name come through a grid unchanged."""
    assume(not rewrite(noise, pronouns="he").changes)  # hypothesis knows its English: THEY is a pronoun
    text = f"{noise} Arthur {noise}"
    grid = person_templates([text], "Arthur").grid(terms("names/weat-gender").where(gender="male"))
    assert grid.render(0) == rewrite(text, replace="Arthur", name="John", pronouns="he").text


@given(MESSY, st.sampled_from(["he", "she", "they", "per/per/pers/pers/perself"]))
@settings(max_examples=150, deadline=None)
def test_a_text_that_is_passed_over_has_nothing_to_change(text: str, pronouns: str) -> None:
    """The quick look that spares a text its words never passes over a pronoun, a title or a gendered noun."""
    assume(says_nothing(text, target := pronoun_set(pronouns)))
    words, edits = words_of(text), Edits()
    assert change_pronouns(words, target, edits) is None
    change_titles(words, target, edits, source="he", names=None)
    for gender in ("he", "she"):
        flag_gendered_nouns(words, gender, target, edits)
    assert edits == Edits()


@given(MESSY)
@settings(max_examples=150, deadline=None)
def test_words_and_gaps_are_the_text(text: str) -> None:
    """Words, gaps and places say the same of every text; a word in ASCII and beside an accent is the same word."""
    words = words_of(text)
    joined = "".join(part for pair in zip(words.gaps, (*words.words, ""), strict=True) for part in pair)
    assert joined == text
    assert words.words == tuple(text[a:b] for a, b in zip(words.starts, words.ends, strict=True))
    beside = words_of(f"{text}\n\né")
    assert beside.words[:-1] == words.words
    assert beside.sentence[: len(words)] == words.sentence


def test_third_person_forms_lead_back_to_their_base() -> None:
    """Every verb of the lists survives run → runs → run."""
    assert [v for v in sorted(SURE | AMBIGUOUS) if to_base(to_third(v)) != v] == []
