"""Warnings on values that look like missing values, numbers or dates but were not read as such.

The sentences name columns, shares and well-known fillers, and no other value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from incrowd.core.errors import named, null_values_setting, setting
from incrowd.core.lazy import NDArray, np
from incrowd.core.reading.recognition import Recognized, recognize
from incrowd.core.reading.spellings import has_unclear_points
from incrowd.core.reading.texts import column_of
from incrowd.core.table.domain import Dictionary, Domain
from incrowd.core.table.schema import Attribute
from incrowd.core.treatments.fold import look_alikes
from incrowd.release.drafting.profile import probable_fillers
from incrowd.release.policy.toml_lines import toml_settings, toml_value
from incrowd_gate.wording import percent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from incrowd.core.reading.spellings import Spelling
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema

_FILLERS = 3
"""Columns whose fillers are told one by one, and fillers that are named."""


def value_warnings(frequency: FrequencyTable, schema: Schema) -> list[str]:
    """Return sentences on columns with probable missing values or an undeclared notation.

    Parameters
    ----------
    frequency
        The table as it came in. Quasi-identifiers may be counted by their texts alone.
    schema
        What was declared of it.
    """
    quasi = [
        _domain_by_values(domain, frequency.totals(position), schema[domain.name])
        for position, domain in enumerate(frequency.domains)
    ]
    sensitive = [(counts.domain, counts.totals) for counts in frequency.sensitive]
    warnings = _filler_warnings([*quasi, *sensitive])
    alike = [
        f"{domain.name} ({number})"
        for domain, _ in (*quasi, *sensitive)
        if domain.kind == "category" and (number := _look_alikes(domain))
    ]
    if alike:
        where = setting("treatments={...: ic.Fold()}", "--treat COLUMN=fold", "treat = { fold = true }")
        warnings.append(
            f"Values of {', '.join(alike[:5])} differ only in case, blanks or the form of letters, and count "
            f"as different ones; {where} joins them."
        )
    for domain, _ in quasi:
        recognized = _recognized(domain, schema[domain.name])
        if recognized is not None:
            warnings.append(_spelling_warning(domain.name, recognized))
    return warnings


def _domain_by_values(
    domain: Domain, totals: NDArray[np.int64], attribute: Attribute
) -> tuple[Domain, NDArray[np.int64]]:
    """Recognize numbers or dates in a column that was counted as text."""
    if domain.kind != "category" or attribute.kind == "category" or domain.hierarchy is not None:
        return domain, totals
    texts = [text for text in domain.values if text is not None]
    if has_unclear_points(column_of(texts)):
        return domain, totals
    by_value, ranks = Domain.build(
        Attribute(domain.name, attribute.role), Dictionary(texts, domain.missing >= 0)
    )
    # The missing value has the last rank in both.
    new_totals = np.zeros(by_value.size, np.int64)
    new_totals[ranks[: domain.size]] = totals
    return replace(by_value, typed=domain.typed), new_totals


def _look_alikes(domain: Domain) -> int:
    return look_alikes(column_of([text for text in domain.values if text is not None]))


def _filler_warnings(columns: list[tuple[Domain, NDArray[np.int64]]]) -> list[str]:
    fillers = [
        (domain.name, text, share)
        for domain, totals in columns
        for text, share in probable_fillers(domain, totals)
    ]
    if not fillers:
        return []
    fillers.sort(key=lambda each: -each[2])
    parts = [f"{text!r} is in {percent(share)} of {name}" for name, text, share in fillers[:_FILLERS]]
    more = f" and {len(fillers) - _FILLERS} more" if len(fillers) > _FILLERS else ""
    texts = list(dict.fromkeys(text for _, text, _ in fillers))[:_FILLERS]
    way = setting(
        f"null_values={texts}",
        " ".join(f"--null-value {text!r}" for text in texts),
        f"null_values = {toml_value(texts)}",
    )
    return [f"{', '.join(parts)}{more}: if that means missing, say {way}, or it counts as a value."]


def _recognized(domain: Domain, attribute: Attribute) -> Recognized | None:
    """Recognize the notation of a column that is a category without a declaration."""
    declared = attribute.kind != "auto" or attribute.spelling or attribute.hierarchy is not None
    if domain.kind != "category" or domain.typed or declared:
        return None
    return recognize([text for text in domain.values if text is not None])


def _spelling_warning(column: str, recognized: Recognized) -> str:
    looks = f"The values of {column} look like {recognized.kind}s and were taken for words"
    beside = f" but for {named(recognized.fillers, 5)}" if recognized.fillers else ""
    if not recognized.ways:
        return f"{looks}{beside}: name what means missing with {null_values_setting()}."
    where = setting("its Attribute", "its table of a policy file", "its table")
    return f"{looks}{beside}: declare in {where} how they are written, {alternatives(recognized.ways)}."


def alternatives(ways: Iterable[Spelling]) -> str:
    """Join spellings in policy-file notation with "or": ``format = "%d.%m.%Y" or ...``."""
    return " or ".join(", ".join(toml_settings(way.settings())) for way in ways)
