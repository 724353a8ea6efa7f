"""How the program was called: commands that are printed can be pasted into the shell that called it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path


def program(folder: Path = Path()) -> str:
    """Return how a shell calls this program: by its name where it is on the path, else by its place.

    Parameters
    ----------
    folder
        Where the shell will be then.
    """
    given = sys.argv[0]
    if os.path.basename(given) == "__main__.py":
        return f"{_called(sys.executable, folder)} -m incrowd"
    return _called(given, folder)


def _called(path: str, folder: Path) -> str:
    name, place = os.path.split(path)[1], os.path.abspath(path)
    found = shutil.which(name)
    # What uv runs has a path of its own, which the shell does not have.
    is_found = found is not None and os.path.abspath(found) == place and "UV" not in os.environ
    if is_found or os.sep not in path:
        return shlex.quote(name)
    # A link to a folder has another folder above it than its place says.
    there = os.path.join(os.path.realpath(os.path.dirname(place)), name)
    near = os.path.relpath(there, os.path.realpath(folder))
    near = near if os.sep in near else os.path.join(os.curdir, near)
    return shlex.quote(min(near, place, key=len))
