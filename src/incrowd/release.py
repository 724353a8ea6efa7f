"""anonymize(): search, apply, check; and the Release it gives."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from incrowd.addresses import file_path
from incrowd.algorithms import Algorithm, Mondrian
from incrowd.assessment import Assessment, assess_classes, assess_table
from incrowd.chance import guarded_random
from incrowd.engines import DRIVER_KEYS, SparkEngine, TooManyKeysError
from incrowd.errors import InfeasibleError, ParameterError, TableError
from incrowd.io.targets import INTERNAL
from incrowd.policy import Policy
from incrowd.progress import Progress, Silent
from incrowd.publication import published_policy
from incrowd.recoding import check_cells
from incrowd.schema import Schema, Style
from incrowd.utility import Lost, measure_all

if TYPE_CHECKING:
    import polars as pl

    from incrowd.algorithms import Solution
    from incrowd.distributed import DistributedRelease
    from incrowd.engines import Engine
    from incrowd.frequency import FrequencyTable
    from incrowd.io.files import CsvFormat
    from incrowd.lattice import SolutionSpace
    from incrowd.privacy import Measured, PrivacyModel
    from incrowd.recoding import Recoding

__all__ = ["Release", "anonymize", "explore"]


@dataclass(frozen=True)
class Release:
    """A released table and the account of it.

    Attributes
    ----------
    table
        The released table, of the kind that came in (a Polars frame for a path).
    policy
        What it had to satisfy.
    recoding
        What was decided; it knows values of the table before recoding.
    before
        The table as it came in.
    privacy
        The released table, measured anew.
    utility
        What was lost, per metric.
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
    """

    table: Any
    policy: Policy
    recoding: Recoding
    before: Assessment = field(repr=False)
    privacy: Assessment
    utility: dict[str, Lost]
    seconds: dict[str, float]
    csv_format: CsvFormat | None = None
    population: Any = field(default=None, repr=False)
    lattice: SolutionSpace | None = field(default=None, repr=False)
    frequency: FrequencyTable = field(kw_only=True, repr=False)
    sources: tuple[Any, ...] = field(default=(), kw_only=True, repr=False)
    driver_keys: int | None = field(default=None, kw_only=True, repr=False)

    @property
    def risk(self) -> dict[str, dict[str, float]]:
        """Figures per risk model of the released table."""
        return self.privacy.risk

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: no value of the table is in it."""
        return {
            "format": "incrowd release",
            "version": 1,
            "algorithm": str(self.policy.algorithm),
            "models": [str(model) for model in self.policy.models],
            "max_suppression": self.policy.max_suppression,
            "recoding": {"kind": self.recoding.kind, **self.recoding.decisions()},
            "before": self.before.to_dict(cells=False),
            "after": self.privacy.to_dict(cells=False),
            "utility": [lost.to_dict() for lost in self.utility.values()],
            **({} if self.lattice is None else {"search": self.lattice.summary()}),
            "seconds": self.seconds,
        }

    def class_table(self, sensitive: str | None = None) -> pl.DataFrame:
        """Summarize the release: a row per class and sensitive value in it, with the number of records.

        A quasi-identifier is the mean over the class for numbers, the mean day for dates, and else the values
        that occur in it, joined by commas in order; missing values are left out. Suppressed records are, too.
        It knows values before recoding as means and sets do: look at the `mean` and `set` output styles.

        Parameters
        ----------
        sensitive
            The sensitive attribute; may be left out where there is one.

        Returns
        -------
        A Polars frame with the quasi-identifiers, the sensitive attribute and ``count``; classes as they are
        numbered, values in order.

        Raises
        ------
        SchemaError
            When the attribute is not a sensitive one, or there are several and none is named.
        ParameterError
            When the recoding is not local, so that it has no classes of its own.
        """
        from incrowd.class_table import class_table

        return class_table(self.frequency, self.recoding, sensitive)

    def report(self, path: str | os.PathLike[str], *, internal: bool = False, force: bool = False) -> None:
        """Write a report as ``.html``, ``.pdf`` or ``.json``: a page to quote from, then the details.

        It may be published: classes are described by released cells alone, and distributions before recoding
        are counted in bins that name nothing else. With `internal` they name raw values, and the report says
        so.

        Parameters and errors are those of `incrowd.report.pages.write_report`.
        """
        from incrowd.report.content import of_release
        from incrowd.report.pages import write_report

        write_report(of_release(self, internal=internal), path, force=force)

    def _repr_html_(self) -> str:
        import html

        from incrowd.report.content import of_release

        document = of_release(self)
        lines = "".join(f"<li>{html.escape(line)}</li>" for line in document["sentences"])
        return f"<p><b>{html.escape(document['verdict']['text'])}</b></p><ul>{lines}</ul>"

    def write(
        self, path: str | os.PathLike[str], *, force: bool = False, escape_formulas: bool = False
    ) -> None:
        """Write the table to a CSV (``.csv``, ``.csv.gz``) or Parquet file, all or nothing.

        The file is written beside the target, read again, measured, and only then renamed. A table on Spark
        becomes a folder of Parquet files in the same way, and the path may have a scheme, as ``hdfs://``.
        With `escape_formulas` texts of a CSV that a spreadsheet would run as formulas get ``'`` in front.

        Raises
        ------
        TableError
            When the file or folder exists (unless `force`) or cannot be written.
        InfeasibleError
            When what was written does not satisfy the policy.
        """
        from incrowd.io.files import escaping

        csv_format = escaping(self.csv_format, escape_formulas)
        write_checked(self.table, path, csv_format, self._judge, force=force, sources=self.sources)

    def into(self, name: str, *, force: bool = False) -> None:
        """Make a new table of it in the database that the rows are in, all or nothing.

        In one transaction, that in which the rows were counted, the table is created, filled by the database,
        counted again and judged; only then is it committed. The snapshot ends then: write files before.

        Parameters
        ----------
        name
            The table, as in `Database.table`.
        force
            Whether a table of that name is replaced; never the one that is released.

        Raises
        ------
        TableError
            When the rows are not in a database, the table exists (unless `force`) or cannot be made.
        InfeasibleError
            When what was made does not satisfy the policy.
        """
        from incrowd.engines import RecodedTable, engine_for

        if not isinstance(self.table, RecodedTable):
            raise TableError("the rows are not in a database; write them to a file")
        with self.table.into(name, force=force) as made:
            if engine_for(made).columns != self.table.columns:
                raise TableError(f"{made.title}: what was made does not read back the same; nothing was kept")
            after = self._measured(made)
            if after.records != self.privacy.records:
                raise TableError(f"{made.title}: has other rows than were counted; nothing was kept")
            judge(after, self.policy)

    def _judge(self, written: Any) -> None:
        """Measure what was written, and refuse it where it does not satisfy the policy."""
        judge(self._measured(written), self.policy)

    def _measured(self, written: Any) -> Assessment:
        return assess_table(
            written,
            self.policy.schema,
            self.policy.models,
            population=self.population,
            driver_keys=self.driver_keys,
        )

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        name: str | None = None,
        force: bool = False,
        escape_formulas: bool = False,
    ) -> None:
        """Write table, policy and account into a folder, and what is not to publish into ``internal``.

        The policy beside the table names roles, models, levels and recipes; it has no raw values, but what
        is above the released sensitive values in their hierarchies, and is enough to verify the models. The
        whole policy, with its hierarchies, and the recoding are in ``internal`` (modes 0700 and 0600).

        Everything comes or nothing does. With `force` a folder is replaced that holds what `save` or `write`
        wrote and nothing else.

        The table is called ``release.csv`` unless named; ``release.parquet`` where it lives on Spark, and the
        folder is one of the driver's machine.

        The ``internal`` folder knows values of the table before recoding: do not hand it out.

        Raises
        ------
        TableError
            When the folder has files already (unless `force`), holds the input, or cannot be written.
        """
        from incrowd.io.targets import writing

        on_spark = SparkEngine.takes(self.table)
        name = name or ("release.parquet" if on_spark else "release.csv")
        with writing(folder, force=force, folder=True, parents=True, sources=self.sources) as path:
            # A session may keep its tables elsewhere unless told otherwise.
            place = path.joinpath(name).as_uri() if on_spark else path / name
            self.write(place, escape_formulas=escape_formulas)
            published_policy(self.policy, self.frequency).write(path / "policy.toml", private=False)
            account = json.dumps(self.to_dict(), ensure_ascii=False, indent=1)
            (path / "release.json").write_text(account + "\n", encoding="utf-8")
            internal = path / INTERNAL
            internal.mkdir(0o700)
            (internal / "DO-NOT-PUBLISH.txt").write_text(
                "recoding/ holds values of the table before it was recoded; policy.toml is the whole\n"
                "policy, and hierarchies/ has leaves that the release hides; lattice.parquet, where it is\n"
                "there, says what other recodings would have suppressed.\n"
                "Keep this folder where the data itself is kept; everything beside it may be released.\n"
            )
            self.policy.write(internal / "policy.toml")
            self.recoding.save(internal / "recoding")
            if self.lattice is not None:
                self.lattice.save(internal / "lattice.parquet")


