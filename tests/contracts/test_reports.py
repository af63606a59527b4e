"""What every report must do: any result, hostile text, the right counts. New formats are tested by being listed."""

from __future__ import annotations

import csv
import io
import json
import re
import runpy
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import evenhand.reports
from evenhand._errors import UsageError
from evenhand._headline import scene_of
from evenhand._model import Estimate, Exhibit, Finding
from evenhand._result import Result
from evenhand._wording import visible
from evenhand.reports import REPORTS, render
from evenhand.reports.charts import CHARTS, chart
from evenhand.reports.claims import facts_of
from evenhand.reports.html import inert_json
from evenhand.reports.interval import axis_for, strip
from evenhand.reports.markdown import escape
from evenhand.reports.words import word_diff

SAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "browser" / "sample_result.py"))
HOSTILE: tuple[str, ...] = (
    *SAMPLE["HOSTILE"],
    "=cmd|' /C calc'!A0",
    "a\nb",
    "`x` | **y** [l](javascript:z)",
    "\ud800",
)
FORMATS = sorted(REPORTS)


@pytest.fixture(scope="module")
def realistic() -> Result:
    """31 findings and 12 exhibits."""
    made: Result = SAMPLE["sample"]()
    return made


def one(verdict: Any = "inconclusive", *, text: str = "x", value: float | None = 0.1, **more: Any) -> Finding:
    estimate = Estimate(
        measure=text, contrast=text, group=text, reference="ref", given=text, value=value, low=0.0, high=0.2,
        p_value=0.04, p_adjusted=0.08, n=10, method=text, why_not=text if value is None else None,
    )  # fmt: skip
    return Finding(estimate=estimate, tolerance=(-0.1, 0.1), verdict=verdict, **more)


def judged(*verdicts: Any, **more: Any) -> Result:
    return Result(audit="text", title="t", findings=tuple(one(v) for v in verdicts), **more)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    "made",
    [
        Result(audit="text", title=""),
        Result(audit="attack", title="t", findings=(Finding(estimate=Estimate(measure="m", contrast="c", group="g", reference="r")),)),
        Result(audit="scores", title="t", exhibits={"e": Exhibit(title="e", columns={}, chart="bars")}, complete=False),
        Result(audit="text", title="t", exhibits={"e": Exhibit(title="e", columns={"a": [None]}, chart="line", encode={"x": "gone"})}),
        Result(audit="text", title="t", findings=(Finding(estimate=Estimate(measure="m", contrast="ratio", group="g", reference="r", value=-1.0, low=-5.0, high=1e300), tolerance=(0.8, float("inf"))),)),
    ],
    ids=["empty", "unestimated", "no columns", "missing channel", "extreme"],
)  # fmt: skip
def test_every_format_renders_every_result(kind: str, made: Result) -> None:
    """A report never fails on a valid result, however little or strange there is to show."""
    assert isinstance(render(made, kind), str)


@pytest.mark.parametrize("kind", FORMATS)
def test_the_same_result_gives_the_same_report(kind: str, realistic: Result) -> None:
    """Reports hold no clock and no randomness."""
    assert render(realistic, kind) == render(Result.from_json(realistic.to_json()), kind)


@pytest.mark.parametrize("kind", [k for k in FORMATS if k != "json"])
@pytest.mark.parametrize("text", HOSTILE)
def test_no_report_passes_control_characters_on(kind: str, text: str) -> None:
    """Terminal escapes and direction overrides in audited text reach no reader unseen."""
    made = Result(
        audit="text",
        title=text,
        findings=(one("disparity", text=text, because=text, rests_on=text), one(text=text, value=None)),
        exhibits={text: Exhibit(title=text, note=text, columns={text: [text]})},
        provenance={"subject": text, text: [text]},
    )
    shown = render(made, kind)
    assert not set(shown) & set("\x00\x1b\x07\x9b\u202e\u202d\u2066\u2067\ud800")


def test_an_unknown_format_is_named() -> None:
    """The error lists the formats there are."""
    with pytest.raises(UsageError, match="markdown"):
        render(judged(), "markdwn")


# --- words --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("a", ""),
        ("He said he was.", "She said she was."),
        ("a  b\tc", "a b c"),
        ("x " * 3000, "y z " * 3000),
    ],
)
def test_a_word_diff_gives_both_texts_back(before: str, after: str) -> None:
    """Joined, the pieces are exactly the two texts, and the unchanged pieces agree."""
    left, right = word_diff(before, after)
    assert "".join(t for t, _ in left) == before
    assert "".join(t for t, _ in right) == after
    assert [t for t, changed in left if not changed] == [t for t, changed in right if not changed]


