"""next_release(): a release of a changing table, m-invariant with the ledger's earlier releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import InfeasibleError, ParameterError, SchemaError, TableError, named, setting
from incrowd.core.io.columns import column_named, columns_named
from incrowd.core.lazy import NDArray, np, nw, pl
from incrowd.core.parameters import Parameter
from incrowd.core.reading.keys import key_texts
from incrowd.core.table.schema import Attribute, Schema, require_columns, require_different
from incrowd.engines import engine_for
from incrowd.measures.privacy import LDiversity
from incrowd.release.accounts.people import refuse_survey
from incrowd.release.jobs.later.held_rows import rows_in_memory
from incrowd.release.jobs.later.ledger import Ledger
from incrowd.release.jobs.later.series_groups import (
    COUNTERFEIT,
    SeriesRelease,
    Signature,
    buckets_of,
    groups_of,
)
from incrowd.release.jobs.make.anatomize import COUNT, GROUP, guarded_random, records_of
from incrowd.release.jobs.make.anonymize import anonymize
from incrowd.release.policy.policy import Policy
from incrowd.search.base import SearchProblem, least_size
from incrowd.search.local import LocalAlgorithm
from incrowd_gate.points import UNANSWERED, Unanswered

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.table.frequency import FrequencyTable

_SHARE = Parameter(float, "largest share of counterfeit records", low=0, high=1)


def next_release(  # noqa: PLR0913
    table: Any,
    policy: Policy,
    ledger: Ledger,
    *,
    keys: Sequence[str] = (),
    earlier: Sequence[Any] = (),
    max_counterfeits: float = 0.1,
    leave_out_changed: bool = False,
    csv_format: CsvFormat | None = None,
    unanswered: Unanswered = "refuse",
) -> SeriesRelease:
    """Release a changed table, m-invariant with all earlier releases of a ledger.

    Classes are groups that have every sensitive value once. The values of a group are its signature. It has m
    values or more, and each person has the same signature in every release. So whoever compares releases
    never gets below m values that a person may have, each as likely as the others. Equal values leave in one
    spelling: texts without blanks around them, and 0 for -0. Where a value lacks in a group, the group gets a
    counterfeit record. Of a group that is too wide all cells are ``*``: the policy says how many such records
    there may be.

    The release is not recorded yet: give it to `Ledger.add` with the same keys.

    Parameters
    ----------
    table
        A table in memory, with one row for each person. It is not changed.
    policy
        What the release has to satisfy, with one sensitive attribute and `Policy.ledger_m`. Its algorithm is
        not asked. Columns that are neither quasi-identifiers nor sensitive are not released.
    ledger
        The earlier releases.
    keys
        Raw columns that name a person, in place of those of the role ``person``.
    earlier
        Released tables that have the column of the sensitive attribute. They are needed only if a signature
        has a value that no row of the table has.
    max_counterfeits
        Largest share of the records that may be counterfeit, 0..1.
    leave_out_changed
        Whether people are left out who have another value than any of their signature, as after a second
        diagnosis. Without it the table is refused.
    csv_format
        How a CSV is written, where it is not plain.
    unanswered
        What becomes of a release with open points, as in `anonymize`.

    Raises
    ------
    InputError
        When the table or the call is wrong.
    InfeasibleError
        When the table has fewer than m values, a model does not hold, or too many records would be
        counterfeit.

    References
    ----------
    Xiao and Tao, m-Invariance: towards privacy preserving re-publication of dynamic datasets, SIGMOD 2007.

    Examples
    --------
    >>> import tempfile
    >>> import incrowd as ic
    >>> ledger = ic.Ledger.init(tempfile.mkdtemp() + "/ledger")
    >>> schema = ic.Schema(
    ...     person="patient_id", quasi=["age", "sex"], sensitive=["marital_status"], unlisted="drop"
    ... )
    >>> policy = ic.Policy(schema, ["k-anonymity:3"], ledger_m=3)
    >>> table = ic.samples.hospital(300)
    >>> release = ic.next_release(table, policy, ledger)
    >>> ledger.add(release, table, recipient="hospital A")
    >>> release.m, release.counterfeit_records
    (3, 33)
    """
    max_share = _SHARE.check(max_counterfeits, "next_release", "max_counterfeits")
    UNANSWERED.check(unanswered, "next_release", "unanswered")
    m, sensitive, schema = _requirements(policy)
    person_columns = list(keys) or list(policy.schema.person)
    frame, persons, kind = _people(table, policy, person_columns)
    frame = frame.with_columns(_canonical(frame[sensitive]))
    values, numbers = _distinct(frame[sensitive], [_canonical(_column(each, sensitive)) for each in earlier])
    if len(values) < m or frame.is_empty():
        raise InfeasibleError(f"nothing was released: m is {m}, and {sensitive!r} has {len(values)} values")
    signatures = ledger.signatures(persons, sensitive, values["text"])
    changed = [row for row, signature in signatures.items() if numbers[row] not in signature]
    if changed and not leave_out_changed:
        raise InfeasibleError(
            f"nothing was released: {len(changed):,} people have another value of {sensitive!r} than in an "
            "earlier release, and their signature does not have it; leave them out "
            f"({setting('leave_out_changed=True', '--leave-out-changed')})"
        )
    rows = np.setdiff1d(np.arange(len(numbers)), changed)
    if not len(rows):
        raise InfeasibleError("nothing was released: nobody is left, because every value changed")
    known_signatures = {
        place: signatures[row] for place, row in enumerate(rows.tolist()) if row in signatures
    }
    plan = _plan(frame[rows], policy, numbers[rows], known_signatures, len(values))
    if plan.counterfeits > max_share * len(plan.rows):
        raise InfeasibleError(
            f"nothing was released: {plan.counterfeits:,} of {len(plan.rows):,} records would be "
            f"counterfeit; lower m, or allow more ({setting('max_counterfeits=', '--max-counterfeits')})"
        )
    records = plan.records(frame[rows], sensitive, values["value"], person_columns)
    diverse = any(isinstance(model, LDiversity) for model in policy.models)
    models = policy.models if diverse else (*policy.models, LDiversity(m))
    fixed_policy = replace(
        policy, schema=schema, models=models, algorithm=_FixedClasses(plan.groups), ledger_m=None
    )
    release = anonymize(_of_kind(records, kind), fixed_policy, csv_format=csv_format, unanswered="write")
    if release.left_out:
        raise InfeasibleError(
            f"nothing was released: {release.left_out:,} records have * in every quasi-identifier and would "
            "be left out, and an m-invariant release has everybody; give columns of categories a hierarchy, "
            "or set suppressed to 'keep' in the policy"
        )
    # A group has each value once, and nobody knows the number of a person's group but by its cells.
    points = tuple(point for point in release.points if GROUP not in point.columns)
    released_policy = replace(release.policy, algorithm=policy.algorithm, ledger_m=m)
    release = replace(release, policy=released_policy, points=points)
    release.verdict.admit(unanswered)
    return SeriesRelease.of_release(
        release,
        counterfeits=plan.counterfeits_by_group(),
        m=m,
        signatures=plan.signatures,
        changed=len(changed),
        came=records,
        keys=tuple(person_columns),
    )


@dataclass(frozen=True)
class _FixedClasses(LocalAlgorithm):
    """An algorithm that returns given classes.

    Attributes
    ----------
    groups
        int64[records]: the class of each.
    """

    groups: NDArray[np.int64] = field(repr=False, compare=False)
    name: ClassVar[str] = "m-invariance"
    summary: ClassVar[str] = "classes of a series of releases"
    paper: ClassVar[str] = "Xiao and Tao 2007"
    weighted: ClassVar[bool] = False
    joins: ClassVar[bool] = False

    def assign(self, problem: SearchProblem) -> tuple[NDArray[np.int32], int]:
        """Return the classes."""
        return self.groups.astype(np.int32), int(self.groups.max()) + 1


@dataclass(frozen=True)
class _Plan:
    """The records of a release: the row of each record's cells, the value and the group.

    Attributes
    ----------
    rows
        int64[records]: the row; that of a person in the same group for a counterfeit record.
    values
        int64[records]: the number of the value.
    groups
        int64[records], 0..: the number of the group.
    fake
        bool[records]: whether it is counterfeit.
    signatures
        The number of distinct signatures.
    """

    rows: NDArray[np.int64]
    values: NDArray[np.int64]
    groups: NDArray[np.int64]
    fake: NDArray[np.bool_]
    signatures: int

    @property
    def counterfeits(self) -> int:
        """The number of counterfeit records."""
        return int(self.fake.sum())

    def counterfeits_by_group(self) -> pl.DataFrame:
        """Return the number of counterfeit records in each group with any."""
        groups, counts = np.unique(self.groups[self.fake] + 1, return_counts=True)
        return pl.DataFrame({GROUP: groups, COUNT: counts}, {GROUP: pl.Int64, COUNT: pl.Int64})

    def records(
        self, frame: pl.DataFrame, sensitive: str, values: pl.Series, person_columns: Sequence[str]
    ) -> pl.DataFrame:
        """Return raw and counterfeit records with the column of groups, without persons for counterfeits."""
        fake = pl.lit(pl.Series(self.fake))
        values_of_records = pl.lit(values.gather(self.values))
        return frame[self.rows].with_columns(
            pl.when(fake).then(values_of_records).otherwise(column_named(sensitive)).alias(sensitive),
            *(pl.when(~fake).then(column_named(name)).alias(name) for name in person_columns),
            pl.Series(GROUP, self.groups + 1),
        )


def _requirements(policy: Policy) -> tuple[int, str, Schema]:
    """Return m, the sensitive attribute and the schema of the release, or refuse an unfit policy."""
    raw_schema = policy.schema
    if policy.ledger_m is None:
        example = setting("ledger_m=3", "m = 3 in [ledger]")
        raise ParameterError(f"the policy does not say how many values a signature has: write {example}")
    if (least := least_size(policy.models)) > policy.ledger_m:
        raise ParameterError(
            f"the models ask for classes of {least} records, and a class has each of m = {policy.ledger_m} "
            f"values once: raise m to {least}, or lower k"
        )
    if policy.keep_order:
        raise ParameterError("keep_order: counterfeit records would stand behind the others; leave it out")
    if (count := len(raw_schema.sensitive)) != 1:
        raise SchemaError(f"m-invariance is about one sensitive attribute; the schema names {count}")
    refuse_survey(raw_schema, "m-invariance")
    if raw_schema.sensitive[0].parts is not None:
        raise SchemaError(
            f"column {raw_schema.sensitive[0].name!r} declares its parts, and m-invariance compares cells "
            "whole; leave parts out"
        )
    if treated := [each.name for each in raw_schema.treated]:
        raise SchemaError(f"column {named(treated)} has a treatment, which m-invariance does not know")
    [attribute] = raw_schema.sensitive
    # Who a row is of is asked of the raw table.
    attributes = [
        *(replace(each, key_of=()) for each in raw_schema.quasi),
        attribute,
        Attribute(GROUP, "insensitive"),
    ]
    return (
        policy.ledger_m,
        attribute.name,
        Schema.of_attributes(attributes, null_values=raw_schema.null_values, unlisted="drop"),
    )


def _people(
    table: Any, policy: Policy, person_columns: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame, Any]:
    """Return a row for each person, the key texts of each person, and the kind of the table."""
    raw = nw.from_native(rows_in_memory(table, "m-invariance").native, eager_only=True)
    frame: pl.DataFrame = raw.to_polars()
    if not person_columns:
        raise SchemaError(
            "m-invariance has to find people again; name the columns that say whose row it is "
            f"({setting('keys=', '--ledger-keys')}), or give one the role person"
        )
    used = [each.name for each in (*policy.schema.quasi, *policy.schema.sensitive)]
    require_different(person_columns)
    require_columns([*person_columns, *used], frame.columns, "m-invariance: ")
    if others := [name for name in policy.schema.released(frame.columns) if name not in used]:
        raise SchemaError(
            f"column {named(others)}: a counterfeit record has no value of its own there; give the column "
            f"the role identifying, or drop what is not listed ({setting('unlisted=', '--unlisted')})"
        )
    texts = key_texts(frame.select(columns_named(person_columns)))
    if empty := [name for name in person_columns if texts[name].null_count()]:
        raise SchemaError(f"column {named(empty)} does not say of every row whose it is")
    if double := int(texts.is_duplicated().sum()):
        raise SchemaError(f"{double:,} rows are of people with several rows; keep one for each person")
    return frame, texts, raw.implementation


def _distinct(column: pl.Series, earlier: Sequence[pl.Series]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Return the distinct values as ``text`` and ``value``, and the number of each row's value."""
    try:
        parts = [column, *(each.cast(column.dtype) for each in earlier)]
    except pl.exceptions.PolarsError:
        raise TableError(
            f"{setting('earlier', '--earlier-release')}: column {column.name!r} has another type there"
        ) from None
    texts = [key_texts(each.to_frame()).to_series() for each in parts]
    both = zip(texts, parts, strict=True)
    pairs = pl.concat([pl.DataFrame({"text": text, "value": each}) for text, each in both])
    values = pairs.unique("text", keep="first", maintain_order=True)
    place = {text: number for number, text in enumerate(values["text"])}
    return values, np.array([place[text] for text in texts[0]], np.int64)