# Only a table on Spark of more than `driver_keys` keys is cut into blocks unasked.
@overload
def anonymize(
    table: Any,
    schema: Schema | Policy,
    models: Sequence[PrivacyModel] = ...,
    algorithm: Algorithm | None = ...,
    *,
    max_suppression: float = ...,
    output: Style = ...,
    shuffle: bool = ...,
    seed: int = ...,
    levels: Mapping[str, int] | None = ...,
    population: Any = ...,
    csv_format: CsvFormat | None = ...,
    progress: Progress | None = ...,
    driver_keys: int = ...,
    blocks: None = ...,
) -> Release: ...


@overload
def anonymize(
    table: Any,
    schema: Schema | Policy,
    models: Sequence[PrivacyModel] = ...,
    algorithm: Algorithm | None = ...,
    *,
    max_suppression: float = ...,
    output: Style = ...,
    shuffle: bool = ...,
    seed: int = ...,
    levels: Mapping[str, int] | None = ...,
    population: Any = ...,
    csv_format: CsvFormat | None = ...,
    progress: Progress | None = ...,
    driver_keys: int = ...,
    blocks: int,
) -> DistributedRelease: ...


def anonymize(
    table: Any,
    schema: Schema | Policy,
    models: Sequence[PrivacyModel] = (),
    algorithm: Algorithm | None = None,
    *,
    max_suppression: float = 0.0,
    output: Style = "auto",
    shuffle: bool = False,
    seed: int = 0,
    levels: Mapping[str, int] | None = None,
    population: Any = None,
    csv_format: CsvFormat | None = None,
    progress: Progress | None = None,
    driver_keys: int = DRIVER_KEYS,
    blocks: int | None = None,
) -> Release | DistributedRelease:
    """Recode a table so that it satisfies privacy models, and check the result.

    Parameters
    ----------
    table
        A pandas, Polars or PyArrow table, a Spark DataFrame, a relation of DuckDB, a table of a `Database`,
        opened `Files`, or the path of a CSV or Parquet file, a folder or a pattern. It is not changed.
    schema
        The roles of the columns, or a whole `Policy`, which then decides all that follows up to `seed`.
    models
        The privacy models; at least one.
    algorithm
        What searches the recoding; Mondrian by default.
    max_suppression
        Largest share of records that may be suppressed, 0..1.
    output
        Output style of the quasi-identifiers, see `Policy`.
    shuffle, seed
        Whether the rows come in a random order; else row N of the release is row N of the table.
    levels
        Levels of full-domain recoding that are not up for search, by quasi-identifier; with every
        quasi-identifier named, that node is taken. Where the policy's algorithm knows no levels, `Optimal`
        takes its place.
    population
        The people of whom the table may hold some, as in `assess`; k-map, delta-presence and journalists
        need it.
    csv_format
        How a CSV is written, where it is not plain.
    progress
        Told about the stages.
    driver_keys
        Largest number of distinct combinations of values that are fetched from where the table is counted, as
        on Spark. Above it strict Mondrian works block by block, and other algorithms are refused. Tables in
        memory know no such limit.
    blocks
        About how many blocks a table on Spark is cut into, each of which is recoded by strict Mondrian where
        it lies; 1 gives what Mondrian makes undivided.

    Returns
    -------
    The release; a `DistributedRelease` where it was made block by block.

    Raises
    ------
    InputError
        When the table or the call is wrong.
    InfeasibleError
        When the table cannot satisfy the policy; nothing is released.
    """
    from incrowd.classes import EquivalenceClasses

    if isinstance(schema, Policy):
        policy = schema
    else:
        policy = Policy(
            schema, tuple(models), algorithm or Mondrian(), max_suppression, output, shuffle, seed
        )
    if levels:
        policy = policy.with_levels(levels)
    clock = Clock(progress or Silent())
    if blocks is not None:
        return _in_blocks(table, policy, population, blocks, driver_keys, progress)
    try:
        start = _start(table, policy, population, csv_format, clock, driver_keys)
    except TooManyKeysError:
        if not _divisible(table, policy, population):
            raise
        return _in_blocks(table, policy, population, None, driver_keys, progress)
    engine, frequency, population = start.engine, start.frequency, start.population
    before = clock.run("assess", lambda: assess_classes(EquivalenceClasses.of_keys(frequency), policy.models))
    start = start.prepared(policy)
    solution: Solution = clock.run("search", lambda: _search(start, policy, clock))
    recoding = solution.recoding
    check_cells(recoding, policy.schema.null_values)
    frequency = start.frequency
    if policy.shuffle and frequency.row_keys is None:
        raise ParameterError(
            "rows that stream cannot be shuffled; leave shuffle out, or sort the files before"
        )
    released = clock.run("apply", lambda: engine.apply(policy.schema, frequency, recoding))
    if policy.shuffle:
        released = _shuffled(released, policy.seed, frequency)
    # What counts is the table that leaves, not what was meant.
    after = clock.run(
        "check",
        lambda: assess_table(
            released,
            policy.schema,
            policy.models,
            population=population,
            driver_keys=driver_keys,
            progress=clock.progress,
        ),
    )
    judge(after, policy)
    utility = clock.run("measure loss", lambda: measure_all(frequency, recoding))
    return Release(
        released,
        policy,
        recoding,
        before,
        after,
        utility,
        clock.seconds,
        start.csv_format,
        population,
        solution.lattice,
        frequency=frequency,
        sources=start.sources,
        driver_keys=driver_keys,
    )


