"""From a table to a release: properties of any table, and of every kind of table."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
from collections import Counter
from types import SimpleNamespace

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.engines import engine_for

TEXTS = ["a", "b", "None", "NA", "?", "", "{x, y}", "a,b", "007", "7"]


@st.composite
def tables(draw):
    rows = draw(st.integers(3, 40))

    def column(values):
        return draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows))

    return pl.DataFrame(
        {
            "who": [f"person {i}" for i in range(rows)],
            "number": column([1, 2, 3, 10, 50, None]),
            "float": column([0.5, 1.0, -2.25, float("nan"), 1e6]),
            "day": column([dt.date(2020, 1, 1), dt.date(2020, 2, 3), dt.date(2021, 7, 9), None]),
            "text": column([*TEXTS, None]),
            "flag": column([True, False]),
            "sick": column(["flu", "cold", None]),
        },
        schema_overrides={
            "number": pl.Int64,
            "float": pl.Float64,
            "day": pl.Date,
            "text": pl.String,
            "sick": pl.String,
        },
    )


QUASI = ("number", "float", "day", "text", "flag")
SCHEMA = ic.Schema(quasi=QUASI, sensitive=["sick"], identifying=["who"])
LISTED = len(TEXTS) + 1  # a set may hold every text


def smallest(frame: pl.DataFrame) -> int:
    cells = [row for row in frame.select(QUASI).rows() if set(row) != {"*"}]
    return min(Counter(cells).values())


@given(tables(), st.integers(1, 6), st.sampled_from(["auto", "set", "mean"]))
def test_every_output_satisfies_its_policy(frame, k, style):
    k = min(k, frame.height)
    release = ic.anonymize(frame, SCHEMA, [ic.KAnonymity(k)], output=style, set_limit=LISTED)
    assert smallest(release.table) >= k
    assert release.privacy.smallest == smallest(release.table)
    assert release.table["sick"].to_list() == frame["sick"].to_list()
    assert (
        ic.assess(
            release.table, SCHEMA.of_attributes([a for a in SCHEMA.attributes if a.name != "who"])
        ).smallest
        >= k
    )


@pytest.mark.slow
@given(tables(), st.integers(1, 6), st.sampled_from(["auto", "set", "mean"]))
def test_the_release_of_a_release_is_itself(frame, k, style):
    k = min(k, frame.height)
    models = [ic.KAnonymity(k), ic.TCloseness(0.95)]
    once = ic.anonymize(frame, SCHEMA, models, output=style, set_limit=LISTED)
    # The cells are read as they are written: ranges are texts now.
    schema = ic.Schema(quasi=dict.fromkeys(QUASI, "category"), sensitive=["sick"])
    again = ic.anonymize(once.table, schema, models, output=style, set_limit=LISTED)
    assert again.table.equals(once.texts)


@given(tables(), st.data())
def test_generalizing_further_never_lowers_k(frame, data):
    tree = ic.Hierarchy.intervals(5, 20)
    schema = ic.Schema(quasi={"number": tree, "day": ic.Hierarchy.dates(), "flag": None})
    frequency = engine_for(frame).count(schema).frequency
    tops = [domain.tree.height for domain in frequency.domains]
    lower = [data.draw(st.integers(0, top)) for top in tops]
    higher = [data.draw(st.integers(low, top)) for low, top in zip(lower, tops, strict=True)]
    sizes = [
        ic.FullDomain.build(frequency, levels).classes(frequency).sizes.min() for levels in (lower, higher)
    ]
    assert sizes[0] <= sizes[1]
    assert EquivalenceClasses.of_keys(frequency).sizes.min() <= sizes[0]


@pytest.mark.slow
@given(tables(), st.integers(1, 5))
def test_frames_of_every_kind_give_the_same(frame, k):
    k = min(k, frame.height)
    models = [ic.KAnonymity(k)]
    expected = ic.anonymize(frame, SCHEMA, models).table
    arrow = ic.anonymize(frame.to_arrow(), SCHEMA, models).table
    assert isinstance(arrow, pa.Table)
    assert pl.DataFrame(arrow).equals(expected)
    # Nullable columns, as plain pandas would turn whole numbers with a gap into floats.
    source = frame.to_pandas(use_pyarrow_extension_array=True)
    source.index = pd.Index([f"secret {i}" for i in range(len(source))])
    source.attrs["secret"] = "yes"
    released = ic.anonymize(source, SCHEMA, models).table
    assert isinstance(released, pd.DataFrame)
    assert released.index.equals(pd.RangeIndex(frame.height))
    assert released.attrs == {}
    assert pl.from_pandas(released).equals(expected)
    assert source.attrs == {"secret": "yes"}
    assert source.index[0] == "secret 0"


def test_files_and_frames_give_the_same(tmp_path):
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "zip": rng.choice(["02139", "02138", "10001", "00501"], 200),
            "age": rng.integers(18, 95, 200),
            "note": rng.choice(["None", "NA", "?", 'a "b"', "c;d", "e\nf", ""], 200),
            "wage": np.round(rng.lognormal(10, 1, 200), 2),
        }
    )
    texts = frame.with_columns(pl.all().cast(pl.String))
    texts.write_csv(tmp_path / "t.csv")
    texts.write_csv(tmp_path / "t2.csv", separator=";", line_terminator="\r\n")
    texts.write_parquet(tmp_path / "t.parquet")
    frame.write_parquet(tmp_path / "typed.parquet")
    schema = ic.Schema(quasi={"zip": ic.Hierarchy.prefix(), "age": None}, sensitive=["note", "wage"])
    models = [ic.KAnonymity(4), ic.LDiversity(2), ic.TCloseness(0.5)]
    expected = ic.anonymize(texts, schema, models)
    for name in ("t.csv", "t2.csv", "t.parquet"):
        release = ic.anonymize(tmp_path / name, schema, models)
        assert release.table.equals(expected.table)
        assert release.privacy == expected.privacy
    typed = ic.anonymize(tmp_path / "typed.parquet", schema, models)
    assert typed.table["wage"].dtype == pl.Float64
    assert typed.table.select("zip", "age", "note").equals(expected.table.select("zip", "age", "note"))
    assert typed.privacy == expected.privacy


def test_no_category_that_is_gone_travels_along():
    source = pd.DataFrame(
        {
            "job": pd.Categorical(["cook"] * 4, categories=["cook", "SECRET"]),
            "sick": pd.Categorical(["flu", "cold"] * 2, categories=["cold", "flu", "SECRET"]),
        }
    )
    schema = ic.Schema(quasi=["job"], sensitive=["sick"])
    for table in (source, pl.from_pandas(source), pa.Table.from_pandas(source)):
        released = ic.anonymize(table, schema, [ic.KAnonymity(2)]).table
        # Cells of a quasi-identifier are texts; what leaves as it is keeps its type.
        if isinstance(released, pa.Table):
            assert released.schema.metadata is None
            assert not pa.types.is_dictionary(released.schema.field("job").type)
            assert released["sick"].chunk(0).dictionary.to_pylist() == ["cold", "flu"]
        elif isinstance(released, pl.DataFrame):
            assert released.dtypes == [pl.String, table["sick"].dtype]
            assert released["sick"].dtype == pl.Categorical
        else:
            assert not isinstance(released["job"].dtype, pd.CategoricalDtype)
            assert released["sick"].cat.categories.tolist() == ["cold", "flu"]


@pytest.mark.parametrize(
    ("style", "cells"),
    [
        (
            "auto",
            [
                ("[20-29]", "[2020-01-01 to 2020-02-01]", "A", "{x, y}"),
                ("[20-29]", "[2020-01-01 to 2020-02-01]", "A", "{x, y}"),
            ],
        ),
        ("range", [("[20-29]", "[2020-01-01 to 2020-02-01]", "A", "{x, y}")] * 2),
        ("ancestor", [("[20-29]", "[2020-01-01 to 2020-02-01]", "A", "{x, y}")] * 2),
        ("set", [("{20, 29}", "{2020-01-01, 2020-02-01}", "{a1, a2}", "{x, y}")] * 2),
        ("mean", [(24.5, "2020-01-17", "a1", "x")] * 2),
    ],
)
def test_output_styles(style, cells):
    frame = pl.DataFrame(
        {"n": [20, 29], "d": ["2020-01-01", "2020-02-01"], "t": ["a1", "a2"], "c": ["y", "x"]}
    )
    tree = ic.Hierarchy.from_nested({"*": {"A": ["a1", "a2"], "B": ["b1"]}})
    release = ic.anonymize(
        frame,
        ic.Schema(quasi={"n": None, "d": None, "t": tree, "c": None}),
        [ic.KAnonymity(2)],
        output=style,
        ends="exact",
    )
    assert release.table.rows() == cells


def test_a_columns_own_style_wins_and_ranges_follow_numbers():
    # Leaf order and number order differ, so a range needs cuts by number.
    tree = ic.Hierarchy.from_nested({"*": {"odd": ["1", "3", "5"], "even": ["2", "4", "6"]}})
    frame = pl.DataFrame({"n": [1, 2, 3, 4, 5, 6]})
    by_tree = ic.anonymize(frame, ic.Schema(quasi={"n": tree}), [ic.KAnonymity(3)])
    assert by_tree.table["n"].to_list() == ["odd", "even"] * 3
    ranged = ic.Schema(quasi={"n": ic.Attribute("n", "quasi", "number", tree, "range")})
    by_range = ic.anonymize(frame, ranged, [ic.KAnonymity(3)], ends="exact")
    assert by_range.table["n"].to_list() == ["[1-3]"] * 3 + ["[4-6]"] * 3


@pytest.mark.parametrize(
    ("style", "cells"), [("range", ["9410*"] * 2 + ["1000*"] * 2), ("mean", ["94107"] * 2 + ["10001"] * 2)]
)
def test_a_zip_code_with_a_hierarchy_is_no_number(style, cells):
    """Whether a sample happens to have a zip code with a leading zero must change nothing."""
    frame = pl.DataFrame({"zip": ["94107", "94108", "10001", "10002"]})
    for table in (frame, frame.cast(pl.Int64)):
        release = ic.anonymize(
            table, ic.Schema(quasi={"zip": ic.Hierarchy.prefix()}), [ic.KAnonymity(2)], output=style
        )
        assert release.table["zip"].to_list() == cells


@pytest.mark.parametrize("style", ["auto", "range"])
def test_bins_of_what_is_no_number_are_refused_in_every_style(style):
    frame = pl.DataFrame({"n": ["1", "2", "?"]})
    schema = ic.Schema(quasi={"n": ic.Hierarchy.intervals(5)})
    with pytest.raises(ic.HierarchyError, match="1 of 3 distinct values are no numbers"):
        ic.anonymize(frame, schema, [ic.KAnonymity(2)], output=style)


def test_sets_are_the_same_whether_bits_or_counts_find_them(monkeypatch):
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"c": [f"v{i}" for i in rng.integers(0, 40, 300)], "n": rng.integers(0, 9, 300)})
    schema = ic.Schema(quasi=["c", "n"])
    bits = ic.anonymize(frame, schema, [ic.KAnonymity(7)], output="set")
    monkeypatch.setattr("incrowd.core.recoding.local._WORD", 0)
    counts = ic.anonymize(frame, schema, [ic.KAnonymity(7)], output="set")
    assert bits.table.equals(counts.table)
    assert bits.utility == counts.utility


def test_texts_of_one_number_are_one_value():
    frame = pl.DataFrame({"n": ["1", "1.0", "2", "9007199254740993", "9007199254740992"]})
    release = ic.anonymize(frame, ic.Schema(quasi=["n"]), [ic.KAnonymity(1)])
    assert release.table["n"].to_list() == ["1", "1", "2", "9007199254740993", "9007199254740992"]


def test_braces_and_commas_in_a_set_are_told_apart():
    frame = pl.DataFrame({"c": ["a, b", "c", "{d}", None]})
    release = ic.anonymize(frame, ic.Schema(quasi=["c"]), [ic.KAnonymity(4)])
    assert set(release.table["c"]) == {"{a\\, b, c, \\{d\\}, <missing>}"}


def test_suppressed_rows_stay_suppressed_and_count_for_the_whole_table():
    frame = pl.DataFrame({"a": ["x", "x", "*"], "b": ["y", "y", "*"], "s": ["1", "2", "9"]})
    schema = ic.Schema(quasi=["a", "b"], sensitive={"s": "category"})
    for word, problem in (
        ("keep", r"1 of 3 records are suppressed .* 33\.33% where 10\.00% may be"),
        (
            "judged",
            r"1 of 3 records \(33\.33%\) would be suppressed where 10\.00% may be, as .* are left out",
        ),
    ):
        with pytest.raises(ic.InfeasibleError, match=problem):
            ic.anonymize(frame, schema, [ic.KAnonymity(2)], max_suppression=0.1, suppressed=word)
    models = [ic.KAnonymity(2), ic.TCloseness(1.0)]
    release = ic.anonymize(frame, schema, models, max_suppression=0.34, suppressed="keep")
    assert release.table.equals(frame)
    assert release.privacy.suppressed == 1
    # Half the absolute differences of (1/2, 1/2, 0) and (1/3, 1/3, 1/3).
    assert release.privacy.reached("t-closeness") == pytest.approx(1 / 3, abs=1e-15)


def test_recodings_are_saved_and_come_back(tmp_path):
    frame = pl.DataFrame({"n": [1, 2, 30, None, 40, 41], "t": ["a1", "a2", "b1", "b1", "a1", "a1"]})
    tree = ic.Hierarchy.from_nested({"Any": {"A": ["a1", "a2"], "B": ["b1"]}})
    schema = ic.Schema(quasi={"n": None, "t": tree})
    local = ic.anonymize(frame, schema, [ic.KAnonymity(2)]).recoding
    counted = engine_for(frame).count(schema)
    frequency = counted.frequency
    full = ic.FullDomain.build(frequency, {"t": 1}, np.array([False, True, False, False, False, False]))
    for name, recoding in (("local", local), ("full", full)):
        recoding.save(tmp_path / name)
        loaded = ic.Recoding.load(tmp_path / name)
        assert type(loaded) is type(recoding)
        assert loaded.decisions() == recoding.decisions()
        for mine, theirs in zip(recoding.cells, loaded.cells, strict=True):
            assert mine.labels == theirs.labels
            assert mine.loss.tolist() == theirs.loss.tolist()
        assert counted.apply(schema, loaded).table.equals(counted.apply(schema, recoding).table)
        assert loaded.classes(frequency).sizes.tolist() == recoding.classes(frequency).sizes.tolist()
    assert full.cells[1].labels == ("A", "B", "*")
    (tmp_path / "local" / "other.txt").touch()
    with pytest.raises(ic.TableError, match="exists already"):
        local.save(tmp_path / "local")
    with pytest.raises(ic.TableError, match=r"holds other\.txt; move that"):
        local.save(tmp_path / "local", force=True)
    with pytest.raises(ic.TableError, match="no readable"):
        ic.Recoding.load(tmp_path)


def test_a_level_that_is_not_there():
    frequency = engine_for(pl.DataFrame({"n": [1, 2]})).count(ic.Schema(quasi=["n"])).frequency
    for levels, problem in (
        ({"n": 2}, "outside 0 .. 1"),
        ({"m": 1}, "no quasi-identifier"),
        ([1, 1], "2 given for 1"),
    ):
        with pytest.raises(ic.ParameterError, match=problem):
            ic.FullDomain.build(frequency, levels)


def test_keys_wider_than_one_word_are_told_apart():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({f"c{j}": rng.integers(0, 300, 500) for j in range(12)})
    doubled = pl.concat([frame, frame])
    names = list(frame.columns)
    frequency = engine_for(doubled).count(ic.Schema(quasi=names)).frequency
    assert frequency.keys == frame.n_unique()
    assert set(frequency.weights.tolist()) == {2}
    assert frequency.row_keys[:500].tolist() == frequency.row_keys[500:].tolist()


def test_columns_that_cannot_be_counted_say_so():
    bad = {
        "list": pl.Series([[1.5], [2.5]]),
        "infinite": pl.Series([1.0, float("inf")]),
        "time": pl.Series([dt.time(1), dt.time(2)]),
    }
    for name, series in bad.items():
        with pytest.raises(ic.SchemaError, match=f"column '{name}'"):
            ic.assess(pl.DataFrame({name: series}), ic.Schema(quasi=[name]))
    with pytest.raises(ic.SchemaError, match="mixes values of several types"):
        ic.assess(pd.DataFrame({"m": [1, "x", (2,)]}), ic.Schema(quasi=["m"]))
    with pytest.raises(ic.SchemaError, match="2 of 3 distinct values are no plain numbers"):
        ic.assess(
            pl.DataFrame({"s": ["01", "x", "3"], "q": ["a"] * 3}),
            ic.Schema(quasi=["q"], sensitive={"s": "number"}),
        )
    with pytest.raises(ic.SchemaError, match="several columns of one name"):
        ic.assess(pd.DataFrame([[1, 2]], columns=["a", "a"]), ic.Schema(quasi=["a"]))
    with pytest.raises(ic.TableError, match="no rows"):
        ic.assess(pl.DataFrame({"a": []}), ic.Schema(quasi=["a"]))


def test_policies_come_back_from_their_file(tmp_path):
    tree = ic.Hierarchy.from_nested({"Any": {"A": ["a"], "B": ["b", "c"]}})
    builders = [ic.Hierarchy.intervals(0.5, 2.5, origin=1), ic.Hierarchy.prefix(), ic.Hierarchy.dates("year"),
                ic.Hierarchy.order(["x", 'y "z"'], fanout=3), ic.Hierarchy.flat(), tree]  # fmt: skip
    schema = ic.Schema(
        quasi={f"q {i}": ic.Attribute(f"q {i}", "quasi", output=style, hierarchy=builder)
               for i, (builder, style) in enumerate(zip(builders, itertools.cycle(["set", None]), strict=False))},
        sensitive={'s"1': "number", "s2": tree}, identifying=["ä"], insensitive=["i"], null_values=["?", ""], unlisted="drop",
    )  # fmt: skip
    policy = ic.Policy(
        schema, (ic.KAnonymity(3), ic.LDiversity(2, attribute="s2"), ic.TCloseness(0.25, "equal")), max_suppression=0.5,
        output="mean", keep_order=True, seed=9,
    )  # fmt: skip
    policy.write(tmp_path / "p.toml")
    read = ic.Policy.read(tmp_path / "p.toml")
    assert read.schema.attributes == schema.attributes
    assert (read.schema.null_values, read.schema.unlisted) == (("?", ""), "drop")
    for name in ("models", "algorithm", "max_suppression", "output", "keep_order", "seed"):
        assert getattr(read, name) == getattr(policy, name)


def test_pandas_without_arrow_says_what_to_install(monkeypatch):

    def absent(self: object) -> None:
        raise ModuleNotFoundError("pyarrow")

    monkeypatch.setattr(nw.Series, "to_polars", absent)
    with pytest.raises(ic.MissingExtraError, match=r"needs pyarrow: pip install '\.\[pandas\]'"):
        ic.assess(pd.DataFrame({"a": ["x", "x"]}), ic.Schema(quasi=["a"]))


def broken(release: ic.Release, table: object) -> ic.Release:
    """A release with a table that differs from the checked table."""
    return dataclasses.replace(release, table=table)


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
@pytest.mark.parametrize("there", [False, True])
def test_a_table_that_fails_its_policy_is_never_written(tmp_path, name, there):
    frame = pl.DataFrame({"n": [1, 2, 3, 4], "s": ["a", "b", "a", "b"]})
    schema = ic.Schema(quasi=["n"], sensitive=["s"])
    release = ic.anonymize(frame, schema, [ic.KAnonymity(2), ic.LDiversity(2)])
    target = tmp_path / name
    if there:
        target.write_text("as it was")
    with pytest.raises(ic.InfeasibleError, match="k-anonymity reaches k=1 where 2 was asked"):
        broken(release, frame).write(target, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ([name] if there else [])
    if there:
        assert target.read_text() == "as it was"
        with pytest.raises(ic.TableError, match="exists already"):
            release.write(target)
        assert target.read_text() == "as it was"
    release.write(target, force=True)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert ic.assess(target, schema, [ic.KAnonymity(2)]).holds


def test_an_interruption_while_writing_leaves_nothing(tmp_path, monkeypatch):
    frame = pl.DataFrame({"n": [1, 2, 3, 4]})
    release = ic.anonymize(frame, ic.Schema(quasi=["n"]), [ic.KAnonymity(2)])

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("incrowd.release.jobs.make.decision.judge", interrupted)
    with pytest.raises(KeyboardInterrupt):
        release.write(tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_infeasible_policies_give_no_release():
    frame = pl.DataFrame({"n": [1, 1, 2, 2], "s": ["a", "a", "b", "b"], "who": list("wxyz")})
    schema = ic.Schema(quasi=["n"], sensitive=["s"], identifying=["who"])
    untouched = frame.clone()
    with pytest.raises(ic.ParameterError, match="k=5 is more than the table's 4 records"):
        ic.anonymize(frame, schema, [ic.KAnonymity(5)])
    with pytest.raises(ic.ParameterError, match="l=3 is more than the 2 distinct values of column 's'"):
        ic.anonymize(frame, schema, [ic.LDiversity(3)])
    with pytest.raises(ic.ParameterError, match="name at least one privacy model"):
        ic.anonymize(frame, schema)
    assert frame.equals(untouched)


def test_no_identifying_value_is_in_the_bytes_of_a_file(tmp_path):
    """Neither as a column nor in statistics, metadata or the pandas index of any output format."""
    frame = pd.DataFrame(
        {"who": [f"SECRET-{i}" for i in range(8)], "n": range(8), "s": ["a", "b"] * 4},
        index=pd.Index([f"SECRET-index-{i}" for i in range(8)], name="SECRET-name"),
    )
    frame.attrs["note"] = "SECRET-attrs"
    arrow = pa.Table.from_pandas(frame).replace_schema_metadata({"note": "SECRET-metadata"})
    index = arrow.column_names[-1]
    field = arrow.schema.field("n").with_metadata({"note": "SECRET-field"})
    arrow = arrow.cast(arrow.schema.set(arrow.schema.get_field_index("n"), field))
    schema = ic.Schema(quasi=["n"], sensitive=["s"], identifying=["who"])
    with_index = ic.Schema(quasi=["n"], sensitive=["s"], identifying=["who", index])
    for number, (table, roles) in enumerate(
        ((frame, schema), (arrow, with_index), (pl.from_arrow(arrow), with_index))
    ):
        release = ic.anonymize(table, roles, [ic.KAnonymity(2)])
        assert b"SECRET" not in str(release.to_dict()).encode()
        for suffix in (".csv", ".parquet"):
            path = tmp_path / f"{number}{suffix}"
            release.write(path)
            assert b"SECRET" not in path.read_bytes()
        if isinstance(release.table, pa.Table):
            assert release.table.schema.metadata is None
            assert all(field.metadata is None for field in release.table.schema)
        elif isinstance(release.table, pd.DataFrame):
            assert release.table.index.name is None


def test_quasi_identifiers_of_files_leave_no_statistics(tmp_path):
    """The smallest and largest value in a Parquet file's footer are those of the release."""
    frame = pl.DataFrame({"zip": ["77701", "77702", "77703", "77704"], "s": list("abab")})
    frame.write_parquet(tmp_path / "in.parquet")
    schema = ic.Schema(quasi={"zip": ic.Hierarchy.prefix()}, sensitive=["s"])
    ic.anonymize(tmp_path / "in.parquet", schema, [ic.KAnonymity(4)]).write(tmp_path / "out.parquet")
    data = (tmp_path / "out.parquet").read_bytes()
    assert b"7770*" in data
    assert not any(text.encode() in data for text in frame["zip"])


