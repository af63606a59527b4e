"""Object or possessive "her", agreement in questions and tokenised text, and everybody's pronouns at once."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.plans._words import words_of

HER = [
    ("He works in her home studio.", "He works in his home studio."),
    ("They helped her figure it out.", "They helped him figure it out."),
    ("It makes her unable to sing.", "It makes him unable to sing."),
    ("They held her hostage.", "They held him hostage."),
    ("It earned her much respect.", "It earned him much respect."),
    ("Tom helped her locate Batman.", "Tom helped him locate Batman."),
    ("They named her Archbishop of York.", "They named him Archbishop of York."),
    ("She made her Royal Opera debut.", "He made his Royal Opera debut."),
    ("I gave her twenty-four hours.", "I gave him twenty-four hours."),
    ("She got her first job.", "He got his first job."),
    ("The help of her Uncle.", "The help of his Uncle."),
    ("She injured her back while training.", "He injured his back while training."),
    ("I love her &#10084; so.", "I love him &#10084; so."),
    ("The dog next to her sprang up.", "The dog next to him sprang up."),
    ("Let her mother have it.", "Let his mother have it."),
    ("I like her very much.", "I like him very much."),
]
THEY = [
    ("Who is he?", "Who are they?"),
    ("It is late. Who was she?", "It is late. Who were they?"),
    ("I know who he is.", "I know who they are."),
    ("He's done things.", "They've done things."),
    ("He's done with it.", "They're done with it."),
    ("He prob killed it.", "They prob killed it."),
    ("He doesn 't know .", "They don 't know ."),
    ("He does n't know .", "They do n't know ."),
    ("he 's late and she isn ’t .", "they 're late and they aren ’t ."),
    ("He 's been ill .", "They 've been ill ."),
    ("Is n't he late ?", "Are n't they late ?"),
    ("HE ISN 'T HERE .", "THEY AREN 'T HERE ."),
    ("Mr. Lee said she likes him.", "Mx. Lee said they like them."),
    ("He, an actor, singer and painter, has shown it.", "They, an actor, singer and painter, have shown it."),
    ("She also, in spite of rain, has shown it.", "They also, in spite of rain, have shown it."),
    ("He slowly and calmly has shown it.", "They slowly and calmly have shown it."),
    ("He, who lives in Bern, has shown it.", "They, who live in Bern, have shown it."),
    ("He who holds the rope has won.", "They who hold the rope have won."),
    ("She who waits wins.", "They who wait win."),
    ("He who waits wins and has fun.", "They who wait win and have fun."),
    ("He like makes us laugh.", "They like make us laugh."),
    ("She most likely knows.", "They most likely know."),
    ("He meets you and says hello.", "They meet you and say hello."),
    ("He sings a while and has fun.", "They sing a while and have fun."),
    ("Did he slip or was it a trick?", "Did they slip or was it a trick?"),
    ("He stirs, then looks at us.", "They stir, then look at us."),
    ("She ' s late and he doesn ' t know .", "They ' re late and they don ' t know ."),
    ("He's proven it. He's joined Ajax.", "They've proven it. They've joined Ajax."),
    ("She's called Ann. She's left something.", "They're called Ann. They've left something."),
    ("It is on his… more", "It is on their… more"),
]


@pytest.mark.parametrize(("before", "after"), HER)
def test_her_is_read_by_its_neighbours(before: str, after: str) -> None:
    """Sentences of the kind that failed on real texts, each in its own words."""
    assert eh.rewrite(before, pronouns="he", all_people=True).text == after


SURELY = [
    ("We hid her right there.", "We hid him right there."),
    ("He glanced at her strange.", "He glanced at him strange."),
    ("He glanced at her strange hat.", "He glanced at his strange hat."),
    ("They stared at her odd, old shoes.", "They stared at his odd, old shoes."),
    ("The shop billed her three hundred euros for it.", "The shop billed him three hundred euros for it."),
    ("They fined her $500.", "They fined him $500."),
    ("They sold her 20 books.", "They sold his 20 books."),
    ("We wished her merry Christmas.", "We wished him merry Christmas."),
    ("They treated her poorly, and she left.", "They treated him poorly, and he left."),
    ("They treated her bad knee.", "They treated his bad knee."),
]


@pytest.mark.parametrize(("before", "after"), SURELY)
def test_her_without_a_noun_that_it_could_go_with_is_an_object(before: str, after: str) -> None:
    """Sums of money, "right there", manners of looking and treating, wishes; and their like with a noun."""
    assert eh.rewrite(before, pronouns="he", all_people=True).text == after


@pytest.mark.parametrize(("before", "after"), THEY)
def test_everybody_becomes_they_with_the_verbs_that_follow(before: str, after: str) -> None:
    """Questions, "he's done", slang, and contractions that a tokeniser has split."""
    assert eh.rewrite(before, pronouns="they", all_people=True).text == after


def test_anothers_pronouns_are_kept_and_the_flag_says_how_to_change_them() -> None:
    """`all_people=True` is named where it would help; with it nothing is kept."""
    text = "Tom said he was late. She saw him and smiled."
    kept = eh.rewrite(text, pronouns="they")
    assert kept.text == "Tom said they were late. She saw them and smiled."
    assert any("all_people=True" in flag for flag in kept.flags)
    everyone = eh.rewrite(text, pronouns="they", all_people=True)
    assert everyone.text == "Tom said they were late. They saw them and smiled."
    assert not any("all_people" in flag for flag in everyone.flags)
    assert eh.rewrite(text, pronouns="she", all_people=True).text == text.replace(
        "he was", "she was"
    ).replace("him", "her")


def test_a_closing_quotation_mark_is_no_split_contraction() -> None:
    """Only what a tokeniser leaves is joined; places stay those of the text."""
    for text in ("'he' and 's", "the boys 'd", "no 't", "John 's dog"):
        assert all(" " not in w for w in words_of(text).words)
    split = words_of("so he 's late")
    assert split.words[1] == split.text[split.starts[1] : split.ends[1]] == "he 's"
    assert split.low[1] == "he's"


def _round_trips(texts: Iterator[str]) -> tuple[int, int, int]:
    """(him and his that became her, how many did not come back, how many of those without a flag)."""
    n = wrong = silent = 0
    for text in texts:
        low = set(re.findall(r"[a-z']+", text.lower()))
        if low & {"she", "her", "hers", "herself", "they", "them", "their"} or not low & {"him"}:
            continue
        there = eh.rewrite(text, pronouns="she")
        back = eh.rewrite(there.text, pronouns="he")
        shift, was = 0, {}
        for c in there.changes:
            was[c.start + shift] = c.before.lower()
            shift += len(c.after) - len(c.before)
        pairs = [(was.get(d.start), d.after.lower()) for d in back.changes]
        n += sum(a == "him" for a, _ in pairs)
        bad = sum(a == "him" != b for a, b in pairs)
        wrong += bad
        silent += bad if not back.flags else 0
    return n, wrong, silent


def test_object_her_comes_back_from_encyclopedia_snippets(data: Path) -> None:
    """GAP's snippets about men, he → she → he: at most 2 % of "him" wrong. The rules were written while looking
    at these snippets, so this guards them and says nothing of other texts."""
    file = data / "text" / "gap-development.tsv"
    with file.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        n, wrong, _ = _round_trips(row["Text"] for row in rows)
    assert n > 100
    assert wrong / n <= 0.02
