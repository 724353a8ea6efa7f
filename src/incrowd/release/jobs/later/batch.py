"""A batch of new rows: cells under an earlier recoding, suppressed rows, and refusals of the batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import InfeasibleError, ParameterError, named, setting
from incrowd.core.lazy import NDArray, np
from incrowd.core.reading.spellings import has_decimal_points
from incrowd.core.reading.texts import column_of
from incrowd.core.recoding import SUPPRESSED, Recoding
from incrowd.core.recoding.people import add_people, add_sensitive
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.frequency import FrequencyTable
from incrowd.core.table.parts import refuse_sets
from incrowd.core.table.schema import Schema
from incrowd.core.table.union import Part, ReleasedCells, key_of_rows, together
from incrowd.release.jobs.later.people_across_batches import BatchPeople, people_of_both
from incrowd.release.jobs.make.reasons import Reason
from incrowd.release.jobs.make.recode_batch import NewCells, RecodedBatch, labels_of, number_texts
from incrowd.release.jobs.make.released_rows import ReleasedRows
from incrowd.release.jobs.make.suppressed_records import refuse_failing
from incrowd.release.jobs.make.table_treatments import TableTreatments, refuse_perturbed

if TYPE_CHECKING:
    from incrowd.engines import Counted, Engine
    from incrowd.release.jobs.measure.assess import Assessment
    from incrowd.release.policy.policy import Policy


_FIFTH = 0.2


@dataclass(frozen=True)
class Batch:
    """New rows, treated and counted, with the cell of each key.

    Attributes
    ----------
    table
        The rows as they came in.
    treatments
        What happens to columns beside the recoding.
    leaving
        The schema of the columns that leave.
    counted
        The rows, counted by the schema that the recoding's domains were counted by.
    cells
        The cell of each of their keys.
    """

    table: Any
    treatments: TableTreatments
    leaving: Schema
    counted: Counted
    cells: NewCells

    @property
    def frequency(self) -> FrequencyTable:
        """The keys of the rows."""
        return self.counted.frequency

    @property
    def engine(self) -> Engine:
        """The engine that counts the treated rows."""
        return self.treatments.counted

    @cached_property
    def numbered_labels(self) -> ReleasedCells:
        """The labels, numbered."""
        return [number_texts(column) for column in self.cells.labels]

    def release_rows(
        self, carried: RecodedBatch, policy: Policy, reasons: NDArray[np.int8], *, alone: bool = True
    ) -> ReleasedRows:
        """Return the rows with the cells of the keys, as `ReleasedRows.of_recoding` does."""
        schema = _as_counted(self.leaving, self.counted.schema)
        return ReleasedRows.of_recoding(
            self.treatments, schema, self.counted, carried, policy, reasons=reasons, alone=alone
        )


def count_batch(table: Any, recoding: Recoding, policy: Policy) -> Batch:
    """Treat and count new rows, and find the cell of each key."""
    from incrowd.engines import engine_for

    engine = engine_for(table)
    schema = policy.schema
    (leaving := schema.after_treatment()).released(engine.columns)
    _refuse_unfit(recoding, policy)
    treatments = TableTreatments.of_table(engine, schema, recoding.treated)
    refuse_sets(schema.quasi)
    plain_schema = _plain_schema(schema, recoding)
    counted = treatments.counted.count(plain_schema, joint=any(model.is_joint for model in policy.models))
    return Batch(table, treatments, leaving, counted, labels_of(recoding, counted.frequency))


def _plain_schema(schema: Schema, recoding: Recoding) -> Schema:
    """Return the schema that counts new rows like the rows of the recoding's domains."""
    # Leaves of a hierarchy are texts: `0` and `-0` are one number, and may stand under different nodes.
    kinds = [domain.kind if domain.hierarchy is None else "category" for domain in recoding.domains]
    quasi = (
        replace(attribute.as_counted().as_texts(), kind=kind, output=None, weight=1.0, levels=None)
        for attribute, kind in zip(schema.quasi, kinds, strict=True)
    )
    # What the points of the earlier numbers mean, these mean, too.
    quasi = (
        each.with_points() if kind == "number" and has_decimal_points(column_of(domain.texts)) else each
        for each, kind, domain in zip(quasi, kinds, recoding.domains, strict=True)
    )
    sensitive = (each.as_counted() for each in schema.sensitive)
    others = (each for role in ("person", "household", "weight") for each in schema.having(role))
    return Schema.of_attributes([*quasi, *sensitive, *others], null_values=schema.null_values)


