"""What an attack may put in a word's place: the same form, no opposites, no names, pronouns as the rewriter has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from planted_words import planted

import evenhand as eh
from evenhand._errors import UsageError
from evenhand.audits.attack.annotation import adjusted, headline, product_of, write_sheet
from evenhand.cli import run
from evenhand.embeddings import forms, vectors
from evenhand.embeddings.feelings import feelings

PLANTED = planted(clusters=20, seed=3)
needs_forms = pytest.mark.skipif(not forms.available(), reason="needs textblob and lemminflect")


def space(*words: str) -> dict[str, list[float]]:
    """Near words, each a step further towards woman; man and woman at the ends."""
    made = {w: [0.1 * i - 0.05 * len(words), 1.0, 0.05 * (i % 3)] for i, w in enumerate(words)}
    return made | {"man": [-1.0, 0.0, 0.3], "woman": [1.0, 0.0, 0.3]}


def becomes(text: str, word: str, words: dict[str, list[float]], **options: object) -> set[str]:
    """What a word may become in a text: for each other word a model that flips only where that word stands."""
    others = set(words) - {word, "man", "woman"}
    return set().union(*(becomes_one(text, word, other, words, **options) for other in others))


def becomes_one(
    text: str, word: str, other: str, words: dict[str, list[float]], **options: object
) -> set[str]:
    """The same for one other word."""

    def model(inputs: list[str]) -> list[dict[str, float]]:
        return [{"old": 1.0 - (x := float(other in t.lower().split())), "new": x} for t in inputs]

    loose: dict[str, object] = {
        "min_similarity": -1.0, "min_gain": 0.0, "directions": ["woman-man"], "max_target": None,
    }  # fmt: skip
    result = eh.attack(
        model, [text], embeddings=words, fluency="none", placebos=0, holdout=0, match="none",
        search="exhaustive", **(loose | options),
    )  # fmt: skip
    rows = [r for e in ["alterations"] if e in result.exhibits for r in result.exhibits[e].rows()]
    return {str(r["becomes"]) for r in rows if r["flips"] and r["word"] == word}


@needs_forms
@pytest.mark.parametrize(
    ("text", "words", "fits", "does_not"),
    [
        ("he is happy here", ("happy", "glad", "lied", "wins"), "glad", {"lied", "wins"}),
        ("they lost the match", ("match", "contest", "wrote", "happy"), "contest", {"wrote", "happy"}),
        ("the dogs barked", ("dogs", "cats", "animal", "sing"), "cats", {"animal", "sing"}),
        ("she walked home", ("walked", "strolled", "strolling", "garden"), "strolled", {"strolling", "garden"}),
    ],
)  # fmt: skip
def test_only_words_of_the_same_form_take_a_place(
    text: str, words: tuple[str, ...], fits: str, does_not: set[str]
) -> None:
    """Part of speech and inflection stay; `any_form` gives up both."""
    assert becomes(text, words[0], space(*words)) == {fits}
    assert becomes(text, words[0], space(*words), any_form=True, antonyms=True) >= does_not


def test_opposites_are_no_alterations_unless_asked_for() -> None:
    """wrong → right, happy → unhappy, useful → useless change what is said."""
    for word, other in (
        ("wrong", "right"), ("happy", "unhappy"), ("useful", "useless"), ("fantastic", "terrible"), ("luckily", "sadly"),
    ):  # fmt: skip
        words, text = space(word, other), f"that is {word}"
        assert becomes(text, word, words, any_form=True) == set()
        assert becomes(text, word, words, any_form=True, antonyms=True) == {other}


@needs_forms
@pytest.mark.parametrize(
    ("text", "words", "fits"),
    [
        ("it has majorities", ("majorities", "quantities", "minorities"), "quantities"),  # WordNet, inflected
        ("that is hilarious", ("hilarious", "comical", "ridiculous"), "comical"),  # felt
        ("my son came", ("son", "child", "father"), "child"),  # another of the family
        ("it was a nice week", ("week", "weekend", "month"), "weekend"),  # a series
        ("he solved problems", ("problems", "issues", "issue"), "issues"),  # number
        ("a petty theft", ("theft", "fraud", "thief"), "fraud"),  # an act, a person
        ("it is a fearful view", ("fearful", "anxious", "afraid"), "anxious"),  # never before a noun
        ("it was a kitchen", ("kitchen", "bathroom", "steve"), "bathroom"),  # a name
    ],
)  # fmt: skip
def test_what_reads_but_says_something_else_is_no_alteration(
    text: str, words: tuple[str, ...], fits: str
) -> None:
    """The nearest words of a word are also its opposites, its series, and things of another kind."""
    assert becomes(text, words[0], space(*words)) == {fits}
    assert becomes(text, words[0], space(*words), any_form=True, antonyms=True) == set(words[1:])


@needs_forms
def test_adjectives_like_afraid_stand_behind_a_verb() -> None:
    """A fearful view is no afraid view; who is fearful is afraid."""
    assert becomes("he is fearful", "fearful", space("fearful", "afraid")) == {"afraid"}


@needs_forms
@pytest.mark.parametrize(
    ("text", "word", "other"),
    [
        ("it was a soap opera only", "opera", "ballet"),
        ("we saw steve yesterday", "steve", "david"),
        ("we saw steve yesterday", "steve", "zorp"),
        ("we saw zorp yesterday", "zorp", "steve"),
        ("watching the NHL awards", "nhl", "nba"),
        ("we heard Cheetah Girls there", "girls", "boys"),
        ("we are gonna leave", "gonna", "wanna"),
    ],
)
def test_expressions_names_and_titles_are_left_alone(text: str, word: str, other: str) -> None:
    """A soap opera, steve in small letters, NHL, Cheetah Girls, gonna."""
    assert becomes(text, word, space(word, other)) == set()


@needs_forms
def test_words_that_look_like_them_are_altered() -> None:
    """An opera without soap, girls at the beginning of a sentence, a text in capitals."""
    assert becomes("it was an opera only", "opera", space("opera", "ballet")) == {"ballet"}
    assert becomes("we came. Girls were there", "girls", space("girls", "boys")) == {"boys"}
    assert becomes("THE NURSE CAME", "nurse", space("nurse", "doctor")) == {"doctor"}


def test_a_direction_may_go_through_its_own_opposites_and_series() -> None:
    """Who asks for young − old or white − black wants these words to stand for each other."""
    for word, other in (("old", "young"), ("black", "white"), ("son", "father")):
        words = {word: [-1.0, 1.0, 0.0], other: [1.0, 1.0, 0.0], "dog": [0.0, 1.0, 1.0]}
        found = becomes(f"a {word} dog", word, words, any_form=True, directions=[f"{other}-{word}"])
        assert found == {other}


def test_words_that_no_lexicon_lists_are_felt_by_their_vectors() -> None:
    """Listed words lie along what they feel like; a wooden that lies among the worst is no lovely, one in between is."""
    rng = np.random.default_rng(0)
    listed = [w for w in forms.known_feelings() if w.isascii() and w.isalpha() and len(w) > 3][:600]
    made = {w: [forms.feeling(w), *rng.normal(0, 0.5, 3)] for w in listed}

    def felt(value: float) -> float:
        words = made | {"wooden": [value, 0.0, 0.0, 0.0], "table": [0.0, 0.0, 1.0, 0.0]}
        return dict(zip(words, feelings(vectors(words)), strict=True))["wooden"]

    assert felt(-4.0) < -1.0 < 1.0 < felt(4.0)
    shuffled = dict(zip(listed, rng.permutation(list(made.values())).tolist(), strict=True))
    words = shuffled | {"wooden": [-4.0, 0.0, 0.0, 0.0]}
    assert np.isnan(feelings(vectors(words))[-1])  # vectors that know nothing of feelings
    for value, found in ((-4.0, set()), (4.0, {"wooden"})):
        words = made | {"lovely": [3.0, 0.0, -0.5, 0.0], "wooden": [value, 0.0, 0.5, 0.0]}
        words |= {"man": [0.0, 0.0, -1.0, 0.3], "woman": [0.0, 0.0, 1.0, 0.3]}
        options = {"any_form": True, "max_rank": 700, "n": 700}
        assert becomes_one("a lovely day", "lovely", "wooden", words, **options) == found


@needs_forms
def test_her_becomes_him_or_his_as_the_sentence_needs() -> None:
    """The rewriter decides which of its candidates stands: object, determiner."""
    words = {
        w: [x, 1.0, 0.0] for w, x in (("her", 0.9), ("him", 0.3), ("his", 0.2), ("he", 0.1), ("she", 1.0))
    }
    words |= {"man": [-1.0, 0.0, 0.3], "woman": [1.0, 0.0, 0.3]}

    def found(text: str) -> str:
        made = eh.attack(
            lambda ts: [{"a": float(t == text), "b": float(t != text)} for t in ts], [text], embeddings=words,
            fluency="none", placebos=0, holdout=0, match="none", directions=["man-woman"], max_changed=1.0,
            min_similarity=-1.0, min_gain=0.0, search="exhaustive",
        )  # fmt: skip
        return " ".join(str(r["after"]) for r in made.exhibits["pairs to judge"].rows())

    assert "saw him" in found("We saw her yesterday")
    assert "saw his" not in found("We saw her yesterday")
    assert found("We like her dog") == "We like his dog"


@needs_forms
def test_names_are_left_alone() -> None:
    """A capital inside a sentence is a name; at its beginning, or in a text of capitals, it is not."""
    words = space("bill", "note")
    assert becomes("we met Bill again", "bill", words) == set()
    assert becomes("Bill came by post", "bill", words) == {"note"}
    assert becomes("WE PAID THE BILL", "bill", words) == {"note"}


def lexicon(inputs: list[str]) -> list[dict[str, float]]:
    """Counts words: each of "awful" and "bad" makes a text bad by itself, "so" and "very" do it together."""
    weights = {"awful": 2.0, "bad": 2.0, "so": 0.3, "quite": 0.3, "very": 0.6, "sorely": 0.6}
    z = [sum(weights.get(w, 0.0) for w in t.split()) - 1.0 for t in inputs]
    return [{"bad": float(1 / (1 + np.exp(-x))), "fine": float(1 / (1 + np.exp(x)))} for x in z]


def test_words_that_flip_the_label_alone_can_be_left_alone() -> None:
    """grim → awful says the label itself; soft → sorely only tips a text that was near."""
    texts = ["a grim day", "so very soft a day"]
    words = space("grim", "awful", "soft", "sorely")
    options = {
        "embeddings": words, "fluency": "none", "placebos": 0, "holdout": 0, "match": "none",
        "directions": ["woman-man"], "min_similarity": -1.0, "min_gain": 0.0, "max_target": None,
        "any_form": True, "search": "exhaustive",
    }  # fmt: skip
    flips = {}
    for treatment in ("include", "leave"):
        rows = eh.attack(lexicon, texts, label_words=treatment, **options).exhibits["alterations"].rows()
        flips[treatment] = {(r["word"], r["becomes"]) for r in rows if r["flips"]}
    assert ("grim", "awful") in flips["include"]
    assert ("grim", "awful") not in flips["leave"]
    assert ("soft", "sorely") in flips["leave"]


def test_without_the_packages_for_forms_the_attack_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The base installation cannot tell an adjective from a verb: the page says it."""
    monkeypatch.setattr(forms, "available", lambda: False)
    made = eh.attack(
        lexicon, ["a grim day"] * 2, embeddings=space("grim", "awful"), fluency="none", placebos=0
    )
    assert "no-forms" in {note.slug for note in made.notes}


