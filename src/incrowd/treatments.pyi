"""`incrowd.core.treatments`, by its documented name."""

from incrowd.core.treatments import *
