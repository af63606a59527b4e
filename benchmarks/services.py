"""The engine of services against a loopback server: throughput at a latency, and how well a rate is kept."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from benchmarks._figures import Figure
from evenhand import ask
from evenhand._model import Plan, Probes
from evenhand._store import Journal
from evenhand.subjects import subject

SERVER = """
import asyncio, json, sys, time
class Answer(asyncio.Protocol):  # as little as HTTP/1.1 allows, so that the two cores go to the client
    def connection_made(self, transport):
        self.transport, self.read = transport, b""
    def data_received(self, data):
        self.read += data
        head, end, body = self.read.partition(b"\\r\\n\\r\\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\\r\\n")[0] or 0) if end else 0
        if end and len(body) >= length:
            self.read = b""
            text = json.dumps({"s": len(json.loads(body)["text"])}).encode()
            loop.call_at(loop.time() + max(float(sys.argv[1]) - 0.0005, 0), self.answer, text)  # asyncio's timers fire at the next millisecond
    def answer(self, text):
        self.transport.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(text), text))
async def main():
    global loop
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


class _Server:
    """The server on the last core, the client on the others, as a service runs on another machine."""

    def __init__(self, latency: float) -> None:
        self.latency = latency

    def __enter__(self) -> str:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(self.latency)], stdout=subprocess.PIPE, text=True
        )
        self.cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
        if len(self.cores) > 1:
            os.sched_setaffinity(self.process.pid, {max(self.cores)})
            os.sched_setaffinity(0, self.cores - {max(self.cores)})
        assert self.process.stdout is not None
        return f"http://127.0.0.1:{self.process.stdout.readline().strip()}/"

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        if self.cores:
            os.sched_setaffinity(0, self.cores)
        assert self.process.stdout is not None
        self.process.stdout.close()


async def _bare(url: str, texts: list[str], places: int) -> None:
    import aiohttp

    todo = iter(texts)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=places)) as session:

        async def work() -> None:
            for text in todo:
                async with session.post(url, json={"text": text}) as response:
                    await response.json()

        await asyncio.gather(*(work() for _ in range(places)))


def throughput(n: int = 20_000, latency: float = 0.05, places: int = 64) -> Iterator[Figure]:
    """Requests a second with 64 in flight, against the ideal places/latency and against bare aiohttp."""
    texts = [f"text {i}" for i in range(n)]
    with _Server(latency) as url:
        model = subject("http", url=url, scores="$.s", concurrency=places)
        model(texts[:100])
        start = time.perf_counter()
        asyncio.run(_bare(url, texts[:100], 1))
        alone = (time.perf_counter() - start) / 100
        start, cpu = time.perf_counter(), time.process_time()
        model(texts)
        ours, cpu = time.perf_counter() - start, time.process_time() - cpu
        start, spent = time.perf_counter(), time.process_time()
        asyncio.run(_bare(url, texts, places))
        bare, spent = time.perf_counter() - start, time.process_time() - spent
    ideal = f"of the ideal at {latency * 1000:.0f} ms"
    yield Figure(
        name=f"{n:,} requests, {places} in flight",
        figure=f"{n / ours:,.0f}/s, {n * latency / places / ours:.1%} {ideal} (target ≥ 95 %), {n * alone / places / ours:.1%}"
        f" at the {alone * 1000:.1f} ms that one alone takes; {cpu / n * 1e6:.0f} µs CPU a request",
        cpu=cpu,
        peer=f"bare aiohttp, {n * latency / places / bare:.1%} {ideal}, {spent / n * 1e6:.0f} µs",
        ratio=bare / ours,
    )


def journalled(n: int = 10_000, latency: float = 0.05, places: int = 64) -> Figure:
    """The same through `ask` with a journal on disk, as an audit does it."""
    with _Server(latency) as url, tempfile.TemporaryDirectory() as folder:
        model = subject("http", url=url, scores="$.s", concurrency=places)

        def plan() -> Plan:
            yield Probes(inputs=[f"text {i}" for i in range(n)], factors={})

        start, cpu = time.perf_counter(), time.process_time()
        with Journal(os.path.join(folder, "journal.sqlite")) as journal:
            asked = ask(plan(), model, journal=journal)
        took, cpu = time.perf_counter() - start, time.process_time() - cpu
    return Figure(
        name="the same with a journal",
        figure=f"{n - asked.failed} replies, {n / took:,.0f}/s, {n * latency / places / took:.1%} of the ideal,"
        f" {cpu / n * 1e6:.0f} µs CPU a request",
        cpu=cpu,
    )


def sustained(rate: float = 100.0, seconds: float = 8.0) -> Figure:
    """How much of an allowed rate is used."""
    n = int(rate * seconds)
    with _Server(0.0) as url:
        model = subject("http", url=url, scores="$.s", concurrency=32, rate=rate)
        start, cpu = time.perf_counter(), time.process_time()
        model([f"text {i}" for i in range(n)])
        took, cpu = time.perf_counter() - start, time.process_time() - cpu
    return Figure(
        name=f"a limit of {rate:.0f}/s",
        figure=f"sustained {(n - 1) / took:.1f}/s, {(n - 1) / took / rate:.1%} (target 98 to 100 %)",
        cpu=cpu,
    )


def run(*, quick: bool) -> Iterator[Figure]:
    """All, on this machine's loopback; one core is the server's where there are several."""
    yield from throughput(300, 0.001, 8) if quick else throughput()
    yield journalled(300, 0.001, 8) if quick else journalled()
    yield sustained(200.0, 0.25) if quick else sustained()
