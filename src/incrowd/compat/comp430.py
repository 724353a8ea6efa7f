"""The functions of COMP 430/530 (Koc University, fall 2024), homework 1.

``python -m incrowd.compat.comp430 ALGORITHM DGH-FOLDER RAW.csv ANONYMIZED.csv K [SEED | L]`` takes the
handout's command line.
"""

from __future__ import annotations

import csv
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from incrowd.compat._arguments import check_mapping, check_path, check_whole_number, unreadable
from incrowd.core.errors import HierarchyError, IncrowdError, ParameterError, SchemaError, TableError, named
from incrowd.core.hierarchy import Hierarchy, find_files
from incrowd.core.io.columns import column_named
from incrowd.core.lazy import pl

if TYPE_CHECKING:
    from incrowd.core.table.schema import Schema
    from incrowd.measures.privacy import PrivacyModel
    from incrowd.search import Algorithm

__all__ = [
    "LM_dist",
    "MD_dist",
    "bottomup_anonymizer",
    "clustering_anonymizer",
    "cost_LM",
    "cost_MD",
    "dist",
    "random_anonymizer",
]

StrPath = str | os.PathLike[str]
Record = Mapping[str, str]

_STAR = "\0*"
"""Stands in the engine for a value or node ``*``: there a record of ``*`` throughout counts as suppressed."""


def cost_MD(raw_dataset_file: StrPath, anonymized_dataset_file: StrPath, DGH_folder: StrPath) -> int:  # noqa: N802, N803
    """Return the distortion metric: the levels climbed, summed over all cells.

    Parameters
    ----------
    raw_dataset_file, anonymized_dataset_file
        CSV files with a header, row N of one generalized from row N of the other.
    DGH_folder
        A folder with a tab-indented hierarchy file for every column but the sensitive one. A hierarchy may
        be a root alone, whose column costs nothing, and a raw value may stand above others.

    Raises
    ------
    InputError
        When a file cannot be read or does not fit the others; the message names it, or the argument.
    """
    climbed = 0
    for pairs in _pairs(raw_dataset_file, anonymized_dataset_file, DGH_folder):
        climbed += sum(pair.levels * pair.records for pair in pairs)
    return climbed


def cost_LM(raw_dataset_file: StrPath, anonymized_dataset_file: StrPath, DGH_folder: StrPath) -> float:  # noqa: N802, N803
    """Return the loss metric summed over records, with equal weight of all quasi-identifiers.

    Parameters and errors are those of `cost_MD`.
    """
    columns = _pairs(raw_dataset_file, anonymized_dataset_file, DGH_folder)
    lost = sum(sum(pair.lost * pair.records for pair in pairs) for pairs in columns)
    return float(Fraction(lost) / len(columns)) if columns else 0.0


def LM_dist(r1: Record, r2: Record, DGH_folder: StrPath) -> float:  # noqa: N802, N803
    """Return LM of two records in a common, minimally generalized class, in 0..1.

    Parameters
    ----------
    r1, r2
        Records by their columns, as `csv.DictReader` reads them. Columns without a hierarchy do not count.
    DGH_folder
        As in `cost_MD`; it is read at every call.

    Raises
    ------
    InputError
        When a record lacks a column, or has a value that its hierarchy lacks.
    """
    return float(_apart(r1, r2, DGH_folder)[0])


def MD_dist(r1: Record, r2: Record, DGH_folder: StrPath) -> int:  # noqa: N802, N803
    """Return the levels that two records climb to a common class; see `LM_dist`."""
    return _apart(r1, r2, DGH_folder)[1]


def dist(r1: Record, r2: Record, DGH_folder: StrPath) -> float:  # noqa: N803
    """Return `LM_dist` plus `MD_dist` over the largest possible `MD_dist`; see `LM_dist`."""
    lost, climbed, most = _apart(r1, r2, DGH_folder)
    return float(lost + Fraction(climbed, most or 1))


def _apart(r1: Record, r2: Record, folder: StrPath) -> tuple[Fraction, int, int]:
    """Return the costs of a common class of two records: LM, levels climbed, and the most possible levels."""
    from incrowd.compat._inner_values import Column

    request = "a record by its columns, as csv.DictReader reads it"
    records = {name: check_mapping(record, name, request) for name, record in (("r1", r1), ("r2", r2))}
    folder = check_path(folder, "DGH_folder")
    files = find_files(folder, records["r1"])
    if not files:
        raise SchemaError(f"r1: the record has no column with a hierarchy in {folder}")
    lost, climbed, most = Fraction(0), 0, 0
    for name, file in files.items():
        tree = _tree(file)
        for argument, record in records.items():
            if name not in record:
                raise SchemaError(f"{argument}: the record has no column {name!r}")
            if record[name] not in tree.labels:
                raise _unknown(argument, name, file)
        column = Column(tree, [record[name] for record in records.values()])
        nodes = column.nodes[column.codes]
        node = column.lowest(nodes[0], nodes[1])
        lost += Fraction(int(column.leaves[node]) - 1, column.most)
        climbed += int((column.depths[nodes] - column.depths[node]).sum())
        most += 2 * tree.height
    return lost / len(files), climbed, most


