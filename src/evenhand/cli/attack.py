"""`evenhand attack`: replace words along directions in embedding space and hold the flips against random directions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand._errors import UsageError
from evenhand._result import Result
from evenhand._spec import Spec
from evenhand.cli.options import key_values, level_option, out_option
from evenhand.cli.output import perform


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "attack",
        epilog="Example: evenhand attack --subject my_model:predict --texts tweets.csv --text-column tweet --embeddings"
        " glove.txt --direction woman-man --direction man-woman --out out/",
    )(attack)
    app.command(
        "annotation", epilog="Example: evenhand annotation out/result.json --sheet sheet.csv --key key.csv"
    )(annotation)


def attack(
    subject: Annotated[
        str, typer.Option("--subject", help="A name of `evenhand list subjects`, or module:attr.")
    ],
    texts: Annotated[str, typer.Option("--texts", help="File (txt, csv, jsonl, parquet) or a shipped name.")],
    embeddings: Annotated[
        str, typer.Option("--embeddings", help="File of word vectors; see `evenhand embeddings`.")
    ],
    direction: Annotated[
        list[str] | None,
        typer.Option(
            "--direction", help="woman-man goes towards woman; mean:definitional, pc:pairs.json. Repeatable."
        ),
    ] = None,
    text_column: Annotated[str | None, typer.Option("--text-column", help="Column with the texts.")] = None,
    search: Annotated[
        str, typer.Option("--search", help="beam, greedy, exhaustive, genetic, genetic-practice, single.")
    ] = "beam",
    search_option: Annotated[
        list[str] | None, typer.Option("--search-option", help="NAME=VALUE, e.g. width=10.")
    ] = None,
    goal: Annotated[
        str, typer.Option("--goal", help="untargeted, targeted, minimise, maximise.")
    ] = "untargeted",
    target: Annotated[str | None, typer.Option("--target", help="Label of a targeted goal.")] = None,
    score: Annotated[
        str | None, typer.Option("--score", help="One score, instead of label probabilities.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", help="Scores that are the label probabilities; all by default."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Where the label of --score changes.")
    ] = None,
    amount: Annotated[float | None, typer.Option("--amount", help="By which --score must move.")] = None,
    neighbours: Annotated[int, typer.Option("--neighbours", help="Most candidates for a word.", min=1)] = 8,
    min_similarity: Annotated[
        float, typer.Option("--min-similarity", help="Least cosine with the word.")
    ] = 0.5,
    min_gain: Annotated[
        float,
        typer.Option("--min-gain", help="Least change along the direction, in spreads of the vocabulary."),
    ] = 0.5,
    match: Annotated[
        str, typer.Option("--match", help="candidates, mutual or none: equal budgets both ways.")
    ] = "candidates",
    definitional: Annotated[
        str, typer.Option("--definitional", help="apart: also test without man, she, …; include: do not.")
    ] = "apart",
    fluency: Annotated[
        str,
        typer.Option("--fluency", help="ngram, none, a KenLM file, masked:NAME, causal:NAME, module:attr."),
    ] = "ngram",
    fluency_ratio: Annotated[
        float, typer.Option("--fluency-ratio", help="Least p(altered)/p(original).")
    ] = 0.25,
    corpus: Annotated[
        str | None, typer.Option("--corpus", help="Further texts for the n-gram model.")
    ] = None,
    max_changed: Annotated[
        float, typer.Option("--max-changed", help="Share of a text's words that may change.")
    ] = 0.25,
    max_queries: Annotated[int, typer.Option("--max-queries", help="For one text in one direction.")] = 500,
    placebos: Annotated[int, typer.Option("--placebos", help="Random directions.", min=0)] = 99,
    holdout: Annotated[float, typer.Option("--holdout", help="Share of texts kept for confirmation.")] = 0.5,
    tolerance: Annotated[
        float,
        typer.Option("--tolerance", help="Excess of the flip rate over placebos that counts as even-handed."),
    ] = 0.05,
    level: level_option = 0.95,
    correction: Annotated[str, typer.Option("--correction", help="holm, bh or none.")] = "holm",
    vocabulary: Annotated[
        int | None, typer.Option("--vocabulary", help="Only the first words of the embeddings.")
    ] = None,
    fold_case: Annotated[bool, typer.Option("--fold-case", help="Lower-case the embeddings.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="Of placebos, halves and random searches.")] = 0,
    repeats: Annotated[int, typer.Option("--repeats", help="Identical calls on purpose.", min=1)] = 1,
    batch_size: Annotated[int, typer.Option("--batch-size", help="Inputs in one call.", min=1)] = 1_000,
    budget: Annotated[int | None, typer.Option("--budget", help="Most inputs to ask in all.", min=0)] = None,
    rate: Annotated[float | None, typer.Option("--rate", help="Most inputs a second.")] = None,
    option: Annotated[list[str] | None, typer.Option("--option", help="NAME=VALUE for the subject.")] = None,
    journal: Annotated[
        Path | None, typer.Option("--journal", help="Replies are kept here; default in --out.")
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep and reuse no replies.")] = False,
    out: out_option = None,
) -> None:
    """Nudge words along a direction until the verdict changes; only what exceeds random directions counts."""
    arguments: dict[str, Any] = {
        "subject": subject, "texts": texts, "embeddings": embeddings, "text_column": text_column,
        "directions": direction or ["woman-man", "man-woman"], "search": search,
        "search_options": key_values(search_option, "--search-option") or None, "goal": goal, "target": target,
        "score": score, "labels": label, "threshold": threshold, "amount": amount, "n": neighbours,
        "min_similarity": min_similarity, "min_gain": min_gain, "match": match, "definitional": definitional,
        "fluency": fluency, "fluency_ratio": fluency_ratio, "corpus": corpus, "max_changed": max_changed,
        "max_queries": max_queries, "placebos": placebos, "holdout": holdout, "tolerance": tolerance, "level": level,
        "correction": correction, "limit": vocabulary, "fold_case": fold_case, "seed": seed, "repeats": repeats,
        "batch_size": batch_size, "budget": budget, "rate": rate,
    }  # fmt: skip
    if not no_cache and (journal is not None or out is not None):
        arguments["journal"] = str(journal if journal is not None else Path(str(out)) / "journal.sqlite")
    spec = Spec(
        kind="attack", arguments=arguments, subject=key_values(option), out=None if out is None else str(out)
    )
    perform(spec)


def annotation(
    result: Annotated[Path, typer.Argument(help="result.json of an attack.")],
    sheet: Annotated[
        Path | None, typer.Option("--sheet", help="Write a blind sheet for people to fill in.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", help="The key that unblinds the sheet.")] = None,
    read: Annotated[
        Path | None, typer.Option("--read", help="A sheet that was filled in, to be evaluated.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the order of the rows.")] = 0,
) -> None:
    """Let people judge, blind, which flips kept the meaning: write a sheet, or read it back for the adjusted rates."""
    from evenhand.audits.attack.annotation import adjusted, write_sheet

    if key is None or (sheet is None) == (read is None):
        raise UsageError(
            "annotation-files", "an annotation needs a key, and either a sheet to write or one to read",
            expected="--sheet sheet.csv --key key.csv, later --read sheet.csv --key key.csv",
        )  # fmt: skip
    if sheet is not None:
        n = write_sheet(Result.from_json(result), sheet, key, seed=seed)
        typer.echo(
            f"Written: {sheet} ({n} rows to fill in: same_meaning yes/no) and {key} (keep it from the annotators)"
        )
        return
    if read is None:
        return
    for row in adjusted(Result.from_json(result), read, key).rows():
        typer.echo(
            "  ".join(
                f"{name}: {value:.3f}" if isinstance(value, float) else f"{name}: {value}"
                for name, value in row.items()
            )
        )
