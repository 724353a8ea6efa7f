"""Quasi-identifiers with cells that hold sets, as ``E11;I10``: k^m-anonymity of the items."""

from incrowd.release.jobs.make.sets.release import SetRelease as SetRelease
from incrowd.release.jobs.make.sets.release import Steps as Steps
from incrowd.release.jobs.make.sets.release import anonymize_sets as anonymize_sets
