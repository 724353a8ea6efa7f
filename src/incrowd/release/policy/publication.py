"""Documents for publication: a policy without raw values, and an account in rounded figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from incrowd.core.hierarchy import Builder
from incrowd.core.presentation.documents import rounded
from incrowd.core.table.schema import Attribute
from incrowd.release.policy.policy import Policy

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.sensitive import SensitiveCounts

_OF_RAW = ("before", "utility", "search")
"""Parts of an account that are measured on raw values."""


def published_account(account: dict[str, Any]) -> dict[str, Any]:
    """Return an account with two significant digits of all figures measured on raw values."""
    return {name: rounded(part) if name in _OF_RAW else part for name, part in account.items()}


def published_policy(policy: Policy, frequency: FrequencyTable) -> Policy:
    """Return the part of a policy that an auditor needs to check the released table.

    The leaves of a tree are raw values, also those that nobody in the table has. A quasi-identifier keeps its
    hierarchy where that is a recipe that names no values. A sensitive attribute is released as it is, and
    t-closeness may need its tree: it keeps the part above its released values, with all heights.

    Parameters
    ----------
    policy
        What the release satisfies.
    frequency
        The table, as it was counted.
    """
    counts = {column.domain.name: column for column in frequency.sensitive}
    return replace(
        policy,
        profile=None if policy.profile is None else policy.profile.published(),
        schema=policy.schema.with_attributes(
            _published_attribute(attribute, counts.get(attribute.name))
            for attribute in policy.schema.attributes
        ),
    )


def _published_attribute(attribute: Attribute, counts: SensitiveCounts | None) -> Attribute:
    treatment = attribute.treatment
    if treatment is not None:
        attribute = replace(attribute, treatment=treatment.published())
    return _published_hierarchy(attribute, counts)


def _published_hierarchy(attribute: Attribute, counts: SensitiveCounts | None) -> Attribute:
    hierarchy = attribute.hierarchy
    if hierarchy is None or (isinstance(hierarchy, Builder) and not hierarchy.names_values):
        return attribute
    tree = None if counts is None or attribute.role != "sensitive" else counts.domain.hierarchy
    if tree is None or counts is None:
        # Without the tree its labels are known as no numbers, so nothing shall say that the cells are.
        if attribute.role != "quasi":
            return replace(attribute, hierarchy=None)
        return replace(attribute.unspelled(), hierarchy=None, kind="auto")
    totals = zip(counts.domain.values, counts.totals.tolist(), strict=True)
    released = [value for value, records in totals if records and value is not None]
    return replace(attribute, hierarchy=tree.restricted(released) if released else None)
