"""Which words may stand in each other's place in a sentence: parts of speech, inflections, opposites."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain, pairwise

ALONE = frozenset(
    [
        "ablaze",
        "abloom",
        "abreast",
        "adrift",
        "afire",
        "aflame",
        "afloat",
        "afraid",
        "aghast",
        "aglow",
        "ajar",
        "akin",
        "alike",
        "alive",
        "aloof",
        "amiss",
        "apart",
        "ashamed",
        "asleep",
        "askew",
        "astray",
        "averse",
        "awake",
        "aware",
        "awash",
        "awry",
        "glad",
        "unable",
        "unaware",
    ]
)
"""Adjectives that stand behind a verb, never before a noun."""
VERBS = "29"
"""The first kind of verbs; those of nouns have lower numbers."""
_NOT = ("un", "in", "im", "il", "ir", "dis", "non", "non-", "anti", "mis")
"""Prefixes that turn a word into its opposite."""


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

    It can have the tag, mostly is of that part of speech (and number), and can be every part of speech that
    the word can be, since a tagger errs. Words without an entry stand for each other only.

    >>> same_form("beautiful", "gorgeous", "JJ"), same_form("beautiful", "wins", "JJ")
    (True, False)
    >>> same_form("credit", "companies", "NN"), same_form("care", "health", "NN")
    (False, False)
    >>> same_form("problems", "issues", "NNS"), same_form("problems", "issue", "NNS")
    (True, False)
    """
    own, its = tags_of(word), tags_of(other)
    if not own:
        return not its
    if not {t[:1] for t in own} <= {t[:1] for t in its}:
        return False
    if tag not in own:
        return own <= its
    kind = slice(3 if tag in ("NN", "NNS") else 1)
    return tag in its and usual_tag(other)[kind] == tag[kind]


@cache
def _kinds() -> dict[tuple[bool, str], frozenset[str]]:
    """(is it a noun, base form) → the kinds that its usual senses are of."""
    lines = [(line.split()[0].split(","), line.split()[1:]) for line in _listed("kinds.txt")]
    return {(kinds[0] < VERBS, word): frozenset(kinds) for kinds, words in lines for word in words}


@cache
def same_kind(word: str, other: str, tag: str) -> bool:
    """Whether two nouns or two verbs share a kind of thing that they usually mean, by WordNet 3.0: theft is
    an act, a thief a person. Words of other parts of speech, and rare ones, are of any kind.

    >>> same_kind("theft", "thief", "NN"), same_kind("theft", "fraud", "NN"), same_kind("nice", "table", "JJ")
    (False, True, True)
    """
    if tag[:1] not in ("N", "V"):
        return True
    one, its = (
        frozenset(chain.from_iterable(_kinds().get((tag[:1] == "N", base), ()) for base in _bases(w.lower())))
        for w in (word, other)
    )
    return not one or not its or bool(one & its)


@cache
def known_name(word: str) -> bool:
    """Whether a word in any spelling is a name and nothing else, by TextBlob's lexicon.

    >>> known_name("steve"), known_name("Bill"), known_name("table")
    (True, False, False)
    """
    from textblob.en import parser

    pattern_tagger()  # reads the lexicon
    low = word.lower()
    return parser.lexicon.get(low.title()) == "NNP" and low not in parser.lexicon and not tags_of(low)


@cache
def _compounds() -> frozenset[str]:
    lines = map(str.split, _listed("compounds.txt"))
    return frozenset(f"{first} {second}" for first, *others in lines for second in others)


@cache
def compound(first: str, second: str) -> bool:
    """Whether two words side by side are one expression, by WordNet 3.0 (altar boys, soap opera, give up).

    >>> compound("altar", "boys"), compound("red", "noses")
    (True, False)
    """
    one, other = first.lower(), second.lower()
    return any(f"{a} {b}" in _compounds() for a in _bases(one) for b in _bases(other))


def _listed(name: str) -> list[str]:
    raw = files("evenhand.embeddings").joinpath(f"data/{name}").read_text(encoding="utf-8")
    return [line for line in raw.splitlines() if line and not line.startswith("#")]


@cache
def opposites() -> dict[str, frozenset[str]]:
    """Word → words that say the opposite: in every form by the project's own list, in base forms by WordNet.

    >>> "losing" in opposites()["win"], "sad" in opposites()["happy"], "weakness" in opposites()["strength"]
    (True, True, True)
    """
    pairs = [(line.split("|")[0].split(), line.split("|")[1].split()) for line in _listed("antonyms.txt")]
    pairs += [([one], others) for one, *others in map(str.split, _listed("wordnet_opposites.txt"))]
    found: dict[str, set[str]] = {}
    for one, other in pairs:
        for here, there in ((one, other), (other, one)):
            for word in here:
                found.setdefault(word, set()).update(there)
    return {word: frozenset(others) for word, others in found.items()}


@cache
def _series() -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for i, line in enumerate(_listed("series.txt")):
        for word in line.split():
            found.setdefault(word, set()).add(i)
    return {word: frozenset(lines) for word, lines in found.items()}


def of_a_series(word: str, other: str) -> bool:
    """Whether two words are of one closed series, such as numbers, colours or days (project's own list).

    >>> of_a_series("three", "Four"), of_a_series("red", "monday"), of_a_series("grey", "gray")
    (True, False, False)
    """
    return not _series().get(word.lower(), frozenset()).isdisjoint(_series().get(other.lower(), ()))


@cache
def _bases(word: str) -> frozenset[str]:
    """A word and its base forms, where lemminflect is installed to know them."""
    try:
        import lemminflect
    except ImportError:
        return frozenset([word])
    return frozenset([word, *chain.from_iterable(lemminflect.getAllLemmas(word).values())])


@cache
def known_feelings() -> dict[str, float]:
    """VADER's lexicon (Hutto & Gilbert 2014): word → how good or bad it feels, −4 to 4."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return dict(SentimentIntensityAnalyzer().lexicon)


@cache
def feeling(word: str) -> float | None:
    """How good or bad a word feels, −4 to 4, by VADER's lexicon (Hutto & Gilbert 2014); None where that has
    none. An adverb that is not listed feels like its adjective.

    >>> feeling("terrific"), feeling("table"), feeling("poorly") == feeling("poor")
    (2.1, None, True)
    """
    low, known = word.lower(), known_feelings()
    for one in (low, re.sub(r"ly$", "", low), re.sub(r"ily$", "y", low)):
        if one in known:
            return known[one]
    return None


def marked(word: str, other: str) -> bool:
    """Whether one of two words is the other with un-, in-, dis- or their like before it, or they end in -ful
    and -less behind one stem.

    >>> marked("happy", "unhappy"), marked("hopefully", "hopelessly"), marked("careful", "useless")
    (True, True, False)
    """
    a, b = sorted((word.lower(), other.lower()), key=len)
    if b == re.sub(r"ful(ly)?$", r"less\1", a) != a:
        return True
    return any(b == prefix + a for prefix in _NOT)


def contrary(word: str, other: str) -> bool:
    """Whether two words say the opposite: by a list, by WordNet, by prefix or ending, or since one feels good
    and the other bad.

    >>> contrary("wrong", "right"), contrary("happy", "unhappy"), contrary("nice", "lovely")
    (True, True, False)
    >>> contrary("useless", "useful"), contrary("weaknesses", "strengths"), contrary("amusing", "irritating")
    (True, True, True)
    """
    a, b = word.lower(), other.lower()
    if marked(a, b) or (feeling(a) or 0.0) * (feeling(b) or 0.0) < 0:
        return True
    return any(_bases(b) & opposites().get(one, frozenset()) for one in _bases(a))
