"""Templates: sentences with slots, their values, and the grid that they become."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from evenhand._errors import UsageError
from evenhand._files import foreign
from evenhand._model import Factor
from evenhand.plans._control import without
from evenhand.plans._rewriting import article_like
from evenhand.plans._slots import (
    Filler,
    Levels,
    Slot,
    compile_template,
    escape,
    parse_slots,
    slot_keys,
    starts_sentence,
)
from evenhand.plans._words import match_case
from evenhand.plans.grid import CONTROL, Block, Grid, Skipped
from evenhand.terms import Terms
from evenhand.terms import terms as load_terms

_ARTICLE = re.compile(r"(?<![^\W_])(a/an|an?)(?=\s+\Z)", re.I)


@dataclass(frozen=True, kw_only=True)
class Templates:
    """Sentences with slots.

    Args:
        templates: ``"{name} feels {emotion}."``; see `evenhand.plans.templates.templates`.
        ids: one id per template.
        values: slot → words, combined in every way (Cartesian).
        groups: slot → {group → words}: like `values`, and the group becomes a factor of the texts, named by
            the last word of the slot (``{situation emotion}`` sets ``emotion``).
        terms: what the remaining slots are filled with when none is given.
        factors: further columns of the templates, e.g. ``sentiment``.
        bases: the texts that templates were made from; the templates themselves where empty.
        flags: a flag per template, "" for none.
        follow: whether the text's own pronouns follow the gender of the name; one for all, or one each.
        language: of the texts: "en", or "es" (Spanish), where what agrees with the name follows it.
        skipped: texts that no template could be made of, and why.
        source, licence: of the templates.
    """

    templates: tuple[str, ...]
    ids: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    terms: Terms | None = None
    factors: Mapping[str, Factor] = field(default_factory=dict)
    bases: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    follow: bool | tuple[bool, ...] = False
    language: str = "en"
    skipped: tuple[Skipped, ...] = ()
    source: str = ""
    licence: str = ""

    def __len__(self) -> int:
        """The number of sentences that the default terms make."""
        return len(self.grid())

    def __iter__(self) -> Iterator[str]:
        """The sentences, in the order of the grid."""
        return iter(self.grid())

    @property
    def follows(self) -> tuple[bool, ...]:
        """`follow` of every template."""
        if isinstance(self.follow, tuple):
            return self.follow
        return (self.follow,) * len(self.templates)

    def expanded(self) -> Iterator[tuple[int, str, str, Mapping[str, str]]]:
        """(number of the template, id of the text, template without value slots, {slot or group: word})."""
        choices = {
            **{k: [(w, {k: w}) for w in v] for k, v in self.values.items()},
            **{
                k: [
                    (w, {k.split()[-1]: g, f"{k.split()[-1]} word": w})
                    for g, words in v.items()
                    for w in words
                ]
                for k, v in self.groups.items()
            },
        }
        for number, (name, template) in enumerate(zip(self.ids, self.templates, strict=True)):
            keys = [k for k in slot_keys(template) if k in choices] if choices else []
            if not keys:
                yield number, name, template, {}
                continue
            for picked in product(*(choices[k] for k in keys)):
                words = dict(zip(keys, (w for w, _ in picked), strict=True))
                labels = {k: v for _, part in picked for k, v in part.items()}
                yield number, "/".join([name, *words.values()]), _fill(template, words), labels

    def grid(self, terms: Terms | str | PathLike[str] | None = None, *, control: bool = False) -> Grid:
        """The compiled design: every text with every term that has the forms it needs.

        Args:
            terms: a list or its name; the templates' own where None.
            control: also one row per text without any term, in the role "control", where the text stays
                grammatical.

        Raises:
            UsageError: a slot that nothing fits, no terms, or no rows at all.

        >>> g = templates(
        ...     ["{name} said {pronoun.subject} was an {mood} person."], values={"mood": ["odd"]}
        ... ).grid("names/weat-gender")
        >>> len(g), g.render(0), g.levels["gender"]
        (16, 'John said he was an odd person.', ('male', 'female'))
        """
        chosen = self.terms if terms is None else load_terms(terms)
        if chosen is None:
            raise UsageError(
                "no-terms",
                "These templates need terms to fill in.",
                expected="terms='names/freakonomics' or a file",
            )
        return _compile(self, chosen, control=control)

    def to_toml(self) -> str:
        """The templates as a file that a person can review and edit; `templates(path)` reads it back."""
        lines = [
            "# One [[template]] per text: edit the text between the quotes, or delete a whole entry.",
            "",
        ]
        for i, template in enumerate(self.templates):
            lines += ["[[template]]", f"id = {_quote(self.ids[i])}", f"text = {_quote(template)}"]
            if self.bases and self.bases[i] != template:
                lines.append(f"base = {_quote(self.bases[i])}")
            if self.flags and self.flags[i]:
                lines.append(f"flag = {_quote(self.flags[i])}")
            if self.follow is not True and self.follows[i]:
                lines.append("follow = true")
            lines += [
                f"{k} = {_quote(f.levels[c])}" for k, f in self.factors.items() if (c := int(f.codes[i])) >= 0
            ]
            lines.append("")
        for table, content in (("values", self.values), ("groups", self.groups)):
            for key, words in content.items():
                entries = words.items() if isinstance(words, Mapping) else [(key, words)]
                lines.append(f"[{table}.{_quote(key)}]" if isinstance(words, Mapping) else f"[{table}]")
                lines += [f"{_quote(k)} = {json.dumps(list(w), ensure_ascii=False)}" for k, w in entries] + [
                    ""
                ]
        if self.follow is True:
            lines.insert(1, "follow = true\n")
        return "\n".join(lines)


def _compile(made: Templates, chosen: Terms, *, control: bool) -> Grid:
    """The grid of `made` filled with `chosen`."""
    filler, cache = Filler(chosen), dict[tuple[object, ...], tuple[str, ...]]()
    forms, flags = Levels(), Levels()
    blocks: list[Block] = []
    ids: list[str] = []
    labels: list[Mapping[str, str]] = []
    numbers: list[int] = []
    skipped = list(made.skipped)
    for number, name, template, label in made.expanded():
        filled = compile_template(
            template,
            len(ids),
            filler,
            follow=made.follows[number],
            forms=forms,
            flags=flags,
            flag=made.flags[number] if made.flags else "",
            language=made.language,
            cache=cache,
        )
        if not filled:
            skipped.append(Skipped(text=name, reason="no term has the forms that this template needs"))
            continue
        if control:
            block = _control(template, len(ids))
            if isinstance(block, str):
                skipped.append(Skipped(text=name, reason=f"no control: {block}"))
            else:
                filled.append(block)
        blocks += filled
        ids.append(name)
        labels.append(label)
        numbers.append(number)
    if not blocks:
        raise UsageError(
            "empty-grid",
            "No text can be filled with these terms.",
            given=f"{len(made.templates)} templates, {chosen.id}",
            hint=skipped[0].reason if skipped else None,
        )
    keys = list(dict.fromkeys(k for label in labels for k in label))
    return Grid(
        terms=chosen,
        texts=tuple(ids),
        bases=tuple((made.bases or made.templates)[n] for n in numbers),
        blocks=tuple(blocks),
        text_factors={
            **{k: f[np.array(numbers)] for k, f in made.factors.items()},
            **{k: Factor.of([label.get(k) for label in labels]) for k in keys},
        },
        forms=tuple(forms.index),
        flags=tuple(flags.index),
        skipped=tuple(skipped),
    )


def _control(template: str, text: int) -> Block | str:
    """The row without any term, or why there is none."""
    without_term, why = without(template)
    if without_term is None:
        return why
    rows = np.array([-1], dtype=np.int32)
    return Block(text=text, wording=without_term.replace("%", "%%"), columns=(), rows=rows, role=CONTROL)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _fill(template: str, words: Mapping[str, str]) -> str:
    """Fills value slots, repairing a or an before them; other slots stay."""
    out: list[str] = []
    for p in parse_slots(template):
        if isinstance(p, str):
            out.append(escape(p))
        elif p.key in words:
            word = words[p.key]
            word = (
                word.upper() if p.case == "upper" else match_case(word, "Xx") if p.case == "capital" else word
            )
            m = _ARTICLE.search(out[-1]) if out else None
            if m:
                out[-1] = out[-1][: m.start()] + article_like(m.group()[:1], word) + out[-1][m.end() :]
            begins = starts_sentence("".join(out[-8:])[-400:])
            out.append(escape(match_case(word, "Xx") if begins else word))
        else:
            out.append(str(p))
    return "".join(out)


def templates(
    source: str | PathLike[str] | Sequence[str],
    *,
    values: Mapping[str, Sequence[str]] | None = None,
    terms: Terms | str | PathLike[str] | None = None,
) -> Templates:
    """Templates by a shipped name ("eec", "identity"), from a TOML, JSON or text file, or from a list of
    sentences.

    Slots: ``{name}`` and ``{person.object}`` are filled from names; ``{race}``, ``{race:noun_plural}`` (any
    category) from identity terms; ``{pronoun.subject}``, ``.object``, ``.determiner``, ``.possessive``,
    ``.reflexive`` follow the gender of the name, with verbs in agreement (write the sentence as for "he");
    any other slot takes its words from `values`. "a" or "an" before a slot is repaired; ``{Slot}`` begins
    with a capital, ``{slot:lower}`` with none even where a sentence begins, ``{slot:upper}`` is in capitals,
    and so is ``{SLOT}`` where the whole text is; elsewhere ``{SLOT}`` is ``{slot}``.

    Args:
        source: name, path or sentences.
        values: slot → words, combined in every way.
        terms: what fills the other slots unless `grid` is given another list.

    Raises:
        UsageError: an unknown name, or a template with a stray brace.
        DataError: a file that cannot be read.

    >>> eec = templates("eec")
    >>> len(eec), next(iter(eec))
    (8640, 'Ebony feels angry.')
    """
    if isinstance(source, str | PathLike):
        loaded = _load(str(source))
    else:
        loaded = Templates(templates=tuple(source), ids=tuple(f"t{i + 1}" for i in range(len(source))))
    for t in loaded.templates:
        parse_slots(t)
    if not loaded.templates:
        raise UsageError("no-templates", "There are no templates.", given=str(source))
    return replace(
        loaded,
        values={**loaded.values, **{k: tuple(v) for k, v in (values or {}).items()}},
        terms=loaded.terms if terms is None else load_terms(terms),
    )


SHIPPED = {
    "eec": "8,640 sentences on 60 people, 11 templates × emotion words (Kiritchenko & Mohammad 2018)",
    "identity": "sentences with a slot for an identity term, five categories, three sentiment classes",
}


def _load(name: str) -> Templates:
    from evenhand._encoding import read_text

    if name in SHIPPED:
        text = files("evenhand.plans").joinpath("data", f"{name}.toml").read_text(encoding="utf-8")
        return _from_toml(text, name)
    path = Path(name)
    if not path.suffix and not path.is_file():
        raise UsageError(
            "unknown-templates",
            "There are no such templates.",
            given=name,
            available=SHIPPED,
            expected="a name or a file",
        )
    text = read_text(path)
    if path.suffix.lower() in (".toml", ".json"):
        with foreign(path, "bad-templates"):
            return _from_toml(text, path.name)
    lines = [line for line in text.splitlines() if line.strip()]
    return Templates(templates=tuple(lines), ids=tuple(f"t{i + 1}" for i in range(len(lines))))


_OWN = ("id", "text", "base", "flag", "follow")


def _from_toml(text: str, name: str) -> Templates:
    import tomllib

    try:
        content: dict[str, Any] = json.loads(text) if name.endswith(".json") else tomllib.loads(text)
        entries = content["template"]
        rows = [(str(e.get("id", f"t{i + 1}")), str(e["text"]), e) for i, e in enumerate(entries)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            "bad-templates",
            f"{name} cannot be read as templates: {error}.",
            expected='entries [[template]] with id = "…" and text = "…"',
        ) from None
    extra = list(dict.fromkeys(k for _, _, e in rows for k in e if k not in _OWN))
    return Templates(
        templates=tuple(t for _, t, _ in rows),
        ids=tuple(i for i, _, _ in rows),
        values={k: tuple(v) for k, v in content.get("values", {}).items()},
        groups={k: {g: tuple(w) for g, w in v.items()} for k, v in content.get("groups", {}).items()},
        terms=load_terms(content["terms"]) if "terms" in content else None,
        factors={k: Factor.of([e.get(k) for _, _, e in rows]) for k in extra},
        bases=tuple(str(e.get("base", t)) for _, t, e in rows),
        flags=tuple(str(e.get("flag", "")) for _, _, e in rows),
        follow=bool(content.get("follow", False)) or tuple(bool(e.get("follow")) for _, _, e in rows),
        source=str(content.get("source", "")),
        licence=str(content.get("licence", "")),
    )


__all__ = ["SHIPPED", "Slot", "Templates", "templates"]
