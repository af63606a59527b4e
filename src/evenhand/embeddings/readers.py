"""Readers of vector files: text in blocks side by side, word2vec binary, NumPy and safetensors. Nothing is
unpickled.

Text: numbers are told from the word by counting spaces from the *end* of a line, since words may hold spaces
(the 840B GloVe file has such words). Plain decimals are parsed as whole arrays, anything else by itself or by
Arrow.
"""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from evenhand._errors import DataError
from evenhand._files import bounded, check_zip, foreign
from evenhand.embeddings._matrix import Matrix, Vectors, from_arrays
from evenhand.embeddings.decimals import Bytes, Places, decimals

BLOCK = 1 << 22
MOST_BAD = 0.05
"""Share of lines of the wrong width beyond which a file is not taken for vectors."""
MOST_ODD = 0.02
"""Share of numbers with exponents or many digits beyond which Arrow parses a block."""


def read_vectors(
    path: Path, *, limit: int | None = None, encoding: str | None = None, id: str | None = None
) -> Vectors:
    """The vectors of a file, by its content rather than its name where the two disagree.

    Raises:
        DataError: `not-vectors`, `pickled-vectors`, `empty-file`, `vectors-words`.
    """
    name = id or path.name
    if path.stat().st_size == 0:
        raise DataError("empty-file", "the file is empty", given=path)
    suffix = path.suffix.lower()
    if suffix in (".npz", ".npy", ".safetensors"):
        words, matrix = _npz(path) if suffix == ".npz" else _with_words(path, suffix)
        return from_arrays(words[:limit], matrix[:limit], id=name)
    with foreign(path, "cut-file", "the file is damaged or cut"), _open(path) as file:
        head = file.read(1 << 16)
    if head[:1] == b"\x80" or suffix in (".pkl", ".pickle", ".kv"):
        raise DataError(
            "pickled-vectors",
            "this file is pickled, and opening a pickle runs whatever code it holds",
            given=path,
            expected="text, word2vec binary, .npz, .npy or .safetensors",
            hint="load it yourself (gensim: KeyedVectors.load) and pass the object, or save_word2vec_format",
        )
    with foreign(path, "cut-file", "the file is damaged or cut"):
        if _is_binary(head):
            return _binary(path, limit, encoding, name)
        return _text(path, head, limit, encoding, name)


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return bounded(gzip.open(path, "rb"), path) if zipped else path.open("rb")  # type: ignore[arg-type]


