"""The HTML report in a real browser: it draws, it asks for nothing, and audited text stays text."""

from __future__ import annotations

import os
import runpy
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from evenhand._headline import answer_of, scene_of
from evenhand._model import Exhibit
from evenhand._result import Result
from evenhand.reports.claims import facts_of

pytestmark = pytest.mark.browser

SAMPLE = runpy.run_path(str(Path(__file__).with_name("sample_result.py")))
HOSTILE: tuple[str, ...] = SAMPLE["HOSTILE"]
WORLDS = runpy.run_path(str(Path(__file__).with_name("worlds_of_pages.py")))
AUDITS, SIZES, STATES, page_of = (WORLDS[name] for name in ("AUDITS", "SIZES", "STATES", "page_of"))


def chromium() -> str:
    """The browser's path: EVENHAND_CHROMIUM, or the one on the PATH; skips where there is none."""
    found = (
        os.environ.get("EVENHAND_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    )
    if not found:
        pytest.skip("no chromium: install it or set EVENHAND_CHROMIUM")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One headless chromium for the module."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as p:
        running = p.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


@dataclass
class Opened:
    """A page and everything it complained about or asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """A function that opens a result's report."""
    contexts = []

    def open_(
        result: Result, *, width: int = 1200, height: int = 900, drawn: bool = True, **options: Any
    ) -> Opened:
        path = tmp_path / "report.html"
        result.to_html(path)
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        seen = Opened(page=context.new_page())
        seen.page.on("console", lambda m: seen.complaints.append(m.text))
        seen.page.on("pageerror", lambda e: seen.complaints.append(str(e)))
        seen.page.on("request", lambda r: seen.requests.append(r.url))
        seen.page.on("dialog", lambda d: (seen.dialogs.append(d.message), d.dismiss()))
        seen.page.goto(path.as_uri())
        if drawn:
            seen.page.wait_for_selector("html[data-charts=done]", timeout=30_000)
        return seen

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def realistic() -> Result:
    """31 findings, 12 exhibits, hostile texts."""
    made: Result = SAMPLE["sample"]()
    return made


def test_every_chart_is_drawn_and_named(opened: Any, realistic: Result) -> None:
    """Each figure holds an SVG with marks and a label that a screen reader can say, without names of fields."""
    page = opened(realistic).page
    figures = page.evaluate(
        """() => [...document.querySelectorAll('figure.chart')].map((f) => {
            const draw = f.querySelector('[data-draw]'), svg = draw.querySelector('svg');
            return {id: f.id, drawn: f.dataset.drawn, marks: svg ? svg.querySelectorAll('path,line,text').length : 0,
                    label: draw.getAttribute('aria-label'), width: svg ? svg.getBoundingClientRect().width : 0,
                    fields: [...f.querySelectorAll('[aria-label]')].filter((e) => /\\bc\\d+:/.test(e.ariaLabel)).length};
        })"""
    )
    kinds = [e.chart for e in realistic.exhibits.values() if e.chart not in ("none", "examples", "trace")]
    assert len({f["id"].split("-")[1] for f in figures}) == len(kinds)
    for figure in figures:
        assert figure["drawn"] == "yes", figure
        assert figure["marks"] > 10, figure
        assert "table below" in figure["label"], figure
        assert figure["fields"] == 0, figure
        assert 200 < figure["width"] < 1100, figure


def test_no_request_leaves_the_page_and_nothing_complains(
    opened: Any, realistic: Result, tmp_path: Path
) -> None:
    """The page itself is the only request; no console message, no policy violation; under 1.5 MB."""
    seen = opened(realistic)
    assert [u.rsplit("/", 1)[-1] for u in seen.requests] == ["report.html"]
    assert seen.complaints == []
    assert (tmp_path / "report.html").stat().st_size < 1_500_000


def test_hostile_text_stays_text(opened: Any, realistic: Result) -> None:
    """Nothing in audited text runs, in the page, in the charts or in their tooltips; templates stay as written."""
    seen = opened(realistic)
    text = seen.page.evaluate("document.documentElement.textContent")
    for word in (HOSTILE[0], HOSTILE[1], "{{7*7}} ${7*7}", HOSTILE[4]):
        assert word in text
    for mark in seen.page.query_selector_all("figure.chart svg [aria-roledescription]")[:60]:
        mark.dispatch_event("mouseover")
    assert seen.dialogs == []
    assert seen.page.evaluate("document.querySelectorAll('script').length") == 3
    assert (
        seen.page.evaluate(
            "[...document.querySelectorAll('img,iframe,object,a[href^=\"javascript\"]')].length"
        )
        == 0
    )


def test_the_policy_stops_other_scripts(opened: Any, realistic: Result) -> None:
    """Even an element that slipped in could not run, generate code or fetch: each try is reported as a violation."""
    seen = opened(realistic)
    outcome = seen.page.evaluate(
        """async () => {
            const stopped = new Set();
            document.addEventListener('securitypolicyviolation', (e) => stopped.add(e.effectiveDirective + ' ' + e.blockedURI));
            const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s);
            const b = document.createElement('b'); b.setAttribute('onclick', 'window.ran = 2'); document.body.append(b); b.click();
            const i = new Image(); i.src = 'https://example.org/x.png'; document.body.append(i);
            try { await fetch('https://example.org/'); } catch (e) {}
            await new Promise((done) => setTimeout(done, 200));
            return [window.ran ?? 'no', [...stopped].sort()];
        }"""
    )
    assert outcome[0] == "no"
    assert outcome[1] == [
        "connect-src https://example.org/",
        "img-src https://example.org/x.png",
        "script-src-attr inline",
        "script-src-elem inline",
    ]


def test_without_javascript_the_report_is_complete(opened: Any, realistic: Result) -> None:
    """Answer, matrix, claims with their strips, tables; no empty box where a chart would be, no dead control."""
    page = opened(realistic, drawn=False, java_script_enabled=False).page
    first = " ".join(page.locator("p.headline").inner_text().split())
    assert first == " ".join(answer_of(realistic).first.split())
    assert page.locator("#matrix .cell svg.strip").count() >= 2
    assert page.locator("article.claim").count() == len(facts_of(realistic, scene_of(realistic)))
    assert page.locator("article.claim svg.strip").count() >= 20
    assert page.locator("noscript").count() == 1
    for empty in (".draw:visible", "#filters:visible", ".printing:visible", ".find:visible"):
        assert page.locator(empty).count() == 0, empty
    page.locator("#exhibits summary").first.click()
    assert page.locator("#exhibits table").first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 400, 1200])
