"""`incrowd_verify.profiles`, by its documented name."""

from incrowd_verify.profiles import *
