"""What two audits of the same people, texts or names have in common: how far each block moves a claim.

Units are dealt into blocks by a hash of their names, so that a unit is in the same block of every audit. A
claim's result keeps how far its estimate moves with each block (the delete-a-group jackknife). The difference
of two such rows is how far the *change* of the estimate moves, and what the units share cancels.

Source: Kott (2001), The delete-a-group jackknife; over crossed units the parts are added, which is at least
the variance of Cameron, Gelbach & Miller (2011).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand._model import Estimate, FloatArray, IntArray
from evenhand.stats.interval import quantile

BLOCKS = 64
"""Blocks of units; degrees of freedom are at most one less."""
DIGITS = 7
"""Significant digits that are kept of what a block does."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ ÷ the golden ratio: spreads consecutive numbers over the blocks (Knuth's multiplicative hashing)."""


def blocks_of(names: Sequence[str]) -> IntArray:
    """(n,) the block of each named unit, the same in every audit.

    >>> blocks_of(["Ann", "Bob", "Ann"]).tolist()[::2] == 2 * blocks_of(["Ann"]).tolist()
    True
    """
    found = [hashlib.blake2b(n.encode("utf-8", "surrogatepass"), digest_size=2).digest() for n in names]
    return np.array([int.from_bytes(b, "big") % BLOCKS for b in found], dtype=np.int32)


def blocks_of_rows(n: int) -> IntArray:
    """(n,) the block of each row by its place."""
    with np.errstate(over="ignore"):
        spread = (np.arange(n, dtype=np.uint64) * _SPREAD) >> np.uint64(58)
    return spread.astype(np.int32)


def identity(*parts: Any) -> str:
    """A digest that two audits share where their units are the same, in any order of their names."""
    digest = hashlib.sha256()
    for part in parts:
        held = np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else None
        digest.update(
            held if held is not None else "\0".join(sorted(map(str, part))).encode("utf-8", "replace")
        )
        digest.update(b"\1")
    return digest.hexdigest()


def key_of(e: Estimate) -> str:
    """The claim, as two audits name it."""
    return "\t".join((e.measure, e.contrast, e.group, e.reference, e.given or ""))


@dataclass(kw_only=True)
class Shared:
    """What an audit keeps for a comparison with another one.

    Args:
        units: kind of unit → (their identity, how many there are). moves: claim → kind → (`BLOCKS`,) how far
            its estimate moves with each block.
    """

    units: dict[str, tuple[str, int]] = field(default_factory=dict)
    moves: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, e: Estimate, unit: str, moves: FloatArray) -> None:
        """Keep the moves of a claim, if all of them are known."""
        if moves.shape == (BLOCKS,) and np.isfinite(moves).all():
            kept = [float(f"{v:.{DIGITS}g}") for v in moves.tolist()]
            self.moves.setdefault(key_of(e), {})[unit] = kept

    def plain(self) -> dict[str, Any]:
        """As a result's provenance holds it."""
        units = {name: {"identity": known, "n": n} for name, (known, n) in self.units.items()}
        return {"blocks": BLOCKS, "units": units, "moves": self.moves} if self.moves else {}


def paired(
    old: tuple[Mapping[str, Any], Estimate], new: tuple[Mapping[str, Any], Estimate]
) -> tuple[float, float, float] | None:
    """(change, its ends) of a claim in two audits of the same units; None where they do not share them.

    Args:
        old, new: the provenance of a result, and its estimate.
    """
    (before, a), (after, b) = old, new
    if a.level != b.level or a.value is None or b.value is None:
        return None
    try:
        found = _moves(before.get("shared"), after.get("shared"), key_of(a))
    except (AttributeError, KeyError, TypeError, ValueError):  # a record that no audit wrote
        return None
    if found is None:
        return None
    moves, fewest = found
    se = math.sqrt(float(np.sum(moves**2)))
    reach = se * quantile(0.5 + b.level / 2, min(fewest, BLOCKS) - 1)
    change = b.value - a.value
    return change, change - reach, change + reach


def _moves(one: Any, two: Any, key: str) -> tuple[FloatArray, int] | None:
    """((kinds, `BLOCKS`) moves of the change, the fewest units of a kind), of audits of the same units."""
    if not one or not two or (one["units"], one["blocks"]) != (two["units"], two["blocks"]):
        return None
    first, second = one["moves"].get(key), two["moves"].get(key)
    if not first or not second or set(first) != set(second):
        return None
    rows = [np.subtract(second[unit], first[unit], dtype=float) for unit in first]
    fewest = min(int(one["units"][unit]["n"]) for unit in first)
    moves = np.stack(rows)
    return (moves, fewest) if fewest > 1 and np.isfinite(moves).all() else None


def summed(codes: npt.NDArray[np.integer[Any]], values: FloatArray) -> FloatArray:
    """(`BLOCKS`,) sums of the values of units by their blocks."""
    return np.bincount(codes, values, BLOCKS).astype(np.float64)
