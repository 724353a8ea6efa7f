"""Grouping some values of a column: other values stay, and mixed classes list the values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.faces.studio.trees import TreeEditor
from incrowd.release.verification import verify

JOBS = [f"job {number:02}" for number in range(24)]
ROWS = 400


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    share = 1 / np.arange(1, len(JOBS) + 1) ** 0.7
    return pl.DataFrame(
        {
            "job": rng.choice(JOBS, ROWS, p=share / share.sum()),
            "age": rng.integers(20, 70, ROWS).astype(str),
            "sex": rng.choice(["m", "f"], ROWS),
        }
    )


def grouped() -> ic.Hierarchy:
    """Group four values of a column without a hierarchy, as a user of the studio does."""
    editor = TreeEditor(ic.Hierarchy.flat().build(JOBS, "job"), dict.fromkeys(JOBS, 1))
    editor.merge([1, 2, 3, 4], "catering")
    return editor.tree


def released(table: pl.DataFrame, hierarchy: ic.Hierarchy, **settings: object) -> ic.Release:
    schema = ic.Schema(quasi={"job": hierarchy, "age": None, "sex": None})
    return ic.anonymize(table, schema, [ic.KAnonymity(5)], ic.Agglomerative(), **settings)


def test_values_outside_the_groups_are_listed_where_a_class_has_several(table):
    release = released(table, grouped())
    cells = set(release.table["job"])
    assert "*" not in cells
    assert {"catering", "job 05"} <= cells
    listed = [cell for cell in cells if cell.startswith("{")]
    assert listed
    assert max(cell.count(",") + 1 for cell in listed) <= 8
    assert release.privacy.holds


def test_lists_keep_to_the_limit_of_the_policy(table):
    cells = released(table, grouped(), set_limit=4).table["job"]
    assert "*" in set(cells)
    assert cells.filter(cells.str.starts_with("{")).str.count_matches(",").max() == 3


def test_where_all_values_are_in_groups_or_none_is_the_common_ancestor_stays(table):
    whole = {"*": {"first": JOBS[:12], "second": JOBS[12:]}}
    for tree in (ic.Hierarchy.from_nested(whole), ic.Hierarchy.flat().build(JOBS, "job")):
        assert not released(table, tree).table["job"].str.starts_with("{").any()


def test_the_values_of_a_nearly_unique_column_are_not_listed(table):
    few = table.head(60)
    assert not released(few, grouped()).table["job"].str.starts_with("{").any()


def test_an_asked_ancestor_is_given(table):
    assert not released(table, grouped(), output="ancestor").table["job"].str.starts_with("{").any()


def test_such_a_release_is_saved_applied_and_verified(table, tmp_path):
    grouped().write(tmp_path / "jobs.json")
    (tmp_path / "policy.toml").write_text(
        'version = 1\n[columns.job]\nrole = "quasi"\nhierarchy = "jobs.json"\n[columns.age]\nrole = "quasi"\n'
        '[columns.sex]\nrole = "quasi"\n[[models]]\nmodel = "k-anonymity"\nk = 5\n'
        '[algorithm]\nname = "agglomerative"\n'
    )
    table.write_csv(tmp_path / "raw.csv")
    policy = ic.Policy.read(tmp_path / "policy.toml")
    release = ic.anonymize(tmp_path / "raw.csv", policy)
    release.write(tmp_path / "safe.csv")
    release.write_row_map(tmp_path / "rows.parquet")
    release.recoding.save(tmp_path / "recoding")
    batch = ic.apply_recoding(tmp_path / "recoding", table, replace(policy, max_suppression=0.05))
    assert set(batch.table["job"]) - {"*"} <= set(release.table["job"])
    measured = ic.evaluate(
        tmp_path / "raw.csv", tmp_path / "safe.csv", policy.schema, row_map=tmp_path / "rows.parquet"
    )
    assert measured.utility["loss"].value == pytest.approx(release.utility["loss"].value)
    places = {"against": tmp_path / "raw.csv", "row_map": tmp_path / "rows.parquet"}
    assert verify(tmp_path / "safe.csv", tmp_path / "policy.toml", **places).ok
