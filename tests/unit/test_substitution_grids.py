"""Grids from templates, free text with a name, identity terms and gendered pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand import audit_text
from evenhand._errors import DataError, UsageError
from evenhand.plans import (
    Grid,
    civil_comments,
    identity_templates,
    pair_grid,
    person_templates,
    placeholder,
    rewrite,
    swap_gender,
    templates,
)
from evenhand.plans._words import article
from evenhand.terms import cross, terms, terms_from_rows
from evenhand.texts import texts


def _rows(grid: Grid, batch: int) -> list[tuple[str, ...]]:
    out = []
    for probes in grid.plan(batch):
        columns = [list(f) for f in probes.factors.values()]
        assert all(len(c) == len(probes) for c in columns)
        out += [tuple(map(str, r)) for r in zip(probes.inputs, *columns, strict=True)]
    return out


def test_a_grid_is_the_same_in_any_batch_size_and_row_by_row() -> None:
    """Batches only cut the stream; render(i) is row i of the stream."""
    base = texts("person")
    grid = person_templates(base.texts, "Arthur", ids=base.ids, factors=base.factors).grid(
        "names/freakonomics"
    )
    assert len(grid) == 52 * 80
    whole = _rows(grid, 10_000)
    assert whole == _rows(grid, 77)
    assert [grid.render(i) for i in (0, 1, 79, 80, -1)] == [whole[i][0] for i in (0, 1, 79, 80, -1)]
    assert grid.base(0) == base.texts[0]
    with pytest.raises(IndexError):
        grid.render(len(grid))
    with pytest.raises(ValueError, match="at least one row"):
        grid.plan(0)


def test_a_grid_row_equals_rewriting_by_hand() -> None:
    """Every probe is what rewrite gives for that text, name and gender: names, possessives and pronouns."""
    base = texts("person")
    names = terms("names/freakonomics")
    grid = person_templates(base.texts, "Arthur", ids=base.ids).grid(names)
    by_id = dict(zip(base.ids, base.texts, strict=True))
    probes = next(grid.plan(len(grid)))
    gender = {n: names.level("gender", i) for i, n in enumerate(names.terms)}
    pick = np.random.default_rng(3).choice(len(grid), 300, replace=False)
    text, term = list(probes.factors["text"]), list(probes.factors["term"])
    for i in pick:
        name = str(term[i])
        pronouns = {"male": "he", "female": "she"}[str(gender[name])]
        expected = rewrite(by_id[str(text[i])], replace="Arthur", name=name, pronouns=pronouns).text
        assert probes.inputs[i] == expected


def test_no_shipped_base_text_is_flagged() -> None:
    """The shipped texts can be rewritten for he, she and they without an open question."""
    base = texts("person")
    assert [
        t
        for t in base.texts
        for p in ("she", "they")
        if rewrite(t, pronouns=p, replace="Arthur", name="Sam").flags
    ] == []
    assert all("Arthur" in t for t in base.texts)
    assert set(base.factors["sentiment"].levels) == {"positive", "neutral", "negative"}


def test_possessives_case_articles_and_percent_signs_survive() -> None:
    """Arthur's and Arthur’s keep their apostrophe, ARTHUR stays loud, an Arthur becomes a Molly, 100% stays."""
    grid = person_templates(["An Arthur said Arthur’s dog is ARTHUR'S; 100% {sure}."], "Arthur").grid(
        "names/freakonomics"
    )
    assert grid.render(0) == "A Molly said Molly’s dog is MOLLY'S; 100% {sure}."


def test_every_name_fits_a_text_without_pronouns_whatever_a_text_with_them_asks() -> None:
    """A list with and without genders fills both kinds of template in one grid, each name once a text."""
    rows = [
        {"name": "Ada", "gender": "female"},
        {"name": "Bo", "gender": "male"},
        {"name": "Kim", "gender": ""},
    ]
    made = templates(["{name} sang.", "{name} lost {pronoun.determiner} dog.", "{name} left."])
    grid = made.grid(terms_from_rows(rows))
    assert sorted(grid) == sorted([
        "Ada sang.", "Bo sang.", "Kim sang.",
        "Ada lost her dog.", "Bo lost his dog.", "Kim lost their dog.",
        "Ada left.", "Bo left.", "Kim left.",
    ])  # fmt: skip


