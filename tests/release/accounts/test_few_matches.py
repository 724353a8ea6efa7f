"""People with suppressed cells whom few released records fit: counted by hand, by a release and by verify."""

from __future__ import annotations

import random
from dataclasses import replace

import polars as pl
import pytest

import incrowd as ic
from incrowd.release.policy.policy import Policy
from incrowd.release.verification import verify

pytestmark = pytest.mark.gated


def policy_of(k: int, names: list[str], **settings) -> Policy:
    settings = {"wildcards": "matches-any", "suppressed": "keep", "max_suppression": 1.0, **settings}
    models = settings.pop("models", [ic.KAnonymity(k)])
    return Policy(ic.Schema(names, unlisted="drop"), models, algorithm=ic.CellSuppression(), **settings)


def by_hand(raw: pl.DataFrame, released: pl.DataFrame, k: int) -> int:
    """Fit every record to every person."""
    cells = [row for row in released.rows() if set(row) != {"*"}]
    fits = [
        sum(all(cell in (value, "*", None) for cell, value in zip(row, person, strict=True)) for row in cells)
        for person in raw.rows()
    ]
    return sum(0 < count < k for count in fits)


def points(verdict_or_check):
    return [point for point in verdict_or_check.points if point.name == "few-matches"]


def test_the_record_that_alone_fits_a_person(tmp_path):
    raw = pl.DataFrame({"age": ["30"] * 3, "zip": ["1", "2", "3"]})
    policy = policy_of(2, ["age", "zip"], keep_order=True)
    with pytest.raises(ic.VerdictError, match="1 record of the table has values that fit fewer than 2"):
        ic.anonymize(raw, policy)
    release = ic.anonymize(raw, policy, unanswered="write")
    (point,) = points(release.verdict)
    assert (point.share, by_hand(raw, release.table, 2)) == (pytest.approx(1 / 3), 1)
    assert "wildcards='value'" in point.way_out
    strict = replace(policy, wildcards="value")
    assert not points(ic.anonymize(raw, strict, unanswered="write").verdict)


def test_a_risk_asks_for_as_many_records_as_its_k(tmp_path):
    raw = pl.DataFrame({"age": ["30"] * 4 + ["40"] * 2, "zip": ["1", "1", "2", "2", "3", "3"]})
    raw.write_csv(tmp_path / "raw.csv")
    for model in (ic.KAnonymity(3), ic.MaximumRisk(1 / 3)):
        policy = policy_of(3, ["age", "zip"], models=[model], keep_order=True)
        release = ic.anonymize(raw, policy, unanswered="write")
        release.write(tmp_path / "out.csv", force=True)
        policy.write(tmp_path / "policy.toml", force=True)
        checked = verify(tmp_path / "out.csv", tmp_path / "policy.toml", against=tmp_path / "raw.csv")
        for result in (release.verdict, checked):
            (point,) = points(result)
            assert point.share * len(raw) == by_hand(raw, release.table, 3) == 4
            assert "fit fewer than 3" in point.text


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(12))
def test_random_tables(seed, tmp_path):
    draw = random.Random(seed)
    columns, k = draw.choice([2, 3, 4]), draw.choice([2, 3])
    names = [f"q{number}" for number in range(columns)]
    pool = [["1", "2.0", "2", "3.50"], ["a", "b", None], ["*", "x", "y"], ["-0", "0", "7"]]
    raw = pl.DataFrame(
        {name: [draw.choice(pool[j]) for _ in range(draw_rows)] for j, name in enumerate(names)}
        if (draw_rows := draw.randint(6, 40))
        else {},
        schema=dict.fromkeys(names, pl.String),
    )
    try:
        release = ic.anonymize(raw, policy_of(k, names), unanswered="write")
    except ic.InfeasibleError:
        return
    # Numbers are compared by value.
    plain = raw.with_columns(pl.col("q0").replace({"2.0": "2"}))
    if columns == 4:
        plain = plain.with_columns(pl.col("q3").replace({"-0": "0"}))
    came_in = plain.filter(~pl.all_horizontal(pl.all().eq_missing("*")))
    table = release.table.with_columns(pl.col("q0").replace({"2.0": "2", "3.5": "3.50"}))
    expected = by_hand(came_in, table, k)
    result = points(release.verdict)
    assert [round(point.share * len(raw)) for point in result] == ([expected] if expected else [])
    raw.write_csv(tmp_path / "raw.csv")
    release.write(tmp_path / "out.csv")
    release.policy.write(tmp_path / "policy.toml")
    checked = verify(tmp_path / "out.csv", tmp_path / "policy.toml", against=tmp_path / "raw.csv")
    assert points(checked) == result
