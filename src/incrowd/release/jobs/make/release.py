"""A released table with an account."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from incrowd.core import markup
from incrowd.core.documents import envelope, to_json
from incrowd.core.errors import ParameterError, TableError, setting
from incrowd.core.io.kinds.files import usual_suffix
from incrowd.core.io.publishing import publishing
from incrowd.core.io.seals import digest_of
from incrowd.core.io.targets import INTERNAL
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.progress import in_job, interrupting
from incrowd.engines import engine_for, read_classes
from incrowd.measures.privacy import IdentityModel
from incrowd.measures.utility import MetricResult
from incrowd.release.accounts.row_map import ROW_MAP, map_of, write_row_map
from incrowd.release.accounts.statements import versions
from incrowd.release.jobs.make.account import (
    clause_results,
    document_of,
    points_of_clauses,
    published_account,
    published_policy,
    sentences_of,
)
from incrowd.release.jobs.make.reasons import SUPPRESSED_ROWS, reason_table, reasons_of_rows
from incrowd.release.jobs.make.released_rows import ReleasedValues, model_verdict
from incrowd.release.jobs.make.suppressed_records import Suppression, judge, refuse_failing
from incrowd.release.jobs.make.table_treatments import treatment_entries
from incrowd.release.jobs.measure.assess import Assessment, assess_table
from incrowd.release.policy.policy import Policy, terms_of
from incrowd_gate.points import Point, answered
from incrowd_gate.verdict import Verdict

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.io.shuffle import RandomOrder
    from incrowd.core.progress import Progress
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.engines import Engine
    from incrowd.release.report.plots import ReleasePlots
    from incrowd.release.verification import ClauseResult
    from incrowd.search.lattice import SolutionSpace
    from incrowd_gate.points import Accepted
    from incrowd_gate.profiles import Attestation


_WRITE = "; write a file with release.write('safe.csv'), whose name says the kind"
_TABLE = "; the released rows are release.table, of the kind of frame that came in"
_WAYS = dict.fromkeys(("to_csv", "to_parquet", "to_excel", "write_csv", "write_parquet"), _WRITE)
_WAYS |= dict.fromkeys(
    ("to_pandas", "to_polars", "to_frame", "frame", "data", "df", "head", "columns"), _TABLE
)


@dataclass(frozen=True)
class Release:
    """A released table with an account.

    Attributes
    ----------
    table
        The released table, of the kind that came in (a Polars frame for a path). Cells are texts. Means of
        numbers and dates have the type of the column that came in, if nothing is lost by it.
    policy
        What it had to satisfy.
    recoding
        What was decided; it knows values of the table before recoding.
    privacy
        The released table, measured anew.
    utility
        What was lost, per metric; each is measured when it is first read.
    seconds
        Wall time per stage.
    csv_format
        How the input was written, where it was a CSV.
    population
        The people that it was compared with, where a model needed them.
    lattice
        The full-domain recodings that the search looked at, where it looked at such.
    frequency
        The keys that were recoded, as they came in.
    sources
        What the table and the population are read from, where that is known; no output takes its place.
    driver_keys
        How many combinations of values may be fetched where the table is counted elsewhere.
    telling
        The columns that the order of the rows tells, if it was kept all the same.
    dropped
        The columns of the raw table that are left out.
    order
        Where each row went; None if the order was kept, or the rows never had one.
    points
        Dangers and losses that somebody has to answer for; `verdict` has them, with the profile's clauses.
    values
        What the models say of perturbed sensitive values as they are released; None where nothing is
        perturbed that they look at.
    suppression
        The suppressed records: how many there are, how many are left out, and the models that they do not
        satisfy as a class of their own.
    places
        The places of the raw rows that leave, from 0, where some are left out and rows have an order. Do not
        hand them out.
    reasons
        int8[keys]: the `Reason` of each key that is suppressed, else 0. Do not hand them out.
    """

    table: Any
    policy: Policy
    recoding: Recoding
    privacy: Assessment
    utility: Mapping[str, MetricResult]
    seconds: dict[str, float]
    csv_format: CsvFormat | None = None
    population: Any = field(default=None, repr=False)
    lattice: SolutionSpace | None = field(default=None, repr=False)
    frequency: FrequencyTable = field(kw_only=True, repr=False)
    sources: tuple[Any, ...] = field(default=(), kw_only=True, repr=False)
    driver_keys: int | None = field(default=None, kw_only=True, repr=False)
    telling: tuple[str, ...] = field(default=(), kw_only=True, repr=False)
    dropped: tuple[str, ...] = field(default=(), kw_only=True, repr=False)
    order: RandomOrder | None = field(default=None, kw_only=True, repr=False)
    points: tuple[Point, ...] = field(default_factory=tuple, kw_only=True, repr=False)
    values: ReleasedValues | None = field(default=None, kw_only=True, repr=False)
    suppression: Suppression = field(default=Suppression("keep"), kw_only=True, repr=False)
    places: NDArray[np.int64] | None = field(default=None, kw_only=True, repr=False, compare=False)
    reasons: NDArray[np.int8] | None = field(default=None, kw_only=True, repr=False, compare=False)
    _measure_before: Callable[[], Assessment] = field(kw_only=True, repr=False, compare=False)
    _texts: Any = field(default=None, kw_only=True, repr=False)

    def __repr__(self) -> str:
        after = self.privacy
        left_out = f"{self.left_out:,} left out, " if self.left_out else ""
        return (
            f"Release({after.records:,} records, {after.suppressed:,} suppressed, {left_out}"
            f"{after.classes:,} classes; {model_verdict(self.values, self.verdict)})"
        )

    @property
    def left_out(self) -> int:
        """Suppressed records that are left out of the release."""
        return self.suppression.left_out

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

    def __getstate__(self) -> dict[str, Any]:
        """Keep the figures of the raw table instead of the function that measures them."""
        before = self.before
        return self.__dict__ | {"before": before, "_measure_before": None}

    @cached_property
    def before(self) -> Assessment:
        """The assessment of the raw table, measured on the first read if models need class sizes alone."""
        return self._measure_before()

    @cached_property
    def clauses(self) -> tuple[ClauseResult, ...]:
        """The verifier's judgement of each clause of the policy's profile."""
        return clause_results(self.policy, self._write)

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict on the release: holds, open or broken, with the points."""
        points = (*self.points, *points_of_clauses(self.policy, self.clauses))
        return Verdict(answered(points, self.policy.accepted))

    @property
    def texts(self) -> Any:
        """The released table with every quasi-identifier as text, as files hold the table."""
        return self.table if self._texts is None else self._texts

    @property
    def risk(self) -> Mapping[str, dict[str, float]]:
        """Figures per risk model of the released table."""
        return self.privacy.risk

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without any value of the table.

        Its figures are exact, and those of raw values tell such: do not publish it. `save` rounds them.
        """
        return {
            **envelope("release"),
            **terms_of(self.policy),
            "recoding": {"kind": self.recoding.kind, **self.recoding.decisions()},
            "before": self.before.to_dict(cells=False),
            "after": self.privacy.to_dict(cells=False),
            "suppression": self.suppression.to_dict(),
            "left_out": self.left_out,
            "utility": [lost.to_dict() for lost in self.utility.values()],
            "verdict": self.verdict.to_dict(),
            **({"clauses": [asdict(each) for each in self.clauses]} if self.clauses else {}),
            **({} if self.values is None else {"released_values": self.values.to_dict()}),
            **({} if self.lattice is None else {"search": self.lattice.summary()}),
            **({"treatments": treatment_entries(schema)} if (schema := self.policy.schema).treated else {}),
            "seconds": self.seconds,
        }

    def sentences(self, *, conditions: bool = True) -> list[str]:
        """Describe the contents of the release, each model of the policy, and the losses.

        The first is about the records, then comes one for each condition. No value of the table is in them.

        Parameters
        ----------
        conditions
            Whether the sentences of the single conditions are among them.
        """
        return sentences_of(self, conditions=conditions)

    def class_table(self, sensitive: str | None = None) -> pl.DataFrame:
        """Summarize the release: the number of records per class and sensitive value.

        For a number it has the mean over the class, for a date the mean day. For a category it has the values
        that occur in the class, joined by commas in order. Missing values and suppressed records are left
        out.

        The table tells raw values as means and sets do: see the output styles `mean` and `set`.

        Parameters
        ----------
        sensitive
            The sensitive attribute; may be left out where there is one.

        Returns
        -------
        A Polars frame with the quasi-identifiers, the sensitive attribute and ``count``, sorted by these.

        Raises
        ------
        SchemaError
            When the attribute is not a sensitive one, or there are several and none is named.
        ParameterError
            When the recoding is not local, so that it has no classes of its own. Or when the models hold only
            since ``*`` matches any value: the summary of such a class would tell the values behind ``*``.
        """
        from incrowd.core.recoding import Local
        from incrowd.core.table.classes import EquivalenceClasses
        from incrowd.release.accounts.class_figures import class_table
        from incrowd.search.base import all_hold

        recoding = self.recoding
        if self.policy.wildcards == "matches-any" and isinstance(recoding, Local):
            classes = EquivalenceClasses.from_assignment(
                self.frequency, recoding.class_of_key, recoding.count
            )
            models = [each for model in self.policy.models for each in model.for_classes()]
            if not all_hold(models, classes).all():
                raise ParameterError(
                    "a summary of classes would tell values of fewer people than the models ask for, as they "
                    "hold only where * matches any value; release the table with "
                    + setting("wildcards='value'", "--wildcards value")
                )
        return class_table(self.frequency, self.recoding, sensitive)

    def __getattr__(self, name: str) -> NoReturn:
        """Raise for a name that it does not have, with the way out for names that tables have."""
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

    def _file_name(self, engine: Engine) -> str:
        """Return the name of the table's file in a folder."""
        kind = None if self.csv_format is None else self.csv_format.kept
        return engine.file_name if kind is None else f"release{usual_suffix(kind)}"

    def _require_order(self) -> None:
        if self.order is None and not self.policy.keep_order:
            raise TableError("the rows of this release never had an order, so there is no map of them")

    def document(self, *, internal: bool = False, **about: Any) -> dict[str, Any]:
        """Return the report of a release as plain data, with the parameters of `report`."""
        return document_of(self, internal=internal, **about)

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

    def _repr_html_(self) -> str:
        from incrowd.release.report.charts import losses, svg_if_drawn
        from incrowd.release.report.details import losses_of

        document = self.document()
        limits = [
            (
                each["model"] + (f" of {each['attribute']}" if each["attribute"] else ""),
                f"{each['sign']} {each['asked']:g}",
                each["reached"],
                "holds" if each["holds"] else "fails",
            )
            for each in document["models"]
        ]
        shown = losses_of(document)
        return (
            self.verdict._repr_html_()
            + markup.cards(document["board"]["cards"])
            + (svg_if_drawn(losses(shown)) if shown else "")
            + markup.table("What was asked for", ("model", "asked", "reached", "result"), limits)
        )

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
        """Write the table to a file of the kind that its name tells, completely or not at all.

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

    def _write(
        self,
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        escape_formulas: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Write the table as `write` does, whatever the verdict."""
        from incrowd.core.io.files import escaping

        csv_format = escaping(self.csv_format, escape_formulas)
        engine = engine_for(self.texts, progress=progress)
        with interrupting(progress, engine.interrupt):
            engine.write_checked(path, csv_format, self._judge, force=force, sources=self.sources)

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
                self._judge_measured(released, after)
                if self.values is not None:
                    self.values.check(released, self.driver_keys)
                # Only the commit is left. Where it fails, nobody can tell whether the table is there, so a
                # ledger keeps its entry.
                block.hold()
                block.placed = True
            block.done()

    def _judge(self, written: Any) -> None:
        """Measure the written table, and refuse a table that does not satisfy the policy."""
        self._judge_measured(written, self._assessment(written, judged_alone=True))
        if self.values is not None:
            self.values.check(written, self.driver_keys)

    def _judge_measured(self, written: Any, measured: Assessment) -> None:
        """Judge a written table, and the suppressed records as a class if required."""
        judge(measured, self.policy, self.suppression)
        if measured.suppressed and self.policy.suppressed != "keep":
            models = self.policy.models
            classes = read_classes(
                written,
                self.policy.written,
                joint=any(model.is_joint for model in models),
                population=self.population,
                driver_keys=self.driver_keys,
                made_from=self.recoding.leaving(self.frequency),
                starred=True,
            )
            refuse_failing(classes, models)

    def _assessment(self, written: Any, *, judged_alone: bool = False) -> Assessment:
        schema = self.policy.written
        made_from: tuple[FrequencyTable, Recoding] | None = self.recoding.leaving(self.frequency)
        if judged_alone and _by_sizes_alone(self.policy):
            schema, made_from = schema.with_attributes(schema.having("quasi")), None
        return assess_table(
            written,
            schema,
            self.policy.models,
            population=self.population,
            driver_keys=self.driver_keys,
            made_from=made_from,
            wildcards=self.policy.wildcards,
        )

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
            file_name = name or self._file_name(engine)
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
                "other recodings would have suppressed; digests.json has the SHA-256 of recoding and\n"
                "policy.\n"
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

    def _save_beside(self, folder: Path) -> None:
        """Write further files of a subclass."""


def _digests(folder: Path, *names: str) -> dict[str, dict[str, str]]:
    """Return the digests of the existing files and folders among the given names."""
    return {name: {"sha256": digest_of(folder / name)} for name in names if (folder / name).exists()}


def _by_sizes_alone(policy: Policy) -> bool:
    """Say whether verdicts depend on the quasi-identifiers alone."""
    # Population counts by weights, people and households are carried over, which compares all values.
    schema = policy.schema
    carried = schema.person or schema.household or schema.weights
    return not carried and all(isinstance(model, IdentityModel) for model in policy.models)