@needs_forms
def test_pass_rates_stand_beside_those_of_the_placebos(data: Path) -> None:
    """A filter that lets the direction through more often than random ones would be seen."""
    from evenhand.texts import texts as shipped

    made = eh.attack(
        "vader", list(shipped("person").texts), embeddings=data / "attack" / "glove.6B.50d.subset.txt",
        score="compound", threshold=0.05, placebos=9,
    )  # fmt: skip
    rows = {str(r["step"]): r for r in made.exhibits["filters"].rows()}
    row = next(r for step, r in rows.items() if "part of speech and form fit" in step)
    assert 0.05 < float(row["alterations"]) < 0.8
    assert abs(float(row["alterations"]) - float(row["mean placebo"])) < 0.15


def test_an_unknown_treatment_of_label_words_is_one_message() -> None:
    """What there is, is named."""
    with pytest.raises(UsageError, match="unknown-label-words"):
        eh.attack(lexicon, ["a"], embeddings=space("a", "b"), label_words="apart")


def test_a_filled_sheet_gives_the_valid_flip_rate_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of the flips judged valid: the rate is half the flip rate, and the interval is wider than either alone."""
    weights = {w: 6 * x for w, x in PLANTED.loading.items()}

    def model(inputs: list[str]) -> list[dict[str, float]]:
        high = [float(1 / (1 + np.exp(-sum(weights.get(w, 0.0) for w in t.split())))) for t in inputs]
        return [{"high": x, "low": 1 - x} for x in high]

    made = eh.attack(
        model, PLANTED.sentences(60, seed=1), embeddings=PLANTED.vectors, fluency="none", placebos=9
    )
    path, sheet, key = tmp_path / "result.json", tmp_path / "sheet.csv", tmp_path / "key.csv"
    made.to_json(path)
    write_sheet(made, sheet, key)
    lines = sheet.read_text(encoding="utf-8").splitlines()
    filled = [line[: line.rfind(",")] + (",yes" if i % 2 else ",no") for i, line in enumerate(lines[1:])]
    sheet.write_text("\n".join([lines[0], *filled]) + "\n", encoding="utf-8")
    assert run(["annotation", str(path), "--read", str(sheet), "--key", str(key)]) == 0
    told = capsys.readouterr().out.splitlines()
    found = adjusted(made, sheet, key)
    assert told[0] == headline(found)
    assert told[0].startswith("Valid flips, of the alterable texts: ")
    for row in found.rows():
        rate, share = float(row["flip rate"]), float(row["share valid"])
        assert float(row["valid-flip rate"]) == pytest.approx(rate * share)
        assert float(row["valid low"]) <= rate * share <= float(row["valid high"])


def test_the_interval_of_a_product_covers_it() -> None:
    """Two rates of 20 % and 60 % from 100 and 40 cases: 93 to 98 in 100 intervals hold their product."""
    from evenhand.stats.rates import wilson

    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(1_000):
        one, other = wilson(int(rng.binomial(100, 0.2)), 100), wilson(int(rng.binomial(40, 0.6)), 40)
        ends = [(e.value or 0.0, e.low or 0.0, e.high or 0.0) for e in (one, other)]
        _, low, high = product_of(ends[0], ends[1])
        hits += low <= 0.12 <= high
    assert 930 <= hits <= 980


def test_the_seed_dictionary_is_the_plain_neighbours_of_the_sum() -> None:
    """What a word may become are the n words nearest to w + g, and nothing else, whatever the rules say."""
    from evenhand.embeddings import direction, vectors

    v = vectors(space("nice", "kind", "sweet", "calm", "warm"))
    step = direction("woman-man", v).step.astype(float)
    shifted = v.unit[v.row("nice")] + step
    nearest = sorted((w for w in v.words if w != "nice"), key=lambda w: -float(v.unit[v.row(w)] @ shifted))[
        :2
    ]
    words, no_rule = (
        space("nice", "kind", "sweet", "calm", "warm"),
        {"min_gain": 9.0, "min_similarity": 0.999},
    )
    found = becomes("a nice day", "nice", words, dictionary="seed", n=2, **no_rule)
    assert found == set(nearest) - {"woman", "man"}
    assert found
    with pytest.raises(UsageError, match="unknown-dictionary"):
        eh.attack(lexicon, ["a"], embeddings=space("a", "b"), dictionary="plain")


def test_placebos_are_pairs_of_the_direction_s_kind(data: Path) -> None:
    """Nouns beside woman and man, as frequent; no inflections of one word, no names, no pair twice."""
    from evenhand.audits.attack.axes import axes_of, definitional_words, draw_placebos
    from evenhand.embeddings import vectors
    from evenhand.embeddings.dictionary import same_lemma

    v = vectors(data / "attack" / "glove.6B.50d.subset.txt")
    axis = axes_of(["woman-man", "man-woman"], v, None)[0]
    drawn = draw_placebos(v, axis, 99, seed=0, special=definitional_words(axis))
    pairs = [d.words for d in drawn.directions]
    assert len({frozenset(pair) for pair in pairs}) == 99
    assert not any(same_lemma(*pair) for pair in pairs)
    ranks = np.array([[v.row(w) for w in pair] for pair in pairs])
    assert np.median(ranks) < len(v) / 2  # woman and man are frequent words
    assert np.mean(drawn.cosine) > 0.7
    if forms.available():
        assert all(forms.usual_tag(w) == "NN" for pair in pairs for w in pair)


def test_distinct_inputs_and_evaluations_are_counted_apart() -> None:
    """A genetic search looks at many states again; each input is asked once, as the model itself counts."""
    seen: list[str] = []
    weights = {w: 6 * x for w, x in PLANTED.loading.items()}

    def model(inputs: list[str]) -> list[dict[str, float]]:
        seen.extend(inputs)
        high = [float(1 / (1 + np.exp(-sum(weights.get(w, 0.0) for w in t.split())))) for t in inputs]
        return [{"high": x, "low": 1 - x} for x in high]

    counts = {}
    for search in ("beam", "genetic"):
        seen.clear()
        made = eh.attack(
            model, PLANTED.sentences(20, seed=1), embeddings=PLANTED.vectors, fluency="none", placebos=0,
            search=search,
        )  # fmt: skip
        counts[search] = made.counts
        assert made.counts["distinct"] == len(set(seen))
    assert counts["genetic"]["evaluations"] > 2 * counts["genetic"]["distinct"]
    assert counts["beam"]["evaluations"] < counts["genetic"]["evaluations"]
