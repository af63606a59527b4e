"""Every sentence of the judge, word for word, by verdict and contrast: it claims what the intervals show."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from evenhand._errors import UsageError
from evenhand._estimate import Evidence, evidence, without_group
from evenhand._judge import judge, tolerance_of
from evenhand._model import Estimate
from evenhand.stats.interval import from_standard_error

MORE = " With this design a true gap of 0.184 would have been called a disparity four times in five."


def claim(
    value: float, se: float, *, contrast: str = "difference", measure: str = "mean score", **more: object
) -> Evidence:
    """A claim of A against B with a normal interval."""
    estimate = Estimate(measure=measure, contrast=contrast, group="group=A", reference="group=B")
    log = contrast == "ratio"
    made = from_standard_error(math.log(value) if log else value, se)
    if log:
        low, high = math.exp(made.low or 0.0), math.exp(made.high or 0.0)
        made = made.with_(value=value, low=low, high=high, detail={"scale_of_se": "log"})
    found = evidence(estimate, made)
    return found if not more else type(found)(**{**{s: getattr(found, s) for s in found.__slots__}, **more})


def sentence(made: Evidence, tolerance: tuple[float, float] = (-0.1, 0.1)) -> tuple[str | None, str]:
    """(verdict, sentence) of a family of one."""
    (finding,) = judge([made], tolerance=tolerance)
    return finding.verdict, finding.because


@pytest.mark.parametrize(
    ("value", "se", "verdict", "said"),
    [
        (
            0.25,
            0.03,
            "disparity",
            "mean score: A minus B is +0.250 (95 % interval +0.191 to +0.309): shown to be larger than the tolerance"
            " of ±0.1.",
        ),
        (
            -0.25,
            0.03,
            "disparity",
            "mean score: A minus B is −0.250 (95 % interval −0.309 to −0.191): shown to be larger than the tolerance"
            " of ±0.1.",
        ),
        (
            0.12,
            0.03,
            "gap",
            "mean score: A minus B is +0.120 (95 % interval +0.061 to +0.179): there is a gap; whether it exceeds the"
            " tolerance of ±0.1 is not settled (the estimate lies beyond it)." + MORE,
        ),
        (
            -0.08,
            0.03,
            "gap",
            "mean score: A minus B is −0.080 (95 % interval −0.139 to −0.021): there is a gap; whether it exceeds the"
            " tolerance of ±0.1 is not settled (the estimate lies inside it)." + MORE,
        ),
        (
            0.0,
            0.03,
            "within tolerance",
            "mean score: A minus B is +0.000 (90 % interval −0.049 to +0.049): whatever the true gap is, it is smaller"
            " than the tolerance of ±0.1.",
        ),
        (
            0.04,
            0.01,
            "within tolerance",
            "mean score: A minus B is +0.040 (90 % interval +0.024 to +0.056): there is a gap, and it is smaller than"
            " the tolerance of ±0.1.",
        ),
        (
            -0.04,
            0.01,
            "within tolerance",
            "mean score: A minus B is −0.040 (90 % interval −0.056 to −0.024): there is a gap, and it is smaller than"
            " the tolerance of ±0.1.",
        ),
        (
            0.05,
            0.032,
            "inconclusive",
            "mean score: A minus B is +0.050 (95 % interval −0.013 to +0.113): the data can tell neither that there is"
            " a gap nor that it is smaller than the tolerance of ±0.1. With this design a true gap of 0.19 would have"
            " been called a disparity four times in five.",
        ),
    ],
)
def test_a_difference_is_said_as_it_was_shown(value: float, se: float, verdict: str, said: str) -> None:
    """The four verdicts, on both sides of equality; a gap inside the tolerance is still a gap."""
    assert sentence(claim(value, se)) == (verdict, said)


def test_a_ratio_is_said_in_times_with_both_ways_of_what_would_be_found() -> None:
    """Tolerance with its two ends; the ratio that would be found stands beside its inverse."""
    verdict, said = sentence(claim(0.9, 0.12, contrast="ratio", measure="disparate impact"), (0.8, 1.25))
    assert verdict == "inconclusive"
    assert said == (
        "disparate impact: A has 0.900 times the value of B (95 % interval 0.711 to 1.139): the data can tell neither"
        " that there is a gap nor that it is smaller than the tolerance of 0.8 to 1.25. With this design a true ratio"
        " of 0.572, or of 1.750, would have been called a disparity four times in five."
    )
    verdict, said = sentence(claim(0.5, 0.1, contrast="ratio", measure="disparate impact"), (0.8, 1.25))
    assert verdict == "disparity"
    assert said == (
        "disparate impact: A has 0.500 times the value of B (95 % interval 0.411 to 0.608): shown to be larger than"
        " the tolerance of 0.8 to 1.25."
    )


@pytest.mark.parametrize(
    ("value", "se", "tolerance", "ends"),
    [
        (0.1400002, 0.02, (-0.1, 0.1), "+0.1008 to +0.179"),  # 0.10080: on its side of 0.1 with three digits
        (0.13921, 0.02, (-0.1, 0.1), "+0.10001 to +0.178"),  # three digits would touch the tolerance
        (0.0392, 0.02, (-0.05, 0.05), "+0.00000072 to +0.078"),  # and here equality
        (0.0, 1e-5, (-0.1, 0.1), "−0.0000164 to +0.0000164"),  # small numbers keep three figures
    ],
)
def test_a_printed_end_lies_on_its_true_side(
    value: float, se: float, tolerance: tuple[float, float], ends: str
) -> None:
    """Rounding never carries an end across equality or the tolerance."""
    _, said = sentence(claim(value, se), tolerance)
    printed = said[said.index("interval ") + 9 : said.index(")")]
    low, high = (float(end.replace("−", "-")) for end in printed.split(" to "))
    (finding,) = judge([claim(value, se)], tolerance=tolerance)
    span = finding.equivalence if finding.verdict == "within tolerance" else finding.simultaneous
    assert span is not None
    for shown, true in zip((low, high), span, strict=True):
        for edge in (0.0, *tolerance):
            assert (shown > edge) == (true > edge)
            assert (shown < edge) == (true < edge)
    assert printed.endswith(ends.split(" to ")[1])


def test_what_is_missing_and_what_would_decide_is_said() -> None:
    """An uncompared group, and what the method itself says would be needed."""
    made = claim(0.05, 0.032, incomplete="C (mean score)", needed="29 names a side would do.")
    verdict, said = sentence(made)
    assert verdict == "inconclusive"
    assert (
        " Not everything could be compared: C (mean score). 29 names a side would do. With this design"
        in said
    )


def test_what_could_not_be_compared_forbids_within_and_nothing_else() -> None:
    """The same numbers, one group without an interval."""
    assert sentence(claim(0.0, 0.03, incomplete="C"))[0] == "inconclusive"
    assert sentence(claim(0.25, 0.03, incomplete="C"))[0] == "disparity"


def test_a_claim_without_a_p_value_is_judged_by_its_interval() -> None:
    """An exact bound has no p; one that is large withholds a gap."""
    alone = claim(0.25, 0.03).with_estimate(p_value=None)
    assert sentence(alone)[0] == "disparity"
    assert sentence(claim(0.25, 0.03).with_estimate(p_value=0.2))[0] == "inconclusive"


def test_no_interval_is_said_with_its_reason() -> None:
    """What is not known is not drawn."""
    estimate = Estimate(
        measure="m", contrast="difference", group="g=A", reference="g=B", value=0.1, why_not="one row only"
    )
    verdict, said = sentence(Evidence(estimate=estimate))
    assert (verdict, said) == ("inconclusive", "The data can tell neither: one row only.")


@pytest.mark.parametrize("value", [0.0, -0.5, 1.5, 1.0000001])
def test_the_tolerance_of_a_ratio_lies_above_0_and_up_to_1(value: float) -> None:
    """0.8 means 0.8 to 1.25; 1 means equality alone."""
    assert tolerance_of(1.0, ratio=True) == (1.0, 1.0)
    assert tolerance_of(0.8, ratio=True) == (0.8, 1.25)
    with pytest.raises(UsageError, match="bad-tolerance"):
        tolerance_of(value, ratio=True)


@pytest.mark.parametrize("value", [0.0, -1e-17, 3e-16])
def test_rounding_errors_of_sums_are_told_as_0(value: float) -> None:
    """A difference of equal sums is no −0.0000000000000001."""
    assert "A minus B is +0.000 (" in sentence(claim(value, 0.03))[1]


@pytest.mark.parametrize("value", [-0.5, -1e-9, float("inf"), float("nan")])
def test_the_tolerance_of_a_difference_is_a_number_of_at_least_0(value: float) -> None:
    """0 is a tolerance; less, endless or no number is none."""
    assert tolerance_of(0.0) == (0.0, 0.0)
    with pytest.raises(UsageError, match="bad-tolerance"):
        tolerance_of(value)


def test_rows_without_a_group_are_said_to_be_allowed_for_or_to_overturn() -> None:
    """The same verdict without them is one short sentence; another one is named with its interval."""
    same = replace(claim(0.0, 0.03), known=claim(0.0, 0.02), doubt=without_group(12))
    assert sentence(same)[1].endswith(
        " This allows for every group that the 12 rows without a group may belong to."
    )
    other = replace(claim(0.05, 0.032), known=claim(0.25, 0.03), doubt=without_group(1200))
    assert sentence(other)[1].endswith(
        ' The rows whose group is known would make it "disparity" (+0.191 to +0.309); that does not survive the worst'
        " case of the 1,200 rows without a group."
    )
