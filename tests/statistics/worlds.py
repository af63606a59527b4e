"""The worlds in which verdicts are tried: what each is, how one audit of it is drawn, and what is true in it.

A world draws an audit through the public function; its truth says, for a finding, what the contrast would be
without sampling error (None where nobody can say). Most worlds are unfair to the method and fair to people: the
groups are alike, and whatever is called a gap is called so wrongly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import evenhand as eh
from evenhand._result import Result
from evenhand.measures.row import null_of

Rng = np.random.Generator
Truth = Callable[[eh.Finding], float | None]
Sample = Callable[[Rng, Any], np.ndarray]


def alike(found: eh.Finding) -> float | None:
    """No claim about two groups has a gap; what describes all texts at once is no such claim."""
    if found.family in ("measures", "identity AUC") or found.family.endswith("described"):
        return None
    return null_of(found.estimate.contrast)


@dataclass(frozen=True, kw_only=True)
class World:
    """A world that hurts.

    Args:
        what: one sentence for a statistician. audit: draws one audit. truth: of each finding.
        runs: of the full grid. quick: runs of the slice in CI, 0 for none.
        power: headline → share of audits that must have it.
        known: what falls short today, and why: kind of failure → reason. It is printed, not hidden.
        silent: whether every verdict is withheld here, on purpose.
    """

    name: str
    what: str
    audit: Callable[[Rng], Result]
    truth: Truth = alike
    runs: int = 2000
    quick: int = 0
    power: Mapping[str, float] = field(default_factory=dict)
    known: Mapping[str, str] = field(default_factory=dict)
    silent: bool = False


# --- draws
# ---------------------------------------------------------------------------------------------------


def normal(rng: Rng, size: Any) -> np.ndarray:
    """Standard normal."""
    return rng.normal(size=size)


def lognormal(rng: Rng, size: Any) -> np.ndarray:
    """Log-normal, skewness 6, standardised."""
    return (np.exp(rng.normal(size=size)) - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e)


def student(rng: Rng, size: Any) -> np.ndarray:
    """Student's t with three degrees of freedom."""
    return rng.standard_t(3, size=size)


def pareto(rng: Rng, size: Any) -> np.ndarray:
    """Pareto with tail index 3 (infinite third moment), either sign."""
    return rng.pareto(3.0, size=size) * rng.choice([-1.0, 1.0], size=size)


# --- scores: terms nested in groups, crossed with texts
# -----------------------------------------------------------------------------


def crossed(
    rng: Rng, terms: tuple[int, ...], texts: int, *, gap: float = 0.0, draw: Sample = normal, term_sd: float = 0.06,
    text_sd: float = 0.1, both_sd: float = 0.02, noise_sd: float = 0.1, offset: float = 0.0,
) -> dict[str, Any]:  # fmt: skip
    """A table of scores: effect of the term + of the text + of text × group + noise; the first group is `gap`
    higher."""
    group = np.repeat(np.arange(len(terms)), terms)
    k = len(group)
    term = term_sd * draw(rng, k) + gap * (group == 0)
    score = term + text_sd * normal(rng, (texts, 1)) + (both_sd * normal(rng, (texts, len(terms))))[:, group]
    score = score + noise_sd * normal(rng, (texts, k)) + offset
    return {
        "score": score.ravel(),
        "group": np.tile(np.array([f"g{i}" for i in group]), texts),
        "text": np.repeat([f"text {i}" for i in range(texts)], k),
        "term": np.tile([f"term {i}" for i in range(k)], texts),
    }


def scores(rows: Mapping[str, Any], units: tuple[str, ...] = ("text", "term"), **more: Any) -> Result:
    """An audit of a table of scores."""
    return eh.audit_scores(rows, scores="score", groups="group", units=units, **{"tolerance": 0.1, **more})


def names(terms: tuple[int, ...], texts: int, **kind: Any) -> Callable[[Rng], Result]:
    """An audit of names crossed with texts (over names alone where there is one text)."""
    units = ("text", "term") if texts > 1 else ("term",)
    return lambda rng: scores(crossed(rng, terms, texts, **kind), units)


