"""Treatments: one class in one file each, listed here. They change columns that are not generalized."""

from __future__ import annotations

from incrowd.parameters import Registry
from incrowd.treatments.base import Batch as Batch
from incrowd.treatments.base import Distinct as Distinct
from incrowd.treatments.base import Treatment as Treatment

# One line an entry, in the order in which they are listed everywhere.
# isort: off
# fmt: off
from incrowd.treatments.pseudonym import Pseudonym as Pseudonym
from incrowd.treatments.format_preserving import FormatPreserving as FormatPreserving
from incrowd.treatments.random_numbers import RandomNumbers as RandomNumbers
from incrowd.treatments.shift_dates import ShiftDates as ShiftDates
from incrowd.treatments.truncate_dates import TruncateDates as TruncateDates
from incrowd.treatments.age_at import AgeAt as AgeAt
from incrowd.treatments.keep_end import KeepFirst as KeepFirst, KeepLast as KeepLast
from incrowd.treatments.mask import Mask as Mask
from incrowd.treatments.email_domain import EmailDomain as EmailDomain
from incrowd.treatments.other import Other as Other
from incrowd.treatments.redact import Redact as Redact
from incrowd.treatments.presidio import Presidio as Presidio
from incrowd.treatments.constant import Constant as Constant
from incrowd.treatments.round import Round as Round
from incrowd.treatments.top_bottom import Top as Top, Bottom as Bottom
from incrowd.treatments.noise import Noise as Noise
from incrowd.treatments.rank_swap import RankSwap as RankSwap
from incrowd.treatments.microaggregate import Microaggregate as Microaggregate
from incrowd.treatments.pram import Pram as Pram
from incrowd.treatments.record_swap import RecordSwap as RecordSwap
from incrowd.treatments.household_swap import HouseholdSwap as HouseholdSwap
# fmt: on
# isort: on

TREATMENTS: Registry[Treatment] = Registry.of_imports("treatments", Treatment, globals())
