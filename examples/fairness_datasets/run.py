"""Adult, COMPAS, law school, German credit, Ricci and résumé lists: the audits behind docs/examples/. Each takes a file and writes a report.

    python examples/fairness_datasets/run.py adult.csv compas_two_years.csv law_school_clean.csv german.csv ricci.csv

Needs the extra `examples`. The files are those of algofairness/fairness-comparison (Adult, German credit, Ricci),
propublica/compas-analysis, tailequy/fairness_dataset (law school) and
BloombergGraphics/2024-openai-gpt-hiring-racial-discrimination (résumé lists).
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import evenhand as eh


def adult(path: Path) -> eh.Result:
    """Income above 50,000 predicted by a gradient boosting that does not see sex or race."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import train_test_split

    frame = pd.read_csv(path, skipinitialspace=True)
    frame["rich"] = (frame["income-per-year"].str.strip(" .") == ">50K").astype(int)
    fit, test = train_test_split(frame, test_size=0.3, random_state=0)
    features = ["age", "education-num", "hours-per-week", "capital-gain", "capital-loss"]
    model = HistGradientBoostingClassifier(random_state=0).fit(fit[features], fit["rich"])
    return eh.audit_predictions(
        test,
        y_true="rich",
        y_pred=model,
        groups=["sex", "race"],
        reference={"sex": "Male", "race": "White"},
        intersections=True,
        law="four-fifths",
    )


def compas(path: Path) -> eh.Result:
    """ProPublica's question: who is called high risk (decile 5 and more) and does not reoffend?"""
    frame = pd.read_csv(path)
    frame = frame[frame["race"].isin(["African-American", "Caucasian", "Hispanic"])].copy()
    frame["high risk"] = (frame["decile_score"] >= 5).astype(int)
    frame["score"] = frame["decile_score"] / 10
    return eh.audit_predictions(
        frame,
        y_true="two_year_recid",
        y_pred="high risk",
        y_score="score",
        groups="race",
        reference="Caucasian",
        selection="bad",
        control="c_charge_degree",
    )


def law_school(path: Path) -> eh.Result:
    """First-year grades predicted by a linear regression on LSAT and college grades, as admissions indices are made."""
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import train_test_split

    frame = pd.read_csv(path)
    frame["sex"] = frame["male"].map({0.0: "female", 1.0: "male"})
    fit, test = train_test_split(frame, test_size=0.3, random_state=0)
    features = ["lsat", "ugpa"]
    model = LinearRegression().fit(fit[features], fit["zfygpa"])
    return eh.audit_predictions(
        test,
        y_true="zfygpa",
        y_pred=model,
        groups=["race", "sex"],
        reference={"race": "White", "sex": "male"},
        intersections=True,
        law="ll144",
    )


def german(path: Path) -> eh.Result:
    """Good credit predicted by a logistic regression on the loan and the account, without sex or age."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame = pd.read_csv(path)
    frame["sex"] = frame["personal_status"].isin(["A92", "A95"]).map({True: "female", False: "male"})
    frame["good"] = (frame["credit"] == 1).astype(int)
    features = [
        "month",
        "credit_amount",
        "investment_as_income_percentage",
        "number_of_credits",
        "status",
        "savings",
    ]
    shown = pd.get_dummies(frame[features], dtype=float)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    frame["score"] = cross_val_predict(model, shown, frame["good"], cv=10, method="predict_proba")[:, 1]
    frame["predicted"] = (frame["score"] > 0.7).astype(int)
    return eh.audit_predictions(
        frame,
        y_true="good",
        y_pred="predicted",
        y_score="score",
        groups="sex",
        reference="male",
        continuous="age",
        law="four-fifths",
    )


def ricci(path: Path) -> eh.Result:
    """The promotion exam of Ricci v. DeStefano: a combined score of 70 passes."""
    frame = pd.read_csv(path)
    frame["passed"] = (frame["Combine"] >= 70).astype(int)
    return eh.audit_predictions(
        frame, y_pred="passed", groups="Race", reference="W", control="Position", law="four-fifths"
    )


def resume_rankings(path: Path) -> eh.Result:
    """Who of eight equally qualified résumés a language model puts first, for the financial analyst's job."""
    frame = pd.read_csv(path)
    return eh.audit_predictions(
        frame[frame["job"] == "financial analyst"],
        y_pred="gpt_rank",
        first="lowest",
        top=1,
        groups="demo",
        reference="A_W",
        lists="run",
        units="candidate",
    )


AUDITS = {
    "adult": adult,
    "compas": compas,
    "law": law_school,
    "german": german,
    "ricci": ricci,
    "resume": resume_rankings,
}


def main() -> None:
    """Audit every file that is named."""
    for name in sys.argv[1:]:
        path = Path(name)
        audit = next((f for start, f in AUDITS.items() if path.name.startswith(start)), None)
        if audit is None:
            sys.exit(f"{path.name}: expected a name that begins with {', '.join(AUDITS)}")
        result = audit(path)
        out = Path(f"{path.stem}-report.html")
        result.to_html(out)
        result.to_json(out.with_suffix(".json"))
        print(f"{path.name}: {result.verdicts}; written {out}")


if __name__ == "__main__":
    main()
