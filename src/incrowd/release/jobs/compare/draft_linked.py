"""Drafts of linked policies: joins by values of keys, and roles by names that are known, or as usual."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.errors import TableError, named
from incrowd.core.lazy import pl
from incrowd.core.reading.keys import ANY_KEY
from incrowd.release.jobs.compare.draft import draft_policy
from incrowd.release.policy.toml_lines import toml_settings, toml_value
from incrowd_gate.points import Point

if TYPE_CHECKING:
    from incrowd.core.hierarchy import Hierarchy

_INCLUDED = 0.95
"""Least share of rows whose value is a key of another table where both columns have one name."""
_KINDS = (".csv", ".csv.gz", ".tsv", ".parquet", ".pq")
DATES = 'hierarchy = { dates = ["month", "quarter", "year"] }'
"""The line of a draft by which dates are generalized."""
Hint = Callable[[str, str], list[str]]
"""What is known of a column of a table by its name: the lines of its section; none where nothing is."""


class Join(NamedTuple):
    """A column that holds the keys of another table, and the share of its rows that have one."""

    table: str
    column: str
    above: str
    key: str
    share: float


@dataclass(frozen=True)
class LinkedDraft:
    """A draft of a linked policy.

    Attributes
    ----------
    text
        The policy file, with comments and questions.
    joins
        The join of each table but that of the people.
    left_out
        Tables that join no other.
    hierarchies
        The hierarchies that the policy names, by their files.
    notes
        What was done with other tables and columns, in words.
    """

    text: str
    joins: tuple[Join, ...]
    left_out: tuple[str, ...] = ()
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def questions(self) -> int:
        """How many columns have the role ``?``."""
        return len(re.findall(r'^role = "\?', self.text, re.MULTILINE))

    def drawing(self) -> list[str]:
        """Draw the tables as a tree, a line each."""
        lines = tree_of_joins(self.joins)
        return [f"{'   ' * depth}{name}" + (f" ({words})" if words else "") for depth, name, words in lines]


def tree_of_joins(joins: Sequence[Join]) -> list[tuple[int, str, str]]:
    """Return the tables as lines of a tree: the depth, the name, and the join in words.

    Examples
    --------
    >>> tree_of_joins([Join("visit", "of", "person", "id", 1.0)])
    [(0, 'person', ''), (1, 'visit', 'its of is person.id')]
    """
    below = {join.table for join in joins}
    roots = [name for name in dict.fromkeys(join.above for join in joins) if name not in below]

    def lines(name: str, depth: int, words: str) -> Iterator[tuple[int, str, str]]:
        yield depth, name, words
        for join in joins:
            if join.above == name:
                yield from lines(join.table, depth + 1, f"its {join.column} is {name}.{join.key}")

    return [line for root in roots for line in lines(root, 0, "")]


def has_different_tables(path: Path) -> bool:
    """Say whether a folder has several files with different columns, and not one table in parts."""
    if len(files := files_of(path)) < 2:
        return False
    try:
        heads = {_head(file) for file in files.values()}
    except (OSError, EOFError, ValueError, pl.exceptions.PolarsError):
        # Whoever reads the files says which is damaged.
        return False
    return len(heads) == len(files)


def _head(file: Path) -> str:
    """Return the names of the columns of a file, without reading a row."""
    if file.suffix in (".parquet", ".pq"):
        return repr([*pl.read_parquet_schema(file)])
    with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
        return repr(lines.readline())


def files_of(folder: Path) -> dict[str, Path]:
    """Return the files of tables of a folder by the names that tables get."""
    paths = sorted(path for path in folder.iterdir() if path.name.lower().endswith(_KINDS))
    return {re.sub(r"[^A-Za-z0-9_-]", "-", path.name.partition(".")[0]): path for path in paths}


def find_joins(tables: Mapping[str, pl.DataFrame]) -> list[Join]:
    """Find the columns that hold keys of another table, by their values and names.

    A key has a value of its own in each row. Between columns of one name nearly all values have to be keys.
    Columns of other names have to hold texts, all of them keys.
    """
    # Polars looks a column up by its name where texts are compared, and takes ^name$ for a pattern.
    keys = {
        (name, column.name): column.alias("key")
        for name, frame in tables.items()
        for column in frame.get_columns()
        if frame.height > 1 and column.null_count() == 0 and column.n_unique() == frame.height
    }
    joins = []
    for name, frame in tables.items():
        for column in frame.get_columns():
            texts = column.cast(pl.String).alias("cell")
            is_short = bool(texts.str.contains(r"^(\d*|.{0,2})$").any())
            for (above, key), values in keys.items():
                if above == name or not frame.height:
                    continue
                same = column.name == key
                # Numbers from 1 are in every other column of such numbers, and many tables have an "id".
                if key in ANY_KEY and (name, key) in keys if same else is_short:
                    continue
                share = float(texts.is_in(values.cast(pl.String).implode()).sum()) / frame.height
                if share >= (_INCLUDED if same else 1.0):
                    joins.append(Join(name, column.name, above, key, share))
    return joins


def points_of_joins(joins: Iterable[Join]) -> list[Point]:
    """Return a point for each column that joins tables although no policy says so."""
    # Two keys of the same values join each other.
    first = {frozenset(((join.table, join.column), (join.above, join.key))): join for join in joins}
    return [
        Point(
            "repeated-id",
            (f"{join.table}.{join.column}",),
            join.share,
            f"{join.column} of {join.table} holds the keys {join.above}.{join.key}, and the policy names "
            "no such join: whoever joins the tables by it knows more than the views that were counted.",
            "Name the join, give the column another pseudonym, or leave it out.",
        )
        for join in first.values()
    ]


def draft_linked(folder: str | os.PathLike[str]) -> LinkedDraft:
    """Draft the policy of the tables of a folder.

    Raises
    ------
    TableError
        When no table joins another.
    """
    from incrowd.engines import loaded

    files = files_of(Path(folder))
    tables: dict[str, pl.DataFrame] = {name: loaded(path) for name, path in files.items()}
    chosen = _tree(find_joins(tables), tables)
    if not chosen:
        raise TableError(
            f"{folder}: no column of {named(tables)} holds the keys of another table; write [[linked]] with "
            "join by hand"
        )
    linked = [name for name in tables if any(name in (join.table, join.above) for join in chosen.values())]
    left_out = tuple(name for name in tables if name not in linked)
    text = draft_text(
        Path(folder).name,
        {name: tables[name] for name in linked},
        {name: path.name for name, path in files.items()},
        chosen,
    )
    return LinkedDraft(text, tuple(chosen.values()), left_out)


def draft_text(
    title: str,
    tables: Mapping[str, pl.DataFrame],
    files: Mapping[str, str],
    chosen: Mapping[str, Join],
    hint: Hint = lambda table, column: [],
) -> str:
    """Write the draft of a policy.

    Parameters
    ----------
    title
        What the tables are called together.
    tables, files
        The linked tables, and the file of each.
    chosen
        The join of each table but that of the people.
    hint
        What is known of columns by their names; the others are guessed as those of any table.
    """
    [root] = [name for name in tables if name not in chosen]
    order = [root, *(name for name in tables if name != root)]
    lines = [
        f"# A draft for the tables of {toml_value(title)}: roles and joins are guesses.",
        "version = 1",
        "# Largest share of people who may leave all tables, as they cannot be hidden.",
        "max_suppression = 0.05",
        "",
        "# known: how many rows of a person somebody may know who looks for that person; \"all\" is safest.",
    ]  # fmt: skip
    for name in order:
        settings: dict[str, Any] = {"name": name, "file": files[name]}
        if name in chosen:
            settings |= {
                "join": {chosen[name].column: f"{chosen[name].above}.{chosen[name].key}"},
                "known": 2,
            }
        lines += ["", "[[linked]]", *toml_settings(settings)]
    keys = {(join.above, join.key) for join in chosen.values()}
    people = {key for above, key in keys if above == root}

    @cache
    def sections(name: str) -> dict[str, list[str]]:
        return _sections(draft_policy(tables[name], name).text)

    for name in order:
        for column in tables[name].columns:
            if name in chosen and column == chosen[name].column:
                continue
            lines += ["", f"[columns.{toml_value(f'{name}.{column}')}]"]
            if (name, column) in keys:
                role = "person" if name == root else "insensitive"
                lines += [
                    f'role = "{role}"  # tables join by it',
                    'treat = { pseudonym = "hmac", key = "env:INCROWD_KEY" }',
                ]
            elif name != root and column in people:
                lines.append('role = "identifying"  # the join tells it already')
            else:
                lines += hint(name, column) or sections(name)[column]
    return "\n".join(lines) + '\n\n[[models]]\nmodel = "k-anonymity"\nk = 5\n'


def _tree(joins: list[Join], tables: Mapping[str, pl.DataFrame]) -> dict[str, Join]:
    """Choose a join for each table, so that they lead to the table that most others reach."""

    def below(name: str) -> set[str]:
        found = {name}
        while more := {join.table for join in joins if join.above in found} - found:
            found |= more
        return found

    # A table of people comes before a table of the same keys that holds more of each person.
    root = max(tables, key=lambda name: (len(below(name)), "person" in name or "patient" in name))
    chosen: dict[str, Join] = {}
    reached = [root]
    for above in reached:
        for join in joins:
            if (
                join.above == above
                and join.table not in (*chosen, root)
                and (whole := _best(join, joins, root))
            ):
                chosen[join.table] = whole
                reached.append(join.table)
    return chosen


def _best(join: Join, joins: list[Join], root: str) -> Join | None:
    """Return a complete join below another table than the people's where there is one, else the join."""
    deeper = [
        each
        for each in joins
        if each.table == join.table
        and each.above != root
        and each.share == 1.0
        and any(upper.table == each.above and upper.above == root for upper in joins)
        and not any(back.table == each.above and back.above == each.table for back in joins)
    ]
    return deeper[0] if deeper else join


def _sections(text: str) -> dict[str, list[str]]:
    """Return the lines of each column of a drafted policy."""
    import tomllib

    result = {}
    for key, body in re.findall(r"^\[columns\.(.+)\]\n((?:.+\n)*)", text, re.MULTILINE):
        [column] = tomllib.loads(f"{key} = 1")
        result[column] = body.splitlines()
    return result
