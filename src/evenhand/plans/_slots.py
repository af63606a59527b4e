"""Templates with slots, compiled against a list of terms into the blocks of a grid."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import IntArray
from evenhand.plans._agreeing import agreeing
from evenhand.plans._edits import DOUBT, Edits, Rewrite, apply_edits
from evenhand.plans._languages import masculine_form
from evenhand.plans._pronouns import FORMS as PRONOUN_FORMS
from evenhand.plans._pronouns import PronounSet, change_pronouns, pronoun_set
from evenhand.plans._reference import is_said_of
from evenhand.plans._rewriting import article_like, flag_gendered_nouns
from evenhand.plans._titles import called, change_titles
from evenhand.plans._words import SLOT_FIRST, match_case, words_of
from evenhand.plans.grid import Block
from evenhand.terms import Terms

SLOT = re.compile(r"\{\{|\}\}|\{([^\W\d][\w ]*?)(?:[.:]([\w ]+?))??(:upper|:lower)?\}")
_ARTICLE = re.compile(r"(?<![^\W_])(a/an|an?)(?=[ \n\"“'‘(*_]+\Z)", re.I)
PERSON_KEYS = ("name", "person", "term", "noun phrase")
_MARKS = re.compile("[\ufdd0-\ufdef]")


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot of a template: ``{Race:noun_plural}`` has key "race", form "noun_plural", and a capital.

    ``{race:upper}`` is in capitals. ``{RACE}`` is so only in a text that is (``MANY {RACE} FRIENDS``):
    placeholders are often written in capitals, and nobody means “many BLACK friends” by it.
    ``{race:lower}`` has no capital where a sentence begins: “old people rock”.
    """

    key: str
    form: str | None
    like: str
    lower: bool = False

    def __str__(self) -> str:
        """As it is written in a template."""
        form = f":{self.form}" if self.form else ""
        if self.case == "upper":
            return f"{{{self.key}{form}:upper}}"
        return f"{{{self.like}{form}{':lower' if self.lower else ''}}}"

    @property
    def case(self) -> str:
        """The letter case that the template asks for: "upper", "capital" or "" (as the term is written)."""
        if len(self.like) > 1 and self.like.isupper():
            return "upper"
        return "capital" if self.like[:1].isupper() else ""


def parse_slots(template: str) -> list[str | Slot]:
    """Literals and slots in order; ``{{`` and ``}}`` are braces.

    Raises:
        UsageError: a brace that neither opens a slot nor is doubled.

    >>> parse_slots("I have {race:adjective} friends {{sic}}")[1].form
    'adjective'
    """
    parts: list[str | Slot] = []
    literal, at, stray = [], 0, False
    for m in SLOT.finditer(template):
        between = template[at : m.start()]
        stray = stray or "{" in between or "}" in between
        literal.append(between)
        at = m.end()
        if m.group() in ("{{", "}}"):
            literal.append(m.group()[0])
            continue
        like = m.group(1)
        upper, lower = (m.group(3) == case for case in (":upper", ":lower"))
        if upper or like.isupper():
            like = like.upper() if upper or _shouts(template) else like.lower()
        parts += ["".join(literal), Slot(like.lower(), (m.group(2) or "").lower() or None, like, lower)]
        literal = []
    literal.append(template[at:])
    parts.append("".join(literal))
    if stray or "{" in template[at:] or "}" in template[at:]:
        raise UsageError(
            "bad-template",
            "A brace in the template opens no slot.",
            given=template,
            expected="{name}, {race:adjective}, {pronoun.subject}; {{ and }} for braces",
        )
    return parts


def _shouts(template: str) -> bool:
    """Whether the text around the slots is in capitals; a lone "I" or "A" says nothing."""
    around = SLOT.sub(" ", template)
    return around.isupper() and re.search(r"[^\W\d_]{2}", around) is not None


def escape(text: str) -> str:
    """A text as a template without slots."""
    return text.replace("{", "{{").replace("}", "}}")


def slot_keys(template: str) -> tuple[str, ...]:
    """The distinct slot keys of a template."""
    return tuple(dict.fromkeys(p.key for p in parse_slots(template) if isinstance(p, Slot)))


