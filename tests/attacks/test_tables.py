"""Differencing of count tables: several tables together, and groups that differ by a single person."""

from __future__ import annotations

import csv
import json

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.attacks.tables import differencing
from incrowd.core.errors import ParameterError, TableError
from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.release.tables.cells import Axis, with_totals

VALUES = dict(zip("GHIJKLMN", (2, 2, 8, 8, 3, 3, 3, 7), strict=True))
ROWS = {"*": {"r1": list("GHIJ"), "r2": list("KLMN")}}
COLUMNS = {"*": {"c1": list("GHKN"), "c2": list("IJLM")}}
SCHEMA = ic.Schema(
    quasi={"area": ic.Hierarchy.from_nested({"*": {"north": ["a", "b"], "south": ["c", "d", "e"]}})},
    sensitive=["ill"],
    unlisted="drop",
)
TABLE = ic.CountTable("area-ill", rows=["area"], columns=["ill"], threshold=4)


def folder(path, hidden, values=VALUES, **tables):
    """Write a folder of tables with a single column, without a digest."""
    entries = []
    path.mkdir()
    for name, nested in tables.items():
        axis = Axis("cell", Hierarchy.from_nested(nested))
        counts = with_totals(np.array([values[leaf] for leaf in axis.tree.values]), [axis])
        with (path / f"{name}.csv").open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["cell", "people", "mark"])
            for code, count in zip(axis.codes, counts, strict=True):
                lines.writerow([code, "", "x"] if code in hidden else [code, int(count), ""])
        entries.append(
            {
                "name": name,
                "rows": ["cell"],
                "quantity": "people",
                "threshold": 4,
                "width": 4,
                "protect": "suppress",
                "zeros": "hide",
                "dimensions": [
                    {
                        "column": "cell",
                        "codes": list(axis.codes),
                        "under": axis.tree.parents.tolist(),
                        "overlapping": False,
                    }
                ],
            }
        )
    document = {"format": "incrowd tables", "version": 1, "files": {}, "tables": entries}
    (path / "tables.json").write_text(json.dumps(document))
    return path


def people(seed=1, rows=400):
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "area": draw.choice(list("abcde"), rows, p=[0.4, 0.3, 0.2, 0.07, 0.03]),
            "ill": draw.choice(["flu", "gout", "hiv", "none"], rows, p=[0.3, 0.1, 0.02, 0.58]),
        }
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("apart", [False, True])
def test_two_margins_tell_a_cell_that_neither_tells(tmp_path, apart):
    """In a folder or in two, K is in [0, 9] by a table, in [0, 7] by the other, and 3 by both."""
    for name, nested, widest in (("rows", ROWS, 9), ("columns", COLUMNS, 7)):
        alone = differencing([folder(tmp_path / name, "GHKLM", t=nested)])
        assert alone.figures["disclosed"] == 0
        assert 0 < alone.figures["narrowest"] <= widest
    if apart:
        folders = [tmp_path / "rows", tmp_path / "columns"]
    else:
        folders = [folder(tmp_path / "both", "GHKLM", rows=ROWS, columns=COLUMNS)]
    result = differencing(folders)
    assert result.attacks == 5
    # G and H add up to 4, and so do no two others: K alone is told.
    assert result.figures["disclosed"] == 1
    assert result.figures["narrowest"] == 0
    assert result.figures["disclosed_by_one_table"] == 0
    assert result.main.value > result.baseline.value
    assert "in one call, or with a ledger" in result.remarks[0]
    cured = differencing([folder(tmp_path / "cured", "GHKLMN", rows=ROWS, columns=COLUMNS)])
    assert cured.figures["disclosed"] == 0
    assert cured.attacks == 6


def test_a_cell_that_one_table_hides_and_another_shows_is_told(tmp_path):
    folders = [folder(tmp_path / name, hidden, t=ROWS) for name, hidden in (("one", "GH"), ("two", "HI"))]
    result = differencing(folders)
    assert result.attacks == 3
    assert result.figures["disclosed"] == 3
    assert result.figures["disclosed_by_one_table"] == 0


