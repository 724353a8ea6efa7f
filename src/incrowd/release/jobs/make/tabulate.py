"""tabulate(): count tables that protect people, audited together."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import envelope, to_json
from incrowd.core.errors import InfeasibleError, ParameterError, quoted, those_are
from incrowd.core.io.addresses import file_path
from incrowd.core.io.columns import column_named
from incrowd.core.io.seals import digest_of
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.progress import Progress, Silent, in_job, interrupting, with_bar
from incrowd.engines import engine_for
from incrowd.engines.open import loaded
from incrowd.release.accounts.board import file_facts
from incrowd.release.accounts.statements import versions
from incrowd.release.policy.policy import Policy
from incrowd.release.report import heat
from incrowd.release.tables.audit import check_time, ending_after
from incrowd.release.tables.counting import Cells, count_cells, nested_codes
from incrowd.release.tables.heat import heat_of
from incrowd.release.tables.layout import CELL_SETTINGS, CountTable
from incrowd.release.tables.primary import OPEN_SHARE
from incrowd.release.tables.protect import MARK, PublishedTable, protect, way_of
from incrowd.release.tables.ring import is_too_large, ring_of
from incrowd_gate import wording
from incrowd_gate.points import UNANSWERED, Point, answered, in_order
from incrowd_gate.rules.columns import Values
from incrowd_gate.rules.count_tables import Quantity, hidden_share, points_of_sums
from incrowd_gate.rules.texts import points_of_column
from incrowd_gate.verdict import Verdict
from incrowd_gate.wording import percent

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.table.schema import Schema
    from incrowd.release.tables.cells import Axis
    from incrowd_gate.points import Unanswered

MANIFEST = "tables.json"
"""The file that says how the tables beside it are made, for a reader and for `verify`."""
_TRIAL_SECONDS = 2.0
"""The most that the search of a coarser table may take, of which a point tells."""
_LONGEST = 20
"""Characters of a label."""
_NUMBERS = {"nan", "inf", "infinity"}
"""What reads as a number and has no digit."""
KINDS = ("csv", "parquet", "xlsx")
"""Kinds of files that tables are written to."""


@with_bar
@in_job
def tabulate(
    table: Any,
    policy: Policy,
    tables: Sequence[CountTable] = (),
    *,
    seconds: float = 30.0,
    unanswered: Unanswered = "refuse",
    earlier: Sequence[Mapping[str, Any]] = (),
    csv_format: CsvFormat | None = None,
    progress: Progress | None = None,
) -> TableRelease:
    """Count tables, protect small cells, and audit all tables together.

    Tables that count the same are protected together: a cell that one hides and another tells is found.

    Parameters
    ----------
    table
        Whatever `anonymize` takes.
    policy
        The columns with their hierarchies, and the tables.
    tables
        Tables in place of those of the policy.
    seconds
        Time for the search of the best protection of each quantity, above 0. Protection and audit end with
        an error after twice that and ten seconds more.
    unanswered
        What becomes of tables with open points, as in `anonymize`: ``refuse`` or ``write``.
    earlier
        Earlier tables of the same data, as `Ledger.tables_of` returns them. They are protected together with
        these.
    csv_format
        How a CSV is written, where it is not plain.
    progress
        Told about the stages.

    Raises
    ------
    InputError
        When the table or the policy is wrong, or a table names a column that is not there.
    InfeasibleError
        When a small cell cannot be protected.
    VerdictError
        When the audit finds a cell that can be computed, or codes name or reach people and the policy does
        not accept it; nothing is released.

    Examples
    --------
    >>> import incrowd as ic
    >>> schema = ic.Schema(quasi={"age": ic.Hierarchy.intervals(20)}, sensitive=["ill"])
    >>> people = {"age": [25] * 9 + [35] * 9 + [45] * 8, "ill": [*"fffffgggh", *"ffffggggg", *"ffffgggg"]}
    >>> layout = ic.CountTable("ages", rows=["age:1"], columns=["ill"], threshold=3)
    >>> release = tabulate(pl.DataFrame(people), ic.Policy(schema), [layout])
    >>> release
    TableRelease(1 table, 4 of 12 cells suppressed; holds)
    """
    layouts = tuple(tables) or policy.tables
    if not layouts:
        raise ParameterError(
            "the policy has no table; add one: [[tables]] name = 'ages', rows = ['age'], columns = ['sex']"
        )
    UNANSWERED.check(unanswered, "tabulate", "unanswered")
    if policy.schema.weights is not None:
        raise ParameterError(
            f"{quoted(policy.schema.weights)} is the weight of each row, and count tables are not weighted: "
            "a count would be that of the sample, and read as that of the population. Give the column "
            "another role in a policy for tables, such as role = 'identifying', and say what is counted"
        )
    job = progress or Silent()
    job.stage("count")
    engine = engine_for(loaded(table, csv_format), progress=progress, starred=True)
    with interrupting(job, engine.interrupt):
        counts = [count_cells(engine, policy.schema, layout) for layout in layouts]
        again = [_count_again(engine, policy, document) for document in earlier]
        every = [*counts, *(each for each, _ in again)]
        units = dict.fromkeys(each.unit for each in counts)
        alike = {unit: [each for each in every if each.unit == unit] for unit in units}
        rings = {unit: _count_ring(engine, policy, tables) for unit, tables in alike.items()}
        nested = {unit: nested_codes(engine, policy.schema, tables) for unit, tables in alike.items()}
    job.stage("protect")
    published: dict[str, PublishedTable] = {}
    for unit in units:
        chosen = [each for each in counts if each.unit == unit]
        before = [each for each in again if each[0].unit == unit]
        _require_one_way(chosen, before)
        made = protect(chosen, seconds=seconds, earlier=before, ring=rings[unit], nested=nested[unit])
        published |= {each.layout.name: each for each in made}
    quantities = (
        Quantity(frozenset(axis.column for axis in each.axes), each.layout.sum, each.constant)
        for each in every
    )
    told = [*_points_of_tables(counts), *_points_of_rings(every), *points_of_sums(quantities)]
    much = [
        (cells, share)
        for cells in counts
        if (share := _hidden_share(published[cells.layout.name], cells)) is not None
    ]
    if much:
        job.stage("try coarser codes")
        with interrupting(job, engine.interrupt), ending_after(seconds):
            told += (
                wording.many_hidden(cells.layout.name, share, _trials(engine, policy, cells, seconds))
                for cells, share in much
            )
    points = answered(dict.fromkeys(told), policy.accepted)
    release = TableRelease(tuple(published[layout.name] for layout in layouts), points, policy.schema)
    release.verdict.refuse(only_broken=unanswered == "write")
    return release


def _count_ring(engine: Any, policy: Policy, tables: Sequence[Cells]) -> Cells | None:
    """Count the whole table of the columns that tie the tables of a quantity in a ring, for suppression.

    None where there is no ring, one that is too large, or another protection, which searches nothing.
    """
    ring = ring_of([each.axes for each in tables])
    if not ring or is_too_large(ring) or tables[0].layout.protect != "suppress":
        return None
    levels: dict[str, int] = {}
    for column, level in (pair for each in tables for pair in each.layout.dimensions):
        levels[column] = min(level, levels.get(column, level))
    rows = tuple(f"{axis.column}:{levels[axis.column]}" for axis in ring)
    changes: dict[str, Any] = {"rows": rows, "columns": (), **dict.fromkeys(CELL_SETTINGS, ())}
    return count_cells(engine, policy.schema, replace(tables[0].layout, **changes))


def _count_again(engine: Any, policy: Policy, document: Mapping[str, Any]) -> tuple[Cells, NDArray[np.bool_]]:
    """Return a table of an earlier release of the same data, counted again, with the suppressed cells.

    Raises
    ------
    InputError
        When the columns have other codes than then.
    """
    layout = CountTable.from_settings(document["layout"])
    cells = count_cells(engine, policy.schema, layout)
    hidden = np.zeros(len(cells.values), np.bool_)
    if [list(axis.codes) for axis in cells.axes] != document["codes"]:
        raise ParameterError(
            f"the ledger has a table {layout.name!r} of this data with other codes, so what it tells of "
            "these tables cannot be computed: give the hierarchies of that release"
        )
    hidden[document["hidden"]] = True
    return cells, hidden


def _require_one_way(tables: Sequence[Cells], earlier: Sequence[tuple[Cells, NDArray[np.bool_]]]) -> None:
    """Refuse to protect tables in another way than earlier tables of the same data."""
    for (cells, _), table in product(earlier, tables[:1]):
        then, now = cells.layout.protect, table.layout.protect
        if then != now or now == "round":
            raise ParameterError(
                f"the ledger has a table {cells.layout.name!r} of this data with protect = {then!r}, and "
                f"{now!r} beside it would tell more: "
                + ("round all tables of some data in one call" if now == then else f"protect = {then!r}")
            )


def _points_of_tables(tables: Sequence[Cells]) -> Iterator[Point]:
    """Yield the points of the codes of each column, where a table has the finest codes."""
    finest: dict[str, tuple[Cells, int]] = {}
    for table in tables:
        for place, axis in enumerate(table.axes):
            other = finest.get(axis.column)
            if other is None or axis.tree.height > other[0].axes[other[1]].tree.height:
                finest[axis.column] = table, place
    for table, place in finest.values():
        axis = table.axes[place]
        along = np.moveaxis(table.people.reshape(table.shape), place, 0).reshape(len(axis.codes), -1)[:, 0]
        yield from points_of_codes(axis, along, max(int(table.people[0]), 1))


def points_of_codes(axis: Axis, people: NDArray[np.int64], all_people: int) -> Iterator[Point]:
    """Yield the points of the codes that leave: texts that name or reach people, and sentences.

    The finest codes come first, and then each depth below the total: a group may be called by a name, too.

    - `people`: int64[codes]: how many people have each code.
    """
    names: set[str] = set()
    at_depths = [np.flatnonzero(axis.tree.depths == depth) for depth in range(1, axis.tree.height)]
    for codes in [axis.tree.leaves.astype(np.int64), *at_depths]:
        texts = pl.Series([axis.codes[code] for code in codes], dtype=pl.String)
        labels = Values(texts, people[codes], are_labels=True)
        for point in points_of_column(axis.column, labels, all_people):
            if point.name not in names:
                yield point
            names.add(point.name)


def _points_of_rings(tables: Sequence[Cells]) -> Iterator[Point]:
    """Yield a point for each quantity with tables connected in a ring that is too large."""
    for unit in dict.fromkeys(each.unit for each in tables):
        ring = ring_of([each.axes for each in tables if each.unit == unit])
        if is_too_large(ring):
            yield wording.linked_tables([axis.column for axis in ring])


def _hidden_share(table: PublishedTable, cells: Cells) -> float | None:
    """Return the share of the hidden cells of a table, if high enough for a point."""
    return hidden_share(int(table.hidden.sum()), int((cells.people > 0).sum()))


def _trials(engine: Any, policy: Policy, cells: Cells, seconds: float) -> str:
    """Try the table with coarser codes of each column, or without the column, and tell the hidden shares.

    It says nothing of what was not tried in time.
    """
    layout, shares = cells.layout, dict[str, float]()
    for axis, (column, level) in zip(cells.axes, layout.dimensions, strict=True):
        is_coarser = axis.tree.height > 1
        sides = layout.sides_with(column, 1 if is_coarser else None)
        if not any(sides.values()):
            continue
        changes: dict[str, Any] = sides | dict.fromkeys(CELL_SETTINGS, ())
        with suppress(InfeasibleError):
            check_time()
            other = count_cells(engine, policy.schema, replace(layout, **changes))
            [table] = protect([other], seconds=min(seconds, _TRIAL_SECONDS))
            name = f"With {column}:{level + 1}" if is_coarser else f"Without {column}"
            shares[name] = float(table.hidden[other.people > 0].mean())
    best = sorted(shares, key=shares.__getitem__)[:2]
    return " ".join(f"{name} {percent(shares[name])} are not shown." for name in best)


@dataclass(frozen=True)
class TableRelease:
    """Tables ready for publication, with the verdict of the audit.

    Attributes
    ----------
    tables
        Each table.
    points
        Points of the codes of the tables, with the reasons of those that the policy accepts.
    schema
        The columns, by which a ledger finds people again.
    """

    tables: tuple[PublishedTable, ...]
    points: tuple[Point, ...]
    schema: Schema = field(repr=False)

    def __getitem__(self, name: str) -> pl.DataFrame:
        """Return a table by name: a line per cell with the codes, the value and a mark if suppressed.

        Raises
        ------
        ParameterError
        """
        for each in self.tables:
            if each.layout.name == name:
                return each.frame
        names = [each.layout.name for each in self.tables]
        raise ParameterError(f"there is no table {name!r}; {those_are(names, name)}")

    def __repr__(self) -> str:
        number = len(self.tables)
        cells = sum(len(each.values) for each in self.tables)
        hidden = sum(int(each.hidden.sum()) for each in self.tables)
        tables = "1 table" if number == 1 else f"{number} tables"
        return f"TableRelease({tables}, {hidden:,} of {cells:,} cells suppressed; {self.verdict.brief})"

    def _repr_html_(self) -> str:
        shown = [f"<style>{heat.STYLE}</style>"]
        for each in self.tables:
            title = html.escape(f"{each.layout.name}: {sentence_of(each)}")
            shown.append(f"<p>{title}</p>{heat.to_html(heat_of(each, short=True))}")
        return "".join(shown) + self.verdict._repr_html_()

    @property
    def verdict(self) -> Verdict:
        """The verdict of the audit: broken where a cell can be computed more closely than the rule allows."""
        told = (
            Point(
                "cell",
                (),
                each.unsafe / len(each.values),
                f"Table {each.layout.name}: {each.unsafe:,} cell{'s' * (each.unsafe > 1)} can be computed "
                "too closely.",
                "Use coarser codes, a larger base or deviation, or protect = 'suppress'.",
                subject=each.layout.name,
            )
            for each in self.tables
            if each.unsafe
        )
        return Verdict(tuple(in_order([*told, *self.points])))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: the verdict, and how each table is made."""
        return {
            **envelope("tables"),
            "verdict": self.verdict.to_dict(),
            "mark": MARK,
            "tables": [each.to_dict() for each in self.tables],
        }

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        internal: bool = False,
        force: bool = False,
        folder: str | os.PathLike[str] | None = None,
        recipient: str = "",
        purpose: str = "",
        owner: str = "",
    ) -> None:
        """Write a page that shows every table with shaded cells, the verdict and the rules.

        The page may be published: it tells no more than the tables themselves. With `internal` it also tells
        which suppressed cells are primary, and what each secondary one costs, and says that it is internal.

        Parameters
        ----------
        path, force
            As in `incrowd.release.report.pages.write_report`, with its errors; an ``.html``.
        internal
            Whether it may narrow down what is suppressed; by default it does not.
        folder
            The folder that `save` wrote: name, date and SHA-256 of its ``tables.json`` are on the page.
        recipient, purpose, owner
            For whom and why the tables are made, and whose data set they are of, in words. Without them there
            is room to write.
        """
        from incrowd.release.report.pages import write_report

        if file_path(path).suffix.lower() != ".html":
            raise ParameterError(f"{Path(path)}: a report of count tables is written as .html")
        about: dict[str, Any] = {"recipient": recipient, "purpose": purpose, "owner": owner}
        write_report(self.document(internal=internal, folder=folder, **about), path, force=force)

    def document(
        self,
        *,
        internal: bool = False,
        folder: str | os.PathLike[str] | None = None,
        recipient: str = "",
        purpose: str = "",
        owner: str = "",
    ) -> dict[str, Any]:
        """Return the contents of the report, with the parameters of `report`."""
        cells = sum(len(each.values) for each in self.tables)
        hidden = sum(int(each.hidden.sum()) for each in self.tables)
        facts = file_facts(None)
        if folder is not None:
            name, written = f"{Path(folder).name}/{MANIFEST}", Path(getattr(folder, "temporary", folder))
            facts = [("Tables", name), *file_facts(written / MANIFEST)[1:]]
        sentences = [
            f"{each.layout.name}: {said(each)}"
            for each in self.tables
            for said in (rules_of, *((sentence_of,) if internal else ()))
        ]
        return {
            "kind": "tables",
            "internal": internal,
            "title": "Release of count tables",
            "verdict": self.verdict.to_dict(),
            "board": {
                "cards": [
                    ("Tables", f"{len(self.tables):,}", "audited together"),
                    ("Cells", f"{cells:,}", "with totals"),
                    ("Not shown", f"{hidden:,}", f"{percent(hidden / cells)} of the cells"),
                ],
                "table": facts,
                "audience": [("Data set and owner", owner), ("For whom", recipient), ("Why", purpose)],
            },
            "sentences": sentences,
            "heat": [heat_of(each, internal=internal) for each in self.tables],
            "reproduce": versions(None),
        }

    def documents(self) -> list[dict[str, Any]]:
        """Return the tables as a ledger stores tables: layout, trees of codes, suppressed cells, people."""
        return [
            {
                "layout": each.layout.settings(),
                "codes": [list(axis.codes) for axis in each.axes],
                "under": [axis.tree.parents.tolist() for axis in each.axes],
                "hidden": np.flatnonzero(each.hidden).tolist(),
                "people": each.people,
            }
            for each in self.tables
        ]

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        kinds: Sequence[str] = ("csv",),
        force: bool = False,
        label: str | None = None,
        escape_formulas: bool = False,
    ) -> list[Path]:
        """Write every table, and ``tables.json``, into a new folder.

        Parameters
        ----------
        folder
            A new or empty folder, or with `force` one of an earlier release.
        kinds
            Kinds of files: csv and parquet have a line per cell; xlsx is one workbook with a sheet a table.
        label
            What stands in place of a suppressed value in a CSV and in the workbook, such as ``[c]``. Without
            it the value is empty in a CSV, and an ``x`` in the workbook. It says no number.
        escape_formulas
            Whether codes in a CSV that a spreadsheet would run as formulas get ``'`` in front.

        Returns
        -------
        The paths of what was written.

        Raises
        ------
        ParameterError
            For an unknown kind, or a label that says a number or that a spreadsheet would run.
        TableError
            When the folder cannot be written.
        """
        from incrowd.core.io.files import escape
        from incrowd.core.io.targets import writing
        from incrowd.release.tables.workbook import write_workbook

        for kind in kinds:
            if kind not in KINDS:
                raise ParameterError(f"tables are written as {', '.join(KINDS)}, not as {kind!r}")
        if label is not None:
            _check_label(label)
        files: dict[str, dict[str, str]] = {}
        with writing(folder, force=force, folder=True, parents=True) as path:
            for each in self.tables:
                if "csv" in kinds:
                    frame = escape(each.frame) if escape_formulas else each.frame
                    if label is not None:
                        values = column_named(each.quantity).cast(pl.String).fill_null(label)
                        frame = frame.with_columns(values)
                    frame.write_csv(path / f"{each.layout.name}.csv")
                if "parquet" in kinds:
                    each.frame.write_parquet(path / f"{each.layout.name}.parquet")
            if "xlsx" in kinds:
                write_workbook(self.tables, path / "tables.xlsx", label or MARK)
            names = sorted(file.name for file in path.iterdir())
            files = {name: {"sha256": digest_of(path / name)} for name in names}
            document = self.to_dict() | {"files": files}
            said: dict[str, Any] = {"escaped": True} if escape_formulas else {}
            said |= {} if label is None else {"label": label}
            document["tables"] = [entry | said for entry in document["tables"]]
            text = to_json(document)
            (path / MANIFEST).write_text(text + "\n", encoding="utf-8", newline="\n")
        return [Path(folder) / name for name in (*files, MANIFEST)]