def test_texts_that_look_missing_are_texts_unless_named(tmp_path):
    (tmp_path / "t.csv").write_text(
        'age,zip,s\nNA,00501,None\n?,00501,NA\n30,02139,?\n,02139,\n"",02139,x\n40,02139,x\n'
    )
    plain = ic.Schema(quasi={"age": "category", "zip": "category"}, sensitive=["s"])
    frequency = engine_for(pl.read_csv(tmp_path / "t.csv", infer_schema=False)).count(plain).frequency
    assert set(frequency.domains[0].values) == {"", "30", "40", "?", "NA", None}
    assert set(frequency.attribute("s").domain.values) == {"?", "NA", "None", "x", None}
    one = ic.anonymize(tmp_path / "t.csv", plain, [ic.KAnonymity(1)]).table
    assert one["zip"].to_list() == ["00501", "00501", "02139", "02139", "02139", "02139"]
    assert one["age"].to_list() == ["NA", "?", "30", None, "", "40"]
    assert one["s"].to_list() == ["None", "NA", "?", None, "x", "x"]
    named = ic.Schema(
        quasi={"age": None}, sensitive={"s": None}, null_values=["NA", "?", ""], unlisted="drop"
    )
    release = ic.anonymize(tmp_path / "t.csv", named, [ic.KAnonymity(2)], ends="exact")
    # Missing ages are one value; the rest are numbers, in a range.
    assert release.table["age"].to_list() == [None, None, "[30-40]", None, None, "[30-40]"]
    assert release.before.classes == 3
    # A sensitive text is released as it was written, whatever it means.
    assert release.table["s"].to_list() == one["s"].to_list()


