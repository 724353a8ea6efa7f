"""Checks of arguments, with errors that name the argument and the allowed values.

Code that was written for the originals may catch the errors that they raise. So a wrong type is also a
``TypeError``, and a missing column is also a ``KeyError``. Both are a ``ValueError``, as every `InputError`.
"""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from incrowd.core.errors import EncodingError, ParameterError, SchemaError, TableError
from incrowd.core.io.addresses import file_path
from incrowd.core.io.columns import FrameNames
from incrowd.core.lazy import pd
from incrowd.core.table.schema import require_columns

__all__ = [
    "NoColumnError",
    "WrongTypeError",
    "check_column",
    "check_columns",
    "check_frame",
    "check_items",
    "check_mapping",
    "check_number",
    "check_path",
    "check_series",
    "check_whole_number",
    "unreadable",
]


class WrongTypeError(ParameterError, TypeError):
    """An argument is of a type that the function does not take."""


class NoColumnError(SchemaError, KeyError):
    """An argument names a column that the table lacks."""

    __str__ = Exception.__str__  # a KeyError shows its message in quotes


def _wrong(argument: str, wanted: str, value: object) -> WrongTypeError:
    kind = "None" if value is None else f"a value of type {type(value).__name__}"
    return WrongTypeError(f"{argument}: give {wanted}, not {kind}")


def check_frame(value: Any, argument: str, *, empty: bool = False) -> pd.DataFrame:
    """Return a pandas frame with distinct column names, and with rows unless `empty` is allowed."""
    if not isinstance(value, pd.DataFrame):
        raise _wrong(argument, "a pandas DataFrame", value)
    if not value.columns.is_unique:
        raise SchemaError(f"{argument}: two columns have one name; rename one of them")
    if not empty and not value.shape[1]:
        raise TableError(f"{argument}: the table has no columns")
    if not empty and not len(value):
        raise TableError(f"{argument}: the table has no rows")
    return value


def check_series(value: Any, argument: str) -> pd.Series[Any]:
    """Return a pandas series."""
    if not isinstance(value, pd.Series):
        raise _wrong(argument, "a pandas Series, e.g. df['age']", value)
    return value


def check_items(value: Any, argument: str, wanted: str) -> list[Any]:
    """Return the members of a list, tuple, index or array, but not of a text, mapping or table."""
    is_other = isinstance(value, str | bytes | Mapping) or hasattr(value, "columns")
    if is_other or not isinstance(value, Iterable):
        raise _wrong(argument, wanted, value)
    return list(value)


def check_columns(value: Any, argument: str, frame: pd.DataFrame, table: str = "df") -> list[Any]:
    """Return a non-empty list of distinct columns of the frame."""
    names = check_items(value, argument, "a list of column names")
    if not names:
        raise ParameterError(f"{argument}: give a list of one column of {table} or more")
    for name in names:
        check_column(name, argument, frame, known=names)
    if len(set(names)) < len(names):
        raise SchemaError(f"{argument}: a column is named twice")
    return names


def check_column(value: Any, argument: str, frame: pd.DataFrame, *, known: Sequence[Any] = ()) -> Any:
    """Return the name of a column of the frame, where `known` are other names of the caller."""
    name: Any = value
    if value is None or not isinstance(value, Hashable):
        raise _wrong(argument, "the name of a column", value)
    try:
        require_columns([name], FrameNames(frame.columns), f"{argument}: ", user_names=known)
    except SchemaError as error:
        raise NoColumnError(str(error)) from None
    return value


def check_mapping(value: Any, argument: str, wanted: str) -> Mapping[Any, Any]:
    """Return a dict or a similar object."""
    if not isinstance(value, Mapping):
        raise _wrong(argument, wanted, value)
    return value


def check_number(
    value: Any, argument: str, *, low: float = -math.inf, high: float = math.inf, wanted: str = "a number"
) -> float:
    """Return a finite number in ``low .. high``, but not a truth value."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise _wrong(argument, wanted, value)
    if not math.isfinite(value) or not low <= float(value) <= high:
        limits = [f"at least {low:g}"] * (low > -math.inf) + [f"at most {high:g}"] * (high < math.inf)
        raise ParameterError(
            f"{argument}: the number must be {' and '.join(limits) or 'finite'}, got {value!r}"
        )
    return float(value)


def check_whole_number(value: Any, argument: str, *, least: int) -> int:
    """Return a whole number of at least `least`, but not a truth value."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise _wrong(argument, f"a whole number from {least}", value)
    if value < least:
        raise ParameterError(f"{argument}: the number must be at least {least}, got {int(value)}")
    return int(value)


def check_path(value: Any, argument: str) -> Path:
    """Return the path of a file or folder, but not an address."""
    if not isinstance(value, str | os.PathLike):
        raise _wrong(argument, "the path of a file", value)
    if not os.fspath(value):
        raise ParameterError(f"{argument}: the path is empty; give that of a file")
    return file_path(value)


def unreadable(path: Path, error: Exception) -> str:
    """Return why a text file cannot be read."""
    if isinstance(error, UnicodeDecodeError | EncodingError):
        return (
            f"{path}: the file is not in UTF-8; write it anew, e.g. if it is in Big5 by "
            "path.write_text(path.read_text('big5'), 'utf-8') of pathlib"
        )
    return f"{path}: cannot be read ({type(error).__name__})"
