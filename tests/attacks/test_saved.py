"""Saved results of attacks are read as they were, and other files are refused."""

from __future__ import annotations

import json

import pytest

from incrowd.attacks import Attack, Rate, wilson
from incrowd.attacks.saved import read_attacks
from incrowd.core.documents import envelope, to_json
from incrowd.core.errors import ParameterError, TableError

ATTACKS = [
    Attack(
        "inference", 40, wilson(9, 40), wilson(5, 40), wilson(6, 40), Rate(0.1, 0.0, 0.3),
        figures={"records": 7}, columns={"age": 0.5}, remarks=("round the ages",),
    ),
    Attack.of_nothing("linkage", "no row can be matched"),
]  # fmt: skip


def saved(path, attacks):
    entries = [attack if isinstance(attack, dict) else attack.to_dict() for attack in attacks]
    path.write_text(to_json(envelope("attack") | {"attacks": entries}), encoding="utf-8")
    return path


def test_what_was_saved_is_read_as_it_was(tmp_path):
    assert read_attacks(saved(tmp_path / "attacks.json", ATTACKS)) == ATTACKS


@pytest.mark.parametrize(
    ("changed", "value"),
    [
        ("name", "magic"),
        ("name", ["inference"]),
        ("attacks", -1),
        ("attacks", 1.5),
        ("main", None),
        ("main", {"value": 2.0, "low": 0.0, "high": 3.0}),
        ("baseline", {"value": 0.1, "low": 0.2, "high": 0.3}),
        ("control", {"value": "a", "low": 0.2, "high": 0.3}),
        ("risk", {"value": 0.1}),
        ("figures", 3),
        ("remarks", None),
    ],
)
def test_an_entry_that_no_attack_has_is_refused(tmp_path, changed, value):
    path = saved(tmp_path / "attacks.json", [ATTACKS[1], ATTACKS[0].to_dict() | {changed: value}])
    with pytest.raises(ParameterError, match="attack 2 is incomplete or has impossible figures; save what"):
        read_attacks(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[" * 100_000, "is no JSON"),
        ("{}", "has no results of attacks"),
        (json.dumps(envelope("release")), "has no results of attacks"),
        (json.dumps(envelope("attack", 2) | {"attacks": []}), "has no results of attacks"),
        (json.dumps(envelope("attack") | {"attacks": []}), "has no attack;"),
        (json.dumps(envelope("attack") | {"attacks": [3]}), "attack 1 is incomplete"),
    ],
)
def test_another_document_is_refused(tmp_path, text, told):
    path = tmp_path / "attacks.json"
    path.write_text(text)
    with pytest.raises(ParameterError, match=told):
        read_attacks(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(TableError, match=r"none\.json: cannot be read"):
        read_attacks(tmp_path / "none.json")