def test_a_word_diff_marks_only_what_changed() -> None:
    """The swapped words are marked, whole, and nothing else."""
    left, right = word_diff("Ann said she would.", "Bob said he would.")
    assert [t for t, changed in left if changed] == ["Ann", "she"]
    assert [t for t, changed in right if changed] == ["Bob", "he"]


# --- html ---------------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Collects elements, attributes and script texts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.data: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.data.append(data)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_adds_no_element_to_the_page(text: str) -> None:
    """Wherever audited text goes, the page has the same elements as with a harmless word."""

    def parsed(word: str) -> Tags:
        cells = [word, word]
        made = Result(
            audit="text",
            title=word,
            findings=(one("disparity", text=word, because=word, rests_on=word, family=word), one(text=word)),
            exhibits={
                "pairs": Exhibit(title=word, note=word, columns={"before": cells, "after": cells, word: cells}, chart="examples"),
                "trace": Exhibit(title=word, columns={"text": cells}, chart="trace"),
                "bars": Exhibit(title=word, columns={"v": [1, 2], word: cells}, chart="bars", encode={"x": "v", "y": word}),
            },
            provenance={"subject": word, "x" + word: {word: [word]}},
        )  # fmt: skip
        tags = Tags()
        tags.feed(made.to_html())
        return tags

    safe, hostile = parsed("word"), parsed(text)
    assert hostile.tags == safe.tags
    assert [k for k, _ in hostile.attributes] == [k for k, _ in safe.attributes]
    assert not [k for k, _ in hostile.attributes if k.startswith("on")]


def test_the_page_refers_to_nothing_outside(realistic: Result) -> None:
    """No element loads or links anything but a place on the page itself."""
    tags = Tags()
    tags.feed(realistic.to_html())
    links = [v for k, v in tags.attributes if k in ("href", "src", "srcset", "action", "data", "poster")]
    assert links
    assert all((v or "").startswith("#") for v in links)
    assert not {"link", "iframe", "object", "embed", "img", "base", "form"} & set(tags.tags)


def test_json_in_the_page_cannot_end_its_element() -> None:
    """The inert JSON has no bracket that a parser of HTML could take for markup, and parses back."""
    value = {"</script><!--": list(HOSTILE[:-1]), "\u2028": "&amp;"}
    text = inert_json(value)
    assert not set(text) & set("<>&\u2028")
    assert json.loads(text) == value


def test_a_huge_result_still_gives_a_small_page() -> None:
    """Thousands of findings, long tables and texts of megabytes: under 1.5 MB, and the page says what it left out."""
    n = 20_000
    exhibits = {
        str(i): Exhibit(
            title=f"e{i}",
            columns={"x": list(range(n)), "y": [j * 0.123456789 for j in range(n)], "g": [f"group {j % 9}" for j in range(n)]},
            chart="line",
            encode={"x": "x", "y": "y", "color": "g"},
        )
        for i in range(12)
    }  # fmt: skip
    exhibits["long"] = Exhibit(
        title="long", columns={"before": ["a " * 1_000_000], "after": ["b " * 1_000_000]}, chart="examples"
    )
    made = Result(
        audit="text",
        title="t",
        findings=tuple(one(because="long " * 200) for _ in range(3000)),
        exhibits=exhibits,
    )
    page = made.to_html()
    assert len(page.encode()) < 1_500_000
    assert "of 20,000 rows" in page
    assert re.search(r"of 3,000 rows", page)


def test_findings_come_worst_first_and_all_are_counted(realistic: Result) -> None:
    """The disparity is the first claim; every finding has a row in the table of estimates."""
    page = realistic.to_html()
    assert page.index('class="claim disparity"') < page.index('class="claim inconclusive"')
    assert page.count('<article class="claim') == len(facts_of(realistic, scene_of(realistic)))
    assert f"Table: {len(realistic.findings)} rows" in page


def test_an_incomplete_audit_never_looks_like_a_pass() -> None:
    """Every report for people says that the audit stopped early, and the page does not show it in the colour of success."""
    made = judged("within tolerance", complete=False)
    page = render(made, "html")
    assert '<section id="answer" class="inconclusive"' in page
    for text in (page, render(made, "markdown"), render(made, "terminal"), made._repr_html_(), repr(made)):
        assert "incomplete" in text.lower()


# --- charts -------------------------------------------------------------------------------------------------------


