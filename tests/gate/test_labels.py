"""Values and intervals within the intervals above: as read, as written, and by the verifier."""

from __future__ import annotations

import warnings

import polars as pl
import pytest
from typer.testing import CliRunner

import incrowd as ic
from incrowd.core.errors import HierarchyError, InfeasibleError
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.hierarchy.builders import Flat
from incrowd.faces.cli import app
from incrowd_gate.rules.labels import outside_intervals
from incrowd_verify.tree_files import tree_in

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
    "half-open": (["31;[30, 40[;*", "40;[30, 40[;*"], "40"),
    "dates": (["2020-03-05;2020-03;2020;*", "2021-04-05;2020-04;2020;*"], "2021-04-05"),
    "inner": (["31;[30-34];[30-39];*", "40;[40-44];[30-39];*"], "[40-44]"),
    "inner of decimal numbers": (["31.5;[30, 35[;[30, 40[;*", "36.5;[35, 40];[30, 40[;*"], "[35, 40]"),
    "without brackets": (["31;30-39;*", "50;30-39;*"], "50"),
    "open": (["70;65+;*", "60;65+;*"], "60"),
    "the root": (["NA;NA;0-100", "50;0-100", "150;0-100"], "150"),
    "a value for missing beside": (["NULL;NA;*", "50;[30-39];*"], "50"),
    "values that are intervals": (["3;0-9;*", "20-29;20-39;*", "40-49;20-39;*"], "40-49"),
}


def outside_of(path):
    """Ask the rule of the hierarchy as read by both, with equal answers."""
    first, second = Hierarchy.read(path), tree_in(path)
    outside = outside_intervals(first.labels, first.parents.tolist())
    assert sorted(outside) == sorted(outside_intervals(second.labels, second.parents))
    return outside


@pytest.mark.parametrize("name", RIGHT)
def test_labels_that_hold_their_values(tmp_path, name):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(RIGHT[name]) + "\n", encoding="utf-8")
    assert outside_of(path) == []


@pytest.mark.parametrize("name", WRONG)
def test_what_lies_outside_is_counted(tmp_path, name):
    rows, label = WRONG[name]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert [each for each, _ in outside_of(path)] == [label]


@pytest.mark.parametrize(
    ("file", "values"), {"arx-adult/adult_hierarchy_age.csv": 20, "adult-hw1/DGHs/age.txt": 18}.items()
)
def test_published_hierarchies_with_slips_are_read_and_counted(shared_data, file, values):
    """ARX's own puts 5 under 0-4, and the assignment's 14 under [10,14)."""
    path = shared_data / file
    assert len(outside_of(path)) == values


def test_the_command_that_checks_hierarchies_names_the_first(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("31;[30, 40[;*\n50;[30, 40[;*\n")
    result = CliRunner().invoke(app, ["hierarchy", "check", str(path)])
    assert result.exit_code == 2
    assert "'50' stands under '[30, 40[', but lies outside; move it" in result.output


@pytest.mark.few(1)
@pytest.mark.gated
@pytest.mark.parametrize("answer", [(), (ic.Accepted("untrue-label", "age", "The codes are old."),)])
def test_an_untrue_label_is_an_open_point_for_the_verifier_too(tmp_path, answer):
    rows = [(str(age), f"[{age // 10}0-{age // 10}9]", "Any") for age in range(20, 59)]
    tree = Hierarchy.from_paths([*rows, ("59", "[40-49]", "Any")])
    raw = pl.DataFrame({"age": [*range(20, 60)] * 3})
    policy = ic.Policy(ic.Schema(quasi={"age": tree}), [ic.KAnonymity(4)], ic.Optimal(), accepted=answer)
    release = ic.anonymize(raw, policy, unanswered="write")
    release.save(tmp_path / "out")
    raw.write_parquet(tmp_path / "raw.parquet")
    verified = ic.verify(
        tmp_path / "out" / "release.csv",
        tmp_path / "out" / "internal" / "policy.toml",
        against=tmp_path / "raw.parquet",
        row_map=tmp_path / "out" / "internal" / "rows.parquet",
    )
    assert verified.verdict == release.verdict
    assert [point.name for point in verified.verdict.points] == ["untrue-label"]
    assert verified.verdict.holds == bool(answer)


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
    for beside in ({}, {"sex": Flat()}):
        table = ages.with_columns(sex=pl.Series(["f", "m"] * 2 + ["m"]))
        for algorithm in ("mondrian", "optimal", "samarati"):
            with pytest.raises(InfeasibleError, match="root other than"):
                ic.anonymize(
                    table,
                    ic.Schema(quasi={"age": star, **beside}, unlisted="drop"),
                    ic.KAnonymity(4),
                    algorithm,
                )
            release = ic.anonymize(
                table, ic.Schema(quasi={"age": named, **beside}, unlisted="drop"), ic.KAnonymity(4), algorithm
            )
            assert release.table["age"].to_list() == ["Any"] * 5
    # Where a root has another name, this is no way out.
    with pytest.raises(InfeasibleError) as error:
        ic.anonymize(
            table,
            ic.Schema(quasi={"age": named, "sex": Flat()}),
            ic.KAnonymity(4),
            "optimal",
            levels={"age": 1, "sex": 0},
        )
    assert "root" not in str(error.value)
