"""Findings as JUnit XML, for the test tab of a build server."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Literal

from evenhand._errors import UsageError
from evenhand._model import Finding
from evenhand._wording import visible
from evenhand.reports import words

if TYPE_CHECKING:
    from evenhand._record import Record

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(result: Record, *, inconclusive: Literal["skipped", "failure"] = "skipped") -> str:
    """One test case for each finding that has a verdict: a disparity fails.

    Args:
        result: the audit.
        inconclusive: whether an inconclusive finding counts as skipped or as failed.

    An incomplete audit adds a case that ends in an error, so that it cannot pass unnoticed.

    >>> from evenhand._record import Record
    >>> 'tests="0"' in render(Record(audit="text", title="t"))
    True
    """
    if inconclusive not in ("skipped", "failure"):
        raise UsageError(
            "junit-option",
            "unknown way to count inconclusive findings",
            given=inconclusive,
            available=["skipped", "failure"],
        )
    judged = [f for f in result.primary if f.verdict is not None]
    cases = [_case(f, result.audit, inconclusive) for f in judged]
    failed = sum("<failure" in case for case in cases)
    skipped = sum("<skipped" in case for case in cases)
    if not result.complete:
        message = "the audit stopped early: resume it"
        cases.append(
            f'<testcase classname="evenhand.{result.audit}" name="complete"><error'
            f' message="{message}"/></testcase>'
        )
    counts = (
        f'tests="{len(cases)}" failures="{failed}" errors="{int(not result.complete)}" skipped="{skipped}"'
    )
    suite = f'<testsuite name="{_xml(result.title)}" {counts}>'
    told = f'<properties><property name="answer" value="{_xml(result.answer)}"/></properties>'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {counts}>", suite, told, *cases]
    return "\n".join([*lines, "</testsuite>", "</testsuites>", ""])


def _case(f: Finding, audit: str, inconclusive: str) -> str:
    e = f.estimate
    name = _xml(f"{words.comparison(f)} ({e.contrast})")
    opening = f'<testcase classname="evenhand.{audit}.{_xml(e.measure)}" name="{name}">'
    said = _xml(words.sentence(f))
    detail = _xml("\n".join(t for t in (words.interval_words(f), f.rests_on or "", e.method) if t))
    if f.verdict == "within tolerance":
        return f"{opening}</testcase>"
    if f.verdict == "inconclusive" and inconclusive == "skipped":
        return f'{opening}<skipped message="{said}"/></testcase>'
    return f'{opening}<failure type="{f.verdict}" message="{said}">{detail}</failure></testcase>'


def _xml(text: str) -> str:
    """`text` without what XML 1.0 cannot hold, escaped for an element or an attribute."""
    lines = [visible(line) for line in text.splitlines()] or [""]
    return escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", "\n".join(lines)), quote=True)
