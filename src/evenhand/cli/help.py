"""How `--help` reads: whole summaries, and options under the questions that they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperCommand

GROUPS: Mapping[str, str] = {
    "What is audited": "subject subject_options texts text_column terms text score scores labels y_true"
    " y_pred y_score task positive selection train outputs images before embeddings directions corpus"
    " units weight count lists features truth published interval top first period items id most_texts"
    " probes option model trusted trust_pickle without parser test targets attributes query",
    "Who is compared": "groups reference strata intersections control continuous missing replace name"
    " pronouns language flagged reviewed rule attribute probabilities min_group person_column mode"
    " strata_subject surer_than proxies",
    "How it is judged": "tolerance tolerances primary level correction measures law quantiles threshold"
    " margin placebos holdout replicates draws suggest_threshold fail_on policy baseline frontier pinball"
    " classes item_tolerance permutations alternative",
    "Cost, pace and what is kept": "budget rate price price_per_100 max_cost batch_size repeats journal"
    " no_cache rescore subject_version seed parallel engine gpu long_texts",
    "Where results go": "out kind html markdown csv json junit review export_templates export_probes to rows"
    " save",
}
"""Heading → parameters of commands; what stands nowhere comes under "Options"."""
OTHERS = "Options"


class UnderHeadings(TyperCommand):
    """A command whose options stand under headings, where it has many."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments first, then each heading that has options."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        params = self.get_params(ctx)
        many = len(params) > 12
        sections |= {name: [] for name in (*GROUPS, OTHERS)} if many else {OTHERS: []}
        home = {param: name for name, names in GROUPS.items() for param in names.split()} if many else {}
        for param in params:
            record = param.get_help_record(ctx)
            if record is not None:
                argument = param.param_type_name == "argument"
                sections["Arguments" if argument else home.get(param.name or "", OTHERS)].append(record)
        for name, records in sections.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


def whole_summaries(app: typer.Typer) -> None:
    """Each command's first sentence stands uncut in the list of commands, and its options under headings."""
    for command in app.registered_commands:
        text = (command.callback.__doc__ or "") if command.callback is not None else ""
        command.short_help = " ".join(text.split("\n\n")[0].split()) or None
        command.cls = UnderHeadings


ANYWHERE = ("-v", "--verbose", "-q", "--quiet", "--json")
"""Flags of evenhand itself that may stand before or after a command."""
TITLE = "--title"
"""An option of evenhand itself that may stand anywhere, with its value."""


def gathered(arguments: Sequence[str]) -> list[str]:
    """What may stand anywhere first, then the others; ``--json`` of a report is its own.

    >>> gathered(["text", "--texts", "a.txt", "-v", "--title", "Who?"])
    ['-v', '--title', 'Who?', 'text', '--texts', 'a.txt']
    """
    ends = arguments.index("--") if "--" in arguments else len(arguments)
    first, rest, title = list[str](), list[str](), False
    command = next((a for a in arguments if not a.startswith("-")), "")
    for argument in arguments[:ends]:
        flag = argument in ANYWHERE and (argument != "--json" or command != "report")
        mine = flag or title or argument == TITLE or argument.startswith(f"{TITLE}=")
        (first if mine else rest).append(argument)
        title = argument == TITLE
    return [*first, *rest, *arguments[ends:]]
