"""The door through which files and objects become word vectors.

Large files are parsed once and memory-mapped from a cache afterwards; the cache is keyed by content.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand._errors import DataError, UsageError
from evenhand._files import foreign
from evenhand.embeddings._matrix import Vectors, from_arrays
from evenhand.embeddings.readers import read_vectors

CACHE_FROM = 20_000_000
"""Bytes from which a file is worth caching; smaller ones are read faster than they are looked up."""
CACHE_VERSION = 1


def vectors(
    source: Any,
    *,
    limit: int | None = None,
    fold_case: bool = False,
    encoding: str | None = None,
    cache: str | os.PathLike[str] | bool = True,
) -> Vectors:
    """Word vectors from a file, a gensim object, a mapping of word → vector, or a (words, matrix) pair.

    Files: GloVe text, word2vec text and binary, fastText ``.vec``, any of them gzipped; ``.npz`` with
    ``words`` and ``vectors``; ``.npy`` or ``.safetensors`` with the words, one a line, in a ``.txt`` or
    ``.vocab`` file beside it; a folder that `build` wrote. Words with spaces, headers, duplicates, lines of
    the wrong width and mixed encodings are dealt with, and what was left out is said in `Vectors.problems`.

    Args:
        limit: only the first words of the file (the most frequent, in all common distributions).
        fold_case: lower-case all words and keep the first of each.
        encoding: of the words; UTF-8, then Windows-1252, by default.
        cache: where large files are kept parsed; True for ``$EVENHAND_CACHE`` or the user's cache folder,
            False for none.

    Raises:
        DataError: no such file, not vectors, or a pickled format (gensim's own), which is not opened.

    >>> vectors({"man": [1.0, 0.0], "woman": [0.0, 2.0]}).words
    ('man', 'woman')
    """
    if limit is not None and limit < 1:
        raise UsageError("bad-limit", "the vocabulary limit is at least 1", given=limit)
    if isinstance(source, Vectors):
        return _folded(_limited(source, limit), fold_case)
    if isinstance(source, str | os.PathLike):
        return _from_path(Path(source), limit, fold_case, encoding, cache)
    keyed = getattr(source, "wv", source)
    if hasattr(keyed, "index_to_key") and hasattr(keyed, "vectors"):
        made = from_arrays([str(w) for w in keyed.index_to_key[:limit]], keyed.vectors[:limit])
    elif isinstance(source, dict):
        rows = list(source.items())[:limit]
        made = from_arrays([str(w) for w, _ in rows], np.array([np.asarray(v) for _, v in rows]))
    elif isinstance(source, tuple) and len(source) == 2:
        made = from_arrays([str(w) for w in source[0]][:limit], np.asarray(source[1])[:limit])
    else:
        raise UsageError(
            "vectors-source",
            "this cannot be read as word vectors",
            given=type(source).__name__,
            expected="a path, gensim KeyedVectors, a mapping of word to vector, or (words, matrix)",
        )
    return _folded(made, fold_case)


def build(source: Vectors, folder: str | os.PathLike[str]) -> Path:
    """Write parsed vectors to a folder that `vectors` memory-maps in milliseconds; the folder."""
    target = Path(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".partial-", dir=target.parent))
    np.save(made / "unit.npy", np.ascontiguousarray(source.unit))
    np.save(made / "norms.npy", source.norms)
    joined = "\n".join(w.replace("\n", " ") for w in source.words)
    (made / "words.txt").write_bytes(joined.encode("utf-8", "surrogatepass"))
    meta = {"version": CACHE_VERSION, "id": source.id, "n": len(source), "problems": list(source.problems)}
    (made / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    made.chmod(0o755)
    if target.exists():
        _remove(target)
    made.rename(target)
    return target


def _remove(folder: Path) -> None:
    """Take away a folder that `build` wrote, and nothing else."""
    if not (folder / "meta.json").is_file():
        raise DataError(
            "not-a-build", "the folder exists and holds something else", given=folder, hint="name another one"
        )
    for name in ("unit.npy", "norms.npy", "words.txt", "meta.json"):
        (folder / name).unlink(missing_ok=True)
    folder.rmdir()


def open_build(folder: Path) -> Vectors:
    """The vectors of a folder written by `build`, memory-mapped."""
    with foreign(folder, "not-a-build", "this folder holds no parsed vectors (`evenhand embeddings build`)"):
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        if meta["version"] != CACHE_VERSION:
            raise ValueError("written by another version")
        unit = np.load(folder / "unit.npy", mmap_mode="r", allow_pickle=False)
        norms = np.load(folder / "norms.npy", allow_pickle=False)
        words = tuple((folder / "words.txt").read_bytes().decode("utf-8", "surrogatepass").split("\n"))
        if not len(words) == len(unit) == len(norms) == meta["n"]:
            raise ValueError("its files do not fit each other")
    return Vectors(words=words, unit=unit, norms=norms, id=meta["id"], problems=tuple(meta["problems"]))


def content_key(path: Path) -> str:
    """A digest of a file's size and of 66 pieces spread over it: as good as the whole for keying, in
    milliseconds."""
    size = path.stat().st_size
    digest = hashlib.blake2b(str(size).encode(), digest_size=10)
    places = {0, max(0, size - 65_536), *(size * k // 64 for k in range(64))}
    with path.open("rb") as file:
        for place in sorted(places):
            file.seek(place)
            digest.update(file.read(65_536))
    return digest.hexdigest()


def cache_folder() -> Path:
    """``$EVENHAND_CACHE``, or the user's cache folder."""
    base = os.environ.get("EVENHAND_CACHE")
    if base:
        return Path(base)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "evenhand"


def _from_path(
    path: Path, limit: int | None, fold_case: bool, encoding: str | None, cache: str | os.PathLike[str] | bool
) -> Vectors:
    if path.is_dir():
        return _folded(_limited(open_build(path), limit), fold_case)
    if not path.exists():
        near = [p.name for p in path.parent.iterdir() if p.is_file()] if path.parent.is_dir() else []
        raise DataError("no-such-file", "there is no such file", given=path, available=sorted(near)[:50])
    key = content_key(path)
    name = f"{path.name} {key[:12]}"
    if cache is False or path.stat().st_size < CACHE_FROM:
        return _folded(read_vectors(path, limit=limit, encoding=encoding, id=name), fold_case)
    folder = cache_folder() if cache is True else Path(cache)
    place = folder / f"vectors-{key}-{limit or 'all'}-{encoding or 'auto'}"
    if place.is_dir():
        try:
            return _folded(open_build(place), fold_case)
        except DataError:
            pass  # a damaged cache is parsed anew
    read = read_vectors(path, limit=limit, encoding=encoding, id=name)
    try:
        build(read, place)
        read = open_build(place)
    except (OSError, DataError) as error:
        told = f"the parsed vectors could not be kept for the next time: {error}"
        read = replace(read, problems=(*read.problems, told))
    return _folded(read, fold_case)


def _limited(source: Vectors, limit: int | None) -> Vectors:
    if limit is None or limit >= len(source):
        return source
    return replace(
        source,
        words=source.words[:limit],
        unit=source.unit[:limit],
        norms=source.norms[:limit],
        id=f"{source.id} first {limit}",
    )


def _folded(source: Vectors, fold: bool) -> Vectors:
    if not fold:
        return source
    seen: dict[str, int] = {}
    for i, word in enumerate(source.words):
        seen.setdefault(word.lower(), i)
    rows = np.fromiter(seen.values(), dtype=np.int64)
    dropped = len(source) - len(rows)
    problems = source.problems
    if dropped:
        problems = (
            *problems,
            f"{dropped:,} words differ from another only in case; the first of each is kept",
        )
    return replace(
        source,
        words=tuple(seen),
        unit=source.unit[rows],
        norms=source.norms[rows],
        id=f"{source.id} lower case",
        problems=problems,
    )
