"""Judges of a batch of new rows: alone, and with the earlier release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import InfeasibleError, named, setting
from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding import Recoding
from incrowd.core.recoding.people import add_people, add_sensitive
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.frequency import FrequencyTable
from incrowd.core.table.schema import Schema
from incrowd.core.table.union import Part, key_of_rows, together
from incrowd.release.jobs.batch import Batch, Earlier, count_release, is_surveyed
from incrowd.release.jobs.people_across_batches import BatchPeople
from incrowd.release.jobs.recode_batch import RecodedBatch
from incrowd.release.jobs.suppressed_records import refuse_failing

if TYPE_CHECKING:
    from incrowd.release.jobs.assess import Assessment
    from incrowd.release.policy.policy import Policy

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
    def of(
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
        from incrowd.release.jobs.assess import assess_classes
        from incrowd.release.jobs.checks import judge

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
