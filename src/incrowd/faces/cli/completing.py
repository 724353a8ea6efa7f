"""Completion in the shell: the words that a tab offers, and the script that asks for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

SHELLS = ("bash", "zsh", "fish")
"""The shells whose scripts are printed."""
_VARIABLE = "_INCROWD_COMPLETE"
"""Its value tells that a shell asks, and which."""


def begin() -> None:
    """Let Typer answer where a shell asks; otherwise do nothing."""
    if _VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()


def script(shell: str) -> str:
    """Return the script that a shell runs at its start, so that a tab completes commands, options and names.

    Parameters
    ----------
    shell
        One of `SHELLS`.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    made: str = get_completion_script(prog_name="incrowd", complete_var=_VARIABLE, shell=shell)
    return made


def names(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a completer of an option that begins with one of some names, as ``NAME:PARAMETERS`` does.

    Examples
    --------
    >>> names(["mondrian", "mdav", "oka"])("m")
    ['mondrian', 'mdav']
    """

    def completed(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return completed
