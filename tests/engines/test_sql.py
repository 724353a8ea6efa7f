"""Rows in databases give the same keys, recodings and releases as rows in memory."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import incrowd as ic
from crossed import quick
from database_tables import PLACES, as_held, fetched, holding
from engine_tables import frames, in_order_of_codes, is_in_order_of_codes, same
from examples import examples
from incrowd.engines import MemoryEngine, engine_for

PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
"""Examples are not made smaller where one fails: each takes a table in a database."""


@pytest.fixture(scope="session", params=PLACES)
def where(request):
    """A kind of database, with PostgreSQL's URL if the kind is PostgreSQL."""
    kind = request.param
    return kind, request.getfixturevalue("postgres") if kind == "postgresql" else None


@pytest.mark.few(1)
@examples(8, phases=PHASES)
@given(
    frame=frames(),
    null_values=st.sampled_from([(), ("NA", "")]),
    joint=st.booleans(),
    target=st.sampled_from([None, "t", "other"]),
)
def test_keys_are_the_same(where, frame, null_values, joint, target):
    kind, url = where
    schema = ic.Schema(quasi=["p", "Q 'x'"], sensitive=["s", "t"], null_values=null_values, unlisted="keep")
    frame = as_held(kind, frame)
    with holding(kind, frame, url) as table:
        expected = _counted(MemoryEngine(frame), schema, joint, target)
        result = _counted(engine_for(table), schema, joint, target)
    if isinstance(expected, str):
        assert result == expected
        return
    assert is_in_order_of_codes(result)
    same(in_order_of_codes(expected), in_order_of_codes(result))
    if target:
        for one, other in zip(
            *(in_order_of_codes(counted).target.keys for counted in (expected, result)), strict=True
        ):
            assert one.tolist() == other.tolist()


def _counted(engine, schema, joint, target):
    try:
        return engine.count(schema, joint=joint, target=target).frequency
    except ic.InputError as error:
        return str(error)


@pytest.mark.slow
@examples(6, phases=PHASES)
@given(
    frame=frames(),
    null_values=st.sampled_from([(), ("NA",)]),
    algorithm=st.sampled_from([ic.Mondrian(), ic.Datafly(), ic.Optimal()]),
    k=st.integers(1, 4),
)
def test_releases_are_the_same(where, frame, null_values, algorithm, k):
    kind, url = where
    schema = ic.Schema(quasi=["p", "Q 'x'"], sensitive=["s"], null_values=null_values, unlisted="keep")
    frame = as_held(kind, frame)

    def made(table):
        try:
            return ic.anonymize(table, schema, [ic.KAnonymity(k)], algorithm, max_suppression=0.5)
        except ic.IncrowdError as error:
            return str(error)

    one = made(frame)
    with holding(kind, frame, url) as table:
        other = made(table)
        if isinstance(one, str):
            assert other == one
            return
        assert not isinstance(other, str), other
        assert one.recoding.decisions() == other.recoding.decisions()
        for name, lost in one.utility.items():
            _same_figures(lost.to_dict(), other.utility[name].to_dict())
        _same_figures(figures(one), figures(other))
        _same_rows(one.table, fetched(other.table))
        if kind == "relation":
            return
        other.into("safe", force=True)
        schema = schema.measured()
        # A table as it stands may have notes, which the account of a release has not.
        again = ic.assess(table.database.table("safe"), schema, [ic.KAnonymity(k)])
        _same_figures(replace(again, notes=()).to_dict(cells=False), figures(one))
        # Read as a table of its own, it has the same rows.
        safe = ic.anonymize(
            table.database.table("safe"),
            ic.Schema(quasi=["other"], unlisted="keep"), [ic.KAnonymity(1)], ic.Datafly(),
        )  # fmt: skip
        _same_rows(one.table, safe.table.fetch().with_columns(pl.col("other").cast(pl.Int64)))


def figures(release):
    return release.privacy.to_dict(cells=False)


