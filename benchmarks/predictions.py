"""Predictions: this table with intervals beside one sort and beside peers, as ratios in one run on the same data.

    python -m benchmarks predictions, or python -m benchmarks.predictions [--rows 1000000]

The table is timed from columns in memory to findings: values, 95 % intervals, p-values, verdicts. What comes before it
when a user passes raw arrays (reading, checks, labels → codes) and after it (distances, curves, exhibits) is timed apart,
and both are in "the whole audit". holisticai and fairlearn are timed where they are installed. CPU seconds, best of
several. Files that do not fit into memory: benchmarks/streaming.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import _figures
from benchmarks._figures import Figure, show

TABLE = (
    "disparate impact",
    "average score",
    "standardised mean difference",
    "adverse-impact AUC",
    "concurrent validity",
    "RMSE",
)
"""Three impact ratios, and the others for everyone and for the top: 12 comparisons. Validity and RMSE overall make 14."""
QUANTILES = [0.9, 0.8, 0.5]


def cpu(work: Callable[[], Any], repeat: int = 7) -> float:
    """Best CPU seconds of a few runs."""
    return _figures.cpu(work, repeat)[0]


def people(n: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Two groups, correlated outcomes and predictions."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return {"y": y, "p": 0.6 * y + rng.normal(size=n), "g": rng.integers(0, 2, n).astype(np.int8)}


def checked(rows: dict[str, np.ndarray]) -> Any:
    """The columns as an audit holds them after its checks."""
    from evenhand import Factor
    from evenhand.audits.predictions.rows import Rows

    groups = Factor(rows["g"].astype(np.int32), ("0", "1"))
    return Rows(columns={"y_pred": rows["p"], "y_true": rows["y"]}, groups={"g": groups})


def table(rows: Any) -> int:
    """The 14 measures of the regression table with 95 % intervals; how many have one."""
    from evenhand._analysis import Analysis
    from evenhand._compare import against, compare, kept
    from evenhand._declared import Declared
    from evenhand.audits.predictions.claims import number_claims
    from evenhand.audits.predictions.sources import from_rows
    from evenhand.measures.contrasts import correlation_of
    from evenhand.measures.regression import RMSE, VALIDITY
    from evenhand.stats.moments import estimate

    counted = from_rows(rows, QUANTILES, crossing=False)
    source, declared = counted.source, Declared()
    cells = source.cells(source.attributes[0], None)
    claims = kept(number_claims(counted.scale, QUANTILES, declared, source.everyone), TABLE)
    analysis = Analysis()
    compare(against(cells, cells[0]), claims, declared, analysis, family="g")
    analysis.settle()
    overall = correlation_of(VALIDITY, source.everyone.moments, 0.95)
    _, error = estimate(RMSE.value, source.everyone.moments)
    return (
        sum(f.estimate.low is not None for f in analysis.findings)
        + (overall.low is not None)
        + bool(error > 0)
    )


def parts(rows: Any) -> dict[str, float]:
    """CPU seconds of the table's three passes over the rows."""
    from evenhand._labels import grouping
    from evenhand.audits.predictions.cells import _moments, cells_of, prepare
    from evenhand.stats.histogram import auc

    made, codes = prepare(rows, QUANTILES), rows.groups["g"].codes
    a, b = cells_of(made, grouping("g", rows.groups["g"]))

    def area() -> None:
        a.scores.placed = None  # what it remembers of the last call
        auc(a.scores, b.scores)

    return {
        "  of which sorting with the groups, thresholds": cpu(lambda: prepare(rows, QUANTILES)),
        "  of which sums": cpu(lambda: _moments(made, codes, 2, slice(None))),
        "  of which the area with DeLong's interval": cpu(area),
    }


def calls(rows: dict[str, np.ndarray]) -> dict[str, float]:
    """CPU seconds of what a user calls, from raw arrays."""
    import evenhand as eh
    from evenhand._analysis import Analysis
    from evenhand.audits.predictions.roles import Roles, gather
    from evenhand.audits.predictions.rows import rows_of

    roles: dict[str, Any] = {"y_true": "y", "y_pred": "p", "groups": "g"}
    call = {**roles, "reference": "0"}
    return {
        "reading and checking raw arrays": cpu(
            lambda: rows_of(*gather(rows, Roles(**roles)), missing="drop", analysis=Analysis())
        ),
        "eh.measures.adverse_impact_auc": cpu(
            lambda: eh.measures.adverse_impact_auc(rows["p"], group=rows["g"], reference=0)
        ),
        "the whole audit: every claim, curves, exhibits": cpu(lambda: eh.audit_predictions(rows, **call), 3),
        "the whole audit with 1,000 bootstrap replicates": cpu(
            lambda: eh.audit_predictions(rows, **call, replicates=1000), 1
        ),
    }


def peers(rows: dict[str, np.ndarray]) -> dict[str, float | None]:
    """CPU seconds of the peers; None for those that are not installed."""
    times: dict[str, float | None] = {}
    a, b = rows["g"] == 1, rows["g"] == 0
    try:
        from holisticai.bias.metrics import regression_bias_metrics

        times["holisticai regression_bias_metrics (no intervals)"] = cpu(
            lambda: regression_bias_metrics(a, b, rows["p"], rows["y"], metric_type="both"), 1
        )
    except ImportError:
        times["holisticai"] = None
    try:
        from fairlearn.metrics import MetricFrame
        from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

        three = {"mse": mean_squared_error, "mae": mean_absolute_error, "r2": r2_score}
        cuts = np.quantile(rows["p"], QUANTILES)
        same = {
            **{
                f"selected at {q}": lambda _, p, cut=cut: np.mean(p > cut)
                for q, cut in zip(QUANTILES, cuts, strict=True)
            },
            "mean": lambda _, p: np.mean(p),
            "sd": lambda _, p: np.std(p),
            "validity": lambda y, p: np.corrcoef(y, p)[0, 1],
            "mse": mean_squared_error,
        }
        for name, metrics in (("3 metrics", three), ("7 of the table's measures", same)):
            times[f"fairlearn MetricFrame of {name} (no intervals)"] = cpu(
                lambda metrics=metrics: MetricFrame(
                    metrics=metrics, y_true=rows["y"], y_pred=rows["p"], sensitive_features=rows["g"]
                ).difference(),
                1,
            )
    except ImportError:
        times["fairlearn"] = None
    return times


def figures(n: int) -> Iterator[Figure]:
    """The table against one sort and the peers, then what else a user calls."""
    rows = people(n)
    held = checked(rows)
    sort = cpu(lambda: np.sort(rows["p"]))
    own = cpu(lambda: table(held))
    what = f"{n:,} rows: 14 measures, verdicts"
    cost = f"{own:.3f} s, {table(held)} with an interval; {own / sort:.1f} sorts"
    yield Figure(name=what, figure=cost, cpu=own, peer="one sort of the predictions", ratio=sort / own)
    for name, seconds in (parts(held) | calls(rows)).items():
        yield Figure(name=name, figure=f"{seconds:.3f} s, {seconds / own:.1f} × the table", cpu=seconds)
    for name, peer in peers(rows).items():
        if peer is None:
            yield Figure(name=what, figure=cost, cpu=own, peer=f"{name} is not installed")
        else:
            yield Figure(name=what, figure=cost, cpu=own, peer=name, ratio=peer / own)


def run(*, quick: bool) -> Iterator[Figure]:
    """A million rows."""
    yield from figures(5_000 if quick else 1_000_000)


def main() -> None:
    """Any number of rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    show(figures(parser.parse_args().rows))


if __name__ == "__main__":
    main()
