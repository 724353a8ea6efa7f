"""Recodings: the decisions of an algorithm, independent of where the rows live."""

from __future__ import annotations

from incrowd.core.recoding.base import (
    BLANKED_ABOVE,
    READS_AS_MISSING,
    Recoding,
    blanked_shares,
    check_cells,
)
from incrowd.core.recoding.by_column import FullDomain, SingleDimensional
from incrowd.core.recoding.cells import (
    SUPPRESSED,
    Cells,
    ValueCells,
    effective_style,
    interval_cells,
    level_cells,
    node_cells,
    node_labels,
    range_label,
    read_mask,
    read_set,
    starred_nodes,
)
from incrowd.core.recoding.local import Local

__all__ = [
    "BLANKED_ABOVE",
    "READS_AS_MISSING",
    "SUPPRESSED",
    "Cells",
    "FullDomain",
    "Local",
    "Recoding",
    "SingleDimensional",
    "ValueCells",
    "blanked_shares",
    "check_cells",
    "effective_style",
    "interval_cells",
    "level_cells",
    "node_cells",
    "node_labels",
    "range_label",
    "read_mask",
    "read_set",
    "starred_nodes",
]
