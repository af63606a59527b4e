"""Workers that do not see the journal's file write letters to who keeps it: one result, one journal, nothing asked or billed twice."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elsewhere import Away, Machines
from hypothesis import given
from hypothesis import strategies as st
from service_double import Double, running

import evenhand as eh
from evenhand._addresses import keys_of
from evenhand._errors import EngineError, JournalError
from evenhand._model import Arrived, Replies
from evenhand._store import Bill, Journal
from evenhand.audits.text import asking
from evenhand.engines.local import Local
from evenhand.engines.mailbox import Mailbox
from evenhand.subjects import ByName, letters, subject
from evenhand.subjects import clerk as clerk_module
from evenhand.subjects.by_post import ByPost
from evenhand.subjects.clerk import OPERATIONS, Clerk

MODEL = """
from pathlib import Path

HERE = Path(__file__).parent

def score(texts):
    if any("fails" in text for text in texts):
        raise ValueError("no score for this one")
    with (HERE / "asked.txt").open("a") as file:
        file.write("".join(text + "\\n" for text in texts))
    return [len(text) % 7 / 10 + ("Kevin" in text) / 5 for text in texts]
"""
TEXTS = [f"Arthur {verb} the {thing}." for verb in ("lost", "found") for thing in ("key", "dog", "hat")]


@pytest.fixture
def by(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """`engine="local"` is made by this engine instead."""

    def use(engine: Any) -> None:
        monkeypatch.setattr(asking, "engine_of", lambda *_: engine)

    return use


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A subject of one's own, which notes whatever it is asked."""
    (tmp_path / "model.py").write_text(MODEL)
    return f"{tmp_path}/model.py:score"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal.sqlite") as made:
        yield made


def asked(folder: Path) -> Counter[str]:
    """Text → how often it was asked, since one looked last."""
    file = folder / "asked.txt"
    found = Counter(file.read_text().splitlines()) if file.exists() else Counter()
    file.unlink(missing_ok=True)
    return found


def plain(result: eh.Result) -> dict[str, Any]:
    """result.json but for where it comes from."""
    found = json.loads(result.to_json())
    del found["provenance"]
    return dict(found)


def content(path: Path) -> dict[str, Any]:
    """What a journal holds, but for when it came and in which order."""
    with Journal(path) as file:
        replies = sorted(json.dumps(row, sort_keys=True) for row in file.rows())
        at = file._connection
        return {
            "replies": replies,
            "inputs": at.execute("SELECT count(*) FROM inputs").fetchone(),
            "failures": sorted(at.execute("SELECT input, reason FROM failures")),
            "ledger": sorted(at.execute("SELECT * FROM ledger")),
            "claims": at.execute("SELECT count(*) FROM claims").fetchone(),
            "holds": at.execute("SELECT total(calls), total(money) FROM holds").fetchone(),
        }


def audit(model: Any, **more: Any) -> eh.Result:
    call = {"texts": TEXTS, "terms": "names/weat-gender", "replace": "Arthur", "batch_size": 5}
    return eh.audit_text(model, **{**call, "tolerance": 0.1, "subject_version": "1", **more})


WORLDS: dict[str, dict[str, Any]] = {
    "names": {},
    "repeated texts, repeated questions": {"texts": [*TEXTS, *TEXTS], "repeats": 2},
    "rows that fail": {"texts": [*TEXTS, "Arthur fails.", "Arthur fails the dog."]},
    "a budget, a price and a rate": {"budget": 10_000, "max_cost": 1e6, "price": 0.1, "rate": 1e5},
    "one share": {"batch_size": 10_000},
}


@pytest.mark.parametrize("world", list(WORLDS))
def test_workers_elsewhere_give_the_result_and_the_journal_of_one_process(
    world: str, model: str, tmp_path: Path, by: Callable[[Any], None]
) -> None:
    """To the last bit; every input is asked once, and nobody claims or holds anything afterwards."""
    call = WORLDS[world]
    one = audit(model, journal=tmp_path / "one.sqlite", **call)
    first = asked(tmp_path)
    by(Away())
    found = audit(model, journal=tmp_path / "away.sqlite", engine="local", **call)
    assert asked(tmp_path) == first
    assert plain(found) == plain(one)
    assert content(tmp_path / "away.sqlite") == content(tmp_path / "one.sqlite")
    again = audit(model, journal=tmp_path / "away.sqlite", engine="local", **call)
    assert not asked(tmp_path)
    assert plain(again)["findings"] == plain(one)["findings"]


