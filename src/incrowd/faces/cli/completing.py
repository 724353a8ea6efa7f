"""The program's name in printed commands, and shell completion."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

SHELLS = ("bash", "zsh", "fish")
"""The shells whose scripts are printed."""
_VARIABLE = "_INCROWD_COMPLETE"
"""Environment variable that a completing shell sets to its own name."""


def begin() -> None:
    """Load Typer's completion if the process was started by a shell's tab key."""
    if _VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()


def script(shell: str) -> str:
    """Return the script that a shell sources to complete commands, options and names.

    Parameters
    ----------
    shell
        One of `SHELLS`.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    text: str = get_completion_script(prog_name="incrowd", complete_var=_VARIABLE, shell=shell)
    return text


def names(words: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a completer for option values that begin with a name, such as ``NAME:PARAMETERS``.

    Examples
    --------
    >>> names(["mondrian", "mdav", "oka"])("m")
    ['mondrian', 'mdav']
    """

    def complete(incomplete: str) -> list[str]:
        return [name for name in words if name.startswith(incomplete)]

    return complete


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
