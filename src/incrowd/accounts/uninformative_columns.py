"""Columns of which a release leaves little: most of their cells stand for every value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.errors import setting
from incrowd.lazy import np
from incrowd.recoding import SUPPRESSED

if TYPE_CHECKING:
    from incrowd.policy.policy import Policy
    from incrowd.recoding import Recoding
    from incrowd.table.frequency import FrequencyTable

_MOST = 0.5
"""Share of the records above which a column counts as blanked."""


def blanked_columns(
    frequency: FrequencyTable, recoding: Recoding, policy: Policy
) -> list[tuple[str, float, str]]:
    """Return the columns that a release blanks for most of its records, with that share and a way out."""
    return [
        (name, share, _way_out(name, policy))
        for name, share in _shares(frequency, recoding).items()
        if share > _MOST
    ]


def _shares(frequency: FrequencyTable, recoding: Recoding) -> dict[str, float]:
    """Return per quasi-identifier the share of the records, suppressed ones aside, with a cell for all."""
    weights = np.where(recoding.suppressed, 0, frequency.weights)
    shares = {}
    for domain, cells in zip(recoding.domains, recoding.cells, strict=True):
        if domain.size < 2:
            continue
        everything = (cells.lo == 0) & (cells.hi == domain.size - 1)
        everything |= np.array([label == SUPPRESSED for label in cells.labels], np.bool_)
        shares[domain.name] = float(weights[everything[cells.codes]].sum() / max(weights.sum(), 1))
    return shares


def _way_out(name: str, policy: Policy) -> str:
    """Return a sentence on a change that would leave more of a column."""
    if not policy.algorithm.full_domain:
        return "Name fewer quasi-identifiers, or ask for less."
    if policy.schema[name].hierarchy is None:
        first = f"Give {name} a hierarchy (intervals, prefix, ...)"
    elif (policy.schema[name].levels or (0,))[0]:
        return f"Take a lower level of {name}."
    else:
        first = f"Allow suppression ({setting('max_suppression', '--max-suppression')})"
    return f"{first}, or use an algorithm of local recoding such as mondrian."
