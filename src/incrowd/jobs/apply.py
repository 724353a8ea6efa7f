"""apply_recoding(): recode the next batch of rows as an earlier table was recoded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError, named, setting
from incrowd.io.shuffle import RandomOrder
from incrowd.jobs.batch import REASONS, Earlier, counted_batch, counted_release, fate_of, is_surveyed
from incrowd.jobs.both_people import Both
from incrowd.jobs.carried import Carried, Labels
from incrowd.jobs.checks import styled, telling_columns
from incrowd.jobs.linked import refuse_unlinked, with_histories
from incrowd.jobs.survey import survey_sentences
from incrowd.jobs.types import with_types
from incrowd.recoding import Recoding, check_cells
from incrowd.recoding.people import carry_people, carry_sensitive
from incrowd.table.documents import envelope
from incrowd.table.frequency import FrequencyTable
from incrowd.table.markup import InNotebooks
from incrowd.table.schema import Schema
from incrowd.table.union import Part, key_of_rows, together

if TYPE_CHECKING:
    import polars as pl

    from incrowd.io.files import CsvFormat
    from incrowd.jobs.assess import Assessment
    from incrowd.jobs.policy import Policy

__all__ = ["AppliedBatch", "apply_recoding"]


@dataclass(frozen=True)
class AppliedBatch(InNotebooks):
    """A batch of rows, recoded by decisions that were made before.

    Attributes
    ----------
    table
        The rows, of the kind that came in; columns as the schema releases them. They come in a random order
        unless the policy keeps it. Means have types as in `Release.table`.
    policy
        What it has to satisfy.
    records
        Rows of the batch.
    outside
        Rows that no cell of the recoding covers, as those with a value that it does not know; suppressed.
    too_small
        Rows whose class does not satisfy the models; suppressed.
    suppressed
        All suppressed rows, with those that came in as ``*`` or that the recoding suppressed.
    privacy
        The batch, or where a release was named the batch and that together, measured.
    previous_release
        The earlier release, where one was named.
    csv_format
        How the batch was written, where it was a CSV.
    sources
        What was given: paths, where they were paths.
    """

    _shown = ("records", "outside", "too_small", "suppressed")

    table: Any = field(repr=False)
    policy: Policy = field(repr=False)
    records: int
    outside: int
    too_small: int
    suppressed: int
    privacy: Assessment
    previous_release: Any = field(default=None, repr=False)
    csv_format: CsvFormat | None = None
    sources: tuple[Any, ...] = field(default=(), repr=False)
    _reason_of_row: NDArray[np.int8] | None = field(default=None, repr=False, kw_only=True)
    _made_from: tuple[FrequencyTable, Recoding] | None = field(default=None, repr=False, kw_only=True)
    _texts: Any = field(default=None, repr=False, kw_only=True)

    def __repr__(self) -> str:
        return f"AppliedBatch({self.records:,} records, {self.suppressed:,} suppressed; every model holds)"

    @property
    def texts(self) -> Any:
        """The rows with every quasi-identifier as texts, as files hold them."""
        return self.table if self._texts is None else self._texts

    def rows(self) -> pl.DataFrame:
        """Return which rows of the batch were suppressed, and why: their numbers and nothing that they hold.

        The numbers are those of the rows as they came in. Do not hand them out.

        Returns
        -------
        A Polars frame with ``row`` (the first has number 1) and ``reason``: ``outside``, ``too small``, or
        ``suppressed`` where the row came in as ``*`` or the recoding suppressed it.

        Raises
        ------
        TableError
            When the rows are not in memory.
        """
        import polars as pl

        if self._reason_of_row is None:
            raise TableError("the rows of this batch are not in memory, so they have no numbers")
        found = np.flatnonzero(self._reason_of_row)
        reasons = [REASONS[reason] for reason in self._reason_of_row[found]]
        return pl.DataFrame({"row": found + 1, "reason": pl.Series(reasons, dtype=pl.String)})

    def write(
        self, path: str | os.PathLike[str], *, force: bool = False, escape_formulas: bool = False
    ) -> None:
        """Write the rows, read them again and judge them, with the earlier release where one was named.

        With `escape_formulas` texts of a CSV that a spreadsheet would run as formulas get ``'`` in front.

        Raises
        ------
        TableError
            When the file exists (unless `force`) or cannot be written.
        InfeasibleError
            When what was written does not satisfy the policy.
        """
        from incrowd.engines import engine_for
        from incrowd.io.files import escaping

        def check(reread: Any) -> None:
            _judged(reread, self.previous_release, self.policy, self._made_from)

        csv_format = escaping(self.csv_format, escape_formulas)
        engine_for(self.texts).write_checked(path, csv_format, check, force=force, sources=self.sources)

    def sentences(self) -> list[str]:
        """Say how easily survey records and households are found, and what is not measured."""
        return [*survey_sentences(self.privacy.estimates, self.privacy.risk), *self.privacy.notes]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: no value of the tables is in it."""
        return {
            **envelope("batch"),
            "records": self.records,
            "outside": self.outside,
            "too_small": self.too_small,
            "suppressed": self.suppressed,
            "privacy": self.privacy.to_dict(cells=False),
        }


