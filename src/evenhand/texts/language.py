"""Which language a text is in, told by its most frequent small words; offline, for a warning only."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache

_SMALL: Mapping[str, str] = {
    "English": "the and of to in is was that for it with as his he be on by at have are this not but had "
    "they you she her from or which we an were been has their my who will would there what if can "
    "all me your i so im u ur dont lol",
    "German": "der und ist nicht ein eine ich sie mit auf für von zu den dem sich wir auch im es er hatte "
    "wurde einen einer eines oder aber wie sein seine ihr ihre noch nach bei aus über wird sind "
    "das",
    "Spanish": "el la los las que y de en un una por con para su se es no lo como más pero sus fue está muy "
    "del al ha mi si sin sobre también porque cuando él ella yo",
    "French": "le la les et des est une un dans pour qui que pas sur avec il elle ce son sa ses je ne au "
    "aux du été mais nous vous cette plus par sont était leur très",
    "Italian": "il lo gli che di e un una per con non è sono del della le si nel alla ma anche suo sua come "
    "più ha questo era lui lei io",
    "Portuguese": "o os que e de do da em um uma para com não por mais as dos se na no foi ele ela seu sua "
    "mas ao é como está eu você",
    "Dutch": "de het een en van ik te dat die niet zijn op aan met voor er maar om hem dan zou wat mijn "
    "haar naar heeft bij ook werd hij zij",
}
"""Language → its most frequent small words (project's own lists)."""
LEAST = 3
"""Small words of another language from which a text is taken for it."""


@cache
def _languages() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for language, words in _SMALL.items():
        for word in words.split():
            found.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in found.items()}


def language_of(text: str) -> str | None:
    """ "English", another language, "another script", or None where so few words say nothing.

    A text is taken for another language only with three of its small words, and twice as many as of English.

    >>> language_of("Der Arzt sagte, dass er und sie nicht mit ihr sprechen."), language_of("He was late.")
    ('German', 'English')
    >>> language_of("Он пришёл домой."), language_of("Wow!")
    ('another script', None)
    """
    head = text[:2_000]
    letters = [c for c in head if c.isalpha()]
    if len(letters) > 4 and sum("LATIN" not in unicodedata.name(c, "") for c in letters) > len(letters) / 2:
        return "another script"
    counts: Counter[str] = Counter()
    for word in re.findall(r"[^\W\d_]+", head.lower()):
        counts.update(_languages().get(word, ()))
    english = counts.pop("English", 0)
    best, n = counts.most_common(1)[0] if counts else ("", 0)
    if n >= LEAST and n > 2 * english:
        return best
    return "English" if english else None


def other_languages(texts: Iterable[str], own: str = "English") -> dict[str, int]:
    """How many texts are in which other language than their own, the most frequent first."""
    found = Counter(language for text in texts if (language := language_of(text)) not in (None, own))
    return {str(language): n for language, n in found.most_common()}
