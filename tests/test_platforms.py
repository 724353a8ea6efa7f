"""Features that Windows and macOS lack are not needed, with the lacks simulated here."""

from __future__ import annotations

import ast
import ctypes
import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from incrowd.core.errors import TableError
from incrowd.core.io import addresses, placing, seals
from incrowd.core.io.addresses import file_path, looks_like_address
from incrowd.core.io.placing import Step, identity
from incrowd.core.io.streams import bytes_of, usual_memory
from incrowd.core.io.targets import writing
from package_sources import nodes, parsed, sources

ABSENT = {
    "Windows": {"crypt", "curses", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource",
                "spwd", "syslog", "termios", "tty"},
    "macOS": {"_winapi", "msvcrt", "ossaudiodev", "spwd", "winreg", "winsound"},
    "Linux": {"_winapi", "msvcrt", "winreg", "winsound"},
}  # fmt: skip
"""Modules of the standard library that a platform has not."""

ABSENT_NAMES = (
    "fork", "getegid", "geteuid", "getgid", "getpgid", "getuid", "kill", "killpg", "mkfifo", "pathconf", "pipe2",
    "sched_getaffinity", "set_blocking", "statvfs", "sysconf", "uname", "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW",
    "O_NONBLOCK", "ST_RDONLY", "environb", "register_at_fork",
)  # fmt: skip
"""Names of `os` that Windows has not, or not in every Python."""


def imported_at_once(tree: ast.Module) -> set[str]:
    """Return the modules that a file imports at the import of the file, not those of functions."""
    result: set[str] = set()
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            result |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            result.add(node.module.partition(".")[0])
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            left += ast.iter_child_nodes(node)
    return result


@pytest.mark.parametrize("platform", ABSENT)
def test_no_file_imports_what_a_platform_lacks(platform):
    wrong = {path.name: imported_at_once(parsed(path)) & ABSENT[platform] for path in sources()}
    assert {name: lines for name, lines in wrong.items() if lines} == {}


@pytest.mark.parametrize(
    "text",
    ["import fcntl", "from fcntl import flock", "if True:\n    import fcntl", "class A:\n    import fcntl"],
)
def test_a_planted_import_is_found(text):
    assert imported_at_once(ast.parse(text)) & ABSENT["Windows"] == {"fcntl"}
    assert not imported_at_once(ast.parse("def f():\n    import fcntl")) & ABSENT["Windows"]


def test_texts_are_written_with_one_end_of_line_everywhere():
    wrong = []
    for path in sources():
        for node in nodes(path):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name)):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            keywords = {each.arg for each in node.keywords}
            modes = [each.value for each in node.args if isinstance(each, ast.Constant)]
            writes = name == "write_text" or (
                name == "open" and any(isinstance(m, str) and m in ("w", "a", "x", "wt") for m in modes)
            )
            if writes and not {"newline", "encoding"} <= keywords:
                wrong.append(f"{path.name}:{node.lineno}")
    assert wrong == []


WITHOUT = f"""
import os, sys
os.supports_dir_fd.clear()
import numba, numpy, polars, duckdb, narwhals, pyarrow, filelock, scipy.optimize, typer, rich, asyncio, socket
import pydantic, yaml, tempfile, subprocess, ctypes, concurrent.futures, multiprocessing
for name in {sorted(ABSENT["Windows"])!r}:
    sys.modules[name] = None
for name in {ABSENT_NAMES!r}:
    if hasattr(os, name):
        delattr(os, name)
os.supports_follow_symlinks.discard(os.link)
work, rename = os.link, os.rename
def link(made, target):
    work(made, target)
def renamed(made, target):
    if os.path.lexists(target):
        raise FileExistsError(17, "File exists", made)
    rename(made, target)
os.link, os.rename = link, renamed
library = ctypes.CDLL
def cdll(name, *others, **further):
    if name is None:
        raise TypeError("expected a name")
    return library(name, *others, **further)
ctypes.CDLL = cdll
from incrowd.faces.cli import main
main()
"""
"""Runs the command line without what Windows lacks."""


@pytest.fixture
def folder(tmp_path):
    rows = "".join(f"{20 + row % 40},{'mf'[row % 2]},{'ab'[row % 2]}\n" for row in range(200))
    (tmp_path / "people.csv").write_text(f"age,sex,ill\n{rows}")
    return tmp_path


def run(folder, *arguments, script=WITHOUT, **environment):
    process = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=folder,
        capture_output=True,
        env=os.environ | environment,
        check=False,
    )
    return process.returncode, process.stdout, process.stderr.decode(errors="replace")


ANONYMIZE = ("anonymize", "people.csv", "--qi", "age,sex", "--sensitive", "ill", "-k", "3")
ACCEPTED = ("--accept", "unprotected-sensitive:ill=a made-up table")


@pytest.mark.slow
def test_a_release_is_made_written_and_checked_without_posix(folder):
    for force in ((), ("--force",)):
        arguments = (
            *ANONYMIZE,
            *ACCEPTED,
            "-o",
            "out.csv",
            "--row-map",
            "rows.parquet",
            "--save-policy",
            "p.toml",
            *force,
        )
        status, _, errors = run(folder, *arguments)
        assert status == 0, errors
    assert not list(folder.glob(".incrowd-*"))
    arguments = (
        "verify",
        "out.csv",
        "--policy",
        "p.toml",
        "--against",
        "people.csv",
        "--row-map",
        "rows.parquet",
    )
    status, out, errors = run(folder, *arguments)
    assert status == 0, errors + out.decode()


