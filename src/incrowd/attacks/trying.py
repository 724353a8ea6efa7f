"""The call `attack`, which tries attacks on a release and counts how often each succeeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from incrowd.attacks.base import Attack
from incrowd.attacks.items import items_before_and_after
from incrowd.attacks.kind import AttackCall
from incrowd.attacks.kinds import ATTACKS
from incrowd.attacks.setting import Setting
from incrowd.core.errors import ParameterError, SchemaError, did_you_mean, those_are
from incrowd.core.parameters import COUNT, SEED
from incrowd.core.progress import Progress, Silent, in_job, with_bar
from incrowd.core.recoding.suppression_marks import with_stars
from incrowd.core.table.schema import Schema

if TYPE_CHECKING:
    from incrowd.release.policy.policy import Policy


@with_bar
@in_job
def attack(  # noqa: PLR0913
    table: Any,
    released: Any,
    schema: Schema | Policy,
    *,
    also: Sequence[Any] = (),
    control: Any = None,
    secret: str | None = None,
    attacks: int = 500,
    columns: int = 3,
    neighbours: int = 1,
    aligned: bool = False,
    row_map: Any = None,
    by: str | None = None,
    known: Sequence[str] | None = None,
    parts: tuple[Sequence[str], Sequence[str]] | None = None,
    kinds: Sequence[str] | None = None,
    suppressed_as: Sequence[str] = (),
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Attack]:
    """Attack a release: generalized, microaggregated or synthetic.

    Parameters
    ----------
    table, released
        The raw table and the released one, with the schema's quasi-identifiers and sensitive attributes, or
        paths of them; rows need not correspond. Released cells are read as `evaluate` reads them.
    schema
        The columns that an attacker may know (quasi-identifiers, with hierarchies if they have any) and the
        columns that he does not know (sensitive). Or the whole policy of the release, which minimality needs.
    also
        Other releases of the same table, for composition: tables or paths.
    control
        Raw records of people whom the release does not hold, for the risk beyond what is true of everybody.
    secret
        The sensitive attribute that is inferred; may be left out where there is one.
    attacks
        Guesses of each kind, 10 or more.
    columns
        Columns of a multivariate predicate, at most as many as the release has.
    neighbours
        Records that linkability looks at on either side.
    aligned
        Whether row N of the release is row N of the raw table. Links can only be checked then, or with a row
        map or a key. The order of rows is also looked at if all cells are true of the rows in their place.
    row_map
        Which raw row each released row is, as `Release.row_map` gives it: a path or a frame.
    by
        A column of keys that both tables have, in place of a row map. Raw rows that the release lacks are
        left out.
    known
        The quasi-identifiers that an external table of the same people has, for linkage; all by default.
    parts
        The quasi-identifiers on either side that linkability brings together; the first and the second half
        by default.
    kinds
        Names of the attacks to try, from `KINDS`. By default, all that the tables allow, except minimality,
        which anonymizes the table many times.
    seed
        Seed of all choices.
    progress
        Told about the kinds.

    Returns
    -------
    One `Attack` for each kind that was tried, in the order of `KINDS`. With columns of sets two: an attacker
    knows the other quasi-identifiers and `known` items of a row, of the raw table and of the released one.

    Raises
    ------
    InputError
        When a table cannot be read or does not fit the schema, or a setting is out of range.

    Notes
    -----
    `incrowd.attacks` has a file for each kind. Its function says what is guessed, and when a guess is right.

    Distances are Gower's. A cell counts as each of its values with the same chance.

    References
    ----------
    Giomi, Boenisch, Wehmeyer and Tasnadi, A unified framework for quantifying privacy risk in synthetic
    data, PoPETs 2023 (the first attacks, baseline, control, risk), applied to generalized cells here.
    """
    from incrowd.engines import loaded
    from incrowd.release.accounts.row_map import as_released
    from incrowd.release.jobs.measure.row_pairs import map_by_key
    from incrowd.release.policy.policy import Policy

    if not isinstance(schema, Schema | Policy):
        raise ParameterError("schema must be a Schema or a Policy, e.g. ic.Schema(quasi=['age', 'zip'])")
    attacks = COUNT.within(low=10).check(attacks, "attack", "attacks")
    columns = COUNT.check(columns, "attack", "columns")
    neighbours = COUNT.check(neighbours, "attack", "neighbours")
    seed = SEED.check(seed, "attack", "seed")
    for kind in kinds or ():
        if kind not in ATTACKS:
            raise ParameterError(
                f"there is no attack {kind!r}; there are {', '.join(ATTACKS)}" + did_you_mean(kind, ATTACKS)
            )
    columns_of = schema if isinstance(schema, Schema) else schema.schema
    if columns_of.sets:
        others = {
            "also": also, "control": control, "secret": secret, "aligned": aligned, "row_map": row_map,
            "by": by, "known": known, "parts": parts, "kinds": kinds, "suppressed_as": suppressed_as,
        }  # fmt: skip
        return items_before_and_after(table, released, columns_of, others, attacks=attacks, seed=seed)
    secret = _secret(columns_of, secret)
    if by is not None:
        row_map = map_by_key(table, released, by, row_map, columns_of, "attack")
    if row_map is not None:
        table, aligned = as_released(table, row_map), True
    names = [attribute.name for attribute in columns_of.quasi]
    released, *also = (with_stars(loaded(data), names, suppressed_as) for data in (released, *also))
    setting = Setting(table, released, columns_of, control, seed)
    releases = (setting, *(Setting(table, other, columns_of, None, seed) for other in also))
    call = AttackCall(
        table=table,
        released=released,
        policy=None if isinstance(schema, Schema) else schema,
        secret=secret,
        releases=releases,
        control=control,
        attacks=attacks,
        columns=columns,
        neighbours=neighbours,
        aligned=aligned,
        known=known,
        parts=parts,
        kinds=kinds,
        seed=seed,
    )
    possible = [name for name, entry in ATTACKS.items() if entry.possible(call)]
    for kind in kinds or ():
        if kind not in possible:
            raise ParameterError(
                f"{kind} needs {ATTACKS[kind].needs}, which this call has not got; leave it out of kinds"
            )
    progress = progress or Silent()
    results = []
    for name, entry in ATTACKS.items():
        if name in possible and (entry.by_default if kinds is None else name in kinds):
            progress.stage(name)
            results.append(entry.result(call))
    return results


def _secret(schema: Schema, secret: str | None) -> str | None:
    """Return the sensitive attribute to infer, by default the only one."""
    names = [attribute.name for attribute in schema.sensitive]
    if secret is not None and secret not in names:
        raise SchemaError(f"secret {secret!r} is no sensitive attribute; {those_are(names, secret)}")
    return names[0] if secret is None and len(names) == 1 else secret
