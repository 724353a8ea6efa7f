"""Linked tables: several tables about the same people, anonymized and judged together."""

import lazy_loader

# `__init__.pyi` lists the names. Who asks whether a policy is of linked tables loads no more than that.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
