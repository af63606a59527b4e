"""Answers that are in the journal, read in another way: a changed parser, label or judge costs no call."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from evenhand._answers import unpacked
from evenhand._model import Arrived, Replies

Read: TypeAlias = Callable[[bytes, int], Replies]
"""From an answer that arrived and its number of inputs to their replies."""
Found: TypeAlias = tuple[bytes, str, tuple[str, ...], bytes]
"""Key, subject, names of the scores, and the scores as they are stored."""


def rereadable(connection: sqlite3.Connection, subject_id: str, reading: str) -> bool:
    """Whether any answer of a subject was kept and read in another way: mostly none was."""
    row = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM shapes WHERE subject = :subject AND reading <> :reading) OR EXISTS"
        " (SELECT 1 FROM failures WHERE subject = :subject AND reading <> :reading AND place IS NOT NULL)",
        {"subject": subject_id, "reading": reading},
    ).fetchone()
    return bool(row[0])


def read_again(
    connection: sqlite3.Connection, keys: Sequence[bytes], reading: str, read: Read
) -> tuple[list[Found], dict[bytes, str]]:
    """What `read` finds in the answers that were kept for some keys and were read in another way than
    `reading`; and key → the reason why it finds nothing, empty where it does.
    """
    blocks: dict[int, list[Arrived]] = {}
    answers: dict[int, Replies] = {}
    found: list[Found] = []
    told: dict[bytes, str] = {}
    for key in dict.fromkeys(keys):
        for subject, arrival, place in _kept(connection, key, reading):
            if arrival not in blocks:
                block = connection.execute("SELECT answers FROM arrivals WHERE id = ?", (arrival,)).fetchone()
                blocks[arrival] = unpacked(block[0])
            answer = blocks[arrival][place]
            replies = answers.get(id(answer.body))
            if replies is None:
                replies = answers[id(answer.body)] = read(answer.body, answer.of)
            told[key] = str(replies.errors.get(answer.at, ""))
            if not told[key]:
                values = np.array([column[answer.at] for column in replies.scores.values()], dtype="<f8")
                found.append((key, subject, tuple(replies.scores), values.tobytes()))
    return found, told


def rewrite(
    connection: sqlite3.Connection,
    found: Sequence[tuple[int, bytes, bytes]],
    reading: str,
    reasons: Mapping[bytes, str],
) -> None:
    """Inside a transaction: scores as they are read now in the place of those that were read otherwise.

    Args:
        found: (shape, scores, key). reasons: key → why there is none now.
    """
    keys = [(key,) for _, _, key in found]
    connection.executemany(
        "INSERT INTO inputs (key, repeat, input) SELECT key, repeat, input FROM failures"
        " WHERE key = ? AND key NOT IN (SELECT key FROM replies)",
        keys,
    )
    connection.executemany(
        "INSERT OR IGNORE INTO replies SELECT key, ?, ?, arrival, place FROM failures WHERE key = ?", found
    )
    connection.executemany("UPDATE replies SET shape = ?, scores = ? WHERE key = ?", found)
    connection.executemany(
        "UPDATE failures SET reading = ?, reason = ? WHERE key = ?",
        [(reading, why, key) for key, why in reasons.items()],
    )


def _kept(connection: sqlite3.Connection, key: bytes, reading: str) -> list[tuple[str, int, int]]:
    """(subject, arrival, place) of the raw answer for a key that was read in another way, if there is one."""
    return connection.execute(
        "SELECT subject, arrival, place FROM replies JOIN shapes ON shapes.id = shape"
        " WHERE key = :key AND place IS NOT NULL AND reading <> :reading"
        " UNION ALL SELECT subject, arrival, place FROM failures"
        " WHERE key = :key AND place IS NOT NULL AND reading <> :reading LIMIT 1",
        {"key": key, "reading": reading},
    ).fetchall()
