"""What arrived is kept: another way of reading it costs no call, and any odd answer can be looked at."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_httpserver import HTTPServer
from service_double import Double, running
from werkzeug import Request, Response

import evenhand as eh
from evenhand._errors import UsageError
from evenhand._run import ask
from evenhand._store import Journal
from evenhand.cli import run
from evenhand.subjects import subject

LETTERS = [f"Arthur lost his {thing}." for thing in ("keys", "dog", "way", "hat")]


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-some-length")


@pytest.fixture
def double() -> Iterator[Double]:
    """A server without faults."""
    with running(Double()) as made:
        yield made


def plan(n: int) -> eh.Plan:
    """n distinct texts."""
    yield eh.Probes(inputs=[f"text {i}" for i in range(n)])


def chat(url: str, **given: Any) -> Any:
    """A chat model behind the double."""
    return subject("openai", **{"model": "m", "base_url": f"{url}/v1", "prompt": "{text}", **given})


def scores(model: Any, path: Path, n: int = 30) -> Any:
    """The scores of n texts through a journal."""
    with Journal(path) as journal:
        return ask(plan(n), model, journal=journal).observations.columns


def test_another_parser_label_range_or_judge_costs_no_call(double: Double, tmp_path: Path) -> None:
    """Scores are read from what arrived; what is read is what a fresh run would read."""
    path = tmp_path / "j.sqlite"
    number = scores(chat(double.url), path)["score"]
    ways: list[dict[str, Any]] = [
        {"score_by": "judge", "judge": "vader"},
        {"score_by": "label", "labels": {f"{value:.0f} of 100": value / 100 for value in number}},
        {"within": (0, 100)},
        {},
    ]
    for way in ways:
        again = scores(chat(double.url, **way), path)
        assert double.billed.total() == 30
        fresh = scores(chat(double.url, **way), tmp_path / f"{ways.index(way)}.sqlite")
        for name, column in fresh.items():
            np.testing.assert_array_equal(again[name], column)
        double.billed = type(double.billed)({f"text {i}": 1 for i in range(30)})


def test_a_batch_s_answer_is_read_again_row_by_row(double: Double, tmp_path: Path) -> None:
    """Five texts share one answer; each keeps its place in it."""
    given = {"url": f"{double.url}/any", "batch": 5}
    scores(subject("http", scores="$.results[*].score", **given), tmp_path / "j.sqlite")
    again = scores(subject("http", scores={"s": "$.results[*].score"}, **given), tmp_path / "j.sqlite")
    assert double.billed.total() == 30
    fresh = subject("http", scores={"s": "$.results[*].score"}, **given)([f"text {i}" for i in range(30)])
    np.testing.assert_array_equal(again["s"], fresh.scores["s"])


def test_an_answer_that_could_not_be_read_is_read_when_the_parser_can(double: Double, tmp_path: Path) -> None:
    """A wrong path fails every row; the right one asks nothing."""
    url, path = f"{double.url}/any", tmp_path / "j.sqlite"
    with Journal(path) as journal:
        wrong = subject("http", url=url, scores="$.nowhere", breaker=1_000)
        assert ask(plan(10), wrong, journal=journal).failed == 10
    asked = double.billed.total()
    assert asked == 10 + 10  # once more before the end
    found = scores(subject("http", url=url, scores="$.results[*].score"), path, 10)
    assert np.isfinite(found["score"]).all()
    assert double.billed.total() == asked


def test_rescore_asks_nothing_and_counts_what_is_missing(double: Double, tmp_path: Path) -> None:
    """From the command line: the same file, another label; what never arrived is an error of its row."""
    out = tmp_path / "out"
    text = f"""
