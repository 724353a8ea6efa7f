"""km-anonymity: verify counts people with all classes of a person, or says that no count is possible."""

from __future__ import annotations

from itertools import combinations

import duckdb
import polars as pl
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.errors import PolicyError
from incrowd_verify import persons, verify
from people_readings import Reading, people_table
from people_releases import read, saved

POWERS = [1, 2, 3, 4, 7, 0]


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["optimal", "samarati", "datafly", "bottom-up"])
def test_figures_are_those_of_the_release_and_of_people_as_sets(tmp_path, algorithm):
    table = people_table(5, people=60)
    models = [ic.KMAnonymity(2, power) for power in (1, 2, 3, 0)]
    release, settings = saved(tmp_path, table, models, algorithm)
    verification = verify(**settings)
    reading = read(table, settings)
    for finding, measured, model in zip(verification.findings, release.privacy.privacy, models, strict=False):
        assert (finding.model, finding.quantity, finding.unit) == ("km-anonymity", "k", "people")
        assert finding.reached == measured.value == reading.km(model.power)[0]
    assert len(verification.findings) == 4
    assert verification.keeps_limits


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_release_that_was_not_made_for_it(tmp_path, seed):
    """The limit is met with equality, and a higher limit fails; classes are many and small."""
    table = people_table(seed, people=50)
    _, given = saved(tmp_path, table, [ic.KAnonymity(3)])
    reading = read(table, given)
    settings = {name: given[name] for name in ("path", "against", "row_map")}
    least = [reading.km(power)[0] for power in POWERS]
    assert least[0] > least[1]
    schema = ic.Policy.read(given["policy_path"]).schema
    for more in (0, 1):
        models = [ic.KMAnonymity(k + more, power) for k, power in zip(least, POWERS, strict=True)]
        ic.Policy(schema, models, max_suppression=0.3).write(tmp_path / "p.toml", force=True)
        verification = verify(policy_path=tmp_path / "p.toml", **settings)
        assert [finding.reached for finding in verification.findings] == least
        assert [finding.holds for finding in verification.findings] == [not more] * len(POWERS)


CROWDS = st.lists(st.sets(st.integers(0, 5), min_size=1, max_size=6), min_size=1, max_size=12)


def shared(crowd, power):
    """Return the fewest people with all known cells, by verify and by people as sets."""
    pairs = [(person, number) for person, numbers in enumerate(crowd) for number in numbers]
    reading = Reading([person for person, _ in pairs], [[number for _, number in pairs]], {})
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE crowd AS SELECT unnest(?::BIGINT[]) AS person, unnest(?::BIGINT[]) AS class",
            [list(column) for column in zip(*pairs, strict=True)],
        )
        counts = [con.execute(query).fetchone()[0] for query in persons.who_share(con, power)]
        return min(counts), reading.km(power)[0]


@drawn(CROWDS, st.sampled_from([0, 1, 2, 3, 4, 5, 6, 9]))
def test_any_crowd_is_counted_as_sets_are(crowd, power):
    result, expected = shared(crowd, power)
    assert result == expected


@pytest.mark.few(3)
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("power", "fewest"), [(1, 6), (2, 3), (3, 1), (4, 1), (0, 1)])
def test_of_all_sets_of_three_classes_each_is_of_as_many_people(power, fewest, times):
    crowd = [*combinations(range(5), 3)] * times
    assert shared(crowd, power) == (fewest * times, fewest * times)


# --- small tables -----------------------------------------------------------------------------------------


def checked(folder, rows, models, **more):
    """Verify a release of rows of a person and a town, against the raw table."""
    raw = pl.DataFrame(rows, schema=["who", "town"], orient="row")
    raw.write_parquet(folder / "raw.parquet")
    raw.select("town").write_csv(folder / "t.csv")
    policy = ic.Policy(ic.Schema(["town"], person="who"), models, max_suppression=0.5, keep_order=True)
    policy.write(folder / "p.toml", force=True)
    return verify(folder / "t.csv", folder / "p.toml", **{"against": folder / "raw.parquet"} | more)


