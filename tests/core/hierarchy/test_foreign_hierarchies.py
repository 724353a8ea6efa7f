"""Code lists of ARGUS and hierarchies of Amnesia: read here, and a second time by the verifier."""

from __future__ import annotations

import pytest

import incrowd as ic
from incrowd_verify.tree_files import tree_in

FILES = {
    "regions.hrc": "N\n@N1\n@@N11\n@@N12\n@N2\nS\n@S1\n",
    "one root.hrc": "All\n@N\n@@N1\n@@N2\n@S\n@@S1\n",
    "ranges.txt": "range\nname age\ntype int\nheight 3\n\n0,2 has 0,1 1,2\n\n0,4 has 0,2 3,4\n\n",
    "amnesia.txt": "distinct\nname region\ntype string\nheight 3\n\nN has N1 N2\nS has S1\n\nAll has N S\n\n",
}
PATHS = {
    "regions.hrc": [("N11", "N1", "N", "*"), ("N12", "N1", "N", "*"), ("N2", "N", "*"), ("S1", "S", "*")],
    "one root.hrc": [("N1", "N", "All"), ("N2", "N", "All"), ("S1", "S", "All")],
    "ranges.txt": [
        ("0", "[0-0]", "[0-2]", "[0-4]"),
        ("1", "[1-2]", "[0-2]", "[0-4]"),
        ("2", "[1-2]", "[0-2]", "[0-4]"),
        ("3", "[3-4]", "[0-4]"),
        ("4", "[3-4]", "[0-4]"),
    ],
    "amnesia.txt": [("N1", "N", "All"), ("N2", "N", "All"), ("S1", "S", "All")],
}


@pytest.mark.parametrize("name", FILES)
def test_they_are_read_twice_alike(tmp_path, name):
    path = tmp_path / name
    path.write_text(FILES[name])
    tree = ic.Hierarchy.read(path)
    assert [tree.path(rank) for rank in range(tree.n_leaves)] == PATHS[name]
    second = tree_in(path)
    for leaf, *above in PATHS[name]:
        labels = [second.labels[node] for node in second.way_up(leaf)]
        assert labels in (above, [leaf, *above], [leaf, *above[:-1]])
    assert set(second.leaves) == {leaf for leaf, *_ in PATHS[name]}


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.hrc", "N\n@@N11\n", "line 2: the code is 2 levels deep"),
        ("a.hrc", "", "empty|no "),
        ("a.txt", "range\nname age\ntype int\n\n0,9 has 0,4 6,9\n", "line 5: .* part it in order"),
        ("a.txt", "range\nname age\ntype int\n\n0,9 has 0,4 5,8\n", "line 5: .* part it in order"),
        ("a.txt", "range\nname age\ntype int\n\n0,9 has young old\n", "no range of whole numbers"),
        ("a.txt", "range\nname age\ntype int\n\n0,9000000 has 0,5 6,9000000\n", "1,000,000 numbers"),
        (
            "a.txt",
            "range\nname x\ntype decimal\n\n0,2 has 0,1 1,2\n\n0,4 has 0,2 2,4\n",
            r"hierarchy = \{ intervals = \[1, 2\], origin = 0 \}",
        ),
        ("a.txt", "range\nname x\ntype date\n\n1/2020,2/2020 has 1/2020,1/2020\n", "dates = true"),
        (
            "a.txt",
            "distinct\nname r\n\nN has a b\nS has b c\n\nAll has N S\n",
            "'b' has two parents, 'N' and 'S'",
        ),
        ("a.txt", "distinct\nname r\n\nN has a b\nS has c\n", "2 labels have no parent"),
    ],
)
def test_what_is_no_tree_is_refused_with_the_place(tmp_path, name, text, why):
    (tmp_path / name).write_text(text)
    with pytest.raises(ic.HierarchyError, match=why):
        ic.Hierarchy.read(tmp_path / name)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FILES)
def test_a_policy_may_name_them_and_the_verifier_agrees(tmp_path, name):
    (tmp_path / name).write_text(FILES[name])
    leaves = [path[0] for path in PATHS[name]]
    (tmp_path / "t.csv").write_text("region\n" + "".join(f"{leaf}\n" for leaf in leaves * 2 + leaves[:1]))
    (tmp_path / "p.toml").write_text(
        f'version = 1\nmax_suppression = 0.6\n[columns.region]\nrole = "quasi"\nhierarchy = "{name}"\n'
        '[[models]]\nmodel = "k-anonymity"\nk = 3\n[algorithm]\nname = "optimal"\n'
    )
    release = ic.anonymize(tmp_path / "t.csv", ic.Policy.read(tmp_path / "p.toml"))
    release.write(tmp_path / "safe.csv")
    assert ic.verify(tmp_path / "safe.csv", tmp_path / "p.toml").ok


def test_a_text_that_only_begins_alike_is_a_tree_of_tabs(tmp_path):
    (tmp_path / "a.txt").write_text("distinct\n\tname\n\tother\n")
    assert set(ic.Hierarchy.read(tmp_path / "a.txt").values) == {"name", "other"}
    assert set(tree_in(tmp_path / "a.txt").leaves) == {"name", "other"}
