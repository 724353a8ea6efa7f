"""Values and intervals within the intervals above them: as read, as written, and by the verifier."""

from __future__ import annotations

import warnings

import polars as pl
import pytest

import incrowd as ic
from incrowd.errors import HierarchyError, InfeasibleError
from incrowd.hierarchy import Hierarchy
from incrowd.verification.tree_files import tree_in

RIGHT = {
    "half-open": ["31;[30, 40[;*", "39;[30, 40[;*"],
    "dates": ["2020-03-05;2020-03;2020;*", "2020-12-31T23:59:59;2020;*"],
    "inner of whole numbers": ["31;[30-34];[30, 40[;*", "39;]34, 39];[30, 40[;*"],
    "codes in groups of prefixes": ["50100;501-502;*", "50200;501-502;*"],
    "texts beside a number": ["unclear;[30-39];*", "50;[30-39];*"],
    "another value below the root": ["NA;NA;0-100", "50;40-60;0-100"],
    "open": ["70;65+;*", "10;under 18;*"],
}
WRONG = {
    "half-open": (["31;[30, 40[;*", "40;[30, 40[;*"], "'40'"),
    "dates": (["2020-03-05;2020-03;2020;*", "2021-04-05;2020-04;2020;*"], "'2021-04-05'"),
    "inner": (["31;[30-34];[30-39];*", "40;[40-44];[30-39];*"], r"'\[40-44\]'"),
    "inner of decimal numbers": (["31.5;[30, 35[;[30, 40[;*", "36.5;[35, 40];[30, 40[;*"], r"'\[35, 40\]'"),
    "without brackets": (["31;30-39;*", "50;30-39;*"], "'50'"),
    "open": (["70;65+;*", "60;65+;*"], "'60'"),
    "the root": (["NA;NA;0-100", "50;0-100", "150;0-100"], "'150'"),
    "a value for missing beside": (["NULL;NA;*", "50;[30-39];*"], "'50'"),
    "values that are intervals": (["3;0-9;*", "20-29;20-39;*", "40-49;20-39;*"], "'40-49'"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_labels_that_hold_their_values(tmp_path, name):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(RIGHT[name]) + "\n", encoding="utf-8")
    assert not Hierarchy.read(path).outside
    tree_in(path)


@pytest.mark.parametrize("name", WRONG)
def test_what_lies_outside_is_refused_twice(tmp_path, name):
    rows, label = WRONG[name]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    with pytest.raises(HierarchyError, match=f"{label} stands under"):
        Hierarchy.read(path)
    with pytest.raises(HierarchyError, match=f"{label} lies outside"):
        tree_in(path)


def test_a_tree_made_in_python_is_refused_where_it_is_used():
    tree = Hierarchy.from_paths([("31", "[30, 40[", "*"), ("50", "[30, 40[", "*")])
    with pytest.raises(HierarchyError, match=r"column 'age'.*'50' stands under"):
        ic.anonymize(pl.DataFrame({"age": ["31", "50"]}), ic.Schema(quasi={"age": tree}), ic.KAnonymity(2))


@pytest.mark.parametrize("row", [";NA;Any", ";Any", ";Any;Any"])
def test_a_row_of_the_missing_value(tmp_path, row):
    path = tmp_path / "age.csv"
    path.write_text(f"{row}\n31;[30, 40[;Any\n50;[50, 60[;Any\n", encoding="utf-8")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tree = Hierarchy.read(path)
    assert tree.values == ("31", "50")
    assert tree_in(path).leaves.keys() == {"31", "50"}
    assert [str(each.message) for each in told] == (
        [f"{path}, line 1: a missing value is generalized to the root 'Any' at once; 'NA' is passed over"]
        if "NA" in row
        else []
    )
    frame = pl.DataFrame({"age": ["31", None, "50", None]})
    release = ic.anonymize(frame, ic.Schema(quasi={"age": tree}), ic.KAnonymity(4), algorithm="optimal")
    assert release.table["age"].to_list() == ["Any"] * 4


@pytest.mark.parametrize("row", [";NA;other", ";;Any"])
def test_a_row_of_the_missing_value_that_fits_no_tree(tmp_path, row):
    path = tmp_path / "age.csv"
    path.write_text(f"31;[30, 40[;Any\n{row}\n", encoding="utf-8")
    with pytest.raises(HierarchyError, match="line 2"):
        Hierarchy.read(path)
    with pytest.raises(HierarchyError, match="line 2"):
        tree_in(path)


def test_the_way_out_where_a_root_counts_as_suppressed():
    rows = [("31", "a"), ("32", "b")]
    ages = pl.DataFrame({"age": ["31", "32", "31", "32", "31"]})
    star, named = (Hierarchy.from_paths([(*row, root) for row in rows]) for root in ("*", "Any"))
    with pytest.raises(InfeasibleError, match="root other than"):
        ic.anonymize(ages, ic.Schema(quasi={"age": star}), ic.KAnonymity(4))
    release = ic.anonymize(ages, ic.Schema(quasi={"age": named}), ic.KAnonymity(4))
    assert release.table["age"].to_list() == ["Any"] * 5
