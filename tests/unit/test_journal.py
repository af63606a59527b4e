"""The journal keeps what arrived, asks nothing twice, and refuses files that are not its own."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from evenhand._addresses import keys_of
from evenhand._errors import JournalError
from evenhand._model import Arrived, Replies
from evenhand._store import Journal
from evenhand.subjects import Cached, from_callable


def replies(*values: float, errors: dict[int, str] | None = None) -> Replies:
    """Replies with one score."""
    return Replies(scores={"score": np.array(values, dtype=float)}, errors=errors or {})


def test_a_reply_is_found_by_subject_input_and_repeat(tmp_path: Path) -> None:
    """Another subject id, input or repeat index is another question."""
    with Journal(tmp_path / "j.sqlite") as journal:
        journal.put("m 1", ["a"], replies(0.25))
        assert journal.get("m 1", ["a", "b"]) == {0: {"score": 0.25}}
        assert journal.get("m 2", ["a"]) == {}
        assert journal.get("m 1", ["a"], repeat=1) == {}


def test_failed_rows_are_not_kept_so_that_they_are_asked_again(tmp_path: Path) -> None:
    """An error is no reply."""
    with Journal(tmp_path / "j.sqlite") as journal:
        journal.put("m", ["a", "b"], replies(np.nan, 1.0, errors={0: "refused"}))
        assert journal.get("m", ["a", "b"]) == {1: {"score": 1.0}}


def test_numbers_survive_exactly(tmp_path: Path) -> None:
    """A float comes back bit for bit."""
    value = 0.1 + 0.2
    with Journal(tmp_path / "j.sqlite") as journal:
        journal.put("m", ["a"], replies(value))
        assert journal.get("m", ["a"])[0]["score"] == value


def test_the_file_is_private(tmp_path: Path) -> None:
    """Texts under audit are nobody else's business."""
    with Journal(tmp_path / "sub" / "j.sqlite"):
        mode = stat.S_IMODE((tmp_path / "sub" / "j.sqlite").stat().st_mode)
    assert mode == 0o600


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough to be one" * 40, b"SQLite format 3\0" + b"x" * 4000]
)
def test_a_damaged_or_foreign_file_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    """Nothing is overwritten that evenhand did not write."""
    path = tmp_path / "j.sqlite"
    path.write_bytes(content)
    with pytest.raises(JournalError, match="journal-foreign"):
        Journal(path)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    """A valid SQLite file with other tables is somebody else's."""
    path = tmp_path / "other.sqlite"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE invoices (id INTEGER)")
    other.commit()
    other.close()
    with pytest.raises(JournalError, match="another program"):
        Journal(path)


def test_a_journal_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """A schema from the future is not guessed at."""
    path = tmp_path / "j.sqlite"
    Journal(path).close()
    later = sqlite3.connect(path)
    later.execute("PRAGMA user_version = 99")
    later.close()
    with pytest.raises(JournalError, match="newer"):
        Journal(path)


def test_a_full_disk_is_a_clear_message(tmp_path: Path) -> None:
    """SQLite's own words are translated and say what to do."""
    with Journal(tmp_path / "j.sqlite") as journal:
        journal._connection.execute("PRAGMA max_page_count = 8")
        with pytest.raises(JournalError, match="cannot be written"):
            journal.put("m", [f"text {i}" for i in range(5000)], replies(*np.zeros(5000)))


def test_a_second_run_asks_only_what_is_missing(tmp_path: Path) -> None:
    """Known replies come from the journal, equal inputs are asked once."""
    asked: list[str] = []

    def model(texts: list[str]) -> list[float]:
        asked.extend(texts)
        return [float(len(t)) for t in texts]

    subject = from_callable(model, id="length 1")
    with Journal(tmp_path / "j.sqlite") as journal:
        first = Cached(subject=subject, journal=journal)(["a", "bb", "a"])
        second = Cached(subject=subject, journal=journal)(["bb", "ccc", "a"])
    assert asked == ["a", "bb", "ccc"]
    assert first.scores["score"].tolist() == [1, 2, 1]
    assert second.scores["score"].tolist() == [2, 3, 1]