def test_no_width_needs_sideways_scrolling(opened: Any, realistic: Result, width: int, scheme: str) -> None:
    """At phone and desktop width the page fits, also with every fold opened."""
    page = opened(realistic, width=width, color_scheme=scheme).page
    page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


MANY = ", ".join(f"measure of quality number {i}" for i in range(40))


@pytest.mark.parametrize("width", [390, 1400])
def test_an_explanation_keeps_room_beside_a_long_term(opened: Any, realistic: Result, width: int) -> None:
    """However many measures share a method, its explanation is as wide as its longest word, and the page fits."""
    first = realistic.findings[0]
    long = replace(first, estimate=first.estimate.with_(measure=MANY, method="Welch's interval on ranks"))
    page = opened(replace(realistic, findings=(long, *realistic.findings)), width=width).page
    page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    narrow = page.evaluate(
        """() => [...document.querySelectorAll('dd')].filter((dd) => {
            const word = dd.textContent.split(/\\s+/).reduce((a, b) => (b.length > a.length ? b : a), '').slice(0, 16);
            const probe = document.createElement('span');
            probe.style.whiteSpace = 'nowrap'; probe.style.position = 'absolute'; probe.textContent = word;
            dd.append(probe);
            const needed = probe.getBoundingClientRect().width;
            probe.remove();
            return dd.getBoundingClientRect().width < needed;
        }).map((dd) => [dd.getBoundingClientRect().width, dd.textContent.slice(0, 60)])"""
    )
    assert narrow == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_background(opened: Any, realistic: Result, scheme: str) -> None:
    """Body, soft and verdict colours reach the contrast of 4.5 to 1 (WCAG AA) in light and in dark."""
    page = opened(realistic, color_scheme=scheme).page
    ratios = page.evaluate(
        """() => {
            const parse = (c) => c.match(/[\\d.]+/g).slice(0, 3).map(Number);
            const lum = (c) => { const [r, g, b] = parse(c).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
                                 return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
            const paper = lum(getComputedStyle(document.body).backgroundColor);
            return ['body', '.note', '.meta', 'main a', 'summary', '.verdict.disparity', '.verdict.inconclusive', '.verdict.within-tolerance'].map((s) => {
                const ink = lum(getComputedStyle(document.querySelector(s)).color);
                return [s, (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)];
            });
        }"""
    )
    assert [pair for pair in ratios if pair[1] < 4.5] == []


