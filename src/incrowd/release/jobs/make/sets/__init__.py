"""Quasi-identifiers with cells that hold sets, as ``E11;I10``: k^m-anonymity of the items."""

from incrowd.release.jobs.make.sets.cells import joined as joined
from incrowd.release.jobs.make.sets.counting import shared as shared
from incrowd.release.jobs.make.sets.counting import views_of as views_of
from incrowd.release.jobs.make.sets.judged import classes_of as classes_of
from incrowd.release.jobs.make.sets.judged import names_of as names_of
from incrowd.release.jobs.make.sets.judged import plain_baskets as plain_baskets
from incrowd.release.jobs.make.sets.release import SetRelease as SetRelease
from incrowd.release.jobs.make.sets.release import Steps as Steps
from incrowd.release.jobs.make.sets.release import anonymize_sets as anonymize_sets
