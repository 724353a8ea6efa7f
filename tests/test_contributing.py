"""The recipes of CONTRIBUTING.md, followed to the letter: a new entry is in every interface, and passes every check."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from incrowd.core.treatments.base import Treatment
from incrowd.engines.dialects.base import Dialect
from incrowd.measures.privacy.base import PrivacyModel

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Step:
    """A step of a recipe: a file to write, or the changed lines of a file, as ``diff`` shows lines."""

    path: str
    language: str
    block: str

    @property
    def makes_entry(self) -> bool:
        """Whether the step makes the entry, as all other steps satisfy the checks."""
        return self.language == "py" or bool(re.search(r"/(__init__|kinds|open)\.py$", self.path))

    def follow(self, root: Path) -> None:
        place = root / self.path
        if self.language == "py":
            assert not place.exists(), self.path
            place.write_text(self.block, encoding="utf-8")
            return
        before, after = (
            "".join(line[1:] for line in self.block.splitlines(keepends=True) if line[0] in sign)
            for sign in (" -", " +")
        )
        content = place.read_text(encoding="utf-8")
        assert f"\n{before}" in content, f"{self.path} has no {before!r}"
        place.write_text(content.replace(f"\n{before}", f"\n{after}", 1), encoding="utf-8")


def recipes(page: str) -> dict[str, list[Step]]:
    """Return the steps below each heading, where the last path above a block is the block's file."""
    result: dict[str, list[Step]] = {}
    for title, text in re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE):
        end = 0
        for fence in re.finditer(r"^```(py|diff)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            *_, path = re.findall(r"`([\w./-]+/[\w.-]+\.\w+)`", text[end : fence.start()])
            result.setdefault(title, []).append(Step(path, fence[1], fence[2]))
            end = fence.end()
    return result


RECIPES = recipes(PAGE)

LINES = ("Add an option", "Add a chart")
"""What is no entry of a list, but lines in files that exist."""


def copied(place: Path) -> Path:
    """Copy all that the checks look at."""
    left = ("*.nbi", "*.nbc", "real_files", "cases")
    for name in ("src", "gate", "verify", "docs", "tests", "examples", "benchmarks"):
        # The package's bytecode comes along, as copies have the times of their sources. That of tests is pytest's.
        more = () if name in ("src", "gate", "verify") else ("__pycache__",)
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns(*left, *more))
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy(path, place)
    return place


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """A copy of the project with an entry of every kind in the kind's list, and nothing besides."""
    place = copied(tmp_path_factory.mktemp("copy"))
    for title, recipe in RECIPES.items():
        for step in recipe:
            if step.makes_entry or title in LINES:
                step.follow(place)
    return place


@pytest.fixture(scope="module")
def package(begun) -> Path:
    return begun / "src"


