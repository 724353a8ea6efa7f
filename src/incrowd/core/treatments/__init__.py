"""Treatments of columns that are not generalized, each in a file, listed here."""

from __future__ import annotations

from incrowd.core.parameters import Registry
from incrowd.core.treatments.base import Batch as Batch
from incrowd.core.treatments.base import Distinct as Distinct
from incrowd.core.treatments.base import Treatment as Treatment

# One line an entry, in the order in which they are listed everywhere.
# isort: off
# fmt: off
from incrowd.core.treatments.pseudonym import Pseudonym as Pseudonym
from incrowd.core.treatments.format_preserving import FormatPreserving as FormatPreserving
from incrowd.core.treatments.random_numbers import RandomNumbers as RandomNumbers
from incrowd.core.treatments.shift_dates import ShiftDates as ShiftDates
from incrowd.core.treatments.truncate_dates import TruncateDates as TruncateDates
from incrowd.core.treatments.age_at import AgeAt as AgeAt
from incrowd.core.treatments.first_last import KeepFirst as KeepFirst, KeepLast as KeepLast
from incrowd.core.treatments.mask import Mask as Mask
from incrowd.core.treatments.email_domain import EmailDomain as EmailDomain
from incrowd.core.treatments.fold import Fold as Fold
from incrowd.core.treatments.other import Other as Other
from incrowd.core.treatments.redact import Redact as Redact
from incrowd.core.treatments.presidio import Presidio as Presidio
from incrowd.core.treatments.constant import Constant as Constant
from incrowd.core.treatments.round import Round as Round
from incrowd.core.treatments.top_bottom import Top as Top, Bottom as Bottom
from incrowd.core.treatments.noise import Noise as Noise
from incrowd.core.treatments.rank_swap import RankSwap as RankSwap
from incrowd.core.treatments.microaggregate import Microaggregate as Microaggregate
from incrowd.core.treatments.pram import Pram as Pram
from incrowd.core.treatments.record_swap import RecordSwap as RecordSwap
from incrowd.core.treatments.household_swap import HouseholdSwap as HouseholdSwap
# fmt: on
# isort: on

TREATMENTS: Registry[Treatment] = Registry.of_imports("treatments", Treatment, globals())
