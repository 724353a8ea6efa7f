"""The first run of a newcomer: every algorithm on few rows, and the demo, from an installed wheel.

Each run is a process of its own, in a bare environment. *Compiled* is the first run of the wheel for all
systems, which compiles; *again* is the next run; *shipped* is the first run of the wheel with machine code.
With ``--make`` also `make demo` from a bare clone, with the setting up of its environment.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from incrowd.search import ALGORITHMS

ROOT = Path(__file__).resolve().parents[1]
FOR_A_TARGET = ("top-down-specialization", "bottom-up-generalization")
HOW = ("compiled", "again", "shipped")


def timed(command: list[str], folder: Path, **more: str) -> tuple[float, float]:
    """Run a command; return the seconds that pass, and those of processors, with what it started."""
    ours = {"PYTHONPATH", "NUMBA_CACHE_DIR", "VIRTUAL_ENV"}
    environment = {name: value for name, value in os.environ.items() if name not in ours} | more
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Wheels:
    """A bare environment, and the two wheels: for every system, and with machine code for this one."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder / "venv", with_pip=True)
        self.folder, self.bin = folder, folder / "venv" / "bin"
        self.plain = self._built("plain")
        source = {"PYTHONPATH": str(ROOT / "src"), "NUMBA_CACHE_DIR": str(folder / "portable")}
        try:
            timed([sys.executable, "-m", "incrowd.core.kernels.warming"], folder, **source)
            self.shipped = self._built("shipped")
        finally:
            shutil.rmtree(ROOT / "src/incrowd/core/kernels/shipped", ignore_errors=True)

    def _built(self, name: str) -> Path:
        timed(
            [*self._pip, "wheel", "--no-deps", "--wheel-dir", str(self.folder / name), str(ROOT)], self.folder
        )
        [wheel] = (self.folder / name).glob("incrowd-*.whl")
        return wheel

    @property
    def _pip(self) -> list[str]:
        return [str(self.bin / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]

    def install(self, wheel: Path, *more: str) -> tuple[float, float]:
        """Install a wheel and the verifier; return how long it takes."""
        all_three = (str(ROOT / "gate"), str(ROOT / "verify"), str(wheel))
        return timed([*self._pip, "install", "--force-reinstall", *more, *all_three], self.folder)

    def run(self, *arguments: str, fresh: bool) -> tuple[float, float]:
        """Run a command, with no kernel in the cache if `fresh`; return how long it takes."""
        kernels = self.folder / "kernels"
        if fresh:
            shutil.rmtree(kernels, ignore_errors=True)
            kernels.mkdir()
        return timed([str(self.bin / "incrowd"), *arguments], self.folder, NUMBA_CACHE_DIR=str(kernels))


def jobs(folder: Path, rows: int) -> dict[str, list[str]]:
    """Return the arguments of each job: the demo, and one release of its table by each algorithm."""
    found = {"demo": ["demo", "--rows", str(rows), "-o", "demo", "--force"]}
    policy = (folder / "table" / "policy.toml").read_text().partition("[algorithm]")[0]
    # Microaggregation takes numbers alone.
    for algorithm in (each for each in ALGORITHMS if each.name != "microaggregation"):
        target = 'target = "diagnosis"\n' if algorithm.name in FOR_A_TARGET else ""
        path = folder / "table" / f"{algorithm.name}.toml"
        path.write_text(f'{policy}[algorithm]\nname = "{algorithm.name}"\n{target}')
        release = ["--policy", str(path), "-o", "release.csv", "--force"]
        found[algorithm.name] = ["anonymize", "table/people.csv", *release]
    return found


def from_wheels(folder: Path, rows: int, repeat: int) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Install both wheels in turn, and run every job with each."""
    wheels = Wheels(folder)
    found: dict[str, dict[str, list[tuple[float, float]]]] = {
        "install": {"compiled": [wheels.install(wheels.plain)]}
    }
    wheels.run("demo", "--rows", str(rows), "-o", "table", fresh=True)
    listed = jobs(folder, rows)
    for name, job in listed.items():
        found[name] = {"compiled": [], "again": []}
        for _ in range(repeat):
            found[name]["compiled"].append(wheels.run(*job, fresh=True))
            found[name]["again"].append(wheels.run(*job, fresh=False))
    found["install"]["shipped"] = [wheels.install(wheels.shipped, "--no-deps")]
    for name, job in listed.items():
        found[name]["shipped"] = [wheels.run(*job, fresh=True) for _ in range(repeat)]
    return found


def from_a_clone(folder: Path) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Clone the project and run `make demo` in it, twice."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    make = ["make", "--silent", "demo", f"PYTHON={sys.executable}"]
    return {"make demo": {"compiled": [timed(make, clone)], "again": [timed(make, clone)]}}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--make", action="store_true", help="also `make demo` from a bare clone")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.repeat = 1
    with tempfile.TemporaryDirectory() as folder:
        found = from_wheels(Path(folder), chosen.rows, chosen.repeat)
        if chosen.make:
            found |= from_a_clone(Path(folder))
    print(f"{chosen.rows:,} rows; medians of {chosen.repeat}; load {os.getloadavg()[0]:.1f}")
    print(f"{'wall / processor s':24}" + "".join(f"{how:>16}" for how in HOW))
    for name, times in found.items():
        cells = [" / ".join(f"{statistics.median(each):.2f}" for each in zip(*times[how], strict=True))
                 if how in times else "" for how in HOW]  # fmt: skip
        print(f"{name:24}" + "".join(f"{cell:>16}" for cell in cells))
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