@dataclass(frozen=True)
class Earlier:
    """An earlier release, if named.

    Attributes
    ----------
    parts
        The counted release; none where there is no earlier one.
    table, row_map
        Its raw table and row map, which say whose its rows are.
    as_one
        Whether it and the batch are merged before anybody sees them.
    """

    parts: tuple[Part, ...] = ()
    table: Any = None
    row_map: Any = None
    as_one: bool = False

    @property
    def beside(self) -> list[tuple[Part, ...]]:
        """The releases beside the batch for each judgement: none, the earlier release, or both in turn.

        Which file a row is in is known. So a file has to satisfy the models alone, unless it never leaves
        without the other.
        """
        if not self.parts:
            return [()]
        return [self.parts] if self.as_one else [(), self.parts]

    @classmethod
    def of_release(cls, release: Any, table: Any, row_map: Any, policy: Policy, *, as_one: bool) -> Earlier:
        """Count the named earlier release, and refuse arguments without such a release."""
        from incrowd.engines import loaded

        if release is None:
            if as_one:
                raise ParameterError(
                    f"{setting('published_as_one=True', '--published-as-one')} says that the batch is merged "
                    "with an earlier release before anybody sees them; name that release "
                    f"({setting('previous_release=', '--previous-release')})"
                )
            if table is not None or row_map is not None:
                raise ParameterError(
                    "an earlier raw table and its row map tell of an earlier release; name it "
                    f"({setting('previous_release=', '--previous-release')})"
                )
            return cls()
        refuse_perturbed(policy.schema, "apply with an earlier release")
        return cls((count_release(loaded(release), policy),), table, row_map, as_one)

    def people_with(self, batch: Batch, policy: Policy, recoding: Recoding) -> BatchPeople | None:
        """Return the people of the batch and the earlier release, if columns name people or weights."""
        schema = policy.schema
        if not self.parts or not (schema.person or (is_surveyed(schema) and self.table is not None)):
            return None

        def treated(engine: Engine) -> Engine:
            return TableTreatments.of_table(engine, schema, recoding.treated).counted

        counted = self.parts[0][2]
        return people_of_both(batch.table, self.table, self.row_map, counted, schema, treated)


@dataclass(frozen=True)
class Fate:
    """The outcome of each key of a batch: kept, or suppressed for a reason.

    Attributes
    ----------
    weights
        int64[keys]: its rows.
    reasons
        int8[keys]: its `Reason`, 0 where its rows keep their cells.
    gone_before
        Rows that came in as ``*``.
    unknown
        Per quasi-identifier the rows that no cell covers, and that have a value of it that the recoding does
        not know.
    """

    weights: NDArray[np.int64]
    reasons: NDArray[np.int8]
    gone_before: int
    unknown: dict[str, int]

    @property
    def kept(self) -> NDArray[np.bool_]:
        """bool[keys]: whether the rows of a key are released with cells."""
        return np.asarray(self.reasons == 0)

    @property
    def outside(self) -> int:
        """Rows that no cell covers."""
        return int(self.weights[self.reasons == Reason.OUTSIDE].sum())

    @property
    def too_small(self) -> int:
        """Rows of classes that fail."""
        failing = np.isin(self.reasons, (Reason.CLASS, Reason.REST, Reason.VALUES))
        return int(self.weights[failing].sum())

    @property
    def suppressed(self) -> int:
        """All rows that are suppressed."""
        return self.gone_before + int(self.weights[~self.kept].sum())


def fate_of(batch: Batch, earlier: Earlier, policy: Policy, both: BatchPeople | None) -> Fate:
    """Decide the fate of every key of a batch."""
    columns = [np.array([label == SUPPRESSED for label in column], np.bool_) for column in batch.cells.labels]
    starred = np.asarray(np.logical_and.reduce(columns))
    people = None if both is None else both.people_of_each
    covered, frequency = batch.cells.covered, batch.frequency
    small = _failing((batch.numbered_labels, covered & ~starred, frequency), earlier, policy, people)
    unknown = {
        domain.name: int(frequency.weights[column].sum())
        for domain, column in zip(frequency.domains, batch.cells.unknown, strict=True)
        if column.any()
    }
    reasons = np.select([~covered, starred, small], [Reason.OUTSIDE, Reason.STARS, Reason.CLASS], 0)
    return Fate(frequency.weights, reasons.astype(np.int8), frequency.suppressed, unknown)


def _refuse_unfit(recoding: Recoding, policy: Policy) -> None:
    """Refuse a recoding of other columns, and models that cannot judge a batch."""
    names = [attribute.name for attribute in policy.schema.quasi]
    if [domain.name for domain in recoding.domains] != names:
        raise ParameterError(
            f"the recoding is one of {named(domain.name for domain in recoding.domains)}, and the "
            f"policy's quasi-identifiers are {named(names)}"
        )
    for model in policy.models:
        if model.needs_population:
            raise ParameterError(f"apply: {model.name} needs a population, which a batch has not got")


