"""One-pass scan of a CSV's bytes for records with a deviating number of fields."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels import numpy_fallback
from incrowd.core.kernels.jit import compiled, each_on_a_core, inner, so_few, thread_count

WORD = 8
"""Bytes of a word."""


@inner
def _byte(data, start, place, bits):
    """Return a byte of a word, shifted left by `bits`."""
    # An index without a sign is not looked at. So the compiler makes one instruction of eight bytes.
    return np.uint64(data[start + np.uint64(place)]) << np.uint64(bits)


@inner
def first_weighs_least(data, start):
    """Read a little-endian 64-bit word."""
    at = np.uint64(start)
    low = _byte(data, at, 0, 0) | _byte(data, at, 1, 8) | _byte(data, at, 2, 16) | _byte(data, at, 3, 24)
    high = _byte(data, at, 4, 32) | _byte(data, at, 5, 40) | _byte(data, at, 6, 48) | _byte(data, at, 7, 56)
    return low | high


_LF, _CR, _QUOTE = np.uint8(10), np.uint8(13), np.uint8(34)
_RECORD = 64
"""Approximate bytes of a record."""
_LARGE = 1 << 22
"""Size from which a file is scanned in parts on all cores, in bytes."""


_ONES = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)


@inner
def _find(data, i, first, other):
    """Index of the first byte equal to `first` or `other` from `i` on, or the size."""
    while i + WORD <= data.size:
        word = first_weighs_least(data, i)
        # A match gives a zero byte, and the lowest zero byte gets the highest bit set.
        against = word ^ (_ONES * np.uint64(first))
        beside = word ^ (_ONES * np.uint64(other))
        hits = (((against - _ONES) & ~against) | ((beside - _ONES) & ~beside)) & _HIGH
        if hits != 0:
            lowest = (hits & (~hits + np.uint64(1))) >> np.uint64(7)
            return i + np.int64((((lowest - np.uint64(1)) & _ONES) * _ONES) >> np.uint64(56))
        i += WORD
    while i < data.size and data[i] != first and data[i] != other:
        i += 1
    return i


@compiled
def _scan(data, delimiter, limit):
    expected = np.int64(-1)
    records = np.int64(0)
    blank = np.int64(0)
    line = np.int64(1)
    began = np.int64(1)
    fields = np.int64(1)
    start = 0
    n = data.size
    while True:
        # A field: only where it begins, a quote opens one; after the closing quote only the end matters.
        end = start
        if start < n and data[start] == _QUOTE:
            end = _find(data, start + 1, _QUOTE, _LF)
            while end < n and (data[end] == _LF or (end + 1 < n and data[end + 1] == _QUOTE)):
                line += data[end] == _LF
                end = _find(data, end + (1 if data[end] == _LF else 2), _QUOTE, _LF)
            if end == n:
                return expected, records, began, np.int64(-1), blank
            end += 1
        byte = data[end] if end < n else _LF
        if byte not in (delimiter, _LF):
            end = _find(data, end + 1, delimiter, _LF)
            byte = data[end] if end < n else _LF
        if byte == delimiter:
            fields += 1
        else:
            if fields == 1 and (end == start or (end == start + 1 and data[start] == _CR)):
                blank += end < n
            elif expected >= 0 and fields != expected:
                return expected, records, began, fields, blank
            else:
                expected = fields
                records += 1
            if end == n or records == limit:
                return expected, records, np.int64(0), np.int64(0), blank
            line += 1
            began = line
            fields = np.int64(1)
        start = end + 1


def _scan_in_parts(data: NDArray[np.uint8], delimiter: np.uint8, parts: int) -> tuple[int, ...] | None:
    """Scan in parallel like `_scan`, or return None for a deviating record or a line end within quotes.

    A part that begins at a record and ends outside quotes makes the next part begin at a record.
    """
    expected = _scan(data, delimiter, 1)[0]
    borders = [0]
    for part in range(1, parts):
        near = max(data.size * part // parts, borders[-1])
        ends = np.flatnonzero(data[near : near + _LARGE] == _LF)
        if len(ends):
            borders.append(near + int(ends[0]) + 1)
    borders.append(data.size)

    def records_of(part: int) -> tuple[int, ...]:
        return _scan(data[borders[part] : borders[part + 1]], delimiter, -1)  # type: ignore[no-any-return]

    results = each_on_a_core(records_of, range(len(borders) - 1))
    if any(line or (records and fields != expected) for fields, records, line, *_ in results):
        return None
    return expected, sum(each[1] for each in results), 0, 0, sum(each[4] for each in results)


def scan(data: NDArray[np.uint8], delimiter: str, limit: int = -1) -> tuple[int, int, int, int, int]:
    """Count fields and records up to the first record with another number of fields.

    Parameters
    ----------
    data
        uint8[bytes] of UTF-8.
    delimiter
        One ASCII character.
    limit
        Number of records to stop after, -1 for all.

    Returns
    -------
    fields
        Fields of the first record.
    records
        Records before the stop; blank lines are none.
    line
        Line on which the deviating record begins, from 1; 0 for no such record.
    deviating
        Fields of the deviating record; -1 for an unclosed quote.
    blank
        Blank lines among the records, with those above the first.
    """
    if so_few(data.size // _RECORD):
        result = numpy_fallback.scan(data.tobytes(), delimiter.encode(), limit)
        if result is not None:
            return result
    mark = np.uint8(ord(delimiter))
    counts = _scan_in_parts(data, mark, thread_count()) if limit < 0 and data.size >= _LARGE else None
    fields, records, line, deviating, blank = counts or _scan(data, mark, limit)
    return int(fields), int(records), int(line), int(deviating), int(blank)


@compiled
def _without_blank_lines(data, delimiter, output):
    n = data.size
    length = 0
    began = 0  # where the record begins in the output
    quoted = False
    closed = -1  # place of the last closing quote; a quote right after is a doubled quote
    fresh = True
    empty = True
    for i in range(n):
        byte = data[i]
        output[length] = byte
        length += 1
        if quoted:
            if byte == _QUOTE:
                quoted = False
                closed = i
        elif byte == _QUOTE and (fresh or (closed >= 0 and closed == i - 1)):
            quoted = True
            fresh = False
            empty = False
        elif byte == delimiter:
            fresh = True
            empty = False
        elif byte == _LF:
            if empty:
                length = began
            began = length
            fresh = True
            empty = True
        elif byte != _CR or (i + 1 < n and data[i + 1] != _LF):
            fresh = False
            empty = False
    return length


def without_blank_lines(data: NDArray[np.uint8], delimiter: str, output: NDArray[np.uint8]) -> int:
    """Copy a CSV without blank lines outside quotes and return the number of bytes written.

    Parameters
    ----------
    data
        uint8[bytes], in which every record has as many fields as the first.
    output
        uint8[bytes], filled from its beginning.
    """
    return int(_without_blank_lines(data, np.uint8(ord(delimiter)), output))
