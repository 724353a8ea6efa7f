"""Engines: where rows live, are counted and are recoded, and nothing else."""

import lazy_loader

# Whoever needs the address of a database alone does not load every engine. `__init__.pyi` has the names.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
