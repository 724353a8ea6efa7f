"""Names that are nearly right: of columns, settings, options and objects of the package."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import alike_of, did_you_mean

PEOPLE = pl.DataFrame({"Age": ["1", "2"] * 4, "Birth Year": ["1", "2"] * 4, "ZIP": ["a"] * 8})
HINT = "capitals and signs count; did you mean 'Age'?"


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.write_csv("people.csv")
    return tmp_path


@pytest.mark.parametrize(
    "asked",
    [
        "assess people.csv --qi age",
        "anonymize people.csv --qi age --unlisted drop -k 2 -o out.csv",
        "anonymize people.csv --qi age --unlisted drop -k 2 -o out.csv --stream",
        "lattice people.csv --qi age -k 2",
        "risk people.csv --qi age",
        "compare people.csv --qi age --algorithms mondrian -k 2",
        "utility people.csv people.csv --qi age",
        "assess people.csv --policy policy.toml",
        "verify people.csv --policy policy.toml",
        "assess people.csv --hierarchy age=flat",
    ],
)
def test_a_column_of_another_case_is_asked_for(run, people, asked):
    ic.Policy(ic.Schema(quasi=["age"]), (ic.KAnonymity(2),)).write("policy.toml")
    result = run(*asked.split())
    assert result.status == 2
    assert "did you mean 'Age'?" in result.err
    assert "Birth Year" not in result.err, "the first line may be a person's row"


@pytest.mark.parametrize(
    "table", [PEOPLE, PEOPLE.lazy(), PEOPLE.to_pandas()], ids=["polars", "lazy", "pandas"]
)
def test_python_is_asked_too(table):
    with pytest.raises(ic.SchemaError, match="capitals and signs count; did you mean 'Age', 'Birth Year'"):
        ic.anonymize(table, ic.Schema(quasi=["age", "birth_year"], unlisted="drop"), [ic.KAnonymity(2)])


def test_a_name_that_the_caller_does_not_know_is_not_told(people):
    """The first line of a file may be a row, and for frames see `test_errors`."""
    with pytest.raises(ic.SchemaError) as error:
        ic.anonymize("people.csv", ic.Schema(quasi=["Agee"], unlisted="drop"), [ic.KAnonymity(2)])
    assert "Age'" not in str(error.value).replace("'Agee'", "")


@pytest.mark.parametrize(
    "call",
    [
        lambda: ic.Policy(ic.Schema(quasi=["Age"]), (ic.KAnonymity(2),)).with_levels({"age": 1}),
        lambda: ic.attack(PEOPLE, PEOPLE, ic.Schema(quasi=["Age", "ZIP"]), parts=(["age"], ["ZIP"])),
        lambda: ic.attack(PEOPLE, PEOPLE, ic.Schema(quasi=["ZIP"], sensitive=["Age"]), secret="age"),
        lambda: ic.anonymize(
            PEOPLE,
            ic.Schema(quasi=["ZIP"], sensitive=["Age"], unlisted="drop"),
            [ic.LDiversity(1, attribute="age")],
        ),
        lambda: ic.assess(PEOPLE, ic.Schema(quasi=["Age"]), [ic.Attacker("x", ["age"], [ic.KAnonymity(2)])]),
    ],
)
def test_columns_that_are_named_elsewhere_are_asked_for(call):
    with pytest.raises(ic.IncrowdError, match=r"did you mean 'Age'\?"):
        call()


def test_what_is_much_alike_is_found_whatever_its_case():
    assert did_you_mean("DIAGNSIS", ["diagnosis", "age"]) == "; did you mean 'diagnosis'?"
    assert did_you_mean("?", ["!", "age"]) == alike_of(["?"], ["!", "age"]) == ""


def test_the_package_is_asked_for_a_name():
    with pytest.raises(AttributeError, match="has no attribute 'KAnonimity'; did you mean 'KAnonymity'"):
        ic.KAnonimity  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'frobnicate'$"):
        ic.frobnicate  # noqa: B018
    assert not hasattr(ic, "__wrapped__")


def test_an_option_is_found_by_what_it_takes(run, people):
    result = run("verify", "people.csv", "--policy", "policy.toml", "--raw", "people.csv")
    assert (result.status, "No such option: --raw (Possible options: --against)" in result.err) == (2, True)
    assert "--sensitive" in run("assess", "people.csv", "--sensitve", "ZIP").err
