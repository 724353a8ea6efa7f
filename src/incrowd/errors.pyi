"""`incrowd.core.errors`, by its documented name."""

from incrowd.core.errors import *
