"""A text audit on a real cluster, some of whose machines do not see the journal: one result, one journal, whoever dies."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand._store import Journal

pytestmark = [pytest.mark.scale, pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore")]
ray = pytest.importorskip("ray", reason="Ray is not installed: make test-scale", exc_type=ImportError)
MODEL = """
import os, signal, time
from pathlib import Path

HERE = Path(__file__).parent
SEES = (HERE / "journals" / "here").exists()

def score(texts):
    asked = HERE / "asked.txt"
    if (HERE / "mortal").exists() and asked.exists() and asked.read_text().count("\\n") >= 40:
        (HERE / "mortal").unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    with asked.open("a") as file:
        file.write("".join(f"{SEES} {text}\\n" for text in texts))
    time.sleep(0.05)
    return [len(text) % 7 / 10 + ("Kevin" in text) / 5 for text in texts]
"""
BOOT = "/proc/sys/kernel/random/boot_id"


class Machines:
    """A head that only coordinates, a node that sees the folder `journals`, and what does not, with GPUs to name them by.

    What sees no file has mounts of its own, where an empty file system lies over the folder; what is another machine
    sees the file, and has another identity since its start.
    """

    def __init__(self, folder: Path) -> None:
        from ray.cluster_utils import Cluster

        self.folder, self.journals = folder, folder / "journals"
        self.journals.mkdir()
        (self.journals / "here").touch()
        (folder / "boot_id").write_text("another machine\n")
        (folder / "model.py").write_text(MODEL)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        head = {"num_cpus": 0, "include_dashboard": False, "ray_client_server_port": port}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.client = f"ray://127.0.0.1:{port}"
        self.cluster.add_node(num_cpus=1)
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level="ERROR")
        self.start("blind", f"mount -t tmpfs none '{self.journals}'")
        self.start("another", f"mount --bind '{folder}/boot_id' {BOOT}")

    def start(self, name: str, mount: str) -> None:
        """A node behind a mount, one after the other: two at once may take the same port."""
        program, log = Path(sys.executable).parent / "ray", self.folder / f"{name}.log"
        inside = f"{mount} && exec {program} start --address={self.cluster.address} --num-cpus=1 --num-gpus=1 --block"
        with log.open("wb") as file:
            call = ["unshare", "-m", "sh", "-c", inside]
            self.nodes[name] = subprocess.Popen(call, start_new_session=True, stdout=file, stderr=file)
        for _ in range(300):
            if ray.cluster_resources().get("CPU", 0) == 1 + len(self.nodes):
                return
            time.sleep(0.2)
        self.stop()
        raise AssertionError(f"the node did not come: {log.read_text()}")

    def stop(self) -> None:
        ray.shutdown()
        for node in self.nodes.values():
            if node.poll() is None:
                os.killpg(node.pid, signal.SIGTERM)
                node.wait(60)
        self.cluster.shutdown()

    def audit(self, name: str, **more: Any) -> eh.Result:
        texts = [
            f"Arthur {verb} the {thing}." for verb in ("lost", "found") for thing in ("key", "dog", "hat")
        ]
        call = {"terms": "names/weat-gender", "replace": "Arthur", "batch_size": 4, "tolerance": 0.1}
        call |= {"journal": self.journals / f"{name}.sqlite", "budget": 1_000, "subject_version": "1"}
        return eh.audit_text(f"{self.folder}/model.py:score", texts, **{**call, **more})

    def asked(self) -> tuple[Counter[str], Counter[str]]:
        """Text → how often it was asked, and how many by workers that see the journals, since one looked last."""
        file = self.folder / "asked.txt"
        lines = [line.partition(" ") for line in file.read_text().splitlines()]
        file.unlink()
        return Counter(text for _, _, text in lines), Counter(sees for sees, _, _ in lines)

    def content(self, name: str) -> dict[str, Any]:
        with Journal(self.journals / f"{name}.sqlite") as file:
            at = file._connection
            return {
                "replies": sorted(json.dumps(row, sort_keys=True) for row in file.rows()),
                "inputs": at.execute("SELECT count(*) FROM inputs").fetchone(),
                "ledger": sorted(at.execute("SELECT * FROM ledger")),
                "held": at.execute("SELECT total(calls) FROM holds").fetchone(),
                "claims": at.execute("SELECT count(*) FROM claims").fetchone(),
            }


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    mount = ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]
    try:
        allowed = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        allowed = False
    if not allowed:
        pytest.skip(
            "a node with mounts of its own stands for another machine, and this user may make none (unshare -m)"
        )
    made = Machines(tmp_path_factory.mktemp("machines"))
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def one(machines: Machines) -> tuple[dict[str, Any], Counter[str]]:
    """The result of one process, and what it asked."""
    result = plain(machines.audit("one"))
    return result, machines.asked()[0]


def plain(result: eh.Result) -> dict[str, Any]:
    """result.json but for where it comes from."""
    found = json.loads(result.to_json())
    del found["provenance"]
    return dict(found)


def wait(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_workers_that_see_the_journal_and_workers_that_do_not_ask_together(
    machines: Machines, one: Any
) -> None:
    """The file, no file, and a file on another machine: one result and one journal, nothing asked twice."""
    found = machines.audit("mixed", engine="ray")
    texts, seeing = machines.asked()
    assert texts == one[1]
    assert set(seeing) == {"True", "False"}
    assert plain(found) == one[0]
    assert machines.content("mixed") == machines.content("one")


def test_where_no_worker_has_the_journal_it_is_the_same(machines: Machines, one: Any) -> None:
    """Only the two nodes with a GPU: one sees no file, the other is another machine."""
    found = machines.audit("away", engine="ray", gpu=1)
    assert machines.asked()[0] == one[1]
    assert plain(found) == one[0]
    assert machines.content("away") == machines.content("one")


def test_the_budget_is_that_of_all_machines(machines: Machines, one: Any) -> None:
    """37 inputs for all three; a larger one asks the rest, and nothing again."""
    assert not machines.audit("budget", engine="ray", budget=37).complete
    first, _ = machines.asked()
    assert first.total() == 37
    found = machines.audit("budget", engine="ray")
    assert machines.asked()[0] + first == one[1]
    assert plain(found)["findings"] == one[0]["findings"]


def test_a_worker_elsewhere_that_is_killed_changes_nothing_and_bills_nothing_twice(
    machines: Machines, one: Any
) -> None:
    """Its share is made again by another process, at once."""
    (machines.folder / "mortal").touch()
    found = machines.audit("killed", engine="ray", gpu=1)
    assert not (machines.folder / "mortal").exists()
    assert machines.asked()[0] == one[1]
    assert plain(found) == one[0]
    assert machines.content("killed") == machines.content("one")


def test_a_mailbox_that_is_lost_is_begun_anew_and_nothing_is_told_twice(machines: Machines, one: Any) -> None:
    """Whoever had not read an answer writes its letter again, which is done once."""
    file, boxes = machines.folder / "asked.txt", ray.util.list_named_actors
    before = boxes(all_namespaces=True)

    def kill() -> None:
        wait(lambda: file.exists() and file.read_text().count("\n") >= 24)
        (box,) = [each for each in boxes(all_namespaces=True) if each not in before]
        ray.kill(ray.get_actor(**box), no_restart=False)

    killer = threading.Thread(target=kill)
    killer.start()
    found = machines.audit("box", engine="ray", gpu=1)
    killer.join()
    assert machines.asked()[0] == one[1]
    assert plain(found) == one[0]
    assert machines.content("box") == machines.content("one")


def test_a_client_outside_of_the_cluster_keeps_the_journal(machines: Machines, one: Any) -> None:
    """`evenhand text --engine ray://host:port`, where the workers reach the asking process by no other way."""
    run(command(machines, "client"))
    texts, seeing = machines.asked()
    assert max(texts.values()) == 1
    assert set(seeing) <= {"False", "True"}
    assert len(machines.content("client")["replies"]) == texts.total()


def command(machines: Machines, name: str) -> list[str]:
    """An audit by workers on the nodes with a GPU alone, in a process of its own."""
    options = ["--subject", f"{machines.folder}/model.py:score", "--texts", "person", "--terms", "names/weat-gender", "--tolerance", "0.1",
               "--batch-size", "4", "--engine", machines.client, "--gpu", "1", "--subject-version", "1", "--most-texts", "12",
               "--journal", str(machines.journals / f"{name}.sqlite"), "--out", str(machines.folder / name)]  # fmt: skip
    return [sys.executable, "-m", "evenhand", "text", *options]


def run(call: list[str]) -> None:
    """To its end. Ray begins a server for each client, on a busy machine not always in its time."""
    for _ in range(3):
        done = subprocess.run(call, capture_output=True, text=True, check=False, timeout=240)
        if "Initialization failure from server" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_workers_ask_nothing_once_the_asking_process_is_gone(
    end: signal.Signals, machines: Machines, one: Any
) -> None:
    """What was under way at its end is all; the next run goes on where it stopped, and asks no more than that again."""
    file, name = machines.folder / "asked.txt", f"gone by {end.name}"
    call = command(machines, name)
    for _ in range(3):
        with subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            wait(
                lambda p=process: (
                    p.poll() is not None or (file.exists() and file.read_text().count("\n") >= 24)
                )
            )
            process.send_signal(end)
        if file.exists():
            break
    before = file.read_text().count("\n")
    time.sleep(5)
    after = file.read_text().count("\n")
    assert after <= before + 2 * 4
    time.sleep(5)
    assert file.read_text().count("\n") == after
    run(call)
    texts, _ = machines.asked()
    assert texts.total() - len(texts) <= 2 * 4
    assert len(machines.content(name)["replies"]) == len(texts)


def test_a_machine_that_is_lost_is_replaced_by_those_that_see_the_journal(
    machines: Machines, one: Any
) -> None:
    """A node is killed as a whole, with what it was asking: that alone is asked again, and billed once."""
    file, node = machines.folder / "asked.txt", machines.nodes["blind"]

    def kill() -> None:
        wait(lambda: file.exists() and file.read_text().count("False ") >= 3)
        os.killpg(node.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = machines.audit("lost", engine="ray", batch_size=1)
    killer.join()
    assert node.wait(60) == -signal.SIGKILL
    again = machines.asked()[0] - one[1]
    assert again.total() <= 1
    assert plain(found) == one[0]
    assert machines.content("lost") == machines.content("one")