def single_words(texts: int, draw: Sample) -> Callable[[Rng], Result]:
    """Twelve groups that are single words, each in every text."""

    def audit(rng: Rng) -> Result:
        score = draw(rng, (texts, 12))
        rows = {
            "score": score.ravel(),
            "group": np.tile([f"word {i}" for i in range(12)], texts),
            "text": np.repeat([f"text {i}" for i in range(texts)], 12),
        }
        return scores(rows, ("text",))

    return audit


def rare(rng: Rng, size: Any) -> np.ndarray:
    """A flag that fires in one text of ten."""
    return (rng.random(size) < 0.1).astype(float)


def skewed_texts(rng: Rng, size: tuple[int, int]) -> np.ndarray:
    """Log-normal noise beside a normal effect of the text."""
    return normal(rng, (size[0], 1)) + np.exp(normal(rng, size))


def flag_by_text(rng: Rng) -> Result:
    """A flag that fires for one group, in 15 % of the texts; five texts are seen."""
    fires = rng.random(5) < 0.15
    rows = crossed(rng, (20, 20), 5, term_sd=0.0)
    hit = fires[np.repeat(np.arange(5), 40)] & (rows["group"] == "g0")
    return scores({**rows, "score": hit.astype(float)})


BASE_TEXTS = tuple(f"Arthur lost his {x}." for x in ("keys", "dog", "way", "hat", "map"))


def live_flag(rng: Rng) -> Result:
    """The same flag asked live: it fires where a text of a drawn 15 % names a man."""
    men = set(eh.terms("names/weat-gender").where(gender="male").terms)
    fires = {text.split(" lost ")[1] for text in BASE_TEXTS if rng.random() < 0.15}

    def flagged(texts: list[str]) -> list[float]:
        return [float(t.split(" lost ")[1] in fires and t.split()[0] in men) for t in texts]

    return eh.audit_text(
        flagged, list(BASE_TEXTS), terms="names/weat-gender", replace="Arthur", control=False
    )


def practice(rng: Rng) -> Result:
    """One text × 80 names of two races and two genders, whose scores depend on nothing but chance."""

    def noisy(texts: list[str]) -> np.ndarray:
        return 0.1 * rng.normal(size=len(texts))

    return eh.audit_text(
        noisy, ["Arthur lost his keys."], terms="names/freakonomics", replace="Arthur", control=False
    )


def twelve_live(rng: Rng) -> Result:
    """Religions as single words in templates of ten texts, scored by a rare flag."""

    def flagged(texts: list[str]) -> np.ndarray:
        return (rng.random(len(texts)) < 0.1).astype(float)

    bases = [f"The {{religion}} neighbour {x}." for x in (
        "left", "sang", "wrote", "called", "slept", "read", "cooked", "ran", "laughed", "waited",
    )]  # fmt: skip
    return eh.audit_text(flagged, eh.templates(bases), terms="identity/religion", control=False)


def labelled(rng: Rng) -> Result:
    """40 labelled texts × 10 + 10 names: positives score 1 higher, texts and names vary."""
    label = rng.integers(0, 2, 40)
    rows = crossed(rng, (10, 10), 40, term_sd=0.3, text_sd=1.0, both_sd=0.0, noise_sd=0.5)
    each = np.repeat(label, 20)
    return scores({**rows, "score": rows["score"] + each, "label": each}, labels="label")


def truth_of_labelled(found: eh.Finding) -> float | None:
    """Φ(1/√(2·variance)) for an AUC between two texts; the difference of two is 0."""
    if found.family != "identity AUC":
        return alike(found)
    if "AEG" in found.estimate.measure:
        return 0.0
    spread = 2 * (0.3**2 + 1.0 + 0.5**2)
    return 0.5 * (1 + math.erf(1 / math.sqrt(spread) / math.sqrt(2)))


