"""On a real cluster of two workers on this machine, and by Daft: the single process's result, whatever is lost on the way."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import evenhand as eh
from evenhand._errors import EngineError
from evenhand.engines import files as engine_files

pytestmark = [pytest.mark.scale, pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore")]
ray = pytest.importorskip("ray", reason="Ray is not installed: make test-scale", exc_type=ImportError)
pytest.importorskip("daft", reason="Daft is not installed: make test-scale", exc_type=ImportError)
CALLS: dict[str, dict[str, Any]] = {
    "numbers": {"y_true": "y", "y_pred": "p", "groups": ["sex", "job"], "intersections": True, "control": "kind"},
    "labels": {"y_true": "truth", "y_pred": "label", "y_score": "score", "groups": "job", "weight": "w"},
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten files, a job in each, an empty one and one whose outcomes are all missing."""
    place = tmp_path_factory.mktemp("people")
    rng = np.random.default_rng(0)
    for i in range(10):
        n = 0 if i == 4 else 20_000
        y, score = rng.normal(size=n), rng.random(n)
        table = pa.table(
            {
                "y": pa.array(np.full(n, np.nan) if i == 7 else y, from_pandas=True),
                "p": 0.6 * y + rng.normal(size=n) - 0.1 * (i == 2),
                "score": score,
                "truth": (rng.random(n) < score).astype(int),
                "label": (score > 0.5).astype(int),
                "w": rng.integers(1, 4, n),
                "sex": rng.choice(["F", "M"], n).astype(str),
                "job": pa.array([None if rng.random() < 0.01 else f"job {i % 5}" for _ in range(n)], pa.string()),
                "kind": rng.choice(["a", "b"], n).astype(str),
            }
        )  # fmt: skip
        parquet.write_table(table, place / f"{i}.parquet", row_group_size=2_000)
    return place


