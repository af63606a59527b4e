"""`evenhand amplification` and `evenhand balance`: captions, labels or counts of training data and outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from evenhand._errors import UsageError
from evenhand._spec import Spec
from evenhand.audits.amplification.corpus import Rule
from evenhand.cli.options import level_option, out_option
from evenhand.cli.output import perform

DATA = "COCO caption JSON, JSON lines, CSV, TSV, Parquet, Arrow, or .txt with a caption a line."


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "amplification",
        epilog="Example: evenhand amplification train_captions.json generated.json --item umbrella,tie --out out/",
    )(amplification)
    app.command("balance", epilog="Example: evenhand balance train_captions.json --alpha 2 --to kept.jsonl")(
        balance_command
    )


def amplification(
    train: Annotated[Path, typer.Argument(help="Training captions, labels or counts. " + DATA)],
    outputs: Annotated[
        Path | None,
        typer.Argument(help="What the model made. Without it: what is tied to whom in the first file."),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups",
            help="A list (evenhand list terms), a file {group: [words]}, a column, or columns a,b.",
        ),
    ] = None,
    item: Annotated[
        list[str] | None,
        typer.Option(
            "--item", help="Items to count, repeated or separated by commas; or a file with synonyms."
        ),
    ] = None,
    truth: Annotated[Path | None, typer.Option("--truth", help="Annotation of the outputs' images.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="Column with captions.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Column with image ids.")] = None,
    rule: Annotated[
        str, typer.Option("--rule", help="Captions that name several groups: exactly-one, any or both.")
    ] = "exactly-one",
    pool: Annotated[
        str, typer.Option("--pool", help="Count each caption, or each image: caption or image.")
    ] = "caption",
    match: Annotated[str, typer.Option("--match", help="Images compared: auto, all or shared.")] = "auto",
    plurals: Annotated[
        bool, typer.Option("--plurals", help="Count plurals of group words and items too.")
    ] = False,
    min_support: Annotated[
        int, typer.Option("--min-support", help="Mentions an item needs in the training data.")
    ] = 10,
    top_n: Annotated[int, typer.Option("--top", help="Mined items per group and part of speech.")] = 25,
    tagger: Annotated[str | None, typer.Option("--tagger", help="module:function, or spacy:MODEL.")] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance", help="Largest growth of shares that counts as none, declared beforehand."
        ),
    ] = 0.02,
    item_tolerance: Annotated[
        float | None,
        typer.Option("--item-tolerance", help="Judge single items too: largest change that counts as none."),
    ] = None,
    margin: Annotated[float, typer.Option("--margin", help="Change of a share that is a violation.")] = 0.05,
    balance: Annotated[
        float | None, typer.Option("--balance", help="Also against training data balanced to this ratio.")
    ] = None,
    leakage: Annotated[
        bool | None,
        typer.Option("--leakage/--no-leakage", help="Train attackers; by default where scikit-learn is."),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="Times each attacker is trained.")] = 3,
    draws: Annotated[int, typer.Option("--draws", help="Resamples of images.")] = 1000,
    level: level_option = 0.95,
    correction: Annotated[str, typer.Option("--correction", help="holm, bh or none.")] = "holm",
    seed: Annotated[int, typer.Option("--seed", help="Of resampling and attackers.")] = 0,
    out: out_option = None,
) -> None:
    """Measure whether outputs tie groups of people to things more tightly than the training data did."""
    arguments: dict[str, Any] = {
        "train": str(train),
        "outputs": None if outputs is None else str(outputs),
        "groups": _names(groups),
        "items": _items(item),
        "truth": None if truth is None else str(truth),
        "text": text,
        "id": id,
        "rule": rule,
        "pool": pool,
        "match": match,
        "plurals": plurals,
        "min_support": min_support,
        "top_n": top_n,
        "tagger": tagger,
        "tolerance": tolerance,
        "item_tolerance": item_tolerance,
        "margin": margin,
        "balance": balance,
        "leakage": leakage,
        "seeds": seeds,
        "draws": draws,
        "level": level,
        "correction": correction,
        "seed": seed,
    }
    perform(Spec(kind="amplification", arguments=arguments, out=None if out is None else str(out)))


def balance_command(
    captions: Annotated[Path, typer.Argument(help="Training captions or labels. " + DATA)],
    alpha: Annotated[
        float, typer.Option("--alpha", help="Largest ratio of groups that any item may keep: 1, 2, 3, …")
    ],
    to: Annotated[
        Path | None, typer.Option("--to", help="File for the ids (or weights): .jsonl, .csv or .txt.")
    ] = None,
    groups: Annotated[str | None, typer.Option("--groups", help="As in evenhand amplification.")] = None,
    item: Annotated[list[str] | None, typer.Option("--item", help="As in evenhand amplification.")] = None,
    weights: Annotated[
        bool, typer.Option("--weights", help="Weights in [0, 1] instead of a subset.")
    ] = False,
    text: Annotated[str | None, typer.Option("--text", help="Column with captions.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Column with image ids.")] = None,
    rule: Annotated[str, typer.Option("--rule", help="exactly-one, any or both.")] = "exactly-one",
    min_support: Annotated[int, typer.Option("--min-support", help="Mentions an item needs.")] = 10,
    top_n: Annotated[int, typer.Option("--top", help="Mined items per group and part of speech.")] = 25,
) -> None:
    """Choose the largest part of a training set in which no item's ratio of groups exceeds alpha."""
    from evenhand.audits.amplification.balance import balance

    made = balance(
        str(captions), alpha=alpha, groups=_names(groups), items=_items(item), weights=weights, text=text, id=id,
        rule=cast("Rule", rule), min_support=min_support, top_n=top_n, to=to,
    )  # fmt: skip
    typer.echo(made.summary())
    if to is not None:
        typer.echo(f"Written:\n  {to}")


def _names(groups: str | None) -> str | list[str] | None:
    """``a,b`` are columns; anything else is one name."""
    if groups is None or "," not in groups:
        return groups
    return [g.strip() for g in groups.split(",") if g.strip()]


def _items(items: list[str] | None) -> str | list[str] | None:
    if not items:
        return None
    if len(items) == 1 and Path(items[0]).suffix.lower() in (".txt", ".json", ".csv"):
        return items[0]
    found = [part.strip() for item in items for part in item.split(",") if part.strip()]
    if not found:
        raise UsageError("items", "the list of items is empty", hint="leave --item out to have them mined")
    return found
