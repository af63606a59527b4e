"""A local server with the batch endpoints of two vendors, which loses, repeats and shuffles results on demand."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from service_double import score_of


@dataclass
class Vendor:
    """State of a running server.

    Args:
        polls: looks at a job until it has ended.
        ends_as: how jobs end. answered: share of the requests of a job that are answered then.
        mute: texts whose answer holds no score.
        odd: also gives duplicates and lines of nobody. refused: texts that end in the file of errors.
        lost: how many answers to "make this job" do not arrive, though the job is made.
        failing: how many requests of any kind get a 503 first.
        billed: text → how often it was paid for. jobs: what was made. calls: method and path of each request.
    """

    polls: int = 2
    ends_as: str = "completed"
    answered: float = 1.0
    odd: bool = False
    refused: frozenset[str] = frozenset()
    mute: frozenset[str] = frozenset()
    lost: int = 0
    failing: int = 0
    billed: Counter[str] = field(default_factory=Counter)
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def looked_at(self, name: str) -> bool:
        """Whether a job has ended by now."""
        job = self.jobs[name]
        job["left"] -= 1
        return bool(job["left"] < 0)

    def make(self, rows: list[tuple[str, str]], metadata: dict[str, str]) -> str:
        """A job of (custom id, text); what it will answer is paid for now."""
        name = f"batch_{len(self.jobs)}"
        rng = random.Random(len(self.jobs))
        paid = [row for row in rows if rng.random() < self.answered and self.ends_as != "failed"]
        self.billed.update(text for _, text in paid if text not in self.refused)
        self.jobs[name] = {"left": self.polls, "rows": rows, "paid": paid, "metadata": metadata}
        return name

    def lines(self, name: str, kind: str) -> tuple[bytes, bytes]:
        """The file of answers and the file of errors."""
        rng, good, bad = random.Random(7), [], []
        for custom, text in self.jobs[name]["paid"]:
            line = _line(kind, custom, text, text in self.refused)
            line = line.replace(b'"choices"', b'"nothing"') if text in self.mute else line
            (bad if text in self.refused else good).append(line)
        if self.odd:
            good += [*good[:3], b"no JSON", b'{"custom_id": "stranger-1"}', b'{"nothing": 1}', b"[[]]"]
        rng.shuffle(good)
        return b"\n".join(good), b"\n".join(bad)


VENDOR: web.AppKey[Vendor] = web.AppKey("vendor", Vendor)


def _line(kind: str, custom: str, text: str, refused: bool) -> bytes:
    said = f"{100 * score_of(text):.4f}"
    if kind == "anthropic":
        usage = {"input_tokens": 11, "output_tokens": 3}
        message = {"content": [{"type": "text", "text": said}], "stop_reason": "end_turn", "usage": usage}
        error = {"type": "error", "error": {"type": "invalid_request", "message": "too odd"}}
        result = {"type": "errored", "error": error} if refused else {"type": "succeeded", "message": message}
        return json.dumps({"custom_id": custom, "result": result}).encode()
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    body = {"choices": [{"message": {"content": said}, "finish_reason": "stop"}], "usage": usage}
    response = {"status_code": 400, "body": {"error": {"message": "too odd"}}} if refused else None
    response = response or {"status_code": 200, "request_id": "r", "body": body}
    return json.dumps({"id": "x", "custom_id": custom, "response": response, "error": None}).encode()


async def _handle(request: web.Request) -> web.StreamResponse:
    vendor, path = request.app[VENDOR], request.path.removeprefix("/v1")
    vendor.calls.append(f"{request.method} {path}")
    vendor.headers.append(dict(request.headers))
    if vendor.failing > 0:
        vendor.failing -= 1
        return web.Response(status=503, text="busy")
    made = len(vendor.jobs)
    answer = await _answer(vendor, request, path)
    if len(vendor.jobs) > made and vendor.lost > 0:
        vendor.lost -= 1
        assert request.transport is not None
        request.transport.close()
        return web.Response()
    return answer


async def _answer(vendor: Vendor, request: web.Request, path: str) -> web.StreamResponse:
    part = path.strip("/").split("/")
    if path == "/files":
        form = await request.post()
        upload = form["file"]
        assert isinstance(upload, web.FileField)
        name = f"file-{len(vendor.files)}"
        vendor.files[name] = upload.file.read()
        return web.json_response({"id": name})
    if part[0] == "files":
        return web.Response(body=vendor.files[part[1]])
    if path in ("/batches", "/messages/batches"):
        kind = "anthropic" if part[0] == "messages" else "openai"
        if request.method == "GET":
            told = [_job(vendor, name, kind, look=False) for name in reversed(vendor.jobs)]
            return web.json_response({"data": told, "has_more": False})
        return _made(vendor, await request.json(), kind)
    if path.endswith("/results"):
        return web.Response(body=b"\n".join(each for each in vendor.lines(part[2], "anthropic") if each))
    if part[-1] not in vendor.jobs:
        return web.json_response({"error": {"message": "no such job"}}, status=404)
    kind = "anthropic" if part[0] == "messages" else "openai"
    return web.json_response(_job(vendor, part[-1], kind, look=True))


def _made(vendor: Vendor, body: Any, kind: str) -> web.Response:
    if kind == "anthropic":
        rows = [(row["custom_id"], row["params"]["messages"][-1]["content"]) for row in body["requests"]]
    else:
        lines = [json.loads(line) for line in vendor.files[body["input_file_id"]].splitlines()]
        rows = [(line["custom_id"], line["body"]["messages"][-1]["content"]) for line in lines]
    name = vendor.make(rows, body.get("metadata") or {})
    return web.json_response(_job(vendor, name, kind, look=False))


def _job(vendor: Vendor, name: str, kind: str, *, look: bool) -> dict[str, Any]:
    job = vendor.jobs[name]
    ended = vendor.looked_at(name) if look else job["left"] < 0
    if kind == "anthropic":
        rest = len(job["rows"]) - len(job["paid"])
        left = vendor.ends_as if vendor.ends_as in ("expired", "canceled") else "errored"
        counts = {"succeeded": len(job["paid"]), left: rest} if ended else {"processing": len(job["rows"])}
        return {
            "id": name,
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts,
            "created_at": "2999-01-01T00:00:00Z",
            "results_url": "http://example.invalid/steal" if ended else None,
        }
    told = {"id": name, "status": vendor.ends_as if ended else "in_progress", "metadata": job["metadata"]}
    if ended and vendor.ends_as == "failed":
        told["errors"] = {"data": [{"code": "bad", "message": "line 1 is no request"}]}
    elif ended:
        for ending, content in zip(("output", "error"), vendor.lines(name, kind), strict=True):
            if content:
                vendor.files[f"{name}-{ending}"] = content
                told[f"{ending}_file_id"] = f"{name}-{ending}"
    return told


@contextlib.contextmanager
def vending(vendor: Vendor) -> Iterator[Vendor]:
    """The vendor on a loopback port, in a thread of its own."""
    ready = threading.Event()
    stop: list[Any] = []

    async def serve() -> None:
        app = web.Application(client_max_size=64 << 20)
        app[VENDOR] = vendor
        app.router.add_route("*", "/{path:.*}", _handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        vendor.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        ended = asyncio.Event()
        stop.extend([asyncio.get_running_loop(), ended])
        ready.set()
        await ended.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield vendor
    finally:
        stop[0].call_soon_threadsafe(stop[1].set)
        thread.join(10)
