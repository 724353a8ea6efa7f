"""`incrowd.release.verification`, by its documented name."""

from incrowd.release.verification import *