def _divisible(table: Any, policy: Policy, population: Any) -> bool:
    """Say whether a table can be recoded block by block under a policy."""
    from incrowd.distributed import refuse_divided

    try:
        refuse_divided(policy)
    except ParameterError:
        return False
    return population is None and SparkEngine.takes(table)


def _in_blocks(
    table: Any,
    policy: Policy,
    population: Any,
    blocks: int | None,
    driver_keys: int,
    progress: Progress | None,
) -> DistributedRelease:
    from incrowd.distributed import in_blocks, refuse_divided

    if not SparkEngine.takes(table):
        raise ParameterError("blocks are for Spark DataFrames; leave blocks out")
    if blocks is not None and (not isinstance(blocks, int) or isinstance(blocks, bool) or blocks < 1):
        raise ParameterError("blocks must be a whole number of at least 1")
    if population is not None:
        raise ParameterError("blocks: a population cannot be compared block by block; leave it out")
    _check_levels(policy)
    refuse_divided(policy)
    return in_blocks(table, policy, styled(policy), blocks=blocks, driver_keys=driver_keys, progress=progress)


def explore(
    table: Any,
    policy: Policy,
    *,
    population: Any = None,
    csv_format: CsvFormat | None = None,
    progress: Progress | None = None,
) -> SolutionSpace:
    """Search the lattice of full-domain recodings and return what was found out; nothing is released.

    Parameters
    ----------
    table, population, csv_format, progress
        As in `anonymize`.
    policy
        What a release has to satisfy; an algorithm that knows no levels gives way to `Optimal`.

    Raises
    ------
    InputError
        When the table or the policy is wrong.
    InfeasibleError
        When no node satisfies the policy.
    """
    policy = policy.with_levels({})
    clock = Clock(progress or Silent())
    start = _start(table, policy, population, csv_format, clock)
    found: Solution = clock.run("search", lambda: _search(start, policy, clock))
    assert found.lattice is not None
    return found.lattice