def apply_recoding(
    recoding: Recoding | str | os.PathLike[str],
    table: Any,
    policy: Policy,
    *,
    previous_release: Any = None,
    previous_table: Any = None,
    previous_row_map: Any = None,
    csv_format: CsvFormat | None = None,
    force: bool = False,
) -> AppliedBatch:
    """Recode new rows as an earlier table was recoded, check the result, and suppress what does not fit.

    - A full-domain recoding takes every value to the level of its column.
    - A single-dimensional recoding takes every value to the cell of its column. If the recoding has rounds,
      the first round is taken that has a class for the row.
    - With a local recoding, a row gets the cells of the class that covers it. If several classes cover it, it
      gets those that lose least.

    The text of a cell says what it covers. A set covers the values that it names. A mean covers no value but
    itself.

    Rows that no cell covers are suppressed. Then every row of a class that fails the policy's models is
    suppressed, until all classes satisfy them.

    Parameters
    ----------
    recoding
        A recoding, or the folder where it was saved.
    table
        The new rows: any table that `anonymize` takes.
    policy
        The roles of the columns and the models; its algorithm is not looked at.
    previous_release
        The earlier release, if both will be published. The classes of both are then checked together, and
        only new rows are suppressed.
    previous_table, previous_row_map
        The raw table of the earlier release and its row map, as `Release.row_map` gives it or the file in
        ``internal/``. They say whose its rows are. Where columns name a person, people are counted over both.
    csv_format
        How a CSV is written, where it is not plain.
    force
        Whether an order that tells a quasi-identifier is kept all the same, if the policy keeps the order.

    Raises
    ------
    InputError
        When the tables or the recoding do not fit the policy, or the order that it keeps tells a
        quasi-identifier (unless `force`).
    InfeasibleError
        When the models fail even if all new rows are suppressed, or when more rows would have to be
        suppressed than the policy allows.
    """
    named_files = (recoding, table, previous_release, previous_table, previous_row_map)
    given = tuple(each for each in named_files if isinstance(each, str | os.PathLike))
    if not isinstance(recoding, Recoding):
        recoding = Recoding.load(recoding)
    policy = with_histories(policy, searching=False)
    earlier = Earlier.named(previous_release, previous_table, previous_row_map, policy)
    batch = counted_batch(table, recoding, policy, csv_format)
    refuse_unlinked(policy.schema, several=batch.frequency.people is not None or bool(earlier.parts))
    if policy.keep_order:
        telling_columns(batch.engine, batch.leaving, batch.frequency, force=force)
    both = earlier.people_with(batch, policy, recoding)
    fate = fate_of(batch, earlier, policy, both)
    carried = Carried.build(recoding.domains, batch.frequency, batch.labels, fate.kept)
    check_cells(carried, policy.schema.null_values)
    released = batch.released(carried)
    made_from: tuple[FrequencyTable, Recoding] | None = None
    if both is not None:
        made_from = _both([(batch.shown, fate.kept, batch.frequency), *earlier.parts], policy.schema, both)
    elif _is_carried(policy.schema) and not earlier.parts:
        made_from = batch.frequency, carried
    judged = _judged(released, previous_release, policy, made_from)
    if not policy.keep_order:
        released = batch.engine.reordered(released, RandomOrder())
    rows = batch.frequency.row_keys
    table = with_types(batch.engine, released, styled(policy), batch.frequency, carried, recoding)
    return AppliedBatch(
        table=table,
        policy=policy,
        records=batch.frequency.rows,
        outside=fate.outside,
        too_small=fate.too_small,
        suppressed=fate.suppressed,
        privacy=judged,
        previous_release=previous_release,
        csv_format=csv_format,
        sources=(*given, *batch.engine.sources),
        _reason_of_row=None if rows is None else fate.reasons()[rows],
        _made_from=made_from,
        _texts=None if table is released else released,
    )


