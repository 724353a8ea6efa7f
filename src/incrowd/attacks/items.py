"""Items: the attacker knows the other columns of a row and few items of its sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.attacks.base import Attack, wilson
from incrowd.core.errors import ParameterError, TableError
from incrowd.core.lazy import np, pl

if TYPE_CHECKING:
    from incrowd.core.table.schema import Schema


def items_before_and_after(
    table: Any, released: Any, schema: Schema, others: Mapping[str, Any], *, attacks: int, seed: int
) -> list[Attack]:
    """Attack a raw table with columns of sets and what was released of it, in this order.

    Parameters
    ----------
    table, released, schema, attacks, seed
        As of `items`.
    others
        Settings of other attacks by name.

    Raises
    ------
    ParameterError, TableError
        As by `items`; also when a setting of other attacks is given.
    """
    for name, value in others.items():
        if not (value is None or value is False or (isinstance(value, Sequence) and not value)):
            raise ParameterError(f"{name} is not defined for an attack on sets; leave it out")
    raw = items(table, schema, attacks=attacks, seed=seed, name="items raw table")
    return [raw, items(released, schema, attacks=attacks, seed=seed)]


def items(table: Any, schema: Schema, *, attacks: int, seed: int, name: str = "items") -> Attack:
    """Look for rows of which the class and some items are known, and guess among those that fit.

    Parameters
    ----------
    table
        The table as it stands, raw or released.
    schema
        Its quasi-identifiers, with columns of sets. The attacker knows `known` items of a row, of all these
        columns together, drawn at random. Of a row with fewer items all are known.
    attacks
        How many rows are looked for, of those that have an item.
    seed
        Seed of all choices.
    name
        What the attack is called.

    Returns
    -------
    A guess is right if it is the row. The baseline guesses any row. `Attack.figures` has the mean and the
    least number of rows that fit, and the share of those that fit alone.

    Raises
    ------
    ParameterError
        When people have several rows, or there are too many items.
    TableError
        When no row has an item.
    """
    from incrowd.engines import engine_for, loaded
    from incrowd.release.jobs.make.sets import classes_of, joined, names_of, plain_baskets, shared, views_of

    sets = schema.sets
    if schema.having("person"):
        raise ParameterError(
            f"{names_of(sets)}: the attack on sets counts rows, and people may have several rows; leave the "
            "role person out here"
        )
    cells = engine_for(loaded(table)).some_rows([each.name for each in schema.quasi], 1.0)
    baskets = joined([plain_baskets(cells[each.name], each, schema.nulls(each.name)) for each in sets])
    others: list[pl.Series] = [cells[each.name] for each in schema.quasi if each.kind != "set"]
    (view,) = views_of(baskets, classes_of(others, baskets.rows), None)
    sizes, known = np.bincount(baskets.row, minlength=baskets.rows), sets[0].known or 1
    owner, fitting = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for size in range(1, known + 1):
        some = shared(view, size, names_of(sets))
        all_known = np.minimum(sizes[some.owner], known) == size
        owner.append(some.owner[all_known])
        fitting.append(some.support[all_known])
    order = np.argsort(np.concatenate(owner), kind="stable")
    whose, number = np.concatenate(owner)[order], np.concatenate(fitting)[order]
    rows = np.unique(whose)
    if not len(rows):
        raise TableError(f"{names_of(sets)}: no row has an item, so nothing can be known")
    rng = np.random.default_rng(seed)
    targets = rng.choice(rows, attacks)
    people = number[rng.integers(np.searchsorted(whose, targets), np.searchsorted(whose, targets, "right"))]
    right = int((rng.random(attacks) < 1 / people).sum())
    figures = {
        "fitting": float(people.mean()),
        "fewest": float(people.min()),
        "alone": float((people == 1).mean()),
    }
    baseline = wilson(round(attacks / baskets.rows), attacks)
    return Attack(name, attacks, wilson(right, attacks), baseline, None, None, figures)
