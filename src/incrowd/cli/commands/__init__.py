"""The commands: one a file, with what it prints."""

from __future__ import annotations

from collections.abc import Callable

from incrowd.cli.commands import (
    anatomize,
    anonymize,
    apply,
    assess,
    attack,
    compare,
    demo,
    init,
    lattice,
    list_entries,
    p29,
    randomize,
    risk,
    utility,
    verify,
)

__all__ = ["COMMANDS"]

COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo.demo,
    "assess": assess.assess,
    "anonymize": anonymize.anonymize,
    "anatomize": anatomize.anatomize,
    "lattice": lattice.lattice,
    "compare": compare.compare,
    "utility": utility.utility,
    "risk": risk.risk,
    "attack": attack.attack,
    "apply": apply.apply,
    "p29": p29.p29,
    "randomize": randomize.randomize,
    "init": init.init,
    "verify": verify.verify,
    "list": list_entries.list_entries,
}
"""Every command by its name, in the order of ``--help``."""
