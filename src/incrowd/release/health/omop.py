"""Drafts of policies for extracts in the OMOP Common Data Model 5.4.

References
----------
OHDSI, OMOP Common Data Model v5.4, https://ohdsi.github.io/CommonDataModel/cdm54.html
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from incrowd.core.errors import TableError, named
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.io.columns import column_named
from incrowd.core.lazy import pl
from incrowd.release.jobs.compare.draft_linked import DATES, Join, LinkedDraft, draft_text, files_of
from incrowd.release.policy.toml_lines import toml_value

_PERSON = ("person_id", "gender_concept_id", "year_of_birth")
"""Columns by which a table of people is one of OMOP."""
_FACTS = (
    "visit_occurrence", "visit_detail", "condition_occurrence", "drug_exposure", "procedure_occurrence",
    "device_exposure", "measurement", "observation", "death", "note", "specimen", "observation_period",
    "payer_plan_period", "condition_era", "drug_era", "dose_era", "episode",
)  # fmt: skip
"""Tables with rows of people."""
_VOCABULARY = (
    "concept", "concept_ancestor", "concept_class", "concept_relationship", "concept_synonym", "domain",
    "drug_strength", "relationship", "vocabulary",
)  # fmt: skip
"""Public tables, which say what concepts are."""
_CONCEPT = (
    "gender|race|ethnicity|visit|visit_detail|condition|drug|procedure|device|measurement|observation|"
    "cause|note_class|specimen|payer|episode"
)
_ROLES = (
    (r"year_of_birth", "quasi", "hierarchy = { intervals = [5, 10, 20] }"),
    (rf"({_CONCEPT})_concept_id|location_id", "quasi", ""),
    (r".*_(start_)?date", "quasi", DATES),
    (r"value_as_(number|concept_id)|unit_concept_id|quantity|days_supply", None, ""),
    (r"note_text", "?", '# "identifying" leaves sentences out; of "insensitive" the verdict asks'),
    (r".*_(source_value|datetime|end_date|(source|type)_concept_id)|(month|day)_of_birth", "identifying", ""),
    (r".*(?<!_concept)_id", "identifying", ""),
)
"""Columns by name: role and further lines. The role None is left to the usual draft, which asks."""
_LEVELS = 4
"""Most levels of concepts between a value and the root."""


def is_omop(folder: Path) -> bool:
    """Say whether a folder has a table of people of OMOP."""
    if (person := _files(folder).get("person")) is None:
        return False
    # Whoever reads the file says that it is damaged.
    with suppress(TableError):
        return {*_PERSON} <= {*map(str.lower, _scan(person)[0])}
    return False


def draft_omop(folder: str | os.PathLike[str]) -> LinkedDraft:
    """Draft the policy of an extract of OMOP: tables, joins and roles by their names.

    Concepts get hierarchies where the folder has ``concept_ancestor``. This table and ``concept`` are read,
    and not released.

    Raises
    ------
    TableError
        When the folder has no table ``person``, or a table lacks ``person_id``.
    """
    from incrowd.engines import loaded

    folder = Path(folder)
    files = _files(folder)
    if not is_omop(folder):
        lacking = f"there is no table person with the columns {named(_PERSON)}"
        raise TableError(f"{folder}: {lacking}; OMOP has them in person.csv")
    there: dict[str, pl.DataFrame] = {
        name: loaded(files[name]) for name in ("person", *_FACTS) if name in files
    }
    tables = {
        name: rows
        for name, rows in there.items()
        if (rows.height or name == "person") and any("quasi" in (_role(each) or ()) for each in rows.columns)
    }
    chosen = {name: _join(name, tables) for name in tables if name != "person"}
    trees = _trees(files, tables)

    def section(table: str, column: str) -> list[str]:
        if (rule := _role(column)) is None:
            return ['role = "identifying"  # not mapped, so it is left out']
        role, lines = rule
        file = _tree_file(table, column)
        lines = f"hierarchy = {toml_value(file)}" if file in trees else lines
        return [] if role is None else [f'role = "{role}"', *lines.splitlines()]

    names = {name: files[name].name for name in tables}
    text = draft_text(folder.name, tables, names, chosen, section)
    read = [name for name in files if name in _VOCABULARY]
    notes = [f"OMOP CDM 5.4: {', '.join(tables)}"]
    notes += [f"public vocabulary, read and not released: {', '.join(read)}"] if read else []
    for name in files:
        if name not in (*tables, *read):
            why = "has no rows, or no column that others may know" if name in there else "is not mapped"
            notes.append(f"left out, as it {why}: {name}")
    for name, frame in tables.items():
        if columns := [column for column in frame.columns if _role(column) is None]:
            notes.append(f"left out of {name}, as they are not mapped: {', '.join(columns)}")
    return LinkedDraft(text, tuple(chosen.values()), hierarchies=trees, notes=tuple(notes))


def _files(folder: Path) -> dict[str, Path]:
    return {name.lower(): path for name, path in files_of(folder).items()}


def _role(column: str) -> tuple[str | None, str] | None:
    for pattern, role, lines in _ROLES:
        if re.fullmatch(pattern, column.lower()):
            return role, lines
    return None


def _join(name: str, tables: Mapping[str, pl.DataFrame]) -> Join:
    """Return the join of a table: to the visit where each row has one, and else to the person."""
    for above in ("visit_occurrence", "person"):
        if above == name or above not in tables:
            continue
        key = f"{above}_id"
        own, target = _named(tables[name], key), _named(tables[above], key)
        if own is None or target is None:
            continue
        keys = target.cast(pl.String).implode()
        share = float(own.cast(pl.String).is_in(keys).fill_null(value=False).sum()) / len(own)
        if share == 1.0 or above == "person":
            return Join(name, own.name, above, target.name, share)
    raise TableError(
        f"table {name} has no column 'person_id', which says whose its rows are; take its file away"
    )


def _named(frame: pl.DataFrame, name: str) -> pl.Series | None:
    """Return a column by its name in the model, in whatever case it is written."""
    return next((each for each in frame.get_columns() if each.name.lower() == name), None)


def _tree_file(table: str, column: str) -> str:
    return f"hierarchies/{table}-{column.lower()}.csv"


def _trees(files: Mapping[str, Path], tables: Mapping[str, pl.DataFrame]) -> dict[str, Hierarchy]:
    """Return the hierarchies of concepts and places that tables of the folder tell, by their files."""
    trees = {}
    for table, frame in tables.items():
        for column in frame.get_columns():
            name = column.name.lower()
            values = sorted(column.drop_nulls().cast(pl.String).unique())
            paths: list[list[str]] = []
            try:
                if "concept_ancestor" in files and re.fullmatch(f"({_CONCEPT})_concept_id", name):
                    paths = _paths_of_concepts(values, files)
                elif "location" in files and (table, name) == ("person", "location_id"):
                    paths = _paths_of_places(values, files["location"])
            except pl.exceptions.PolarsError:
                raise TableError("concept_ancestor, concept or location lacks a column of OMOP 5.4") from None
            if any(len(path) > 2 for path in paths):
                trees[_tree_file(table, column.name)] = Hierarchy.from_paths(paths, column.name)
    return trees


def _scan(path: Path) -> tuple[list[str], pl.LazyFrame]:
    """Return a table's names of columns as they stand, and the table as texts with names in lower case."""
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            frame = pl.scan_parquet(path)
        else:
            with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as lines:
                head = lines.readline()
            # Files of the vocabulary have tabs and no quotes, and a quote in them is a sign as any other.
            mark = max("\t;,", key=lambda each: head.count(each.encode()))
            quote = None if mark == "\t" else '"'
            frame = pl.scan_csv(path, separator=mark, quote_char=quote, infer_schema=False)
        names = frame.collect_schema().names()
    except (OSError, EOFError, pl.exceptions.PolarsError):
        raise TableError(f"{path}: cannot be read; write it as CSV in UTF-8, or as Parquet") from None
    return names, frame.select(column_named(name).cast(pl.String).alias(name.lower()) for name in names)


