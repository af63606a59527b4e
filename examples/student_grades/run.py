"""Student grades: train the LightGBM pipeline of the regression notebook, audit it, and see what 8 against 16 pupils can show.

    python examples/student_grades/run.py                      downloads the data (UCI 320, CC BY 4.0, P. Cortez)
    python examples/student_grades/run.py student-mat.csv      takes them from a file

Needs the extra `examples`: pip install 'evenhand[examples]'.
"""

from __future__ import annotations

import io
import sys
import urllib.request
import zipfile
from pathlib import Path

import evenhand as eh

URL = "https://archive.ics.uci.edu/static/public/320/student+performance.zip"


def load(path: str | None) -> object:
    """The mathematics course: 395 pupils, final grade G3 from 0 to 20."""
    import pandas as pd

    if path is not None:
        return pd.read_csv(path, sep=";")
    print(f"Downloading {URL}")
    try:
        with urllib.request.urlopen(URL, timeout=60) as reply:
            outer = zipfile.ZipFile(io.BytesIO(reply.read()))
    except OSError as error:
        sys.exit(
            f"The data cannot be downloaded ({error}). Give a path: python {sys.argv[0]} student-mat.csv"
        )
    inner = zipfile.ZipFile(io.BytesIO(outer.read("student.zip")))
    return pd.read_csv(io.BytesIO(inner.read("student-mat.csv")), sep=";")


def train(frame: object) -> tuple[object, object]:
    """The notebook's pipeline: 70/30 split, random_state 42; sex and the earlier grades G1, G2 are no features."""
    import pandas as pd
    from lightgbm import LGBMRegressor
    from sklearn.compose import make_column_transformer
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    assert isinstance(frame, pd.DataFrame)
    fit, test = train_test_split(frame, test_size=0.3, random_state=42)
    features = [c for c in frame.columns if c not in ("sex", "G1", "G2", "G3")]
    words = [c for c in features if not pd.api.types.is_numeric_dtype(frame[c])]
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), remainder="passthrough")
    model = make_pipeline(encode, LGBMRegressor(verbose=-1, random_state=42))
    return model.fit(fit[features], fit["G3"]), test


def main() -> None:
    """Train, audit the fitted model on its test frame, print what matters, write the report."""
    model, test = train(load(sys.argv[1] if len(sys.argv) > 1 else None))
    print("The notebook's table:\n")
    predicted = model.predict(test[list(model.feature_names_in_)])
    table = eh.regression_table(y_true=test["G3"], y_pred=predicted, group=test["sex"], minority="F")
    for row in table.to_pylist():
        print(f"  {row['measure']:32} {row['value']:.6f}")

    result = eh.audit_predictions(
        test,
        y_true="G3",
        y_pred=model,
        groups="sex",
        reference="M",
        law="four-fifths",
        suggest_threshold=True,
    )
    impact = next(f for f in result.findings if f.estimate.measure == "disparate impact at q=0.8")
    e = impact.estimate
    rows = [r for r in result.exhibits["selection by sex"].rows() if r["quantile"] == 0.8]
    chosen = {r["group"]: (r["selected"], r["n"]) for r in rows}
    (girls, all_girls), (boys, all_boys) = chosen["sex=F"], chosen["sex=M"]
    print(f"""
The notebook calls a disparate impact of {e.value:.2f} strong bias. It is {girls:.0f} of {all_girls} girls against {boys:.0f} of {all_boys} boys:

  95 % interval {e.low:.2f} to {e.high:.2f}, Fisher's exact p = {e.p_value:.3f}  ->  {impact.verdict}

  {impact.because}
""")
    out = Path("student-grades")
    out.mkdir(exist_ok=True)
    result.to_json(out / "result.json")
    result.to_html(out / "report.html")
    print(f"Written: {out / 'result.json'}, {out / 'report.html'}")


if __name__ == "__main__":
    main()
