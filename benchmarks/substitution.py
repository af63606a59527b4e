"""Speed and memory of substitution, as ratios in one run: `python -m benchmarks substitution`."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator

from benchmarks._figures import Figure, peak_mb
from evenhand import rewrite
from evenhand.plans import Finder, person_templates
from evenhand.terms import terms, terms_from_rows
from evenhand.texts import texts


def name_grid(rows: int) -> Figure:
    """Streams `rows` probes of a name grid, against a bare loop of str.replace over the same texts."""
    base = texts("person")
    names = terms("names/freakonomics")
    copies = max(1, rows // (len(base) * len(names)))
    grid = person_templates(list(base.texts) * copies, "Arthur").grid(names)
    start = time.process_time()
    n = sum(len(batch) for batch in grid.plan(batch=10_000))
    ours = time.process_time() - start
    start = time.process_time()
    m = 0
    for text in list(base.texts) * max(1, copies // 10):
        for name in names.terms:
            text.replace("Arthur", name)
            m += 1
    bare = (time.process_time() - start) / m * n
    return Figure(
        name="a grid of names",
        figure=f"{n:,} probes, {n / ours:,.0f} texts/s, peak {peak_mb():.0f} MB",
        cpu=ours,
        peer="a bare loop of str.replace",
        ratio=bare / ours,
    )


def free_text(rows: int, words: int = 15_000) -> Figure:
    """Finds and replaces the terms of a long list, against one `re` alternation."""
    rng = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = list({"".join(rng.choices(letters, k=rng.randint(5, 10))) for _ in range(words + 500)})[
        :words
    ]
    listed = terms_from_rows([{"term": w, "group": "a" if i % 2 else "b"} for i, w in enumerate(vocabulary)])
    filler = [w for t in texts("person").texts for w in t.split()]
    sample = [
        " ".join([*rng.choices(filler, k=12), rng.choice(vocabulary), *rng.choices(filler, k=7)])
        for _ in range(rows)
    ]
    finder = Finder(listed)
    start = time.process_time()
    hits = 0
    for text in sample:
        found = finder.find(text)
        hits += len(found)
        for f in reversed(found):
            text = text[: f.start] + "term" + text[f.end :]
    ours = time.process_time() - start
    few = sample[: max(50, rows // 200)]
    pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, vocabulary)) + r")\b", re.I)
    start = time.process_time()
    for text in few:
        pattern.sub("term", text)
    slow = (time.process_time() - start) / len(few) * rows
    return Figure(
        name=f"{words:,} terms found and replaced",
        figure=f"{rows / ours:,.0f} texts/s, {hits} found",
        cpu=ours,
        peer="one re alternation",
        ratio=slow / ours,
    )


def rewriting(rows: int) -> Figure:
    """Rewrites short texts to "they", against one `re` substitution of the pronouns that knows no grammar."""
    rng = random.Random(1)
    about = (
        "{} said that {} was late",
        "I saw {o} with {p} dog",
        "It rained on the hills all day",
        "{} runs and jumps",
    )
    sample = [
        rng.choice(about).format("He", "he", o="her", p="his") + f", and {rng.randint(1, 999)} others left."
        for _ in range(rows)
    ]
    rewrite(sample[0], pronouns="they")
    start = time.process_time()
    changed = sum(bool(rewrite(text, pronouns="they").changes) for text in sample)
    ours = time.process_time() - start
    forms = {"he": "they", "she": "they", "him": "them", "his": "their", "her": "their"}
    pattern = re.compile(r"\b(?:he|she|him|his|her)\b", re.I)
    start = time.process_time()
    for text in sample:
        pattern.sub(lambda m: forms[m.group().lower()], text)
    bare = time.process_time() - start
    return Figure(
        name="short texts rewritten",
        figure=f"{rows / ours:,.0f} texts/s, {changed} changed",
        cpu=ours,
        peer="one re substitution",
        ratio=bare / ours,
    )


def run(*, quick: bool) -> Iterator[Figure]:
    """Grids, rewriting and free text."""
    yield name_grid(20_000 if quick else 10_000_000)
    yield rewriting(2_000 if quick else 50_000)
    yield free_text(1_000, words=500) if quick else free_text(200_000)