def _unknown(place: str, column: str, file: Path) -> HierarchyError:
    return HierarchyError(
        f"{place}: column {column!r} has a value that is not in {file}; correct it, or add it there"
    )


def random_anonymizer(
    raw_dataset_file: StrPath,
    DGH_folder: StrPath,  # noqa: N803
    k: int,
    s: int,
    output_file: StrPath,
) -> None:
    """Shuffle records by NumPy's seed `s`, and write classes of k in that order (the last has the rest).

    Raises
    ------
    InputError
        When a file cannot be read or does not fit the others, or k (at most the records) or s (below
        2**32, as for NumPy) is out of range.
    """
    from incrowd.measures.privacy import KAnonymity
    from incrowd.search import Random

    models = [KAnonymity(check_whole_number(k, "k", least=1))]
    seed = check_whole_number(s, "s", least=0)
    if seed >= 2**32:
        raise ParameterError(f"s: the seed must be between 0 and 2**32 - 1, as for NumPy, got {seed}")
    _anonymize(raw_dataset_file, DGH_folder, models, Random(), output_file, seed=seed)


def clustering_anonymizer(
    raw_dataset_file: StrPath,
    DGH_folder: StrPath,  # noqa: N803
    k: int,
    output_file: StrPath,
) -> None:
    """Write classes of the k records nearest to a centroid, centroid after centroid.

    Errors are those of `random_anonymizer`.
    """
    from incrowd.measures.privacy import KAnonymity
    from incrowd.search import Clustering

    models = [KAnonymity(check_whole_number(k, "k", least=1))]
    _anonymize(raw_dataset_file, DGH_folder, models, Clustering(), output_file)


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
    from incrowd.measures.privacy import KAnonymity, LDiversity
    from incrowd.search import BottomUp

    models = [
        KAnonymity(check_whole_number(k, "k", least=1)),
        LDiversity(check_whole_number(l, "l", least=1)),
    ]
    _anonymize(raw_dataset_file, DGH_folder, models, BottomUp(), output_file)


class _Course(NamedTuple):
    """A data set of the course: records, the line on which each ends, and hierarchies."""

    frame: pl.DataFrame
    lines: list[int]
    files: dict[str, Path]
    trees: dict[str, Hierarchy]
    schema: Schema


def _read_course(path: Path, folder: Path) -> _Course:
    from incrowd.core.table.schema import Attribute, Schema

    frame, lines = _table(path)
    files = find_files(folder, frame.columns)
    others = [name for name in frame.columns if name not in files]
    if not others:
        raise SchemaError(
            f"{folder}: every column of {path} has a hierarchy file; take that of the sensitive column away"
        )
    if len(others) > 1 or not files:
        # Without any hierarchy the first line may be a row.
        which = named(others) if files else "all"
        raise SchemaError(
            f"{path}: one column, the sensitive one, has no hierarchy file of its name; in {folder} there is "
            f"none for: {which}"
        )
    trees = {name: _tree(files[name]) for name in frame.columns if name in files}
    for name, tree in trees.items():
        labels = set(tree.labels)
        for line, value in zip(lines, frame[name], strict=True):
            if value not in labels:
                raise _unknown(f"{path}, line {line}", name, files[name])
    attributes = [Attribute(name, "sensitive", kind="category") for name in frame.columns]
    for number, attribute in enumerate(attributes):
        if attribute.name in trees:
            tree = trees[attribute.name]
            renamed = Hierarchy([_STAR if label == "*" else label for label in tree.labels], tree.parents)
            attributes[number] = Attribute(attribute.name, "quasi", kind="category", hierarchy=renamed)
    return _Course(frame, lines, files, trees, Schema.of_attributes(attributes))


def _tree(path: Path) -> Hierarchy:
    """Read a hierarchy, which may be a root alone."""
    try:
        lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError):
        lines = []  # what is wrong is said below
    if len(lines) == 1 and path.suffix.lower() == ".txt":
        return Hierarchy([lines[0].strip()], [-1])
    return Hierarchy.read(path)


