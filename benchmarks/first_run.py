"""The first run of a newcomer: the demo from an installed wheel, with nothing compiled, then again.

Each run is a process of its own. The wheel is built and installed into a bare environment, so nothing is
compiled there. With ``--make`` also `make demo` from a bare clone, with the setting up of its environment.
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

ROOT = Path(__file__).resolve().parents[1]


def timed(command: list[str], folder: Path, **more: str) -> tuple[float, float]:
    """Run a command; return the seconds that pass, and those of processors, with what it started."""
    ours = {"PYTHONPATH", "NUMBA_CACHE_DIR", "VIRTUAL_ENV"}
    environment = {name: value for name, value in os.environ.items() if name not in ours} | more
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def from_a_wheel(folder: Path, rows: int, repeat: int) -> dict[str, list[tuple[float, float]]]:
    """Install a wheel, and run the demo cold and warm in turn."""
    venv.create(folder / "venv", with_pip=True)
    python = str(folder / "venv" / "bin" / "python")
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    timed([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], folder)
    [wheel] = folder.glob("incrowd-*.whl")
    found: dict[str, list[tuple[float, float]]] = {"cold": [], "warm": []}
    found["install"] = [timed([*pip, "install", str(wheel)], folder)]
    demo = [str(folder / "venv" / "bin" / "incrowd"), "demo", "--rows", str(rows), "-o", "demo", "--force"]
    kernels = folder / "kernels"
    for _ in range(repeat):
        shutil.rmtree(kernels, ignore_errors=True)
        kernels.mkdir()
        for how in ("cold", "warm"):
            found[how].append(timed(demo, folder, NUMBA_CACHE_DIR=str(kernels)))
    return found


def from_a_clone(folder: Path) -> dict[str, list[tuple[float, float]]]:
    """Clone the project and run `make demo` in it, twice."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    make = ["make", "--silent", "demo", f"PYTHON={sys.executable}"]
    return {"make demo, cold": [timed(make, clone)], "make demo, warm": [timed(make, clone)]}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--make", action="store_true", help="also `make demo` from a bare clone")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.rows, chosen.repeat = 1_000, 1
    with tempfile.TemporaryDirectory() as folder:
        found = from_a_wheel(Path(folder), chosen.rows, chosen.repeat)
        if chosen.make:
            found |= from_a_clone(Path(folder))
    print(f"{chosen.rows:,} rows; medians of {chosen.repeat}; load {os.getloadavg()[0]:.1f}")
    print(f"{'':16} {'wall':>8} {'processor':>10}")
    for how, times in found.items():
        wall, processor = (statistics.median(each) for each in zip(*times, strict=True))
        print(f"{how:16} {wall:6.1f} s {processor:8.1f} s")
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
