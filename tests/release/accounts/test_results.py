"""Measures that nobody requested wait for a reader, and never change."""

from __future__ import annotations

import pickle
from dataclasses import replace

import polars as pl
import pytest

import incrowd as ic
from incrowd.engines import MemoryEngine
from incrowd.measures.privacy import TCloseness
from incrowd.release.accounts.results import Results
from incrowd.release.jobs.measure.assess import assess_classes
from incrowd.samples import hospital

SCHEMA = ic.Schema(quasi=["age", "sex"], sensitive=["diagnosis"], unlisted="drop")


@pytest.fixture
def watched(monkeypatch):
    """How often a model was measured that nobody asked for."""
    calls = []
    real = TCloseness._values

    def counted(self, classes, position):
        calls.append(position)
        return real(self, classes, position)

    monkeypatch.setattr(TCloseness, "_values", counted)
    return calls


def test_a_release_measures_what_was_asked_and_the_rest_when_it_is_read(watched, tmp_path):
    release = ic.anonymize(hospital(300, 1), SCHEMA, ic.KAnonymity(5))
    release.write(tmp_path / "release.csv")
    assert release.privacy.holds
    assert "1 of 1 limits are met" in repr(release.privacy)
    assert release.sentences()
    assert not watched
    assert release.privacy.reached("t-closeness") > 0
    number = len(watched)
    assert number
    assert release.privacy.privacy == release.privacy.privacy
    assert len(watched) == number, "measured once"
    assert {each.model for each in release.privacy.privacy} == {each.model for each in release.before.privacy}


@pytest.mark.parametrize(
    ("roles", "model", "looked_at"),
    [
        ({}, ic.KAnonymity(5), False),
        ({}, ic.LDiversity(2), True),
        ({"person": ["patient_id"]}, ic.KAnonymity(5), True),
    ],
)
def test_a_file_is_counted_by_what_its_verdict_looks_at(monkeypatch, tmp_path, roles, model, looked_at):
    schema = ic.Schema(quasi=["age", "sex"], sensitive=["diagnosis"], unlisted="drop", **roles)
    release = ic.anonymize(hospital(300, 1), schema, model)
    counted = []
    real = MemoryEngine.count

    def count(self, schema, **options):
        counted.append([each.name for each in schema.sensitive])
        return real(self, schema, **options)

    monkeypatch.setattr(MemoryEngine, "count", count)
    release.write(tmp_path / "release.csv")
    assert counted == [["diagnosis"] if looked_at else []]


def test_a_file_that_fails_is_not_kept(tmp_path):
    release = ic.anonymize(hospital(300, 1), SCHEMA, ic.KAnonymity(5))
    changed = replace(release, table=release.table.head(290), _texts=None)
    with pytest.raises(ic.InfeasibleError, match="k-anonymity"):
        changed.write(tmp_path / "release.csv")
    assert not (tmp_path / "release.csv").exists()


def test_a_copy_has_all_figures(watched):
    assessment = ic.assess(hospital(300, 1), SCHEMA, ic.KAnonymity(1))
    copied = pickle.loads(pickle.dumps(assessment))
    assert watched
    assert [each.model for each in copied.results.asked] == ["k-anonymity"]
    assert copied.privacy == assessment.privacy
    assert len(copied.privacy) > 10
    assert copied == assessment
    assert "others" not in repr(copied.results)
    assert copied.results != Results(copied.results.asked)


def test_a_measure_that_was_stopped_is_taken_again():
    outcomes = [KeyboardInterrupt, ()]

    def others():
        result = outcomes.pop(0)
        if result:
            raise result
        return result

    results = Results((), others)
    with pytest.raises(KeyboardInterrupt):
        results.all  # noqa: B018
    assert results.all == ()
    assert not outcomes


def test_the_table_before_waits_where_sizes_are_all_that_is_asked(monkeypatch):
    """Other models may refuse a table, so the check comes before any release."""
    measured = []

    def noting(classes, *arguments, **settings):
        measured.append(classes.frequency.keys)
        return assess_classes(classes, *arguments, **settings)

    monkeypatch.setattr("incrowd.release.jobs.make.anonymize.assess_classes", noting)
    table = pl.DataFrame({"age": [20, 21, 31, 32], "ill": ["a", "b", "a", "b"]})
    schema = ic.Schema({"age": ic.Hierarchy.intervals(10)}, ["ill"])
    release = ic.anonymize(table, schema, [ic.KAnonymity(2)], "optimal")
    assert measured == []
    assert pickle.loads(pickle.dumps(release.before)).to_dict() == release.before.to_dict()
    assert (release.before.classes, release.privacy.classes) == (4, 2)
    assert measured == [4]
    ic.anonymize(table, schema, [ic.KAnonymity(2), ic.LDiversity(2)], "optimal")
    assert measured == [4, 4]
