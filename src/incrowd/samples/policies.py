"""The policies that go with the made-up tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from incrowd.jobs.policy import Policy

__all__ = ["hospital_policy"]


def hospital_policy(k: int = 5, l: int = 2, max_suppression: float = 0.02) -> Policy:  # noqa: E741
    """Return a policy for the hospital table: k-anonymity and distinct l-diversity.

    Parameters
    ----------
    k, l
        Limits of the models, see `incrowd.KAnonymity` and `incrowd.LDiversity`.
    max_suppression
        Largest share of records that may be suppressed.
    """
    from incrowd.hierarchy import Hierarchy
    from incrowd.jobs.policy import Policy
    from incrowd.privacy import KAnonymity, LDiversity
    from incrowd.samples.hospital import diagnosis_hierarchy
    from incrowd.table.schema import Schema

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
    )
    return Policy(schema, (KAnonymity(k), LDiversity(l)), max_suppression=max_suppression)
