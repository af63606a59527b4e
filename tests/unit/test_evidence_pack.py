"""`evenhand pack`, `verify`, `init`, model cards and plots: what a user hands on, and begins with."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

import evenhand as eh
from evenhand._errors import UsageError
from evenhand.audits import AUDITS
from evenhand.cli import run
from evenhand.cli.init import WANTED


@pytest.fixture
def audited(tmp_path: Path) -> Path:
    """A folder with an audit of predictions, made as a user makes it."""
    lines = ["pred,sex,race"] + [f"{int(i % 3 == 0)},{'FM'[i % 2]},{'ab'[i % 5 == 0]}" for i in range(300)]
    (tmp_path / "preds.csv").write_text("\n".join(lines) + "\n")
    argv = [
        "predictions",
        str(tmp_path / "preds.csv"),
        "--y-pred",
        "pred",
        "--group",
        "sex",
        "--group",
        "race",
    ]
    assert run([*argv, "--law", "ll144", "--out", str(tmp_path / "out"), "--quiet"]) == 0
    return tmp_path / "out"


def repacked(pack: Path, **changed: bytes | None) -> Path:
    """The pack with files replaced, added, or (None) taken out; their names end in .json."""
    made = pack.with_name("changed.zip")
    with zipfile.ZipFile(pack) as old, zipfile.ZipFile(made, "w") as new:
        held = {info.filename: old.read(info) for info in old.infolist()}
        held |= {f"{name}.json": bytes_ for name, bytes_ in changed.items()}  # type: ignore[dict-item]
        for name, bytes_ in held.items():
            if bytes_ is not None:
                new.writestr(name, bytes_)
    return made


def test_a_pack_verifies_and_a_changed_byte_does_not(
    audited: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = audited / "e.zip"
    assert run(["pack", str(audited / "result.json"), "--to", str(pack)]) == 0
    assert run(["verify", str(pack)]) == 0
    text = (audited / "result.json").read_text()
    turned = text.replace('"disparity"', '"gap"', 1) if '"disparity"' in text else text.replace("0.", "1.", 1)
    capsys.readouterr()
    assert run(["verify", str(repacked(pack, result=turned.encode()))]) == 1
    assert "FAILED: result.json is not what its hash says" in capsys.readouterr().out
    assert run(["verify", str(repacked(pack, more=b"x"))]) == 1
    assert "more.json is not in the manifest" in capsys.readouterr().out


def test_the_same_result_is_the_same_pack(audited: Path) -> None:
    from datetime import UTC, datetime

    from evenhand._evidence import pack

    now = datetime(2026, 1, 1, tzinfo=UTC)
    one, two = (pack(audited / "result.json", audited / n, now=now).read_bytes() for n in ("a.zip", "b.zip"))
    assert one == two


def test_the_map_of_rules_names_what_is_there_and_what_is_missing(audited: Path) -> None:
    run(["pack", str(audited / "result.json"), "--to", str(audited / "e.zip")])
    with zipfile.ZipFile(audited / "e.zip") as archive:
        index = archive.read("index.md").decode()
        rows = json.loads(archive.read("manifest.json"))["articles"]
    where = {(r["clause"], r["asks"]): r["where"] for r in rows}
    assert where["§ 5-301(b), (c)", "selection or scoring rate and impact ratio by sex"].startswith(
        "result.json"
    )
    assert where["§ 5-301(b), (c)", "the same by race or ethnicity"] != "missing"
    assert where["§ 5-303(a)(2)", "the distribution date of the tool"] == "missing"
    assert index.count("**missing**") == sum(r["where"] == "missing" for r in rows)


def test_a_result_whose_headline_was_turned_is_told(
    audited: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A verdict that does not follow from the findings, and data that changed since."""
    assert run(["verify", str(audited / "result.json")]) == 0
    document = json.loads((audited / "result.json").read_text())
    document["verdict"] = "within tolerance" if document["verdict"] != "within tolerance" else "disparity"
    (audited / "result.json").write_text(json.dumps(document))
    (audited.parent / "preds.csv").write_text("pred,sex,race\n1,F,a\n")
    capsys.readouterr()
    assert run(["verify", str(audited)]) == 1
    said = capsys.readouterr().out
    assert "FAILED: the verdict does not follow" in said
    assert "preds.csv has changed" in said


