"""Certificates are verified: a service that cannot prove who it is gets no text and no key."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from aiohttp import web

ASK = """
import sys
import evenhand as eh
from evenhand._errors import EvenhandError
subject = eh.subject("http", url=sys.argv[1], scores="$.score", attempts=1, timeout=10)
try:
    print(subject(["a text"]).scores["score"].tolist())
except EvenhandError as error:
    print(error.exit_code, error.slug)
"""


@contextlib.contextmanager
def _served(certificate: trustme.LeafCert) -> Iterator[tuple[str, list[str]]]:
    """An HTTPS server on the loopback that keeps what reaches it."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(context)
    heard: list[str] = []
    ready, stop = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []
    ports: list[int] = []

    async def answer(request: web.Request) -> web.Response:
        heard.append(await request.text())
        return web.json_response({"score": 0.5})

    async def serve() -> None:
        app = web.Application()
        app.router.add_post("/", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        ports.append(runner.addresses[0][1])
        loops.append(asyncio.get_running_loop())
        ready.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield f"https://localhost:{ports[0]}/", heard
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(20)


@pytest.mark.parametrize("case", ["valid", "self-signed", "another host", "expired"])
def test_only_a_certificate_of_this_host_that_is_valid_today_is_asked(tmp_path: Path, case: str) -> None:
    """The control is answered; in every other case nothing is sent, and the audit would end with exit code 3."""
    known, unknown = trustme.CA(), trustme.CA()
    known.cert_pem.write_to_path(tmp_path / "ca.pem")
    ends = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    certificate = {
        "valid": lambda: known.issue_cert("localhost"),
        "self-signed": lambda: unknown.issue_cert("localhost"),
        "another host": lambda: known.issue_cert("example.org"),
        "expired": lambda: known.issue_cert("localhost", not_after=ends),
    }[case]()
    with _served(certificate) as (url, heard):
        done = subprocess.run(
            [sys.executable, "-c", ASK, url],
            env={**os.environ, "SSL_CERT_FILE": str(tmp_path / "ca.pem")},
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.stdout.strip() == ("[0.5]" if case == "valid" else "3 certificate"), done.stderr
    assert [json.loads(text) for text in heard] == ([{"text": "a text"}] if case == "valid" else [])
