"""Forms begin with the declared parameters, for every registered entry."""

from __future__ import annotations

import pytest

import incrowd as ic
from incrowd.core.errors import InputError
from incrowd.core.parameters import Parameter
from incrowd.faces.studio import declared, exploring, export
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.work import Source, Work
from incrowd.samples import hospital


@pytest.mark.parametrize(
    ("name", "parameter", "first"),
    [
        ("k", Parameter(int, "", low=1), 5),
        ("k", Parameter(int, "", low=7), 8),
        ("t", Parameter(float, "", low=0, high=1), 0.3),
        ("new", Parameter(float, "", low=0, high=1), 0.5),
        ("new", Parameter(float, "", above=0), 1),
        ("new", Parameter(int, "", high=3), 3),
        ("new", Parameter(int, ""), 1),
        ("new", Parameter(bool, ""), False),
        ("new", Parameter(str, "", choices=("a", "b")), "a"),
        ("new", Parameter(str, ""), None),
    ],
)
def test_what_a_parameter_begins_with_is_right_by_its_declaration(name, parameter, first):
    assert declared.first_of(name, parameter) == first
    if first is not None:
        parameter.check(first, "", name)


@pytest.mark.parametrize("registry", [ic.MODELS, ic.ALGORITHMS, ic.TREATMENTS])
def test_every_registered_entry_begins_with_settings_that_it_takes(registry):
    for entry in registry:
        if entry.name == "attacker":
            continue
        first = declared.first_settings(entry)
        lacking = [name for name in entry.needed() if name not in first]
        assert all(entry.parameters()[name].kind is str for name in lacking)
        if not lacking:
            entry.from_settings(first)


@pytest.mark.parametrize("registry", [ic.MODELS, ic.ALGORITHMS, ic.TREATMENTS])
def test_parameters_with_a_default_are_further_ones_but_for_the_limit(registry):
    for entry in registry:
        if entry.name == "attacker":
            continue
        first, further = declared.parameters_of(entry)
        assert {*first, *further} == set(entry.parameters())
        assert set(entry.needed()) <= set(first)
        assert set(first) - set(entry.needed()) <= {getattr(entry, "limit_name", None)}
        settings = declared.first_settings(entry)
        if set(entry.needed()) <= set(settings):
            result = entry.from_settings(settings)
            assert {name: getattr(result, name) for name in further} == {
                n: x for n, (_, x) in further.items()
            }


def test_models_that_are_not_complete_are_left_out():
    document = {
        "models": [
            {"model": "k-anonymity", "k": 3},
            {"model": "l-diversity"},
            {"model": "t-closeness", "t": 7},
        ],
        "attackers": [{"name": "insurer", "knows": ["zip"], "l": 3}],
    }
    assert list(declared.complete_models(document)) == [ic.KAnonymity(3), ic.LDiversity(3)]
    assert list(declared.complete_models({})) == []


def test_models_that_say_themselves_who_knows_what_are_not_for_attackers():
    named = [model.name for model in declared.attacker_models()]
    assert {"k-anonymity", "l-diversity", "t-closeness"} <= set(named)
    assert not {
        "attacker",
        "k-map",
        "delta-presence",
        "km-anonymity",
        "lkc-privacy",
        "subset-k-anonymity",
    } & set(named)
    for model in declared.attacker_models():
        first = declared.first_settings(model)
        if set(model.needed()) <= set(first):
            ic.Attacker("x", ["age"], model.from_settings(first))


def test_short_limits_of_an_attacker_become_models():
    settings = {"name": "insurer", "knows": ["zip"], "k": 20, "l": 3}
    assert declared.plain_attacker(settings) == {
        "name": "insurer",
        "knows": ["zip"],
        "models": [{"model": "k-anonymity", "k": 20}, {"model": "l-diversity", "l": 3}],
    }


def test_a_treatment_is_read_and_written_as_a_policy_file_has_it():
    name, settings = declared.read_treatment({"round": 500, "top": 0.99}, "cost")
    assert (name, settings["base"], settings["top"]) == ("round", 500, 0.99)
    assert declared.write_treatment(name, settings) == ({"round": 500, "top": 0.99}, "")
    spec, wrong = declared.write_treatment("round", {})
    assert spec is None
    assert "base is missing" in wrong
    assert declared.read_treatment("redact", "x")[0] == "redact"


def test_a_role_has_the_treatments_that_it_may_have():
    names = {role: [each.name for each in declared.treatments_for(role)] for role in ("quasi", "person", "?")}
    assert "round" in names["quasi"]
    assert "noise" not in names["quasi"]
    assert "pseudonym" in names["person"]
    assert names["?"] == []
    assert len(declared.treatments_for("sensitive")) == len(list(ic.TREATMENTS))


@pytest.fixture
def window(tmp_path):
    hospital(300).select("age", "sex", "zip", "cost").write_csv(tmp_path / "people.csv")
    work = Work()
    work.open(Source(tmp_path / "people.csv", "people.csv"))
    yield work
    work.close()


def test_a_treatment_and_an_attacker_of_the_page_are_part_of_the_release(window):
    window.choices.columns["cost"] = {"role": "insensitive", "treat": {"round": 500}}
    window.choices.models[:] = [{"model": "k-anonymity", "k": 3}]
    window.choices.document["attackers"] = [
        {"name": "insurer", "knows": ["zip"], "models": [{"model": "k-anonymity", "k": 20}]}
    ]
    release = window.anonymize(Watched())
    assert {int(float(cost)) % 500 for cost in release.texts["cost"]} == {0}
    assert [model.name for model in release.policy.models] == ["k-anonymity", "attacker"]
    assert release.texts["zip"].value_counts()["count"].min() >= 20


def test_a_key_that_would_be_asked_for_is_refused(window):
    window.choices.columns["cost"] = {"role": "insensitive", "treat": {"pseudonym": "hmac"}}
    with pytest.raises(ic.ParameterError, match="the treatment of 'cost' would ask for its key"):
        window.anonymize(Watched())


def test_a_population_is_part_of_the_search_and_of_what_makes_it_again(window, tmp_path):
    people = tmp_path / "all people.csv"
    hospital(900, seed=7).select("age", "sex", "zip").write_csv(people)
    window.choices.models[:] = [{"model": "k-map", "k": 3}]
    with pytest.raises(InputError, match="population"):
        window.anonymize(Watched())
    with pytest.raises(ic.TableError, match="no such file"):
        window.set_population(str(tmp_path / "none.csv"))
    window.set_population(str(people))
    release = window.anonymize(Watched())
    assert release.privacy.holds
    assert f"--population '{people}'" in export.command(window)
    assert f"ic.anonymize('people.csv', policy, population={str(people)!r})" in export.script(window)
    assert exploring.compare_settings(window, ["mondrian"], [2], Watched())[1] == {}
    window.set_population("")
    assert window.release is None
    assert "--population" not in export.command(window)


def test_codes_of_a_column_stay_while_it_is_released():
    settings = {"role": "quasi", "missing": ["9"]}
    declared.give_role(settings, "age", "sensitive")
    assert settings == {"role": "sensitive", "missing": ["9"]}
    declared.give_role(settings, "age", "person")
    assert settings == {"role": "person"}
