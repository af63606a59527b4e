"""Any result at all survives its JSON."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand._model import Estimate, Exhibit, Finding
from evenhand._record import Note
from evenhand._result import Result

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
reals = st.floats(allow_nan=True, allow_infinity=True)
maybe = st.none() | reals
cells = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
json_values = st.recursive(
    cells | reals, lambda v: st.lists(v, max_size=3) | st.dictionaries(text, v, max_size=3), max_leaves=8
)

estimates = st.builds(
    Estimate,
    measure=text, contrast=text, group=text, reference=text, given=st.none() | text, value=maybe, low=maybe, high=maybe,
    p_value=maybe, p_adjusted=maybe, n=st.integers(0), n_group=st.none() | st.integers(0),
    units=st.dictionaries(text, st.integers(0), max_size=3), method=text, why_not=st.none() | text,
)  # fmt: skip
bounds = st.floats(allow_nan=False)
findings = st.builds(
    Finding,
    estimate=estimates,
    tolerance=st.none()
    | st.tuples(bounds.filter(lambda v: v < float("inf")), bounds.filter(lambda v: v > -float("inf"))),
    verdict=st.sampled_from([None, "disparity", "within tolerance", "inconclusive"]),
    because=text,
    rests_on=st.none() | text,
    detectable=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    family=text,
)
columns = st.integers(0, 4).flatmap(
    lambda n: st.dictionaries(text, st.lists(cells, min_size=n, max_size=n), max_size=3)
)
results = st.builds(
    Result,
    audit=st.sampled_from(["text", "scores", "predictions", "amplification", "attack"]),
    title=text,
    findings=st.lists(findings, max_size=3).map(tuple),
    exhibits=st.dictionaries(text, st.builds(Exhibit, title=text, columns=columns, note=text), max_size=2),
    notes=st.lists(
        st.builds(Note, slug=text, level=st.sampled_from(["info", "warning"]), text=text), max_size=2
    ).map(tuple),
    counts=st.dictionaries(text, st.integers(), max_size=3),
    provenance=st.dictionaries(text, json_values, max_size=3),
    complete=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(results)
def test_any_result_survives_its_json(made: Result) -> None:
    """What is read back equals what was written, and writing it again gives the same bytes."""
    written = made.to_json()
    back = Result.from_json(json.loads(written, parse_constant=lambda c: 1 / 0))
    assert back == made
    assert back.to_json() == written
    assert list(back.exhibits) == list(made.exhibits)
