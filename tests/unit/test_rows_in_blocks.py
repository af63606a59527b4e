"""More rows than a block are gone through block by block: nothing of a result changes, and no row is held twice."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
from nearly_equal import differences

import evenhand as eh
from evenhand.audits.scores import closer_look, exhibits, gaps
from evenhand.stats import blocks, crossed
from evenhand.stats.crossed import difference
from evenhand.testing import Planted

DESIGNS = ["grid", "holes", "repeated", "sparse", "weighted", "both crossed", "three", "no units", "empty"]


def design(name: str) -> dict[str, Any]:
    """The arguments of `difference`."""
    rng = np.random.default_rng(3)
    text, term = (codes.ravel() for codes in np.mgrid[:23, :16])
    if name == "holes":
        kept = rng.random(len(text)) < 0.8
        text, term = text[kept], term[kept]
    elif name == "repeated":
        chosen = rng.integers(0, len(text), 700)
        text, term = text[chosen], term[chosen]
    elif name == "sparse":
        text, term = rng.integers(0, 300, 400) * 7, rng.integers(0, 90, 400)
    elif name == "empty":
        text, term = text[:0], term[:0]
    n = len(text)
    side = rng.random(n) < 0.5 if name == "both crossed" else term % 2 == 0
    score = rng.normal(size=n) + 0.4 * rng.normal(size=2100)[text] + 0.3 * rng.normal(size=90)[term] + 7.0
    score[rng.random(n) < 0.05] = np.nan
    units: dict[str, Any] = {"text": np.where(rng.random(n) < 0.02, -1, text).astype(np.int16), "term": term}
    if name == "three":
        units["rater"] = rng.integers(0, 6, n)
    in_one = rng.random(n) < 0.97
    return {
        "score": score,
        "a": side & in_one,
        "b": ~side & in_one,
        "units": {} if name == "no units" else units,
        "weight": rng.choice([0.0, 1.0, 2.5], n) if name == "weighted" else None,
    }


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 37 rows."""
    for module in (blocks, gaps, closer_look, exhibits):
        monkeypatch.setattr(module, "WHOLE", 36)
    monkeypatch.setattr(blocks, "BLOCK", 37)


@pytest.mark.parametrize("name", DESIGNS)
def test_a_difference_hangs_on_no_block(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Value, interval, degrees of freedom and every component, of complete, incomplete, repeated, sparse and weighted designs."""
    given = design(name)
    whole = difference(**given)
    monkeypatch.setattr(blocks, "WHOLE", 36)
    monkeypatch.setattr(blocks, "BLOCK", 37)
    found: list[bool] = []
    plain = crossed.cells_of_one

    def seen(*arguments: Any) -> Any:
        made = plain(*arguments)
        found.append(made is not None)
        return made

    monkeypatch.setattr(crossed, "cells_of_one", seen)
    cut = difference(**given)
    for field in ("value", "low", "high", "p_value", "df", "se", "why_not", "method"):
        assert list(differences(getattr(whole, field), getattr(cut, field), field, within=1e-11)) == []
    assert list(differences(whole.detail, cut.detail, within=1e-11)) == []
    # Cells of one row are summed without being held; others are held.
    assert (True in found) == (name in ("grid", "holes", "weighted", "three")), found


def test_a_text_audit_hangs_on_no_block(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims, examples, distributions and every other exhibit; with failures and a text that is asked in vain."""

    def audit() -> dict[str, Any]:
        model = Planted(gap=0.1, words=["Emily", "Anne", "Greg", "Brad"], noise_sd=0.05)

        def ask(texts: list[str]) -> list[float]:
            scores = model(texts).scores["score"].tolist()
            return [
                float("nan") if "hat" in text and "G" in text else x
                for text, x in zip(texts, scores, strict=True)
            ]

        things = ("keys", "dog", "way", "hat", "map", "cup", "pen", "bag")
        made = eh.audit_text(
            ask,
            [f"Arthur lost his {thing}." for thing in things],
            terms="names/freakonomics",
            replace="Arthur",
            groups="race",
        )
        found: dict[str, Any] = json.loads(made.to_json())
        del found["provenance"]
        return found

    cut = audit()
    monkeypatch.undo()
    assert list(differences(audit(), cut, within=1e-11)) == []


def test_a_difference_of_many_rows_takes_little_more_than_its_columns() -> None:
    """Two million rows: what is held besides them is a block and marks of one byte a row, not copies of 8."""
    text, term = (codes.ravel().astype(np.int16) for codes in np.mgrid[:5000, :400])
    score = np.sin(np.arange(len(text)) * 1.7)
    a, b = term % 2 == 0, term % 2 == 1
    tracemalloc.start(1)
    try:
        difference(score, a=a, b=b, units={"text": text, "term": term})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 24 * len(text)