class Levels:
    """Codes for labels that are met one after another (forms, flags)."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}

    def code(self, label: str) -> int:
        """The number of a label, -1 for an empty one."""
        return self.index.setdefault(label, len(self.index)) if label else -1


@dataclass(frozen=True, slots=True)
class Fitting:
    """The rows of the terms that fit the slots of a template, as an array and as numbers."""

    index: IntArray
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Filler:
    """What the slots of a template may be filled with, row by row of the terms; columns are shared between
    texts."""

    terms: Terms
    _columns: dict[Slot, tuple[str | None, ...]] = field(default_factory=dict)
    _rows: dict[tuple[PronounSet | None, frozenset[Slot], bool], Fitting] = field(default_factory=dict)

    @cached_property
    def genders(self) -> tuple[PronounSet | None, ...]:
        """The pronoun set of each term: its own, or by its gender; None where neither is known."""
        t = self.terms
        if t.kind == "pronouns":
            return tuple(
                pronoun_set("/".join(str(t.forms[f][i]) for f in PRONOUN_FORMS)) for i in range(len(t))
            )
        known = {"male": "he", "man": "he", "m": "he", "female": "she", "woman": "she", "f": "she"}
        if "gender" not in t.factors:
            return (None,) * len(t)
        by_level = tuple(pronoun_set(known.get(g.lower(), "they")) for g in t.factors["gender"].levels)
        return tuple(by_level[c] if c >= 0 else None for c in t.factors["gender"].codes.tolist())

    @cached_property
    def groups(self) -> Mapping[PronounSet | None, np.ndarray[tuple[int], np.dtype[np.intp]]]:
        """Rows by pronoun set."""
        sets = list(dict.fromkeys(self.genders))
        return {s: np.flatnonzero([g == s for g in self.genders]) for s in sets}

    def rows(self, target: PronounSet | None, slots: frozenset[Slot], *, all_sets: bool) -> Fitting:
        """The rows of a pronoun set, or of all of them, that have a form for each of the slots."""
        key = (None if all_sets else target, slots, all_sets)
        if key not in self._rows:
            members = np.arange(len(self.terms)) if all_sets else self.groups[target]
            fits = np.ones(len(self.terms), dtype=np.bool_)
            for slot in slots:
                fits &= np.array([x is not None for x in self.column(slot)], dtype=np.bool_)
            found = members[fits[members]]
            self._rows[key] = Fitting(found.astype(np.int32), tuple(found.tolist()))
        return self._rows[key]

    def column(self, slot: Slot) -> tuple[str | None, ...]:
        """The surface form of every term for a slot, None where a term has none.

        Raises:
            UsageError: the terms have nothing for this slot.
        """
        if slot not in self._columns:
            self._columns[slot] = self._column(slot)
        return self._columns[slot]

    def _column(self, slot: Slot) -> tuple[str | None, ...]:
        t = self.terms
        identity = slot.key in t.factors or slot.key == "identity"
        if slot.key == "pronoun" and slot.form is not None and slot.form in t.forms:
            return t.forms[slot.form]
        if slot.key in PERSON_KEYS and "name" in t.forms:
            wanted = slot.form if slot.form in ("subject", "object") and slot.form in t.forms else "name"
            lower = slot.form == "lower"
            if slot.key == "name" and "object" in t.forms and not slot.form:
                # "she" has no single form that fits wherever a name stands
                pairs = zip(t.forms["subject"], t.forms["object"], strict=True)
                return tuple(a if a == b else None for a, b in pairs)
            return tuple(x.lower() if lower and x else x for x in t.forms[wanted])
        if identity or slot.key == "term":
            wanted = slot.form or next((f for f in ("adjective", "noun", "noun_plural") if f in t.forms), "")
            if wanted in t.forms:
                column = t.forms[wanted]
                if slot.key in t.factors:
                    codes = t.factors[slot.key].codes.tolist()
                    return tuple(x if c >= 0 else None for x, c in zip(column, codes, strict=True))
                return column
        raise UsageError(
            "unknown-slot",
            f"{t.id} has nothing to fill into this slot.",
            given="{" + slot.key + (f":{slot.form}" if slot.form else "") + "}",
            available=[*(f"{{{k}}}" for k in t.factors), *(f"{{term:{f}}}" for f in t.writable)],
            hint="a slot names a list of values, {name}, a category of identity terms, or {pronoun.subject}",
        )

    def cased(self, slot: Slot, rows: tuple[int, ...], *, start: bool, article: str) -> tuple[str, ...]:
        """The forms of `rows`, capitalised where the slot stands at a start; or the article before them."""
        column = self.column(slot)
        chosen = [column[i] or "" for i in rows]
        if article:
            return tuple(article_like(article, x) for x in chosen)
        if slot.case == "upper":
            return tuple(x.upper() for x in chosen)
        if slot.case == "capital" or (start and slot.form != "lower"):
            return tuple(match_case(x, "Xx") for x in chosen)
        return tuple(chosen)


def compile_template(
    template: str,
    text: int,
    filler: Filler,
    *,
    follow: bool,
    forms: Levels,
    flags: Levels,
    flag: str = "",
    language: str = "en",
    cache: dict[tuple[object, ...], tuple[str, ...]],
) -> list[Block]:
    """The blocks of one template: one for every pronoun set among the terms that fit.

    Args:
        template: with slots.
        text: number of the base text.
        filler: the terms.
        follow: whether the text's own pronouns follow the gender of the term (free text with a name).
        forms, flags: levels met so far.
        flag: a flag that the template already carries.
        language: of the text; in another than English words agree with the name, whether or not `follow`.
        cache: columns built so far.
    """
    parts = _said_of_people(parse_slots(template), filler)
    marked, slots = _mark(parts, language)
    with_pronouns = (
        follow or language != "en" or any(isinstance(p, Slot) and p.key == "pronoun" for p in parts)
    )
    used = frozenset(slot for slot, _, _ in slots)
    form = "+".join(
        dict.fromkeys(s.form or "" for s, _, _ in slots if s.form not in (None, "lower", "subject", "object"))
    )
    blocks = []
    for target in filler.groups if with_pronouns else (None,):
        rows = filler.rows(target, used, all_sets=not with_pronouns)
        if not rows.numbers:
            continue
        if language != "en":
            made = agreeing(marked, target, language)
        else:
            made = _with_pronouns(marked, target, follow=follow) if with_pronouns else Rewrite(text=marked)
        wording = made.text
        columns = []
        for mark in _MARKS.findall(wording):
            slot, start, article = slots[ord(mark) - ord(SLOT_FIRST)]
            name = (slot, start, article, id(rows))
            if name not in cache:
                made_of = filler.cased(slot, rows.numbers, start=start, article=article)
                cache[name] = cache.setdefault(("the same", made_of), made_of)
            columns.append(cache[name])
        blocks.append(
            Block(
                text=text,
                wording=_MARKS.sub("%s", wording.replace("%", "%%")),
                columns=tuple(columns),
                rows=rows.index,
                form=forms.code(form),
                flag=flags.code("; ".join([*([flag] if flag else []), *made.flags])),
                confidence=made.confidence * (DOUBT if flag else 1),
            )
        )
    return blocks


def _said_of_people(parts: list[str | Slot], filler: Filler) -> list[str | Slot]:
    """Adjective slots that are said of somebody take the terms' form for that, where they have one: "he is in
    a wheelchair", never "he is Down-syndrome"."""
    if "predicate" not in filler.terms.forms:
        return parts
    out = list(parts)
    for k in range(1, len(parts) - 1):
        slot, before, after = parts[k], parts[k - 1], parts[k + 1]
        if (
            isinstance(slot, str)
            or slot.form not in (None, "adjective")
            or slot.key not in filler.terms.factors
        ):
            continue
        if isinstance(before, str) and isinstance(after, str) and is_said_of(before, after):
            out[k] = Slot(slot.key, "predicate", slot.like)
    return out


