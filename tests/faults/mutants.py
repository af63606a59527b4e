"""Damaged and hostile copies of every kind of file that evenhand reads, made from good ones by a seed.

    python -m tests.faults.mutants 3000            # every reader, so many mutants of each; minutes
    python -m tests.faults.mutants 3000 csv jsonl  # some readers

Each mutant is read in a child process, so that one which kills its reader is counted, not suffered.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import random
import resource
import struct
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from evenhand._errors import EvenhandError

MOST_MEMORY = 1 << 30
"""Bytes that reading one small file may add to the process."""
PATIENCE = 60
"""Seconds of CPU after which a reader is taken to hang."""

ODD = (
    *(b'"', b"'", b",", b"\t", b";", b"\n", b"\r", b"\r\n", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\x80"),
    *(b"[" * 20_000, b'{"a":' * 20_000, b"]" * 50, b"NaN", b"Infinity", b"-1e999", b"1" + b"0" * 5_000),
    *(b"null", b"true", b"{}", b"[]", b'""', b"-1", b"0", b"9" * 19, b"1e308", b"\xe2\x80\xae", b"\x1b[31m"),
    *(b"\xed\xa0\x80", b"\\ud800", b"=1+1", b"\x7f" * 4, b"\xff" * 8, b" " * 3, b"../", b"a" * 70_000),
)


def mutate(good: bytes, chance: random.Random) -> bytes:
    """`good` with one to four things wrong."""
    data = bytearray(good)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        at = chance.randrange(len(data) + 1)
        to = min(len(data), at + chance.choice((1, 2, 4, 16, 200)))
        how = chance.randrange(8)
        if how == 0 and data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        elif how == 1:
            data[at:at] = chance.choice(ODD)
        elif how == 2:
            data[at:to] = chance.choice(ODD)
        elif how == 3:
            del data[at:to]
        elif how == 4:
            del data[at:]
        elif how == 5:
            data[at:at] = data[at:to] * chance.choice((1, 3))
        elif how == 6:
            data[at:to] = chance.randbytes(to - at)
        else:
            data[at:to] = struct.pack("<q", chance.choice((-1, 0, 1 << 31, 1 << 40, (1 << 63) - 1)))[
                : to - at
            ]
    return bytes(data)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """One kind of file.

    Args:
        samples: file name → good bytes.
        read: reads a file as a user's command would, and touches what it read; the number of rows that
            it used, left out or warned of, or None where rows are not counted.
        rows: how many rows a file holds, told by somebody else; None where nobody else can tell.
    """

    samples: Callable[[], Mapping[str, bytes]]
    read: Callable[[Path], int | None]
    rows: Callable[[bytes], int | None] = lambda _: None


# --- good files -----------------------------------------------------------------------------------------

_ROWS = [
    {
        "id": i,
        "sex": "FM"[i % 2],
        "score": round(0.1 * i, 2),
        "note": ["plain", 'with "quotes", commas', "ü"][i % 3],
    }
    for i in range(12)
]


def _table_text(delimiter: str) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(_ROWS[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_ROWS)
    return out.getvalue().encode()


def _json_lines() -> bytes:
    return "".join(json.dumps(row) + "\n" for row in _ROWS).encode()


def _arrow(kind: str) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = pa.Table.from_pylist(_ROWS).append_column("cat", pa.array(["x", "y"] * 6).dictionary_encode())
    out = io.BytesIO()
    if kind == "parquet":
        parquet.write_table(table, out)
    else:
        open_ = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with open_(out, table.schema) as writer:
            writer.write_table(table)
    return out.getvalue()


def _word2vec() -> bytes:
    rows = [f"w{i}".encode() + b" " + struct.pack("<4f", i, 1, -i, 0.5) + b"\n" for i in range(12)]
    return b"12 4\n" + b"".join(rows)


def _glove() -> bytes:
    return "".join(f"word{i} {i}.5 -0.25 1e-3 {i}\n" for i in range(40)).encode()


def _npz() -> bytes:
    import numpy as np

    out = io.BytesIO()
    np.savez(out, words=np.array(["a", "b", "c"]), vectors=np.ones((3, 4), dtype=np.float32))
    return out.getvalue()


def _coco() -> bytes:
    captions = ["a man rides a horse", "a woman reads", "two dogs"]
    rows = [{"id": i, "image_id": i // 2, "caption": captions[i % 3]} for i in range(8)]
    return json.dumps({"annotations": rows}).encode()


def _karpathy() -> bytes:
    images = [{"cocoid": i, "sentences": [{"raw": "a man eats"}, {"raw": "he eats"}]} for i in range(4)]
    return json.dumps({"images": images}).encode()


def _replies() -> bytes:
    score = {"Positive": 0.7, "Negative": 0.1, "Neutral": 0.1, "Mixed": 0.1}
    rows = [
        {"File": "f", "Line": i, "Sentiment": "POSITIVE", "SentimentScore": score}
        if i != 3
        else {"File": "f", "Line": i, "ErrorCode": "INTERNAL", "ErrorMessage": "no"}
        for i in range(8)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _archive() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo("output")
        info.size = len(_replies())
        archive.addfile(info, io.BytesIO(_replies()))
    return out.getvalue()


def _civil() -> bytes:
    from evenhand.plans.civil import CATEGORIES

    names = ["id", "target", "comment_text", *(c for cs in CATEGORIES.values() for c in cs)]
    rows = [[str(i), "0.4", f'comment {i}, of some "words"', *["0.6"] * (len(names) - 3)] for i in range(8)]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([names, *rows])
    return out.getvalue().encode()


def _result() -> bytes:
    import evenhand as eh

    rows = {"s": [0.1, 0.4, 0.2, 0.9] * 6, "g": ["a", "b"] * 12, "u": [f"u{i}" for i in range(24)]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        eh.audit_scores(rows, scores="s", groups="g", units="u", tolerance=0.1).to_json(path)
        return path.read_bytes()


def _journal() -> bytes:
    import numpy as np

    from evenhand._model import Replies
    from evenhand._store import Journal

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.sqlite"
        with Journal(path) as journal:
            for part in range(4):
                texts = [f"text {part} {i}" for i in range(6)]
                journal.put("some subject", texts, Replies(scores={"score": np.arange(6.0)}))
        return path.read_bytes()


_SPEC = b"""kind = "scores"
out = "out"

