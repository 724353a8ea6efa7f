"""Some keys of a table are counted as if no other row had come."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.recoding.base import remaining
from incrowd.core.table.frequency import FrequencyTable
from incrowd.engines import engine_for

RNG = np.random.default_rng(5)


def table(rows: int = 80) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "who": RNG.integers(0, 30, rows),
            "home": RNG.integers(0, 12, rows),
            "w": RNG.integers(1, 9, rows).astype(float),
            "town": [f"t{n}" for n in RNG.integers(0, 6, rows)],
            "ill": RNG.choice(["1", "1.0", "2", "3"], rows),
        }
    )


def by_value(counts) -> dict[str, int]:
    return {value: n for value, n in zip(counts.domain.values, counts.totals.tolist(), strict=True) if n}


def figures(found: FrequencyTable) -> dict[str, object]:
    """Say everything that a model could look at, whatever the order of keys and unused values."""
    towns = found.domains[0].values
    people = found.people.table
    sampling, homes = found.survey
    keys = sorted(zip((towns[code] for code in found.codes[0]), found.weights.tolist(), strict=True))
    return {
        "keys": keys,
        "rows": found.rows,
        "values": [by_value(counts) for counts in found.sensitive],
        "people": found.people.number,
        "of people": None
        if people is None
        else (people.records, [by_value(each) for each in people.sensitive]),
        "same numbers": None if people is None else [_by_number(each) for each in people.sensitive],
        "weights": None if sampling is None else (sampling.people, sorted(sampling.keys.tolist())),
        "households": None if homes is None else homes.households,
    }


def _by_number(counts) -> dict[str, int] | None:
    if counts.by_number is None:
        return None
    return {
        v: n
        for v, n, t in zip(counts.domain.values, counts.by_number.tolist(), counts.totals, strict=True)
        if t
    }


SCHEMAS = {
    "records": {"identifying": ["who"]},
    "people": {"person": "who"},
    "weights": {"weights": "w"},
    "households": {"household": "home"},
}


@pytest.mark.few(5)
@pytest.mark.parametrize("roles", SCHEMAS)
@pytest.mark.parametrize("kind", ["frame", "lazy"])
def test_what_remains_is_what_a_table_without_the_rows_has(roles, kind):
    for _ in range(5):
        frame = table()
        schema = ic.Schema(["town"], {"ill": "number"}, unlisted="drop", **SCHEMAS[roles])
        towns = RNG.choice(sorted(set(frame["town"])), 3, replace=False).tolist()

        def counted(rows: pl.DataFrame, schema=schema) -> FrequencyTable:
            return engine_for(rows.lazy() if kind == "lazy" else rows).count(schema).frequency

        whole, part = counted(frame), counted(frame.filter(pl.col("town").is_in(towns)))
        chosen = np.array([whole.domains[0].values[code] in towns for code in whole.codes[0]])
        result = remaining(whole, chosen)
        assert figures(result) == figures(part)
        if kind == "frame":
            texts = [result.domains[0].values[result.codes[0][key]] for key in result.key_of_row("a test")]
            assert texts == frame.filter(pl.col("town").is_in(towns))["town"].to_list()
