"""`incrowd.measures.privacy`, by its documented name."""

from incrowd.measures.privacy import *