def is_surveyed(schema: Schema) -> bool:
    """Say whether rows have a household or a sampling weight."""
    return bool(schema.household or schema.weights)


def _failing(
    batch: Part, earlier: Earlier, policy: Policy, people: Sequence[NDArray[np.int32]] | None
) -> NDArray[np.bool_]:
    """Return the keys to suppress so that every class of each judged combination satisfies the models."""
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.matching import matched
    from incrowd.search.base import all_hold

    labels, leaving, frequency = batch
    small = np.zeros(len(leaving), np.bool_)

    def failing(beside: tuple[Part, ...]) -> NDArray[np.bool_]:
        parts = [(labels, leaving & ~small, frequency), *beside]
        counted, keys = together(parts, policy.schema, people if beside else None)
        classes = matched(EquivalenceClasses.of_keys(counted), policy.wildcards)
        holds = np.append(all_hold(policy.models, classes), True)
        return np.asarray(~holds[keys[0]] & leaving & ~small)

    while True:
        # What fails alone goes first: it is not to change what is left beside the earlier release.
        failed = next((mask for mask in map(failing, earlier.beside) if mask.any()), None)
        if failed is None:
            return small
        small |= failed


def check_share(fate: Fate, rows: int, policy: Policy, allowed: float | None, waiting: int = 0) -> None:
    """Refuse a batch with more suppressed rows than allowed, or without a released row.

    Parameters
    ----------
    allowed
        The share that may be suppressed; None for that of the policy. Then at most a fifth may be covered by
        no cell: more means that the recoding does not fit the batch.
    waiting
        Rows that wait, which are not among the others.

    Raises
    ------
    InfeasibleError
    """
    largest = policy.max_suppression if allowed is None else allowed
    fits = allowed is not None or fate.outside <= _FIFTH * rows
    if fits and fate.suppressed / rows <= largest and fate.suppressed < rows:
        return
    amount = "every row" if fate.suppressed == rows else f"{fate.suppressed} of {rows} rows"
    amount += f", beside {waiting:,} that wait," if waiting else ""
    share = setting("max_suppression=", "--max-suppression")
    ways = []
    if fate.too_small:
        ways.append(f"let rows of classes that fail wait ({setting('hold=True', '--hold')})")
    if fate.suppressed < rows:
        ways.append(
            f"raise {share} (now {largest:.2%})" if fits else f"give {share} with this call if that is meant"
        )
    facts = [unknown_values(fate.unknown), "" if fits else "the recoding does not fit the batch"]
    way_out = ", or ".join(filter(None, [", ".join(ways), "anonymize both tables together"]))
    raise InfeasibleError(
        f"apply: {amount} would be suppressed ({fate.outside} are covered by no cell, {fate.too_small} in "
        f"classes that fail); {'; '.join([*filter(None, facts), way_out])}"
    )


def unknown_values(unknown: dict[str, int]) -> str:
    """Count the rows with values that a recoding does not know, in words."""
    columns = (f"{name!r} in {rows:,} row{'s' * (rows > 1)}" for name, rows in unknown.items())
    return f"values that the recoding does not know: {', '.join(columns)}" if unknown else ""


def count_release(table: Any, policy: Policy, *, starred: bool = False) -> Part:
    """Count a released table as a part whose keys all count.

    Parameters
    ----------
    starred
        As in `EngineSettings`.
    """
    from incrowd.engines import engine_for

    schema = policy.schema.without_perturbed()
    joint = any(model.is_joint for model in policy.models) and len(schema.sensitive) > 0
    frequency = engine_for(table, starred=starred).count(schema.measured(person=False), joint=joint).frequency
    labels: ReleasedCells = [
        (codes, domain.values) for domain, codes in zip(frequency.domains, frequency.codes, strict=True)
    ]
    return labels, np.ones(frequency.keys, np.bool_), frequency


def _as_counted(schema: Schema, counting: Schema) -> Schema:
    """Return a schema with quasi-identifiers as in the counting schema."""
    return schema.with_attributes(
        counting[attribute.name] if attribute.role == "quasi" else attribute
        for attribute in schema.attributes
    )


MadeFrom = tuple[FrequencyTable, Recoding] | None
"""Counts before recoding, and the recoding; None where nothing more is measured than was released."""


