"""`incrowd.measures.risk`, by its documented name."""

from incrowd.measures.risk import *