def weighted_scores(rng: Rng) -> Result:
    """60 + 200 rows whose case weights are twice as large where the score is high."""
    score = rng.normal(size=260)
    rows = {
        "score": score,
        "group": np.repeat(["g0", "g1"], [60, 200]),
        "weight": np.exp(0.7 * score),
        "row": np.arange(260).astype(str),
    }
    return scores(rows, ("row",), weight="weight")


def mean_gap(value: float) -> Truth:
    """The first group's mean is `value` higher; nothing else is claimed of two groups."""

    def truth(found: eh.Finding) -> float | None:
        if not found.estimate.measure.startswith("mean ") or "residual" in found.estimate.measure:
            return None
        return value if found.estimate.group.endswith("g0") else -value

    return truth


def male_first(value: float) -> Truth:
    """Men's mean is `value` higher."""
    return lambda found: (
        None
        if not found.estimate.measure.startswith("mean ")
        else value
        if found.estimate.group.endswith("=male")
        else -value
    )


# --- numeric predictions
# --------------------------------------------------------------------------------------------------


def groups_of(*sizes: int) -> np.ndarray:
    """Labels of people, group by group."""
    return np.repeat([f"g{i}" for i in range(len(sizes))], sizes)


def numbers(
    sizes: tuple[int, ...], draw: Sample, errors: Sample | None = None, **more: Any
) -> Callable[[Rng], Result]:
    """Predictions (and outcomes beside them) drawn alike for all groups."""

    def audit(rng: Rng) -> Result:
        n = sum(sizes)
        p = draw(rng, n)
        rows: dict[str, Any] = {"group": groups_of(*sizes), "p": p}
        if errors is not None:
            rows["y"] = p + errors(rng, n)
            return eh.audit_predictions(rows, y_pred="p", y_true="y", groups="group", **more)
        return eh.audit_predictions(rows, y_pred="p", groups="group", **more)

    return audit


def shifted(
    sizes: tuple[int, ...], shift: tuple[float, ...], *, offset: float = 0.0
) -> Callable[[Rng], Result]:
    """Normal predictions with a mean of its own for each group."""

    def audit(rng: Rng) -> Result:
        p = rng.normal(size=sum(sizes)) + np.repeat(shift, sizes) + offset
        return eh.audit_predictions({"group": groups_of(*sizes), "p": p}, y_pred="p", groups="group")

    return audit


def largest_shift(value: float) -> Truth:
    """The largest standardised difference is `value`; other claims are not looked at."""
    return lambda f: value if f.estimate.measure.startswith("standardised mean difference, ") else None


def only_shift(value: float) -> Truth:
    """The standardised difference of the first group is −`value` or `value`, whichever is the reference."""

    def truth(found: eh.Finding) -> float | None:
        if found.estimate.measure != "standardised mean difference" or found.estimate.given:
            return None
        return value if found.estimate.group.endswith("g0") else -value

    return truth


def strata(sizes: tuple[int, int], factors: int, draw: Sample) -> Callable[[Rng], Result]:
    """Two groups within each of several strata; the strata differ in level, the groups do not."""

    def audit(rng: Rng) -> Result:
        n = sum(sizes)
        where = np.repeat(np.arange(factors), n)
        p = draw(rng, n * factors) + 0.5 * where
        rows = {
            "p": p,
            "group": np.tile(groups_of(*sizes), factors),
            "stratum": where.astype(str),
        }
        return eh.audit_predictions(
            rows,
            y_pred="p",
            groups="group",
            control="stratum",
            tolerance={"average score": 0.2},
            quantiles=[0.5],
        )

    return audit


def crossed_attributes(
    kind: str, levels: tuple[int, ...], n: int, control: int = 0
) -> Callable[[Rng], Result]:
    """Several attributes that have nothing to do with the predictions, nor these with the outcomes' groups."""

    def audit(rng: Rng) -> Result:
        rows: dict[str, Any] = {
            f"a{i}": rng.choice([f"{x}" for x in "uvwxyz"[:m]], n) for i, m in enumerate(levels)
        }
        named = list(rows)
        y = rng.normal(size=n)
        p = 0.6 * y + 0.8 * rng.normal(size=n)
        rows |= {"y": y, "p": p} if kind == "numbers" else {"y": y > 0.8, "p": p > 0.8}
        if control:
            rows["c"] = rng.choice([f"{i}" for i in range(control)], n)
        return eh.audit_predictions(
            rows, y_pred="p", y_true="y", groups=named, control="c" if control else (), quantiles=[0.5]
        )

    return audit


