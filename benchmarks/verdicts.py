"""Verdicts: what judging costs beside the numbers that are judged, and what a design costs before any data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import evenhand as eh
from benchmarks._figures import Figure, cpu


def crossed_scores(texts: int, terms: int) -> Figure:
    """A whole audit of crossed scores against a bare crossed analysis of variance of the same rows in NumPy."""
    rng = np.random.default_rng(0)
    text, term = (a.ravel() for a in np.meshgrid(np.arange(texts), np.arange(terms), indexing="ij"))
    group = np.where(term % 2 == 0, "a", "b")
    score = (
        rng.normal(size=texts)[text] * 0.3 + rng.normal(size=terms)[term] * 0.1 + rng.normal(size=len(text))
    )
    table = pa.table({"score": score, "text": text.astype(str), "term": term.astype(str), "group": group})

    def bare() -> float:
        inside = np.stack([np.bincount(text, score * (group == g), texts) for g in ("a", "b")])
        gap = (inside[0] - inside[1]) / (terms / 2)
        by_term = np.bincount(term, score, terms) / texts
        sides = [by_term[0::2], by_term[1::2]]
        variance = gap.var(ddof=1) / texts + sum(s.var(ddof=1) / len(s) for s in sides)
        return float(gap.mean() / np.sqrt(variance))

    floor, _ = cpu(bare, 5)
    spent, result = cpu(
        lambda: eh.audit_scores(table, scores="score", groups="group", units=["text", "term"], tolerance=0.1),
        3,
    )
    return Figure(
        name=f"audit of {len(text):,} crossed scores",
        figure=f"{spent:.2f} s, {len(result.findings)} findings (target < 1 s at 100,000)",
        cpu=spent,
        peer="one crossed variance in NumPy",
        ratio=floor / spent,
    )


def designs() -> Iterator[Figure]:
    """`eh.design`, which answers before any data; the peer is statsmodels' power of one t test."""
    try:
        from statsmodels.stats.power import TTestIndPower
    except ImportError:
        floor, peer = None, "statsmodels is not installed"
    else:
        peer = "statsmodels: the power of one t test at 41 gaps"
        floor, _ = cpu(lambda: [TTestIndPower().power(0.01 + g / 50, 500, 0.05) for g in range(41)], 3)
    for name, given in (
        ("rates", {"n": 800, "rate": 0.3}),
        ("rates", {"n": 800, "rate": 0.3, "groups": 6}),
        ("texts", {"n": 20, "texts": 40, "term_sd": 0.1, "text_sd": 0.2, "residual_sd": 0.3, "pilot_df": 38}),
    ):
        spent, _ = cpu(lambda name=name, given=given: eh.design(name, **given))  # type: ignore[misc]
        yield Figure(
            name=f"design of {name}" + (", 6 groups" if "groups" in given else ""),
            figure=f"{spent:.2f} s (target < 2 s)",
            cpu=spent,
            peer=peer,
            ratio=None if floor is None else floor / spent,
        )


def run(*, quick: bool) -> Iterator[Figure]:
    """All figures."""
    yield crossed_scores(*((20, 20) if quick else (1_000, 100)))
    yield from designs()
