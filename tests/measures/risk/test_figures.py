"""Figures of risk models wait for a reader, and outlive the classes."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import polars as pl
import pytest

import incrowd as ic
from incrowd.measures.risk import RISKS

TABLE = pl.DataFrame({"age": [20, 20, 31, 31, 31, 47], "ill": ["a", "a", "a", "b", "c", "c"]})
SCHEMA = ic.Schema(["age"], ["ill"])


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note each measuring of a risk model by name."""
    result: list[str] = []

    def noting(model: Any) -> Any:
        plain = model.measure

        def measure(self: Any, classes: Any) -> dict[str, float]:
            result.append(self.name)
            figures: dict[str, float] = plain(self, classes)
            return figures

        return measure

    for model in RISKS:
        monkeypatch.setattr(model, "measure", noting(model))
    return result


def test_each_is_measured_once_and_only_when_it_is_read(measured: list[str]) -> None:
    """The list of risks is known before, and other releases and files of figures read all risks."""
    risk = ic.assess(TABLE, SCHEMA).risk
    assert "prosecutor" in risk
    assert "attribute-disclosure" in list(risk)
    assert measured == []
    assert risk["prosecutor"]["max"] == 1
    assert risk["prosecutor"]["mean"] == 3 / 6
    assert measured == ["prosecutor"]
    assert risk == dict(risk)
    assert sorted(measured) == sorted(risk)


def test_a_release_measures_none(measured: list[str]) -> None:
    """Risks decide nothing; a model decides."""
    release = ic.anonymize(
        TABLE, SCHEMA, [ic.KAnonymity(2)], "optimal", max_suppression=0.2, suppressed="keep"
    )
    assert measured == []
    assert release.risk["prosecutor"]["max"] <= 1 / 2
    # Of the release, not of the table before.
    assert measured == ["prosecutor"]


def test_copies_hold_figures_and_no_classes() -> None:
    """The classes are the table in short, so no file has the classes."""
    assessment = ic.assess(TABLE, SCHEMA)
    figures = dict(ic.assess(TABLE, SCHEMA).risk)
    for each in (pickle.loads(pickle.dumps(assessment)), copy.deepcopy(assessment)):
        assert each.risk == figures
        assert vars(each.risk)["_source"] is None
    assert repr(assessment.risk) == repr(figures)
    assert vars(assessment.risk)["_source"] is None
    assert json.loads(json.dumps(assessment.to_dict()))["risk"] == figures


def test_an_unknown_risk_is_not_there() -> None:
    """As in a dictionary."""
    risk = ic.assess(TABLE, SCHEMA).risk
    assert "telepathy" not in risk
    assert risk.get("telepathy") is None
    with pytest.raises(KeyError, match="telepathy"):
        risk["telepathy"]