def worst_of_four(rng: Rng) -> Result:
    """Subgroups of 1,000, 25, 25 and 1,000 people; those of 25 lie .35 standard deviations off."""
    sizes, shift = (1000, 25, 25, 1000), (0.0, 0.35, -0.35, 0.0)
    rows = {
        "p": rng.normal(size=sum(sizes)) + np.repeat(shift, sizes),
        "a": np.repeat(["0", "0", "1", "1"], sizes),
        "b": np.repeat(["0", "1", "0", "1"], sizes),
    }
    return eh.audit_predictions(rows, y_pred="p", groups=["a", "b"], intersections=True, quantiles=[0.5])


def worst_truth(found: eh.Finding) -> float | None:
    """Of the worst subgroup the gap to everyone else is .35, up for the one of the small ones, down for the other."""
    e = found.estimate
    if e.measure != "standardised mean difference, worst of 4 subgroups" or e.value is None:
        return None
    own = {"a & b=0 & 1": 0.35, "a & b=1 & 0": -0.35}
    return own.get(e.group, math.copysign(0.35, e.value))


def lists(
    count: int, size: int, few: int, *, recurring: bool = False, declared: bool = True
) -> Callable[[Rng], Result]:
    """Ranked lists with `few` candidates of one group in each; the same candidates recur, or new ones come."""

    def audit(rng: Rng) -> Result:
        ability = rng.normal(size=size) if recurring else np.zeros(size)
        score = ability + rng.normal(size=(count, size)) * (0.5 if recurring else 1.0)
        rows = {
            "s": score.ravel(),
            "list": np.repeat([f"list {i}" for i in range(count)], size),
            "group": np.tile(groups_of(few, size - few), count),
        }
        if not recurring:
            return eh.audit_predictions(rows, y_pred="s", groups="group", lists="list")
        rows["candidate"] = np.tile([f"candidate {i}" for i in range(size)], count)
        units = "candidate" if declared else ()
        return eh.audit_predictions(rows, y_pred="s", groups="group", lists="list", units=units)

    return audit


# --- labels
# ------------------------------------------------------------------------------------------------------


def labels(
    sizes: tuple[int, ...], base: float = 0.2, *, scored: bool = True, copies: int = 1, **more: Any
) -> Callable[[Rng], Result]:
    """Outcomes at a base rate, a calibrated score and a decision of it, alike for all groups."""

    def audit(rng: Rng) -> Result:
        n = sum(sizes)
        signal = rng.normal(size=n)
        cut = math.sqrt(2) * _normal_quantile(1 - base)
        y = signal + rng.normal(size=n) > cut
        s = 1 / (1 + np.exp(-2 * (signal - cut / 1.2)))
        rows: dict[str, Any] = {"group": groups_of(*sizes), "y": y, "p": s > 0.5}
        if scored:
            rows["s"] = s
        rows = {k: np.tile(v, copies) for k, v in rows.items()}
        if copies > 1:
            rows["person"] = np.tile(np.arange(n).astype(str), copies)
            more["units"] = "person"
        return eh.audit_predictions(
            rows,
            y_pred="p",
            y_true="y",
            groups="group",
            positive="True",
            **({"y_score": "s"} if scored else {}),
            **more,
        )

    return audit


def _normal_quantile(p: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(p))


def rates(sizes: tuple[int, ...], chance: tuple[float, ...]) -> Callable[[Rng], Result]:
    """Selections with a rate of its own for each group."""

    def audit(rng: Rng) -> Result:
        p = rng.random(sum(sizes)) < np.repeat(chance, sizes)
        return eh.audit_predictions(
            {"group": groups_of(*sizes), "p": p.astype(int)},
            y_pred="p",
            groups="group",
            task="classification",
            tolerance={"statistical parity": 0.1},
        )

    return audit


