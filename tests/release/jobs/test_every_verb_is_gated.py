"""No verb lets a table with an open point leave, unless the caller accepts the point or says so."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic

pytestmark = pytest.mark.gated

ROWS = 300
RNG = np.random.default_rng(5)
TABLE = pl.DataFrame(
    {
        "age": RNG.integers(20, 60, ROWS),
        "ill": RNG.choice(list("abcdef"), ROWS),
        "note": ["fine"] * (ROWS - 1) + ["+44 20 7946 0958"],
    }
)
SCHEMA = ic.Schema(quasi={"age": ic.Hierarchy.intervals(10, 20)}, sensitive=["ill"], insensitive=["note"])
MODELS = (ic.KAnonymity(5), ic.LDiversity(2))
ANSWER = ic.Accepted("personal-text", "note", "the number of the ward")


def anonymize(accepted=(), **settings):
    return ic.anonymize(TABLE, ic.Policy(SCHEMA, MODELS, accepted=accepted), **settings)


def apply(accepted=(), **settings):
    recoding = ic.anonymize(TABLE, ic.Policy(SCHEMA, MODELS), unanswered="write").recoding
    policy = ic.Policy(SCHEMA, MODELS, accepted=accepted)
    return ic.apply_recoding(recoding, TABLE, policy, **settings)


def anatomize(accepted=(), **settings):
    policy = ic.Policy(SCHEMA, (ic.LDiversity(2),), accepted=accepted)
    return ic.anatomize(TABLE, policy, **settings)


def randomize(accepted=(), **settings):
    drawn = {"ill": ic.RandomizedResponse(1.0, list("abcdef"))}
    return ic.randomize(TABLE.select("ill", "note"), drawn, accepted=accepted, **settings)


def ensure_privacy(accepted=(), **settings):
    return ic.ensure_privacy(TABLE, SCHEMA, t=1, accepted=accepted, **settings)


@pytest.mark.few(2)
@pytest.mark.parametrize("verb", [anonymize, apply, anatomize, randomize, ensure_privacy])
def test_one_row_that_reaches_a_person_is_refused_until_it_is_accepted(verb):
    with pytest.raises(ic.VerdictError, match=r"OPEN: .*personal-text: note") as error:
        verb()
    assert "7946" not in str(error.value)
    assert verb([ANSWER]).verdict.state == "holds"
    written = verb(unanswered="write")
    assert written.verdict.state == "open"
    assert written.to_dict()["verdict"] == written.verdict.to_dict()
    with pytest.raises(ic.ParameterError, match="unanswered"):
        verb(unanswered="maybe")