@pytest.mark.parametrize("where", ["another machine", "another journal", "another program's file", "no file"])
def test_whoever_does_not_see_the_journal_writes_to_who_keeps_it(
    where: str, model: str, tmp_path: Path, by: Callable[[Any], None]
) -> None:
    """And leaves what is there under its name as it is."""
    other = tmp_path / "other.sqlite"
    if where == "another journal":
        Journal(other).close()
    if where == "another program's file":
        other.write_bytes(b"of another program" * 100)
    before = other.read_bytes() if other.exists() else None
    engine = Away(machine="another") if where == "another machine" else Away(journal=str(other))
    by(engine)
    audit(model, journal=tmp_path / "journal.sqlite", engine="local", tolerance=0.1)
    assert len(content(tmp_path / "journal.sqlite")["replies"]) == len(asked(tmp_path)) == 112
    assert engine.letters.count("put") >= 20
    assert (other.read_bytes() if other.exists() else None) == before


def test_a_service_keeps_its_rate_and_its_answers_by_letters(
    tmp_path: Path, by: Callable[[Any], None]
) -> None:
    """It asks for its turn from another thread than that which tells what arrived; raw answers travel with their scores."""
    with running(Double(latency=0.01)) as double:
        options = {"url": double.url, "scores": "$.results[*].score", "batch": 2, "rate": 2_000.0}
        given = ByName(name="http", options=options)
        found = []
        for name in ("one", "away"):
            engine = Away()
            by(engine)
            call = {"journal": tmp_path / f"{name}.sqlite", "budget": 1_000, "batch_size": 40}
            found.append(plain(audit(given, **call, **({"engine": "local"} if name == "away" else {}))))
        assert found[0] == found[1]
        assert set(double.billed.values()) == {2}
        assert engine.letters.count("turn") >= 56
        with Journal(tmp_path / "away.sqlite") as journal:
            assert all(row["answer"] for row in journal.shown(failed=False, limit=10))
    assert content(tmp_path / "away.sqlite") == content(tmp_path / "one.sqlite")


def test_a_share_of_one_batch_is_two_letters(model: str, tmp_path: Path, by: Callable[[Any], None]) -> None:
    """What is missing is claimed with the question, and left with the answer."""
    engine = Away()
    by(engine)
    audit(model, journal=tmp_path / "journal.sqlite", engine="local")
    assert Counter(engine.letters) == {"fetch": 24, "put": 24}


def test_a_row_that_failed_is_free_for_others_at_once(journal: Journal) -> None:
    """With the letter that says so, though its worker goes on."""
    clerk = made(journal)
    worker, other = writer(clerk.answer), writer(clerk.answer, "2")
    failed = Replies(scores={}, errors={0: "HTTP 500"})
    keys = keys_of("m", ["a"], 0)
    with worker.claim(keys, "", (-1, -1)) as mine:
        with other.claim(keys, "", (-1, -1)) as theirs:
            assert (mine, theirs) == ([0], [])
        worker.put("m", ["a"], failed)
        with other.claim(keys, "", (-1, -1)) as theirs:
            assert theirs == [0]


def test_what_is_claimed_ahead_and_not_asked_is_left(journal: Journal) -> None:
    """By the next question, by another claim, or at the end of the share."""
    clerk = made(journal)
    worker, other = writer(clerk.answer), writer(clerk.answer, "2")
    ends: list[Callable[[], Any]] = [
        worker.rest,
        lambda: worker.fetch("m", [], reading=""),
        lambda: worker.claim(keys_of("m", ["b"], 0), "", (-1, -1)).__enter__(),
    ]
    for end in ends:
        worker.fetch("m", ["a"], reading="")
        with other.claim(keys_of("m", ["a"], 0), "", (-1, -1)) as theirs:
            assert theirs == []
        end()
        with other.claim(keys_of("m", ["a"], 0), "", (-1, -1)) as theirs:
            assert theirs == [0]


def test_the_budget_is_that_of_workers_here_and_elsewhere(
    model: str, tmp_path: Path, by: Callable[[Any], None]
) -> None:
    """37 inputs for three processes, two of which see no file; a larger budget asks the rest, and nothing again."""
    by(Machines("here", "there", "yonder"))
    call = {"journal": tmp_path / "journal.sqlite", "engine": "local"}
    assert not audit(model, budget=37, **call).complete
    first = asked(tmp_path)
    assert first.total() == 37
    assert audit(model, budget=1_000, **call).complete
    rest = asked(tmp_path)
    assert not first & rest
    assert content(tmp_path / "journal.sqlite")["ledger"][0][1] == first.total() + rest.total() == 112