def test_a_term_in_a_long_text_is_read_as_in_a_short_one() -> None:
    """What stands before a term decides alike at the start of a text and behind half a million characters."""
    far = "It rained. " * 50_000
    for text in (
        "Sea men saw the Black Sea.",
        "My son has autism.",
        "I'm black.",
        "Iron Man left. He is deaf.",
    ):
        near = placeholder(text, terms("identity"), people=True)
        behind = placeholder(far + text, terms("identity"), people=True)
        assert behind.template == far + near.template
        assert behind.flags == near.flags


def test_a_text_without_the_name_is_reported() -> None:
    """Texts that do not mention the name are listed, and an error where none does."""
    made = person_templates(["Arthur ran.", "Nobody ran.", "MacArthur ran."], "Arthur")
    assert [s.text for s in made.skipped] == ["t2", "t3"]
    with pytest.raises(UsageError, match="No text mentions"):
        person_templates(["Nobody ran."], "Arthur")


def test_templates_combine_slots_and_link_pronouns() -> None:
    """Value slots are Cartesian, pronoun slots follow the name, they takes its verb, a or an fits."""
    people = terms_from_rows([{"name": "Ana", "gender": "female"}, {"name": "Kim", "gender": "nonbinary"}])
    grid = templates(
        ["{name} says {pronoun.subject} is {a_kind} person; {pronoun.determiner} {pet} was an {mood} one."],
        values={"mood": ["odd", "kind"], "pet": ["dog", "cat"], "a_kind": ["a shy"]},
    ).grid(people)
    sentences = list(grid)
    assert len(sentences) == 8
    assert "Ana says she is a shy person; her dog was an odd one." in sentences
    assert "Kim says they are a shy person; their cat was a kind one." in sentences


def test_crossed_lists_fill_two_independent_slots() -> None:
    """A name slot and an identity slot of a crossed list are filled together."""
    both = cross(terms("names/weat-gender"), terms("identity/religion"))
    grid = templates(["{name} is a {religion} student."]).grid(both)
    assert len(grid) == 192
    assert "John is an agnostic student." in list(grid)


def test_pronoun_lists_fill_a_template_with_all_sets() -> None:
    """he, she, they and neopronouns, each with its own forms and verbs."""
    grid = templates(["{pronoun.subject} was proud of {pronoun.reflexive}."]).grid("pronouns")
    assert list(grid)[:3] == [
        "He was proud of himself.",
        "She was proud of herself.",
        "They were proud of themself.",
    ]
    assert "Xe was proud of xemself." in list(grid)


def test_identity_terms_become_slots_and_are_filled_in_their_form() -> None:
    """Form, number, letter case and article fit; the control leaves the term out."""
    made = identity_templates(
        ["I have many Asian friends.", "A Hispanic doctor called.", "GAY rights!", "Blacks vote."],
        terms("identity/race"),
    )
    assert made.templates == (
        "I have many {race:adjective} friends.",
        "A {race:adjective} doctor called.",
        "{Race:noun_plural} vote.",
    )
    assert [s.text for s in made.skipped] == ["t3"]
    grid = made.grid(control=True)
    rendered = list(grid)
    assert "An Indigenous doctor called." in rendered
    assert "African Americans vote." in rendered
    controls = [
        t for p in grid.plan() for t, r in zip(p.inputs, p.factors["role"], strict=True) if r == "control"
    ]
    assert controls == ["I have many friends.", "A doctor called.", "People vote."]


@pytest.mark.parametrize(
    ("text", "category", "template"),
    [
        ("the blind man", "disability", "the {disability:adjective} man"),
        ("The blind deserve it.", "disability", "{Disability:noun_plural} deserve it."),
        ("a Muslim teacher", "religion", "a {religion:adjective} teacher"),
        ("He is a Muslim.", "religion", "He is a {religion:noun}."),
        (
            "anti-Muslim blackmail, muslimgirl @muslim",
            "religion",
            "anti-Muslim blackmail, muslimgirl @muslim",
        ),
        ("İ and a Sikh", "religion", "İ and a {religion:noun}"),
        ("{curly} Jews", "religion", "{{curly}} {religion:noun_plural}"),
    ],
)
def test_placeholders_carry_the_form_that_stands_there(text: str, category: str, template: str) -> None:
    """Nouns and adjectives are told apart; nothing inside words, hyphens or handles; capital İ does not shift places."""
    assert placeholder(text, terms(f"identity/{category}")).template == template


