"""df.incrowd: the verbs as a namespace of frames, with the results of the functions."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import polars as pl
import pytest

import incrowd as ic
import incrowd.frames

TABLE = ic.samples.hospital(200, 2)
SCHEMA = ic.Schema(quasi=["age", "sex"], sensitive=["diagnosis"], unlisted="drop")
KINDS = {"polars": TABLE, "lazy": TABLE.lazy(), "pandas": TABLE.to_pandas()}


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_each_verb_does_what_its_function_does(kind):
    frame = KINDS[kind]
    release = frame.incrowd.anonymize(SCHEMA, "k-anonymity:5")
    assert release.privacy == ic.anonymize(frame, SCHEMA, "k-anonymity:5").privacy
    assert isinstance(release.table, pd.DataFrame if kind == "pandas" else pl.DataFrame | pl.LazyFrame)
    assert frame.incrowd.assess(SCHEMA, "k-anonymity:5") == ic.assess(frame, SCHEMA, "k-anonymity:5")
    assert frame.incrowd.risk(["age", "sex"]) == ic.assess(frame, ic.Schema(["age", "sex"])).risk


def test_a_policy_brings_its_models_and_wildcards():
    policy = ic.Policy(SCHEMA, (ic.KAnonymity(3),), wildcards="conservative")
    assessment = TABLE.incrowd.assess(policy)
    assert [each.model for each in assessment.privacy if each.limit is not None] == ["k-anonymity"]
    assert assessment.wildcards == "conservative"
    assert TABLE.incrowd.anonymize(policy.__class__(SCHEMA, policy.models)).privacy.smallest >= 3


def test_a_release_is_evaluated():
    release = TABLE.incrowd.anonymize(SCHEMA, "k-anonymity:5")
    assert TABLE.incrowd.evaluate(release.table, SCHEMA).utility["loss"].value > 0


@pytest.mark.parametrize("wrong", ["age", None, 5])
def test_what_is_no_schema_is_refused_as_by_the_function(wrong):
    with pytest.raises(ic.SchemaError, match="schema must be a Schema"):
        TABLE.incrowd.assess(wrong)


def test_the_namespace_says_what_it_has_and_nothing_of_the_frame():
    assert repr(TABLE.incrowd) == "Incrowd(assess(), anonymize(), risk(), evaluate())"


@pytest.mark.slow
def test_frames_have_it_only_once_it_is_imported_and_without_pandas_too():
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "import polars as pl, incrowd\n"
        "frame = pl.DataFrame({'a': [1, 1]})\n"
        "print(hasattr(frame, 'incrowd'))\n"
        "import incrowd.frames\n"
        "print(frame.incrowd.assess(['a']).smallest)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert process.stdout == "False\n2\n", process.stderr
