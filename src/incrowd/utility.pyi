"""`incrowd.measures.utility`, by its documented name."""

from incrowd.measures.utility import *
