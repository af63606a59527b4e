"""Embedding tests against WEFE, against its values written down, and against definitions spelled out in loops."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from evenhand.embeddings import vectors, word_test
from evenhand.embeddings.word_sets import queries, shipped, word_set

WOMEN, MEN = ["she", "her", "woman", "girl", "mother"], ["he", "him", "man", "boy", "father"]
WORK, HOME = (
    ["business", "office", "career", "management", "professional", "doctor", "art", "dance", "police"],
    ["home", "parents", "children", "family", "house"],
)
GOOD, BAD = (
    ["love", "peace", "friend", "honor", "happy", "health"],
    ["death", "murder", "crash", "accident", "prison", "cancer"],
)
SETS = {
    "weat": ([WOMEN, MEN], [WORK, HOME]),
    "rnd": ([WOMEN, MEN], [WORK]),
    "rnsb": ([WOMEN, MEN], [GOOD, BAD]),
    "mac": ([WOMEN, MEN], [WORK, HOME]),
    "ect": ([WOMEN, MEN], [WORK]),
    "ripa": ([WOMEN, MEN], [WORK]),
}
WEFE = {
    "weat": -0.9227471212280728,
    "rnd": 0.5451289282904731,
    "rnsb": 0.0628991777807804,
    "mac": 0.43729832087718845,
    "ect": 0.7833333333333333,
    "ripa": -0.12354712933301926,
}
"""What WEFE 1.0.1 gives for these sets in the shared subset of GloVe."""
TITLE = {"weat": "effect_size"}


def by_wefe(model, name: str, targets: list[list[str]], attributes: list[list[str]]) -> float:  # type: ignore[no-untyped-def]
    """WEFE's value for lists of words; RNSB is trained on all attribute words."""
    from wefe import metrics
    from wefe.query import Query

    sets = [f"t{i}" for i in range(len(targets))], [f"a{i}" for i in range(len(attributes))]
    more = {"holdout": False} if name == "rnsb" else {}
    asked = Query(targets, attributes, *sets)
    found = getattr(metrics, name.upper())().run_query(asked, model, lost_vocabulary_threshold=0.5, **more)
    return float(found[TITLE.get(name, name)])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SETS)
def test_values_are_those_of_wefe_on_its_own_model_and_word_sets(name: str) -> None:
    """On WEFE's own example model: its published comparisons, and the sets above."""
    pytest.importorskip("wefe", reason="the peer WEFE is not installed (pip install wefe)")
    from wefe.utils import load_test_model

    model = load_test_model()
    space = vectors(model.wv)
    asked = [SETS[name]]
    if name == "weat":
        asked += [
            ([list(word_set(t).words) for t in ts], [list(word_set(a).words) for a in rest])
            for ts, rest in queries().values()
        ]
    for targets, attributes in asked:
        ours = word_test(space, name, targets=targets, attributes=attributes, placebos=0, draws=1).value
        assert ours == pytest.approx(by_wefe(model, name, targets, attributes), abs=1e-6)


@pytest.mark.parametrize("name", SETS)
def test_values_are_those_that_wefe_gave_on_real_vectors(name: str, data: Path) -> None:
    """WEFE's values, written down, for machines without it."""
    targets, attributes = SETS[name]
    path = data / "attack" / "glove.6B.50d.subset.txt"
    found = word_test(path, name, targets=targets, attributes=attributes, placebos=0, draws=1)
    assert found.missing == dict.fromkeys(found.missing, ())
    assert found.value == pytest.approx(WEFE[name], abs=2e-6)


def test_weat_and_its_exact_p_are_those_of_plain_loops() -> None:
    """s(w, A, B), the effect size and all 252 regroupings, word by word from the paper's text."""
    rng = np.random.default_rng(3)
    names = [f"w{i}" for i in range(18)]
    space = dict(zip(names, rng.normal(size=(18, 6)), strict=True))
    x, y, a, b = names[:5], names[5:10], names[10:14], names[14:]

    def cos(u: str, v: str) -> float:
        return float(space[u] @ space[v] / np.linalg.norm(space[u]) / np.linalg.norm(space[v]))

    s = {w: np.mean([cos(w, v) for v in a]) - np.mean([cos(w, v) for v in b]) for w in x + y}
    spread = np.std(list(s.values()))

    def d(first: tuple[str, ...]) -> float:
        rest = [w for w in x + y if w not in first]
        return float((np.mean([s[w] for w in first]) - np.mean([s[w] for w in rest])) / spread)

    every = [d(some) for some in itertools.combinations(x + y, 5)]
    own = d(tuple(x))
    for alternative, reached in (
        ("greater", sum(v >= own - 1e-9 for v in every)),
        ("two-sided", sum(abs(v) >= abs(own) - 1e-9 for v in every)),
    ):
        found = word_test(
            space, "weat", targets=[x, y], attributes=[a, b], alternative=alternative, placebos=0
        )
        assert found.value == pytest.approx(own, abs=1e-6)
        assert found.p_value == pytest.approx(reached / 252)


def test_ripa_turns_every_pair_in_its_exact_p() -> None:
    """All 2⁴ ways of turning four pairs, as a loop."""
    rng = np.random.default_rng(4)
    names = [f"w{i}" for i in range(11)]
    space = dict(zip(names, rng.normal(size=(11, 5)), strict=True))
    pairs, words = list(zip(names[:4], names[4:8], strict=True)), names[8:]

    def mean(signs: tuple[int, ...]) -> float:
        each = [
            sign * (space[w] @ (space[p] - space[q])) / np.linalg.norm(space[p] - space[q])
            for sign, (p, q) in zip(signs, pairs, strict=True)
            for w in words
        ]
        return float(np.mean(each))

    own = mean((1, 1, 1, 1))
    every = [mean(signs) for signs in itertools.product((1, -1), repeat=4)]
    found = word_test(space, "ripa", targets=[names[:4], names[4:8]], attributes=[words], placebos=0)
    assert found.value == pytest.approx(own, abs=1e-6)
    assert found.p_value == pytest.approx(sum(abs(v) >= abs(own) - 1e-9 for v in every) / 16)


def test_the_jackknife_of_a_mean_is_the_t_interval() -> None:
    """RND with one fixed pair of targets is a mean over attribute words, whose jackknife is s/√n."""
    from scipy import stats

    rng = np.random.default_rng(5)
    names = [f"w{i}" for i in range(12)]
    space = dict(zip(names, rng.normal(size=(12, 4)), strict=True))
    same = {f"x{i}": space["w0"] for i in range(4)} | {f"y{i}": space["w1"] for i in range(4)}
    sets = [[f"x{i}" for i in range(4)], [f"y{i}" for i in range(4)]]
    words = names[2:]
    found = word_test(space | same, "rnd", targets=sets, attributes=[words], placebos=0)
    each = [np.linalg.norm(space[w] - space["w0"]) - np.linalg.norm(space[w] - space["w1"]) for w in words]
    low, high = stats.ttest_1samp(each, 0.0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-5)


def test_shipped_sets_are_those_of_the_published_file(data: Path) -> None:
    """Every list of the paper, as the project that collected them has it."""
    import json

    published = json.loads((data / "text" / "weat.json").read_text(encoding="utf-8"))
    assert set(published) <= set(shipped())
    for name, words in published.items():
        assert list(word_set(name).words) == words
    assert len(queries()) == 10
    assert all(
        math.isfinite(len(word_set(n).words)) for pair in queries().values() for n in pair[0] + pair[1]
    )
