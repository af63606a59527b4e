"""All worlds of the grid, in the order of the page."""

from __future__ import annotations

from collections.abc import Mapping

import worlds
import worlds_predictions_more
from worlds import World

WORLDS: tuple[World, ...] = (*worlds.WORLDS, *worlds_predictions_more.WORLDS)
BY_NAME: Mapping[str, World] = {world.name: world for world in WORLDS}
