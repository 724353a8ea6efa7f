"""The points of tables and releases: the rules of the verdict, asked of the engine that has the rows.

`incrowd_gate.rules` says what a point is. What the rules ask is answered here: of a table as it
stands, and of a release with its raw rows and its recoding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import eq
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.errors import InputError
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.io.columns import columns_named, nameless
from incrowd.core.kernels.grouping.grouping import group_columns
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.reading.missing import null_values_of
from incrowd.core.recoding import read_set
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.matching import are_wildcards
from incrowd.core.table.schema import Attribute, Schema
from incrowd.engines.base import NotAtHandError
from incrowd.measures.privacy.base import SensitiveModel
from incrowd_gate import rules
from incrowd_gate.rules.columns import Column, Losses, People, UnansweredError, Values

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.engines import Engine
    from incrowd.engines.base import Counted
    from incrowd.measures.privacy import PrivacyModel
    from incrowd.release.policy.policy import Policy
    from incrowd_gate.points import Accepted, Point

_ROWS = 20_000
"""Rows, spread evenly, of which columns are compared with each other."""
_UNLISTED = "its values cannot be listed where the rows are"


class Evidence(NamedTuple):
    """A release beside the counted and recoded raw rows.

    Attributes
    ----------
    raw, released
        The engines of the raw and of the released rows.
    counted
        The rows as they were counted.
    recoding
        The cells of the keys.
    records
        Number of released records.
    suppressed
        Share of suppressed records, including those left out.
    exposed, failing
        Number of released suppressed records that fail models as a class, and the names of these models.
    """

    raw: Engine
    released: Engine
    policy: Policy
    counted: Counted
    recoding: Recoding
    records: int
    suppressed: float
    exposed: int = 0
    failing: tuple[str, ...] = ()


def points_of(evidence: Evidence) -> tuple[Point, ...]:
    """Return all points of a release in the order of kinds, with the policy's reasons for accepted points."""
    return rules.points_of(_RecodedRows(evidence), evidence.policy.accepted)


def points_of_table(
    engine: Engine,
    schema: Schema,
    records: int,
    accepted: Iterable[Accepted] = (),
    *,
    raw: Engine | None = None,
    hidden: Sequence[str] = (),
    suppressed: float = 0.0,
) -> tuple[Point, ...]:
    """Return the points of rows that leave unchanged, quasi-identifiers included.

    Parameters
    ----------
    engine
        The rows, with their treatments.
    schema
        The roles of the columns.
    raw, hidden
        The rows before, and the columns of them that were changed at random.
    suppressed
        Share of the rows before that were deleted.
    """
    rows = RowsThatLeave(engine, schema, records, raw, hidden, suppressed)
    return rules.points_of(rows, accepted)


def columns_that_leave(engine: Engine, schema: Schema) -> list[str]:
    """Return the released columns in order, quasi-identifiers included."""
    after = schema.after_treatment()
    return [
        name
        for name in engine.columns
        if (after[name].leaves if name in after else schema.unlisted == "keep")
    ]


def unprotected(models: Iterable[PrivacyModel], sensitive: Sequence[str]) -> list[str]:
    """Return the sensitive attributes that no model protects, attackers' models included."""
    parts = [part for model in models for part in getattr(model, "models", (model,))]
    attributes = {getattr(part, "attribute", None) for part in parts if isinstance(part, SensitiveModel)}
    return [] if None in attributes else [name for name in sensitive if name not in attributes]


def trees_of(policy: Policy) -> Iterator[tuple[str, Sequence[str | None], Sequence[int]]]:
    """Return the hierarchies that are no recipes: column, labels, and the parent of each node."""
    for attribute in policy.schema.quasi:
        if isinstance(attribute.hierarchy, Hierarchy):
            yield attribute.name, attribute.hierarchy.labels, attribute.hierarchy.parents.tolist()


# --- what the rules ask -------------------------------------------------------------------------------


