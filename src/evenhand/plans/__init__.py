"""Things that make probes: rewriting, templates, substitution. Pure: no network, no store, no global
randomness."""

from evenhand.plans._edits import Change, Rewrite
from evenhand.plans._pronouns import PronounSet, pronoun_set
from evenhand.plans._rewriting import rewrite
from evenhand.plans.civil import Comments, civil_comments
from evenhand.plans.grid import Block, Grid, Skipped
from evenhand.plans.identity import Finder, Found, Placeholder, identity_templates, placeholder
from evenhand.plans.pairs import pair_grid, swap_gender
from evenhand.plans.people import person_templates
from evenhand.plans.templates import Templates, templates

__all__ = [
    "Block",
    "Change",
    "Comments",
    "Finder",
    "Found",
    "Grid",
    "Placeholder",
    "PronounSet",
    "Rewrite",
    "Skipped",
    "Templates",
    "civil_comments",
    "identity_templates",
    "pair_grid",
    "person_templates",
    "placeholder",
    "pronoun_set",
    "rewrite",
    "swap_gender",
    "templates",
]