def _paths_of_concepts(values: list[str], files: Mapping[str, Path]) -> list[list[str]]:
    """Return a path of each value over one parent of each concept, the root last.

    A concept may have several parents. It gets one of its own vocabulary, of these the one with most values
    below, of these the one with the smallest id.
    """
    ancestors = _scan(files["concept_ancestor"])[1].select(
        above="ancestor_concept_id", below="descendant_concept_id", steps="min_levels_of_separation"
    )
    pairs = ancestors.filter(pl.col("below").is_in(values), pl.col("above") != pl.col("below")).collect()
    nodes = {*values, *pairs["above"]}
    reach = dict(pairs.group_by("above").len().iter_rows())
    edges = ancestors.filter(pl.col("below").is_in([*nodes]), pl.col("steps") == "1").collect()
    vocabulary: dict[str, str] = {}
    if "concept" in files:
        concepts = _scan(files["concept"])[1].select("concept_id", "vocabulary_id")
        vocabulary = dict(concepts.filter(pl.col("concept_id").is_in([*nodes])).collect().iter_rows())
    parents: dict[str, list[str]] = {}
    for above, below, _ in edges.iter_rows():
        parents.setdefault(below, []).append(above)
    parent = {
        below: min(
            several,
            key=lambda one: (vocabulary.get(one) != vocabulary.get(below), -reach.get(one, 0), int(one)),
        )
        for below, several in parents.items()
    }
    lines = []
    for value in values:
        line = [value]
        while (up := parent.get(line[-1])) is not None and up not in line:
            line.append(up)
        lines.append(line)
    # All lines end at the same level: a value that stands higher is repeated below itself.
    longest = max(map(len, lines), default=1)
    levels = list(zip(*([line[0]] * (longest - len(line)) + line for line in lines), strict=True))
    # A level that parts values as the one below, or not at all, is none.
    higher = [
        level for below, level in zip(levels, levels[1:], strict=False) if 1 < len({*level}) < len({*below})
    ]
    chosen = [*levels[:1], *higher[:: max(1, -(-len(higher) // _LEVELS))]]
    return [[*path, "*"] for path in zip(*chosen, strict=True)]


def _paths_of_places(values: list[str], file: Path) -> list[list[str]]:
    """Return a path of each place over its postal code and state, the root last."""
    names, places = _scan(file)
    texts = [
        (column_named(name) if name in map(str.lower, names) else pl.lit(None, pl.String)).fill_null(
            "unknown"
        )
        for name in ("zip", "state")
    ]
    rows = places.filter(pl.col("location_id").is_in(values)).select("location_id", *texts).collect()
    return [[place, f"{state} {code}", state, "*"] for place, code, state in rows.iter_rows()]