class _Table:
    """The columns of an engine (see `incrowd_gate.rules.columns.Table`)."""

    def __init__(self, engine: Engine, schema: Schema, names: Sequence[str], records: int) -> None:
        self.engine = engine
        self.columns = tuple(_column(name, schema) for name in names)
        self.records = records
        self._sample: pl.DataFrame | None = None
        self.cache: dict[str, Values | None] = {}
        self.cells: dict[str, Values] = {}
        self.same: dict[str, dict[str, Values | None]] = {}
        """By column the cache of another table that has the same values."""

    def values(self, name: str) -> Values:
        """Return the distinct values of a column."""
        cache = self.same.get(name, self.cache)
        if name not in cache:
            try:
                if (rows := self._all_rows([name])) is not None:
                    rows, counts = _counted(rows)
                    values = rows.to_series()
                else:
                    values, counts = self.engine.leaving_values(name)
                cache[name] = Values(nameless(values), counts)
            except (InputError, pl.exceptions.PolarsError):
                cache[name] = None
        if (values_of_column := cache[name]) is None:
            raise UnansweredError(_UNLISTED)
        return values_of_column

    def combinations(self, names: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Return the combinations of values of some columns, and how many records have each."""
        if (rows := self._all_rows(names)) is not None:
            return _counted(rows)
        try:
            return self.engine.values_of(names)
        except (InputError, pl.exceptions.PolarsError):
            raise UnansweredError(_UNLISTED) from None

    def lone_rows(self, names: Sequence[str]) -> int:
        """Count the records that are unique in some columns."""
        if (rows := self._all_rows(names)) is not None:
            return int((_counted(rows)[1] == 1).sum())
        try:
            return self.engine.lone_rows(names)
        except (InputError, pl.exceptions.PolarsError):
            raise UnansweredError("its values cannot be compared where the rows are") from None

    def sample(self, names: Sequence[str]) -> pl.DataFrame:
        """Return some columns of even rows, without unreadable columns."""
        if self._sample is None:
            # The rules look at the same rows, and another system fetches all columns in one question.
            self._sample = self._some_rows([column.name for column in self.columns])
        return self._sample.select(columns_named(name for name in names if name in self._sample.columns))

    def _all_rows(self, names: Sequence[str]) -> pl.DataFrame | None:
        """Return some columns of all rows of a small table elsewhere, fetched in a single question."""
        if self.engine.in_order or self.records > _ROWS:
            return None
        try:
            rows = self.sample(names)
        except UnansweredError:
            return None
        return rows if rows.width == len(names) else None

    def _some_rows(self, names: Sequence[str]) -> pl.DataFrame:
        try:
            return self.engine.some_rows(names, _ROWS / max(self.records, 1))
        except NotAtHandError:
            raise UnansweredError("no rows are at hand") from None
        except (InputError, pl.exceptions.PolarsError):
            if len(names) < 2:
                return pl.DataFrame()
            # One that does not leave may be damaged: nothing else reads it.
            readable = [name for name in names if self._some_rows([name]).width]
            return self._some_rows(readable) if 0 < len(readable) < len(names) else pl.DataFrame()


def _counted(rows: pl.DataFrame) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Count equal rows."""
    rows.columns = [f"c{place}" for place in range(rows.width)]
    groups = rows.group_by(pl.all(), maintain_order=True).len("n")
    return groups.drop("n"), groups["n"].cast(pl.Int64).to_numpy()


def _column(name: str, schema: Schema) -> Column:
    nulls = schema.nulls(name)

    def missing(values: pl.Series) -> pl.Series:
        known = null_values_of(nulls).without(values) if nulls else values
        return known.is_null() | (known.is_nan() if known.dtype.is_float() else False)

    if name not in schema:
        return Column(name, missing=missing)
    attribute = schema[name]
    return Column(
        name,
        attribute.role,
        "" if attribute.treatment is None else attribute.treatment.name,
        attribute.parts is not None,
        missing,
        attribute.spelling.read if attribute.spelling else None,
        name in schema.person,
    )


class RowsThatLeave(_Table):
    """Rows that leave unchanged (see `incrowd_gate.rules.columns.Release`)."""

    is_local = False

    def __init__(
        self,
        engine: Engine,
        schema: Schema,
        records: int,
        raw: Engine | None,
        hidden: Sequence[str],
        suppressed: float = 0.0,
    ) -> None:
        super().__init__(engine, schema, columns_that_leave(engine, schema), records)
        self.hidden = hidden
        self.suppressed = suppressed
        self.raw = None if raw is None else _Table(raw, schema, raw.columns, records)
        if raw is engine:
            self._share()

    def _share(self) -> None:
        """Ask once about columns that leave unchanged, where the same rows leave."""
        if self.raw is not None:
            self.raw.same = {each.name: self.cache for each in self.columns if not each.treatment}

    def sample(self, names: Sequence[str]) -> pl.DataFrame:
        """Return some columns of even rows (see `_Table.sample`)."""
        same = self.raw is not None and {*names} <= self.raw.same.keys()
        return self.raw.sample(names) if self.raw is not None and same else super().sample(names)

    def labels(self, name: str) -> Values:
        """Return the texts of the cells of a quasi-identifier, which several rules read."""
        if name not in self.cells:
            self.cells[name] = self._cells_of(name)
        return self.cells[name]

    def _cells_of(self, name: str) -> Values:
        return replace(self.values(name), are_labels=True)

    def trees(self) -> Iterator[tuple[str, Sequence[str | None], Sequence[int]]]:
        """Return no hierarchy: no cell follows one."""
        return iter(())

    def unprotected(self) -> Iterator[tuple[str, float]]:
        """Return no column: there are no classes."""
        return iter(())

    def losses(self) -> Losses:
        """Return the rows that were deleted: nothing was recoded."""
        return Losses({}, self.suppressed, tells_nothing=False)

    def has_level(self, name: str) -> bool:
        """Return False: nothing was recoded."""
        return False

    def people(self, name: str) -> People | None:
        """Return None: there are no classes."""
        return None


class _RecodedRows(RowsThatLeave):
    """The rows of a release with the recoding."""

    def __init__(self, evidence: Evidence) -> None:
        policy = evidence.policy
        quasi = [attribute.name for attribute in policy.schema.quasi]
        super().__init__(evidence.released, policy.schema, evidence.records, evidence.raw, quasi)
        self.evidence = evidence
        self.frequency = evidence.counted.frequency
        self.is_local = not policy.algorithm.full_domain
        if evidence.records == self.frequency.rows:
            self._share()

    def _cells_of(self, name: str) -> Values:
        """Count the cells that records have, suppressed ones aside."""
        recoding = self.evidence.recoding
        weights = np.where(recoding.suppressed, 0, self.frequency.weights)
        place = next(n for n, domain in enumerate(recoding.domains) if domain.name == name)
        cells = recoding.cells[place]
        records = np.bincount(cells.codes, weights, len(cells.labels)).astype(np.int64)
        labels = Values(pl.Series(cells.labels, dtype=pl.String), records, are_labels=True)
        return labels.only(pl.Series(records > 0))

    def trees(self) -> Iterator[tuple[str, Sequence[str | None], Sequence[int]]]:
        """Return the hierarchies that are no recipes."""
        return trees_of(self.evidence.policy)

    def unprotected(self) -> Iterator[tuple[str, float]]:
        """Count the records in classes that share a sensitive value that no model protects."""
        attributes = {each.name: j for j, each in enumerate(self.frequency.sensitive)}
        names = unprotected(self.evidence.policy.models, list(attributes))
        if not names:
            return
        classes = self.evidence.recoding.classes(self.frequency)
        for name in names:
            sizes = classes.sizes
            alike = int(sizes[classes.most_frequent(attributes[name]) == sizes].sum())
            yield name, alike / max(int(np.sum(sizes)), 1)

    def has_level(self, name: str) -> bool:
        """Say whether the lowest level of a quasi-identifier is above 0."""
        return bool((self.evidence.policy.schema[name].levels or (0,))[0])

    def losses(self) -> Losses:
        """Count the cells that the recoding blanks, and the suppressed records."""
        evidence, recoding, frequency = self.evidence, self.evidence.recoding, self.frequency
        policy = evidence.policy
        weights = np.where(recoding.suppressed, 0, frequency.weights)
        blanked, starred = {}, []
        for domain, cells, ranks in zip(recoding.domains, recoding.cells, frequency.codes, strict=True):
            # A hierarchy may have values that do not occur. A column of one value had nothing to lose.
            first, last = int(ranks.min()), int(ranks.max())
            if first < last:
                style = policy.schema[domain.name].output or policy.output
                if self.is_local and style == "mean":
                    used = {cells.labels[code] for code in np.unique(cells.codes[weights > 0]).tolist()}
                    # A mean says by its class alone which values it is of; one mean of all says nothing.
                    everything = np.full(len(weights), len(used) == 1) | cells.starred
                else:
                    covers = (cells.lo <= first) & (cells.hi >= last)
                    kinds = len(np.unique(ranks)) if self.is_local and covers.any() else 0
                    for code in np.flatnonzero(covers).tolist() if self.is_local else ():
                        # The set {a, c} reaches from the first value to the last, and b is not in it.
                        members = read_set(cells.labels[code])
                        covers[code] = members is None or len(set(members)) >= kinds
                    everything = covers[cells.codes] | cells.starred
                blanked[domain.name] = float(weights[everything].sum() / max(weights.sum(), 1))
                starred.append(bool(cells.starred[weights > 0].all()))
        few, least = self._few_matches()
        return Losses(
            blanked,
            evidence.suppressed,
            bool(starred) and all(starred),
            evidence.exposed,
            evidence.exposed / max(evidence.records, 1),
            evidence.failing,
            few,
            few / max(frequency.rows, 1),
            least,
        )

    def _few_matches(self) -> tuple[int, int]:
        """Count the records that fit some released rows, but fewer than k; return also k."""
        policy, recoding = self.evidence.policy, self.evidence.recoding
        # Without a limit on the class size, no record may be alone.
        least = max(2, policy.k)
        if policy.wildcards != "matches-any" or not _is_starred(recoding):
            return 0, least
        fits = records_that_fit(self.frequency, recoding)
        return int(self.frequency.weights[(fits > 0) & (fits < least)].sum()), least

    def people(self, name: str) -> People | None:
        """Count the rows once more with the people of a column, and the people of each class."""
        evidence = self.evidence
        classes = evidence.recoding.classes(self.frequency)
        if not len(classes):
            return None
        people = self._values_of_classes(name, classes)
        if people is None:
            return None
        # Without a limit on the class size, a class has as many people as the smallest has records.
        k = evidence.policy.k
        k = k if k > 1 else int(classes.sizes.min())
        return People(k, int((people < k).sum()), len(classes), int(people.min()))

    def _values_of_classes(self, name: str, classes: EquivalenceClasses) -> NDArray[np.int64] | None:
        """Count the values of a column in each class, missing values row by row: int64[classes]."""
        evidence, table = self.evidence, self.frequency
        quasi = [each for each in evidence.counted.schema.attributes if each.role == "quasi"]
        place = next((n for n, each in enumerate(quasi) if each.name == name), None)
        if place is not None:
            # The values of a quasi-identifier are those of the keys.
            domain, codes = table.domains[place], table.codes[place][classes.members].astype(np.int64)
            class_of = np.repeat(np.arange(len(classes)), np.diff(classes.indptr))
            missing = codes == domain.missing
            pairs = np.unique(class_of[~missing] * domain.size + codes[~missing]) // domain.size
            lone = np.bincount(class_of[missing], table.weights[classes.members][missing], len(classes))
            return np.bincount(pairs, minlength=len(classes)) + lone.astype(np.int64)
        schema = Schema.of_attributes(
            [*quasi, Attribute(name, "person")], null_values=evidence.counted.schema.null_values
        )
        try:
            counted = evidence.counted.rows.count(schema).frequency
        except InputError:
            return None
        if counted.keys != table.keys and counted.row_keys is not None:
            counted = counted.by_record()
        if not all(map(np.array_equal, counted.codes, table.codes)):
            return None
        return EquivalenceClasses(counted, classes.indptr, classes.members).counted.sizes


def _is_starred(recoding: Recoding) -> bool:
    """Say whether every cell is a value or `*`."""
    for domain, cells in zip(recoding.domains, recoding.cells, strict=True):
        values = [domain.values[low] for low in cells.lo.tolist()]
        is_value = np.array([*map(eq, cells.labels, values)], np.bool_) & (cells.lo == cells.hi)
        if not (are_wildcards(cells.labels) | is_value)[cells.codes].all():
            return False
    return True


def records_that_fit(frequency: FrequencyTable, recoding: Recoding) -> NDArray[np.int64]:
    """Return the number of released records that fit the values of each key: int64[keys].

    A cell fits a value if it is the value, or if it is `*` or missing. Suppressed records fit nobody. Keys
    are grouped by the columns that a record shows, once for each set of such columns::

        keys (30, 1), (30, 2), (30, 3) with cells 30,* / 30,2 / 30,3: they fit 1, 2 and 2 records
    """
    hidden = [are_wildcards(cells.labels)[cells.codes] for cells in recoding.cells]
    pattern = np.zeros(frequency.keys, np.int64)
    for column, of_key in enumerate(hidden):
        pattern |= of_key.astype(np.int64) << column
    fits = np.zeros(frequency.keys, np.int64)
    is_released = ~recoding.suppressed
    for each in np.unique(pattern[is_released]).tolist():
        visible = [column for column in range(len(hidden)) if not each >> column & 1]
        sizes = [max(frequency.domains[column].size, 1) for column in visible]
        ids, first = group_columns([frequency.codes[column] for column in visible], sizes, frequency.keys)
        of = is_released & (pattern == each)
        fits += np.bincount(ids[of], frequency.weights[of], len(first)).astype(np.int64)[ids]
    return fits