kind = "text"
[arguments]
subject = "openai"
texts = "person"
terms = "names/weat-gender"
budget = 300
tolerance = 5.0
[subject]
model = "m"
base_url = "{double.url}/v1"
prompt = "{{text}}"
concurrency = 32
"""
    (tmp_path / "audit.toml").write_text(text)
    assert run(["run", str(tmp_path / "audit.toml"), "--out", str(out)]) == 3
    billed = double.billed.total()
    assert billed == 300
    other = text.replace("[subject]", '[subject]\nscore_by = "judge"\njudge = "vader"')
    (tmp_path / "audit.toml").write_text(other)
    assert run(["run", str(tmp_path / "audit.toml"), "--out", str(out), "--rescore"]) == 0
    assert double.billed.total() == billed
    assert "rescore =" not in (out / "audit.toml").read_text()  # run again, it goes on asking
    result = json.loads((out / "result.json").read_text())
    assert result["provenance"]["replies"]["from_journal"] == 300
    assert result["counts"]["probes"] - result["counts"]["failed"] == 300
    page = (out / "report.html").read_text()
    assert "no answer in the journal, and nothing is asked" in page
    assert f"300 of {result['counts']['probes']:,} replies came from the journal" in page


def test_rescore_does_not_ask_the_subject_that_classes_the_texts(double: Double, tmp_path: Path) -> None:
    """Its replies are journalled like all others; without them the audit says so and asks nothing."""
    given: dict[str, Any] = {"terms": "names/weat-gender", "replace": "Arthur", "control": False}
    judge = subject("http", url=f"{double.url}/judge", scores="$.results[*].score")
    model = subject("http", url=f"{double.url}/any", scores="$.results[*].score")

    def audited(path: str, **more: Any) -> Any:
        return eh.audit_text(model, LETTERS, journal=tmp_path / path, strata_subject=judge, **given, **more)

    first = audited("j.sqlite")
    assert any((f.estimate.given or "").startswith("sentiment=") for f in first.findings)
    billed = double.billed.total()
    again = audited("j.sqlite", rescore=True)
    assert double.billed.total() == billed
    assert [f.estimate for f in again.findings] == [f.estimate for f in first.findings]
    eh.audit_text(model, LETTERS, journal=tmp_path / "without.sqlite", **given)
    billed = double.billed.total()
    with pytest.raises(UsageError, match="classes the texts") as told:
        audited("without.sqlite", rescore=True)
    assert told.value.slug == "rescore"
    assert double.billed.total() == billed


def test_a_text_that_the_classing_subject_cannot_score_is_in_no_class(tmp_path: Path) -> None:
    """It was counted as neutral."""

    class Picky:
        id = "picky"

        def __call__(self, inputs: Any, /) -> eh.Replies:
            failed = {row: "no opinion" for row, text in enumerate(inputs) if "dog" in text}
            scores = np.array([np.nan if row in failed else 0.5 for row in range(len(inputs))])
            return eh.Replies(scores={"score": scores}, errors=failed)

    for journal in (None, tmp_path / "j.sqlite"):
        result = eh.audit_text(
            "vader",
            LETTERS,
            terms="names/weat-gender",
            replace="Arthur",
            strata_subject=Picky(),
            journal=journal,
        )
        strata = {f.estimate.given for f in result.findings if "sentiment" in (f.estimate.given or "")}
        assert strata == {"sentiment=positive"}


def test_rescore_needs_a_journal() -> None:
    """Without one there is nothing to read."""
    with pytest.raises(UsageError, match="rescore"):
        eh.audit_text("vader", LETTERS, terms="names/weat-gender", replace="Arthur", rescore=True)


def test_odd_answers_can_be_looked_at_and_are_inert(
    httpserver: HTTPServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`journal show --where failed`: input, reason and answer, no escape sequence among them."""
    said = "I will not.\x1b[2J\x1b]owned\x07"
    answer = {
        "choices": [{"message": {"content": said}, "finish_reason": "stop"}],
        "usage": {"total_tokens": 9},
    }
    httpserver.expect_request("/v1/chat/completions").respond_with_json(answer)
    with Journal(tmp_path / "j.sqlite") as journal:
        ask(plan(2), chat(httpserver.url_for("").rstrip("/")), journal=journal)
    assert run(["journal", "show", str(tmp_path / "j.sqlite"), "--where", "failed"]) == 0
    shown = capsys.readouterr().out
    assert "but not where an answer stands" in shown  # the 2 of the escape sequence
    assert "I will not." in shown
    assert "total_tokens" in shown
    assert "2 shown" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_an_export_is_no_formula_and_still_answers(tmp_path: Path) -> None:
    """Cells that a spreadsheet would run begin with an apostrophe; the recorded subject finds them all the same."""
    texts = ["=cmd|'/c calc'!A1", "+1", "@x", "a\x1b[31mb", "fine\nlines"]
    model = subject(lambda xs: [float(len(x)) for x in xs], id="=length")
    with Journal(tmp_path / "j.sqlite") as journal:
        first = ask(iter_of(texts), model, journal=journal).observations.columns["score"]
    for name in ("replies.csv", "replies.jsonl"):
        target = tmp_path / name
        assert run(["journal", "export", str(tmp_path / "j.sqlite"), str(target)]) == 0
        assert b"\x1b" not in target.read_bytes()
        again = ask(iter_of(texts), subject("recorded", path=str(target))).observations.columns["score"]
        np.testing.assert_array_equal(first, again)
    with (tmp_path / "replies.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(row["input"][:1] not in "=+-@" and row["subject"][:1] != "=" for row in rows)


def iter_of(texts: list[str]) -> eh.Plan:
    """One step with these texts."""
    yield eh.Probes(inputs=texts)


def test_two_models_behind_one_url_never_answer_for_each_other(
    httpserver: HTTPServer, tmp_path: Path
) -> None:
    """Told apart by the query, a header, the body or the size of a batch: each is asked itself."""

    def answer(request: Request) -> Response:
        body = request.get_json()
        n = len(body["texts"]) if "texts" in body else 1
        kind = request.args.get("model", "") + request.headers.get("X-Model", "") + str(body.get("model", ""))
        return Response(json.dumps({"results": [{"score": len(kind) + n / 10}] * n}))

    httpserver.expect_request("/x").respond_with_handler(answer)
    url = httpserver.url_for("/x")
    models = [
        {"url": f"{url}?model=a"},
        {"url": f"{url}?model=bb"},
        {"url": url, "headers": {"X-Model": "ccc"}},
        {"url": url, "headers": {"X-Model": "fffff"}},
        {"url": url, "body": {"model": "dddd", "text": "{text}"}},
        {"url": url, "batch": 2},
    ]
    with Journal(tmp_path / "j.sqlite") as journal:
        found = [
            ask(
                plan(4), subject("http", scores="$.results[*].score", **given), journal=journal
            ).observations.columns["score"][0]
            for given in models
        ]
    assert found == [1.1, 2.1, 3.1, 5.1, 4.1, 0.2]


def test_ids_cover_all_that_is_sent_and_nothing_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endpoint, region, attributes, extras: another id. Labels, judge, range, key, engine: the same."""
    monkeypatch.setenv("PERSPECTIVE_API_KEY", "a-key-of-some-length")
    base: dict[str, Any] = {"model": "m", "base_url": "http://127.0.0.1/v1", "prompt": "{text}"}
    asked = [
        base,
        base | {"base_url": "http://127.0.0.1:8080/v1"},
        base | {"system": "s"},
        base | {"max_tokens": 1},
        base | {"extra": {"seed": 1}},
        base | {"temperature": 0.5},
        base | {"prompt": "Q: {text}"},
        base | {"score_by": "logprob", "labels": {"a": 1}},
    ]
    ids = [subject("openai", **given).id for given in asked]
    assert len(set(ids)) == len(asked)
    same = [
        base | {"score_by": "label", "labels": {"a": 1}},
        base | {"within": (0, 100)},
        base | {"concurrency": 2, "rate": 5.0},
        base | {"score_by": "judge", "judge": "vader"},
    ]
    assert {subject("openai", **given).id for given in same} == {ids[0]}
    monkeypatch.setenv("OPENAI_API_KEY", "another-key-of-some-length")
    assert subject("openai", **base).id == ids[0]
    hosts = [subject("perspective", endpoint_url=f"http://127.0.0.1:{port}").id for port in (1, 2)]
    assert hosts[0] != hosts[1]
