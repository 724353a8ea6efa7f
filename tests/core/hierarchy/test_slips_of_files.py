"""Slips in hierarchy files and in columns beside such files: the error shows a correct line."""

from __future__ import annotations

import pytest

import incrowd as ic

LINES = [f"{age};{age // 5 * 5}-{age // 5 * 5 + 4};*" for age in range(20, 40)]


@pytest.mark.parametrize(
    ("lines", "way_out"),
    [
        (["age;group;all", *LINES], "line 2: .*; if line 1 is a header, delete it$"),
        ([line.replace(";", "\t") for line in LINES], "line 1: .*; write semicolons in place of tabs$"),
        ([f"{line};" for line in LINES], "line 1: .*, and write no sign at the end of a line$"),
    ],
)
def test_a_line_that_is_no_path_is_told_with_its_way_out(lines, way_out, tmp_path):
    (tmp_path / "age.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(ic.HierarchyError, match=way_out):
        ic.Hierarchy.read(tmp_path / "age.csv")


def test_whole_numbers_with_a_point_are_leaves_where_the_column_says_so(tmp_path):
    (tmp_path / "age.csv").write_text("\n".join(LINES) + "\n")
    (tmp_path / "t.csv").write_text("age\n" + "".join(f"{20 + row % 20}.0\n" for row in range(200)))
    tree = ic.Hierarchy.read(tmp_path / "age.csv")
    with pytest.raises(ic.HierarchyError, match=r'write decimal = "\." for the column'):
        ic.anonymize(tmp_path / "t.csv", ic.Schema(quasi={"age": tree}), "k-anonymity:2")
    column = ic.Attribute("age", "quasi", hierarchy=tree, decimal=".")
    release = ic.anonymize(tmp_path / "t.csv", ic.Schema(quasi={"age": column}), "k-anonymity:20")
    assert set(release.table["age"]) <= {line.split(";")[1] for line in LINES}
