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

from evenhand._model import Exhibit
from evenhand._result import Result

pytestmark = pytest.mark.browser

SAMPLE = runpy.run_path(str(Path(__file__).with_name("sample_result.py")))
HOSTILE: tuple[str, ...] = SAMPLE["HOSTILE"]


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

    def open_(result: Result, *, width: int = 1200, drawn: bool = True, **options: Any) -> Opened:
        path = tmp_path / "report.html"
        result.to_html(path)
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
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
    """Each figure holds an SVG with marks and a label that a screen reader can say."""
    page = opened(realistic).page
    figures = page.evaluate(
        """() => [...document.querySelectorAll('figure.chart')].map((f) => {
            const svg = f.querySelector('[data-draw] svg');
            return {id: f.id, drawn: f.dataset.drawn, marks: svg ? svg.querySelectorAll('path,line,text').length : 0,
                    label: svg ? (svg.closest('[aria-label]') || {ariaLabel: ''}).ariaLabel : '',
                    width: svg ? svg.getBoundingClientRect().width : 0};
        })"""
    )
    kinds = [e.chart for e in realistic.exhibits.values() if e.chart not in ("none", "examples", "trace")]
    assert len(figures) == len(kinds) + 3, "three forests of the findings"
    for figure in figures:
        assert figure["drawn"] == "yes", figure
        assert figure["marks"] > 10, figure
        assert "table below" in figure["label"], figure
        assert 300 < figure["width"] < 1000, figure


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
    assert seen.page.evaluate("document.querySelectorAll('script').length") == 2
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
    """Verdicts, sentences, interval pictures and tables are there; no empty box stands where a chart would be."""
    page = opened(realistic, drawn=False, java_script_enabled=False).page
    assert page.locator("p.headline").inner_text().startswith("Disparity. ")
    assert page.locator("article.finding").count() == len(realistic.findings)
    assert page.locator("svg.interval").count() >= 25
    assert page.locator("noscript").count() == 1
    assert page.locator(".draw:visible").count() == 0
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
            return ['body', '.note', '.meta', 'a', 'summary', '.badge.disparity', '.badge.inconclusive', '.badge.within-tolerance'].map((s) => {
                const ink = lum(getComputedStyle(document.querySelector(s)).color);
                return [s, (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)];
            });
        }"""
    )
    assert [pair for pair in ratios if pair[1] < 4.5] == []


def test_the_page_works_from_the_keyboard(opened: Any, realistic: Result) -> None:
    """The first stop leads past the navigation, and a fold opens with Enter."""
    page = opened(realistic).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("#findings summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("#findings details").first.get_attribute("open") is not None


def test_a_broken_chart_says_so_and_costs_nothing_else(opened: Any, realistic: Result) -> None:
    """An exhibit whose channel is missing shows its table and a reason; the others are drawn."""
    broken = Exhibit(title="broken", columns={"a": [1.0]}, chart="line", encode={"x": "a", "y": "gone"})
    few = {"broken": broken, "rates": realistic.exhibits["rates"]}
    page = opened(replace(realistic, exhibits=few)).page
    assert "No chart:" in page.locator("#exhibit-1").inner_text()
    assert page.locator("#exhibit-2 svg").count() >= 1


def test_the_page_prints(browser: Any, opened: Any, realistic: Result) -> None:
    """Printed, the text is dark on white even where the reader's theme is dark."""
    page = opened(realistic, color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("article.finding:visible").count() == len(realistic.findings)
