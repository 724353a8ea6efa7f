"""`incrowd.works.samples`, by its documented name."""

from incrowd.works.samples import *