def _check_label(label: str) -> None:
    """Refuse a label that says a number, or that breaks a file."""
    if not isinstance(label, str) or not label.strip() or label != label.strip() or len(label) > _LONGEST:
        raise ParameterError(
            f"label: it is 1 to {_LONGEST} characters that stand in place of a suppressed value, as '[c]'"
        )
    if not label.isprintable() or label[0] in "=+@":
        raise ParameterError("label: a spreadsheet would run it or break the line; take another, as '[c]'")
    if label.casefold().lstrip("-") in _NUMBERS or any(
        sign.isnumeric() or sign in "<>\u2264\u2265" for sign in label
    ):
        raise ParameterError(
            f"label: {label!r} says how large a suppressed value is. Cells that are suppressed for the sake "
            "of others may be larger, and the audit counts on it that nobody knows: take a sign, as '[c]' "
            "or '..'"
        )


def rules_of(table: PublishedTable) -> str:
    """Return a sentence on the protection of a table that tells no more than the table itself."""
    layout, hidden = table.layout, int(table.hidden.sum())
    if layout.protect != "suppress":
        return sentence_of(table)
    width = f"{OPEN_SHARE:.0%} of its value" if layout.sum is not None else f"{layout.open_width:,}"
    unsafe = [f"those of fewer than {layout.threshold} people"]
    unsafe += [f"those whose {rule.words}" for rule in layout.sum_rules]
    if layout.hidden:
        unsafe.append("those that the policy names")
    further = ""
    if layout.sum is not None and len(unsafe) == 1 + bool(layout.hidden):
        further = " No rule asks whether few people make most of a sum."
    if waived := len(layout.waived):
        further += f" {waived:,} cell{'s' * (waived > 1)} may be shown although unsafe, as tables.json says."
    return (
        f"{hidden:,} of {len(table.values):,} cells are suppressed: {', '.join(unsafe)}, and others that "
        f"would tell them. What is shown leaves each of them open by {width} or more.{further}"
    )


def sentence_of(table: PublishedTable) -> str:
    """Return a sentence on the cells that the protection of a table hides or changes.

    Example: ``12 of 120 cells are suppressed: 5 small ones, and 7 that would tell them.``
    """
    cells, layout = f"{len(table.values):,} cells", table.layout
    if layout.protect != "suppress":
        return f"all of {cells}: {way_of(table)}."
    hidden = int(table.hidden.sum())
    if not hidden:
        return f"no cell of {cells} is small, so all are shown."
    small, what = int(table.primary.sum()), "small or hidden by the policy" if layout.hidden else "small"
    text = f"{hidden:,} of {cells} are suppressed: {small:,} {what}, {hidden - small:,} for them"
    return f"{text}." if not table.gap else f"{text}; a better choice may cost {table.gap:.1%} less."
