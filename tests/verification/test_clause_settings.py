"""Settings of a profile or a policy are checked at reading: no text becomes SQL, and none runs later."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path

import pytest

from incrowd.attacks.kinds import ATTACKS as KINDS
from incrowd.core.errors import PolicyError
from incrowd.release.policy.toml_lines import toml_value
from incrowd_gate.profiles import ATTACKS, CHECKS, INPUTS, PROFILES, Attestation, Choice, read_profile
from incrowd_gate.profiles import SIGNS as NAMED_SIGNS
from incrowd_gate.texts import SIGNS
from incrowd_verify import clause_checks

HEAD = "name = 'own'\nversion = '2026'\ntitle = 'Own'\nsource = 'Own'\n"
SQL = (
    "1) AS z); COPY (SELECT content FROM read_text('/etc/hostname')) TO 'STOLEN.csv'; SELECT count(*) FROM ("
)
HOSTILE = (SQL, "0.5", "nan", True, math.nan, math.inf, -1, 10**40, 0.5, 1.5, 10**9 + 0.5, [], [1], [SQL, 1], {}, {"a": 1},
           dt.date(2026, 1, 1), dt.time(1), "", "\u200b")  # fmt: skip
GOOD = {int: 3, float: 0.5, bool: True, str: "x"}


def own(folder: Path, check: object, settings: dict[str, object]) -> None:
    """Read a profile of a single clause."""
    clause = {"id": "a", "text": "A.", "source": "S", "check": check, **settings}
    lines = (f"{name} = {written(value)}" for name, value in clause.items())
    (folder / "own.toml").write_text(HEAD + "\n".join(["[[clauses]]", *lines]))
    read_profile("own.toml", folder)


def written(value: object) -> str:
    """Write a value as TOML."""
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return toml_value(value)


def good(check: str) -> dict[str, object]:
    def value(one):
        return one.choices[0] if one.choices else GOOD[one.kind]

    return {
        name: [value(each.one)] if each.many else value(each.one)
        for name, each in CHECKS[check].items()
        if not (check == "risk" and name == "risk")
    }


def test_each_check_has_settings_and_each_list_is_that_of_the_code():
    assert list(CHECKS) == list(clause_checks.CHECKS)
    assert set(NAMED_SIGNS) == {each.name for each in SIGNS}
    assert set(ATTACKS) == set(KINDS)
    for name in PROFILES:
        assert set(read_profile(name).inputs) <= set(INPUTS)


def fits(setting, value) -> bool:
    if setting.many:
        return isinstance(value, list) and bool(value) and all(fits_one(setting.one, each) for each in value)
    return fits_one(setting.one, value)


def fits_one(one, value) -> bool:
    """Say by a second reading whether a value is of the declared type and range."""
    if type(value) is bool or one.kind is bool:
        return type(value) is bool and one.kind is bool
    if one.kind is str:
        return isinstance(value, str) and bool(value.strip()) and (not one.choices or value in one.choices)
    if type(value) not in ((int,) if one.kind is int else (int, float)) or not math.isfinite(value):
        return False
    return (
        (one.low is None or value >= one.low)
        and (one.above is None or value > one.above)
        and (one.high is None or value <= one.high)
        and abs(value) < 2**128
    )


@pytest.mark.few(6)
@pytest.mark.parametrize(("check", "name"), [(check, name) for check in CHECKS for name in CHECKS[check]])
def test_a_setting_of_another_type_or_range_is_refused_and_named(check, name, tmp_path):
    own(tmp_path, check, good(check))
    refused = 0
    for value in HOSTILE:
        settings = {**good(check), name: value}
        if fits(CHECKS[check][name], value) and not (CHECKS[check][name].is_pattern and value == SQL):
            own(tmp_path, check, settings)
            continue
        refused += 1
        with pytest.raises(PolicyError, match=rf"profile own.toml, clause 'a'.*{name}"):
            own(tmp_path, check, settings)
    assert refused > 10
    assert not (tmp_path / "STOLEN.csv").exists()


@pytest.mark.parametrize("check", CHECKS)
def test_an_unknown_setting_and_one_that_lacks_are_refused(check, tmp_path):
    with pytest.raises(PolicyError, match="there is no 'leasst'"):
        own(tmp_path, check, {**good(check), "leasst": 3})
    for name, each in CHECKS[check].items():
        if each.needed:
            lacking = {key: value for key, value in good(check).items() if key != name}
            with pytest.raises(PolicyError, match=f"{name} is missing; give "):
                own(tmp_path, check, lacking)


@pytest.mark.parametrize("check", ["risks", "", "__class__", SQL, 1, ["risk"]])
def test_an_unknown_check_is_refused(check, tmp_path):
    with pytest.raises(PolicyError, match="there is no check"):
        own(tmp_path, check, {})


def test_a_pattern_that_is_none_and_inputs_that_no_check_reads_are_refused(tmp_path):
    for pattern in ("(", "(?=a)", r"\1", "[z-a]", "a{2,1}"):
        with pytest.raises(PolicyError, match="must be a regular expression"):
            own(tmp_path, "absent", {"texts": pattern})
    (tmp_path / "own.toml").write_text(HEAD + "clauses = []\n[inputs]\nleast = 'how many'\n")
    with pytest.raises(PolicyError, match="there is no 'least'"):
        read_profile("own.toml", tmp_path)


PROFILE_OF = {"year": "hipaa-safe-harbor", "populous": "hipaa-safe-harbor", "risk": "hipaa-expert",
              "fraction": "statistical-office", "attacks": "wp216", "rate": "wp216"}  # fmt: skip
WRONG = (
    "5 %",
    "1/0",
    "nan",
    math.nan,
    math.inf,
    [],
    [0.05],
    {},
    True,
    -1,
    -0.5,
    2,
    1,
    1.0000001,
    dt.date(2026, 1, 1),
    "",
)


@pytest.mark.parametrize("name", INPUTS)
def test_an_input_is_checked_when_the_policy_is_read(name):
    refused = 0
    for value in WRONG:
        settings = {"name": PROFILE_OF[name], "inputs": {name: value}}
        if fits(INPUTS[name], value):
            Choice.of_settings(settings, Path())
            continue
        refused += 1
        with pytest.raises(PolicyError, match=f"profile.inputs: {name} must "):
            Choice.of_settings(settings, Path())
    assert refused > 8


SAID = {"clause": "context", "by": "A. Officer", "on": dt.date(2026, 1, 31), "says": "Looked at."}
NOTHING = ("", " ", "\t\n", "\u00a0", "\u200b", "\u200b\u200c", "\u2060", "\ufeff", "\u115f", "\u3164", "\uffa0", "\u2800",
           "\u00ad", "\u202e", "-", "--", "...", "?", "_", "0", "1", "2026", "/", "N/A", "n.a.", "NA", "N.N.", "TODO", "todo:",
           "T.B.D.", "tbd", "TBA", "FIXME", "xxx", "XXX", "none", "None.", "null", "unknown", "<name>", "[name]", "answer",
           "\u0301", "\U000e0041", "\x00", "*", "\U0001f600", 1, None, True, [], {"a": 1})  # fmt: skip
NO_DAYS = ("9999-12-31", "3000-01-01", "2999-02-28", "0001-01-01", "1066-10-14", "1996-08-20", "soon", "today", "2026-02-30",
           "2026-13-01", "31.01.2026", "01/31/2026", "2026", "2026-01", "", 2026, 20260131, None, True,
           dt.date.max, dt.date.min, dt.date(9999, 1, 1), dt.datetime(2026, 1, 31), [], "2026-01-31T00:00:00")  # fmt: skip


@pytest.mark.parametrize("wrong", [*({"by": each} for each in NOTHING), *({"says": each} for each in NOTHING),
                                   *({"on": each} for each in NO_DAYS)])  # fmt: skip
def test_nobody_attests_in_the_future_or_without_words(wrong):
    assert Attestation.of_entry(SAID).by == "A. Officer"
    with pytest.raises(PolicyError, match=r"profile.attested"):
        Attestation.of_entry(SAID | wrong)


def test_names_of_all_scripts_attest():
    for name in ("Ada", "山田", "Ю", "محمد", "Ó", "K. O'Neil 3rd"):
        assert Attestation.of_entry(SAID | {"by": name}).by == name
