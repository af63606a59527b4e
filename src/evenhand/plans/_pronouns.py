"""Pronoun sets, and the change of one person's pronouns in a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from evenhand._errors import UsageError
from evenhand.plans._agreement import agree, contraction, coordinate
from evenhand.plans._edits import Edits
from evenhand.plans._her import belongs
from evenhand.plans._roles import stands_alone
from evenhand.plans._verbs import PARTICIPLES, SURE, is_past, to_base
from evenhand.plans._words import Words, word_set
from evenhand.terms import terms

FORMS = ("subject", "object", "determiner", "possessive", "reflexive")


@dataclass(frozen=True, kw_only=True, slots=True)
class PronounSet:
    """The five forms of one pronoun, and whether verbs agree with it in the plural (they)."""

    id: str
    subject: str
    object: str
    determiner: str
    possessive: str
    reflexive: str
    plural: bool = False

    def form(self, role: str) -> str:
        """The form for a role, e.g. "object"."""
        return str(getattr(self, role))


@cache
def shipped_sets() -> Mapping[str, PronounSet]:
    """The pronoun sets of `terms("pronouns")` by their subject form."""
    lists = terms("pronouns")
    return {
        label: PronounSet(id=label, plural=label == "they", **{f: str(lists.forms[f][i]) for f in FORMS})
        for i, label in enumerate(lists.terms)
    }


def pronoun_set(spec: str | PronounSet) -> PronounSet:
    """A pronoun set by name ("he", "she", "they", "xe", …) or spelled out ("per/per/pers/pers/perself").

    Raises:
        UsageError: no such set.

    >>> (
    ...     pronoun_set("she").reflexive,
    ...     pronoun_set("she/her").id,
    ...     pronoun_set("per/per/pers/pers/perself").reflexive,
    ... )
    ('herself', 'she', 'perself')
    """
    if isinstance(spec, PronounSet):
        return spec
    parts = [p.strip().lower() for p in spec.split("/")]
    if len(parts) == 5 and all(parts):
        return PronounSet(id=parts[0], **dict(zip(FORMS, parts, strict=True)), plural=parts[0] == "they")
    named = {"male": "he", "female": "she", "neutral": "they", "nonbinary": "they"}
    key = named.get(parts[0], parts[0])
    if key not in shipped_sets():
        raise UsageError(
            "unknown-pronouns",
            "There is no such pronoun set.",
            given=spec,
            expected="a name, or five forms as subject/object/determiner/possessive/reflexive",
            available=shipped_sets(),
        )
    return shipped_sets()[key]


@cache
def roles_of(extra: PronounSet | None = None) -> Mapping[str, tuple[str, frozenset[str]]]:
    """Word → (pronoun set, roles it can have)."""
    found: dict[str, tuple[str, set[str]]] = {}
    sets = [*shipped_sets().values(), *([extra] if extra and extra.id not in shipped_sets() else [])]
    for s in sets:
        for role in FORMS:
            found.setdefault(s.form(role), (s.id, set()))[1].add(role)
    found["themselves"] = ("they", {"reflexive"})
    found["theirself"] = ("they", {"reflexive"})
    found["zir"], found["zirs"], found["zirself"] = (
        ("ze", {"determiner"}),
        ("ze", {"possessive"}),
        ("ze", {"reflexive"}),
    )
    for s in sets:
        for ending in ("'d", "'ll", "'s") + (("'re", "'ve") if s.plural else ()):
            if not (s.plural and ending == "'s"):
                found[s.subject + ending] = (s.id, {"contraction" + ending})
    return {k: (v[0], frozenset(v[1])) for k, v in found.items()}


def change_pronouns(
    words: Words,
    target: PronounSet,
    edits: Edits,
    *,
    anchor: int | None = None,
    source: str | None = None,
    everyone: bool = False,
) -> str | None:
    """Adds to `edits` what makes the person's pronouns those of `target`; returns the set that they were.

    Args:
        words: the text.
        target: the new set.
        edits: where changes and flags go.
        anchor: the first word that names the person, or None: whose pronouns come first after it are the
            person's.
        source: the person's present set where it is known.
        everyone: whether "he" and "she" of other people change, too.
    """
    roles = roles_of(target)
    places = words.among(roles)
    if not places:
        return None
    either = "or" in words.low
    compound = [i for i in places if words.inside_compound(i) or (either and _either_or(words, i, roles))]
    for i in compound:
        edits.flag(f"'{words.words[i]}' stands in a compound or an alternative and was kept")
    places = [i for i in places if i not in compound and not _is_name(words, i)]
    mine = _source(words, places, roles, anchor, source, Edits() if everyone else edits)
    if mine is None:
        return mine
    changing = {mine, *(("he", "she") if everyone else ())} - {target.id}
    if mine in changing:
        _flag_plural(words, places, roles, mine, edits)
    for i in places:
        owner, role = roles[words.low[i]]
        if owner in changing:
            _change_one(words, i, role, owner, target, edits)
    return mine


def swap_pronouns(words: Words, edits: Edits) -> None:
    """Adds to `edits` the change of every "he" to "she" and of every "she" to "he", at once."""
    he, she = pronoun_set("he"), pronoun_set("she")
    roles, other = roles_of(), {"he": she, "she": he}
    for i in (i for i, low in enumerate(words.low) if roles.get(low, ("",))[0] in other):
        owner, role = roles[words.low[i]]
        if words.inside_compound(i) or _either_or(words, i, roles):
            edits.flag(f"'{words.words[i]}' stands in a compound or an alternative and was kept")
        elif not _is_name(words, i):
            _change_one(words, i, role, owner, other[owner], edits)


def gender_of(low: str) -> str | None:
    """The pronoun set of a word, "he" or "she"; None for any other word."""
    owner = roles_of().get(low, ("",))[0]
    return owner if owner in ("he", "she") else None


def _either_or(words: Words, i: int, roles: Mapping[str, tuple[str, frozenset[str]]]) -> bool:
    """he or she, him and/or her: two sets joined by "or"."""
    for step in (-1, 1):
        other = words.at(i + 2 * step)
        if words.at(i + step) == "or" and other in roles and roles[other][0] != roles[words.low[i]][0]:
            return True
    return False


def _is_name(words: Words, i: int) -> bool:
    """Fae, Ey or Ze as a name, "hir" and "em" as other words: only believed where the set is in use."""
    low, word = words.low[i], words.words[i]
    if low == "em":  # 'em for them
        return words.text[words.starts[i] - 1 : words.starts[i]] in ("'", "’", "-")
    if low == "us":
        return True
    return word == "HIS" and any(w.islower() for w in words.words) and words.at(i - 1) in ("the", "a")


def _source(
    words: Words,
    places: list[int],
    roles: Mapping[str, tuple[str, frozenset[str]]],
    anchor: int | None,
    source: str | None,
    edits: Edits,
) -> str | None:
    """Whose pronouns are the person's; flags the others that are kept."""
    owners = [roles[words.low[i]][0] for i in places]
    if not owners:
        return None
    if owners.count(owners[0]) == len(owners):
        return owners[0]
    counts = Counter(owners)
    singular = {s: n for s, n in counts.items() if s != "they"}
    if source is not None and source in counts:
        mine = source
    elif not singular:
        mine = "they"
    else:
        after = [i for i in places if anchor is not None and i > anchor and roles[words.low[i]][0] != "they"]
        # the most frequent; on a tie the one that comes first after the person's name, else first in the text
        order = [roles[words.low[i]][0] for i in (after or places)]
        mine = max(singular, key=lambda s: (singular[s], -order.index(s) if s in order else -len(order)))
        if after and roles[words.low[after[0]]][0] != mine:
            edits.flag(f"unclear whose pronouns are the person's: {', '.join(sorted(singular))}")
    for other, n in sorted(singular.items()):
        if other != mine:
            said = f"'{other}' × {n} kept: probably another person's pronouns"
            edits.flag(f"{said} (all_people=True changes them)")
    return mine


