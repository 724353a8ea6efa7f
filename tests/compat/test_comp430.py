"""The homework's functions: published figures, and a plain reading of the text on other data."""

from __future__ import annotations

import csv
import json
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import incrowd as ic
from incrowd.compat import comp430
from incrowd.compat.comp430 import (
    LM_dist,
    MD_dist,
    bottomup_anonymizer,
    clustering_anonymizer,
    cost_LM,
    cost_MD,
    dist,
    main,
    random_anonymizer,
)
from incrowd.faces.cli import app

# --- the handout --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def adult(shared_data):
    folder = shared_data / "adult-hw1"
    return str(folder / "adult-hw1.csv"), str(folder / "DGHs")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "k", "more", "distortion", "loss", "keys", "least"),
    [
        (random_anonymizer, 4, (1,), 150480, 7612.922197, 397, 4),
        (random_anonymizer, 4, (42,), 150224, 7599.124949, 407, 4),
        (random_anonymizer, 16, (1,), 178845, 9379.063131, 11, 16),
        (random_anonymizer, 16, (42,), 178717, 9362.621212, 15, 16),
        (random_anonymizer, 64, (2,), 188509, 9865.181818, 2, 1472),
        (clustering_anonymizer, 4, (), 50062, 1534.174490, 2461, 4),
        (clustering_anonymizer, 16, (), 105464, 4227.453398, 566, 16),
        (clustering_anonymizer, 64, (), 149936, 7128.107783, 95, 64),
        (bottomup_anonymizer, 4, (1,), 139986, 6131.398379, 48, 25),
        (bottomup_anonymizer, 16, (1,), 139986, 6131.398379, 48, 25),
        (bottomup_anonymizer, 64, (1,), 149985, 6537.398379, None, None),
        (bottomup_anonymizer, 16, (6,), 149985, 7065.708333, None, None),
    ],
)
def test_adult(adult, tmp_path, call, k, more, distortion, loss, keys, least, evidence):
    raw, folder = adult
    target = str(tmp_path / "out.csv")
    call(raw, folder, k, *more, target)
    setting = "".join(f", {'l' if call is bottomup_anonymizer else 'seed'} = {each}" for each in more)
    what = f"MD and LM of {call.__name__}, k = {k}{setting}"
    result = [cost_MD(raw, target, folder), cost_LM(raw, target, folder)]
    evidence("comp430", what, f"{distortion}, {loss:.6f}", result)
    if keys is not None:
        with open(target, newline="") as file:
            met = Counter(tuple(row[:-1]) for row in list(csv.reader(file))[1:])
        assert (len(met), min(met.values())) == (keys, least)


@pytest.mark.slow
def test_the_page_of_part_5_has_the_handout_s_figures(adult):
    """Random shuffles by its seed, so the rows before it are not; others run on shuffled rows."""
    raw, folder = adult
    compared = CliRunner().invoke(
        app,
        [
            *("compare", raw, "--hierarchies", folder, "--sensitive", "income", "--algorithms", "random"),
            *("-k", "4", "--seeds", "1,42", "--shuffle", "--json"),
        ],
    )
    runs = json.loads(compared.stdout)["runs"]
    assert [run["utility"]["distortion"] for run in runs] == [150480, 150224]
    sums = [run["utility"]["loss"] * 9999 for run in runs]
    assert sums == pytest.approx([7612.922197, 7599.124949], abs=1e-6)


