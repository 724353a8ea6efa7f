"""Joining: the attacker knows few rows of a person in each of several linked tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from incrowd.attacks.base import Attack, wilson
from incrowd.core.kernels.grouping.grouping import group_columns
from incrowd.core.lazy import np
from incrowd.core.parameters import COUNT, SEED
from incrowd.release.linked import LinkedPolicy
from incrowd.release.linked.judged import cell_numbers
from incrowd.release.linked.tables import LinkedRows
from incrowd.release.linked.views import Knowledge


def joining(
    tables: Any, policy: LinkedPolicy, *, facts: int = 2, attacks: int = 500, seed: int = 0
) -> Attack:
    """Look for people of whom some rows of each table are known, and guess among those who fit.

    Parameters
    ----------
    tables
        The tables as they stand, raw or released, as in `assess_linked`.
    policy
        How they join; its `known` does not matter.
    facts
        Rows of each table that the attacker knows of a person, drawn at random, 1 to 5. Whoever has fewer is
        known by all.
    attacks
        How many people are looked for.
    seed
        Seed of all choices.

    Returns
    -------
    A guess is right if it is the person. The baseline guesses anybody. `Attack.figures` has the mean and the
    least number of people who fit, and the share of those who fit alone.

    Examples
    --------
    >>> import polars as pl
    >>> import incrowd as ic
    >>> people = pl.DataFrame({"id": range(40), "sex": ["f", "m"] * 20})
    >>> visits = pl.DataFrame({"of": range(40), "day": range(40)})
    >>> linked = [ic.LinkedTable("person"), ic.LinkedTable("visit", join={"of": "person.id"})]
    >>> schema = ic.Schema(["person.sex", "visit.day"], insensitive=["person.id"])
    >>> policy = ic.LinkedPolicy(linked, ic.Policy(schema, "k-anonymity:2"))
    >>> joining({"person": people, "visit": visits}, policy, facts=1).figures["alone"]
    1.0
    """
    attacks = COUNT.within(low=10).check(attacks, "joining", "attacks")
    rng = np.random.default_rng(SEED.check(seed, "joining", "seed"))
    knowing = replace(policy, tables=tuple(replace(each, known=facts) for each in policy.tables))
    rows = LinkedRows.of_tables(tables, knowing)
    knowledge = Knowledge.of_rows(knowing, rows.rows, rows.people)
    sets, _ = knowledge.sets(cell_numbers(rows))
    _, first = group_columns([sets.number, sets.owner], [sets.many, rows.people], len(sets.owner))
    fitting = np.bincount(sets.number[first], minlength=sets.many)
    # Sets stand in the order of people.
    bounds = np.searchsorted(sets.owner, np.arange(rows.people + 1))
    targets = rng.integers(0, rows.people, attacks)
    known = rng.integers(bounds[targets], bounds[targets + 1])
    people = fitting[sets.number[known]]
    right = int((rng.random(attacks) < 1 / people).sum())
    return Attack(
        "joining",
        attacks,
        wilson(right, attacks),
        wilson(round(attacks / rows.people), attacks),
        None,
        None,
        {
            "fitting": float(people.mean()),
            "fewest": float(people.min()),
            "alone": float((people == 1).mean()),
        },
    )