def rate_truth(chance: tuple[float, ...]) -> Truth:
    """Ratios and differences of the groups' rates; of a maximum the largest."""
    by_name = {f"group=g{i}": c for i, c in enumerate(chance)}

    def truth(found: eh.Finding) -> float | None:
        e = found.estimate
        if " of " in e.measure:
            if e.contrast == "ratio":
                if "largest" in e.measure:  # each against the reference, the largest group (the first)
                    return min(min(c, chance[0]) / max(c, chance[0]) for c in chance)
                return min(chance) / max(chance)
            return None
        if e.measure not in ("disparate impact", "selection rate") or e.reference not in by_name:
            return None
        a, b = by_name[e.group], by_name[e.reference]
        return a / b if e.contrast == "ratio" else a - b

    return truth


def unequal_odds(gap: float) -> Callable[[Rng], Result]:
    """400 + 400 positives found alike, and 20 + 20 negatives of whom one group is flagged `gap` more often."""

    def audit(rng: Rng) -> Result:
        y = np.tile(np.repeat([True, False], [400, 20]), 2)
        group = groups_of(420, 420)
        chance = np.where(y, 0.7, np.where(group == "g0", 0.2 + gap, 0.2))
        return eh.audit_predictions(
            {"group": group, "y": y, "p": rng.random(840) < chance},
            y_pred="p",
            y_true="y",
            groups="group",
            positive="True",
            tolerance={"equalised odds": 0.1, "average odds": 0.1},
        )

    return audit


def odds_truth(gap: float) -> Truth:
    """Only the claims about odds are looked at."""
    return lambda f: {"equalised odds": gap, "average odds": None}.get(f.estimate.measure)


def weighted_labels(rng: Rng) -> Result:
    """150 + 300 people; case weights are higher, and vary, among the selected."""
    n = 450
    p = rng.random(n) < 0.3
    weight = np.exp(rng.normal(size=n) * 0.8 + 0.7 * p)
    rows = {"group": groups_of(150, 300), "p": p, "w": weight}
    return eh.audit_predictions(rows, y_pred="p", groups="group", weight="w", positive="True")


def several_times(rng: Rng) -> Result:
    """60 people decided on 8 times each, alike but for their own chance."""
    chance = np.repeat(rng.beta(0.6, 1.4, size=60), 8)
    rows = {
        "group": np.repeat(np.repeat(["g0", "g1"], 30), 8),
        "p": rng.random(480) < chance,
        "person": np.repeat(np.arange(60), 8).astype(str),
    }
    return eh.audit_predictions(rows, y_pred="p", groups="group", units="person", positive="True")


def missing_labels(rng: Rng) -> Result:
    """1,000 people at rate .3; of the rejected of one group 40 % do not say which group is theirs."""
    group = groups_of(400, 600).astype(object)
    p = rng.random(1000) < 0.3
    group[(group == "g0") & ~p & (rng.random(1000) < 0.4)] = None
    return eh.audit_predictions(
        {"group": group, "p": p},
        y_pred="p",
        groups="group",
        positive="True",
        tolerance={"statistical parity": 0.1},
    )


