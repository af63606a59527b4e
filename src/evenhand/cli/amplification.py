"""`evenhand amplification`, `evenhand balance`: captions, labels or counts of training data and outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias, cast

import typer
from typer import Argument, Option

from evenhand._errors import UsageError
from evenhand.audits.amplification.reading import Rule
from evenhand.cli import options as shared
from evenhand.cli.options import tolerances
from evenhand.cli.output import call_of, perform

DATA = "COCO caption JSON, JSON lines, CSV, TSV, Parquet, Arrow, or .txt with a caption a line."

Groups: TypeAlias = Annotated[
    str | None,
    Option(
        help="Who is compared: a list of `evenhand list terms`, a file {group: [words]}, a column, or"
        " several 0/1 columns. Separated by commas."
    ),
]
Items: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--item",
        help="Items to count: names, or a file with an item and its synonyms a line. Repeated or separated"
        " by commas.",
    ),
]
TextColumn: TypeAlias = Annotated[
    str | None, Option(help="Column with captions, where its name does not tell.")
]
IdColumn: TypeAlias = Annotated[
    str | None, Option(help="Column with image ids, where its name does not tell.")
]
NamesSeveral: TypeAlias = Annotated[
    str,
    Option(
        help="Captions that name several groups: exactly-one (left out), any, or both (a group of their own)."
    ),
]
MinSupport: TypeAlias = Annotated[
    int, Option(help="Mentions with a group that an item needs in the training data.")
]
Mined: TypeAlias = Annotated[int, Option("--top", help="Mined items per group and part of speech.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "amplification",
        epilog="Example: evenhand amplification train_captions.json generated.json --item umbrella,tie --out"
        " out/",
    )(amplification)
    epilog = "Example: evenhand balance train_captions.json --alpha 2 --to kept.jsonl"
    app.command("balance", epilog=epilog)(balance_command)


def amplification(
    train: Annotated[Path, Argument(help=f"Training captions, labels or counts: {DATA}")],
    outputs: Annotated[
        Path | None,
        Argument(help="What the model made; without it, what is tied to whom in train."),
    ] = None,
    groups: Groups = None,
    items: Items = None,
    truth: Annotated[
        Path | None,
        Option(help="Annotation of the outputs' images, for directional amplification, errors and leakage."),
    ] = None,
    before: Annotated[Path | None, Option(help="The training data before they were balanced.")] = None,
    without: Annotated[
        Path | None, Option(help="Outputs of a model of the data before they were balanced.")
    ] = None,
    units: Annotated[
        str | None,
        Option(
            "--unit",
            help="Column with what images belong to, where several are no independent evidence: a"
            " photographer, a video, a prompt. false says that images are independent.",
        ),
    ] = None,
    text: TextColumn = None,
    id: IdColumn = None,
    rule: NamesSeveral = "exactly-one",
    pool: Annotated[
        str, Option(help="Count each caption, or join the captions of an image first: caption or image.")
    ] = "caption",
    match: Annotated[str, Option(help="Images compared: auto, all or shared.")] = "auto",
    plurals: Annotated[bool, Option("--plurals", help="Count plurals of group words and items too.")] = False,
    min_support: MinSupport = 10,
    top_n: Mined = 25,
    tagger: Annotated[str | None, Option(help="For parts of speech: module:attr, or spacy:MODEL.")] = None,
    parser: Annotated[
        str | None,
        Option(
            help="Of sentences, to count what people do, undergo and are said to be, instead of nouns and"
            " verbs that stand beside them: spacy:MODEL, of a model that is installed, or module:attr."
        ),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        Option(
            help="Largest growth of shares that counts as none. A number, 0.02 where nothing is said, or"
            " MEASURE=NUMBER; may be repeated."
        ),
    ] = None,
    item_tolerance: Annotated[
        float | None, Option(help="Judge single items too: largest change of a share that counts as none.")
    ] = None,
    margin: Annotated[float, Option(help="Change of a share that is a violation.")] = 0.05,
    balance: Annotated[
        float | None,
        Option(
            help="Also compare with training data balanced so that no item's ratio of groups exceeds this"
            " number."
        ),
    ] = None,
    leakage: Annotated[
        bool | None,
        Option(
            help="Train attackers that guess the group from outputs; by default where scikit-learn is"
            " installed."
        ),
    ] = None,
    seeds: Annotated[int, Option(help="Times each attacker is trained.")] = 3,
    permutations: Annotated[
        int, Option(help="Times groups are dealt anew among the images for the null of leakage.")
    ] = 19,
    draws: Annotated[int, Option(help="Bootstrap resamples of images.")] = 1000,
    primary: shared.Primary = None,
    level: shared.Level = 0.95,
    correction: shared.Correction = "single-step",
    seed: shared.Seed = 0,
    out: shared.Out = None,
) -> None:
    """Measure whether outputs tie groups of people to things more tightly than the training data did."""
    settled = {"groups": _names(groups), "items": _items(items), "tolerance": _tolerance(tolerance)}
    settled |= {"units": False} if units == "false" else {}
    perform(call_of("amplification", locals(), **settled))


def _tolerance(given: list[str] | None) -> float | dict[str, Any] | None:
    """One number for the growth of shares, or measure → tolerance; None where nothing is said."""
    if not given:
        return None
    try:
        return float(given[0]) if len(given) == 1 else tolerances(given, EXAMPLE)
    except ValueError:
        return tolerances(given, EXAMPLE)


EXAMPLE = "mean bias amplification=0.02"


def balance_command(
    captions: Annotated[Path, Argument(help=f"Training captions, labels or counts: {DATA}")],
    alpha: Annotated[float, Option(help="Largest ratio of groups that any item may keep: 1, 2, 3, …")],
    to: Annotated[Path | None, Option(help="File for the ids (or weights): .jsonl, .csv or .txt.")] = None,
    rows: Annotated[
        Path | None,
        Option("--filtered", help="File for the training rows that stay, to train on: .jsonl or .csv."),
    ] = None,
    groups: Groups = None,
    items: Items = None,
    weights: Annotated[bool, Option("--weights", help="Weights in [0, 1] instead of a subset.")] = False,
    text: TextColumn = None,
    id: IdColumn = None,
    rule: NamesSeveral = "exactly-one",
    min_support: MinSupport = 10,
    top_n: Mined = 25,
) -> None:
    """Choose the largest part of a training set in which no item's ratio of groups exceeds alpha."""
    from evenhand.audits.amplification.balance import balance

    made = balance(
        str(captions),
        alpha=alpha,
        groups=_names(groups),
        items=_items(items),
        weights=weights,
        text=text,
        id=id,
        rule=cast("Rule", rule),
        min_support=min_support,
        top_n=top_n,
        to=to,
        rows=rows,
    )
    typer.echo(made.summary())
    written = [str(path) for path in (to, rows) if path is not None]
    if written:
        typer.echo("\n  ".join(["Written:", *written]))


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
