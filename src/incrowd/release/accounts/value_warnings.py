"""Values of a table that look like missing values, numbers or dates, and were not read as such.

The sentences name columns, shares and well-known fillers, and no other value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from incrowd.core.errors import named, null_values_setting, setting
from incrowd.core.lazy import NDArray, np
from incrowd.core.reading.recognition import Recognized, recognize
from incrowd.core.table.domain import Dictionary, Domain
from incrowd.core.table.fillers import probable_fillers
from incrowd.core.table.schema import Attribute
from incrowd.release.gate.wording import percent
from incrowd.release.policy.policy import toml_settings, toml_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from incrowd.core.reading.spellings import Spelling
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema

_FILLERS = 3
"""Columns whose fillers are told one by one, and fillers that are named."""


def doubts(frequency: FrequencyTable, schema: Schema) -> list[str]:
    """Say in sentences which columns have probable missing values, or are written so that nobody read them.

    Parameters
    ----------
    frequency
        The table as it came in. Quasi-identifiers may be counted by their texts alone.
    schema
        What was declared of it.
    """
    quasi = [
        _by_values(domain, frequency.totals(position), schema[domain.name])
        for position, domain in enumerate(frequency.domains)
    ]
    sensitive = [(counts.domain, counts.totals) for counts in frequency.sensitive]
    warnings = _filler_warnings([*quasi, *sensitive])
    for domain, _ in quasi:
        seen = _unread(domain, schema[domain.name])
        if seen is not None:
            warnings.append(_spelling_warning(domain.name, seen))
    return warnings


def _by_values(
    domain: Domain, totals: NDArray[np.int64], attribute: Attribute
) -> tuple[Domain, NDArray[np.int64]]:
    """Let the values of a column that was counted by its texts say whether it has numbers or dates."""
    if domain.kind != "category" or attribute.kind == "category" or domain.hierarchy is not None:
        return domain, totals
    known = [text for text in domain.values if text is not None]
    found, ranks = Domain.build(
        Attribute(domain.name, attribute.role), Dictionary(known, domain.missing >= 0)
    )
    # The missing value has the last rank in both.
    moved = np.zeros(found.size, np.int64)
    moved[ranks[: domain.size]] = totals
    return replace(found, typed=domain.typed), moved


def _filler_warnings(columns: list[tuple[Domain, NDArray[np.int64]]]) -> list[str]:
    found = [
        (domain.name, text, share)
        for domain, totals in columns
        for text, share in probable_fillers(domain, totals)
    ]
    if not found:
        return []
    found.sort(key=lambda each: -each[2])
    parts = [f"{text!r} is in {percent(share)} of {name}" for name, text, share in found[:_FILLERS]]
    more = f" and {len(found) - _FILLERS} more" if len(found) > _FILLERS else ""
    texts = list(dict.fromkeys(text for _, text, _ in found))[:_FILLERS]
    way = setting(
        f"null_values={texts}",
        " ".join(f"--null-value {text!r}" for text in texts),
        f"null_values = {toml_value(texts)}",
    )
    return [f"{', '.join(parts)}{more}: if that means missing, say {way}, or it counts as a value."]


def _unread(domain: Domain, attribute: Attribute) -> Recognized | None:
    """Recognize a category that nobody declared to be one."""
    declared = attribute.kind != "auto" or attribute.spelling or attribute.hierarchy is not None
    if domain.kind != "category" or domain.typed or declared:
        return None
    return recognize([text for text in domain.values if text is not None])


def _spelling_warning(column: str, seen: Recognized) -> str:
    looks = f"The values of {column} look like {seen.kind}s and were taken for words"
    beside = f" but for {named(seen.fillers, 5)}" if seen.fillers else ""
    if not seen.ways:
        return f"{looks}{beside}: name what means missing with {null_values_setting()}."
    where = setting("its Attribute", "its table of a policy file", "its table")
    return f"{looks}{beside}: declare in {where} how they are written, {alternatives(seen.ways)}."


def alternatives(ways: Iterable[Spelling]) -> str:
    """Write spellings as a policy file has them, one or several: ``format = "%d.%m.%Y" or ...``."""
    return " or ".join(", ".join(toml_settings(way.settings())) for way in ways)
