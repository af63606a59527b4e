"""Where secrets come from: the environment, never an argument, a file of ours or a URL."""

from __future__ import annotations

import os
import re

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
        secret = name.lower() in {"authorization", "x-api-key", "api-key", "cookie"}
        if (secret and not _VARIABLE.search(value)) or looks_like_a_key(value):
            raise UsageError(
                "key-in-configuration",
                f"the header {name} seems to hold a key",
                expected="the name of an environment variable: Bearer ${MY_KEY}",
                hint="export MY_KEY=… and name it; what stands in the file is written beside the results",
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
