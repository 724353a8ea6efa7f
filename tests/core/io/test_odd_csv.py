"""CSV files of other programs: blank lines, two byte order marks, a first column `PAR1`."""

from __future__ import annotations

import codecs

import polars as pl
import pytest

from incrowd.core.errors import TableError
from incrowd.core.io.files import read_table
from incrowd.core.io.streams import scan

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
        frame = files.frame.collect()
    else:
        frame = read_table(path)[0]
    assert frame.equals(pl.DataFrame(rows))


@pytest.mark.few(1)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("wide", [100, 120])
def test_a_long_line_of_names_is_read_to_its_end(tmp_path, stream, wide):
    path = tmp_path / "people.csv"
    names = [f"{number}".rjust(wide, "n") for number in range(10_000)]
    # Its last name lies across the first MiB.
    names[-1] = "z" * max(2**20 + 9 - sum(len(name) + 1 for name in names[:-1]), wide)
    path.write_text("\n".join([",".join(names), ",".join("1" * 10_000)]) + "\n")
    assert (scan(path).columns if stream else read_table(path)[0].columns) == names


@pytest.mark.few(1)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_file_without_the_end_of_a_line_is_refused(tmp_path, stream):
    path = tmp_path / "people.csv"
    path.write_text("34,m,01234,flu," * (17 * 2**20 // 15))
    with pytest.raises(TableError, match=r"the first line has more than 16 MiB and .* fields; look whether"):
        (scan if stream else read_table)(path)
