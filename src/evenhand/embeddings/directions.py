"""Directions in embedding space: sums and differences of words, means and principal components of pairs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand._files import foreign
from evenhand.embeddings._matrix import Matrix, Vectors

SHIPPED = ("definitional", "equalize")
"""Lists of pairs in the package (tolga-b/debiaswe, MIT; Bolukbasi et al. 2016); the woman's word comes
first."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Direction:
    """A named step in embedding space.

    Args:
        name: as it appears in results, e.g. ``"woman-man"``: towards woman, away from man.
        step: (d,) float32, what is added to a unit vector before its neighbours are sought.
        words: the words it is made of; never a target of their own alterations' search.
        pairs: the (towards, away) word pairs it is made of.
        about: how it was made, with how well the pairs agree.
    """

    name: str
    step: Matrix
    words: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...] = ()
    about: str = ""

    def __repr__(self) -> str:
        return f"Direction({self.name!r}, length {np.linalg.norm(self.step):.3f})"


Spec: TypeAlias = str | Sequence[Any] | Direction


def direction(spec: Spec, vectors: Vectors, *, strength: float | None = None) -> Direction:
    """A direction from a specification.

    Args:
        spec: ``"woman-man"`` (any sum and difference of words, ``"queen+princess-king-prince"``); a pair
            ``("woman", "man")``, which is woman − man; a list of pairs, whose mean difference is taken;
            ``"mean:definitional"`` or ``"pc:definitional"`` (first principal component) of a shipped list or
            of a JSON file of pairs; any of these behind ``"reverse:"`` for the opposite.
        strength: length of the step; by default that of the sum and difference of unit vectors itself.

    Raises:
        UsageError: `unknown-word` (near words are named), `bad-direction`.

    >>> from evenhand.embeddings.vectors import vectors
    >>> v = vectors({"man": [1.0, 0.0], "woman": [0.0, 1.0]})
    >>> direction("woman-man", v).step.tolist(), direction(("man", "woman"), v).name
    ([-1.0, 1.0], 'man-woman')
    """
    if isinstance(spec, Direction):
        made = spec
    elif isinstance(spec, str):
        made = _from_text(spec, vectors)
    else:
        made = _from_sequence(list(spec), vectors)
    length = float(np.linalg.norm(made.step))
    if not length > 1e-6:
        raise UsageError(
            "bad-direction", "this direction has no length: its words cancel out", given=made.name
        )
    if strength is None:
        return made
    if not strength > 0:
        raise UsageError("bad-direction", "the strength of a direction is above 0", given=strength)
    return Direction(
        name=made.name,
        step=made.step * np.float32(strength / length),
        words=made.words,
        pairs=made.pairs,
        about=made.about,
    )


def opposite(one: Direction, other: Direction) -> bool:
    """Whether two directions are one axis walked both ways (cosine below −0.999)."""
    cosine = float(one.step @ other.step) / float(np.linalg.norm(one.step) * np.linalg.norm(other.step))
    return cosine < -0.999


def reverse(one: Direction, name: str | None = None) -> Direction:
    """The same axis walked the other way."""
    return Direction(
        name=name or f"reverse:{one.name}",
        step=-one.step,
        words=one.words,
        pairs=tuple((b, a) for a, b in one.pairs),
        about=one.about,
    )


def _from_text(spec: str, vectors: Vectors) -> Direction:
    text = spec.strip()
    if text.startswith("reverse:"):
        inner = _from_text(text.removeprefix("reverse:"), vectors)
        return reverse(inner, name=text)
    kind, colon, source = text.partition(":")
    if colon and kind in ("mean", "pc"):
        return _of_pairs(_pairs_of(source), vectors, name=text, component=kind == "pc")
    plus, minus = _signed_words(text, vectors)
    if not plus and not minus:
        raise UsageError(
            "bad-direction",
            "a direction needs words",
            given=spec,
            expected="e.g. woman-man, or mean:definitional",
        )
    step = np.zeros(vectors.width, dtype=np.float32)
    for word in plus:
        step += vectors.unit[vectors.row(word)]
    for word in minus:
        step -= vectors.unit[vectors.row(word)]
    pairs = tuple(zip(plus, minus, strict=False)) if len(plus) == len(minus) else ()
    return Direction(
        name=text, step=step, words=(*plus, *minus), pairs=pairs, about="sum and difference of unit vectors"
    )


def _signed_words(text: str, vectors: Vectors) -> tuple[list[str], list[str]]:
    """Words with + and words with −. A hyphen may belong to a word: the reading whose words all have vectors
    wins."""
    parts = [p for p in re.split(r"([+\-−])", text.replace(" ", "")) if p]
    best: tuple[list[str], list[str]] | None = None
    hyphens = [i for i, p in enumerate(parts) if p in "-−" and 0 < i < len(parts) - 1]
    readings = product((False, True), repeat=len(hyphens)) if len(hyphens) <= 8 else [(False,) * len(hyphens)]
    for joined in readings:
        inside = {i for i, j in zip(hyphens, joined, strict=True) if j}
        plus, minus = _read_signs(parts, inside)
        if best is None:
            best = plus, minus
        if all(vectors.find(w) is not None for w in (*plus, *minus)):
            return plus, minus
    return best or ([], [])


def _read_signs(parts: Sequence[str], inside: set[int]) -> tuple[list[str], list[str]]:
    sides: dict[str, list[str]] = {"+": [], "-": []}
    sign, word = "+", ""
    for i, part in enumerate(parts):
        if part in "+-−" and i not in inside:
            if word:
                sides[sign].append(word)
            sign, word = ("-" if part in "-−" else "+"), ""
        else:
            word += part
    if word:
        sides[sign].append(word)
    return sides["+"], sides["-"]


