"""The limits of a policy as questions in a script: the figures of `models`, written and not measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from incrowd.errors import ParameterError
from incrowd.verification import quantities
from incrowd.verification.attackers import Attacker
from incrowd.verification.attribute import Attribute
from incrowd.verification.classes import as_written
from incrowd.verification.demands import Demand
from incrowd.verification.hierarchies import read_tree
from incrowd.verification.histories import who_share
from incrowd.verification.models import LARGEST_T, SLACK, Measuring, may_be_zero
from incrowd.verification.result import Finding
from incrowd.verification.script import Script
from incrowd.verification.script_people import everybody_covered
from incrowd.verification.source import literal
from incrowd.verification.weights import stood_for


class ScriptedAttribute(Attribute):
    """A sensitive column whose figures of the whole table are questions in the script, and no numbers."""

    con: Any

    def everybody(self) -> Any:
        """Write the number of records, or of people."""
        amount = "count(DISTINCT person)" if self.by_person else "count(*)"
        return f"(SELECT {amount} FROM main.record)"

    def occurrences(self, *, as_text: bool | None = None) -> Any:
        """Write the sum of the whole table for each value."""
        return f"(SELECT sum(n) FROM whole_{self.coded(as_text=as_text)})"

    def code_of(self, text: str) -> Any:
        """Write the code of a value, and check that the column has it."""
        number, tables = super().code_of(text), f"texts_{self.coded()}"
        [spelling, *_] = self.con.execute(
            f"SELECT CAST(value AS VARCHAR) FROM {tables} WHERE v = {number} AND value IS NOT NULL"
        ).fetchone()
        code = f"(SELECT min(v) FROM {tables} WHERE CAST(value AS VARCHAR) = {literal(spelling)})"
        self.con.check("the value to protect occurs", self.column.name, code, "reached IS NOT NULL", None)
        return code

    def climb(self) -> Any:
        """Write the ways from the values up to the root, by their texts."""
        if self._height is not None:
            return self._height
        tables, hierarchy, name = self.coded(as_text=True), self.column.hierarchy, self.column.name
        assert hierarchy is not None  # the distance was checked before
        text = as_written(self.con, "texts.value", self._declared, f"texts_{tables} AS texts")
        rows = self.con.execute(
            f"SELECT {text} FROM texts_{tables} AS texts WHERE value IS NOT NULL"
        ).fetchall()
        texts = [row[0] for row in rows]
        tree = read_tree(hierarchy, texts, name)
        heights = tree.heights()
        self._height = heights[0] or 1
        ways = [
            f"({literal(each)}, {node}, {heights[tree.parents[node]] - heights[node]})"
            for each in texts
            for node in tree.way_up(each)
        ]
        self.con.note(f"The hierarchy of {name}: the nodes above each value, and the length of each edge.")
        made = f"CREATE TABLE ways_{tables}(value VARCHAR, node BIGINT, edge HUGEINT)"
        self.con.execute(made)
        if ways:
            self.con.execute(f"INSERT INTO ways_{tables} VALUES {', '.join(ways)}")
        self.con.execute(
            f"CREATE TABLE above_{tables} AS SELECT v, ways.node, ways.edge FROM texts_{tables} AS texts "
            f"JOIN ways_{tables} AS ways ON {text} = ways.value "
            f"UNION ALL SELECT v, {len(tree.parents)}, {self._height} FROM texts_{tables} WHERE value IS NULL"
        )
        self.con.check(
            f"every value is in the hierarchy of {name}",
            name,
            f"SELECT count(*) FROM texts_{tables} WHERE v NOT IN (SELECT v FROM above_{tables})",
            "reached = 0",
            0,
        )
        if isinstance(hierarchy, dict):
            self.con.check(
                f"the values are those that the hierarchy of {name} is made of",
                name,
                f"SELECT count(*) FROM texts_{tables} WHERE value IS NOT NULL",
                f"reached = {len(texts)}",
                len(texts),
            )
        return self._height

    def check_kind(self) -> None:
        """Write a check that the values still are of the expected kind: numbers, days or texts."""
        if self._stored != "text" or self.has_leaves or self.column.kind == "category":
            return
        asked = self.column.kind
        fits = self.kind_tests(declared=asked != "auto")
        numbers, days = (
            f"(SELECT count(*) = count(*) FILTER ({fits[kind]}) AND count(*) > 0 FROM main.member "
            f"WHERE {self.cell} IS NOT NULL)"
            for kind in ("number", "date")
        )
        taken = {"number": numbers, "date": days if asked == "date" else f"({days} AND NOT {numbers})"}
        if asked != "auto":
            taken[asked] = f"({taken[asked]} OR (SELECT count({self.cell}) = 0 FROM main.member))"
        kind = taken.get(self._kind, f"NOT ({numbers} OR {days})")
        told = {"number": "numbers", "date": "dates"}.get(self._kind, "texts")
        self.con.check(f"the values are {told}", self.column.name, f"{kind}::INTEGER", "reached = 1", 1)


@dataclass
class ScriptedMeasuring(Measuring):
    """Writes a check for each limit in place of measuring it.

    Attributes
    ----------
    script
        Where the checks go.
    against
        Whom they are about, for their names.
    has_population
        Whether the script has the people whom each class covers; see `script_people`.
    """

    script: Script = field(kw_only=True)
    against: str = ""
    has_population: bool = False

    def find(self, demand: Demand) -> Finding:
        """Write the check of a demand; return its result in this file."""
        distance = None
        if demand.model == "t-closeness" and demand.attribute is not None:
            distance = self.attributes[demand.attribute].distance_named(demand.settings["distance"])
        words = [str(value) for value in demand.shown.values() if isinstance(value, str)]
        words += [] if distance is None or distance in words else [distance]
        title = f"{demand.model} {demand.quantity}" + (f" ({', '.join(words)})" if words else "")
        self.script.note(f"{title}{self.against}, {_asked(demand)}")
        self.script.check(
            title + self.against,
            demand.attribute,
            self._figure(demand, distance),
            _holds(demand),
            demand.limit,
        )
        reached, holds = self.script.found()
        return Finding(demand.model, demand.attribute, demand.limit, reached, holds, quantity=demand.quantity)

    def find_against(self, attacker: Attacker, known: Sequence[int]) -> list[Finding]:
        """Write the checks of the demands against an attacker."""
        told = replace(self, against=f" against {attacker.name!r}, who knows {', '.join(attacker.knows)}")
        return Measuring.find_against(told, attacker, known)

    def _figure(self, demand: Demand, distance: str | None) -> str:
        """Write the query of the value reached."""
        if demand.model == "p29":
            return self._score(demand)
        if demand.attribute is None:
            return self._sizes(demand)
        if demand.model == "lkc-privacy":
            return self._largest_share(demand)
        values = self._values(demand, distance)
        worst = "min" if demand.at_least else "max"
        overall = "avg" if demand.settings.get("over") == "mean" else worst
        return f"SELECT {overall}(value) FROM (SELECT {worst}(value) AS value FROM ({values}) GROUP BY home)"

    def _sizes(self, demand: Demand) -> str:
        settings, smallest = demand.settings, "(SELECT min(size) FROM classes)"
        match demand.model:
            case "k-anonymity" | "alpha-k-anonymity":
                return smallest
            case "km-anonymity":
                return self._shared(settings["power"]) if self._by_person else smallest
            case "k-map" | "delta-presence":
                return self._of_population(demand)
            case "maximum-risk":
                return f"1::DOUBLE / {smallest}"
            case "average-risk":
                return f"SELECT sum(n::DOUBLE / least) / sum(n)::DOUBLE FROM ({self._worst()})"
            case "records-at-risk":
                risky = f"1::DOUBLE / least > {float(settings['threshold'])!r}"
                return (
                    f"SELECT coalesce(sum(n) FILTER ({risky}), 0)::DOUBLE / sum(n)::DOUBLE "
                    f"FROM ({self._worst()})"
                )
            case "lkc-privacy":
                return self._fewest(settings["L"])
            case "profitability":
                return self._left(demand)
        raise ParameterError(f"no SQL script can check {demand.model} by itself; use verify")

    def _shared(self, power: int) -> str:
        queries = ", ".join(f"({query})" for query in who_share(self.script, power, whoever=True))  # type: ignore[arg-type]
        return f"SELECT least({queries})"

    def _of_population(self, demand: Demand) -> str:
        """Write the question for whom classes cover: in the population, or by sampling weights."""
        if not self.has_population:
            return f"SELECT ({stood_for(self.quasi, self.wildcards)})::DOUBLE / 1000000"
        covered = everybody_covered(self.quasi, self.wildcards)
        if demand.model == "k-map":
            return f"SELECT min(people) FROM ({covered})"
        worst = "min" if demand.at_least else "max"
        share = (
            f"SELECT {worst}(CASE WHEN people = 0 THEN 'inf'::DOUBLE ELSE size::DOUBLE / people END) "
            f"FROM ({covered})"
        )
        if demand.quantity == "delta_max":
            return share
        return f"SELECT CASE WHEN (SELECT people FROM main.uncovered) > 0 THEN 0 ELSE ({share}) END"

    def _fewest(self, known: int) -> str:
        if self.wildcards == "value":
            return f"SELECT min(n) FROM ({' UNION ALL '.join(self._alike(known))})"
        with self._kept() as kept:
            for subset in self._subsets(known):
                with self._seen(subset):
                    self.script.execute(f"INSERT INTO {kept} SELECT min(size) FROM classes")
        return f"SELECT min(value) FROM {kept}"

    def _largest_share(self, demand: Demand) -> str:
        assert demand.attribute is not None
        known, value = demand.settings["L"], demand.settings["value"]
        attribute = self.attributes[demand.attribute]
        if self.wildcards == "value":
            queries = (
                f"SELECT max(value) AS value FROM ({quantities.share(attribute, merged, value)})"
                for merged in (self._merged(attribute, group) for group in self._known(known))
            )
            return f"SELECT max(value) FROM ({' UNION ALL '.join(queries)})"
        with self._kept() as kept:
            for subset in self._subsets(known):
                with self._seen(subset) as groups:
                    own = groups.attributes[demand.attribute]
                    query = quantities.share(own, f"counts_{own.coded()}", value)
                    self.script.execute(f"INSERT INTO {kept} SELECT max(value) FROM ({query})")
        return f"SELECT max(value) FROM {kept}"

    @contextmanager
    def _kept(self) -> Iterator[str]:
        """Make a table for figures of several groups."""
        name = f"main.kept_{self.script.checks + 1}"
        self.script.execute(f"CREATE TABLE {name}(value DOUBLE)")
        yield name

    def _left(self, demand: Demand) -> str:
        settings = demand.settings
        cost, reward, loss, benefit = (
            f"{float(settings[name])!r}::DOUBLE"
            for name in ("adversary_cost", "adversary_gain", "publisher_loss", "publisher_benefit")
        )
        allowed, classes = settings["attack"] == "allowed", "classes"
        if settings["attacker"] == "journalist":
            covered = everybody_covered(self.quasi, self.wildcards)
            classes = f"(SELECT greatest(people, 1) AS size FROM ({covered}))"
        if settings["definition"] == "table":
            each = f"{benefit} * size - {loss} / size" if allowed else f"{cost} * size - {reward}"
            return f"SELECT sum({each}) FROM {classes}"
        left = f"{cost} - {reward} / min(size)"
        if allowed:
            left = f"{benefit} - CASE WHEN {left} < 0 THEN {loss} / min(size) ELSE 0 END"
        return f"SELECT {left} FROM {classes}"

    def _score(self, demand: Demand) -> str:
        """Write the score of P29; undefined where all distances are alike, if the model is strict."""
        rows = []
        for attribute in self.attributes.values():
            counts = f"counts_{attribute.coded()}"
            apart = quantities.distance(attribute, counts, "equal")
            rows.append(
                f"SELECT even, low, zero OR largest > {LARGEST_T} AS zero, extent > {SLACK} AS spread, "
                f"CASE WHEN extent > {SLACK} THEN (mean - least) / extent ELSE 0 END AS close "
                f"FROM (SELECT avg(value) AS even, min(value) AS low, min(value) = 0 AS zero "
                f"FROM ({quantities.evenness(counts)})), "
                "(SELECT min(value) AS least, max(value) AS largest, max(value) - min(value) AS extent, "
                f"avg(value) AS mean FROM ({apart}))"
            )
        weights = [f"{float(demand.settings[name])!r}::DOUBLE" for name in ("w_k", "w_l", "w_t")]
        undefined = "bool_or(NOT spread)" if demand.settings["strict"] else "false"
        smallest = "(SELECT min(size) FROM classes)"
        return (
            f"SELECT CASE WHEN {undefined} THEN NULL WHEN bool_or(zero) OR {smallest} = 1 THEN 0 ELSE "
            f"{weights[0]} * (1 - 1::DOUBLE / {smallest}) + {weights[1]} * avg(even) "
            f"+ {weights[2]} * (1 - avg(close)) END FROM ({' UNION ALL '.join(rows)})"
        )


def _asked(demand: Demand) -> str:
    return f"{'at least' if demand.at_least else 'at most'} {demand.limit:g}"


def _holds(demand: Demand) -> str:
    """Write whether a limit is met: with equality, and sums within a slack."""
    if demand.model == "profitability":
        return "reached >= 0" if may_be_zero(demand) else "reached > 0"
    slack = SLACK * max(1.0, demand.limit)
    if demand.at_least:
        return f"reached >= {demand.limit - slack!r}::DOUBLE"
    return f"reached <= {demand.limit + slack!r}::DOUBLE"
