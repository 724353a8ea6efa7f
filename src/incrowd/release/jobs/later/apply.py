"""apply_recoding(): recode the next batch of rows as an earlier table was recoded."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.errors import InfeasibleError, ParameterError, TableError, setting
from incrowd.core.io.shuffle import RandomOrder
from incrowd.core.lazy import NDArray, np
from incrowd.core.markup import InNotebooks
from incrowd.core.recoding import Recoding, check_cells
from incrowd.release.accounts.points import Evidence, points_of
from incrowd.release.jobs.later.batch import (
    Batch,
    BatchJudge,
    Earlier,
    Fate,
    check_share,
    count_batch,
    fate_of,
)
from incrowd.release.jobs.later.batch_account import BatchAccount
from incrowd.release.jobs.later.held_rows import rows_at, rows_in_memory, with_held
from incrowd.release.jobs.later.people_across_batches import BatchPeople
from incrowd.release.jobs.make.account import ends_sentences
from incrowd.release.jobs.make.leaving_rows import telling_columns
from incrowd.release.jobs.make.reasons import Reason, reasons_of_rows
from incrowd.release.jobs.make.recode_batch import RecodedBatch
from incrowd.release.jobs.make.released_rows import with_types
from incrowd.release.policy.limits import refuse_unlinked, with_histories
from incrowd_gate.points import UNANSWERED, Unanswered
from incrowd_gate.verdict import Verdict

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.io.targets import Outputs, Target
    from incrowd.release.policy.policy import Policy


@dataclass(frozen=True, kw_only=True)
class AppliedBatch(BatchAccount, InNotebooks):
    """A batch of rows, recoded by decisions that were made before.

    Attributes
    ----------
    policy, records, outside, unknown, too_small, suppressed, held_before, held, waiting
        What was decided of the rows; see `BatchDecision`.
    table, texts, suppression, left_out
        The rows that leave, in a random order unless the policy keeps it; see `LeavingRows`.
    privacy, together, published_as_one, values, points, verdict
        What is said of these rows; see `BatchAccount`.
    """

    _shown = ("records", "outside", "too_small", "suppressed", "held")

    _judging: BatchJudge | None = None

    def __repr__(self) -> str:
        waits = f"{self.held:,} held, " if self.held else ""
        out = f" ({self.left_out:,} left out)" if self.left_out else ""
        counts = f"{self.records:,} records, {waits}{self.suppressed:,} suppressed{out}"
        return f"AppliedBatch({counts}; {self.holding}; {self.verdict.state})"

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        hold: str | os.PathLike[str] | None = None,
        force: bool = False,
        escape_formulas: bool = False,
    ) -> None:
        """Write the rows, read the file again, and judge the file, alone and with an earlier release.

        With `escape_formulas` texts of a CSV that a spreadsheet would run as formulas get ``'`` in front.

        Parameters
        ----------
        hold
            A Parquet file for the rows that wait. It is private, and comes with the release or not at all. If
            every row waits, it is written alone.

        Raises
        ------
        TableError
            When a file exists (unless `force`) or cannot be written.
        ParameterError
            When rows wait and no file is named for them.
        InfeasibleError
            When what was written does not satisfy the policy. When every row waits; the waiting rows are
            written then.
        """
        from incrowd.core.io.files import CsvFormat as Format
        from incrowd.core.io.targets import Outputs, Target, writing
        from incrowd.engines import engine_for

        if (hold is None) != (self.waiting is None) and (hold is not None or self.held):
            raise ParameterError(
                f"{self.held:,} rows wait, and would be lost; name a file for them (hold=)"
                if hold is None
                else "no rows were held; hold them (hold=True of apply_recoding)"
            )
        if not (hold is None or isinstance(hold, Target)):
            outputs = Outputs(self.sources, force=force)
            path, hold = outputs.add(path), waiting_file(outputs, hold)
            with outputs:
                self.write(path, hold=hold, escape_formulas=escape_formulas)
            self.refuse_nothing()
            return
        if isinstance(hold, Target):
            with writing(hold) as place:
                engine_for(self.waiting).write(place, hold.requested, Format())
        if self.table is not None and self._judging is not None:
            self._write_rows(path, self._check, force=force, escape_formulas=escape_formulas)

    def _check(self, written: Any) -> None:
        """Judge the written rows."""
        assert self._judging is not None
        self._judging.assessments(written)
        if self.values is not None:
            self.values.check(written)

    def refuse_nothing(self) -> None:
        """Refuse a batch of which every row waits.

        Raises
        ------
        InfeasibleError
        """
        if self.table is None:
            raise InfeasibleError(
                f"nothing was released: all {self.held:,} rows wait for the next batch, as no class of them "
                "satisfies the models; the file of waiting rows was written, so offer it with the next batch "
                f"({setting('held=', '--held')})"
            )


def waiting_file(outputs: Outputs, path: str | os.PathLike[str]) -> Target:
    """Register a private file for rows that wait.

    Raises
    ------
    TableError
        When it is no Parquet file, which alone keeps the types of all columns, or cannot be written.
    """
    from incrowd.core.io.files import is_parquet

    target = outputs.add(path, private=True, parents=True)
    if not is_parquet(target.requested):
        raise TableError(f"{target}: rows that wait are kept in Parquet, with their types; name it .parquet")
    return target


def apply_recoding(  # noqa: PLR0913
    recoding: Recoding | str | os.PathLike[str],
    table: Any,
    policy: Policy,
    *,
    previous_release: Any = None,
    previous_table: Any = None,
    previous_row_map: Any = None,
    published_as_one: bool = False,
    held: Any = None,
    hold: bool = False,
    max_suppression: float | None = None,
    csv_format: CsvFormat | None = None,
    force: bool = False,
    unanswered: Unanswered = "refuse",
) -> AppliedBatch:
    """Recode new rows as an earlier table was recoded, check the result, and suppress other rows.

    - A full-domain recoding takes every value to the level of its column.
    - A single-dimensional recoding takes every value to the cell of its column. If the recoding has rounds,
      the first round is taken that has a class for the row.
    - With a local recoding, a row gets the cells of the class that covers it. If several classes cover it, it
      gets those that lose least.

    The text of a cell says what it covers. A set covers the values that it names. A mean covers no value but
    itself. ``*`` covers every value. A new value belongs to the groups where the recipe of its hierarchy puts
    it: ``[20-24]`` covers 23. A hierarchy that lists its values covers no others.

    Rows that no cell covers are suppressed. Then every row of a class that fails the policy's models is
    suppressed or held, until all classes satisfy them. The released rows have to satisfy the models alone.
    Suppressed rows leave if they satisfy the models as a class of their own, see `Policy`.

    Parameters
    ----------
    recoding
        A recoding, or the folder where it was saved.
    table
        The new rows: any table that `anonymize` takes.
    policy
        The roles of the columns and the models; its algorithm is not looked at.
    previous_release
        The earlier release, if both will be published. The models then have to hold for the new rows alone
        and for both together. Only new rows are suppressed.
    previous_table, previous_row_map
        The raw table of the earlier release and its row map, as `Release.row_map` gives it or the file in
        ``internal/``. They say whose its rows are. Where columns name a person, people are counted over both.
    published_as_one
        Whether the new rows and the earlier release are merged before anybody sees them. The models then have
        to hold for both together, and not for the new rows alone.
    held
        Raw rows that an earlier batch held: a frame or a file. They come after the new rows.
    hold
        Whether the rows of classes that fail wait for the next batch, and are not suppressed. They are left
        out of the released rows; see `AppliedBatch.waiting`. Rows that no cell covers never wait, unless all
        rows do.
    max_suppression
        Largest share of records that may be suppressed, 0 to 1. Without it that of the policy, and no more
        than 0.2 for rows that no cell covers: if these are more, the recoding does not fit the batch.
    csv_format
        How a CSV is written, where it is not plain.
    force
        Whether an order that tells a quasi-identifier, or which rows were held, is kept all the same, if the
        policy keeps the order.
    unanswered
        What becomes of rows with open points, as in `anonymize`.

    Raises
    ------
    InputError
        When the tables or the recoding do not fit the policy, or the order that it keeps tells a
        quasi-identifier (unless `force`).
    InfeasibleError
        When the models fail even if all new rows are suppressed, when more rows would have to be suppressed
        than are allowed, or when the verdict is not that it holds.
    """
    from incrowd.engines import loaded

    UNANSWERED.check(unanswered, "apply_recoding", "unanswered")
    named_files = (recoding, table, held, previous_release, previous_table, previous_row_map)
    paths = tuple(each for each in named_files if isinstance(each, str | os.PathLike))
    if not isinstance(recoding, Recoding):
        recoding = Recoding.load(recoding)
    policy = with_histories(policy, searching=False)
    if max_suppression is not None:
        policy = replace(policy, max_suppression=max_suppression)
    earlier = Earlier.of_release(
        previous_release, previous_table, previous_row_map, policy, as_one=published_as_one
    )
    table, held_before = loaded(table, csv_format), 0
    if held is not None:
        table, held_before = with_held(table, loaded(held))
    if held_before and policy.keep_order and not force:
        raise ParameterError(
            "rows that were held come after the new ones, so an order that is kept tells which they are; "
            "leave keep_order out of the policy, or keep the order all the same with "
            + setting("force=True", "--force")
        )
    decision = _decide(table, recoding, policy, earlier, hold=hold)
    waiting = AppliedBatch(
        table=None,
        policy=policy,
        records=decision.held,
        held=decision.held,
        held_before=held_before,
        waiting=decision.waiting,
        published_as_one=published_as_one,
        csv_format=csv_format,
        sources=(*paths, *decision.batch.engine.sources),
        _reason_of_row=decision.reasons,
    )
    if decision.everything:
        return waiting
    check_share(decision.fate, decision.batch.frequency.rows, policy, max_suppression, decision.held)
    return _release(waiting, decision, recoding, earlier, force=force, unanswered=unanswered)


def _release(
    waiting: AppliedBatch,
    decision: _Decision,
    recoding: Recoding,
    earlier: Earlier,
    *,
    force: bool,
    unanswered: Unanswered,
) -> AppliedBatch:
    """Release the rows of a batch that do not wait, judged alone and with the earlier release."""
    from incrowd.engines import engine_for

    batch, policy = decision.batch, waiting.policy
    frequency = batch.frequency
    if policy.keep_order:
        telling_columns(batch.counted, batch.leaving, force=force)
    recoded = RecodedBatch.build(recoding.domains, frequency, batch.cells.labels, decision.fate.kept)
    check_cells(recoded, policy.schema)
    result = batch.release_rows(recoded, policy, decision.fate.reasons, alone=not waiting.published_as_one)
    in_place, suppression = result.released.table, result.suppression
    fate = replace(decision.fate, reasons=result.reasons)
    judging = BatchJudge.of_batch(batch, result.recoding, policy, earlier, decision.both)
    measured = judging.assessments(in_place)
    points = points_of(
        Evidence(
            batch.treatments.raw,
            engine_for(in_place) if suppression.left_out else result.rows,
            policy,
            batch.counted,
            result.recoding,
            frequency.rows - suppression.left_out,
            fate.suppressed / max(frequency.rows, 1),
            suppression.exposed,
            suppression.failing,
        )
    )
    Verdict(points).admit(unanswered)
    order = None if policy.keep_order else RandomOrder()
    texts = in_place if order is None else result.released.reordered(order)
    counts_and_recoding = result.recoding.leaving(frequency)
    table = with_types(batch.engine, texts, policy.counting, *counts_and_recoding, recoding)
    return replace(
        waiting,
        table=table,
        records=frequency.rows + waiting.held,
        outside=fate.outside,
        unknown=fate.unknown,
        too_small=fate.too_small,
        suppressed=fate.suppressed,
        privacy=measured[0],
        together=measured[-1] if earlier.parts else None,
        values=result.values,
        points=points,
        suppression=suppression,
        came=batch.table,
        order=order,
        places=result.released.places(),
        _reason_of_row=decision.reasons_by(fate),
        _judging=judging,
        _texts=None if table is texts else texts,
        _ends=tuple(ends_sentences(recoding, policy)),
    )


class _Decision(NamedTuple):
    """The decision on a batch: rows that are released, and rows that wait.

    Attributes
    ----------
    batch, fate, both
        The rows that do not wait, what becomes of their keys, and their people.
    waiting, held
        The raw rows that wait, and how many these are; None where no rows are to be held.
    reasons
        int8[rows]: the `Reason` of each row; None where rows are not in memory.
    everything
        Whether all rows wait. The batch is then of rows that wait, too.
    """

    batch: Batch
    fate: Fate
    both: BatchPeople | None
    waiting: Any
    held: int
    reasons: NDArray[np.int8] | None
    everything: bool

    def reasons_by(self, fate: Fate) -> NDArray[np.int8] | None:
        """Return `reasons` for another fate of the keys of rows that do not wait."""
        of_row = reasons_of_rows(self.batch.frequency, fate.reasons)
        if self.reasons is None or of_row is None:
            return None
        reasons = self.reasons.copy()
        reasons[reasons != Reason.WAITING] = of_row
        return reasons


def _decide(table: Any, recoding: Recoding, policy: Policy, earlier: Earlier, *, hold: bool) -> _Decision:
    """Decide which rows are released and which wait for the next batch.

    What is left once some wait is counted anew as if they had never come: a table without them may have
    another distribution, and a random treatment may not mix their values with those that leave.
    """
    places, rows = None, table
    if hold:
        places = np.arange(len(rows_in_memory(table, setting("hold=True", "--hold")).native))
    while True:
        batch = count_batch(rows, recoding, policy)
        frequency = batch.frequency
        refuse_unlinked(policy.schema, several=frequency.people.table is not None or bool(earlier.parts))
        both = earlier.people_with(batch, policy, recoding)
        fate = fate_of(batch, earlier, policy, both)
        of_row = reasons_of_rows(frequency, fate.reasons)
        if places is None or of_row is None:
            return _Decision(batch, fate, both, None, 0, of_row, everything=False)
        fails = bool((fate.reasons == Reason.CLASS).any())
        everything = fails and not fate.kept.any()
        if everything or not fails:
            break
        places = places[of_row != Reason.CLASS]
        rows = rows_at(table, places)
    reasons = np.full(len(table), Reason.WAITING, np.int8)
    if not everything:
        reasons[places] = of_row
    waits = np.flatnonzero(reasons == Reason.WAITING)
    return _Decision(batch, fate, both, rows_at(table, waits), len(waits), reasons, everything)
