"""The attack as a user meets it: planted models, bad input, partial results, the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from planted_words import planted

import evenhand as eh
from evenhand._errors import DataError, SubjectError, UsageError
from evenhand.audits.attack.annotation import adjusted, write_sheet
from evenhand.audits.attack.audit import attack
from evenhand.audits.attack.placebos import asymmetry, mean_of_sides, rank_p
from evenhand.cli import run
from evenhand.embeddings import Rules, alterations, direction
from evenhand.embeddings.dictionary import Alterations

SPACE = planted(clusters=20, seed=3)
TEXTS = SPACE.sentences(90, seed=1)


def linear(weights: dict[str, float], bias: float = 0.0):  # type: ignore[no-untyped-def]
    """A logistic model over words."""

    def model(texts):  # type: ignore[no-untyped-def]
        z = np.array([bias + sum(weights.get(w, 0.0) for w in t.split()) for t in texts])
        p = 1 / (1 + np.exp(-z))
        return {"low": 1 - p, "high": p}

    return model


def judged(result: eh.Result) -> dict[str, eh.Finding]:
    """Measure → finding with a verdict, over all words."""
    return {f.estimate.measure: f for f in result.findings if f.tolerance and f.estimate.given is None}


GENDERED = linear({w: 6 * x for w, x in SPACE.loading.items()})


def test_a_model_that_weighs_the_direction_is_found() -> None:
    """Pushing words towards woman raises the score, so flips out of a label go one way: a disparity, confirmed on unseen texts."""
    result = attack(
        GENDERED, TEXTS, embeddings=SPACE.vectors, fluency="none", placebos=79, definitional="include"
    )
    finding = judged(result)["asymmetry within labels"]
    assert finding.verdict == "disparity"
    assert "unseen texts" in (finding.rests_on or "")
    assert finding.estimate.p_value == pytest.approx(1 / 80)


def test_the_direction_of_the_effect_is_right() -> None:
    """Against a biased intercept only one direction can flip, and it is the planted one."""
    model = linear({w: 6 * x for w, x in SPACE.loading.items()}, bias=-3.0)
    result = attack(
        model, TEXTS, embeddings=SPACE.vectors, fluency="none", placebos=79, definitional="include"
    )
    rates = {f.estimate.group: f.estimate.value for f in result.findings if f.estimate.measure == "flip rate" and f.estimate.given is None and f.estimate.contrast == "rate"}  # fmt: skip
    assert rates["woman-man"] > rates["man-woman"] + 0.2
    for row in result.exhibits["traces"].rows():
        if row["example"].startswith("woman-man") and not row["change"]:
            assert row["label"] == "low"


def test_a_model_that_reacts_to_any_change_is_not_called_biased() -> None:
    """Every alteration moves the score by a random amount: many flips, and placebos find as many."""
    rng = np.random.default_rng(0)
    model = linear({w: float(rng.normal(0, 2)) for w in SPACE.loading})
    result = attack(
        model, TEXTS, embeddings=SPACE.vectors, fluency="none", placebos=59, definitional="include"
    )
    assert all(f.verdict != "disparity" for f in judged(result).values())
    flips = [f.estimate.value for f in result.findings if f.estimate.measure == "flip rate"]
    assert max(v for v in flips if v is not None) > 0.5


def test_a_model_that_never_flips_is_within_tolerance_only_with_enough_texts() -> None:
    """No flip in 40 texts leaves room for a few; in 400 it does not."""
    model = linear({}, bias=2.0)
    few = attack(model, TEXTS[:12], embeddings=SPACE.vectors, fluency="none", placebos=19)
    many = attack(
        model,
        SPACE.sentences(400, seed=5),
        embeddings=SPACE.vectors,
        fluency="none",
        placebos=9,
        definitional="include",
    )
    assert {f.verdict for f in judged(few).values()} == {"inconclusive"}
    assert {f.verdict for f in judged(many).values()} == {"within tolerance"}
    toothless = "That tolerance exceeds the whole flip rate, 0.0 %: this verdict says little."
    assert all((f.because or "").endswith(toothless) for f in judged(many).values())


def test_a_label_that_the_subject_never_gives_is_said() -> None:
    """As a warning where the search is after it; a subject with both labels gets no note."""
    texts = TEXTS[:12]
    both = {
        n.slug for n in attack(GENDERED, texts, embeddings=SPACE.vectors, fluency="none", placebos=0).notes
    }
    assert "label-never-given" not in both
    high = linear({}, bias=9.0)
    made = attack(
        high, texts, embeddings=SPACE.vectors, fluency="none", placebos=0, goal="targeted", target="low"
    )
    (note,) = (n for n in made.notes if n.slug == "label-never-given")
    assert "No unchanged text has the label low: it is the target" in note.text
    assert note.level == "warning"


def test_an_embedding_without_the_definitional_words_is_one_message() -> None:
    """The pairs that were sought are named."""
    with pytest.raises(UsageError, match=r"no pair of this list has vectors[\s\S]*woman-man"):
        attack(GENDERED, TEXTS, embeddings={"a": [1, 0], "b": [0, 1]}, directions=["mean:definitional"])


def test_placebos_get_exactly_the_budget_of_the_direction() -> None:
    """Otherwise a direction with more candidates flips more labels for that reason alone."""
    result = attack(GENDERED, TEXTS, embeddings=SPACE.vectors, fluency="none", placebos=9)
    last = next(r for r in result.exhibits["filters"].rows() if str(r["step"]).startswith("left: candidates"))
    assert last["alterations"] == last["mean placebo"]
    covered = result.exhibits["placebos"].columns["alterable texts"]
    assert len(set(covered)) == 1


def test_batch_size_and_executor_change_nothing() -> None:
    """The same seed gives the same search, whatever the subject's batches."""
    from concurrent.futures import ThreadPoolExecutor

    base = attack(GENDERED, TEXTS[:8], embeddings=SPACE.vectors, placebos=5, search="genetic", max_queries=80)
    with ThreadPoolExecutor(2) as pool:
        other = attack(
            GENDERED, TEXTS[:8], embeddings=SPACE.vectors, placebos=5, search="genetic", max_queries=80,
            batch_size=7, executor=pool,
        )  # fmt: skip
    assert base.findings == other.findings
    assert base.exhibits == other.exhibits