@pytest.mark.slow
def test_groups_that_differ_by_one_person_tell_that_person(tmp_path):
    table = people()
    for name, rows in (("all", table), ("but-one", table.head(399))):
        ic.tabulate(rows, ic.Policy(SCHEMA), [TABLE]).save(tmp_path / name)
    alone = differencing([tmp_path / "all"])
    assert alone.figures["small_shown"] == 0
    assert alone.figures["between_groups"] == 0
    result = differencing([tmp_path / "but-one", tmp_path / "all"])
    # Each cell of the person that both show differs by one: the total at least.
    [area, ill] = table.row(399)
    above = ["Total", "north" if area in "ab" else "south", area]
    frames = [
        pl.read_csv(tmp_path / name / "area-ill.csv").filter(
            pl.col("area").is_in(above), pl.col("ill").is_in(["Total", ill]), pl.col("people").is_not_null()
        )
        for name in ("all", "but-one")
    ]
    both = frames[0].join(frames[1], on=["area", "ill"])
    assert len(both) >= 2
    assert (both["people"] - both["people_right"] == 1).all()
    # Beside these a cell of all may hold one of the other folder, and few people more.
    assert result.figures["between_groups"] >= len(both)
    assert "refuses groups that differ by few people" in " ".join(result.remarks)
    assert "2 groups of people" in result.remarks[0]


def test_a_group_within_another_narrows_what_both_hide(tmp_path):
    """G and H are hidden of 12 people, H and I of 11 of the same: the person left out is G, H or I."""
    tree = {"*": ["G", "H", "I"]}
    folders = [
        folder(tmp_path / "all", "GH", t=tree),
        folder(tmp_path / "but-one", "HI", VALUES | {"H": 1}, t=tree),
    ]
    assert [differencing([each]).figures["narrowest"] for each in folders] == [4, 9]
    result = differencing(folders)
    assert result.attacks == 4
    assert result.figures["narrowest"] == 1
    assert result.figures["disclosed"] == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("protect", ["round", "cell-key"])
def test_cells_that_are_no_true_counts_are_hidden(tmp_path, monkeypatch, protect):
    monkeypatch.setenv("TABLE_KEY", "5f0c8e7a1b9d3c62e4a87f15d02b6c93ab41e8d7f6209c5b3e1a7d84c09f62b5")
    key = {"key": "env:TABLE_KEY"} if protect == "cell-key" else {}
    schema = ic.Schema(quasi=["area"], sensitive=["ill"], person="who", unlisted="drop")
    layout = ic.CountTable("t", rows=["area"], columns=["ill"], protect=protect, **key)
    for name, rows in (("all", 400), ("but-one", 399)):
        table = people().with_row_index("who").with_columns(pl.format("p{}", "who").alias("who")).head(rows)
        ic.tabulate(table, ic.Policy(schema), [layout]).save(tmp_path / name)
    result = differencing([tmp_path / "all", tmp_path / "but-one"])
    assert result.attacks == result.figures["cells"]
    assert result.figures["small_differences"] == 0


def test_a_difference_of_two_published_cells_is_counted(tmp_path):
    few = differencing([folder(tmp_path / "few", "GH", t={"*": {"r1": ["G", "H", "I"]}})])
    # r1 of 12 less I of 8 are 4 people, and so is the total less I: no small group.
    assert few.figures["small_differences"] == 0
    small = differencing([folder(tmp_path / "small", "GH", t={"*": {"r1": ["G", "N"], "r2": ["H", "I"]}})])
    # r1 of 9 less N of 7 are 2 people, and r2 of 10 less I of 8 are 2.
    assert small.figures["small_differences"] == 2
    assert small.figures["disclosed"] == small.figures["disclosed_by_one_table"] == 2


