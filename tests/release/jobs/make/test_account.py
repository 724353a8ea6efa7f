"""All files outside of `internal/` may be published: no file has a raw value that the release hides."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic
from incrowd.engines import engine_for
from incrowd.release.jobs.make.account import published_policy

MARK = "RAW"
CITIES = {
    "Any": {
        "North": [f"{MARK}-oslo", f"{MARK}-bergen", f"{MARK}-nobody"],
        "South": [f"{MARK}-rome", f"{MARK}-bari"],
    }
}
# Without "dengue", which nobody has, the tree is one step lower, and distances differ.
DISEASES = {
    "ill": {"lung": ["flu", "cold"], "blood": {"viral": {"fever": [f"{MARK}-dengue"]}, "other": ["hiv"]}}
}
JOBS = [f"{MARK}-clerk", f"{MARK}-cook", f"{MARK}-judge", f"{MARK}-king"]
ROWS = 24
STAYS = ic.Schema(quasi={"age": None, "zip": ic.Hierarchy.prefix()}, sensitive=["diagnosis"])


def table() -> pl.DataFrame:
    cities = [leaf for region in CITIES["Any"].values() for leaf in region if "nobody" not in leaf]
    return pl.DataFrame(
        {
            "name": [f"{MARK}-person-{i}" for i in range(ROWS)],
            "city": [cities[i % 4] for i in range(ROWS)],
            "zip": [f"{i % 3}{i % 5}{MARK}{i}" for i in range(ROWS)],
            "job": [JOBS[i % 3] for i in range(ROWS)],
            "age": [str(700130017 + 1300013 * i) for i in range(ROWS)],
            "disease": [("flu", "cold", "hiv")[i % 3] for i in range(ROWS)],
        }
    )


def policy(algorithm: str) -> ic.Policy:
    schema = ic.Schema(
        quasi={
            "city": ic.Hierarchy.from_nested(CITIES),
            "zip": ic.Hierarchy.prefix(),
            "job": ic.Hierarchy.order(JOBS),
            "age": ic.Hierarchy.intervals(1_000_000_000, 5_000_000_000),
        },
        sensitive={"disease": ic.Hierarchy.from_nested(DISEASES)},
        identifying=["name"],
    )
    result = ic.ALGORITHMS.parse(algorithm)
    return ic.Policy(schema, (ic.KAnonymity(8), ic.TCloseness(0.6)), result, max_suppression=0.5)


def texts(folder: Path, *, internal: bool) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode("utf-8", "replace") + str(path)
        for path in folder.rglob("*")
        if path.is_file() and ("internal" in path.relative_to(folder).parts) == internal
    }


def hidden(released: str) -> set[str]:
    values = {text for column in table() for text in column.to_list()} | {
        f"{MARK}-nobody",
        *JOBS,
        f"{MARK}-dengue",
    }
    return {value for value in values if (MARK in value or value.startswith("7")) and value not in released}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.few(1)
@pytest.mark.parametrize("algorithm", ["mondrian", "optimal", "top-down-specialization:target=disease"])
def test_nothing_hidden_lies_outside_of_internal(tmp_path, algorithm):
    before = os.umask(0o022)
    try:
        release = ic.anonymize(table(), policy(algorithm))
        out = tmp_path / "out"
        release.save(out)
        release.report(out / "report.json")
    finally:
        os.umask(before)
    planted = hidden((out / "release.csv").read_text())
    assert len(planted) >= 2 * ROWS + 4
    public = texts(out, internal=False)
    assert {"release.csv", "policy.toml", "release.json", "report.json"} <= set(public)
    for name, text in public.items():
        assert [value for value in planted if value in text] == [], name
        assert mode(out / name) == 0o644, name
    # The marks are found where they belong.
    private = "".join(texts(out, internal=True).values())
    assert {f"{MARK}-nobody", f"{MARK}-dengue"} <= planted
    assert [
        value for value in planted & {f"{MARK}-nobody", f"{MARK}-dengue", *JOBS} if value not in private
    ] == []
    for path in (out / "internal", *(out / "internal").rglob("*")):
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path


def test_an_auditor_verifies_by_what_is_published(tmp_path):
    release = ic.anonymize(table(), policy("mondrian"))
    release.save(tmp_path / "out")
    whole = ic.verify(tmp_path / "out/release.csv", tmp_path / "out/internal/policy.toml")
    public = ic.verify(tmp_path / "out/release.csv", tmp_path / "out/policy.toml")
    assert public.ok
    assert public.findings == whole.findings
    assert [finding.distance for finding in public.findings] == [None, "hierarchical"]
    measured = {each.model: each.value for each in release.privacy.privacy}
    again = ic.assess(tmp_path / "out/release.csv", *schema_and_models(tmp_path / "out/policy.toml"))
    assert {each.model: each.value for each in again.privacy} == measured
    rules = ic.Policy.read(tmp_path / "out/policy.toml")
    assert rules.schema["age"].hierarchy == ic.Hierarchy.intervals(1_000_000_000, 5_000_000_000)
    assert rules.schema["city"].hierarchy is None
    assert rules.schema["job"].hierarchy is None


def published(frame: pl.DataFrame, folder: Path, algorithm: str) -> tuple[list, list]:
    """The released rows, and the published account without times, and digests of rows in random order."""
    release = ic.anonymize(frame, STAYS, [ic.KAnonymity(5)], algorithm)
    release.save(folder)
    account = json.loads((folder / "release.json").read_text())
    return sorted(release.texts.rows()), [account | {"seconds": None, "files": None}, release.document()]


def test_the_account_does_not_tell_the_value_that_a_cell_hides(tmp_path):
    """With as many digits as a double has, an attacker with all rows but the last found the value."""
    frame = ic.samples.hospital(1000, 3).select("age", "zip", "diagnosis")
    older = pl.when(pl.int_range(pl.len()) == 104).then(pl.col("age") + 1).otherwise("age")
    other = frame.with_columns(age=older)
    rows, (account, report) = published(frame, tmp_path / "one", "mondrian:choose=range")
    same, (told, page) = published(other, tmp_path / "other", "mondrian:choose=range")
    assert same == rows
    assert (told["utility"], page["loss"]) == (account["utility"], report["loss"])
    exact = [ic.anonymize(each, STAYS, "k-anonymity:5") for each in (frame, other)]
    assert exact[0].to_dict()["utility"] != exact[1].to_dict()["utility"]
    assert exact[0].document(internal=True)["loss"] != exact[1].document(internal=True)["loss"]


def test_the_account_does_not_tell_the_order_of_the_raw_rows(tmp_path):
    """By the last digits, which depend on the order in which numbers are added."""
    frame = ic.samples.hospital(300, 4).select("age", "zip", "diagnosis")
    accounts = [
        published(frame.sample(fraction=1, shuffle=True, seed=seed), tmp_path / str(seed), "mondrian")
        for seed in range(5)
    ]
    assert all(each == accounts[0] for each in accounts)


@pytest.mark.parametrize("algorithm", ["mondrian", "agglomerative"])
def test_the_table_of_classes_does_not_tell_the_order_of_the_raw_rows(algorithm):
    frame = ic.samples.hospital(60, 4).select("age", "zip", "diagnosis")
    tables = []
    for seed in range(4):
        shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
        release = ic.anonymize(shuffled, STAYS, "k-anonymity:3", algorithm)
        tables.append((sorted(release.texts.rows()), release.class_table()))
    same = [classes for rows, classes in tables if rows == tables[0][0]]
    assert len(same) > 1
    assert all(each.equals(same[0]) for each in same)


def schema_and_models(path: Path) -> tuple[ic.Schema, tuple]:
    read = ic.Policy.read(path)
    return read.schema, read.models


@pytest.mark.parametrize("values", [["flu"], ["hiv"], ["flu", "hiv"], ["flu", "cold", "hiv"]], ids=str)
def test_a_tree_of_some_values_has_their_heights(values):
    tree = ic.Hierarchy.from_nested(DISEASES)
    part = tree.restricted(values)
    assert f"{MARK}-dengue" not in part.labels
    for value in values:
        steps = [
            (each.labels[node], each.heights[node]) for each in (tree, part) for node in way(each, value)
        ]
        half = len(steps) // 2
        assert steps[:half] == steps[half:]
    for one in values:
        for other in values:
            tops = [
                each.labels[each.lca(*sorted((each.rank(one), each.rank(other))))] for each in (tree, part)
            ]
            assert tops[0] == tops[1]


def way(tree: ic.Hierarchy, value: str) -> list[int]:
    nodes = [int(tree.leaves[tree.rank(value)])]
    while nodes[-1] > 0:
        nodes.append(int(tree.parents[nodes[-1]]))
    return nodes


def test_recipes_of_values_are_not_published_and_of_sensitive_ones_in_part():
    schema = ic.Schema(
        quasi={"job": ic.Hierarchy.order(JOBS)},
        sensitive={"age": ic.Hierarchy.order(["low", "mid", "high", "top"])},
    )
    frame = pl.DataFrame({"job": JOBS, "age": ["low", "mid", "low", "mid"]})
    shown = published_policy(
        ic.Policy(schema, (ic.KAnonymity(2),)), engine_for(frame).count(schema).frequency
    ).schema
    assert shown["job"].hierarchy is None
    assert set(shown["age"].hierarchy.values) >= {"low", "mid"}
    assert not {"high", "top"} & set(shown["age"].hierarchy.values)


def test_saved_policy_is_for_its_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        policy("mondrian").write(tmp_path / "policy.toml")
    finally:
        os.umask(before)
    result = {path.relative_to(tmp_path).as_posix(): mode(path) for path in tmp_path.rglob("*")}
    assert result == {"policy.toml": 0o600, "hierarchies": 0o700} | {
        name: 0o600 for name in result if name.startswith("hierarchies/")
    }
    # With the empty file that says what was written.
    assert len(result) == 5
