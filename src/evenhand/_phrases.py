"""How each measure is told: one row a measure, and one a contrast for those that have none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

Scale = Literal["plain", "points", "ratio", "pairs"]
"""How a value is counted: as it is, in percentage points, as a ratio, in pairs of 100."""


class Phrase(NamedTuple):
    """How a measure is told.

    Args:
        question: what is asked, as a column's head names it.
        say: the sentence without its interval; {G} and {R} are the sides, {v} the size, {more} and {higher}
            the direction, {did} and {truth} the outcome and the true class, {X} the measure's name.
        scale: how the value is counted. fact: measures of one fact share it; `question` by default.
        rate: the row of the exhibit of rates that holds the two sides.
        contrast: the contrast that `say` is written for.
    """

    question: str
    say: str
    scale: Scale = "plain"
    fact: str = ""
    rate: str = ""
    contrast: str = "difference"


_ERROR = "{G}’s error ({X}) was {v} times {R}’s"
_RANKED = "the scores put pairs within {G} in the right order {more} often than within {R}, by {v} points"
PHRASES: Mapping[str, Phrase] = {
    "disparate impact": Phrase(
        "who {did}", "{G} {did} {v} times as often as {R}", "ratio", "selection", "selection rate", "ratio"
    ),
    "selection rate": Phrase(
        "who {did}", "{G} {did} {more} often than {R}, by {v} points", "points", "selection", "selection rate"
    ),
    "true positive rate": Phrase(
        "who of those with {truth} {did}",
        "of those with {truth}, {G} {did} {more} often than {R}, by {v} points",
        "points",
        rate="true positive rate",
    ),
    "false positive rate": Phrase(
        "who of those without {truth} {did}",
        "of those without {truth}, {G} {did} {more} often than {R}, by {v} points",
        "points",
        rate="false positive rate",
    ),
    "positive predictive value": Phrase(
        "{truth} among those who {did}",
        "of those who {did}, {G} had {truth} {more} often than {R}, by {v} points",
        "points",
        rate="positive predictive value",
    ),
    "false omission rate": Phrase(
        "{truth} among the others",
        "of those who did not, {G} had {truth} {more} often than {R}, by {v} points",
        "points",
        rate="false omission rate",
    ),
    "accuracy": Phrase(
        "accuracy", "{G} were classed rightly {more} often than {R}, by {v} points", "points", rate="accuracy"
    ),
    "AUC within the group": Phrase("order of the scores", _RANKED, "points"),
    "Brier score": Phrase("Brier score", _ERROR, "ratio", contrast="ratio"),
    "calibration in the large": Phrase(
        "calibration",
        "at equal scores {G} turned out to have {truth} {more} often than {R}, by {v} points",
        "points",
    ),
    "standardised mean difference": Phrase(
        "predictions", "{G} were predicted {v} standard deviations {higher} than {R}", fact="predictions"
    ),
    "average score": Phrase("predictions", "{G} were predicted {v} {higher} than {R}", fact="predictions"),
    "Hedges' g": Phrase(
        "predictions",
        "{G} were predicted {v} standard deviations {higher} than {R} (Hedges’ g)",
        fact="predictions",
    ),
    "adverse-impact AUC": Phrase(
        "predictions",
        "in {v} of 100 pairs {G} were predicted higher than {R} (even: 50)",
        "pairs",
        "predictions",
        contrast="AUC",
    ),
    "Kolmogorov–Smirnov distance": Phrase(
        "predictions",
        "the predictions of {G} and {R} lie {v} apart (Kolmogorov–Smirnov)",
        fact="predictions",
        contrast="distance",
    ),
    "Wasserstein distance": Phrase(
        "predictions",
        "the predictions of {G} and {R} lie {v} apart (Wasserstein)",
        fact="predictions",
        contrast="distance",
    ),
    "mean residual": Phrase(
        "predictions against outcomes", "held against the outcomes, {G} were predicted {v} {higher} than {R}"
    ),
    "RMSE": Phrase("RMSE", _ERROR, "ratio", "size of errors", contrast="ratio"),
    "MAE": Phrase("MAE", _ERROR, "ratio", "size of errors", contrast="ratio"),
    "exposure": Phrase(
        "attention by rank", "{G} got {v} times the attention of {R}", "ratio", contrast="ratio"
    ),
    "correlation with predictions": Phrase(
        "predictions", "the correlation of {G} with the predictions was {signed}", contrast="correlation"
    ),
    "attribute flip of decisions": Phrase(
        "the same people as another group",
        "as {G} instead of {R}, all else as it is, the same people {did} {more} often, by {v} points",
        "points",
    ),
    "attribute flip of predictions": Phrase(
        "the same people as another group",
        "as {G} instead of {R}, all else as it is, the same people were predicted {v} {higher}",
    ),
    "nearest-neighbour gap of decisions": Phrase(
        "nearest neighbours", "{G} {did} {more} often than the nearest {R}, by {v} points", "points"
    ),
    "nearest-neighbour gap of predictions": Phrase(
        "nearest neighbours", "{G} were predicted {v} {higher} than the nearest {R}"
    ),
    "mean bias amplification": Phrase(
        "ties of things to groups", "outputs tied things to groups {v} points {more} than {null}", "points"
    ),
    "directional amplification T→A": Phrase(
        "things → people", "outputs tied people to the things named {v} points {more} than {null}", "points"
    ),
    "directional amplification A→T": Phrase(
        "people → things", "outputs tied things to the people named {v} points {more} than {null}", "points"
    ),
    "representation": Phrase(
        "who is named",
        "among those whom the outputs name, {G} was {v} points {more} frequent than in the truth",
        "points",
    ),
    "coverage gap": Phrase(
        "who is left unnamed", "outputs left {G} unnamed {v} points {more} often than {null}", "points"
    ),
    "gender error": Phrase(
        "who is named wrongly", "outputs named a wrong group {v} points {more} often than {null}", "points"
    ),
    "mean flip rate": Phrase(
        "labels that flip",
        "moving words along {G} changed the label {v} points {more} often than {R} did",
        "points",
        contrast="excess over placebos",
    ),
    "asymmetry of flip rates": Phrase(
        "one way against the other",
        "labels changed unevenly between {G}, by {v} points {more} than between {R}",
        "points",
        contrast="excess over placebos",
    ),
    "asymmetry within labels": Phrase(
        "one way against the other",
        "labels changed unevenly between {G}, by {v} points {more} than between {R}",
        "points",
        contrast="excess over placebos",
    ),
}
"""Measure → how it is told."""
BY_CONTRAST: Mapping[str, Phrase] = {
    "ratio": Phrase("{X}", "{X} of {G} was {v} times that of {R}", "ratio", contrast="ratio"),
    "AUC": Phrase(
        "{X}", "by {X}, {G} came first in {v} of 100 pairs with {R} (even: 50)", "pairs", contrast="AUC"
    ),
    "distance": Phrase("{X}", "by {X}, {G} and {R} lie {v} apart", contrast="distance"),
    "difference": Phrase("{X}", "{X} was {v} {higher} for {G} than for {R}"),
    "correlation": Phrase("{X}", "{X} of {G} was {signed}", contrast="correlation"),
    "mean within texts": Phrase("{X}", "{X} of {G} was {signed}", contrast="mean within texts"),
}
"""How measures without a row are told."""
SAME_TEXTS = Phrase("{X}", "the same texts scored {v} {higher} on {X} with {G} than with {R}")
RECORDED = Phrase("{X}", "{X} was {v} {higher} with {G} than with {R}")
