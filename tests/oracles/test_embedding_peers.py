"""Embeddings, language model and rates against gensim, NLTK, KenLM, statsmodels and explicit loops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand.embeddings import Rules, alterations, direction, train, vectors
from evenhand.embeddings.fluency import contexts_of, fluency
from evenhand.embeddings.neighbours import nearest
from evenhand.embeddings.ngram import load, save, tokens_of
from evenhand.stats.rates import clopper_pearson, mcnemar_exact, wilson
from evenhand.texts import texts


@pytest.fixture(scope="module")
def glove(data: Path):  # type: ignore[no-untyped-def]
    """The real subset."""
    return vectors(data / "attack" / "glove.6B.50d.subset.txt")


@pytest.mark.filterwarnings("ignore")
def test_neighbours_equal_gensim_for_every_word(glove) -> None:  # type: ignore[no-untyped-def]
    """`most_similar(positive=[w, woman], negative=[man])` for all 2,446 words, same words in the same order."""
    models = pytest.importorskip("gensim.models")
    keyed = models.KeyedVectors(vector_size=glove.width)
    keyed.add_vectors(list(glove.words), np.array(glove.unit * glove.norms[:, None]))
    assert vectors(keyed).words == glove.words  # gensim objects are taken as they are
    woman, man = glove.row("woman"), glove.row("man")
    step = glove.unit[woman] - glove.unit[man]
    ours = nearest(glove, np.arange(len(glove)), [step], n=10, exclude=[[woman, man]])[0]
    wrong = 0
    for row, word in enumerate(glove.words):
        if row in (woman, man):
            continue
        peer = keyed.most_similar(positive=[word, "woman"], negative=["man"], topn=10)
        mine = [glove.words[r] for r in ours.rows[row]]
        assert np.allclose(ours.cosine[row], [c for _, c in peer], atol=2e-6)
        if mine != [w for w, _ in peer]:
            close = np.diff([c for _, c in peer])
            assert np.min(np.abs(close)) < 1e-6, word  # only ties may swap
            wrong += 1
    assert wrong <= 5


def test_neighbours_equal_an_explicit_float64_loop(glove) -> None:  # type: ignore[no-untyped-def]
    """The blocked product with group maxima finds what a plain loop finds."""
    step = direction("mean:definitional", glove).step
    rows = np.arange(0, len(glove), 37)
    ours = nearest(glove, rows, [step, -step], n=7, block_bytes=1 << 18)
    matrix = glove.unit.astype(np.float64)
    for sign, found in zip((1.0, -1.0), ours, strict=True):
        for i, row in enumerate(rows):
            query = matrix[row] + sign * step.astype(np.float64)
            cosine = matrix @ query / np.linalg.norm(query) / np.linalg.norm(matrix, axis=1)
            cosine[row] = -np.inf
            best = np.argsort(-cosine)[:7]
            assert np.allclose(found.cosine[i], cosine[best], atol=1e-6)
            assert set(found.rows[i]) == set(best)


def test_both_directions_from_one_product_equal_two_builds(glove) -> None:  # type: ignore[no-untyped-def]
    """Sharing the product changes nothing, bit for bit."""
    step = direction("woman-man", glove).step
    rows = np.arange(300)
    together = nearest(glove, rows, [step, -step], n=10)
    for one, apart in zip(together, (step, -step), strict=True):
        alone = nearest(glove, rows, [apart], n=10)[0]
        assert np.array_equal(one.rows, alone.rows)
        assert np.array_equal(one.cosine, alone.cosine)


def test_the_dictionary_follows_its_definition(glove) -> None:  # type: ignore[no-untyped-def]
    """Every alteration is similar enough, moves far enough in float64, and is ranked by the shifted cosine."""
    d = direction("woman-man", glove)
    rules = Rules(n=6, min_similarity=0.55, min_gain=0.7, max_target=None)
    made = alterations(glove, [d], words=["doctor", "strong", "city", "brother"], rules=rules)
    matrix = glove.unit.astype(np.float64)
    g = d.step.astype(np.float64)
    unit = g / np.linalg.norm(g)
    spread = (matrix @ unit).std()
    for word, listed in made.entries["woman-man"].items():
        w = matrix[glove.row(word)]
        shifted = (w + g) / np.linalg.norm(w + g)
        cosines = []
        for a in listed:
            c = matrix[glove.row(a.word)]
            assert a.similarity == pytest.approx(w @ c, abs=1e-5)
            assert a.similarity >= 0.55
            assert a.gain == pytest.approx((c - w) @ unit / spread, abs=1e-4)
            assert a.gain >= 0.7
            assert a.cosine == pytest.approx(shifted @ c, abs=1e-5)
            cosines.append(a.cosine)
        assert cosines == sorted(cosines, reverse=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("order", [2, 3, 4])
def test_the_model_matches_nltk_kneser_ney(order: int) -> None:
    """Equal to 1e-9 for seen and unseen contexts. NLTK is given no n-gram that ends in a start mark, as no such event exists."""
    lm = pytest.importorskip("nltk.lm")
    util = pytest.importorskip("nltk.util")
    lines = [tokens_of(t) for t in texts("person").texts[:30]]
    ours = train(lines, order=order, discount=0.1, open_vocabulary=False)
    peer = lm.KneserNeyInterpolated(order, discount=0.1)
    padded = [["<s>"] * (order - 1) + list(t) + ["</s>"] for t in lines]
    grams = [[g for n in range(1, order + 1) for g in util.ngrams(p, n) if g[-1] != "<s>"] for p in padded]
    peer.fit(grams, vocabulary_text=[w for t in lines for w in [*t, "<s>", "</s>"]])
    rng = np.random.default_rng(0)
    vocabulary = [w for w in ours.words if w not in ("<unk>", "<s>")]
    for line in padded[:12]:
        at = int(rng.integers(order - 1, len(line)))
        context = line[at - order + 1 : at]
        for word in [line[at], *rng.choice(vocabulary, 3)]:
            mine = ours.probability(ours.ids([word]), ours.ids(context)[None, :])[0]
            assert mine == pytest.approx(peer.score(word, context), abs=1e-9)


@pytest.mark.parametrize(("order", "opened"), [(1, True), (2, False), (3, True), (5, True), (5, False)])
def test_probabilities_sum_to_one(order: int, opened: bool) -> None:
    """In every context, known or not, over all words and the unknown one."""
    lines = [tokens_of(t) for t in texts("person").texts]
    model = train(
        lines, order=order, open_vocabulary=opened, base={"zebra": 2.0, "he": 1.0} if opened else None
    )
    everything = np.arange(len(model.words))
    contexts = [
        ["he", "was", "the", "best"],
        ["<s>"] * 4,
        ["no", "such", "words", "xyzzy"],
        ["to", "the", "old", "and"],
    ]
    for context in contexts:
        ids = np.tile(model.ids(context)[4 - (order - 1) :], (len(everything), 1))
        assert model.probability(everything, ids).sum() == pytest.approx(1.0, abs=1e-9)


def test_the_window_ratio_equals_whole_texts(tmp_path: Path) -> None:
    """Prefix and suffix n-grams around the word give exactly the change of the whole text's log p; saving keeps it."""
    lines = [tokens_of(t) for t in texts("person").texts]
    model = train(lines[:40], order=3)
    model = load(save(model, tmp_path / "model"))
    for row, place, word in [(45, 0, "she"), (46, 5, "good"), (47, len(lines[47]) - 1, "!")]:
        changed = list(lines[row])
        changed[place] = word
        ratio = model.log_ratios(lines, np.array([row]), np.array([place]), [word])[0]
        assert ratio == pytest.approx(model.score(changed) - model.score(lines[row]), abs=1e-9)


