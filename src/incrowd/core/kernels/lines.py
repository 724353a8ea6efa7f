"""One pass over the bytes of a CSV: does every record have as many fields as the first?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels import numpy_fallback
from incrowd.core.kernels.jit import compiled, each_on_a_core, inner, so_few, thread_count

WORD = 8
"""Bytes of a word."""


@inner
def _byte(data, start, place, bits):
    """Return a byte of a word, shifted by so many bits."""
    # An index without a sign is not looked at. So the compiler makes one instruction of eight bytes.
    return np.uint64(data[start + np.uint64(place)]) << np.uint64(bits)


@inner
def first_weighs_least(data, start):
    """Read a word of which the first byte has the lowest bits."""
    at = np.uint64(start)
    low = _byte(data, at, 0, 0) | _byte(data, at, 1, 8) | _byte(data, at, 2, 16) | _byte(data, at, 3, 24)
    high = _byte(data, at, 4, 32) | _byte(data, at, 5, 40) | _byte(data, at, 6, 48) | _byte(data, at, 7, 56)
    return low | high


_LF = 10
_RECORD = 64
"""Bytes of a record, about."""
_LARGE = 1 << 22
"""Bytes from which a file is gone over in parts, by all cores."""


_ONES = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)


@inner
def _find(data, i, one, other):
    """Return the place of the first byte from a place on that is one of two, or the end: a word at a time."""
    while i + WORD <= data.size:
        word = first_weighs_least(data, i)
        # A byte is zero where the word has what is looked for. The lowest such byte gets its highest bit.
        against = word ^ (_ONES * np.uint64(one))
        beside = word ^ (_ONES * np.uint64(other))
        met = (((against - _ONES) & ~against) | ((beside - _ONES) & ~beside)) & _HIGH
        if met != 0:
            lowest = (met & (~met + np.uint64(1))) >> np.uint64(7)
            return i + np.int64((((lowest - np.uint64(1)) & _ONES) * _ONES) >> np.uint64(56))
        i += WORD
    while i < data.size and data[i] != one and data[i] != other:
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
    quoted = False
    fresh = True  # at the first byte of a field, the only place where a quote opens one
    empty = True
    n = data.size
    i = 0
    while i <= n:
        at_end = i == n
        byte = np.uint8(10) if at_end else data[i]
        if quoted:
            if at_end:
                return expected, records, began, np.int64(-1), blank
            if byte == 34:
                if i + 1 < n and data[i + 1] == 34:
                    i += 1
                else:
                    quoted = False
            elif byte == 10:
                line += 1
            else:
                i = _find(data, i + 1, np.uint8(34), np.uint8(10))
                continue
        elif byte == 34 and fresh:
            quoted = True
            fresh = False
            empty = False
        elif byte == delimiter:
            fields += 1
            fresh = True
            empty = False
        elif byte == 10:
            if not empty:
                if expected < 0:
                    expected = fields
                elif fields != expected:
                    return expected, records, began, fields, blank
                records += 1
                if records == limit:
                    return expected, records, np.int64(0), np.int64(0), blank
            elif not at_end:
                blank += 1
            line += 1
            began = line
            fields = np.int64(1)
            fresh = True
            empty = True
        elif byte != 13 or (i + 1 < n and data[i + 1] != 10):
            fresh = False
            empty = False
            # Within a field only its end matters.
            i = _find(data, i + 1, delimiter, np.uint8(10))
            continue
        i += 1
    return expected, records, np.int64(0), np.int64(0), blank


@compiled
def _scan_plain(data, start, stop, delimiter, expected):
    """Go over whole lines: records, blank lines, and whether there is a quote or a record of other fields."""
    records = np.int64(0)
    blank = np.int64(0)
    fields = np.int64(1)
    began = start
    for i in range(start, stop):
        byte = data[i]
        if byte == delimiter:
            fields += 1
        elif byte == 34:
            return records, blank, True
        elif byte == 10:
            if i == began or (i == began + 1 and data[began] == 13):
                blank += 1
            elif fields != expected:
                return records, blank, True
            else:
                records += 1
            fields = np.int64(1)
            began = i + 1
    return records, blank, False


def _scan_in_parts(data: NDArray[np.uint8], delimiter: np.uint8, parts: int) -> tuple[int, ...] | None:
    """Scan as `_scan` does, parts at once; None where there are quotes, or records unlike the first."""
    expected = _scan(data, delimiter, 1)[0]
    borders = [0]
    for part in range(1, parts):
        near = max(data.size * part // parts, borders[-1])
        ends = np.flatnonzero(data[near : near + _LARGE] == _LF)
        if len(ends):
            borders.append(near + int(ends[0]) + 1)
    last = np.flatnonzero(data[borders[-1] :][-_LARGE:] == _LF)
    if not len(last):
        return None
    borders.append(max(borders[-1], data.size - _LARGE) + int(last[-1]) + 1)

    def whole_lines(part: int) -> tuple[int, int, int]:
        return _scan_plain(data, borders[part], borders[part + 1], delimiter, expected)  # type: ignore[no-any-return]

    found = each_on_a_core(whole_lines, range(len(borders) - 1))
    # What no line end closes is a record, too.
    fields, records, line, _, _ = _scan(data[borders[-1] :], delimiter, -1)
    if line or any(odd for *_, odd in found) or (records and fields != expected):
        return None
    return expected, records + sum(each[0] for each in found), 0, 0, sum(each[1] for each in found)


def scan(data: NDArray[np.uint8], delimiter: str, limit: int = -1) -> tuple[int, int, int, int, int]:
    """Count fields and records up to the first record that is unlike the others.

    Parameters
    ----------
    data
        uint8[bytes] of UTF-8.
    delimiter
        One ASCII character.
    limit
        Stop after so many records; -1 reads all.

    Returns
    -------
    fields
        Fields of the first record.
    records
        Records before the stop; blank lines are none.
    line
        Line on which the deviating record begins, from 1; 0 where there is none.
    found
        Fields of the deviating record; -1 where a quote is never closed.
    blank
        Blank lines among the records, with those above the first.
    """
    if so_few(data.size // _RECORD):
        found_few = numpy_fallback.scan(data.tobytes(), delimiter.encode(), limit)
        if found_few is not None:
            return found_few
    mark = np.uint8(ord(delimiter))
    whole = _scan_in_parts(data, mark, thread_count()) if limit < 0 and data.size >= _LARGE else None
    fields, records, line, found, blank = whole or _scan(data, mark, limit)
    return int(fields), int(records), int(line), int(found), int(blank)


@compiled
def _without_blank_lines(data, delimiter, kept):
    n = data.size
    length = 0
    began = 0  # where the record begins in what is kept
    quoted = False
    closed = -1  # where a quote was closed last; one right after it is a doubled quote
    fresh = True
    empty = True
    for i in range(n):
        byte = data[i]
        kept[length] = byte
        length += 1
        if quoted:
            if byte == 34:
                quoted = False
                closed = i
        elif byte == 34 and (fresh or (closed >= 0 and closed == i - 1)):
            quoted = True
            fresh = False
            empty = False
        elif byte == delimiter:
            fresh = True
            empty = False
        elif byte == 10:
            if empty:
                length = began
            began = length
            fresh = True
            empty = True
        elif byte != 13 or (i + 1 < n and data[i + 1] != 10):
            fresh = False
            empty = False
    return length


def without_blank_lines(data: NDArray[np.uint8], delimiter: str, kept: NDArray[np.uint8]) -> int:
    """Copy a CSV without its blank lines, those within quotes excepted; return how many bytes are left.

    Parameters
    ----------
    data
        uint8[bytes], in which every record has as many fields as the first.
    kept
        uint8[bytes], filled from its beginning.
    """
    return int(_without_blank_lines(data, np.uint8(ord(delimiter)), kept))
