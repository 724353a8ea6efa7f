"""The modules of published interfaces, once: each is imported when it is first used."""

from . import comp430 as comp430
from . import k_anonymization as k_anonymization
from . import notebook as notebook
from . import p29 as p29
from . import petworks as petworks
