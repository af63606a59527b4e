"""The amplification audit against published figures and direct loops over the definitions."""

from __future__ import annotations

import csv
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._analysis import Analysis
from evenhand.audits.amplification.prepare import open_sources, prepare
from evenhand.audits.amplification.reading import Reading
from evenhand.measures.amplification import mean_amplification, violations
from evenhand.measures.directional import directional

OBJECTS = [
    "baseball",
    "cell",
    "food",
    "kitchen",
    "motorcycle",
    "skateboard",
    "snowboard",
    "table",
    "tie",
    "umbrella",
]
MODELS = ("baseline_ft", "upweight", "equalizer")


@pytest.mark.parametrize(
    ("name", "before", "after", "counts"),
    [
        ("imSitu", 0.0502234224204, 0.0238762190632, (154, 107)),
        ("COCO", 0.031742516637, 0.0216953903291, (40, 24)),
    ],
)
def test_mean_amplification_and_violations_equal_the_published_figures(
    data: Path, name: str, before: float, after: float, counts: tuple[int, int]
) -> None:
    """Zhao et al. (2017): imSitu verbs and COCO objects, before and after their calibration."""
    with (data / "captions" / f"{name}_gender_ratio_dev_res.csv").open() as file:
        rows = list(csv.DictReader(file))
    trained = np.array([float(r["training_ratio"]) for r in rows])
    share = np.stack([trained, 1 - trained])
    for column, value, count in (
        ("gender_ratio_before_RBA", before, counts[0]),
        ("gender_ratio_after_RBA", after, counts[1]),
    ):
        out = np.array([float(r[column]) for r in rows])
        made = np.stack([out, 1 - out])
        assert float(mean_amplification(share, made, share > 0.5)) == pytest.approx(value, abs=1e-10)
        assert float(violations(share, made, margin=0.05)) == count


def test_the_textbook_example_of_two_verbs_gives_eighteen_hundredths() -> None:
    """Cooking: women 66 % in the data, 84 % in the outputs; a second verb mirrors it."""
    train = {"item": ["cooking", "driving"], "woman": [660, 340], "man": [340, 660]}
    made = {"item": ["cooking", "driving"], "woman": [840, 160], "man": [160, 840]}
    result = eh.audit_amplification(train, made, draws=200)
    value = {f.estimate.measure: f.estimate.value for f in result.findings}
    assert value["mean bias amplification"] == pytest.approx(0.18, abs=1e-12)


def test_shares_of_ten_objects_in_human_captions_equal_the_reference(data: Path) -> None:
    """Exactly-one rule, lists of 'Women also Snowboard', 25,014 captions, to three digits."""
    result = eh.audit_amplification(data / "captions" / "captions_val2017.json", items=OBJECTS, draws=100)
    rows = {(r["item"], r["group"]): r for r in result.exhibits["tied items"].rows()}
    expected = [0.916, 0.462, 0.610, 0.506, 0.857, 0.948, 0.906, 0.563, 0.913, 0.258]
    for item, share in zip(OBJECTS, expected, strict=True):
        man = rows.get((item, "man"))
        woman = rows.get((item, "woman"))
        found = float(man["share"]) if man else 1 - float(woman["share"])  # type: ignore[arg-type,index]
        assert found == pytest.approx(share, abs=5.1e-4), item


@pytest.mark.parametrize("model", MODELS)
def test_ten_objects_separate_no_captioning_model_from_zero(data: Path, model: str) -> None:
    """Amplification of three real models: no disparity by ten objects, and the result says why."""
    folder = data / "captions"
    result = eh.audit_amplification(
        folder / "captions_val2017.json", folder / f"generated_{model}.json", items=OBJECTS, leakage=False
    )
    claims = [f for f in result.findings if f.verdict and "amplification" in f.estimate.measure]
    assert len(claims) == 2
    assert {f.verdict for f in claims} == {"inconclusive"}
    for f in claims:
        assert f.estimate.low is not None
        assert f.estimate.high is not None
        assert f.estimate.low <= 0 <= f.estimate.high
    assert any(n.slug == "not-separated" and "10 items" in n.text for n in result.notes)
    shown = {f.estimate.measure: f.verdict for f in result.primary}
    named = {"baseline_ft": "gap", "upweight": "gap", "equalizer": "within tolerance"}  # as its paper claims
    assert shown["representation beyond its null"] == named[model]


