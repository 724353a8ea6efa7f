"""Checks of cells that list values, since long lists and lists of rare values hide nobody."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from incrowd.core.errors import SchemaError, setting
from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding import FullDomain
from incrowd.core.recoding.labels import effective_style, is_nearly_unique
from incrowd.core.recoding.observed import set_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incrowd.core.recoding import Recoding
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Attribute


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