class _Start(NamedTuple):
    engine: Engine
    schema: Schema
    frequency: FrequencyTable
    population: Any
    csv_format: CsvFormat | None
    sources: tuple[Any, ...] = ()

    def prepared(self, policy: Policy) -> _Start:
        """Count records one by one where the algorithm may part those that look alike."""
        return self._replace(frequency=self.frequency.by_record()) if policy.algorithm.by_record else self


def _start(
    table: Any,
    policy: Policy,
    population: Any,
    csv_format: CsvFormat | None,
    clock: Clock,
    driver_keys: int | None = None,
) -> _Start:
    """Read and count, and refuse what cannot be satisfied."""
    from incrowd.engines import engine_for, loaded, with_population
    from incrowd.io.files import read_table
    from incrowd.io.streams import Files, is_scan, scan

    _check_levels(policy)
    if not policy.models:
        raise ParameterError("name at least one privacy model, e.g. models=[ic.KAnonymity(5)] or -k 5")
    named = [each for each in (table, population) if isinstance(each, str | os.PathLike)]
    if isinstance(table, str | os.PathLike):
        path = table
        if is_scan(path):
            table = clock.run("open", lambda: scan(path, csv_format, progress=clock.progress))
        else:
            table, csv_format = clock.run("read", lambda: read_table(path, csv_format))
    if isinstance(table, Files):
        csv_format = table.csv_format
    engine = engine_for(table, driver_keys=driver_keys)
    engine.progress = clock.progress
    policy.schema.released(engine.columns)
    searched = styled(policy)
    joint = any(model.is_joint for model in policy.models)
    target = policy.algorithm.predicts
    frequency: FrequencyTable = clock.run("count", lambda: engine.count(searched, joint=joint, target=target))
    if isinstance(population, str | os.PathLike):
        people = population
        population = clock.run("read population", lambda: loaded(people))
    if population is not None:
        counted = frequency
        frequency = clock.run("count population", lambda: with_population(counted, policy.schema, population))
    _check_limits(policy, frequency)
    people_from = [] if population is None else engine_for(population).sources
    sources = (*named, *engine.sources, *people_from)
    return _Start(engine, searched, frequency, population, csv_format, sources)


