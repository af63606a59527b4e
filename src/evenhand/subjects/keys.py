"""Where secrets come from: the environment, never an argument, a file of ours or a URL."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from evenhand._errors import CredentialError, UsageError

_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")


def from_environment(variable: str, *, optional: bool = False) -> str:
    """The value of an environment variable.

    Raises:
        CredentialError: it is not set; the message names it and shows no value.
    """
    value = os.environ.get(variable, "").strip()
    if not value and not optional:
        raise CredentialError(
            "no-credentials",
            f"the environment variable {variable} is not set",
            expected="the key of the service",
            hint=f"export {variable}=…  (evenhand never writes it anywhere)",
        )
    return value


def fill_in(template: str) -> str:
    """A header with ``${NAME}`` replaced by the environment variable NAME."""
    return _VARIABLE.sub(lambda found: from_environment(found.group(1)), template)


def looks_like_a_key(text: str) -> bool:
    """A header value that was written out instead of named: long, mixed, without a variable."""
    return not _VARIABLE.search(text) and bool(re.search(r"(?=\S{16,})(?=\S*\d)(?=\S*[A-Za-z])\S+", text))


def check_headers(headers: dict[str, str]) -> None:
    """Refuse keys in a configuration that will be written beside the results.

    Raises:
        UsageError: a header holds what looks like a key.
    """
    for name, value in headers.items():
        secret = names_a_secret(name) or name.lower() == "cookie"
        if (secret and not _VARIABLE.search(value)) or looks_like_a_key(value):
            raise UsageError(
                "key-in-configuration",
                f"the header {name} seems to hold a key",
                expected="the name of an environment variable: Bearer ${MY_KEY}",
                hint="export MY_KEY=… and name it; what stands in the file is written beside the results",
            )


_NAMES = re.compile(
    r"(?:x)?(?:goog)?apikey|(?:access|auth|session)?token|bearer|(?:client)?secret|password|passwd|pwd"
    r"|(?:x)?auth(?:orization)?|sig(?:nature)?|(?:ocpapim)?subscriptionkey|credentials?|awsaccesskeyid"
)
"""Names, without marks, under which a secret travels in a header, a query or a body."""
_WRITTEN = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{8,}|AIza[\w-]{20,}|gh[pousr]_\w{20,}|xox[abprs]-[\w-]{8,}|AKIA[A-Z0-9]{12,}"
    r"|hf_[A-Za-z0-9]{16,}|glpat-[\w-]{12,}|Bearer\s+[\w.~+/-]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}\.)"
)
"""Keys as well-known services write them."""


def names_a_secret(name: str) -> bool:
    """Whether a field of this name holds a secret.

    >>> names_a_secret("api_key"), names_a_secret("max_tokens")
    (True, False)
    """
    return _NAMES.fullmatch(re.sub(r"[^a-z0-9]", "", name.lower())) is not None


def check_url(url: str, *, keyed: bool = True, trusted: bool = False) -> None:
    """Refuse an address that holds a key, one that would carry a key in the clear, and that of a machine's
    own metadata.

    Args:
        url: where requests go, as it is written in ids; names of variables stand for keys.
        keyed: whether a key is sent there. trusted: whether the user vouches for the address.

    Raises:
        UsageError: `key-in-configuration`: ``user:password@``, a parameter that is named like a key, a value
            that looks like one. `insecure-address`: a key over plain http to another machine.
            `link-local-address`: 169.254.0.0/16, fe80::/10, fd00:ec2::254 and their names, where clouds hand
            out credentials.

    >>> check_url("http://localhost:11434/v1")
    >>> check_url("http://gpu-box:8000/v1", keyed=False)
    """
    try:
        parts = urlsplit(url)
        secret = parts.username is not None or parts.password is not None
    except ValueError as error:
        raise UsageError("endpoint-url", f"this is no address: {error}", given="(not shown)") from None
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        named = names_a_secret(name) or name.lower() == "key"
        secret |= bool((named and value and not _VARIABLE.fullmatch(value)) or _WRITTEN.search(value))
    if secret or _WRITTEN.search(url):
        raise UsageError(
            "key-in-configuration",
            "the address seems to hold a key or a password",
            given=parts.hostname,
            expected="an address without user:password@ and without keys",
            hint="name a variable in a header, Authorization: Bearer ${MY_KEY}; what stands in an address is"
            " written beside the results",
        )
    if parts.hostname and not trusted:
        _check_place(url, parts.hostname, keyed=keyed)


_METADATA = frozenset({"metadata.google.internal", "metadata", "instance-data", "instance-data.ec2.internal"})
_METADATA_NUMBERS = frozenset(map(ipaddress.ip_address, ("fd00:ec2::254", "100.100.100.200", "192.0.0.192")))
"""Where clouds answer questions about the machine itself, beside the link-local addresses."""


def _check_place(url: str, host: str, *, keyed: bool) -> None:
    number = _number(host)
    if host.rstrip(".") in _METADATA or (
        number is not None and (number.is_link_local or number in _METADATA_NUMBERS)
    ):
        raise UsageError(
            "link-local-address",
            "this address belongs to the machine itself: clouds hand out credentials there",
            given=host,
            expected="the address of a service",
            hint="if it is one all the same: trust_address=true (--option trust_address=true)",
        )
    if keyed and urlsplit(url).scheme == "http" and not is_loopback(url):
        raise UsageError(
            "insecure-address",
            "a key would be sent over plain http, which anyone on the way can read",
            given=host,
            expected="https://, or an address of this machine",
            hint="in a network of your own: trust_address=true (--option trust_address=true)",
        )


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine, by name or number.

    >>> is_loopback("http://localhost:11434/v1"), is_loopback("http://localhost.example/v1")
    (True, False)
    """
    host = (urlsplit(url).hostname or "").rstrip(".")
    number = _number(host)
    return host == "localhost" or host.endswith(".localhost") or (number is not None and number.is_loopback)


