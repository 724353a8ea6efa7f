"""anonymize(): search, apply, check."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.errors import ParameterError, TableError, setting
from incrowd.core.io.shuffle import RandomOrder
from incrowd.core.parameters import COUNT, with_keyword_hints
from incrowd.core.progress import Clock, Progress, Silent, in_job, with_bar
from incrowd.core.recoding import check_cells
from incrowd.core.table.schema import Schema, Style
from incrowd.core.table.settings import DEFAULT_ENDS
from incrowd.engines import DRIVER_KEYS, TooManyKeysError, engine_for
from incrowd.measures.utility import measure_all
from incrowd.release.accounts.points import Evidence, points_of
from incrowd.release.jobs.make.leaving_rows import telling_columns
from incrowd.release.jobs.make.release import Release
from incrowd.release.jobs.make.released_rows import ReleasedRows, judge, with_types
from incrowd.release.jobs.make.table_treatments import TableTreatments, treat_table, treatment_entries
from incrowd.release.jobs.measure.assess import assess_classes, assess_table
from incrowd.release.policy.arguments import as_algorithm, as_models, as_schema
from incrowd.release.policy.limits import check_sets, refuse_unlinked, with_histories
from incrowd.release.policy.policy import Policy, search_problem
from incrowd.search import Algorithm, Mondrian
from incrowd_gate.points import UNANSWERED, Unanswered

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.settings import Ends, Judge, SuppressedRecords, Wildcards
    from incrowd.engines import Counted, Engine
    from incrowd.measures.privacy import PrivacyModel
    from incrowd.release.analyses.measure import RawAnalyses
    from incrowd.release.jobs.measure.assess import Assessment
    from incrowd.search.lattice import SolutionSpace
    from incrowd_gate.points import Accepted


@with_keyword_hints
@with_bar
@in_job
def anonymize(  # noqa: PLR0913
    table: Any,
    schema: Schema | Policy,
    models: PrivacyModel | str | Sequence[PrivacyModel | str] = (),
    algorithm: Algorithm | str | None = None,
    *,
    max_suppression: float = 0.0,
    output: Style = "auto",
    keep_order: bool = False,
    seed: int = 0,
    set_limit: int = 8,
    wildcards: Wildcards = "value",
    accepted: Iterable[Accepted] = (),
    judge: Judge = "released",
    ends: Ends = DEFAULT_ENDS,
    suppressed: SuppressedRecords = "judged",
    levels: Mapping[str, int] | None = None,
    population: Any = None,
    csv_format: CsvFormat | None = None,
    progress: Progress | None = None,
    driver_keys: int = DRIVER_KEYS,
    blocks: int | None = None,
    force: bool = False,
    unanswered: Unanswered = "refuse",
) -> Release:
    """Recode a table so that privacy models hold, and check the result.

    Parameters
    ----------
    table
        A pandas, Polars or PyArrow table, a Spark DataFrame, a relation of DuckDB, a table of a `Database`,
        opened `Files`, or the path of a CSV or Parquet file, a folder or a pattern. It is not changed.
    schema
        The roles of the columns, or a whole `Policy`, which then decides all that follows up to `levels`.
    models
        The privacy models; at least one. A text such as ``"k-anonymity:5"`` stands for its model.
    algorithm
        What searches the recoding; Mondrian by default. A text such as ``"optimal:metric=ncp"`` stands for
        its algorithm.
    max_suppression
        Largest share of records that may be suppressed, 0 to 1.
    output
        How cells are written: auto, range, ancestor, set, mean or suppress. See `Policy`.
    keep_order
        Whether row N stays row N; else rows come in a random order. In an order that is kept, the rows around
        a row may tell more of it than its cells do. The random order has no seed. A pandas index is numbered
        anew either way.
    seed
        Seed of what is random in the search.
    set_limit
        Most values that a cell may list, as {a, b} does. A column of categories without a hierarchy gets such
        cells. A longer list is refused, and any list in a column that is nearly unique.
    wildcards
        What a * or a missing cell matches: value (itself), matches-any or conservative (nothing). See
        `Policy`.
    accepted
        Points of the verdict that you accept, each with a reason, see `Accepted`.
    judge
        Perturbed values that models judge: before and as released (released), or before (original). See
        `Policy`.
    ends
        Ends of ranges, and means: outward (rounded, open at the tails) or exact (values of people). See
        `Policy`.
    suppressed
        Whether suppressed records leave: if they satisfy the models as a class (judged), never (drop), or
        always (keep). See `Policy`.
    levels
        Fixed levels of full-domain recoding, by quasi-identifier. The search leaves them alone. If every
        quasi-identifier has a level, that node is taken. If the policy's algorithm knows no levels, `Optimal`
        takes its place.
    population
        The population: people of whom the table may hold some, as in `assess`. k-map, delta-presence and
        journalist risk need it.
    csv_format
        How a CSV is written, where it is not plain.
    progress
        Told about the stages.
    driver_keys
        Largest number of distinct combinations of values that are fetched from where the table is counted, as
        on Spark. Above it strict Mondrian works block by block, and other algorithms are refused. Tables in
        memory know no such limit.
    blocks
        About how many blocks a table on Spark is cut into. Strict Mondrian recodes each block where it lies.
        With 1 block the result is that of Mondrian on the whole table.
    force
        Whether an order that tells a quasi-identifier is kept all the same. The account says so.
    unanswered
        What becomes of a release with open points, which the policy does not accept: ``refuse``, or ``write``
        to have it all the same. Its account then says so.

    Returns
    -------
    The release. Where it was made block by block, it is a `DistributedRelease`: a release that lacks what
    does not fit on one machine, and says so (`UnavailableError`).

    Raises
    ------
    InputError
        When the table or the call is wrong, or an order that is to be kept tells a quasi-identifier (unless
        `force`).
    InfeasibleError
        When the table cannot satisfy the policy, or the verdict is not that it holds; nothing is released.
    """
    if isinstance(schema, Policy):
        policy = schema
    else:
        policy = Policy(
            as_schema(schema, " or a Policy"),
            as_models(models),
            Mondrian() if algorithm is None else as_algorithm(algorithm),
            max_suppression=max_suppression,
            output=output,
            keep_order=keep_order,
            seed=seed,
            set_limit=set_limit,
            wildcards=wildcards,
            accepted=tuple(accepted),
            judge=judge,
            ends=ends,
            suppressed=suppressed,
        )
    if levels:
        policy = policy.with_levels(levels)
    policy = with_histories(policy)
    if policy.ledger_m is not None:
        raise ParameterError(
            f"the policy asks for m-invariance (m = {policy.ledger_m} of [ledger]), and such a release is "
            f"made by {setting('next_release', 'incrowd next')}; leave m out for a release of another kind"
        )
    UNANSWERED.check(unanswered, "anonymize", "unanswered")
    clock = Clock(progress or Silent())
    release = _release_whole_or_in_blocks(
        table, policy, population, csv_format, clock, driver_keys, progress, blocks=blocks, force=force
    )
    release.verdict.admit(unanswered)
    return release


def _release_whole_or_in_blocks(  # noqa: PLR0913
    table: Any,
    policy: Policy,
    population: Any,
    csv_format: CsvFormat | None,
    clock: Clock,
    driver_keys: int,
    progress: Progress | None,
    *,
    blocks: int | None,
    force: bool,
) -> Release:
    """Recode a table as a whole, or block by block on request or with too many keys."""
    if policy.schema.sets:
        from incrowd.release.jobs.make.sets import Steps, anonymize_sets

        steps = Steps(start_search, recode, release_of)
        return anonymize_sets(table, policy, population, csv_format, clock, steps, blocks=blocks)
    if blocks is not None:
        return _release_in_blocks(table, policy, population, blocks, driver_keys, progress)
    try:
        start = start_search(table, policy, population, csv_format, clock, driver_keys)
    except TooManyKeysError:
        if not _divisible(table, policy, population):
            raise
        return _release_in_blocks(table, policy, population, None, driver_keys, progress)
    return release_of(recode(start, policy, clock, driver_keys, force=force), clock, driver_keys)


class Recoded(NamedTuple):
    """A table after recoding and measuring, before the search for points: half a release."""

    start: SearchStart
    policy: Policy
    telling: Sequence[str]
    before: Callable[[], Assessment]
    recoding: Recoding
    lattice: SolutionSpace | None
    result: ReleasedRows
    after: Assessment


def recode(
    start: SearchStart,
    policy: Policy,
    clock: Clock,
    driver_keys: int | None = None,
    *,
    force: bool = False,
) -> Recoded:
    """Search a recoding of a counted table, recode the table, and refuse a broken limit.

    The start may be that of another policy with the same roles, hierarchies and cells: the studio counts a
    table once, and recodes it for each limit that somebody tries. So the policy is checked here, too.
    """
    check_search(policy)
    check_limits(policy, start.frequency)
    leaving = policy.schema.after_treatment()
    with clock.stage("assess"):
        telling = _revealing_columns(start, policy, force=force)
        before = _assessment_before(start.frequency, policy)
        start = start.prepared(policy)
    recoding, lattice = _recoding(start, policy, clock)
    with clock.stage("apply"):
        result = ReleasedRows.of_recoding(
            start.treatments,
            leaving,
            start.counted,
            recoding,
            policy,
            driver_keys=driver_keys,
            progress=clock.progress,
        )
        recoding = result.recoding
    # What counts is the table that leaves, not what was meant.
    with clock.stage("check"):
        after = assess_table(
            result.released.table,
            policy.written,
            policy.models,
            population=start.population,
            driver_keys=driver_keys,
            progress=clock.progress,
            made_from=recoding.leaving(start.frequency),
            wildcards=policy.wildcards,
        )
        judge(after, policy, result.suppression)
    return Recoded(start, policy, telling, before, recoding, lattice, result, after)


def release_of(recoded: Recoded, clock: Clock, driver_keys: int | None = None) -> Release:
    """Find the points of a recoded table, and put the rows into a random order."""
    start, policy, telling, before, recoding, lattice, result, after = recoded
    engine, frequency, released = start.engine, start.frequency, result.released.table
    with clock.stage("points"):
        share = result.suppression.share(after.records)
        is_shorter = result.suppression.left_out and engine.in_order
        leaving_rows = engine_for(released) if is_shorter else result.rows
        evidence = Evidence(
            start.treatments.raw, leaving_rows, policy, start.counted, recoding, after.records, share,
            result.suppression.exposed, result.suppression.failing,
        )  # fmt: skip
        points = points_of(evidence)
    order = None if policy.keep_order else RandomOrder()
    with clock.stage("order"):
        if order is not None:
            released = result.released.reordered(order)
        table = with_types(engine, released, start.schema, *recoding.leaving(frequency), recoding)
    leaving_table = engine_for(table, driver_keys=driver_keys)
    kept = {*leaving_table.columns}
    return Release(
        table=table,
        policy=policy,
        recoding=recoding,
        privacy=after,
        utility=measure_all(frequency, recoding),
        seconds=clock.seconds,
        csv_format=start.csv_format,
        population=start.population,
        lattice=lattice,
        frequency=frequency,
        sources=start.sources,
        driver_keys=driver_keys,
        order=order if engine.in_order else None,
        telling=tuple(telling),
        dropped=tuple(name for name in engine.columns if name not in kept),
        points=points,
        values=result.values,
        suppression=result.suppression,
        places=result.released.places(),
        reasons=result.reasons,
        analyses=None if start.analyses is None else start.analyses.compare(leaving_table),
        _measure_before=before,
        _texts=None if table is released else released,
    )


def _revealing_columns(start: SearchStart, policy: Policy, *, force: bool = False) -> Sequence[str]:
    """Name the columns that the order of the rows reveals, if the policy keeps the order."""
    if not policy.keep_order:
        return ()
    leaving = policy.schema.after_treatment()
    return telling_columns(start.counted, leaving, force=force)


def _assessment_before(frequency: FrequencyTable, policy: Policy) -> Callable[[], Assessment]:
    """Return a function that measures the table before recoding.

    It waits until somebody looks where sizes are all that models ask for: other models may refuse a table,
    and that is said before anything is released.
    """
    from incrowd.core.table.classes import EquivalenceClasses

    def measure() -> Assessment:
        classes = EquivalenceClasses.of_keys(frequency)
        return assess_classes(classes, policy.models, policy.wildcards, linked=policy.schema.joined)

    waits = all(model.size_only for model in policy.models) and policy.wildcards == "value"
    if waits and not policy.schema.joined and not policy.algorithm.by_record:
        return measure
    assessment = measure()
    return lambda: assessment


def _recoding(start: SearchStart, policy: Policy, clock: Clock) -> tuple[Recoding, SolutionSpace | None]:
    """Search a recoding, refuse cells that must not leave, and add the decisions of treatments."""
    with clock.stage("search"):
        solution = policy.algorithm.search(
            search_problem(policy, start.frequency, start.schema.quasi, clock.progress)
        )
        check_cells(solution.recoding, policy.schema)
        check_sets(solution.recoding, start.frequency, start.schema.quasi, policy.set_limit)
    return replace(solution.recoding, treated=start.treatments.decided), solution.lattice


def _divisible(table: Any, policy: Policy, population: Any) -> bool:
    """Say whether a table can be recoded block by block under a policy."""
    from incrowd.release.jobs.make.distributed import refuse_divided

    try:
        refuse_divided(policy)
    except ParameterError:
        return False
    return population is None and engine_for(table).divisible


def _release_in_blocks(
    table: Any,
    policy: Policy,
    population: Any,
    blocks: int | None,
    driver_keys: int,
    progress: Progress | None,
) -> Release:
    from incrowd.release.jobs.make.distributed import in_blocks, refuse_divided

    if isinstance(table, str | os.PathLike) or not engine_for(table).divisible:
        raise ParameterError("blocks are for Spark DataFrames; leave blocks out")
    if blocks is not None:
        blocks = COUNT.check(blocks, "anonymize", "blocks")
    if population is not None:
        raise ParameterError("blocks: a population cannot be compared block by block; leave it out")
    check_levels(policy)
    refuse_divided(policy)
    schema = policy.schema
    if schema.treated:
        engine, plain = treat_table(engine_for(table, driver_keys=driver_keys), schema, "a table in blocks")
        table, policy = engine.native, replace(policy, schema=plain)
    release = in_blocks(
        table, policy, policy.counting, blocks=blocks, driver_keys=driver_keys, progress=progress
    )
    return replace(release, treatments=tuple(treatment_entries(schema)))


@with_keyword_hints
@with_bar
@in_job
def explore(
    table: Any,
    policy: Policy,
    *,
    population: Any = None,
    csv_format: CsvFormat | None = None,
    progress: Progress | None = None,
) -> SolutionSpace:
    """Search the lattice of full-domain recodings, and return loss and risk of the nodes.

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
    policy = replace(with_histories(policy.with_levels({})), analyses=())
    clock = Clock(progress or Silent())
    start = start_search(table, policy, population, csv_format, clock)
    # What a release would be refused for is refused here, too.
    _revealing_columns(start, policy)
    _, lattice = _recoding(start.prepared(policy), policy, clock)
    if lattice is None:
        raise ParameterError(
            f"{policy.algorithm.name} says that it knows levels but gave no lattice; use another full-domain "
            "algorithm, e.g. optimal"
        )
    return lattice


