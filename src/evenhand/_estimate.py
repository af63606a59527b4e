"""An inference as an estimate, with everything that the judge needs.

`Evidence` is an estimate together with the numbers that a verdict is made of but a reader rarely wants: the
interval of the equivalence test, and what the estimate rests on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand._model import Estimate
from evenhand.stats.interval import Inference, quantile
from evenhand.stats.power import detectable as smallest_detectable


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """An estimate and what its verdict is made of.

    Args:
        estimate: what the reader sees.
        narrow: interval at level 1 − 2α: inside the tolerance it shows equivalence (two one-sided tests).
        detectable: smallest gap found with 80 % power by this design, on the contrast's scale.
        rests_on: what carries the estimate, in words.
        blind: True where the subject did not react to the difference between the groups in any unit.
        sides: the two summaries that were compared, for those who look closer.
    """

    estimate: Estimate
    narrow: tuple[float, float] | None = None
    detectable: float | None = None
    rests_on: str | None = None
    blind: bool = False
    sides: tuple[Any, Any] | None = None

    def with_estimate(self, **changes: Any) -> Evidence:
        """A copy whose estimate has some fields changed."""
        return replace(self, estimate=self.estimate.with_(**changes))


def evidence(estimate: Estimate, inference: Inference) -> Evidence:
    """An inference as an estimate with its verdict numbers."""
    alpha = 1.0 - inference.level
    narrow = None
    if inference.se is not None and inference.value is not None and inference.low is not None:
        reach = inference.se * quantile(1.0 - alpha, inference.df)
        narrow = (inference.value - reach, inference.value + reach)
    filled = estimate.with_(
        value=inference.value,
        low=inference.low,
        high=inference.high,
        level=inference.level,
        p_value=inference.p_value,
        method=inference.method,
        why_not=inference.why_not,
    )
    return Evidence(
        estimate=filled,
        narrow=narrow,
        detectable=_detectable(estimate.contrast, inference, alpha),
        blind=inference.se == 0.0 and inference.value == 0.0,
    )


def _detectable(contrast: str, found: Inference, alpha: float) -> float | None:
    se = found.se
    if se is None and found.low is not None and found.high is not None and contrast == "difference":
        se = (found.high - found.low) / 2 / quantile(1 - alpha / 2, None)
    if not se or found.value is None or found.low is None or contrast == "distance":
        return None
    gap = smallest_detectable(se, df=found.df, alpha=alpha)
    if gap is None:
        return None
    return 1.0 - float(np.exp(-gap)) if found.detail.get("scale_of_se") == "log" else gap


def exact_where_constant(inference: Inference) -> Inference:
    """Every unit shows the very same gap: no standard error, but an exact sign test over the scarcest units.

    Under exchangeable groups each unit's sign is a fair coin, so p = 2·2⁻ⁿ (1 for a gap of 0).
    """
    if inference.se != 0.0 or inference.value is None:
        return inference
    sizes = [int(n) for n in inference.detail.get("units", {}).values()]
    n = min(sizes) if sizes else int(min(inference.detail.get("n_a", 1), inference.detail.get("n_b", 1)))
    value = 0.0 if abs(inference.value) < 1e-12 else inference.value
    p_value = 1.0 if value == 0.0 else min(1.0, 2.0 * 0.5**n)
    return inference.with_(
        value=value,
        low=value,
        high=value,
        p_value=p_value,
        why_not=None,
        method=f"all {n} units show exactly this gap; p by an exact sign test",
    )
