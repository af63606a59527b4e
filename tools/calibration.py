"""Run the grid of worlds, keep what was measured, and write the page of it.

    python tools/calibration.py                     every world at its full number of runs, then the page (about an hour)
    python tools/calibration.py --share 0.2         a fifth of the runs
    python tools/calibration.py --jobs 2            two worlds at a time
    python tools/calibration.py --only log-normal   worlds whose name has these words; the others stay as they were
    python tools/calibration.py --page              only the page, from docs/reference/calibration.json

The measurements are written after every world, so a run that is cut short loses one world.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "statistics"), str(ROOT / "tests" / "oracles")]

from every_world import BY_NAME, WORLDS  # noqa: E402
from grid import COVERED, FALSE, Failure, Tally, error_of, failures, tally, told  # noqa: E402
from worlds import World  # noqa: E402

MEASURED = ROOT / "docs" / "reference" / "calibration.json"
PAGE = ROOT / "docs" / "reference" / "calibration.md"
INTRODUCTION = """# Calibration: what verdicts keep of what they promise

Every figure is simulated through the public functions, not derived: `eh.audit_text`, `eh.audit_scores`,
`eh.audit_predictions`, `eh.audit_amplification` and `eh.attack` are called on data of which the truth is known, and
what they *say* is counted. The page is written by

```
python tools/calibration.py
```

from `docs/reference/calibration.json`, the measurements of the last run (fixed seeds). A part of the grid runs with
the tests (`pytest tests/statistics/test_calibration_grid.py`), all of it with `-m slow`.

* **Coverage**: share of the plain 95 % intervals of single claims that hold the truth. The least covered claim of the
  world is shown, and how many claims had an interval in at least a quarter of the runs.
* **False disparity, gap, within**: share of audits in which a family of claims holds a verdict that is not so; the
  worst of the world's families. Of a claim whose truth is no difference every gap is false; beyond the tolerance every
  "within tolerance" is.
* **False headline**: share of audits whose headline rests on a primary claim that is not so.
* ± is one Monte-Carlo standard error. A cell falls short (bold) if it is beyond its target (5 % false, 94 % covered)
  by more than two of them.
"""
NOT_HERE = """## Worlds that the grid does not hold

