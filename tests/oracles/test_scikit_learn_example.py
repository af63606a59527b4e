"""The example with scikit-learn runs on real data: a pipeline, a grid search, groups as routed metadata."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_a_search_trades_accuracy_against_parity_on_adult(data: Path) -> None:
    """Parity is that of the folds' predictions, the choice pays its price, and the audit is of unseen rows."""
    pytest.importorskip("sklearn")
    pytest.importorskip("pandas")
    program = runpy.run_path(str(ROOT / "examples" / "scikit_learn" / "search.py"))
    grid, result = program["search"](data / "predictions" / "adult.csv", rows=2500)
    accuracy, parity = (grid.cv_results_[f"mean_test_{k}"] for k in ("accuracy", "parity"))
    assert parity[0] == 0.0  # whoever selects nobody treats all alike
    assert (parity[2:] < -0.05).all()
    assert (np.diff(parity) < 0).all()
    assert (np.diff(accuracy) > 0).any()
    assert grid.best_index_ == int(np.argmax(accuracy + 0.5 * parity))
    impact = next(f.estimate for f in result.findings if f.estimate.measure == "disparate impact")
    assert result.counts["used"] == 1000
    assert impact.value is not None
    assert 0.1 < impact.value < 0.8
