"""`incrowd.core.parameters`, by its documented name."""

from incrowd.core.parameters import *