@dataclass(frozen=True)
class BatchJudge:
    """The judge of a recoded batch, alone or with the earlier release.

    Attributes
    ----------
    earlier
        What stands beside the batch each time.
    made_from
        For each time the counts before and the recoding, if more is measured than was released.
    """

    policy: Policy
    earlier: Earlier
    made_from: tuple[MadeFrom, ...]

    @classmethod
    def of_batch(
        cls, batch: Batch, recoding: Recoding, policy: Policy, earlier: Earlier, both: BatchPeople | None
    ) -> BatchJudge:
        """Keep the counts of the rows before recoding.

        Parameters
        ----------
        both
            The people of the batch and of the earlier release, where they are known.
        """
        schema = policy.schema

        # The figures of a batch may need more of its rows than the released columns.
        perturbed = any(each.perturbed for each in schema.sensitive)
        needs_raw_rows = bool(schema.person) or is_surveyed(schema) or perturbed

        def made_from() -> Iterator[MadeFrom]:
            for beside in earlier.beside:
                if not beside:
                    yield recoding.leaving(batch.frequency) if needs_raw_rows else None
                elif both is None:
                    yield None
                else:
                    part, places = _part(batch, recoding)
                    leaving = both if places is None else both.leaving(places)
                    yield _people_of_parts([part, *beside], schema, leaving)

        return cls(policy, earlier, tuple(made_from()))

    def assessments(self, released: Any) -> list[Assessment]:
        """Measure a recoded batch in each combination, and refuse a model that does not hold.

        Raises
        ------
        InfeasibleError
        """
        batch = count_release(released, self.policy)
        times = list(zip(self.earlier.beside, self.made_from, strict=True))
        assessments = [self._assessment(batch, beside, made_from) for beside, made_from in times]
        beside, made_from = times[0]
        if batch[2].suppressed and self.policy.suppressed != "keep" and not (beside and made_from):
            # Suppressed records that leave are a class. Beside people of two tables they were judged before.
            starred = count_release(released, self.policy, starred=True)
            refuse_failing(self._classes(starred, beside, made_from), self.policy.models)
        return assessments

    def _classes(self, batch: Part, beside: Sequence[Part], made_from: MadeFrom) -> EquivalenceClasses:
        counted, _ = together([*beside, batch], self.policy.schema.without_perturbed())
        if made_from is not None:
            counted = add_people(add_sensitive(counted, *made_from), *made_from)
        return EquivalenceClasses.of_keys(counted)

    def _assessment(self, batch: Part, beside: Sequence[Part], made_from: MadeFrom) -> Assessment:
        from incrowd.release.jobs.make.released_rows import judge
        from incrowd.release.jobs.measure.assess import assess_classes

        policy = self.policy
        classes = self._classes(batch, beside, made_from)
        assessment = assess_classes(classes, policy.models, policy.wildcards, linked=policy.schema.joined)
        try:
            judge(assessment, replace(policy, max_suppression=1.0))
        except InfeasibleError as error:
            if not beside:
                raise
            raise InfeasibleError(f"{error} (in the batch and the earlier release together)") from None
        if made_from is not None or not beside:
            return assessment
        return replace(assessment, notes=_unmeasured_columns(policy.schema))


def _part(batch: Batch, recoding: Recoding) -> tuple[Part, NDArray[np.int64] | None]:
    """Return the released part of a batch and the places of the rows, or None for all rows."""
    if not recoding.left_out:
        return (batch.numbered_labels, ~recoding.suppressed, batch.frequency), None
    leaving = ~recoding.starred
    labels_of_keys = [(numbers[leaving], labels) for numbers, labels in batch.numbered_labels]
    frequency, _ = recoding.leaving(batch.frequency)
    return (labels_of_keys, np.ones(frequency.keys, np.bool_), frequency), batch.counted.places_of(leaving)


def _people_of_parts(
    parts: Sequence[Part], schema: Schema, both: BatchPeople
) -> tuple[FrequencyTable, Recoding]:
    """Count the people of a batch and of the earlier release, whose cells stay unchanged."""
    from incrowd.engines.base import with_survey_of_rows

    counted, keys = together(parts, schema, both.people_of_each)
    if is_surveyed(schema):
        rows = replace(counted, row_keys=key_of_rows(parts, keys).astype(np.int32))
        counted = with_survey_of_rows(rows, schema, both.weights, both.homes, both.people)
    return counted, RecodedBatch.as_it_is(counted)


def _unmeasured_columns(schema: Schema) -> tuple[str, ...]:
    """Name the columns without figures, because the earlier raw table is unknown."""
    names = [*schema.household, *(() if schema.weights is None else (schema.weights,))]
    if not names:
        return ()
    return (
        f"Nothing is measured by column {named(names)}: an earlier release does not say what its rows have "
        f"there. Name its raw table ({setting('previous_table=', '--previous-table')}) and its row map "
        f"({setting('previous_row_map=', '--previous-row-map')}).",
    )
