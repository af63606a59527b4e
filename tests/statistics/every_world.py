"""All worlds of the grid, in the order of the page."""

from __future__ import annotations

from collections.abc import Mapping

import worlds
import worlds_predictions_more
from worlds import World
from worlds_amplification import AMPLIFICATION
from worlds_attack import ATTACK
from worlds_scores import WORLDS_OF_SCORES

WORLDS: tuple[World, ...] = (
    *worlds.WORLDS,
    *WORLDS_OF_SCORES,
    *worlds_predictions_more.WORLDS,
    *AMPLIFICATION,
    *ATTACK,
)
BY_NAME: Mapping[str, World] = {world.name: world for world in WORLDS}
