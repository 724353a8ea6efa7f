"""explore() refuses the same calls as anonymize(), in the same words."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.release.jobs.make.anonymize import explore

AGES = [age for age in range(20, 80) for _ in range(5)]
TABLE = pl.DataFrame({"age": AGES, "ill": list("abc") * 100})


def policy(**settings):
    schema = ic.Schema(quasi={"age": ic.Hierarchy.intervals(10, 20)}, sensitive=["ill"])
    models = settings.pop("models", (ic.KAnonymity(5),))
    return ic.Policy(schema, models, ic.Optimal(), **settings)


@pytest.mark.parametrize(
    "asked",
    [
        policy(keep_order=True),
        policy(models=(ic.KAnonymity(301),)),
        policy(models=(ic.LDiversity(4),)),
        policy(models=()),
        policy(models=(ic.KMap(2),)),
    ],
    ids=["order", "infeasible", "diversity", "no model", "no population"],
)
def test_what_a_run_is_refused_for_is_refused_when_it_is_explored(asked):
    with pytest.raises(ic.IncrowdError) as run:
        ic.anonymize(TABLE, asked)
    with pytest.raises(ic.IncrowdError) as explored:
        explore(TABLE, asked)
    assert (type(explored.value), str(explored.value)) == (type(run.value), str(run.value))


def test_what_a_run_releases_is_the_best_node(tmp_path):
    space = explore(TABLE, policy())
    assert ic.anonymize(TABLE, policy()).recoding.levels == tuple(space.best.levels)