@pytest.mark.parametrize("held", [b"", b"PK\x03\x04", b"{}", b"\xff\xfe"])
def test_what_is_no_pack_is_told(held: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.zip").write_bytes(held)
    assert run(["verify", str(tmp_path / "x.zip")]) == 2
    assert run(["verify", str(tmp_path / "gone.zip")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_two_files_of_one_name_are_refused(audited: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet = audited.parent / "report.html"
    sheet.write_text("mine")
    argv = ["pack", str(audited / "result.json"), "--to", str(audited / "e.zip"), "--include", str(sheet)]
    assert run(argv) == 2
    assert "pack-name" in capsys.readouterr().err


@pytest.mark.parametrize("kind", AUDITS)
def test_init_writes_a_file_that_every_audit_reads(kind: str, tmp_path: Path) -> None:
    """Every argument is there with its sentence, and the file is valid as it is."""
    from evenhand._spec import read_spec

    path = tmp_path / "audit.toml"
    assert run(["init", kind, "--out", str(path)]) == 0
    spec = read_spec(path)
    assert set(spec.arguments) == set(WANTED[kind])
    text = path.read_text()
    assert "# level = 0.95" in text or "level" not in text
    assert run(["init", kind, "--out", str(path)]) == 2  # never over a file that is there
    assert run(["init", kind, "--out", str(path), "--force"]) == 0


def test_a_file_of_init_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text("pred,sex\n" + "\n".join(f"{i % 2},{'FM'[i % 2]}" for i in range(60)) + "\n")
    argv = ["init", "predictions", "--set", "data=p.csv", "--set", "y_pred=pred", "--set", "groups=sex"]
    assert run(argv) == 0
    text = Path("audit.toml").read_text().replace('y_true = "actual"\n', "")
    Path("audit.toml").write_text(text)
    assert run(["--quiet", "run", "audit.toml"]) == 0
    assert Path("predictions-out/report.html").is_file()


def test_init_names_an_argument_that_no_audit_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "predictions", "--set", "grops=sex", "--out", str(tmp_path / "a.toml")]) == 2
    assert "groups" in capsys.readouterr().err
    assert not (tmp_path / "a.toml").exists()


def test_a_model_card_has_the_metadata_that_hugging_face_reads(audited: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    result = eh.Result.from_json(audited / "result.json")
    from evenhand.reports import render

    _, front, body = render(result, "model-card").split("---\n", 2)
    index = yaml.safe_load(front)["model-index"][0]
    metrics = index["results"][0]["metrics"]
    judged = [f for f in result.findings if f.verdict is not None and f.estimate.value is not None]
    assert len(metrics) == min(40, len(judged))
    assert metrics[0]["value"] == pytest.approx(
        next(f.estimate.value for f in result.findings if f.estimate.measure == metrics[0]["type"]), abs=1
    )
    assert "## Bias, Risks, and Limitations" in body


def test_hostile_names_do_not_leave_their_place_in_a_model_card() -> None:
    estimate = eh.Estimate(
        measure='m"\n---\n- evil: true', contrast="difference", group="<b>", reference="b", value=0.1
    )
    result = eh.Result(
        audit="scores",
        title='x"\n---\n',
        findings=(eh.Finding(estimate=estimate, tolerance=(-1, 1), verdict="gap"),),
    )
    from evenhand.reports import render

    card = render(result, "model-card")
    assert card.count("\n---\n") == 1
    assert "<b>" not in card.split("\n---\n")[1]


def test_a_card_for_the_model_card_toolkit_is_json(audited: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = audited / "card.card.json"
    assert run(["report", str(audited / "result.json"), "-o", str(out)]) == 0
    card = json.loads(out.read_text())
    metrics = card["quantitative_analysis"]["performance_metrics"]
    assert {"type", "value", "slice"} <= set(metrics[0])
    assert card["model_details"]["overview"] == eh.Result.from_json(audited / "result.json").answer


def test_every_drawing_of_a_result_can_be_saved(audited: Path, tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="the extra plots is not installed")
    pytest.importorskip("vl_convert", reason="the extra plots is not installed")
    from evenhand.reports.plot import names

    result = eh.Result.from_json(audited / "result.json")
    assert names(result)[0] == "forest"
    for i, name in enumerate(names(result)):
        result.plot(name).save(str(tmp_path / f"{i}.svg"))
        svg = (tmp_path / f"{i}.svg").read_text()
        assert "<svg" in svg
        assert "currentColor" not in svg
    result.plot().save(str(tmp_path / "x.png"))
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_a_drawing_that_is_not_there_names_those_that_are(audited: Path) -> None:
    pytest.importorskip("altair", reason="the extra plots is not installed")
    result = eh.Result.from_json(audited / "result.json")
    with pytest.raises(UsageError, match="forest: ratio"):
        result.plot("nothing")
