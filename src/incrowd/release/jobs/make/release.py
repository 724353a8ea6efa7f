"""A released table with an account."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from incrowd.core.documents import to_json
from incrowd.core.errors import TableError
from incrowd.core.io.kinds.files import usual_suffix
from incrowd.core.io.publishing import publishing
from incrowd.core.io.seals import digest_of
from incrowd.core.io.targets import INTERNAL
from incrowd.core.lazy import pl
from incrowd.core.progress import in_job, interrupting
from incrowd.engines import engine_for
from incrowd.release.accounts.row_map import ROW_MAP, map_of, write_row_map
from incrowd.release.accounts.statements import versions
from incrowd.release.jobs.make.account import Account, published_account, published_policy
from incrowd.release.jobs.make.reasons import SUPPRESSED_ROWS, reason_table, reasons_of_rows
from incrowd.release.jobs.make.released_rows import model_verdict

if TYPE_CHECKING:
    from incrowd.core.progress import Progress
    from incrowd.release.report.plots import ReleasePlots
    from incrowd_gate.points import Accepted
    from incrowd_gate.profiles import Attestation


_WRITE = "; write a file with release.write('safe.csv'), whose name says the kind"
_TABLE = "; the released rows are release.table, of the kind of frame that came in"
_WAYS = dict.fromkeys(("to_csv", "to_parquet", "to_excel", "write_csv", "write_parquet"), _WRITE)
_WAYS |= dict.fromkeys(
    ("to_pandas", "to_polars", "to_frame", "frame", "data", "df", "head", "columns"), _TABLE
)


@dataclass(frozen=True, kw_only=True)
class Release(Account):
    """A released table with an account.

    Attributes
    ----------
    policy, recoding, frequency, lattice
        What was decided; see `Decision`.
    table, texts, suppression, left_out
        The rows that leave; see `LeavingRows`.
    privacy, before, risk, utility, points, clauses, verdict, values, seconds
        What is said of these rows; see `Account`.
    """

    def __repr__(self) -> str:
        after = self.privacy
        left_out = f"{self.left_out:,} left out, " if self.left_out else ""
        return (
            f"Release({after.records:,} records, {after.suppressed:,} suppressed, {left_out}"
            f"{after.classes:,} classes; {model_verdict(self.values, self.verdict)})"
        )

    def accepting(self, answers: Iterable[Accepted], attested: Iterable[Attestation] = ()) -> Release:
        """Return the release with a policy that accepts further points, which the account repeats.

        Parameters
        ----------
        attested
            Further answers to clauses of the profile.
        """
        policy = replace(self.policy, accepted=(*self.policy.accepted, *answers))
        attestations = list(attested)
        if attestations and policy.profile is not None:
            policy = replace(policy, profile=policy.profile.attesting(attestations))
        release = replace(self, policy=policy)
        for name in ("before",) if attestations else ("before", "clauses"):
            if name in self.__dict__:
                release.__dict__[name] = self.__dict__[name]
        return release

    def __getattr__(self, name: str) -> NoReturn:
        """Raise for an unknown name, with the way out for names that tables have."""
        way_out = _WAYS.get(name, "")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{way_out}", name=name)

    def row_map(self) -> pl.DataFrame:
        """Return the raw row of each released row.

        The map is confidential: do not hand it out.

        Returns
        -------
        A Polars frame with ``row``, a row for every released one: the number of the raw row, from 1.

        Raises
        ------
        TableError
            When the rows have no order, as those of a database and on Spark.

        Examples
        --------
        >>> import incrowd as ic
        >>> table = ic.samples.hospital(100)
        >>> release = ic.anonymize(table, ic.Schema(quasi=["age"], unlisted="drop"), "k-anonymity:5")
        >>> sorted(release.row_map()["row"])[:3]
        [1, 2, 3]
        """
        self._require_order()
        return map_of(self.order, self.privacy.records, self.places)

    def suppressed_rows(self) -> pl.DataFrame:
        """Return the raw rows that were suppressed, with the reason of each.

        Do not hand them out.

        Returns
        -------
        A Polars frame with ``row``, the number of the raw row, from 1, and ``reason``, as in `Reason`.

        Raises
        ------
        TableError
            When the rows are not in memory, as those of a folder of files, of a database and on Spark.

        Examples
        --------
        >>> import incrowd as ic
        >>> import polars as pl
        >>> table = pl.DataFrame({"town": [*"AAAAAAAAAB"]})
        >>> release = ic.anonymize(
        ...     table, ic.Schema(["town"]), "k-anonymity:5", "optimal", max_suppression=0.1
        ... )
        >>> release.suppressed_rows().rows()
        [(10, 'class')]
        """
        reasons = None if self.reasons is None else reasons_of_rows(self.frequency, self.reasons)
        if reasons is None:
            raise TableError("the rows of this release are not in memory, so they have no numbers")
        return reason_table(reasons)

    def write_row_map(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the row map as a private Parquet file (mode 0600).

        Raises
        ------
        TableError
            When the rows have no order, or the file exists (unless `force`) or cannot be written.
        """
        from incrowd.core.io.targets import writing

        self._require_order()
        with writing(path, force=force, private=True, sources=self.sources) as place:
            write_row_map(place, self.order, self.privacy.records, self.places)

    def _require_order(self) -> None:
        if self.order is None and not self.policy.keep_order:
            raise TableError("the rows of this release never had an order, so there is no map of them")

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        internal: bool = False,
        force: bool = False,
        file: str | os.PathLike[str] | None = None,
        recipient: str = "",
        purpose: str = "",
        owner: str = "",
        attacks: Sequence[Any] = (),
    ) -> None:
        """Write a report as ``.html``, ``.pdf`` or ``.json``: a page to decide by, then an appendix.

        The report may be published. Classes are described by released cells alone. Distributions before
        recoding are counted in bins that name nothing else. Losses, and figures of the raw table, have two
        significant digits. With `internal` the bins name raw values, figures are exact, and the report says
        so.

        Parameters
        ----------
        path, force
            As in `incrowd.release.report.pages.write_report`, with its errors.
        internal
            Whether the report names raw values; by default it does not.
        file
            The written table: name, date and SHA-256 are on the first page.
        recipient, purpose, owner
            For whom and why the release is made, and whose data set it is of, in words. Without them there is
            room to write.
        attacks
            Results of `attack` on this release, as `Attack` has them.
        """
        from incrowd.release.report.pages import write_report

        about: dict[str, Any] = {"recipient": recipient, "purpose": purpose, "owner": owner}
        document = self.document(internal=internal, file=file, attacks=attacks, **about)
        write_report(document, path, force=force)

    def write_codebook(
        self,
        path: str | os.PathLike[str],
        *,
        file: str | os.PathLike[str] | None = None,
        force: bool = False,
    ) -> None:
        """Write a codebook of the release for a data catalogue, of the kind that the ending tells.

        ``.csv`` is a data dictionary of REDCap, ``.xml`` a DDI Codebook 2.5, ``.json`` a description in
        Croissant 1.0. It names the released columns, says how each was recoded, and lists the values of
        quasi-identifiers that have few. Nothing in it is of the raw table.

        Parameters
        ----------
        path, force
            As in `incrowd.release.codebooks.write_codebook`, with its errors.
        file
            The written table: its name and SHA-256 are in the codebook.

        Raises
        ------
        InfeasibleError
            When the verdict is broken.
        """
        from incrowd.release.codebooks import kind_for, write_codebook
        from incrowd.release.jobs.make.codebook import description_of

        self.verdict.refuse(only_broken=True)
        kind_for(path)
        description = description_of(self.document(), self.texts, file)
        write_codebook(description, path, force=force, sources=self.sources)

    @property
    def plot(self) -> ReleasePlots:
        """Charts of the release: ``plot.classes()``, ``.risk()``, ``.front()`` and ``.column(name)``.

        Each is an Altair chart, which a notebook shows. They need the extra ``report``.

        Examples
        --------
        >>> import incrowd as ic
        >>> schema = ic.Schema(quasi={"age": ic.Hierarchy.intervals(10, 20, 40)}, unlisted="drop")
        >>> release = ic.anonymize(ic.samples.hospital(200), schema, "k-anonymity:5", "optimal")
        >>> type(release.plot.classes()).__name__
        'Chart'
        """
        from incrowd.release.report.plots import ReleasePlots

        return ReleasePlots(self.document())

    @in_job
    def write(
        self,
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        escape_formulas: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Write the table to a file of the kind that the file's name tells, completely or not at all.

        The file is written beside the target, read again, measured, and only then renamed. A table on Spark
        becomes a folder of Parquet files in the same way, and the path may have a scheme, as ``hdfs://``.
        With `escape_formulas` texts of a CSV that a spreadsheet would run as formulas get ``'`` in front.
        A `progress` that is `Cancellable` gives the writing up. Then nothing is left of it.

        Raises
        ------
        TableError
            When the file or folder exists (unless `force`) or cannot be written.
        InfeasibleError
            When the verdict is broken, or what was written does not satisfy the policy.
        """
        self.verdict.refuse(only_broken=True)
        self._write(path, force=force, escape_formulas=escape_formulas, progress=progress)

    @in_job
    def into(self, name: str, *, force: bool = False, progress: Progress | None = None) -> None:
        """Create a new table of the release in the database of the raw rows, completely or not at all.

        All happens in the transaction in which the rows were counted. The table is created, filled by the
        database, counted again and judged. Only then it is committed. This ends the snapshot, so write files
        before.

        Parameters
        ----------
        name
            The table, as in `Database.table`.
        force
            Whether a table of that name is replaced; never the one that is released.
        progress
            One that is `Cancellable` gives the work up; the table is then not made.

        Raises
        ------
        TableError
            When the rows are not in a database, the table exists (unless `force`) or cannot be made.
        InfeasibleError
            When the verdict is broken, or what was made does not satisfy the policy.
        """
        self.verdict.refuse(only_broken=True)
        engine = engine_for(self.table)
        with publishing() as block:
            with interrupting(progress, engine.interrupt), engine.into(name, force=force) as released:
                if list(released.columns) != engine.columns:
                    raise TableError(
                        f"{released.title}: what was made does not read back the same; nothing was kept"
                    )
                after = self._assessment(released)
                if after.records != self.privacy.records:
                    raise TableError(f"{released.title}: has other rows than were counted; nothing was kept")
                self._judge_rows(released, after)
                # Only the commit is left. Where it fails, nobody can tell whether the table is there, so a
                # ledger keeps its entry.
                block.hold()
                block.placed = True
            block.done()

    @in_job
    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        name: str | None = None,
        force: bool = False,
        escape_formulas: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Write table, policy and account into a folder, and confidential files into ``internal``.

        The policy beside the table may be published. It has roles, models, levels and recipes. It has no raw
        value of a quasi-identifier. Of the hierarchies of sensitive attributes it has the part above the
        released values. This is enough to verify the models.

        The whole policy, with its hierarchies, and the recoding are in ``internal`` (modes 0700 and 0600).
        There ``suppressed.csv`` is the table of `suppressed_rows`, if any were suppressed and rows are in
        memory. This folder has raw values: do not hand it out.

        Everything is written, or nothing. With `force` a folder is replaced only if it holds what `save` or
        `write` wrote, and nothing else.

        ``release.json`` has the version and the SHA-256 of the table and of ``policy.toml``. By them
        ``verify --account`` finds later changes. ``internal/digests.json`` has those of the recoding and of
        the whole policy.

        The table is called ``release.csv`` unless you name it, or as the file that it came from: a release of
        ``people.feather`` is called ``release.feather``. On Spark it is called ``release.parquet``, and
        the folder is one of the driver's machine. `progress` is as in `write`.

        Raises
        ------
        TableError
            When the folder has files already (unless `force`), holds the input, or cannot be written.
        """
        from incrowd.core.io.targets import writing

        engine, frequency, recoding = engine_for(self.table), self.frequency, self.recoding
        with writing(folder, force=force, folder=True, parents=True, sources=self.sources) as path:
            kind = None if self.csv_format is None else self.csv_format.kept
            file_name = name or (engine.file_name if kind is None else f"release{usual_suffix(kind)}")
            self.write(engine.place(path, file_name), escape_formulas=escape_formulas, progress=progress)
            published_policy(self.policy, frequency).write(path / "policy.toml", private=False)
            account = published_account(self.to_dict()) | {
                "incrowd": versions(None)["incrowd"],
                "files": _digests(path, file_name, "policy.toml", "hierarchies"),
            }
            (path / "release.json").write_text(to_json(account) + "\n", encoding="utf-8", newline="\n")
            self._save_beside(path)
            internal = path / INTERNAL
            internal.mkdir(0o700)
            (internal / "DO-NOT-PUBLISH.txt").write_text(
                "recoding/ holds values of the table before it was recoded; policy.toml is the whole\n"
                "policy, and hierarchies/ has leaves that the release hides; rows.parquet says which row of\n"
                "the raw table each released row is; suppressed.csv, where it is there, says which rows\n"
                "of the raw table were suppressed, and why; lattice.parquet, where it is there, says what\n"
                "other recodings would have suppressed; analyses.json, where it is there, has estimates\n"
                "of the raw table; digests.json has the SHA-256 of recoding and policy.\n"
                "Keep this folder where the data itself is kept; everything beside it may be released.\n",
                encoding="utf-8",
                newline="\n",
            )
            self.policy.write(internal / "policy.toml")
            recoding.save(internal / "recoding")
            # A digest of raw values confirms a guess of them, so it stays in here.
            digests = to_json(_digests(internal, "policy.toml", "hierarchies", "recoding"))
            (internal / "digests.json").write_text(digests + "\n", encoding="utf-8", newline="\n")
            if self.order is not None:
                write_row_map(internal / ROW_MAP, self.order, self.privacy.records, self.places)
            if self.suppression.records and self.frequency.row_keys is not None:
                self.suppressed_rows().write_csv(internal / SUPPRESSED_ROWS)
            if self.lattice is not None:
                self.lattice.save(internal / "lattice.parquet")
            if self.analyses is not None:
                text = to_json(self.analyses.to_dict())
                (internal / "analyses.json").write_text(text + "\n", encoding="utf-8", newline="\n")

    def _save_beside(self, folder: Path) -> None:
        """Write further files of a subclass."""


def _digests(folder: Path, *names: str) -> dict[str, dict[str, str]]:
    """Return the digests of the existing files and folders among the given names."""
    return {name: {"sha256": digest_of(folder / name)} for name in names if (folder / name).exists()}
