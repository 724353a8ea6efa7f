"""`incrowd.works.course`, by its documented name."""

from incrowd.works.course import *
