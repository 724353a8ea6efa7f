"""Rules for the treatments of a column."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Literal

from incrowd.core.errors import SchemaError, null_values_setting, setting
from incrowd.core.reading.spellings import Spelling
from incrowd.core.treatments import TREATMENTS, Treatment
from incrowd.core.treatments._linked import Linked
from incrowd.core.treatments.base import HOUSEHOLD, Reads


def check_treatment(name: str, role: str, kind: str, spelling: Spelling, treatment: Treatment) -> None:
    """Raise for a treatment that a column cannot have.

    Raises
    ------
    SchemaError
    """
    where = f"column {name!r}: {treatment.name}"
    if role in ("identifying", "household", "weight"):
        raise SchemaError(f"{where}: a column of the role {role} never leaves; give it another to release it")
    if role == "person" and not treatment.for_person:
        able = [each.name for each in TREATMENTS if each.for_person]
        raise SchemaError(
            f"{where} cannot stand for people, as it gives two of them one value; a column of the role "
            f"person can have {', '.join(able)}"
        )
    if role == "quasi" and not (treatment.for_quasi and not treatment.perturbs):
        able = [each.name for each in TREATMENTS if each.for_quasi]
        raise SchemaError(
            f"{where}: a quasi-identifier is generalized, and a perturbed one has no k-anonymity; it can "
            f"have {', '.join(able)}, or else another role"
        )
    others = {"number": ("date", "category"), "date": ("number", "category"), "text": ()}[treatment.reads]
    spelled = spelling.kind if spelling else kind
    if kind in others or spelled in others:
        raise SchemaError(f"{where} is for {treatment.reads}s, and the column is declared to have others")


def check_key(name: str, role: str, key_of: object, *, treated: bool) -> None:
    """Raise for a column naming people or households where raw values cannot tell these apart.

    Raises
    ------
    SchemaError
    """
    if not isinstance(key_of, tuple) or not set(key_of) <= {"person", "household"}:
        raise SchemaError(f'column {name!r}: key_of must be a list of "person" and "household"')
    if key_of and (role not in ("quasi", "person", "household") or role in key_of):
        raise SchemaError(
            f"column {name!r}: key_of goes with the role quasi, or with the other one of person and household"
        )
    if key_of and treated:
        raise SchemaError(
            f"column {name!r} names people or households together with others, by its raw values, so it has "
            "no treatment; make a copy of the column to treat"
        )


def check_missing(name: str, role: str, missing: object, *, names_people: bool) -> None:
    """Raise for invalid missing texts of a column, or for a column that names people.

    Raises
    ------
    SchemaError
    """
    if not isinstance(missing, tuple) or not all(isinstance(text, str) for text in missing):
        raise SchemaError(f'column {name!r}: missing must be a list of texts, as ["9", "99"]')
    if "*" in missing:
        raise SchemaError(f"column {name!r}: missing names '*', which marks a suppressed cell; take it out")
    if missing and (role not in ("quasi", "sensitive", "insensitive") or names_people):
        raise SchemaError(
            f"column {name!r}: missing is a setting of columns that are released, and this one names or "
            f"weighs people; name the texts with {null_values_setting()}"
        )


def check_household(name: str, treatment: Treatment | None, roles: Container[str]) -> None:
    """Raise for a treatment by households without a household column.

    Raises
    ------
    SchemaError
    """
    if treatment is not None and HOUSEHOLD in treatment.columns and "household" not in roles:
        raise SchemaError(
            f"column {name!r}: {treatment.name} moves whole households, and no column has the role "
            f"household; name the one that says who lives together ({setting('household=', '--household')}), "
            "or take record-swap, which moves single rows"
        )


def check_together(name: str, treatments: Mapping[str, Treatment | None]) -> None:
    """Raise for a column that moves together with columns of other treatments.

    Raises
    ------
    SchemaError
    """
    treatment = treatments[name]
    if treatment is None:
        return
    together = treatment.moves_with(name)
    if together and treatment.name != "rank-swap" and name not in together:
        raise SchemaError(
            f"column {name!r}: {treatment.name}: together names all columns, this one among them"
        )
    for other in together:
        moved = treatments.get(other)
        alike = moved is not None and treatment.moves_like(moved) and other in moved.moves_with(other)
        if not alike:
            raise SchemaError(
                f"column {name!r}: {treatment.name} moves together with {other!r}, which has no such "
                "treatment; give both the same settings"
            )


def linked_with(
    treatments: Mapping[str, Treatment | None], roles: Mapping[str, str], kinds: Mapping[str, str]
) -> dict[str, Linked]:
    """Return the treatments of columns linked with a treated column, by name.

    Raises
    ------
    SchemaError
        When a column cannot follow.
    """
    links: dict[str, Linked] = {}
    for lead, treatment in treatments.items():
        for name in treatment.linked_columns if treatment is not None else ():
            assert treatment is not None
            where = f"column {lead!r}: {treatment.name}: linked names {name!r}, which"
            if name not in roles:
                raise SchemaError(f"{where} has no role; give it one")
            if name == lead:
                raise SchemaError(f"{where} is the column itself; name those that tell the same")
            if roles[name] not in ("quasi", "sensitive", "insensitive"):
                raise SchemaError(f"{where} never leaves, as its role is {roles[name]}; leave it out there")
            if (roles[lead] == "quasi") != (roles[name] == "quasi"):
                raise SchemaError(
                    f"{where} is {'no' if roles[lead] == 'quasi' else 'a'} quasi-identifier, unlike the "
                    "column itself; what is generalized further cannot be followed"
                )
            linked = Linked(lead, treatment, _read_as(kinds[name], treatment))
            if {treatments[name], links.get(name)} - {None, linked}:
                raise SchemaError(f"{where} has another treatment; give it one, or leave it out there")
            links[name] = linked
    return links


def _read_as(kind: str, treatment: Treatment) -> Reads | Literal["auto"]:
    """Return the reading of a linked column, which for moved dates is dates."""
    if treatment.moves_dates:
        return "date"
    kinds: dict[str, Reads] = {"number": "number", "date": "date", "category": "text"}
    return kinds.get(kind, "auto")