@pytest.mark.parametrize("machines", [("there",), ("there", "here")])
def test_a_worker_elsewhere_that_dies_before_it_reads_the_answer_is_billed_once(
    machines: tuple[str, ...], model: str, tmp_path: Path, by: Callable[[Any], None]
) -> None:
    """What its letter said is kept. Whoever makes its share again, there or here, finds it, and waits for no lease."""
    one = audit(model, journal=tmp_path / "one.sqlite", budget=1_000)
    first = asked(tmp_path)
    engine = Machines(*machines, dies="after 5")
    by(engine)
    found = audit(model, journal=tmp_path / "away.sqlite", engine="local", budget=1_000, batch_size=2)
    assert engine.deaths == 1
    assert asked(tmp_path) == first
    assert plain(found) == plain(one)
    assert content(tmp_path / "away.sqlite") == content(tmp_path / "one.sqlite")


@pytest.mark.parametrize("machines", [("there",), ("there", "here")])
def test_a_worker_elsewhere_that_dies_with_what_it_was_told_loses_that_alone(
    machines: tuple[str, ...],
    model: str,
    tmp_path: Path,
    by: Callable[[Any], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a worker here: one batch had been asked and not told; it is asked again at once, though it was claimed, and the
    ledger has it once."""
    one = audit(model, journal=tmp_path / "one.sqlite", budget=1_000)
    first = asked(tmp_path)
    by(Machines(*machines, dies="before 5"))
    monkeypatch.setattr(clerk_module, "LEASE", 1e6)  # whoever waited for it would not come back
    found = audit(model, journal=tmp_path / "away.sqlite", engine="local", budget=1_000)
    assert (asked(tmp_path) - first).total() == 5
    assert plain(found) == plain(one)
    assert content(tmp_path / "away.sqlite") == content(tmp_path / "one.sqlite")


def test_nothing_is_asked_where_nobody_answers(model: str, tmp_path: Path, by: Callable[[Any], None]) -> None:
    """The process that asks is gone: its workers end, with one message."""
    by(Away(machine="another", send=lambda_of_nothing))
    with pytest.raises(EngineError, match="nothing more is asked") as caught:
        audit(model, journal=tmp_path / "journal.sqlite", engine="local")
    assert (caught.value.slug, caught.value.exit_code) == ("journal-unreachable", 3)
    assert not asked(tmp_path)


def lambda_of_nothing(letter: bytes) -> bytes:
    """Nobody is there."""
    return b""


def made(journal: Journal) -> Clerk:
    return Clerk(journal, subject(lambda xs: [0.0] * len(xs), id="m"), "m", "here m")


def writer(send: Callable[[bytes], bytes], share: str = "1") -> ByPost:
    """A worker that asks a share."""
    made = ByPost(send, "m")
    made.share = share
    return made


ONE = Replies(scores={"s": np.array([0.25])})


def test_a_letter_that_arrives_twice_is_done_once(journal: Journal) -> None:
    """It gets the same answer; an older one is refused, and a worker's next is taken though some were lost."""
    clerk, sent = made(journal), []
    worker = writer(lambda letter: sent.append(letter) or clerk.answer(letter))
    assert worker.hold("m", [1.0], 10, None) == 1
    worker.put("m", ["a"], ONE, bill=Bill(scope="m", calls=1, money=1.0))
    assert clerk.answer(sent[1]) == clerk.answer(sent[1])
    refused = json.loads(clerk.answer(sent[0]))["error"]
    assert (refused["slug"], "it is an old one" in refused["message"]) == ("journal-letter", True)
    assert worker.spent("m").calls == 1
    assert journal._connection.execute("SELECT count(*) FROM inputs").fetchone() == (1,)
    worker._number += 5
    assert worker.latest() == 1


GARBLED = [
    b"",
    b"\xff\x00",
    b"[]",
    b"{}",
    b"[" * 100_000,
    b'{"worker": "w", "number": 1, "share": "s", "operation": "close", "with": {}}',
    b'{"worker": "w", "number": 1, "share": "s", "operation": "__class__", "with": {}}',
    b'{"worker": "w", "number": 1, "share": "s", "operation": ["put"], "with": {}}',
    b'{"worker": 1, "number": 1, "share": "s", "operation": "latest", "with": {}}',
    b'{"worker": "w", "number": true, "share": "s", "operation": "latest", "with": {}}',
    b'{"worker": "w", "number": 0, "share": "s", "operation": "latest", "with": {}}',
    b'{"worker": "w", "number": 1, "share": "s", "operation": "put", "with": []}',
]
WRONG: list[tuple[str, dict[str, Any]]] = [
    ("hold", {"prices": [float("nan")], "limits": [None, 1.0]}),
    ("hold", {"prices": [-1.0], "limits": [None, 1.0]}),
    ("hold", {"prices": ["1"], "limits": [None, 1.0]}),
    ("hold", {"prices": [1.0], "limits": [None, True]}),
    ("let_go", {"amounts": [-5, 0]}),
    ("charge", {"bill": [float("inf"), 0.0]}),
    ("turn", {"name": "calls", "seconds": float("inf")}),
    ("turn", {"name": "'; DROP TABLE replies", "seconds": 1.0}),
    ("fetch", {"keys": letters.text_of_bytes(b"k" * 15), "reading": "", "claim": "c"}),
    ("fetch", {"keys": "no base64!", "reading": "", "claim": "c"}),
    ("claim", {"keys": letters.text_of_bytes(b"k" * 16), "reading": "", "stamp": [0, 0], "claim": 7}),
    ("ends", {"arrivals": ["x"]}),
]
PUT = {
    "claim": "",
    "inputs": ["a"],
    "replies": letters.of_replies(ONE),
    "repeat": 0,
    "reading": "",
    "bill": None,
}
WRONG += [
    ("put", {**PUT, "replies": {**PUT["replies"], "scores": {"s": letters.column(values, "<f8")}}})
    for values in ([], [1.0, 2.0], [float("nan")], [float("inf")])
] + [
    ("put", {**PUT, "inputs": [["a"]]}),
    ("put", {**PUT, "inputs": "a"}),
    ("put", {**PUT, "bill": [-1.0, 0.0]}),
    ("put", {**PUT, "replies": {**PUT["replies"], "errors": [[1, "outside"]]}}),
    ("put", {**PUT, "replies": {**PUT["replies"], "arrived": [[0, 3, 0, 1]]}}),
]  # fmt: skip


def everything(journal: Journal) -> list[str]:
    return [line for line in journal._connection.iterdump() if "holders" not in line]


@pytest.mark.parametrize("at", range(len(GARBLED) + len(WRONG)))
def test_what_is_no_letter_is_refused_and_changes_nothing(at: int, journal: Journal) -> None:
    """No operation but those of the table, no value that could not have been meant; the next letter is answered."""
    clerk = made(journal)
    before = everything(journal)
    if at < len(GARBLED):
        sent = GARBLED[at]
    else:
        operation, words = WRONG[at - len(GARBLED)]
        letter = {"worker": "w", "number": 1, "share": "s", "operation": operation, "with": words}
        sent = json.dumps(letter).encode()
    refused = json.loads(clerk.answer(sent))["error"]
    assert refused["slug"] == "journal-letter"
    assert everything(journal) == before
    assert writer(clerk.answer).latest() == 0


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["keys", "claim", "inputs", "replies", "scores", "bill", "limits", "amounts", "stamp"]), inner, max_size=4), max_leaves=8), st.sampled_from(sorted(OPERATIONS)))  # fmt: skip
def test_no_letter_makes_the_keeper_fail(words: Any, operation: str) -> None:
    """Whatever stands where an operation looks, there is an answer."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder, Journal(f"{folder}/journal.sqlite") as journal:
        letter = {"worker": "w", "number": 1, "share": "s", "operation": operation, "with": words}
        assert json.loads(made(journal).answer(json.dumps(letter).encode()))


def test_a_letter_that_is_too_long_is_not_sent_and_not_read(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes hears what to do; whoever reads does not open it."""
    monkeypatch.setattr(letters, "MOST_BYTES", 2_000)
    with pytest.raises(EngineError, match="a smaller --batch-size") as caught:
        writer(made(journal).answer).put("m", ["a" * 2_000], ONE)
    assert caught.value.slug == "journal-letter"
    letter = {"worker": "w", "number": 1, "share": "s", "operation": "latest", "with": {}}
    short = json.dumps(letter).encode()
    assert json.loads(made(journal).answer(short)) == {"done": 0}
    assert "it cannot be read" in made(journal).answer(short + b" " * 2_000).decode()


