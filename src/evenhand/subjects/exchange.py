"""Single requests around a batch job: files up and down, how far it is; tried again where that helps.

Like the engine of single replies it goes to one host only: no redirects, no proxies, verified certificates.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import IO, Any
from urllib.parse import urlsplit

from evenhand._errors import SubjectError
from evenhand.subjects.request import (
    LARGEST_REPLY,
    Again,
    Endpoint,
    Refused,
    check_status,
    json_of,
    without_secrets,
)

LARGEST_RESULTS = 4 << 30
"""Bytes of the results of one job that are read; a vendor's largest job is far below."""
IN_MEMORY = 8 << 20
LONGEST_TRANSFER = 3600.0
"""Seconds that one file may take up or down."""


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """Requests beside those of the endpoint, with its key.

    Args:
        base_url: what addresses begin with. proxy: address of a proxy.
        timeout: seconds without a byte. attempts: tries of one request in all.
        wait_initial, wait_max: seconds before the second try, and at most between two; Retry-After wins.
    """

    endpoint: Endpoint
    base_url: str
    proxy: str | None = None
    timeout: float = 60.0
    attempts: int = 6
    wait_initial: float = 0.5
    wait_max: float = 60.0
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False, compare=False)

    def json(self, method: str, path: str, **sent: Any) -> Any:
        """The JSON of an answer; tried again, so only for what may be asked twice."""
        return self.tried(lambda: self.once(method, path, **sent))

    def once(self, method: str, path: str, **sent: Any) -> Any:
        """The JSON of an answer, asked for once.

        Args:
            sent: ``json`` (a body), or ``form`` (name → text, or (file name, bytes)).

        Raises:
            Again, Refused: what became of it. CredentialError, SubjectError: all others would fail, too.
        """
        with self._fetched(method, path, LARGEST_REPLY, sent) as file:
            return json_of(file.read())

    def lines(self, path: str) -> Iterator[bytes]:
        """The lines of a file of results, without secrets; the file is fetched whole first."""
        with self.tried(lambda: self._fetched("GET", path, LARGEST_RESULTS, {})) as file:
            for line in file:
                if line.strip():
                    yield without_secrets(line.decode("utf-8", "replace"), self.endpoint).encode()

    def tried(self, request: Callable[[], Any]) -> Any:
        """What a request gives, asked again after failures in passing.

        Raises:
            SubjectError: `service-down`, `job-request`.
        """
        for attempt in range(1, self.attempts + 1):
            try:
                return request()
            except Again as error:
                if attempt == self.attempts:
                    raise self.down(error.reason) from None
                self.sleep(self.wait(attempt, error.after))
            except Refused as error:
                raise SubjectError(
                    "job-request",
                    f"the service refused a request about a batch job: {error}",
                    given=self.endpoint.id,
                ) from None
        raise self.down("no try was allowed")

    def wait(self, attempt: int, after: float | None) -> float:
        """Seconds before the next try."""
        if after is not None:
            return after
        jitter = 1.0 + random.random()  # noqa: S311 - spreads requests, keeps no secret
        return min(self.wait_max, self.wait_initial * 2.0 ** (attempt - 1) * jitter)

    def down(self, reason: str) -> SubjectError:
        """The error after the last try."""
        return SubjectError(
            "service-down",
            f"the service does not answer questions about the batch job (after {self.attempts} tries)",
            given=reason,
            hint="run the same command again: with a journal a job that is running is found, not sent again",
        )

    def _fetched(self, method: str, path: str, most: int, sent: Mapping[str, Any]) -> IO[bytes]:
        """The answer in a file; the loop runs in a thread, since ours may have a loop already."""
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(self._sent(method, path, most, sent))).result()

    async def _sent(self, method: str, path: str, most: int, sent: Mapping[str, Any]) -> IO[bytes]:
        import aiohttp

        limits = aiohttp.ClientTimeout(
            total=LONGEST_TRANSFER, sock_connect=self.timeout, sock_read=self.timeout
        )
        url, headers = self.base_url + path, dict(self.endpoint.headers)
        file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - handed to the caller
        try:
            async with (
                aiohttp.ClientSession(timeout=limits, trust_env=False) as session,
                session.request(
                    method, url, headers=headers, allow_redirects=False, proxy=self.proxy, **_body(sent)
                ) as answer,
            ):
                size = 0
                async for chunk in answer.content.iter_chunked(1 << 16):
                    size += len(chunk)
                    if size > most:
                        raise Refused(f"the answer is larger than {most:,} bytes")
                    file.write(chunk)
                file.seek(0)
                if not 200 <= answer.status < 300:
                    check_status(self.endpoint, answer.status, answer.headers, file.read(1 << 16))
                return file
        except aiohttp.ClientSSLError as error:
            file.close()
            raise SubjectError(
                "certificate",
                "the certificate of the service was not accepted",
                given=urlsplit(url).hostname,
                hint="is this the right host? Nothing was sent",
            ) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            file.close()
            said = without_secrets(str(error), self.endpoint)
            raise Again(f"{type(error).__name__}: {said}"[:160]) from None
        except BaseException:
            file.close()
            raise


def _body(sent: Mapping[str, Any]) -> dict[str, Any]:
    """What aiohttp calls a body; a form is made anew for each try, since it can be sent once."""
    import aiohttp

    if "form" not in sent:
        return {"json": sent["json"]} if "json" in sent else {}
    form = aiohttp.FormData()
    for name, value in sent["form"].items():
        if isinstance(value, tuple):
            form.add_field(name, value[1], filename=value[0], content_type="application/jsonl")
        else:
            form.add_field(name, value)
    return {"data": form}
