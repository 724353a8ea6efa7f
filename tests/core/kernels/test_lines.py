"""Counting the records of a CSV: in parts as byte by byte, with blank lines that a copy loses."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.kernels import lines


def bytes_of(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


@given(
    st.lists(st.sampled_from(["a,b\n", "\n", "\r\n", "a,b\r\n", "a\n", "a", ",", "\r", '"', '"x\ny",2\n']))
)
def test_parts_say_what_one_pass_says(pieces):
    data = bytes_of("".join(pieces))
    one = tuple(int(each) for each in lines._scan(data, np.uint8(44), -1))
    for parts in (1, 2, 3, 7):
        result = lines._scan_in_parts(data, np.uint8(44), parts)
        assert result is None or tuple(int(each) for each in result) == one


def byte_by_byte(data: bytes, limit: int) -> tuple[int, int, int, int, int]:
    """Scan as `lines.scan` does, where a quote opens a field only as the first byte."""
    expected, records, blank, line, began, fields = -1, 0, 0, 1, 1, 1
    quoted, fresh, empty, i = False, True, True, 0
    while i < len(data) or (i == len(data) and not quoted):
        byte, after = data[i : i + 1] or b"\n", data[i + 1 : i + 2]
        if quoted:
            if byte == after == b'"':
                i += 1
            elif byte == b'"':
                quoted = False
            line += byte == b"\n"
        elif byte == b"\n":
            if empty:
                blank += i < len(data)
            elif expected >= 0 and fields != expected:
                return expected, records, began, fields, blank
            else:
                expected, records = fields, records + 1
                if records == limit:
                    break
            line, fields, fresh, empty = line + 1, 1, True, True
            began = line
        elif byte != b"\r" or after not in (b"\n", b""):
            quoted = byte == b'"' and fresh
            fields, fresh, empty = fields + (byte == b","), byte == b",", False
        i += 1
    if quoted:
        return expected, records, began, -1, blank
    return expected, records, 0, 0, blank


ODD = (",", ",", "\n", "\r\n", '"', '""', "\r", "é", "12345678", "a long field,", "\x80", '"q, and ""l"""')
ALIKE = ("1,2\n", '"a,b",3\r\n', 'é,"x\ny"\n', "a field of many bytes,5\n", '",""",z\n', ",\n", "\n")


@pytest.mark.parametrize("pieces", [ODD, ALIKE])
def test_words_of_bytes_say_what_single_bytes_do(pieces):
    drawn = random.Random(7)
    for _ in range(3000):
        data = "".join(drawn.choices(pieces, k=drawn.randint(0, 25))).encode()
        limit = drawn.choice([-1, -1, 1, 2])
        result = lines._scan(np.frombuffer(data, np.uint8), np.uint8(44), limit)
        assert tuple(int(each) for each in result) == byte_by_byte(data, limit)


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n", "\n1,2"])
@pytest.mark.parametrize("field", ["22", '"2\r\n2"'])
def test_a_large_file_is_gone_over_in_parts(monkeypatch, end, field):
    # The first line end behind each third of the bytes is one between records, in both files.
    data = bytes_of("a,b\n\n" + f"1,{field}\n\r\n333,4\r\n" * 500 + "5,6" + end)
    one = lines.scan(data, ",")
    monkeypatch.setattr(lines, "_LARGE", 100)
    monkeypatch.setattr(lines, "thread_count", lambda: 3)
    parts = []
    real = lines._scan
    monkeypatch.setattr(lines, "_scan", lambda *given: parts.append(given) or real(*given))
    assert lines.scan(data, ",") == one
    assert [limit for *_, limit in parts] == [1, -1, -1, -1]
    assert min(part.size for part, *_ in parts) > 1000
    assert one[4] == 501 + (end == "\n\n")


def test_a_part_that_begins_within_quotes_is_not_trusted():
    # The second half reads as two records of two fields, too: only the first one says that it is quoted.
    data = bytes_of('a,b\n1,"x\n3,4\n5,6\n"\n')
    assert lines._scan_in_parts(data, np.uint8(44), 2) is None
    assert lines.scan(data, ",") == (2, 2, 0, 0, 0)


def test_a_record_of_other_fields_is_named_by_its_line_in_parts_too(monkeypatch):
    monkeypatch.setattr(lines, "_LARGE", 100)
    assert lines.scan(bytes_of("a,b\n" * 400 + "a\n" + "a,b\n" * 400), ",") == (2, 400, 401, 1, 0)
    assert lines.scan(bytes_of("a,b\n" * 400 + '"a\n'), ",")[2:4] == (401, -1)


@given(
    st.lists(st.sampled_from(["a,b\n", "\n", "\r\n", "a,b\r\n", '"x\n\ny",2\n', '"\n","\n\n"\n', '"a""",\n']))
)
def test_blank_lines_are_those_that_a_copy_loses(pieces):
    data = bytes_of("".join(["h,i\n", *pieces]))
    fields, _, line, _, blank = lines.scan(data, ",")
    assert (fields, line) == (2, 0)
    kept = np.empty(data.size, np.uint8)
    length = lines.without_blank_lines(data, ",", kept)
    gone = pieces.count("\n") + 2 * pieces.count("\r\n")
    assert length == data.size - gone
    assert bool(blank) == bool(gone)
    assert blank == pieces.count("\n") + pieces.count("\r\n")
