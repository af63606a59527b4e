"""A text audit on a real cluster of two workers on this machine: the single process's result, nothing asked twice, whoever dies."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand._errors import EngineError
from evenhand._store import Journal

pytestmark = [pytest.mark.scale, pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore")]
ray = pytest.importorskip("ray", reason="Ray is not installed: make test-scale", exc_type=ImportError)
MODEL = """
import os, signal, time
from pathlib import Path

HERE = Path(__file__).parent
with (HERE / "made.txt").open("a") as file:
    file.write(f"{os.getpid()}\\n")

def score(texts):
    asked = HERE / "asked.txt"
    if (HERE / "always").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    if (HERE / "mortal").exists() and asked.exists() and asked.read_text().count("\\n") >= 40:
        (HERE / "mortal").unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    with asked.open("a") as file:
        file.write("".join(f"{os.getpid()} {text}\\n" for text in texts))
    time.sleep(0.02)
    return [len(text) % 7 / 10 + ("Kevin" in text) / 5 for text in texts]
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that only coordinates, and two workers of one processor each; one says that it has a GPU."""
    from ray.cluster_utils import Cluster

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    head = {"num_cpus": 0, "include_dashboard": False, "ray_client_server_port": port}
    made = Cluster(initialize_head=True, head_node_args=head)
    made.client = f"ray://127.0.0.1:{port}"
    for gpus in (0, 1):
        made.add_node(num_cpus=1, num_gpus=gpus)
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "model.py").write_text(MODEL)
    return f"{tmp_path}/model.py:score"


def audit(subject: str, folder: Path, name: str, **more: Any) -> eh.Result:
    texts = [f"Arthur {verb} the {thing}." for verb in ("lost", "found") for thing in ("key", "dog", "hat")]
    call = {"terms": "names/weat-gender", "replace": "Arthur", "batch_size": 4, "tolerance": 0.1}
    return eh.audit_text(subject, texts, journal=folder / f"{name}.sqlite", **{**call, **more})


def plain(result: eh.Result) -> dict[str, Any]:
    """result.json but for where it comes from."""
    found = json.loads(result.to_json())
    del found["provenance"]
    return dict(found)


def asked(folder: Path) -> tuple[Counter[str], set[str]]:
    """Text → how often it was asked; and by which processes."""
    lines = [line.partition(" ") for line in (folder / "asked.txt").read_text().splitlines()]
    (folder / "asked.txt").unlink()
    return Counter(text for _, _, text in lines), {process for process, _, _ in lines}


def test_two_workers_give_the_result_of_one_process_and_make_the_subject_once_each(
    cluster: Any, model: str, tmp_path: Path
) -> None:
    """25 shares: every input is asked once, by two processes, which have both read the model's file once."""
    one = audit(model, tmp_path, "one")
    first, _ = asked(tmp_path)
    (tmp_path / "made.txt").unlink()
    found = audit(model, tmp_path, "ray", engine="ray")
    texts, processes = asked(tmp_path)
    assert plain(found) == plain(one)
    assert texts == first
    made = Counter((tmp_path / "made.txt").read_text().split())
    assert len(processes) == 2
    assert all(made[process] == 1 for process in processes)


def test_a_worker_killed_in_the_middle_changes_nothing_and_bills_nothing_twice(
    cluster: Any, model: str, tmp_path: Path
) -> None:
    """The share it had begun is made again by another process, which finds in the journal what was written."""
    one = audit(model, tmp_path, "one", budget=1_000)
    first, _ = asked(tmp_path)
    (tmp_path / "mortal").touch()
    found = audit(model, tmp_path, "ray", engine="ray", budget=1_000)
    texts, processes = asked(tmp_path)
    assert not (tmp_path / "mortal").exists()
    assert len(processes) >= 2
    assert texts == first
    assert plain(found) == plain(one)
    with Journal(tmp_path / "ray.sqlite") as journal:
        assert journal.stats()[0]["calls"] == first.total()


def test_the_budget_is_that_of_all_workers(cluster: Any, model: str, tmp_path: Path) -> None:
    """37 inputs for both; a larger budget asks the rest, and nothing again."""
    stopped = audit(model, tmp_path, "ray", engine="ray", budget=37, subject_version="1")
    assert not stopped.complete
    first, _ = asked(tmp_path)
    assert first.total() == 37
    assert audit(model, tmp_path, "ray", engine="ray", budget=1_000, subject_version="1").complete
    rest, _ = asked(tmp_path)
    assert not first & rest


def test_a_share_that_always_kills_its_worker_ends_the_audit(
    cluster: Any, model: str, tmp_path: Path
) -> None:
    """After four tries, with the probes that it was."""
    (tmp_path / "always").touch()
    with pytest.raises(EngineError, match="probes 1 to") as caught:
        audit(model, tmp_path, "ray", engine="ray")
    assert caught.value.slug == "partition-lost"


def test_a_gpu_is_asked_for_and_its_worker_is_kept(cluster: Any, model: str, tmp_path: Path) -> None:
    """One worker has one: it asks everything and makes the subject once; three are more than there are."""
    audit(model, tmp_path, "one")
    asked(tmp_path)
    (tmp_path / "made.txt").unlink()
    audit(model, tmp_path, "ray", engine="ray", gpu=1)
    _, processes = asked(tmp_path)
    assert len(processes) == 1
    assert Counter((tmp_path / "made.txt").read_text().split())[processes.pop()] == 1
    with pytest.raises(eh.EvenhandError, match="the cluster has 1 GPUs"):
        audit(model, tmp_path, "more", engine="ray", gpu=3)


def test_the_command_line_reaches_a_cluster_by_its_address(cluster: Any, model: str, tmp_path: Path) -> None:
    """`evenhand text --engine ray://host:port`, with one share for two workers."""
    call = [sys.executable, "-m", "evenhand", "text", "--subject", model, "--terms", "names/weat-gender"]
    found = []
    for engine in ("local", cluster.client):
        out = tmp_path / engine.partition(":")[0]
        options = ["--engine", engine, "--tolerance", "0.1", "--out", str(out)]
        for _ in range(3):  # Ray begins a server for each client, on a busy machine not always in its time
            done = subprocess.run([*call, *options], capture_output=True, text=True, check=False, timeout=240)
            if "Initialization failure from server" not in done.stderr:
                break
        assert done.returncode == 0, done.stderr
        found.append(plain(eh.Result.from_json(out / "result.json")))
    assert found[0] == found[1]