[arguments]
data = "scores.csv"
scores = ["s"]
groups = ["g"]
tolerance = 0.1
strata = ["x"]
"""

_ALTERATIONS = (
    b'{"format": "evenhand-alterations/1", "vectors": "v", "rules": {}, "entries":'
    b' {"woman-man": {"boss": [{"word": "lady", "cosine": 0.6, "similarity": 0.5, "gain": 0.5, "kind": "directional"}]}}}'
)

_TERMS = b"""[about]
title = "two groups"
source = "made for this test"
licence = "CC0"

[[terms]]
form = "Ann"
gender = "female"

[[terms]]
form = "Bob"
gender = "male"
"""


# --- reading as a user does -----------------------------------------------------------------------------


def _read_table(path: Path) -> int:
    from evenhand._table import factor, numbers, read_table, text_column

    table = read_table(path)
    for name in table.column_names:
        text_column(table, name)
        for look in (numbers, factor):
            with contextlib.suppress(EvenhandError):
                look(table, name)
    return int(table.num_rows)


def _read_large(path: Path) -> None:
    """The streaming reader, on a file that is not large."""
    from evenhand.engines import files as engine_files

    before = engine_files.STREAM_ROWS, engine_files.STREAM_BYTES
    engine_files.STREAM_ROWS = engine_files.STREAM_BYTES = 1
    try:
        large = engine_files.streamed_files(path, None)
        if large is not None:
            for batch in large.read(large.columns):
                batch.to_pylist()
    finally:
        engine_files.STREAM_ROWS, engine_files.STREAM_BYTES = before


def _read_vectors(path: Path) -> None:
    from evenhand.embeddings.readers import read_vectors

    vectors = read_vectors(path)
    assert len(vectors.words) == len(vectors.unit)


def _read_captions(path: Path) -> None:
    from evenhand.audits.amplification.sources import read_source

    len(read_source(str(path), name="train"))


def _read_comprehend(path: Path) -> int:
    from evenhand.subjects.comprehend_files import read_comprehend

    return int(read_comprehend(path).num_rows)


def _read_civil(path: Path) -> None:
    from evenhand.plans.civil import civil_comments, is_civil_comments

    is_civil_comments(path)
    for batch in civil_comments(path, "gender"):
        len(batch)


def _read_result(path: Path) -> None:
    from evenhand import Result

    loaded = Result.from_json(path)
    loaded.to_html()
    loaded.to_markdown()


def _read_journal(path: Path) -> None:
    from evenhand._store import Journal

    with Journal(path) as journal:
        journal.stats()
        list(journal.rows(None))
        journal.get("some subject", ["text 0 1", "text 9 9"])


def _read_spec(path: Path) -> None:
    from evenhand._spec import read_spec, to_toml

    to_toml(read_spec(path))


def _read_texts(path: Path) -> None:
    import evenhand as eh

    len(eh.texts(path))


def _read_terms(path: Path) -> None:
    import evenhand as eh

    len(eh.terms(path))


def _read_pairs(path: Path) -> None:
    from evenhand.embeddings import direction, vectors

    words = {"woman": [1.0, 0.0], "man": [0.0, 1.0], "she": [1.0, 0.5], "he": [0.5, 1.0]}
    direction(f"mean:{path}", vectors(words))


def _read_items(path: Path) -> None:
    import evenhand as eh

    eh.audit_amplification(
        ["a man rides", "a woman rides"], ["a man rides", "a woman rides"], items=str(path), leakage=False
    )


def _read_alterations(path: Path) -> None:
    from evenhand.embeddings import Alterations

    list(Alterations.load(path))


def _delimited_rows(delimiter: str) -> Callable[[bytes], int | None]:
    def count(data: bytes) -> int | None:
        """Rows by Python's own reader; None where the two may honestly differ (quotes, NUL, other encodings)."""
        if any(byte in data for byte in (b'"', b"\x00", b"\r")):
            return None
        try:
            lines = data.decode("utf-8-sig").split("\n")
        except UnicodeDecodeError:
            return None
        return sum(bool(line) for line in lines) - 1

    return count


