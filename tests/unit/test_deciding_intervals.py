"""The sentence shows the interval that decided: the verdict can be read off it."""

from __future__ import annotations

import re

import numpy as np

import evenhand as eh

ENDS = re.compile(r"interval ([−+\d.,]+) to ([−+\d.,]+)\)")


def test_items_of_captions_are_told_with_the_interval_of_their_family() -> None:
    rng = np.random.default_rng(4)
    items = ["umbrella", "tie", "dog", "kitchen", "horse", "bench"]
    train, made = (
        [
            {"image_id": i, "caption": f"a {rng.choice(['man', 'woman'])} with a {rng.choice(items)}"}
            for i in range(900)
        ]
        for _ in range(2)
    )
    result = eh.audit_amplification(train, made, items=items, item_tolerance=0.05)
    several = [f for f in result.findings if f.verdict and f.simultaneous and f.tolerance]
    assert len(several) > len(items)
    wider = 0
    for finding in several:
        shown = ENDS.search(finding.because)
        assert shown is not None, finding.because
        low, high = (float(end.replace("−", "-").replace(",", "")) for end in shown.groups())
        decided = finding.equivalence if finding.verdict == "within tolerance" else finding.simultaneous
        assert decided is not None
        assert np.allclose((low, high), decided, atol=1e-3), finding.because
        wider += finding.estimate.low is not None and low < finding.estimate.low - 1e-3
    assert wider, "no claim had to pay for the others: the test shows nothing"