def _table(path: Path) -> tuple[pl.DataFrame, list[int]]:
    """Return the records of a CSV file, and the line on which each ends."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            # As csv.DictReader does, which the handout reads with: blank lines are no records.
            lines = [(reader.line_num, row) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TableError(unreadable(path, error)) from None
    (_, header), *rows = lines or [(0, [])]
    if len(header) == 1 and (mark := next((mark for mark in ";\t" if mark in header[0]), "")):
        raise TableError(f"{path}, line 1: the columns are parted by {mark!r}; part them by commas")
    if not header or len(set(header)) < len(header):
        raise TableError(f"{path}: the first line has to name every column, each once")
    if not rows:
        raise TableError(f"{path}: the file has no records")
    for line, row in rows:
        if len(row) != len(header):
            raise TableError(
                f"{path}, line {line}: the line has {len(row)} values and the header {len(header)}"
            )
    columns = dict(zip(header, zip(*(row for _, row in rows), strict=True), strict=True))
    return pl.DataFrame(columns, schema=dict.fromkeys(header, pl.String)), [line for line, _ in rows]


def _anonymize(
    path: StrPath,
    folder: StrPath,
    models: Sequence[PrivacyModel],
    algorithm: Algorithm,
    target: StrPath,
    *,
    seed: int = 0,
) -> None:
    from incrowd.core.io.targets import writing

    path, target = check_path(path, "raw_dataset_file"), check_path(target, "output_file")
    course = _read_course(path, check_path(folder, "DGH_folder"))
    above = any(
        set(course.frame[name]) & set(tree.labels) - set(tree.values) for name, tree in course.trees.items()
    )
    columns = (_from_anywhere if above else _by_engine)(course, models, algorithm, seed)
    with (
        writing(target, force=True, sources=(path, folder)) as temporary,
        open(temporary, "w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(course.frame.columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _by_engine(
    course: _Course, models: Sequence[PrivacyModel], algorithm: Algorithm, seed: int
) -> dict[str, list[str]]:
    from incrowd.release.jobs.make.anonymize import anonymize

    frame = course.frame.with_columns(column_named(name).replace({"*": _STAR}) for name in course.trees)
    release = anonymize(
        frame,
        course.schema,
        models,
        algorithm,
        output="ancestor",
        seed=seed,
        keep_order=True,
        ends="exact",
        suppressed="keep",
        force=True,
        unanswered="write",
    )
    texts = release.texts.with_columns(column_named(name).replace({_STAR: "*"}) for name in course.trees)
    return {name: texts[name].to_list() for name in frame.columns}


def _from_anywhere(
    course: _Course, models: Sequence[PrivacyModel], algorithm: Algorithm, seed: int
) -> dict[str, list[str]]:
    """Anonymize where raw values stand above others, which the engine does not take."""
    from incrowd.compat._inner_values import Records

    columns = {name: course.frame[name].to_list() for name in course.frame.columns}
    [secret] = [name for name in course.frame.columns if name not in course.trees]
    records = Records(course.trees, columns, secret)
    limits = [int(model.limit) for model in models]
    if algorithm.name == "random":
        cells = records.at_random(limits[0], seed)
    elif algorithm.name == "clustering":
        cells = records.clustered(limits[0])
    else:
        cells = records.bottom_up(limits[0], limits[1])
    return {name: cells.get(name, values) for name, values in columns.items()}


class _Pair(NamedTuple):
    """A raw and a released value: records, levels climbed, and LM of the released value in 0..1."""

    records: int
    levels: int
    lost: Fraction


def _pairs(raw: StrPath, anonymized: StrPath, folder: StrPath) -> list[list[_Pair]]:
    """Return the released values of each distinct value, by quasi-identifier."""
    raw = check_path(raw, "raw_dataset_file")
    anonymized = check_path(anonymized, "anonymized_dataset_file")
    course = _read_course(raw, check_path(folder, "DGH_folder"))
    frame, lines = _table(anonymized)
    if frame.columns != course.frame.columns:
        raise TableError(f"{anonymized}: the columns are not those of {raw}, in their order")
    if len(frame) != len(course.frame):
        raise TableError(
            f"{anonymized} has {len(frame)} records and {raw} {len(course.frame)}; record N is one person"
        )
    from incrowd.compat._inner_values import nodes_of

    by_column = []
    for name, tree in course.trees.items():
        nodes = nodes_of(tree)
        most = max(tree.n_leaves - 1, 1)
        pairs = []
        cells = list(zip(course.frame[name], frame[name], strict=True))
        for (value, label), records in Counter(cells).items():
            node, levels = nodes[value], 0
            while node >= 0 and tree.labels[node] != label:
                node, levels = int(tree.parents[node]), levels + 1
            if node < 0:
                line = lines[cells.index((value, label))]
                raise TableError(
                    f"{anonymized}, line {line}: column {name!r} has a value that is not above that of {raw} "
                    f"in {course.files[name]}"
                )
            pairs.append(_Pair(records, levels, Fraction(int(tree.hi[node] - tree.lo[node]) - 1, most)))
        by_column.append(pairs)
    return by_column


_USAGE = """Usage: python -m incrowd.compat.comp430 algorithm DGH-folder raw.csv anonymized.csv k [seed | l]
\tWhere algorithm is one of [clustering, random, bottomup]
\trandom takes a seed after k, bottomup takes l
"""


def main(arguments: Sequence[str]) -> int:
    """Run the handout's command line.

    Returns
    -------
    The exit status. It is 1 for a call that the handout answers with the usage. It is 2 for an algorithm that
    the handout does not know, and for wrong input, such as a k above the number of records.
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
