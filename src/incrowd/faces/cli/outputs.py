"""Outputs of a command, registered and checked before the work starts."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from incrowd.core.documents import to_json
from incrowd.core.errors import ParameterError, TableError, require_extra

if TYPE_CHECKING:
    from incrowd.core.io.targets import Outputs, Target
    from incrowd.engines.dialects.addresses import Address


def outputs_of(
    *inputs: object, policy: Path | None = None, recoding: Path | None = None, force: bool
) -> Outputs:
    """Register all inputs of a call, so that no output replaces an input.

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
        When a file beside the table does not exist.
    """
    from incrowd.core.io.targets import Outputs
    from incrowd.release.policy.policy import hierarchy_files

    for path in inputs[1:]:
        # The table itself is read at once, with an error of its own.
        try:
            if isinstance(path, Path):
                path.stat()
        except OSError as error:
            raise TableError(f"{path}: cannot be read ({error.strerror})") from None
    files = [] if policy is None else [policy, *hierarchy_files(policy)]
    return Outputs(*inputs, files, recoding, force=force)


def add_release(outputs: Outputs, output: Path, data: Path | Address, *, stream: bool) -> Target:
    """Register the released file, or a folder if many files are read.

    Raises
    ------
    TableError
        When it overlaps with what is read, exists or cannot be written.
    """
    from incrowd.core.io.addresses import is_scan
    from incrowd.core.io.kinds.files import require_written
    from incrowd.core.io.targets import is_folder

    many = isinstance(data, Path) and (stream or is_scan(data))
    target = outputs.add(output, folder=many and is_folder(output))
    require_written(output, streamed=many or stream or not isinstance(data, Path), many=many)
    return target


def add_output(
    outputs: Outputs, path: Path | None, *, folder: bool = False, private: bool = False
) -> Target | None:
    """Register an optional output.

    Raises
    ------
    TableError
    """
    return None if path is None else outputs.add(path, folder=folder, private=private, parents=private)


def add_report(outputs: Outputs, report: Path | None, suffixes: Sequence[str] = ()) -> Target | None:
    """Register a report, raising early for an unknown format or a missing package.

    `suffixes` are the formats of a report without charts, which needs no package.

    Raises
    ------
    ParameterError, TableError, MissingExtraError
    """
    if report is None:
        return None
    from incrowd.release.report.pages import SUFFIXES

    suffix = report.suffix.lower()
    allowed = suffixes or SUFFIXES
    if suffix not in allowed:
        raise ParameterError(f"--report {report}: a report is written as {', '.join(allowed)}")
    target = add_output(outputs, report)
    if suffixes:
        return target
    packages = {".html": ("vl_convert",), ".pdf": ("vl_convert", "typst")}.get(suffix, ())
    require_extra(packages, "report", f"a report as {suffix}")
    return target


def print_json(document: Mapping[str, Any] | list[Any]) -> None:
    """Print a document as JSON, with escapes where the encoding of the output lacks characters."""
    text = to_json(document)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = to_json(document, escaped=True)
    typer.echo(text)