def test_whoever_lost_its_share_asks_no_more_and_what_it_asked_is_kept(journal: Journal) -> None:
    """The engine gave its share to another: what it claimed and held is free at once, for that one and for who sees the file."""
    clerk = made(journal)
    first, second = writer(clerk.answer), writer(clerk.answer)
    third = writer(clerk.answer, "3")
    known = first.fetch("m", ["a"], reading="")
    keys = [b"k" * 16]
    with first.claim(keys, "", known.stamp) as mine:
        assert mine == [0]
        assert first.hold("m", [1.0], 1, None) == 1
        third.fetch("m", ["c"], reading="")
        second.begin()
        assert journal.leases.spent("m").calls == 0
        with second.claim(keys, "", known.stamp) as free:
            assert free == [0]
            with pytest.raises(EngineError, match="another worker"):
                first.hold("m", [1.0], 1, None)
        with second.claim(keys_of("m", ["c"], 0), "", known.stamp) as of_another:
            assert of_another == []
        first.put("m", ["a"], ONE, bill=Bill(scope="m", calls=1, money=0.0))
    assert journal.get("m", ["a"]) == {0: {"s": 0.25}}
    assert journal.leases.spent("m").calls == 1
    first.share = "2"
    assert first.hold("m", [1.0], 2, None) == 1


