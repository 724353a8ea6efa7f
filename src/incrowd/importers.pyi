"""`incrowd.works.importers`, by its documented name."""

from incrowd.works.importers import *
