"""`evenhand init`: a commented audit.toml to begin with, from questions or from flags."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from evenhand._errors import DataError, UsageError
from evenhand._files import write_whole
from evenhand._spec import ABOUT, Spec, to_toml, validate
from evenhand.audits import AUDITS
from evenhand.cli.options import key_values

WANTED: dict[str, dict[str, str]] = {
    "text": {"subject": "vader", "texts": "texts.txt", "terms": "names/freakonomics"},
    "scores": {"data": "scores.csv", "scores": "score", "groups": "group"},
    "predictions": {"data": "predictions.csv", "y_pred": "pred", "y_true": "actual", "groups": "sex"},
    "amplification": {"train": "train_captions.jsonl", "outputs": "outputs.jsonl"},
    "attack": {"subject": "vader", "texts": "texts.txt", "embeddings": "vectors.txt"},
}
"""Kind → what it cannot do without, with an example of each."""
_ENTRY = re.compile(r"^ {8}(\w+): (.*(?:\n {12,}.*)*)", re.M)
""" ``name: what it is``, over as many lines as it takes, in a docstring's Args."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init", epilog="Example: evenhand init predictions --set data=preds.csv --set groups=sex")(
        init
    )


def init(
    kind: Annotated[str | None, Argument(help="text, scores, predictions, amplification or attack.")] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", help="An argument of the audit, NAME=VALUE. May be repeated; the rest is asked."),
    ] = None,
    out: Annotated[Path, Option("--out", "-o", help="The file to write.")] = Path("audit.toml"),
    force: Annotated[bool, Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a commented audit.toml: asks for what an audit cannot do without, if somebody is there to ask."""
    there = sys.stdin.isatty()
    if kind is None:
        if not there:
            raise UsageError("unknown-audit", "no kind of audit was named", available=sorted(AUDITS))
        for name, row in AUDITS.items():
            typer.echo(f"  {name:<14} {row.title}")
        kind = typer.prompt("Which audit", default="predictions")
    if kind not in AUDITS:
        raise UsageError("unknown-audit", "there is no such audit", given=kind, available=sorted(AUDITS))
    if out.exists() and not force:
        raise DataError(
            "file-exists", "there is such a file already", given=out, hint="--force writes over it"
        )
    given: dict[str, Any] = {name: _value(text) for name, text in key_values(settings or [], "--set").items()}
    validate({"kind": kind, "arguments": given})
    for name, example in WANTED.get(kind, {}).items():
        if name not in given:
            given[name] = typer.prompt(name, default=example) if there else example
    write_whole(out, commented(kind, given))
    typer.echo(f"Written: {out}. Change what is not yours, then: evenhand run {out}")


def _value(text: Any) -> Any:
    """A number, a truth or a list as TOML has them, else text."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return str(text)


def commented(kind: str, given: dict[str, Any]) -> str:
    """The file: what is given, then every other argument with its default and its sentence, commented out."""
    spec = Spec(kind=kind, out=f"{kind}-out")
    door = spec.function()
    said = dict(_ENTRY.findall(door.__doc__ or ""))
    head = to_toml(Spec(kind=kind, out=spec.out, arguments=given)).rstrip("\n").split("\n")
    lines = [f"# {AUDITS[kind].title}", "# evenhand run audit.toml; docs/reference/audit-file.md", *head, ""]
    for name, parameter in inspect.signature(door).parameters.items():
        if name in given or name in ("progress", "executor"):
            continue
        sentence = " ".join(said.get(name, "").split())
        lines += [f"# {line}" for line in _wrapped(sentence)]
        default = parameter.default
        shown = to_toml(Spec(kind=kind, arguments={name: default})).rstrip("\n").split("\n")[-1]
        plain = isinstance(default, bool | int | float | str | list | tuple) and default not in ((), "", [])
        lines += [f"# {shown}" if plain else f"# {name} = …", ""]
    lines += ["[about]", "# what the report says of the audit; what nobody says is printed “not stated”"]
    lines += [f'# {name} = ""' for name in ABOUT]
    return "\n".join(lines) + "\n"


def _wrapped(text: str, width: int = 100) -> list[str]:
    return textwrap.wrap(text, width)
