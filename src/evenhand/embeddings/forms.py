"""Which words may stand in each other's place in a sentence: parts of speech, inflections, opposites."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise


def available() -> bool:
    """Whether the packages that know tags and inflections are installed (extra `captions`)."""
    try:
        import lemminflect  # noqa: F401
        import textblob  # noqa: F401
    except ImportError:
        return False
    return True


@cache
def tags_of(word: str) -> frozenset[str]:
    """Penn tags that a word can have, by the NIH lexicon in lemminflect; none where it has no entry.

    >>> sorted(tags_of("holes")), sorted(tags_of("qzkx"))
    (['NNS', 'VBZ'], [])
    """
    import lemminflect

    low = word.lower()
    found = set()
    for part, lemmas in lemminflect.getAllLemmas(low).items():
        for lemma in lemmas:
            for tag, forms in lemminflect.getAllInflections(lemma, part).items():
                found.update([tag] if low in forms else [])
    return frozenset(found)


@cache
def pattern_tagger() -> Callable[[Sequence[str]], list[str]]:
    """TextBlob's tagger, from the words of a text to their Penn tags; it downloads nothing."""
    from textblob.en.taggers import PatternTagger

    tagger = PatternTagger()
    with warnings.catch_warnings():
        # Its lexicon is read at the first use, from a file that it leaves to be closed.
        warnings.simplefilter("ignore", ResourceWarning)
        tagger.tag("a dog", tokenize=False)

    def tags(words: Sequence[str]) -> list[str]:
        told = [str(tag) for _, tag in tagger.tag(" ".join(words), tokenize=False)]
        return told if len(told) == len(words) else [""] * len(words)

    return tags


def tags_in(words: Sequence[str]) -> list[str]:
    """Penn tags of the words of a text; behind an article or possessive a verb is a noun where it can be.

    >>> tags_in(["they", "lost", "the", "match"])[-1], tags_in(["they", "play"])[-1]
    ('NN', 'VB')
    """
    found = pattern_tagger()(words)
    for i, (before, tag) in enumerate(pairwise(found), 1):
        noun = {"VB": "NN", "VBP": "NN", "VBZ": "NNS"}.get(tag)
        if before in ("DT", "PRP$") and noun in tags_of(words[i]):
            found[i] = str(noun)
    return found


@cache
def usual_tag(word: str) -> str:
    """The tag of a word that stands alone: what it mostly is."""
    return (pattern_tagger()([word.lower()]) or [""])[0]


def same_form(word: str, other: str, tag: str) -> bool:
    """Whether another word can stand where a word has this tag.

    It can have the tag, mostly is of that part of speech, and can be every part of speech that the word can
    be, since a tagger errs. Words without an entry stand for each other only.

    >>> same_form("beautiful", "gorgeous", "JJ"), same_form("beautiful", "wins", "JJ")
    (True, False)
    >>> same_form("credit", "companies", "NN"), same_form("care", "health", "NN")
    (False, False)
    """
    own, its = tags_of(word), tags_of(other)
    if not own:
        return not its
    if not {t[:1] for t in own} <= {t[:1] for t in its}:
        return False
    return tag in its and usual_tag(other)[:1] == tag[:1] if tag in own else own <= its


@cache
def opposites() -> dict[str, frozenset[str]]:
    """Word → words that say the opposite, in every form (project's own list).

    >>> "losing" in opposites()["win"], "sad" in opposites()["happy"]
    (True, True)
    """
    raw = files("evenhand.embeddings").joinpath("data/antonyms.txt").read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    for line in raw.splitlines():
        if line and not line.startswith("#"):
            one, other = (side.split() for side in line.split("|"))
            for here, there in ((one, other), (other, one)):
                for word in here:
                    found.setdefault(word, set()).update(there)
    return {word: frozenset(others) for word, others in found.items()}


def contrary(word: str, other: str) -> bool:
    """Whether two words say the opposite: by the list, by un-, in-, dis-, non- and their like before one, or
    by -ful and -less behind one stem.

    >>> contrary("wrong", "right"), contrary("happy", "unhappy"), contrary("nice", "lovely")
    (True, True, False)
    >>> contrary("useless", "useful"), contrary("hopefully", "hopelessly"), contrary("careful", "useless")
    (True, True, False)
    """
    a, b = sorted((word.lower(), other.lower()), key=len)
    without = re.sub(r"ful(ly)?$", r"less\1", a)
    if b == without != a or b in opposites().get(a, frozenset()):
        return True
    return any(
        b == prefix + a for prefix in ("un", "in", "im", "il", "ir", "dis", "non", "non-", "anti", "mis")
    )
