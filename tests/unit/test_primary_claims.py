"""What makes the headline is the user's to say: `primary=` in every audit, and on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._errors import UsageError
from evenhand.cli import run


def people() -> dict[str, Any]:
    """Women are hired as often, but less often where they are able."""
    rng = np.random.default_rng(4)
    sex = np.tile(["F", "M"], 600)
    able = rng.integers(0, 2, 1200)
    chance = np.where(sex == "F", np.where(able == 1, 0.5, 0.4), np.where(able == 1, 0.85, 0.05))
    return {
        "sex": sex,
        "able": able,
        "hired": (rng.uniform(size=1200) < chance).astype(int),
        "p": rng.normal(size=1200) + 0.8 * (sex == "M"),
        "age": rng.uniform(20, 60, 1200),
    }


LABELS: dict[str, Any] = {"y_pred": "hired", "y_true": "able", "groups": "sex", "reference": "M"}
NUMBERS: dict[str, Any] = {"y_pred": "p", "groups": "sex", "reference": "M", "quantiles": [0.5]}
SCORES: dict[str, Any] = {"scores": ["a", "b"], "groups": "sex", "units": "name"}


def headline(result: eh.Result) -> set[str]:
    """The measures that the headline rests on."""
    return {f.estimate.measure for f in result.findings if f.primary}


@pytest.mark.parametrize(
    ("call", "primary", "wanted"),
    [
        (LABELS, (), {"disparate impact", "true positive rate"}),
        (LABELS, "equal opportunity", {"true positive rate"}),
        (LABELS, ["selection rate", "accuracy"], {"selection rate", "accuracy"}),
        (NUMBERS, "standardised mean difference", {"standardised mean difference"}),
        (NUMBERS, "disparate impact", {"disparate impact at q=0.5"}),
        (NUMBERS, "adverse-impact AUC", {"adverse-impact AUC"}),
        (NUMBERS | {"continuous": "age"}, "average score", {"average score"}),
        (NUMBERS | {"continuous": "age"}, "correlation with predictions", {"correlation with predictions"}),
    ],
)
def test_the_named_claims_and_no_others_make_the_headline(call: Any, primary: Any, wanted: set[str]) -> None:
    """By the name of the claim or of its tolerance; each is judged, also where it is only described by default."""
    result = eh.audit_predictions(people(), primary=primary, **call)
    assert headline(result) == wanted
    assert all(f.tolerance is not None for f in result.findings if f.primary)
    assert result.provenance["call"]["arguments"]["primary"] == (list(primary) if primary == () else primary)


def test_the_headline_follows_the_named_claim() -> None:
    """Equal selection rates and unequal true positive rates: the verdict is that of what was named."""
    rows = people()
    assert eh.audit_predictions(rows, primary="equal opportunity", **LABELS).verdict == "disparity"
    assert eh.audit_predictions(rows, primary="statistical parity", **LABELS).verdict != "disparity"


def test_a_score_that_is_not_primary_has_its_own_family() -> None:
    """Of two recorded scores one makes the headline, the other is judged below it."""
    rng = np.random.default_rng(5)
    rows = {"sex": np.tile(["F", "M"], 200), "name": np.tile(np.arange(40), 10), "a": rng.normal(size=400)}
    rows["b"] = rng.normal(size=400) * 0.01
    both = eh.audit_scores(rows, tolerance=0.1, **SCORES)
    one = eh.audit_scores(rows, primary="b", tolerance=0.1, **SCORES)
    assert sum(f.primary for f in both.findings) == 2
    assert [f.verdict for f in one.findings if f.primary] == ["within tolerance"]
    judged = [f for f in one.findings if f.verdict is not None]
    assert len(judged) == len([f for f in both.findings if f.verdict is not None])


def audits() -> dict[str, Any]:
    """Kind → a small call of the audit that takes `primary`."""
    train = {"item": ["cooking", "driving"], "man": [340, 660], "woman": [660, 340]}
    made = {"item": ["cooking", "driving"], "man": [160, 840], "woman": [840, 160]}
    v = {"man": [1, 0, 0.2], "woman": [-1, 0, 0.2], "nice": [0.2, 1, 0], "kind": [0.3, 1, 0.1]}
    v |= {"lovely": [-0.3, 1, 0]}

    def model(texts: list[str]) -> list[dict[str, float]]:
        return [{"good": 0.9 - 0.6 * ("lovely" in t), "bad": 0.1 + 0.6 * ("lovely" in t)} for t in texts]

    def length(texts: list[str]) -> list[float]:
        return [len(t) / 100 for t in texts]

    rows = {"sex": ["F", "M"] * 10, "name": list(range(20)), "a": [0.5] * 19 + [0.4], "b": [0.1] * 19 + [0.2]}
    attack = {"embeddings": v, "fluency": "none", "placebos": 3, "match": "none"}
    text = {"terms": "names/weat-gender", "replace": "Arthur"}
    return {
        "predictions": lambda **k: eh.audit_predictions(people(), **LABELS, **k),
        "scores": lambda **k: eh.audit_scores(rows, **SCORES, **k),
        "text": lambda **k: eh.audit_text(length, ["Arthur lost his keys.", "Arthur ran."], **text, **k),
        "amplification": lambda **k: eh.audit_amplification(train, made, draws=100, **k),
        "attack": lambda **k: eh.attack(model, ["a nice day", "a nice way"], **attack, **k),
    }


NAMED = {
    "predictions": "accuracy",
    "scores": "b",
    "text": "score",
    "amplification": "T→A",
    "attack": "mean flip rate",
}


@pytest.mark.parametrize("kind", NAMED)
def test_every_audit_takes_primary_and_says_what_there_is(kind: str) -> None:
    """A name that a claim has makes the headline; one that none has is an error that lists those there are."""
    call = audits()[kind]
    with pytest.raises(UsageError, match="no claim here has this name") as told:
        call(primary="goodness")
    assert told.value.slug == "unknown-primary"
    available = list(told.value.available or ())
    name = NAMED[kind] if NAMED[kind] in available else available[-1]
    result = call(primary=name)
    own = [f for f in result.findings if f.primary]
    assert own
    assert all(name in f.estimate.measure for f in own)


def test_the_command_takes_primary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--primary` may be repeated; an unknown name is exit code 2 with the names there are."""
    import pyarrow as pa
    import pyarrow.csv as csv

    csv.write_csv(pa.table(people()), tmp_path / "rows.csv")
    flags = ["--y-pred", "hired", "--y-true", "able", "--group", "sex", "--reference", "M"]
    out = ["--out", str(tmp_path / "out")]
    command = ["predictions", str(tmp_path / "rows.csv"), *flags]
    assert run([*command, "--primary", "accuracy", "--primary", "equal opportunity", *out]) == 0
    assert headline(eh.Result.from_json(tmp_path / "out" / "result.json")) == {
        "accuracy",
        "true positive rate",
    }
    assert run([*command, "--primary", "kindness"]) == 2
    assert "equal opportunity" in capsys.readouterr().err
