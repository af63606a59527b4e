"""Things that make probes: rewriting, templates, substitution. Pure: no network, no store, no global randomness."""

from evenhand.plans._pronouns import PronounSet, pronoun_set
from evenhand.plans._rewriting import Change, Rewrite, rewrite

__all__ = ["Change", "PronounSet", "Rewrite", "pronoun_set", "rewrite"]
