"""Rows that stream give the same keys, recodings and files as rows in memory."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from crossed import crossed
from engine_tables import frames, same
from incrowd.core.recoding import FullDomain
from incrowd.engines import MemoryEngine, ScanEngine, engine_for, fold
from incrowd.engines.key_lookup import KeyedCells
from incrowd.engines.scan import StreamedRows
from incrowd.samples import diagnosis_hierarchy, hospital


@pytest.mark.slow
@given(frames(), st.sampled_from([(), ("NA", "")]), st.booleans())
def test_keys_are_the_same(frame, null_values, joint):
    schema = ic.Schema(quasi=["p", "Q 'x'"], sensitive=["s", "t"], null_values=null_values, unlisted="keep")
    try:
        expected = MemoryEngine(frame).count(schema, joint=joint).frequency
    except ic.InputError as error:
        with pytest.raises(type(error)):
            ScanEngine(frame.lazy()).count(schema, joint=joint)
        return
    same(expected, ScanEngine(frame.lazy()).count(schema, joint=joint).frequency)


@pytest.mark.slow
@given(
    frames(),
    st.sampled_from([(), ("NA",)]),
    st.sampled_from(
        [ic.Mondrian(), ic.Mondrian(categories="appearance", choose="span"), ic.Datafly(), ic.Optimal()]
    ),
    st.integers(1, 4),
)
def test_releases_are_the_same(frame, null_values, algorithm, k):
    schema = ic.Schema(quasi=["p", "Q 'x'"], sensitive=["s"], null_values=null_values, unlisted="keep")

    def made(table):
        try:
            return ic.anonymize(table, schema, [ic.KAnonymity(k)], algorithm, max_suppression=0.5)
        except ic.IncrowdError as error:
            return str(error)

    one, other = made(frame), made(frame.lazy())
    if isinstance(one, str):
        assert other == one
        return
    assert isinstance(other.table, pl.LazyFrame)
    assert other.table.collect().equals(one.table)
    assert one.recoding.decisions() == other.recoding.decisions()
    assert {name: lost.value for name, lost in one.utility.items()} == {
        name: lost.value for name, lost in other.utility.items()
    }
    assert one.privacy == other.privacy


@pytest.mark.slow
@given(frames(), st.booleans())
def test_places_are_the_same_where_values_are_joined(frame, joint):
    """A hook takes the other way to find positions for every column."""
    schema = ic.Schema(quasi=["p", "Q 'x'"], sensitive=["s", "t"], unlisted="keep")
    result = []
    for way in (fold.place_of, lambda *_: None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fold, "place_of", way)
            engine = ScanEngine(frame.lazy())
            counted = engine.count(schema, joint=joint)
            frequency = counted.frequency
            recoding = FullDomain.build(frequency, [1, 1]) if frequency.keys else None
            released = None if recoding is None else counted.apply(schema, recoding).table.collect()
            result.append((frequency, released))
    here = MemoryEngine(frame).count(schema, joint=joint)
    expected = here.frequency
    for frequency, released in result:
        same(expected, frequency)
        if released is not None:
            again = here.apply(schema, FullDomain.build(expected, [1, 1])).table
            assert released.equals(again)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three Parquet files and the same rows as a single file."""
    folder = tmp_path_factory.mktemp("big")
    table = hospital(3000, 1)
    for part in range(3):
        table[part * 1000 : part * 1000 + 1000].write_parquet(folder / f"part-{part}.parquet")
    return folder, table


def schema():
    return ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(10, 20, 40), "sex": None, "zip": ic.Hierarchy.prefix()},
        sensitive={"diagnosis": diagnosis_hierarchy()},
        identifying=["name", "patient_id", "birth_date"],
        unlisted="drop",
    )


MODELS = [ic.KAnonymity(5), ic.LDiversity(2), ic.TCloseness(0.8)]


@pytest.fixture(scope="module")
def in_memory(files):
    """The release of the rows in memory, and the assessment."""
    _, table = files
    released = ic.anonymize(table, schema(), MODELS, ic.Optimal(), max_suppression=0.05)
    return released, ic.assess(table, schema(), MODELS)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "suffix"), crossed(["", "*.parquet"], ["parquet", "csv"]))
def test_folders_and_patterns(files, in_memory, tmp_path, name, suffix):
    folder, _ = files
    one, assessed = in_memory
    place = str(folder / name) if name else folder
    other = ic.anonymize(place, schema(), MODELS, ic.Optimal(), max_suppression=0.05)
    assert one.recoding.levels == other.recoding.levels
    target, beside = tmp_path / f"out.{suffix}", tmp_path / f"memory.{suffix}"
    other.write(target)
    one.write(beside)
    if suffix == "csv":
        assert target.read_bytes() == beside.read_bytes()
    else:
        assert pl.read_parquet(target).equals(pl.read_parquet(beside))
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".tmp"]
    other.report(tmp_path / "report.json")
    assert ic.assess(folder, schema(), MODELS) == assessed


