"""The evidence pack: a result with its page, tables and hashes in one archive, and the check that nothing of
it has changed."""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from evenhand import reports
from evenhand._articles import ARTICLES, AS_OF
from evenhand._errors import DataError, UsageError
from evenhand._files import check_zip, foreign, sha256, write_whole
from evenhand._json import parse
from evenhand._result import Result
from evenhand._spec import read_spec
from evenhand._version import __version__
from evenhand.reports.markdown import escape

MANIFEST, INDEX, RESULT, ESTIMATES = "manifest.json", "index.md", "result.json", "estimates.csv"
VIEWS = {"report.html": "html", ESTIMATES: "csv", "summary.md": "markdown", "model-card.md": "model-card"}
"""Files of a pack that are views of its result."""
SAME_DATE = (1980, 1, 1, 0, 0, 0)
"""Of every file in an archive, so that the same contents are the same bytes."""


class Proven(NamedTuple):
    """One thing that was looked at: whether it holds, and in words."""

    holds: bool
    said: str


def pack(
    source: str | PathLike[str],
    to: str | PathLike[str],
    *,
    include: Sequence[str | PathLike[str]] = (),
    now: datetime.datetime | None = None,
) -> Path:
    """Write the archive of a result: result.json as it is, its page and tables, the call, hashes, and where
    the rules' items stand in it.

    Args:
        source: a result.json; the audit.toml beside it goes along. to: the archive, ``.zip``.
        include: further files, e.g. a data sheet. now: what the manifest says of when it was made.

    Returns:
        `to`.

    Raises:
        DataError: it is no result, or a file is missing. UsageError: `pack-name` for two files of one name.
    """
    path = Path(source)
    result = Result.from_json(path)
    files = {RESULT: path.read_bytes()}
    files |= {name: reports.render(result, kind).encode() for name, kind in VIEWS.items()}
    beside = path.parent / "audit.toml"
    extra = [beside] if beside.is_file() else []
    for more in [*extra, *map(Path, include)]:
        if not more.is_file():
            raise DataError("no-such-file", "there is no such file", given=more)
        if more.name in files or more.name in (MANIFEST, INDEX):
            raise UsageError("pack-name", "two files of the pack have one name", given=more.name)
        files[more.name] = more.read_bytes()
    files[INDEX] = _index(result).encode()
    made = (now or datetime.datetime.now(datetime.UTC)).isoformat(timespec="seconds")
    hashes = {name: hashlib.sha256(held).hexdigest() for name, held in sorted(files.items())}
    manifest = {"evenhand": __version__, "made": made, "sha256": hashes, "articles": _articles(result)}
    files[MANIFEST] = (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()
    return write_whole(to, _archive(files))


def _archive(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, SAME_DATE), files[name], zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _articles(result: Result) -> list[dict[str, str]]:
    return [
        {"law": a.law, "clause": a.clause, "asks": a.asks, "where": a.where(result) or "missing"}
        for a in ARTICLES
    ]


def _index(result: Result) -> str:
    """What is in the pack, and where the rules' items stand; for a reader."""
    lines = [f"# {escape(result.title)}", "", escape(result.answer), "", "## Files", ""]
    lines += [f"* {RESULT}: the record; every other file but {MANIFEST} follows from it or was added"]
    lines += [f"* {name}: {reports.REPORTS[kind].about}" for name, kind in VIEWS.items()]
    lines += [f"* {MANIFEST}: SHA-256 of each; `evenhand verify` checks them", ""]
    lines += ["## What rules ask to be on record", ""]
    lines += [
        f"Texts as of {AS_OF}. What is listed is on record or missing; whether it is enough is for those"
    ]
    lines += ["who apply the rule.", ""]
    lines += ["| rule | clause | asks for | where |", "| --- | --- | --- | --- |"]
    for row in _articles(result):
        where = "**missing**" if row["where"] == "missing" else escape(row["where"])
        lines.append(f"| {escape(row['law'])} | {escape(row['clause'])} | {escape(row['asks'])} | {where} |")
    return "\n".join([*lines, ""])


def verify(path: str | PathLike[str]) -> list[Proven]:
    """Whether a pack, or a result.json, is whole: each hash, what the record says of itself, and that the
    files which the audit read are as they were.

    Raises:
        DataError: no such file, or neither a pack nor a result.
    """
    file = Path(path)
    file = file / RESULT if file.is_dir() else file
    if not file.is_file():
        raise DataError("no-such-file", "there is no such file", given=file)
    return list(_of_pack(file) if zipfile.is_zipfile(file) else _of_result(file))


def _of_pack(file: Path) -> Iterator[Proven]:
    check_zip(file)
    with foreign(file), zipfile.ZipFile(file) as archive:
        held = {info.filename: archive.read(info) for info in archive.infolist()}
    if MANIFEST not in held or RESULT not in held:
        expected = f"an archive that `evenhand pack` wrote, with {MANIFEST} and {RESULT}"
        raise DataError("not-a-pack", "the archive is no evidence pack", given=file, expected=expected)
    manifest = parse(held[MANIFEST].decode("utf-8", "replace"), f"{file}: {MANIFEST}")
    hashes: Any = manifest.get("sha256")
    hashes = hashes if isinstance(hashes, Mapping) else {}
    for name in sorted({*hashes, *held} - {MANIFEST}):
        if name not in held:
            yield Proven(False, f"{name} is missing")
        elif name not in hashes:
            yield Proven(False, f"{name} is not in the manifest")
        else:
            same = hashlib.sha256(held[name]).hexdigest() == hashes[name]
            yield Proven(same, f"{name} {'is' if same else 'is not'} what its hash says")
    document = parse(held[RESULT].decode("utf-8", "replace"), f"{file}: {RESULT}")
    yield from _of_record(document)
    result = Result.from_json(document)
    if manifest.get("evenhand") == __version__:
        same = held.get(ESTIMATES) == reports.render(result, "csv").encode()
        yield Proven(same, f"{ESTIMATES} {'follows' if same else 'does not follow'} from {RESULT}")


def _of_result(file: Path) -> Iterator[Proven]:
    with foreign(file):
        document = parse(file.read_text(encoding="utf-8-sig"), str(file))
    yield from _of_record(document)
    spec = file.parent / "audit.toml"
    if not spec.is_file():
        return
    asked = read_spec(spec)
    same = asked.kind == document.get("audit")
    yield Proven(same, f"audit.toml {'is' if same else 'is not'} of a {document.get('audit')} audit")
    place = Path(asked.folder or file.parent)
    for name, digest in asked.files.items():
        there = (place / name).is_file()
        same = there and digest == f"sha256:{sha256(place / name)}"
        yield Proven(same, f"{name} {'is as it was' if same else 'has changed' if there else 'is gone'}")


def _of_record(document: Mapping[str, Any]) -> Iterator[Proven]:
    """What a result says of itself follows from its findings."""
    result = Result.from_json(document)
    yield Proven(result.complete, f"the audit {'is complete' if result.complete else 'stopped early'}")
    for name, found in (("verdict", result.verdict), ("answer", result.answer)):
        said = document.get(name)
        if name in document:
            word = "follows" if said == found else f"does not follow (they say: {found})"
            yield Proven(said == found, f"the {name} {word} from the findings")
