"""The program's own name as a shell command, for printed commands that can be pasted."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path


def program(folder: Path = Path()) -> str:
    """Return the shell command of this program: the name on the search path, or the path of the file.

    Parameters
    ----------
    folder
        The working folder of that shell.
    """
    script = sys.argv[0]
    if os.path.basename(script) == "__main__.py":
        return f"{_shell_command(sys.executable, folder)} -m incrowd"
    return _shell_command(script, folder)


def _shell_command(path: str, folder: Path) -> str:
    name, place = os.path.split(path)[1], os.path.abspath(path)
    executable = shutil.which(name)
    # uv runs programs with a search path that the shell does not have.
    is_on_path = executable is not None and os.path.abspath(executable) == place and "UV" not in os.environ
    if is_on_path or os.sep not in path:
        return shlex.quote(name)
    # The parent of a linked folder is not the parent of the link.
    there = os.path.join(os.path.realpath(os.path.dirname(place)), name)
    near = os.path.relpath(there, os.path.realpath(folder))
    near = near if os.sep in near else os.path.join(os.curdir, near)
    return shlex.quote(min(near, place, key=len))
