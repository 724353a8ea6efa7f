"""ensure_privacy(): delete failing classes until every class satisfies the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import envelope
from incrowd.core.errors import InfeasibleError, SchemaError
from incrowd.core.lazy import NDArray, np, nw
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import COUNT, SHARE
from incrowd.core.table.schema import Schema
from incrowd.release.accounts.people import refuse_survey
from incrowd_gate.points import UNANSWERED, Accepted, Point, Unanswered
from incrowd_gate.verdict import Verdict

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.measures.privacy import P29, P29Score


@dataclass(frozen=True, slots=True)
class Round:
    """The deletions of a round: classes and records, and the failures of each condition."""

    classes: int
    records: int
    too_small: int
    too_uniform: int
    too_far: int


@dataclass(frozen=True)
class ProcessedTable(InNotebooks):
    """The rows that `ensure_privacy` left of a table.

    Attributes
    ----------
    table
        The rows of the classes that are left, of the kind that came in, in a random order unless it was kept;
        columns as the schema releases them.
    rounds
        What each round deleted.
    records
        Rows of the table as it came in.
    classes
        Classes that are left.
    clean
        Whether every class that is left satisfies the conditions; a bound on the rounds may stop before.
    score
        The P29 score of what is left.
    points
        What the rows that are left tell about people, their quasi-identifiers included.
    """

    _shown = ("records", "deleted", "classes", "clean", "p29", "rounds")

    table: Any = field(repr=False)
    rounds: tuple[Round, ...]
    records: int
    classes: int
    clean: bool
    score: P29Score
    points: tuple[Point, ...] = field(default=(), repr=False)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the rows that are left."""
        return Verdict(self.points)

    def __repr__(self) -> str:
        remaining = self.records - self.deleted
        return f"ProcessedTable({remaining:,} of {self.records:,} records left, {self.classes:,} classes)"

    @property
    def deleted(self) -> int:
        """Rows that were deleted."""
        return sum(each.records for each in self.rounds)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without any value of the table."""
        return {
            **envelope("processing"),
            "verdict": self.verdict.to_dict(),
            "records": self.records,
            "deleted": self.deleted,
            "classes": self.classes,
            "clean": self.clean,
            "p29": self.score.value,
            "rounds": [asdict(each) for each in self.rounds],
        }


def ensure_privacy(  # noqa: PLR0913
    table: Any,
    schema: Schema,
    *,
    t: float = 0.5,
    k: int = 1,
    l: float = 0.0,  # noqa: E741
    max_rounds: int | None = None,
    score: P29 | None = None,
    keep_order: bool = False,
    force: bool = False,
    accepted: Sequence[Accepted] = (),
    unanswered: Unanswered = "refuse",
) -> ProcessedTable:
    """Delete the classes that fail a condition, again and again, until none fails.

    A class stays if it has more than `k` records, or people where columns name a person. In every sensitive
    attribute it must also have a normalized entropy above `l`, and a distance to the whole table of at most
    `t`. The distance is half the sum of absolute differences.

    Deleting changes the whole table. So classes that held may fail, and the conditions are checked again.
    Each round deletes at least one class, so there are no more rounds than classes.

    Parameters
    ----------
    table
        A pandas, Polars or PyArrow table, or the path of a CSV or Parquet file.
    schema
        The quasi-identifiers, as they are written, and at least one sensitive attribute. Suppressed records
        are in no class and stay.
    t
        Largest distance that stays, 0..1.
    k
        Largest size that is deleted, >= 0: in records, or in people where columns name a person.
    l
        Largest normalized entropy that is deleted, 0..1.
    max_rounds
        How many rounds there are at most; 1 is the single pass. None goes on until no class fails.
    score
        A model whose weights the score of what is left has; `P29` with its own by default.
    keep_order
        Whether row N stays row N; else rows come in a random order. Deleted rows are left out of either.
    force
        Whether an order that tells a quasi-identifier is kept all the same.
    accepted
        Answers to points of the verdict, as a policy has them.
    unanswered
        What becomes of a table with open points: ``refuse`` returns none, ``write`` returns it all the same.

    Raises
    ------
    InputError
        When the table cannot be read or does not fit the schema, a parameter is out of range, or an order
        that is to be kept tells a quasi-identifier (unless `force`).
    InfeasibleError
        When every class was deleted.
    VerdictError
        When what is left has an open point.

    References
    ----------
    The privacy-preserving processing module of the P_29 study on the diabetes data of 130 US hospitals.
    """
    from incrowd.core.io.frames import without_traces
    from incrowd.core.io.shuffle import RandomOrder
    from incrowd.engines import engine_for, loaded
    from incrowd.engines.memory import frame_in_order
    from incrowd.measures.privacy import P29
    from incrowd.release.accounts.points import points_of_table
    from incrowd.release.jobs.make.leaving_rows import telling_columns

    UNANSWERED.check(unanswered, "ensure_privacy", "unanswered")
    t = SHARE.check(t, "ensure_privacy", "t")
    l = SHARE.check(l, "ensure_privacy", "l")  # noqa: E741
    k = COUNT.within(low=0).check(k, "ensure_privacy", "k")
    if max_rounds is not None:
        max_rounds = COUNT.check(max_rounds, "ensure_privacy", "max_rounds")
    refuse_survey(schema, "ensure_privacy")
    if not schema.quasi or not schema.sensitive:
        raise SchemaError("ensure_privacy: name a quasi-identifier and a sensitive attribute at least")
    table = loaded(table)
    engine = engine_for(table)
    columns = schema.released(engine.columns)
    counted = engine.count(schema.measured())
    frequency = counted.frequency
    rows = frequency.key_of_row("ensure_privacy")
    if keep_order:
        telling_columns(counted, schema, force=force)
    remaining = delete_failing(frequency, Conditions(t, k, l), max_rounds)
    frame = nw.from_native(engine.native, eager_only=True).filter(remaining.has(rows).tolist())
    released = without_traces(frame, {name: frame[name] for name in columns})
    deleted = 1 - len(released) / max(frequency.rows, 1)
    points = points_of_table(
        engine_for(released), schema, len(released), accepted, raw=engine, suppressed=deleted
    )
    if not keep_order:
        released = frame_in_order(released, RandomOrder())
    p29 = (score or P29(0.0)).of(remaining.classes.counted, describe=False)
    processed = ProcessedTable(
        released, remaining.rounds, frequency.rows, len(remaining.classes), remaining.clean, p29, points
    )
    processed.verdict.admit(unanswered)
    return processed


@dataclass(frozen=True)
class Conditions:
    """The conditions on a class in `ensure_privacy`."""

    t: float
    k: int
    l: float  # noqa: E741

    def failing(self, classes: EquivalenceClasses) -> list[NDArray[np.bool_]]:
        """Return masks of the classes that are too small, too uniform, and too far from the table."""
        from incrowd.measures.privacy import NormalizedEntropy, TCloseness

        small = classes.sizes <= self.k
        uniform, far = np.zeros((2, len(classes)), np.bool_)
        for position in range(len(classes.frequency.sensitive)):
            uniform |= NormalizedEntropy(0.0).values(classes, position) <= self.l
            far |= TCloseness(1.0, "equal").values(classes, position) > self.t + 1e-12
        return [small, uniform, far]


@dataclass(frozen=True)
class Remaining:
    """The remaining records of a table.

    Attributes
    ----------
    keys
        int64: its keys, by their numbers in the whole table.
    classes
        Its classes.
    rounds
        What each round deleted.
    clean
        Whether no class fails.
    """

    keys: NDArray[np.int64] = field(repr=False)
    classes: EquivalenceClasses = field(repr=False)
    rounds: tuple[Round, ...]
    clean: bool

    def has(self, key_of_row: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Say which rows are left; suppressed rows, with the key -1, are in no class and stay."""
        return np.isin(key_of_row, np.append(self.keys, -1))


