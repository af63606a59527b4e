"""Whether an identity term refers to people where it stands: a Black friend, not the Black Sea."""

from __future__ import annotations

import re

from evenhand.plans._verbs import MODALS, SURE, TO_PLURAL, TO_SINGULAR, is_past
from evenhand.plans._words import word_set

PEOPLE = word_set(
    "man men woman women people person guy guys girl girls boy boys kid kids child children friend "
    "friends neighbor neighbors neighbour neighbours family families community communities student "
    "students american americans canadian mother mothers father fathers mom dad parent parents couple "
    "couples teacher teachers doctor doctors worker workers actor actors actress artist artists athlete "
    "athletes player players voter voters citizen citizens immigrant immigrants folk folks lady ladies "
    "gentleman gentlemen male males female females husband wife son daughter brother sister lawyer "
    "nurse colleague colleagues coworker coworkers customer customers patient patients employee "
    "employees candidate candidates applicant applicants driver drivers officer officers politician "
    "politicians president leader leaders teen teens teenager teenagers youth adult adults user users "
    "owner owners author writer musician singer population minority minorities residents resident "
    "tenants tenant neighborhood culture lives rights bitch bitches hoe hoes dude dudes bro bros baby "
    "babies slave slaves scholar scholars acquaintance official officials academic girlfriend "
    "girlfriends boyfriend boyfriends chick chicks youths elders elder servant servants soldier "
    "soldiers nanny maid maids victim victims"
)
_ALWAYS = word_set("man woman boy girl guy person child kid teenager gentleman lad lass")
_PERSONAL = re.compile(
    r"\w{3,}(?:ists?|ians?|er|ers|eers?|ors?|m[ae]n|women|woman|persons?|folk|kids?|mates?|ees?)"
)
_THINGS = word_set(
    "paper papers water number numbers power powers order orders river rivers letter letters center "
    "centers centre centres matter matters weather winter summer tower towers border borders colour "
    "colours color colors door doors floor floors error errors factor factors mirror mirrors labor "
    "labour humor humour honor honour flavor flavour tree trees coffee committee committees degree "
    "degrees fee fees cheese pepper leather butter computer computers corner corners danger layer "
    "layers cover covers never ever other others over under after her per were offer offers career "
    "careers beer screen chapter chapters theater theatre newspaper newspapers master print sweater "
    "powder cancer finger fingers hair shoulder shoulders quarter quarters cluster clusters marker "
    "register container containers monster sector tenor vapor armor liquor decor interior exterior "
    "fever timber lumber rubber silver amber feather feathers dinner supper burger burgers buster "
    "busters counter counters studies stickers sticker list lists mist twist fist grist wrist exist "
    "gist persist behavior behaviors behaviour behaviours harbor harbour favor favour endeavor rumor rumors "
    "terror tumor odor vector motor reactor rather either neither whether further however forever "
    "together later earlier fewer larger greater smaller bigger lower higher better outer inner upper proper "
    "another wonder thunder hunger anger laughter slaughter disaster poster filter meter gender slander "
    "specimen specimens regimen semen omen acumen consists exists resists insists fee jubilee decree "
    "guarantee three german median character characters"
)
_ORGANISATIONS = word_set(
    "party union league association society committee council church school university college club day act "
    "movement army front band conference congress foundation institute museum federation fund network "
    "coalition magazine review times"
)
_MEANT = word_set(
    "a an the this that my your ya yo ur his her our their no any every another one some each what which da "
    "dat these those two three as old young black white gay straight trans single married colored disabled "
    "deaf blind"
)
_NOT_AFTER = word_set(
    "and or but is was are were has had who that in on at to of for with from by as will would can "
    "could may said says than because if when while so since the a an this his her their my our your "
    "its"
)
_BE = word_set(
    "is are was were am be been being i'm he's she's they're we're you're who's feel feels felt born "
    "became become becoming not very openly also both either legally completely totally isn't wasn't aren't "
    "weren't often always"
)
_WHOM = word_set(
    "i he she they we you who i'm he's she's they're we're you're who's everyone someone anyone nobody "
    "everybody somebody him her them me us"
)
_VERBS = (
    SURE | MODALS | frozenset((*TO_PLURAL, *TO_SINGULAR)) | word_set("need live work love face play talk")
)
_TITLED = word_set("man men boy boys girl girls woman women guy guys")
_DETERMINERS = word_set("the a an this that these those all some many most no both two every each any")
_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def _personal(low: str) -> bool:
    return low in PEOPLE or (low not in _THINGS and _PERSONAL.fullmatch(low) is not None)


