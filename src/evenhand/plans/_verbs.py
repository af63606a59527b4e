"""Present-tense verb forms: "runs" ↔ "run", and the word lists that tell verbs from nouns where a rule must
decide."""

from __future__ import annotations

import re

from evenhand.plans._words import word_set

TO_PLURAL = {
    "is": "are",
    "was": "were",
    "has": "have",
    "does": "do",
    "isn't": "aren't",
    "wasn't": "weren't",
    "hasn't": "haven't",
    "doesn't": "don't",
    "isnt": "arent",
    "wasnt": "werent",
    "hasnt": "havent",
    "doesnt": "dont",
}
TO_SINGULAR = {b: a for a, b in TO_PLURAL.items()}


MODALS = word_set(
    "will would can could may might shall should must cannot can't won't wouldn't couldn't shouldn't "
    "mustn't mightn't shan't needn't oughtn't ought had hadn't did didn't ain't cant wont wouldnt couldnt "
    "shouldnt didnt hadnt used"
)
# rarely or never plural nouns when they end in -s
SURE = word_set(
    "accept accuse achieve acquire adapt add adjust admire admit adopt advise affect afford agree allow "
    "amaze announce annoy apologize apologise appear apply appoint appreciate approve argue arrange "
    "arrive ask assemble assess assist assume attend attract avoid bake become beg begin behave believe "
    "belong blame borrow bother breathe bring build bury buy calculate calm carry celebrate choose "
    "clarify clean climb collaborate collect come commit communicate compare compete complain complete "
    "compose concentrate confess confirm confuse consider consist construct consult contain continue "
    "contribute convince coordinate cope create cry decide decline defend define delegate deliver "
    "demonstrate deny depend deserve destroy detect determine develop die differ disagree disappear "
    "discover discuss dislike dismiss distribute donate earn eat edit educate embrace emerge emphasize "
    "emphasise employ enable encourage engage enjoy ensure enter entertain establish examine excel "
    "exist expand expect explain explore express fail feed feel fill find finish fix follow forget "
    "forgive gather get give go graduate grow happen hear hesitate hide hire identify ignore imagine "
    "implement impress improve include indicate inform insist inspect inspire install instruct intend "
    "interact interpret introduce invent invest investigate invite join keep know learn lend let listen "
    "live lose maintain manage marry mean mention motivate move negotiate notice obtain occupy occur "
    "oppose organize organise overcome owe own participate pay perceive perform permit persuade possess "
    "prefer prepare prescribe pretend prevent proceed produce prohibit propose protect prove provide "
    "publish pursue put raise reach react read realize realise receive recognize recognise recommend "
    "reduce refer reflect refuse reject rejoice relax rely remain remember remind remove renovate "
    "replace represent require resent resign resist resolve respect respond restore retain retire "
    "reveal revise say see seek seem select sell send serve settle sing sit sleep solve speak spend "
    "stay steal submit succeed suffer suggest supervise suppose surprise survive suspect swear sweep "
    "swim take teach tell tend thrive throw tolerate translate treat understand unite urge wait wake "
    "warn wear weigh write bark sneeze shiver scold scribble sew sulk smuggle recover refill rehearse "
    "repay reopen stammer tidy undergo underestimate wander whisper advertise allege analyse analyze "
    "anticipate arrest betray browse caress cherish chew cling comfort complicate compliment conduct "
    "criticize criticise deserve despise devote drag drown email examine exaggerate frighten fulfil "
    "fulfill greet inherit irritate juggle knit lecture meditate memorize mow obey oversee ponder pour "
    "quit scare sketch skip snore spill stir suffer terrify testify threaten tutor unlock vanish verify "
    "weep yawn struggle volunteer bully photocopy defy rectify simplify specify notify classify qualify "
    "justify satisfy horrify modify multiply imply supervise empathize empathise minimize maximise "
    "maximize summarize summarise prioritize prioritise generate evaluate illustrate navigate operate "
    "participate replicate hug hum shrug"
)
# verbs whose -s form is a common plural noun, too
AMBIGUOUS = word_set(
    "act address aim answer appeal approach attack attempt back balance battle bear beat benefit bet "
    "bike bill bite blog board boast book bowl box brush call camp care cast catch cause challenge "
    "change charge chase chat check cheer claim coach code comment concern contact contract control "
    "cook copy cost cough count cover crash cut cycle dance dare date deal debate delay demand deposit "
    "design dine display doubt draw dream dress drink drive drop dust end escape estimate exercise "
    "experience experiment face fall fear feature field fight film fish flash float flow fly focus fold "
    "force form garden gain guard guess guide hand hate head heal help hike hit hold hook hope host hug hunt "
    "hurt influence interview jog joke journey judge jump kick kiss knock lack land last laugh lead "
    "leave lie lift light like limit link load lock look love mail make march mark master match matter "
    "measure meet mentor mind miss mistake mix model monitor murder name need nod note nurse object "
    "offer open order pack paint park pass pause photograph pick pitch place plan plant play point "
    "practice practise praise pray present press print process profit program promise promote pull pump "
    "punch purchase push question race rain range rate record regret rent repair repeat reply report "
    "request rescue research reserve rest result return review reward ride ring rise risk roll row rule "
    "run rush sail sample save score scream search secure sense set shake shape share shelter shine "
    "shoot shop shout show shower sign signal sketch ski slip smell smile smoke snack sort sound spark "
    "sponsor sport spot stand star stare start state step stop store strain stress stretch strike "
    "stroke struggle study stumble suit supply support surf swing switch talk target task taste test "
    "text thank think tie time tip tire touch tour trace track trade train transfer transport travel "
    "trick trip trust try turn tweet twist type use value view visit voice vote walk want wash waste "
    "watch water wave welcome whistle win wish witness wonder work worry wound wrestle yell"
)
VERBS = SURE | AMBIGUOUS | word_set("be have do")
# past forms and participles that do not end in -ed
IRREGULAR_PAST = word_set(
    "was were had did went came saw said told gave took made got knew thought felt left kept held "
    "brought bought taught caught sought fought built sent spent lent bent meant met led fed fled bled "
    "read ran swam sang rang sank drank began sat stood understood withstood won lost shot sold found "
    "bound ground wound wrote rode drove rose arose spoke broke chose froze stole woke wore tore bore "
    "swore grew flew threw drew blew knew withdrew became overcame forgot forgave ate fell lay laid "
    "paid heard slept wept swept crept leapt dreamt learnt burnt spelt spoilt dealt dug hung stuck "
    "struck stung swung clung flung spun slid hid bit lit sped shone wrought ought showed dove fought "
    "mistook undertook overtook shook forsook bade sprang shrank stank strove wove trod swelled spat "
    "undid outdid foresaw oversaw withheld misread mislaid relied mowed sewed rebuilt retold resold "
    "rewrote underwent outran misunderstood ground bred foretold"
)
PARTICIPLES = word_set(
    "been gone done seen taken given written spoken broken chosen driven eaten fallen forgotten "
    "forgiven frozen gotten got grown hidden known ridden risen shaken shown stolen sung sunk sworn "
    "swum thrown torn woken worn become begun come run had made said told thought felt left kept held "
    "brought bought taught caught sought fought built sent spent meant met led lost won sold found "
    "heard slept paid laid proven put cut set hit let quit read drawn flown withdrawn undergone"
)
UNCHANGED_PAST = word_set(
    "put cut set hit let quit read cost hurt shut spread split bet burst cast broadcast forecast upset "
    "thrust rid shed bid wed fit knit beset reset offset input output"
)
ADVERBS = word_set(
    "always never often also still just only then now soon not ever even already almost simply usually "
    "sometimes once twice too quite rather nearly hardly perhaps maybe later eventually first finally "
    "clearly probably however therefore thus instead again indeed surely merely barely seldom rarely "
    "generally mostly prob probs def deffo deff legit literally today yesterday tomorrow somehow "
    "nevertheless nonetheless otherwise occasionally thereby thereafter afterwards afterward meanwhile "
    "nowadays long deeply well further yet much far kind sort of all both each definitely alone himself "
    "herself themself themselves xemself hirself emself faerself regularly twice further back either "
    "neither really truly apparently no longer"
)
_LY_WORDS = word_set(
    "apply rely reply supply comply multiply imply fly ally rally tally bully dally sully only family"
)
_ING_BASES = word_set("bring sing ring cling swing sting spring string fling wring ping wing sling")
NOT_VERB_S = word_set(
    "always perhaps sometimes besides nevertheless nonetheless regardless afterwards nowadays thus this "
    "his hers its theirs ours yours us as plus less unless yes across towards indoors outdoors upstairs "
    "downstairs overseas alas whereas various previous serious famous obvious conscious was is has does "
    "xyrs hirs eirs faers sis bus gas news probs"
)