def test_no_dictionary_travels_along(tmp_path):
    table = pl.DataFrame({"q": ["a"] * 4, "s": pl.Series(["x"] * 4, dtype=pl.Enum(["x", "SECRET"]))})
    release = ic.anonymize(table.lazy(), ic.Schema(quasi=["q"], sensitive=["s"]), [ic.KAnonymity(2)])
    release.write(tmp_path / "out.parquet")
    assert b"SECRET" not in (tmp_path / "out.parquet").read_bytes()


@pytest.mark.parametrize("rows", [60, 5_000])
def test_no_step_of_the_plan_takes_all_rows_at_once(rows):
    """Some expressions of Polars hold all rows in memory where a plan streams, marked in the graph."""
    numbers = pl.int_range(rows, eager=True)
    columns = {
        "far apart": numbers * 100_000,
        "decimals": numbers / 4,
        "text": numbers.cast(pl.String),
        "day": pl.lit("2020-01-01").str.to_date(),
        "time": pl.from_epoch(numbers * 86_400_000_000_000, "ns"),
        "yes": numbers % 2 == 0,
        "kind": numbers.cast(pl.String).cast(pl.Categorical),
    }
    frame = numbers.to_frame("n").select(**columns).lazy()
    schema = ic.Schema(quasi=list(columns), null_values=["7"])
    counted = ScanEngine(frame).count(schema)
    recoding = FullDomain.build(counted.frequency, [1] * len(columns))
    cells = KeyedCells.of_recoding(schema, recoding)
    rows_of = counted.in_short(schema, cells)[0]
    for plan in (rows_of, counted.recoded(frame, schema, cells), counted.keys.added(frame)):
        graph = plan.show_graph(engine="streaming", plan_stage="physical", raw_output=True)
        _, _, steps = graph.partition("in-memory engine fallback")
        assert "multi-scan" in steps or "in-memory-source" in steps
        assert 'fillcolor="0.0' not in steps


def test_rows_suppressed_before_stay_so():
    table = pl.DataFrame({"p": ["*", "a", "a", "*"], "q": ["*", "b", "b", "b"], "s": list("1212")})
    schema = ic.Schema(quasi=["p", "q"], sensitive=["s"])
    release = ic.anonymize(table.lazy(), schema, [ic.KAnonymity(1)], max_suppression=0.5)
    assert release.table.collect().equals(
        ic.anonymize(table, schema, [ic.KAnonymity(1)], max_suppression=0.5).table
    )
    assert release.frequency.suppressed == 1


def test_what_streaming_cannot_do(files, tmp_path):
    folder, _ = files
    schema = ic.Schema(quasi=["age"], sensitive=["diagnosis"], unlisted="drop")
    with pytest.raises(ic.TableError, match="not in memory, so its records cannot be parted"):
        ic.anonymize(folder, schema, [ic.KAnonymity(3)], ic.Clustering())
    with pytest.raises(ic.TableError, match="there is no Parquet or CSV file"):
        ic.assess(tmp_path, schema)
    with pytest.raises(ic.TableError, match="the table has no rows"):
        ScanEngine(
            pl.DataFrame(
                {"age": [], "diagnosis": []}, schema={"age": pl.Int64, "diagnosis": pl.String}
            ).lazy()
        ).count(schema)
    (tmp_path / "a.parquet").write_bytes(b"nonsense")
    with pytest.raises(ic.TableError, match="not readable Parquet"):
        ic.assess(tmp_path, schema)
    (tmp_path / "a.parquet").unlink()
    pl.DataFrame({"age": [1], "diagnosis": ["x"]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"age": [1]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(ic.TableError, match=r"b\.parquet: its columns are not those of"):
        ic.assess(tmp_path, schema)
    with pytest.raises(ic.SchemaError, match="no column 'age'"):
        engine_for(pl.DataFrame({"x": [1]}).lazy()).count(schema)


@pytest.mark.parametrize("sensitive", [["s"], ["s", "t"], ["q"]], ids="-".join)
def test_one_pass_counts_as_several_do(monkeypatch, sensitive):
    rows = [(n % 7, "abc"[n % 3], None if n % 5 == 0 else n % 4, n % 2) for n in range(200)]
    table = pl.DataFrame(rows, schema=["q", "r", "s", "t"], orient="row")
    schema = ic.Schema(quasi=["q", "r"], sensitive=[name for name in sensitive if name != "q"])
    passes = []
    of_rows = StreamedRows._group_rows
    monkeypatch.setattr(StreamedRows, "_group_rows", lambda self, *a: passes.append(a) or of_rows(self, *a))
    frequency = ScanEngine(table.lazy()).count(schema).frequency
    assert len(passes) == {("s",): 1, ("s", "t"): 3, ("q",): 1}[tuple(sensitive)]
    same(frequency, MemoryEngine(table).count(schema).frequency)


def test_a_column_whose_name_looks_like_a_pattern_is_swapped_while_rows_stream():
    frame = pl.DataFrame({"age": [30, 31, 32, 33] * 5, "^name$": [1.5, 2.5, 3.5, 4.5] * 5})
    schema = ic.Schema(["age"], sensitive=["^name$"], treatments={"^name$": ic.RankSwap(0.5)})
    release = ic.anonymize(frame.lazy(), schema, [ic.KAnonymity(2)]).table.collect()
    assert sorted(release["^name$"].to_list()) == sorted(frame.to_series(1).to_list())
