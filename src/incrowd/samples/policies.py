"""The policies that go with the made-up tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from incrowd.core.table.schema import Schema
    from incrowd.release.policy.policy import Policy

__all__ = ["hospital_policy", "hospital_schema"]


def hospital_policy(k: int = 5, l: int = 2, max_suppression: float = 0.02) -> Policy:  # noqa: E741
    """Return a policy for the hospital table: k-anonymity and distinct l-diversity.

    Parameters
    ----------
    k, l
        Limits of the models, see `incrowd.KAnonymity` and `incrowd.LDiversity`.
    max_suppression
        Largest share of records that may be suppressed.
    """
    from incrowd.core.hierarchy import Hierarchy
    from incrowd.core.table.schema import Schema
    from incrowd.core.treatments import Round
    from incrowd.measures.privacy import KAnonymity, LDiversity
    from incrowd.release.policy.policy import Policy
    from incrowd.samples.hospital import diagnosis_hierarchy

    schema = Schema(
        quasi={
            "age": Hierarchy.intervals(5, 10, 20, 40),
            "sex": None,
            "zip": Hierarchy.prefix(),
            "marital_status": None,
            "admission_date": Hierarchy.dates(),
        },
        sensitive={"diagnosis": diagnosis_hierarchy(), "length_of_stay": None, "cost": None},
        identifying=["patient_id", "name", "birth_date"],
        insensitive=["admission_type"],
        # To the cent, nearly every cost is one of its own, and whoever knows it finds the record.
        treatments={"cost": Round(1000)},
    )
    return Policy(schema, (KAnonymity(k), LDiversity(l)), max_suppression=max_suppression)


def hospital_schema() -> Schema:
    """Return eight quasi-identifiers of the hospital table that tell nearly every record apart.

    Each has a hierarchy, so the lattice of full-domain recodings is large. Other columns are left out.
    """
    from incrowd.core.hierarchy import Hierarchy
    from incrowd.core.table.schema import Schema
    from incrowd.samples.hospital import diagnosis_hierarchy

    quasi = {
        "age": Hierarchy.intervals(5, 10, 20, 40),
        "sex": Hierarchy.flat(),
        "zip": Hierarchy.prefix(),
        "marital_status": Hierarchy.flat(),
        "admission_date": Hierarchy.dates(),
        "admission_type": Hierarchy.flat(),
        "diagnosis": diagnosis_hierarchy(),
        "length_of_stay": Hierarchy.intervals(2, 4, 8, 16),
    }
    return Schema(quasi=quasi, unlisted="drop")
