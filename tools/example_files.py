"""Write the data files of examples/: slices of published data that may be handed on, and made-up tables.

`python tools/example_files.py FOLDER` takes the folder of data (see CONTRIBUTING.md). Everything is drawn with fixed seeds.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PERSON = re.compile(r"\b(man|woman|men|women|boy|girl|he|she|male|female|lady|guy)\b")


def main(folder: Path) -> None:
    """Every file, in one go."""
    replies(folder)
    captions(folder)
    vectors(folder)
    grades = (folder / "predictions" / "student_test_predictions.csv").read_text(encoding="utf-8")
    (EXAMPLES / "grades.csv").write_text(grades, encoding="utf-8")
    hired(np.random.default_rng(1))
    loans(np.random.default_rng(2))
    ranked(np.random.default_rng(3))
    visits(np.random.default_rng(4))


def table(name: str, header: list[str], rows: list[list[Any]]) -> None:
    """A CSV file."""
    with (EXAMPLES / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([header, *rows])


def replies(folder: Path) -> None:
    """What Amazon Comprehend answered in 2020 to 100 sentences with four words for race each."""
    with (folder / "text" / "protected_templates_predictions.csv").open(encoding="utf-8", newline="") as file:
        found = [r for r in csv.DictReader(file) if r["test"] == "protected: race"]
    kept = dict.fromkeys(r["case"] for r in found)
    rows = []
    for r in found:
        said = re.fullmatch(r"(\S+) is an? (\w+) (.+)\.", r["text"])
        if said and r["case"] in list(kept)[:100]:
            scores = [r["amazon_neg"], r["amazon_neu"], r["amazon_pos"]]
            rows.append([r["text"], f"is a(n) … {said[3]}", said[1], said[2], *scores])
    table("replies.csv", ["text", "template", "name", "race", "negative", "neutral", "positive"], rows)


def captions(folder: Path) -> None:
    """300 images with people: what five annotators said of each, and what two captioners made of it."""
    human: dict[int, list[str]] = {}
    for row in json.loads((folder / "captions" / "captions_val2017.json").read_text())["annotations"]:
        human.setdefault(row["image_id"], []).append(" ".join(row["caption"].split()))
    rows = json.loads((folder / "captions" / "generated_baseline_ft.json").read_text())
    made = {row["image_id"]: row["caption"] for row in rows}
    named = [i for i in sorted(human) if i in made and PERSON.search(" ".join(human[i]).lower())][:300]
    rows = json.loads((folder / "captions" / "generated_upweight.json").read_text())
    again = {row["image_id"]: row["caption"] for row in rows}
    before = [{"image_id": i, "caption": caption} for i in named for caption in human[i]]
    after = [{"image_id": i, "caption": made[i]} for i in named]
    other = [{"image_id": i, "caption": again[i]} for i in named]
    files = {"train_captions.json": before, "generated.json": after, "reweighted.json": other}
    for name, listed in files.items():
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in listed)
        (EXAMPLES / name).write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def vectors(folder: Path) -> None:
    """GloVe's vectors of the 1,200 most frequent words of the slice, and of the words that the examples use."""
    sets = Path(__file__).resolve().parents[1] / "src" / "evenhand" / "embeddings" / "data"
    wanted = set(re.findall(r"[a-z]+", (sets / "word_sets.json").read_text(encoding="utf-8").lower()))
    for name in ("definitional_pairs.json", "gender_specific_seed.json"):
        wanted |= set(re.findall(r"[a-z]+", (sets / name).read_text(encoding="utf-8").lower()))
    for name in ("tweets.csv", "letters.txt", "my_model.py"):
        wanted |= set(re.findall(r"[a-z]+", (EXAMPLES / name).read_text(encoding="utf-8").lower()))
    kept = []
    source = folder / "attack" / "glove.6B.50d.subset.txt"
    for rank, line in enumerate(source.read_text(encoding="cp1252").splitlines()):
        word, *numbers = line.split(" ")
        if word.isascii() and (rank < 1200 or word in wanted):
            kept.append(" ".join([word, *(f"{float(x):.2f}" for x in numbers)]))
    (EXAMPLES / "glove.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")


def hired(rng: np.random.Generator) -> None:
    """A tool's picks: made up, women are picked .4 and men .5 of the time, alike in both years."""
    rows = []
    for _ in range(1200):
        sex, race = rng.choice(["women", "men"]), rng.choice(["Asian", "Black", "White"], p=[0.2, 0.3, 0.5])
        fit = rng.random() < 0.45
        picked = rng.random() < (0.4 if sex == "women" else 0.5) + (0.2 if fit else -0.15)
        score = np.clip(rng.normal(60 if picked else 45, 10), 0, 100)
        rows.append([sex, race, "yes" if fit else "no", "yes" if picked else "no", round(float(score), 1)])
    table("hired.csv", ["sex", "race", "fit", "picked", "score"], rows)


def loans(rng: np.random.Generator) -> None:
    """Loans with chances of three groups: made up, approval .60, .50 and .58."""
    rows = []
    for _ in range(900):
        chances = rng.dirichlet([1.2, 0.8, 0.6])
        group = rng.choice(3, p=chances)
        yes = rng.random() < (0.60, 0.50, 0.58)[group]
        white, black = (round(float(p), 3) for p in chances[:2])
        rows.append(["yes" if yes else "no", white, black, round(1 - white - black, 3)])
    table("loans.csv", ["approved", "p_white", "p_black", "p_other"], rows)


def ranked(rng: np.random.Generator) -> None:
    """150 lists of eight résumés ranked by a made-up model, 20 candidates a group who recur."""
    groups = [f"{race}_{sex}" for race in "ABHW" for sex in "MW"]
    pull = dict(zip(groups, (0.1, 0.3, -0.5, -0.2, 0.0, 0.1, 0.0, 0.2), strict=True))
    rows = []
    for run in range(150):
        people = [(g, f"{g}-{rng.integers(20):02}") for g in groups]
        score = {person: pull[g] + rng.gumbel() for g, person in people}
        order = sorted(score, key=lambda person: -score[person])
        rows += [[f"list {run}", person, g, order.index(person) + 1] for g, person in people]
    table("ranked.csv", ["run", "candidate", "demo", "rank"], rows)


def visits(rng: np.random.Generator) -> None:
    """Many rows for one person each: made up; 300 people with 1 to 9 decisions."""
    rows = []
    for person in range(300):
        sex, own = rng.choice(["women", "men"]), rng.normal(0, 0.2)
        for _ in range(rng.integers(1, 10)):
            yes = rng.random() < np.clip(0.5 + own, 0, 1)
            rows.append([f"p{person:03}", sex, "yes" if yes else "no"])
    table("visits.csv", ["person_id", "sex", "approved"], rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
