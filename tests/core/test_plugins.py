"""Entries of other packages reach every list, replace nothing, and break nothing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import polars as pl
import pytest

from incrowd.core import plugins
from incrowd.core.io.kinds.base import Kind
from incrowd.core.parameters import Registry
from incrowd.measures.privacy import KAnonymity, PrivacyModel

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"


class Pairs(KAnonymity):
    name = "pair-anonymity"


class Impostor(KAnonymity):
    """A model of a name that is in the list."""


class Nameless(Kind):
    """A kind of file without any parts."""


@pytest.fixture
def installed(monkeypatch):
    """Pretend that packages name some objects of this module, each in a group."""

    def install(group, **places):
        points = [EntryPoint(name, f"{__name__}:{place}", group) for name, place in places.items()]
        monkeypatch.setattr(plugins, "_installed", lambda: EntryPoints(points))

    return install


def models(namespace=None):
    return Registry.of_imports(
        "privacy models", PrivacyModel, namespace or {"KAnonymity": KAnonymity}, group="incrowd.models"
    )


def test_an_entry_of_another_package_stands_behind_ours(installed):
    installed("incrowd.models", pairs="Pairs")
    assert models().names() == ["k-anonymity", "pair-anonymity"]
    assert models().parse("pair-anonymity:3").k == 3


def test_an_entry_of_another_group_is_not_taken(installed):
    installed("incrowd.kinds", pairs="Pairs")
    assert models().names() == ["k-anonymity"]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("Impostor", "uses the name k-anonymity of another entry"),
        ("Absent", "cannot be loaded (AttributeError"),
        ("EXAMPLE", "is no class derived from PrivacyModel"),
    ],
)
def test_an_entry_that_does_not_fit_is_left_out_with_a_warning(installed, place, reason):
    installed("incrowd.models", other=place)
    with pytest.warns(UserWarning, match=r"a package adds 'other' to incrowd.models") as caught:
        assert list(models()) == [KAnonymity]
    assert reason in str(caught[0].message)
    assert str(caught[0].message).endswith("it is left out, so update or uninstall the package")


def test_a_class_without_its_parts_is_left_out(installed):
    installed("incrowd.kinds", nameless="Nameless")
    with pytest.warns(UserWarning, match="lacks a part of Kind"):
        assert not [*plugins.plugin_classes("incrowd.kinds", Kind, (), lambda each: {each.name})]


def test_two_packages_that_bring_one_name(installed):
    installed("incrowd.models", first="Pairs", second="Pairs")
    with pytest.warns(UserWarning, match="uses the name pair-anonymity of another entry"):
        assert models().names() == ["k-anonymity", "pair-anonymity"]


_JOB = """
import incrowd as ic
from typer.testing import CliRunner
from incrowd.engines.dialects import DIALECTS
from incrowd.faces.cli import app

table = ic.samples.hospital(300, 2).select("age", "sex", "diagnosis")
table.write_avro("people.avro")
model = ic.privacy.MODELS.parse("triple-anonymity:2")
ic.Policy(ic.Schema(["age", "sex"], insensitive=["diagnosis"]), (model,)).write("policy.toml")
assert DIALECTS[-1].title == "CockroachDB"

def call(*words):
    result = CliRunner().invoke(app, words)
    return result.exit_code, result.output

assert call("classes", "people.avro", "--qi", "age,sex") == (
    0, f"{table.select('age', 'sex').n_unique():,} classes\\n"
)
assert "triple-anonymity" in call("list", "models")[1]
assert "largest-class" in call("list", "metrics")[1]
assert "classes" in call("--help")[1].split("More:")[1]
status, text = call("anonymize", "people.avro", "--policy", "policy.toml", "-o", "safe.avro")
assert (status, "Reached: triple-anonymity m=" in text) == (0, True), text
release = ic.anonymize(table, ic.Schema(["age", "sex"], unlisted="drop"), "k-anonymity:3")
largest = release.table.group_by("age", "sex").len()["len"].max()
assert release.utility["largest-class"].value == largest / 300
assert call("verify", "safe.avro", "--policy", "policy.toml")[0] != 0
"""


def run(folder, path):
    """Run the job where a package is installed; warnings are errors."""
    code = f"import sys; sys.path.insert(0, {str(path)!r})\n{_JOB}"
    process = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    released = pl.read_avro(folder / "safe.avro")
    assert released.group_by("age", "sex").len()["len"].min() >= 6


@pytest.mark.slow
def test_a_package_reaches_every_interface(tmp_path):
    place = tmp_path / "site"
    info = place / "incrowd_example-1.0.dist-info"
    info.mkdir(parents=True)
    (place / "incrowd_example").symlink_to(EXAMPLE / "src" / "incrowd_example", target_is_directory=True)
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    assert [*project["entry-points"]] == [
        "incrowd.models", "incrowd.metrics", "incrowd.kinds", "incrowd.dialects", "incrowd.commands",
    ]  # fmt: skip
    (info / "entry_points.txt").write_text("\n".join(lines))
    run(tmp_path, place)


@pytest.mark.slow
def test_the_example_is_installed_by_pip(tmp_path):
    place = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place)]
    subprocess.run([*pip, str(EXAMPLE)], check=True)
    run(tmp_path, place)
