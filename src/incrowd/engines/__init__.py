"""Engines: where rows live, are counted and are recoded, and nothing else."""

import lazy_loader

# `__init__.pyi` lists the names. A name is looked up on the first use, so a dialect loads no engine.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
