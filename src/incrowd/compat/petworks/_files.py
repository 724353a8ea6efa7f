"""Data files of PETWorks, and the columns that the caller's types name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.compat._arguments import check_items, check_mapping, check_path, unreadable
from incrowd.compat.petworks import attributetypes
from incrowd.compat.petworks._levels import Levels, read_folder
from incrowd.compat.petworks.attributetypes import QUASI_IDENTIFIER, SENSITIVE_ATTRIBUTE
from incrowd.core.errors import EncodingError, SchemaError, TableError
from incrowd.core.io.columns import column_named
from incrowd.core.lazy import pl
from incrowd.core.table.schema import require_columns

if TYPE_CHECKING:
    from incrowd.core.table.schema import Attribute

_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity)", re.IGNORECASE)
"""A text that Python reads as a float; ``nan`` and underscores are left out."""

__all__ = [
    "StrPath",
    "Types",
    "check_same_rows",
    "columns_of_type",
    "for_distances",
    "levels_of",
    "one_spelling",
    "quasi_of",
    "read_data",
    "sensitive_of",
    "settings_beside",
]

StrPath = str | os.PathLike[str]
Types = Mapping[str, str]


def read_data(path: StrPath | None, what: str) -> pl.DataFrame:
    """Read a file of text cells, split at semicolons if the header has any, else at commas."""
    from incrowd.core.io.files import CsvFormat, read_table

    path = check_path(path, what)
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        if packed:
            import gzip

            with gzip.open(path, "rt", encoding="utf-8-sig") as text:
                header = text.readline()
        else:
            with open(path, encoding="utf-8-sig") as text:
                header = text.readline()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise TableError(unreadable(path, error)) from None
    try:
        frame, _ = read_table(path, CsvFormat(delimiter=";" if ";" in header else ","))
    except EncodingError as error:
        raise TableError(unreadable(path, error)) from None
    frame = frame.select(pl.all().cast(pl.String).fill_null("").str.strip_chars())
    names = [name.strip() for name in frame.columns]
    if len(set(names)) < len(names):
        raise SchemaError(f"{path}: but for blanks two columns have one name; rename one of them")
    if not len(frame):
        raise TableError(f"{what}: {path} has no rows")
    return frame.rename(dict(zip(frame.columns, names, strict=True)))


class _FileTypes(dict[str, str]):
    """Types of columns by a file, which messages name."""

    source: Path


def settings_beside(data: Any) -> dict[str, Any]:
    """Read the types and the folder of hierarchies from PETWorks's file ``<data>.yaml``."""
    import yaml

    path = check_path(data, "data")
    file = path.with_name(path.name.removesuffix(".gz")).with_suffix(".yaml")
    if not file.is_file():
        return {}
    types = _FileTypes()
    types.source = file
    try:
        dataset = (yaml.safe_load(file.read_text(encoding="utf-8-sig")) or {}).get("DATASET", {})
        for kind, columns in dataset.get("ATTRIBUTE_TYPE", {}).items():
            types |= dict.fromkeys(check_items(columns, kind, "a list"), kind.lower())
        folder = dataset.get("HIERARCHY")
        return {"attributeTypes": types, "dataHierarchy": None if folder is None else file.parent / folder}
    except (OSError, UnicodeDecodeError, yaml.YAMLError, AttributeError, TypeError):
        raise SchemaError(
            f"{file}: is none of PETWorks's files beside the data, with lists of columns in DATASET, "
            "ATTRIBUTE_TYPE; correct it, or give attributeTypes and dataHierarchy"
        ) from None


def columns_of_type(types: Types | None, wanted: str, frame: pl.DataFrame) -> list[str]:
    """Return the columns to which the caller gives a type, all of which must exist."""
    kinds = [value for name, value in vars(attributetypes).items() if name.isupper()]
    types = check_mapping(
        {} if types is None else types, "attributeTypes", "a dict as {'age': QUASI_IDENTIFIER}"
    )
    where = getattr(types, "source", "attributeTypes")
    for name, kind in types.items():
        if kind not in kinds:
            raise SchemaError(f"{where}: {name!r} has no type of PETWorks; see attributetypes")
    require_columns(types, frame.columns, f"{where}: ")
    return [name for name, kind in types.items() if kind == wanted]


