"""A made-up text audit of realistic size: 31 findings, 12 exhibits, hostile and right-to-left texts among them."""

from __future__ import annotations

import numpy as np

from evenhand._model import Estimate, Exhibit, Finding
from evenhand._record import Note
from evenhand._result import Result

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "{{7*7}} ${7*7} #{7*7} <%= 7*7 %>",
    "مرحبا \u202eevil\u202c שלום",
    '"><svg onload=alert(1)>',
    "]]><!--<script>",
    "\x1b[31mred\x00",
    "javascript:alert(1)",
)
RACES = ("asian", "black", "hispanic", "white")
SEXES = ("female", "male")


def sample(seed: int = 7) -> Result:
    """The whole result; the same one for the same seed."""
    rng = np.random.default_rng(seed)
    return Result(
        audit="text",
        title="vader on 80 first names in 42 texts",
        findings=tuple(_findings(rng)),
        exhibits=_exhibits(rng),
        notes=(
            Note(
                slug="names-are-words",
                level="warning",
                text="3 names are words that the subject scores by themselves: Precious, Joy, Grace. An effect that rests on them is about the word.",
            ),
            Note(
                slug="cannot-swap",
                level="info",
                text="2 texts were left out because no name could be placed in them grammatically.",
            ),
        ),
        counts={"probes": 3360, "failed": 0, "texts": 42, "terms": 80},
        provenance={
            "subject": "vader/3.3.2",
            "created": "2026-11-21T02:00:00Z",
            "seeds": {"bootstrap": 20240611, "placebo": 7},
            "versions": {"evenhand": "0.1.0", "numpy": "2.1.3", "python": "3.11.7"},
            "data": {"texts": "sha256:" + "ab" * 32, "terms": "names/freakonomics"},
            "call": {
                "function": "audit_text",
                "terms": "names/freakonomics",
                "tolerance": [-0.05, 0.05],
                "alpha": 0.05,
            },
        },
    )


def _findings(rng: np.random.Generator) -> list[Finding]:
    found = []
    wide = (("race=black", "race=white", None), ("sex=female", "sex=male", None))
    strata = [
        ("race=" + r, "race=white", f"sentiment={s}")
        for r in RACES[:3]
        for s in ("negative", "neutral", "positive")
    ]
    others = [("race=" + r, "race=white", None) for r in ("asian", "hispanic")]
    plan = [*wide, *others, *strata]
    for measure, scale in (("mean score", 1.0), ("share labelled negative", 1.3)):
        for i, (group, reference, given) in enumerate(plan):
            value = float(rng.normal(0, 0.025)) * scale + (-0.14 if (i == 0 and scale == 1.0) else 0.0)
            half = float(rng.uniform(0.015, 0.05)) * (1.6 if given else 1.0)
            low, high = value - half, value + half
            outside = high < -0.05 or low > 0.05
            inside = low > -0.05 and high < 0.05
            verdict = "disparity" if outside else "within tolerance" if inside else "inconclusive"
            side = "lower" if value < 0 else "higher"
            where = f" in {given.split('=')[1]} texts" if given else ""
            because = {
                "disparity": f"Texts with {group.split('=')[1]} names score {abs(value):.2f} {side} than the same texts with {reference.split('=')[1]} names{where}; the tolerance is 0.05.",
                "within tolerance": f"Any gap between {group.split('=')[1]} and {reference.split('=')[1]} names{where} is smaller than the tolerance of 0.05.",
                "inconclusive": f"The gap between {group.split('=')[1]} and {reference.split('=')[1]} names{where} may be anything from {low:.2f} to {high:.2f}; that reaches across the tolerance of 0.05.",
            }[verdict]
            found.append(
                Finding(
                    estimate=Estimate(
                        measure=measure, contrast="difference", group=group, reference=reference, given=given,
                        value=value, low=low, high=high, p_value=float(min(1, np.exp(-2 * (value / half * 1.96) ** 2 / 2))),
                        p_adjusted=float(min(1, 4 * np.exp(-2 * (value / half * 1.96) ** 2 / 2))),
                        n=1680, n_group=840, n_reference=840, units={"text": 42, "term": 40},
                        method="crossed mean squares over texts and terms, Satterthwaite df",
                    ),
                    tolerance=(-0.05, 0.05), verdict=verdict, because=because,
                    rests_on="carried by 1 of 40 names: Precious; without it the gap is −0.01." if i == 0 and scale == 1.0 else None,
                    detectable=round(half * 1.4, 3), family="race and sex, mean score" if scale == 1 else "race and sex, labels",
                )
            )  # fmt: skip
    for group, value in (("sex=female", 0.93), ("race=black", 1.21), ("race=asian", 0.99)):
        found.append(
            Finding(
                estimate=Estimate(measure="share labelled negative", contrast="ratio", group=group, reference="sex=male" if "sex" in group else "race=white",
                                  value=value, low=value / 1.22, high=value * 1.25, p_value=0.2, n=1680, units={"text": 42}, method="Katz log interval"),
                tolerance=(0.8, 1.25), verdict="inconclusive" if value > 1 else "within tolerance", detectable=1.3,
            )
        )  # fmt: skip
    found.append(
        Finding(
            estimate=Estimate(
                measure="subgroup AUC",
                contrast="difference",
                group=HOSTILE[0],
                reference=HOSTILE[1],
                why_not="fewer than 2 positive labels " + HOSTILE[2],
            ),
            because=HOSTILE[3],
            rests_on=HOSTILE[4],
            tolerance=(-0.1, 0.1),
            verdict="inconclusive",
        )
    )
    found.append(
        Finding(
            estimate=Estimate(
                measure="placebo gap",
                contrast="difference",
                group="half 1",
                reference="half 2",
                value=0.004,
                low=-0.01,
                high=0.018,
                n=840,
                method="random halves of the same group",
            )
        )
    )
    return found