def refers_to_people(text: str, start: int, end: int, form: str) -> bool:
    """Whether the term at ``text[start:end]`` refers to people: as a noun, before a word for people, or said
    of somebody ("he is deaf"). Two capitals in a row before no such word are a name ("the Old Testament").

    >>> [refers_to_people(t, 4, 9, "adjective") for t in ("The Black Sea", "the black singer")]
    [False, True]
    >>> (
    ...     refers_to_people("I'm black.", 4, 9, "adjective"),
    ...     refers_to_people("She is deaf.", 7, 11, "adjective"),
    ... )
    (True, True)
    """
    low = text[start:end].lower()
    after = _following(text, end)
    alone = not after or after[0] in _NOT_AFTER or is_past(after[0])
    if low in _TITLED and text[start : start + 2].istitle() and _follows_a_name(text, start):
        return False
    if low in ("man", "men", "boy") and _is_no_man(text, start, end):
        return False
    if low == "old" and _before(_YEARS, text, start):
        return False
    if low == "christian" and (m := _SURNAME.match(text, end)) and m.group(1).lower() not in PEOPLE:
        return False
    if low != text[start:end] and _is_in_a_name(text, end):
        return False
    if form == "noun" and low not in _ALWAYS and _is_one_of_joined_adjectives(text, end):
        return False
    if form in ("noun_plural", "") or (form == "noun" and (alone or low in _ALWAYS)):
        return not (
            text[start].isupper() and low in ("lady", "ladies", "lord") and _mid_sentence(text, start)
        )
    if text[start].isupper() and _CAPITAL_NEXT.match(text, end) and _mid_sentence(text, start):
        after = after[:1]
    if any(_personal(word) for word in after) or (" " in low and low.rpartition(" ")[2] in _ALWAYS):
        return True
    if not alone:
        return False
    before = [w.lower().replace("’", "'") for w in _WORDS.findall(text[max(0, start - 60) : start])][-4:]
    if not before or before[-1] not in _BE or _before(_CLOSED, text, start):
        return False
    subject = [w for w in before if w not in _BE or w in _WHOM]
    named = _before(_NAMED_IS, text, start)
    return bool(subject) and (subject[-1] in _WHOM or _personal(subject[-1]) or named)


_CAPITAL_NEXT = re.compile(r"\s+[A-Z]")
_CLOSED = re.compile(r"[.!?;:]\s*\Z")
_NAMED_IS = re.compile(r"(?:\A|\s)[A-Z][a-z]+ (?:is|was|became)(?: \w+)?\s+\Z")
_NAMED_HAS = re.compile(r"(?:\A|[\s(])[A-Z][a-z]+ (?:also |still )?(?:has|had)\s+\Z")
_HAVING = re.compile(r"\b(?:has|have|had|having|with)\s+\Z", re.I)
_MIDST = re.compile(r"[\w,]\s+\(?\Z")
_NEAR = 400
"""How far back a pattern before a term is looked for; a text may have 5 million characters."""


def _before(pattern: re.Pattern[str], text: str, start: int) -> bool:
    """Whether the text before `start` ends in the pattern (which ends in ``\\Z``)."""
    return pattern.search(text, max(0, start - _NEAR), start) is not None


_BEING = re.compile(
    r"(?:\b(?:is|was|are|were|am|be|been|being|become|became|(?:is|was|are|were)n['’]t)|['’](?:s|re|m))"
    r"(?:\s+(?:not|also|both|very|often|always|[^\W\d_]+ly))*\s+\Z",
    re.I,
)


def is_said_of(before: str, after: str) -> bool:
    """Whether an adjective between these two is said of somebody ("he is …"), not put before a noun.

    >>> (
    ...     is_said_of("He is also ", " and sings."),
    ...     is_said_of("She is a ", " singer."),
    ...     is_said_of("Is ", " pay fair?"),
    ... )
    (True, False, False)
    """
    following = _following(after, 0)
    alone = not following or following[0] in _NOT_AFTER or is_past(following[0])
    return alone and _BEING.search(before[-60:]) is not None


