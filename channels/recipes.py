"""Recipes for channels: one of conda-forge, and a formula of Homebrew.

Example: ``make package`` puts the sdists into ``dist/``. Then ``make recipes`` writes
``dist/recipes/recipe.yaml`` with their digests. After ``make bundle SYSTEM=macos FOR=3.13`` it also packs
the bundle, and writes ``dist/recipes/incrowd.rb``, which installs the pack from ADDRESS=https://...

What the packages need is read from their pyproject.toml.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
FOLDERS = {"incrowd-gate": "gate", "incrowd-verify": "verify", "incrowd": "."}
"""The three packages; each needs those before it."""
NAMES = {"duckdb": "python-duckdb", "phonenumberslite": "phonenumbers"}
"""Names of packages in conda-forge, where they are others; its phonenumbers has all of phonenumberslite."""


def declared_of(name: str) -> dict[str, Any]:
    """Return the pyproject.toml of a package."""
    return tomllib.loads((ROOT / FOLDERS[name] / "pyproject.toml").read_text(encoding="utf-8"))


def needs(name: str) -> Iterator[str]:
    """Yield the packages that a package needs, as conda writes them."""
    declared = declared_of(name)["project"]
    yield f"python {declared['requires-python']}"
    for requirement in map(Requirement, declared["dependencies"]):
        bound = "==${{ version }}" if requirement.name in FOLDERS else str(requirement.specifier)
        yield f"{NAMES.get(requirement.name, requirement.name)} {bound}"


def conda(version: str, sdists: Path) -> str:
    """Return a recipe with the three packages, each made from its sdist."""
    recipe = {
        "schema_version": 1,
        "context": {"version": version},
        "recipe": {"name": "incrowd", "version": "${{ version }}"},
        "outputs": [_output(name, version, sdists) for name in FOLDERS],
        "extra": {"recipe-maintainers": ["incrowd-authors"]},
    }
    return yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True, width=100)


def _output(name: str, version: str, sdists: Path) -> dict[str, Any]:
    module, whole = name.replace("-", "_"), declared_of(name)
    declared, tools = whole["project"], map(Requirement, whole["build-system"]["requires"])
    commands = [f"{command} = {place}" for command, place in declared.get("scripts", {}).items()]
    return {
        "package": {"name": name, "version": "${{ version }}"},
        "source": {
            "url": f"https://pypi.org/packages/source/i/{name}/{module}-${{{{ version }}}}.tar.gz",
            "sha256": digest(sdists / f"{module}-{version}.tar.gz"),
        },
        "build": {
            "noarch": "python",
            "script": "${{ PYTHON }} -m pip install . -vv --no-deps --no-build-isolation",
            "python": {"entry_points": commands},
        },
        "requirements": {
            "host": [
                f"python {declared['requires-python']}",
                "pip",
                *(f"{each.name} {each.specifier}" for each in tools),
            ],
            "run": [*needs(name)],
        },
        "tests": [
            # pip would look for phonenumberslite.
            {"python": {"imports": [module], "pip_check": False}},
            *([{"script": [f"{name} --help"]}] if commands else []),
        ],
        "about": {
            "summary": declared["description"],
            "license": declared["license"],
            "license_file": "LICENSE",
        },
    }


def homebrew(version: str, python: str, pack: Path, address: str) -> str:
    """Return a formula that installs a pack of wheels, without a network.

    Parameters
    ----------
    version
        The version of incrowd.
    python
        The version of Python that the wheels are for.
    pack
        The packed bundle.
    address
        The address of the folder that the pack is fetched from.
    """
    return f'''\
class Incrowd < Formula
  include Language::Python::Virtualenv

  desc "Anonymize tables about people, and prove how private they are"
  homepage "{address}"
  url "{address}/{pack.name}"
  version "{version}"
  sha256 "{digest(pack)}"
  license "{declared_of("incrowd")["project"]["license"]}"

  depends_on arch: :arm64
  depends_on :macos
  depends_on "python@{python}"

  def install
    virtualenv_create(libexec, "python{python}", without_pip: false)
    system libexec/"bin/python", "-m", "pip", "install", "--no-index", "--find-links", buildpath,
           "--require-hashes", "-r", "requirements.txt"
    bin.install_symlink libexec/"bin/incrowd", libexec/"bin/incrowd-verify"
  end

  test do
    system bin/"incrowd", "demo", "--rows", "200", "-o", testpath/"demo"
    assert_path_exists testpath/"demo/release/release.csv"
  end
end
'''


def packed(bundle: Path, folder: Path) -> tuple[str, str, Path]:
    """Pack a bundle for macOS, and return the version of incrowd, that of Python, and the pack.

    Raises
    ------
    SystemExit
        When the bundle is for another system.
    """
    first = (bundle / "README.txt").read_text(encoding="utf-8").partition("\n")[0]
    for_macos = re.match(r"\S+ (\S+) for Python (\S+), macOS", first)
    if for_macos is None:
        raise SystemExit(f"recipes: {bundle} is no bundle for macOS: make bundle SYSTEM=macos FOR=3.13")
    version, python = for_macos.groups()
    place = folder / f"incrowd-{version}-macos.tar.gz"
    with tarfile.open(place, "w:gz") as pack:
        for file in sorted(bundle.iterdir()):
            pack.add(file, f"incrowd-{version}/{file.name}")
    return version, python, place


def digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("sdists", type=Path)
    parser.add_argument("--bundle", type=Path)
    parser.add_argument("--address", default="")
    options = parser.parse_args()
    (sdist,) = options.sdists.glob("incrowd_verify-*.tar.gz")
    folder = options.sdists / "recipes"
    folder.mkdir(exist_ok=True)
    (folder / "recipe.yaml").write_text(
        conda(sdist.name.removeprefix("incrowd_verify-").removesuffix(".tar.gz"), options.sdists),
        encoding="utf-8",
    )
    if options.bundle is not None:
        if not options.address.startswith("https://"):
            raise SystemExit("recipes: say where the pack will be fetched: ADDRESS=https://...")
        version, python, pack = packed(options.bundle, folder)
        text = homebrew(version, python, pack, options.address.rstrip("/"))
        (folder / "incrowd.rb").write_text(text, encoding="utf-8")
    print(*sorted(map(str, folder.iterdir())), sep="\n")


if __name__ == "__main__":
    main()
