"""The outputs of a command: noted, and refused where they must be, before the work starts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from incrowd.core.errors import ParameterError, TableError, require_extra
from incrowd.core.presentation.documents import to_json

if TYPE_CHECKING:
    from incrowd.core.dialects.addresses import Address
    from incrowd.core.io.targets import Outputs, Target


def outputs_of(
    *inputs: object, policy: Path | None = None, recoding: Path | None = None, force: bool
) -> Outputs:
    """Take note of all that a call reads, before the first of its outputs.

    Parameters
    ----------
    inputs
        Files, folders, patterns, addresses; None where there is none.
    policy
        A policy file, which may name hierarchy files.
    recoding
        The folder of a recoding.

    Raises
    ------
    TableError
        When a file beside the table is not there: it would be read only later.
    """
    from incrowd.core.io.targets import Outputs
    from incrowd.release.policy.policy import hierarchy_files

    for each in inputs[1:]:
        # The table itself is read at once, and says so in the words of its kind.
        try:
            if isinstance(each, Path):
                each.stat()
        except OSError as error:
            raise TableError(f"{each}: cannot be read ({error.strerror})") from None
    named = [] if policy is None else [policy, *hierarchy_files(policy)]
    return Outputs(*inputs, named, recoding, force=force)


def released_file(outputs: Outputs, output: Path, data: Path | Address, *, stream: bool) -> Target:
    """Take note of the released file, or folder where many files are read.

    Raises
    ------
    TableError
        When it overlaps with what is read, exists or cannot be written.
    """
    from incrowd.core.io.formats import require_written
    from incrowd.core.io.streams import is_scan
    from incrowd.core.io.targets import is_folder

    many = isinstance(data, Path) and (stream or is_scan(data))
    target = outputs.add(output, folder=many and is_folder(output))
    require_written(output, streamed=many or stream or not isinstance(data, Path), many=many)
    return target


def added(
    outputs: Outputs, path: Path | None, *, folder: bool = False, private: bool = False
) -> Target | None:
    """Take note of an output that may be left out.

    Raises
    ------
    TableError
    """
    return None if path is None else outputs.add(path, folder=folder, private=private, parents=private)


def added_report(outputs: Outputs, report: Path | None) -> Target | None:
    """Take note of a report, and refuse one that could not be made, before there is anything to report.

    Raises
    ------
    ParameterError, TableError, MissingExtraError
    """
    if report is None:
        return None
    from incrowd.core.report.pages import SUFFIXES

    suffix = report.suffix.lower()
    if suffix not in SUFFIXES:
        raise ParameterError(f"--report {report}: a report is written as {', '.join(SUFFIXES)}")
    target = added(outputs, report)
    wanted = {".html": ("vl_convert",), ".pdf": ("vl_convert", "typst")}.get(suffix, ())
    require_extra(wanted, "report", f"a report as {suffix}")
    return target


def print_json(document: Mapping[str, Any] | list[Any]) -> None:
    """Print a document as JSON, with escapes where the encoding of the output lacks characters."""
    text = to_json(document)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = to_json(document, escaped=True)
    typer.echo(text)
