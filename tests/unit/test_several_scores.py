"""Several scores in one audit, and labels that are the likeliest of several classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._errors import DataError
from evenhand.cli import run

NAMES = {"Ann": "F", "Bea": "F", "Carl": "M", "Dan": "M", "Eve": "F", "Finn": "M"}
CLASSES = ["negative", "neutral", "positive"]
TEXTS = 30


def replies(noise: float = 0.06) -> tuple[dict[str, Any], np.ndarray]:
    """A table of texts × names with chances of three classes, and the chances (T, N, 3)."""
    rng = np.random.default_rng(0)
    base = rng.dirichlet([2, 1, 2], size=(TEXTS, 1))
    chances = np.clip(base + noise * rng.normal(size=(TEXTS, len(NAMES), 3)), 0.001, None)
    chances /= chances.sum(axis=-1, keepdims=True)
    table: dict[str, Any] = {
        "text": np.repeat([f"t{i}" for i in range(TEXTS)], len(NAMES)),
        "name": np.tile(list(NAMES), TEXTS),
        "sex": np.tile(list(NAMES.values()), TEXTS),
    }
    table |= {name: chances[..., k].ravel() for k, name in enumerate(CLASSES)}
    return table, chances


def measured(result: eh.Result, words: str) -> dict[str, float | None]:
    """Measures whose name has these words."""
    return {f.estimate.measure: f.estimate.value for f in result.findings if words in f.estimate.measure}


def test_invariance_failures_of_three_classes_are_checklists() -> None:
    """A text fails if some name gives another label than the first and moves its chance by more than .1."""
    table, chances = replies()
    result = eh.audit_scores(table, scores="positive", groups="sex", units=["text", "name"], classes=CLASSES)
    label = chances.argmax(axis=-1)
    fails = [
        any(
            label[t, i] != label[t, 0] and abs(chances[t, i, label[t, 0]] - chances[t, 0, label[t, 0]]) > 0.1
            for i in range(len(NAMES))
        )
        for t in range(TEXTS)
    ]
    assert 0 < np.mean(fails) < 1
    assert measured(result, "invariance failure") == {
        "invariance failure of the likeliest of negative, neutral, positive": pytest.approx(np.mean(fails))
    }


def test_a_missing_chance_leaves_its_text_out() -> None:
    """A text without all chances is no case."""
    table, _ = replies()
    whole = eh.audit_scores(table, scores="positive", groups="sex", units=["text", "name"], classes=CLASSES)
    table["neutral"] = table["neutral"].copy()
    table["neutral"][0] = np.nan
    less = eh.audit_scores(table, scores="positive", groups="sex", units=["text", "name"], classes=CLASSES)
    n = [
        next(f.estimate.n for f in r.findings if "invariance failure" in f.estimate.measure)
        for r in (whole, less)
    ]
    assert n[0] == n[1] + 1 or n == [0, 0]
    assert [f.estimate.value for f in whole.findings][:1] == [f.estimate.value for f in less.findings][:1]


@pytest.mark.parametrize(
    ("classes", "slug"),
    [
        (["positive"], "classes"),
        (["positive", "positive"], "classes"),
        (["positive", "nothing"], "missing-column"),
    ],
)
def test_classes_that_are_none_are_refused(classes: list[str], slug: str) -> None:
    """One class, one twice, one that is not there."""
    with pytest.raises(eh.EvenhandError) as caught:
        eh.audit_scores(replies()[0], scores="positive", groups="sex", classes=classes)
    assert caught.value.slug == slug


def test_chances_beyond_0_to_1_are_refused() -> None:
    """Logits are no chances."""
    table, _ = replies()
    table["neutral"] = 3 * table["neutral"]
    with pytest.raises(DataError, match=r"\[classes\]"):
        eh.audit_scores(table, scores="positive", groups="sex", units=["text", "name"], classes=CLASSES)


class Leaning:
    """A model of two scores and three chances: only `rude` goes with the gender of the name."""

    def __init__(self) -> None:
        self.men = set(eh.terms("names/weat-gender").where(gender="male").terms)

    def __call__(self, texts: list[str]) -> list[dict[str, float]]:
        found = []
        for text in texts:
            rng = np.random.default_rng(abs(hash(text)) % 2**32)
            man = bool(self.men & set(text.replace(".", "").split()))
            kind, rude = 0.5 + 0.01 * rng.normal(), 0.4 + 0.3 * man + 0.01 * rng.normal()
            p = 0.3 if man else 0.8
            found.append({"kind": kind, "rude": rude, "yes": p, "no": 0.9 - p, "perhaps": 0.1})
        return found


SENTENCES = [f"Arthur lost his {thing}." for thing in ("keys", "dog", "way", "hat", "map", "bus")]


def test_live_scores_are_one_family_and_the_headline_is_the_worst() -> None:
    """The second score's disparity is in the headline, which pays for both."""
    asked: dict[str, Any] = {"terms": "names/weat-gender", "replace": "Arthur", "control": False}
    both = eh.audit_text(Leaning(), SENTENCES, score=["kind", "rude"], **asked)
    alone = eh.audit_text(Leaning(), SENTENCES, score="rude", **asked)
    primary = {f.estimate.measure: f for f in both.findings if f.primary}
    assert list(primary) == ["mean kind", "mean rude"]
    assert primary["mean kind"].verdict == "within tolerance"
    assert primary["mean rude"].verdict == both.verdict == "disparity"
    wide, narrow = (
        (f.simultaneous or (0, 0))[1] - (f.simultaneous or (0, 0))[0]
        for f in (primary["mean rude"], alone.findings[0])
    )
    assert wide > narrow
    assert any(name.endswith(", rude") for name in both.exhibits)
    assert "kind, rude by" in both.title