@pytest.mark.parametrize(
    ("model", "error", "ratio"),
    [("baseline_ft", 0.193, 0.510), ("upweight", 0.163, 0.350), ("equalizer", 0.081, 0.126)],
)
def test_gender_error_and_ratio_equal_the_published_table(
    data: Path, model: str, error: float, ratio: float
) -> None:
    """Hendricks et al. (2018): the balanced test split of 500 men and 500 women."""
    folder = data / "captions"
    truth = {
        int(line.split()[0]): group
        for group in ("man", "woman")
        for line in (folder / f"test_{group}.txt").read_text().splitlines()
        if line.strip()
    }
    made = [r for r in json.loads((folder / f"generated_{model}.json").read_text()) if r["image_id"] in truth]
    annotated = {"image_id": list(truth), "gender": list(truth.values())}
    result = eh.audit_amplification(
        folder / "captions_val2017.json", made, truth=annotated, items=["umbrella"], draws=100, leakage=False
    )
    value = {f.estimate.measure: f.estimate.value for f in result.findings}
    assert value["gender error"] == pytest.approx(error, abs=5e-4)
    assert value["ratio gap"] == pytest.approx(ratio, abs=6e-4)
    assert result.exhibits["outcomes"].columns["named man"] is not None


def _loop(
    truth_a: np.ndarray, truth_t: np.ndarray, hat_a: np.ndarray, hat_t: np.ndarray
) -> tuple[float, float]:
    """Wang & Russakovsky's definition, pair by pair, image by image."""
    n = len(truth_a)
    forward, backward = [], []
    for a in range(truth_a.shape[1]):
        for t in range(truth_t.shape[1]):
            both = sum(1 for i in range(n) if truth_a[i, a] and truth_t[i, t])
            na, nt = int(truth_a[:, a].sum()), int(truth_t[:, t].sum())
            direction = (both * n > na * nt) - (both * n < na * nt)
            if na:
                hat = sum(1 for i in range(n) if truth_a[i, a] and hat_t[i, t])
                forward.append(direction * (hat / na - both / na))
            if nt:
                hat = sum(1 for i in range(n) if hat_a[i, a] and truth_t[i, t])
                backward.append(direction * (hat / nt - both / nt))
    return float(np.mean(forward)), float(np.mean(backward))


