"""Anonymize tables about people, and measure how private and how useful the release is."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

import lazy_loader

# Names stand once, in __init__.pyi. They are looked up when they are first used, so an import costs nothing.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.2.0"

_PLACES = {"profiles": "incrowd_verify.profiles"} | {
    name: f"{__name__}.{wing}.{name}"
    for wing, names in {
        "core": ("errors", "parameters", "report", "table", "treatments"),
        "measures": ("privacy", "risk", "utility"),
        "release": ("verification",),
        "works": ("compat", "course", "importers", "samples"),
        "faces": ("cli", "frames", "sklearn"),
    }.items()
    for name in names
}
"""The module of each documented name, such as ``incrowd.privacy``; type checkers read the stub beside."""


class _Documented:
    """An importer of documented names: ``incrowd.compat.p29`` is the module ``incrowd.works.compat.p29``."""

    @classmethod
    def find_spec(cls, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return the import specification of a documented name, or None for any other name."""
        package, _, rest = name.partition(".")
        is_documented = package == __name__ and rest.partition(".")[0] in _PLACES
        loader: Any = cls()
        return ModuleSpec(name, loader) if is_documented else None

    def create_module(self, _spec: ModuleSpec) -> None:
        """Let the import begin with an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Register the module of the wing, and its loaded submodules, under the documented name."""
        name, place = module.__name__, _place_of(module.__name__)
        import_module(place)
        for other in list(sys.modules):
            if other == place or other.startswith(f"{place}."):
                sys.modules[name + other.removeprefix(place)] = sys.modules[other]

    def get_code(self, name: str) -> CodeType | None:
        """Return the code of a module that runs as a program: ``python -m incrowd.compat.comp430``."""
        from importlib.util import find_spec

        loader: Any = getattr(find_spec(_place_of(name)), "loader", None)
        code: CodeType | None = loader.get_code(_place_of(name))
        return code


def _place_of(name: str) -> str:
    _, room, *rest = name.split(".")
    return ".".join([_PLACES[room], *rest])


sys.meta_path.insert(0, _Documented)
_WAYS = {
    "init": "; write incrowd.draft_policy(table, 'people.csv').text, which is the policy file",
    "read_csv": "; give the path of the file in place of a table",
}
"""The way out for names of other tools and of the command line."""


def __getattr__(name: str) -> object:
    if name in _PLACES:
        return import_module(_PLACES[name])
    try:
        return _load(name)
    except AttributeError:
        if name in __all__ or name.startswith("_"):
            raise
        from incrowd.core.errors import did_you_mean

        way_out = _WAYS.get(name) or did_you_mean(name, __all__)
        raise AttributeError(f"module 'incrowd' has no attribute {name!r}{way_out}") from None