def test_words_that_are_often_not_about_people_are_flagged() -> None:
    """A black car is found, but carries a flag."""
    assert placeholder("a black car", terms("identity/race")).flags
    assert not placeholder("a black man", terms("identity/race")).flags


def test_a_control_that_cannot_be_made_is_reported() -> None:
    """A predicate adjective cannot be left out: there is no control row, and the reason is given."""
    grid = templates(["She is {race:adjective}."]).grid("identity/race", control=True)
    assert "control" not in set(next(grid.plan()).factors["role"])
    assert "not before a noun" in grid.skipped[0].reason


def test_template_files_can_be_reviewed_and_read_back(tmp_path: Path) -> None:
    """Saved templates give the same grid after a person has read them."""
    made = identity_templates(['A "Jewish" boy\tsaid\nhi.', "Two Hindus ran."], terms("identity/religion"))
    path = tmp_path / "review.toml"
    path.write_text(made.to_toml(), encoding="utf-8")
    assert list(templates(path).grid("identity/religion")) == list(made.grid())


def test_a_slot_without_terms_is_an_error_with_what_is_there() -> None:
    """An unknown slot and a stray brace are clear errors."""
    with pytest.raises(UsageError, match="nothing to fill"):
        templates(["{planet} is far."]).grid("identity/race")
    with pytest.raises(UsageError, match="opens no slot"):
        templates(["{oops is here"])


def test_gendered_pairs_are_swapped_once() -> None:
    """man → woman and woman → man are never chained; pronouns, case and articles follow."""
    assert swap_gender("MAN and An actor; he and his father.", "female").text == (
        "WOMAN and An actress; she and her mother."
    )
    assert swap_gender("The woman's husband.", "male").text == "The man's husband."
    grid = pair_grid(["The boys ran.", "It rains."])
    assert list(grid) == ["The boys ran.", "The girls ran."]
    assert [s.text for s in grid.skipped] == ["t2"]


def test_civil_comments_are_streamed_by_category(tmp_path: Path) -> None:
    """Comments above the threshold of any column of the category come with labels, whatever the block size."""
    path = tmp_path / "civil.csv"
    header = "id,target,comment_text,black,white,asian,latino,other_race_or_ethnicity,muslim\n"
    rows = [
        '1,0.8,"My black friend, ""Jo""\nis here",0.9,0,0,0,0,0\n',
        "2,0.1,Nothing here,0,0,0,0,0,1\n",
        "3,0.0,An Asian student,,,0.6,,,\n",
        "4,0.2,,1,0,0,0,0,0\n",
    ]
    path.write_text(header + "".join(rows), encoding="utf-8")
    for block in (1 << 20, 120):
        batches = list(civil_comments(path, "race", block_bytes=block))
        assert [i for b in batches for i in b.ids] == ["1", "3"]
        assert [t for b in batches for t in b.texts] == ['My black friend, "Jo"\nis here', "An Asian student"]
        assert np.concatenate([b.toxicity for b in batches]).tolist() == [0.8, 0.0]
    assert np.isnan(next(civil_comments(path, "race")).identities["black"][-1])


def test_civil_comments_name_a_missing_column(tmp_path: Path) -> None:
    """A file without an identity column is refused with the columns that are there."""
    path = tmp_path / "civil.csv"
    path.write_text("id,target,comment_text,blak\n1,0,x,0\n")
    with pytest.raises(DataError, match="did you mean 'blak'"):
        next(civil_comments(path, "race"))
    with pytest.raises(UsageError, match="no such category"):
        civil_comments(path, "races")


def test_a_pronoun_is_never_filled_in_for_a_name() -> None:
    """The noun phrases of the equity corpus stand for a name, "she" does not: "We saw she" is no probe."""
    grid = person_templates(["We saw Arthur."], "Arthur").grid("names/eec")
    assert len(grid) == 58
    assert "We saw my sister." in list(grid)
    assert "We saw she." not in list(grid)