def test_the_journal_pays_once(tmp_path: Path) -> None:
    """A second run asks nothing new but the stability check."""
    asked: list[int] = []
    inner = linear({w: 6 * x for w, x in SPACE.loading.items()})

    def model(texts):  # type: ignore[no-untyped-def]
        asked.append(len(texts))
        return inner(texts)

    subject = eh.subject(model, id="counted")
    first = attack(subject, TEXTS[:10], embeddings=SPACE.vectors, placebos=3, journal=tmp_path / "j.sqlite")
    paid = sum(asked)
    asked.clear()
    second = attack(subject, TEXTS[:10], embeddings=SPACE.vectors, placebos=3, journal=tmp_path / "j.sqlite")
    assert sum(asked) <= 10 < paid
    assert first.findings == second.findings


def test_planted_alterations_come_back_exactly() -> None:
    """Along the direction a word's alterations are the cluster's words that lean further, ranked by where they end."""
    space = planted(clusters=12, size=6, noise=0.05, lean=0.4, seed=8)
    made = alterations(
        space.vectors,
        [direction("woman-man", space.vectors)],
        rules=Rules(n=10, max_target=None, min_gain=0.8),
    )
    along = space.vectors.unit[:, 0]
    spread = along.std()
    for cluster in space.clusters:
        for word in cluster:
            w = space.vectors.row(word)
            expected = {
                other
                for other in cluster
                if other != word
                and (along[space.vectors.row(other)] - along[w]) / spread >= 0.8
                and float(space.vectors.unit[w] @ space.vectors.unit[space.vectors.row(other)]) >= 0.5
            }
            found = {a.word for a in made.entries["woman-man"].get(word, ())}
            assert found & set(cluster) == expected
            assert found <= set(cluster)


