"""Which column can have which treatment."""

from __future__ import annotations

from incrowd.errors import SchemaError
from incrowd.table.spellings import Spelling
from incrowd.treatments import TREATMENTS, Treatment

__all__ = ["check_treatment"]


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