def is_adverb(low: str) -> bool:
    """Whether a word may stand between a subject and its verb."""
    return low in ADVERBS or (low.endswith("ly") and low not in _LY_WORDS and len(low) > 3)


def to_base(low: str) -> str | None:
    """ "runs" → "run"; None where the word cannot be a third person singular.

    >>> [
    ...     to_base(w)
    ...     for w in ("tries", "watches", "goes", "uses", "lies", "buzzes", "aches", "ran", "always", "pass")
    ... ]
    ['try', 'watch', 'go', 'use', 'lie', 'buzz', 'ache', None, None, None]
    """
    if low in TO_PLURAL:
        return TO_PLURAL[low]
    if low in NOT_VERB_S or not low.endswith("s") or low.endswith(("ss", "us", "'s")) or len(low) < 3:
        return None
    if low.endswith("is") and low not in ("skis", "taxis"):
        return None
    if low.endswith("ies"):
        return low[:-1] if len(low) <= 4 or low in _IE else low[:-3] + "y"
    if low.endswith("oes"):
        return low[:-1] if low in ("shoes", "hoes", "toes", "canoes", "tiptoes") else low[:-2]
    if low.endswith(("sses", "shes", "xes", "zzes")) and low not in ("axes", "deluxes"):
        return low[:-2]
    if low.endswith("ches"):
        return (
            low[:-1]
            if re.search(r"(?:^|[^c])(?:ach|cach|psych|avalanch|bellyach|douch|nich)es$", low)
            and (low in _CHE)
            else low[:-2]
        )
    if low in ("quizzes", "whizzes"):
        return low[:-3]
    if low in ("focuses", "biases", "buses", "gases", "canvases", "blitzes", "waltzes"):
        return low[:-2]
    return low[:-1]