def test_the_handout_s_table(tmp_path):
    """Zip, age, nationality: the eight records of part 1, by hand; `1485*` climbs once, `*` twice."""
    folder = tmp_path / "DGHs"
    folder.mkdir()
    (folder / "Zip.txt").write_text(
        "*****\n\t130**\n\t\t13053\n\t\t13068\n\t1485*\n\t\t14850\n\t\t14853\n", encoding="utf-8"
    )
    (folder / "Age.txt").write_text(
        "*\n\t<30\n\t\t21\n\t\t23\n\t\t28\n\t\t29\n\t>40\n\t\t47\n\t\t50\n\t\t55\n\t\t59\n"
    )
    (folder / "Nationality.txt").write_text(
        "*\n\tAsian\n\t\tJapanese\n\t\tIndian\n\tOther\n\t\tAmerican\n\t\tRussian\n"
    )
    (tmp_path / "raw.csv").write_text(
        "Zip,Age,Nationality,Disease\n13053,28,Russian,Heart\n13068,29,American,Heart\n13068,21,Japanese,Flu\n"
        "13053,23,American,Flu\n14853,50,Indian,Cancer\n14853,55,Russian,Heart\n14850,47,American,Flu\n"
        "14850,59,American,Flu\n"
    )
    (tmp_path / "out.csv").write_text(
        "Zip,Age,Nationality,Disease\n"
        + "".join(f"130**,<30,*,{d}\n" for d in ("Heart", "Heart", "Flu", "Flu"))
        + "".join(f"1485*,>40,*,{d}\n" for d in ("Cancer", "Heart", "Flu", "Flu"))
    )
    files = tmp_path / "raw.csv", tmp_path / "out.csv", folder
    assert cost_MD(*files) == 8 * (1 + 1 + 2)
    # Of four zip codes a node has two, of eight ages four, and nationality is lost.
    assert cost_LM(*files) == pytest.approx(8 * (1 / 3 + 3 / 7 + 1) / 3, abs=1e-12)
    bottomup_anonymizer(tmp_path / "raw.csv", folder, 4, 2, tmp_path / "made.csv")
    assert (tmp_path / "made.csv").read_bytes() == (tmp_path / "out.csv").read_bytes().replace(b"\n", b"\r\n")


def test_the_handout_s_distance(tmp_path):
    """Engineer and Lawyer become Professional, a third of the jobs: 1/6, 2 of at most 6 levels, and 1/2."""
    jobs = {"Any": {"Professional": ["Engineer", "Lawyer"], "Artist": ["Dancer", "Writer"]}}
    raw, folder = write(
        tmp_path,
        {"Job": jobs, "Sex": {"Any": ["Male", "Female"]}},
        [("Engineer", "Male", "Hepatitis"), ("Lawyer", "Male", "HIV")],
    )
    with open(raw, newline="") as file:
        r1, r2 = csv.DictReader(file)
    assert LM_dist(r1, r2, folder) == 1 / 6
    assert MD_dist(r1, r2, folder) == 2
    assert dist(r1, r2, folder) == dist(r2, r1, folder) == 1 / 2
    assert dist(r1, r1, folder) == 0
    for wrong, words in (
        (
            (r1, {**r2, "Job": "Hacker"}, folder),
            r"r2: column 'Job' has a value that is not in .*Job\.txt; correct",
        ),
        ((r1, {"Job": "Lawyer"}, folder), "r2: the record has no column 'Sex'"),
        (({"s": "x"}, r2, folder), "r1: the record has no column with a hierarchy in"),
        (
            (list(r1), r2, folder),
            "r1: give a record by its columns, as csv.DictReader reads it, not a value of",
        ),
    ):
        with pytest.raises(ic.InputError, match=words) as error:
            dist(*wrong)
        assert "Hacker" not in str(error.value)


CALLS = (
    lambda raw, folder, target: random_anonymizer(raw, folder, 1, 1, target),
    lambda raw, folder, target: clustering_anonymizer(raw, folder, 1, target),
    lambda raw, folder, target: bottomup_anonymizer(raw, folder, 1, 1, target),
    lambda raw, folder, target: cost_MD(raw, raw, folder),
    lambda raw, folder, target: cost_LM(raw, raw, folder),
)