def _mark(parts: Sequence[str | Slot], language: str = "en") -> tuple[str, list[tuple[Slot, bool, str]]]:
    """The template with one noncharacter per slot (and per article before a slot), and what each stands
    for."""
    out: list[str] = []
    slots: list[tuple[Slot, bool, str]] = []

    def mark(what: tuple[Slot, bool, str]) -> str:
        if what not in slots:
            slots.append(what)
            if len(slots) > 32:
                raise UsageError(
                    "too-many-slots", "A template has at most 32 different slots.", given=len(slots)
                )
        return chr(ord(SLOT_FIRST) + slots.index(what))

    for p in parts:
        if isinstance(p, str):
            out.append(_MARKS.sub("\ufffd", p))
            continue
        before = "".join(out[-8:])[-400:]  # enough to see a start of sentence; a 5 MB text has many slots
        if p.key == "pronoun" and p.form in PRONOUN_FORMS:
            word = pronoun_set("he").form(p.form) if language == "en" else masculine_form(p.form, language)
            out.append(match_case(word, "X" if p.case == "capital" or starts_sentence(before) else "x"))
            if p.case == "upper":
                out[-1] = word.upper()
            continue
        m = _ARTICLE.search(out[-1]) if out and language == "en" else None
        if m:
            out[-1:] = [out[-1][: m.start()], mark((p, False, m.group()[:1])), out[-1][m.end() :]]
        out.append(mark((p, starts_sentence(before) and not p.lower, "")))
    return "".join(out), slots


def starts_sentence(before: str) -> bool:
    """Whether what follows `before` begins a sentence."""
    return not before.strip(" \n\t\"“'‘(*_-") or bool(
        re.search(r"[.!?…][\"”’')\]]*[\s\"“‘(]+\Z|\n\s*\Z", before)
    )


def _with_pronouns(marked: str, target: PronounSet | None, *, follow: bool) -> Rewrite:
    """The marked text with the person's pronouns."""
    if target is None:
        if follow:
            return Rewrite(text=marked)
        target = pronoun_set("they")
    words, edits = words_of(marked), Edits()
    marks = list(dict.fromkeys(bisect_right(words.starts, m.start()) - 1 for m in _MARKS.finditer(marked)))
    anchor = marks[0] if marks else None
    source = change_pronouns(words, target, edits, anchor=anchor, source=None if follow else "he")
    if follow:
        flag_gendered_nouns(words, source, target, edits)
        names = called(words, marks, {words.low[i].removesuffix("'s") for i in marks})
        change_titles(words, target, edits, source=source, names=names)
    return apply_edits(marked, edits)