def _canonical(column: pl.Series) -> pl.Series:
    """Write equal values alike, so that two spellings in two releases reveal nothing."""
    if column.dtype == pl.String:
        return key_texts(column.to_frame()).to_series()
    if not column.dtype.is_float():
        return column
    # Series look themselves up by their name, which may be a pattern of names.
    plain = column.alias("")
    return plain.fill_nan(None).set(plain == 0, 0.0).alias(column.name)


def _column(table: Any, name: str) -> pl.Series:
    frame: pl.DataFrame = nw.from_native(table, eager_only=True).to_polars()
    require_columns([name], frame.columns, f"{setting('earlier', '--earlier-release')}: ")
    return frame[name]


def _plan(
    frame: pl.DataFrame,
    policy: Policy,
    values: NDArray[np.int64],
    earlier: Mapping[int, Signature],
    distinct: int,
) -> _Plan:
    """Assign all rows to groups, in a random order."""
    assert policy.ledger_m is not None
    places = _places(records_of(engine_for(frame), frame.columns, policy, "m-invariance"))
    random = guarded_random(policy.seed, places, values)
    buckets = buckets_of(values, earlier, places, distinct, policy.ledger_m, random)
    groups_in_order = [group for bucket in buckets for group in groups_of(bucket, places)]
    records = [
        (row if row != COUNTERFEIT else _random_row(group, random), value, number, row == COUNTERFEIT)
        for number, place in enumerate(random.permutation(len(groups_in_order)).tolist())
        for group in [groups_in_order[place]]
        for value, row in group
    ]
    rows, record_values, groups, fake = (np.array(column) for column in zip(*records, strict=True))
    return _Plan(rows, record_values, groups, fake, len(buckets))


def _places(frequency: FrequencyTable) -> NDArray[np.float64]:
    """Return the positions of records: float64[records, quasi-identifiers], 0..1."""
    positions = np.zeros((frequency.keys, len(frequency.domains)))
    for attribute, (domain, codes) in enumerate(zip(frequency.domains, frequency.codes, strict=True)):
        ranks = domain.tree.leaves[codes]
        positions[:, attribute] = ranks / max(int(ranks.max(initial=0)), 1)
    return positions


def _random_row(group: Sequence[tuple[int, int]], random: np.random.Generator) -> int:
    """Return the row of a random person in a group, for the cells of a counterfeit record."""
    return int(random.choice([row for _, row in group if row != COUNTERFEIT]))


def _of_kind(frame: pl.DataFrame, kind: Any) -> Any:
    """Convert a frame to a table of the given kind."""
    if kind.is_pandas_like():
        return frame.to_pandas()
    return frame.to_arrow() if kind.is_pyarrow() else frame
