"""Signatures of kernels to compile ahead of the first use, from ``signatures.json``.

A signature lists the types of the arguments: ``"int64"`` is a number, ``"int64 2C"`` an array of two axes in
C order, and ``["grouping.counting:Counts", "int64 1C", ...]`` a named tuple.
"""

from __future__ import annotations

import json
import pkgutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numba import from_dtype, types

from incrowd.core.kernels.jit import Kernel

Description: TypeAlias = "str | list[Description]"

_ROOM = "incrowd.core.kernels"
_LIST = Path(__file__).with_suffix(".json")


def kept_kernels() -> Iterator[tuple[str, Kernel]]:
    """Yield all kernels with cached machine code, by ``module:name``."""
    for module in pkgutil.walk_packages([str(Path(__file__).parent)], f"{_ROOM}."):
        for name, value in vars(import_module(module.name)).items():
            if isinstance(value, Kernel) and value.kept and value.__module__ == module.name:
                yield f"{module.name.removeprefix(_ROOM + '.')}:{name}", value


def listed() -> dict[str, list[list[Description]]]:
    """Read the listed signatures by kernel."""
    signatures: dict[str, list[list[Description]]] = json.loads(_LIST.read_text())
    return signatures


def loops_of(algorithm: str) -> list[str]:
    """Return the kernels that jobs of an algorithm call, by ``module:name``, from ``loops.json``."""
    loops: dict[str, list[str]] = json.loads(_LIST.with_name("loops.json").read_text())
    return loops.get(algorithm, [])


def signatures_of(name: str) -> list[tuple[Any, ...]]:
    """Return the listed signatures of a kernel, as types of Numba."""
    return [tuple(map(_type, signature)) for signature in listed()[name]]


def list_of_kept() -> str:
    """Return the list as JSON, extended by all signatures in the cache."""
    before = listed()
    signatures_by_name = {}
    for name, kernel in kept_kernels():
        compiled = [
            [_description(each) for each in signature]
            for signature in kernel.dispatcher()._cache.signatures()
        ]
        # A literal is a constant passed by another kernel, and is compiled with that kernel.
        compiled = [each for each in compiled if "Literal" not in str(each)]
        old = before.get(name, [])
        signatures_by_name[name] = sorted([*old, *(each for each in compiled if each not in old)], key=str)
    lines = (
        f"{json.dumps(name)}: {json.dumps(signatures)}"
        for name, signatures in sorted(signatures_by_name.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def kernel_named(name: str) -> Any:
    """Return a kernel or the class of a named tuple by ``module:name``."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"{_ROOM}.{module}"), attribute)


def _description(kind: Any) -> Description:
    if isinstance(kind, types.Array):
        return f"{kind.dtype} {kind.ndim}{kind.layout}{'' if kind.mutable else ' read-only'}"
    if isinstance(kind, types.BaseTuple):
        of = getattr(kind, "instance_class", None)
        name = f"{of.__module__.removeprefix(_ROOM + '.')}:{of.__qualname__}" if of else "tuple"
        return [name, *map(_description, getattr(kind, "types", ()))]
    return str(kind)


def _type(description: Description) -> Any:
    if isinstance(description, list):
        name, *members = description
        kinds = tuple(map(_type, members))
        return types.BaseTuple.from_types(kinds, None if name == "tuple" else kernel_named(str(name)))
    dtype, _, rest = description.partition(" ")
    number: Any = from_dtype(np.dtype(dtype))
    if not rest:
        return number
    shape, _, access = rest.partition(" ")
    layout: Any = shape[-1]
    return types.Array(number, int(shape[:-1]), layout, readonly=bool(access))


if __name__ == "__main__":
    sys.stdout.write(list_of_kept())
