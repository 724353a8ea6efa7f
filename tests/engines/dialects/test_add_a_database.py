"""The page "Add a database", followed to the letter: the checks say which step is missing, and then pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "add-a-database.md").read_text()
CODE, ENTRY, HOLDER, HELD, SEEN = (
    block + "\n" for block in re.findall(r"```py\n(.*?)\n```", PAGE, re.DOTALL)
)
[ROW] = re.findall(r"```text\n(\|.*?)\n```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of the project."""
    place = tmp_path_factory.mktemp("copy")
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("src", "gate", "verify", "docs"):
        shutil.copytree(ROOT / name, place / name, ignore=ignore)
    shutil.copytree(
        ROOT / "tests" / "engines" / "dialects", place / "tests" / "engines" / "dialects", ignore=ignore
    )
    for path in (ROOT / "tests").glob("*.py"):
        shutil.copy(path, place / "tests")
    shutil.copy(ROOT / "pyproject.toml", place)
    return place


def call(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Nothing is compiled: the tables are small, and a copy has no machine code yet.
    extra = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    folders = ("", "gate", "verify")
    ours = [ROOT / folder / "src" for folder in folders]
    others = (path for path in extra if path and Path(path) not in ours)
    paths = [*(str(copy / folder / "src") for folder in folders), *others]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "NUMBA_DISABLE_JIT": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )


def checks(copy: Path) -> str:
    result = call(
        copy,
        "-m",
        "pytest",
        "tests/engines/dialects/test_dialects.py",
        "-k",
        "toy",
        "-q",
        "-p",
        "no:cacheprovider",
        # Kernels that are not compiled warn where integers overflow.
        "-W",
        "ignore::RuntimeWarning",
    )
    return result.stdout + result.stderr


def put(path: Path, before: str, text: str) -> None:
    """Put a text into a file, before the first place where another stands."""
    content = path.read_text()
    assert before in content
    path.write_text(content.replace(before, text + before, 1))


@pytest.mark.slow
def test_the_page_is_all_that_it_takes(copy):
    rooms = copy / "src" / "incrowd" / "engines" / "dialects"
    (rooms / "toy.py").write_text(CODE)
    put(rooms / "__init__.py", "# isort: on\n", ENTRY)
    missing = checks(copy)
    for step in ("run make docs", "say in docs/databases.md", "say in HOLDERS of tests/database_tables.py"):
        assert step in missing
    tables = copy / "tests" / "database_tables.py"
    put(tables, "# One line a database", HOLDER + "\n\n")
    put(tables, "}\nSTORES = ", HELD)
    old = re.search("LIKE_SQLITE = .*\n", tables.read_text())[0]
    tables.write_text(tables.read_text().replace(old, SEEN))
    put(copy / "docs" / "databases.md", "| SQLite | nothing more |", ROW + "\n")
    written = call(copy, "-m", "incrowd.faces.cli.reference", "cli")
    assert written.returncode == 0, written.stderr
    (copy / "docs" / "cli.md").write_text(written.stdout)
    passed = checks(copy)
    assert re.search(r"^\.+ +\[100%\]$", passed, re.MULTILINE), passed
    helped = call(copy, "-m", "incrowd", "assess", "toy:///none.toy", "--table", "people", "--qi", "age")
    assert (helped.returncode, helped.stderr.count("Toy: there is no such file")) == (2, 1), helped.stderr
    studio = "from incrowd.faces.studio.tables import in_database; from pathlib import Path; "
    code = studio + "print(in_database('toy:///x.toy', 'people', Path('x')).database)"
    assert call(copy, "-c", code).stdout.strip() == "toy:///x.toy"
