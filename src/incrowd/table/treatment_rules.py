"""Which column can have which treatment."""

from __future__ import annotations

from collections.abc import Mapping

from incrowd.errors import SchemaError
from incrowd.table.spellings import Spelling
from incrowd.treatments import TREATMENTS, Treatment

__all__ = ["check_together", "check_treatment"]


def check_treatment(name: str, role: str, kind: str, spelling: Spelling, treatment: Treatment) -> None:
    """Refuse a treatment that a column cannot have.

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


def check_together(name: str, treatments: Mapping[str, Treatment | None]) -> None:
    """Refuse a column whose values go with those of others that are not moved alike.

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
