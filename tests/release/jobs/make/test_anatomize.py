"""Anatomy: the permitted and forbidden content of the two tables."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from local_readings import scattered

SCHEMA = ic.Schema(quasi=["age", "zip"], sensitive=["disease"], insensitive=["note"], identifying=["name"])


@st.composite
def people(draw):
    rows = draw(st.integers(2, 60))
    column = lambda values: st.lists(st.sampled_from(values), min_size=rows, max_size=rows)  # noqa: E731
    return pl.DataFrame(
        {
            "name": [f"person {row}" for row in range(rows)],
            "age": draw(column([20, 30, None])),
            "zip": draw(column(["02138", "02139", "10001"])),
            "disease": draw(column(["flu", "cold", "gout", "mumps", None])),
            "note": draw(column(["a", "b"])),
        },
        schema_overrides={"age": pl.Int64, "disease": pl.String},
    )


@given(people(), st.integers(1, 4), st.integers(0, 9))
def test_groups_have_every_value_once(table, l, seed):  # noqa: E741
    values = table["disease"].to_list()
    most = max(Counter(values).values())
    possible = most * l <= len(values) and l <= len(set(values))
    if not possible:
        kind = ic.ParameterError if l > len(set(values)) else ic.InfeasibleError
        with pytest.raises(kind, match="'disease'"):
            ic.anatomize(table, SCHEMA, [ic.LDiversity(l)], seed=seed)
        return
    anatomy = ic.anatomize(table, SCHEMA, [ic.LDiversity(l)], seed=seed)
    quasi, sensitive = anatomy.quasi_table, anatomy.sensitive_table
    # Everything but the sensitive and the identifying column is as it was, row by row.
    assert quasi.drop("group").equals(table.select("age", "zip", "note"))
    assert sensitive.columns == ["group", "disease", "count"]
    assert sensitive["count"].to_list() == [1] * len(table)
    sizes = Counter(quasi["group"])
    assert sorted(sizes) == list(range(1, anatomy.groups + 1))
    for group, size in sizes.items():
        held = sensitive.filter(pl.col("group") == group)["disease"].to_list()
        assert len(held) == len(set(held)) == size >= l
    assert Counter(sensitive["disease"]) == Counter(values)
    # The values that really belong to a group's rows are the ones in the sensitive table.
    for group in sizes:
        real = [values[row] for row, number in enumerate(quasi["group"]) if number == group]
        assert Counter(real) == Counter(sensitive.filter(pl.col("group") == group)["disease"].to_list())
    assert anatomy.l == l
    assert anatomy.privacy.reached("l-diversity") == min(sizes.values())


def test_the_same_seed_gives_the_same_tables_on_any_kind_of_frame():
    table = scattered(200, 4).select("n", "t", "c")
    schema = ic.Schema(quasi=["n", "t"], sensitive=["c"])
    first = ic.anatomize(table, schema, [ic.LDiversity(3)], seed=7)
    assert isinstance(first.quasi_table, pl.DataFrame)
    for other in (table.clone(), table.to_pandas(), table.to_arrow()):
        again = ic.anatomize(other, schema, [ic.LDiversity(3)], seed=7)
        assert type(again.quasi_table) is type(other)
        for mine, theirs in zip(
            (first.quasi_table, first.sensitive_table),
            (again.quasi_table, again.sensitive_table),
            strict=True,
        ):
            frame = theirs if isinstance(theirs, pl.DataFrame) else pl.DataFrame(theirs)
            assert frame.rows() == mine.rows()
    assert isinstance(pd.DataFrame(), pd.DataFrame)
    assert isinstance(pa.table({}), pa.Table)
    other_seed = ic.anatomize(table, schema, [ic.LDiversity(3)], seed=8)
    assert not other_seed.quasi_table.equals(first.quasi_table)


def test_a_known_seed_does_not_undo_the_groups():
    """Swapping two people's values changes which groups all others are in, not only theirs."""
    table = scattered(300, 9).select("n", "c")
    schema = ic.Schema(quasi=["n"], sensitive=["c"])
    values = table["c"].to_list()
    other = next(row for row, value in enumerate(values) if value != values[0])
    swapped = [*values]
    swapped[0], swapped[other] = swapped[other], swapped[0]
    one = ic.anatomize(table, schema, [ic.LDiversity(3)]).quasi_table["group"]
    two = ic.anatomize(table.with_columns(pl.Series("c", swapped)), schema, [ic.LDiversity(3)]).quasi_table[
        "group"
    ]
    assert (one != two).sum() > 200


