"""Who does the verb: read from a parse made by hand here, from spaCy's own documents where it is installed, and
through the audit."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

import evenhand as eh
from evenhand.cli import run
from evenhand.texts.roles import parser_of, roles

PEOPLE = {"man", "woman"}


@dataclass
class Word:
    """A parsed word, as spaCy gives it."""

    i: int
    text: str
    lemma_: str
    pos_: str
    tag_: str
    dep_: str
    head: Word = field(init=False)
    children: list[Word] = field(default_factory=list)


def parsed(rows: str) -> list[Word]:
    """One word a line: text, lemma, part of speech, tag, label, place of the head."""
    parts = [line.split() for line in rows.strip().splitlines()]
    words = [Word(i, *p[:5]) for i, p in enumerate(parts)]  # type: ignore[misc]
    for word, p in zip(words, parts, strict=True):
        word.head = words[int(p[5])]
        if word.head is not word:
            word.head.children.append(word)
    return words


SENTENCES = {
    "A man holding a child watches a dog that bites the woman": """
        A a DET DT det 1
        man man NOUN NN nsubj 5
        holding hold VERB VBG acl 1
        a a DET DT det 4
        child child NOUN NN dobj 2
        watches watch VERB VBZ ROOT 5
        a a DET DT det 7
        dog dog NOUN NN dobj 5
        that that PRON WDT nsubj 9
        bites bite VERB VBZ relcl 7
        the the DET DT det 11
        woman woman NOUN NN dobj 9
    """,
    "The young man is chased by a woman": """
        The the DET DT det 2
        young young ADJ JJ amod 2
        man man NOUN NN nsubjpass 4
        is be AUX VBZ auxpass 4
        chased chase VERB VBN ROOT 4
        by by ADP IN agent 4
        a a DET DT det 7
        woman woman NOUN NN pobj 5
    """,
    "A boy and a man try to ride and fall": """
        A a DET DT det 1
        boy boy NOUN NN nsubj 5
        and and CCONJ CC cc 1
        a a DET DT det 4
        man man NOUN NN conj 1
        try try VERB VBP ROOT 5
        to to PART TO aux 7
        ride ride VERB VB xcomp 5
        and and CCONJ CC cc 5
        fall fall VERB VBP conj 5
    """,
    "The woman is happy and the dog runs": """
        The the DET DT det 1
        woman woman NOUN NN nsubj 2
        is be AUX VBZ ROOT 2
        happy happy ADJ JJ acomp 2
        and and CCONJ CC cc 2
        the the DET DT det 6
        dog dog NOUN NN nsubj 7
        runs run VERB VBZ conj 2
    """,
    "A woman seated, whom a man sees": """
        A a DET DT det 1
        woman woman NOUN NN ROOT 1
        seated seat VERB VBN acl 1
        whom whom PRON WP dobj 6
        a a DET DT det 5
        man man NOUN NN nsubj 6
        sees see VERB VBZ relcl 1
    """,
    "The man is strong (in Universal Dependencies)": """
        The the DET DT det 1
        man man NOUN NN nsubj 3
        is be AUX VBZ cop 3
        strong strong ADJ JJ root 3
    """,
}
FOUND = {
    "A man holding a child watches a dog that bites the woman": "agent hold, agent watch, object bite",
    "The young man is chased by a woman": "adjective young, agent chase, object chase",
    "A boy and a man try to ride and fall": "agent fall, agent ride, agent try",
    "The woman is happy and the dog runs": "adjective happy",
    "A woman seated, whom a man sees": "agent see, object seat, object see",
    "The man is strong (in Universal Dependencies)": "adjective strong",
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_people_get_what_they_do_undergo_and_are(sentence: str) -> None:
    """Own, joined and dependent verbs, passives, clauses about a person; a dog's deed is nobody's."""
    found = sorted(roles(parsed(SENTENCES[sentence]), PEOPLE), key=lambda r: (r[1], r[0]))
    assert ", ".join(f"{kind} {lemma}" for lemma, kind in found) == FOUND[sentence]


def test_a_document_of_spacy_is_read_as_it_is() -> None:
    """The same roles from spaCy's Doc, built by hand: no model is needed."""
    spacy = pytest.importorskip("spacy")
    for sentence, rows in SENTENCES.items():
        table = [line.split() for line in rows.strip().splitlines()]
        words, lemmas, pos, tags, deps, heads = (list(c) for c in zip(*table, strict=True))
        document = spacy.tokens.Doc(
            spacy.blank("en").vocab, words=words, lemmas=lemmas, pos=pos, tags=tags, deps=deps,
            heads=[int(h) for h in heads],
        )  # fmt: skip
        found = sorted(roles(document, PEOPLE), key=lambda r: (r[1], r[0]))
        assert ", ".join(f"{kind} {lemma}" for lemma, kind in found) == FOUND[sentence]