def _is_binary(head: bytes) -> bool:
    """word2vec's binary form: a text header of two integers, then bytes that are no text."""
    first, _, rest = head.partition(b"\n")
    if len(first.split()) != 2 or not all(p.isdigit() for p in first.split()):
        return False
    sample = rest[:4096]
    control = sum(b < 9 or 13 < b < 32 for b in sample)
    return control > max(4, len(sample) // 50)


# --- text
# ---------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class _Pieces:
    words: list[list[str]] = field(default_factory=list)
    numbers: list[Matrix] = field(default_factory=list)
    bad: int = 0
    lines: int = 0
    examples: list[str] = field(default_factory=list)


def _text(path: Path, head: bytes, limit: int | None, encoding: str | None, name: str) -> Vectors:
    declared, width = _shape(head, path)
    pieces = _Pieces()
    with _open(path) as file, ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        blocks = _blocks(file, skip_header=declared is not None)
        waiting = [pool.submit(_parse, b, width, encoding) for b in _first(blocks, 4)]
        kept = 0
        while waiting:
            words, numbers, bad, lines = waiting.pop(0).result()
            pieces.words.append(words)
            pieces.numbers.append(numbers)
            pieces.bad += len(bad)
            pieces.lines += lines
            pieces.examples += bad[: 3 - len(pieces.examples)]
            kept += len(words)
            if limit is not None and kept >= limit:
                break
            waiting += [pool.submit(_parse, b, width, encoding) for b in _first(blocks, 1)]
        cut_short = limit is not None and kept >= limit
    if not kept or pieces.bad > MOST_BAD * pieces.lines + 1:
        raise DataError(
            "not-vectors",
            f"{pieces.bad:,} of {pieces.lines:,} lines are not a word and {width} numbers",
            given=path,
            expected="on each line a word and its vector, separated by spaces",
            hint=f"for example: {pieces.examples[0]!r}" if pieces.examples else None,
        )
    problems = []
    if pieces.bad:
        shown = "; ".join(repr(e) for e in pieces.examples)
        problems.append(f"left out {pieces.bad:,} lines that are not a word and {width} numbers: {shown}")
    if declared is not None and not cut_short and pieces.lines < declared:
        problems.append(
            f"the header promises {declared:,} words and the file has {pieces.lines:,}: it seems to be cut"
        )
    words = [w for part in pieces.words for w in part][:limit]
    matrix = pieces.numbers[0] if len(pieces.numbers) == 1 else np.concatenate(pieces.numbers)
    return from_arrays(words, matrix[:limit], id=name, problems=problems)


def _first(blocks: Iterator[bytes], n: int) -> list[bytes]:
    return [block for _, block in zip(range(n), blocks, strict=False)]


def _shape(head: bytes, path: Path) -> tuple[int | None, int]:
    """(number of words that a header promises, or None; numbers on a line)."""
    lines = head.replace(b"\r\n", b"\n").replace(b"\t", b" ").split(b"\n")
    lines = [line.rstrip(b" ") for line in (lines[:-1] if len(lines) > 1 else lines)]
    first = lines[0].removeprefix(b"\xef\xbb\xbf").split(b" ")
    if len(first) == 2 and all(p.isdigit() for p in first) and int(first[1]) > 1:
        return int(first[0]), int(first[1])
    counts = Counter(line.count(b" ") for line in lines if line)
    width = counts.most_common(1)[0][0] if counts else 0
    if width < 1:
        raise DataError(
            "not-vectors",
            "the lines of this file hold no numbers",
            given=path,
            expected="on each line a word and its vector, separated by spaces",
        )
    return None, width


def _blocks(file: BinaryIO, *, skip_header: bool) -> Iterator[bytes]:
    """Whole lines, about 4 MB at a time."""
    if skip_header:
        file.readline()
    rest = b""
    while chunk := file.read(BLOCK):
        cut = chunk.rfind(b"\n")
        if cut < 0:
            rest += chunk
            continue
        yield rest + chunk[: cut + 1]
        rest = chunk[cut + 1 :]
    if rest:
        yield rest


def _parse(block: bytes, width: int, encoding: str | None) -> tuple[list[str], Matrix, list[str], int]:
    """Words, numbers (rows, width), the beginnings of lines that do not fit, and how many lines there
    were."""
    block = _tidied(block)
    buffer = np.frombuffer(block, dtype=np.uint8)
    separators = np.flatnonzero((buffer == 32) | (buffer == 10))
    ends = np.flatnonzero(buffer == 10)
    starts = np.concatenate([[0], ends[:-1] + 1])
    filled = ends > starts
    starts, ends = starts[filled], ends[filled]
    last = np.searchsorted(separators, ends)
    fits = last - np.searchsorted(separators, starts) >= width
    bad = [
        _decode(block[s : min(e, s + 60)], encoding) for s, e in zip(starts[~fits], ends[~fits], strict=True)
    ]
    starts, last = starts[fits], last[fits]
    lines = len(starts) + len(bad)
    if not len(starts):
        return [], np.empty((0, width), np.float32), bad, lines
    split = separators[last - width]
    numbers, wrong = _numbers(buffer, block, separators, last, width)
    words = [_decode(block[s:m], encoding) for s, m in zip(starts.tolist(), split.tolist(), strict=True)]
    if wrong.any():
        bad += [_decode(block[starts[i] : starts[i] + 60], encoding) for i in np.flatnonzero(wrong)]
        words = [w for w, x in zip(words, wrong.tolist(), strict=True) if not x]
        numbers = numbers[~wrong]
    return words, numbers, bad, lines


def _tidied(block: bytes) -> bytes:
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    if b"\t" in block:
        block = block.replace(b"\t", b" ")
    while _trailing(block):
        block = block.replace(b" \n", b"\n")
    block = block.removeprefix(b"\xef\xbb\xbf")
    return block if block.endswith(b"\n") else block.rstrip(b" ") + b"\n"


def _trailing(block: bytes) -> bool:
    """Whether a line ends with a space; looking at the ends of lines is faster than searching for both
    bytes."""
    buffer = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero(buffer[1:] == 10)
    return bool((buffer[ends] == 32).any())


def _numbers(
    buffer: Bytes, block: bytes, separators: Places, last: Places, width: int
) -> tuple[Matrix, npt.NDArray[np.bool_]]:
    """The numbers of the fitting lines, which end at the separators `last`, and which lines held something
    else."""
    wrong = np.zeros(len(last), dtype=np.bool_)
    if len(buffer) < 8:
        values, plain = np.empty(len(separators), np.float32), np.zeros(len(separators), np.bool_)
    else:
        values, plain = decimals(buffer, separators)
    tokens = last[:, None] + np.arange(1 - width, 1)
    rows, odd = values[tokens], np.argwhere(~plain[tokens])
    if len(odd) > MOST_ODD * rows.size:
        inside = np.zeros(len(buffer) + 1, dtype=np.int8)
        inside[separators[last - width] + 1] += 1
        inside[separators[last] + 1] -= 1
        try:
            return _table(
                buffer[np.cumsum(inside[:-1], dtype=np.int8).view(np.bool_)].tobytes(), width
            ), wrong
        except ValueError:
            pass  # the numbers are told one by one
    for row, column in odd.tolist():
        at = tokens[row, column]
        try:
            rows[row, column] = np.float64(block[separators[at - 1] + 1 : separators[at]])
        except ValueError:
            wrong[row] = True
    return rows, wrong


def _table(data: bytes, width: int) -> Matrix:
    """Bytes of equally wide lines of numbers as float32, parsed by Arrow."""
    import pyarrow as pa
    import pyarrow.csv as csv

    names = [str(k) for k in range(width)]
    try:
        table = csv.read_csv(
            pa.BufferReader(data),
            read_options=csv.ReadOptions(column_names=names, use_threads=False, block_size=len(data) + 1),
            parse_options=csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.float32()),
                null_values=["nan", "NaN", "NAN", "-nan"],
            ),
        )
    except pa.ArrowInvalid as error:
        raise ValueError(str(error)) from error
    out = np.empty((table.num_rows, width), dtype=np.float32)
    for k in range(width):
        out[:, k] = table.column(k).to_numpy()
    return out