@pytest.mark.parametrize("call", CALLS, ids=("random", "clustering", "bottomup", "MD", "LM"))
@pytest.mark.parametrize(
    ("rows", "hierarchy", "words"),
    [
        (
            'q,s\n"a","x\ny"\nz,y\n',
            None,
            r"raw\.csv, line 4: column 'q' has a value that is not in .*q\.txt; corr",
        ),
        ("q,s\na,x\n,y\n", None, r"raw\.csv, line 3: column 'q' has a value that is not in .*q\.txt"),
        ("q;s\na;x\n", None, r"raw\.csv, line 1: the columns are parted by ';'; part them by commas"),
        ("q\ts\na\tx\n", None, r"raw\.csv, line 1: the columns are parted by '.t'; part them by commas"),
        (
            "s\nx\n",
            None,
            "one column, the sensitive one, has no hierarchy file of its name; in .* there is none for: all",
        ),
        ("q,s\na,x\n", "R\n    A\n", r"q\.txt, line 2: a line is indented with blanks; use one tab a level"),
        ("q,s\na,x\n", "R\n;A\n", r"q\.txt, line 2: ';A' is a second root beside 'R'"),
        ("q,s\na,x\n", "R\n\tA\n\t\t\ta\n", r"q\.txt, line 3: the line is 3 levels deep under one of 1"),
        ("q,s\na,x\ny\n", None, r"raw\.csv, line 3: the line has 1 values and the header 2"),
    ],
)
def test_wrong_values_and_separators_are_named_by_file_and_line(tmp_path, call, rows, hierarchy, words):
    raw, folder = write(tmp_path, {"q": TREES[0]}, [])
    raw.write_text(rows)
    if hierarchy is not None:
        (folder / "q.txt").write_text(hierarchy)
    with pytest.raises(ic.InputError, match=words) as error:
        call(raw, folder, tmp_path / "out.csv")
    # What the command and the engine have, and these functions have not.
    assert not any(word in str(error.value) for word in ("null_values", "--", "schema", "name at least"))
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["clustering"], 1, "Usage:"),
        (["random", "D", "R", "A", "4"], 1, "random takes a seed after k"),
        (["bottomup", "D", "R", "A", "four", "1"], 1, "Usage:"),
        (["topdown", "D", "R", "A", "4"], 2, "Invalid algorithm."),
        (["clustering", "D", "nowhere.csv", "A", "4"], 2, "nowhere.csv: cannot be read"),
    ],
)
def test_wrong_command_lines(arguments, status, words, capsys):
    assert main(arguments) == status
    output = capsys.readouterr()
    assert words in output.out + output.err


def test_the_handout_s_command_line(tmp_path, capsys):
    raw, folder = write(tmp_path, {"q": TREES[0]}, [("a", "x"), ("b", "y"), ("c", "x"), ("d", "y")])
    target = tmp_path / "out.csv"
    assert main(["random", str(folder), str(raw), str(target), "2", "3"]) == 0
    md, lm = cost_MD(raw, target, folder), cost_LM(raw, target, folder)
    assert capsys.readouterr().out == f"Results of 2-anonimity:\n\tCost_MD: {md}\n\tCost_LM: {lm}\n\n"
    assert main(["bottomup", str(folder), str(raw), str(target), "5", "1"]) == 2
    assert main(["clustering", str(folder), str(raw), str(target), "0"]) == 2


