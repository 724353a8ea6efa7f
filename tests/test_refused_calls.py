"""Senseless calls from Python are refused with a way out, and never by a failed assertion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.io.targets import writing
from incrowd.core.recoding import FullDomain
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.engines import engine_for
from incrowd.release.report.charts import measures
from incrowd.release.report.document import ComparisonRun
from incrowd.search import Algorithm, SearchProblem, Solution

FRAME = pl.DataFrame({"q": ["a", "a", "b", "b"], "s": ["x", "y", "x", "y"]})
SCHEMA = ic.Schema(quasi={"q": ic.Hierarchy.flat()}, sensitive=["s"])


def counted():
    return engine_for(FRAME).count(SCHEMA).frequency


@pytest.mark.parametrize("model", [ic.KMap(2), ic.DeltaPresence(0.5)])
def test_a_population_is_asked_for(model):
    classes = EquivalenceClasses.of_keys(counted())
    with pytest.raises(ic.ParameterError, match=r"know no population.*population="):
        model.measure(classes)


@pytest.mark.parametrize("algorithm", [ic.TopDownSpecialization("s"), ic.BottomUpGeneralization("s")])
def test_a_column_to_predict_is_asked_for(algorithm):
    with pytest.raises(ic.ParameterError, match="count the table with target="):
        algorithm.search(SearchProblem(counted(), [ic.KAnonymity(2)], SCHEMA.quasi))


def test_a_frame_is_recoded_by_what_was_counted_from_rows():
    elsewhere = engine_for(FRAME.lazy()).count(SCHEMA).frequency
    here = replace(engine_for(FRAME).count(SCHEMA), frequency=elsewhere)
    with pytest.raises(ic.TableError, match="these rows are not in memory"):
        here.apply(SCHEMA, FullDomain.build(elsewhere, [0]))


def test_a_release_that_is_not_written_is_not_recoded_again(tmp_path):
    FRAME.write_parquet(tmp_path / "t.parquet")
    release = ic.anonymize(ic.scan(tmp_path / "t.parquet"), SCHEMA, "k-anonymity:2")
    with pytest.raises(ic.TableError, match="is not written yet cannot be recoded again; write it first"):
        ic.anonymize(release.table, ic.Schema(quasi={"q": "category"}, sensitive=["s"]), "k-anonymity:2")


@pytest.mark.parametrize("schema", [["q"], None, {"q": None}])
def test_attacks_ask_for_a_schema(schema):
    with pytest.raises(ic.ParameterError, match="schema must be a Schema or a Policy"):
        ic.attack(FRAME, FRAME, schema)


@dataclass(frozen=True)
class Levelled(Algorithm):
    """An algorithm that claims to know levels, and gives no lattice."""

    name: ClassVar[str] = "levelled"
    full_domain: ClassVar[bool] = True

    def search(self, problem: SearchProblem) -> Solution:
        return Solution(FullDomain.build(problem.frequency, [1]))


def test_explore_asks_for_an_algorithm_with_a_lattice():
    policy = ic.Policy(SCHEMA, (ic.KAnonymity(2),), Levelled())
    with pytest.raises(ic.ParameterError, match=r"levelled .* gave no lattice; use .* optimal"):
        ic.explore(FRAME, policy)


def test_a_run_without_release_has_no_figures():
    run = ComparisonRun("optimal", 5, None, None, None, problem="infeasible")
    for measure in measures(4)[1:]:
        with pytest.raises(ic.ParameterError, match="optimal gave no release"):
            measure.of(run)


def test_what_was_removed_meanwhile_is_missed(tmp_path):
    with (
        pytest.raises(ic.TableError, match=r"out\.csv: what was written beside it is gone"),
        writing(tmp_path / "out.csv", force=False) as place,
    ):
        place.unlink()
    assert not (tmp_path / "out.csv").exists()


def test_values_of_rows_that_are_elsewhere_are_not_at_hand():
    elsewhere = engine_for(FRAME.lazy()).count(SCHEMA).frequency
    with pytest.raises(ic.TableError, match="not in memory"):
        elsewhere.sensitive[0].rank_of_row()
    assert np.array_equal(counted().sensitive[0].rank_of_row(), [0, 1, 0, 1])