def test_a_dictionary_is_saved_and_reloaded(tmp_path: Path) -> None:
    """What was inspected once can be inspected again."""
    made = alterations(SPACE.vectors, [direction("woman-man", SPACE.vectors)], words=[SPACE.clusters[0][0]])
    made.save(tmp_path / "d.json")
    assert list(Alterations.load(tmp_path / "d.json")) == list(made)
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(DataError):
        Alterations.load(tmp_path / "x.json")


def test_no_word_may_stand_for_too_many() -> None:
    """Hubs are capped."""
    free = alterations(
        SPACE.vectors,
        [direction("woman-man", SPACE.vectors)],
        rules=Rules(max_target=None, min_similarity=0.1),
    )
    capped = alterations(
        SPACE.vectors, [direction("woman-man", SPACE.vectors)], rules=Rules(max_target=3, min_similarity=0.1)
    )

    def most(made: Alterations) -> int:
        targets = [a.word for _, _, a in made]
        return max(targets.count(t) for t in set(targets))

    assert most(free) > 3 >= most(capped)


def test_rank_p_counts_ties_against_the_finding() -> None:
    """p = (1 + #{T_k ≥ T_0})/(K + 1)."""
    assert rank_p(0.5, [0.1] * 99) == pytest.approx(0.01)
    assert rank_p(0.5, [0.5] * 99) == 1.0


def test_the_statistics_are_what_their_names_say() -> None:
    """By hand: 4 texts, one direction and two placebos."""
    won = np.zeros((3, 2, 4), dtype=bool)
    won[0, 0, :3] = True
    won[0, 1, :1] = True
    won[1, 0, 0] = True
    won[2, :, 1] = True
    open_ = np.ones_like(won)
    texts = np.ones(4, dtype=bool)
    a = asymmetry(won, open_, texts)
    assert (a.observed, a.placebos.tolist(), a.p_value) == (0.5, [0.25, 0.0], pytest.approx(1 / 3))
    m = mean_of_sides(won, open_, texts)
    assert (m.observed, m.placebos.tolist()) == (0.5, [0.125, 0.25])
    assert a.inference.value == pytest.approx(0.5 - 0.125)
    flipped = np.zeros((2, 2, 4), dtype=bool)
    flipped[0, 0, :2] = True
    flipped[0, 1, 2:] = True
    labels = np.array([0, 0, 1, 1])
    assert asymmetry(flipped, open_[:2], texts).observed == 0.0
    assert asymmetry(flipped, open_[:2], texts, labels=labels).observed == 1.0


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_texts_may_be_a_column_of_a_frame(kind: str) -> None:
    """`text_column` names it, and the result is that of the list."""
    library = pytest.importorskip(kind)
    columns = {"number": list(range(12)), "post": TEXTS[:12]}
    frame = library.table(columns) if kind == "pyarrow" else library.DataFrame(columns)
    settings = {"embeddings": SPACE.vectors, "fluency": "none", "placebos": 2}
    found = attack(GENDERED, frame, text_column="post", **settings)
    assert found.findings == attack(GENDERED, TEXTS[:12], **settings).findings


# --- bad input ----------------------------------------------------------------------------------------------------


def test_an_unknown_word_of_a_direction_is_answered_with_near_words() -> None:
    """No traceback, a suggestion."""
    with pytest.raises(UsageError, match="did you mean 'woman'"):
        attack(GENDERED, TEXTS, embeddings=SPACE.vectors, directions=["womann-man"])