_PLURAL_CUES = word_set(
    "people men women children kids parents police both all many several few two three four five staff "
    "team couple family families others everybody everyone we us"
)


def _flag_plural(
    words: Words,
    places: list[int],
    roles: Mapping[str, tuple[str, frozenset[str]]],
    mine: str,
    edits: Edits,
) -> None:
    """Flags "they" that may stand for several people."""
    if mine != "they":
        return
    first = min(i for i in places if roles[words.low[i]][0] == "they")
    scope = range(max(0, first - 40), len(words))
    for i in scope:
        low = words.low[i]
        cue = low in _PLURAL_CUES and i < first + 12
        if cue or (low == "and" and _joins_names(words, i)) or (low[-1] == "s" and _many(words, i)):
            edits.flag(f"'they' may be plural (near '{words.words[i]}')")
            return


_BEFORE_MANY = word_set("the these those some many all two both several our")


def _many(words: Words, i: int) -> bool:
    """Whether word i is a plural noun that "they" may stand for: the nurses, or "Nurses" at a start."""
    low = words.low[i]
    base = to_base(low)
    if low.endswith(("ss", "'s", "us", "is")) or len(low) <= 3 or base is None or base in SURE:
        return False
    return words.at(i - 1) in _BEFORE_MANY or i == 0 or words.ends_sentence(i - 1)