@pytest.mark.slow
@given(tables(), st.integers(1, 5), st.randoms())
def test_the_order_of_rows_does_not_change_what_each_becomes(frame, k, random):
    k = min(k, frame.height)
    order = random.sample(range(frame.height), frame.height)
    straight, turned = (
        ic.anonymize(each, SCHEMA, [ic.KAnonymity(k)], set_limit=LISTED).table
        for each in (frame, frame[order])
    )
    assert turned.equals(straight[order])


@pytest.mark.slow
@given(tables(), st.integers(2, 6), st.integers(0, 20))
def test_every_row_of_a_file_comes_back_in_its_place(tmp_path_factory, frame, k, seed):
    folder = tmp_path_factory.mktemp("rows")
    numbered = frame.with_columns(pl.int_range(frame.height).alias("place"))
    schema = ic.Schema(quasi=QUASI, sensitive=["sick"], identifying=["who"], insensitive=["place"])
    policy = ic.Policy(schema, (ic.KAnonymity(min(k, frame.height)),), seed=seed, set_limit=LISTED)
    for name in ("out.csv", "out.parquet"):
        release = ic.anonymize(numbered, policy)
        release.write(folder / name)
        read = ic.anonymize(
            folder / name, ic.Policy(ic.Schema(quasi=["place"], unlisted="keep"), (ic.KAnonymity(1),))
        )
        assert read.table["place"].cast(pl.Int64).to_list() == list(range(frame.height))
        assert read.table["sick"].to_list() == frame["sick"].to_list()


