"""Decimal numbers parsed eight bytes at a time: the loop of a text reader, in whole arrays.

The last eight bytes before a separator are one 64-bit integer. Cleared of what precedes the number and closed
up over the decimal point, it holds up to eight digits, which three multiplications sum up (Lemire, "Number
parsing at a gigabyte per second", 2021, section 4: "SWAR"). Digits over a power of ten below 10^8 give the
correctly rounded double.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.intp]
CHUNK = 1 << 14
"""Tokens at a time, so that the arrays stay in the processor's cache."""


def _u(value: int) -> np.uint64:
    return np.uint64(value & 0xFFFF_FFFF_FFFF_FFFF)


_ONES = 0x0101_0101_0101_0101
_ZEROS, _POINT, _OVER, _HIGH = _u(0x30 * _ONES), _u(0x10 * _ONES), _u(0x76 * _ONES), _u(0x80 * _ONES)
_PAIR, _FIRST, _SECOND = _u(0x0000_00FF_0000_00FF), _u(0x000F_4240_0000_0064), _u(0x0000_2710_0000_0001)
_WHICH = _u(sum(j << (61 - 8 * j) for j in range(8)))
"""2^(8j) times this has j in its highest three bits."""
_KEEP = np.array([0, *((2**64 - 1) ^ (2 ** (64 - 8 * n) - 1) for n in range(1, 9)), 0], dtype=np.uint64)
"""The last n bytes of eight; none for n of 0 or above 8."""
_SCALE = np.array([10.0 ** (7 - j) for j in range(8)] + [-(10.0 ** (7 - j)) for j in range(8)])
_1, _4, _8, _16, _32, _61, _10, _255, _DOT = (_u(x) for x in (1, 4, 8, 16, 32, 61, 10, 255, 0x1E))


def decimals(data: Bytes, separators: Places) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """The value of the token before each separator, and whether it is a plain decimal (−12.345: at most 8
    bytes besides the sign).

    Args:
        data: at least 8 bytes.
        separators: their ascending places; the first token begins at 0.

    Returns:
        (n,) values, meaningless where the second array is False: words, exponents, integers, longer numbers,
        nan.

    >>> text = b"word -0.25 3.5 nan 7 "
    >>> data = np.frombuffer(text, dtype=np.uint8)
    >>> values, plain = decimals(data, np.flatnonzero(data == 32))
    >>> values[plain].tolist(), plain.tolist()
    ([-0.25, 3.5], [False, True, True, False, False])
    """
    n = len(separators)
    values, plain = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.bool_)
    eight = np.lib.stride_tricks.as_strided(
        np.frombuffer(data, dtype="<u8", count=1), shape=(len(data) - 7,), strides=(1,), writeable=False
    )
    begin = 0
    for at in range(0, n, CHUNK):
        ends = separators[at : at + CHUNK]
        starts = np.empty_like(ends)
        starts[0], starts[1:] = begin, ends[:-1] + 1
        begin = int(ends[-1]) + 1
        values[at : at + CHUNK], plain[at : at + CHUNK] = _chunk(data, eight, starts, ends)
    return values, plain


def _chunk(
    data: Bytes, eight: npt.NDArray[np.uint64], starts: Places, ends: Places
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    minus = data[starts] == 45
    length = ends - starts
    length -= minus
    near = ends - 8
    early = int(np.searchsorted(ends, 8))
    near[:early] = 0
    x = eight[near]
    if early:
        x[:early] <<= ((8 - ends[:early]) * 8).astype(np.uint64) & _u(63)
        length[:early][ends[:early] == 0] = 9
    x ^= _ZEROS
    x &= _KEEP[np.minimum(length, 9)]
    point = (x & _POINT) >> _4
    below = point - _1
    plain = (point != 0) & ((point & below) == 0) & ((x & (point * _255)) == point * _DOT)
    digits = (x & ~((point << _8) - _1)) | ((x & below) << _8)
    plain &= (((digits + _OVER) | digits) & _HIGH) == 0
    plain &= length > 1
    pairs = digits * _10 + (digits >> _8)
    total = ((pairs & _PAIR) * _FIRST + ((pairs >> _16) & _PAIR) * _SECOND) >> _32
    scale = _SCALE[((point * _WHICH) >> _61).astype(np.intp) + (minus.view(np.uint8) << np.uint8(3))]
    return total.astype(np.float64) / scale, plain
