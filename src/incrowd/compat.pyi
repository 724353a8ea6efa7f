"""`incrowd.works.compat`, by its documented name."""

from incrowd.works.compat import *