def test_whoever_falls_silent_is_given_up_after_a_lease(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sign of life keeps what it claimed; without one it is free for others, by this process's clock alone."""
    clerk, now = made(journal), [1_000.0]
    monkeypatch.setattr(clerk_module.time, "monotonic", lambda: now[0])
    worker, other = writer(clerk.answer), writer(clerk.answer, "2")
    keys, key = [b"k" * 16], [b"k" * 16]
    with worker.claim(keys, "", (-1, -1)) as mine:
        assert mine == [0]
        for seconds, free in ((clerk_module.LEASE - 1, []), (clerk_module.LEASE - 1, [])):
            now[0] += seconds
            clerk.sweep()
            with other.claim(key, "", (-1, -1)) as theirs:
                assert theirs == free
            worker.renew()
        now[0] += clerk_module.LEASE + 1
        clerk.sweep()
        with other.claim(key, "", (-1, -1)) as theirs:
            assert theirs == [0]


def test_a_rate_is_one_line_for_workers_here_and_elsewhere(journal: Journal) -> None:
    """Turns go by the keeper's clock, and a worker with another clock hears how long it waits."""
    worker = writer(made(journal).answer)
    start = time.monotonic()
    begins = [worker.turn("of its own", "calls", 100.0), journal.leases.turn("here m", "calls", 100.0)]
    begins += [worker.turn("of its own", "calls", 100.0)]
    assert np.diff([start, *begins]) == pytest.approx([0.0, 100.0, 100.0], abs=30.0)
    assert worker.turn("of its own", "characters", 1.0) < begins[1]


INPUTS = ["ä \U0001f600\n", {"role": "user", "n": np.float64(1)}, "c"]


def test_answers_that_arrived_travel_and_are_read_again_by_who_keeps_them(tmp_path: Path) -> None:
    """An answer to several inputs is kept once, with its tokens; another reading asks nothing, and its reasons come back."""
    answer = Arrived(b'{"s": [1, 2]}', 0, 2, 30, 4)
    replies = Replies(
        scores={"s": np.array([1.0, 2.0, np.nan])},
        errors={2: "HTTP 500"},
        arrived={0: answer, 1: Arrived(answer.body, 1, 2, 30, 4)},
    )
    paths = [tmp_path / "direct.sqlite", tmp_path / "post.sqlite"]
    reader = subject(lambda xs: [0.0] * len(xs), id="m")
    object.__setattr__(reader, "reading", "new")
    object.__setattr__(reader, "read", lambda body, n: Replies(scores={"s": np.array([5.0, np.nan])}, errors={1: "no"}))  # fmt: skip
    found = []
    for path in paths:
        with Journal(path) as journal:
            worker: Any = journal
            if path is paths[1]:
                worker = writer(Clerk(journal, reader, "m", "here m").answer)
            worker.put("m", INPUTS, replies, reading="old")
            known = worker.fetch("m", INPUTS, reading="new", read=reader.read)
            assert known.scores["s"][0] == 5.0
            assert dict(known.reasons) == {1: "no"}
            shown = [
                {**row, "created": 0}
                for failed in (True, False)
                for row in journal.shown(failed=failed, limit=9)
            ]
            found.append((shown, journal.stats()[0]["sent"], journal.stats()[0]["received"]))
    assert found[0] == found[1]
    assert found[0][1:] == (30, 4)


def test_errors_of_the_journal_reach_the_worker_as_they_are(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is told with its message and its exit code."""

    def full(*_: Any, **__: Any) -> None:
        raise JournalError("journal-unwritable", "the journal cannot be written: full", given=journal.path)

    monkeypatch.setattr(Journal, "put", full)
    with pytest.raises(JournalError, match="cannot be written: full") as caught:
        writer(made(journal).answer).put("m", ["a"], ONE)
    assert caught.value.slug == "journal-unwritable"


@pytest.mark.parametrize("arrived", [True, False])
def test_an_interrupt_while_a_letter_is_under_way_loses_nothing(arrived: bool, journal: Journal) -> None:
    """It may say what was paid for, so it is sent again before the interrupt goes on, and done once."""
    clerk, interrupts = made(journal), [KeyboardInterrupt()]

    def send(letter: bytes) -> bytes:
        answer = clerk.answer(letter) if arrived or not interrupts else b""
        if interrupts:
            raise interrupts.pop()
        return answer

    with pytest.raises(KeyboardInterrupt):
        writer(send).put("m", ["a"], ONE, bill=Bill(scope="m", calls=1, money=0.0))
    assert journal.leases.spent("m").calls == 1


def test_the_end_of_an_audit_waits_for_who_is_asking(journal: Journal) -> None:
    """What it asked is paid for, so it is kept before nobody answers any more."""
    with made(journal) as clerk:
        worker, begun = writer(clerk.answer), threading.Event()

        def ask() -> None:
            with worker.claim([b"k" * 16], "", (-1, -1)):
                begun.set()
                time.sleep(0.3)
                worker.put("m", ["a"], ONE)

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        assert begun.wait(60)
        clerk.drain()
        assert journal.get("m", ["a"])
        thread.join()
    assert clerk.answer(b"{}") == b""


def test_a_mailbox_hands_letters_over_until_they_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was lost on its way to the reader is handed out again; answers of another box are nobody's."""

    async def play() -> None:
        box = Mailbox()
        writers = [asyncio.create_task(box.ask(letter)) for letter in (b"a", b"b")]
        await asyncio.sleep(0)
        name, found = await box.look("", 0, 1.0)
        assert found == [(1, b"a"), (2, b"b")]
        assert await box.look("", 0, 1.0) == (name, found)
        assert await box.look("another box", 2, 1.0) == (name, found)
        assert (await box.look(name, 1, 1.0))[1] == [(2, b"b")]
        await box.answer("another box", 1, b"wrong")
        await box.answer(name, 2, b"B")
        await box.answer(name, 2, b"too late")
        assert await writers[1] == b"B"
        assert (await box.look(name, 0, 1.0))[1] == [(1, b"a")]
        await box.answer(name, 1, b"A")
        assert await writers[0] == b"A"
        assert (await box.look(name, 2, 0.0))[1] == []
        late = asyncio.create_task(box.look(name, 2, 60.0))
        await asyncio.sleep(0)
        writer = asyncio.create_task(box.ask(b"c"))
        assert (await late)[1] == [(3, b"c")]
        await box.answer(name, 3, b"C")
        assert await writer == b"C"

    asyncio.run(play())


def test_a_mailbox_that_nobody_reads_says_so() -> None:
    """Whoever waits hears it in bounded time, and its letter is gone."""

    async def play() -> None:
        box = Mailbox(silent=0.01)
        assert await box.ask(b"a") == b""
        assert (await box.look("", 0, 0.0))[1] == []

    asyncio.run(play())


def test_an_engine_without_letters_is_refused(model: str, tmp_path: Path, by: Callable[[Any], None]) -> None:
    """Before anything is asked."""

    class Mute:
        map = Local.map

    by(Mute())
    with pytest.raises(eh.EvenhandError, match="cannot write to the process that asks"):
        audit(model, journal=tmp_path / "journal.sqlite", engine="local")
    assert not asked(tmp_path)
