"""Kinds of table files beside CSV and Parquet, a file and a line each.

A line below is all that a new kind needs: names, `--help` and the contract tests follow. The verifier has
readers of its own.
"""

from __future__ import annotations

from incrowd.core.io.kinds.base import Kind
from incrowd.core.plugins import plugin_classes

# One line an entry, in the order in which they are listed everywhere.
# isort: off
from incrowd.core.io.kinds.feather import Feather as Feather
from incrowd.core.io.kinds.json_lines import JsonLines as JsonLines
from incrowd.core.io.kinds.stata import Stata as Stata
from incrowd.core.io.kinds.spss import Spss as Spss
from incrowd.core.io.kinds.sas import Sas as Sas
from incrowd.core.io.kinds.excel import Excel as Excel
# isort: on

__all__ = ["KINDS"]

_OWN = [
    each
    for each in list(globals().values())
    if isinstance(each, type) and issubclass(each, Kind) and each is not Kind
]

_ADDED = plugin_classes("incrowd.kinds", Kind, _OWN, lambda each: {each.name, *each.suffixes})

KINDS: tuple[Kind, ...] = tuple(kind() for kind in (*_OWN, *_ADDED))
"""Every kind, including the kinds of other packages."""
