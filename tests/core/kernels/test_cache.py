"""Machine code between runs: installations that cannot be written, and files that were damaged."""

from __future__ import annotations

import io
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import numba
import pytest
from rich.progress import Progress as RichProgress

import incrowd
from incrowd.core.kernels import cache, jit, signatures
from incrowd.core.progress import on_compiling
from incrowd.faces.cli.tables import _Bar, progress

DATA = "age,zip\n" + "".join(f"{20 + i % 7},{i % 3}\n" for i in range(30))
SETTINGS = {name: text for name, text in os.environ.items() if not name.startswith(("NUMBA", "PYTHON"))}


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A copy of the package with files in place of machine code folders, so that even root cannot write."""
    home = tmp_path / "site"
    shutil.copytree(
        Path(incrowd.__file__).parent, home / "incrowd", ignore=shutil.ignore_patterns("__pycache__", "*.nb?")
    )
    kernels = home / "incrowd" / "core" / "kernels"
    for folder in {path.parent for path in kernels.rglob("*.py")}:
        (folder / "__pycache__").write_text("")
    (tmp_path / "people.csv").write_text(DATA)
    (tmp_path / "temporary").mkdir()
    return home


def init(home: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run the command that compiles least, with a home folder that is none.

    Where the compiler is loaded already, no table is too small for it.
    """
    folder = home.parent
    environment = {**SETTINGS, "PYTHONPATH": str(home), "HOME": "/dev/null", "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"TMPDIR": str(folder / "temporary"), "XDG_CACHE_HOME": "/dev/null/cache", **settings}
    # Code that is not optimized is compiled in less time, and kept in the same way.
    environment |= {"NUMBA_OPT": "0"}
    program = "import numba; from incrowd.faces.cli import main; main()"
    command = [sys.executable, "-c", program, "init", str(folder / "people.csv")]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def machine_code(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nb[ci]"))


@pytest.mark.slow
def test_a_read_only_installation_keeps_machine_code_in_a_private_temporary_folder(installed):
    process = init(installed)
    assert process.returncode == 0, process.stderr
    assert "[columns.age]" in process.stdout
    assert process.stderr.startswith(
        "incrowd: compiled code can be kept neither beside the package nor in the"
    )
    assert "NUMBA_CACHE_DIR" in process.stderr
    assert process.stderr.count("compiled code") == 1
    path = installed.parent / "temporary" / f"incrowd-kernels-{os.getuid()}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    files = machine_code(path)
    assert files
    times = [file.stat().st_mtime_ns for file in files]
    assert init(installed).stdout == process.stdout
    assert [file.stat().st_mtime_ns for file in files] == times, "found, and not compiled anew"


@pytest.mark.slow
def test_without_any_folder_every_run_compiles(installed):
    (installed.parent / "temporary" / f"incrowd-kernels-{os.getuid()}").write_text("in the way")
    process = init(installed, NUMBA_CACHE_DIR=str(installed.parent / "people.csv"))
    assert process.returncode == 0, process.stderr
    assert "[columns.age]" in process.stdout
    assert process.stderr.count("every run compiles anew") == process.stderr.count("compiled code") == 1
    assert not machine_code(installed.parent)


@pytest.mark.slow
def test_damaged_machine_code_is_made_again(installed):
    folder = installed.parent / "kept"
    good = init(installed, NUMBA_CACHE_DIR=str(folder))
    assert good.returncode == 0
    assert "compiled code" not in good.stderr
    files = machine_code(folder)
    assert {file.suffix for file in files} == {".nbi", ".nbc"}
    contents = [file.read_bytes() for file in files]
    # Every damage of a list and of code that it names; all other kernels stay whole, and are not compiled again.
    for number, (file, content) in enumerate(zip(files[:16], contents[:16], strict=True)):
        damage = (b"", b"garbled", content[: len(content) // 2], _flipped(content))
        file.write_bytes(damage[(number + number // 4) % len(damage)])
    again = init(installed, NUMBA_CACHE_DIR=str(folder))
    assert (again.returncode, again.stderr, again.stdout) == (0, good.stderr, good.stdout)
    for file in files:
        assert cache._unsealed(str(file))


def _flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.slow
def test_kept_code_is_loaded_without_all_that_the_compiler_knows(tmp_path):
    """A program without its first kernel in the cache loads the compiler, and must print the same."""
    job = "import numba, sys; from incrowd.core.kernels import lines; print(lines.scan(data, ','), 'numba.np.linalg' in sys.modules)"
    job = f"import numpy; data = numpy.frombuffer(b'a,b\\n1,2\\n', numpy.uint8); {job}"
    settings = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run([sys.executable, "-c", job], capture_output=True, text=True, env=settings, check=True)
        for _ in range(2)
    )
    assert first.stdout.split(") ") == ["(2, 2, 0, 0, 0", "True\n"]
    assert second.stdout.split(") ") == ["(2, 2, 0, 0, 0", "False\n"]
    assert cache._TESTED[0] <= numba.version_info.short <= cache._TESTED[1], "try kept code with this version"


def test_a_bar_tells_which_loop_is_compiled_and_of_how_many(tmp_path, monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def doubled(number):
        return number + number

    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(signatures, "loops_of", lambda algorithm: ["one", "two", "three"][: len(algorithm)])
    with progress("abc"):
        assert jit.compiled(doubled)(2) == 4
        assert jit.compiled(doubled)(2.5) == 5
    assert "compiling, once: loop 1 of about 3 (doubled)" in screen.getvalue()
    assert "compiling, once: loop 2 of about 3 (doubled)" in screen.getvalue()
    screen.truncate(0)
    with progress():
        assert jit.compiled(doubled)(2) == 4
        assert "compiling" not in screen.getvalue(), "found, and not compiled"
        assert jit.compiled(doubled)(2j) == 4j
    assert "loop 1 of about 1 (doubled)" in screen.getvalue(), "nobody knows how many"
    assert not on_compiling


def test_the_bar_of_loops_goes_once_the_job_goes_on():
    rich = RichProgress()
    bar = _Bar(rich, "")
    for go_on in (lambda: bar.advance(1, 2), lambda: bar.stage("apply")):
        bar.compile("improve blocks")
        assert rich.tasks[1].visible
        go_on()
        assert not rich.tasks[1].visible
    assert rich.tasks[1].description == "compiling, once: loop 2 of about 2 (improve blocks)"


class Screen(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("damage", [b"", b"garbled" * 9, None], ids=["empty", "garbled", "one bit"])
def test_a_file_that_does_not_fit_its_digest_counts_as_not_there(tmp_path, damage):
    file = cache._SealedFile(str(tmp_path), "kernel", b"stamp")
    file.save("key", {"machine": "code"})
    assert file.load("key") == {"machine": "code"}
    for path in machine_code(tmp_path):
        content = path.read_bytes()
        path.write_bytes(_flipped(content) if damage is None else damage)
        assert file.load("key") is None
        file.save("key", {"machine": "code"})
        assert file.load("key") == {"machine": "code"}


def test_machine_code_of_other_sources_is_not_taken(tmp_path):
    cache._SealedFile(str(tmp_path), "kernel", b"stamp").save("key", 1)
    assert cache._SealedFile(str(tmp_path), "kernel", b"other").load("key") is None


def test_machine_code_for_a_class_that_there_is_no_more_is_not_taken(tmp_path, monkeypatch):
    module = types.ModuleType("module_of_earlier_sources")
    module.Arrays = type("Arrays", (), {"__module__": module.__name__})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    cache._SealedFile(str(tmp_path), "kernel", b"stamp").save(module.Arrays, 1)
    monkeypatch.delitem(sys.modules, module.__name__)
    file = cache._SealedFile(str(tmp_path), "kernel", b"stamp")
    assert file.load("key") is None
    file.save("key", 2)
    assert file.load("key") == 2


@pytest.mark.parametrize("mode", [0o777, 0o750])
def test_a_folder_that_others_may_write_is_not_trusted(tmp_path, monkeypatch, mode):
    folder = tmp_path / f"incrowd-kernels-{os.getuid()}"
    folder.mkdir()
    folder.chmod(mode)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    cache._temporary_folder.cache_clear()
    with pytest.warns(UserWarning, match="every run compiles anew"):
        assert cache._temporary_folder() is None
    cache._temporary_folder.cache_clear()


TOY = """
import sys, time
from pathlib import Path
from incrowd.core.kernels import cache, jit, signatures
from incrowd.core.progress import on_compiling

here = Path(__file__).parent
cache.SHIPPED = here / "shipped"

@jit.compiled
def doubled(number):
    return number + number

if sys.argv[1] == "ship":
    from numba import config, int64
    config.CPU_NAME, config.CPU_FEATURES = cache.PORTABLE
    made = doubled.dispatcher()
    made.compile((int64,))
    made._cache.ship(made.targetctx)
    raise SystemExit
if sys.argv[1] == "together":
    doubled.dispatcher()
    (here / f"ready-{sys.argv[2]}").touch()
    while len(list(here.glob("ready-*"))) < 2:
        time.sleep(0.001)
on_compiling.append(lambda loop: print("compiling", loop))
print(doubled(2))
"""


@pytest.fixture
def toy(tmp_path: Path):
    """A program of a single kernel, called with a task and settings of the compiler."""
    (tmp_path / "toy.py").write_text(TOY)

    def start(*arguments: str, **settings: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(tmp_path / "toy.py"), *arguments]
        folder = {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**SETTINGS, **folder, **settings}
        )

    return start


@pytest.mark.slow
def test_shipped_code_is_taken_where_the_processor_can_run_it(toy, tmp_path):
    assert toy("ship").communicate()[0] == ""
    shutil.rmtree(tmp_path / "kept")
    assert toy("run").communicate()[0] == "4\n"
    assert not machine_code(tmp_path / "kept")
    if cache.PORTABLE[1]:
        assert toy("run", NUMBA_CPU_NAME="generic").communicate()[0] == "compiling doubled\n4\n"
    for path in machine_code(tmp_path / "shipped"):
        path.write_bytes(_flipped(path.read_bytes()))
    assert toy("run", NUMBA_CACHE_DIR=str(tmp_path / "new")).communicate()[0] == "compiling doubled\n4\n"


@pytest.mark.slow
def test_two_processes_never_compile_the_same_kernel_at_once(toy):
    both = [toy("together", number) for number in "12"]
    assert sorted(each.communicate()[0] for each in both) == ["4\n", "compiling doubled\n4\n"]


def test_a_kernel_is_compiled_where_there_are_no_locks(monkeypatch, tmp_path):
    def refused(*_args, **_more):
        raise NotImplementedError("no locks here")

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "FileLock", refused)

    def tripled(number):
        return 3 * number

    assert jit.compiled(tripled)(2) == 6