def delete_failing(whole: FrequencyTable, conditions: Conditions, max_rounds: int | None = None) -> Remaining:
    """Delete failing classes until none is left or the rounds are over.

    Raises
    ------
    InfeasibleError
        When every class was deleted.
    """
    from incrowd.core.table.classes import EquivalenceClasses

    frequency, keys = whole, np.arange(whole.keys)
    rounds: list[Round] = []
    while True:
        classes = EquivalenceClasses.of_keys(frequency)
        fails = conditions.failing(classes.counted)
        bad = np.logical_or.reduce(fails)
        if not bad.any() or (max_rounds is not None and len(rounds) >= max_rounds):
            return Remaining(keys, classes, tuple(rounds), not bad.any())
        rounds.append(
            Round(int(bad.sum()), int(classes.sizes[bad].sum()), *(int(fail.sum()) for fail in fails))
        )
        if bad.all():
            raise InfeasibleError(
                f"ensure_privacy: after {len(rounds)} rounds no class is left; generalize the "
                "quasi-identifiers, or allow more (t), or less (k, l)"
            )
        keys = keys[~bad]
        frequency = _with_people(_subset(frequency, ~bad), whole, keys)


def _subset(frequency: FrequencyTable, keep: NDArray[np.bool_]) -> FrequencyTable:
    """Return some of the keys as a table with totals of the same keys alone."""
    from dataclasses import replace

    subset = frequency.only(keep)
    return replace(
        subset,
        sensitive=tuple(
            replace(
                counts,
                totals=np.bincount(counts.keys.codes, counts.keys.counts, counts.domain.size).astype(
                    np.int64
                ),
            )
            for counts in subset.sensitive
        ),
    )


def _with_people(subset: FrequencyTable, whole: FrequencyTable, keys: NDArray[np.int64]) -> FrequencyTable:
    """Count the people of the remaining keys, without the people's rows in deleted keys."""
    from incrowd.core.table.people import PersonRows

    if whole.people.table is None or whole.people.of_row is None:
        return subset
    # A suppressed row has number -1, which picks the last entry.
    number = np.full(whole.keys + 1, -1, np.int32)
    number[keys] = np.arange(len(keys), dtype=np.int32)
    key = number[whole.key_of_row("ensure_privacy")]
    rows = np.flatnonzero(key >= 0)
    person = whole.people.of_row[rows]
    has_person = person >= 0
    person[has_person] = np.unique(person[has_person], return_inverse=True)[1]
    ranks = tuple(counts.rank_of_row()[rows] for counts in whole.sensitive)
    return subset.with_person_rows(PersonRows(key[rows], person, ranks), whole.people.columns)