def test_a_kenlm_file_is_read(tmp_path: Path) -> None:
    """An ARPA file with known log10 probabilities gives the ratio that follows from them."""
    pytest.importorskip("kenlm")
    arpa = (
        "\\data\\\nngram 1=5\nngram 2=2\n\n\\1-grams:\n-1\t<unk>\t0\n-99\t<s>\t0\n-1\t</s>\t0\n-0.5\tnice\t0\n-1.5\tlovely\t0\n"
        "\n\\2-grams:\n-0.3\t<s> nice\n-0.4\tnice </s>\n\n\\end\\\n"
    )
    path = tmp_path / "tiny.arpa"
    path.write_text(arpa)
    made = fluency(path)
    assert made is not None
    ratio = made.log_ratios(contexts_of(["nice"]), np.array([0]), np.array([0]), ["lovely"])[0]
    assert ratio == pytest.approx(-(1.5 + 1.0 - 0.3 - 0.4) * np.log(10.0), abs=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_intervals_and_mcnemar_equal_statsmodels() -> None:
    """What an attack prints about rates."""
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    for k, n in [(0, 12), (7, 40), (213, 300)]:
        low, high = proportion.proportion_confint(k, n, method="wilson")
        made = wilson(k, n)
        assert (made.low, made.high) == pytest.approx((low, high), abs=1e-12)
        low, high = proportion.proportion_confint(k, n, method="beta")
        exact = clopper_pearson(k, n)
        assert exact.low == pytest.approx(0.0 if k == 0 else low, abs=1e-10)
        assert exact.high == pytest.approx(high, abs=1e-10)
    peer = tables.mcnemar(np.array([[5, 14], [4, 9]]), exact=True)
    assert mcnemar_exact(14, 4).p_value == pytest.approx(peer.pvalue, abs=1e-12)


def test_approximate_neighbours_say_their_recall(glove) -> None:  # type: ignore[no-untyped-def]
    """The measured recall is the share of exact neighbours found, and a graph of this size finds nearly all."""
    pytest.importorskip("faiss")
    from evenhand.embeddings.approximate import near

    step = direction("woman-man", glove).step
    found = near(glove, [glove.row("doctor")], [step], n=5)
    exact = nearest(glove, [glove.row("doctor")], [step], n=5)[0]
    assert found.recall > 0.95
    assert len(set(found.nearest[0].rows[0]) & set(exact.rows[0])) >= 4
