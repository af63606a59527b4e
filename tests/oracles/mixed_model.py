"""A linear mixed model by REML: the textbook's answer to crossed samples, as a check of `crossed.difference`.

score = group + term (within group) + text + text × group + residual, all but `group` random and normal. Dense algebra on
the cells, so for small designs; `difference` needs no such limit and no normality.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand._model import FloatArray
from evenhand.stats.crossing import prepare
from evenhand.stats.interval import Inference, check_level, from_standard_error

MOST_CELLS = 1500
"""Cells beyond which the dense factorisation takes too long."""


def mixed_model(
    score: npt.ArrayLike,
    *,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    text: npt.ArrayLike,
    term: npt.ArrayLike,
    level: float = 0.95,
) -> Inference:
    """The group difference (a − b) of a mixed model with crossed random terms and texts, fitted by REML.

    Args:
        score: (n,) scores; rows of one cell (text, term) are averaged. a, b: (n,) masks of the two groups.
        text, term: (n,) integer codes.

    Returns:
        generalised least squares estimate; df by the conservative rule
        min(terms of a, terms of b, texts) − 1. ``detail["variance"]`` holds the variance components. why_not beyond
        1,500 cells, or where a group has fewer than 2 terms or texts.

    Raises:
        UsageError: as `difference`.

    Source: Patterson & Thompson (1971) for REML; Baayen, Davidson & Bates (2008) for crossed random effects.

    >>> rng = np.random.default_rng(0)
    >>> t, n = np.divmod(np.arange(48), 8)
    >>> x = rng.normal(size=8)[n] + rng.normal(size=6)[t] + 0.1 * rng.normal(size=48) + 5.0 * (n < 4)
    >>> i = mixed_model(x, a=n < 4, b=n >= 4, text=t, term=n)
    >>> i.low < 5 < i.high
    True
    """
    check_level(level)
    method = "mixed model (REML), crossed random terms and texts"
    units = {"text": text, "term": term}
    crossing = prepare(score, a=a, b=b, units=units, over=("text", "term"))
    rows, (texts, terms) = crossing.whole(), crossing.dimensions
    sizes = [int(s) for d in (texts, terms) for s in d.sizes()]
    if min(sizes, default=0) < 2:
        why = "a group has fewer than two texts or terms"
        return Inference(level=level, method=method, why_not=why)
    key = (rows.side * len(texts.levels) + rows.codes[0]) * len(terms.levels) + rows.codes[1]
    cells, index = np.unique(key, return_inverse=True)
    if len(cells) > MOST_CELLS:
        why = f"{len(cells)} cells; the mixed model is offered up to {MOST_CELLS}: use the crossed difference"
        return Inference(level=level, method=method, why_not=why)
    y = np.bincount(index, rows.score) / np.bincount(index)
    term_code = cells % len(terms.levels)
    pair = cells // len(terms.levels)
    side, text_code = pair // len(texts.levels), pair % len(texts.levels)
    X = np.column_stack([np.ones(len(y)), (side == 0).astype(float)])
    kernels = [
        np.equal.outer(c, c).astype(float) for c in (term_code + len(terms.levels) * side, text_code, pair)
    ]
    if float(np.ptp(y)) <= 1e-12 * max(crossing.scale, 1e-300):
        return Inference(value=0.0, level=level, method=method, why_not="no variation between the units")
    ratios, value, variance, sigma2 = _fit(y, X, kernels)
    names = ("term", "text", "text × group")
    detail = {"variance": dict(zip(names, (ratios * sigma2).tolist(), strict=True)) | {"residual": sigma2}}
    df = float(min(sizes) - 1)
    return from_standard_error(
        value, float(np.sqrt(variance)), df=df, level=level, method=method, detail=detail
    )


def _profile(
    ratios: FloatArray, y: FloatArray, X: FloatArray, kernels: list[FloatArray]
) -> tuple[float, float, float, float]:
    """(−2 × restricted log-likelihood up to a constant, slope, its variance, σ²) at given variance ratios."""
    V = np.eye(len(y)) + sum(r * K for r, K in zip(ratios, kernels, strict=True))
    L = np.linalg.cholesky(V)
    Z = np.linalg.solve(L, np.column_stack([X, y]))
    XX = Z[:, :2].T @ Z[:, :2]
    beta = np.linalg.solve(XX, Z[:, :2].T @ Z[:, 2])
    rest = Z[:, 2] - Z[:, :2] @ beta
    n = len(y) - 2
    sigma2 = float(rest @ rest) / n
    minus2 = n * np.log(max(sigma2, 1e-300)) + 2 * float(np.log(np.diag(L)).sum()) + np.linalg.slogdet(XX)[1]
    return float(minus2), float(beta[1]), float(sigma2 * np.linalg.inv(XX)[1, 1]), sigma2


def _fit(y: FloatArray, X: FloatArray, kernels: list[FloatArray]) -> tuple[FloatArray, float, float, float]:
    """REML over the square roots of the variance ratios, so that 0 is inside the search space."""
    from scipy.optimize import minimize

    found = minimize(
        lambda root: _profile(root**2, y, X, kernels)[0],
        np.array([0.7, 0.7, 0.3]),
        method="Nelder-Mead",
        options={"xatol": 1e-4, "fatol": 1e-6, "maxiter": 400},
    )
    ratios = np.asarray(found.x**2, dtype=float)
    _, value, variance, sigma2 = _profile(ratios, y, X, kernels)
    return ratios, value, variance, sigma2
