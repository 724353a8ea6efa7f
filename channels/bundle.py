"""A folder of wheels with incrowd and all that it needs, for a machine without a network.

Example: ``make bundle SYSTEM=windows FOR=3.12 EXTRAS=report`` writes ``bundle/`` with the wheels of incrowd,
of its checker, and of every package that they need on Windows under Python 3.12. Beside them are
``requirements.txt``, which names each by its SHA-256, and ``README.txt``, which says how to install them.

Versions are chosen by uv, which knows what a package needs on another system. pip fetches the wheels.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent


class System(NamedTuple):
    """A system that wheels are made for.

    Attributes
    ----------
    title
        What it is called in a sentence.
    platform
        What uv calls it.
    tags
        The platforms of wheels that it installs, newest first.
    python
        What starts a version of Python there.
    commands
        Where the environment ``env`` has its commands there.
    """

    title: str
    platform: str
    tags: tuple[str, ...]
    python: str = "python{}"
    commands: str = "env/bin/"


def _many_linux(machine: str) -> tuple[str, ...]:
    names = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_24", "manylinux_2_17", "manylinux2014")
    return tuple(f"{name}_{machine}" for name in names)


SYSTEMS = {
    "linux": System("Linux on x86-64", "x86_64-manylinux_2_28", _many_linux("x86_64")),
    "linux-arm": System("Linux on ARM", "aarch64-manylinux_2_28", _many_linux("aarch64")),
    "macos": System(
        "macOS on Apple silicon",
        "aarch64-apple-darwin",
        tuple(f"macosx_{number}_0_{kind}" for number in (14, 13, 12, 11) for kind in ("arm64", "universal2")),
    ),
    "windows": System(
        "Windows on x86-64", "x86_64-pc-windows-msvc", ("win_amd64",), "py -{}", "env\\Scripts\\"
    ),
}


def make(folder: Path, system: System, version: str, extras: str) -> None:
    """Fill a new folder.

    Parameters
    ----------
    version
        The Python that installs it, such as ``3.12``.
    extras
        The extras of incrowd, with commas between them.

    Raises
    ------
    subprocess.CalledProcessError
        When uv or pip fails: a package has no wheel for the system, or an extra does not exist.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pip = (sys.executable, "-m", "pip")
    own = ("wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder))
    subprocess.run([*pip, *own, *(str(ROOT / each) for each in ("gate", "verify", ""))], check=True)
    choice = (sys.executable, "-m", "uv", "pip", "compile", "-", "--quiet", "--no-header", "--no-annotate")
    where = ("--python-platform", system.platform, "--python-version", version, "--find-links", str(folder))
    wanted = f"incrowd[{extras}]" if extras else "incrowd"
    versions = subprocess.run(
        [*choice, *where, "--no-sources", "--only-binary", ":all:"],
        input=f"{wanted}\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    if versions.returncode:
        raise SystemExit(f"bundle: no set of versions for {system.title}: {versions.stderr.strip()}")
    lines = [line for line in versions.stdout.splitlines() if line and not line.startswith("-")]
    others = folder / "others.txt"
    others.write_text("".join(f"{line}\n" for line in lines if not line.startswith("incrowd")))
    fetched = ("download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(folder))
    platforms = (part for tag in system.tags for part in ("--platform", tag))
    subprocess.run(
        [*pip, *fetched, *platforms, "--python-version", version, "--requirement", str(others)], check=True
    )
    others.unlink()
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != len(lines):
        raise SystemExit(f"bundle: {len(wheels)} wheels for {len(lines)} packages")
    names = [wheel.name.split("-") for wheel in wheels]
    digests = [hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels]
    (folder / "requirements.txt").write_text(
        "".join(
            f"{name}=={number} --hash=sha256:{digest}\n"
            for (name, number, *_), digest in zip(names, digests, strict=True)
        )
    )
    (number,) = (number for name, number, *_ in names if name == "incrowd")
    size = sum(wheel.stat().st_size for wheel in wheels) / 1e6
    (folder / "README.txt").write_text(
        f"{wanted} {number} for Python {version}, {system.title}: {len(wheels)} wheels, {size:.0f} MB.\n"
        f"Make an environment in this folder: {system.python.format(version)} -m venv env\n"
        f"Install, without a network: {system.commands}pip install --no-index --find-links . "
        "--require-hashes -r requirements.txt\n"
        f"Try it: {system.commands}incrowd demo -o demo\n"
        "A wheel that was changed on its way is refused: requirements.txt has the SHA-256 of each.\n"
    )


def main() -> None:
    """Read the command line."""
    here = {"win32": "windows", "darwin": "macos"}.get(sys.platform, "linux")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--system", choices=SYSTEMS, default=here)
    parser.add_argument("--python", default=f"{sys.version_info[0]}.{sys.version_info[1]}", metavar="X.Y")
    parser.add_argument("--extras", default="", metavar="A,B")
    options = parser.parse_args()
    make(options.folder, SYSTEMS[options.system], options.python, options.extras)
    print((options.folder / "README.txt").read_text(), end="")


if __name__ == "__main__":
    main()
