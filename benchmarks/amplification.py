"""Counting and resampling of the amplification audit, as ratios in one run: `python -m benchmarks amplification`.

Captions are made here: words drawn by a Zipf law, one in three naming a man or a woman, 10.5 words each.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import evenhand as eh
from benchmarks._figures import Figure, cpu, peak_mb
from evenhand.audits.amplification.captions import all_words, mentions, tokenise
from evenhand.terms.groups import group_words


def captions(n: int, seed: int, vocabulary: int = 8000) -> list[str]:
    """Captions of plausible length and vocabulary."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnoprstuvw"))
    words = ["".join(rng.choice(letters, rng.integers(3, 9))) for _ in range(vocabulary)]
    p = 1 / np.arange(1, vocabulary + 1) ** 1.05
    drawn = rng.choice(vocabulary, size=(n, 9), p=p / p.sum())
    who = rng.choice(["a man", "a woman", "a person"], size=n, p=[0.22, 0.11, 0.67])
    return [f"{w} " + " ".join([words[k] for k in row]) + "." for w, row in zip(who, drawn, strict=True)]


def counting(n: int) -> Iterator[Figure]:
    """All words and two groups: ours against a Counter loop, and against the notebook practice (a scan a word)."""
    texts = captions(n, 0)
    size = sum(map(len, texts)) / 1e6
    groups = group_words("women-snowboard")
    lists = list(groups.groups.values())
    start, base = time.process_time(), peak_mb()
    tokens = tokenise(texts)
    member = mentions(tokens, lists).toarray()
    member = member * (member.sum(axis=1) == 1)[:, None]
    counts = all_words(tokens).T @ member
    ours = time.process_time() - start
    held = peak_mb() - base
    sets = [set(w) for w in lists]
    start = time.process_time()
    table: Counter[tuple[str, int]] = Counter()
    for text in texts:
        found = set(re.findall(r"\w+", text.lower()))
        named = [bool(found & s) for s in sets]
        if sum(named) == 1:
            for word in found:
                table[word, named.index(True)] += 1
    plain = time.process_time() - start
    same = all(counts[tokens.index[w], g] == k for (w, g), k in table.items())
    yield Figure(
        name=f"counting {n:,} captions ({size:.0f} MB)",
        figure=f"{counts.shape[0]:,} words × 2 groups, {held:.0f} MB above the captions",
        cpu=ours,
        peer="a plain loop with sets" + ("" if same else " (OTHER COUNTS)"),
        ratio=plain / ours,
    )
    few = texts[: max(200, n // 1000)]
    start = time.process_time()
    vocabulary = sorted({w for t in few for w in t.lower().split()})
    for word in vocabulary:  # the notebook: for every word, look through every caption
        [t for t in few if word in t.lower().split()]
    slow = time.process_time() - start
    start = time.process_time()
    quick = tokenise(few)
    all_words(quick).T @ mentions(quick, lists)
    mine = time.process_time() - start
    yield Figure(
        name=f"the same for {len(few):,} captions",
        figure=f"{len(few) / max(mine, 1e-9):,.0f} captions/s",
        cpu=mine,
        peer="a scan for every word, quadratic in the captions",
        ratio=slow / max(mine, 1e-9),
    )
    half = texts[: n // 2]
    start = time.process_time()
    short = tokenise(half)
    all_words(short).T @ mentions(short, lists)
    less = time.process_time() - start
    yield Figure(
        name="twice the captions",
        figure=f"{ours / less:.2f} × the time",
        cpu=ours,
        peer="half of them",
        ratio=less / ours,
    )


def analysis(n: int, items: int, draws: int) -> Figure:
    """The whole comparison: `items` items, `draws` resamples of images."""
    texts = captions(2 * n, 1)
    tokens = tokenise(texts)
    frequent = np.argsort(-np.asarray(all_words(tokens).sum(axis=0)).ravel())
    banned = {"a", "man", "woman", "person"}
    names = [tokens.words[k] for k in frequent if tokens.words[k] not in banned][:items]
    train: list[dict[str, Any]] = [{"image_id": k, "caption": t} for k, t in enumerate(texts[:n])]
    made: list[dict[str, Any]] = [{"image_id": k, "caption": t} for k, t in enumerate(texts[n:])]
    took, result = cpu(lambda: eh.audit_amplification(train, made, items=names, draws=draws, leakage=False))
    return Figure(
        name=f"the audit of 2 × {n:,} captions",
        figure=f"{result.counts['items']} items, {draws:,} resamples, every measure; peak {peak_mb():.0f} MB",
        cpu=took,
    )


def leakage(n: int) -> Figure:
    """Every image attacked: the outputs and one human caption each, three attackers and a null of 19."""
    texts = captions(2 * n, 2)
    people, made = (
        [{"image_id": f"im{k}", "caption": t} for k, t in enumerate(half)] for half in (texts[:n], texts[n:])
    )
    asked: dict[str, Any] = {"items": ["a", "is"], "draws": 100, "min_support": 1}
    eh.audit_amplification(people, made, leakage=True, **asked)  # what is imported once is not the attackers'
    alone, _ = cpu(lambda: eh.audit_amplification(people, made, leakage=False, **asked))
    few, _ = cpu(lambda: eh.audit_amplification(people, made, leakage=True, permutations=0, **asked))
    all_of_it, result = cpu(lambda: eh.audit_amplification(people, made, leakage=True, **asked))
    found = [f.estimate.n for f in result.findings if f.family == "leakage"]
    return Figure(
        name=f"leakage of {n:,} captions, {found[0] if found else 0:,} images with one group",
        figure=f"{all_of_it - few:.1f} s of it the null, {few - alone:.1f} s the attackers",
        cpu=all_of_it - alone,
    )


def run(*, quick: bool) -> Iterator[Figure]:
    """Counting alone, the whole comparison, and attackers."""
    yield from counting(3_000 if quick else 600_000)
    yield analysis(1_000, 50, 100) if quick else analysis(40_000, 500, 1_000)
    yield leakage(1_000 if quick else 20_000)