def _number(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """A host that is written as a number, also in the short and hexadecimal forms that systems take."""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        try:
            return (
                ipaddress.IPv4Address(socket.inet_aton(host)) if re.fullmatch(r"[0-9a-fx.]+", host) else None
            )
        except OSError:
            return None
    return getattr(found, "ipv4_mapped", None) or found


def check_body(body: object) -> None:
    """Refuse a request body that holds a key.

    Raises:
        UsageError: a field named like a secret, or a text that looks like a key.
    """
    stack: list[tuple[str, object]] = [("", body)]
    while stack:
        name, value = stack.pop()
        if isinstance(value, Mapping):
            stack += [(str(key), inner) for key, inner in value.items()]
        elif isinstance(value, list | tuple):
            stack += [(name, inner) for inner in value]
        elif isinstance(value, str) and ((names_a_secret(name) and value) or _WRITTEN.search(value)):
            raise UsageError(
                "key-in-configuration",
                "the body of the request seems to hold a key",
                given=name or "a text",
                expected="a body without keys",
                hint="name a variable in a header, Authorization: Bearer ${MY_KEY}",
            )


def byte_length(text: str) -> int:
    """Length in UTF-8 bytes, which is what services limit."""
    return len(text.encode("utf-8", "surrogatepass"))


class TooLong(str):
    """The reason of a row over the service's limit; `LongTexts` may split it.

    >>> TooLong("the text has 9 bytes; the service takes 5", limit=5).limit
    5
    """

    __slots__ = ("limit",)
    limit: int

    def __new__(cls, reason: str, *, limit: int) -> TooLong:
        made = super().__new__(cls, reason)
        made.limit = limit
        return made


def too_long(text: object, most: int) -> str | None:
    """Why a text cannot be asked: it is empty or over the service's limit in bytes; None where it can."""
    if not isinstance(text, str) or not text.strip():
        return "the text is empty"
    n = byte_length(text)
    return TooLong(f"the text has {n:,} bytes; the service takes {most:,}", limit=most) if n > most else None
