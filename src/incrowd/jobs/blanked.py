"""Columns of which a release leaves little: most of their cells stand for every value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from incrowd.errors import listed, setting
from incrowd.jobs.statements import percent
from incrowd.recoding import SUPPRESSED

if TYPE_CHECKING:
    from incrowd.jobs.policy import Policy
    from incrowd.recoding import Recoding
    from incrowd.table.frequency import FrequencyTable

__all__ = ["blanked_sentence"]

_MOST = 0.5
"""Share of the records from which a column is told."""
_NAMED = 6


def blanked_sentence(frequency: FrequencyTable, recoding: Recoding, policy: Policy) -> str:
    """Say which columns a release blanks for most of its records, and what would help; "" where for none."""
    shares = {name: share for name, share in _shares(frequency, recoding).items() if share > _MOST}
    if not shares:
        return ""
    left = "Nothing" if min(shares.values()) == 1 else "Little"
    percents = [percent(share) for share in shares.values()]
    told = percents[0] if len(set(percents)) == 1 else listed(percents, _NAMED)
    names = listed(shares, _NAMED)
    return (
        f"{left} is left of {names}: their cells stand for every value in {told} of the records. "
        + _way_out([name for name in shares if policy.schema[name].hierarchy is None], policy)
    )


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


def _way_out(bare: list[str], policy: Policy) -> str:
    """Say what would leave more; `bare` are the columns without a hierarchy."""
    if not policy.algorithm.full_domain:
        return "Name fewer quasi-identifiers, or ask for less."
    if bare:
        first = f"Give {listed(bare, _NAMED)} a hierarchy (intervals, prefix, ...)"
    else:
        first = f"Allow suppression ({setting('max_suppression', '--max-suppression')})"
    return f"{first}, or use an algorithm of local recoding such as mondrian."
