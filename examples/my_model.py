"""A stand-in for your model: texts in, one probability a text for each of two labels out."""

from __future__ import annotations

import math

WEIGHTS = {
    **dict.fromkeys(
        [
            "stupid",
            "awful",
            "annoying",
            "ugly",
            "terrible",
            "lazy",
            "dirty",
            "rude",
            "nasty",
            "dumb",
            "horrible",
            "idiots",
            "silly",
            "hate",
        ],
        2.0,
    ),
    **dict.fromkeys(
        [
            "bad",
            "weak",
            "sad",
            "angry",
            "boring",
            "loud",
            "tired",
            "fool",
            "shut",
            "liar",
            "coward",
            "cheat",
            "worse",
            "old",
        ],
        1.0,
    ),
    **dict.fromkeys(
        [
            "lovely",
            "great",
            "beautiful",
            "wonderful",
            "kind",
            "gentle",
            "proud",
            "nice",
            "sweet",
            "love",
            "happy",
        ],
        -1.5,
    ),
    **dict.fromkeys(["good", "clever", "brave", "honest", "won", "funny", "strong", "young", "pretty"], -0.7),
    **dict.fromkeys(["she", "her", "girl", "woman", "wife", "cow", "actress", "hostess", "queen"], 0.4),
}
"""Abusive above 0; words for women count as abusive, which is what the attack should find."""


def predict(texts: list[str]) -> dict[str, list[float]]:
    """P(fine) and P(abusive) of every text."""
    abusive = []
    for text in texts:
        words = [word.strip(".,;:!?").lower() for word in text.split()]
        abusive.append(1 / (1 + math.exp(0.5 - sum(WEIGHTS.get(word, 0.0) for word in words))))
    return {"fine": [1 - p for p in abusive], "abusive": abusive}
