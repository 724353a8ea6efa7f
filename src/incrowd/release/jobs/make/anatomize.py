"""anatomize(): quasi-identifiers and sensitive values in two tables, joined by groups alone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import envelope
from incrowd.core.errors import InfeasibleError, ParameterError, SchemaError, TableError, named
from incrowd.core.io.addresses import file_path
from incrowd.core.io.kinds.files import kind_of
from incrowd.core.io.shuffle import RandomOrder
from incrowd.core.lazy import NDArray, np, nw
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import with_keyword_hints
from incrowd.core.table.schema import Attribute, Schema
from incrowd.release.accounts.people import refuse_survey
from incrowd.release.accounts.points import points_of_table
from incrowd.release.jobs.make.table_treatments import treat_table, treatment_entries
from incrowd.release.jobs.measure.assess import Assessment, assess_table
from incrowd.release.policy.arguments import as_models, as_schema
from incrowd.release.policy.policy import Policy
from incrowd_gate.points import UNANSWERED, Point, Unanswered
from incrowd_gate.verdict import Verdict

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.io.targets import Outputs, Target
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.engines import Engine
    from incrowd.measures.privacy import PrivacyModel


GROUP = "group"
"""The column that joins the two tables."""

COUNT = "count"


@dataclass(frozen=True)
class Anatomy(InNotebooks):
    """A table in two parts, of the kind that came in.

    Attributes
    ----------
    quasi_table
        A row for every row that came in, in a random order. It has ``group`` and all columns that may leave,
        as they are, except the sensitive one.
    sensitive_table
        A row for every group and sensitive value in it: ``group``, the sensitive attribute, ``count``; in
        this order.
    groups
        Number of groups.
    l
        Number of distinct values that every group has at least.
    privacy
        The groups of the sensitive table, measured as equivalence classes.
    policy
        What they had to satisfy.
    csv_format
        How the input was written, where it was a CSV.
    source
        The path of the input, where it was one.
    points
        What the columns tell about people that are no quasi-identifiers, as in `Release`.
    """

    _shown = ("groups", "l", "models")

    quasi_table: Any
    sensitive_table: Any
    groups: int
    l: int  # noqa: E741
    privacy: Assessment
    policy: Policy
    csv_format: CsvFormat | None = None
    source: Any = field(default=None, repr=False)
    points: tuple[Point, ...] = field(default=(), repr=False)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the two tables, where quasi-identifiers are released unchanged."""
        return Verdict(self.points)

    def __repr__(self) -> str:
        return (
            f"Anatomy({self.privacy.records:,} records in {self.groups:,} groups of {self.l} values or more)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without any value of the table."""
        return {
            **envelope("anatomy"),
            "verdict": self.verdict.to_dict(),
            **({"treatments": treatment_entries(self.policy.schema)} if self.policy.schema.treated else {}),
            "groups": self.groups,
            "l": self.l,
            "models": [str(model) for model in self.policy.models],
            "after": self.privacy.to_dict(cells=False),
        }

    def write(
        self, folder: str | os.PathLike[str], *, force: bool = False, escape_formulas: bool = False
    ) -> None:
        """Write ``quasi.csv`` and ``sensitive.csv`` into a folder, both or none.

        They end as the file does that the table came from, as ``quasi.dta``, if it is of another kind.

        With `escape_formulas` texts that a spreadsheet would run as formulas get ``'`` in front.

        Raises
        ------
        TableError
            When a file exists (unless `force`) or cannot be written.
        """
        from incrowd.core.io.targets import Outputs

        with Outputs(self.source, force=force) as outputs:
            self.write_to(outputs_of(outputs, folder, self.source), escape_formulas=escape_formulas)

    def write_to(self, targets: tuple[Target, Target], *, escape_formulas: bool = False) -> None:
        """Write the two tables to the targets of `outputs_of`."""
        from incrowd.core.io.files import escaping, write_file

        csv_format = escaping(self.csv_format, escape_formulas)
        for table, target in zip((self.quasi_table, self.sensitive_table), targets, strict=True):
            frame = nw.from_native(table, eager_only=True).to_polars()
            write_file(frame, target, csv_format)


def outputs_of(outputs: Outputs, folder: str | os.PathLike[str], source: object) -> tuple[Target, Target]:
    """Register the two files that `Anatomy.write` writes into a folder."""
    path = Path(source) if isinstance(source, str | os.PathLike) else Path()
    ending = ".csv" if kind_of(path) is None else path.suffix.lower()
    quasi, sensitive = (
        outputs.add(file_path(folder) / f"{name}{ending}", parents=True) for name in ("quasi", "sensitive")
    )
    return quasi, sensitive


@with_keyword_hints
def anatomize(
    table: Any,
    schema: Schema | Policy,
    models: Sequence[PrivacyModel] = (),
    *,
    seed: int = 0,
    csv_format: CsvFormat | None = None,
    unanswered: Unanswered = "refuse",
) -> Anatomy:
    """Release quasi-identifiers and the sensitive attribute in two tables that only groups of rows connect.

    The quasi-identifiers leave as they are. So everybody who is in the table can be found in it. Only the
    sensitive value stays uncertain.

    A group has l records or more, with different sensitive values. Groups are filled from the l most frequent
    values that are left. In the end fewer than l records remain. Each joins a random group that does not have
    its value yet. If a model asks for more than l different values give, groups become larger.

    Parameters
    ----------
    table
        A pandas, Polars or PyArrow table, or the path of a CSV or Parquet file. It is not changed.
    schema
        The roles of the columns, with one sensitive attribute; or a whole `Policy`, whose models and seed are
        taken.
    models
        An `LDiversity` of the sensitive attribute, and any other models of its values in a group. Those of
        re-identification (k-anonymity and the like) are refused, because nothing is generalized.
    seed
        Seed of the random choices, which depend on the sensitive values, too.
    unanswered
        What becomes of tables with open points, as in `anonymize`.

    Raises
    ------
    InputError
        When the table or the call is wrong.
    InfeasibleError
        When a value is too frequent for groups of l different values, or a model fails in all larger groups.

    References
    ----------
    Xiao and Tao, Anatomy: simple and effective privacy preservation, VLDB 2006, algorithm Anatomize.
    """
    from incrowd.core.io.files import read_table
    from incrowd.engines import engine_for
    from incrowd.engines.memory import frame_in_order

    UNANSWERED.check(unanswered, "anatomize", "unanswered")
    full_policy = (
        schema
        if isinstance(schema, Policy)
        else Policy(as_schema(schema, " or a Policy"), as_models(models), seed=seed)
    )
    _refuse_unfit_policy(full_policy)
    source = None
    if isinstance(table, str | os.PathLike):
        source = table
        table, csv_format = read_table(table, csv_format)
    engine = engine_for(table)
    full_policy.schema.after_treatment().released(engine.columns)
    engine, plain = treat_table(engine, full_policy.schema, "anatomize")
    policy = replace(full_policy, schema=plain)
    [attribute] = plain.sensitive
    table = engine.native
    columns = plain.released(engine.columns)
    frequency = records_of(engine, columns, policy, "anatomize")
    l, group_of, groups = _smallest_groups(frequency, policy)  # noqa: E741
    quasi_table, sensitive_table, long = _tables(table, columns, attribute.name, group_of, frequency)
    # Rows that lie in the order of the sensitive values would tell them.
    quasi_table = frame_in_order(quasi_table, RandomOrder())
    # What counts are the tables that leave, not what was meant.
    grouped = Schema.of_attributes([Attribute(GROUP, "quasi"), attribute], null_values=plain.null_values)
    privacy = assess_table(long, grouped, policy.models)
    problems = [measured.shortfall() for measured in privacy.results.asked if measured.holds is False]
    if problems:
        raise InfeasibleError("nothing was released: " + "; ".join(problems))
    points = points_of_table(engine, plain, frequency.rows, full_policy.accepted, raw=engine)
    anatomy = Anatomy(
        quasi_table, sensitive_table, groups, l, privacy, full_policy, csv_format, source, points
    )
    anatomy.verdict.admit(unanswered)
    return anatomy


def _refuse_unfit_policy(policy: Policy) -> None:
    """Refuse a policy that Anatomy cannot satisfy."""
    if policy.schema.person:
        raise ParameterError(
            f"column {named(policy.schema.person)} has the role person, and anatomize releases the "
            "quasi-identifiers as they are: rows of a person can be joined by them, and what their groups "
            "have in common may be a single sensitive value; keep one row for each person and give the "
            "column the role identifying, or use anonymize"
        )
    refuse_survey(policy.schema, "anatomize")
    sensitive = policy.schema.sensitive
    if len(sensitive) != 1:
        raise SchemaError(
            f"anatomize parts one sensitive attribute from the others; the schema names {len(sensitive)}"
        )
    if not any(model.name == "l-diversity" for model in policy.models):
        raise ParameterError("anatomize needs an l-diversity model, e.g. models=[ic.LDiversity(3)] or -l 3")
    from incrowd.measures.privacy import SensitiveModel

    for model in policy.models:
        if not isinstance(model, SensitiveModel) or model.needs_population or model.needs_cells:
            raise ParameterError(
                f"anatomize releases the quasi-identifiers as they are, so {model.name} cannot hold; use "
                "anonymize, or leave that model out"
            )


def records_of(engine: Engine, columns: Sequence[str], policy: Policy, job: str) -> FrequencyTable:
    """Count the released columns of a table, with a separate key for each record.

    Raises
    ------
    SchemaError
        When a column has the name of one that the result needs.
    TableError
        When records are suppressed already.
    """
    for name in (GROUP, COUNT):
        if name in columns:
            raise SchemaError(f"column {name!r}: the result needs this name; rename the column")
    joint = any(model.is_joint for model in policy.models)
    frequency = engine.count(policy.schema, joint=joint).frequency
    if frequency.suppressed:
        raise TableError(
            f"{frequency.suppressed} records have * in every quasi-identifier; {job} takes a table that is "
            "not recoded yet"
        )
    return frequency.by_record()


def _smallest_groups(frequency: FrequencyTable, policy: Policy) -> tuple[int, NDArray[np.int32], int]:
    """Find the smallest groups of distinct values in which every model holds."""
    import math

    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.search.base import all_hold, least_size

    for model in policy.models:
        model.check_table(frequency)
    counts = frequency.sensitive[0]
    diverse = (math.ceil(model.limit) for model in policy.models if model.name == "l-diversity")
    smallest = max(least_size(policy.models), *diverse)
    frequent = int(counts.totals.max())
    largest = frequency.records // frequent
    for l in range(max(smallest, 1), largest + 1):  # noqa: E741
        group_of, groups = _assign_groups(frequency, l, policy.seed)
        classes = EquivalenceClasses.from_assignment(frequency, group_of, groups)
        if all_hold(policy.models, classes).all():
            return l, group_of, groups
    if smallest > largest:
        raise InfeasibleError(
            f"groups of {smallest} different values need every value in at most 1/{smallest} of the records; "
            f"the most frequent one of {counts.name!r} is in {frequent:,} of {frequency.records:,}, which "
            f"allows l={largest}"
        )
    raise InfeasibleError(
        f"no groups of {smallest} to {largest} different values of {counts.name!r} satisfy "
        f"{', '.join(str(model) for model in policy.models)}"
    )


def _assign_groups(frequency: FrequencyTable, l: int, seed: int) -> tuple[NDArray[np.int32], int]:  # noqa: E741
    """Assign every record to a group of l or more records with distinct sensitive values."""
    from incrowd.core.kernels.clusters.groups import groups_of_distinct

    counts = frequency.sensitive[0]
    values = counts.keys.codes.astype(np.int64)
    random = guarded_random(seed, values)
    group_of, groups = groups_of_distinct(values, random.permutation(len(values)), counts.domain.size, l)
    for record in random.permutation(np.flatnonzero(group_of < 0)).tolist():
        taken = np.zeros(groups, np.bool_)
        taken[group_of[(values == values[record]) & (group_of >= 0)]] = True
        # There is one, as long as no value is in more than 1/l of the records.
        group_of[record] = random.choice(np.flatnonzero(~taken))
    return group_of, groups


def _tables(
    table: Any, columns: Sequence[str], sensitive: str, group_of: NDArray[np.int32], frequency: FrequencyTable
) -> tuple[Any, Any, Any]:
    """Build the two tables, and a version of the sensitive table with a row per record."""
    from incrowd.core.io.frames import without_traces

    frame = nw.from_native(table, eager_only=True)
    numbers = nw.new_series(GROUP, (group_of + 1).tolist(), nw.Int64, backend=frame.implementation)
    quasi_columns = {name: frame[name] for name in columns if name != sensitive}
    quasi_table = without_traces(frame, {**quasi_columns, GROUP: numbers})
    ranks = frequency.sensitive[0].keys.codes
    entry, first, count = np.unique(
        np.stack([group_of, ranks]), axis=1, return_index=True, return_counts=True
    )
    values = frame[sensitive][first.tolist()]
    counts = {
        GROUP: nw.new_series(GROUP, (entry[0] + 1).tolist(), nw.Int64, backend=frame.implementation),
        sensitive: values,
        COUNT: nw.new_series(COUNT, count.tolist(), nw.Int64, backend=frame.implementation),
    }
    sensitive_table = without_traces(frame, counts)
    sensitive_frame = nw.from_native(sensitive_table, eager_only=True)
    rows = np.repeat(np.arange(len(sensitive_frame)), sensitive_frame[COUNT].to_numpy()).tolist()
    return quasi_table, sensitive_table, sensitive_frame[rows].drop(COUNT).to_native()


def guarded_random(seed: int, *secrets: NDArray[np.generic]) -> np.random.Generator:
    """Return a generator seeded by a number and secret data together.

    A seed stands in policies and is often the default, so what it alone decides could be computed anew by
    whoever receives a release. Values of the table before recoding are mixed in, which only its owner has.

    Parameters
    ----------
    secrets
        Arrays that the receiver does not know.
    """
    digest = hashlib.sha256()
    for secret in secrets:
        digest.update(np.ascontiguousarray(secret).tobytes())
    return np.random.default_rng([seed, int.from_bytes(digest.digest(), "little")])
