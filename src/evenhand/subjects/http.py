"""Any JSON endpoint, from configuration: where to send what, and where in the answer the scores are."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import Replies
from evenhand.subjects.keys import check_headers, fill_in, too_long
from evenhand.subjects.service import Service

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\*)\]|\[['\"]([^'\"]+)['\"]\]")


@dataclass(frozen=True, kw_only=True)
class JsonEndpoint:
    """A request template and the paths of the scores."""

    url: str
    template: Any
    paths: Mapping[str, str]
    batch: int
    most_bytes: int
    sent: Mapping[str, str] = field(repr=False)
    variable: str = ""

    @property
    def id(self) -> str:
        shape = json.dumps([self.template, sorted(self.paths.items())], sort_keys=True)
        where = urlsplit(self.url)
        digest = hashlib.blake2b(shape.encode(), digest_size=6).hexdigest()
        return f"http {where.scheme}://{where.netloc}{where.path} {digest}"

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
            values = [float(v) for v in found] if isinstance(found, list) else [float(found)]
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
    **engine: Any,
) -> Service:
    """The subject `http`.

    Args:
        url: where to POST.
        scores: score name → JSONPath in the answer, e.g. ``{"toxicity": "$.result.scores[0].value"}``; with
            `batch` > 1 the path must give a list, e.g. ``"$.results[*].score"``. One path alone is named
            ``score``.
        body: the JSON to send; ``"{text}"`` stands for the text, ``"{texts}"`` for the list of texts of a
            batch.
        headers: e.g. ``{"Authorization": "Bearer ${MY_KEY}"}``: secrets are named, never written out.
        batch: texts in one request. most_bytes: longest text that is sent.
        engine: options of `Service`: concurrency, rate, characters, attempts, timeout, …

    Raises:
        UsageError: no URL, a key written into the headers, a path that is not read.
    """
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        raise UsageError(
            "endpoint-url", "this is no address to send to", given=url, expected="https://host/path"
        )
    check_headers(dict(headers or {}))
    paths = {"score": scores} if isinstance(scores, str) else dict(scores)
    for path in paths.values():
        steps(path)
    variables = re.findall(r"\$\{(\w+)\}", " ".join((headers or {}).values()))
    endpoint = JsonEndpoint(
        url=url,
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