def _same_figures(one, other):
    """Sums of floats run over keys in another order, so the last digits may differ."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            _same_figures(one[name], other[name])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            _same_figures(*pair)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-12, nan_ok=True)
    else:
        assert one == other


def _same_rows(one, other):
    assert one.columns == other.columns
    # Types may be wider and texts that are all missing have none; the order of rows is not told.
    assert_frame_equal(one.sort("other"), other.sort("other"), check_dtypes=False, categorical_as_str=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "table",
    quick(
        ['odd."name', 'x"; DROP TABLE people; --', "Übergröße.select", "GROUP", "people"],
        'x"; DROP TABLE people; --', "Übergröße.select",
    ),
)  # fmt: skip
def test_names_and_values_with_quotes(where, table):
    kind, url = where
    names = ['a"; DROP TABLE people; --', "select", "Ünder.score", "A", "it's"]
    values = ["'; DROP TABLE people; --", '"', "x", "x", None, "\\", "%s $1 ?", "{}"] * 2
    frame = pl.DataFrame({name: values[i:] + values[:i] for i, name in enumerate(names)}).with_columns(
        other=pl.Series(range(16))
    )
    schema = ic.Schema(quasi=names[:4], sensitive=[names[4]], unlisted="keep")
    one = ic.anonymize(frame, schema, [ic.KAnonymity(2)])
    with holding(kind, frame, url, table) as rows:
        other = ic.anonymize(rows, schema, [ic.KAnonymity(2)])
        _same_rows(one.table, fetched(other.table))
        if kind == "relation":
            return
        target = 'safe "; DROP TABLE people; --'
        other.into('"safe ""; DROP TABLE people; --"', force=True)
        result = rows.database.table('"' + target.replace('"', '""') + '"')
        again = ic.assess(result, schema, [ic.KAnonymity(2)])
        _same_figures(replace(again, notes=()).to_dict(cells=False), figures(one))
        assert len(fetched(ic.anonymize(rows, schema, [ic.KAnonymity(2)]).table)) == 16


@pytest.mark.few(2)
def test_a_table_without_rows(where):
    kind, url = where
    frame = pl.DataFrame({"q": [], "s": []}, schema={"q": pl.String, "s": pl.Int64})
    with holding(kind, frame, url) as table, pytest.raises(ic.TableError, match="the table has no rows"):
        ic.assess(table, ic.Schema(quasi=["q"], sensitive=["s"]))


@pytest.mark.few(2)
def test_columns_that_are_not_there(where):
    kind, url = where
    with (
        holding(kind, pl.DataFrame({"q": ["a"]}), url) as table,
        pytest.raises(ic.SchemaError, match="no column 'x'"),
    ):
        ic.assess(table, ic.Schema(quasi=["x"]))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", quick(["parquet", "csv"], "parquet"))
def test_files(where, tmp_path, suffix):
    from incrowd.samples import hospital

    kind, url = where
    frame = as_held(kind, hospital(3000, 1))
    schema = ic.Schema(
        quasi={"age": None, "sex": None, "zip": ic.Hierarchy.prefix()},
        sensitive=["diagnosis"], identifying=["name", "birth_date"], unlisted="keep",
    )  # fmt: skip
    one = ic.anonymize(frame, schema, [ic.KAnonymity(5), ic.LDiversity(2)])
    target = tmp_path / f"out.{suffix}"
    read = pl.read_parquet if suffix == "parquet" else pl.read_csv
    with holding(kind, frame, url) as table, pytest.MonkeyPatch.context() as patch:
        patch.setattr("incrowd.engines.dialects.sqlite.BATCH", 700)
        patch.setattr("incrowd.engines.dialects.duckdb.BATCH", 700)
        other = ic.anonymize(table, schema, [ic.KAnonymity(5), ic.LDiversity(2)])
        other.write(target)
    one.write(tmp_path / f"memory.{suffix}")
    assert_frame_equal(
        read(target).sort("patient_id"),
        read(tmp_path / f"memory.{suffix}").sort("patient_id"),
        check_dtypes=False,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"memory.{suffix}", f"out.{suffix}"]


@pytest.mark.slow
def test_the_next_batch(where):
    kind, url = where
    policy = ic.Policy(ic.Schema(quasi=["q"], sensitive=["s"]), (ic.KAnonymity(2),), max_suppression=0.5)
    frame = pl.DataFrame({"q": list("aabbcc"), "s": list("xyxyxy")})
    recoding = ic.anonymize(frame, policy).recoding
    batch = pl.DataFrame({"q": list("aabbczz"), "s": list("xyxyxyx")})
    one = ic.apply_recoding(recoding, batch, policy, max_suppression=0.5)
    with holding(kind, batch, url) as table:
        other = ic.apply_recoding(recoding, table, policy, max_suppression=0.5)
        assert (other.outside, other.too_small, other.suppressed) == (2, 1, 3)
        assert fetched(other.table).sort("q", "s").equals(one.table.sort("q", "s"))


@pytest.mark.few(2)
def test_what_cannot_be_done_with_rows_elsewhere(where):
    kind, url = where
    frame = pl.DataFrame({"q": list("aabb"), "s": list("xyxy")})
    schema = ic.Schema(quasi=["q"], sensitive=["s"])
    with holding(kind, frame, url) as table:
        with pytest.raises(ic.TableError, match="not in memory, so its records cannot be parted"):
            ic.anonymize(table, schema, [ic.KAnonymity(2)], ic.Clustering())
        with pytest.raises(ic.ParameterError, match="rows of a database have no order"):
            ic.anonymize(table, schema, [ic.KAnonymity(2)], keep_order=True)
    with pytest.raises(ic.TableError, match="not in a database"):
        ic.anonymize(frame, schema, [ic.KAnonymity(2)]).into("safe")