def _search(start: _Start, policy: Policy, clock: Clock) -> Solution:
    return policy.algorithm.search(
        start.frequency,
        policy.models,
        attributes=start.schema.quasi,
        max_suppression=policy.max_suppression,
        progress=clock.progress,
        seed=policy.seed,
    )


def write_checked(
    table: Any,
    path: str | os.PathLike[str],
    csv_format: CsvFormat | None,
    check: Callable[[Any], None],
    *,
    force: bool,
    sources: object = None,
) -> None:
    """Write a table beside its target, read it again, and rename it if it passes a check.

    Parameters
    ----------
    sources
        What the table was read from; see `incrowd.io.targets.Outputs`.

    Raises
    ------
    TableError
        When the target exists (unless `force`), cannot be written, or does not read back the same; and
        whatever `check` raises of what was written.
    """
    from incrowd.engines import engine_for
    from incrowd.io.files import CsvFormat
    from incrowd.io.targets import writing

    engine = engine_for(table)
    if isinstance(engine, SparkEngine):
        # Its file systems are not only those of this machine.
        engine.replace(path, check, force=force)
        return
    target = file_path(path)
    folder = engine.writes_folder(target)
    with writing(path, force=force, folder=folder, sources=[sources, *engine.sources]) as temporary:
        written = engine.write(temporary, target, csv_format or CsvFormat())
        if engine_for(written).columns != engine.columns:
            raise TableError(f"{target}: what was written does not read back the same; nothing is kept")
        check(written)