def test_every_kind_of_chart_in_the_sample_has_data(realistic: Result) -> None:
    """Each exhibit with a drawable kind gives a specification whose fields are all columns of its data."""
    drawn = {e.chart: chart(e) for e in realistic.exhibits.values() if e.chart in CHARTS}
    assert set(drawn) == set(CHARTS)
    for kind, made in drawn.items():
        assert made is not None, kind
        spec = made.vega_lite()
        fields = set(re.findall(r'"field": "(c\d+)"', json.dumps(spec)))
        assert fields <= set(spec["data"]["values"][0]), kind
        assert made.shown == len(spec["data"]["values"])


@pytest.mark.parametrize("name", ["a.b[0]", "it's", 'say "x"', "</script>", "datum", ""])
def test_column_names_may_be_anything(name: str) -> None:
    """Dots, brackets and quotes in a column's name are no paths to the chart."""
    e = Exhibit(
        title="t", columns={name: [0.1, 0.2], "y": [1, 2]}, chart="scatter", encode={"x": name, "y": "y"}
    )
    made = chart(e)
    assert made is not None
    assert made.vega_lite()["data"]["values"][0]["c0"] == 0.1


def test_a_thinned_line_keeps_its_ends() -> None:
    """With more rows than fit, each line keeps its first and last point, and the chart says how many it shows."""
    n = 5000
    e = Exhibit(
        title="t",
        columns={"x": [*range(n), *range(n)], "y": [0.0] * 2 * n, "g": ["a"] * n + ["b"] * n},
        chart="line",
        encode={"x": "x", "y": "y", "color": "g"},
    )
    made = chart(e, limit=100)
    assert made is not None
    assert (made.shown, made.of) == (100, 2 * n)
    rows = made.vega_lite()["data"]["values"]
    assert [r["c0"] for r in rows if r["c2"] == "b"][::49] == [0, n - 1]


def test_histogram_shares_add_up_by_group_and_weight() -> None:
    """Within each group the drawn shares sum to one, and a weight of zero takes a row out."""
    e = Exhibit(
        title="t",
        columns={"s": [0.0, 0.1, 0.9, 1.0, 0.5, 0.5], "g": list("aabbab"), "w": [1, 1, 1, 1, 0, 2]},
        chart="density",
        encode={"x": "s", "color": "g", "weight": "w"},
    )
    made = chart(e)
    assert made is not None
    rows = made.vega_lite()["data"]["values"]
    for level in "ab":
        corners = [r["c1"] for r in rows if r["c2"] == level]
        assert sum(corners[:-1]) == pytest.approx(1)
    assert sum(r["c1"] for r in rows if r["c2"] == "a" and 0.4 < r["c0"] < 0.9) == 0


def test_a_missing_channel_names_the_columns() -> None:
    """The error says which channel, and what columns there are; the page shows the table instead."""
    e = Exhibit(title="t", columns={"score": [1]}, chart="bars", encode={"x": "scor", "y": "score"})
    with pytest.raises(UsageError, match="did you mean 'score'"):
        chart(e)
    assert "No chart:" in Result(audit="text", title="t", exhibits={"e": e}).to_html()


def test_a_strip_lies_where_the_numbers_say() -> None:
    """Estimate between its bounds, in percent of one axis; a bound beyond the strip becomes an arrow."""
    f = one()
    drawn = strip(f, axis_for([f]))
    left, right = (float(x) for x in re.findall(r'class="bar" x1="([\d.]+)%" x2="([\d.]+)%"', drawn)[0])
    mark = float(re.findall(r'<svg x="([\d.]+)%"', drawn)[-1])
    assert left < mark < right
    assert mark == pytest.approx((left + right) / 2, abs=0.2)
    wide = Finding(estimate=f.estimate.with_(high=1e6), tolerance=(-0.1, 0.1), verdict="inconclusive")
    assert 'class="tip"' in strip(wide, axis_for([f, wide]))
    assert 'class="tip"' not in drawn


# --- csv, markdown, junit, terminal -------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "  =1", "＝1"])
def test_csv_neutralises_formulas_in_text(text: str) -> None:
    """Text that a spreadsheet would run gets an apostrophe, in every text column."""
    made = Result(audit="text", title="t", findings=(one(text=text, because=text),))
    (row,) = csv.DictReader(io.StringIO(render(made, "csv")))
    for column in ("measure", "group", "given", "method", "because"):
        assert row[column].startswith("'"), column


def test_csv_keeps_numbers_exact() -> None:
    """Negative numbers stay numbers, with all their digits, and missing ones are empty."""
    value = -0.1234567890123456
    (row,) = csv.DictReader(
        io.StringIO(render(Result(audit="text", title="t", findings=(one(value=value),)), "csv"))
    )
    assert float(row["value"]) == value
    assert row["value"].startswith("-")
    assert row["n_group"] == ""