def call(package: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Nothing is compiled: the tables are small, and a copy has no machine code yet.
    extra = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    ours = [ROOT / folder / "src" for folder in ("", "gate", "verify")]
    others = (path for path in extra if path and Path(path) not in ours)
    folders = (package.parent / folder / "src" for folder in ("gate", "verify"))
    paths = [str(package), *map(str, folders), *others]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "NUMBA_DISABLE_JIT": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def printed(package: Path, folder: Path, *arguments: str) -> str:
    process = call(package, folder, *arguments)
    assert process.returncode == 0, process.stderr
    return process.stdout


TOGETHER = """
import json, sys
from incrowd.faces.cli import main
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
    """Return the output of each command of a session."""
    given = json.dumps([line.split() for line in lines])
    return printed(package, folder, "-c", TOGETHER, given).split("----\n")


# --- what the page says ---------------------------------------------------------------------------------


def test_a_recipe_is_a_file_a_line_and_what_its_checks_ask_for():
    assert {title: len(steps) for title, steps in RECIPES.items()} == {
        "Add a privacy model": 5,
        "Add a metric": 2,
        "Add a risk": 2,
        "Add an algorithm": 2,
        "Add a treatment": 4,
        "Add an attack": 3,
        "Add a kind of file": 4,
        "Add an engine": 4,
        "Add a command": 2,
        "Add an option": 2,
        "Add a chart": 2,
    }
    entries = [recipe for title, recipe in RECIPES.items() if title not in LINES]
    assert all([step.language for step in recipe[:2]] == ["py", "diff"] for recipe in entries)
    assert all(step.makes_entry for recipe in entries for step in recipe[:2])


def test_a_step_is_followed_where_its_lines_are(tmp_path):
    (tmp_path / "a.md").write_text("\none\ntwo\n")
    [step] = recipes("## Title\n\nIn `x/b.md`, and `./a.md`:\n\n```diff\n one\n+and\n-two\n+three\n```\n")[
        "Title"
    ]
    step.follow(tmp_path)
    assert (tmp_path / "a.md").read_text() == "\none\nand\nthree\n"
    with pytest.raises(AssertionError, match=r"a\.md has no 'one\\ntwo"):
        step.follow(tmp_path)


def own_members(base):
    """Return the public members of a class that another class may override."""
    names = {name for name in {**vars(base), **base.__annotations__} if not name.startswith("_")}
    functions = {name: vars(base).get(name) for name in names}
    functions = {
        name: getattr(each, "fget", getattr(each, "__func__", each)) for name, each in functions.items()
    }
    return {name for name, function in functions.items() if not getattr(function, "__final__", False)}


@pytest.mark.parametrize(
    ("page", "base", "of_the_program"),
    [
        # `Attacker` and `Linked` stand before another entry, and override what the program does with it.
        ("add-a-model.md", PrivacyModel, {"for_classes", "holds", "measure"}),
        ("add-a-model.md", Treatment, {"linked_columns", "from_settings"}),
        ("add-a-database.md", Dialect, {"parts_of", "imported"}),
    ],
)
def test_a_page_names_all_that_an_entry_may_say(page, base, of_the_program):
    words = set(re.findall(r"`(\w+)`", (ROOT / "docs" / page).read_text(encoding="utf-8")))
    assert own_members(base) - words - of_the_program == set()


# --- the interfaces -------------------------------------------------------------------------------------


@pytest.mark.slow
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
    [result] = [model for model in privacy if model["model"] == "pair-anonymity" and model.get("limit")]
    assert "### pair-anonymity" in printed(package, tmp_path, "-m", "incrowd.faces.cli.reference")
    assert (result["value"], result["holds"]) == (2, True)
    code = "import incrowd as ic; from incrowd.measures.privacy import MODELS; print(MODELS.get('pair-anonymity')(m=3))"
    assert printed(package, tmp_path, "-c", code).strip() == "pair-anonymity(m=3)"


@pytest.mark.slow
def test_new_entries_of_other_kinds_are_on_the_command_line(package, tmp_path):
    (tmp_path / "raw.csv").write_text("age,sex\n30,f\n30,m\n31,f\n40,f\n")
    (tmp_path / "release.csv").write_text("age,sex\n[30-31],f\n[30-31],m\n[30-31],f\n40,f\n")
    roles = "--qi age --unlisted drop"
    listed, measured, risky, _, treated, attacked, rows, kept = commands(
        package,
        tmp_path,
        "list metrics",
        "utility raw.csv release.csv --qi age --json",
        "risk raw.csv --qi age --json",
        f"anonymize raw.csv {roles} -k 2 --algorithm in-order -o two.toy --unanswered write",
        f"anonymize raw.csv {roles} --insensitive sex --treat sex=upper-case -k 2 -o upper.csv --unanswered write",
        "attack raw.csv release.csv --qi age --sensitive sex --secret sex --kinds usual-value --attacks 10",
        "rows raw.csv",
        "rows two.toy",
    )
    assert "lost-combinations" in listed
    [loss] = [one for one in json.loads(measured)["utility"] if one["metric"] == "lost-combinations"]
    assert loss["value"] == 0.5
    assert json.loads(risky)["risks"]["insider"] == {"max": 1.0}
    assert "sex is written in upper case" in treated.replace("\n", " ")
    assert "usual-value" in attacked
    assert (rows.strip(), kept.strip()) == ("4 rows", "4 rows")
    assert {line.split(",")[1] for line in (tmp_path / "upper.csv").read_text().splitlines()} == {
        "sex",
        "F",
        "M",
    }


@pytest.mark.slow
def test_a_new_option_and_a_new_chart_reach_their_users(package, tmp_path):
    (tmp_path / "raw.csv").write_text("age,sex\n" + "30,f\n30,f\n31,m\n" * 3)
    explained, rows, distinct, _ = commands(
        package,
        tmp_path,
        "rows --help",
        "rows raw.csv",
        "rows raw.csv --distinct",
        "anonymize raw.csv --qi age,sex -k 2 -o out.csv --report page.html",
    )
    assert "Count rows that are alike once." in explained
    assert (rows.strip(), distinct.strip()) == ("9 rows", "2 rows")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'aria-label="Loss by each metric"' in page


def test_the_public_names_are_made_from_the_list(package, tmp_path):
    names = printed(package, tmp_path, "-m", "incrowd.faces.cli.reference", "names")
    lines = (
        "search import InOrder",
        "measures.privacy import PairAnonymity",
        "core.treatments import UpperCase",
    )
    before = (ROOT / "src" / "incrowd" / "__init__.pyi").read_text()
    for line in lines:
        whole = f"from .{line} as {line.split()[-1]}\n"
        assert whole not in before
        assert whole in names
        names = names.replace(whole, "")
    assert names == before


# --- the checks -----------------------------------------------------------------------------------------

SAID = {
    "run `make docs`": ("test_docs.py", "fresh or counts_right"),
    "explain pair-anonymity in docs/explanation/models/": ("test_docs.py", "attack_that_runs"),
    "verify has no reading of pair-anonymity": (
        "verification/test_every_model_is_verified.py",
        "reads_every_model",
    ),
    "verify does not know the treatment 'upper-case'": ("test_contracts.py", "verifier_reads"),
    "say in docs/definitions.md what usual-value does": ("test_contracts.py", "attack_introduces"),
    "say in MAKERS of tests/engine_tables.py": ("test_contracts.py", "every_engine_has_tables"),
    "write a reader in incrowd_verify/other_kinds.py": ("faces/cli/test_kinds_of_files.py", "every_kind"),
    "name it in docs/files.md": ("faces/cli/test_kinds_of_files.py", "pages_and_extras"),
}
"""What is said as long as a step is missing, and the test that says it: its file and words of its name."""

CHECKS = (
    *SAID.values(),
    (
        "test_docs.py",
        "every_entry or docs/explanation/models/finding.md or 100_characters or color or options",
    ),
    ("test_contracts.py", "forgotten or shorthand or introduces or settings_come or bad_param or verifier"),
    ("test_contracts.py", "grow or worst or add_up or alone or probabilities or problem or infeasible"),
    ("test_contracts.py", "engines_are_asked or BatchEngine or function_of_a_model"),
    ("test_layers.py", ""),
    ("test_words.py", ""),
    ("attacks/test_attack_limits.py", "all_kinds"),
    ("faces/cli/test_help.py", ""),
    ("faces/cli/test_kinds_of_files.py", "toy"),
    ("engines/test_names.py", "BatchEngine"),
    ("engines/test_null_values.py", "BatchEngine"),
    ("fuzz/test_cases.py", "drawn"),
    ("measures/privacy/test_every_model.py", ""),
    ("measures/risk/test_figures.py", ""),
    ("faces/studio/test_declared.py", ""),
    ("measures/utility/test_losses.py", ""),
    ("verification/test_emitted_sql.py", "every_limit_holds"),
    ("verification/test_every_model_is_verified.py", ""),
)
"""The tests that ask something of every entry."""


def checks(place: Path, chosen: Iterable[tuple[str, str]]) -> str:
    """Run some checks in a copy, and return the output."""
    named = [f"({Path(file).stem}{words and f' and ({words})'})" for file, words in chosen]
    result = call(
        place / "src",
        place,
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow or few", "-k", " or ".join(named)),
        # Kernels that are not compiled warn where integers overflow.
        *("-rf", "--tb=short", "-W", "ignore::RuntimeWarning"),
        *sorted({f"tests/{file}" for file, _ in chosen}),
    )
    return result.stdout + result.stderr


def make_docs(place: Path) -> None:
    """Run the commands of `make docs`, without the environment."""
    paths = [str(place / folder / "src") for folder in ("", "gate", "verify")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    run = "import sys, tasks; tasks.PYTHON = sys.executable; tasks.docs()"
    subprocess.run([sys.executable, "-c", run], cwd=place, env=environment, check=True)


@pytest.mark.slow
def test_the_checks_say_which_step_is_missing_and_pass_after_the_last(begun):
    missing = checks(begun, SAID.values())
    assert [said for said in SAID if said not in missing] == [], missing
    for title, recipe in RECIPES.items():
        for step in recipe:
            if not step.makes_entry and title not in LINES:
                step.follow(begun)
    make_docs(begun)
    passed = checks(begun, CHECKS)
    assert "FAILED" not in passed, passed
    assert "ERROR" not in passed, passed
    assert re.search(r"^\.+ +\[100%\]$", passed, re.MULTILINE), passed
