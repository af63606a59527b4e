"""From the bytes of a file to text: encodings are detected where they can be, and named where they cannot."""

from __future__ import annotations

from pathlib import Path

from evenhand._errors import DataError

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


def encoding_of(start: bytes) -> str:
    """The likely encoding of a file from its first bytes: a byte order mark, NUL positions, valid UTF-8,
    else cp1252.

    >>> encoding_of("naïve".encode("utf-16")), encoding_of("naïve".encode("latin-1")), encoding_of(b"plain")
    ('utf-16', 'cp1252', 'utf-8')
    """
    for mark, name in _BOMS:
        if start.startswith(mark):
            return name
    even, odd = start[0:2000:2].count(0), start[1:2000:2].count(0)
    half = max(1, min(len(start), 2000) // 2)
    if odd > 0.3 * half and even < 0.05 * half:
        return "utf-16-le"
    if even > 0.3 * half and odd < 0.05 * half:
        return "utf-16-be"
    try:
        start.decode("utf-8")
    except UnicodeDecodeError as error:
        # a sample may end in the middle of a character: that is not an error of the file
        if error.end < len(start) or error.reason != "unexpected end of data":
            return "cp1252"
    return "utf-8"


def decode(raw: bytes, *, encoding: str | None = None, name: str = "input") -> str:
    """The text of `raw`, its line ends as ``\\n``, without byte order mark.

    Args:
        raw: the bytes.
        encoding: a codec name, or None to detect (UTF-8, UTF-16, UTF-32 by mark; UTF-16 by its NULs; else
            cp1252, the superset of Latin-1 that files in the wild are written in).
        name: what the error calls the input.

    Raises:
        DataError: `encoding` is unknown, does not fit, or the bytes are not text at all.

    >>> decode(b"\\xef\\xbb\\xbfa\\r\\nb")
    'a\\nb'
    """
    codec = encoding or encoding_of(raw)
    if encoding is None and codec == "cp1252":
        _refuse_mixed(raw, name)
    try:
        text = raw.decode(codec)
    except LookupError:
        raise DataError(
            "unknown-encoding",
            f"No such encoding for {name}.",
            given=encoding,
            expected="a codec name",
            available=["utf-8", "utf-16", "latin-1", "cp1252"],
        ) from None
    except UnicodeDecodeError as error:
        if encoding is None and codec == "cp1252":
            text = raw.decode("latin-1")  # the five bytes that cp1252 leaves undefined
        else:
            raise DataError(
                "wrong-encoding",
                f"{name} is not valid {codec}: byte"
                f" {raw[error.start] if error.start < len(raw) else 0:#04x} at "
                f"position {error.start}.",
                given=codec,
                expected="the encoding that the file was written in",
                hint=f"leave the encoding out to have it detected; the bytes look like {encoding_of(raw)}",
            ) from None
    if text[:4096].count("\x00") > len(text[:4096]) // 10:
        raise DataError(
            "not-text",
            f"{name} looks like a binary file, not text.",
            expected="a text file (.txt, .csv, .tsv, .jsonl) or a .parquet file",
        )
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _refuse_mixed(data: bytes, name: str) -> None:
    """Lines of UTF-8 among lines that are not would become two spellings of one label, unnoticed."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.isascii():
            continue
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            continue
        raise DataError(
            "mixed-encoding",
            f"{name} mixes encodings: line {number} is UTF-8, others are not",
            given=line[:60].decode("utf-8", errors="replace"),
            expected="one encoding for the whole file, best UTF-8",
        )


def read_text(path: Path, *, encoding: str | None = None) -> str:
    """The decoded text of a file.

    Raises:
        DataError: the file is missing, a folder, unreadable, empty, or not text.
    """
    return decode(read_bytes(path), encoding=encoding, name=path.name)


def read_bytes(path: Path, *, most: int = -1) -> bytes:
    """The bytes (at most the first `most`) of a file that is there and not empty.

    Raises:
        DataError: the file is missing, a folder, unreadable or empty.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(most)
    except FileNotFoundError:
        folder = path.parent
        near = sorted(p.name for p in folder.iterdir())[:200] if folder.is_dir() else []
        raise DataError(
            "no-such-file",
            "There is no such file.",
            given=path.name,
            available=near,
            hint=f"looked for {path}",
        ) from None
    except OSError as error:
        raise DataError(
            "unreadable-file", f"The file cannot be read: {error.strerror}.", given=str(path)
        ) from None
    if not raw.strip(b"\xef\xbb\xbf\xff\xfe \t\r\n\x00"):
        raise DataError(
            "empty-file", "The file is empty.", given=str(path), expected="at least one row of text"
        )
    return raw
