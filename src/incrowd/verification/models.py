"""The figures of a released table, one for each demand of the policy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from incrowd.errors import PolicyError, setting
from incrowd.verification import quantities
from incrowd.verification.attackers import Attacker
from incrowd.verification.attribute import Attribute, split_by_others
from incrowd.verification.classes import fetch_row, smallest_class
from incrowd.verification.demands import Demand
from incrowd.verification.histories import fewest_who_share
from incrowd.verification.people import People
from incrowd.verification.persons import Persons
from incrowd.verification.result import Finding
from incrowd.verification.weights import fewest_stood_for
from incrowd.verification.wildcards import alone, check_known, matching

if TYPE_CHECKING:
    import duckdb

SLACK = 1e-12
_MOST_SUBSETS = 10_000
LARGEST_T = 0.5


@dataclass
class Measuring:
    """Measures the classes of a connection.

    Attributes
    ----------
    con
        Where the tables of `classes.group` are.
    quasi
        Number of quasi-identifiers.
    classes
        Number of classes.
    persons
        Who the people of the records are, where the policy names columns for it. If nobody can tell, the
        figures are about records, and a limit holds or fails only where people would not change that.
    attributes
        The sensitive columns by name.
    people
        The population, where one was named.
    unweighed
        Why the people whom the records stand for by sampling weights are not known; empty where they are,
        None where the policy names no weights.
    wildcards
        What a `*` or a missing cell matches.
    unjudged
        The sensitive columns whose released values the policy's models are not about.
    """

    con: duckdb.DuckDBPyConnection
    quasi: int
    classes: int
    attributes: Mapping[str, Attribute]
    people: People | None = None
    persons: Persons | None = None
    unweighed: str | None = None
    wildcards: str = "value"
    unjudged: frozenset[str] = frozenset()

    def find_all(self, demands: Sequence[Demand]) -> list[Finding]:
        """Measure the demands against somebody who knows every quasi-identifier; see `find`."""
        for demand in demands:
            check_known(demand, self.wildcards)
        if self.wildcards == "value":
            return [self.find(demand) for demand in demands]
        # Whoever knows few cells compares these alone.
        found = {at: self.find(demand) for at, demand in enumerate(demands) if demand.model == "lkc-privacy"}
        with self._seen(range(self.quasi)) as groups:
            found |= {at: groups.find(demand) for at, demand in enumerate(demands) if at not in found}
        return [found[at] for at in range(len(demands))]

    @contextmanager
    def _seen(self, known: Sequence[int]) -> Iterator[Measuring]:
        """Measure the groups of records that match in the quasi-identifiers that are known."""
        cells = [attribute.cell for attribute in self.attributes.values()]
        with matching(self.con, known, cells, self.wildcards, by_person=self._by_person):
            yield replace(
                self, attributes={name: attribute.again() for name, attribute in self.attributes.items()}
            )

    def find(self, demand: Demand) -> Finding:
        """Measure the quantity of a demand, and compare.

        Raises
        ------
        PolicyError
            It cannot be measured.
        HierarchyError
            A hierarchy that a distance needs is no tree, or lacks a value.
        """
        estimated = demand.model == "k-map" and self.people is None and self.unweighed is not None
        if (estimated and self.unweighed) or demand.looks_at(self.unjudged):
            return Finding(
                demand.model,
                demand.attribute,
                demand.limit,
                None,
                None,
                quantity=demand.quantity,
                settings=demand.shown,
            )
        if demand.needs_people and self.people is None and not estimated:
            raise PolicyError(
                f"{demand.model} compares the release with a population; name it with "
                + setting("population=", "--population")
            )
        distance = None
        if demand.model == "t-closeness" and demand.attribute is not None:
            distance = self.attributes[demand.attribute].distance_named(demand.settings["distance"])
        reached = self._reached(demand, distance)
        holds = reached is not None and _holds(demand, reached)
        by_records = self.persons is not None and bool(self.persons.unknown)
        is_known = not by_records or not self.classes or demand.same_by_people(holds=holds)
        return Finding(
            demand.model,
            demand.attribute,
            demand.limit,
            reached,
            holds if is_known else None,
            distance,
            demand.quantity,
            "records" if self.persons is None or by_records else "people",
            settings=demand.shown
            | ({} if distance is None else {"distance": distance})
            | ({"population": "estimated by weights"} if estimated else {}),
        )

    def find_against(self, attacker: Attacker, known: Sequence[int]) -> list[Finding]:
        """Measure the demands against an attacker; see `find`.

        Parameters
        ----------
        known
            Numbers of the quasi-identifiers that the attacker knows.
        """
        for demand in attacker.demands:
            check_known(demand, self.wildcards)
        with self._seen(known) as groups:
            found = [groups.find(demand) for demand in attacker.demands]
        return [replace(finding, attacker=attacker.name, knows=attacker.knows) for finding in found]

    @property
    def _by_person(self) -> bool:
        """Whether people are told apart from records."""
        return self.persons is not None and self.persons.several

    def _reached(self, demand: Demand, distance: str | None) -> float | None:
        if not self.classes:
            # The hierarchies and values that are named must be there all the same.
            if demand.attribute is not None:
                self._values(demand, distance)
            return None
        if demand.model == "p29":
            return self._p29(demand)
        if demand.attribute is None:
            return self._of_classes(demand)
        if demand.model == "lkc-privacy":
            return self._lkc(demand)
        values = self._values(demand, distance)
        worst = "min" if demand.at_least else "max"
        overall = "avg" if demand.settings.get("over") == "mean" else worst
        (reached,) = fetch_row(
            self.con,
            f"SELECT {overall}(value) FROM (SELECT {worst}(value) AS value FROM ({values}) GROUP BY home)",
        )
        return _whole(reached) if demand.model == "l-diversity" else float(reached)

    # --- sensitive values -------------------------------------------------------------------------------

    def _values(self, demand: Demand, distance: str | None) -> str:
        """Write the query of the counts of every part of a class."""
        assert demand.attribute is not None
        attribute = self.attributes[demand.attribute]
        settings = demand.settings
        # Two distances compare codes of their own; all else counts leaves, or values where there are none.
        as_text = {"ordered": False, "hierarchical": True}.get(distance or "")
        if settings.get("joint") and len(self.attributes) > 1:
            counts = split_by_others([*self.attributes.values()], attribute, as_text=as_text)
        else:
            counts = f"counts_{attribute.coded(as_text=as_text)}"
        if distance is not None:
            return quantities.distance(attribute, counts, distance)
        match demand.model:
            case "l-diversity":
                return quantities.diversity(attribute, counts, settings)
            case "normalized-entropy":
                return quantities.evenness(counts)
            case "alpha-k-anonymity" | "lkc-privacy":
                return quantities.share(attribute, counts, settings["value"])
            case "beta-likeness":
                return quantities.gain(attribute, counts, settings["kind"])
            case "delta-disclosure":
                return quantities.log_ratio(attribute, counts, settings["absent"])
        raise PolicyError(f"verify cannot measure {demand.model}")

    def _lkc(self, demand: Demand) -> float:
        """Return the largest share in any group of records that agree in L quasi-identifiers."""
        assert demand.attribute is not None
        attribute = self.attributes[demand.attribute]
        value = demand.settings["value"]
        largest = 0.0
        if self.wildcards != "value":
            for subset in self._subsets(demand.settings["L"]):
                with self._seen(subset) as groups:
                    own = groups.attributes[demand.attribute]
                    query = quantities.share(own, f"counts_{own.coded()}", value)
                    largest = max(largest, float(fetch_row(self.con, f"SELECT max(value) FROM ({query})")[0]))
            return largest
        for group in self._known(demand.settings["L"]):
            query = quantities.share(attribute, self._merged(attribute, group), value)
            (share,) = fetch_row(self.con, f"SELECT max(value) FROM ({query})")
            largest = max(largest, float(share))
        return largest

    def _merged(self, attribute: Attribute, group: str) -> str:
        """Write the query of how often each value occurs where classes merge by some of their cells."""
        part = f"dense_rank() OVER (ORDER BY {group}) AS part"
        ending = attribute.coded()
        if not self._by_person:
            return (
                f"(WITH joined AS (SELECT {part}, v, n FROM counts_{ending} AS c "
                "JOIN classes ON c.part = classes.class), "
                "summed AS (SELECT part, v, sum(n)::HUGEINT AS n FROM joined GROUP BY part, v) "
                "SELECT part, part AS home, (sum(n) OVER (PARTITION BY part))::HUGEINT AS size, v, n "
                "FROM summed)"
            )
        # Somebody may be in several of the classes that merge: people are united, not added.
        people = "count(DISTINCT person)::HUGEINT"
        return (
            f"(WITH joined AS (SELECT {part}, v, person FROM held_{ending} AS h "
            "JOIN classes ON h.class = classes.class), "
            f"sizes AS (SELECT part, {people} AS size FROM joined GROUP BY part) "
            f"SELECT part, part AS home, size, v, {people} AS n FROM joined JOIN sizes USING (part) "
            "GROUP BY part, size, v)"
        )

    def _known(self, known: int) -> Sequence[str]:
        """List the knowledge of an attacker: for each set of quasi-identifiers their columns."""
        return [", ".join(f"classes.q{number}" for number in subset) for subset in self._subsets(known)]

    def _subsets(self, known: int) -> Sequence[tuple[int, ...]]:
        known = min(known, self.quasi)
        if math.comb(self.quasi, known) > _MOST_SUBSETS:
            raise PolicyError(
                f"lkc-privacy: {math.comb(self.quasi, known):,} sets of {known} quasi-identifiers are more "
                f"than the {_MOST_SUBSETS:,} that are looked at"
            )
        return list(combinations(range(self.quasi), known))

    # --- classes alone ----------------------------------------------------------------------------------

    def _of_classes(self, demand: Demand) -> float:
        smallest = smallest_class(self.con)
        assert smallest is not None
        settings = demand.settings
        match demand.model:
            case "k-anonymity" | "alpha-k-anonymity":
                return smallest
            case "km-anonymity":
                # Who has one record is in one class.
                return fewest_who_share(self.con, settings["power"]) if self._by_person else smallest
            case "maximum-risk":
                return 1 / smallest
            case "average-risk":
                worst = self._worst_sizes()
                return math.fsum(n / size for size, n in worst) / sum(n for _, n in worst)
            case "lkc-privacy":
                return self._fewest_alike(settings["L"])
            case "records-at-risk":
                worst = self._worst_sizes()
                risky = sum(n for size, n in worst if 1 / size > float(settings["threshold"]))
                return risky / sum(n for _, n in worst)
            case "k-map" if self.people is None:
                return fewest_stood_for(self.con, self.quasi, self.wildcards)
            case "k-map":
                return min(people for _, people in self._sizes_and_people())
            case "delta-presence":
                assert self.people is not None
                if demand.quantity == "delta_min" and self.people.outside():
                    return 0.0
                shares = [size / people if people else math.inf for size, people in self._sizes_and_people()]
                return min(shares) if demand.at_least else max(shares)
            case "profitability":
                return self._payoff(demand)
        raise PolicyError(f"verify cannot measure {demand.model}")

    def _fewest_alike(self, known: int) -> int:
        """Return how many agree at least in any so many quasi-identifiers."""
        if self.wildcards != "value":
            return min(self._smallest_of(subset) for subset in self._subsets(known))
        return min(int(fetch_row(self.con, query)[0]) for query in self._alike(known))

    def _alike(self, known: int) -> Iterator[str]:
        """Write for each set of so many quasi-identifiers how many agree in them at least."""
        amount, rows = "sum(size)", "classes"
        if self._by_person:
            amount, rows = "count(DISTINCT person)", "crowd JOIN classes USING (class)"
        for group in self._known(known):
            yield f"SELECT min(n) AS n FROM (SELECT {amount} AS n FROM {rows} GROUP BY {group})"

    def _smallest_of(self, known: Sequence[int]) -> int:
        with self._seen(known):
            return smallest_class(self.con) or 0

    def _worst_sizes(self) -> list[tuple[int, int]]:
        """Return sizes of classes, and how many records are in such, or people have no smaller class."""
        return [(int(size), int(n)) for size, n in self.con.execute(self._worst()).fetchall()]

    def _worst(self) -> str:
        """Write the question for sizes, `least`, and how many have each, `n`; see `_worst_sizes`."""
        if not self._by_person:
            return "SELECT size AS least, sum(records) AS n FROM classes GROUP BY size"
        return (
            "SELECT least, count(*) AS n FROM (SELECT person, min(size) AS least FROM crowd JOIN classes "
            "USING (class) GROUP BY person) GROUP BY least"
        )

    def _sizes_and_people(self) -> list[tuple[int, int]]:
        assert self.people is not None
        found: list[tuple[int]] = []
        if self.wildcards == "conservative":
            which = alone(range(self.quasi))
            found = self.con.execute(f"SELECT class FROM main.classes WHERE {which}").fetchall()
        return self.people.sizes_and_people({name for (name,) in found})

    def _payoff(self, demand: Demand) -> float:
        """Return the payoff of the publisher, or of the attacker; see Wan et al. 2015."""
        settings = demand.settings
        cost, reward = float(settings["adversary_cost"]), float(settings["adversary_gain"])
        loss, benefit = float(settings["publisher_loss"]), float(settings["publisher_benefit"])
        allowed = settings["attack"] == "allowed"
        if settings["attacker"] == "journalist":
            sizes = [max(people, 1) for _, people in self._sizes_and_people()]
        else:
            sizes = [int(row[0]) for row in self.con.execute("SELECT size FROM classes").fetchall()]
        if settings["definition"] == "table":
            gains, risks = (benefit, loss) if allowed else (cost, reward)
            per_class = (
                (gains * size - risks / size) if allowed else (gains * size - risks) for size in sizes
            )
            return math.fsum(per_class)
        smallest = min(sizes)
        # A larger class is never worse for the publisher, nor better for the attacker.
        left = cost - reward / smallest
        if not allowed:
            return left
        return benefit - (loss / smallest if left < 0 else 0.0)

    def _each(self, values: str) -> list[float]:
        return [float(row[0]) for row in self.con.execute(f"SELECT value FROM ({values})").fetchall()]

    # --- P29 --------------------------------------------------------------------------------------------

    def _p29(self, demand: Demand) -> float | None:
        smallest = smallest_class(self.con)
        assert smallest is not None
        zero = smallest == 1
        evenness, closeness = [], []
        for attribute in self.attributes.values():
            counts = f"counts_{attribute.coded()}"
            even = self._each(quantities.evenness(counts))
            apart = self._each(quantities.distance(attribute, counts, "equal"))
            zero |= min(even) == 0 or max(apart) > LARGEST_T
            evenness.append(math.fsum(even) / len(even))
            least, extent = min(apart), max(apart) - min(apart)
            if extent > SLACK:
                closeness.append(math.fsum((one - least) / extent for one in apart) / len(apart))
            elif demand.settings["strict"]:
                return None  # 0/0 leaves the score undefined, which satisfies no limit
            else:
                closeness.append(0.0)
        if zero:
            return 0.0
        weights = [float(demand.settings[name]) for name in ("w_k", "w_l", "w_t")]
        terms = (
            1 - 1 / smallest,
            math.fsum(evenness) / len(evenness),
            1 - math.fsum(closeness) / len(closeness),
        )
        return math.fsum(weight * term for weight, term in zip(weights, terms, strict=True))


def _whole(reached: float) -> float:
    return int(reached) if float(reached).is_integer() else float(reached)


def _holds(demand: Demand, reached: float) -> bool:
    """Compare with the limit; meeting it exactly counts, and sums get a slack."""
    if demand.model == "profitability":
        return reached >= 0 if may_be_zero(demand) else reached > 0
    slack = SLACK * max(1.0, demand.limit)
    return reached >= demand.limit - slack if demand.at_least else reached <= demand.limit + slack


def may_be_zero(demand: Demand) -> bool:
    """Say of profitability whether a payoff of nothing is enough."""
    settings = demand.settings
    return bool(
        settings["attack"] == "none" and (settings["definition"] == "table" or not settings["adversary_gain"])
    )


def needs_values(model: str) -> bool:
    """Say whether a model looks at sensitive values."""
    return model not in (
        "k-anonymity", "km-anonymity", "k-map", "delta-presence", "maximum-risk", "average-risk",
        "records-at-risk", "profitability",
    )  # fmt: skip
