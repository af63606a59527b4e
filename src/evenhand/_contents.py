"""What a journal holds, for a person to look at and for a subject to be held against."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Any

import numpy as np

from evenhand._answers import unpacked

_FAILED = (
    "SELECT subject, repeat, input, created, reason, NULL, NULL, answers, place FROM failures"
    " JOIN arrivals ON arrivals.id = arrival WHERE key NOT IN (SELECT key FROM replies)"
)
_ANSWERED = (
    "SELECT subject, repeat, input, created, NULL, names, scores, answers, place"
    " FROM (SELECT key, repeat, input FROM inputs GROUP BY key) JOIN replies USING (key)"
    " JOIN shapes ON shapes.id = shape JOIN arrivals ON arrivals.id = arrival"
)
_NEWEST = " ORDER BY created DESC LIMIT ?"


def shown(connection: sqlite3.Connection, *, failed: bool, limit: int) -> list[dict[str, Any]]:
    """What arrived, newest first: subject, repeat, input, created, reason, scores, answer (bytes or None)."""
    query = _FAILED + _NEWEST if failed else _FAILED + " UNION ALL " + _ANSWERED + _NEWEST
    found = []
    for subject, repeat, text, created, reason, names, scores, block, place in connection.execute(
        query, (limit,)
    ):
        values = np.frombuffer(scores or b"", dtype="<f8").tolist()
        row = {"subject": subject, "repeat": repeat, "input": text, "created": created, "reason": reason}
        row["scores"] = dict(zip(json.loads(names or "[]"), values, strict=True))
        row["answer"] = unpacked(block)[place].body if block and place is not None else None
        found.append(row)
    return found


def told_of(connection: sqlite3.Connection, keys: Iterable[bytes]) -> dict[bytes, str]:
    """Key → why it has no reply, for those of the keys that were asked and failed."""
    query = "SELECT reason FROM failures WHERE key = ? AND key NOT IN (SELECT key FROM replies)"
    rows = {key: connection.execute(query, (key,)).fetchone() for key in keys}
    return {key: row[0] for key, row in rows.items() if row is not None}


def held(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Per subject: replies, characters, first, last, and of the ledger: calls, money, sent, received."""
    cursor = connection.execute(
        "SELECT subject, count(*), sum(length(input)), min(created), max(created),"
        " coalesce(calls, 0), coalesce(money, 0), coalesce(sent, 0), coalesce(received, 0)"
        " FROM (SELECT key, input FROM inputs GROUP BY key)"
        " JOIN replies USING (key) JOIN shapes ON shapes.id = shape"
        " JOIN arrivals ON arrivals.id = arrival LEFT JOIN ledger ON ledger.scope = subject"
        " LEFT JOIN tokens ON tokens.scope = subject GROUP BY subject ORDER BY subject"
    )
    keys = ("subject", "replies", "characters", "first", "last", "calls", "money", "sent", "received")
    return [dict(zip(keys, row, strict=True)) for row in cursor]


def sampled(connection: sqlite3.Connection, subject_id: str, n: int) -> list[tuple[str, dict[str, float]]]:
    """Up to `n` texts of a subject with their scores, evenly over all that were answered."""
    rows = connection.execute(
        "SELECT min(inputs.id), input, names, scores FROM inputs JOIN replies USING (key)"
        " JOIN shapes ON shapes.id = shape WHERE subject = ? AND repeat = 0"
        " AND substr(input, 1, 1) <> char(0) GROUP BY key ORDER BY 1",
        (subject_id,),
    ).fetchall()
    if not rows:
        return []
    at = np.unique(np.linspace(0, len(rows) - 1, min(n, len(rows))).astype(int)).tolist()
    return [
        (
            rows[i][1],
            dict(zip(json.loads(rows[i][2]), np.frombuffer(rows[i][3], dtype="<f8").tolist(), strict=True)),
        )
        for i in at
    ]


def pruned(connection: sqlite3.Connection, subject: str | None, before: float | None) -> int:
    """Inside a transaction: delete the replies of one subject, or those before a time, and what only they
    needed; how many replies were deleted."""
    given = {"subject": subject, "before": before}
    deleted = connection.execute(
        "DELETE FROM replies WHERE (:subject IS NULL OR shape IN (SELECT id FROM shapes WHERE"
        " subject = :subject))"
        " AND (:before IS NULL OR arrival IN (SELECT id FROM arrivals WHERE created < :before))",
        given,
    ).rowcount
    connection.execute(
        "DELETE FROM failures WHERE (:subject IS NULL OR subject = :subject)"
        " AND (:before IS NULL OR arrival IN (SELECT id FROM arrivals WHERE created < :before))",
        given,
    )
    connection.execute("DELETE FROM inputs WHERE key NOT IN (SELECT key FROM replies)")
    connection.execute(
        "DELETE FROM arrivals WHERE id NOT IN (SELECT arrival FROM replies)"
        " AND id NOT IN (SELECT arrival FROM failures)"
    )
    return deleted
