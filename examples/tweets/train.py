"""Train TF-IDF + logistic regression on the Davidson tweets: fine against hateful or offensive."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
import skops.io
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline


def main() -> None:
    """Write model.skops, train.csv and held_out.csv."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tweets", type=Path, help="davidson_labeled_data.csv")
    parser.add_argument("--out", type=Path, default=Path("tweets-model"))
    parser.add_argument("--held-out", type=int, default=1_000, help="tweets kept for the attack")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    with options.tweets.open(encoding="utf-8", newline="") as file:
        rows = [(r["tweet"], int(r["class"] != "2")) for r in csv.DictReader(file)]
    order = np.random.default_rng(options.seed).permutation(len(rows))
    held, train = order[: options.held_out], order[options.held_out :]
    texts, labels = zip(*(rows[i] for i in train), strict=True)
    model = make_pipeline(
        TfidfVectorizer(min_df=3, sublinear_tf=True),
        LogisticRegression(C=10, max_iter=500, class_weight="balanced"),
    )
    model.fit(texts, labels)
    right = np.mean(model.predict([rows[i][0] for i in held]) == [rows[i][1] for i in held])

    options.out.mkdir(parents=True, exist_ok=True)
    skops.io.dump(model, options.out / "model.skops")
    for name, which in (("train.csv", train), ("held_out.csv", held)):
        with (options.out / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["tweet", "abusive"])
            writer.writerows(rows[i] for i in which)
    print(
        f"{len(train):,} tweets for training; accuracy on {len(held):,} others {right:.3f}; written to {options.out}"
    )


if __name__ == "__main__":
    main()
