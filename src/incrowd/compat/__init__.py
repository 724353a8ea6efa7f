"""Published interfaces that people already use, each a thin layer over the same engine.

The modules are `comp430`, `k_anonymization`, `notebook`, `p29` and `petworks`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
