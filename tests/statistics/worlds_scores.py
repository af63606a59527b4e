"""Worlds of the audits of texts and recorded scores: units of several kinds, copies, missing replies, labelled texts."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from worlds import BASE_TEXTS, Rng, World, alike, crossed, scores

import evenhand as eh
from evenhand._result import Result


def labelled_texts(
    terms: tuple[int, ...], texts: int, *, share: float = 0.5, term_sd: float = 0.3, fixed: bool = False
) -> Callable[[Rng], Result]:
    """Labelled texts × names: positives score 1 higher; a share of them is positive (`fixed`: exactly so many)."""

    def audit(rng: Rng) -> Result:
        label = np.arange(texts) < round(share * texts) if fixed else rng.random(texts) < share
        rows = crossed(rng, terms, texts, term_sd=term_sd, text_sd=1.0, both_sd=0.0, noise_sd=0.5)
        each = np.repeat(label.astype(int), sum(terms))
        units = ("text", "term") if min(terms) > 1 else ("text",)
        return scores({**rows, "score": rows["score"] + each, "label": each}, units, labels="label")

    return audit


def truth_of(term_sd: float) -> Callable[[eh.Finding], float | None]:
    """Φ(1/√(2·variance)) for an AUC between two texts of other names; the difference of two is 0."""

    def truth(found: eh.Finding) -> float | None:
        if found.family != "identity AUC":
            return alike(found)
        if "AEG" in found.estimate.measure:
            return 0.0
        spread = 2 * (term_sd**2 + 1.0 + 0.5**2)
        return 0.5 * (1 + math.erf(1 / math.sqrt(spread) / math.sqrt(2)))

    return truth


def in_families(count: int, size: int, names: int, gap: float = 0.0) -> Callable[[Rng], Result]:
    """Families of paraphrases × names: each family leans towards one group, paraphrases differ little."""

    def audit(rng: Rng) -> Result:
        rows = crossed(rng, (names, names), count, term_sd=0.1, both_sd=0.1, noise_sd=0.0, gap=gap)
        many = {name: np.tile(np.asarray(column), size) for name, column in rows.items()}
        again = np.repeat(np.arange(size), len(rows["score"]))
        text = [f"{t}, {i}" for t, i in zip(many["text"], again, strict=True)]
        score = many["score"] + 0.05 * rng.normal(size=len(again))
        return scores({**many, "family": many["text"], "text": text, "score": score}, ("family/text", "term"))

    return audit


def rated(raters: int) -> Callable[[Rng], Result]:
    """20 texts × 10 + 10 names × raters: texts, names and raters each lean towards one group."""

    def audit(rng: Rng) -> Result:
        rows = crossed(rng, (10, 10), 20, term_sd=0.1, both_sd=0.1, noise_sd=0.0)
        many = {name: np.tile(np.asarray(column), raters) for name, column in rows.items()}
        rater = np.repeat(np.arange(raters), len(rows["score"]))
        lean = 0.1 * rng.normal(size=(raters, 2))
        score = many["score"] + lean[rater, (many["group"] == "g0").astype(int)]
        score = score + 0.2 * rng.normal(size=len(rater))
        rows = {**many, "score": score, "rater": [f"rater {i}" for i in rater]}
        return scores(rows, ("text", "term", "rater"))

    return audit


def repeated(
    times: int, *, copies: bool = False, units: tuple[str, ...] = ("text", "term")
) -> Callable[[Rng], Result]:
    """Each text × name asked several times; `copies`: the same texts under other ids, with the same scores."""

    def audit(rng: Rng) -> Result:
        rows = crossed(rng, (10, 10), 5 if copies else 10, term_sd=0.1, both_sd=0.1)
        many = {name: np.tile(np.asarray(column), times) for name, column in rows.items()}
        again = np.repeat(np.arange(times), len(rows["score"]))
        if copies:
            many["text"] = np.array([f"{t}, {i}" for t, i in zip(many["text"], again, strict=True)])
        else:
            many["score"] = many["score"] + 0.1 * rng.normal(size=len(again))
        return scores(many, units)

    return audit


def copied_rows(rng: Rng) -> Result:
    """60 + 60 scores, each row four times, and no units named."""
    rows = {"score": np.tile(rng.normal(size=120), 4), "group": np.tile(np.repeat(["g0", "g1"], 60), 4)}
    return scores(rows, ())


def live_copies(rng: Rng) -> Result:
    """Five texts, each given four times, asked live of a model that leans in every text."""
    lean: dict[str, float] = {}
    men = set(eh.terms("names/weat-gender").where(gender="male").terms)

    def model(texts: list[str]) -> list[float]:
        found = []
        for text in texts:
            name, ending = text.split(" ")[0], text.split(" lost ")[-1]
            key = f"{ending} {name in men}"
            own = lean.setdefault(key, 0.1 * rng.normal()) + lean.setdefault(name, 0.05 * rng.normal())
            found.append(own + lean.setdefault(ending, 0.1 * rng.normal()))
        return found

    return eh.audit_text(
        model, list(BASE_TEXTS) * 4, terms="names/weat-gender", replace="Arthur", control=False, tolerance=0.1
    )


LOOKS = 5
"""Looks at growing data."""


def looked_at(level: float) -> Callable[[Rng], Result]:
    """25 texts × 20 + 20 names alike, audited after every five texts until a gap is found."""

    def audit(rng: Rng) -> Result:
        rows = crossed(rng, (20, 20), 5 * LOOKS, term_sd=0.1, both_sd=0.05, text_sd=0.3)
        place = np.unique(rows["text"], return_inverse=True)[1]
        for look in range(1, LOOKS + 1):
            result = scores({name: np.asarray(c)[place < 5 * look] for name, c in rows.items()}, level=level)
            if result.verdict in ("disparity", "gap"):
                return result
        return result

    return audit


def missing_by_score(strength: float, texts: int = 10) -> Callable[[Rng], Result]:
    """10 + 10 names × texts, alike; the higher a score, the likelier it is missing."""

    def audit(rng: Rng) -> Result:
        rows = crossed(rng, (10, 10), texts, term_sd=0.1, both_sd=0.05, text_sd=0.3)
        z = (rows["score"] - rows["score"].mean()) / rows["score"].std()
        gone = rng.random(len(z)) < 1 / (1 + np.exp(1 - strength * z))
        return scores({**rows, "score": np.where(gone, np.nan, rows["score"])})

    return audit


def refused(rng: Rng) -> Result:
    """Scores in [0, 1], one group .15 higher; what is too high of that group is refused, so that the rest look
    alike."""
    rows = crossed(rng, (20, 20), 40, term_sd=0.02, text_sd=0.02, noise_sd=0.1, gap=0.15)
    score = np.clip(rows["score"] + 0.4, 0, 1)
    gone = (rows["group"] == "g0") & (score > 0.42) & (rng.random(len(score)) < 0.98)
    return scores({**rows, "score": np.where(gone, np.nan, score)})


def refusals(share: float) -> Callable[[Rng], Result]:
    """20 + 20 names × 20 texts of which a share is refused: texts and names differ in it, groups do not."""

    def audit(rng: Rng) -> Result:
        rows = crossed(rng, (20, 20), 20, term_sd=0.05)
        lean = crossed(rng, (20, 20), 20, term_sd=0.5, text_sd=0.5, both_sd=0.2, noise_sd=0.0)["score"]
        chance = 1 / (1 + np.exp(-(np.log(share / (1 - share)) + lean)))
        return scores({**rows, "score": np.where(rng.random(800) < chance, np.nan, rows["score"])})

    return audit


def of_means_only(value: float) -> Callable[[eh.Finding], float | None]:
    """The first group's mean is `value` higher; nothing else is looked at."""

    def truth(found: eh.Finding) -> float | None:
        if not found.primary:
            return None
        return value if found.estimate.group.endswith("g0") else -value

    return truth


