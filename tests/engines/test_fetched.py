"""Counts of fetched combinations equal counts of rows in memory."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from engine_tables import frames, in_order_of_codes, is_in_order_of_codes, same
from incrowd.core.recoding import FullDomain
from incrowd.engines import Engine, MemoryEngine
from incrowd.engines.fetched import Combinations, count_fetched
from incrowd.engines.fold import CELL, ROWS
from incrowd.search import SearchProblem


class Elsewhere(Engine):
    """A frame that is grouped as in a database: in any order, by values as written."""

    def __init__(self, frame: pl.DataFrame, seed: int = 0) -> None:
        super().__init__(frame)
        self.frame, self.seed = frame, seed

    @classmethod
    def takes(cls, table):
        return False

    def count(self, schema, *, joint=False, target=None):
        return count_fetched(
            self, Combinations(self.raw_combinations), schema, None, joint=joint, target=target
        )

    def write(self, path, target, csv_format):
        raise NotImplementedError

    @property
    def columns(self):
        return self.frame.columns

    def raw_combinations(self, names):
        result = self.frame.group_by(names).agg(pl.len().cast(pl.Int64).alias(ROWS))
        return result.sample(fraction=1, shuffle=True, seed=self.seed)


@given(
    frames(),
    st.sampled_from([(), ("NA", "")]),
    st.booleans(),
    st.sampled_from([None, "t", "other"]),
    st.integers(0, 9),
)
def test_keys_are_the_same(frame, null_values, joint, target, seed):
    schema = ic.Schema(quasi=["p", "Q 'x'"], sensitive=["s", "t"], null_values=null_values, unlisted="keep")
    try:
        expected = MemoryEngine(frame).count(schema, joint=joint, target=target).frequency
    except ic.InputError as error:
        with pytest.raises(type(error)):
            Elsewhere(frame).count(schema, joint=joint, target=target)
        return
    frequency = Elsewhere(frame, seed).count(schema, joint=joint, target=target).frequency
    assert not frequency.in_order
    assert is_in_order_of_codes(frequency)
    same(in_order_of_codes(expected), in_order_of_codes(frequency))
    for one, other in (
        zip(*(in_order_of_codes(table).target.keys for table in (expected, frequency)), strict=True)
        if target
        else ()
    ):
        assert one.tolist() == other.tolist()


@given(frames(), st.sampled_from([(), ("NA",)]), st.integers(0, 9))
def test_what_the_rows_are_joined_with(frame, null_values, seed):
    schema = ic.Schema(quasi=["p", "Q 'x'"], null_values=null_values, unlisted="keep")
    elsewhere = Elsewhere(frame, seed).count(schema)
    names = ["p", "Q 'x'"]
    recoding = FullDomain.build(elsewhere.frequency, [0, 1])
    keys = elsewhere.recoded_keys(schema, recoding)
    joined = frame.join(keys, on=names, how="left", nulls_equal=True, maintain_order="left")
    assert len(joined) == len(frame)
    here = MemoryEngine(frame).count(schema)
    again = here.apply(schema, FullDomain.build(here.frequency, [0, 1])).table
    for name in names:
        assert joined[CELL.format(name)].to_list() == again[name].to_list()


def test_a_table_that_changes_meanwhile():
    frame = pl.DataFrame({"q": ["a", "b"], "s": ["x", "y"]})

    class Changing(Elsewhere):
        def raw_combinations(self, names):
            result = super().raw_combinations(names)
            self.frame = self.later
            return result

    for later in (
        frame.extend(pl.DataFrame({"q": ["a"], "s": ["x"]})),
        pl.DataFrame({"q": ["a", "c"], "s": ["x", "y"]}),
    ):
        engine = Changing(pl.DataFrame({"q": ["a", "b"], "s": ["x", "y"]}))
        engine.later = later
        with pytest.raises(ic.TableError, match="was changed while it was counted"):
            engine.count(ic.Schema(quasi=["q"], sensitive=["s"]))


def test_rows_without_an_order_have_no_first_value():
    engine = Elsewhere(pl.DataFrame({"q": list("aabb")}))
    schema = ic.Schema(quasi=["q"])
    frequency = engine.count(schema).frequency
    with pytest.raises(ic.ParameterError, match="needs rows in an order"):
        ic.Mondrian(categories="appearance").search(
            SearchProblem(frequency, [ic.KAnonymity(2)], schema.quasi)
        )
