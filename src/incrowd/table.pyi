"""`incrowd.core.table`, by its documented name."""

from incrowd.core.table import *
