"""Drafting a policy: guessed roles of a table's columns, each with its reason.

The guesses are on the safe side. A column that others could know is a quasi-identifier. No column is guessed
insensitive. The draft shows names and counts, never values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incrowd.errors import InputError, TableError, setting
from incrowd.jobs.policy import POLICY_VERSION, toml_key, toml_value
from incrowd.table.schema import Attribute, Role

if TYPE_CHECKING:
    import polars as pl

    from incrowd.table.domain import Domain

__all__ = ["Guess", "draft_policy", "guess_columns"]

_IDENTIFYING = (
    "name|surname|forename|firstname|lastname|ssn|passport|email|e_mail|mail|phone|telephone|mobile|fax|iban|"
    "account|address|street|url|ip|licen[cs]e|insurance_number|mrn|id|uuid|guid|identifier|nr|patient_nbr"
)
_QUASI = (
    "age|birth|born|dob|birthday|yob|sex|gender|zip|zipcode|postcode|postal|plz|city|town|county|state|region|"
    "country|nationality|citizenship|race|ethnic|ethnicity|religion|marital|education|occupation|job|profession|"
    "workclass|employer|language|household|children|height|weight|date|admission|discharge|visit|relationship|"
    "hours|school|grade"
)
_SENSITIVE = (
    "diag|diagnosis|diagnoses|disease|condition|illness|symptom|medication|drug|treatment|therapy|procedure|"
    "test|result|hiv|income|salary|wage|wages|cost|costs|charge|charges|debt|score|crime|offence|offense|"
    "conviction|vote|party|stay|outcome|readmitted|death|died"
)

_UNIQUE_SHARE = 0.9
_MANY = 20


@dataclass(frozen=True)
class Guess:
    """What a column seems to be.

    Attributes
    ----------
    name
        The column.
    role
        The guessed role.
    reason
        Why, in words.
    hierarchy
        A recipe as a policy file holds it, where one suits.
    """

    name: str
    role: Role
    reason: str
    hierarchy: dict[str, object] | None = None


def _matches(words: str, column: str) -> str | None:
    """Find a listed word among the words of a column's name."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+", column)
    for part in parts:
        if re.fullmatch(words, part.lower()):
            return str(part.lower())
    whole = "".join(parts).lower()
    return whole if re.fullmatch(words, whole) else None


def guess_columns(table: pl.DataFrame, null_values: tuple[str, ...] = ()) -> list[Guess]:
    """Guess the role of every column.

    Parameters
    ----------
    table
        The table as read.
    null_values
        Texts that mean missing.
    """
    from incrowd.engines.memory import dictionary
    from incrowd.table.domain import Domain

    guesses = []
    for name in table.columns:
        domain: Domain | None = None
        try:
            found, _ = dictionary(table[name], name, null_values)
            domain, _ = Domain.build(Attribute(name, "quasi"), found)
        except InputError:
            guesses.append(Guess(name, "identifying", "its type is neither text, number nor date"))
            continue
        guesses.append(_guess(name, domain, table.height))
    return guesses


def _guess(name: str, domain: Domain, rows: int) -> Guess:
    distinct = domain.size
    share = distinct / max(rows, 1)
    counted = f"{distinct:,} distinct values in {rows:,} rows"
    sensitive = _matches(_SENSITIVE, name)
    quasi = _matches(_QUASI, name)
    identifying = _matches(_IDENTIFYING, name)
    if identifying and not (quasi and domain.kind != "category"):
        return Guess(name, "identifying", f"the name says {identifying!r}")
    if sensitive:
        return Guess(name, "sensitive", f"the name says {sensitive!r}; {counted}")
    recipe = _recipe(name, domain)
    if quasi:
        return Guess(name, "quasi", f"the name says {quasi!r}; {counted}", recipe)
    if share > _UNIQUE_SHARE and domain.kind == "category":
        return Guess(name, "identifying", f"nearly every record has a value of its own ({counted})")
    return Guess(name, "quasi", f"nothing says that it is unknown to others; {counted}", recipe)


def _recipe(name: str, domain: Domain) -> dict[str, object] | None:
    """Choose a recipe that suits the values; numbers are better cut freely."""
    if domain.kind == "date":
        return {"dates": ["month", "quarter", "year", "decade"]}
    if domain.kind == "number":
        return None
    texts = [value for value in domain.values if value is not None]
    lengths = {len(text) for text in texts}
    digits = bool(texts) and all(re.fullmatch(r"[0-9-]+", text) for text in texts)
    if domain.size > _MANY and digits and len(lengths) <= 2:
        return {"prefix": True}
    return None


def _row_for_header(table: pl.DataFrame) -> int:
    """Return the place, from 1, of a column whose name looks like a value of it; 0 where none does.

    Such is a number, a date, an address of mail, or a text that stands in the column, too.
    """
    for place, name in enumerate(table.columns, 1):
        text = name.strip()
        value_like = re.fullmatch(r"[-+]?[0-9][0-9.,:/T +-]*|[^@ ]+@[^@ ]+", text) is not None
        if not text or value_like or bool((table[name].cast(str, strict=False) == name).any()):
            return place
    return 0


def draft_policy(table: pl.DataFrame, source: str, null_values: tuple[str, ...] = ()) -> str:
    """Draft a policy file with comments.

    Parameters
    ----------
    source
        Name of the table's file, for the head line.

    Raises
    ------
    TableError
        When a column's name looks like a value; a draft would repeat the first person's row.
    """
    if place := _row_for_header(table):
        raise TableError(
            f"{source}: the first line looks like a row and not like a header (column {place} of "
            f"{table.width}); name the columns with "
            f"{setting('CsvFormat(names=...)', '--names')}, or rename that column"
        )
    guesses = guess_columns(table, null_values)
    has_sensitive = any(guess.role == "sensitive" for guess in guesses)
    lines = [
        f"# A draft for {source!r}: read every line, the roles are guesses.".replace("\n", " "),
        "# Roles: identifying (never released), quasi (known to others, generalized), sensitive (protected,",
        "# released as it is), insensitive (released as it is).",
        f"version = {POLICY_VERSION}",
        "",
        "# The largest share of records that may be suppressed, 0 to 1.",
        "max_suppression = 0.0",
        "# Released cells: auto, range, ancestor, set or mean.",
        'output = "auto"',
        "seed = 0",
        "# Texts that mean missing; an empty field without quotes does anyway.",
        f"null_values = {toml_value(list(null_values))}",
    ]
    for guess in guesses:
        lines += [
            "",
            f"[columns.{toml_key(guess.name)}]",
            f"role = {toml_value(guess.role)}  # {guess.reason}",
        ]
        if guess.hierarchy is not None:
            lines.append(f"hierarchy = {toml_value(guess.hierarchy)}")
    lines += [
        "",
        "# Every class of records that look alike has at least k of them.",
        "[[models]]",
        'model = "k-anonymity"',
        "k = 5",
    ]
    diversity = [
        "# Every class has at least l distinct values of every sensitive attribute.",
        "[[models]]",
        'model = "l-diversity"',
        "l = 2",
    ]
    lines += ["", *diversity] if has_sensitive else ["", *(f"# {line}".rstrip() for line in diversity)]
    lines += ["", "[algorithm]", 'name = "mondrian"']
    return "\n".join(lines) + "\n"
