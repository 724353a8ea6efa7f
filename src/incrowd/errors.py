"""What can go wrong, as one tree of exceptions.

::

    IncrowdError
    ├── InputError (ValueError)            the data or the call is wrong: exit status 2
    │   ├── SchemaError                    a column is missing, twice named, in two roles, ...
    │   ├── HierarchyError                 a hierarchy is no tree, or does not know a value
    │   ├── PolicyError                    a policy file cannot be read
    │   ├── ParameterError                 a parameter is outside its range
    │   └── TableError                     a table cannot be read or written
    ├── MissingExtraError (ImportError)    an optional library is not installed: exit status 2
    └── InfeasibleError                    the data cannot satisfy the policy: exit status 1

A message names the thing, the place and the way out; it never contains a person's values.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "HierarchyError",
    "IncrowdError",
    "InfeasibleError",
    "InputError",
    "MissingExtraError",
    "ParameterError",
    "PolicyError",
    "SchemaError",
    "TableError",
]


class IncrowdError(Exception):
    """Base of every error that incrowd raises on purpose."""

    exit_status: ClassVar[int] = 2


class InputError(IncrowdError, ValueError):
    """The data or the call is wrong."""


class SchemaError(InputError):
    """The roles of the columns do not fit together or do not fit the table."""


class HierarchyError(InputError):
    """A hierarchy is no tree, cannot be read, or does not know a value of its column."""


class PolicyError(InputError):
    """A policy file cannot be read or contradicts itself."""


class ParameterError(InputError):
    """A parameter is of the wrong type or outside its range."""


class TableError(InputError):
    """A table cannot be read or written."""


class MissingExtraError(IncrowdError, ImportError):
    """An optional library is not installed."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}: pip install 'incrowd[{extra}]'")


class InfeasibleError(IncrowdError):
    """The data does not satisfy the policy and no release was made."""

    exit_status: ClassVar[int] = 1