def test_a_or_an_follows_the_sound() -> None:
    """Vowel letters, silent h, spelled-out capitals and numbers."""
    a = [
        "unicorn",
        "one-time",
        "US",
        "uniform",
        "Ugandan",
        "useful",
        "European",
        "Eunice",
        "T-shirt",
        "UK",
        "house",
        "university",
        "unanimous",
    ]
    an = [
        "hour",
        "X-ray",
        "umbrella",
        "uninteresting",
        "MP",
        "uncle",
        "Ursula",
        "Yvonne",
        "HR",
        "NHS",
        "Asian",
        "Uber",
        "8th",
        "11th",
        "18th",
        "undocumented",
    ]
    assert [w for w in a if article(w) != "a"] == []
    assert [w for w in an if article(w) != "an"] == []


@pytest.mark.parametrize(
    ("template", "first"),
    [
        ("I have many {RACE} friends.", "I have many black friends."),
        ("{RACE} people left. {GENDER} people stayed.", "Black people left. Deaf people stayed."),
        ("I {RACE}", "I black"),
        ("MANY {RACE} FRIENDS LEFT.", "MANY BLACK FRIENDS LEFT."),
        ("many {race:upper} friends", "many BLACK friends"),
        ("many {race:noun_plural:upper}", "many BLACK PEOPLE"),
        ("many {Race} friends", "many Black friends"),
    ],
)
def test_a_placeholder_in_capitals_does_not_shout(template: str, first: str) -> None:
    """`{RACE}` is a plain slot; only a text that is itself in capitals, or `:upper`, has the term in capitals."""
    made = templates([template], values={"gender": ["deaf"]})
    assert made.grid("identity/race").render(0) == first


def test_names_and_pronouns_in_capitals_are_plain_slots_too() -> None:
    """Whatever a slot is filled with; what stood in capitals in a free text stays so."""
    made = templates(["So {NAME} lost {PRONOUN.DETERMINER} {THING}."], values={"thing": ["hat"]})
    assert made.grid("names/weat-gender").render(8) == "So Amy lost her hat."
    free = person_templates(["I called ARTHUR and he ran."], "Arthur")
    assert free.templates == ("I called {name:upper} and he ran.",)
    assert free.grid("names/weat-gender").render(8) == "I called AMY and she ran."
    assert (
        placeholder("The ASIAN left.", terms("identity/race")).template == "The {race:adjective:upper} left."
    )
    assert templates([free.templates[0]]).grid("names/weat-gender").render(0) == "I called JOHN and he ran."


def test_a_placeholder_that_nothing_fills_is_told() -> None:
    """As an error where it stands among slots that are filled, as texts left out where it stands alone."""
    with pytest.raises(UsageError, match="unknown-slot"):
        audit_text("vader", ["{RACE} men met {WHO}."], terms="identity/race")
    with pytest.raises(UsageError, match=r"\{CASTE\} is no slot for these terms; \{race\} is"):
        audit_text("vader", ["Many {CASTE} friends."], terms="identity/race")
    found = audit_text(
        "vader", ["Many {RACE} friends.", "I met {WHO} today.", "A {religion} man."], terms="identity/race"
    )
    skipped = [note.text for note in found.notes if note.slug == "texts-skipped"]
    assert skipped == ["1 text left out: nothing fills the slot {who}."]


def test_a_text_with_percent_signs_and_one_name_in_several_places_is_filled_alike() -> None:
    """Rows that are joined from pieces, and those whose text has a "%" of its own, in part and as a whole."""
    made = person_templates(["Arthur saw Arthur’s 5% and %s.", "Arthur saw Arthur's dog, Arthur."], "Arthur")
    grid = made.grid("names/weat-gender")
    n = len(grid) // 2
    assert grid.render(0) == "John saw John’s 5% and %s."
    assert grid.render(n + 1) == "Paul saw Paul's dog, Paul."
    assert list(grid) == [grid.render(i) for i in range(len(grid))]
    batches = [text for probes in grid.plan(batch=5) for text in probes.inputs]
    assert batches == list(grid)
