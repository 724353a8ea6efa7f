"""Headers that Python's reader of CSV refuses."""

from __future__ import annotations

import pytest

import incrowd as ic
from incrowd.core.io.files import read_table
from incrowd.core.io.streams import scan


@pytest.mark.parametrize("reads", [read_table, scan])
def test_a_header_that_is_too_long_is_refused_in_one_line(tmp_path, reads):
    (tmp_path / "t.csv").write_text("a" * 200_000 + ",b\n1,2\n1,2\n")
    with pytest.raises(ic.TableError, match=r"t\.csv: the header cannot be read as CSV \(field larger than"):
        reads(tmp_path / "t.csv")
