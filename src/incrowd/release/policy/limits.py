"""Limits on the histories of linked rows, and on cells that list values."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from incrowd.core.errors import ParameterError, SchemaError, named, setting
from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding import FullDomain
from incrowd.core.recoding.cells import effective_style, is_nearly_unique
from incrowd.core.recoding.observed import set_sizes
from incrowd.measures.privacy.attacker import Attacker
from incrowd.measures.privacy.base import PrivacyModel, class_size
from incrowd.measures.privacy.km_anonymity import KMAnonymity

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Attribute, Schema
    from incrowd.release.policy.policy import Policy


class UnlistableError(SchemaError):
    """The error for values too many, or too rare, for cells that list values."""

    column = ""


class LongListError(UnlistableError):
    """Cells would list more values than `Policy.set_limit`."""

    longest = 0


def check_sets(
    recoding: Recoding, frequency: FrequencyTable, attributes: Sequence[Attribute], limit: int
) -> None:
    """Refuse cells that list more values than a limit, or values of a column that is nearly unique.

    Parameters
    ----------
    attributes
        The quasi-identifiers, each with its output style.
    limit
        Largest number of values that a cell may list.

    Raises
    ------
    SchemaError
        Which says what to do.
    """
    if isinstance(recoding, FullDomain):
        return
    for attribute, domain, cells in zip(attributes, recoding.domains, recoding.cells, strict=True):
        style = effective_style(attribute.output or "auto", domain)
        if style == "mean":
            if _names_people(domain, frequency.records):
                raise _nearly_unique(domain, frequency.records)
            continue
        # No cell lists more values than there are.
        harmless = domain.size <= limit and not _names_people(domain, frequency.records)
        if style != "set" or harmless:
            continue
        sizes = np.zeros(len(cells.labels), np.int64)
        for entry, size in set_sizes(domain, cells).items():
            sizes[entry] = size
        _check_sizes(domain, sizes[cells.codes], frequency, limit)


def _names_people(domain: Domain, records: int) -> bool:
    """Say whether the values are words that hardly any records share."""
    plain = domain.kind == "category" and domain.hierarchy is None
    return plain and is_nearly_unique(domain.size, records)


def _check_sizes(domain: Domain, of_key: NDArray[np.int64], frequency: FrequencyTable, limit: int) -> None:
    if _names_people(domain, frequency.records) and (of_key > 1).any():
        raise _nearly_unique(domain, frequency.records)
    longer = int(frequency.weights[of_key > limit].sum())
    if longer:
        raise _too_long(domain, f"{longer:,} records would get", int(of_key.max()), limit)


def check_values(domain: Domain, attribute: Attribute, records: int, limit: int) -> None:
    """Refuse a column with too many values for listing, before the search.

    Raises
    ------
    SchemaError
    """
    style = effective_style(attribute.output or "auto", domain)
    if style in ("set", "mean") and _names_people(domain, records):
        raise _nearly_unique(domain, records)
    if style == "set" and domain.size > limit:
        raise _too_long(domain, "records may get", domain.size, limit)


def _nearly_unique(domain: Domain, records: int) -> UnlistableError:
    error = UnlistableError(
        f"column {domain.name!r} has {domain.size:,} distinct values in {records:,} records, so cells that "
        f"list or repeat them would hand them out as they are; {_ways(domain.name)}"
    )
    error.column = domain.name
    return error


def _too_long(domain: Domain, subject: str, longest: int, limit: int) -> LongListError:
    allow = setting(f"set_limit={longest}", f"--set-limit {longest}", f"set_limit = {longest}")
    error = LongListError(
        f"column {domain.name!r}: {subject} a list of up to {longest:,} values, and a list of more than "
        f"{limit:,} is no generalization; {_ways(domain.name)}, or allow such lists with {allow}"
    )
    error.column, error.longest = domain.name, longest
    return error


def _ways(column: str) -> str:
    # The draft of init has a hierarchy for every column of codes.
    init_hint = setting("", "; incrowd init drafts one")
    prefix, flat = (shlex.quote(f"{column}={recipe}") for recipe in ("prefix", "flat"))
    hierarchy = setting(
        "a prefix for codes, a flat one for the value or *",
        f"--hierarchy {prefix} for codes, --hierarchy {flat} for the value or *",
        "hierarchy = { prefix = true } for codes, hierarchy = { flat = true } for the value or *",
    )
    return (
        f"give the column a hierarchy ({hierarchy}{init_hint}), declare "
        "what it is (kind, format), or drop it (identifying)"
    )


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
    if (k := class_size(models)) == 1:
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
