"""The setting `parts` of a column, in policy files."""

from __future__ import annotations

import pytest

import incrowd as ic

POLICY = """
version = 1
[columns.zip]
role = "quasi"
[columns.dx]
role = "{role}"
parts = {parts}
[[models]]
model = "l-diversity"
l = 2
"""


def read(folder, role="sensitive", parts='";"'):
    path = folder / "policy.toml"
    path.write_text(POLICY.format(role=role, parts=parts))
    return ic.Policy.read(path)


@pytest.mark.parametrize("separator", [";", " | ", "\t", '"', "ä"])
def test_parts_come_back(tmp_path, separator):
    schema = ic.Schema(["zip"], {"dx": ic.Attribute("dx", "sensitive", parts=separator)})
    policy = ic.Policy(schema, (ic.LDiversity(2),))
    policy.write(tmp_path / "p.toml")
    assert ic.Policy.read(tmp_path / "p.toml").schema["dx"].parts == separator
    assert ic.Policy.read(tmp_path / "p.toml").to_toml() == policy.to_toml()


def test_a_file_declares_parts(tmp_path):
    assert read(tmp_path).schema["dx"].parts == ";"
    assert "parts" not in ic.Policy(ic.Schema(["zip"], ["dx"]), (ic.KAnonymity(2),)).to_toml()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"role": "quasi"}, ic.SchemaError, "column 'dx': parts .* has the role quasi"),
        ({"parts": "5"}, ic.PolicyError, "parts"),
        ({"parts": '""'}, ic.PolicyError, "parts"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, settings, error, message):
    with pytest.raises(error, match=message):
        read(tmp_path, **settings)
