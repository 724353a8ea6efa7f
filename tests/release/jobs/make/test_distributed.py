"""A release that is made block by block satisfies the policy, for any blocks."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import incrowd as ic
from examples import examples
from incrowd.core.kernels.grouping.counting import counts_per_key
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.frequency import FrequencyTable
from incrowd.engines import MemoryEngine
from incrowd.engines.spark.errors import OTHER_VALUES
from incrowd.release.jobs.make.distributed import blocks as module
from incrowd.release.jobs.make.distributed import check, cuts, rows
from incrowd.release.jobs.make.distributed.scale import Coder, TableStatistics, rank_values
from incrowd.samples import hospital
from model_readings import overall

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

MODELS = [
    [ic.KAnonymity(3)],
    [ic.KAnonymity(2), ic.LDiversity(2)],
    [ic.LDiversity(1.8, kind="entropy")],
    [ic.LDiversity(2, kind="recursive", c=2.0)],
    [ic.KAnonymity(2), ic.TCloseness(0.45)],
    [ic.TCloseness(0.5, distance="ordered")],
    [ic.AlphaKAnonymity(0.7, 2)],
]
TREE = ic.Hierarchy.from_nested({"*": {"north": ["a", "b"], "south": ["c", "d", "e"], "east": ["f"]}})


@st.composite
def tables(draw):
    rows = draw(st.integers(6, 60))

    def column(values):
        return draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows))

    return pl.DataFrame(
        {
            "n": pl.Series(column([1.0, 2.0, 2.5, 7.0, -1.0, float("nan"), None]), dtype=pl.Float64),
            "t": column([*list("abcdef"), None]),
            "c": column(["x", "y", "z", "NA", ""]),
            "d": pl.Series(column([dt.date(2000, 1, day) for day in range(1, 9)]), dtype=pl.Date),
            "s": column([1, 2, 3]),
        }
    ).with_columns(id=pl.Series(range(rows)))


def asked(*names: str) -> ic.Schema:
    quasi = {name: TREE if name == "t" else None for name in names or ("n", "t", "c", "d")}
    return ic.Schema(quasi=quasi, sensitive=["s"], null_values=["NA"], unlisted="keep")


def classes_of(frame: pl.DataFrame, names, sensitive: str = "s") -> tuple[list[list[int]], int]:
    """Counts of the sensitive values per class of a released table, and the suppressed records: read anew."""
    values = sorted(set(frame[sensitive].to_list()))
    result: dict[tuple[str | None, ...], Counter] = {}
    suppressed = 0
    for row in frame.iter_rows(named=True):
        cells = tuple(row[name] for name in names)
        if all(cell == "*" for cell in cells):
            suppressed += 1
            continue
        result.setdefault(cells, Counter())[row[sensitive]] += 1
    return [[counted[value] for value in values] for counted in result.values()], suppressed


def obeys(frame: pl.DataFrame, names, models) -> bool:
    table, suppressed = classes_of(frame, names)
    if suppressed or not table:
        return False
    for model in models:
        for part in model.parts():
            value = overall(model, part.limit_name, "number", table)
            slack = 1e-9 * max(1.0, abs(part.limit))
            if not (value >= part.limit - slack if part.more_is_safer else value <= part.limit + slack):
                return False
    return True


def covers(raw: pl.DataFrame, made: pl.DataFrame) -> None:
    """Every released cell stands for the raw value."""
    below = {"north": "ab", "south": "cde", "east": "f"}
    for name in ("n", "t", "c", "d"):
        for cell, value in zip(made[name], raw[name], strict=True):
            if cell == "*":
                continue
            if value is None or value == "NA" or (name == "n" and math.isnan(value)):
                # Alone it stays missing.
                assert cell is None or (name == "c" and cell.endswith(", <missing>}"))
            elif name in "nd" and " or " in cell:
                # The open ends of numbers and days.
                end, _, way = cell.partition(" or ")
                end = float(end) if name == "n" else dt.date.fromisoformat(end)
                assert value <= end if way in ("less", "earlier") else value >= end
            elif match := re.match(r"^\[(-?[^-]+)-(.+)\]$", cell) if name == "n" else None:
                assert float(match[1]) <= value <= float(match[2])
            elif name == "d" and cell.startswith("["):
                low, high = cell[1:-1].split(" to ")
                assert low <= value.isoformat() <= high
            elif cell in below:
                assert value in below[cell]
            elif name == "c" and cell.startswith("{"):
                assert value in cell[1:-1].split(", ")
            else:
                assert cell == (f"{value + 0.0:g}" if isinstance(value, float) else str(value))


def without_spark(frame, schema, models, blocks, one_in, seed):
    """The steps of Spark in this process: encode, cut, join, recode."""
    named = [*schema.quasi, *schema.sensitive]
    result = []
    for attribute in named:
        counted = frame.group_by(attribute.name).len("n!")
        result.append(
            rank_values(attribute, counted[attribute.name], counted["n!"].to_numpy(), schema.null_values)
        )
    first = len(schema.quasi)
    scale = TableStatistics(
        *(tuple(one[0] for one in part) for part in (result[:first], result[first:])),
        *(tuple(one[1] for one in part) for part in (result[:first], result[first:])),
        tuple(one[2] for one in result[first:]),
        len(frame),
        0,
    )
    algorithm = ic.Mondrian()
    sampled = frame.sample(max(1, len(frame) // one_in), seed=seed)
    codes = [
        coder.codes(sampled[a.name].to_arrow())
        for coder, a in zip(scale.quasi_coders, schema.quasi, strict=True)
    ]
    sample = FrequencyTable.from_rows(
        list(zip(scale.quasi, codes, strict=True)), [], np.zeros(len(sampled), np.bool_)
    )
    tree, count = cuts.cut_tree(sample, algorithm, schema.quasi, blocks)
    passed = [name for name in frame.columns if name not in {a.name for a in schema.quasi}]
    forms = {a.name: f"q{j}" for j, a in enumerate(schema.quasi)}
    raw = pa.table(
        {form: frame[name].to_arrow() for name, form in forms.items()}
        | {f"s{j}": frame[a.name].to_arrow() for j, a in enumerate(schema.sensitive)}
        | {f"p{j}": frame[name].to_arrow() for j, name in enumerate(passed)}
    )
    shared = (scale, tree, False, first, len(schema.sensitive), len(passed), 0)
    encoded = pa.Table.from_batches(
        list(rows.encode_batches(shared, raw.combine_chunks().to_batches(max_chunksize=7)))
    )
    block = encoded["block"].to_numpy()
    weights = np.bincount(block, minlength=count)
    keys = [
        counts_per_key(
            block.astype(np.int64),
            encoded[f"s{j}"].to_numpy(),
            np.ones(len(block), np.int64),
            count,
            domain.size,
        )
        for j, domain in enumerate(scale.sensitive)
    ]
    table = FrequencyTable((), (), weights, scale.counted(keys))
    units = cuts.join_failing(tree, EquivalenceClasses.of_keys(table), models)
    sources = [f"p{passed.index(name)}" if name in passed else "" for name in frame.columns]
    order = [list(forms).index(name) if name in forms else -1 for name in frame.columns]
    policy = ic.Policy(schema, tuple(models), algorithm, ends="exact")
    shared = (scale, policy, sources, order)
    outcome = [
        rows.recode_block(shared, encoded.filter(pa.array(units[block] == unit)))
        for unit in np.unique(units[block])
    ]
    released = pl.DataFrame(pl.from_arrow(pa.concat_tables(outcome)))
    figures = [json.loads(text) for text in released["figures"].drop_nulls()]
    released = released.drop("figures")
    released.columns = frame.columns
    return released.sort("id"), rows.summed(figures, scale), units, scale


@pytest.mark.slow
@given(tables(), st.sampled_from(MODELS), st.integers(1, 8), st.sampled_from([1, 3, 10]), st.integers(0, 9))
@examples(40)
def test_any_cuts_give_a_release_that_holds(frame, models, blocks, one_in, seed):
    schema = asked()
    assume(frame["s"].n_unique() > 1)
    try:
        whole = ic.anonymize(frame, schema, models, ends="exact")
    except ic.InfeasibleError:
        with pytest.raises(ic.InfeasibleError):
            without_spark(frame, schema, models, blocks, one_in, seed)
        return
    result, lost, units, _ = without_spark(frame, schema, models, blocks, one_in, seed)
    assert result["id"].to_list() == frame["id"].to_list()
    assert result["s"].to_list() == frame["s"].to_list()
    assert obeys(result, ("n", "t", "c", "d"), models)
    covers(frame, result)
    assert len(np.unique(units)) <= max(blocks + 2, 1)
    if len(np.unique(units)) == 1:
        assert result.equals(whole.table)
        for name, value in lost.items():
            assert value.value == pytest.approx(whole.utility[name].value, abs=1e-12)


def on_spark(session, frame: pl.DataFrame):
    return session.createDataFrame(frame.to_arrow()).repartition(3)


def fetched(frame) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(frame.toArrow())).sort("id")


@pytest.fixture(scope="module")
def mixed() -> pl.DataFrame:
    """A table of every kind of column, with missing values, and records that came in suppressed."""
    rng = np.random.default_rng(7)
    rows = 240
    frame = pl.DataFrame(
        {
            "n": pl.Series(rng.choice([0.0, -0.0, 1.5, 2.0, 9.0, np.nan], rows)),
            "t": rng.choice(list("abcdef"), rows),
            "c": rng.choice(["x", "y", "z", "NA", ""], rows),
            "d": pl.Series(
                [dt.date(2000, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 60, rows)]
            ),
            "s": rng.integers(1, 4, rows),
            "kept": pl.Series([{"x": [int(i)], "y": "é"} for i in range(rows)]),
        }
    ).with_columns(id=pl.Series(range(rows)))
    return frame.with_columns(n=pl.when(pl.col("id") % 11 == 0).then(None).otherwise(pl.col("n")))


@pytest.mark.parametrize(
    ("place", "blocks"),
    [
        pytest.param((0,), 2, marks=pytest.mark.slow),
        ((1,), 3),
        pytest.param((2, 3), 4, marks=pytest.mark.slow),
        pytest.param((4, 5, 6), 5, marks=pytest.mark.slow),
    ],
)
def test_on_spark(spark, mixed, place, blocks):
    """Each model; the steps that Spark does not take are tried with each alone above."""
    models = [model for number in place for model in MODELS[number]]
    schema = asked()
    release = ic.anonymize(on_spark(spark, mixed), schema, models, "mondrian:choose=range", blocks=blocks)
    frame = fetched(release.table)
    assert frame.columns == mixed.columns
    assert obeys(frame, ("n", "t", "c", "d"), models)
    covers(mixed, frame)
    assert frame.select("s", "kept", "id").equals(mixed.select("s", "kept", "id"))
    assert sum(release.sizes) == len(mixed)
    assert release.blocks == len(release.sizes) > 1
    # The whole table is its own sample here, so the first cuts are those of undivided Mondrian.
    if len(place) == 1:
        assert release.utility["ncp"].value == pytest.approx(release.undivided()["ncp"].value, rel=0.1)
    assert release.privacy.records == len(mixed)
    release.unpersist()


@pytest.mark.slow
def test_one_block_is_the_undivided_recoding(spark, mixed):
    # A column of objects is taken apart in memory alone.
    mixed, schema = mixed.drop("kept"), asked("t", "c")
    gone = mixed.with_columns(
        pl.when(pl.col("id") % 10 == 0).then(pl.lit("*")).otherwise(pl.col(name)).alias(name)
        for name in ("t", "c")
    )
    models = [ic.KAnonymity(4), ic.LDiversity(2)]
    tree = ic.Schema(quasi={"t": None, "c": None}, sensitive=["s"], null_values=["NA"], unlisted="keep")
    for frame, wanted, share in ((mixed, asked(), 0.0), (gone, tree, 0.2), (mixed, schema, 0.0)):
        settings = {"max_suppression": share, "suppressed": "keep"}
        one = ic.anonymize(frame, wanted, models, **settings)
        other = ic.anonymize(on_spark(spark, frame), wanted, models, blocks=1, **settings)
        assert fetched(other.table).equals(one.table.sort("id"))
        assert other.blocks == 1
        assert other.privacy.suppressed == one.privacy.suppressed
        for name, lost in other.utility.items():
            assert lost.value == pytest.approx(one.utility[name].value, abs=1e-12)
        other.unpersist()


@pytest.mark.slow
def test_more_keys_than_the_driver_may_have(spark, mixed, tmp_path):
    """Fetching keys is refused everywhere, and Mondrian cuts and has the release checked in parts."""
    table, schema = on_spark(spark, mixed), asked()
    keys = MemoryEngine(mixed).count(schema).frequency.keys
    models = [ic.KAnonymity(2), ic.LDiversity(2), ic.TCloseness(0.6)]
    with pytest.raises(ic.TableError, match=rf"distinct combinations of .* more than the {keys // 8}"):
        ic.anonymize(table, schema, models, ic.Optimal(), max_suppression=0.5, driver_keys=keys // 8)
    with pytest.raises(ic.TableError, match="driver_keys"):
        ic.assess(table, schema, driver_keys=keys // 8)
    with pytest.raises(ic.TableError, match="distinct values, more than"):
        ic.anonymize(table, schema, models, blocks=2, driver_keys=5)
    limit = 95
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "_CHECKED_TOGETHER", 20)
        release = ic.anonymize(table, schema, models, driver_keys=limit)
    assert isinstance(release, ic.DistributedRelease)
    assert isinstance(release, ic.Release)
    for name in ("recoding", "frequency", "before"):
        with pytest.raises(ic.UnavailableError, match=f"has no {name}, since the keys"):
            getattr(release, name)
        assert not hasattr(release, name)
    with pytest.raises(ic.UnavailableError):
        release.save(tmp_path / "folder")
    with pytest.raises(ic.UnavailableError):
        release.report(tmp_path / "report.html")
    assert not list(tmp_path.iterdir())
    frame = fetched(release.table)
    assert obeys(frame, ("n", "t", "c", "d"), models)
    whole = ic.assess(frame, schema, models)
    assert not release.risk
    for name in ("records", "suppressed", "classes", "smallest", "largest", "unique", "distribution"):
        assert getattr(release.privacy, name) == getattr(whole, name), name
    assert release.privacy.mean_size == pytest.approx(whole.mean_size)
    asked_for = [measured for measured in whole.privacy if measured.limit is not None]
    assert len(asked_for) == len(release.privacy.privacy) == 3
    for one, other in zip(asked_for, release.privacy.privacy, strict=True):
        assert (one.model, one.attribute, one.holds, one.failing) == (
            other.model,
            other.attribute,
            other.holds,
            other.failing,
        )
        assert one.value == pytest.approx(other.value)
    with pytest.raises(ic.TableError, match="driver_keys"):
        release.undivided()
    # In parts a release that fails is found, too.
    scale, policy = release.scale, replace(release.policy, models=(ic.KAnonymity(50),))
    result = check.check_in_parts(release.table, policy, scale, 500)
    assert not result.holds
    assert result.privacy[0].value == whole.smallest
    release.unpersist()


@pytest.mark.slow
def test_a_sample_that_misleads(spark, monkeypatch):
    """Cuts from a handful of keys give failing blocks, which are joined until all hold."""
    table = (
        hospital(1500, 3).select("age", "sex", "zip", "diagnosis").with_row_index("id").cast({"id": pl.Int64})
    )
    schema = ic.Schema(
        quasi={"age": None, "sex": None, "zip": ic.Hierarchy.prefix()},
        sensitive=["diagnosis"],
        insensitive=["id"],
    )
    monkeypatch.setattr(module, "_SAMPLED", (40, 40))
    models = [ic.KAnonymity(5), ic.LDiversity(3), ic.TCloseness(0.55)]
    release = ic.anonymize(on_spark(spark, table), schema, models, blocks=16)
    assert ic.assess(fetched(release.table), schema, models).holds
    assert release.to_dict()["blocks"]["count"] == release.blocks <= 20
    assert release.undivided()["ncp"].value <= release.utility["ncp"].value * 1.05
    release.unpersist()


def test_writing_all_or_nothing(spark, mixed, tmp_path):
    schema, models = asked(), [ic.KAnonymity(3)]
    release = ic.anonymize(on_spark(spark, mixed), schema, models, blocks=3)
    target = tmp_path / "out.parquet"
    release.write(target)
    assert pl.read_parquet(target / "*.parquet").sort("id").equals(fetched(release.table))
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]
    with pytest.raises(ic.TableError, match="exists already"):
        release.write(target)
    before = sorted(path.name for path in target.iterdir())
    stricter = replace(release, policy=replace(release.policy, models=(ic.KAnonymity(60),)))
    for place in (target, tmp_path / "new"):
        with pytest.raises(ic.InfeasibleError, match="nothing was released"):
            stricter.write(place, force=True)
    assert sorted(path.name for path in target.iterdir()) == before
    release.write(f"file://{target}", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]
    with pytest.raises(ic.TableError, match="does not exist"):
        release.write(tmp_path / "nowhere" / "out")
    with pytest.raises(ic.TableError, match="folder of Parquet"):
        release.write(tmp_path / "out.csv")
    release.unpersist()


def test_what_cannot_be_divided(spark, mixed):
    table, schema, k = on_spark(spark, mixed), asked(), [ic.KAnonymity(3)]
    for algorithm, words in (
        (ic.Optimal(), "only mondrian"),
        (ic.Mondrian(mode="relaxed"), "mode=relaxed"),
        (ic.Mondrian(choose="gain", target="s"), "choose=gain"),
        (ic.Mondrian(categories="appearance"), "appearance"),
        (ic.Mondrian(max_depth=3), "max_depth"),
    ):
        with pytest.raises(ic.ParameterError, match=words):
            ic.anonymize(table, schema, k, algorithm, blocks=2)
    for model, words in (
        (ic.LDiversity(2, joint=True), "together"),
        (ic.AverageRisk(0.3), "whole table"),
        (ic.P29(0.5), "whole table"),
        (ic.LKCPrivacy(2, 2, 0.9), "released cells"),
        (ic.KMap(2), "population"),
    ):
        with pytest.raises(ic.ParameterError, match=words):
            ic.anonymize(table, schema, [model], blocks=2)
    for blocks in (0, -1, True, 1.5):
        with pytest.raises(ic.ParameterError, match="whole number"):
            ic.anonymize(table, schema, k, blocks=blocks)
    with pytest.raises(ic.ParameterError, match="for Spark DataFrames"):
        ic.anonymize(mixed, schema, k, blocks=2)
    with pytest.raises(ic.ParameterError, match="no order"):
        ic.anonymize(table, schema, k, blocks=2, keep_order=True)
    odd = spark.sql("select id q, interval 1 month y from range(9)")
    with pytest.raises(ic.TableError, match=r"column 'y': Spark cannot hand"):
        ic.anonymize(odd, ic.Schema(quasi=["q"], insensitive=["y"]), k, blocks=2)
    with pytest.raises(ic.InfeasibleError, match="even when all"):
        ic.anonymize(table, schema, [ic.LDiversity(3, kind="entropy")], blocks=3)


def test_values_that_were_not_counted():
    for before, after in (
        (pl.Series(["a", "b"]), pl.Series(["a", "c"])),
        (pl.Series([1.0, 2.0]), pl.Series([1.0, 3.0])),
        (pl.Series([1, 2]), pl.Series([None, 2])),
        (pl.Series([None], dtype=pl.String), pl.Series(["a"])),
    ):
        coder = Coder.of_values(before, np.arange(len(before)))
        assert coder.codes(before.to_arrow()).tolist() == list(range(len(before)))
        with pytest.raises(ValueError, match=OTHER_VALUES):
            coder.codes(after.to_arrow())


def test_a_table_that_changes_meanwhile(spark):
    def anew(batches):
        for batch in batches:
            values = np.random.default_rng().normal(size=batch.num_rows)
            yield pa.RecordBatch.from_arrays([pa.array(values), batch.column("id")], names=["q", "id"])

    table = spark.range(100).mapInArrow(anew, "q double, id bigint")
    with pytest.raises(ic.TableError, match="was changed while it was counted") as caught:
        ic.anonymize(table, ic.Schema(quasi=["q"], insensitive=["id"]), [ic.KAnonymity(3)], blocks=2)
    assert caught.value.__cause__ is None