VISITS = [("Ann", "x"), ("Ann", "y"), ("Bob", "x"), ("Cid", "x"), ("Cid", "z"), ("Dan", "y"), ("Eve", "z")]


def test_two_visits_that_nobody_else_has(tmp_path):
    verification = checked(tmp_path, VISITS, [ic.KMAnonymity(2, power) for power in (1, 2, 0)])
    assert [finding.reached for finding in verification.findings] == [2, 1, 1]
    assert [finding.holds for finding in verification.findings] == [True, False, False]
    # Two who have the same two visits hide each other, and whoever has one of them.
    verification = checked(tmp_path, [*VISITS, ("Fay", "y"), ("Fay", "x"), ("Gus", "z"), ("Gus", "x")], [ic.KMAnonymity(2)])  # fmt: skip
    assert (verification.findings[0].reached, verification.keeps_limits) == (2, True)


def test_a_suppressed_record_tells_nothing(tmp_path):
    rows = [("Ann", "x"), ("Ann", "*"), ("Bob", "x"), ("Bob", "x")]
    verification = checked(tmp_path, rows, [ic.KMAnonymity(2, power) for power in (2, 0)])
    assert [finding.reached for finding in verification.findings] == [2, 2]
    every = checked(tmp_path, [("Ann", "*"), ("Ann", "*")], [ic.KMAnonymity(1)])
    assert (every.findings[0].reached, every.findings[0].holds) == (None, False)


def test_who_is_unnamed_has_one_row(tmp_path):
    rows = [(None, "x"), (None, "y"), ("Ann", "x"), ("Ann", "y"), ("Bob", "x"), ("Bob", "y")]
    verification = checked(tmp_path, rows, [ic.KMAnonymity(2, power) for power in (1, 2, 0)])
    assert [finding.reached for finding in verification.findings] == [3, 2, 2]


def test_where_everybody_has_one_row_a_class_is_all_that_is_known(tmp_path):
    rows = [("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"), ("e", "y")]
    verification = checked(tmp_path, rows, [ic.KMAnonymity(2, power) for power in (1, 2, 0)])
    assert [(finding.reached, finding.unit) for finding in verification.findings] == [(2, "people")] * 3
    assert verification.keeps_limits


def test_without_people_it_is_not_checked_or_fails(tmp_path):
    models = [ic.KMAnonymity(k, power) for power in (1, 2, 0) for k in (1, 2, 3)]
    verification = checked(tmp_path, VISITS, models, against=None)
    assert {(finding.reached, finding.unit) for finding in verification.findings} == {(2, "records")}
    # A class of two records has at most two people.
    assert [finding.holds for finding in verification.findings] == [None, None, False] * 3
    alone = checked(tmp_path, VISITS, [ic.KMAnonymity(2)], against=None)
    assert alone.is_unchecked
    assert "how many people the classes have" in "; ".join(alone.unchecked)


def test_without_a_column_for_it_nobody_has_several_rows(tmp_path):
    checked(tmp_path, VISITS, [ic.KMAnonymity(1)])
    text = (tmp_path / "p.toml").read_text().replace('"person"', '"identifying"')
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(PolicyError, match=r"km-anonymity counts people .* no column has the role 'person'"):
        verify(tmp_path / "t.csv", tmp_path / "p.toml")


def test_too_many_sets_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(persons, "_MOST_SETS", 1)
    with pytest.raises(PolicyError, match="2 sets of 2 classes are more than the 1 that are looked at"):
        checked(tmp_path, VISITS, [ic.KMAnonymity(1, 2)])
    # All rows of a person are one set.
    assert checked(tmp_path, VISITS, [ic.KMAnonymity(1, 0)]).keeps_limits