def test_what_a_release_shows_of_itself_is_released():
    """Measures before recoding would name the cells of the rarest records."""
    table = pl.DataFrame({"zip": ["planted-1", "planted-2", "planted-3", "planted-4"], "s": list("xyxy")})
    tree = ic.Hierarchy.from_paths([(value, "all") for value in table["zip"]])
    release = ic.anonymize(table, ic.Schema(quasi={"zip": tree}, sensitive=["s"]), [ic.KAnonymity(4)])
    assert release.before.privacy[0].weakest.cells["zip"].startswith("planted")
    assert release.table["zip"].to_list() == ["all"] * 4
    for text in (repr(release), str(release)):
        assert "planted" not in text


@pytest.mark.parametrize("keep_order", [False, True])
def test_the_seconds_of_the_stages_cover_the_call(monkeypatch, keep_order):
    """Each step takes a second on a clock that stands still otherwise."""
    from incrowd.core import progress
    from incrowd.engines.base import Released
    from incrowd.release.jobs.make import anonymize

    now = [0]

    def slowly(work):
        def done(*args, **settings):
            now[0] += 1
            return work(*args, **settings)

        return done

    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    steps = [
        "_revealing_columns",
        "_assessment_before",
        "search_problem",
        "check_cells",
        "check_sets",
        "judge",
        "points_of",
        "with_types",
    ]
    for name in steps:
        monkeypatch.setattr(anonymize, name, slowly(getattr(anonymize, name)))
    monkeypatch.setattr(Released, "reordered", slowly(Released.reordered))
    monkeypatch.setattr(anonymize.SearchStart, "prepared", slowly(anonymize.SearchStart.prepared))
    table = pl.DataFrame({"q": [3, 1, 2, 4] * 5})
    policy = ic.Policy(
        ic.Schema(quasi=["q"]), "k-anonymity:5", "mondrian:mode=relaxed", keep_order=keep_order
    )
    release = ic.anonymize(table, policy)
    assert now[0] == len(steps) + 2 - keep_order
    assert sum(release.seconds.values()) == now[0]
    assert release.seconds["order"] == 2 - keep_order