def test_live_classes_change_their_label() -> None:
    """Every text has a name whose label is another than with the first one."""
    result = eh.audit_text(
        Leaning(), SENTENCES, terms="names/weat-gender", replace="Arthur", score="rude",
        classes=["yes", "no", "perhaps"],
    )  # fmt: skip
    assert set(measured(result, "invariance failure").values()) == {1.0}


def test_beside_the_text_without_a_term_labels_are_counted_too() -> None:
    """Of five texts three change their label for one religion."""

    def model(texts: list[str]) -> list[dict[str, float]]:
        moved = [("Muslim" in t or "muslim" in t) and "friend" in t for t in texts]
        return [{"yes": 0.2 if m else 0.7, "no": 0.8 if m else 0.3} for m in moved]

    texts = [
        f"I met a {{RELIGION}} {who} {where}." for who in ("friend", "nurse") for where in ("today", "here")
    ]
    texts.append("I saw my {RELIGION} friend.")
    result = eh.audit_text(model, texts, terms="identity/religion", score="yes", classes=["yes", "no"])
    assert list(measured(result, "label changed by some term").values()) == [pytest.approx(3 / 5)]


def test_the_command_line_takes_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--score` and `--class` may be repeated, recorded and live."""
    table, _ = replies()
    file = tmp_path / "replies.jsonl"
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    file.write_text("\n".join(json.dumps(row, default=float) for row in rows))
    out = tmp_path / "out"
    classes = [part for name in CLASSES for part in ("--class", name)]
    units = ["--group", "sex", "--unit", "text", "--unit", "name"]
    scores = ["--score", "positive", "--score", "negative"]
    assert run(["scores", str(file), *scores, *units, *classes, "--out", str(out)]) == 0
    result = eh.Result.from_json(out / "result.json")
    assert [f.estimate.measure for f in result.findings if f.primary] == ["mean positive", "mean negative"]
    assert measured(result, "likeliest of negative, neutral, positive")
    live = [
        "text",
        "--subject",
        "vader",
        "--terms",
        "names/weat-gender",
        "--out",
        str(out),
        "--tolerance",
        "0.1",
    ]
    vader = [part for name in ("neg", "neu", "pos") for part in ("--class", name)]
    assert run([*live, "--score", "pos", "--score", "neg", *vader]) == 0
    result = eh.Result.from_json(out / "result.json")
    assert [f.estimate.measure for f in result.findings if f.primary] == ["mean pos", "mean neg"]
    assert run([*live, "--score", "pos", "--score", "nothing"]) == 2
    assert "unknown-score" in capsys.readouterr().err