@pytest.mark.slow
def test_a_folder_of_files_is_released_into_an_empty_folder_without_posix(folder):
    (folder / "in").mkdir()
    (folder / "people.csv").rename(folder / "in" / "people.csv")
    (folder / "out").mkdir()
    for force in ((), ("--force",)):
        status, _, errors = run(folder, "anonymize", "in", *ANONYMIZE[2:], *ACCEPTED, "-o", "out", *force)
        assert status == 0, errors
    assert list((folder / "out").glob("part-*"))


def test_a_file_that_another_program_holds_open_is_said(folder, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(placing, "_exchange", lambda *_: False)
    monkeypatch.setattr(placing.os, "rename", refuse)
    (folder / "out.csv").write_text("old")
    with (
        pytest.raises(TableError, match="another program, as Excel, may have it open"),
        writing(folder / "out.csv", force=True) as path,
    ):
        path.write_text("new")
    assert (folder / "out.csv").read_text() == "old"


def test_a_path_that_is_too_long_is_said(monkeypatch):
    error = FileNotFoundError(errno.ENOENT, "No such file or directory", "C:\\" + "x" * 300)
    assert seals.reason(error) == "No such file or directory"
    monkeypatch.setattr(sys, "platform", "win32")
    assert "longer than Windows takes" in seals.reason(error)


@pytest.mark.parametrize("name", ["con", "NUL.csv", "aux.tar.gz", "Com1", "lpt9.txt"])
def test_names_of_devices_are_refused_on_windows(monkeypatch, name):
    assert file_path(name) == Path(name)
    monkeypatch.setattr(addresses.sys, "platform", "win32")
    with pytest.raises(TableError, match="is the name of a device on Windows"):
        file_path(name)
    assert file_path("console.csv") == Path("console.csv")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (r"C:\data\x.csv", False),
        ("C:/data/x.csv", False),
        ("c:/users/jo@clinic/x.csv", False),
        (r"\\server\share\x.csv", False),
        ("//server/share/x.csv", False),
        ("postgresql://me:pw@host/db", True),
        ("postgresql:/me:pw@host/db", True),
        ("host=db password=pw", True),
        ("C:/postgresql://me:pw@host/db", True),
    ],
)
def test_drives_and_shares_are_no_addresses(text, address):
    assert looks_like_address(text) is address


def test_an_empty_folder_gives_way_where_the_system_replaces_none(tmp_path, monkeypatch):
    work = os.rename

    def rename(made, target):
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "File exists")
        work(made, target)

    monkeypatch.setattr(placing.os, "rename", rename)
    slot = tmp_path / "slot"
    (slot / "out").mkdir(parents=True)
    (slot / "out" / "part-0").write_text("x")
    (tmp_path / "out").mkdir()
    number = identity(slot / "out", follow=False)
    Step(slot / "out", tmp_path / "out", number).put()
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["part-0"]
    (slot / "more").mkdir()
    with pytest.raises(placing.Appeared):
        Step(slot / "more", tmp_path / "out", identity(slot / "more")).put()
    assert (tmp_path / "out" / "part-0").exists()


def test_names_are_exchanged_one_by_one_where_there_is_no_c_library(tmp_path, monkeypatch):
    def no_name(name, **_):
        raise TypeError("expected a name")

    monkeypatch.setattr(ctypes, "CDLL", no_name)
    (tmp_path / "out.csv").write_text("old")
    with writing(tmp_path / "out.csv", force=True) as path:
        path.write_text("new")
    assert (tmp_path / "out.csv").read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]


def test_the_memory_of_a_machine_without_sysconf_is_nearly_the_same(monkeypatch):
    known = usual_memory()
    monkeypatch.delattr(os, "sysconf")
    assert known * 0.8 <= usual_memory() <= max(known * 1.3, bytes_of("64MiB"))


PLAIN = "from incrowd.faces.cli import main; main()"
TWICE = """
import sys
from incrowd.faces.cli import main
try:
    main()
except SystemExit:
    print("AS JSON", flush=True)
sys.argv.append("--json")
main()
"""
"""A command, and the same with ``--json``, in one process."""


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp437"])
def test_a_console_of_few_characters_shows_the_others_as_question_marks(folder, encoding):
    names = "\u00e5lder,k\u00f6n,\u75c5\u6c17"
    text = (folder / "people.csv").read_text().replace("age,sex,ill", names)
    (folder / "people.csv").write_text(text, encoding="utf-8")
    arguments = (
        "assess",
        "people.csv",
        "--qi",
        "\u00e5lder,k\u00f6n",
        "--sensitive",
        "\u75c5\u6c17",
        "-l",
        "2",
    )
    status, out, errors = run(folder, *arguments, script=TWICE, PYTHONIOENCODING=encoding)
    assert status in (0, 1), errors
    assert "internal error" not in errors
    plain, _, document = out.partition(b"AS JSON")
    assert b"??" in plain
    # JSON keeps every character, as an escape where the encoding lacks it.
    assert json.loads(document.decode(encoding))["sensitive"] == ["\u75c5\u6c17"]


@pytest.mark.slow
def test_a_file_or_pipe_gets_utf_8_whatever_the_system_prefers(folder):
    names = "\u00e5lder,k\u00f6n,\u75c5\u6c17"
    text = (folder / "people.csv").read_text().replace("age,sex,ill", names)
    (folder / "people.csv").write_text(text, encoding="utf-8")
    arguments = (
        "assess",
        "people.csv",
        "--qi",
        "\u00e5lder,k\u00f6n",
        "--sensitive",
        "\u75c5\u6c17",
        "--json",
    )
    other = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "utf-8"}
    script = "import os, sys; del os.environ['PYTHONIOENCODING']\n"
    script += f"sys.stdout.reconfigure(encoding='cp1252'); {PLAIN}"
    status, out, errors = run(folder, *arguments, script=script, **other)
    assert status == 0, errors
    assert json.loads(out.decode("utf-8"))["sensitive"] == ["\u75c5\u6c17"]
