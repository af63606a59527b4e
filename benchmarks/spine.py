"""The spine: what `ask` adds to calling a subject, the journal's writes and reads, and the import."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import evenhand as eh
from benchmarks._figures import Figure, cpu
from evenhand._model import Arrived, Factor, Probes, Replies
from evenhand._run import ask
from evenhand._store import Journal
from evenhand.subjects import subject


def _plan(n: int, batch: int) -> eh.Plan:
    factor = Factor(np.zeros(batch, dtype=np.int32), ("t",))
    for start in range(0, n, batch):
        yield Probes(
            inputs=[f"This is text number {i} about a person." for i in range(start, start + batch)],
            factors={"text": factor},
        )


class _Instant:
    """Answers without thinking, so that only the loop around it is measured."""

    id = "instant"

    def __call__(self, inputs: Sequence[str], /) -> Replies:
        return Replies(scores={"score": np.zeros(len(inputs))})


def ask_overhead(n: int = 1_000_000, batch: int = 1_000) -> Figure:
    """CPU that `ask` (journal off) adds to a bare loop over the same batches, as a share of what VADER itself takes."""
    instant, vader = _Instant(), subject("vader")

    def bare(model: eh.Subject, rows: int) -> None:
        for probes in _plan(rows, batch):
            model(probes.inputs)

    spent = [
        (cpu(lambda: ask(_plan(n, batch), instant, batch_size=batch))[0], cpu(lambda: bare(instant, n))[0])
        for _ in range(3)
    ]
    added = max(min(ours - alone for ours, alone in spent), 1e-9)
    few = min(n, 10_000)
    thinking = cpu(lambda: bare(vader, few), 3)[0] / few
    return Figure(
        name="ask, a row",
        figure=f"{added / n * 1e6:.2f} µs, {added / n / thinking:.2%} of VADER's own (target ≤ 10 %)",
        cpu=added,
        peer="VADER",
        ratio=thinking / (added / n),
    )


def journal_speed(n: int = 200_000, batch: int = 10_000) -> Iterator[Figure]:
    """Replies written and read back a second."""
    texts = [f"This is text number {i} about a person named Arthur." for i in range(n)]
    values = {name: np.random.default_rng(0).random(batch) for name in ("a", "b", "c", "d")}
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "j.sqlite") as journal:
        wall, start = time.perf_counter(), time.process_time()
        for at in range(0, n, batch):
            journal.put("m", texts[at : at + batch], Replies(scores=values))
        put, put_wall = time.process_time() - start, time.perf_counter() - wall
        start = time.process_time()
        for at in range(0, n, batch):
            journal.fetch("m", texts[at : at + batch])
        got = time.process_time() - start
    put, got = max(put, 1e-9), max(got, 1e-9)
    clock = f"{n / put_wall:,.0f}/s on the clock"
    yield Figure(name="journal writes", figure=f"{n / put:,.0f}/CPU s, {clock} (target ≥ 50,000)", cpu=put)
    yield Figure(name="journal reads", figure=f"{n / got:,.0f}/CPU s (target ≥ 200,000)", cpu=got)


def raw_answers(n: int = 200_000, batch: int = 10_000) -> Figure:
    """CPU that keeping a chat model's answer beside each score adds to writing a reply, best of three each."""
    texts = [f"This is text number {i} about a person named Arthur." for i in range(n)]
    values = {name: np.random.default_rng(0).random(batch) for name in ("a", "b", "c", "d")}
    bodies = [
        f'{{"id": "chatcmpl-{i:08x}", "object": "chat.completion", "created": {1_700_000_000 + i}, "model": "m-1",'
        f' "choices": [{{"index": 0, "message": {{"role": "assistant", "content": "{i % 100}", "refusal": null}},'
        f' "logprobs": null, "finish_reason": "stop"}}], "usage": {{"prompt_tokens": {40 + i % 9}}}}}'.encode()
        for i in range(n)
    ]
    arrived = [{i: Arrived(bodies[at + i]) for i in range(batch)} for at in range(0, n, batch)]

    def write(raw: bool) -> float:
        with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "j.sqlite") as journal:
            start = time.process_time()
            for at in range(0, n, batch):
                kept = arrived[at // batch] if raw else {}
                journal.put("m", texts[at : at + batch], Replies(scores=values, arrived=kept))
            return max(time.process_time() - start, 1e-9)

    pairs = [(write(False), write(True)) for _ in range(3)]
    plain, whole = (min(each) for each in zip(*pairs, strict=True))
    return Figure(
        name="journal writes with raw answers",
        figure=f"{n / whole:,.0f}/CPU s, {whole / plain - 1:+.1%} (target ≤ 15 %)",
        cpu=whole,
    )


def import_time(times: int = 5) -> Figure:
    """`import evenhand` in a fresh process, against `import numpy`."""

    def best(module: str) -> float:
        program = f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
        runs = [
            subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
            for _ in range(times)
        ]
        return min(float(run.stdout) for run in runs)

    ours = best("evenhand")
    return Figure(
        name="import evenhand",
        figure=f"{ours:.3f} s (target < 0.4 s)",
        cpu=ours,
        peer="import numpy",
        ratio=best("numpy") / max(ours, 1e-9),
    )


def run(*, quick: bool) -> Iterator[Figure]:
    """Import, loop, journal."""
    yield import_time(1 if quick else 5)
    yield ask_overhead(5_000 if quick else 1_000_000)
    yield from journal_speed(2_000, 1_000) if quick else journal_speed()
    yield from soak(4_000, 500) if quick else soak(2_000_000)
    yield raw_answers(2_000, 1_000) if quick else raw_answers()


class _Raw(_Instant):
    """An instant answer that arrived over a wire, as a service's would."""

    id = "raw"
    reading = "1"

    def __call__(self, inputs: Sequence[str], /) -> Replies:
        bodies = [b'{"score": %d, "model": "m-1", "usage": {"total_tokens": 12}}' % len(x) for x in inputs]
        scores = np.array([float(len(x)) for x in inputs])
        return Replies(scores={"score": scores}, arrived={i: Arrived(b) for i, b in enumerate(bodies)})


def soak(n: int, batch: int = 10_000) -> Iterator[Figure]:
    """Memory while a long run asks, through a journal that keeps raw answers, and the same run from the journal."""

    class Watched(_Raw):
        def __call__(self, inputs: Sequence[str], /) -> Replies:
            held.append(_resident())
            return super().__call__(inputs)

    held: list[float] = []
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "j.sqlite") as journal:
        model = Watched()
        asked = cpu(lambda: ask(_plan(n, batch), model, journal=journal, batch_size=batch))[0]
        wall = time.perf_counter()
        again = cpu(lambda: ask(_plan(n, batch), model, journal=journal, batch_size=batch))[0]
        wall = time.perf_counter() - wall
    late = held[n // batch // 2 : n // batch]
    middle = float(np.median(late))
    yield Figure(
        name=f"{n:,} probes, memory while asking",
        figure=f"{middle:.0f} MB, {min(late) / middle - 1:+.1%} to {max(late) / middle - 1:+.1%} after the first"
        f" half (target ± 10 %); {n / asked:,.0f} probes a CPU second",
        cpu=asked,
    )
    yield Figure(
        name="the same from the journal",
        figure=f"{n / again:,.0f}/CPU s, {n / wall:,.0f}/s on the clock (target ≥ 200,000)",
        cpu=again,
    )


def _resident() -> float:
    """Memory of this process now, in MB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6
