"""Speed of the attack's parts, as ratios measured in one run: vectors, neighbours, n-grams, searches.

python -m benchmarks attack, or python -m benchmarks.attack [--words 100000] [--width 300] [--tweets davidson_labeled_data.csv --glove glove.txt]
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._figures import Figure, cpu, peak_mb, show
from evenhand.audits.attack.audit import attack
from evenhand.embeddings._matrix import from_arrays
from evenhand.embeddings.neighbours import BLOCK_BYTES, nearest
from evenhand.embeddings.ngram import tokens_of, train
from evenhand.embeddings.vectors import vectors


def neighbours(words: int, width: int, rows: int, few: int = 200) -> Iterator[Figure]:
    """Both directions against the bare product, a further direction, and gensim's loop on a few words."""
    rng = np.random.default_rng(0)
    space = from_arrays([f"w{i}" for i in range(words)], rng.normal(size=(words, width)).astype(np.float32))
    steps = [space.unit[i] - space.unit[i + 1] for i in range(3)]
    some = np.arange(rows)
    block = max(1, BLOCK_BYTES // (4 * words))
    out = np.empty((block, words), dtype=np.float32)

    def bare() -> None:
        for start in range(0, rows, block):
            part = space.unit[start : min(rows, start + block)]
            np.matmul(part, space.unit.T, out=out[: len(part)])

    bare_s, _ = cpu(bare)
    two_s, _ = cpu(lambda: nearest(space, some, steps[:2], n=10))
    three_s, _ = cpu(lambda: nearest(space, some, steps, n=10))
    what = f"neighbours of {rows:,} words in {words:,} × {width}, both directions"
    yield Figure(
        name=what,
        figure=f"{two_s:.2f} s; a further direction {(three_s - two_s) / bare_s:.2f} × the product; peak {peak_mb():.0f} MB",
        cpu=two_s,
        peer="the bare product",
        ratio=bare_s / two_s,
    )
    one_s = two_s / 2 / rows
    try:
        from gensim.models import KeyedVectors
    except ImportError:
        yield Figure(
            name=what, figure=f"{1e6 * one_s:.0f} µs a word", cpu=two_s, peer="gensim is not installed"
        )
        return
    keyed = KeyedVectors(width)
    keyed.add_vectors(list(space.words), np.array(space.unit))
    keyed.fill_norms()
    peer_s, _ = cpu(lambda: [keyed.most_similar([f"w{i + 5}", "w0"], ["w1"], topn=10) for i in range(few)])
    yield Figure(
        name=what,
        figure=f"{1e6 * one_s:.0f} µs a word and direction",
        cpu=two_s,
        peer=f"gensim's loop, {peer_s / few * words:.0f} s for all words and one direction",
        ratio=peer_s / few / one_s,
    )


def loading(words: int, width: int) -> Iterator[Figure]:
    """A GloVe text file against gensim's loader, and the second load from the cache."""
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "glove.txt"
        with path.open("w", encoding="utf-8") as file:
            for start in range(0, words, 10_000):
                block = rng.normal(size=(min(10_000, words - start), width))
                for i, row in enumerate(block):
                    file.write(f"w{start + i} " + " ".join(f"{x:.5f}" for x in row) + "\n")
        ours_s, _ = cpu(lambda: vectors(path, cache=Path(folder) / "cache"))
        again = time.perf_counter()
        vectors(path, cache=Path(folder) / "cache")
        again = time.perf_counter() - again
        what, cost = f"{words:,} × {width} GloVe text", f"{ours_s:.2f} s, second load {again:.3f} s"
        try:
            from gensim.models import KeyedVectors
        except ImportError:
            yield Figure(name=what, figure=cost, cpu=ours_s, peer="gensim is not installed")
            return
        peer_s, _ = cpu(lambda: KeyedVectors.load_word2vec_format(str(path), no_header=True))
        yield Figure(name=what, figure=cost, cpu=ours_s, peer="gensim's loader", ratio=peer_s / ours_s)


def language_model(lines: list[str]) -> None:
    """Training and candidates a second."""
    tokens = [tokens_of(t) for t in lines]
    tokens = (tokens * (1 + 1_000_000 // max(1, sum(map(len, tokens)))))[: len(tokens) * 40]
    train_s, model = cpu(lambda: train(tokens, order=3))
    rng = np.random.default_rng(0)
    n = 100_000
    rows = rng.integers(0, len(tokens), n)
    rows = np.array([r for r in rows.tolist() if tokens[r]])
    places = np.array([rng.integers(len(tokens[r])) for r in rows.tolist()])
    words = [model.words[i] for i in rng.integers(3, len(model.words), len(rows))]
    kept = sorted(set(rows.tolist()))
    number = {r: i for i, r in enumerate(kept)}
    used = [tokens[r] for r in kept]
    rows = np.array([number[r] for r in rows.tolist()])
    ask_s, _ = cpu(lambda: model.log_ratios(used, rows, places, words))
    print(
        f"n-gram model: {model.tokens / train_s / 1e6:.2f} million tokens/s, {len(rows) / ask_s:,.0f} candidates/s"
    )


class Linear:
    """Logistic regression over TF-IDF features, and the CPU seconds spent in it."""

    def __init__(self, features: Any, texts: list[str], labels: list[int]) -> None:
        from sklearn.linear_model import LogisticRegression

        self.features = features
        self.model = LogisticRegression(C=10, max_iter=300).fit(features.fit_transform(texts), labels)
        self.seconds, self.asked = 0.0, 0

    def __call__(self, inputs: list[str]) -> dict[str, Any]:
        begin = time.process_time()
        p = self.model.predict_proba(self.features.transform(inputs))
        self.seconds += time.process_time() - begin
        self.asked += len(inputs)
        return {"fine": p[:, 0], "abusive": p[:, 1]}


def searches(tweets: list[str], labels: list[int], glove: str) -> None:
    """Beam against greedy and the genetic algorithm, by distinct inputs and by evaluations."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    model = Linear(TfidfVectorizer(min_df=3, sublinear_tf=True), tweets[:12_000], labels[:12_000])
    held, space = tweets[12_000:12_300], vectors(glove)
    searched = (
        ("beam", {}),
        ("beam", {"width": 5}),
        ("greedy", {}),
        ("genetic", {}),
        ("genetic-practice", {}),
    )
    first = None
    for search, options in searched:
        spent, result = cpu(
            partial(
                attack, model, held, embeddings=space, placebos=0, search=search, search_options=options,
                max_queries=100_000, holdout=0, definitional="include",
            )
        )  # fmt: skip
        flips = sum(int(row["flips"] or 0) for row in result.exhibits["flips"].rows())
        distinct, every = result.counts["distinct"], result.counts["evaluations"]
        first = first or (distinct, every)
        print(
            f"{search} {options or ''}: {flips} flips, {distinct:,} distinct inputs ({distinct / first[0]:.2f} × beam,"
            f" {1000 * flips / distinct:.1f} flips for 1,000), {every:,} evaluations ({every / first[1]:.1f} ×),"
            f" {1000 * spent / (2 * len(held)):.1f} CPU ms a text and direction"
        )


def shares(tweets: list[str], labels: list[int], glove: str, placebos: int) -> None:
    """CPU inside the subject, for a linear model over words and one over words and parts of words."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_union

    words = TfidfVectorizer(min_df=3, sublinear_tf=True)
    parts = TfidfVectorizer(min_df=3, sublinear_tf=True, analyzer="char_wb", ngram_range=(2, 5))
    space = vectors(glove)
    for name, features in (("words", words), ("words and their parts", make_union(words, parts))):
        model = Linear(features, tweets[:12_000], labels[:12_000])
        spent, _ = cpu(partial(attack, model, tweets[12_000:13_000], embeddings=space, placebos=placebos))
        print(
            f"1,000 texts × 2 directions × {placebos} placebos, TF-IDF of {name}: {spent:.0f} CPU s,"
            f" {model.asked:,} queries of {1e6 * model.seconds / model.asked:.0f} µs, {100 * model.seconds / spent:.0f} % inside the subject,"
            f" {1e6 * (spent - model.seconds) / model.asked:.1f} µs a query outside it"
        )


def run(*, quick: bool) -> Iterator[Figure]:
    """What needs no data; the searches want tweets and vectors (`python -m benchmarks.attack --tweets … --glove …`)."""
    yield from neighbours(2_000, 50, 200, few=10) if quick else neighbours(100_000, 300, 4_000)
    yield from loading(1_000, 50) if quick else loading(40_000, 300)


def main() -> None:
    """Run what the arguments allow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=300)
    parser.add_argument("--rows", type=int, default=4_000)
    parser.add_argument("--file-words", type=int, default=40_000)
    parser.add_argument("--placebos", type=int, default=99)
    parser.add_argument("--tweets", type=Path)
    parser.add_argument("--glove")
    options = parser.parse_args()
    show(neighbours(options.words, options.width, options.rows))
    show(loading(options.file_words, options.width))
    if options.tweets:
        with options.tweets.open(encoding="utf-8", newline="") as file:
            rows = [(r["tweet"], int(r["class"] != "2")) for r in csv.DictReader(file)]
        order = np.random.default_rng(0).permutation(len(rows))
        lines = [rows[i][0] for i in order]
        language_model(lines)
        if options.glove:
            labels = [rows[i][1] for i in order]
            searches(lines, labels, options.glove)
            shares(lines, labels, options.glove, options.placebos)


if __name__ == "__main__":
    main()
