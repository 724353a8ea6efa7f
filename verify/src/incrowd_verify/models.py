"""The figures of a released table, a figure for each demand of the policy.

Each figure is one SQL query. `verify` runs it, and a script holds it as a check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from incrowd_gate.errors import PolicyError, setting
from incrowd_verify import quantities
from incrowd_verify.attribute import Attribute, split_by_others
from incrowd_verify.checks import Checks
from incrowd_verify.groups import OF_SUBSETS, alike, check_known, matching, merged, subsets
from incrowd_verify.limits import SLACK, Attacker, Demand, Finding
from incrowd_verify.lists import by_parts, counts_of, fewest_parts, refuse_lists
from incrowd_verify.persons import Persons, same_by_people, who_share
from incrowd_verify.policy import Policy
from incrowd_verify.population import figure_of_people, sizes_and_people

_LARGEST_T = 0.5


@dataclass
class Measuring:
    """Measures the classes of a connection.

    - `persons`: who the people of the records are, where the policy names columns for it. If nobody can tell,
      the figures are about records, and a limit holds or fails only where people would not change that.
    - `has_population`: whether the people whom each class covers were counted; see `population`.
    - `unweighed`: why the people whom the records stand for by sampling weights are not known; empty where
      they are, None where the policy names no weights.
    - `unjudged`: the sensitive columns whose released values the policy's models are not about.
    - `against`: whom the checks of a script are about.
    """

    con: Checks
    quasi: int
    classes: int
    attributes: Mapping[str, Attribute]
    has_population: bool = False
    persons: Persons | None = None
    unweighed: str | None = None
    wildcards: str = "value"
    unjudged: frozenset[str] = frozenset()
    against: str = ""

    def find_policy(self, policy: Policy) -> list[Finding]:
        """Measure the demands of a policy, also against each attacker."""
        names = [column.name for column in policy.named("quasi")]
        findings = self.find_all(policy.demands)
        for attacker in policy.attackers:
            findings += self.find_against(attacker, [names.index(name) for name in attacker.knows])
        return findings

    def find_all(self, demands: Sequence[Demand]) -> list[Finding]:
        """Measure the demands against an attacker with every quasi-identifier (see `find`)."""
        for demand in demands:
            check_known(demand, self.wildcards)
        if self.wildcards == "value":
            return [self.find(demand) for demand in demands]
        # Whoever knows few cells compares these alone.
        results = {at: self.find(demand) for at, demand in enumerate(demands) if demand.model in OF_SUBSETS}
        with self._seen(range(self.quasi)) as groups:
            results |= {at: groups.find(demand) for at, demand in enumerate(demands) if at not in results}
        return [results[at] for at in range(len(demands))]

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

        - Raises `PolicyError`: it cannot be measured.
        - Raises `HierarchyError`: a hierarchy that a distance needs is no tree, or lacks a value.
        """
        estimated = demand.model == "k-map" and not self.has_population and self.unweighed is not None
        finding = Finding(
            demand.model, demand.attribute, demand.limit, None, None,
            quantity=demand.quantity, settings=demand.shown,
        )  # fmt: skip
        if (estimated and self.unweighed) or demand.looks_at(self.unjudged):
            return finding
        if demand.needs_people and not self.has_population and not estimated:
            raise PolicyError(
                f"{demand.model} compares the release with a population; name it with "
                + setting("population=", "--population")
            )
        refuse_lists(demand, self.attributes)
        distance = None
        if demand.model == "t-closeness" and demand.attribute is not None:
            distance = self.attributes[demand.attribute].distance_named(demand.settings["distance"])
        reached, holds = self._measured(demand, distance)
        by_records = self.persons is not None and bool(self.persons.unknown)
        is_known = not by_records or not self.classes or same_by_people(demand, holds=holds)
        return replace(
            finding,
            reached=reached,
            holds=holds if is_known else None,
            distance=distance,
            unit="records" if self.persons is None or by_records else "people",
            settings=demand.shown
            | ({} if distance is None else {"distance": distance})
            | ({"population": "estimated by weights"} if estimated else {}),
        )

    def find_against(self, attacker: Attacker, known: Sequence[int]) -> list[Finding]:
        """Measure the demands against an attacker with the quasi-identifiers of some numbers."""
        for demand in attacker.demands:
            check_known(demand, self.wildcards)
        whom = f" against {attacker.name!r}, who knows {', '.join(attacker.knows)}"
        with replace(self, against=whom + self.against)._seen(known) as groups:
            findings = [groups.find(demand) for demand in attacker.demands]
        return [replace(finding, attacker=attacker.name, knows=attacker.knows) for finding in findings]

    @property
    def _by_person(self) -> bool:
        """Whether people are told apart from records."""
        return self.persons is not None and self.persons.several

    def _measured(self, demand: Demand, distance: str | None) -> tuple[float | None, bool]:
        """Return the figure of a demand, and whether the figure meets the limit; a script gets a check."""
        if not self.classes and not self.con.is_script:
            # The hierarchies and values that are named must be there all the same.
            if demand.attribute is not None:
                self._values_of_parts(demand, distance)
            return None, False
        words = [str(value) for value in demand.shown.values() if isinstance(value, str)]
        words += [] if distance is None or distance in words else [distance]
        title = f"{demand.model} {demand.quantity}" + (f" ({', '.join(words)})" if words else "")
        self.con.note(
            f"{title}{self.against}, {'at least' if demand.at_least else 'at most'} {demand.limit:g}"
        )
        figure = self._figure(demand, distance)
        reached, holds = self.con.judge(
            title + self.against, figure, demand.is_met, demand.limit, demand.attribute
        )
        is_whole = demand.model == "l-diversity" and reached is not None and float(reached).is_integer()
        return int(reached) if is_whole and reached is not None else reached, holds

    def _figure(self, demand: Demand, distance: str | None) -> str:
        """Write the query of the value reached."""
        if demand.model == "p29":
            return self._p29(demand)
        if demand.attribute is None:
            return self._of_classes(demand)
        if demand.model == "lkc-privacy":
            return self._lkc(demand)
        values = self._values_of_parts(demand, distance)
        worst = "min" if demand.at_least else "max"
        overall = "avg" if demand.settings.get("over") == "mean" else worst
        return f"SELECT {overall}(value) FROM (SELECT {worst}(value) AS value FROM ({values}) GROUP BY home)"

    # --- sensitive values -------------------------------------------------------------------------------

    def _values_of_parts(self, demand: Demand, distance: str | None) -> str:
        """Write the query of the value of every part of a class, for lists also by the parts of lists."""
        attribute, settings = self.attributes[demand.attribute or ""], demand.settings
        whole = self._of_texts(demand, distance)
        if attribute.column.parts is None:
            return whole
        joint = bool(settings.get("joint")) and len(self.attributes) > 1
        if demand.model == "l-diversity" and settings["kind"] == "distinct":
            texts = counts_of(self.attributes.values(), attribute, joint=joint)
            return fewest_parts(attribute, texts, math.ceil(demand.limit))
        parted = attribute.parted()
        counts = counts_of(self.attributes.values(), parted, joint=joint)
        parts = by_parts(parted, counts, demand.model, settings)
        return f"SELECT home, value FROM ({whole}) UNION ALL SELECT home, value FROM ({parts})"

    def _of_texts(self, demand: Demand, distance: str | None) -> str:
        """Write the query of the value of every part of a class by the whole texts."""
        attribute, settings = self.attributes[demand.attribute or ""], demand.settings
        # Two distances compare codes of their own; all else counts leaves, or values where there are none.
        as_text = {"ordered": False, "hierarchical": True}.get(distance or "")
        if settings.get("joint") and len(self.attributes) > 1:
            counts = split_by_others([*self.attributes.values()], attribute, as_text=as_text)
        else:
            counts = f"counts_{attribute.coded(as_text=as_text)}"
        if distance is not None:
            return quantities.distance(attribute, counts, distance)
        return quantities.of_model(attribute, counts, demand.model, settings)

    def _lkc(self, demand: Demand) -> str:
        """Write the largest share in any group of records that agree in L quasi-identifiers."""

        def largest(groups: Measuring, merge: str | None) -> str:
            own = groups.attributes[demand.attribute or ""]
            shares = []
            for each in (own,) if own.column.parts is None else (own, own.parted()):
                counts = f"counts_{each.coded()}" if merge is None else merged(each, merge)
                share = quantities.share(each, counts, demand.settings["value"])
                shares.append(f"SELECT value FROM ({share})")
            return f"SELECT max(value) FROM ({' UNION ALL '.join(shares)})"

        return self._worst_of_subsets(demand.settings["L"], "max", "DOUBLE", largest)

    def _worst_of_subsets(
        self, known: int, worst: str, kind: str, figure: Callable[[Measuring, str | None], str]
    ) -> str:
        """Compute a figure for every set of so many quasi-identifiers; return the query of the worst.

        `figure` writes the query of one set: of the groups of `classes`, or where classes merge by columns.
        """
        self.con.execute(f"CREATE OR REPLACE TABLE main.kept(value {kind})")
        for subset in subsets(self.quasi, known):
            if self.wildcards == "value":
                columns = ", ".join(f"classes.q{number}" for number in subset)
                self.con.execute(f"INSERT INTO main.kept {figure(self, columns)}")
            else:
                with self._seen(subset) as groups:
                    self.con.execute(f"INSERT INTO main.kept {figure(groups, None)}")
        return f"SELECT {worst}(value) FROM main.kept"

    # --- classes alone ----------------------------------------------------------------------------------

    def _of_classes(self, demand: Demand) -> str:
        settings, smallest = demand.settings, "(SELECT min(size) FROM classes)"
        match demand.model:
            case "k-anonymity" | "alpha-k-anonymity":
                return smallest
            case "km-anonymity":
                if not self._by_person:  # who has one record is in one class
                    return smallest
                shared = who_share(self.con, settings["power"], whoever=self.con.is_script)
                return f"SELECT least({', '.join(f'({query})' for query in shared)})"
            case "maximum-risk":
                return f"1::DOUBLE / {smallest}"
            case "average-risk":
                return f"SELECT fsum(n::DOUBLE / least) / sum(n)::DOUBLE FROM ({self._worst()})"
            case "records-at-risk":
                risky = f"1::DOUBLE / least > {float(settings['threshold'])!r}"
                return (
                    f"SELECT coalesce(sum(n) FILTER ({risky}), 0)::DOUBLE / sum(n)::DOUBLE "
                    f"FROM ({self._worst()})"
                )
            case "lkc-privacy" | "subset-k-anonymity":
                known = settings["L" if demand.model == "lkc-privacy" else "of"]
                return self._worst_of_subsets(
                    known, "min", "HUGEINT", lambda _, merge: alike(merge, by_person=self._by_person)
                )
            case "k-map" | "delta-presence":
                return figure_of_people(demand, self.quasi, self.wildcards, counted=self.has_population)
            case "profitability":
                return self._payoff(demand)
        raise PolicyError(f"verify cannot measure {demand.model}")

    def _worst(self) -> str:
        """Write the sizes of classes, `least`, and of how many, `n`, each is the smallest."""
        if not self._by_person:
            return "SELECT size AS least, sum(records) AS n FROM classes GROUP BY size"
        return (
            "SELECT least, count(*) AS n FROM (SELECT person, min(size) AS least FROM crowd JOIN classes "
            "USING (class) GROUP BY person) GROUP BY least"
        )

    def _payoff(self, demand: Demand) -> str:
        """Write the query of the payoff of the publisher, or of the attacker; see Wan et al. 2015."""
        settings = demand.settings
        cost, reward, loss, benefit = (
            f"{float(settings[name])!r}::DOUBLE"
            for name in ("adversary_cost", "adversary_gain", "publisher_loss", "publisher_benefit")
        )
        allowed, classes = settings["attack"] == "allowed", "classes"
        if settings["attacker"] == "journalist":
            covered = sizes_and_people(self.quasi, self.wildcards)
            classes = f"(SELECT greatest(people, 1) AS size FROM ({covered}))"
        if settings["definition"] == "table":
            each = f"{benefit} * size - {loss} / size" if allowed else f"{cost} * size - {reward}"
            return f"SELECT fsum({each}) FROM {classes}"
        # A larger class is never worse for the publisher, nor better for the attacker.
        left = f"{cost} - {reward} / min(size)"
        if allowed:
            left = f"{benefit} - CASE WHEN {left} < 0 THEN {loss} / min(size) ELSE 0 END"
        return f"SELECT {left} FROM {classes}"

    def _p29(self, demand: Demand) -> str:
        """Write the score of P29, not defined if all distances are alike and the model is strict."""
        rows = []
        for attribute in self.attributes.values():
            counts = f"counts_{attribute.coded()}"
            apart = quantities.distance(attribute, counts, "equal")
            rows.append(
                f"SELECT even, zero OR largest > {_LARGEST_T} AS zero, spread, close "
                "FROM (SELECT favg(value) AS even, min(value) = 0 AS zero "
                f"FROM ({quantities.evenness(counts)})), "
                f"(SELECT max(value) AS largest, any_value(extent) > {SLACK} AS spread, "
                f"favg(CASE WHEN extent > {SLACK} THEN (value - least) / extent ELSE 0 END) AS close "
                "FROM (SELECT value, min(value) OVER () AS least, "
                f"max(value) OVER () - min(value) OVER () AS extent FROM ({apart})))"
            )
        weights = [f"{float(demand.settings[name])!r}::DOUBLE" for name in ("w_k", "w_l", "w_t")]
        undefined = "bool_or(NOT spread)" if demand.settings["strict"] else "false"
        smallest = "(SELECT min(size) FROM classes)"
        return (
            f"SELECT CASE WHEN {undefined} THEN NULL WHEN bool_or(zero) OR {smallest} = 1 THEN 0 ELSE "
            f"{weights[0]} * (1 - 1::DOUBLE / {smallest}) + {weights[1]} * favg(even) "
            f"+ {weights[2]} * (1 - favg(close)) END FROM ({' UNION ALL '.join(rows)})"
        )
