"""The lattice on the command line, and the nodes."""

from __future__ import annotations

import json

import polars as pl
import pytest


@pytest.fixture
def lattice_files(tmp_path):
    """A table, and hierarchies of the table in a folder."""
    frame = pl.DataFrame(
        {
            "age": [str(age) for age in range(20, 60)],
            "zip": ["02139", "02138", "10001", "10002"] * 10,
            "s": ["x", "y"] * 20,
        }
    )
    frame.write_csv(tmp_path / "t.csv")
    folder = tmp_path / "trees"
    folder.mkdir()
    lines = [f"{age};{age // 10 * 10}s;*" for age in range(20, 60)]
    (folder / "age.csv").write_text("\n".join(lines) + "\n")
    zips = ["02139;0213*;0****;*", "02138;0213*;0****;*", "10001;1000*;1****;*", "10002;1000*;1****;*"]
    (folder / "zip.csv").write_text("\n".join(zips) + "\n")
    return str(tmp_path / "t.csv"), str(folder)


def test_the_lattice_is_shown_and_written(run, lattice_files, tmp_path):
    data, folder = lattice_files
    result = run("lattice", data, "--hierarchies", folder, "-k", "3", "--max-suppression", "0.1")
    assert result.status == 0, result.err
    assert result.out.startswith("12 nodes, ")
    assert "the best is proved" in result.out
    assert "mean risk" in result.out
    for name in ("l.parquet", "l.json"):
        written = run("lattice", data, "--hierarchies", folder, "-k", "3", "-o", str(tmp_path / name))
        assert written.status == 0, written.err
        assert f"written: {tmp_path / name}" in written.out
        again = run("lattice", data, "--hierarchies", folder, "-k", "3", "-o", str(tmp_path / name))
        assert again.status == 2
    as_json = run("lattice", data, "--hierarchies", folder, "-k", "3", "--json")
    document = json.loads(as_json.out)
    assert document == json.loads((tmp_path / "l.json").read_text())
    # With zip at level 2 as much is lost: no zip lies between. The first by its levels is taken.
    assert document["levels"] == {"age": 1, "zip": 1}
    assert (document["lattice"], document["proved"]) == (12, True)
    infeasible = run("lattice", data, "--hierarchies", folder, "-k", "3", "--levels", "age=0")
    assert infeasible.status == 1
    assert "no full-domain recoding among 4 satisfies" in infeasible.err
    assert run("lattice", data, "--hierarchies", folder, "-k", "3", "-o", "l.txt").status == 2


def test_rounds_are_told_beside_the_node_of_the_search(run, lattice_files, tmp_path):
    data, folder = lattice_files
    result = run(
        "anonymize", data, "--hierarchies", folder, "--unlisted", "drop", "-k", "3", "--max-suppression", "1",
        "--algorithm", "optimal:recode_suppressed=true", "-o", str(tmp_path / "o.csv"),
    )  # fmt: skip
    assert result.status == 0, result.err
    assert " rounds of levels; without them levels: age=" in result.out


def test_a_node_is_taken_on_the_command_line(run, lattice_files, tmp_path):
    data, folder = lattice_files
    common = ("anonymize", data, "--hierarchies", folder, "--unlisted", "drop", "-k", "3")
    out = tmp_path / "o.csv"
    result = run(*common, "--levels", "age=1,zip=3", "-o", str(out))
    assert result.status == 0, result.err
    assert "levels: age=1, zip=3; 1 of 1 nodes looked at, proved optimal" in result.out
    released = pl.read_csv(out, infer_schema=False)
    assert set(released["zip"]) == {"*"}
    assert set(released["age"]) == {"20s", "30s", "40s", "50s"}
    policy = tmp_path / "p.toml"
    optimal = run(
        *common, "--algorithm", "optimal:metric=discernibility", "-o", str(tmp_path / "p.csv"),
        "--save-policy", str(policy),
    )  # fmt: skip
    assert optimal.status == 0, optimal.err
    assert 'metric = "discernibility"' in policy.read_text()
    checked = run("verify", str(tmp_path / "p.csv"), "--policy", str(policy))
    assert checked.status == 0, checked.out + checked.err
    for wrong in ("age", "age=x", "age=-1"):
        refused = run(*common, "--levels", wrong, "-o", str(tmp_path / "q.csv"))
        assert refused.status == 2
        assert "write column=level" in refused.err
    budget = run(*common, "--algorithm", "optimal:budget=soon", "-o", str(tmp_path / "q.csv"))
    assert budget.status == 2


def test_weights_and_levels_of_a_policy_file(run, lattice_files, tmp_path):
    import incrowd as ic

    data, folder = lattice_files
    policy = tmp_path / "p.toml"
    policy.write_text(
        'version = 1\nunlisted = "drop"\n'
        f'[columns.age]\nrole = "quasi"\nhierarchy = "{folder}/age.csv"\nlevels = [0, 1]\n'
        f'[columns.zip]\nrole = "quasi"\nhierarchy = "{folder}/zip.csv"\nweight = 3\nlevels = [1]\n'
        '[[models]]\nmodel = "k-anonymity"\nk = 3\n[algorithm]\nname = "optimal"\n'
    )
    loaded = ic.Policy.read(policy)
    assert [attribute.levels for attribute in loaded.schema.quasi] == [(0, 1), (1, None)]
    assert [attribute.weight for attribute in loaded.schema.quasi] == [1, 3]
    loaded.write(tmp_path / "again.toml")
    again = ic.Policy.read(tmp_path / "again.toml")
    assert [(a.levels, a.weight) for a in again.schema.quasi] == [((0, 1), 1), ((1, None), 3)]
    result = run("anonymize", data, "--policy", str(policy), "-o", str(tmp_path / "o.csv"))
    assert result.status == 0, result.err
    assert "levels: age=1, zip=1" in result.out
    for wrong in (
        "levels = []",
        "levels = [1, 2, 3]",
        "levels = [2, 1]",
        "levels = [390]",
        "weight = -1",
        "levels = 1",
    ):
        policy.write_text(policy.read_text().replace("levels = [1]", wrong, 1))
        assert run("anonymize", data, "--policy", str(policy), "-o", str(tmp_path / "x.csv")).status == 2
        policy.write_text(policy.read_text().replace(wrong, "levels = [1]", 1))
