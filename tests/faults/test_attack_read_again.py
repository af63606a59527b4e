"""An attack is read again from what arrived: the same answers lead the same way, others as far as they lead."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from planted_words import planted
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from evenhand._errors import UsageError
from evenhand._result import Result
from evenhand.audits.attack.audit import attack
from evenhand.cli import run

SPACE = planted(clusters=12, seed=3)
TEXTS = SPACE.sentences(30, seed=1)
TWO = ("low", "high")
TWISTED = ("low", "other")
"""Reading "other" in the place of "high" is another opinion of the same answer, which flips elsewhere."""


class Model:
    """A model of words over HTTP; it counts the texts that it was asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.down = ""
        self.moody = 0.0

    def answer(self, request: Request) -> Response:
        """The probabilities of two labels, and a third number that nobody need read."""
        texts = request.get_json()["texts"]
        self.asked.update(texts)
        rows = []
        for text in texts:
            z = sum(6 * SPACE.loading.get(word, 0.0) for word in text.split()) + self.moody * self.asked[text]
            high = float(1 / (1 + np.exp(-z)))
            rows.append({"low": 1 - high, "high": high, "other": 1 - high * (0.2 + 0.7 * (len(text) % 2))})
        if self.down and any(self.down in text for text in texts):
            return Response("{}", status=400)
        return Response(json.dumps({"rows": rows}), content_type="application/json")


@pytest.fixture
def model(httpserver: HTTPServer) -> Model:
    """The model behind a loopback port."""
    made = Model()
    httpserver.expect_request("/model").respond_with_handler(made.answer)
    return made


def written(folder: Path, url: str, names: tuple[str, str] = TWO, **arguments: object) -> str:
    """An audit file that attacks the model."""
    vectors = "\n".join(
        f"{word} {' '.join(f'{x:.6f}' for x in row)}"
        for word, row in zip(SPACE.vectors.words, SPACE.vectors.unit.tolist(), strict=True)
    )
    (folder / "vectors.txt").write_text(vectors + "\n")
    (folder / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    given = {"fluency": "none", "placebos": 3, "definitional": "include", **arguments}
    scores = ", ".join(f'{name} = "$.rows[*].{path}"' for name, path in zip(TWO, names, strict=True))
    (folder / "audit.toml").write_text(
        'kind = "attack"\n[arguments]\nsubject = "http"\ntexts = "texts.txt"\nembeddings = "vectors.txt"\n'
        + "".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items())
        + f'[subject]\nurl = "{url}"\nbatch = 50\nbody = {{ texts = "{{texts}}" }}\nscores = {{ {scores} }}\n'
    )
    return str(folder / "audit.toml")


def test_an_attack_is_read_again_without_a_call(model: Model, httpserver: HTTPServer, tmp_path: Path) -> None:
    """The same reading leads to the same findings, confirmation and second looks included."""
    file, out = written(tmp_path, httpserver.url_for("/model")), str(tmp_path / "out")
    assert run(["run", file, "--out", out]) == 0
    first, billed = Result.from_json(tmp_path / "out/result.json"), model.asked.total()
    assert any(f.estimate.value for f in first.findings if f.estimate.measure == "flip rate")
    httpserver.clear_all_handlers()  # the service is gone
    assert run(["run", file, "--out", out, "--rescore"]) == 0
    again = Result.from_json(tmp_path / "out/result.json")
    assert model.asked.total() == billed
    assert again.findings == first.findings
    assert again.counts == first.counts
    assert "rescore" not in (tmp_path / "out/audit.toml").read_text()
    assert not {"incomplete", "not-asked-twice"} & {note.slug for note in again.notes}


def test_what_another_reading_leads_to_is_said_and_not_asked(
    model: Model, httpserver: HTTPServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other flips lead to texts that were never asked: it stops, says how many, and the next run asks those only."""
    url, out = httpserver.url_for("/model"), tmp_path / "out"
    file = written(tmp_path, url)
    assert run(["run", file, "--out", str(out)]) == 0
    before = Counter(model.asked)
    written(tmp_path, url, TWISTED)
    assert run(["run", file, "--out", str(out), "--rescore"]) == 3
    said = next(n.text for n in Result.from_json(out / "result.json").notes if n.slug == "incomplete")
    assert "texts that were never asked" in said
    assert "without --rescore" in said
    assert model.asked == before
    assert run(["run", file, "--out", str(out)]) == 0
    fresh = model.asked - before
    assert fresh
    whole = Result.from_json(out / "result.json")
    assert run(["run", file, "--out", str(tmp_path / "alone")]) == 0
    assert whole.findings == Result.from_json(tmp_path / "alone/result.json").findings


def test_a_text_that_failed_then_fails_now(model: Model, httpserver: HTTPServer, tmp_path: Path) -> None:
    """What was asked and has no score is a failed row with its reason, not a question that was never asked."""
    file, out = written(tmp_path, httpserver.url_for("/model")), str(tmp_path / "out")
    model.down = TEXTS[3]
    text = (tmp_path / "audit.toml").read_text().replace("batch = 50", "batch = 1\nbreaker = 1000")
    (tmp_path / "audit.toml").write_text(text)
    assert run(["run", file, "--out", out]) == 0
    first = Result.from_json(tmp_path / "out/result.json")
    assert first.counts["failed"] == 1
    assert run(["run", file, "--out", out, "--rescore"]) == 0
    again = Result.from_json(tmp_path / "out/result.json")
    assert again.counts == first.counts
    assert again.findings == first.findings
    assert any("HTTP 400" in note.text for note in again.notes if note.slug == "failed-rows")


def test_second_answers_are_kept_too(model: Model, httpserver: HTTPServer, tmp_path: Path) -> None:
    """A subject that answers differently is asked twice, once: the next run finds both answers in the journal."""
    model.moody = 0.3
    file, out = written(tmp_path, httpserver.url_for("/model")), str(tmp_path / "out")
    assert run(["run", file, "--out", out]) == 0
    first, billed = Result.from_json(tmp_path / "out/result.json"), model.asked.total()
    assert "changing-answers" in {note.slug for note in first.notes}
    for more in ([], ["--rescore"]):
        assert run(["run", file, "--out", out, *more]) == 0
        again = Result.from_json(tmp_path / "out/result.json")
        assert model.asked.total() == billed
        assert again.findings == first.findings


def test_a_journal_without_second_answers_says_so(
    model: Model, httpserver: HTTPServer, tmp_path: Path
) -> None:
    """Older journals have none: the stability is not known, and nothing else is lost."""
    import sqlite3

    file, out = written(tmp_path, httpserver.url_for("/model")), str(tmp_path / "out")
    assert run(["run", file, "--out", out]) == 0
    first = Result.from_json(tmp_path / "out/result.json")
    with sqlite3.connect(tmp_path / "out/journal.sqlite") as connection:
        twice = "(SELECT key FROM inputs WHERE repeat = 1)"
        assert connection.execute(f"DELETE FROM replies WHERE key IN {twice}").rowcount == 25
        connection.execute("DELETE FROM inputs WHERE repeat = 1")
    connection.close()
    assert run(["run", file, "--out", out, "--rescore"]) == 0
    again = Result.from_json(tmp_path / "out/result.json")
    assert again.findings == first.findings
    assert again.counts["failed"] == 0
    assert "not-asked-twice" in {note.slug for note in again.notes}


def test_an_attack_without_a_journal_cannot_be_read_again() -> None:
    """There is nothing to read."""
    with pytest.raises(UsageError, match="rescore"):
        attack("vader", TEXTS[:2], embeddings=SPACE.vectors, score="compound", rescore=True)
