"""`evenhand embeddings test`: what a user reads, with words that are missing, few, alike, or sentences."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from evenhand._errors import UsageError
from evenhand.cli import embeddings as commands
from evenhand.cli import run
from evenhand.embeddings import vectors, word_test
from evenhand.embeddings.word_sets import word_set

GLOVE = "attack/glove.6B.50d.subset.txt"
KIN = {"targets": ["definitional_women", "definitional_men"], "attributes": ["career"]}


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Runs the command: (exit code, what it prints)."""

    def ran(*words: str) -> tuple[int, str]:
        code = run(["embeddings", "test", *words])
        told = capsys.readouterr()
        return code, " ".join((told.out + told.err).split())

    return ran


def planted(gap: float, words: int = 12, width: int = 20, seed: int = 0) -> dict[str, np.ndarray]:
    """Target words x…, y… that lean `gap` to the attribute words a…, b…, and 400 others."""
    rng = np.random.default_rng(seed)
    poles = np.eye(width)[:2]
    space = {f"a{i}": poles[0] + 0.2 * rng.normal(size=width) for i in range(words)}
    space |= {f"b{i}": poles[1] + 0.2 * rng.normal(size=width) for i in range(words)}
    space |= {f"x{i}": gap * poles[0] + 0.3 * rng.normal(size=width) for i in range(words)}
    space |= {f"y{i}": gap * poles[1] + 0.3 * rng.normal(size=width) for i in range(words)}
    letters = "abcdefghijklmnopqrst"
    others = (f"qu{letters[i // 20]}{letters[i % 20]}" for i in range(400))
    return space | {w: 0.3 * rng.normal(size=width) for w in others}


def listed(first: str, second: str, words: int = 12) -> list[list[str]]:
    """Names of the planted words."""
    return [[f"{letter}{i}" for i in range(words)] for letter in (first, second)]


@pytest.mark.parametrize("name", ["weat", "rnd", "rnsb", "ect"])
def test_a_planted_association_is_found_and_none_is_not(name: str) -> None:
    """By the exchange of words and by random words; without the association neither p is small."""
    attributes = listed("a", "b")
    if name in ("rnd", "ect"):
        attributes = [attributes[0] + attributes[1]] if name == "ect" else attributes[:1]
    told = {
        gap: [
            word_test(planted(gap, seed=s), name, targets=listed("x", "y"), attributes=attributes, draws=99)
            for s in range(5)
        ]
        for gap in (0.0, 1.0)
    }
    p = {gap: [found.p_value or 0.0 for found in each] for gap, each in told.items()}
    ranks = {gap: [found.placebo_p or 0.0 for found in each] for gap, each in told.items()}
    if name != "rnsb":  # there it is the classifier that is exchanged
        assert np.median(p[1.0]) <= 0.02
        assert np.median(p[0.0]) > 0.05
    assert np.median(ranks[1.0]) <= 0.03
    assert np.median(ranks[0.0]) > 0.05


def test_words_without_a_vector_are_counted_and_named(data: Path, said) -> None:  # type: ignore[no-untyped-def]
    """Of a published query in a small vocabulary, with a warning that the set is another one now."""
    _, told = said(str(data / GLOVE), "--query", "weat-7")
    assert "arts: 3 of 8 words; without a vector: poetry, literature, symphony, drama, sculpture" in told
    assert "note: arts lost 5 of 8 words" in told
    assert "no interval: a set of 2 words; 3 are needed" in told


def test_a_pair_is_lost_whole(data: Path, said) -> None:  # type: ignore[no-untyped-def]
    """RIPA reads its targets as pairs: gal has no vector, so guy goes too."""
    _, told = said(str(data / GLOVE), "--test", "ripa", "--target", "definitional_women", "--target", "definitional_men", "--attribute", "career")  # fmt: skip
    assert "definitional_women: 8 of 10 words; without a vector: gal, herself" in told
    assert "definitional_men: 8 of 10 words; without a vector: guy, himself" in told


def test_the_command_line_says_what_python_finds_and_writes_it(data: Path, tmp_path: Path, said) -> None:  # type: ignore[no-untyped-def]
    """The same numbers, printed and as JSON; another seed moves only what is drawn."""
    out = tmp_path / "found.json"
    sets = [f"--{what}={name}" for what, names in (("target", KIN["targets"]), ("attribute", KIN["attributes"])) for name in names]  # fmt: skip
    _, told = said(str(data / GLOVE), "--test", "ect", *sets, "--save", str(out))
    found = word_test(data / GLOVE, "ect", **KIN)
    kept = json.loads(out.read_text(encoding="utf-8"))
    assert kept == json.loads(json.dumps(found.to_dict()))
    assert all(" ".join(line.split()) in told for line in found.lines())
    other = word_test(data / GLOVE, "ect", **KIN, seed=1)
    assert (other.value, other.low, other.high) == (found.value, found.low, found.high)


