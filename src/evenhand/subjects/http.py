"""Any JSON endpoint, from configuration: where to send what, and where in the answer the scores are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import Replies, Span
from evenhand.subjects.gate import bounds_of, number
from evenhand.subjects.keys import (
    check_body,
    check_headers,
    check_url,
    fill_in,
    names_a_secret,
    too_long,
)
from evenhand.subjects.service import Service

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\*)\]|\[['\"]([^'\"]+)['\"]\]")


@dataclass(frozen=True, kw_only=True)
class JsonEndpoint:
    """A request template and the paths of the scores."""

    url: str = field(repr=False)
    template: Any
    paths: Mapping[str, str]
    batch: int
    most_bytes: int
    sent: Mapping[str, str] = field(repr=False)
    variable: str = ""
    address: str = ""
    public: Mapping[str, str] = field(default_factory=dict)
    within: Span | None = None

    @property
    def id(self) -> str:
        where = urlsplit(self.address)
        return f"http {where.scheme}://{where.netloc}{where.path}"

    @property
    def reading(self) -> str:
        """The paths of the scores: another path is read from the same answer."""
        return json.dumps(["1", sorted(self.paths.items()), self.within])

    @property
    def headers(self) -> Mapping[str, str]:
        return self.sent

    def refuse(self, text: Any) -> str | None:
        return too_long(text, self.most_bytes)

    def body(self, inputs: Sequence[str]) -> Any:
        return _filled(self.template, list(inputs))

    def parse(self, answer: Any, n: int) -> Replies:
        scores = {}
        for name, path in self.paths.items():
            found = select(answer, path)
            values = [number(v) for v in found] if isinstance(found, list) else [number(found)]
            if len(values) != n:
                raise ValueError(f"{len(values)} values at {path} for {n} inputs")
            scores[name] = np.array(values)
        return Replies(scores=scores)


def http(
    *,
    url: str,
    scores: Mapping[str, str] | str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    batch: int = 1,
    most_bytes: int = 1_000_000,
    within: Sequence[float] | str | None = None,
    trust_address: bool = False,
    **engine: Any,
) -> Service:
    """The subject `http`.

    Args:
        url: where to POST; a key in its query is named, ``?key=${MY_KEY}``, never written out.
        scores: score name → JSONPath in the answer, e.g. ``{"toxicity": "$.result.scores[0].value"}``; with
            `batch` > 1 the path must give a list, e.g. ``"$.results[*].score"``. One path alone is named
            ``score``.
        body: the JSON to send; ``"{text}"`` stands for the text, ``"{texts}"`` for the list of texts of a
            batch.
        headers: e.g. ``{"Authorization": "Bearer ${MY_KEY}"}``: secrets are named, never written out.
        batch: texts in one request. most_bytes: longest text that is sent.
        within: least and largest possible score, e.g. ``(0, 1)``; what lies outside is an error of its row.
        trust_address: send keys also over plain http to another machine, and to link-local addresses.
        engine: options of `Service`: concurrency, rate, characters, attempts, timeout, …

    Raises:
        UsageError: no URL, a key written into the URL, the headers or the body, a path that is not read.
    """
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        raise UsageError(
            "endpoint-url", "this is no address to send to", given=url, expected="https://host/path"
        )
    variables = re.findall(r"\$\{(\w+)\}", " ".join([*(headers or {}).values(), url]))
    check_url(url, keyed=bool(variables), trusted=trust_address)
    check_body(body)
    check_headers(dict(headers or {}))
    paths = {"score": scores} if isinstance(scores, str) else dict(scores)
    for path in paths.values():
        steps(path)
    endpoint = JsonEndpoint(
        url=fill_in(url),
        address=url,
        public={k.lower(): v for k, v in (headers or {}).items() if not names_a_secret(k)},
        within=bounds_of(within),
        template=body
        if body is not None
        else {"texts" if batch > 1 else "text": "{texts}" if batch > 1 else "{text}"},
        paths=paths,
        batch=batch,
        most_bytes=most_bytes,
        sent={name: fill_in(value) for name, value in (headers or {}).items()},
        variable=variables[0] if variables else "",
    )
    return Service(endpoint=endpoint, **engine)


def steps(path: str) -> list[str | int]:
    """A JSONPath as steps; the subset ``$.name``, ``['name']``, ``[0]`` and ``[*]``.

    >>> steps("$.a['b c'][0].d[*]")
    ['a', 'b c', 0, 'd', '*']
    """
    rest = path[1:] if path.startswith("$") else f".{path}"
    found: list[str | int] = []
    at = 0
    while at < len(rest):
        match = _STEP.match(rest, at)
        if match is None:
            raise UsageError(
                "json-path",
                "this path is not read",
                given=path,
                expected="$.name, ['name'], [0], [*]",
                hint="no filters, no ..",
            )
        name, index, quoted = match.groups()
        found.append(int(index) if index and index != "*" else (name or quoted or "*"))
        at = match.end()
    return found


def select(answer: Any, path: str) -> Any:
    """The value at a path; a list of values where the path has ``[*]``.

    >>> select({"r": [{"s": 1}, {"s": 2}]}, "$.r[*].s")
    [1, 2]
    """
    return _walk(answer, steps(path))


def _walk(value: Any, path: list[str | int]) -> Any:
    for at, step in enumerate(path):
        if step == "*":
            return [_walk(item, path[at + 1 :]) for item in value]
        value = value[step]
    return value


def _filled(template: Any, texts: list[str]) -> Any:
    if template == "{texts}":
        return texts
    if isinstance(template, str):
        return template.replace("{text}", texts[0])
    if isinstance(template, Mapping):
        return {k: _filled(v, texts) for k, v in template.items()}
    if isinstance(template, list):
        return [_filled(v, texts) for v in template]
    return template
