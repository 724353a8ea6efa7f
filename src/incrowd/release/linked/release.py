"""anonymize_linked(): one recoding of several tables, whose people are hidden in all of them together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import to_json
from incrowd.core.errors import TableError
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.io.publishing import publishing
from incrowd.core.io.scratch import PrivateFolder
from incrowd.core.io.seals import digest_of
from incrowd.core.io.targets import INTERNAL, writing
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import with_keyword_hints
from incrowd.core.progress import Clock, Progress, Silent, in_job, interrupting, with_bar
from incrowd.core.recoding.cells import starred_nodes
from incrowd.engines import MemoryEngine
from incrowd.release.accounts.points import unprotected
from incrowd.release.accounts.statements import versions
from incrowd.release.jobs.make.account import published_account, published_policy
from incrowd.release.jobs.make.anonymize import anonymize, start_search
from incrowd.release.linked.databases import DOCUMENTS, documents_of, opened, placed, places_for
from incrowd.release.linked.judged import JoinedView
from incrowd.release.linked.policy import LinkedPolicy
from incrowd.release.linked.search import ChosenLevels, Limits, search_levels
from incrowd.release.linked.tables import LinkedRows
from incrowd.release.linked.views import Knowledge
from incrowd_gate import wording
from incrowd_gate.points import UNANSWERED, Point, Unanswered, answered
from incrowd_gate.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.engines.dialects.addresses import Address
    from incrowd.engines.sql.databases import Database
    from incrowd.release.jobs.make.release import Release
    from incrowd.release.policy.policy import Policy
    from incrowd_gate.points import Accepted

OF_KEYS = ("unique-column", "unique-together", "repeated-id")
"""Points of columns that join: the joined view answers whom they single out."""
_MUCH = 0.2
"""Share of people left out that somebody has to answer for, as of records elsewhere."""
OF_ROWS = ("suppressed-records", "much-suppressed", "nothing-left")
"""Points of rows that are ``*`` throughout, which views count as any others."""


@dataclass(frozen=True, kw_only=True)
class LinkedRelease(InNotebooks):
    """Released tables whose people are hidden in all of them together.

    Attributes
    ----------
    policy
        The terms.
    releases
        The release of each table, with its account.
    view
        The joined view of the released tables, measured anew.
    levels
        The level of each quasi-identifier, by ``TABLE.COLUMN``.
    left_out
        People who left all tables, as they could not be hidden.
    nobody
        Rows of each raw table that belonged to nobody, and are left out.
    points
        The points of each table, and of each table beside the rows above, called ``TABLE.COLUMN``.
    """

    policy: LinkedPolicy
    releases: Mapping[str, Release]
    view: JoinedView
    levels: Mapping[str, int]
    left_out: int
    nobody: Mapping[str, int]
    points: tuple[Point, ...]
    seconds: Mapping[str, float]
    sources: tuple[Any, ...] = ()
    _rows_left_out: Mapping[str, NDArray[np.int64]]
    _raw: LinkedRows
    """The raw rows that leave, which an entry of a ledger finds people and known rows again by."""

    _shown = ("people", "left_out", "smallest", "alone", "levels", "models", "tables")

    @property
    def tables(self) -> dict[str, Any]:
        """The released tables by name, each of the kind of frame that came in."""
        return {name: release.table for name, release in self.releases.items()}

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict on the tables together: holds, open or broken, with the points."""
        return Verdict(answered((*self.view.points, *self.points), self.policy.terms.accepted))

    def accepting(self, answers: Iterable[Accepted]) -> LinkedRelease:
        """Return the release under a policy that accepts further points, which every account repeats."""
        new = tuple(answers)
        own = replace(self.policy, terms=replace(self.policy.terms, accepted=new))
        whole = replace(self.policy.terms, accepted=(*self.policy.terms.accepted, *new))
        policy = replace(self.policy, terms=whole)
        releases = {
            name: each.accepting((own.alone if len(own.tables) == 1 else own.policy_of(name)).accepted)
            for name, each in self.releases.items()
        }
        return replace(self, policy=policy, releases=releases, view=replace(self.view, policy=policy))

    def __repr__(self) -> str:
        tables = ", ".join(f"{name} {rows:,}" for name, rows in self.view.records.items())
        return (
            f"LinkedRelease({self.view.people:,} people, {self.left_out:,} left out; {tables}; "
            f"{self.verdict.brief})"
        )

    def sentences(self) -> list[str]:
        """Describe the tables together, then the level of each column."""
        nobody = ", ".join(f"{name} {rows:,}" for name, rows in self.nobody.items() if rows)
        return [
            *self.view.sentences(),
            f"{self.left_out:,} of {self.view.people + self.left_out:,} people could not be hidden.",
            *([f"Rows that belonged to nobody are left out: {nobody}."] if nobody else []),
            *(f"{column}: level {level}." for column, level in self.levels.items()),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without any value of the tables."""
        return {
            **self.view.to_dict(),
            "verdict": self.verdict.to_dict(),
            "left_out": self.left_out,
            "levels": dict(self.levels),
            "loss": {name: release.utility["loss"].to_dict() for name, release in self.releases.items()},
            "seconds": dict(self.seconds),
        }

    @in_job
    def save(
        self, folder: str | os.PathLike[str], *, force: bool = False, progress: Progress | None = None
    ) -> None:
        """Write all tables, their policies and the account into a folder, completely or not at all.

        Each table has the name of its file. ``policy.toml`` is the policy of all tables together, as it may
        be published, and ``policies/TABLE`` has that of each table alone. ``release.json`` is the account.
        The folder ``internal`` has raw values: do not hand it out.

        Raises
        ------
        TableError
            When the folder has files already (unless `force`) or cannot be written.
        InfeasibleError
            When the verdict is broken.
        """
        self.verdict.refuse(only_broken=True)
        with writing(folder, force=force, folder=True, parents=True, sources=self.sources) as path:
            for name, release in self.releases.items():
                file = path / self.policy[name].file
                file.parent.mkdir(parents=True, exist_ok=True)
                release.write(file, progress=progress)
            self._describe(path, [table.file for table in self.policy.tables])
            internal = path / INTERNAL
            internal.mkdir(0o700)
            for name, release in self.releases.items():
                (internal / name).mkdir(0o700)
                release.recoding.save(internal / name / "recoding")
                if name in self._rows_left_out:
                    rows = pl.DataFrame({"row": self._rows_left_out[name] + 1})
                    rows.write_csv(internal / name / "suppressed.csv")
            self.policy.write(internal / "policy.toml")
            (internal / "DO-NOT-PUBLISH.txt").write_text(
                "This folder has values of the tables before they were recoded, and numbers of the rows\n"
                "that were left out. Keep it where the data itself is kept.\n",
                encoding="utf-8",
                newline="\n",
            )

    @in_job
    def into(
        self,
        database: Database | Address | str,
        schema: str | None = None,
        *,
        force: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Make the tables in a database, all in one transaction, completely or not at all.

        Each table has its name in the policy. Beside them the table ``incrowd_release`` has a row for each
        file that `save` writes to be published: policies and the account. The tables are read back, and
        their joined view is judged, before the transaction ends.

        Parameters
        ----------
        database
            The database, open or by its address. A file of DuckDB or SQLite that is not there is made.
        schema
            The schema of the tables; by default the one that the session begins in.
        force
            Whether tables are replaced that an earlier release made in that schema; never others.
        progress
            One that is `Cancellable` gives the work up; no table is then made.

        Raises
        ------
        TableError
            When a table exists (unless `force`) or cannot be made.
        InfeasibleError
            When the verdict is broken, or what was made does not satisfy the policy.

        Examples
        --------
        >>> import tempfile
        >>> import incrowd as ic
        >>> import polars as pl
        >>> tables = {
        ...     "person": pl.DataFrame({"id": [1, 2], "sex": ["f", "f"]}),
        ...     "visit": pl.DataFrame({"of": [1, 2], "ward": ["A", "A"]}),
        ... }
        >>> shape = [ic.LinkedTable("person"), ic.LinkedTable("visit", join={"of": "person.id"})]
        >>> schema = ic.Schema(["person.sex", "visit.ward"], insensitive=["person.id"])
        >>> policy = ic.LinkedPolicy(shape, ic.Policy(schema, "k-anonymity:2"))
        >>> address = f"sqlite:///{tempfile.mkdtemp()}/safe.db"
        >>> ic.anonymize_linked(tables, policy, unanswered="write").into(address)
        >>> with ic.Database(address) as database:
        ...     database.table("visit").columns
        ['of', 'ward']
        """
        self.verdict.refuse(only_broken=True)
        with PrivateFolder() as place:
            (place / "release").mkdir()
            self._describe(place / "release", ())
            frames = {DOCUMENTS: documents_of(place / "release")}
        for name, release in self.releases.items():
            frames[name] = MemoryEngine(release.texts).frame.to_polars()
        with publishing() as block, opened(database, sources=self.sources) as base:
            places = places_for(base, schema, self.policy.order, force=force)
            with interrupting(progress, base.interrupt), placed(base, places, frames) as tables:
                made = {name: tables[name] for name in self.policy.order}
                view = JoinedView.of_rows(LinkedRows.of_tables(made, self.policy, progress))
                view.verdict.refuse(only_broken=True)
                if (view.smallest, view.records) != (self.view.smallest, self.view.records):
                    raise TableError(f"{base.address}: other rows were made than counted; nothing was kept")
                # Only the commit is left. Where it fails, nobody can tell whether the tables are there.
                block.hold()
                block.placed = True
            block.done()

    def for_ledger(self, key: bytes) -> tuple[dict[str, Any], pl.DataFrame, pl.DataFrame | None]:
        """Return the parts of an entry of a ledger, as `Ledger.add` asks for them; without any value."""
        from incrowd.release.linked.recorded import record_of

        return record_of(self.releases, self.view, self._raw, key)

    def _describe(self, path: Path, files: Sequence[str]) -> None:
        """Write policies and the account, as they may be published, with digests of some files beside."""
        attributes = []
        own_of = {each.name: each for each in self.policy.terms.schema.attributes}
        for name, release in self.releases.items():
            (path / "policies" / name).mkdir(parents=True)
            published = published_policy(release.policy, release.frequency)
            published.write(path / "policies" / name / "policy.toml", private=False)
            attributes += [
                replace(
                    own,
                    hierarchy=each.hierarchy,
                    treatment=None if own.treatment is None else own.treatment.published(),
                )
                for each in published.schema.attributes
                if (own := own_of.get(f"{name}.{each.name}")) is not None
            ]
        schema = self.policy.terms.schema.with_attributes(attributes)
        tables = [replace(each, table="") for each in self.policy.tables]
        public = LinkedPolicy(tables, replace(self.policy.terms, schema=schema))
        public.write(path / "policy.toml", private=False)
        account = published_account(self.to_dict()) | {
            "incrowd": versions(None)["incrowd"],
            "files": {name: {"sha256": digest_of(path / name)} for name in (*files, "policy.toml")},
        }
        (path / "release.json").write_text(to_json(account) + "\n", encoding="utf-8", newline="\n")


@with_keyword_hints
@with_bar
@in_job
def anonymize_linked(
    tables: Any,
    policy: LinkedPolicy | str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    unanswered: Unanswered = "refuse",
) -> LinkedRelease:
    """Recode linked tables so that limits hold of the joined view of each person.

    Every column gets one level of its hierarchy. Whoever cannot be hidden leaves all tables. Keys, and dates
    shifted by the person, are changed in the same way in all tables, so the tables still join.

    Parameters
    ----------
    tables
        The tables by name, as frames or files, or the folder of their files. They are not changed.
    policy
        How they join and what is asked; a `LinkedPolicy`, or the path of its file.
    progress
        Told about the stages.
    unanswered
        What becomes of a release with open points, which the policy does not accept: ``refuse``, or ``write``
        to have it all the same.

    Raises
    ------
    InputError
        When a table or the policy is wrong.
    InfeasibleError
        When more people than `max_suppression` cannot be hidden, or the verdict is not that it holds; nothing
        is released.

    References
    ----------
    Nergiz, Clifton and Nergiz, Multirelational k-anonymity, IEEE TKDE 21(8), 2009; Terrovitis, Mamoulis and
    Kalnis, Privacy-preserving anonymization of set-valued data, PVLDB 1(1), 2008 (few known rows).

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> people = {"id": [1, 2, 3, 4], "sex": ["f", "f", "m", "m"]}
    >>> visits = {"of": [1, 2, 3, 4], "ward": ["A", "B", "A", "B"]}
    >>> tables = {"person": pl.DataFrame(people), "visit": pl.DataFrame(visits)}
    >>> policy = ic.LinkedPolicy(
    ...     [ic.LinkedTable("person"), ic.LinkedTable("visit", join={"of": "person.id"})],
    ...     ic.Policy(ic.Schema(["person.sex", "visit.ward"], insensitive=["person.id"]), "k-anonymity:2"),
    ... )
    >>> release = ic.anonymize_linked(tables, policy, unanswered="write")
    >>> release.view.smallest, release.levels
    (2, {'person.sex': 0, 'visit.ward': 1})
    """
    UNANSWERED.check(unanswered, "anonymize_linked", "unanswered")
    policy = policy if isinstance(policy, LinkedPolicy) else LinkedPolicy.read(policy)
    clock = Clock(progress or Silent())
    with clock.stage("read"):
        rows = LinkedRows.of_tables(tables, policy, progress)
    if len(policy.tables) == 1:
        return _of_one_table(rows, unanswered)
    with clock.stage("count"):
        counted = {
            name: start_search(
                rows.with_people(name), policy.policy_of(name), None, rows.formats[name], Clock(Silent())
            ).frequency
            for name in policy.order
        }
        knowledge = Knowledge.of_rows(policy, rows.rows, rows.people)
    with clock.stage("search"):
        limits = Limits.of_policy(policy, rows.series)
        result = search_levels(policy, counted, knowledge, limits)
    with clock.stage("apply"):
        staying = rows.only(result.present)
        blank = _blank(counted, result.levels)
        told = partial(_told, levels=result.levels, blank=blank)
        # The joined view is judged below.
        releases = {
            name: anonymize(
                staying.with_people(name),
                told(policy.policy_of(name), prefix=f"{name}."),
                csv_format=rows.formats[name],
                unanswered="write",
            )
            for name in policy.order
        }
    with clock.stage("check"):
        released = LinkedRows.of_tables({name: each.table for name, each in releases.items()}, policy)
        view = JoinedView.of_rows(released)
    with clock.stage("points"):
        points = _points(staying, releases, told)
        if len(blank) == len(policy.order):
            points = (*points, wording.nothing_left())
        if (share := 1 - result.present.mean()) > _MUCH:
            text = f"{wording.percent(share)} of the people left all tables, as they could not be hidden."
            points = (*points, replace(wording.much_suppressed(share), text=text))
    release = LinkedRelease(
        policy=policy,
        releases=releases,
        view=view,
        levels=result.levels,
        left_out=int((~result.present).sum()),
        nobody=rows.nobody,
        points=points,
        seconds=clock.seconds,
        sources=rows.sources,
        _rows_left_out={
            name: rows.numbers[name][~result.present[rows.rows[name].person]]
            for name in policy.order
            if name not in rows.unordered
        },
        _raw=staying,
    )
    release.verdict.admit(unanswered)
    return release


def _told(policy: Policy, levels: Mapping[str, int], blank: Mapping[str, Hierarchy], prefix: str) -> Policy:
    """Return the policy of a table at levels, with another root for columns of which nothing is left."""
    attributes = [
        replace(each, hierarchy=blank.get(f"{prefix}{each.name}", each.hierarchy), levels=None)
        if each.role == "quasi"
        else each
        for each in policy.schema.attributes
    ]
    chosen = {
        each.name: 1 if f"{prefix}{each.name}" in blank else levels[f"{prefix}{each.name}"]
        for each in policy.schema.quasi
    }
    schema = policy.schema.with_attributes(attributes)
    return replace(policy, schema=schema, algorithm=ChosenLevels(chosen))


def _blank(counted: Mapping[str, FrequencyTable], levels: Mapping[str, int]) -> dict[str, Hierarchy]:
    """Return a hierarchy of values and ``any`` for a column of each table that is ``*`` throughout.

    Rows of ``*`` alone are suppressed rows elsewhere. Here they say how many rows somebody has.
    """
    blank = {}
    for name, frequency in counted.items():
        paths = [f"{name}.{domain.name}" for domain in frequency.domains]
        if all(
            starred_nodes(domain)[domain.tree.climb(levels[path])].all()
            for path, domain in zip(paths, frequency.domains, strict=True)
        ):
            values = [value for value in frequency.domains[0].values if value is not None]
            blank[paths[0]] = Hierarchy.from_paths([value, "any"] for value in values)
    return blank


def _points(
    staying: LinkedRows,
    releases: Mapping[str, Release],
    told: Callable[..., Policy],
) -> tuple[Point, ...]:
    """Return the points of tables, and those that a table has only beside the rows above.

    Whom a joining column singles out, and whether few rows are alike, is what the joined view answers. A
    sensitive column is protected where a model of the joined view is about it.
    """
    policy = staying.policy
    terms = policy.terms
    open_columns = unprotected(terms.models, [each.name for each in terms.schema.sensitive])
    points: dict[tuple[str, tuple[str, ...]], Point] = {}
    for name in policy.order:
        own = [(f"{name}.", point) for point in releases[name].points]
        if policy[name].above is not None:
            beside = anonymize(
                staying.beside(name), told(policy.joined_policy(name), prefix=""), unanswered="write"
            )
            own += [("", point) for point in beside.points]
        for prefix, point in own:
            columns = tuple(f"{prefix}{column}" for column in point.columns)
            sources = [policy.source_of(*column.split(".", 1)) for column in columns]
            of_key = any(source in policy.joining for source in sources)
            if (
                (of_key and point.name in OF_KEYS)
                or point.name in OF_ROWS
                or (point.name == "unprotected-sensitive" and not {*columns} & {*open_columns})
            ):
                continue
            where = f"{name}: " if prefix else f"{name} beside the rows above: "
            points.setdefault(
                (point.name, columns or (name,)), replace(point, columns=columns, text=where + point.text)
            )
    return tuple(points.values())


def _of_one_table(rows: LinkedRows, unanswered: Unanswered) -> LinkedRelease:
    """Release a table that no other joins, as `anonymize` does."""
    policy = rows.policy
    [name] = policy.order
    release = anonymize(
        rows.engines[name].native, policy.alone, csv_format=rows.formats[name], unanswered=unanswered
    )
    levels = release.recoding.decisions().get("levels", {})
    return LinkedRelease(
        policy=policy,
        releases={name: release},
        view=JoinedView.of_rows(LinkedRows.of_tables({name: release.table}, policy)),
        levels={f"{name}.{column}": level for column, level in levels.items()},
        left_out=release.left_out,
        nobody=rows.nobody,
        points=tuple(
            replace(each, columns=tuple(f"{name}.{column}" for column in each.columns))
            for each in release.points
        ),
        seconds=release.seconds,
        sources=rows.sources,
        _rows_left_out={name: np.array([], np.int64)},
        _raw=rows,
    )
