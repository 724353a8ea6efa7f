"""Hierarchy files that are hard to write, hard to read, or wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.errors import HierarchyError
from incrowd.core.hierarchy import Hierarchy, find_files

SUFFIXES = [".txt", ".csv", ".json", ".yaml"]
ODD = ["a", "Z", "0", ";", ",", '"', "'", "\n", "\r", "\t", " ", "#", ":", "-", "*", "\\", "\ufeff", "\x85"]
ODD += ["\u2028", "\u2029", "\x0c", "\x00", "\x1b", "\xa0", "é", "😀", "~", "[", "{", "&", "!", "%", "|"]


@st.composite
def odd_trees(draw):
    """Trees with labels of characters that are hard for file formats, where a child may repeat a parent."""
    labels = draw(
        st.lists(st.text(st.sampled_from(ODD), min_size=1, max_size=5), min_size=2, max_size=12, unique=True)
    )
    children: list[list[int]] = [[] for _ in labels]
    for node in range(1, len(labels)):
        children[draw(st.integers(0, node - 1))].append(node)
    repeats = draw(st.sets(st.integers(0, len(labels) - 1), max_size=2))

    def below(node: int) -> list[object]:
        items: list[object] = [{labels[child]: below(child)} for child in children[node]]
        return [labels[node], *items] if node in repeats and items else items

    return Hierarchy.from_nested({labels[0]: below(0)})


@given(odd_trees(), st.sampled_from(SUFFIXES))
def test_a_file_holds_the_tree_or_is_refused(tmp_path_factory, tree, suffix):
    path = tmp_path_factory.mktemp("odd") / f"tree{suffix}"
    refusal = ""
    try:
        tree.write(path)
    except HierarchyError as error:
        refusal = str(error)
    if not refusal:
        assert Hierarchy.read(path) == tree
        return
    assert suffix in (".txt", ".csv")
    assert "this format cannot hold" in refusal
    assert not path.exists()
    if suffix == ".csv":
        assert tree.labels[0] in tree.labels[1:]


def test_an_arx_file_has_no_place_for_the_root_below_itself(tmp_path):
    for inside in (["*", "a"], [{"*": ["a", "b"]}, "c"]):
        with pytest.raises(HierarchyError, match="cannot hold a node right under the root"):
            Hierarchy.from_nested({"*": inside}).write(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("text", "line"),
    [("a;A;*\n\n\nb;A;*\na;B;*\n", 5), ('"a\nx";A;*\nb;A;*\nb;B;*\n', 4), ("a;A;*\r\n\r\na;B;*\r\n", 3)],
)
def test_lines_of_arx_files_are_those_of_the_file(tmp_path, text, line):
    (tmp_path / "t.csv").write_bytes(text.encode())
    with pytest.raises(HierarchyError, match=f"t.csv, line {line}: .* has two parents"):
        Hierarchy.read(tmp_path / "t.csv")


def test_a_line_too_short_and_a_quote_left_open_name_their_line(tmp_path):
    (tmp_path / "t.csv").write_text("a;A;*\nb\n")
    with pytest.raises(HierarchyError, match="line 2: a path needs a value"):
        Hierarchy.read(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text('a;A;*\nb;"A;*\n')
    with pytest.raises(HierarchyError, match="line 2: not a readable CSV"):
        Hierarchy.read(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ('17,"[15; 20[",*\n18,"[15; 20[",*\n', ("*", "[15; 20[", "17", "18")),
        ('17;"[15, 20[";*\n18;"[15, 20[";*\n', ("*", "[15, 20[", "17", "18")),
        ("a, b;A, B;*\nc, d;A, B;*\n", ("*", "A, B", "a, b", "c, d")),
    ],
)
def test_the_delimiter_is_not_the_one_inside_labels(tmp_path, text, labels):
    (tmp_path / "t.csv").write_text(text)
    assert Hierarchy.read(tmp_path / "t.csv").labels == labels


def test_words_of_json_are_no_labels(tmp_path):
    for word in ("true", "null"):
        (tmp_path / "t.json").write_text(f'{{"*": ["a", {word}]}}')
        with pytest.raises(HierarchyError, match=r"t.json: a label must be a text, got (True|None)"):
            Hierarchy.read(tmp_path / "t.json")
    (tmp_path / "t.json").write_text('{"*": [1.0, 1e3, 007e0]}'.replace("007e0", "NaN"))
    assert Hierarchy.read(tmp_path / "t.json").values == ("1.0", "1e3", "NaN")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.json", "".join(f'{{"a{i}":' for i in range(100_000)) + '["x"]' + "}" * 100_000),
        ("t.yaml", "[" * 3000),
    ],
)
def test_files_nested_without_end(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(HierarchyError, match=f"{name}: nested too deep"):
        Hierarchy.read(tmp_path / name)


@pytest.mark.slow
def test_a_key_twice_among_many(tmp_path):
    """Quadratic, this would take minutes."""
    keys = ",".join(f'"{i}":[]' for i in [*range(100_000), 99_999])
    (tmp_path / "t.json").write_text(f'{{"*":{{{keys}}}}}')
    with pytest.raises(HierarchyError, match="'99999' stands twice"):
        Hierarchy.read(tmp_path / "t.json")


def test_unknown_encoding_and_folders_that_are_not_there(tmp_path):
    tree = Hierarchy.from_nested({"*": ["a"]})
    tree.write(tmp_path / "t.csv")
    with pytest.raises(HierarchyError, match="'utf-9' is no known encoding"):
        Hierarchy.read(tmp_path / "t.csv", encoding="utf-9")
    with pytest.raises(HierarchyError, match="none does not exist"):
        tree.write(tmp_path / "none" / "t.csv")
    with pytest.raises(HierarchyError, match="no valid Unicode"):
        Hierarchy.from_nested({"*": ["\ud800"]}).write(tmp_path / "t.json")


@pytest.mark.few(1)
@pytest.mark.parametrize("levels", [201, 600, 3000])
def test_trees_too_deep_for_a_format(tmp_path, levels):
    """Python 3.13 writes 600 nested levels as JSON and fails to read them, so the depth has a limit."""
    tree = Hierarchy.prefix().build(["x" * levels], "c")
    for suffix in (".json", ".yaml"):
        with pytest.raises(HierarchyError, match="too deep for this format"):
            tree.write(tmp_path / f"t{suffix}")
    tree.write(tmp_path / "t.csv")
    assert Hierarchy.read(tmp_path / "t.csv") == tree


def test_the_deepest_nested_tree_is_read_again(tmp_path):
    tree = Hierarchy.prefix().build(["x" * 200], "c")
    tree.write(tmp_path / "t.json")
    assert Hierarchy.read(tmp_path / "t.json") == tree


def test_every_file_that_people_published(shared_data):
    files = sorted(shared_data.glob("petworks/*/*_hierarchy/*.csv"))
    trees = {p.stem: Hierarchy.read(p) for p in files if p.parts[-3:] != ("adult", "adult_hierarchy", p.name)}
    assert {name: tree.height + 1 for name, tree in trees.items()} == {
        "delta_hierarchy_age": 2, "delta_hierarchy_nationality": 3, "delta_hierarchy_salary-class": 2,
        "delta_hierarchy_zip": 3, "disease_hierarchy_Age": 2, "disease_hierarchy_Disease": 4,
        "disease_hierarchy_ZIPCode": 5, "patient_hierarchy_Age": 3, "patient_hierarchy_Disease": 4,
        "patient_hierarchy_ZIPCode": 6, "presence_hierarchy_age": 4, "presence_hierarchy_nationality": 4,
        "presence_hierarchy_zip": 6,
    }  # fmt: skip


def test_the_levels_that_anjana_states(shared_data):
    """The heights in the README of the published files count the raw values as a level."""
    levels = {
        path.stem: Hierarchy.read(path).height + 1
        for path in (shared_data / "anjana" / "hierarchies").glob("*.csv")
    }
    assert levels == {
        "age": 7, "workclass": 3, "education": 4, "marital": 3, "occupation": 3, "race": 2, "sex": 2,
        "country": 3, "salary": 2,
    }  # fmt: skip


def names(folder, columns):
    return {column: path.name for column, path in find_files(folder, columns).items()}


def test_a_file_is_of_the_longest_column_that_it_names(tmp_path):
    for name in ("adult_hierarchy_marital_status.csv", "salary_class.csv"):
        (tmp_path / name).touch()
    columns = ["status", "marital_status", "class", "salary_class"]
    expected = {"marital_status": "adult_hierarchy_marital_status.csv", "salary_class": "salary_class.csv"}
    assert names(tmp_path, columns) == expected
    assert names(tmp_path, columns[::-1]) == expected
    (tmp_path / "adult_hierarchy_status.csv").touch()
    assert names(tmp_path, columns) == expected | {"status": "adult_hierarchy_status.csv"}


def test_case_and_the_underscore_count(tmp_path):
    for name in ("Age.txt", "homepage.csv", "hierarchy_sex.yml"):
        (tmp_path / name).touch()
    assert names(tmp_path, ["age", "page", "sex"]) == {"sex": "hierarchy_sex.yml"}


def test_every_format_that_is_read_is_looked_for(tmp_path):
    (tmp_path / "region.hrc").write_text("North\n@Bergen\n@Oslo\nSouth\n@Rome\n")
    assert names(tmp_path, ["region"]) == {"region": "region.hrc"}
    assert Hierarchy.read(tmp_path / "region.hrc").n_leaves == 3
    (tmp_path / "region.hrc").rename(tmp_path / "region.orc")
    assert names(tmp_path, ["region"]) == {}


def test_two_files_for_a_column(tmp_path):
    for name in ("age.txt", "age.csv"):
        (tmp_path / name).touch()
    with pytest.raises(HierarchyError, match=r"'age' has several hierarchies, age.csv and age.txt; keep one"):
        find_files(tmp_path, ["age"])