_IE = word_set("belies underlies unties vies outlies")
_CHE = word_set("aches caches psyches avalanches bellyaches douches niches headaches")


def to_third(low: str) -> str:
    """ "run" → "runs".

    >>> [to_third(w) for w in ("try", "watch", "go", "play", "use", "buzz", "have", "are", "quiz")]
    ['tries', 'watches', 'goes', 'plays', 'uses', 'buzzes', 'has', 'is', 'quizzes']
    """
    if low in TO_SINGULAR:
        return TO_SINGULAR[low]
    if low == "be":
        return "is"
    if low.endswith("y") and low[-2:-1] not in tuple("aeiou"):
        return low[:-1] + "ies"
    if low in ("quiz", "whiz"):
        return low + "zes"
    return low + "es" if low.endswith(("s", "sh", "ch", "x", "z", "o")) else low + "s"


def is_past(low: str) -> bool:
    """Whether a word is a past form (or an ambiguous one such as "put")."""
    return low in IRREGULAR_PAST or low in UNCHANGED_PAST or (low.endswith("ed") and low not in _ED_BASES)


_ED_BASES = word_set("need feed seed heed weed breed bleed speed exceed proceed succeed embed shed wed")


def is_participle_ing(low: str) -> bool:
    """Whether a word is an -ing form."""
    return low.endswith("ing") and low not in _ING_BASES and len(low) > 4
