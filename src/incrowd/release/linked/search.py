"""The search for the levels of linked tables, and for the people who cannot be hidden at any of them."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from incrowd.core.errors import InfeasibleError, ParameterError, setting
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.recoding import FullDomain
from incrowd.core.table.schema import Schema
from incrowd.measures.privacy.base import SensitiveModel
from incrowd.release.linked.views import Facts, Hashes, Knowledge
from incrowd.search import Algorithm
from incrowd.search.base import SearchProblem, Solution

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Attribute
    from incrowd.measures.privacy import PrivacyModel
    from incrowd.release.linked.policy import LinkedPolicy


@dataclass(frozen=True, eq=False)
class Limits:
    """The limits of a policy on the views of people.

    Attributes
    ----------
    k
        Fewest people who share whatever is known.
    sensitive
        By table the sensitive columns, each with the attribute, the values of all rows and the models.
    """

    k: int
    sensitive: Mapping[str, Sequence[tuple[Attribute, pl.Series, Sequence[PrivacyModel]]]]

    @classmethod
    def of_policy(cls, policy: LinkedPolicy, values: Any) -> Limits:
        """Return the limits; `values` gives the values of a column of a table.

        Raises
        ------
        ParameterError
            When a sensitive column cannot be judged beside what the attacker knows.
        """
        models = policy.terms.models
        k = policy.terms.k
        sensitive: dict[str, list[tuple[Attribute, pl.Series, Sequence[PrivacyModel]]]] = {}
        few = any(policy[name].known != "all" for name in policy.order[1:])
        for attribute in policy.terms.schema.sensitive:
            table, _, column = attribute.name.partition(".")
            asked = [
                model
                for model in models
                if isinstance(model, SensitiveModel)
                and getattr(model, "attribute", None) in (None, attribute.name)
            ]
            if not asked:
                continue
            if few and table != policy.person and policy[table].known == "all":
                raise ParameterError(
                    f"column {attribute.name!r}: an attacker knows all rows of {table!r} and few of another "
                    "table, and sensitive values are judged beside few rows or beside all; say a "
                    f"number for {table!r}, too"
                )
            sensitive.setdefault(table, []).append((attribute, values(table, column), asked))
        return cls(k, sensitive)

    def hidden(self, knowledge: Knowledge, cells: Sequence[Hashes], least: int = 0) -> NDArray[np.bool_]:
        """Say which people can stay, all others being left out of all tables: bool[people].

        As soon as fewer than `least` can stay, the rest is not looked at.
        """
        sets, facts = knowledge.sets(cells, [*self.sensitive])
        present = np.ones(knowledge.people, np.bool_)
        while present.sum() >= max(least, 1):
            exposed = present & (sets.fewest(present) < self.k)
            for table, columns in self.sensitive.items():
                for column in columns:
                    exposed[self._failing(facts[table], present, *column)] = True
            if not exposed.any():
                break
            present &= ~exposed
        return present

    def _failing(
        self,
        facts: Facts,
        present: NDArray[np.bool_],
        attribute: Attribute,
        values: pl.Series,
        models: Sequence[PrivacyModel],
    ) -> NDArray[np.int64]:
        """Return the people with a row among whose look-alikes a model of the sensitive values fails."""
        from incrowd.search.base import all_hold

        chosen = present[facts.person]
        classes = fact_classes(facts, chosen, attribute, values)
        good = all_hold([of_fact(model) for model in models], classes)
        keys = classes.frequency.key_of_row("judging linked tables")
        return np.unique(facts.person[chosen][~good[keys]])


def fact_classes(facts: Facts, chosen: NDArray[np.bool_], attribute: Attribute, values: pl.Series) -> Any:
    """Return the classes of rows that look alike, counting people, with the sensitive values."""
    from incrowd.engines import read_classes

    frame = pl.DataFrame(
        {
            "known": pl.Series(facts.number[chosen]).cast(pl.String),
            "person": pl.Series(facts.person[chosen]),
            "fact": values.gather(facts.row[chosen]),
        }
    )
    roles = Schema(quasi={"known": "category"}, person="person").attributes
    plain = replace(attribute, name="fact", treatment=None)
    return read_classes(frame, Schema.of_attributes([*roles, plain]))


def of_fact(model: PrivacyModel) -> PrivacyModel:
    """Return the model of the only sensitive column of `fact_classes`."""
    changed: PrivacyModel = replace(cast("Any", model), attribute=None)
    return changed


@dataclass(frozen=True, eq=False)
class Column:
    """A quasi-identifier of a table, with the loss at each of its levels (LM, summed over rows)."""

    table: str
    position: int
    name: str
    low: int
    losses: tuple[float, ...]

    @property
    def high(self) -> int:
        """The highest level."""
        return self.low + len(self.losses) - 1

    def loss(self, level: int) -> float:
        """Return the loss at a level."""
        return self.losses[level - self.low]


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels that a search chose, by column ``TABLE.COLUMN``, and who stays."""

    levels: dict[str, int]
    present: NDArray[np.bool_]
    tried: int


