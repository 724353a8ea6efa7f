"""Recodings: the decisions of an algorithm, independent of where the rows live."""

from __future__ import annotations

from incrowd.recoding.base import READS_AS_MISSING as READS_AS_MISSING
from incrowd.recoding.base import Recoding as Recoding
from incrowd.recoding.base import check_cells as check_cells
from incrowd.recoding.cells import Cells as Cells
from incrowd.recoding.cells import ValueCells as ValueCells
from incrowd.recoding.cells import interval_cells as interval_cells
from incrowd.recoding.cells import level_cells as level_cells
from incrowd.recoding.cells import node_cells as node_cells
from incrowd.recoding.full_domain import FullDomain as FullDomain
from incrowd.recoding.labels import SUPPRESSED as SUPPRESSED
from incrowd.recoding.labels import effective_style as effective_style
from incrowd.recoding.labels import node_labels as node_labels
from incrowd.recoding.labels import range_label as range_label
from incrowd.recoding.labels import read_range as read_range
from incrowd.recoding.labels import read_set as read_set
from incrowd.recoding.local import Local as Local
from incrowd.recoding.single_dimensional import SingleDimensional as SingleDimensional
