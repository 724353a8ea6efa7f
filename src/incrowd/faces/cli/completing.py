"""Shell completion: candidate words for the tab key, and scripts for shells."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

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
