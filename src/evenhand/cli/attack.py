"""`evenhand attack`: words replaced along directions in embedding space, held against random directions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from evenhand._errors import UsageError
from evenhand._result import Result
from evenhand.cli import options as shared
from evenhand.cli.options import key_values
from evenhand.cli.output import call_of, perform


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "attack",
        epilog="Example: evenhand attack --subject my_model:predict --texts tweets.csv --text-column tweet"
        " --embeddings"
        " glove.txt --direction woman-man --direction man-woman --out out/",
    )(attack)
    epilog = "Example: evenhand annotation out/result.json --sheet sheet.csv --key key.csv"
    app.command("annotation", epilog=epilog)(annotation)


def attack(
    subject: shared.Subject,
    texts: shared.Texts,
    embeddings: Annotated[str, Option(help="A file of word vectors; see `evenhand embeddings`.")],
    directions: Annotated[
        list[str] | None,
        Option(
            "--direction",
            help="Each woman-man (towards woman, away from man), mean:definitional, pc:FILE. May be"
            " repeated.",
        ),
    ] = None,
    text_column: shared.TextColumn = None,
    units: Annotated[
        str | None, Option("--unit", help="Column that says whom a text is of, e.g. its author.")
    ] = None,
    search: Annotated[
        str, Option(help="beam, greedy, exhaustive, genetic, genetic-practice or single.")
    ] = "beam",
    search_options: Annotated[
        list[str] | None,
        Option("--search-option", help="Options of the search, e.g. width=10. NAME=VALUE; may be repeated."),
    ] = None,
    goal: Annotated[
        str,
        Option(
            help="untargeted (any other label), targeted (target), minimise or maximise (score by amount)."
        ),
    ] = "untargeted",
    target: Annotated[str | None, Option(help="Label that a targeted search is after.")] = None,
    score: Annotated[str | None, Option(help="One score, instead of label probabilities.")] = None,
    labels: Annotated[
        list[str] | None,
        Option(
            "--label",
            help="Scores that are label probabilities, or the labels that a subject answers with; all by"
            " default. May be repeated.",
        ),
    ] = None,
    threshold: Annotated[float | None, Option(help="Where the label of score changes.")] = None,
    amount: Annotated[float | None, Option(help="By how much score must move.")] = None,
    candidates: Annotated[
        str,
        Option(
            help="embeddings (a word's nearest words), masked:NAME (those of them that a masked language"
            " model expects at the place), or module:attr."
        ),
    ] = "embeddings",
    proposals: Annotated[int, Option(help="Words that a model proposes for a place.", min=1)] = 50,
    n: Annotated[int, Option("--neighbours", help="Most candidates for a word.", min=1)] = 8,
    min_similarity: shared.MinSimilarity = 0.5,
    min_gain: shared.MinGain = 0.1,
    max_rank: Annotated[int, Option(help="A candidate is among so many nearest words.", min=1)] = 50,
    max_target: Annotated[int, Option(help="Most words that one candidate may stand for.", min=1)] = 40,
    min_sentence_similarity: Annotated[
        float, Option(help="Least cosine of a sentence before and after.")
    ] = -1.0,
    inflections: Annotated[bool, Option("--inflections", help="Also accept inflections of a word.")] = False,
    dictionary: Annotated[
        str, Option(help="rules or seed (the words plainly nearest to word + direction).")
    ] = "rules",
    any_form: Annotated[
        bool,
        Option("--any-form", help="Also accept words of another part of speech or form, and change names."),
    ] = False,
    antonyms: Annotated[
        bool, Option("--antonyms", help="Also accept words that say something else, such as wrong → right.")
    ] = False,
    label_words: Annotated[
        str, Option(help="include or leave (alter no word that flips the label when it stands alone).")
    ] = "include",
    strength: Annotated[
        float | None,
        Option(help="Length of the step; by default of the sum and difference of unit vectors itself."),
    ] = None,
    match: Annotated[str, Option(help="Equal budgets both ways: candidates, mutual or none.")] = "candidates",
    definitional: Annotated[
        str,
        Option(help="apart (also test without words that say the attribute itself, he → she) or include."),
    ] = "apart",
    definitional_words: Annotated[
        list[str] | None,
        Option("--definitional-word", help="Further words that say the attribute itself. May be repeated."),
    ] = None,
    fluency: Annotated[
        str, Option(help="ngram, none, a KenLM file, masked:NAME, causal:NAME, or module:attr.")
    ] = "ngram",
    fluency_ratio: Annotated[float, Option(help="Least p(altered)/p(original).")] = 0.25,
    fluency_order: Annotated[int, Option(help="Words in a row that the n-gram model sees.", min=1)] = 3,
    fluency_pmi: Annotated[
        bool,
        Option("--fluency-pmi", help="Set the words' own frequencies aside (pointwise mutual information)."),
    ] = False,
    corpus: Annotated[str | None, Option(help="Further texts for the n-gram model.")] = None,
    tagger: Annotated[
        str | None, Option(help="module:attr from words to parts of speech; candidates must keep theirs.")
    ] = None,
    max_changed: Annotated[float, Option(help="Share of a text's words that may change.")] = 0.25,
    max_queries: Annotated[int, Option(help="Most queries for one text in one direction.")] = 500,
    placebos: Annotated[int, Option(help="Random directions.", min=0)] = 99,
    holdout: Annotated[float, Option(help="Share of texts on which flips are confirmed.")] = 0.5,
    tolerance: Annotated[
        float,
        Option(help="Excess of the flip rate over placebos that counts as even-handed, declared beforehand."),
    ] = 0.05,
    primary: shared.Primary = None,
    level: shared.Level = 0.95,
    correction: shared.Correction = "single-step",
    limit: shared.Vocabulary = None,
    fold_case: shared.FoldCase = False,
    seed: shared.Seed = 0,
    repeats: shared.Repeats = 1,
    batch_size: shared.BatchSize = 1_000,
    budget: shared.Budget = None,
    rate: shared.Rate = None,
    option: shared.SubjectOptions = None,
    subject_version: shared.SubjectVersion = None,
    journal: shared.Journal = None,
    rescore: shared.Rescore = False,
    no_cache: shared.NoCache = False,
    out: shared.Out = None,
) -> None:
    """Nudge words along a direction until the verdict changes; only what exceeds random directions counts."""
    perform(call_of("attack", locals(), search_options=key_values(search_options, "--search-option")))


def annotation(
    result: Annotated[Path, Argument(help="result.json of an attack.")],
    sheet: Annotated[Path | None, Option(help="Write a blind sheet for people to fill in.")] = None,
    key: Annotated[Path | None, Option(help="The key that unblinds the sheet.")] = None,
    read: Annotated[Path | None, Option(help="A sheet that was filled in, to be evaluated.")] = None,
    seed: Annotated[int, Option(help="Of the order of the rows.")] = 0,
) -> None:
    """Let people judge, blind, which flips kept the meaning: write a sheet, or read the valid-flip rate."""
    from evenhand.audits.attack.annotation import adjusted, headline, write_sheet

    if key is None or (sheet is None) == (read is None):
        raise UsageError(
            "annotation-files",
            "an annotation needs a key, and either a sheet to write or one to read",
            expected="--sheet sheet.csv --key key.csv, later --read sheet.csv --key key.csv",
        )
    if sheet is not None:
        n = write_sheet(Result.from_json(result), sheet, key, seed=seed)
        typer.echo(
            f"Written: {sheet} ({n} rows to fill in: same_meaning yes/no) and {key} (keep it from the"
            " annotators)"
        )
        return
    if read is None:
        return
    found = adjusted(Result.from_json(result), read, key)
    typer.echo(headline(found))
    for row in found.rows():
        shown = {name: f"{value:.3f}" if isinstance(value, float) else value for name, value in row.items()}
        typer.echo("  ".join(f"{name}: {value}" for name, value in shown.items()))