def test_texts_that_cannot_be_altered_are_counted_not_failed() -> None:
    """One word, no word, emoji, an address: the rest is attacked all the same."""
    odd = ["hello", "😀😀", "https://example.org/woman", "…", *TEXTS[:8]]
    result = attack(GENDERED, odd, embeddings=SPACE.vectors, placebos=3, fluency="none")
    note = next(n for n in result.notes if n.slug == "not-alterable")
    assert note.text.startswith("woman-man / man-woman: 4 of 12 texts")
    every = [
        f.estimate
        for f in result.findings
        if f.estimate.given == "all texts" and f.estimate.measure == "flip rate"
    ]
    assert {e.n for e in every} == {12}


def test_a_text_of_ten_thousand_words_stays_within_the_budget() -> None:
    """Its queries are limited, and so is the memory they take."""
    long = " ".join(SPACE.sentences(1, seed=9, words=10_000))
    asked: list[int] = []

    def model(texts):  # type: ignore[no-untyped-def]
        asked.append(len(texts))
        return [0.9] * len(texts)

    result = attack(
        model, [long], embeddings=SPACE.vectors, placebos=0, fluency="none", max_queries=20, holdout=0
    )
    assert sum(asked) < 100
    assert result.complete


def test_a_budget_of_zero_says_so_and_keeps_what_there_is(tmp_path: Path) -> None:
    """The result is incomplete, not a crash; a search budget of zero is refused."""
    result = attack(GENDERED, TEXTS, embeddings=SPACE.vectors, placebos=3, budget=0)
    assert not result.complete
    assert any("budget" in n.text for n in result.notes)
    with pytest.raises(UsageError, match="at least one query"):
        attack(GENDERED, TEXTS, embeddings=SPACE.vectors, max_queries=0)


def test_a_spent_budget_keeps_the_texts_that_were_finished() -> None:
    """Findings are over whole texts only."""
    result = attack(GENDERED, TEXTS, embeddings=SPACE.vectors, placebos=3, budget=600, fluency="none")
    assert not result.complete
    assert 500 < result.counts["asked"] <= 600
    assert result.counts["failed"] == 0
    over = {
        f.estimate.n
        for f in result.findings
        if f.estimate.given == "all texts" and f.estimate.measure == "flip rate"
    }
    assert 0 < max(over) < 90


def test_small_blocks_ask_nothing_twice() -> None:
    """A budget makes the blocks of searches small; the searches of one text stay together and share their answers."""
    counts = [
        attack(
            GENDERED,
            TEXTS[:20],
            embeddings=SPACE.vectors,
            placebos=19,
            fluency="none",
            budget=budget,
            holdout=0,
        ).counts["asked"]
        for budget in (None, 10_000)
    ]
    assert counts[0] == counts[1]


def test_a_subject_that_changes_its_mind_is_noticed() -> None:
    """Flips that do not come back do not count."""
    rng = np.random.default_rng(0)

    def moody(texts):  # type: ignore[no-untyped-def]
        return rng.random(len(texts))

    result = attack(moody, TEXTS, embeddings=SPACE.vectors, placebos=3, fluency="none")
    slugs = {n.slug for n in result.notes}
    assert {"changing-answers", "flips-not-repeated"} <= slugs


def test_hard_labels_give_flips_only() -> None:
    """One-hot replies are attacked and said to be so."""
    soft = linear({w: 6 * x for w, x in SPACE.loading.items()})

    def hard(texts):  # type: ignore[no-untyped-def]
        p = soft(texts)["high"]
        return {"no": (p < 0.5) * 1.0, "yes": (p >= 0.5) * 1.0}

    result = attack(hard, TEXTS, embeddings=SPACE.vectors, placebos=3, fluency="none")
    assert "hard-labels" in {n.slug for n in result.notes}
    assert any(f.estimate.value for f in result.findings if f.estimate.measure == "flip rate")