def test_the_page_works_from_the_keyboard(opened: Any, realistic: Result) -> None:
    """The first stop leads to the answer, and a fold opens with Enter."""
    page = opened(realistic).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("#claims summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("#claims details").first.get_attribute("open") is not None


def test_a_broken_chart_says_so_and_costs_nothing_else(opened: Any, realistic: Result) -> None:
    """An exhibit whose channel is missing shows its table and a reason; the others are drawn."""
    broken = Exhibit(title="broken", columns={"a": [1.0, 2.0]}, chart="line", encode={"x": "a", "y": "gone"})
    few = {"broken": broken, "rates": realistic.exhibits["rates"]}
    page = opened(replace(realistic, exhibits=few)).page
    assert "No chart:" in page.locator("#exhibit-1").inner_text()
    assert page.locator("#exhibit-2 svg").count() >= 1


def test_the_page_prints_dark_on_white(opened: Any, realistic: Result) -> None:
    """Printed, the text is dark on white even where the reader's theme is dark."""
    page = opened(realistic, color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


# --- the five audits, few groups and many, complete, incomplete, nothing judged

EVERY = [(a, n, s) for a in AUDITS for n in SIZES for s in STATES if s == "complete" or n in (2, 30)]


@pytest.mark.parametrize(("audit", "groups", "state"), EVERY)
def test_every_page_fits_and_begins_with_its_answer(opened: Any, audit: str, groups: int, state: str) -> None:
    """At 1400 px, the same at a zoom of 200 % (700), 800, 390 and 320 px nothing scrolls sideways, no cell is narrower than its word, no request, no complaint;
    the first sentence is on the first screen, and at 1400 the first row of the matrix too."""
    made = replace(page_of(audit, groups, state), exhibits={})
    seen = opened(made, drawn=False)
    for width, height in ((1400, 900), (800, 900), (700, 450), (390, 844), (320, 640)):
        seen.page.set_viewport_size({"width": width, "height": height})
        found = seen.page.evaluate(LAYOUT)
        assert found["wide"] <= width, (width, found)
        assert found["narrow"] == [], (width, found["narrow"])
        assert found["overlaps"] == [], (width, found["overlaps"])
        assert found["styled"] == 0
        if width in (1400, 390):
            assert found["headline"] <= height, found
        if width == 1400:
            assert found["row"] <= height, found
            assert found["share"] <= 0.25, found
    first = " ".join(seen.page.locator("p.headline").inner_text().split())
    assert first.endswith(" ".join(answer_of(made).first.split()))
    assert seen.complaints == []
    assert len(seen.requests) == 1


LAYOUT = """() => {
    const box = (e) => e.getBoundingClientRect();
    const shown = (e) => box(e).width > 0 && box(e).height > 0;
    const bottom = (s) => { const e = document.querySelector(s); return e ? box(e).bottom + scrollY : 0; };
    const pen = document.createElement('canvas').getContext('2d');
    const narrow = [...document.querySelectorAll('dd, td, th, .cell, .group, h1, h2, h3, .caveats p')].filter(shown).filter((e) => {
        const word = e.textContent.split(/\\s+/).reduce((a, b) => (b.length > a.length ? b : a), '').slice(0, 14);
        pen.font = getComputedStyle(e).font;
        return box(e).width + 2 < pen.measureText(word).width;
    }).map((e) => [e.className || e.tagName, Math.round(box(e).width), e.textContent.slice(0, 40)]).slice(0, 5);
    const overlaps = [];
    for (const row of document.querySelectorAll('.bar-row, .row, .line')) {
        const parts = [...row.children].filter(shown).map(box);
        parts.forEach((a, i) => parts.slice(i + 1).forEach((b) => {
            if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
                overlaps.push(row.className + ': ' + row.innerText.slice(0, 60));
        }));
    }
    for (const scale of document.querySelectorAll('svg.scale')) {
        const words = [...scale.querySelectorAll('text')].filter(shown).map(box);
        words.forEach((a, i) => words.slice(i + 1).forEach((b) => {
            if (a.left < b.right && b.left < a.right) overlaps.push('scale: ' + scale.textContent);
        }));
    }
    const height = document.documentElement.scrollHeight;
    const share = Math.max(0, ...[...document.querySelectorAll('main > section')]
        .filter((s) => !['claims', 'exhibits', 'matrix', 'answer'].includes(s.id)).map((s) => box(s).height / height));
    return {wide: document.documentElement.scrollWidth, narrow, overlaps: overlaps.slice(0, 5), share,
            headline: bottom('p.headline'), row: bottom('#matrix .row:not(.head)'),
            styled: [...document.querySelectorAll('[style]')].filter((e) => !e.closest('.draw')).length};
}"""


def test_a_strip_lies_on_its_axis(opened: Any) -> None:
    """In a column of the matrix equality is at one place in every strip and under its tick, within a pixel."""
    page = opened(page_of("predictions", 5), drawn=False).page
    nulls = page.evaluate(
        """() => [...document.querySelectorAll('#matrix .row:not(.head)')].map((row) =>
            [...row.querySelectorAll('.cell')].map((c) => { const n = c.querySelector('.null'); return n ? n.getBoundingClientRect().left : null; }))"""
    )
    assert len(nulls) == 2
    for column in zip(*nulls, strict=True):
        assert max(column) - min(column) <= 1
    ticks = page.evaluate(
        """() => [...document.querySelectorAll('#matrix .head .scale')].map((s) => {
            const word = [...s.querySelectorAll('text')].find((t) => t.textContent === '1' || t.textContent === '0');
            const box = word.getBoundingClientRect(); return (box.left + box.right) / 2; })"""
    )
    assert [abs(t - n) <= 1 for t, n in zip(ticks, nulls[0], strict=True)] == [True, True]


def test_filters_are_right_announced_and_restored(opened: Any, tmp_path: Path) -> None:
    """Verdict, attribute and text narrow the claims; how many are shown is announced; the address keeps the state."""
    page = opened(page_of("predictions", 12, attributes=4), drawn=False).page
    total = page.locator("article.claim").count()
    page.locator("#filters select[name=a]").select_option("attribute1")
    mine = page.locator("article.claim[data-attribute=attribute1]").count()
    assert page.locator("article.claim:not([hidden])").count() == mine
    assert page.locator("#shown").inner_text() == f"{mine} of {total} shown"
    page.locator("#filters input[name=t]").fill("true positive")
    assert page.locator("article.claim:not([hidden])").count() == 1
    kept = page.evaluate("location.href")
    assert "a=attribute1" in kept
    again = page.context.new_page()
    again.goto(kept)
    assert again.locator("article.claim:not([hidden])").count() == 1
    assert again.locator("#filters input[name=t]").input_value() == "true positive"
    page.locator("#filters input[name=t]").fill("no such words")
    assert page.locator("#shown").inner_text() == f"0 of {total} shown"


def test_a_cell_leads_to_its_claim_and_opens_the_fold(opened: Any) -> None:
    """From a cell of the matrix by keyboard to the claim; an estimate's link opens what it points into."""
    page = opened(page_of("predictions", 12, attributes=8), drawn=False).page
    page.locator("#matrix .cell a").first.focus()
    page.keyboard.press("Enter")
    target = page.evaluate("location.hash.slice(1)")
    assert page.locator(f"#{target}").is_visible()
    last = page.locator("article.claim").last.get_attribute("id")
    page.evaluate("(id) => { location.hash = id; }", last)
    page.wait_for_function("(id) => document.getElementById(id).getBoundingClientRect().height > 0", arg=last)
    assert page.locator(f"#{last}").is_visible()


def test_estimates_sort_and_can_be_searched(opened: Any) -> None:
    """A click on a heading sorts by its numbers, missing ones last; the search hides the others."""
    page = opened(page_of("text", 12), drawn=False).page
    page.locator("#estimates summary").click()
    column = page.locator("#estimates th", has_text="value")
    at = page.evaluate("(h) => [...h.parentElement.children].indexOf(h)", column.element_handle())
    column.locator("button").click()
    cells = page.locator(f"#estimates tbody tr td:nth-child({at + 1})").all_inner_texts()
    numbers = [float(c.replace("−", "-")) for c in cells]
    assert numbers == sorted(numbers)
    page.locator("#find-estimate").fill("Asian")
    visible = page.locator("#estimates tbody tr:visible").all_inner_texts()
    assert visible
    assert all("Asian" in row for row in visible)


def sides(page: Any, path: Path) -> list[str]:
    """The text of every printed side."""
    import subprocess

    if not shutil.which("pdftotext"):
        pytest.skip("no pdftotext: install poppler-utils")
    page.pdf(path=str(path), prefer_css_page_size=True)
    text = subprocess.run(
        ["pdftotext", "-layout", str(path), "-"], capture_output=True, text=True, check=True
    )
    return text.stdout.split("\f")[:-1]


@pytest.mark.parametrize("audit", AUDITS)
def test_two_sides_hold_what_a_reader_attaches(opened: Any, audit: str, tmp_path: Path) -> None:
    """Printed, the answer is on side 1, figures and record on side 2, and that is all; nothing is cut off."""
    made = page_of(audit, 5)
    page = opened(made, drawn=False).page
    printed = sides(page, tmp_path / "two.pdf")
    assert len(printed) == 2, [p[:200] for p in printed]
    one, two = (" ".join(p.split()) for p in printed)
    assert "Before you rely on this" in one
    assert "side 1 of 2" in one
    for word in ("The primary claims in figures", "Record", "sha256", "side 2 of 2"):
        assert word in two
    assert min(len(one), len(two)) > 600


def test_everything_prints_where_it_is_asked_for(opened: Any, tmp_path: Path) -> None:
    """With the box ticked the claims, charts and tables follow, folds open, no side nearly empty but the last."""
    page = opened(page_of("predictions", 12)).page
    page.locator("#everything").check()
    printed = sides(page, tmp_path / "all.pdf")
    assert len(printed) > 4
    whole = " ".join(" ".join(printed).split())
    for word in ("All estimates", "Figures and method", "Raw provenance"):
        assert word in whole
    assert [i for i, p in enumerate(printed[2:-1]) if len(p.split()) < 25] == []
    assert page.locator("details[open]").count() == 0


def test_many_groups_get_panels_and_whole_labels(opened: Any) -> None:
    """Twelve groups are twelve panels; zeros are a sentence; the diagonal of a heat map is blank; names are whole."""
    page = opened(page_of("scores", 12)).page
    assert page.locator("#exhibit-1 figure").count() == 12
    assert page.locator("#exhibit-3 figure").count() == 0
    assert "Not drawn: all values are 0." in page.locator("#exhibit-3").inner_text()
    labels = page.locator(
        "#exhibit-2 svg .role-axis-label text, #exhibit-2 svg .role-axis-label tspan"
    ).all_text_contents()
    joined = " ".join(labels)
    assert "their own words" in joined
    assert "…" not in joined
    texts = page.locator("#exhibit-2 svg .mark-text.role-mark text").count()
    assert texts == 12 * 11


def test_the_direction_asked_for_lies_on_top_and_is_named(opened: Any) -> None:
    """Of all dots the one asked for is drawn last, and its name stands beside it."""
    page = opened(page_of("attack", 2)).page
    fills = page.evaluate(
        """() => [...document.querySelectorAll('#exhibit-4 svg .mark-symbol path')].map((p) => p.getAttribute('fill'))"""
    )
    assert len(set(fills)) == 2
    assert fills.count(fills[-1]) == 1
    assert "asked for it" in page.locator("#exhibit-4 svg").first.text_content()


def test_a_thousand_estimates_make_a_quick_small_page(opened: Any, tmp_path: Path) -> None:
    """A thousand estimates stay under 1.5 MB, and every one is found in the table or counted."""
    made = page_of("predictions", 60, attributes=9)
    assert len(made.findings) > 1000
    page = opened(made).page
    assert (tmp_path / "report.html").stat().st_size < 1_500_000
    assert f"of {len(made.findings):,} rows" in page.locator("#estimates").inner_text()