@pytest.mark.parametrize("seed", range(20))
def test_directional_amplification_equals_a_direct_loop(seed: int) -> None:
    """Random multi-label data with ties and empty tasks, to 1e-12."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 60))
    a = (rng.random((n, 3)) < 0.5).astype(float)
    t = (rng.random((n, 6)) < rng.uniform(0.1, 0.9, 6)).astype(float)
    t[:, 0] = 0.0  # an empty task
    t[:, 1] = 1.0  # independent of everything: a tie
    hat_a = np.where(rng.random(a.shape) < 0.2, 1 - a, a)
    hat_t = np.where(rng.random(t.shape) < 0.2, 1 - t, t)
    found = directional(a, t, predicted_attributes=hat_a, predicted_tasks=hat_t)
    assert found == pytest.approx(_loop(a, t, hat_a, hat_t), abs=1e-12)


def test_the_audit_of_label_tables_gives_the_directional_loop(tmp_path: Path) -> None:
    """The same through the front door: several 0/1 attribute columns, item columns, ids."""
    rng = np.random.default_rng(7)
    n, tasks = 200, 5
    a = (rng.random((n, 2)) < 0.5).astype(int)
    t = (rng.random((n, tasks)) < 0.4).astype(int)
    hat_a = np.where(rng.random(a.shape) < 0.15, 1 - a, a)
    hat_t = np.where(rng.random(t.shape) < 0.15, 1 - t, t)

    def table(x: np.ndarray, y: np.ndarray) -> dict[str, list[int]]:
        return {
            "image_id": list(range(n)),
            **{f"a{k}": x[:, k].tolist() for k in range(2)},
            **{f"t{k}": y[:, k].tolist() for k in range(tasks)},
        }

    result = eh.audit_amplification(
        table(a, t), table(hat_a, hat_t), groups=["a0", "a1"], items=[f"t{k}" for k in range(tasks)],
        rule="any", draws=100, leakage=False, min_support=1,
    )  # fmt: skip
    value = {f.estimate.measure: f.estimate.value for f in result.findings}
    forward, backward = _loop(a, t, hat_a, hat_t)
    assert value["directional amplification A→T"] == pytest.approx(forward, abs=1e-12)
    assert value["directional amplification T→A"] == pytest.approx(backward, abs=1e-12)


def test_counting_equals_a_plain_loop_on_real_captions(data: Path) -> None:
    """The sparse product against Python sets of words over 25,014 captions."""
    import re

    path = data / "captions" / "captions_val2017.json"
    how = Reading(items=OBJECTS)
    prepared = prepare(open_sources(how, path), how, Analysis())
    counts = prepared.train.counts()
    words = prepared.who.words
    assert words is not None
    expected = np.zeros_like(counts)
    for row in json.loads(path.read_text())["annotations"]:
        found = set(re.findall(r"\w+", row["caption"].lower()))
        named = [bool(found & set(words.groups[g])) for g in prepared.groups]
        if sum(named) == 1:
            for i, item in enumerate(OBJECTS):
                expected[named.index(True), i] += item in found
    assert (counts == expected).all()


def _plain(path: Path) -> Any:
    """A pickle of lists, dicts, texts and numbers; anything else in it is refused, never run."""

    class Plain(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            raise pickle.UnpicklingError(f"{module}.{name}")

    with path.open("rb") as file:
        return Plain(file, encoding="latin1").load()


def _imsitu(data: Path) -> Path:
    folder = data / "imsitu"
    if not (folder / "train.data").is_file():
        pytest.skip(
            f"the imSitu annotations are not in {folder}: copy train.data, test.data and *_ratio_*.ids of"
            " verb_classification/data from uvavision/Balanced-Datasets-Are-Not-Enough"
        )
    return folder


def _verbs(people: list[dict[str, Any]]) -> dict[str, Any]:
    verbs, genders = (np.array([p[k] for p in people]) for k in ("verb", "gender"))
    columns = {f"verb{v}": (verbs == v).astype(int) for v in range(211)}
    named = np.array([f"{p['image_name']}" for p in people])
    return {"image_id": named, "gender": np.array(["man", "woman"])[genders], **columns}


@pytest.mark.parametrize(("alpha", "published"), [(None, 0.6842), (3, 0.6358)])
def test_leakage_of_imsitu_equals_the_published_table(
    data: Path, alpha: int | None, published: float
) -> None:
    """Wang et al. (2019), λ_D: an attacker taught verbs and gender of the training images guesses those of the
    test images; within half a point of their neural attacker, as they are and balanced to 3."""
    folder = _imsitu(data)
    splits = []
    for split in ("train", "test"):
        people = _plain(folder / f"{split}.data")
        rows = range(len(people)) if alpha is None else _plain(folder / f"{split}_ratio_{alpha}.ids")
        splits.append(_verbs([people[k] for k in rows]))
    train, test = splits
    result = eh.audit_amplification(
        train, test, truth=test, draws=100, leakage=True, seeds=1, permutations=0, min_support=1
    )
    value = {f.estimate.measure: f.estimate.value for f in result.findings}
    assert value["leakage of the data (λ_D), learnt from training data"] == pytest.approx(published, abs=5e-3)


@pytest.mark.parametrize(("alpha", "images"), [(1, 14_684), (2, 19_149), (3, 21_143)])
def test_balancing_imsitu_keeps_the_published_number_of_images(data: Path, alpha: int, images: int) -> None:
    """The authors' balanced training sets have as many images as the largest subset that we find."""
    made = eh.balance(_verbs(_plain(_imsitu(data) / "train.data")), alpha=alpha, min_support=1)
    assert len(made.ids) == images
    assert made.optimal