def _decode(raw: bytes, encoding: str | None) -> str:
    if encoding is not None:
        try:
            return raw.decode(encoding, errors="replace")
        except LookupError as error:
            raise DataError("encoding", "there is no such encoding", given=encoding) from error
    for candidate in ("utf-8", "cp1252"):
        try:
            return raw.decode(candidate)
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1")


# --- binary
# -------------------------------------------------------------------------------------------------------


def _binary(path: Path, limit: int | None, encoding: str | None, name: str) -> Vectors:
    """word2vec binary: "n d\\n", then for each word its bytes, a space, and d little-endian float32."""
    with _open(path) as file:
        n, width = (int(p) for p in file.readline().split())
        wanted = n if limit is None else min(n, limit)
        size = 4 * width
        words: list[str] = []
        rows: list[bytes] = []
        rest = b""
        while len(words) < wanted:
            chunk = file.read(1 << 22)
            rest = rest + chunk
            at = 0
            while len(words) < wanted:
                space = rest.find(b" ", at)
                if space < 0 or space + 1 + size > len(rest):
                    break
                words.append(_decode(rest[at:space].lstrip(b"\n"), encoding))
                rows.append(rest[space + 1 : space + 1 + size])
                at = space + 1 + size
            rest = rest[at:]
            if not chunk:
                break
    problems = []
    if len(words) < wanted:
        problems.append(
            f"the header promises {n:,} words and only {len(words):,} are complete: the file is cut"
        )
    if not words:
        raise DataError("cut-file", "the file ends before its first vector", given=path)
    matrix = np.frombuffer(b"".join(rows), dtype="<f4").reshape(-1, width)
    return from_arrays(words, matrix, id=name, problems=problems)


# --- arrays
# -------------------------------------------------------------------------------------------------------


def _npz(path: Path) -> tuple[list[str], Matrix]:
    with foreign(path, "not-vectors", "the .npz file cannot be read"):
        check_zip(path)
        with np.load(path, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    words = next((a for a in found.values() if a.ndim == 1 and a.dtype.kind in "US"), None)
    matrix = next((a for a in found.values() if a.ndim == 2 and a.dtype.kind == "f"), None)
    if words is None or matrix is None:
        raise DataError(
            "vectors-words",
            "the .npz file needs an array of words and a matrix",
            given=path,
            available=sorted(found),
            hint="np.savez(path, words=np.array(words), vectors=matrix), with words of a string type, not"
            ' "object"',
        )
    listed = [w.decode("utf-8", "replace") if isinstance(w, bytes) else str(w) for w in words.tolist()]
    return listed, np.asarray(matrix, dtype=np.float32)


def _with_words(path: Path, suffix: str) -> tuple[list[str], Matrix]:
    """A matrix file and the words, one a line, beside it."""
    beside = [path.with_suffix(s) for s in (".txt", ".vocab", ".words")] + [path.with_name("words.txt")]
    found = next((p for p in beside if p.is_file()), None)
    if found is None:
        raise DataError(
            "vectors-words",
            "the words of this matrix are missing",
            given=path,
            expected=f"one word a line in {path.with_suffix('.txt').name} beside it",
        )
    words = [_decode(line, None) for line in found.read_bytes().removesuffix(b"\n").split(b"\n")]
    words = [w.removesuffix("\r") for w in words]
    with foreign(path, "not-vectors", "the matrix cannot be read"):
        matrix = np.load(path, allow_pickle=False) if suffix == ".npy" else _safetensors(path)
    return words, np.asarray(matrix, dtype=np.float32)


def _safetensors(path: Path) -> Matrix:
    """The largest matrix of a safetensors file: 8 bytes of header length, JSON, then raw tensors."""
    kinds = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 0 < length <= path.stat().st_size:
            raise ValueError("its header is damaged")
        header = json.loads(file.read(length))
    tensors = {k: v for k, v in header.items() if k != "__metadata__" and len(v.get("shape", ())) == 2}
    usable = {k: v for k, v in tensors.items() if v["dtype"] in kinds}
    if not usable:
        raise ValueError(f"it has no matrix of {', '.join(kinds)}")
    best = max(usable.values(), key=lambda t: int(np.prod(t["shape"])))
    start, end = best["data_offsets"]
    kind = np.dtype(kinds[best["dtype"]])
    if 8 + length + end > path.stat().st_size or end - start != kind.itemsize * int(np.prod(best["shape"])):
        raise ValueError("the file is cut")
    flat = np.fromfile(path, dtype=kind, count=int(np.prod(best["shape"])), offset=8 + length + start)
    return flat.reshape(best["shape"]).astype(np.float32, copy=False)
