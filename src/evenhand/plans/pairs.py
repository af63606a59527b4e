"""Gendered nouns swapped in one pass: man ↔ woman, father ↔ mother, never back again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from evenhand._errors import UsageError
from evenhand._model import Factor
from evenhand.plans._agreement import Edits
from evenhand.plans._pronouns import change_pronouns, pronoun_set
from evenhand.plans._rewriting import Rewrite, apply_edits, article_like
from evenhand.plans._words import Words, match_case, words_of
from evenhand.plans.grid import Grid
from evenhand.plans.versions import version_grid
from evenhand.terms import Terms, terms

_SETS = {"male": "he", "female": "she", "neutral": "they"}
_UNCLEAR = {
    "lady": "lady",
    "lord": "lord",
    "host": "host",
    "male": "male",
    "female": "female",
    "partner": "partner",
    "king": "king",
    "queen": "queen",
    "prince": "prince",
    "princess": "princess",
    "count": "count",
    "duke": "duke",
    "bachelor": "bachelor",
    "sir": "sir",
    "madam": "madam",
    "steward": "steward",
    "groom": "groom",
    "master": "master",
}


@cache
def _table(pairs: Terms) -> Mapping[str, tuple[str, int, str]]:
    """Word → (gender, row of the pair, "" or "_plural")."""
    found: dict[str, tuple[str, int, str]] = {}
    for number in ("", "_plural"):
        for gender in ("male", "female"):
            for i, word in enumerate(pairs.forms.get(gender + number, ())):
                if word:
                    found.setdefault(word.lower(), (gender, i, number))
    return found


def swap_gender(text: str, gender: str, pairs: Terms | None = None) -> Rewrite:
    """The text with every gendered noun, and the pronouns, in one gender ("male", "female" or "neutral").

    Each word is looked up once, so that nothing is swapped back. Where the text mentions both genders, all
    become one; that is flagged, as are words with another meaning ("king", "count").

    Raises:
        UsageError: another gender.

    >>> swap_gender("The man told his father that the women left.", "female").text
    'The woman told her mother that the women left.'
    """
    if gender not in _SETS:
        raise UsageError("unknown-gender", "Pairs have three forms.", given=gender, available=_SETS)
    lexicon = pairs or _shipped_pairs()
    table, words, edits = _table(lexicon), words_of(text), Edits()
    seen: set[str] = set()
    for i, low in enumerate(words.low):
        stem = low.removesuffix("'s")
        if stem not in table or words.inside_compound(i):
            continue
        source, row, number = table[stem]
        seen.add(source)
        new = lexicon.forms.get(gender + number, (None,) * len(lexicon))[row]
        if source == gender:
            continue
        if not new:
            edits.flag(f"'{words.words[i]}' has no {gender} form and was kept")
            continue
        if stem in _UNCLEAR:
            edits.flag(f"'{words.words[i]}' may not be about a person's gender")
        start, end = words.starts[i], words.starts[i] + len(stem)
        edits.spans[(start, end)] = (match_case(new, words.text[start:end]), "term")
        _article(words, i, new, edits)
    target = pronoun_set(_SETS[gender])
    change_pronouns(words, target, edits)
    if len(seen) > 1:
        edits.flag("the text mentions men and women; all were given one gender")
    return apply_edits(text, edits)


def _shipped_pairs() -> Terms:
    return terms("pairs/gender")


def _article(words: Words, i: int, new: str, edits: Edits) -> None:
    if words.at(i - 1) in ("a", "an") and not words.gap(i - 1).strip(" \n"):
        at = (words.starts[i - 1], words.ends[i - 1])
        edits.spans[at] = (article_like(words.words[i - 1], new), "article")


def pair_grid(
    texts: Sequence[str],
    pairs: Terms | None = None,
    *,
    genders: Sequence[str] = ("male", "female"),
    ids: Sequence[str] | None = None,
    factors: Mapping[str, Factor] | None = None,
) -> Grid:
    """Each text that has gendered words, once in every gender. Texts without any are in `skipped`.

    Here the group is the term: factor ``gender`` and unit ``term`` have the same levels.

    Raises:
        UsageError: no text has a gendered word.

    >>> list(pair_grid(["An actor waved."]))
    ['An actor waved.', 'An actress waved.']
    """
    lexicon = pairs or _shipped_pairs()
    own = Terms(
        id=lexicon.id,
        kind="pairs",
        terms=tuple(genders),
        factors={"gender": Factor.of(list(genders))},
        source=lexicon.source,
        licence=lexicon.licence,
    )
    grid = version_grid(
        texts,
        lambda text: [swap_gender(text, gender, lexicon) for gender in genders],
        own,
        skip="has no gendered word",
        ids=ids,
        factors=factors,
    )
    if grid is None:
        raise UsageError("no-gendered-words", "No text has a gendered word.", given=f"{len(texts)} texts")
    return grid