def quasi_of(types: Types | None, frame: pl.DataFrame) -> list[str]:
    """Return the quasi-identifiers, of which there must be some."""
    names = columns_of_type(types, QUASI_IDENTIFIER, frame)
    if not names:
        raise SchemaError(
            "attributeTypes: name the quasi-identifiers, e.g. {'age': QUASI_IDENTIFIER}, or write them to a "
            ".yaml file beside the data"
        )
    return names


def sensitive_of(types: Types | None, frame: pl.DataFrame) -> list[str]:
    """Return the sensitive attributes, of which there must be some."""
    names = columns_of_type(types, SENSITIVE_ATTRIBUTE, frame)
    if not names:
        raise SchemaError("attributeTypes: name a sensitive attribute, e.g. {'disease': SENSITIVE_ATTRIBUTE}")
    return names


def levels_of(folder: StrPath | None, names: Sequence[str]) -> list[Levels]:
    """Read the hierarchies of columns, which all need a hierarchy."""
    levels = read_folder(folder, names)
    missing = [name for name in names if name not in levels]
    if missing:
        raise SchemaError(
            f"dataHierarchy: no file for the quasi-identifier {missing[0]!r}; PETWorks would leave it out"
        )
    return [levels[name] for name in names]


def check_same_rows(original: pl.DataFrame, anonymized: pl.DataFrame) -> None:
    """Raise for two tables whose rows cannot be the same records."""
    if len(original) != len(anonymized):
        raise TableError(f"the files have {len(original)} and {len(anonymized)} rows; row N is one record")


def one_spelling(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Write equal numbers alike, by the first text of each, in columns of numbers only."""
    for name in names:
        numbers = {text: _read_decimal(text) for text in frame[name].unique(maintain_order=True) if text}
        if None not in numbers.values():
            first = {number: text for text, number in reversed(numbers.items())}
            alike = {text: first[number] for text, number in numbers.items()}
            frame = frame.with_columns(column_named(name).replace(alike))
    return frame


def for_distances(
    frame: pl.DataFrame, names: Sequence[str], levels: Mapping[str, Levels]
) -> tuple[pl.DataFrame, list[Attribute]]:
    """Return a frame and sensitive attributes whose values have distances.

    A column whose first value is a number holds numbers and is replaced by their ranks; others have distances
    by a hierarchy where there is one, else equal ones.
    """
    from incrowd.core.table.schema import Attribute

    attributes = []
    for name in names:
        ranks = ranks_of_numbers(frame[name])
        if ranks is not None:
            frame = frame.with_columns(ranks)
            attributes.append(Attribute(name, "sensitive", kind="number"))
        else:
            tree = levels[name].tree() if name in levels else None
            attributes.append(Attribute(name, "sensitive", kind="category", hierarchy=tree))
    return frame, attributes


def ranks_of_numbers(column: pl.Series) -> pl.Series | None:
    """Return the rank of each cell among the distinct numbers of a column, compared exactly.

    None where the first cell that is not blank is no number: the column is one of categories.

    Raises
    ------
    TableError
        When the first value is a number and another is none, or is blank.
    """
    texts = column.unique(maintain_order=True).to_list()
    first = next((text for text in texts if text), "")
    if _read_decimal(first) is None:
        return None
    numbers = {text: number for text in texts if (number := _read_decimal(text)) is not None}
    wrong = len(texts) - len(numbers)
    if wrong:
        raise TableError(
            f"column {column.name!r} holds numbers, as its first value says, and {wrong} of its {len(texts)} "
            f"distinct values {'is' if wrong == 1 else 'are'} none; correct it, and fill in what is blank"
        )
    ranks = {number: rank for rank, number in enumerate(sorted(set(numbers.values())))}
    return column.replace_strict(
        {text: ranks[number] for text, number in numbers.items()}, return_dtype=pl.Int64
    )


def _read_decimal(text: str) -> Decimal | None:
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent of twenty digits
        return None
