"""Hierarchies of 100,000 values and of 10,000 levels, where quadratic code would take minutes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.hierarchy import Hierarchy

WIDE, DEEP = 100_000, 10_000
VALUES = [f"v{number}" for number in range(WIDE)]


@pytest.fixture(scope="module")
def wide() -> Hierarchy:
    return Hierarchy.from_paths([value, f"g{number // 100}", "*"] for number, value in enumerate(VALUES))


@pytest.fixture(scope="module")
def chain() -> Hierarchy:
    """Two values below 10,000 groups, each within the next."""
    labels = [*(f"n{depth}" for depth in range(DEEP)), "a", "b"]
    return Hierarchy(labels, [*range(-1, DEEP), DEEP - 1])


@pytest.fixture(scope="module")
def comb() -> Hierarchy:
    """As deep, with a value at every level."""
    labels, parents = ["*"], [-1]
    inner = 0
    for depth in range(1, DEEP):
        labels += [f"v{depth}", f"n{depth}"]
        parents += [inner, inner]
        inner = len(labels) - 1
    return Hierarchy([*labels, "end"], [*parents, inner])


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".txt", ".csv", ".json", pytest.param(".yaml", marks=pytest.mark.slow)])
def test_very_many_values_are_written_and_read(tmp_path, wide, suffix):
    wide.write(tmp_path / f"wide{suffix}")
    assert Hierarchy.read(tmp_path / f"wide{suffix}") == wide


@pytest.mark.slow
def test_very_many_values_of_other_tools_are_read(tmp_path):
    (tmp_path / "wide.hrc").write_text("\n".join(VALUES))
    (tmp_path / "wide.txt").write_text("distinct\nname x\nheight 2\n\n* has " + " ".join(VALUES))
    for name in ("wide.hrc", "wide.txt"):
        assert list(Hierarchy.read(tmp_path / name).values) == VALUES


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".txt", ".csv"])
def test_very_many_levels_are_written_and_read(tmp_path, chain, suffix):
    chain.write(tmp_path / f"chain{suffix}")
    assert Hierarchy.read(tmp_path / f"chain{suffix}") == chain


@pytest.mark.slow
def test_very_many_levels_of_other_tools_are_read(tmp_path, chain):
    inner = chain.labels[:DEEP]
    (tmp_path / "chain.hrc").write_text(
        "\n".join("@" * int(depth) + label for label, depth in zip(chain.labels, chain.depths, strict=True))
    )
    families = [f"{above} has {below}" for above, below in zip(inner, inner[1:], strict=False)]
    (tmp_path / "chain.txt").write_text("\n".join(["distinct", "name x", *families, f"{inner[-1]} has a b"]))
    for name in ("chain.hrc", "chain.txt"):
        assert Hierarchy.read(tmp_path / name) == chain


def test_formats_that_nest_refuse_very_many_levels_and_name_others(tmp_path, chain):
    nested = "".join(f'{{"n{depth}": ' for depth in range(DEEP)) + '["a", "b"]' + "}" * DEEP
    for name in ("chain.json", "chain.yaml"):
        (tmp_path / name).write_text(nested)
        with pytest.raises(ic.HierarchyError, match=r"nested too deep.*write it as .csv or .txt"):
            Hierarchy.read(tmp_path / name)
        with pytest.raises(ic.HierarchyError, match=r"too deep for this format; use .csv or .txt"):
            chain.write(tmp_path / f"new {name}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chain.json", "chain.yaml"]


def test_nothing_is_written_that_is_too_large_to_be_read(tmp_path, comb):
    with pytest.raises(ic.HierarchyError, match=r"more than 256 MiB.*in .csv; use .txt, or fewer levels"):
        comb.write(tmp_path / "comb.csv")
    assert list(tmp_path.iterdir()) == []


def test_what_a_csv_takes_is_known_before_it_is_written(tmp_path, monkeypatch):
    tree = Hierarchy.from_paths([["aa", "g", "*"], ["b", "g", "*"], ["c", "*"]])
    tree.write(tmp_path / "t.csv")
    size = (tmp_path / "t.csv").stat().st_size
    monkeypatch.setattr("incrowd.core.hierarchy.formats._LARGEST_FILE", size)
    tree.write(tmp_path / "t.csv")
    monkeypatch.setattr("incrowd.core.hierarchy.formats._LARGEST_FILE", size - 1)
    with pytest.raises(ic.HierarchyError, match="too large"):
        tree.write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").stat().st_size == size


def test_every_level_of_very_many_is_climbed_to(chain, comb):
    # From the top down and from the bottom up: neither climbs again what was climbed.
    assert chain.climb(DEEP).tolist() == [0, 0]
    for level in range(DEEP, 0, -1):
        assert chain.depths[chain.climb(level)].tolist() == [DEEP - level] * 2
    for level in (1, 17, 4_000):
        climbed = comb.climb(level)
        assert comb.depths[climbed].tolist() == np.maximum(comb.depths[comb.leaves] - level, 0).tolist()


def test_nested_data_of_very_many_levels_is_made(chain):
    below = chain.to_nested()
    for depth in range(DEEP):
        assert list(below) == [f"n{depth}"]
        [below] = [below[f"n{depth}"]] if depth == DEEP - 1 else below[f"n{depth}"]
    assert below == ["a", "b"]


def test_a_very_deep_tree_is_drawn_and_cut(chain):
    lines = chain.draw(200).splitlines()
    assert (len(lines), lines[-1]) == (201, f"... {chain.n_nodes - 200:,} more nodes".replace(",", ""))


ALGORITHMS = (ic.Mondrian(), ic.Optimal(), ic.Datafly(), ic.BottomUp(), ic.Agglomerative())


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda each: each.name)
def test_very_many_levels_are_searched(chain, algorithm):
    table = pl.DataFrame({"q": list("ab") * 300, "age": [str(20 + row // 2 % 40) for row in range(600)]})
    schema = ic.Schema(quasi={"q": chain, "age": Hierarchy.intervals(5, 20)})
    release = ic.anonymize(table, schema, [ic.KAnonymity(8)], algorithm=algorithm)
    assert release.table.group_by("q", "age").len()["len"].min() >= 8
    short = Hierarchy.from_nested({"*": ["a", "b"]})
    other = ic.anonymize(table, ic.Schema(quasi={"q": short, "age": Hierarchy.intervals(5, 20)}),
                         [ic.KAnonymity(8)], algorithm=algorithm)  # fmt: skip
    # With one group or with 10,000 of the same values, there is as much to win.
    assert sorted(release.table.group_by("q", "age").len()["len"]) == sorted(
        other.table.group_by("q", "age").len()["len"]
    )


def test_what_is_too_deep_to_search_is_refused_and_says_how_many_levels_may_be(comb):
    table = pl.DataFrame({"q": ["v1", "v2"] * 5})
    with pytest.raises(ic.HierarchyError, match=r"10,000 values on 10,001 levels.*keep at most 2,000 levels"):
        ic.anonymize(table, ic.Schema(quasi={"q": comb}), [ic.KAnonymity(2)])


@pytest.mark.slow
def test_very_many_values_are_searched(wide):
    draw = np.random.default_rng(5)
    table = pl.DataFrame({"q": [VALUES[place] for place in draw.integers(0, WIDE, 50_000)]})
    for algorithm in (ic.Mondrian(), ic.Optimal(), ic.Datafly()):
        release = ic.anonymize(
            table,
            ic.Schema(quasi={"q": wide}),
            [ic.KAnonymity(20)],
            algorithm=algorithm,
            max_suppression=0.05,
            suppressed="keep",
        )
        sizes = release.table.filter(pl.col("q") != "*").group_by("q").len()
        assert sizes["len"].min() >= 20
        assert sizes.height > 400, algorithm