def _from_sequence(spec: list[Any], vectors: Vectors) -> Direction:
    if len(spec) == 2 and all(isinstance(w, str) for w in spec):
        towards, away = spec
        step = vectors.unit[vectors.row(towards)] - vectors.unit[vectors.row(away)]
        return Direction(
            name=f"{towards}-{away}",
            step=step,
            words=(towards, away),
            pairs=((towards, away),),
            about="difference of unit vectors",
        )
    pairs = [tuple(p) for p in spec if not isinstance(p, str)]
    if not pairs or len(pairs) != len(spec) or any(len(p) != 2 for p in pairs):
        raise UsageError(
            "bad-direction",
            "this is not a direction",
            given=spec,
            expected='"woman-man", ("woman", "man"), or a list of such pairs',
        )
    name = "mean of " + ", ".join(f"{a}-{b}" for a, b in pairs[:3]) + (", …" if len(pairs) > 3 else "")
    return _of_pairs([(str(a), str(b)) for a, b in pairs], vectors, name=name, component=False)


def _of_pairs(pairs: Sequence[tuple[str, str]], vectors: Vectors, *, name: str, component: bool) -> Direction:
    """Mean difference, or the first principal component of the halves around each pair's centre (Bolukbasi et
    al.)."""
    known = [(a, b) for a, b in pairs if vectors.find(a) is not None and vectors.find(b) is not None]
    if not known:
        raise UsageError(
            "bad-direction",
            "no pair of this list has vectors for both words",
            given=", ".join(f"{a}-{b}" for a, b in pairs[:5]),
        )
    rows = np.array([[vectors.row(a), vectors.row(b)] for a, b in known])
    differences = np.asarray(vectors.unit[rows[:, 0]] - vectors.unit[rows[:, 1]], dtype=np.float64)
    mean = differences.mean(axis=0)
    step, how = mean, "mean difference"
    if component:
        _, values, axes = np.linalg.svd(differences / 2.0, full_matrices=False)
        sign = 1.0 if axes[0] @ mean >= 0 else -1.0
        step = sign * axes[0] * np.linalg.norm(mean)
        share = float(values[0] ** 2 / np.sum(values**2))
        how = (
            f"first principal component ({100 * share:.0f} % of the pairs' variance), at the length of"
            " their mean"
        )
    lengths = np.linalg.norm(differences, axis=1) * np.linalg.norm(step)
    agreement = (
        float(np.mean((differences @ step)[lengths > 0] / lengths[lengths > 0])) if len(known) else 0.0
    )
    about = f"{how} of {len(known)} of {len(pairs)} pairs; their mean cosine with it is {agreement:.2f}"
    words = tuple(dict.fromkeys(w for p in known for w in p))
    return Direction(
        name=name, step=np.asarray(step, dtype=np.float32), words=words, pairs=tuple(known), about=about
    )


def _pairs_of(source: str) -> list[tuple[str, str]]:
    if source in SHIPPED:
        return gender_pairs(source)
    path = Path(source)
    if not path.is_file():
        raise UsageError(
            "bad-direction",
            "there is no such list of pairs",
            given=source,
            available=SHIPPED,
            hint="a JSON file that holds a list of pairs of words, or a shipped list",
        )
    with foreign(
        path, "bad-pairs", 'the file is not a JSON list of pairs, [["woman", "man"], ["she", "he"]]'
    ):
        return [(str(a), str(b)) for a, b in json.loads(path.read_text(encoding="utf-8"))]


@cache
def shipped_list(name: str) -> tuple[Any, ...]:
    """A list of the debiaswe project as it was published (MIT; Bolukbasi et al. 2016)."""
    raw = files("evenhand.embeddings").joinpath("data", f"{name}.json").read_text(encoding="utf-8")
    return tuple(json.loads(raw))


def gender_pairs(name: str) -> list[tuple[str, str]]:
    """Shipped pairs, the woman's word first: "definitional" is published that way, "equalize" the other way
    round."""
    if name == "definitional":
        return [(str(a), str(b)) for a, b in shipped_list("definitional_pairs")]
    first = {"wives", "ex_girlfriend"}  # published the other way round than the rest of the list
    return [
        (str(a), str(b)) if str(a).lower() in first else (str(b), str(a))
        for a, b in shipped_list("equalize_pairs")
    ]


def gender_words() -> frozenset[str]:
    """Words that say a person's gender by definition (he, mother, actress …), in lower case."""
    listed: Iterable[Any] = shipped_list("gender_specific_seed")
    paired = (w for name in SHIPPED for pair in gender_pairs(name) for w in pair)
    return frozenset(str(w).lower() for w in (*listed, *paired))


@cache
def _halves() -> dict[str, frozenset[str]]:
    """Word of a pair, in lower case → its other halves."""
    found: dict[str, set[str]] = {}
    for one, other in (pair for name in SHIPPED for pair in gender_pairs(name)):
        found.setdefault(one.lower(), set()).add(other.lower())
        found.setdefault(other.lower(), set()).add(one.lower())
    return {word: frozenset(others) for word, others in found.items()}


def someone_else(word: str, other: str) -> bool:
    """Whether both words are of the shipped pairs and not each other's half: then they name different people.

    >>> someone_else("son", "father"), someone_else("son", "daughter"), someone_else("son", "kid")
    (True, False, False)
    """
    halves = _halves()
    return {word.lower(), other.lower()} <= halves.keys() and other.lower() not in halves[word.lower()]


def loaded(vectors: Vectors, step: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float32], float]:
    """(projection of every word onto the unit direction, its spread over the vocabulary)."""
    unit = step / np.float32(np.linalg.norm(step))
    along = np.asarray(vectors.unit @ unit, dtype=np.float32)
    return along, float(along.std()) or 1.0