class SearchStart(NamedTuple):
    """A table that is read, treated and counted: the start of a search."""

    engine: Engine
    treatments: TableTreatments
    schema: Schema
    counted: Counted
    population: Any
    csv_format: CsvFormat | None
    sources: tuple[Any, ...] = ()
    analyses: RawAnalyses | None = None

    @property
    def frequency(self) -> FrequencyTable:
        """The keys of the table."""
        return self.counted.frequency

    def prepared(self, policy: Policy) -> SearchStart:
        """Count records one by one if the algorithm may treat equal records differently."""
        if not policy.algorithm.by_record:
            return self
        return self._replace(counted=replace(self.counted, frequency=self.frequency.by_record()))


def start_search(
    table: Any,
    policy: Policy,
    population: Any,
    csv_format: CsvFormat | None,
    clock: Clock,
    driver_keys: int | None = None,
) -> SearchStart:
    """Read and count a table, and refuse policies that cannot be satisfied."""
    from incrowd.core.io.addresses import is_scan
    from incrowd.core.io.streams import Files
    from incrowd.engines import loaded, open_table, with_population

    check_search(policy)
    paths = [each for each in (table, population) if isinstance(each, str | os.PathLike)]
    if isinstance(table, str | os.PathLike):
        with clock.stage("open" if is_scan(table) else "read"):
            table, csv_format = open_table(table, csv_format, progress=clock.progress)
    elif isinstance(table, Files):
        csv_format = table.csv_format
    engine = engine_for(table, driver_keys=driver_keys, progress=clock.progress)
    clock.gives_up(engine.interrupt)
    policy.schema.after_treatment().released(engine.columns)
    with clock.stage("treat") if policy.schema.treated else nullcontext():
        treatments = TableTreatments.of_table(engine, policy.schema)
    engine = treatments.counted
    searched = policy.counting
    joint = any(model.is_joint for model in policy.models)
    target = policy.algorithm.predicts
    with clock.stage("count"):
        counted = engine.count(searched, joint=joint, target=target)
    if isinstance(population, str | os.PathLike):
        with clock.stage("read population"):
            population = loaded(population)
    if population is not None:
        with clock.stage("count population"):
            frequency = with_population(counted.frequency, policy.written, population)
            counted = replace(counted, frequency=frequency)
    check_limits(policy, counted.frequency)
    refuse_unlinked(policy.schema, several=counted.frequency.people.table is not None)
    people_from = [] if population is None else engine_for(population).sources
    sources = (*paths, *engine.sources, *people_from)
    analyses = None
    if policy.analyses:
        from incrowd.release.analyses.measure import RawAnalyses

        # What cannot be computed is refused before the search.
        analyses = RawAnalyses.of_table(treatments.raw, policy.schema, policy.analyses)
    return SearchStart(engine, treatments, searched, counted, population, csv_format, sources, analyses)


def check_search(policy: Policy) -> None:
    """Refuse a policy without a model, or with settings that the algorithm does not support."""
    if not policy.models:
        raise ParameterError("name at least one privacy model, e.g. models=[ic.KAnonymity(5)] or -k 5")
    check_levels(policy)


def check_levels(policy: Policy) -> None:
    """Refuse levels and weights that the policy's algorithm does not support."""
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


def check_limits(policy: Policy, frequency: FrequencyTable) -> None:
    """Refuse models that no recoding of a table can satisfy."""
    for model in policy.models:
        model.check_table(frequency.counted)
    if not frequency.records:
        raise TableError("every record of the table is suppressed (* in every quasi-identifier)")
