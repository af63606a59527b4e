"""Batch jobs that were handed to a vendor, in the journal's file: a run that is killed finds its job again.

A job is entered before it is sent, and named when the vendor has given it a number. What it holds is kept
until it was collected, row by row: a job that is running is waited for and never sent a second time.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand._schema import JournalFile

WIDTH = 16
"""Bytes of a key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A job and what of it was not collected yet.

    Args:
        token: ours, part of every custom id.
        name: the vendor's; empty while nobody knows whether it was made.
        began: when it was entered (seconds since 1970). size: requests in it.
        keys: place in the job → key of the reply, for those not collected.
    """

    token: str
    name: str
    began: float
    size: int
    keys: dict[int, bytes]


class Jobs:
    """The jobs of one journal."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file

    def running(self, scope: str) -> list[Job]:
        """Jobs of a subject that were not collected whole, the oldest first."""
        with self._file.reading() as connection:
            rows = connection.execute(
                "SELECT token, name, began, size, keys, places FROM jobs WHERE scope = ?"
                " ORDER BY began, token",
                (scope,),
            ).fetchall()
        return [
            Job(token=row[0], name=row[1], began=row[2], size=row[3], keys=_unpacked(row[4], row[5]))
            for row in rows
        ]

    def begin(self, scope: str, token: str, keys: Sequence[bytes]) -> Job:
        """Enter a job that is about to be sent."""
        job = Job(token=token, name="", began=time.time(), size=len(keys), keys=dict(enumerate(keys)))
        with self._file.writing() as connection:
            connection.execute(
                "INSERT INTO jobs VALUES (?, ?, '', ?, ?, ?, ?)",
                (token, scope, job.began, job.size, *_packed(job.keys)),
            )
        return job

    def named(self, token: str, name: str) -> None:
        """The vendor has made it."""
        with self._file.writing() as connection:
            connection.execute("UPDATE jobs SET name = ? WHERE token = ?", (name, token))

    def collected(self, job: Job, keys: Collection[bytes]) -> None:
        """These rows of it were handed over, or will never come; when none is left the job is forgotten."""
        left = {place: key for place, key in job.keys.items() if key not in keys}
        with self._file.writing() as connection:
            if left:
                connection.execute(
                    "UPDATE jobs SET keys = ?, places = ? WHERE token = ?", (*_packed(left), job.token)
                )
            else:
                connection.execute("DELETE FROM jobs WHERE token = ?", (job.token,))


def _packed(keys: dict[int, bytes]) -> tuple[bytes, bytes]:
    return b"".join(keys.values()), np.array(list(keys), dtype="<u4").tobytes()


def _unpacked(keys: bytes, places: bytes) -> dict[int, bytes]:
    at = np.frombuffer(places, dtype="<u4").tolist()
    return {place: keys[n * WIDTH : (n + 1) * WIDTH] for n, place in enumerate(at)}
