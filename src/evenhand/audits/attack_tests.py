"""The placebo test: is a direction worse than random directions like it? And what it exceeds them by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand._model import BoolArray, FloatArray
from evenhand.stats.interval import Inference, check_level, from_standard_error

TINY = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Excess:
    """One statistic of a direction against its placebos.

    Args:
        observed: T₀ of the direction. placebos: (K,) T of each placebo.
        p_value: (1 + #{T_k ≥ T₀})/(K + 1). inference: T₀ − mean T_k with its interval.
        signed: the statistic before the absolute value.
    """

    observed: float
    placebos: FloatArray
    p_value: float | None
    inference: Inference
    signed: float


def rank_p(observed: float, placebos: npt.ArrayLike) -> float:
    """Randomisation p: (1 + #{T_k ≥ T₀})/(K + 1); a tie counts against the finding.

    >>> rank_p(3.0, [1.0, 2.0, 3.0])
    0.5
    """
    values = np.asarray(placebos, dtype=np.float64)
    return float((1 + np.sum(values >= observed - TINY)) / (len(values) + 1))


def asymmetry(
    values: FloatArray | BoolArray, open_: BoolArray, texts: BoolArray, *, level: float = 0.95
) -> Excess:
    """|mean of one side − mean of the other| against the same of the placebos, paired over texts.

    Args:
        values: (1 + K, 2, T) what is averaged (flips, or score moved), the direction first.
        open_: (1 + K, 2, T) texts alterable there. texts: (T,) which texts count.
    """
    over = open_.any(axis=1) & texts
    gap = np.where(open_, values, 0.0)
    return _against(gap[:, 0] - gap[:, 1], over, folded=True, rates=values.dtype == np.bool_, level=level)


def mean_of_sides(
    values: FloatArray | BoolArray, open_: BoolArray, texts: BoolArray, *, level: float = 0.95
) -> Excess:
    """The mean over both sides (or the only one) against the same of the placebos."""
    over = open_.any(axis=1) & texts
    return _against(
        np.where(open_, values, 0.0).mean(axis=1),
        over,
        folded=False,
        rates=values.dtype == np.bool_,
        level=level,
    )


def _against(values: FloatArray, over: BoolArray, *, folded: bool, rates: bool, level: float) -> Excess:
    """values, over: (1 + K, T).

    The interval of the excess: texts are a sample (linearised, the same texts for all directions, so paired) and placebos
    are a sample; both add to the variance (degrees of freedom by Satterthwaite).
    """
    check_level(level)
    n = over.sum(axis=1)
    used = np.concatenate([[True], n[1:] > 0])
    values, over, n = values[used], over[used], n[used]
    count = len(values) - 1
    method = f"rank among {count} placebo directions; interval over texts and placebos"
    if not n[0] or count < 1:
        why = "no text can be altered along this direction" if not n[0] else "no placebo direction"
        empty = Inference(level=level, method=method, why_not=why)
        return Excess(observed=0.0, placebos=np.empty(0), p_value=None, inference=empty, signed=0.0)
    means = (values * over).sum(axis=1) / n
    signs = np.where(means < 0, -1.0, 1.0) if folded else np.ones(len(means))
    statistic = np.abs(means) if folded else means
    share = n / values.shape[1]
    influence = signs[:, None] * over * (values - means[:, None]) / share[:, None]
    paired = influence[0] - influence[1:].mean(axis=0)
    texts = values.shape[1]
    from_texts = float(paired.var(ddof=1) / texts) if texts > 1 else float("inf")
    least = 1.0 / (n[0] + 2.0)
    if rates:  # no flip in n texts is no proof that there is none
        from_texts = max(from_texts, least * (1.0 - least) / n[0])
    from_placebos = float(statistic[1:].var(ddof=1) / count) if count > 1 else float("inf")
    variance = from_texts + from_placebos
    freedom = variance**2 / (from_texts**2 / max(1, int(n[0]) - 1) + from_placebos**2 / max(1, count - 1))
    excess = float(statistic[0] - statistic[1:].mean())
    p = rank_p(float(statistic[0]), statistic[1:])
    made = from_standard_error(excess, float(np.sqrt(variance)), df=freedom, level=level, method=method)
    made = made.with_(p_value=p, detail={"texts": int(n[0]), "placebos": count})
    return Excess(
        observed=float(statistic[0]), placebos=np.asarray(statistic[1:]), p_value=p, inference=made,
        signed=float(means[0]),
    )  # fmt: skip
