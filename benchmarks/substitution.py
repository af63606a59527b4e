"""Speed and memory of substitution, as ratios in one run: `python benchmarks/substitution.py [--small]`."""

from __future__ import annotations

import random
import re
import resource
import sys
import time

from evenhand.plans import Finder, person_templates
from evenhand.terms import terms, terms_from_rows
from evenhand.texts import texts


def name_grid(rows: int) -> None:
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
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"name grid: {n:,} probes, {n / ours:,.0f} texts/s; {bare / ours:.2f} × bare str.replace; peak {peak:.0f} MB"
    )


def free_text(rows: int, words: int = 15_000) -> None:
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
    print(
        f"free text, {words:,} terms: {rows / ours:,.0f} texts/s, {hits} found; {slow / ours:.0f} × faster than re"
    )


if __name__ == "__main__":
    small = "--small" in sys.argv
    name_grid(200_000 if small else 10_000_000)
    free_text(20_000 if small else 200_000)
