"""Households and sampling weights on the command line."""

from __future__ import annotations

import json

import polars as pl
import pytest

import incrowd as ic
from survey_readings import survey_table

TABLE = survey_table(3, 300)


def test_the_roles_on_the_command_line(run, tmp_path):
    TABLE.write_csv(tmp_path / "t.csv")
    asked = (str(tmp_path / "t.csv"), "--qi", "age,town", "--household", "home", "--weights", "w", "--json")
    expected = ic.assess(TABLE, ic.Schema(quasi=["age", "town"], household="home", weights="w"))
    for command in ("assess", "risk"):
        found = json.loads(run(command, *asked).out)
        risk = found["risk"] if command == "assess" else found["risks"]
        assert risk["household"] == pytest.approx(expected.risk["household"])
        assert risk["individual"] == pytest.approx(expected.risk["individual"])
    TABLE.with_columns(w=pl.lit("?")).write_csv(tmp_path / "t.csv")
    for command in ("assess", "risk"):
        refused = run(command, *asked)
        assert refused.status == 2
        assert "300 rows have no number above 0" in refused.err.replace("\n", " ")