def judge(assessment: Assessment, policy: Policy) -> None:
    """Refuse a release that does not satisfy its policy.

    Raises
    ------
    InfeasibleError
        Which says what failed, by how much, and what would help.
    """
    problems = [_shortfall(measured) for measured in assessment.privacy if measured.holds is False]
    if assessment.suppressed and assessment.suppressed_share > policy.max_suppression:
        problems.insert(
            0,
            f"{assessment.suppressed} of {assessment.records} records are suppressed (* in every "
            f"quasi-identifier), {assessment.suppressed_share:.2%} where {policy.max_suppression:.2%} "
            "may be; loosen the models, name fewer quasi-identifiers or raise max_suppression",
        )
    if problems:
        raise InfeasibleError("nothing was released: " + "; ".join(problems))


def _shortfall(measured: Measured) -> str:
    text = measured.shortfall()
    if measured.value is None:
        return text
    if measured.failing and measured.failing[0]:
        text += f" ({measured.failing[0]:,} classes, {measured.failing[1]:,} records)"
    return text + "".join(f"; {reason}" for reason in measured.reasons)


def _check_levels(policy: Policy) -> None:
    algorithm = policy.algorithm
    for attribute in policy.schema.quasi:
        if attribute.levels is not None and not algorithm.full_domain:
            raise ParameterError(
                f"column {attribute.name!r} has levels, which {algorithm.name} does not know; use a "
                "full-domain algorithm, e.g. optimal"
            )
        if attribute.weight != 1 and not algorithm.weighted:
            raise ParameterError(
                f"column {attribute.name!r} has a weight, which {algorithm.name} does not know"
            )


def _check_limits(policy: Policy, frequency: FrequencyTable) -> None:
    for model in policy.models:
        model.check_table(frequency)
    if not frequency.records:
        raise TableError("every record of the table is suppressed (* in every quasi-identifier)")


def styled(policy: Policy) -> Schema:
    """Give every quasi-identifier the style it will get, for the engine to know."""
    return Schema.of(
        (
            replace(attribute, output=attribute.output or policy.output)
            if attribute.role == "quasi"
            else attribute
            for attribute in policy.schema.attributes
        ),
        null_values=policy.schema.null_values,
        others=policy.schema.others,
    )


def _shuffled(table: Any, seed: int, frequency: FrequencyTable) -> Any:
    import narwhals as nw

    frame = nw.from_native(table, eager_only=True)
    assert frequency.row_keys is not None
    rows = [codes[frequency.row_keys] for codes in frequency.codes]
    order = guarded_random(seed, *rows).permutation(len(frame))
    native = frame[order.tolist()].to_native()
    return native.reset_index(drop=True) if hasattr(native, "reset_index") else native


class Clock:
    """Times the stages and tells the progress about them."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.seconds: dict[str, float] = {}

    def run(self, stage: str, work: Callable[[], Any]) -> Any:
        self.progress.stage(stage)
        start = time.perf_counter()
        result = work()
        self.seconds[stage] = time.perf_counter() - start
        return result