def test_sentences_through_an_encoder_are_tested_as_words_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said
) -> None:  # type: ignore[no-untyped-def]
    """SEAT: lines of a file through "module:attr"; the value is WEAT's of the same vectors."""
    (tmp_path / "sentencer.py").write_text(
        "import numpy as np\n"
        "def encode(texts):\n"
        "    return np.array([[t.count(c) + 0.01 for c in 'aeiou'] for t in texts])\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    lines = {"t1": ["This is a cat.", "That are apes.", "A lama"], "t2": ["Look, a bull", "It is blue", "no"]}
    lines |= {"a1": ["alas a panda", "sad"], "a2": ["oh no!", "so good"]}
    for name, some in lines.items():
        (tmp_path / name).write_text("\n".join(some) + "\n", encoding="utf-8")
    files = [str(tmp_path / n) for n in ("t1", "t2")], [str(tmp_path / n) for n in ("a1", "a2")]
    _, told = said("sentencer:encode", "--target", files[0][0], "--target", files[0][1], "--attribute", files[1][0], "--attribute", files[1][1])  # fmt: skip
    every = [line for some in lines.values() for line in some]
    space = dict(zip(every, sys.modules["sentencer"].encode(every), strict=True))
    same = word_test(vectors(space), targets=files[0], attributes=files[1], placebos=0)
    assert f"effect size d {same.value:.4f}" in told
    assert "an encoder has no vocabulary" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--test", "seat"], "available: weat, rnd, rnsb, mac, ect, ripa"),
        (["--query", "weat-11"], "[unknown-query]"),
        (["--query", "weat-7", "--target", "career"], "a query brings its own sets"),
        (["--target", "career"], "weat needs 2 target sets"),
        (["--target", "career", "--target", "familie"], "weat needs 2 attribute sets"),
        (["--test", "mac", "--target", "familie", "--attribute", "career"], "available: flowers"),
        (["--test", "mac", "--target", "instruments", "--attribute", "career"], "no word of this set has a vector"),
        (["--test", "ripa", "--target", "career", "--target", "mental_disease", "--attribute", "family"], "[unequal-pairs]"),
        (["--test", "rnd", "--target", "career", "--target", "career", "--attribute", "family", "--alternative", "both"], "[unknown-alternative]"),
        (["--query", "weat-7", "--level", "95"], "[bad-count]"),
    ],
)  # fmt: skip
def test_what_cannot_be_tested_is_one_message(words: list[str], told: str, data: Path, said) -> None:  # type: ignore[no-untyped-def]
    """What was given, what is there; no traceback."""
    code, found = said(str(data / GLOVE), *words)
    assert code == 2
    assert told in found
    assert "Traceback" not in found


def test_targets_that_are_all_alike_have_no_value() -> None:
    """No spread, no effect size: said, not NaN."""
    space = {"same": [1.0, 0.0], "as": [1.0, 0.0], "good": [1.0, 1.0], "bad": [0.0, 1.0]}
    with pytest.raises(UsageError, match="do not differ"):
        word_test(space, targets=[["same"], ["as"]], attributes=[["good"], ["bad"]])


def test_an_encoder_that_gives_no_numbers_is_told_so() -> None:
    """One finite row for each text, or a message."""
    sets = {"targets": [["a"], ["b"]], "attributes": [["c"], ["d"]]}
    for wrong in (np.ones(4), np.ones((3, 2)), np.full((4, 2), np.nan)):
        with pytest.raises(UsageError, match="encoder-shape"):
            word_test(lambda texts, wrong=wrong: wrong, **sets)


def test_a_set_is_a_name_a_file_or_a_list_each_word_once(tmp_path: Path) -> None:
    """Blank lines and repeats count for nothing; an empty set is refused."""
    path = tmp_path / "words.txt"
    path.write_text("one\n\ntwo \none\n", encoding="utf-8")
    assert word_set(str(path)).words == ("one", "two")
    assert word_set(["b", "a", "b"]).words == ("b", "a")
    with pytest.raises(UsageError, match="empty-word-set"):
        word_set([" "])


def test_the_command_has_the_defaults_of_the_function() -> None:
    """What is left out means the same in both."""
    ours, theirs = (inspect.signature(f).parameters for f in (commands.word_test, word_test))
    assert set(theirs) == set(ours) - {"save"}
    for name, parameter in theirs.items():
        assert ours[name].default == parameter.default or ours[name].default is None
