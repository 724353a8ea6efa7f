"""`incrowd.faces.frames`, by its documented name."""

from incrowd.faces.frames import *