def test_markdown_tables_keep_their_columns(realistic: Result) -> None:
    """Pipes and line ends in audited text neither add a column nor a row."""
    made = Result(audit="text", title="t", findings=(one(text="a|b\n|c"), one()))
    rows = [line for line in render(made, "markdown").splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {8}
    assert "<script" not in render(realistic, "markdown")


@pytest.mark.parametrize(
    "text",
    [
        "# x",
        "- x",
        "+ x",
        "1. x",
        "1) x",
        "> x",
        "`x`",
        "![x](y)",
        "[x](y)",
        "<b>",
        "@me",
        "a_b_",
        "~~x~~",
        "$x$",
        "www.x.y",
        "http://x.y",
    ],
)
def test_markdown_shows_text_as_it_is(text: str) -> None:
    """Nothing that starts a heading, list, quote, link, mention or code is left unescaped."""
    bare = re.sub(r"\\.|&#?\w+;", "", escape(text))
    assert not re.search(r"[`*_\[\]<>~$@#|]|^\s*[-+]|^\s*\d+[.)]\s|www\.|://", bare)


def test_junit_counts_verdicts() -> None:
    """Disparities fail, inconclusive ones are skipped or fail as asked, descriptive estimates are left out."""
    made = judged("disparity", "inconclusive", "within tolerance", None)
    suite = ET.fromstring(render(made, "junit")).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert [len(suite.findall(f"testcase/{t}")) for t in ("failure", "skipped")] == [1, 1]
    strict = ET.fromstring(render(made, "junit", inconclusive="failure"))
    assert (strict.get("failures"), strict.get("skipped")) == ("2", "0")
    with pytest.raises(UsageError):
        render(made, "junit", inconclusive="maybe")


def test_junit_does_not_pass_an_incomplete_audit() -> None:
    """An audit that stopped early is an error, whatever its findings."""
    root = ET.fromstring(render(judged("within tolerance", complete=False), "junit"))
    assert root.get("errors") == "1"
    assert root.find("testsuite/testcase/error") is not None


@pytest.mark.parametrize("text", HOSTILE)
def test_junit_is_well_formed_with_any_text(text: str) -> None:
    """Hostile text neither breaks the XML nor adds an element."""
    made = Result(
        audit="text", title=text, findings=(one("disparity", text=text, because=text, rests_on=text),)
    )
    root = ET.fromstring(render(made, "junit"))
    assert [e.tag for e in root.iter()] == [
        "testsuites",
        "testsuite",
        "properties",
        "property",
        "testcase",
        "failure",
    ]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_terminal_report_keeps_to_its_width(width: int, realistic: Result) -> None:
    """No line is wider than asked, and without colour there is no escape sequence at all."""
    text = render(realistic, "terminal", width=width, color=False)
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= width
    assert realistic.answer.split()[0] in text


def test_the_terminal_report_obeys_no_color(realistic: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR and a pipe both mean plain text; colour can be asked for."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "\x1b[" in render(realistic, "terminal", width=80)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in render(realistic, "terminal", width=80)
    assert "\x1b[" in render(realistic, "terminal", width=80, color=True)


def test_visible_spells_out_what_hides() -> None:
    """Direction controls are named, control characters replaced, ordinary scripts untouched."""
    assert visible("a\u202eb") == "a⟨U+202E⟩b"
    assert visible("\x1b]0;x\x07") == "\ufffd]0;x\ufffd"
    assert visible("naïve 日本語 👩‍👩‍👧 مرحبا") == "naïve 日本語 👩‍👩‍👧 مرحبا"


# --- the bundled script -------------------------------------------------------------------------------------------

ASSETS = Path(evenhand.reports.__file__).parent / "assets"


def test_the_bundled_script_can_sit_inside_a_page() -> None:
    """Plain ASCII that cannot end its element, generates no code, and leaves room for the data."""
    script = (ASSETS / "charts.js").read_bytes()
    assert script.isascii()
    assert not re.search(rb"</script|<!--|\r|\x00", script, re.IGNORECASE)
    assert not re.search(rb"new Function\(|\beval\(|\bimport\(", script)
    assert len(script) < 900_000


def test_the_bundled_packages_carry_their_licences() -> None:
    """Each package that the bundle is declared to be built from is listed, in that version, with its licence."""
    notices = (ASSETS / "THIRD_PARTY.txt").read_text("utf-8")
    package = Path(__file__).parents[2] / "tools" / "bundle" / "package.json"
    for name, version in json.loads(package.read_text("utf-8"))["dependencies"].items():
        assert f"{name} {version} (BSD-3-Clause)" in notices
    assert "Redistribution and use in source and binary forms" in notices
