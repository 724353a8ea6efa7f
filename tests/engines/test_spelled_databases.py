"""Columns with a declared spelling in databases: the release is that of the same rows in memory, cell for cell."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from crossed import crossed
from database_tables import PLACES, fetched, holding

ROWS = 300
RANDOM = np.random.default_rng(8)
DAYS = RANDOM.integers(1, 29, ROWS).tolist()
MONTHS = RANDOM.integers(1, 13, ROWS).tolist()
AMOUNTS = RANDOM.integers(0, 40_000, ROWS).tolist()
UNIT = " €"


def amount(place: int, number: int) -> str | None:
    """Write a number in several ways, with some fillers and some missing numbers."""
    if place % 41 == 0:
        return None
    if place % 29 == 0:
        return "?"
    euros, cents = divmod(number // 500 * 500, 100)
    grouped = f"{euros // 1000}.{euros % 1000:03}" if euros >= 1000 and place % 2 else f"{euros}"
    return grouped + (f",{cents:02}" if place % 3 else "") + UNIT


RAW = pl.DataFrame(
    {
        "row": range(ROWS),
        # 5.3.2020 and 05.03.2020 are one day; the first of January 1900 means missing.
        "seen": [
            "01.01.1900"
            if place % 37 == 0
            else f"{day}.{month}.2020"
            if place % 2
            else f"{day:02}.{month:02}.2020"
            for place, (day, month) in enumerate(zip(DAYS, MONTHS, strict=True))
        ],
        "at": [f"2020-01-{day:02} {month:02}:30:00" for day, month in zip(DAYS, MONTHS, strict=True)],
        "worth": [amount(place, number) for place, number in enumerate(AMOUNTS)],
        "born": [19_000_000 + 10_000 * month + 300 + day for day, month in zip(DAYS, MONTHS, strict=True)],
        "pay": [f"$1,{number % 4}00" if number % 2 else f"$1{number % 4}00" for number in AMOUNTS],
        "share": [f"{number % 3},50 %" for number in AMOUNTS],
    }
)
HOW = {
    "seen": {"role": "quasi", "format": "%d.%m.%Y"},
    "at": {"role": "quasi", "format": "%Y-%m-%d %H:%M:%S"},
    "worth": {"role": "quasi", "decimal": ",", "thousands": "."},
    "born": {"role": "quasi", "format": "%Y%m%d"},
    "pay": {"role": "sensitive", "thousands": ","},
    "share": {"role": "sensitive", "decimal": ","},
    "row": {"role": "insensitive"},
}
TREES = {
    "seen": ic.Hierarchy.dates(),
    "at": ic.Hierarchy.dates(),
    "worth": ic.Hierarchy.intervals(50, 100),
    "born": ic.Hierarchy.dates(),
}
STYLES = {
    "mondrian": {},
    "mondrian, means": {"output": "mean"},
    "mondrian, sets": {"output": "set", "set_limit": 1000},
    "mondrian, trees": {"trees": True},
    "optimal": {"algorithm": "optimal", "trees": True, "max_suppression": 0.3},
    "datafly": {"algorithm": "datafly", "trees": True, "max_suppression": 0.3},
}


def policy(*, trees: bool = False, **settings) -> ic.Policy:
    attributes = [
        ic.Attribute(name, hierarchy=TREES.get(name) if trees else None, **how) for name, how in HOW.items()
    ]
    schema = ic.Schema.of_attributes(attributes, null_values=["?", "1900-01-01"])
    return ic.Policy(schema, [ic.KAnonymity(3), ic.LDiversity(2, attribute="pay")], **settings)


def texts(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(pl.col("row").cast(pl.Int64), *(name for name in HOW if name != "row")).sort("row")


def figures(release: ic.Release) -> dict[tuple, float]:
    """The reach of each model and the loss of each metric, where any of equally weak classes may be named."""
    result = {
        (each.model, each.quantity, each.attribute, str(each.settings)): each.value
        for each in release.privacy.privacy
    }
    return result | {("loss", name): lost.value for name, lost in release.utility.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("where", "style"), crossed(PLACES, STYLES))
def test_a_spelled_table_is_released_as_in_memory(where, style, request, tmp_path):
    url = request.getfixturevalue("postgres") if where == "postgresql" else None
    rules = policy(**STYLES[style])
    here = ic.anonymize(RAW, rules)
    expected = texts(here.texts)
    assert len(set(expected["seen"])) > 1
    with holding(where, RAW, url) as table:
        there = ic.anonymize(table, rules)
        assert [d.values for d in there.frequency.domains] == [d.values for d in here.frequency.domains]
        assert texts(fetched(there.table)).equals(expected)
        assert figures(there) == pytest.approx(figures(here))
        there.write(tmp_path / "there.csv")
        written = pl.read_csv(tmp_path / "there.csv", infer_schema=False)
        assert texts(written).equals(expected)
        rules.write(tmp_path / "policy.toml")
        checked = ic.verify(tmp_path / "there.csv", tmp_path / "policy.toml")
        assert checked.ok, checked
        if where == "relation":
            return
        there.into("safe", force=True)
        assert ic.assess(table.database.table("safe"), rules.schema, rules.models).holds
        if rules.output != "mean":
            # A mean covers no value but itself.
            later = ic.Policy(rules.schema, ["k-anonymity:3"], max_suppression=1.0)
            batch, again = (
                ic.apply_recoding(release.recoding, rows, later)
                for release, rows in ((there, table), (here, RAW))
            )
            assert texts(fetched(batch.table)).equals(texts(again.texts))


@pytest.mark.few(2)
@pytest.mark.parametrize("where", PLACES)
def test_what_is_not_written_so_is_refused_without_its_value(where, request):
    url = request.getfixturevalue("postgres") if where == "postgresql" else None
    wrong = RAW.with_columns(seen=pl.when(pl.col("row") == 5).then(pl.lit("secret")).otherwise("seen"))
    with (
        holding(where, wrong, url) as table,
        pytest.raises(ic.SchemaError, match=r"1 of .* are no dates") as error,
    ):
        ic.anonymize(table, policy())
    assert "secret" not in str(error.value)
