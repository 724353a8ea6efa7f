"""`incrowd.faces.cli`, by its documented name."""

from incrowd.faces.cli import *
