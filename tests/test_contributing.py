"""The recipe of CONTRIBUTING.md, followed to the letter: a new privacy model is in every interface."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import incrowd

MODEL = '''
"""Pairs of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from incrowd.parameters import parameter
from incrowd.privacy.base import IdentityModel, Monotone, PrivacyModel


@dataclass(frozen=True)
class PairAnonymity(IdentityModel):
    """Every equivalence class has at least m pairs of records."""

    m: int = parameter("fewest pairs allowed", kind=int, low=1)

    name: ClassVar[str] = "pair-anonymity"
    summary: ClassVar[str] = "every equivalence class has at least m pairs of records"
    paper: ClassVar[str] = "nobody"
    limit_name: ClassVar[str] = "m"

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        return (cls(1),)

    @property
    def monotone(self) -> Monotone:
        return Monotone(generalization=True, suppression=True, absorbing=True)

    def _values(self, classes):
        return classes.sizes // 2
'''

METRIC = '''
"""Lonely records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.utility.base import ClassMetric, MetricResult


@dataclass(frozen=True)
class Lonely(ClassMetric):
    """The share of released records that are alone in their class."""

    name: ClassVar[str] = "lonely"
    summary: ClassVar[str] = "share of released records that are alone in their class"
    paper: ClassVar[str] = "nobody"

    def of_classes(self, classes):
        return MetricResult(self.name, float((classes.sizes == 1).sum()) / max(classes.records, 1))
'''


def add_line(listed: Path, before: str, module: str, name: str) -> None:
    """Add an entry to the list of a room, before another."""
    room = f"from incrowd.{listed.parent.name}."
    text = listed.read_text()
    here = text.index(f"{room}{before} import")
    listed.write_text(f"{text[:here]}{room}{module} import {name} as {name}\n{text[here:]}")


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """A copy of the package with a model and a metric: a file and one line more for each."""
    source = Path(incrowd.__file__).parent
    place = tmp_path_factory.mktemp("copy")
    shutil.copytree(source, place / "incrowd", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "incrowd" / "privacy" / "pair_anonymity.py").write_text(MODEL.lstrip())
    add_line(place / "incrowd" / "privacy" / "__init__.py", "k_map", "pair_anonymity", "PairAnonymity")
    (place / "incrowd" / "utility" / "lonely.py").write_text(METRIC.lstrip())
    add_line(place / "incrowd" / "utility" / "__init__.py", "loss", "lonely", "Lonely")
    return place


TOGETHER = """
import json, sys
from incrowd.cli import main
for number, words in enumerate(json.loads(sys.argv[1])):
    sys.argv = ["incrowd", *words]
    if number:
        print("----")
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, words
"""
"""Runs commands one after the other: a process takes longer to begin than all of them."""


def commands(package: Path, folder: Path, *lines: str) -> list[str]:
    """What each command of a session prints."""
    given = json.dumps([line.split() for line in lines])
    return call(package, folder, "-c", TOGETHER, given).split("----\n")


def call(package: Path, folder: Path, *arguments: str) -> str:
    # Nothing is compiled: the tables are small, and a copy has no machine code yet.
    environment = os.environ | {"PYTHONPATH": str(package), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_new_model_is_in_every_interface(package, tmp_path):
    (tmp_path / "people.csv").write_text("age,sex\n" + "30,f\n31,m\n" * 4)
    limits = "--qi age --unlisted drop -k 2 --model pair-anonymity:m=2"
    listed, shown, _, assessed = commands(
        package,
        tmp_path,
        "list models",
        "anonymize --help-all",
        f"anonymize people.csv -o out.csv {limits} --save-policy policy.toml",
        "assess out.csv --policy policy.toml --json",
    )
    assert "pair-anonymity" in listed
    assert "pair-anonymity" in "".join(shown.split())  # words are folded at their hyphens
    assert 'model = "pair-anonymity"' in (tmp_path / "policy.toml").read_text()
    privacy = json.loads(assessed)["privacy"]
    [found] = [model for model in privacy if model["model"] == "pair-anonymity" and model.get("limit")]
    assert "### pair-anonymity" in call(package, tmp_path, "-m", "incrowd.cli.reference")
    assert (found["value"], found["holds"]) == (2, True)
    code = (
        "import incrowd as ic; from incrowd.privacy import MODELS; print(MODELS.get('pair-anonymity')(m=3))"
    )
    assert call(package, tmp_path, "-c", code).strip() == "pair-anonymity(m=3)"


def test_a_new_metric_is_in_every_interface(package, tmp_path):
    (tmp_path / "raw.csv").write_text("age\n30\n30\n31\n40\n")
    (tmp_path / "release.csv").write_text("age\n[30-31]\n[30-31]\n[30-31]\n40\n")
    listed, measured = commands(
        package, tmp_path, "list metrics", "utility raw.csv release.csv --qi age --json"
    )
    assert "lonely" in listed
    [found] = [one for one in json.loads(measured)["utility"] if one["metric"] == "lonely"]
    assert found["value"] == 0.25


def test_the_public_names_are_made_from_the_list(package, tmp_path):
    names = call(package, tmp_path, "-m", "incrowd.cli.reference", "names")
    line = "from .privacy import PairAnonymity as PairAnonymity\n"
    before = (package / "incrowd" / "__init__.pyi").read_text()
    assert line not in before
    assert names.replace(line, "") == before
    (package / "incrowd" / "__init__.pyi").write_text(names)
    code = "import incrowd as ic; print(ic.PairAnonymity(2))"
    assert call(package, tmp_path, "-c", code).startswith("pair-anonymity(m=2)")