def is_had_by_somebody(text: str, start: int, end: int) -> bool:
    """Whether a condition at ``text[start:end]`` is somebody's: she has autism, a man with epilepsy; not
    "autism research", "a link with autism".

    >>> [
    ...     is_had_by_somebody(t, t.index("autism"), t.index("autism") + 6)
    ...     for t in (
    ...         "My son has autism.",
    ...         "A boy with autism sang.",
    ...         "A link with autism",
    ...         "has autism costs",
    ...     )
    ... ]
    [True, True, False, False]
    """
    before = [w.lower().replace("’", "'") for w in _WORDS.findall(text[max(0, start - 60) : start])][-5:]
    if not before or not _before(_HAVING, text, start):
        return False
    after = _following(text, end)
    if after and after[0] not in _NOT_AFTER | _VERBS and not is_past(after[0]):
        return False
    return _before(_NAMED_HAS, text, start) or any(w in _WHOM or _personal(w) for w in before[:-1])


_STRAW = re.compile(r"\bstraw[\s-]+\Z", re.I)
_OPENS = re.compile(r"(?:\A|[.!?]\s+)\Z")
_DOES = re.compile(
    r" (?:\w{2,}ing|in|on|with|from|wearing)\b"
)  # "Man riding a horse." of captions and headlines
_PHRASE = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*[\s\"“”‘’'`*]+(?:[\w'’-]+\s+)?\Z")
_SON_OF = re.compile(r"\bson of\s+\Z", re.I)
_AND = re.compile(r"\b(?:but|and|so|because|cause|cuz|bc)\s+\Z", re.I)
_NAME_GOES_ON = re.compile(r"(?:\s+[A-Z][a-z]+(?:['’]s|s['’])?)?\s+([A-Z][a-z]+)|['’]s\s+([Hh]arp)s?\b")
_JOINED = re.compile(r"\s+(?:and|or)\s+([^\W\d_]+)\s+([^\W\d_]+)")
_LIKE_AN_ADJECTIVE = re.compile(r"\w{2,}(?:ic|al|ish|an|ese|ous|ive)")


_YEARS = re.compile(r"\b(?:years?|yrs?|months?|weeks?|days?)[\s-]+\Z", re.I)
_SURNAME = re.compile(r"\s+([A-Z][a-z]+)(?<!ist)(?<!ists)(?<!ian)(?<!ians)\b")


def _is_no_man(text: str, start: int, end: int) -> bool:
    """Whether "man" is called out ("oh man", "these lies man", "but man, …"), made of straw, or the son of:
    one who is meant has "a", "the", "my", … one or two words before."""
    if _before(_SON_OF, text, start) or (text[end : end + 1] in tuple(",!") and _before(_AND, text, start)):
        return True
    if _before(_STRAW, text, start):
        return True
    if text[start:end].lower() == "men" or (
        _OPENS.search(text, max(0, start - 4), start) and _DOES.match(text, end)
    ):
        return False
    phrase = _PHRASE.search(text, max(0, start - 60), start)
    if phrase is None:
        return True
    said = phrase.group().lower().replace("’", "'").split()
    return _MEANT.isdisjoint(said) and not any(word.endswith("'s") for word in said)


def _is_in_a_name(text: str, end: int) -> bool:
    """Whether the term begins the name of an organisation or a thing: German Workers' Party, Jew's harp."""
    m = _NAME_GOES_ON.match(text, end)
    return m is not None and (m.group(2) is not None or m.group(1).lower() in _ORGANISATIONS)


def _is_one_of_joined_adjectives(text: str, end: int) -> bool:
    """Whether a noun that may be an adjective shares a thing: "homosexual and heterosexual sex", not "a Jew
    and a Muslim"."""
    m = _JOINED.match(text, end)
    if m is None:
        return False
    second, thing = m.group(1).lower(), m.group(2).lower()
    adjective = _LIKE_AN_ADJECTIVE.fullmatch(second) is not None
    return adjective and not (thing in _NOT_AFTER | _BE | _VERBS or is_past(thing) or _personal(thing))


def _follows_a_name(text: str, start: int) -> bool:
    """Whether the word before has a capital, too, and is no article: Iron Man, Mega Man."""
    before = re.search(r"([A-Z][\w-]*)\s+\Z", text[max(0, start - 40) : start])
    return before is not None and before.group(1).lower() not in _DETERMINERS


def _mid_sentence(text: str, start: int) -> bool:
    return _before(_MIDST, text, start)


def _following(text: str, end: int) -> list[str]:
    """The next word, and the one after it where the first may be one more adjective."""
    m = re.match(r"[\s-]+([^\W\d_]+(?:-[^\W\d_]+)*)(?:\s+([^\W\d_]+))?", text[end : end + 60])
    if m is None:
        return []
    first = m.group(1).lower()
    return [first, *([m.group(2).lower()] if m.group(2) and first not in _NOT_AFTER else [])]