def test_larger_groups_where_another_model_asks_for_them():
    table = pl.DataFrame({"q": range(60), "s": ["a", "b", "c", "d", "e", "f"] * 10})
    schema = ic.Schema(quasi=["q"], sensitive=["s"])
    anatomy = ic.anatomize(table, schema, [ic.LDiversity(2), ic.TCloseness(0.34, distance="equal")])
    assert anatomy.l == 4
    uneven = table.with_columns(pl.Series("s", ["a"] * 12 + ["b", "c", "d", "e", "f", "g"] * 8))
    with pytest.raises(ic.InfeasibleError, match="no groups of 2 to 5 different values"):
        ic.anatomize(uneven, schema, [ic.LDiversity(2), ic.TCloseness(0.01, distance="equal")])


def test_entropy_and_recursive_diversity():
    table = pl.DataFrame({"q": range(60), "s": ["a", "b", "c", "d", "e", "f"] * 10})
    schema = ic.Schema(quasi=["q"], sensitive=["s"])
    assert ic.anatomize(table, schema, [ic.LDiversity(2.5, kind="entropy")]).l == 3
    assert ic.anatomize(table, schema, [ic.LDiversity(3, kind="recursive", c=0.5)]).l == 5


@pytest.mark.parametrize(
    ("schema", "models", "words"),
    [
        (SCHEMA, [], "needs an l-diversity model"),
        (SCHEMA, [ic.LDiversity(2), ic.KAnonymity(2)], "so k-anonymity cannot hold"),
        (SCHEMA, [ic.LDiversity(2), ic.MaximumRisk(0.5)], "so maximum-risk cannot hold"),
        (
            ic.Schema(quasi=["age"], sensitive=["zip", "disease"], unlisted="drop"),
            [ic.LDiversity(2)],
            "names 2",
        ),
        (ic.Schema(quasi=["age"], unlisted="drop"), [ic.LDiversity(2)], "names 0"),
        (ic.Schema(quasi=["age"], sensitive=["disease"]), [ic.LDiversity(2)], "no role was given"),
    ],
)
def test_what_it_refuses(schema, models, words):
    table = pl.DataFrame(
        {"name": ["x", "y"], "age": [1, 2], "zip": ["a", "b"], "disease": ["flu", "cold"], "note": ["n", "n"]}
    )
    with pytest.raises(ic.InputError, match=words):
        ic.anatomize(table, schema, models)


def test_names_and_suppressed_records_are_refused():
    table = pl.DataFrame({"group": ["a", "b"], "s": ["x", "y"]})
    with pytest.raises(ic.SchemaError, match="'group': the result needs this name"):
        ic.anatomize(table, ic.Schema(quasi=["group"], sensitive=["s"]), [ic.LDiversity(2)])
    table = pl.DataFrame({"q": ["a", "*"], "s": ["x", "y"]})
    with pytest.raises(ic.TableError, match="1 records have"):
        ic.anatomize(table, ic.Schema(quasi=["q"], sensitive=["s"]), [ic.LDiversity(2)])


def test_both_files_or_none(tmp_path):
    table = scattered(40, 4).select("n", "c")
    anatomy = ic.anatomize(table, ic.Schema(quasi=["n"], sensitive=["c"]), [ic.LDiversity(2)])
    folder = tmp_path / "out"
    anatomy.write(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["quasi.csv", "sensitive.csv"]
    assert pl.read_csv(folder / "quasi.csv").equals(anatomy.quasi_table)
    assert pl.read_csv(folder / "sensitive.csv").equals(anatomy.sensitive_table)
    with pytest.raises(ic.TableError, match="exists already"):
        anatomy.write(folder)
    (folder / "quasi.csv").unlink()
    with pytest.raises(ic.TableError, match="exists already"):
        anatomy.write(folder)
    assert [path.name for path in folder.iterdir()] == ["sensitive.csv"]
    anatomy.write(folder, force=True)
    assert "n" not in str(anatomy.to_dict()["after"]["privacy"][0].get("weakest", ""))


def test_categories_that_no_longer_occur_stay_behind():
    table = pl.DataFrame({"q": [1, 2, 3, 4], "n": [*"uvuv"], "s": [*"xyxy"]}).with_columns(
        pl.col("n").cast(pl.Enum(["u", "v", "secret"])), pl.col("s").cast(pl.Categorical)
    )
    schema = ic.Schema(quasi=["q"], insensitive=["n"], sensitive=["s"])
    anatomy = ic.anatomize(table, schema, [ic.LDiversity(2)])
    assert anatomy.quasi_table.schema["n"] == pl.Enum(["u", "v"])
    assert anatomy.sensitive_table.schema["s"] == pl.Categorical
