"""The commands of ``incrowd``, each in a file named after the command."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from importlib import import_module
from keyword import iskeyword
from typing import Any

from incrowd.core.plugins import load, plugins

__all__ = ["NAMES", "PURPOSES", "commands"]

PURPOSES = {
    "Start": ("demo", "course", "studio", "init", "import", "list", "hierarchy", "completion", "warm"),
    "Release": ("anonymize", "apply", "next", "anatomize", "randomize", "tabulate"),
    "Measure": ("assess", "risk", "p29", "utility", "perturbation", "attack"),
    "Choose": ("lattice", "compare", "suggest"),
    "Check": ("verify", "ledger"),
}
"""Command names by purpose, in the order of ``--help``; each names a file of this folder."""

_OWN = {name for names in PURPOSES.values() for name in names}
_PLUGINS = {name: entry for name, entry in plugins("incrowd.commands").items() if name not in _OWN}
"""Commands from plugins; none replaces a built-in command."""
if _PLUGINS:
    PURPOSES["More"] = tuple(_PLUGINS)

NAMES = tuple(name for names in PURPOSES.values() for name in names)
"""The names of all commands."""


ELSEWHERE = {
    "reports": "a report is written by `anonymize --report FILE` and `assess --report FILE`",
    "checks": "`verify OUT --policy FILE` checks a release",
    "validate": "`verify OUT --policy FILE` checks a release",
    "drafts": "`init DATA` drafts a policy",
    "policy": "`init DATA` drafts a policy",
    "measures": "`assess DATA` measures a table, and `utility RAW OUT` the loss of a release",
    "loss": "`utility RAW OUT` measures the loss of a release",
    "profiles": "`list profiles` names the rules that `verify --profile NAME` judges",
    "models": "`list models` names the privacy models",
    "algorithms": "`list algorithms` names the search algorithms",
    "treatments": "`list treatments` names the treatments of columns",
    "help": "`incrowd --help` lists the commands, and `incrowd COMMAND --help` explains one",
    "version": "`incrowd --version` tells it",
}
"""Hints for words that are no commands, with plurals standing for singulars too."""


def commands(names: Iterable[str] = NAMES) -> Iterator[tuple[str, Any]]:
    """Yield name and function, or group of commands, of each requested command."""
    for name in names:
        if name in _PLUGINS:
            if (command := load(_PLUGINS[name])) is not None:
                yield name, command
            continue
        # A file named like a builtin or keyword ends in `_`.
        word = f"{name}_" if name in dir(builtins) or iskeyword(name) else name
        module = import_module(f"{__name__}.{word}")
        yield name, getattr(module, word)
