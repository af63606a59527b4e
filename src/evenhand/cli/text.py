"""`evenhand text`: audit a live model with names, pronouns or identity terms; `evenhand demo`: the same on shipped defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand._errors import UsageError
from evenhand._spec import Spec
from evenhand.cli.options import key_values, level_option, named_levels, out_option, tolerance_option
from evenhand.cli.output import finish, perform, progress_bar

SubjectOption = Annotated[
    str, typer.Option("--subject", help="A name of `evenhand list subjects`, or module:attr.")
]
TextsOption = Annotated[
    str, typer.Option("--texts", help="File (txt, csv, jsonl, parquet, toml) or a shipped name.")
]
TermsOption = Annotated[
    list[str], typer.Option("--terms", help="A name of `evenhand list terms`, or a file.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "text",
        epilog="Example: evenhand text --subject vader --texts person --terms names/freakonomics --out out/",
    )(text)
    app.command("demo", epilog="Example: evenhand demo --out my-first-audit")(demo)


def text(
    subject: SubjectOption = "vader",
    texts: TextsOption = "person",
    terms: TermsOption = ["names/freakonomics"],  # noqa: B006 - typer copies it
    replace: Annotated[
        str | None, typer.Option("--replace", help="The name in the texts that gives way.")
    ] = None,
    text_column: Annotated[str | None, typer.Option("--text-column", help="Column with the texts.")] = None,
    group: Annotated[
        list[str] | None, typer.Option("--group", help="Attribute to compare; all by default.")
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option("--reference", help="ATTRIBUTE=GROUP that the others are held against."),
    ] = None,
    most_texts: Annotated[
        int | None, typer.Option("--most-texts", help="An even random sample of so many texts.", min=1)
    ] = None,
    score: Annotated[
        str | None, typer.Option("--score", help="Which score; the subject's first by default.")
    ] = None,
    strata: Annotated[str | None, typer.Option("--strata", help="Column that classes the texts.")] = None,
    strata_subject: Annotated[
        str | None, typer.Option("--strata-subject", help="A subject that classes the base texts instead.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Score from which a reply is positive.")
    ] = None,
    control: Annotated[bool, typer.Option(help="Also ask the text without its identity term.")] = True,
    tolerance: tolerance_option = 0.1,
    level: level_option = 0.95,
    correction: Annotated[str, typer.Option("--correction", help="holm, bh or none.")] = "holm",
    seed: Annotated[int, typer.Option("--seed", help="Of placebo and resampling.")] = 0,
    repeats: Annotated[int, typer.Option("--repeats", help="Identical calls on purpose.", min=1)] = 1,
    batch_size: Annotated[int, typer.Option("--batch-size", help="Inputs in one call.", min=1)] = 1_000,
    budget: Annotated[int | None, typer.Option("--budget", help="Most inputs to ask.", min=0)] = None,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", help="Most money to spend; needs a price.")
    ] = None,
    price: Annotated[float | None, typer.Option("--price", help="Money for one call.")] = None,
    price_per_100: Annotated[
        float | None, typer.Option("--price-per-100-characters", help="Money for 100 characters begun.")
    ] = None,
    long_texts: Annotated[str, typer.Option("--long-texts", help="error, split or stop.")] = "error",
    rate: Annotated[float | None, typer.Option("--rate", help="Most inputs a second.")] = None,
    option: Annotated[list[str] | None, typer.Option("--option", help="NAME=VALUE for the subject.")] = None,
    journal: Annotated[
        Path | None, typer.Option("--journal", help="Replies are kept here; default in --out.")
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep and reuse no replies.")] = False,
    export_probes: Annotated[
        Path | None,
        typer.Option("--export-probes", help="Write the rewritten texts to this CSV and ask nothing."),
    ] = None,
    export_templates: Annotated[
        Path | None,
        typer.Option(
            "--export-templates", help="Write the texts with placeholders, for review; ask nothing."
        ),
    ] = None,
    out: out_option = None,
) -> None:
    """Score the same texts with other names, pronouns or identity terms, and compare the groups."""
    arguments: dict[str, Any] = {
        "subject": subject,
        "texts": texts,
        "terms": terms,
        "replace": replace,
        "text_column": text_column,
        "groups": group,
        "most_texts": most_texts,
        "reference": named_levels(reference, group or ["race", "gender"]) if reference else None,
        "score": score,
        "strata": strata,
        "strata_subject": strata_subject,
        "threshold": threshold,
        "control": control,
        "tolerance": tolerance,
        "level": level,
        "correction": correction,
        "seed": seed,
        "repeats": repeats,
        "batch_size": batch_size,
        "budget": budget,
        "max_cost": max_cost,
        "price": price,
        "price_per_100": price_per_100,
        "long_texts": long_texts,
        "rate": rate,
    }
    if export_probes is not None or export_templates is not None:
        _export(arguments, export_probes, export_templates)
        return
    if not no_cache and (journal is not None or out is not None):
        arguments["journal"] = str(journal if journal is not None else Path(str(out)) / "journal.sqlite")
    options = key_values(option)
    perform(Spec(kind="text", arguments=arguments, subject=options, out=None if out is None else str(out)))


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for what the demo writes.")] = Path(
        "evenhand-demo"
    ),
    subject: Annotated[str, typer.Option("--subject", help="Any subject; VADER needs no key.")] = "vader",
) -> None:
    """Audit a real model (VADER) with 80 names and with identity terms of five categories; no key, no download."""
    from evenhand.audits.text.demo import demo_design, demo_subjects, run_demo

    with progress_bar(len(demo_design()) * len(demo_subjects(subject))) as update:
        result = run_demo(subject, progress=update)
    finish(result, out)


def _export(arguments: dict[str, Any], probes: Path | None, templates: Path | None) -> None:
    from evenhand.audits.text.designs import design_of
    from evenhand.audits.text.export import write_probes, write_templates

    made = design_of(arguments)
    if probes is not None and templates is not None and probes == templates:
        raise UsageError("same-file", "probes and templates cannot go to one file", given=probes)
    if probes is not None:
        n, lines = write_probes(made, probes)
        typer.echo(f"Written: {probes} ({n} probes) and {lines} (one document a line, in the same order)")
    if templates is not None:
        typer.echo(f"Written: {templates} ({write_templates(made, templates)} templates)")