def _both(parts: Sequence[Part], schema: Schema, known: Both) -> tuple[FrequencyTable, Recoding]:
    """Count the people of a batch and of what was released before, whose cells stay as they are."""
    from incrowd.engines.surveyed import of_rows

    counted, keys = together(parts, schema, known.people_of_each)
    if is_surveyed(schema):
        rows = replace(counted, row_keys=key_of_rows(parts, keys).astype(np.int32))
        counted = of_rows(rows, schema, known.weights, known.homes, known.people)
    labels: Labels = [
        [domain.values[code] for code in codes.tolist()]
        for domain, codes in zip(counted.domains, counted.codes, strict=True)
    ]
    every = np.ones(counted.keys, np.bool_)
    return counted, Carried.build(counted.domains, counted, labels, every)


def _judged(
    released: Any,
    previous_release: Any,
    policy: Policy,
    made_from: tuple[FrequencyTable, Recoding] | None,
) -> Assessment:
    """Measure what was made, with the earlier release where one was named, and refuse what does not hold."""
    from incrowd.engines import loaded
    from incrowd.jobs.assess import assess_classes
    from incrowd.jobs.checks import judge
    from incrowd.table.classes import EquivalenceClasses

    tables = [released] if previous_release is None else [loaded(previous_release), released]
    counted, _ = together(
        [counted_release(table, policy) for table in tables], policy.schema.without_perturbed()
    )
    if made_from is not None:
        counted = carry_people(carry_sensitive(counted, *made_from), *made_from)
    classes = EquivalenceClasses.of_keys(counted)
    assessment = assess_classes(classes, policy.models, policy.wildcards, linked=policy.schema.joined)
    judge(assessment, replace(policy, max_suppression=1.0))
    return assessment if made_from is not None else replace(assessment, notes=_unmeasured(policy.schema))


def _unmeasured(schema: Schema) -> tuple[str, ...]:
    """Say what is not measured beside an earlier release of whose raw table nothing is known."""
    names = [*schema.household, *(() if schema.weights is None else (schema.weights,))]
    if not names:
        return ()
    return (
        f"Nothing is measured by column {named(names)}: an earlier release does not say what its rows have "
        f"there. Name its raw table ({setting('previous_table=', '--previous-table')}) and its row map "
        f"({setting('previous_row_map=', '--previous-row-map')}).",
    )


def _is_carried(schema: Schema) -> bool:
    """Say whether what is measured of a batch needs more of its rows than what was released."""
    return bool(schema.person) or is_surveyed(schema) or any(each.perturbed for each in schema.sensitive)
