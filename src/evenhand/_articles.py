"""What rules ask to be on record of an audit of bias, and where a result has it: evidence, never a judgement
of compliance.

Texts as published: New York City's rules on automated employment decision tools (6 RCNY § 5-300 to 5-304,
applied from 2023-07-05) and the AI Act of the European Union (Regulation (EU) 2024/1689, OJ L of 2024-07-12).
Later amendments are not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from evenhand._record import Record

AS_OF = "as published in 2023 and on 2024-07-12; look for later amendments"
Where = Callable[[Record], str]
"""A record → where it has the item; "" where it has not."""


class Article(NamedTuple):
    """One thing that a rule asks for.

    Args:
        law, clause: where it stands. asks: what, in short. where: a record → where it has that.
    """

    law: str
    clause: str
    asks: str
    where: Where


def _said(*names: str) -> Where:
    def where(record: Record) -> str:
        about = record.provenance.get("about")
        said: Mapping[str, Any] = about if isinstance(about, Mapping) else {}
        found = [name for name in names if said.get(name)]
        return f"result.json, provenance.about.{found[0]}" if found else ""

    return where


def _exhibit(beginning: str, word: str = "") -> Where:
    def where(record: Record) -> str:
        found = [n for n in record.exhibits if n.startswith(beginning) and word in n]
        return f"result.json, exhibit “{found[0]}”" if found else ""

    return where


def _judged(record: Record) -> str:
    return f"report.html, the answer and {len(record.primary)} primary claims" if record.verdict else ""


def _grouped(record: Record) -> str:
    estimates = [f.estimate for f in record.findings if f.estimate.value is not None]
    sides = {side for e in estimates for side in (e.group, e.reference)} - {"none"}
    return f"estimates.csv, {len(sides)} groups" if sides else ""


def _accuracy(record: Record) -> str:
    wanted = ("accuracy", "RMSE", "AUC", "true positive rate")
    found = [f.estimate.measure for f in record.findings if f.estimate.measure.startswith(wanted)]
    return f"estimates.csv, {found[0]} by group" if found else ""


def _data(record: Record) -> str:
    return "result.json, provenance.data (hashes)" if record.provenance.get("data") else ""


def _created(record: Record) -> str:
    return "result.json, provenance.created" if record.provenance.get("created") else ""


def _protocol(record: Record) -> str:
    return "audit.toml and result.json, provenance.call" if record.provenance.get("call") else ""


def _nothing(_: Record) -> str:
    return ""


NYC, EU = "NYC Local Law 144, 6 RCNY", "AI Act, Regulation (EU) 2024/1689"
ARTICLES: tuple[Article, ...] = (
    Article(NYC, "§ 5-300, § 5-301(a)", "who made the audit, and that they are independent", _said("run_by")),
    Article(NYC, "§ 5-301(a)", "when it was made: not more than a year before use", _created),
    Article(
        NYC, "§ 5-301(b), (c)", "selection or scoring rate and impact ratio by sex", _exhibit("ll144 ", "sex")
    ),
    Article(NYC, "§ 5-301(b), (c)", "the same by race or ethnicity", _exhibit("ll144 ", "race")),
    Article(NYC, "§ 5-301(b), (c)", "the same for sex and race crossed", _exhibit("ll144 ", "&")),
    Article(
        NYC, "§ 5-301(b), (c); § 5-303(a)(1)", "how many people are of unknown category", _exhibit("ll144 ")
    ),
    Article(NYC, "§ 5-303(a)(1)", "source and explanation of the data", _said("period", "purpose")),
    Article(NYC, "§ 5-303(a)(2)", "the distribution date of the tool", _nothing),
    Article(EU, "Art. 10(2)(f)", "examination for possible biases", _judged),
    Article(EU, "Art. 10(2)(g)", "measures to detect, prevent and mitigate these", _nothing),
    Article(EU, "Art. 10(3)", "that data are representative of those concerned", _nothing),
    Article(EU, "Art. 13(3)(a)", "who provides the system", _nothing),
    Article(EU, "Art. 13(3)(b)(i)", "the intended purpose", _said("purpose")),
    Article(EU, "Art. 13(3)(b)(v)", "performance regarding specific persons or groups", _grouped),
    Article(EU, "Art. 15(3)", "levels of accuracy and their metrics", _accuracy),
    Article(EU, "Annex IV(1)(a)", "the version of the system", _said("version")),
    Article(EU, "Annex IV(2)(d)", "data sets, their provenance", _data),
    Article(
        EU, "Annex IV(2)(g)", "testing procedures and metrics, potentially discriminatory impacts", _protocol
    ),
    Article(EU, "Annex IV(2)(g)", "reports dated and signed by the responsible persons", _nothing),
)
"""What is looked for, in the order of the rules."""
