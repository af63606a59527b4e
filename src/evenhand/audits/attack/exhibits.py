"""What a report shows of an attack: rates beside placebos, the alterations that carried flips, filters,
traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from evenhand._analysis import Analysis
from evenhand._model import BoolArray, Exhibit, FloatArray, Scalar
from evenhand.audits.attack.confirmation import Confirmed
from evenhand.audits.attack.field import Field
from evenhand.audits.attack.findings import Attacked
from evenhand.audits.attack.records import Moves, Records, altered, rate_over
from evenhand.embeddings.dictionary import kind_of
from evenhand.plans.goal import Goal
from evenhand.stats.rates import wilson

MOST_TRACES = 8
"""Examples for each direction."""
MOST_ROWS = 400
Row = dict[str, Scalar]


def add_exhibits(
    attacked: Sequence[Attacked], analysis: Analysis, shown: Exhibit, *, fluency: str | None
) -> None:
    """Adds the exhibits in the order of the report."""
    placed = any(one.field.placebos.directions for one in attacked)
    made = {
        "flips": _flips(attacked),
        **({"placebos": _placebos(attacked)} if placed else {}),
        "alterations": _carried(attacked),
        "traces": shown,
        "filters": _filters(attacked, fluency),
        "pairs to judge": _pairs(attacked),
    }
    analysis.exhibits.update({name: exhibit for name, exhibit in made.items() if len(exhibit)})


def _flips(attacked: Sequence[Attacked]) -> Exhibit:
    strata = [(one, given, records) for one in attacked for given, records, _ in one.strata()]
    return Exhibit.of(
        "How often a direction changed the verdict",
        (row for stratum in strata for row in _rates(*stratum)),
        note="Share of alterable texts, with Wilson intervals; of the placebos their mean and the range of"
        " the middle 95 %.",
        chart="bars",
        encode={"x": "flip rate", "y": "direction", "color": "words", "low": "low", "high": "high"},
    )


def _rates(one: Attacked, given: str | None, records: Records) -> Iterator[Row]:
    """A row for each direction, and one for all its placebos."""
    words, texts = given or "all words", int(one.texts.sum())
    for s, side in enumerate(one.field.axis.sides):
        open_ = records.open[0, s] & one.texts
        flips, n = int((records.won[0, s] & open_).sum()), int(open_.sum())
        made = wilson(flips, n)
        row: Row = {"direction": side.name, "words": words, "flip rate": made.value}
        row |= {"low": made.low, "high": made.high}
        yield row | {"flips": flips, "alterable texts": n, "texts": texts}
    each = rate_over(records.won, records.open & one.texts)[1:].mean(axis=1)
    if len(each):
        low, high = np.quantile(each, [0.025, 0.975]).tolist()
        row = {"direction": f"placebos of {one.field.axis.name}", "words": words}
        yield row | {"flip rate": float(each.mean()), "low": low, "high": high, "texts": texts}


def _placebos(attacked: Sequence[Attacked]) -> Exhibit:
    rows = [row for one in attacked for row in _means(one)]
    two = any(r["asymmetry"] is not None for r in rows)
    axes = {"y": "asymmetry", "label": "direction"} if two else {}
    return Exhibit.of(
        "The direction among random directions",
        rows,
        note="Each placebo is a random pair of ordinary words, matched on cosine, norms and number of"
        " candidates, with the same filters and budget. A direction that is unlike them lies outside the"
        " cloud.",
        chart="scatter" if two else "density",
        encode={"x": "mean flip rate", "color": "kind", "emphasis": "asked for", **axes},
    )


def _means(one: Attacked) -> Iterator[Row]:
    """A row for the direction and for each placebo: both sides together."""
    open_, placebos = one.whole.open & one.texts, one.field.placebos
    rates, coverage = rate_over(one.whole.won, open_).tolist(), open_.any(axis=1).sum(axis=1).tolist()
    names = [one.field.axis.name, *(d.name for d in placebos.directions)]
    cosines = [placebos.wanted, *placebos.cosine]
    for k, (name, (first, *second)) in enumerate(zip(names, rates, strict=True)):
        yield {
            "direction": name,
            "kind": "placebo" if k else "asked for",
            "mean flip rate": float(np.mean([first, *second])),
            "asymmetry": abs(first - second[0]) if second else None,
            "one way": first,
            "other way": second[0] if second else None,
            "alterable texts": coverage[k],
            "cosine of its words": cosines[k],
        }


@dataclass(kw_only=True)
class _Tally:
    """One alteration in some texts: how far the score moved in each, and how many flipped."""

    moved: list[float] = field(default_factory=list)
    flips: int = 0

    def mean(self) -> float | None:
        return float(np.mean(self.moved)) if self.moved else None


def _carried(attacked: Sequence[Attacked]) -> Exhibit:
    """Alterations ranked by the flips they were part of."""
    rows = [row for one in attacked for s in range(len(one.field.axis.sides)) for row in _alterations(one, s)]
    rows.sort(key=lambda r: (-int(r["flips"] or 0), -float(r["score moved"] or 0.0), str(r["word"])))
    left = f" Shown: the first {MOST_ROWS} of {len(rows):,}." if len(rows) > MOST_ROWS else ""
    kinds = Counter(str(r["kind"]) for r in rows if r["flips"])
    counted = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()) or "none"
    return Exhibit.of(
        "The alterations that carried flips",
        rows[:MOST_ROWS],
        note=f"Alterations in flips by kind: {counted}. “Definitional” changes say the attribute itself (man"
        " → woman, he → she); “both ways” are offered by the opposite direction too, so they are plain"
        " synonyms; “directional” are the charged ones. Unseen: the same change made in texts that the search"
        f" had not seen. A flip is sensitivity, not error.{left}",
    )


def _alterations(one: Attacked, s: int) -> Iterator[Row]:
    """What side `s` changed in the texts of the search, and the same changes in unseen texts."""
    laid, records, checked = one.field, one.whole, one.confirmed[0] if one.confirmed else None
    words = laid.vectors.words
    special = frozenset(words[i].lower() for i in laid.special)
    other = laid.offers[1 - s].by_row if len(laid.offers) > 1 else {}
    found = _tallies(one, s, records, np.broadcast_to(one.texts, records.won.shape))
    unseen = {} if checked is None else _tallies(one, s, checked, checked.open)
    for (w, c), tally in found.items():
        again = unseen.get((w, c), _Tally())
        yield {
            "direction": laid.axis.sides[s].name,
            "word": words[w],
            "becomes": words[c],
            "kind": kind_of(words[w], words[c], special, both=c in other.get(w, ())),
            "flips": tally.flips,
            "texts": len(tally.moved),
            "score moved": tally.mean(),
            "unseen texts": len(again.moved),
            "unseen flips": again.flips,
            "score moved, unseen": again.mean(),
        }


def _tallies(
    one: Attacked, s: int, records: Records | Confirmed, chosen: BoolArray
) -> dict[tuple[int, int], _Tally]:
    """(word, what it became) → its tally over the `chosen` of side `s`."""
    found: dict[tuple[int, int], _Tally] = {}
    for (_, side, t), moves in records.changes.first(chosen):
        for site, row in moves if side == s else ():
            tally = found.setdefault((one.field.sites[t][site].row, row), _Tally())
            tally.flips += bool(records.won[0, side, t])
            tally.moved.append(float(records.moved[0, side, t]))
    return found


def _filters(attacked: Sequence[Attacked], fluency: str | None) -> Exhibit:
    """What every rule removed, for the direction and for the mean placebo."""
    rows = (row for one in attacked for row in _steps_of(one))
    names = ("direction", "step", "alterations", "mean placebo")
    return Exhibit.of(
        "What the filters removed",
        (dict(zip(names, row, strict=True)) for row in rows),
        note=f"Fluency by {fluency or 'nothing'}. The first steps count word pairs, the last ones places in"
        " texts.",
    )


def _steps_of(one: Attacked) -> Iterator[tuple[str, str, float, float | None]]:
    name, every, read = one.field.axis.name, "all directions and placebos", one.field.fluent
    for rule, count in one.field.funnel.items():
        yield name, rule, count, None
    if read.good is not None:
        yield every, "not fluent in their place", read.tried - read.passed, None
        yield every, "fluent in their place", read.passed, None
    for rule, own, placebo in one.field.readable:
        yield name, f"{rule} (share)", own, placebo
    seen = (one.whole.options_seen * one.texts).sum(axis=(1, 2))
    left = "left: candidates in the texts, after fluency and matching"
    yield name, left, int(seen[0]), float(seen[1:].mean()) if len(seen) > 1 else None


MOST_PAIRS = 50
"""Flips of each direction, and of all placebos together, that people are asked to judge."""


def _pairs(attacked: Sequence[Attacked]) -> Exhibit:
    """Flips of the direction and of its placebos, for the blind sheet (`evenhand annotation`)."""
    rows: list[Row] = []
    for one in attacked:
        rng = np.random.default_rng(0)
        won = one.whole.won & (one.whole.changes.state >= 0)
        direction, side = np.ogrid[: won.shape[0], : won.shape[1]]
        groups = [
            ("asked for", name.name, (direction == 0) & (side == s))
            for s, name in enumerate(one.field.axis.sides)
        ]
        for kind, name, part in [*groups, ("placebo", "placebos", (direction > 0) & (side >= 0))]:
            flips = np.argwhere(won & part[:, :, None])
            drawn = flips[rng.permutation(len(flips))[:MOST_PAIRS]]
            group = np.zeros_like(won)
            group[tuple(drawn.T)] = True
            moves = dict(one.whole.changes.select(group))
            for k, s, t in drawn.tolist():
                before, after = one.field.contexts.texts[t], altered(one.field, t, moves[k, s, t])
                rows.append({"kind": kind, "direction": name, "before": before, "after": after})
    return Exhibit.of(
        "Flips for people to judge",
        rows,
        note="`evenhand annotation result.json --sheet sheet.csv --key key.csv` writes them as a blind"
        " sheet.",
    )


# --- traces


def traces(
    attacked: Sequence[Attacked], goal: Goal, score: Callable[[list[str]], dict[str, FloatArray]]
) -> Exhibit:
    """Accepted examples step by step, one word at a time, with the scores after every step."""
    steps = [step for one in attacked for step in _steps(one)]
    texts = list(dict.fromkeys(text for _, listed in steps for _, text in listed))
    columns = score(texts) if texts else {}
    place = {text: i for i, text in enumerate(texts)}
    rows: list[Row] = []
    for name, listed in steps:
        for change, text in listed:
            row: Row = {"example": name, "change": change, "text": text}
            if columns:
                scores = np.array([[columns[c][place[text]] if c in columns else np.nan for c in goal.names]])
                row["label"] = goal.labels[int(goal.labels_of(scores)[0])]
                row |= {n: float(v) for n, v in zip(goal.names, scores[0], strict=True) if np.isfinite(v)}
            rows.append(row)
    names = ["example", "change", "text", *(["label", *goal.names] if columns else [])]
    return Exhibit.of(
        "Accepted examples, step by step",
        rows,
        columns=list(dict.fromkeys(names)),
        note="Single examples illustrate; they prove nothing. Fewest changes first.",
        chart="trace",
        encode={"text": "text", "group": "example"},
    )


def _steps(one: Attacked) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    records, f = one.whole, one.field
    for s, side in enumerate(f.axis.sides):
        flips = [(t, moves) for (_, side, t), moves in records.changes.first(records.won) if side == s]
        flips.sort(key=lambda item: (len(item[1]), -records.moved[0, s, item[0]], item[0]))
        for t, moves in _varied(flips, f)[:MOST_TRACES]:
            listed = [("", f.contexts.texts[t])]
            for i in range(len(moves)):
                site, row = moves[i]
                change = f"{f.sites[t][site].word} → {f.vectors.words[row]}"
                listed.append((change, altered(f, t, moves[: i + 1])))
            yield f"{side.name}, text {t + 1}", listed


def _varied(flips: list[tuple[int, Moves]], f: Field) -> list[tuple[int, Moves]]:
    """Different alterations first, so that one frequent word does not fill the page."""
    seen: set[tuple[int, int]] = set()
    fresh: list[tuple[int, Moves]] = []
    again: list[tuple[int, Moves]] = []
    for t, moves in flips:
        keys = {(f.sites[t][s].row, row) for s, row in moves}
        (again if keys & seen else fresh).append((t, moves))
        seen |= keys
    return fresh + again
