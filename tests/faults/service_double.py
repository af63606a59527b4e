"""A local server that speaks each protocol from recorded shapes, fails on demand, and counts what it answered."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

FAULTS = (
    "429 with Retry-After",
    "429",
    "500",
    "502",
    "503",
    "reset",
    "cut body",
    "not JSON",
    "missing score",
    "hang",
    "slow drip",
)


def score_of(text: str) -> float:
    """The double's opinion: a number between 0 and 1 that depends on the text alone."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little") / 2**32


@dataclass
class Double:
    """State of a running server.

    Args:
        rate: share of requests that get a fault. faults: which ones.
        billed: text → how often it was answered well. times: when each request came.
        held: number of a request, from 1 → whether its answer still waits.
    """

    rate: float = 0.0
    faults: tuple[str, ...] = FAULTS
    seed: int = 0
    latency: float = 0.0
    always: str | None = None
    billed: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    url: str = ""
    held: Callable[[int], bool] = lambda number: False

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def fault(self) -> str | None:
        """The fault of the next request, if it gets one."""
        if self.always is not None:
            return self.always
        return self._random.choice(self.faults) if self._random.random() < self.rate else None


DOUBLE: web.AppKey[Double] = web.AppKey("double", Double)


def texts_of(path: str, body: Any) -> list[str]:
    """The texts of a request, by protocol."""
    if path.endswith("comments:analyze"):
        return [body["comment"]["text"]]
    if path.endswith("moderations"):
        return list(body["input"])
    if path.endswith("text:analyze"):
        return [body["text"]]
    if path.endswith("documents:moderateText"):
        return [body["document"]["content"]]
    if path.endswith("chat/completions"):
        return [body["messages"][-1]["content"]]
    return list(body["texts"]) if "texts" in body else [body["text"]]


def answer_of(path: str, body: Any, texts: list[str]) -> Any:
    """A good answer, in the shape of each service."""
    scores = [score_of(text) for text in texts]
    if path.endswith("comments:analyze"):
        wanted = body["requestedAttributes"]
        return {
            "attributeScores": {
                a: {"summaryScore": {"value": scores[0], "type": "PROBABILITY"}} for a in wanted
            },
            "languages": ["en"],
            "detectedLanguages": ["en"],
        }
    if path.endswith("moderations"):
        results = [{"flagged": s > 0.5, "category_scores": {"hate": s, "violence": s / 2}} for s in scores]
        return {"id": "modr-1", "model": body["model"], "results": results}
    if path.endswith("text:analyze"):
        found = [{"category": c, "severity": int(7 * scores[0])} for c in body["categories"]]
        return {"blocklistsMatch": [], "categoriesAnalysis": found}
    if path.endswith("documents:moderateText"):
        return {
            "moderationCategories": [
                {"name": "Toxic", "confidence": scores[0]},
                {"name": "Insult", "confidence": 0.1},
            ]
        }
    if path.endswith("chat/completions"):
        top = [
            {"token": " Yes", "logprob": -0.1},
            {"token": "no", "logprob": -2.5},
            {"token": "maybe", "logprob": -4.0},
        ]
        message = {"role": "assistant", "content": f"I would say {100 * scores[0]:.0f} of 100."}
        return {
            "choices": [{"index": 0, "message": message, "logprobs": {"content": [{"top_logprobs": top}]}}]
        }
    return {"results": [{"score": s, "extra": {"ignored": True}} for s in scores]}


async def _handle(request: web.Request) -> web.StreamResponse:
    double: Double = request.app[DOUBLE]
    loop = asyncio.get_running_loop()
    double.times.append(loop.time())
    number = len(double.times)
    double.headers.append(dict(request.headers))
    double.in_flight += 1
    double.most_in_flight = max(double.most_in_flight, double.in_flight)
    try:
        body = await request.json()
        double.bodies.append(body)
        texts = texts_of(request.path, body)
        fault = double.fault()
        if double.latency:
            await asyncio.sleep(double.latency)
        while double.held(number):
            await asyncio.sleep(0.005)
        return await _respond(request, double, body, texts, fault)
    finally:
        double.in_flight -= 1


async def _respond(
    request: web.Request, double: Double, body: Any, texts: list[str], fault: str | None
) -> web.StreamResponse:
    if fault in ("429", "500", "502", "503", "401", "403", "404", "400"):
        return web.json_response(
            {"error": {"message": f"no: {request.headers.get('Authorization', '')}"}}, status=int(fault)
        )
    if fault == "429 with Retry-After":
        return web.json_response({}, status=429, headers={"Retry-After": "0.01"})
    if fault == "429 for an hour":
        return web.json_response({}, status=429, headers={"Retry-After": "3600"})
    if fault == "reset":
        assert request.transport is not None
        request.transport.close()
        return web.Response()
    if fault == "not JSON":
        return web.Response(text='{"attributeScores": {', content_type="application/json")
    if fault == "HTML":
        return web.Response(text="<html><body>Welcome</body></html>", content_type="text/html")
    if fault == "huge":
        return web.Response(
            body=b'{"results": "' + b"x" * (20 << 20) + b'"}', content_type="application/json"
        )
    if fault == "redirect":
        return web.Response(status=307, headers={"Location": "http://example.invalid/elsewhere"})
    if fault == "hang":
        await asyncio.sleep(3)  # and then nothing was done, so nothing is billed
        return web.Response(status=504)
    if fault == "missing score":
        return web.json_response({"unexpected": True})
    raw = json.dumps(answer_of(request.path, body, texts)).encode()
    if fault == "cut body":
        response = web.StreamResponse(
            headers={"Content-Length": str(len(raw)), "Content-Type": "application/json"}
        )
        await response.prepare(request)
        await response.write(raw[: len(raw) // 2])
        assert request.transport is not None
        request.transport.close()
        return response
    if fault == "slow drip":
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for at in range(0, len(raw), max(1, len(raw) // 4)):
            await response.write(raw[at : at + max(1, len(raw) // 4)])
            await asyncio.sleep(0.01)
        await response.write_eof()
        double.billed.update(texts)
        return response
    double.billed.update(texts)
    return web.Response(body=raw, content_type="application/json")


@contextlib.contextmanager
def running(double: Double) -> Iterator[Double]:
    """The double on a loopback port, in a thread of its own."""
    ready = threading.Event()
    stop: list[Any] = []

    async def serve() -> None:
        app = web.Application(client_max_size=64 << 20)
        app[DOUBLE] = double
        app.router.add_post("/{path:.*}", _handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        double.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        ended = asyncio.Event()
        stop.extend([asyncio.get_running_loop(), ended])
        ready.set()
        await ended.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield double
    finally:
        stop[0].call_soon_threadsafe(stop[1].set)
        thread.join(10)
