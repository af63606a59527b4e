"""Every auditing command keeps to its audit: keywords, defaults and help are those of the signature and the docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest

from evenhand._result import Result
from evenhand._spec import Spec
from evenhand.cli import KINDS

PYTHON_ONLY: Mapping[str, str] = {
    "classifier": "an estimator of scikit-learn; no text names its settings",
    "executor": "a pool of the caller's process",
    "progress": "the command line draws its own bar",
}
"""Keywords that no option reaches, and why."""
COMMAND_ONLY: Mapping[str, str] = {
    "out": "the folder that the command writes",
    "option": "options of the subject's factory; in Python it is called",
    "no_cache": "in Python a journal is only kept where one is named",
    "review": "writes what would be asked, and asks nothing",
    "export_probes": "writes what would be asked, and asks nothing",
    "export_templates": "writes what would be asked, and asks nothing",
}
"""Options that are no keyword of an audit, and why."""
OTHER_DEFAULTS: Mapping[tuple[str, str], str] = {
    ("text", "subject"): "`evenhand text` alone is a first look, on what ships",
    ("text", "texts"): "likewise",
    ("text", "terms"): "likewise",
}
"""Options whose default is not the keyword's, and why."""
SENTENCE = re.compile(r".*?(?<!e\.g)\.(?=\s|$)")


def command(kind: str) -> Callable[..., None]:
    """The function behind `evenhand KIND`."""
    name = kind.replace("-", "_")
    found: Callable[..., None] = getattr(import_module(f"evenhand.cli.{name}"), name)
    return found


def said(text: str) -> str:
    """A sentence without the marks that only one of both places needs, its first letter small."""
    plain = " ".join(re.sub(r"[`\"]", "", text).split())
    return plain[:1].lower() + plain[1:]


def entries(function: Callable[..., Result]) -> dict[str, str]:
    """Keyword → what the docstring's `Args:` say about it."""
    block = re.split(r"\n\n", inspect.getdoc(function).partition("Args:\n")[2])[0]  # type: ignore[union-attr]
    parts = re.split(r"(?m)^    (\w+): ", block)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def options(kind: str) -> dict[str, Any]:
    """Parameter of the command → its typer option or argument."""
    hints = get_type_hints(command(kind), include_extras=True)
    return {k: get_args(h)[1] for k, h in hints.items() if get_origin(h) is Annotated}


def test_every_kind_of_audit_of_today_has_a_command() -> None:
    """An audit may do without one, but none of these five loses its own by a slip of a file's name."""
    assert set(KINDS) >= {"text", "scores", "predictions", "amplification", "attack"}


PAIRS = [(kind, name) for kind in KINDS for name in options(kind) if name not in COMMAND_ONLY]


@pytest.mark.parametrize("kind", KINDS)
def test_every_keyword_of_an_audit_can_be_reached_and_is_described(kind: str) -> None:
    """A parameter that only Python has is listed with a reason, and every parameter has its entry in the docstring."""
    audit = Spec(kind=kind).function()
    keywords = list(inspect.signature(audit).parameters)
    reached = list(inspect.signature(command(kind)).parameters)
    assert [name for name in keywords if name not in reached and name not in PYTHON_ONLY] == []
    assert [name for name in reached if name not in keywords and name not in COMMAND_ONLY] == []
    assert list(entries(audit)) == list(dict.fromkeys([*entries(audit), *keywords]))
    assert set(entries(audit)) == set(keywords)


def test_the_exceptions_are_all_in_use() -> None:
    """A reason for an exception that is gone is taken out of its table."""
    keywords = {name for kind in KINDS for name in inspect.signature(Spec(kind=kind).function()).parameters}
    parameters = {name for kind in KINDS for name in inspect.signature(command(kind)).parameters}
    assert set(PYTHON_ONLY) <= keywords - parameters
    assert set(COMMAND_ONLY) <= parameters - keywords


@pytest.mark.parametrize(("kind", "name"), PAIRS)
def test_an_option_has_the_default_of_its_keyword(kind: str, name: str) -> None:
    """What is left out on the command line means what it means in Python; unset is left to the audit."""
    ours = inspect.signature(command(kind)).parameters[name].default
    theirs = inspect.signature(Spec(kind=kind).function()).parameters[name].default
    if (kind, name) in OTHER_DEFAULTS:
        assert ours != theirs
    else:
        unset = theirs is not inspect.Parameter.empty and ours in (None, [])
        assert ours == theirs or unset


@pytest.mark.parametrize(("kind", "name"), PAIRS)
def test_an_option_s_help_is_the_first_sentence_of_its_entry(kind: str, name: str) -> None:
    """The command line and the docstring say one thing; what only the command line needs to say follows."""
    entry = entries(Spec(kind=kind).function())[name]
    first = SENTENCE.match(" ".join(entry.split()))
    assert first is not None, f"the entry of {name} ends in no full stop: {entry}"
    told = said(options(kind)[name].help)
    assert told == said(first.group()) or told.startswith(said(first.group()) + " ")