def toy(texts: Sequence[str]) -> Iterable[list[Word]]:
    """Parses "a WHO VERBS a WHAT" alone: the first noun does the verb, the second undergoes it."""
    for text in texts:
        who, verb, what = text.split()[1], text.split()[2], text.split()[4]
        yield parsed(f"""
            a a DET DT det 1
            {who} {who} NOUN NN nsubj 2
            {verb} {verb.removesuffix("s")} VERB VBZ ROOT 2
            a a DET DT det 4
            {what} {what} NOUN NN dobj 2
        """)


def captions(n: int) -> list[str]:
    """Men kick balls, dogs pull men; a dog chases women, who throw balls."""
    return ["a man kicks a ball", "a dog pulls a man", "a woman throws a ball", "a dog chases a woman"] * n


def test_deeds_of_dogs_are_no_deeds_of_their_owners() -> None:
    """With a parser, pulling is what men undergo; by the words that stand beside it men pull."""
    tagged = eh.audit_amplification(
        captions(30), tagger=lambda ws: ["VB" if w[-1] == "s" else "X" for w in ws]
    )
    assert ("pull", "man") in {(str(r["item"])[3:7], r["group"]) for r in rows(tagged)}
    read = eh.audit_amplification(captions(30), parser=toy)
    assert {(r["item"], r["kind"], r["group"]) for r in rows(read)} == {
        ("to kick (does)", "agent", "man"),
        ("to pull (undergoes)", "object", "man"),
        ("to throw (does)", "agent", "woman"),
        ("to chase (undergoes)", "object", "woman"),
    }


def rows(result: eh.Result) -> list[dict[str, Any]]:
    """The items that are tied to a group."""
    return list(result.exhibits["tied items"].rows())


def test_outputs_are_parsed_with_the_same_roles() -> None:
    """Men who kick in the data and throw in the outputs: counted by who does what in both."""
    made = ["a woman kicks a ball", "a dog pulls a man", "a man throws a ball", "a dog chases a woman"] * 30
    result = eh.audit_amplification(captions(30), made, parser=toy, draws=100, leakage=False)
    changes = {(r["item"], r["group"]): r["change"] for r in result.exhibits["items"].rows()}
    assert changes["to kick (does)", "man"] == -1.0
    assert changes["to pull (undergoes)", "man"] == 0.0


def test_the_command_line_names_a_parser(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--parser module:attr`; the kinds stand in the result."""
    module = types.ModuleType("toy_parser")
    module.parse = toy  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "toy_parser", module)
    (tmp_path / "c.txt").write_text("\n".join(captions(30)))
    asked = ["--quiet", "amplification", str(tmp_path / "c.txt"), "--parser", "toy_parser:parse"]
    assert run([*asked, "--out", str(tmp_path / "o")]) == 0
    told = eh.Result.from_json(tmp_path / "o" / "result.json")
    assert {r["kind"] for r in rows(told)} == {"agent", "object"}


def test_a_parser_that_is_not_there_is_said_in_one_message(
    capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    """Exit code 2, what was given, and that nothing is downloaded."""
    (tmp_path / "c.txt").write_text("\n".join(captions(5)))
    assert run(["amplification", str(tmp_path / "c.txt"), "--parser", "spacy:no_such_model"]) == 2
    said = capsys.readouterr().err
    assert "unknown-parser" in said
    assert "evenhand downloads none" in said
    for wrong in ("nowhere:parse", 3):
        with pytest.raises(eh.EvenhandError, match="unknown-parser"):
            parser_of(wrong)
    with pytest.raises(eh.EvenhandError, match="parser-with-items"):
        eh.audit_amplification(captions(30), parser=toy, items=["ball"])


def test_captions_that_name_nobody_are_not_parsed() -> None:
    """Only captions with a person cost a parse; empty and missing ones are no obstacle."""
    seen: list[str] = []

    def watching(texts: Sequence[str]) -> Iterable[list[Word]]:
        seen.extend(texts)
        return toy(texts)

    texts = [*captions(30), "a tree stands on a hill", "", None]
    eh.audit_amplification(texts, parser=watching)
    assert seen == captions(30)
