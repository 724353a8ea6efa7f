"""The plan of `anonymize`: all settings before the search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import envelope
from incrowd.core.markup import InNotebooks
from incrowd.core.progress import Clock, Silent
from incrowd.release.accounts.value_warnings import value_warnings
from incrowd.release.jobs.make.anonymize import start_search
from incrowd.release.jobs.make.leaving_rows import telling_columns
from incrowd.release.jobs.make.table_treatments import treatment_entries
from incrowd.release.policy.limits import with_histories
from incrowd.release.policy.policy import Policy, terms_of
from incrowd.search.lattice import Lattice

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.progress import Progress
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.schema import Attribute


@dataclass(frozen=True)
class PlannedColumn:
    """The plan of a column.

    Attributes
    ----------
    name
        The column.
    role
        Its role; `unlisted` where it has none.
    becomes
        ``recoded``, ``released as it is``, ``treated`` or ``left out``.
    kind
        How its values are read; None where nobody reads them.
    values
        How many distinct values it has, a missing one included; None where nobody counts them.
    height
        How many levels its hierarchy has above the values; None without a hierarchy.
    treatment
        What becomes of it besides recoding.
    """

    name: str
    role: str
    becomes: str
    kind: str | None = None
    values: int | None = None
    height: int | None = None
    treatment: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Plan(InNotebooks):
    """The plan of a release, without any value of the table.

    Attributes
    ----------
    policy
        What the release has to satisfy.
    records, people, suppressed
        Records of the table, people if they are counted, records that are suppressed already.
    keys
        Distinct combinations of values of the quasi-identifiers: what the search works on.
    columns
        What would become of each column, in the order of the table.
    nodes
        Size of the lattice of full-domain recodings; None where the algorithm knows no levels.
    notes
        What was noticed in the table.
    seconds
        Wall time per stage.
    """

    _shown = ("records", "people", "suppressed", "keys", "nodes", "models", "algorithm", "columns")

    policy: Policy
    records: int
    people: int | None
    suppressed: int
    keys: int
    columns: tuple[PlannedColumn, ...]
    nodes: int | None
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without any value of the table."""
        return {
            **envelope("plan"),
            **terms_of(self.policy),
            "output": self.policy.output,
            "keep_order": self.policy.keep_order,
            "records": self.records,
            "people": self.people,
            "suppressed": self.suppressed,
            "keys": self.keys,
            "nodes": self.nodes,
            "columns": [each.to_dict() for each in self.columns],
            "notes": list(self.notes),
            "seconds": dict(self.seconds),
        }


def plan(
    table: Any,
    policy: Policy,
    *,
    levels: Mapping[str, int] | None = None,
    population: Any = None,
    csv_format: CsvFormat | None = None,
    progress: Progress | None = None,
    force: bool = False,
) -> Plan:
    """Do the work of `anonymize` before the search: read, check, treat and count.

    Parameters and errors are those of `anonymize`.

    Examples
    --------
    >>> import incrowd as ic
    >>> schema = ic.Schema(quasi=["age"], unlisted="drop")
    >>> result = plan(ic.samples.hospital(100), ic.Policy(schema, (ic.KAnonymity(5),)))
    >>> result.records, [each.name for each in result.columns if each.becomes == "recoded"]
    (100, ['age'])
    """
    policy = with_histories(policy.with_levels(levels) if levels else policy)
    clock = Clock(progress or Silent())
    start = start_search(table, policy, population, csv_format, clock)
    frequency, schema = start.frequency, policy.schema
    if policy.keep_order:
        telling_columns(start.counted, schema.after_treatment(), force=force)
    domains = {domain.name: domain for domain in frequency.domains}
    domains |= {counts.name: counts.domain for counts in frequency.sensitive}
    treatments = {each["name"]: each["treatment"] for each in treatment_entries(schema)}
    attributes = {each.name: each for each in schema.attributes}
    full_domain = policy.algorithm.full_domain
    return Plan(
        policy=policy,
        records=frequency.rows,
        people=None if frequency.people.table is None else frequency.people.table.records,
        suppressed=frequency.suppressed,
        keys=frequency.keys,
        columns=tuple(
            _column(name, attributes.get(name), domains.get(name), treatments.get(name), schema.unlisted)
            for name in start.treatments.raw.columns
        ),
        nodes=Lattice.of_table(frequency, start.schema.quasi).size if full_domain else None,
        notes=tuple(value_warnings(frequency, schema)),
        seconds=clock.seconds,
    )


def _column(
    name: str,
    attribute: Attribute | None,
    domain: Domain | None,
    treatment: Mapping[str, Any] | None,
    unlisted: str | None,
) -> PlannedColumn:
    if attribute is None:
        return PlannedColumn(name, "unlisted", "released as it is" if unlisted == "keep" else "left out")
    if not attribute.leaves:
        becomes = "left out"
    elif attribute.role == "quasi":
        becomes = "recoded" if treatment is None else "treated and recoded"
    else:
        becomes = "released as it is" if treatment is None else "treated"
    if domain is None:
        return PlannedColumn(name, attribute.role, becomes, treatment=treatment)
    height = None if domain.hierarchy is None else domain.hierarchy.height
    return PlannedColumn(name, attribute.role, becomes, domain.kind, domain.size, height, treatment)