@pytest.fixture(autouse=True)
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many partitions of few rows: 90 of the folder."""
    monkeypatch.setattr(engine_files, "PART_ROWS", 2_000)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that only coordinates, and two workers of one processor each."""
    from ray.cluster_utils import Cluster

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    head = {"num_cpus": 0, "include_dashboard": False, "ray_client_server_port": port}
    made = Cluster(initialize_head=True, head_node_args=head)
    made.client = f"ray://127.0.0.1:{port}"
    made.workers = [made.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


def plain(result: eh.Result) -> dict[str, Any]:
    """result.json but for where it comes from."""
    found = json.loads(result.to_json())
    del found["provenance"]
    return dict(found)


@pytest.mark.parametrize("call", list(CALLS.values()), ids=list(CALLS))
@pytest.mark.parametrize("engine", ["daft", "ray"])
def test_an_engine_gives_the_result_of_one_process(
    cluster: Any, folder: Path, engine: str, call: dict[str, Any]
) -> None:
    """To the last bit, since summaries are added in the order of the partitions whoever made them."""
    one = eh.audit_predictions(folder, engine="local", **call)
    assert one.counts["rows"] == 180_000
    assert plain(eh.audit_predictions(folder, engine=engine, **call)) == plain(one)


@pytest.mark.parametrize("engine", ["daft", "ray"])
@pytest.mark.parametrize("units", [(), ("kind", "w")])
def test_an_engine_folds_scores_as_one_process_does(
    cluster: Any, folder: Path, engine: str, units: tuple[str, ...]
) -> None:
    """Combinations of groups and units, made by whoever, are added in the order of the partitions: the same bits."""
    call: dict[str, Any] = {"scores": ["score", "y"], "groups": ["sex*job"], "units": units, "tolerance": 0.1}
    one = eh.audit_scores(folder, engine="local", **call)
    assert one.counts["rows"] == 180_000
    assert plain(eh.audit_scores(folder, engine=engine, **call)) == plain(one)


def noted(folder: Path, doomed: str) -> Any:
    """What workers run, with a mark in a folder for each try at a partition.

    The third that `doomed` (a node) begins does not end before its killer says that it is gone.
    """
    where = str(folder)

    def summarise(work: bytes, part: bytes, version: str) -> bytes:
        import hashlib
        import time
        import uuid
        from pathlib import Path

        import ray

        from evenhand.engines.attempts import attempt

        node = ray.get_runtime_context().get_node_id()
        Path(where, f"{hashlib.sha256(work + part).hexdigest()[:20]}-{node}-{uuid.uuid4().hex}").touch()
        until = time.monotonic() + 60
        while node == doomed and len(list(Path(where).glob(f"*-{node}-*"))) >= 3 and time.monotonic() < until:
            time.sleep(0.05)
        return attempt(work, part, version)

    return summarise


def test_a_worker_killed_in_the_middle_changes_nothing(
    cluster: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had begun is made again by the one that is left, and counted once; then a new worker joins."""
    from evenhand.engines import ray as ray_engine

    monkeypatch.setattr(engine_files, "PART_ROWS", 20_000)
    one = eh.audit_predictions(folder, engine="local", **CALLS["numbers"])
    killed = cluster.workers.pop()
    monkeypatch.setattr(ray_engine, "_by_value", lambda: noted(tmp_path, killed.node_id))

    def kill() -> None:
        until = time.monotonic() + 60
        while len(list(tmp_path.glob(f"*-{killed.node_id}-*"))) < 3 and time.monotonic() < until:
            time.sleep(0.05)
        cluster.remove_node(killed, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    found = eh.audit_predictions(folder, engine="ray", **CALLS["numbers"])
    killer.join()
    tries = [path.name.partition("-")[0] for path in tmp_path.iterdir()]
    assert len(set(tries)) >= 27
    assert len(tries) > len(set(tries))
    assert plain(found) == plain(one)
    cluster.workers.append(cluster.add_node(num_cpus=1))
    more = eh.audit_predictions(folder / "0.parquet", engine="ray", y_pred="p", groups="sex")
    assert more.counts["rows"] == 20_000


def test_a_partition_that_always_kills_its_worker_ends_the_audit(cluster: Any) -> None:
    """After four tries, with the partition's name; the others do not wait for ever."""
    from evenhand.engines.ray import Ray

    with pytest.raises(EngineError) as caught:
        list(Ray().map(os._exit, [1]))
    assert (caught.value.slug, caught.value.given) == ("partition-lost", 1)


def test_more_workers_than_partitions_and_no_partition_at_all(cluster: Any, folder: Path) -> None:
    """One partition for two workers; a folder without a row is an error of the data."""
    found = eh.audit_predictions(folder / "0.parquet", engine="ray", y_pred="label", groups="sex")
    assert found.counts["used"] == 20_000
    for engine in ("ray", "daft"):
        with pytest.raises(eh.EvenhandError, match="no rows"):
            eh.audit_predictions(folder / "4.parquet", engine=engine, y_pred="p", groups="sex")


def test_workers_of_another_version_are_refused(
    cluster: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before their first partition."""
    from evenhand.engines import ray as ray_engine

    monkeypatch.setattr(ray_engine, "__version__", "0.0.0")
    with pytest.raises(EngineError) as caught:
        eh.audit_predictions(folder, engine="ray", y_pred="p", groups="sex")
    assert caught.value.slug == "engine-version"


@pytest.mark.parametrize("engine", ["ray", "daft"])
def test_an_error_in_the_data_comes_from_a_worker_as_it_is(cluster: Any, tmp_path: Path, engine: str) -> None:
    """A negative weight in the last partition: the message that one process gives."""
    rows = {"p": np.arange(30_000.0), "sex": ["F", "M"] * 15_000, "w": np.append(np.ones(29_999), -1.0)}
    parquet.write_table(pa.table(rows), tmp_path / "0.parquet", row_group_size=2_000)
    said = []
    for name in ("local", engine):
        with pytest.raises(eh.EvenhandError) as caught:
            eh.audit_predictions(tmp_path, engine=name, y_pred="p", groups="sex", weight="w")
        said.append((type(caught.value), str(caught.value)))
    assert said[0] == said[1]
    assert "the weights in 'w' are negative" in said[0][1]


def command(*options: str) -> subprocess.CompletedProcess[str]:
    """`evenhand predictions` in a process of its own."""
    call = [sys.executable, "-m", "evenhand", "predictions", *options]
    return subprocess.run(call, capture_output=True, text=True, check=False, timeout=240)


def test_the_command_line_reaches_a_cluster_by_its_address(
    cluster: Any, folder: Path, tmp_path: Path
) -> None:
    """`--engine ray://host:port` from a process that is no part of the cluster."""
    options = [str(folder), "--y-true", "y", "--y-pred", "p", "--group", "sex", "--engine"]
    found = []
    for engine in ("local", cluster.client):
        for _ in range(3):  # Ray begins a server for each client, on a busy machine not always in its time
            done = command(*options, engine, "--out", str(tmp_path / "out"))
            if "Initialization failure from server" not in done.stderr:
                break
        assert done.returncode == 0, done.stderr
        found.append(plain(eh.Result.from_json(tmp_path / "out" / "result.json")))
    assert found[0]["counts"]["rows"] == 180_000
    assert list(differing(found[0], found[1])) == []


def differing(one: Any, two: Any) -> Iterator[tuple[Any, Any]]:
    """Numbers that are apart by more than 1e-12, and all else that differs."""
    if isinstance(one, dict):
        assert list(one) == list(two)
        for key in one:
            yield from differing(one[key], two[key])
    elif isinstance(one, list):
        assert len(one) == len(two)
        for a, b in zip(one, two, strict=True):
            yield from differing(a, b)
    elif one != two and not (isinstance(one, float) and np.isclose(one, two, rtol=1e-12, atol=1e-12)):
        yield one, two


def test_a_cluster_that_does_not_answer_is_one_message_within_seconds(folder: Path) -> None:
    """Exit code 2, no traceback, and the system's own word for it: Ray would try on for half a minute."""
    done = command(str(folder), "--y-pred", "p", "--group", "sex", "--engine", "ray://127.0.0.1:1")
    assert done.returncode == 2
    assert "no Ray cluster answers" in done.stderr
    assert "refused" in done.stderr
    assert "Traceback" not in done.stderr


PROGRAM = """
import sys, json, daft, evenhand as eh
from evenhand.engines import files
folder, address = sys.argv[1:]
files.PART_ROWS = 2_000
if address:
    import ray
    ray.init(address=address, log_to_driver=False)
    daft.set_runner_ray()
call = {"y_true": "y", "y_pred": "p", "groups": ["sex", "job"], "control": "kind"}
one = eh.audit_predictions(folder, engine="local", **call)
frame = daft.read_parquet(folder + "/*.parquet").where(daft.col("p") == daft.col("p"))
for found in (eh.audit_predictions(frame, **call), eh.audit_predictions(folder, engine="daft", **call)):
    print("RESULT", one.to_json().replace("\\n", " "))
    print("RESULT", found.to_json().replace("\\n", " "))
"""


@pytest.mark.parametrize("where", ["native", "ray"])
def test_a_frame_of_daft_s_gives_the_result_of_its_files(cluster: Any, folder: Path, where: str) -> None:
    """Rows that Daft reads and filters, here or on the cluster, where its own workers make the summaries."""
    address = cluster.address if where == "ray" else ""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), address],
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [
        json.loads(x.removeprefix("RESULT ")) for x in done.stdout.splitlines() if x.startswith("RESULT ")
    ]
    assert len(lines) == 4
    for found in lines:
        for name in ("provenance", "title", "question"):
            found.pop(name, None)
        found["notes"] = sorted(found["notes"], key=lambda note: str(note["text"]))
    assert list(differing(lines[0], lines[1])) == []
    assert lines[2] == lines[3]


REFUSED = """
import sys, daft, evenhand as eh
from evenhand._errors import EvenhandError

def refuse(p: float) -> float:
    raise OSError("the store refuses")

frame = daft.read_parquet(sys.argv[1])
lost = frame.with_column("p", daft.func(return_dtype=daft.DataType.float64())(refuse)(frame["p"]))
for data, engine in ((lost, None), (frame, "ray")):
    try:
        eh.audit_predictions(data, y_pred="p", groups="sex", engine=engine)
    except EvenhandError as error:
        print("SLUG", error.slug, " ".join(str(error).split()))
"""


def test_a_frame_that_cannot_be_made_is_one_clear_error(folder: Path) -> None:
    """What Daft says stands in the message; another engine than Daft is refused before anything is read."""
    call = [sys.executable, "-c", REFUSED, str(folder / "0.parquet")]
    done = subprocess.run(call, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    first, second = (line for line in done.stdout.splitlines() if line.startswith("SLUG"))
    assert first.startswith("SLUG unreadable-frame")
    assert "Daft cannot read the frame" in first
    assert second.startswith("SLUG engine")
    assert 'engine="daft"' in second
