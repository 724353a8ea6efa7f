"""Codebooks of data catalogues, which describe the columns of a table.

A kind of codebook is one file of this room and one entry of `KINDS`. The words of a codebook are
proposals; see `incrowd.release.drafting.roles.with_field`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from incrowd.core.errors import ParameterError, TableError
from incrowd.core.io.addresses import file_path
from incrowd.release.codebooks.base import Codebook, Description, Field, Kind
from incrowd.release.codebooks.croissant import CROISSANT
from incrowd.release.codebooks.ddi import DDI
from incrowd.release.codebooks.redcap import REDCAP
from incrowd.release.codebooks.texts import text_of

__all__ = ["KINDS", "Codebook", "kind_for", "read_codebook", "write_codebook"]

KINDS: Mapping[str, Kind] = {each.suffix: each for each in (REDCAP, DDI, CROISSANT)}
"""The kinds of codebooks, by the ending of the files that are written."""


def read_codebook(path: str | os.PathLike[str]) -> Codebook:
    """Read a codebook of the kind that the content tells.

    Raises
    ------
    TableError
        When the file cannot be read, is of no such kind, or names a column twice.
    """
    place = file_path(path)
    text = text_of(place)
    kind = next((each for each in KINDS.values() if each.recognizes(text)), None)
    if kind is None:
        names = ", ".join(each.name for each in KINDS.values())
        raise TableError(f"{place.name}: is no codebook of a kind that is read: {names}")
    fields: dict[str, Field] = {}
    for field in kind.fields(text, place.name):
        if field.name in fields:
            raise TableError(f"{place.name}: describes the column {field.name!r} twice; keep one of them")
        fields[field.name] = field
    return Codebook(place.name, kind.name, fields)


def kind_for(path: str | os.PathLike[str]) -> Kind:
    """Return the kind of a codebook that is written to a path, or raise `ParameterError`."""
    place = file_path(path)
    if place.suffix.lower() not in KINDS:
        endings = ", ".join(f"{suffix} ({each.name})" for suffix, each in KINDS.items())
        raise ParameterError(f"{place}: a codebook is written as {endings}")
    return KINDS[place.suffix.lower()]


def write_codebook(
    description: Description, path: str | os.PathLike[str], *, force: bool = False, sources: object = None
) -> None:
    """Write the codebook of a release, all or nothing.

    Parameters
    ----------
    force, sources
        As in `incrowd.core.io.targets.writing`.

    Raises
    ------
    ParameterError
        For another ending.
    TableError
        When the file exists (unless `force`) or cannot be written.
    """
    from incrowd.core.io.targets import writing

    text = kind_for(path).text(description)
    with writing(path, force=force, sources=sources) as place:
        place.write_text(text, encoding="utf-8", newline="\n")
