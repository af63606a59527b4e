"""AUCs of labelled texts count texts and names, recorded or asked live."""

from __future__ import annotations

from typing import Any

import numpy as np

import evenhand as eh
from evenhand._result import Result


def labelled(seed: int = 0, texts: int = 24, names: int = 12) -> dict[str, Any]:
    """Texts with a level of their own × names of two groups; positives score higher."""
    rng = np.random.default_rng(seed)
    text, name = (v.ravel() for v in np.meshgrid(np.arange(texts), np.arange(names), indexing="ij"))
    label = text % 2
    score = rng.normal(size=texts)[text] + 0.3 * rng.normal(size=names)[name] + label
    return {
        "score": score + 0.3 * rng.normal(size=len(text)),
        "label": label,
        "group": np.where(name < names // 2, "a", "b"),
        "text": text.astype(str),
        "name": name.astype(str),
    }


def aucs(result: Result) -> dict[str, eh.Estimate]:
    return {
        f"{f.estimate.measure} {f.estimate.group}": f.estimate
        for f in result.findings
        if f.family == "identity AUC"
    }


def test_recorded_scores_count_texts_and_names() -> None:
    """The same values as over rows, intervals that are at least twice as wide, and Student's t."""
    rows = labelled()
    more = {"scores": "score", "groups": "group", "labels": "label", "tolerance": 0.1}
    over, plain = (aucs(eh.audit_scores(rows, units=units, **more)) for units in (["text", "name"], ()))
    assert len(over) == 10
    for name, found in over.items():
        assert found.value == plain[name].value
        assert "clustered by text and name" in found.method
        assert found.df is not None
        if "AEG" not in name:
            assert found.high - found.low > 2 * (plain[name].high - plain[name].low)


def test_a_group_of_one_word_is_judged_over_texts() -> None:
    """Where a group is a word, nothing is sampled over words: its AUCs count texts."""
    rows = labelled(names=6)
    rows["group"] = [f"w{name}" for name in rows["name"]]
    found = aucs(
        eh.audit_scores(rows, scores="score", groups="group", units="text", labels="label", tolerance=0.1)
    )
    assert {e.method for n, e in found.items() if "AUC" in n} == {
        "DeLong, clustered by text, interval on the logit scale"
    }


def test_a_live_audit_counts_texts_and_names() -> None:
    """Texts with labels, asked live: 16 names in ten texts are no 160 cases."""
    verbs = ("lost", "broke", "sold", "found", "hid", "cleaned", "moved", "left", "saw", "took")
    table = {"text": [f"Arthur {v} his keys." for v in verbs], "label": ["0", "1"] * 5}

    def model(texts: list[str]) -> list[float]:
        return [(sum(map(ord, t.split()[1])) * 31 % 89) / 100 + (len(t.split()[0]) % 3) / 100 for t in texts]

    result = eh.audit_text(
        model, table, text_column="text", terms="names/weat-gender", replace="Arthur", control=False
    )
    found = aucs(result)
    assert len(found) == 10
    assert all("clustered by text and term" in e.method for n, e in found.items() if "subgroup" in n)
    for name, e in found.items():
        if "subgroup" in name:
            assert e.high - e.low > 0.4


def test_all_positives_in_one_text_have_no_interval() -> None:
    """One positive text: the value is said, and why nothing more is."""
    rows = labelled()
    rows["label"] = (rows["text"] == "3").astype(int)
    found = aucs(
        eh.audit_scores(
            rows, scores="score", groups="group", units=["text", "name"], labels="label", tolerance=0.1
        )
    )
    e = found["subgroup AUC of score group=a"]
    assert e.value is not None
    assert e.low is None
    assert e.why_not == "one of the two classes has one text: nothing is sampled over texts"
