"""`evenhand text`: a live model audited with names, pronouns or identity terms; `evenhand demo`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from evenhand._errors import UsageError
from evenhand._files import check_writable
from evenhand._labels import attributes_of
from evenhand.cli import options as shared
from evenhand.cli.options import named_levels
from evenhand.cli.output import call_of, finish, perform, progress_bar


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "text",
        epilog="Example: evenhand text --subject vader --texts person --terms names/freakonomics --out out/",
    )(text)
    app.command("demo", epilog="Example: evenhand demo --out my-first-audit")(demo)


def text(
    subject: shared.Subject = "vader",
    texts: shared.Texts = "person",
    terms: Annotated[
        list[str],
        Option(
            help="Names, pronouns, gendered pairs or identity terms: a name of `evenhand list terms`, or a"
            " file. May be repeated."
        ),
    ] = ["names/freakonomics"],  # noqa: B006 - typer copies it
    surer_than: Annotated[
        float | None,
        Option(help="Take only names whose chance to be of their group is larger, of lists that say it."),
    ] = None,
    replace: Annotated[
        str | None, Option(help="The name in the texts that gives way to those of terms.")
    ] = None,
    person_column: Annotated[
        str | None,
        Option(help="Column with the name of the person in each text, where it is not the same in all."),
    ] = None,
    mode: Annotated[
        str,
        Option(
            help="What becomes of men and women in one text where terms are gendered pairs: swap (both at"
            " once), person (only the person's words) or collapse (all become one gender)."
        ),
    ] = "swap",
    flagged: Annotated[
        str,
        Option(help="What becomes of texts of which some version is flagged: keep, drop or only."),
    ] = "keep",
    reviewed: Annotated[Path | None, Option(help="A review sheet that a person has filled in.")] = None,
    text_column: shared.TextColumn = None,
    language: Annotated[
        str,
        Option(
            help="Of the texts: en, or es (Spanish), where nouns, adjectives and articles follow the gender"
            " of the name."
        ),
    ] = "en",
    groups: Annotated[
        list[str] | None,
        Option(
            "--group",
            help="Which attributes of the terms to compare; all by default. race*gender also compares their"
            " intersections. May be repeated.",
        ),
    ] = None,
    reference: shared.Reference = None,
    most_texts: Annotated[
        int | None, Option(help="An even random sample of so many texts, of those that can be used.", min=1)
    ] = None,
    score: Annotated[
        list[str] | None,
        Option(help="The score to compare; the subject's first by default. May be repeated."),
    ] = None,
    strata: shared.Strata = None,
    strata_subject: Annotated[
        str | None,
        Option(
            help="A subject whose scores of the base texts class them negative, neutral, positive instead."
        ),
    ] = None,
    threshold: shared.Threshold = None,
    classes: shared.Classes = None,
    units: Annotated[
        list[str] | None,
        Option(
            "--unit",
            help="What the texts were sampled from, where every text is not a unit of its own: a column, or"
            " family/text where families hold paraphrases. May be repeated.",
        ),
    ] = None,
    control: Annotated[bool, Option(help="Also ask each text without its term.")] = True,
    tolerance: shared.Tolerance = None,
    alternative: shared.Alternative = "two-sided",
    primary: shared.Primary = None,
    level: shared.Level = 0.95,
    correction: shared.Correction = "single-step",
    seed: shared.Seed = 0,
    repeats: shared.Repeats = 1,
    batch_size: shared.BatchSize = 1_000,
    budget: shared.Budget = None,
    max_cost: Annotated[float | None, Option(help="Most money to spend, at the prices given.")] = None,
    price: shared.Price = None,
    price_per_100: shared.PricePer100 = None,
    long_texts: Annotated[
        str,
        Option(help="What becomes of texts over the service's limit: error, split (at sentences) or stop."),
    ] = "error",
    rate: shared.Rate = None,
    engine: shared.AskingEngine = None,
    gpu: Annotated[
        float | None, Option(help="GPUs for each worker of a cluster, or a share of one, e.g. 0.5.", min=0)
    ] = None,
    option: shared.SubjectOptions = None,
    subject_version: shared.SubjectVersion = None,
    journal: shared.Journal = None,
    rescore: shared.Rescore = False,
    no_cache: shared.NoCache = False,
    review: Annotated[
        Path | None, Option(help="Write a sheet for a person to review the versions here; ask nothing.")
    ] = None,
    export_probes: Annotated[Path | None, Option(help="Write the rewritten texts here; ask nothing.")] = None,
    export_templates: Annotated[
        Path | None, Option(help="Write texts with placeholders here; ask nothing.")
    ] = None,
    out: shared.Out = None,
) -> None:
    """Score the same texts with other names, pronouns or identity terms, and compare the groups."""
    given = locals()
    attributes = list(attributes_of(groups)) if groups else _attributes(given) if reference else []
    call = call_of("text", given, reference=named_levels(reference, attributes))
    if export_probes is not None or export_templates is not None or review is not None:
        _export(call.arguments, export_probes, export_templates, review)
        return
    perform(call)


def _attributes(arguments: Mapping[str, Any]) -> Sequence[str]:
    from evenhand.audits.text.designs import design_of

    return design_of(arguments).attributes


def demo(
    out: Annotated[Path, Option(help="Folder for what the demo writes.")] = Path("evenhand-demo"),
    subject: Annotated[str, Option(help="Any subject; VADER needs no key.")] = "vader",
) -> None:
    """Audit a real model (VADER) with 80 names and identity terms of five categories; no key, no download."""
    from evenhand.audits.text.demo import demo_design, demo_subjects, run_demo

    check_writable(out)
    with progress_bar(len(demo_design()) * len(demo_subjects(subject))) as update:
        result = run_demo(subject, progress=update)
    finish(result, out)


def _export(
    arguments: Mapping[str, Any], probes: Path | None, templates: Path | None, review: Path | None
) -> None:
    from evenhand.audits.text.designs import design_of, skipped
    from evenhand.audits.text.export import write_probes, write_templates
    from evenhand.audits.text.review import write_review

    made = design_of(arguments)
    if probes is not None and templates is not None and probes == templates:
        raise UsageError("same-file", "probes and templates cannot go to one file", given=probes)
    if probes is not None:
        n, lines = write_probes(made, probes)
        typer.echo(f"Written: {probes} ({n} probes) and {lines} (one document a line, in the same order)")
    if templates is not None:
        typer.echo(f"Written: {templates} ({write_templates(made, templates)} templates)")
    if review is not None:
        n = write_review(made.parts, review)
        typer.echo(
            f"Written: {review} ({n} versions, the least sure first). Fill in the columns decision (keep or"
        )
        typer.echo(f"drop) or replacement, then run the same audit with --reviewed {review}.")
    for reason, n in skipped(made).items():
        typer.echo(f"Warning: {n} text{'s' * (n != 1)} left out: {reason}.", err=True)
