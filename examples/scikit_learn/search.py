"""Accuracy against parity in a grid search on Adult: a pipeline, GridSearchCV and metadata routing.

    python examples/scikit_learn/search.py adult.csv

Needs the extra `examples`. The model sees neither sex nor race; the groups travel beside X, as metadata.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import evenhand as eh

NUMBERS = ["age", "education-num", "hours-per-week", "capital-gain"]
WORDS = ["workclass", "occupation", "marital-status"]
WEIGHT = 0.5
"""Accuracy that a difference of 1 between the selection rates is worth: what parity may cost is yours to say."""


def traded(results: dict[str, Any]) -> int:
    """The setting with the most accuracy, less the disparity at its price."""
    return int(np.argmax(results["mean_test_accuracy"] + WEIGHT * results["mean_test_parity"]))


def search(path: Path, rows: int | None = None) -> tuple[GridSearchCV, eh.Result]:
    """The search, and the audit of what it found on rows that it did not see."""
    frame = pd.read_csv(path, skipinitialspace=True)
    frame = frame if rows is None else frame.sample(rows, random_state=0)
    rich = (frame["income-per-year"].str.strip(" .") == ">50K").astype(int)
    fit, test, y, outcomes = train_test_split(frame, rich, test_size=0.4, random_state=0)
    prepare = make_column_transformer(
        (StandardScaler(), NUMBERS), (OneHotEncoder(handle_unknown="ignore"), WORDS)
    )
    model = make_pipeline(prepare, LogisticRegression(max_iter=2000))
    alike = eh.sklearn.disparity_score("selection_rate_difference", reference="Male")
    with sklearn.config_context(enable_metadata_routing=True):
        grid = GridSearchCV(
            model,
            {"logisticregression__C": [1e-5, 1e-3, 1e-2, 1.0]},
            scoring={
                "accuracy": get_scorer("accuracy"),
                "parity": make_scorer(alike).set_score_request(group=True),
            },
            refit=traded,
            cv=3,
        )
        grid.fit(fit, y, group=fit["sex"].to_numpy())
        predicted = grid.predict(test)
    result = eh.audit_predictions(
        test.assign(rich=outcomes),
        y_true="rich",
        y_pred=predicted,
        groups="sex",
        reference="Male",
        units=False,
    )
    return grid, result


def main() -> None:
    """Search, audit, tell."""
    grid, result = search(Path(sys.argv[1]))
    for at, parameters in enumerate(grid.cv_results_["params"]):
        found = {k: grid.cv_results_[f"mean_test_{k}"][at] for k in ("accuracy", "parity")}
        print(parameters, {k: round(float(v), 3) for k, v in found.items()})
    print("chosen:", grid.best_params_)
    print(result)


if __name__ == "__main__":
    main()
