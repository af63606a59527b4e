"""One request to a service: what is sent, what the answer means, and whether asking again can help.

An `Endpoint` knows one service. Requests go to its host and nowhere else: redirects are not followed.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from evenhand._errors import CredentialError, SubjectError
from evenhand._model import Replies

if TYPE_CHECKING:
    import aiohttp

LARGEST_REPLY = 16 << 20
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
REFUSED = frozenset({401, 403})


class Endpoint(Protocol):
    """What the engine must know of one service."""

    @property
    def id(self) -> str:
        """Service, model, version and parameters; never a secret."""
        ...

    @property
    def url(self) -> str: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers with the credentials; never logged."""
        ...

    @property
    def batch(self) -> int:
        """Inputs in one request."""
        ...

    @property
    def variable(self) -> str:
        """The environment variable that holds the key, for messages."""
        ...

    def refuse(self, text: Any) -> str | None:
        """Why an input cannot be asked (too long, empty), or None."""
        ...

    def body(self, inputs: Sequence[Any]) -> Any:
        """The JSON of a request."""
        ...

    def parse(self, answer: Any, n: int) -> Replies:
        """The scores in an answer to `n` inputs.

        Raises:
            KeyError, TypeError, ValueError: they are not where they should be.
        """
        ...


class Again(Exception):
    """A request that may succeed when it is sent again, after so many seconds where the service says so."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        self.reason, self.after = reason, after
        super().__init__(reason)


class Refused(Exception):
    """A request that would fail again."""


async def ask_once(session: aiohttp.ClientSession, endpoint: Endpoint, part: list[Any]) -> Any:
    """The JSON of the answer.

    Raises:
        Again, Refused: this request failed. CredentialError, SubjectError: every other one would, too.
    """
    import aiohttp

    try:
        async with session.post(
            endpoint.url, json=endpoint.body(part), headers=dict(endpoint.headers), allow_redirects=False
        ) as response:
            raw = await response.content.read(LARGEST_REPLY + 1)
            while len(raw) <= LARGEST_REPLY and not response.content.at_eof():
                raw += await response.content.read(LARGEST_REPLY + 1 - len(raw))
            return _judge(endpoint, response.status, response.headers, raw)
    except aiohttp.ClientSSLError as error:
        raise SubjectError(
            "certificate",
            "the certificate of the service was not accepted",
            given=urlsplit(endpoint.url).hostname,
            hint="is this the right host? Nothing was sent",
        ) from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise Again(f"{type(error).__name__}: {_without_secrets(str(error), endpoint)}"[:160]) from None


def _judge(endpoint: Endpoint, status: int, headers: Mapping[str, str], raw: bytes) -> Any:
    """The JSON of a good answer; an exception that says what to do about any other."""
    if status in REFUSED or (status == 400 and (b"API_KEY_INVALID" in raw or b"API key not valid" in raw)):
        raise CredentialError(
            "credentials",
            f"the service refused the key (HTTP {status})",
            given=urlsplit(endpoint.url).hostname,
            expected=f"a valid key in the environment variable {endpoint.variable}"
            if endpoint.variable
            else None,
            hint="nothing is asked again until the key is right; what had arrived is kept",
        )
    if status in RETRIED:
        raise Again(f"HTTP {status}", _retry_after(headers.get("Retry-After")))
    if not 200 <= status < 300:
        said = _without_secrets(raw[:200].decode("utf-8", "replace"), endpoint)
        if status == 404:
            raise SubjectError(
                "not-found",
                f"the service knows no such model or path (HTTP 404): {said}",
                given=endpoint.id,
                hint="check the name of the model and the URL",
            )
        raise Refused(f"HTTP {status}: {said}")
    if len(raw) > LARGEST_REPLY:
        raise Refused(f"the answer is larger than {LARGEST_REPLY:,} bytes")
    try:
        return json.loads(raw)
    except ValueError:
        if raw.lstrip()[:1] == b"<":
            raise Refused("the endpoint answered HTML, not JSON; is the URL that of the API?") from None
        raise Again("the answer is not JSON") from None  # cut off in the middle, most often


def _retry_after(value: str | None) -> float | None:
    """Seconds, or a date (RFC 9110, 10.2.3); never more than an hour, whatever the clocks say."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            due = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (due - datetime.datetime.now(datetime.UTC)).total_seconds()
    return min(max(seconds, 0.0), 3600.0)


def _without_secrets(text: str, endpoint: Endpoint) -> str:
    """Services like to echo what they were sent; keys stay out of every message."""
    secrets = [part for value in endpoint.headers.values() for part in value.split() if len(part) >= 8]
    secrets += [part.partition("=")[2] for part in urlsplit(endpoint.url).query.split("&") if "=" in part]
    for secret in secrets:
        if secret:
            text = text.replace(secret, "•••")
    return text
