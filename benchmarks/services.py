"""The engine of services against a loopback server: throughput at a latency, and how well a rate is kept."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time

from evenhand.subjects import subject

SERVER = """
import asyncio, sys
from aiohttp import web
async def answer(request):
    body = await request.json()
    await asyncio.sleep(float(sys.argv[1]))
    return web.json_response({"s": len(body["text"])})
async def main():
    app = web.Application(); app.router.add_post("/", answer)
    runner = web.AppRunner(app, access_log=None); await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


class _Server:
    def __init__(self, latency: float) -> None:
        self.latency = latency

    def __enter__(self) -> str:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(self.latency)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        return f"http://127.0.0.1:{self.process.stdout.readline().strip()}/"

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
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


def throughput(n: int = 6_000, latency: float = 0.05, places: int = 64) -> None:
    """Requests a second with 64 in flight, against the ideal places/latency and against bare aiohttp."""
    texts = [f"text {i}" for i in range(n)]
    with _Server(latency) as url:
        model = subject("http", url=url, scores="$.s", concurrency=places)
        model(texts[:100])
        start, cpu = time.perf_counter(), time.process_time()
        model(texts)
        ours, cpu = time.perf_counter() - start, time.process_time() - cpu
        start = time.perf_counter()
        asyncio.run(_bare(url, texts, places))
        bare = time.perf_counter() - start
    ideal = n * latency / places
    print(
        f"{n} requests at {latency * 1000:.0f} ms, {places} in flight: {ideal / ours:.1%} of ideal ({n / ours:,.0f}/s, {cpu:.1f} CPU s)"
    )
    print(
        f"  bare aiohttp in the same run: {ideal / bare:.1%} of ideal; ours takes {ours / bare:.2f} × its time (target ≥ 95 % of ideal)"
    )


def sustained(rate: float = 100.0, seconds: float = 8.0) -> None:
    """How much of an allowed rate is used."""
    n = int(rate * seconds)
    with _Server(0.0) as url:
        model = subject("http", url=url, scores="$.s", concurrency=32, rate=rate)
        start = time.perf_counter()
        model([f"text {i}" for i in range(n)])
        took = time.perf_counter() - start
    print(
        f"limit {rate:.0f}/s: sustained {(n - 1) / took:.1f}/s, {(n - 1) / took / rate:.1%} (target 98 to 100 %)"
    )


def main() -> None:
    """Both, on this machine's loopback."""
    print(f"{os.cpu_count()} cores, shared with the server")
    throughput()
    sustained()


if __name__ == "__main__":
    main()
