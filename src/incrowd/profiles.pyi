"""`incrowd.release.profiles`, by its documented name."""

from incrowd.release.profiles import *