def test_files_that_do_not_fit(tmp_path):
    raw, folder = write(tmp_path, {"q": TREES[0]}, [("a", "x"), ("b", "y")])
    (tmp_path / "two.csv").write_text("q,s,t\na,x,1\n")
    (tmp_path / "ragged.csv").write_text("q,s\na\n")
    (tmp_path / "empty.csv").write_text("q,s\n")
    (tmp_path / "twice.csv").write_text("q,q\na,b\n")
    (tmp_path / "other.csv").write_text("s,q\nx,a\n")
    (tmp_path / "above.csv").write_text("q,s\nC,x\nR,y\n")
    (tmp_path / "unknown.csv").write_text("q,s\nz,x\nR,y\n")
    (tmp_path / "short.csv").write_text("q,s\na,x\n")
    for file, words in (
        ("two.csv", "one column, the sensitive one, .* there is none for: 's', 't'"),
        ("ragged.csv", "line 2: the line has 1 values and the header 2"),
        ("empty.csv", "the file has no records"),
        ("twice.csv", "name every column"),
    ):
        with pytest.raises(ic.IncrowdError, match=words):
            clustering_anonymizer(tmp_path / file, folder, 1, tmp_path / "out.csv")
    with pytest.raises(ic.IncrowdError, match="the columns are not those of"):
        cost_MD(raw, tmp_path / "other.csv", folder)
    words = r"above\.csv, line 2: column 'q' has a value that is not above that of .*raw\.csv in .*q\.txt"
    with pytest.raises(ic.IncrowdError, match=words):
        cost_MD(raw, tmp_path / "above.csv", folder)
    with pytest.raises(ic.IncrowdError, match=r"short.csv has 1 records and .*raw.csv 2"):
        cost_LM(raw, tmp_path / "short.csv", folder)
    with pytest.raises(ic.HierarchyError, match=r"line 2: column 'q' has a value that is not in .*q\.txt"):
        cost_LM(tmp_path / "unknown.csv", raw, folder)
    assert not (tmp_path / "out.csv").exists()


@pytest.fixture
def one_line(tmp_path):
    """Hierarchies of a single line beside a hierarchy with an end on a higher level."""
    return write(
        tmp_path,
        {"q": {"Any": {"A": ["a", "b"], "c": []}}, "r": {"only": []}, "t": {"*": []}},
        [("a", "only", "*", "x"), ("b", "only", "*", "y"), ("c", "only", "*", "x"), ("c", "only", "*", "y")],
    )


@pytest.mark.parametrize(
    ("call", "cells"),
    [
        (lambda *files: random_anonymizer(*files[:2], 4, 1, files[2]), ["Any"] * 4),
        (lambda *files: clustering_anonymizer(*files[:2], 2, files[2]), ["A", "A", "c", "c"]),
        (lambda *files: bottomup_anonymizer(*files[:2], 2, 2, files[2]), None),
    ],
)
def test_a_hierarchy_may_be_a_root_alone(one_line, tmp_path, call, cells):
    """A hierarchy of a root alone cannot generalize, costs nothing, and weighs a third in LM."""
    raw, folder = one_line
    target = tmp_path / "out.csv"
    call(raw, folder, target)
    with open(target, newline="") as file:
        out = list(csv.reader(file))[1:]
    assert {tuple(row[1:3]) for row in out} == {("only", "*")}
    cells = cells or ["A", "A", "Any", "Any"]
    assert [row[0] for row in out] == cells
    depth, leaves = {"a": 2, "b": 2, "c": 1, "A": 1, "Any": 0}, {"A": 2, "Any": 3}
    climbed = [depth[value] - depth[label] for value, label in zip("abcc", cells, strict=True)]
    assert cost_MD(raw, target, folder) == sum(climbed)
    lost = sum(Fraction(leaves.get(label, 1) - 1, 2) for label in cells) / 3
    assert cost_LM(raw, target, folder) == float(lost)


