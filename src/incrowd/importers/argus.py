"""Metadata of mu-ARGUS and tau-ARGUS (`.rda`): roles, weights, households and code lists as a policy.

It is a text: a line for each variable with its place in a file of fixed width and the codes that mean
missing, and below it lines such as ``<RECODABLE>`` or ``<WEIGHT>``. It has no models. (R has files of this
ending, which are binary.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from incrowd.core.errors import HierarchyError, TableError, quoted
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.hierarchy.builders import Prefix
from incrowd.core.hierarchy.foreign import read_hrc
from incrowd.core.io.addresses import file_path
from incrowd.core.table.schema import Attribute, Role, Schema
from incrowd.importers.imported import Imported, read_text
from incrowd.measures.privacy import KAnonymity
from incrowd.release.policy.policy import Policy
from incrowd.release.policy.toml_lines import toml_value
from incrowd.search import CellSuppression, Optimal

if TYPE_CHECKING:
    import os
    from pathlib import Path

__all__ = ["read_project"]

_PART = re.compile(r'"([^"]*)"|(\S+)')
_WORD = re.compile(r"<([A-Za-z_]+)>")
_RECODED = ("RECODABLE", "RECODEABLE")
_WEIGHTS = ("SUPPRESSWEIGHT", "SUPPRESSPRIORITY")
_KNOWN = frozenset(
    (*_RECODED, *_WEIGHTS, "NUMERIC", "DECIMALS", "WEIGHT", "HOUSE_ID", "HOUSEHOLD", "IDLEVEL", "TRUNCABLE",
     "HIERARCHICAL", "HIERCODELIST", "HIERLEADSTRING", "HIERLEVELS", "TOTCODE", "MISSING")
)  # fmt: skip
_UNREAD = {
    "CODELIST": "labels of its codes are not read; a release has the codes",
    "RELATED": "a column that follows another: suppress or leave out both",
    "HOLDING": "holdings of tau-ARGUS",
    "REQUEST": "respondents who ask for protection",
    "FREQUENCY": "a column of counts: a table of tau-ARGUS, and no records",
    "COST": "a cost of tau-ARGUS",
}


@dataclass
class _Variable:
    """A variable of the file."""

    name: str
    line: int
    length: int = 0
    fixed: bool = True
    missing: list[str] = field(default_factory=list)
    words: dict[str, list[str]] = field(default_factory=dict)

    def has(self, *words: str) -> bool:
        return any(word in self.words for word in words)

    def number(self, *words: str) -> int | None:
        """Return the number behind a word."""
        for word in words:
            if self.words.get(word) and self.words[word][0].isdecimal():
                return int(self.words[word][0])
        return None


def read_project(path: str | os.PathLike[str]) -> Imported:
    """Read metadata of mu-ARGUS or tau-ARGUS.

    Raises
    ------
    TableError
        It cannot be read, or is no such file.
    InputError
        What it says contradicts itself.

    Examples
    --------
    >>> read_project("Demodata.rda").policy  # doctest: +SKIP
    Policy(14 columns; k-anonymity; cell-suppression)
    """
    file = file_path(path)
    variables, unread = _variables(read_text(file), file)
    if not variables:
        raise TableError(f"{file}: has no variables, so it is no metadata of ARGUS")
    attributes, questions = [], []
    weights = _weights(variables)
    for variable in variables:
        role, name = _role(variable), variable.name
        if role is None:
            questions.append((name, "may somebody know it, must nobody learn it, or neither?"))
            continue
        hierarchy = _hierarchy(variable, file, unread) if role == "quasi" else None
        codes = tuple(dict.fromkeys(variable.missing)) if role == "quasi" else ()
        weight = weights.get(name, 1.0)
        attributes.append(Attribute(name, role, hierarchy=hierarchy, weight=weight, missing=codes))
    if not any(attribute.role == "quasi" for attribute in attributes):
        raise TableError(f"{file}: no variable is <RECODABLE>, so there are no quasi-identifiers")
    unread.extend(_unread_codes(variables, attributes))
    unread.append("metadata has no thresholds: k is 3 in the policy, change it")
    if variables[0].fixed:
        unread.append("places in a file of fixed width: write the data as CSV with these names")
    recoded = any(attribute.hierarchy is not None for attribute in attributes)
    search = Optimal() if recoded else CellSuppression()
    schema = Schema.of_attributes(attributes)
    policy = Policy(schema, (KAnonymity(3),), search, ends="exact", suppressed="keep")
    return Imported(policy, unread=tuple(unread), questions=tuple(questions))


def _variables(text: str, place: Path) -> tuple[list[_Variable], list[str]]:
    """Return the variables of the lines, and the settings that are not used."""
    variables: list[_Variable] = []
    unread, fixed = [], True
    for number, line in enumerate(text.splitlines(), 1):
        parts = [quoted_text or plain for quoted_text, plain in _PART.findall(line)]
        if not parts:
            continue
        word = _WORD.fullmatch(parts[0])
        if word is None:
            variables.append(_variable(parts, number, place, fixed=fixed))
            continue
        name = word[1].upper()
        if not variables:  # how the file of the data is written
            fixed = fixed and name not in ("SEPARATOR", "NAMESINFRONT")
            unread.append(f"line {number}: <{name}>: how the data are written; write them as CSV")
        elif name in _KNOWN:
            variables[-1].words[name] = parts[1:]
            if name == "MISSING":
                variables[-1].missing += parts[1:]
        else:
            why = _UNREAD.get(name, "has no counterpart here")
            unread.append(f"line {number}: {quoted(variables[-1].name)} <{name}>: {why}")
    return variables, unread


def _variable(parts: list[str], number: int, place: Path, *, fixed: bool) -> _Variable:
    """Read a variable such as ``AGE 6 2 99``: position (without a separator), length, missing codes."""
    numbers = parts[1 : 3 if fixed else 2]
    if len(numbers) < 1 + fixed or not all(part.isdecimal() for part in numbers):
        raise TableError(f"{place}, line {number}: is no variable with its place and length, and no <WORD>")
    return _Variable(parts[0], number, int(numbers[-1]), fixed, parts[1 + len(numbers) :])


def _role(variable: _Variable) -> Role | None:
    """Return the role of a variable by the words, or None for an open role."""
    if variable.has("HOUSE_ID"):
        return "household"
    if variable.has("WEIGHT"):
        return "weight"
    recoded = variable.has(*_RECODED, "TRUNCABLE", "HIERARCHICAL")
    return "quasi" if recoded and variable.number("IDLEVEL") != 0 else None


def _weights(variables: list[_Variable]) -> Mapping[str, float]:
    """Return weights of columns from suppression weights, with the default 50 as 1, unless all are equal."""
    quasi = (variable for variable in variables if _role(variable) == "quasi")
    numbers = {variable.name: variable.number(*_WEIGHTS) for variable in quasi}
    weights = {name: weight for name, weight in numbers.items() if weight is not None}
    return {} if len(set(weights.values())) < 2 else {name: weight / 50 for name, weight in weights.items()}


def _hierarchy(variable: _Variable, project: Path, unread: list[str]) -> Hierarchy | Prefix | None:
    """Read a hierarchical code list beside the file, or return prefixes for codes that may be truncated."""
    where = f"line {variable.line}: {quoted(variable.name)}"
    if variable.words.get("HIERCODELIST"):
        name = variable.words["HIERCODELIST"][0]
        lead = (variable.words.get("HIERLEADSTRING") or ["@"])[0]
        try:
            # It was written for another machine, so it is looked for beside this file.
            file = project.parent / re.split(r"[\\/]", name)[-1]
            return read_hrc(read_text(file), f"{file}", lead)
        except (TableError, HierarchyError) as error:
            unread.append(f"{where}: its code list is not read ({error})")
        return None
    if variable.has("HIERLEVELS"):
        unread.append(f"{where} <HIERLEVELS>: a level is one digit here")
    return Prefix() if variable.has("HIERLEVELS", "TRUNCABLE") else None


def _unread_codes(variables: list[_Variable], attributes: list[Attribute]) -> Iterator[str]:
    """Yield a sentence for each column whose missing codes are not imported."""
    imported = {attribute.name: bool(attribute.missing) for attribute in attributes}
    for variable in variables:
        if variable.missing and not imported.get(variable.name):
            way = "empty them in the data"
            if variable.name not in imported:
                way = f"with a role write missing = {toml_value(list(dict.fromkeys(variable.missing)))}"
            yield f"line {variable.line}: {quoted(variable.name)}: missing codes are not read; {way}"