def _line_rows(data: bytes) -> int | None:
    """Lines, where every line is JSON by itself: Arrow also reads an object that spans two."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    try:
        for line in lines:
            json.loads(line)
    except (ValueError, RecursionError):
        return None
    return len(lines)


READERS: Mapping[str, Reader] = {
    "csv": Reader(
        samples=lambda: {"a.csv": _table_text(","), "b.csv": _table_text(";"), "c.csv": b"a,b\n1,2\n3,4\n"},
        read=_read_table,
        rows=_delimited_rows(","),
    ),
    "csv.gz": Reader(samples=lambda: {"a.csv.gz": gzip.compress(_table_text(","))}, read=_read_table),
    "tsv": Reader(samples=lambda: {"a.tsv": _table_text("\t")}, read=_read_table, rows=_delimited_rows("\t")),
    "jsonl": Reader(samples=lambda: {"a.jsonl": _json_lines()}, read=_read_table, rows=_line_rows),
    "json": Reader(samples=lambda: {"a.json": json.dumps(_ROWS).encode()}, read=_read_table),
    "parquet": Reader(samples=lambda: {"a.parquet": _arrow("parquet")}, read=_read_table),
    "arrow": Reader(
        samples=lambda: {"a.arrow": _arrow("file"), "b.arrow": _arrow("stream")}, read=_read_table
    ),
    "large": Reader(
        samples=lambda: {
            "a.arrow": _arrow("file"),
            "a.parquet": _arrow("parquet"),
            "a.csv": _table_text(","),
            "a.jsonl": _json_lines(),
        },
        read=_read_large,
    ),
    "vectors": Reader(
        samples=lambda: {
            "a.txt": _glove(),
            "b.bin": _word2vec(),
            "c.txt.gz": gzip.compress(_glove()),
            "d.npz": _npz(),
        },
        read=_read_vectors,
    ),
    "captions": Reader(
        samples=lambda: {"a.json": _coco(), "b.json": _karpathy(), "c.txt": b"a man\na woman\n"},
        read=_read_captions,
    ),
    "comprehend": Reader(
        samples=lambda: {"a.jsonl": _replies(), "output.tar.gz": _archive()}, read=_read_comprehend
    ),
    "civil": Reader(samples=lambda: {"train.csv": _civil()}, read=_read_civil),
    "result": Reader(samples=lambda: {"result.json": _result()}, read=_read_result),
    "journal": Reader(samples=lambda: {"journal.sqlite": _journal()}, read=_read_journal),
    "spec": Reader(samples=lambda: {"audit.toml": _SPEC}, read=_read_spec),
    "texts": Reader(
        samples=lambda: {
            "a.txt": b"One.\nTwo.\n",
            "b.csv": b"id,text\n1,One\n2,Two\n",
            "c.jsonl": b'{"text": "a"}\n',
        },
        read=_read_texts,
    ),
    "pairs": Reader(samples=lambda: {"p.json": b'[["woman", "man"], ["she", "he"]]'}, read=_read_pairs),
    "items": Reader(
        samples=lambda: {
            "i.json": b'{"rides": ["ride", "riding"], "dog": "dogs"}',
            "i.txt": b"dog, dogs\nrides\n",
        },
        read=_read_items,
    ),
    "alterations": Reader(samples=lambda: {"a.json": _ALTERATIONS}, read=_read_alterations),
    "terms": Reader(
        samples=lambda: {"a.toml": _TERMS, "b.csv": b"form,gender\nAnn,female\nBob,male\n"}, read=_read_terms
    ),
}


# --- running --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Failure:
    """What one mutant did that no file may do."""

    reader: str
    seed: int
    what: str


def mutant(name: str, seed: int) -> tuple[str, bytes]:
    """(file name, bytes) of a mutant, the same for the same seed."""
    chance = random.Random(f"{name}:{seed}")
    samples = READERS[name].samples() if name not in _SAMPLES else _SAMPLES[name]
    _SAMPLES[name] = samples
    file = chance.choice(sorted(samples))
    return file, mutate(samples[file], chance)


_SAMPLES: dict[str, Mapping[str, bytes]] = {}


def outcome(name: str, file: str, data: bytes, folder: Path) -> str | None:
    """What is wrong with how the reader took these bytes; None where it read them or refused them."""
    path = folder / file
    path.write_bytes(data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read = READERS[name].read(path)
    except EvenhandError:
        read = None
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:120]}"
    finally:
        for left in folder.iterdir():
            left.unlink()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    if grown > MOST_MEMORY:
        return f"{grown >> 20} MB of memory"
    expected = READERS[name].rows(data)
    if read is not None and expected is not None and read != expected:
        return f"read {read} rows of {expected}"
    return None


def _child(name: str, start: int, stop: int, pipe: int) -> None:
    """Read mutants `start` to `stop`; before each write its number, after a failure what it was."""
    with os.fdopen(pipe, "w", buffering=1) as out, tempfile.TemporaryDirectory() as folder:
        for seed in range(start, stop):
            resource.setrlimit(
                resource.RLIMIT_CPU, (int(resource.getrusage(resource.RUSAGE_SELF).ru_utime) + PATIENCE, -1)
            )
            out.write(f"{seed}\n")
            found = outcome(name, *mutant(name, seed), Path(folder))
            if found is not None:
                out.write(f"{seed}\t{json.dumps(found)}\n")


def failures(name: str, mutants: int, *, start: int = 0) -> Iterator[Failure]:
    """Every mutant from seed `start` on whose reader crashed, hung, ate memory, lost rows or leaked an exception."""
    stop = start + mutants
    mutant(name, start)  # samples are made once, before the forks
    while start < stop:
        end, pipe = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(end)
                _child(name, start, stop, pipe)
                status = 0
            finally:
                os._exit(status)
        os.close(pipe)
        last = start
        with os.fdopen(end) as lines:
            for line in lines:
                seed, _, what = line.rstrip("\n").partition("\t")
                last = int(seed)
                if what:
                    yield Failure(name, last, json.loads(what))
        _, status = os.waitpid(child, 0)
        if status == 0:
            return
        killed = f"killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "its process ended"
        yield Failure(name, last, killed)
        start = last + 1


def main(arguments: list[str]) -> int:
    """Print every failure of `arguments` = [mutants, readers …] and a line for each reader."""
    count = int(arguments[0]) if arguments else 3000
    bad = 0
    for name in arguments[1:] or READERS:
        found = list(failures(name, count))
        bad += len(found)
        print(f"{name}: {len(found)} of {count} mutants failed")
        for failure in found[:20]:
            print(f"  seed {failure.seed} ({mutant(name, failure.seed)[0]}): {failure.what}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
