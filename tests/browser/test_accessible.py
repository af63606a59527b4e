"""The page for everyone: axe finds nothing in light and in dark, and verdicts are told apart without their colour or with it."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_report_in_browser import EVERY, browser, opened, page_of

pytestmark = pytest.mark.browser
FIXTURES = (browser, opened)

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core (MPL-2.0), as a package of the test environment carries it; skips where there is none."""
    found = find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("no axe-core: pip install axe-playwright-python")
    return Path(found.origin).with_name("axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(("audit", "groups", "state"), [e for e in EVERY if e[1] in (2, 12, 60)])
def test_axe_finds_nothing(opened: Any, axe: str, audit: str, groups: int, state: str) -> None:
    """Every rule of WCAG 2.2 A and AA and the best practices, with all folds open, in light and in dark."""
    whole = groups == 2
    made = page_of(audit, groups, state)
    page = opened(made if whole else replace(made, exhibits={}), drawn=whole).page
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.evaluate(axe)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate("(rules) => axe.run(document, {runOnly: rules})", list(RULES))
        wrong = [
            (v["id"], v["help"], [(n["html"][:120], n["any"][:1]) for n in v["nodes"][:2]])
            for v in found["violations"]
        ]
        assert wrong == [], scheme
        assert len(found["passes"]) > 20


CSS = Path(__file__).resolve().parents[2] / "src" / "evenhand" / "reports" / "assets" / "report.css"
VERDICTS = ("disparity", "gap", "inconclusive", "within-tolerance")
SEEN_BY = {
    "everyone": np.eye(3),
    "protanopes": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopes": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopes": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
"""What becomes of linear RGB: Machado, Oliveira & Fernandes (2009), severity 1."""


def lab(colour: str, seen: Any) -> Any:
    """A colour #rrggbb in CIELAB (D65), as these eyes see it."""
    value = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    linear = np.clip(seen @ linear, 0, 1)
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    t = to_xyz @ linear / [0.95047, 1, 1.08883]
    x, y, z = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def palettes() -> dict[str, dict[str, str]]:
    """Theme → verdict → colour, read from the style sheet: light, dark, printed."""
    text = CSS.read_text(encoding="utf-8")
    named = re.findall(r"--(disparity|gap|inconclusive|within-tolerance): (#[0-9a-f]{6})\b", text)
    found = [dict(named[i : i + 4]) for i in range(0, len(named), 4)]
    assert [set(one) for one in found] == [set(VERDICTS)] * 3
    return dict(zip(("light", "dark", "printed"), found, strict=True))


JUST_NOTICEABLE = 2.3


@pytest.mark.parametrize("eyes", list(SEEN_BY))
@pytest.mark.parametrize("theme", ["light", "dark", "printed"])
def test_verdicts_have_colours_that_lie_apart(theme: str, eyes: str) -> None:
    """The distance (CIE76) of any two verdicts is nine times what is just noticeable, also for colour-deficient eyes; shape
    and word say the same besides."""
    colours = palettes()[theme]
    for one, two in itertools.combinations(VERDICTS, 2):
        apart = float(np.linalg.norm(lab(colours[one], SEEN_BY[eyes]) - lab(colours[two], SEEN_BY[eyes])))
        assert apart >= 9 * JUST_NOTICEABLE, (one, two, round(apart, 1))


def test_the_distance_is_that_of_the_standard() -> None:
    """White, red and blue in CIELAB as tables have them."""
    assert lab("#ffffff", SEEN_BY["everyone"]) == pytest.approx([100, 0, 0], abs=0.02)
    assert lab("#ff0000", SEEN_BY["everyone"]) == pytest.approx([53.24, 80.09, 67.20], abs=0.02)
    assert lab("#0000ff", SEEN_BY["everyone"]) == pytest.approx([32.30, 79.19, -107.86], abs=0.02)