WORLDS_OF_SCORES: tuple[World, ...] = (
    World(
        name="5 families x 4 paraphrases x 12 + 12 names",
        what="Families lean towards one group, their paraphrases hardly differ; nested units family/text.",
        audit=in_families(5, 4, 12),
    ),
    World(
        name="12 families x 4 paraphrases x 12 + 12 names",
        what="The same with twelve families.",
        audit=in_families(12, 4, 12),
        quick=200,
    ),
    World(
        name="20 texts x 10 + 10 names x 6 raters",
        what="Three kinds of units, each with a lean of its own.",
        audit=rated(6),
        runs=1000,
        quick=100,
    ),
    World(
        name="10 texts x 10 + 10 names, asked 3 times",
        what="Repeats of a text x name are replicates, no further evidence.",
        audit=repeated(3),
    ),
    World(
        name="5 texts given 4 times, recorded",
        what="Copies of a text under other ids, with the same scores.",
        audit=repeated(4, copies=True),
        quick=200,
    ),
    World(
        name="5 texts given 4 times, live",
        what="The same, asked live with 8 + 8 names.",
        audit=live_copies,
        runs=1000,
        quick=60,
    ),
    World(
        name="a look every 5 texts up to 25, level .99",
        what="Five looks at growing data, stopped at the first gap; the level that five looks need was declared.",
        audit=looked_at(1 - 0.05 / LOOKS),
        runs=1000,
        quick=20,
    ),
    World(
        name="replies missing by score, 10 texts x 10 + 10 names",
        what="A third of the replies is missing, high scores more often; groups are alike.",
        audit=missing_by_score(1.5),
    ),
    World(
        name="a fifth of the replies refused, 20 texts x 20 + 20 names",
        what="Names and texts are refused at rates of their own, groups alike: the claim about missing replies.",
        audit=refusals(0.2),
    ),
    World(
        name="high scores of one group refused, true gap .15",
        what="The replies that are left look alike: 'within' is false.",
        audit=refused,
        truth=of_means_only(0.15),
        runs=1000,
        quick=40,
        known=dict.fromkeys(
            ("coverage", "gap", "headline"),
            "a gap is told of the replies that came; the bounds beside it hold the truth",
        ),
    ),
    World(
        name="scores that differ by less than their precision",
        what="A gap of 1e-5 around 1e12: nothing is said.",
        audit=lambda rng: scores(
            crossed(
                rng,
                (10, 10),
                10,
                gap=1e-5,
                term_sd=1e-6,
                text_sd=1e-6,
                both_sd=0.0,
                noise_sd=1e-6,
                offset=1e12,
            )
        ),
        truth=of_means_only(1e-5),
        runs=300,
        silent=True,
        quick=20,
    ),
    World(
        name="60 + 60 scores, every row four times",
        what="Copies of rows without units.",
        audit=copied_rows,
    ),
    World(
        name="40 texts, 15 % positive, x 8 + 12 names",
        what="AUCs of labelled texts where few are positive.",
        audit=labelled_texts((8, 12), 40, share=0.15),
        truth=truth_of(0.3),
        runs=600,
    ),
    World(
        name="10 labelled texts x 20 + 20 names",
        what="AUCs of few labelled texts, five of them positive.",
        audit=labelled_texts((20, 20), 10, fixed=True),
        truth=truth_of(0.3),
        runs=600,
    ),
    World(
        name="5 labelled texts x 10 + 10 names",
        what="AUCs of two positive and three negative texts.",
        audit=labelled_texts((10, 10), 5, share=0.4, fixed=True),
        truth=truth_of(0.3),
        runs=600,
    ),
    World(
        name="40 labelled texts x 12 single words",
        what="AUCs where each group is one word without an effect of its own.",
        audit=labelled_texts((1,) * 12, 40, term_sd=0.0),
        truth=truth_of(0.0),
        runs=600,
    ),
)
"""More of the grid, in the order of the page."""