@pytest.mark.slow
def test_groups_of_which_none_is_a_part_of_another_are_attacked_alone(tmp_path):
    for name, seed in (("one", 1), ("two", 2)):
        ic.tabulate(people(seed), ic.Policy(SCHEMA), [TABLE]).save(tmp_path / name)
    result = differencing([tmp_path / "one", tmp_path / "two"])
    assert result.figures["between_groups"] == 0
    assert "not a part of each other" in result.remarks[0]
    assert result.figures["disclosed"] == 0


def test_a_wrong_folder_is_named(tmp_path):
    with pytest.raises(ParameterError, match="name a folder"):
        differencing([])
    with pytest.raises(ParameterError, match=r"has no tables\.json"):
        differencing([tmp_path])
    place = folder(tmp_path / "t", "G", t=ROWS)
    text = (place / "t.csv").read_text()
    (place / "t.csv").write_text(text.replace("r2,16,", "r2,17,"))
    with pytest.raises(TableError):
        differencing([place])


def _opened(place, shown):
    """Show some hidden cells of a one-column folder, and leave out the digests."""
    manifest = json.loads((place / "tables.json").read_text())
    manifest["files"] = {}
    (place / "tables.json").write_text(json.dumps(manifest))
    lines = [line.split(",") for line in (place / "t.csv").read_text().splitlines()]
    lines = [[code, str(shown[code]), '""'] if code in shown else [code, *rest] for code, *rest in lines]
    (place / "t.csv").write_text("\n".join(map(",".join, lines)) + "\n")


@pytest.mark.parametrize("same", [False, True])
def test_people_who_know_their_own_part_compute_that_of_others(tmp_path, same):
    rows = [(1, "a", 100), (1 if same else 2, "b", 60), *((10 + n, "cde"[n % 3], 20 + n) for n in range(30))]
    frame = pl.DataFrame(rows, schema=["who", "g", "v"], orient="row")
    policy = ic.Policy(ic.Schema(person="who", quasi={"g": ic.Hierarchy.flat()}, insensitive=["v"]))
    layout = ic.CountTable("t", rows=["g"], sum="v", threshold=3, p_percent=20.0)
    release = ic.tabulate(frame, policy, [layout])
    release.save(tmp_path / "out")
    assert differencing([tmp_path / "out"], frame, policy).figures["told_to_insiders"] == 0
    hidden = set(release["t"].filter(pl.col("mark") == "x")["g"]) - {"a", "b"}
    sums = dict(frame.group_by("g").agg(pl.col("v").sum()).rows())
    _opened(tmp_path / "out", {code: float(sums[code]) for code in hidden})
    assert differencing([tmp_path / "out"], frame, policy).figures["told_to_insiders"] == 2


@pytest.mark.slow
def test_a_copy_of_a_column_tells_what_the_column_hides(tmp_path):
    """Each folder alone is safe, and the first hides a cell that the other shows under another name."""
    draw = np.random.default_rng(3)
    frame = pl.DataFrame({"g": draw.choice(list("abcde"), 60, p=[0.3, 0.3, 0.3, 0.06, 0.04])})
    frame = frame.with_columns(copy=pl.col("g"))
    policy = ic.Policy(ic.Schema(quasi={"g": ic.Hierarchy.flat(), "copy": ic.Hierarchy.flat()}))
    layouts = [
        ic.CountTable("one", rows=["g"], cost="cells"),
        ic.CountTable("two", rows=["copy"], threshold=2),
    ]
    folders = [tmp_path / "one", tmp_path / "two"]
    for layout, place in zip(layouts, folders, strict=True):
        ic.tabulate(frame, policy, [layout]).save(place)
    assert differencing(folders, frame, policy).figures["told_to_insiders"] > 0
    ic.tabulate(frame, policy, layouts).save(tmp_path / "both")
    assert differencing([tmp_path / "both"], frame, policy).figures["told_to_insiders"] == 0


def test_a_sum_of_small_hidden_counts_is_seen(tmp_path):
    tables = folder(tmp_path / "t", "GH", {"G": 1, "H": 2, "I": 30}, t={"*": ["G", "H", "I"]})
    assert differencing([tables]).figures["small_unions"] == 1