def test_pruning_removes_one_subject_and_nothing_else(tmp_path: Path) -> None:
    """Prune is by subject, or by age."""
    with Journal(tmp_path / "j.sqlite") as journal:
        journal.put("old", ["a", "b"], replies(1.0, 2.0))
        journal.put("new", ["a"], replies(3.0))
        assert journal.prune(subject="old") == 2
        assert journal.get("old", ["a"]) == {}
        assert [row["subject"] for row in journal.stats()] == ["new"]
        assert [(r["input"], r["score"]) for r in journal.rows()] == [("a", 3.0)]


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    """After kill -9 every acknowledged reply is there, and the run goes on from it."""
    path = tmp_path / "j.sqlite"
    program = textwrap.dedent(
        """
        import sys, numpy as np
        from evenhand._model import Replies
        from evenhand._store import Journal
        journal = Journal(sys.argv[1])
        for i in range(100_000):
            journal.put("m", [f"text {i}"], Replies(scores={"score": np.array([float(i)])}))
            print(i, flush=True)
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        last = -1
        for line in child.stdout:
            last = int(line)
            if last >= 40:
                os.kill(child.pid, signal.SIGKILL)
                break
        child.wait()
    with Journal(path) as journal:
        known = journal.fetch("m", [f"text {i}" for i in range(last + 1)])
    assert not known.missing.any()
    assert known.scores["score"].tolist() == list(range(last + 1))


def test_several_processes_may_share_one_journal(tmp_path: Path) -> None:
    """Four writers meet on a fresh file; every reply of each is there afterwards."""
    path = tmp_path / "j.sqlite"
    program = textwrap.dedent(
        """
        import sys, numpy as np
        from evenhand._model import Replies
        from evenhand._store import Journal
        with Journal(sys.argv[1]) as journal:
            for batch in range(20):
                texts = [f"{sys.argv[2]} {batch} {i}" for i in range(50)] + [f"shared {batch}"]
                journal.put("m", texts, Replies(scores={"score": np.arange(51.0)}))
        """
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, str(path), str(k)]) for k in range(4)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    with Journal(path) as journal:
        (row,) = journal.stats()
        assert row["replies"] == 4 * 20 * 50 + 20


def test_a_batch_whose_writing_was_interrupted_can_be_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C inside the transaction takes all of it back, and the journal does not believe otherwise."""

    def interrupted(_: str) -> str:
        raise KeyboardInterrupt

    with Journal(tmp_path / "j.sqlite") as journal:
        with monkeypatch.context() as patched:
            patched.setattr("evenhand._store.text_of", interrupted)
            with pytest.raises(KeyboardInterrupt):
                journal.put("m", ["a"], replies(0.25))
        journal.put("m", ["a"], replies(0.25))
    with Journal(tmp_path / "j.sqlite") as journal:
        assert journal.fetch("m", ["a"]).scores["score"].tolist() == [0.25]


def test_an_input_that_is_no_text_is_known_by_what_it_says(tmp_path: Path) -> None:
    """Messages are the same whatever the order of their keys and the type of their numbers; 1 is not "1"."""
    told = Replies(scores={"score": np.array([0.5])})
    with Journal(tmp_path / "j.sqlite") as journal:
        journal.put("m", [{"role": "user", "content": "é", "n": 1}], told)
        same = [{"n": np.int64(1), "content": "é", "role": "user"}]
        assert journal.get("m", same) == {0: {"score": 0.5}}
        assert journal.get("m", [{"role": "user", "content": "é", "n": 2}]) == {}
        journal.put("m", [1], told)
        assert journal.get("m", ["1", 1, np.int64(1)]) == {1: {"score": 0.5}, 2: {"score": 0.5}}
        (row,) = [r for r in journal.rows("m") if "user" in str(r["input"])]
        assert "é" in str(row["input"])


def test_what_is_missing_has_no_date(tmp_path: Path) -> None:
    """The dates of a result are those of the replies that it used, not of whatever else is in the file."""
    with Journal(tmp_path / "j.sqlite") as journal:
        journal.put("other", ["x"], replies(1.0))
        journal.put("m", ["a"], replies(1.0))
        known = journal.fetch("m", ["a", "b", "a"])
        assert known.missing.tolist() == [False, True, False]
        assert known.arrivals.tolist() == [2, -1, 2]
        assert journal.first_and_last(journal.fetch("m", ["b"]).arrivals) is None


def test_a_reply_that_was_read_otherwise_is_no_answer(tmp_path: Path) -> None:
    """Whoever reads in another way has to read again, or to ask."""
    with Journal(tmp_path / "j.sqlite") as journal:
        journal.put("m", ["a"], replies(1.0), reading="as a number")
        keys = keys_of("m", ["a", "b"], 0)
        assert journal.answered(keys, "".join(["as a ", "number"])) == {keys[0]}
        assert journal.answered(keys, "as a label") == set()
        assert journal.fetch("m", ["a"], reading="as a label").missing.tolist() == [True]


def test_tokens_are_added_up_and_an_answer_to_several_inputs_is_counted_once(tmp_path: Path) -> None:
    """As the service counted them; `evenhand journal stats` shows them."""
    shared = b'{"usage": {}}'
    told = Replies(
        scores={"score": np.array([1.0, 2.0, 3.0])},
        arrived={
            0: Arrived(shared, 0, 2, 10, 2),
            1: Arrived(shared, 1, 2, 10, 2),
            2: Arrived(b"{}", 0, 1, 5, 0),
        },
    )
    with Journal(tmp_path / "j.sqlite") as journal:
        journal.put("m", ["a", "b", "c"], told)
        journal.put("m", ["d"], replies(1.0))
        (row,) = journal.stats()
        assert (row["sent"], row["received"]) == (15, 2)
