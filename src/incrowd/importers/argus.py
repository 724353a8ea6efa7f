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

from incrowd.algorithms import CellSuppression, Optimal
from incrowd.errors import HierarchyError, TableError, quoted
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.builders import Prefix
from incrowd.hierarchy.foreign import read_hrc
from incrowd.importers.imported import Imported, read_text
from incrowd.io.addresses import file_path
from incrowd.policy.policy import Policy, toml_value
from incrowd.privacy import KAnonymity
from incrowd.table.schema import Attribute, Role, Schema

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
    place = file_path(path)
    variables, unread = _variables(read_text(place), place)
    if not variables:
        raise TableError(f"{place}: has no variables, so it is no metadata of ARGUS")
    attributes, questions = [], []
    weights = _weights(variables)
    for each in variables:
        role = _role(each)
        if role is None:
            questions.append((each.name, "may somebody know it, must nobody learn it, or neither?"))
            continue
        hierarchy = _hierarchy(each, place, unread) if role == "quasi" else None
        codes = tuple(dict.fromkeys(each.missing)) if role == "quasi" else ()
        weight = weights.get(each.name, 1.0)
        attributes.append(Attribute(each.name, role, hierarchy=hierarchy, weight=weight, missing=codes))
    if not any(each.role == "quasi" for each in attributes):
        raise TableError(f"{place}: no variable is <RECODABLE>, so there are no quasi-identifiers")
    unread.extend(_unread_codes(variables, attributes))
    unread.append("metadata has no thresholds: k is 3 in the policy, change it")
    if variables[0].fixed:
        unread.append("places in a file of fixed width: write the data as CSV with these names")
    search = Optimal() if any(each.hierarchy is not None for each in attributes) else CellSuppression()
    schema = Schema.of(attributes)
    policy = Policy(schema, (KAnonymity(3),), search, ends="exact", suppressed="keep")
    return Imported(policy, unread=tuple(unread), questions=tuple(questions))


def _variables(text: str, place: Path) -> tuple[list[_Variable], list[str]]:
    """Read the lines; return the variables, and their settings that are not used."""
    found: list[_Variable] = []
    unread, fixed = [], True
    for number, line in enumerate(text.splitlines(), 1):
        parts = [quoted_text or plain for quoted_text, plain in _PART.findall(line)]
        if not parts:
            continue
        word = _WORD.fullmatch(parts[0])
        if word is None:
            found.append(_variable(parts, number, place, fixed=fixed))
            continue
        name = word[1].upper()
        if not found:  # how the file of the data is written
            fixed = fixed and name not in ("SEPARATOR", "NAMESINFRONT")
            unread.append(f"line {number}: <{name}>: how the data are written; write them as CSV")
        elif name in _KNOWN:
            found[-1].words[name] = parts[1:]
            if name == "MISSING":
                found[-1].missing += parts[1:]
        else:
            why = _UNREAD.get(name, "has no counterpart here")
            unread.append(f"line {number}: {quoted(found[-1].name)} <{name}>: {why}")
    return found, unread


def _variable(parts: list[str], number: int, place: Path, *, fixed: bool) -> _Variable:
    """Read a line such as ``AGE 6 2 99``: place, length, missing codes; no place with a separator."""
    numbers = parts[1 : 3 if fixed else 2]
    if len(numbers) < 1 + fixed or not all(part.isdecimal() for part in numbers):
        raise TableError(f"{place}, line {number}: is no variable with its place and length, and no <WORD>")
    return _Variable(parts[0], number, int(numbers[-1]), fixed, parts[1 + len(numbers) :])


def _role(each: _Variable) -> Role | None:
    """Return the role that the words tell; None where they tell none."""
    if each.has("HOUSE_ID"):
        return "household"
    if each.has("WEIGHT"):
        return "weight"
    if each.has(*_RECODED, "TRUNCABLE", "HIERARCHICAL") and each.number("IDLEVEL") != 0:
        return "quasi"
    return None


def _weights(variables: list[_Variable]) -> Mapping[str, float]:
    """Take weights of suppression as those of columns, unless all are alike; 50 is the usual one."""
    given = {each.name: each.number(*_WEIGHTS) for each in variables if _role(each) == "quasi"}
    known = {name: weight for name, weight in given.items() if weight is not None}
    return {} if len(set(known.values())) < 2 else {name: weight / 50 for name, weight in known.items()}


def _hierarchy(each: _Variable, place: Path, unread: list[str]) -> Hierarchy | Prefix | None:
    """Read a hierarchical code list beside the file; codes that may be truncated are prefixes."""
    if each.words.get("HIERCODELIST"):
        name = each.words["HIERCODELIST"][0]
        lead = (each.words.get("HIERLEADSTRING") or ["@"])[0]
        try:
            # It was written for another machine, so it is looked for beside this file.
            file = place.parent / re.split(r"[\\/]", name)[-1]
            return read_hrc(read_text(file), f"{file}", lead)
        except (TableError, HierarchyError) as error:
            unread.append(f"line {each.line}: {quoted(each.name)}: its code list is not read ({error})")
        return None
    if each.has("HIERLEVELS"):
        unread.append(f"line {each.line}: {quoted(each.name)} <HIERLEVELS>: a level is one digit here")
        return Prefix()
    return Prefix() if each.has("TRUNCABLE") else None


def _unread_codes(variables: list[_Variable], attributes: list[Attribute]) -> Iterator[str]:
    """Say of which columns the missing codes are not taken."""
    taken = {each.name for each in attributes if each.missing}
    known = {each.name for each in attributes}
    for each in variables:
        if each.missing and each.name not in taken:
            way = (
                "empty them in the data"
                if each.name in known
                else f"with a role write missing = {toml_value(list(dict.fromkeys(each.missing)))}"
            )
            yield f"line {each.line}: {quoted(each.name)}: missing codes are not read; {way}"
