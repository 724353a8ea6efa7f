"""`incrowd.core.report`, by its documented name."""

from incrowd.core.report import *
