"""Settings as a command names them in messages: by their options, or by keys of the policy file."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager

from incrowd_verify.errors import INSTALL, reword, worded, wording

IN_A_POLICY = {
    "qi": 'role = "quasi"',
    **{
        role: f'role = "{role}"'
        for role in ("sensitive", "identifying", "insensitive", "person", "household")
    },
    "weights": 'role = "weight"',
    "unlisted": 'unlisted = "drop" or unlisted = "keep"',
    "linked": "linked = true",
    "hierarchies": "hierarchy = ...",
    "hierarchy": "hierarchy = ...",
    "null-value": "null_values = [...]",
    "treat": "treat = ...",
    "wildcards": "wildcards",
    "max-suppression": "max_suppression",
}
"""How a policy file writes an option that a command does not take."""


class CommandWords:
    """Names settings by the options of a command.

    Parameters
    ----------
    options
        The names of the options that the command takes, such as ``max_suppression``; by default all.
    install
        How an extra of the program is installed.
    """

    def __init__(self, options: Iterable[str] | None = None, install: str = INSTALL) -> None:
        self.install = install
        self._options = None if options is None else {name.replace("_", "-") for name in options}

    def __call__(self, argument: str, option: str, policy: str) -> str:
        """Return the option, or the key in the policy file if the command lacks the option."""
        name = option.removeprefix("--").partition(" ")[0]
        there = policy or IN_A_POLICY.get(name, "")
        is_taken = self._options is None or name in self._options
        return option if is_taken or not there else f"{there} in the policy file"


def on_the_command_line(install: str = INSTALL) -> AbstractContextManager[None]:
    """Let messages name the options of commands, and not the arguments of functions."""
    return worded(CommandWords(install=install))


def options_taken(names: Iterable[str]) -> None:
    """Let messages name only these options of a command, such as ``max_suppression``, where they name any."""
    words = wording()
    if isinstance(words, CommandWords):
        reword(CommandWords(names, words.install))