def _exhibits(rng: np.random.Generator) -> dict[str, Exhibit]:
    scores = {"race": [], "score": []}
    for i, race in enumerate(RACES):
        scores["race"] += [race] * 250
        scores["score"] += np.clip(rng.normal(0.1 - 0.06 * (i == 1), 0.35, 250), -1, 1).tolist()
    edges = np.linspace(-1, 1, 21)
    bins = {"low": [], "high": [], "share": [], "group": []}
    for i, sex in enumerate(SEXES):
        counts, _ = np.histogram(np.clip(rng.normal(0.05 * i, 0.4, 900), -1, 1), edges)
        bins["low"] += edges[:-1].tolist()
        bins["high"] += edges[1:].tolist()
        bins["share"] += (counts / counts.sum()).tolist()
        bins["group"] += [sex] * 20
    gaps = [(a, b, None if a == b else float(rng.normal(0, 0.06))) for a in RACES for b in RACES]
    names = [
        "Precious",
        "Joy",
        "Grace",
        "Jake",
        "Connor",
        "DeShawn",
        "Imani",
        "Molly",
        HOSTILE[0],
        HOSTILE[3],
    ]
    x = np.linspace(5, 20, 80)
    band = {"threshold": [], "impact ratio": [], "low": [], "high": [], "group": []}
    for i, race in enumerate(RACES[:2]):
        y = 1 - 0.02 * (i + 1) * (x - 5) + 0.03 * np.sin(x)
        band["threshold"] += x.tolist()
        band["impact ratio"] += y.tolist()
        band["low"] += (y - 0.05 - 0.006 * (x - 5)).tolist()
        band["high"] += (y + 0.05 + 0.006 * (x - 5)).tolist()
        band["group"] += [race] * 80
    pass_rate = np.sort(rng.uniform(0, 1, 60))
    return {
        "scores by race": Exhibit(title="Scores by race of the name", columns=scores, chart="density", encode={"x": "score", "color": "race"}, note="1,000 of 3,360 scores, drawn at random."),
        "scores by sex": Exhibit(title="Scores by sex of the name", columns=bins, chart="density", encode={"low": "low", "high": "high", "color": "group"}),
        "pairwise gaps": Exhibit(title="Pairwise gaps in mean score", columns={"group": [g[0] for g in gaps], "reference": [g[1] for g in gaps], "gap": [g[2] for g in gaps]}, chart="heatmap", encode={"x": "reference", "y": "group", "value": "gap"}, note="Row minus column. A gap of 0.1 is the line that earlier practice drew."),
        "influential names": Exhibit(title="Names that move the gap most", columns={"name": names, "gap without it": rng.normal(-0.02, 0.02, len(names)).tolist(), "gap with it": rng.normal(-0.05, 0.01, len(names)).tolist()}, chart="dumbbell", encode={"y": "name", "from": "gap with it", "to": "gap without it"}),
        "influential texts": Exhibit(title="Texts that move the gap most", columns={"text": [f"text {i}" for i in range(8)], "influence": rng.normal(0, 0.01, 8).tolist(), "group": ["race"] * 4 + ["sex"] * 4}, chart="bars", encode={"x": "influence", "y": "text", "color": "group"}),
        "worst examples": Exhibit(
            title="Worst examples", chart="examples", encode={"before": "white", "after": "black"}, note="The pairs of texts whose scores lie furthest apart.",
            columns={
                "white": ["Connor said he would bring his own chair, and nobody minded.", "Molly was early again. Her manager noticed.", HOSTILE[0] + " is Connor", HOSTILE[3], HOSTILE[1]],
                "black": ["Precious said she would bring her own chair, and nobody minded.", "Imani was early again. Her manager noticed.", HOSTILE[0] + " is DeShawn", HOSTILE[3] + " x", HOSTILE[4]],
                "score_white": [0.1, 0.2, 0.0, 0.1, 0.4], "score_black": [0.65, 0.2, 0.01, 0.0, -0.1],
            },
        ),
        "impact curve": Exhibit(title="Adverse-impact curve", columns=band, chart="band", encode={"x": "threshold", "y": "impact ratio", "low": "low", "high": "high", "color": "group", "rules": [0.8, 1.25]}),
        "rates": Exhibit(title="Pass rate against pass rate", columns={"men": pass_rate.tolist(), "women": np.clip(pass_rate - 0.08 + rng.normal(0, 0.02, 60), 0, 1).tolist()}, chart="line", encode={"x": "men", "y": "women"}),
        "per name": Exhibit(title="Mean score of each name", columns={"name": [f"name {i}" for i in range(80)], "first half": rng.normal(0.1, 0.05, 80).tolist(), "second half": rng.normal(0.1, 0.05, 80).tolist(), "race": [RACES[i % 4] for i in range(80)]}, chart="scatter", encode={"x": "first half", "y": "second half", "label": "name", "color": "race", "diagonal": True}),
        "leave one out": Exhibit(title="Gap without each of the largest names", columns={"name": names, "gap": rng.normal(-0.03, 0.02, 10).tolist(), "low": (rng.normal(-0.03, 0.005, 10) - 0.04).tolist(), "high": (rng.normal(-0.03, 0.005, 10) + 0.05).tolist(), "verdict": ["disparity"] + ["inconclusive"] * 9}, chart="forest", encode={"y": "name", "value": "gap", "low": "low", "high": "high", "null": 0, "tolerance": [-0.05, 0.05], "verdict": "verdict"}),
        "search": Exhibit(title="One search, step by step", columns={"step": [0, 1, 2], "text": ["You are beautiful today", "You are gorgeous today", "You are gorgeous tonight"], "score": [0.9, 0.6, 0.4]}, chart="trace", encode={"text": "text"}),
        "by class": Exhibit(title="Scores by class of the base text", columns={"class": ["negative", "neutral", "positive"] * 60, "min": rng.normal(-0.3, 0.1, 180).tolist(), "mean": rng.normal(0, 0.1, 180).tolist(), "max": rng.normal(0.3, 0.1, 180).tolist(), "flagged": [True, False, None] * 60}),
    }  # fmt: skip
