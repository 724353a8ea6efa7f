"""CSV files as other programs leave them: blank lines, two byte order marks, a first column `PAR1`."""

from __future__ import annotations

import codecs

import polars as pl
import pytest

from incrowd.io.files import read_table
from incrowd.io.streams import scan

ROWS = {"a": ["1", "x\n\ny", "3"], "b": ["p", "q", "r"]}
TEXT = 'a,b\n1,p\n"x\n\ny",q\n3,r\n'
FILES = {
    "plain": (TEXT.encode(), ROWS),
    "blank lines": (b'\n\na,b\n\n1,p\n\n\n"x\n\ny",q\n3,r\n\n', ROWS),
    "blank lines of Windows": (b'a,b\r\n\r\n1,p\r\n"x\n\ny",q\r\n\r\n3,r\r\n\r\n', ROWS),
    "two byte order marks": (codecs.BOM_UTF8 * 2 + TEXT.encode(), ROWS),
    "a lone CR in a cell": (b"a,b\n1\r2,p\n3,q\n", {"a": ["1\r2", "3"], "b": ["p", "q"]}),
    "first column PAR1": (b"PAR1,b\n1,p\n2,q\n", {"PAR1": ["1", "2"], "b": ["p", "q"]}),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("content", "rows"), FILES.values(), ids=FILES)
def test_every_record_is_read_and_nothing_else(tmp_path, content, rows, stream):
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    if stream:
        files = scan(path)  # holds the folder of its copies
        found = files.frame.collect()
    else:
        found = read_table(path)[0]
    assert found.equals(pl.DataFrame(rows))
