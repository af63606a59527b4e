"""What a reader should know of the texts, the names, and the run."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from evenhand._analysis import Analysis
from evenhand._errors import EvenhandError
from evenhand._model import Observations, Subject, Traits
from evenhand._run import Asked
from evenhand._store import Journal
from evenhand.audits.scores.notes import note_constant
from evenhand.audits.text.designs import Design, skipped
from evenhand.plans._languages import LANGUAGES
from evenhand.subjects import Cached
from evenhand.subjects.spread import Scattered
from evenhand.terms.collide import collisions
from evenhand.texts.language import other_languages

LONG = 500
"""Characters from which a service may read only the beginning of a text (seen with real-time sentiment)."""


OTHER_LANGUAGE = 0.01
"""Share of texts in other languages that are worth a warning; one in a thousand English posts looks so."""


def note_texts(made: Design, traits: Traits, analysis: Analysis) -> None:
    """Long texts, what reading them brought up, what was left out, and what the service says of itself."""
    longest = max(map(len, made.bases), default=0)
    if longest > LONG:
        analysis.note(
            "long-texts",
            f"The longest text has {longest:,} characters. Some services read only the beginning of a text"
            f" ({LONG} characters have been seen); check what yours does before believing a small gap.",
        )
    _note_language(set(made.bases), LANGUAGES[made.language], analysis)
    if made.language != "en":
        analysis.note(
            "another-language",
            f"The texts were rewritten by rules for {LANGUAGES[made.language]}, which are young: of hard"
            " sentences many are flagged, and some are wrong without a flag. Read the versions (--review)"
            " before believing a gap, or leave out the flagged ones (--flagged drop).",
            warning=True,
        )
    if made.noticed:
        analysis.note("texts-noticed", " ".join(made.noticed), warning=True)
    if made.decided:
        said = ", ".join(f"{n} {what}" for what, n in made.decided.items())
        analysis.note("reviewed", f"A person's review of the rewritten versions was followed: {said}.")
    for reason, n in skipped(made).items():
        control = reason.startswith("no control")
        what = f"{n} text{'s' * (n != 1)}{'' if control else ' left out'}"
        analysis.note("texts-skipped", f"{what}: {reason}.", warning=not control)
    if traits.notice:
        analysis.note("about-the-service", traits.notice, warning=True)


def _note_language(texts: Collection[str], language: str, analysis: Analysis) -> None:
    other = other_languages(texts, language)
    if sum(other.values()) >= max(OTHER_LANGUAGE * len(texts), 1):
        said = ", ".join(f"{n} in {language}" for language, n in other.items())
        analysis.note(
            "other-language",
            f"Of {len(texts)} texts some seem not to be {language}: {said}. Pronouns, articles and verbs are"
            f" changed by {language} rules only: rewritten, they may be no sentences of their language, and a"
            " gap may be one of grammar.",
            warning=True,
        )


def note_collisions(
    made: Design, chosen: Subject, name: str, store: Journal | None, analysis: Analysis, *, asks: bool = True
) -> None:
    """Names that are ordinary words, or that the subject itself has an opinion on."""
    asking = chosen
    if store is not None and not isinstance(chosen, Scattered):  # workers keep what arrives
        asking = Cached(subject=chosen, journal=store, asks=asks)

    def single(words: Sequence[str]) -> list[float]:
        try:
            found = asking(list(words)).scores.get(name)
        except EvenhandError:  # a spent budget, say: the audit stands without this check
            found = None
        return [float("nan")] * len(words) if found is None else found.tolist()

    for part in made.parts:
        found = collisions(part.grid.terms, single) if part.word == "name" else ()
        for reason, said in (
            ("ordinary word", "Names that are also ordinary words"),
            (
                "subject scores",
                f"Names on which {chosen.id} itself has an opinion ({name} of the name alone is unusual)",
            ),
        ):
            if terms := [c.term for c in found if reason in c.reason]:
                analysis.note("name-collisions", f"{said}: {', '.join(terms)}.", warning=True)


def note_run(asked: Asked, observations: Observations, score: str, analysis: Analysis) -> None:
    """What failed, why it stopped, scores that never change, and rewritten texts that a person should see."""
    if asked.failed:
        reasons = "; ".join(f"{reason} × {n}" for reason, n in asked.failures.most_common(5))
        analysis.note(
            "failed-rows",
            f"{asked.failed} of {len(observations)} probes"
            f" ({100 * asked.failed / len(observations):.1f} %) have no score and are left out: {reasons}.",
            warning=True,
        )
    if said := asked.reused.sentence():
        analysis.note("from-journal", said)
    if asked.stopped:
        analysis.note("incomplete", f"The audit stopped early: {asked.stopped}.", warning=True)
    note_constant(observations, score, analysis)
    flags = observations.units.get("flag")
    if flags is not None and (flagged := sum(flags.counts().values())):
        analysis.note("flagged-rows", f"{flagged} rewritten texts are flagged; see the table of flags.")