`compare` of two audits, "carried by k of N", one-sided claims: these have no public form
here yet, or a form that is no verdict (the table of the four-fifths rule). Amplification and attacks also have tests of
their own (`tests/statistics/test_calibration_amplification.py`, `test_attack_false_alarms.py`), Wasserstein's distance
has `test_distance_intervals.py` ([their figures](calibration-predictions.md)); the crossed difference alone, in 36
worlds, `test_calibration_differences.py`, which prints its tables.
"""


def one(name: str, share: float, seed: int) -> dict[str, Any]:
    """What one world came to, as it is kept."""
    begun = time.process_time()
    found = tally(BY_NAME[name], max(int(BY_NAME[name].runs * share), 20), seed)
    return {
        **found.as_json(),
        "date": datetime.now(UTC).date().isoformat(),
        "cpu_seconds": round(time.process_time() - begun, 1),
    }


def measured(worlds: list[World], share: float, seed: int, jobs: int) -> None:
    """Run the worlds, `jobs` at a time, into the file of measurements; the longest first."""
    kept: dict[str, Any] = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    costs = {name: row["cpu_seconds"] / max(row["runs"], 1) for name, row in kept.items()}
    ordered = sorted(worlds, key=lambda w: -costs.get(w.name, 1.0) * w.runs)
    with ProcessPoolExecutor(jobs) as pool:
        waiting = {pool.submit(one, world.name, share, seed): world for world in ordered}
        for done in as_completed(waiting):
            world = waiting[done]
            kept[world.name] = done.result()
            inside = {name: kept[name] for name in BY_NAME if name in kept}
            MEASURED.write_text(json.dumps(inside, indent=1, ensure_ascii=False) + "\n")
            for failure in failures(as_tally(kept[world.name]), world):
                known = " (known)" if failure.kind in world.known else ""
                print(f"{failure}{known}", flush=True)


def as_tally(kept: dict[str, Any]) -> Tally:
    """A tally from what was kept of it."""
    own = {k: kept[k] for k in ("world", "runs", "seed", "covered", "families")}
    return Tally(**own, headlines=Counter(kept["headlines"]), false=Counter(kept["false"]))


def page(kept: dict[str, Any]) -> str:
    """The page of all worlds that were measured."""
    dates = sorted({row["date"] for row in kept.values()})
    spent = sum(row["cpu_seconds"] for row in kept.values()) / 60
    share = sum(row["runs"] for row in kept.values()) / sum(world.runs for world in WORLDS)
    when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    lines = [
        INTRODUCTION,
        f"Measured {when}: {share:.0%} of the full grid's runs, {spent:.0f} CPU minutes.\n",
    ]
    lines += [
        "| world | runs | least coverage (claims) | false disparity | false gap | false within | false headline"
        " | headlines |",
        "|---|---|---|---|---|---|---|---|",
    ]
    short: list[str] = []
    for world in WORLDS:
        if world.name not in kept:
            continue
        found = as_tally(kept[world.name])
        beyond = failures(found, world)
        lines.append(_row(world, found, beyond))
        short += [_short(world, failure) for failure in beyond]
    lines += ["", "## What each world is", ""]
    lines += [f"* **{world.name}.** {world.what}" for world in WORLDS if world.name in kept]
    lines += ["", "## Where it falls short", ""]
    lines += short or [f"No cell is beyond its target ({FALSE:.0%} false, {COVERED:.0%} covered)."]
    return "\n".join([*lines, "", NOT_HERE])


def _row(world: World, found: Tally, beyond: list[Failure]) -> str:
    kinds = {failure.kind for failure in beyond}
    cells = [world.name, f"{found.runs:,}", _coverage(found, kinds)]
    for i, kind in enumerate(("disparity", "gap", "within"), 1):
        judged, wrong = max(
            ((row[0], row[i]) for row in found.families.values()), key=lambda r: r[1] / r[0], default=(0, 0)
        )
        cells.append(_share(wrong, judged, kind in kinds))
    cells.append(_share(sum(found.false.values()), found.runs, "headline" in kinds))
    said = ", ".join(
        f"{verdict} {count / found.runs:.0%}" for verdict, count in found.headlines.most_common()
    )
    promised = "; ".join(f"{verdict} ≥ {share:.0%} promised" for verdict, share in world.power.items())
    cells.append(f"{said}; {promised}" if promised else said)
    return f"| {' | '.join(cells)} |"


def _coverage(found: Tally, kinds: set[str]) -> str:
    rows = told(found)
    if not rows:
        return "–"
    claim, (seen, covered) = min(rows.items(), key=lambda row: row[1][1] / row[1][0])
    said = _share(covered, seen, "coverage" in kinds)
    return f"{said} {claim.replace('|', '/')} ({len(rows)})"


def _share(count: int, of: int, beyond: bool) -> str:
    if not of:
        return "–"
    share = count / of
    said = f"{100 * share:.1f} ± {100 * error_of(share, of):.1f} %"
    return f"**{said}**" if beyond else said


def _short(world: World, failure: Failure) -> str:
    why = world.known.get(failure.kind)
    return f"* {failure}{f': {why}' if why else ''}."


def main() -> None:
    """The command."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--share", type=float, default=1.0, help="share of the full number of runs")
    asked.add_argument("--only", default="", help="worlds whose name has these words")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--jobs", type=int, default=1, help="worlds at a time")
    asked.add_argument("--page", action="store_true", help="only write the page")
    given = asked.parse_args()
    if not given.page:
        measured(
            [w for w in WORLDS if given.only.lower() in w.name.lower()], given.share, given.seed, given.jobs
        )
    PAGE.write_text(page(json.loads(MEASURED.read_text())))


if __name__ == "__main__":
    main()
