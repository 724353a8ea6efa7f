"""The judge of linked tables: their rows are joined as they stand, and views are counted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import envelope, plain
from incrowd.core.lazy import np
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import with_keyword_hints
from incrowd.core.progress import in_job, with_bar
from incrowd.measures.privacy.k_anonymity import KAnonymity
from incrowd.measures.privacy.results import ModelResult
from incrowd.release.accounts.statements import points_of_limits
from incrowd.release.jobs.compare.draft_linked import Join, find_joins, points_of_joins
from incrowd.release.linked.policy import LinkedPolicy
from incrowd.release.linked.search import Limits, fact_classes, of_fact
from incrowd.release.linked.tables import LinkedRows
from incrowd.release.linked.views import Hashes, Knowledge
from incrowd_gate import wording
from incrowd_gate.points import Point, answered, in_order
from incrowd_gate.verdict import Verdict

if TYPE_CHECKING:
    from incrowd.core.progress import Progress

WHO = "whoever joins the tables"
"""The attacker of linked tables."""


@dataclass(frozen=True)
class JoinedView(InNotebooks):
    """The joined view of linked tables: the result of `assess_linked`.

    Attributes
    ----------
    policy
        How the tables join, and what is asked.
    people
        Number of people.
    records
        Rows of each table that belong to somebody.
    nobody
        Rows of each table that belong to nobody.
    smallest
        The fewest people who share what can be known of somebody.
    alone
        People of whom something can be known that nobody shares.
    results
        Each model of the policy, with the value that the joined view reaches.
    undeclared
        Joins that the policy does not name, by columns that leave and hold keys of another table.
    """

    policy: LinkedPolicy
    people: int
    records: Mapping[str, int]
    nobody: Mapping[str, int]
    smallest: int
    alone: int
    results: tuple[ModelResult, ...]
    undeclared: tuple[Join, ...] = ()

    _shown = ("people", "smallest", "alone", "models", "tables")

    @classmethod
    def of_rows(cls, rows: LinkedRows) -> JoinedView:
        """Join tables by their keys, and measure the views of all people."""
        policy = rows.policy
        knowledge = Knowledge.of_rows(policy, rows.rows, rows.people)
        limits = Limits.of_policy(policy, rows.series)
        sets, facts = knowledge.sets(cell_numbers(rows), [*limits.sensitive])
        fewest = sets.fewest(everybody := np.ones(rows.people, np.bool_))
        smallest = int(fewest.min())
        results = [
            ModelResult(
                model.name, model.limit_name, {}, None, smallest, model.limit, smallest >= model.limit,
                failing_people=int((fewest < model.limit).sum()), attacker=WHO,
            )
            for model in policy.terms.models
            if isinstance(model, KAnonymity)
        ]  # fmt: skip
        for table, columns in limits.sensitive.items():
            for attribute, values, models in columns:
                chosen = everybody[facts[table].person]
                classes = fact_classes(facts[table], chosen, attribute, values)
                results += [
                    replace(result, attribute=attribute.name, attacker=WHO, weakest=None, examples=())
                    for model in models
                    for result in of_fact(model).measure(classes)
                ]
        records = {name: len(each.person) for name, each in rows.rows.items()}
        alone = int((fewest == 1).sum())
        # Two keys of the policy are not one key because their numbers are alike.
        joins = tuple(
            join
            for join in find_joins({name: rows.leaving(name) for name in policy.order})
            if not {f"{join.table}.{join.column}", f"{join.above}.{join.key}"} <= policy.joining
        )
        return cls(policy, rows.people, records, dict(rows.nobody), smallest, alone, tuple(results), joins)

    @property
    def points(self) -> tuple[Point, ...]:
        """The limits that the joined view does not meet, and rows that belong to nobody."""
        problems = map(wording.conformity, self._problems())
        return tuple(
            in_order([*points_of_limits(self.results), *problems, *points_of_joins(self.undeclared)])
        )

    def _problems(self) -> Iterator[str]:
        for name, rows in self.nobody.items():
            if rows:
                yield f"{rows:,} rows of table {name} belong to nobody in table {self.policy.person}"

    @property
    def verdict(self) -> Verdict:
        """The verdict on the tables as they stand, by their joined view alone."""
        return Verdict(answered(self.points, self.policy.terms.accepted), "table")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without any value of the tables."""
        return {
            **envelope("linked tables"),
            "tables": [
                {**table.settings(), "known": table.known, "records": self.records[table.name]}
                for table in self.policy.tables
            ],
            "people": self.people,
            "smallest": self.smallest,
            "alone": self.alone,
            "models": [
                {
                    "model": each.model,
                    "attribute": each.attribute,
                    "quantity": each.quantity,
                    "reached": plain(each.value),
                    "asked": each.limit,
                    "holds": each.holds,
                }
                for each in self.results
            ],
        }

    def sentences(self) -> list[str]:
        """Describe the joined view."""
        tables = ", ".join(f"{name} ({rows:,})" for name, rows in self.records.items())
        rows_known = {"all": "all rows", 1: "1 row"}
        known = " and ".join(
            f"{rows_known.get(table.known, f'at most {table.known} rows')} of {table.name}"
            for table in self.policy.tables
            if table.above is not None
        )
        all_people, fewest, alone = (
            f"{number:,} {'person' if number == 1 else 'people'}"
            for number in (self.people, self.smallest, self.alone)
        )
        fit, alike = ("fits" if number == 1 else "fit" for number in (self.smallest, self.alone))
        return [
            f"The tables have rows of {all_people}: {tables}.",
            f"Whoever joins them and knows {known or 'the row'} of a person finds at least "
            f"{fewest} who {fit}; {alone} {alike} alone.",
        ]

    def __repr__(self) -> str:
        return (
            f"JoinedView({self.people:,} people in {len(self.records)} tables; "
            f"{self.smallest:,} share a view; {self.verdict.brief})"
        )


def cell_numbers(rows: LinkedRows) -> list[Hashes]:
    """Return two random numbers for the quasi-identifiers of each row as they stand, by table."""
    rng = np.random.default_rng()
    lanes: list[Hashes] = [{}, {}]
    for name in rows.policy.order:
        quasi = [each.name for each in rows.policy.policy_of(name).schema.quasi]
        for codes in rows.codes(name, quasi):
            for lane in lanes:
                drawn = rng.integers(0, 2**64, int(codes.max()) + 1, np.uint64)[codes]
                lane[name] = lane[name] + drawn if name in lane else drawn
    return lanes


@with_keyword_hints
@with_bar
@in_job
def assess_linked(
    tables: Any, policy: LinkedPolicy | str | os.PathLike[str], *, progress: Progress | None = None
) -> JoinedView:
    """Join tables as they stand, and measure the views of all people.

    Parameters
    ----------
    tables
        The tables by name, as frames or files, or the folder of their files. They are not changed.
    policy
        How they join and what is asked; a `LinkedPolicy`, or the path of its file. Cells are compared as
        they stand.
    progress
        Told about the stages.

    Raises
    ------
    InputError
        When a table or the policy is wrong.
    """
    policy = policy if isinstance(policy, LinkedPolicy) else LinkedPolicy.read(policy)
    return JoinedView.of_rows(LinkedRows.of_tables(tables, policy, progress))
