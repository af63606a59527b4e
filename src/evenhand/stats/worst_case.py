"""What numbers that nobody has seen could have been: bounds that hold whyever they are missing."""

from __future__ import annotations


def slack_of(
    means: tuple[float, float], missing: tuple[float, float], ends: tuple[float, float]
) -> tuple[float, float]:
    """How far down and up a difference of means can move, whatever the missing numbers are.

    With π the share that is missing and [l, u] the range of the numbers, the mean of all lies between
    (1 − π)m + πl and (1 − π)m + πu.

    Args:
        means: of those known, of the group and of the reference. missing: shares, in [0, 1]. ends: l, u.

    Returns:
        two numbers of at least 0.

    Source: Manski (1989), Anatomy of the selection problem, Journal of Human Resources 24:343.

    >>> tuple(round(v, 3) for v in slack_of((0.6, 0.5), (0.2, 0.0), (0.0, 1.0)))
    (0.12, 0.08)
    """
    (m, other), (p, q), (low, high) = means, missing, ends
    return p * (m - low) + q * (high - other), p * (high - m) + q * (other - low)