def test_raw_values_above_others(one_line, tmp_path):
    """A value of any level is taken as written, and climbs from that level."""
    raw, folder = one_line
    (tmp_path / "raw.csv").write_text("q,r,t,s\nA,only,*,x\na,only,*,y\nAny,only,*,x\nc,only,*,x\n")
    (tmp_path / "out.csv").write_text("q,r,t,s\nAny,only,*,x\nA,only,*,y\nAny,only,*,x\nc,only,*,x\n")
    assert cost_MD(raw, tmp_path / "out.csv", folder) == 2
    assert cost_LM(raw, tmp_path / "out.csv", folder) == pytest.approx((1 + 1 / 2 + 1) / 3, abs=1e-15)
    assert cost_LM(raw, raw, folder) == pytest.approx((1 / 2 + 1) / 3, abs=1e-15)
    path = tmp_path / "made.csv"

    def cells() -> list[str]:
        with open(path, newline="") as file:
            return [row[0] for row in list(csv.reader(file))[1:]]

    # One climbs where the other stands already; a value beside itself stays.
    (tmp_path / "two.csv").write_text("q,r,t,s\nA,only,*,x\na,only,*,y\nAny,only,*,x\nAny,only,*,y\n")
    clustering_anonymizer(tmp_path / "two.csv", folder, 2, path)
    assert cells() == ["A", "A", "Any", "Any"]
    bottomup_anonymizer(tmp_path / "two.csv", folder, 2, 2, path)
    assert cells() == ["Any"] * 4
    random_anonymizer(raw, folder, 4, 1, path)
    assert cells() == ["Any"] * 4
    (tmp_path / "raw.csv").write_text("q,r,t,s\nA,only,*,x\nnobody,only,*,y\n")
    path.unlink()
    for call in (
        lambda: random_anonymizer(raw, folder, 2, 1, path),
        lambda: clustering_anonymizer(raw, folder, 2, path),
    ):
        with pytest.raises(
            ic.HierarchyError, match=r"line 3: column 'q' has a value that is not in .*q\.txt"
        ):
            call()
    assert not path.exists()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("tree", "values", "clustered", "full_domain"),
    [
        (
            {"Any": {"*": ["20", "25"], ">=30": ["30", "41"]}},
            ["20", "25", "30", "41"],
            ["*", "*", ">=30", ">=30"],
            ["*", "*", ">=30", ">=30"],
        ),
        ({"Any": {"*": [], "A": ["a", "b"]}}, ["*", "*", "a", "b"], ["*", "*", "A", "A"], None),
        ({"Any": {"A": ["*", "b"], "c": []}}, ["*", "b", "c", "c"], ["A", "A", "c", "c"], None),
        ({"*": {"A": ["a", "b"], "c": []}}, ["a", "b", "c", "c"], ["A", "A", "c", "c"], ["A", "A", "*", "*"]),
    ],
)
def test_a_star_is_a_node_like_any_other(tmp_path, tree, values, clustered, full_domain):
    """A star is no mark of a suppressed record, and none in the sensitive column either."""
    rows = list(zip(values, "*y*y", strict=True))
    raw, folder = write(tmp_path, {"q": tree}, rows)
    plain, target = Plain({"q": tree}, rows), tmp_path / "out.csv"
    climbed = [row[0] for row in plain.bottom_up(2, 2)]
    assert full_domain in (None, climbed)
    for cells, call in (
        (clustered, lambda: clustering_anonymizer(raw, folder, 2, target)),
        (climbed, lambda: bottomup_anonymizer(raw, folder, 2, 2, target)),
        ([plain.lowest(0, values)] * 4, lambda: random_anonymizer(raw, folder, 4, 1, target)),
    ):
        call()
        with open(target, newline="") as file:
            assert list(csv.reader(file))[1:] == [
                [cell, secret] for cell, secret in zip(cells, "*y*y", strict=True)
            ]


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seeds_that_numpy_refuses(tmp_path, seed):
    raw, folder = write(tmp_path, {"q": TREES[0]}, [("a", "x"), ("b", "y")])
    with pytest.raises(
        ValueError, match=r"^s: the (number must be at least 0|seed must be between 0 and 2\*\*32 - 1)"
    ):
        random_anonymizer(raw, folder, 1, seed, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    random_anonymizer(raw, folder, 1, 2**32 - 1, tmp_path / "out.csv")


def test_a_hierarchy_of_the_sensitive_column(tmp_path):
    raw, folder = write(tmp_path, {"q": TREES[0]}, [("a", "x"), ("b", "y")])
    (folder / "s.txt").write_text("Any\n\tx\n\ty\n")
    words = r"DGHs: every column of .*raw\.csv has a hierarchy file; take that of the sensitive column away$"
    with pytest.raises(ic.SchemaError, match=words):
        cost_MD(raw, raw, folder)


@pytest.mark.slow
def test_the_way_of_values_of_any_level_gives_the_same(adult, tmp_path, monkeypatch):
    """Where all values are ends, as in the course's data, the engine and the other way agree."""
    raw, folder = adult
    monkeypatch.setattr(comp430, "_by_engine", comp430._from_anywhere)
    clustering_anonymizer(raw, folder, 64, tmp_path / "out.csv")
    assert cost_MD(raw, tmp_path / "out.csv", folder) == 149936
    assert cost_LM(raw, tmp_path / "out.csv", folder) == pytest.approx(7128.107783, abs=5e-7)


# --- a plain reading of the text ----------------------------------------------------------------------

TREES = (
    {"R": {"A": ["a", "b"], "C": ["c", "d"]}},
    # Unbalanced, and a root that looks like suppression.
    {"*": {"A": {"B": ["a", "b"], "C": ["c"]}, "d": []}},
    {"Any": ["a", "b", "c", "d"]},
)


def write(folder, trees, rows):
    dghs = folder / "DGHs"
    dghs.mkdir(exist_ok=True)

    def lines(node, depth):
        items = node.items() if isinstance(node, dict) else ((leaf, []) for leaf in node)
        for label, below in items:
            yield "\t" * depth + label
            yield from lines(below, depth + 1)

    for name, tree in trees.items():
        (dghs / f"{name}.txt").write_text("\n".join(lines(tree, 0)) + "\n", encoding="utf-8")
    with open(folder / "raw.csv", "w", newline="") as file:
        csv.writer(file).writerows([(*trees, "s"), *rows])
    return folder / "raw.csv", dghs


def paths_of(tree, *, inner=False):
    """The labels above each leaf, the leaf first, and on request those above every label."""
    result = {}

    def walk(node, above):
        items = node.items() if isinstance(node, dict) else ((leaf, []) for leaf in node)
        for label, below in items:
            if below:
                walk(below, (label, *above))
            if inner or not below:
                result[label] = (label, *above)

    walk(tree, ())
    return result


class Plain:
    """The homework's text, word by word, in fractions."""

    def __init__(self, trees, rows):
        self.ends = [paths_of(tree) for tree in trees.values()]
        self.paths = [paths_of(tree, inner=True) for tree in trees.values()]
        self.rows = rows
        self.m = len(self.paths)
        self.highest = sum(2 * max(len(path) - 1 for path in paths.values()) for paths in self.paths)

    def leaves(self, j, label):
        return sum(label in path for path in self.ends[j].values())

    def lowest(self, j, values):
        path, *others = (self.paths[j][value] for value in values)
        return next(label for label in path if all(label in other for other in others))

    def cell_md(self, j, value, label):
        return self.paths[j][value].index(label)

    def cell_lm(self, j, label):
        every = len(self.ends[j])
        return Fraction(self.leaves(j, label) - 1, every - 1) / self.m

    def generalized(self, classes):
        out = [None] * len(self.rows)
        for members in classes:
            labels = [self.lowest(j, {self.rows[row][j] for row in members}) for j in range(self.m)]
            for row in members:
                out[row] = (*labels, self.rows[row][-1])
        return out

    def costs(self, out):
        cells = [(j, raw[j], new[j]) for raw, new in zip(self.rows, out, strict=True) for j in range(self.m)]
        return sum(self.cell_md(*cell) for cell in cells), sum(self.cell_lm(j, new) for j, _, new in cells)

    def distance(self, one, other):
        total = Fraction(0)
        for j in range(self.m):
            a, b = self.rows[one][j], self.rows[other][j]
            label = self.lowest(j, {a, b})
            total += self.cell_lm(j, label)
            total += Fraction(self.cell_md(j, a, label) + self.cell_md(j, b, label), self.highest)
        return total

    def random(self, k, seed):
        order = np.arange(len(self.rows)).astype(object)
        np.random.seed(seed)  # noqa: NPY002
        np.random.shuffle(order)  # noqa: NPY002
        many = max(len(order) // k, 1)
        return [order[i * k : (i + 1) * k if i < many - 1 else None] for i in range(many)]

    def clustering(self, k):
        unused, centroids, clusters, here = list(range(len(self.rows))), [], [], 0
        while len(unused) >= k:
            others = sorted((row for row in unused if row != here), key=lambda row: self.distance(here, row))
            clusters.append([here, *others[: k - 1]])
            unused = [row for row in unused if row not in clusters[-1]]
            centroids.append(here)
            if unused:
                here = max(unused, key=lambda row: sum(self.distance(row, c) for c in centroids))
        for row in unused:
            near = min(range(len(centroids)), key=lambda c: self.distance(row, centroids[c]))
            clusters[near].append(row)
        return clusters

    def bottom_up(self, k, least):
        heights = [max(len(path) - 1 for path in paths.values()) for paths in self.paths]
        nodes = sorted(
            product(*(range(height + 1) for height in heights)), key=lambda node: (sum(node), node)
        )
        best = None
        for node in nodes:
            if best is not None and sum(node) > best[0]:
                break
            out = [
                (
                    *(
                        self.paths[j][row[j]][min(node[j], len(self.paths[j][row[j]]) - 1)]
                        for j in range(self.m)
                    ),
                    row[-1],
                )
                for row in self.rows
            ]
            held = {}
            for row in out:
                held.setdefault(row[:-1], []).append(row[-1])
            if all(len(values) >= k and len(set(values)) >= least for values in held.values()):
                result = (sum(node), self.costs(out)[1], node, out)
                best = result if best is None else min(best, result)
        return None if best is None else best[-1]


@st.composite
def tasks(draw):
    trees = {f"q{j}": draw(st.sampled_from(TREES)) for j in range(draw(st.integers(1, 3)))}
    inner = draw(st.booleans())
    cells = [st.sampled_from(sorted(paths_of(tree, inner=inner))) for tree in trees.values()]
    rows = draw(st.lists(st.tuples(*cells, st.sampled_from(["x", "y", "z,1"])), min_size=1, max_size=14))
    return trees, rows


@pytest.mark.slow
@given(tasks(), st.integers(1, 5), st.integers(0, 3), st.integers(1, 3))
def test_other_data_read_once_more(tmp_path_factory, task, k, seed, least):
    trees, rows = task
    raw, dghs = write(tmp_path_factory.mktemp("case"), trees, rows)
    target = raw.with_name("out.csv")
    plain = Plain(trees, rows)
    records = [dict(zip((*trees, "s"), row, strict=True)) for row in (rows[0], rows[-1])]
    assert dist(*records, dghs) == pytest.approx(float(plain.distance(0, len(rows) - 1)), abs=1e-12)

    def check(out):
        with open(target, newline="") as file:
            header, *written = [tuple(row) for row in csv.reader(file)]
        assert header == (*trees, "s")
        assert written == out
        md, lm = plain.costs(out)
        assert cost_MD(raw, target, dghs) == md
        assert cost_LM(raw, target, dghs) == pytest.approx(float(lm), abs=1e-9)

    if len(rows) < k:
        for call in (random_anonymizer, bottomup_anonymizer):
            with pytest.raises(ic.IncrowdError):
                call(raw, dghs, k, 1, target)
        with pytest.raises(ic.IncrowdError):
            clustering_anonymizer(raw, dghs, k, target)
        assert not target.exists()
        return
    random_anonymizer(raw, dghs, k, seed, target)
    check(plain.generalized(plain.random(k, seed)))
    clustering_anonymizer(raw, dghs, k, target)
    check(plain.generalized(plain.clustering(k)))
    out = plain.bottom_up(k, least)
    if out is None:
        with pytest.raises(ic.IncrowdError):
            bottomup_anonymizer(raw, dghs, k, least, target)
    else:
        bottomup_anonymizer(raw, dghs, k, least, target)
        check(out)