def _joins_names(words: Words, i: int) -> bool:
    """Whether the "and" at word i joins two names: Ada and Bo."""
    around = (words.words[i - 1 : i], words.words[i + 1 : i + 2])
    return all(word and word[0][0].isupper() for word in around)


def _change_one(
    words: Words, i: int, role: frozenset[str], mine: str, target: PronounSet, edits: Edits
) -> None:
    """Changes one pronoun, and the verbs that agree with it."""
    was_plural = shipped_sets()[mine].plural if mine in shipped_sets() else mine == "they"
    first = next(iter(role))
    if first.startswith("contraction"):  # which is all that such a word can be
        _change_contraction(words, i, first[len("contraction") :], target, edits, was_plural)
        return
    sure = None
    if role == {"object", "determiner"}:
        belonging, sure = belongs(words, i, edits)
        chosen = "determiner" if belonging else "object"
    elif role == {"determiner", "possessive"}:
        chosen = "possessive" if stands_alone(words, i, edits) else "determiner"
    else:
        chosen = _first(role)
    edits.word(words, i, target.form(chosen), "pronoun", sure=sure)
    if chosen == "subject" and was_plural != target.plural:
        agree(words, i, edits, plural=target.plural)


@cache
def _first(role: frozenset[str]) -> str:
    """The first of the forms that a word can be."""
    return next(r for r in FORMS if r in role)


def _change_contraction(
    words: Words, i: int, ending: str, target: PronounSet, edits: Edits, was_plural: bool
) -> None:
    new, sure = ending, None
    if was_plural and not target.plural:
        new = {"'re": "'s", "'ve": "'s"}.get(ending, ending)
        if ending == "'ve" and not _perfect(words, i):
            edits.word(words, i, f"{target.subject} has", "pronoun")
            return
    elif target.plural and not was_plural and ending == "'s":
        verb, sure = contraction(words, i, edits)
        new = "'re" if verb == "are" else "'ve"
    edits.word(words, i, target.subject + new, "pronoun", sure=sure)
    if was_plural != target.plural:
        coordinate(words, i, edits, plural=target.plural, base_chain=ending in ("'s", "'re", "'ve"))


def _perfect(words: Words, i: int) -> bool:
    j = i + 1
    while words.at(j) in (
        "never",
        "always",
        "already",
        "just",
        "not",
        "also",
        "recently",
        "only",
        "long",
        "since",
    ):
        j += 1
    return words.at(j) in PARTICIPLES or is_past(words.at(j))
