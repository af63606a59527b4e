"""Languages other than English: a folder of data each, and what its words become in the other gender."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

from evenhand._errors import UsageError

Gender: TypeAlias = Literal["male", "female"]
LANGUAGES: Mapping[str, str] = {"en": "English", "es": "Spanish"}
"""What texts can be rewritten in: code → name, as `evenhand.texts.language` has it."""
_UNACCENTED = str.maketrans("áéíóú", "aeiou")


@dataclass(frozen=True, kw_only=True)
class Language:
    """The words of one language that agree with a person in gender, lower case.

    Args:
        name: in English.
        forms: gender → word of the other gender → this gender's word.
        nouns, adjectives: words for persons and adjectives in both genders, singular, those that never
            change among them.
        determiners: articles and the like, those that never change among them.
        short: masculine → its shorter form before a noun ("bueno": "buen").
        contractions: masculine contraction → the preposition before a feminine article ("al": "a").
        pronouns: gender → its pronouns.
        slots: form of a pronoun slot → the masculine word that stands for it.
        words: the further classes of words of the data folder.
    """

    name: str
    forms: Mapping[Gender, Mapping[str, str]]
    nouns: frozenset[str]
    adjectives: frozenset[str]
    determiners: frozenset[str]
    short: Mapping[str, str]
    contractions: Mapping[str, str]
    pronouns: Mapping[Gender, frozenset[str]]
    slots: Mapping[str, str]
    words: Mapping[str, frozenset[str]]

    def in_gender(self, low: str, gender: Gender) -> str | None:
        """The word in this gender; None where it is so already, or does not change.

        >>> es = language_of_code("es")
        >>> (
        ...     es.in_gender("cansado", "female"),
        ...     es.in_gender("doctora", "male"),
        ...     es.in_gender("feliz", "female"),
        ... )
        ('cansada', 'doctor', None)
        """
        found = self.forms[gender].get(low)
        if found is None and self.is_participle(low) and low[-1] == ("o" if gender == "female" else "a"):
            found = low[:-1] + ("a" if gender == "female" else "o")
        return None if found == low else found

    def is_participle(self, low: str) -> bool:
        """Whether a word looks like a participle of either gender."""
        masculine = low[:-1] + "o"
        return (
            len(low) > 4
            and low[-1:] in ("o", "a")
            and masculine.endswith(tuple(self.words["participles"]))
            and masculine not in self.words["adverbs"]
        )

    def agrees(self, low: str) -> bool:
        """Whether a word is an adjective or a participle, or looks like an adjective that never changes."""
        invariable = len(low) > 3 and low.endswith(tuple(self.words["invariable_endings"]))
        return low in self.adjectives or self.is_participle(low) or (invariable and low not in self.nouns)

    def is_adverb(self, low: str) -> bool:
        """Whether a word may stand before an adjective."""
        return low in self.words["adverbs"] or low.endswith("mente")


@cache
def language_of_code(code: str) -> Language:
    """A language by its code.

    Raises:
        UsageError: there is no folder of data for it, or it is English, which has rules of its own.
    """
    if code not in LANGUAGES or code == "en":
        raise UsageError(
            "unknown-language",
            "Texts cannot be rewritten in this language.",
            given=code,
            available=LANGUAGES,
            hint="write slots where the words differ, and give terms with a column for each form",
        )
    folder = files("evenhand.plans") / "data" / code
    content = tomllib.loads((folder / "language.toml").read_text(encoding="utf-8"))
    endings = content["endings"]
    nouns = dict(_pairs((folder / "nouns.txt").read_text(encoding="utf-8"), endings))
    adjectives = dict(_pairs((folder / "adjectives.txt").read_text(encoding="utf-8"), endings))
    determiners, pronouns = content["determiners"], content["pronouns"]
    many = {plural(a): plural(b) for a, b in (*nouns.items(), *adjectives.items())}
    pairs = [*pronouns.items(), *determiners.items(), *nouns.items(), *adjectives.items(), *many.items()]
    male: dict[str, str] = {}
    for a, b in pairs:
        male.setdefault(b, a)
    words = {name: frozenset(text.split()) for name, text in content["words"].items()}
    return Language(
        name=content["name"],
        forms={"female": dict(reversed(pairs)), "male": male},
        nouns=frozenset((*nouns, *nouns.values())),
        adjectives=frozenset((*adjectives, *adjectives.values())),
        determiners=frozenset((*determiners, *determiners.values())) | words["invariable_determiners"],
        short=content["short"],
        contractions=content["contractions"],
        pronouns={"male": frozenset(pronouns), "female": frozenset(pronouns.values())},
        slots=content["slots"],
        words=words,
    )


def gender_of_set(pronouns: object, language: Language) -> Gender:
    """The gender of a set of pronouns: él, he, male; ella, she, female.

    Raises:
        UsageError: the language has no agreement for it.
    """
    spec = str(getattr(pronouns, "id", pronouns)).split("/")[0].strip().lower()
    for gender, known in (("male", {"he", "m", "man"}), ("female", {"she", "f", "woman"})):
        if spec in known | {gender} | language.pronouns[gender]:  # type: ignore[index]
            return gender  # type: ignore[return-value]
    raise UsageError(
        "language-pronouns",
        f"{language.name} texts are rewritten in the masculine and the feminine only.",
        given=spec,
        expected=" or ".join(sorted(p for forms in language.pronouns.values() for p in forms)),
        hint="for elle and cansade there are no rules here: write the texts, and compare them as they are",
    )


def masculine_form(form: str, code: str) -> str:
    """The masculine pronoun for a slot such as {pronoun.subject}.

    Raises:
        UsageError: the language has no such slot.
    """
    forms = language_of_code(code).slots
    if form not in forms:
        raise UsageError(
            "language-pronoun-slot",
            f"{LANGUAGES[code]} templates have no such slot.",
            given=f"{{pronoun.{form}}}",
            available=[f"{{pronoun.{known}}}" for known in forms],
            hint="write the sentence as for a man: what agrees with the name follows it",
        )
    return forms[form]


def _pairs(text: str, endings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(masculine, feminine) of every word of a list."""
    for line in text.splitlines():
        for entry in line.split() if not line.startswith("#") else ():
            masculine, given, feminine = entry.partition("/")
            ending = next((e for e in endings if masculine.endswith(e)), None)
            if given:
                yield masculine, feminine
            elif ending is not None:
                yield masculine, masculine[: -len(ending)] + endings[ending]
            else:  # español, andaluz: a consonant takes the last ending
                yield masculine, masculine + list(endings.values())[-1]


def plural(word: str) -> str:
    """The Spanish plural of a noun or adjective.

    >>> [plural(w) for w in ("alumna", "mejor", "campeón", "feliz")]
    ['alumnas', 'mejores', 'campeones', 'felices']
    """
    if word[-1] in "aeiouáéó":
        return word + "s"
    if word[-1] == "z":
        return word[:-1] + "ces"
    return word[:-2] + word[-2:].translate(_UNACCENTED) + "es" if word[-1] in "ns" else word + "es"
