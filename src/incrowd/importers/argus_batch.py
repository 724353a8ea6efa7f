"""Batch files of tau-ARGUS (`.arb`): count tables with rules as a policy.

A line has a command and what it is about: ``<OPENMETADATA> "study.rda"`` names the metadata,
``<SPECIFYTABLE> "Region""Size"|"Turnover"||`` a table, ``<SAFETYRULE> NK(2,75)|FREQ(5,30)`` its rules, and
``<SUPPRESS> OPT(1)`` what protects it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import InputError, TableError, quoted
from incrowd.core.io.addresses import file_path
from incrowd.core.table.schema import Attribute, Schema
from incrowd.importers.argus import read_project as read_metadata
from incrowd.importers.imported import Imported, read_text
from incrowd.release.tables.layout import CountTable, name_of

if TYPE_CHECKING:
    import os
    from pathlib import Path

__all__ = ["read_project"]

_LINE = re.compile(r"\s*<([A-Za-z]+)>\s*(.*?)\s*")
_NAME = re.compile(r'\s*//\s*<TABLE_ID>\s*"([^"]*)"')
_CALL = re.compile(r"([A-Za-z]+)\s*\(([^)]*)\)")
_TEXT = re.compile(r'"([^"]*)"')
_FREQUENCY = "<freq>"
"""The response of a table of counts."""
_SUPPRESSIONS = ("OPT", "MOD", "GH", "NET")
_SILENT = ("OPENMICRODATA", "READMICRODATA", "LOGBOOK", "VERSIONINFO", "CLEAR", "GOINTERACTIVE", "SILENT")
"""Commands that say nothing of a table."""


def read_project(path: str | os.PathLike[str]) -> Imported:
    """Read a batch file of tau-ARGUS, and the metadata file beside the batch file.

    Raises
    ------
    TableError
        It cannot be read, names no metadata or no table, or is no such file.
    InputError
        What it says contradicts itself.

    Examples
    --------
    >>> read_project("study.arb").policy.tables[0].name  # doctest: +SKIP
    'Region-by-Size'
    """
    file = file_path(path)
    metadata: Imported | None = None
    tables: list[dict[str, Any]] = []
    unread: list[str] = []
    name = ""
    for number, line in enumerate(read_text(file).splitlines(), 1):
        if title := _NAME.match(line):
            name = title[1]
        match = None if line.lstrip().startswith("//") else _LINE.fullmatch(line)
        if match is None:
            continue
        command, about, where = match[1].upper(), match[2], f"line {number}: <{match[1].upper()}>"
        if command == "OPENMETADATA":
            metadata = _metadata(about, file, where)
        elif command == "SPECIFYTABLE":
            tables.append(_table(about, name, len(tables) + 1, where, file))
            name = ""
        elif command == "SAFETYRULE":
            _last(tables, where, file).update(_rules(about, where, unread))
        elif command == "SUPPRESS":
            _protect(tables, about, where, unread)
        elif command not in _SILENT:
            unread.append(f"{where}: has no counterpart here")
    if metadata is None or not tables:
        raise TableError(f"{file}: names no metadata (<OPENMETADATA>) or no table (<SPECIFYTABLE>)")
    try:
        layouts = tuple(CountTable(**settings) for settings in tables)
        return _imported(metadata, layouts, unread)
    except InputError as error:
        raise type(error)(f"{file}: {error}") from None


def _metadata(about: str, file: Path, where: str) -> Imported:
    names = _TEXT.findall(about) or about.split()
    if not names:
        raise TableError(f"{file}, {where}: names no file")
    # It was written for another machine, so it is looked for beside this file.
    return read_metadata(file.parent / re.split(r"[\\/]", names[0])[-1])


def _table(about: str, name: str, number: int, where: str, file: Path) -> dict[str, Any]:
    """Read ``"Region""Size"|"Turnover"||``: columns, response, shadow, cost."""
    explaining, _, rest = about.partition("|")
    columns = _TEXT.findall(explaining)
    response = (_TEXT.findall(rest.partition("|")[0]) or [rest.partition("|")[0].strip()])[0]
    if not columns:
        raise TableError(f"{file}, {where}: names no column")
    settings: dict[str, Any] = {
        "name": name_of(name or "-by-".join(columns)) or f"table {number}",
        "rows": columns[:1],
        "columns": columns[1:],
    }
    if response and response.lower() != _FREQUENCY:
        settings["sum"] = response
    else:
        settings["count"] = "records"
    return settings


def _last(tables: list[dict[str, Any]], where: str, file: Path) -> dict[str, Any]:
    if not tables:
        raise TableError(f"{file}, {where}: stands before any <SPECIFYTABLE>")
    return tables[-1]


def _rules(about: str, where: str, unread: list[str]) -> dict[str, Any]:
    """Read ``NK(2,75)|P(20,1)|FREQ(5,30)|ZERO(20)``; a rule with 0 people is none."""
    settings: dict[str, Any] = {}
    for rule, inside in _CALL.findall(about):
        numbers = [float(part) for part in re.findall(r"\d+(?:\.\d+)?", inside)]
        first = numbers[0] if numbers else 0.0
        if rule.upper() == "FREQ" and first >= 2:
            settings["threshold"] = int(first)
            if len(numbers) > 1:
                unread.append(
                    f"{where}: FREQ({inside}): a cell is open by the threshold, and not by a percentage"
                )
        elif rule.upper() == "NK" and len(numbers) > 1 and first >= 1:
            settings["dominance"] = (int(first), numbers[1] / 100)
        elif rule.upper() == "P" and first > 0:
            settings["p_percent"] = first
            if len(numbers) > 1 and numbers[1] > 1:
                unread.append(f"{where}: P({inside}): the rule is that for one other person")
        elif rule.upper() == "ZERO":
            settings["zeros"] = "hide"
        elif first > 0:
            unread.append(f"{where}: {rule.upper()}({inside}): has no counterpart here")
    return settings


def _protect(tables: list[dict[str, Any]], about: str, where: str, unread: list[str]) -> None:
    """Read ``OPT(1)``, or ``RND(1,10,...)`` for rounding to multiples of 10; table 0 means all tables."""
    for way, inside in _CALL.findall(about):
        numbers = [int(part) for part in re.findall(r"\d+", inside)]
        chosen = tables if not numbers or not numbers[0] else tables[numbers[0] - 1 : numbers[0]]
        if way.upper() == "RND":
            base = {"base": numbers[1]} if len(numbers) > 1 and numbers[1] > 1 else {}
            for table in chosen:
                table.update({"protect": "round"} | base)
        elif way.upper() in _SUPPRESSIONS:
            if way.upper() not in ("OPT", "MOD"):
                unread.append(f"{where}: {way.upper()}: the cheapest suppression is sought in another way")
        else:
            unread.append(f"{where}: {way.upper()}({inside}): has no counterpart here")


def _imported(metadata: Imported, tables: tuple[CountTable, ...], unread: list[str]) -> Imported:
    """Return the policy of the metadata with the tables, and a role for each number that is summed."""
    schema = metadata.policy.schema
    sums = {table.sum for table in tables if table.sum is not None and table.sum not in schema}
    questions = tuple(each for each in metadata.questions if each[0] not in sums)
    unknown = sorted(sums - {name for name, _ in metadata.questions})
    unread += [f"{quoted(name)}: is summed, and is no variable of the metadata" for name in unknown]
    added = [Attribute(name, "sensitive", kind="number") for name in sorted(sums)]
    policy = replace(
        metadata.policy,
        schema=Schema.of_attributes(
            [*schema.attributes, *added], null_values=schema.null_values, unlisted="drop"
        ),
        models=(),
        tables=tables,
    )
    # What is said of thresholds and of the search is about releases of rows.
    told = (each for each in metadata.unread if "thresholds" not in each)
    return Imported(policy, unread=(*told, *unread), questions=questions)