def search_levels(
    policy: LinkedPolicy, counted: Mapping[str, FrequencyTable], knowledge: Knowledge, limits: Limits
) -> Levels:
    """Choose a level for each column: from the top, down where most is lost and the limits still hold.

    The limits hold above a node where they hold at the node. So a step that failed once fails everywhere
    below, and no column alone can go down further at the end.

    Raises
    ------
    InfeasibleError
        When more people than the policy allows cannot be hidden at the highest levels.
    """
    columns = _columns(policy, counted)
    rng = np.random.default_rng(policy.terms.seed)
    tables = {
        (column.table, column.position): rng.integers(
            0, 2**64, counted[column.table].domains[column.position].tree.parents.size, np.uint64
        )
        for column in columns
    }

    def cells(level_of: Mapping[str, int]) -> Hashes:
        result: Hashes = {}
        for name, frequency in counted.items():
            keys = np.zeros(frequency.keys + 1, np.uint64)
            for column in columns:
                if column.table == name:
                    nodes = frequency.domains[column.position].tree.climb(level_of[column.name])
                    keys[:-1] += tables[name, column.position][nodes[frequency.codes[column.position]]]
            # Rows that came suppressed have the number of no key.
            result[name] = keys[frequency.key_of_row("linking tables")]
        return result

    people = knowledge.people
    least = people - int(policy.terms.max_suppression * people + 1e-9)
    level_of = {column.name: column.high for column in columns}
    present = limits.hidden(knowledge, [cells(level_of)], least)
    tried = 1
    if present.sum() < max(least, 1):
        _refuse(policy, int(people - present.sum()), people)
    heap = [(-column.loss(column.high), j) for j, column in enumerate(columns) if column.high > column.low]
    heapq.heapify(heap)
    while heap:
        _, j = heapq.heappop(heap)
        column = columns[j]
        lower = {**level_of, column.name: level_of[column.name] - 1}
        stay = limits.hidden(knowledge, [cells(lower)], least)
        tried += 1
        if stay.sum() < max(least, 1):
            continue
        level_of, present = lower, stay
        if level_of[column.name] > column.low:
            heapq.heappush(heap, (-column.loss(level_of[column.name]), j))
    return Levels(level_of, present, tried)


@dataclass(frozen=True)
class ChosenLevels(Algorithm):
    """The full-domain recoding of one table at levels that were chosen for all tables together.

    In an account the name is that of `Optimal`, which gives the same to whoever fixes the levels.
    """

    levels: Mapping[str, int]

    name: ClassVar[str] = "optimal"
    full_domain: ClassVar[bool] = True

    def settings(self) -> dict[str, Any]:
        """Return no setting: levels are decisions, and stand in the recoding."""
        return {}

    def search(self, problem: SearchProblem) -> Solution:
        """Recode to the levels, also where nothing is left of the table's quasi-identifiers."""
        return Solution(FullDomain.build(problem.frequency, self.levels))


def _columns(policy: LinkedPolicy, counted: Mapping[str, FrequencyTable]) -> list[Column]:
    columns = []
    for table, frequency in counted.items():
        for position, domain in enumerate(frequency.domains):
            name = f"{table}.{domain.name}"
            attribute = policy.terms.schema[name]
            low, high = attribute.levels or (0, None)
            high = domain.tree.height if high is None else high
            if not 0 <= low <= high <= domain.tree.height:
                raise ParameterError(
                    f"column {name!r}: the levels {low} .. {high} are not within 0 .. {domain.tree.height}"
                )
            totals = frequency.totals(position) / max(frequency.records, 1)
            losses = []
            for level in range(low, high + 1):
                nodes = domain.tree.climb(level)
                sizes = np.bincount(nodes)[nodes]
                share = (sizes - 1) / (domain.size - 1) if domain.size > 1 else np.full(1, level)
                losses.append(attribute.weight * float(totals @ share))
            columns.append(Column(table, position, name, low, tuple(losses)))
    return columns


def _refuse(policy: LinkedPolicy, exposed: int, people: int) -> None:
    allowed = setting("max_suppression", "--max-suppression", "max_suppression")
    tables = [table.name for table in policy.tables if table.above is not None and table.known == "all"]
    ways = f"raise {allowed} or lower k"
    if tables:
        ways += f", or say what an attacker can know: known = 2 for {' and '.join(map(repr, tables))}"
    raise InfeasibleError(
        f"nothing was released: {exposed:,} of {people:,} people cannot be hidden even at the highest level "
        f"of every column, where numbers of rows still tell them apart, and "
        f"{policy.terms.max_suppression:.2%} may leave; {ways}"
    )
