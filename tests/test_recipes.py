"""Recipes for channels: the packages' requirements, and the digests of the installed files."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lowest import bounds

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def recipes():
    spec = importlib.util.spec_from_file_location("recipes_of_channels", ROOT / "channels" / "recipes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path):
    """Return a folder with three sdists and a bundle, with just names and digests."""
    for name in ("incrowd-0.2.0", "incrowd_gate-0.2.0", "incrowd_verify-0.2.0"):
        (tmp_path / f"{name}.tar.gz").write_text(name)
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "README.txt").write_text(
        "incrowd 0.2.0 for Python 3.13, macOS on Apple silicon: 28 wheels, 205 MB.\n"
    )
    (tmp_path / "bundle" / "requirements.txt").write_text("polars==2.0 --hash=sha256:ab\n")
    return tmp_path


def write(folder: Path, *options: object) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, ROOT / "channels" / "recipes.py", folder, *options]
    return subprocess.run(list(map(str, call)), capture_output=True, text=True, check=False)


def test_the_recipe_of_conda_needs_what_the_packages_need(recipes, folder):
    ran = write(folder)
    assert ran.returncode == 0, ran.stderr
    recipe = yaml.safe_load((folder / "recipes" / "recipe.yaml").read_text())
    assert [each["package"]["name"] for each in recipe["outputs"]] == [
        "incrowd-gate", "incrowd-verify", "incrowd",
    ]  # fmt: skip
    for output in recipe["outputs"]:
        file = (
            output["source"]["url"].rpartition("/")[2].replace("${{ version }}", recipe["context"]["version"])
        )
        assert output["source"]["sha256"] == hashlib.sha256((folder / file).read_bytes()).hexdigest()
    lowest = {recipes.NAMES.get(name, name): bound for name, bound in bounds()}
    needed = [
        line.partition(" ")[::2] for output in recipe["outputs"] for line in output["requirements"]["run"]
    ]
    for name, bound in needed:
        of_ours = "==${{ version }}" if name.startswith("incrowd-") else f">={lowest.get(name)}"
        assert bound == (">=3.11" if name == "python" else of_ours)
    assert {"numba", "python-duckdb", "phonenumbers", "scipy", "incrowd-gate", "incrowd-verify"} <= {
        name for name, _ in needed
    }


def test_the_recipe_of_conda_is_read_by_the_tool_of_its_format(folder):
    tool = pytest.importorskip("rattler_build")
    assert write(folder).returncode == 0
    recipe = tool.Stage0Recipe.from_file(folder / "recipes" / "recipe.yaml")
    rendered = recipe.render()
    assert {each.recipe.package.name for each in rendered} == {"incrowd", "incrowd-gate", "incrowd-verify"}


def test_the_formula_installs_the_pack_and_nothing_else(recipes, folder):
    ran = write(folder, "--bundle", folder / "bundle", "--address", "https://example.org/incrowd/")
    assert ran.returncode == 0, ran.stderr
    pack = folder / "recipes" / "incrowd-0.2.0-macos.tar.gz"
    formula = (folder / "recipes" / "incrowd.rb").read_text()
    assert f'sha256 "{hashlib.sha256(pack.read_bytes()).hexdigest()}"' in formula
    assert 'url "https://example.org/incrowd/incrowd-0.2.0-macos.tar.gz"' in formula
    assert 'depends_on "python@3.13"' in formula
    assert {"--no-index", "--require-hashes"} <= set(formula.replace('"', " ").replace(",", " ").split())
    if shutil.which("ruby"):
        subprocess.run(["ruby", "-c", folder / "recipes" / "incrowd.rb"], check=True, capture_output=True)


@pytest.mark.slow
def test_a_bundle_of_another_system_and_a_lacking_address_are_refused(folder):
    assert "ADDRESS=" in write(folder, "--bundle", folder / "bundle").stderr
    (folder / "bundle" / "README.txt").write_text(
        "incrowd 0.2.0 for Python 3.13, Linux on x86-64: 28 wheels.\n"
    )
    ran = write(folder, "--bundle", folder / "bundle", "--address", "https://example.org")
    assert (ran.returncode, "no bundle for macOS" in ran.stderr) == (1, True)
