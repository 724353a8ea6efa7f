"""The exceptions of the package, as a tree.

::

    IncrowdError
    ├── InputError (ValueError)            the data or the call is wrong: exit status 2
    │   ├── SchemaError                    a column is missing, twice named, in two roles, ...
    │   ├── HierarchyError                 a hierarchy is no tree, or does not know a value
    │   ├── PolicyError                    a policy file cannot be read
    │   ├── ParameterError                 a parameter is outside its range
    │   └── TableError                     a table cannot be read or written
    │       ├── EncodingError              a text file is in another encoding
    │       └── UnavailableError           a release made in blocks lacks this (AttributeError)
    ├── MissingExtraError (ImportError)    an optional library is not installed: exit status 2
    └── InfeasibleError                    the data cannot satisfy the policy: exit status 1

A message names the thing, the place and the way out; it never contains a person's values.

Errors that the verifier raises, too, and the words of all are those of `incrowd_gate.errors`.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from incrowd_gate.errors import (
    INSTALL,
    HierarchyError,
    IncrowdError,
    InfeasibleError,
    InputError,
    MissingExtraError,
    ParameterError,
    PolicyError,
    SchemaError,
    TableError,
    VerdictError,
    alike_of,
    did_you_mean,
    listed,
    named,
    null_values_setting,
    open_roles,
    quoted,
    read_as_labels,
    reword,
    row_map_setting,
    setting,
    those_are,
    visible,
)

__all__ = [
    "INSTALL",
    "EncodingError",
    "HierarchyError",
    "IncrowdError",
    "InfeasibleError",
    "InputError",
    "MissingExtraError",
    "ParameterError",
    "PolicyError",
    "SchemaError",
    "TableError",
    "UnavailableError",
    "VerdictError",
    "alike_of",
    "did_you_mean",
    "exists_already",
    "key_or_row_map",
    "listed",
    "named",
    "null_values_setting",
    "open_roles",
    "quoted",
    "read_as_labels",
    "require_extra",
    "reword",
    "row_map_setting",
    "setting",
    "those_are",
    "visible",
]


def key_or_row_map() -> str:
    """Return how a caller says which raw row each released row is."""
    return f"a column of keys that both tables have ({setting('by=', '--by')}), or {row_map_setting()}"


def exists_already() -> str:
    """Say of a target that the name exists already, and how to go on."""
    return "exists already; choose another name or say " + setting("force=True", "--force")


class EncodingError(TableError):
    """A text file is not in the encoding used for reading."""


class UnavailableError(TableError, AttributeError):
    """A release that was made block by block lacks a part that would not fit on a single machine."""


def require_extra(libraries: Iterable[str], extra: str, purpose: str) -> None:
    """Raise if a library of an extra is not installed.

    Raises
    ------
    MissingExtraError
    """
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise MissingExtraError(", ".join(missing), extra, purpose)
