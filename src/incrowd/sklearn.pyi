"""`incrowd.faces.sklearn`, by its documented name."""

from incrowd.faces.sklearn import *
