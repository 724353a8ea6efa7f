"""Models for linked rows of a person, with limits on whole histories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from incrowd.core.errors import ParameterError, named, setting
from incrowd.measures.privacy.attacker import Attacker
from incrowd.measures.privacy.base import IdentityModel, PrivacyModel
from incrowd.measures.privacy.km_anonymity import KMAnonymity

if TYPE_CHECKING:
    from incrowd.core.table.schema import Schema
    from incrowd.release.policy.policy import Policy


def of_histories(models: Sequence[PrivacyModel], schema: Schema) -> tuple[PrivacyModel, ...]:
    """Return models with additional conditions on whole histories, if rows can be joined.

    Whoever joins the rows of a person knows all of them. So as many people as a class needs have to share
    each history. Examples: k-anonymity with k=5, or maximum-risk with 0.2, asks for 5.

    Raises
    ------
    ParameterError
        When attackers who know single columns are asked for, too.
    """
    if not schema.linked:
        return tuple(models)
    if any(isinstance(model, Attacker) for model in models):
        raise ParameterError(
            f"{_linked_setting()}: attackers who know some of the columns are not judged by whole histories; "
            "leave the attackers out, and ask for the largest of their limits against everybody"
        )
    parts = (part for model in models for part in model.parts() if isinstance(part, IdentityModel))
    k = max((part.least_size for part in parts), default=1)
    if k == 1:
        return tuple(models)
    others = (model for model in models if not (isinstance(model, KMAnonymity) and model.power == 0))
    return (*others, KMAnonymity(k, 0))


def with_histories(policy: Policy, *, searching: bool = True) -> Policy:
    """Return a policy with conditions on whole histories, as `of_histories` adds.

    Parameters
    ----------
    searching
        Whether the policy's algorithm is to enforce it.

    Raises
    ------
    ParameterError
        When no model limits whole histories, or the algorithm cannot.
    """
    if not policy.schema.linked:
        return policy
    models = of_histories(policy.models, policy.schema)
    if not any(isinstance(model, KMAnonymity) and model.power == 0 for model in models):
        raise ParameterError(
            f"{_linked_setting()}: no model says how many people have to share a history; ask for "
            "k-anonymity, which then holds for all rows of a person together, or for km-anonymity with "
            "power=0"
        )
    if searching and not policy.algorithm.full_domain:
        raise ParameterError(
            f"{_linked_setting()}: {policy.algorithm.name} decides about few classes at a time, and a "
            "history is about all that a person has rows in; use optimal or another full-domain algorithm"
        )
    return replace(policy, models=models)


def refuse_unlinked(schema: Schema, *, several: bool) -> None:
    """Refuse pseudonyms of people with several rows if limits hold for single rows only.

    Parameters
    ----------
    several
        Whether somebody has several rows, or may have some in an earlier release.

    Raises
    ------
    ParameterError
    """
    if schema.linked or not (schema.joined and several):
        return
    names = named(attribute.name for attribute in schema.having("person") if attribute.leaves)
    raise ParameterError(
        f"column {names}: its pseudonym leaves, so anyone can join the rows of a person, and the limits "
        f"would hold for single rows alone; say that rows are linked ({_linked_setting()}), or leave the "
        f"treatment of {names} out, so that the column does not leave"
    )


def _linked_setting() -> str:
    return setting("linked=True", "--linked")
