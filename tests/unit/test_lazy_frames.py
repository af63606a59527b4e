"""Tables that are computed when they are asked: with engine="local" they are read a part at a time, any number of times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nearly_equal import differences

import evenhand as eh
from evenhand.engines import frames

pl = pytest.importorskip("polars")
N = 5_000
CALL: dict[str, Any] = {"y_true": "y", "y_pred": "p", "groups": ["sex", "a.b"]}


def people(n: int = N) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    y, sex = rng.normal(size=n), rng.choice(["F", "M"], n)
    sex[0] = "F"  # whose rows come in any order have levels sorted, a file as they appear
    predicted = 0.6 * y + rng.normal(size=n) - 0.2 * (sex == "F")
    return {"y": y, "p": predicted, "sex": sex, "a.b": rng.choice(["x", "y"], n), "more": np.arange(n)}


def apart(one: eh.Result, two: eh.Result) -> list[str]:
    found = [json.loads(result.to_json()) for result in (one, two)]
    for result in found:
        del result["provenance"], result["title"]
    return list(differences(*found))


def lazy() -> Any:
    """A frame that is computed anew for every pass."""
    return pl.LazyFrame(people()).with_columns(pl.col("p") + 0.0)


def test_a_lazy_frame_is_the_file_that_it_would_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut into many batches, by passes; nothing but where it came from tells the results apart."""
    monkeypatch.setattr(frames, "BATCH", 700)
    pl.DataFrame(people()).write_parquet(tmp_path / "rows.parquet")
    file = eh.audit_predictions(tmp_path / "rows.parquet", engine="local", **CALL)
    found = eh.audit_predictions(lazy(), engine="local", **CALL)
    assert not apart(found, file)
    assert found.counts["rows"] == N
    scores: dict[str, Any] = {"scores": "p", "groups": "sex", "tolerance": 0.1}
    one = eh.audit_scores(tmp_path / "rows.parquet", engine="local", **scores)
    assert not apart(eh.audit_scores(lazy(), engine="local", **scores), one)


def test_scores_of_rows_in_any_order_have_one_direction() -> None:
    """The next query may hand the rows over in another order: who is compared with whom stays."""
    asked: dict[str, Any] = {"scores": "p", "groups": "sex", "tolerance": 0.1, "engine": "local"}
    ways = [eh.audit_scores(lazy().sort("sex", descending=down), **asked) for down in (False, True)]
    assert ways[0].findings[0].estimate.group == "sex=F"
    assert not apart(*ways)


def test_parts_are_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """No batch is larger than asked for, and only the columns that are named are computed."""
    monkeypatch.setattr(frames, "BATCH", 700)
    batches = list(frames.LazyPart(frame=lazy()).read(["p", "sex"]))
    assert max(batch.num_rows for batch in batches) <= 700
    assert sum(batch.num_rows for batch in batches) == N
    assert batches[0].schema.names == ["p", "sex"]


@pytest.mark.parametrize(
    ("frame", "engine", "said"),
    [
        (lambda: pl.LazyFrame(people()), "ray://nowhere:1", "no Ray cluster answers|needs the package"),
        (lambda: pl.DataFrame(people()), "local", "in memory already"),
        (lambda: people(), "local", "in memory already"),
        (lambda: [{"y": 1.0}], "local", "in memory already"),
        (lambda: pl.LazyFrame(people()).select("y", "sex", "a.b"), "local", "there is no column 'p'"),
        (lambda: pl.LazyFrame(people()).filter(pl.col("y") > 99), "local", "there are no rows"),
        (
            lambda: pl.LazyFrame(people()).with_columns(pl.col("sex").cast(pl.Int64)),
            "local",
            "cannot be read",
        ),
        (
            lambda: pl.LazyFrame(people()).rename({"p": "q"}).with_columns(p="z"),
            "local",
            "cannot be read|no column",
        ),
    ],
)
def test_what_cannot_be_read_so_is_said(frame: Any, engine: str, said: str) -> None:
    with pytest.raises(eh.EvenhandError, match=said):
        eh.audit_predictions(frame(), engine=engine, **CALL)


def test_without_an_engine_a_lazy_frame_is_held_whole() -> None:
    """As before: every measure, also those that no sums give."""
    whole = eh.audit_predictions(lazy(), **CALL)
    assert not apart(whole, eh.audit_predictions(people(), **CALL))
