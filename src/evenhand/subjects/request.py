"""One request to a service: what is sent, what the answer means, and whether asking again can help.

An `Endpoint` knows one service. Requests go to its host and nowhere else: redirects are not followed.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from evenhand._errors import CredentialError, SubjectError
from evenhand._model import Replies, Span

if TYPE_CHECKING:
    import aiohttp

LARGEST_REPLY = 16 << 20
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
REFUSED = frozenset({401, 403})


class Endpoint(Protocol):
    """What the engine must know of one service."""

    @property
    def id(self) -> str:
        """Service and model in words; never a secret. `fingerprint` adds all that is sent."""
        ...

    @property
    def reading(self) -> str:
        """How `parse` reads an answer: its version and settings, which change no request."""
        ...

    @property
    def within(self) -> Span | None:
        """Least and largest possible score, where the service or the user declares them."""
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
        """The scores in an answer to `n` inputs; whatever it raises is those rows' error (`gate`)."""
        ...


class Signs(Protocol):
    """Signs requests that carry no key."""

    def __call__(self, url: str, body: bytes) -> Mapping[str, str]:
        """Headers for a POST of this body to this address."""
        ...

    def secrets(self) -> list[str]:
        """What must stand in no message."""
        ...


def fingerprint(endpoint: Endpoint) -> str:
    """A digest of everything that is sent but the inputs and the secrets.

    Covered: the address with its query, headers that hold no secret (`public`), the body around the inputs
    (model, prompt, parameters, extras), and how many inputs one request carries. Two requests that differ in
    any of it may be answered differently, so they never share a reply. How an answer is read is not covered:
    that costs no call to change.
    """
    sent = {
        "address": getattr(endpoint, "address", endpoint.url),
        "headers": dict(getattr(endpoint, "public", {})),
        "body": endpoint.body(["{text}"] * max(1, endpoint.batch)),
        "batch": endpoint.batch,
    }
    written = json.dumps(sent, sort_keys=True, default=str)
    return hashlib.blake2b(written.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


class Again(Exception):
    """A request that may succeed when it is sent again, after so many seconds where the service says so."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        self.reason, self.after = reason, after
        super().__init__(reason)


class Refused(Exception):
    """A request that would fail again."""


async def ask_once(
    session: aiohttp.ClientSession, endpoint: Endpoint, part: list[Any], proxy: str | None = None
) -> tuple[bytes, Any]:
    """The answer as it arrived, without secrets, and its JSON.

    Raises:
        Again, Refused: this request failed. CredentialError, SubjectError: every other one would, too.
    """
    import aiohttp

    try:
        async with session.post(**_sent(endpoint, part), allow_redirects=False, proxy=proxy) as response:
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
        raise Again(f"{type(error).__name__}: {without_secrets(str(error), endpoint)}"[:160]) from None


def _sent(endpoint: Endpoint, part: list[Any]) -> dict[str, Any]:
    """Address, body and headers of a request; what is signed is sent byte by byte as it was signed."""
    headers, body = dict(endpoint.headers), endpoint.body(part)
    signer: Signs | None = getattr(endpoint, "signer", None)
    if signer is None:
        return {"url": endpoint.url, "json": body, "headers": headers}
    from yarl import URL

    raw = json.dumps(body).encode()
    signed = {**headers, **signer(endpoint.url, raw)}
    return {"url": URL(endpoint.url, encoded=True), "data": raw, "headers": signed}


def _judge(endpoint: Endpoint, status: int, headers: Mapping[str, str], raw: bytes) -> tuple[bytes, Any]:
    """A good answer and its JSON; an exception that says what to do about any other."""
    check_status(endpoint, status, headers, raw)
    if len(raw) > LARGEST_REPLY:
        raise Refused(f"the answer is larger than {LARGEST_REPLY:,} bytes")
    answer = json_of(raw)
    if any(secret.encode() in raw for secret in _secrets(endpoint)):
        raw = without_secrets(raw.decode("utf-8", "replace"), endpoint).encode()
    return raw, answer


def check_status(endpoint: Endpoint, status: int, headers: Mapping[str, str], raw: bytes) -> None:
    """Raise what to do about an answer that is not a good one, by its status."""
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
        said = without_secrets(raw[:200].decode("utf-8", "replace"), endpoint)
        if status == 404:
            raise SubjectError(
                "not-found",
                f"the service knows no such model or path (HTTP 404): {said}",
                given=endpoint.id,
                hint="check the name of the model and the URL",
            )
        raise Refused(f"HTTP {status}: {said}")


def json_of(raw: bytes) -> Any:
    """The JSON of an answer; an exception that says what to do where it is none."""
    try:
        return json.loads(raw)
    except RecursionError:
        raise Refused("the answer is nested too deeply") from None
    except ValueError:
        if raw.lstrip()[:1] == b"<":
            raise Refused("the endpoint answered HTML, not JSON; is the URL that of the API?") from None
        raise Again("the answer is not JSON") from None  # cut off in the middle, most often


LONGEST_WAIT = 3600.0
"""Seconds that a service may ask us to wait before the next try."""


def _retry_after(value: str | None) -> float | None:
    """Seconds, or a date (RFC 9110, 10.2.3); never more than an hour, whatever the clocks say.

    None for what is neither (negative or fractional nonsense, NaN, infinity, a date that is none): our own
    waits hold then.

    >>> _retry_after("120"), _retry_after("99999999999"), _retry_after("nan"), _retry_after("-1")
    (120.0, 3600.0, None, None)
    """
    said = (value or "").strip()
    if re.fullmatch(r"[0-9]+(?:\.[0-9]*)?", said):
        return min(float(said), LONGEST_WAIT)
    try:
        due = parsedate_to_datetime(said)
        if due.tzinfo is None:  # "-0000": the time is UTC and nothing is said of the place (RFC 5322, 3.3)
            due = due.replace(tzinfo=datetime.UTC)
        seconds = (due - datetime.datetime.now(datetime.UTC)).total_seconds()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT)


def _secrets(endpoint: Endpoint) -> list[str]:
    found = [part for value in endpoint.headers.values() for part in value.split() if len(part) >= 8]
    if (signer := getattr(endpoint, "signer", None)) is not None:
        found += signer.secrets()
    if endpoint.url != getattr(endpoint, "address", endpoint.url):  # a key was filled into the query
        parts = urlsplit(endpoint.url).query.split("&")
        found += [part.partition("=")[2] for part in parts if len(part.partition("=")[2]) >= 8]
    return found


def without_secrets(text: str, endpoint: Endpoint) -> str:
    """Services like to echo what they were sent; keys stay out of every message and every stored answer."""
    for secret in _secrets(endpoint):
        text = text.replace(secret, "•••")
    return text
