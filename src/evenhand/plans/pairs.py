"""Gendered nouns swapped in one pass: man ↔ woman, father ↔ mother, never back again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal, TypeAlias, get_args

from evenhand._errors import UsageError
from evenhand._model import Factor
from evenhand.plans._edits import Edits, Rewrite, apply_edits
from evenhand.plans._pronouns import PronounSet, change_pronouns, gender_of, pronoun_set, swap_pronouns
from evenhand.plans._rewriting import article_like, rank_in_a_name
from evenhand.plans._titles import change_titles, swap_titles
from evenhand.plans._words import Words, match_case, word_set, words_of
from evenhand.plans.drawing import EVERY, Sample
from evenhand.plans.grid import Grid
from evenhand.plans.versions import version_grid
from evenhand.terms import Terms, terms

_SETS = {"male": "he", "female": "she", "neutral": "they"}
_GENDERS = {"he": "male", "she": "female"}
Mode: TypeAlias = Literal["swap", "person", "collapse"]
MODES: tuple[str, ...] = get_args(Mode)
_UNCLEAR = word_set(
    "lady lord host male female partner king queen prince princess count duke bachelor sir madam steward"
    " master guys"
)


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


def swap_gender(text: str, gender: str, pairs: Terms | None = None, *, mode: Mode = "collapse") -> Rewrite:
    """The text with its gendered nouns, pronouns and titles in a gender ("male", "female" or "neutral").

    Each word is looked up once, so that nothing is swapped back; words with another meaning ("king") are
    flagged. What becomes of a text that mentions both genders is the mode:

    * ``swap``: men become women and women men at once, where the person is of the other gender; else the text
      stays. The person is whoever the first gendered word names. There is no swap to "neutral".
    * ``person``: only the person's words change; relatives of theirs ("his wife") and everyone of the other
      gender stay.
    * ``collapse``: everybody becomes of this gender.

    Raises:
        UsageError: another gender or mode.

    >>> swap_gender("The man told his father that the women left.", "female").text
    'The woman told her mother that the women left.'
    >>> swap_gender("The groom kissed his bride.", "female", mode="swap").text
    'The bride kissed her groom.'
    >>> swap_gender("The actor lives with his brother and his wife.", "female", mode="person").text
    'The actress lives with her brother and her wife.'
    """
    if gender not in _SETS:
        raise UsageError("unknown-gender", "Pairs have three forms.", given=gender, available=_SETS)
    if mode not in MODES:
        raise UsageError("unknown-mode", "Gendered words change in three ways.", given=mode, available=MODES)
    lexicon = pairs or _shipped_pairs()
    words, edits = words_of(text), Edits()
    found = _gendered_words(words, lexicon)
    genders = [g for g, _, _, _ in found.values()]
    if mode == "collapse" or gender == "neutral":
        if len(set(genders)) > 1:
            edits.flag("the text mentions men and women; all were given one gender")
        to = dict.fromkeys(("male", "female"), gender)
        _change_person(words, pronoun_set(_SETS[gender]), edits)
    else:
        if len({*genders, *_pronoun_genders(words)}) > 1:
            edits.flag("the text mentions men and women; the first is taken for the person")
        if person_gender(words, lexicon) in (gender, None):
            return apply_edits(text, edits)
        to = {"male": "female", "female": "male"}
        if mode == "person":
            _change_person(words, pronoun_set(_SETS[gender]), edits)
            found = {i: x for i, x in found.items() if x[0] != gender and not _possessed(words, i)}
        else:
            swap_pronouns(words, edits)
            swap_titles(words, edits)
    for i, (source, row, number, stem) in found.items():
        _change_noun(words, i, stem, lexicon.forms.get(to[source] + number, ())[row:], to[source], edits)
    return apply_edits(text, edits)


def _change_person(words: Words, target: PronounSet, edits: Edits) -> None:
    source = change_pronouns(words, target, edits) if _pronoun_genders(words) or target.plural else None
    change_titles(words, target, edits, source=source, names=None)


def _gendered_words(words: Words, lexicon: Terms) -> dict[int, tuple[str, int, str, str]]:
    """Word → (its gender, the row of its pair, "" or "_plural", the word without 's)."""
    table, found = _table(lexicon), {}
    for i, low in enumerate(words.low):
        stem = low.removesuffix("'s")
        if stem in table and not words.inside_compound(i) and not rank_in_a_name(words, i):
            found[i] = (*table[stem], stem)
    return found


def _pronoun_genders(words: Words) -> list[str]:
    return [_GENDERS[owner] for low in words.low if (owner := gender_of(low)) is not None]


def person_gender(words: Words, lexicon: Terms) -> str | None:
    """The gender of the first gendered word of a text; None without one."""
    nouns = _gendered_words(words, lexicon)
    for i, low in enumerate(words.low):
        owner = gender_of(low)
        if i in nouns and not _possessed(words, i):
            return nouns[i][0]
        if owner is not None:
            return _GENDERS[owner]
    return next((x[0] for x in nouns.values()), None)


def _possessed(words: Words, i: int) -> bool:
    """Whether a noun is somebody's: "his older brother", "Tom's wife"."""
    for k in (i - 1, i - 2, i - 3):
        low = words.at(k)
        if k < 0 or words.gap(k).strip(" \n"):
            return False
        if low in ("his", "her", "their") or low.endswith("'s"):
            return True
        if low in ("the", "a", "an", "my", "your", "our", "and", "with", "of", "by", "to"):
            return False
    return False


def _change_noun(
    words: Words, i: int, stem: str, form: Sequence[str | None], gender: str, edits: Edits
) -> None:
    start, end = words.starts[i], words.starts[i] + len(stem)
    new = form[0] if form else None
    if new == stem:
        return
    if not new:
        edits.flag(f"'{words.words[i]}' has no {gender} form and was kept")
        return
    if stem in _UNCLEAR:
        edits.flag(f"'{words.words[i]}' may not be about a person's gender")
    if words.gap(i) == " " and words.words[i + 1][0].isupper():
        edits.flag(f"the name '{words.words[i + 1]}' after '{words.words[i]}' was kept")
    edits.spans[(start, end)] = (match_case(new, words.text[start:end]), "term")
    _article(words, i, new, edits)


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
    mode: Mode = "swap",
    sample: Sample = EVERY,
    ids: Sequence[str] | None = None,
    factors: Mapping[str, Factor] | None = None,
) -> Grid:
    """Each text that has gendered words, once in every gender of its person (`swap_gender` has the modes).
    Texts without any are in `skipped`.

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
        lambda text: [swap_gender(text, gender, lexicon, mode=mode) for gender in genders],
        own,
        skip="has no gendered word",
        sample=sample,
        ids=ids,
        factors=factors,
    )
    if grid is None:
        raise UsageError("no-gendered-words", "No text has a gendered word.", given=f"{len(texts)} texts")
    return grid