def test_labels_in_words_are_taken_when_they_are_named() -> None:
    """A classifier's `predict` will do."""
    soft = linear({w: 6 * x for w, x in SPACE.loading.items()})

    def spoken(texts):  # type: ignore[no-untyped-def]
        return ["high" if p >= 0.5 else "low" for p in soft(texts)["high"]]

    result = attack(
        spoken, TEXTS[:20], embeddings=SPACE.vectors, placebos=2, fluency="none", labels=["low", "high"]
    )
    assert "hard-labels" in {n.slug for n in result.notes}
    with pytest.raises(SubjectError, match="labels="):
        attack(spoken, TEXTS[:20], embeddings=SPACE.vectors, placebos=2)


def test_a_subject_without_any_score_is_an_error() -> None:
    """Nothing can be attacked, and the exit code is 3."""
    with pytest.raises(SubjectError, match="answered nothing"):
        attack(lambda ts: [float("nan")] * len(ts), TEXTS[:5], embeddings=SPACE.vectors)


def test_scores_that_do_not_sum_to_one_are_noted() -> None:
    """They still rank the labels."""
    result = attack(
        lambda ts: [{"a": 0.9, "b": 0.8} for _ in ts], TEXTS[:5], embeddings=SPACE.vectors, placebos=0
    )
    assert "not-probabilities" in {n.slug for n in result.notes}


def test_failing_rows_are_counted() -> None:
    """A row on which the subject raises is no flip and no crash."""

    def brittle(texts):  # type: ignore[no-untyped-def]
        if any(SPACE.clusters[0][0] in t for t in texts):
            raise ValueError("no")
        return [0.5 + 0.4 * ("a" in t[:3]) for t in texts]

    result = attack(brittle, TEXTS, embeddings=SPACE.vectors, placebos=2, fluency="none")
    assert result.counts["failed"] > 0
    assert "failed-rows" in {n.slug for n in result.notes}


def test_too_few_placebos_for_any_verdict_are_said() -> None:
    """With nine placebos no p can fall below 0.1."""
    result = attack(GENDERED, TEXTS, embeddings=SPACE.vectors, placebos=9, fluency="none")
    assert "too-few-placebos" in {n.slug for n in result.notes}
    assert all(f.verdict != "disparity" for f in judged(result).values())


def test_a_result_survives_its_json_and_its_reports(tmp_path: Path) -> None:
    """Whole, and every report can be drawn."""
    result = attack(GENDERED, TEXTS, embeddings=SPACE.vectors, placebos=9, fluency="none")
    assert eh.Result.from_json(result.to_json(tmp_path / "r.json")) == result
    assert "placebo" in result.to_html()
    assert result.to_markdown()
    assert result.table().num_rows == len(result.findings)


def test_the_annotation_sheet_is_blind_and_comes_back_as_rates(tmp_path: Path) -> None:
    """Neither direction nor placebo is named on the sheet."""
    result = attack(GENDERED, TEXTS, embeddings=SPACE.vectors, placebos=9, fluency="none")
    n = write_sheet(result, tmp_path / "sheet.csv", tmp_path / "key.csv", seed=1)
    text = (tmp_path / "sheet.csv").read_text()
    assert "woman" not in text
    assert "placebo" not in text
    lines = text.splitlines()
    filled = [lines[0], *(line[: line.rfind(",")] + ",yes" for line in lines[1:])]
    (tmp_path / "sheet.csv").write_text("\n".join(filled) + "\n")
    rows = list(adjusted(result, tmp_path / "sheet.csv", tmp_path / "key.csv").rows())
    assert sum(int(r["judged"]) for r in rows) == n
    assert all(r["share valid"] == 1.0 for r in rows)
    assert all(r["valid-flip rate"] == r["flip rate"] for r in rows)


