"""What a report shows of an attack: rates beside placebos, the alterations that carried flips, filters,
traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from evenhand._analysis import Analysis
from evenhand._model import Exhibit, FloatArray, Scalar
from evenhand.audits.attack.field import Field
from evenhand.audits.attack.findings import Attacked
from evenhand.audits.attack.records import Moves, altered, rate_over
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
    analysis.exhibits["flips"] = _flips(attacked)
    if any(one.field.placebos.directions for one in attacked):
        analysis.exhibits["placebos"] = _placebos(attacked)
    carried = _carried(attacked)
    if len(carried):
        analysis.exhibits["alterations"] = carried
    if len(shown):
        analysis.exhibits["traces"] = shown
    analysis.exhibits["filters"] = _filters(attacked, fluency)
    pairs = _pairs(attacked)
    if len(pairs):
        analysis.exhibits["pairs to judge"] = pairs


def _flips(attacked: Sequence[Attacked]) -> Exhibit:
    rows: list[Row] = []
    for one in attacked:
        for given, records, _ in one.strata():
            label = "all words" if given is None else given
            rates = rate_over(records.won, records.open & one.texts)
            for s, side in enumerate(one.field.axis.sides):
                open_ = records.open[0, s] & one.texts
                hits = records.won[0, s] & open_
                made = wilson(int(hits.sum()), int(open_.sum()))
                rows.append(
                    {
                        "direction": side.name,
                        "words": label,
                        "flip rate": made.value,
                        "low": made.low,
                        "high": made.high,
                        "flips": int(hits.sum()),
                        "alterable texts": int(open_.sum()),
                        "texts": int(one.texts.sum()),
                    }
                )
            if len(rates) > 1:
                each = rates[1:].mean(axis=1)
                low, high = np.quantile(each, [0.025, 0.975])
                rows.append(
                    {
                        "direction": f"placebos of {one.field.axis.name}",
                        "words": label,
                        "flip rate": float(each.mean()),
                        "low": float(low),
                        "high": float(high),
                        "flips": None,
                        "alterable texts": None,
                        "texts": int(one.texts.sum()),
                    }
                )
    names = ("direction", "words", "flip rate", "low", "high", "flips", "alterable texts", "texts")
    return Exhibit.of(
        "How often a direction changed the verdict",
        rows,
        columns=names,
        note="Share of alterable texts, with Wilson intervals; of the placebos their mean and the range of"
        " the middle 95 %.",
        chart="bars",
        encode={"x": "flip rate", "y": "direction", "color": "words", "low": "low", "high": "high"},
    )


def _placebos(attacked: Sequence[Attacked]) -> Exhibit:
    rows: list[Row] = []
    for one in attacked:
        rates = rate_over(one.whole.won, one.whole.open & one.texts)
        coverage = (one.whole.open & one.texts).any(axis=1).sum(axis=1)
        names = [one.field.axis.name, *(d.name for d in one.field.placebos.directions)]
        for k, name in enumerate(names):
            pair = rates[k]
            rows.append(
                {
                    "direction": name,
                    "kind": "asked for" if k == 0 else "placebo",
                    "mean flip rate": float(pair.mean()),
                    "asymmetry": float(abs(pair[0] - pair[1])) if len(pair) > 1 else None,
                    "one way": float(pair[0]),
                    "other way": float(pair[1]) if len(pair) > 1 else None,
                    "alterable texts": int(coverage[k]),
                    "cosine of its words": one.field.placebos.cosine[k - 1]
                    if k
                    else one.field.placebos.wanted,
                }
            )
    names_ = (
        "direction",
        "kind",
        "mean flip rate",
        "asymmetry",
        "one way",
        "other way",
        "alterable texts",
        "cosine of its words",
    )
    two = any(r["asymmetry"] is not None for r in rows)
    return Exhibit.of(
        "The direction among random directions",
        rows,
        columns=names_,
        note="Each placebo is a random pair of ordinary words, matched on cosine, norms and number of"
        " candidates, with the same"
        " filters and budget. A direction that is unlike them lies outside the cloud.",
        chart="scatter" if two else "density",
        encode={"x": "mean flip rate", "y": "asymmetry", "color": "kind", "label": "direction"}
        if two
        else {"x": "mean flip rate", "color": "kind"},
    )


@dataclass(kw_only=True)
class _Tally:
    flips: int = 0
    texts: int = 0
    moved: list[float] = field(default_factory=list)
    unseen: int = 0
    unseen_flips: int = 0
    unseen_moved: list[float] = field(default_factory=list)


def _carried(attacked: Sequence[Attacked]) -> Exhibit:
    """Alterations ranked by the flips they were part of."""
    rows: list[Row] = []
    for one in attacked:
        words = one.field.vectors.words
        special = frozenset(words[i].lower() for i in one.field.special)
        for s, side in enumerate(one.field.axis.sides):
            other = one.field.offers[1 - s] if len(one.field.axis.sides) > 1 else None
            for (w, c), tally in _tallies(one, s).items():
                both = other is not None and c in other.by_row.get(w, ())
                rows.append(
                    {
                        "direction": side.name,
                        "word": words[w],
                        "becomes": words[c],
                        "kind": kind_of(words[w], words[c], special, both=both),
                        "flips": tally.flips,
                        "texts": tally.texts,
                        "score moved": float(np.mean(tally.moved)) if tally.moved else None,
                        "unseen texts": tally.unseen,
                        "unseen flips": tally.unseen_flips,
                        "score moved, unseen": float(np.mean(tally.unseen_moved))
                        if tally.unseen_moved
                        else None,
                    }
                )
    rows.sort(key=lambda r: (-int(r["flips"] or 0), -float(r["score moved"] or 0.0), str(r["word"])))
    names = (
        "direction",
        "word",
        "becomes",
        "kind",
        "flips",
        "texts",
        "score moved",
        "unseen texts",
        "unseen flips",
        "score moved, unseen",
    )
    left = f" Shown: the first {MOST_ROWS} of {len(rows):,}." if len(rows) > MOST_ROWS else ""
    kinds = Counter(str(r["kind"]) for r in rows if r["flips"])
    counted = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()) or "none"
    return Exhibit.of(
        "The alterations that carried flips",
        rows[:MOST_ROWS],
        columns=names,
        note=f"Alterations in flips by kind: {counted}. “Definitional” changes say the attribute itself (man"
        " → woman, he → she); “both ways” are offered by the opposite direction too, so they are plain"
        " synonyms; “directional” are the charged ones. Unseen: the same change made in texts that the search"
        f" had not seen. A flip is sensitivity, not error.{left}",
    )


def _tallies(one: Attacked, s: int) -> dict[tuple[int, int], _Tally]:
    found: dict[tuple[int, int], _Tally] = {}
    records, sites = one.whole, one.field.sites
    for (_, side, t), moves in records.changes.first(np.broadcast_to(one.texts, records.won.shape)):
        if side == s:
            for site, row in moves:
                tally = found.setdefault((sites[t][site].row, row), _Tally())
                tally.texts += 1
                tally.flips += bool(records.won[0, side, t])
                tally.moved.append(float(records.moved[0, side, t]))
    if one.confirmed is not None:
        for (_, side, t), moves in one.confirmed.changes.first(one.confirmed.open):
            if side == s:
                for site, row in moves:
                    if (tally_ := found.get((sites[t][site].row, row))) is not None:
                        tally_.unseen += 1
                        tally_.unseen_flips += bool(one.confirmed.won[0, side, t])
                        tally_.unseen_moved.append(float(one.confirmed.moved[0, side, t]))
    return found


def _filters(attacked: Sequence[Attacked], fluency: str | None) -> Exhibit:
    """What every rule removed, for the direction and for the mean placebo."""
    rows: list[Row] = []
    for one in attacked:
        for rule, count in one.field.funnel.items():
            rows.append(
                {"direction": one.field.axis.name, "step": rule, "alterations": count, "mean placebo": None}
            )
        if one.field.fluent.good is not None:
            tried, passed = one.field.fluent.tried, one.field.fluent.passed
            rows.append(
                {
                    "direction": "all directions and placebos",
                    "step": "not fluent in their place",
                    "alterations": tried - passed,
                    "mean placebo": None,
                }
            )
            rows.append(
                {
                    "direction": "all directions and placebos",
                    "step": "fluent in their place",
                    "alterations": passed,
                    "mean placebo": None,
                }
            )
        seen = (one.whole.options_seen * one.texts).sum(axis=(1, 2))
        rows.append(
            {
                "direction": one.field.axis.name,
                "step": "left: candidates in the texts, after fluency and matching",
                "alterations": int(seen[0]),
                "mean placebo": float(seen[1:].mean()) if len(seen) > 1 else None,
            }
        )
    return Exhibit.of(
        "What the filters removed",
        rows,
        columns=("direction", "step", "alterations", "mean placebo"),
        note=f"Fluency by {fluency or 'nothing'}. The first steps count word pairs, the last ones places in"
        " texts.",
    )


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
                rows.append(
                    {
                        "kind": kind,
                        "direction": name,
                        "before": one.field.contexts.texts[t],
                        "after": altered(one.field, t, moves[k, s, t]),
                    }
                )
    return Exhibit.of(
        "Flips for people to judge",
        rows,
        columns=("kind", "direction", "before", "after"),
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
