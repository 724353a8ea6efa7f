"""The functions of COMP 430/530 (Koc University, fall 2024), homework 1.

``python -m incrowd.compat.comp430 ALGORITHM DGH-FOLDER RAW.csv ANONYMIZED.csv K [SEED | L]`` takes the
handout's command line.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from incrowd.addresses import file_path
from incrowd.errors import IncrowdError, SchemaError, TableError
from incrowd.hierarchy import Hierarchy, find_files
from incrowd.io.columns import column_named

if TYPE_CHECKING:
    import polars as pl

    from incrowd.algorithms import Algorithm
    from incrowd.privacy import PrivacyModel
    from incrowd.schema import Schema
    from incrowd.utility import Lost, Metric

__all__ = ["bottomup_anonymizer", "clustering_anonymizer", "cost_LM", "cost_MD", "random_anonymizer"]

StrPath = str | os.PathLike[str]

_TOP = "\0top"
"""Stands for the root, which may be named ``*``: a record of that throughout would count as suppressed."""


def cost_MD(raw_dataset_file: StrPath, anonymized_dataset_file: StrPath, DGH_folder: StrPath) -> int:  # noqa: N802, N803
    """Return the distortion metric: the levels climbed, summed over all cells.

    Parameters
    ----------
    raw_dataset_file, anonymized_dataset_file
        CSV files with a header, row N of one generalized from row N of the other.
    DGH_folder
        A folder with a tab-indented hierarchy file for every column but the sensitive one.

    Raises
    ------
    InputError
        When a file cannot be read or does not fit the others.
    """
    from incrowd.utility import Distortion

    return int(_cost(Distortion(), raw_dataset_file, anonymized_dataset_file, DGH_folder)[0].value)


def cost_LM(raw_dataset_file: StrPath, anonymized_dataset_file: StrPath, DGH_folder: StrPath) -> float:  # noqa: N802, N803
    """Return the loss metric, summed over records; every quasi-identifier weighs 1 / their number.

    Parameters and errors are those of `cost_MD`.
    """
    from incrowd.utility import Loss

    lost, records = _cost(Loss(), raw_dataset_file, anonymized_dataset_file, DGH_folder)
    return lost.value * records


def random_anonymizer(
    raw_dataset_file: StrPath,
    DGH_folder: StrPath,  # noqa: N803
    k: int,
    s: int,
    output_file: StrPath,
) -> None:
    """Shuffle by NumPy's seed `s`, take k records after k for classes (the last has the rest), write them.

    Raises
    ------
    InputError
        When a file cannot be read or does not fit the others, or k (at most the records) or s is out of
        range.
    """
    from incrowd.algorithms import Random
    from incrowd.privacy import KAnonymity

    _anonymize(raw_dataset_file, DGH_folder, [KAnonymity(k)], Random(), output_file, seed=s)


def clustering_anonymizer(
    raw_dataset_file: StrPath,
    DGH_folder: StrPath,  # noqa: N803
    k: int,
    output_file: StrPath,
) -> None:
    """Put k records after k that are nearest to a centroid into classes, and write them.

    Errors are those of `random_anonymizer`.
    """
    from incrowd.algorithms import Clustering
    from incrowd.privacy import KAnonymity

    _anonymize(raw_dataset_file, DGH_folder, [KAnonymity(k)], Clustering(), output_file)


def bottomup_anonymizer(
    raw_dataset_file: StrPath,
    DGH_folder: StrPath,  # noqa: N803
    k: int,
    l: int,  # noqa: E741
    output_file: StrPath,
) -> None:
    """Write the node of least LM on the lowest level of the lattice that is k-anonymous and l-diverse.

    Raises
    ------
    InputError
        When a file cannot be read or does not fit the others, or k (at most the records) or l (at most the
        sensitive values) is out of range.
    """
    from incrowd.algorithms import BottomUp
    from incrowd.privacy import KAnonymity, LDiversity

    models = [KAnonymity(k), LDiversity(l)]
    _anonymize(raw_dataset_file, DGH_folder, models, BottomUp(), output_file)


class _Course(NamedTuple):
    """A data set as the course has it: columns in order, and the schema that the hierarchies make."""

    columns: list[str]
    frame: pl.DataFrame
    schema: Schema
    roots: dict[str, str]


def _read(path: StrPath, folder: StrPath) -> _Course:
    from incrowd.schema import Attribute, Schema

    columns, frame = _table(path)
    files = find_files(folder, columns)
    others = [name for name in columns if name not in files]
    if len(others) != 1:
        # Without any hierarchy the first line may be a row.
        named = (", ".join(map(repr, others)) or "none") if files else "all"
        raise SchemaError(
            f"{path}: one column is sensitive and has no hierarchy, but {len(others)} have none in {folder}: "
            f"{named}"
        )
    attributes, roots = [], {}
    for name in columns:
        if name in files:
            tree = Hierarchy.read(files[name])
            roots[name] = tree.labels[0]
            tree = Hierarchy([_TOP, *tree.labels[1:]], tree.parents)
            attributes.append(Attribute(name, "quasi", kind="category", hierarchy=tree))
        else:
            attributes.append(Attribute(name, "sensitive", kind="category"))
    return _Course(columns, frame, Schema.of(attributes), roots)


def _table(path: StrPath) -> tuple[list[str], pl.DataFrame]:
    import polars as pl

    path = file_path(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"{path}: cannot read the CSV file ({type(error).__name__})") from None
    # As csv.DictReader does, which the handout reads with: blank lines are no records.
    header, *rows = [row for row in rows if row] or [[]]
    if not header or len(set(header)) < len(header):
        raise TableError(f"{path}: the first line has to name every column, each once")
    if not rows:
        raise TableError(f"{path}: the file has no records")
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise TableError(f"{path}: record {number} has {len(row)} values and the header {len(header)}")
    return header, pl.DataFrame(
        dict(zip(header, zip(*rows, strict=True), strict=True)), schema=dict.fromkeys(header, pl.String)
    )


def _anonymize(
    path: StrPath,
    folder: StrPath,
    models: Sequence[PrivacyModel],
    algorithm: Algorithm,
    target: StrPath,
    *,
    seed: int = 0,
) -> None:
    from incrowd.io.targets import writing
    from incrowd.release import anonymize

    course = _read(path, folder)
    release = anonymize(course.frame, course.schema, models, algorithm, seed=seed)
    columns = {name: release.table[name].to_list() for name in course.columns}
    for name, root in course.roots.items():
        columns[name] = [root if value == _TOP else value for value in columns[name]]
    with (
        writing(target, force=True, sources=(path, folder)) as temporary,
        open(temporary, "w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(course.columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _cost(metric: Metric, raw: StrPath, anonymized: StrPath, folder: StrPath) -> tuple[Lost, int]:
    import polars as pl

    from incrowd.engines import engine_for
    from incrowd.observed import observe
    from incrowd.schema import Schema

    course = _read(raw, folder)
    columns, frame = _table(anonymized)
    if columns != course.columns:
        raise TableError(f"{anonymized}: the columns are not those of {raw}, in their order")
    frame = frame.with_columns(
        pl.when(column_named(name) == root).then(pl.lit(_TOP)).otherwise(column_named(name)).alias(name)
        for name, root in course.roots.items()
    )
    quasi = Schema.of(course.schema.quasi)
    before = engine_for(course.frame).count(quasi)
    after = engine_for(frame).count(quasi.measured())
    frequency, recoding = observe(before, after)
    strange = [name for name, records in recoding.summarized.items() if records]
    if strange:
        raise TableError(
            f"{anonymized}: column {strange[0]!r} has values that are not above those of {raw} in the DGH"
        )
    return metric.measure(frequency, recoding), frequency.rows


_USAGE = """Usage: python -m incrowd.compat.comp430 algorithm DGH-folder raw.csv anonymized.csv k [seed | l]
\tWhere algorithm is one of [clustering, random, bottomup]
\trandom takes a seed after k, bottomup takes l
"""


def main(arguments: Sequence[str]) -> int:
    """Run the handout's command line.

    Returns
    -------
    The exit status: 1 for a call that the handout answers with the usage, 2 for an algorithm that it does not
    know or for input that does not do, as k above the number of records.
    """
    more = {"clustering": 5, "random": 6, "bottomup": 6}
    if len(arguments) < 5:
        sys.stdout.write(_USAGE)
        return 1
    algorithm, folder, raw, anonymized, *numbers = arguments
    if algorithm not in more:
        sys.stdout.write("Invalid algorithm.\n")
        return 2
    if len(arguments) < more[algorithm] or not all(number.isdecimal() for number in numbers):
        sys.stdout.write(_USAGE)
        return 1
    k, *rest = map(int, numbers)
    try:
        if algorithm == "clustering":
            clustering_anonymizer(raw, folder, k, anonymized)
        elif algorithm == "random":
            random_anonymizer(raw, folder, k, rest[0], anonymized)
        else:
            bottomup_anonymizer(raw, folder, k, rest[0], anonymized)
        md, lm = cost_MD(raw, anonymized, folder), cost_LM(raw, anonymized, folder)
    except IncrowdError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    # Spelled as the handout prints it.
    sys.stdout.write(f"Results of {k}-anonimity:\n\tCost_MD: {md}\n\tCost_LM: {lm}\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