# --- the command line ---------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with texts, vectors and a model."""
    rows = [
        f"{w} " + " ".join(f"{x:.4f}" for x in v)
        for w, v in zip(SPACE.vectors.words, SPACE.vectors.unit.tolist(), strict=True)
    ]
    (tmp_path / "v.txt").write_text("\n".join(rows))
    (tmp_path / "t.csv").write_text("tweet\n" + "\n".join(TEXTS[:12]) + "\n")
    heavy = json.dumps({w: 6 * x for w, x in SPACE.loading.items()})
    (tmp_path / "toy_attacked.py").write_text(
        f"import math\nW = {heavy}\ndef predict(ts):\n    return [1 / (1 + math.exp(-sum(W.get(w, 0) for w in t.split()))) for t in ts]\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_writes_its_result_and_its_file_repeats_it(files: Path) -> None:
    """`evenhand attack … --out`, then `evenhand run` on what it wrote."""
    words = ["attack", "--subject", "toy_attacked.py:predict", "--texts", "t.csv", "--text-column", "tweet", "--embeddings", "v.txt",
             "--direction", "woman-man", "--direction", "man-woman", "--placebos", "5", "--fluency", "none", "--out", "out"]  # fmt: skip
    assert run(words) == 0
    first = eh.Result.from_json(files / "out" / "result.json")
    assert (files / "out" / "report.html").stat().st_size > 10_000
    assert run(["run", "out/audit.toml", "--out", "again"]) == 0
    assert eh.Result.from_json(files / "again" / "result.json").findings == first.findings


@pytest.mark.parametrize(
    ("words", "slug", "code"),
    [
        (["--embeddings", "nothing.txt"], "no-such-file", 2),
        (["--direction", "womann-man"], "unknown-word", 2),
        (["--max-queries", "0"], "bad-budget", 2),
        (["--search", "beem"], "unknown-search", 2),
        (["--fluency", "nowhere"], "unknown-fluency", 2),
        (["--goal", "minimise"], "needs-amount", 2),
        (["--holdout", "2"], "bad-share", 2),
        (["--budget", "0"], "incomplete", 3),
    ],
)
def test_bad_usage_is_one_message_and_its_exit_code(
    files: Path, capsys: pytest.CaptureFixture[str], words: list[str], slug: str, code: int
) -> None:
    """No traceback."""
    base = [
        "attack",
        "--subject",
        "toy_attacked.py:predict",
        "--texts",
        "t.csv",
        "--text-column",
        "tweet",
        "--placebos",
        "2",
        "--embeddings",
        "v.txt",
    ]
    assert run([*base, *words]) == code
    told = capsys.readouterr()
    assert "Traceback" not in told.err + told.out
    assert slug in told.err + told.out


def test_the_embeddings_commands_look_build_and_list(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`info`, `build`, `neighbours`, with and without rules."""
    assert run(["embeddings", "info", "v.txt", "--direction", "woman-man"]) == 0
    assert "162 words" in capsys.readouterr().out
    assert run(["embeddings", "build", "v.txt", "--out", "v.vectors"]) == 0
    word = SPACE.clusters[0][0]
    assert (
        run(
            [
                "embeddings",
                "neighbours",
                word,
                "--embeddings",
                "v.vectors",
                "--direction",
                "woman-man",
                "--save",
                "d.json",
            ]
        )
        == 0
    )
    assert (files / "d.json").is_file()
    assert run(["embeddings", "neighbours", word, "--embeddings", "v.vectors", "--plain"]) == 0
    capsys.readouterr()
    assert run(["embeddings", "neighbours", "nosuchword", "--embeddings", "v.vectors"]) == 2
    assert "unknown-word" in capsys.readouterr().err


def test_a_direction_that_goes_with_word_frequency_is_said_to() -> None:
    """In the example's vectors, which stand by frequency, woman-man does and its placebos do not."""
    examples = Path(__file__).parents[2] / "examples"
    found = attack(
        lambda given: [len(text) % 2 for text in given],
        examples / "tweets.csv",
        text_column="tweet",
        embeddings=examples / "glove.txt",
        directions=["woman-man"],
        placebos=99,
        holdout=0,
    )
    (said,) = [note.text for note in found.notes if note.slug == "direction-of-frequency"]
    assert said.startswith("The direction woman-man goes with word frequency. A model")
    assert "placebos" in said