WORLDS: tuple[World, ...] = (
    # --- text and scores
    World(
        name="20 + 20 names x 40 texts, alike",
        what="Terms nested in two groups and crossed with texts, everything normal, no gap; tolerance .1.",
        audit=names((20, 20), 40, term_sd=0.3),
        quick=300,
    ),
    World(
        name="true gap .09, tolerance .1",
        what="20 + 20 names x 40 texts, standard error .02, a true gap just inside the tolerance.",
        audit=names((20, 20), 40, gap=0.09),
        truth=mean_gap(0.09),
    ),
    World(
        name="true gap .0999, tolerance .1",
        what="The same at the edge of the tolerance, from inside: a disparity is false.",
        audit=names((20, 20), 40, gap=0.0999),
        truth=mean_gap(0.0999),
        quick=300,
    ),
    World(
        name="true gap .1001, tolerance .1",
        what="The same from outside: 'within tolerance' is false.",
        audit=names((20, 20), 40, gap=0.1001),
        truth=mean_gap(0.1001),
        quick=300,
    ),
    World(
        name="true gap .15, tolerance .1",
        what="Power at one and a half tolerances (standard error .02).",
        audit=names((20, 20), 40, gap=0.15),
        truth=mean_gap(0.15),
        power={"disparity": 0.5},
    ),
    World(
        name="true gap .20, tolerance .1",
        what="Power at two tolerances.",
        audit=names((20, 20), 40, gap=0.20),
        truth=mean_gap(0.20),
        power={"disparity": 0.97},
        quick=100,
    ),
    World(
        name="20 + 20 names x 1 text, normal",
        what="Names are the only sample: one text, two groups of 20 names.",
        audit=names((20, 20), 1, term_sd=1.0),
    ),
    World(
        name="12 + 60 names x 1 text, log-normal",
        what="A small and a large group of names with log-normal effects; one text.",
        audit=names((12, 60), 1, draw=lognormal, term_sd=1.0),
        quick=300,
    ),
    World(
        name="12 + 60 names x 10 texts, log-normal",
        what="The same names crossed with ten texts, text x group effects of sd .1.",
        audit=names((12, 60), 10, draw=lognormal, term_sd=1.0, both_sd=0.1),
    ),
    World(
        name="12 + 60 names x 10 texts, text x group .2",
        what="Small name effects (sd .1) beside text x group effects of sd .2: name means alone would miss them.",
        audit=names((12, 60), 10, draw=lognormal, term_sd=0.1, both_sd=0.2),
    ),
    World(
        name="3 + 20 names x 20 texts",
        what="Fewer names than a verdict needs: it is withheld.",
        audit=names((3, 20), 20, gap=0.3),
        truth=mean_gap(0.3),
        runs=300,
        silent=True,
        quick=30,
    ),
    World(
        name="5 + 5 names x 5 texts",
        what="Few of either dimension.",
        audit=names((5, 5), 5, term_sd=0.3, both_sd=0.1),
    ),
    World(
        name="one text x 80 names, live",
        what="The practice's own design, asked live: race and gender of 80 names in one text, no effect.",
        audit=practice,
        runs=1000,
        quick=100,
    ),
    World(
        name="12 single words x 10 texts, flag at 10 %",
        what="Groups that are single words, each against all others; a 0/1 score that fires at random.",
        audit=single_words(10, rare),
        quick=100,
    ),
    World(
        name="12 single words x 20 texts, flag at 10 %",
        what="The same with twenty texts.",
        audit=single_words(20, rare),
    ),
    World(
        name="12 single words x 20 texts, log-normal",
        what="The same with log-normal noise beside a normal effect of the text.",
        audit=single_words(20, skewed_texts),
    ),
    World(
        name="religions x 10 texts, flag at 10 %, live",
        what="Religions in templates, asked live; a 0/1 score that fires at random.",
        audit=twelve_live,
        runs=600,
    ),
    World(
        name="flag in 15 % of one group's texts, 5 seen",
        what="20 + 20 names x 5 texts; in most samples the flag never fires, yet the gap is .15: 'within' is false.",
        audit=flag_by_text,
        truth=mean_gap(0.15),
        quick=200,
    ),
    World(
        name="flag in 15 % of men's texts, 5 seen, live",
        what="The same, asked live with 8 + 8 names.",
        audit=live_flag,
        truth=male_first(0.15),
        runs=1000,
    ),
    World(
        name="40 labelled texts x 10 + 10 names",
        what="AUCs within and across subgroups where texts and names repeat; truth .744 for each.",
        audit=labelled,
        truth=truth_of_labelled,
        runs=600,
    ),
    World(
        name="case weights exp(.7 score), 60 + 200 rows",
        what="Case weights that go with the score.",
        audit=weighted_scores,
    ),
    World(
        name="scores offset by 1e12, gap .3",
        what="Scores whose spread is next to the precision of the numbers; the true gap is .3, 'within' is false.",
        audit=names((20, 20), 40, gap=0.3, term_sd=0.3, offset=1e12),
        truth=mean_gap(0.3),
        runs=600,
    ),
    # --- numbers
    World(
        name="numbers 60 + 100, normal",
        what="Predictions and outcomes of two groups that are alike.",
        audit=numbers((60, 100), normal, normal),
        quick=200,
        known={
            "coverage": "half of everybody is selected whatever happens, so the gap of rates at the median has steps of"
            " .027, and Newcombe's interval covers exactly 92.8 % of them; it is described, and no verdict rests on it"
        },
    ),
    World(
        name="numbers 30 + 300, log-normal",
        what="Log-normal predictions and errors, small beside large.",
        audit=numbers((30, 300), lognormal, lognormal),
        quick=200,
    ),
    World(
        name="numbers 40 + 200, t3",
        what="Heavy tails (Student's t, 3 df) in predictions and errors.",
        audit=numbers((40, 200), student, student),
    ),
    World(
        name="numbers 40 + 400, Pareto errors",
        what="Normal predictions whose errors are Pareto (tail index 3).",
        audit=numbers((40, 400), normal, pareto, pinball=0.5),
    ),
    World(
        name="numbers 8 strata x (2 + 10), normal",
        what="A factor held equal: two people beside ten in each of eight strata.",
        audit=strata((2, 10), 8, normal),
        runs=600,
    ),
    World(
        name="numbers 6 strata x (6 + 20), log-normal",
        what="The same with log-normal scores.",
        audit=strata((6, 20), 6, lognormal),
        runs=600,
    ),
    World(
        name="numbers 6 strata x (20 + 200), log-normal",
        what="The same with larger groups.",
        audit=strata((20, 200), 6, lognormal),
        runs=600,
    ),
    World(
        name="numbers, 4 attributes x 3 groups",
        what="600 people, predictions with outcomes; four attributes that mean nothing: one headline.",
        audit=crossed_attributes("numbers", (3, 3, 3, 3), 600),
        runs=1000,
        quick=30,
    ),
    World(
        name="numbers, 2 x 3 groups, control of 3",
        what="Attributes of two and three groups, with a legitimate factor of three levels.",
        audit=crossed_attributes("numbers", (2, 3), 600, 3),
        runs=600,
    ),
    World(
        name="400 + 400 people .5 sd apart, 28 groups of 8",
        what="A clear gap between large groups beside many small ones that have none: power of the headline.",
        audit=shifted((400, 400, *(8,) * 28), (0.0, 0.5, *(0.0,) * 28)),
        truth=largest_shift(0.5),
        runs=200,
        power={"disparity": 0.6},
    ),
    World(
        name="2,000 + 2,000 + 4 people, the four .8 sd off",
        what="A maximum with a component that is hardly known: 'within' is false.",
        audit=shifted((2000, 2000, 4), (0.0, 0.0, -0.8)),
        truth=largest_shift(0.8),
        runs=1000,
        quick=100,
    ),
    World(
        name="worst of 4 subgroups, two of 25 people .35 sd off",
        what="Two large subgroups at par and two small ones that are not: 'within' is false.",
        audit=worst_of_four,
        truth=worst_truth,
        runs=400,
    ),
    World(
        name="predictions offset by 1e12, .5 sd apart",
        what="100 + 100 predictions of standard deviation 1 around 1e12.",
        audit=shifted((100, 100), (0.5, 0.0), offset=1e12),
        truth=only_shift(0.5),
        runs=600,
    ),
    # --- rankings
    World(
        name="30 lists of 10, three of one group",
        what="Ranked lists of new candidates, no effect.",
        audit=lists(30, 10, 3),
    ),
    World(
        name="10 lists of 10, one of one group",
        what="Few lists, and one place a list.",
        audit=lists(10, 10, 1),
        quick=200,
    ),
    World(
        name="50 lists of 30, one of one group",
        what="One place among thirty: the exposure is skewed.",
        audit=lists(50, 30, 1),
    ),
    World(
        name="20 lists of the same 30 candidates",
        what="15 + 15 candidates who recur in every list, of abilities of their own.",
        audit=lists(20, 30, 15, recurring=True),
        quick=200,
    ),
    # --- labels
    World(
        name="labels 300 + 500 with scores",
        what="Outcomes at 20 %, a score and decisions; two groups that are alike.",
        audit=labels((300, 500)),
        quick=200,
    ),
    World(
        name="labels, groups of 4000, 3000, 90, 40, 15",
        what="Five equal groups, base rate 20 %.",
        audit=labels((4000, 3000, 90, 40, 15)),
        runs=1000,
        quick=100,
    ),
    World(
        name="labels, 25 people beside 2,000, base rate 6 %",
        what="25 people with 1.5 expected positives beside 2,000, decided by a score.",
        audit=labels((25, 2000), 0.06),
        quick=200,
    ),
    World(
        name="labels, 6 groups of 100 at 30 %",
        what="Equal groups of 100 people at rate .3.",
        audit=labels((100,) * 6, 0.3, scored=False),
        runs=1000,
    ),
    World(
        name="labels, 4 attributes x 3 groups",
        what="600 people, four attributes that mean nothing: one headline.",
        audit=crossed_attributes("labels", (3, 3, 3, 3), 600),
        runs=1000,
        quick=60,
    ),
    World(
        name="widest of 3, the third of 4 people",
        what="Rates .5, .5 and .2 in groups of 2,000, 2,000 and 4: 'within' is false.",
        audit=rates((2000, 2000, 4), (0.5, 0.5, 0.2)),
        truth=rate_truth((0.5, 0.5, 0.2)),
        quick=200,
    ),
    World(
        name="widest of 3, the third of 1 person",
        what="The same with a third group of one.",
        audit=rates((2000, 2000, 1), (0.5, 0.5, 0.2)),
        truth=rate_truth((0.5, 0.5, 0.2)),
    ),
    World(
        name="everyone is selected, 8 + 8",
        what="Rates .97 and .75 in groups of eight: often everybody is selected, and 'within' is false.",
        audit=rates((8, 8), (0.75, 0.97)),
        truth=rate_truth((0.75, 0.97)),
        quick=200,
    ),
    World(
        name="nobody is selected, 12 + 12",
        what="Rates .02 and .15 in groups of twelve: often nobody is selected, and 'within' is false.",
        audit=rates((12, 12), (0.15, 0.02)),
        truth=rate_truth((0.15, 0.02)),
    ),
    World(
        name="impact ratio .8, 400 + 800 people",
        what="Rates .24 and .30: at the edge of four fifths, a disparity is false.",
        audit=rates((400, 800), (0.2401, 0.30)),
        truth=rate_truth((0.2401, 0.30)),
        quick=200,
    ),
    World(
        name="equalised odds alike, 20 + 20 negatives",
        what="True positive rates of 400 + 400, false positive rates of 20 + 20; no gap.",
        audit=unequal_odds(0.0),
        truth=odds_truth(0.0),
        runs=1000,
    ),
    World(
        name="equalised odds, false positives .25 apart in 20 + 20",
        what="The same with a gap in the rate that is hardly known: 'within' is false.",
        audit=unequal_odds(0.25),
        truth=odds_truth(0.25),
        runs=1000,
        quick=100,
    ),
    World(
        name="case weights among the selected, 150 + 300",
        what="Case weights that are higher, and vary, among the selected.",
        audit=weighted_labels,
    ),
    World(
        name="every row four times",
        what="100 + 150 people, each row copied four times; persons are the units.",
        audit=labels((100, 150), copies=4, scored=False),
        runs=600,
    ),
    World(
        name="60 people decided on 8 times",
        what="Decisions about 30 + 30 people, each with a chance of their own; persons are the units.",
        audit=several_times,
        runs=600,
    ),
    World(
        name="group unknown for 40 % of one group's rejected",
        what="Equal rates, and group labels that are missing informatively.",
        audit=missing_labels,
        runs=600,
        quick=60,
    ),
)
"""The grid, in the order of the page."""
