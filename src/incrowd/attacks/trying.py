"""The call `attack`: try attacks on a release, and count how often they succeed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from incrowd.attacks.base import Attack
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
        which anonymizes the table many times. Order and composition by order are left out if the numbers of
        rows differ.
    seed
        Seed of all choices.
    progress
        Told about the kinds.

    Returns
    -------
    One `Attack` for each kind that was tried:

    - singling out, by one column and by several;
    - linkability of two halves of the quasi-identifiers, if there are two or more;
    - inference of the secret, if there is one;
    - membership, if there is a control;
    - linkage, if the rows are aligned;
    - composition, if there are other releases;
    - minimality, if it is asked for.

    Raises
    ------
    InputError
        When a table cannot be read or does not fit the schema, or a setting is out of range.

    Notes
    -----
    *Singling out* guesses a predicate. The guess is right if exactly one raw record meets it. Predicates
    range over all released columns: quasi-identifiers, sensitive ones, and those released as they are.

    - A predicate of one column is "has this rare cell", "is at most the smallest number" or "is at least the
      largest number".
    - A predicate of several columns is made of a released record. A number becomes "at least" above the
      median and "at most" below it. Any other cell becomes "is one of its values".
    - The predicates are guessed that exactly one released record meets. If there are none, those are guessed
      that the fewest records meet.
    - A control may have fewer people than the raw table. Success with it is scaled to as many people. For
      that, the counts of people are taken for negative binomial.

    *Linkability* looks up the nearest released records of a raw record, by one half of the columns and by the
    other. The guess is right if one record is among both. Without released records a link is right by chance.

    *Inference* takes the secret of the nearest released record by all quasi-identifiers. Numbers are right
    within 5 %.

    *Membership* takes as many people of the release as of the control. It guesses that the half nearer to a
    released record is in the release.

    *Linkage* links people of the raw table to the nearest released record, by the columns that are known. The
    guess is right if the record is theirs.

    *Order* takes the rows for sorted; see `incrowd.attacks.order.order`.

    *Composition by order* joins released rows by their number. The guess is right if a record is unique then.

    *Composition* finds the records of every release that may be a person's, and intersects their sensitive
    values. The guess is right if one value is left.

    *Minimality*: see `incrowd.attacks.minimality`.

    Distances are Gower's. A cell counts as each of its values with the same chance.

    References
    ----------
    Giomi, Boenisch, Wehmeyer and Tasnadi, A unified framework for quantifying privacy risk in synthetic
    data, PoPETs 2023 (the three attacks, baseline, control, risk), applied to generalized cells here.
    Ganta et al., KDD 2008 (composition). Wong et al., VLDB 2007 (minimality).
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
        known=None if not aligned else setting.quasi if known is None else list(known),
        sides=_sides(setting.quasi, parts),
        # Where rows were left out, only the other way is open, unless it is asked for.
        by_order="composition-by-order" in (kinds or ())
        or len({release.records for release in releases}) == 1,
        seed=seed,
    )
    for kind in kinds or ():
        if not ATTACKS[kind].possible(call):
            raise ParameterError(
                f"{kind} needs {ATTACKS[kind].needs}, which this call has not got; leave it out of kinds"
            )
    progress = progress or Silent()
    results = []
    for name, entry in ATTACKS.items():
        if (entry.by_default if kinds is None else name in kinds) and entry.possible(call):
            progress.stage(name)
            results.append(entry.result(call))
    return results


def _secret(schema: Schema, secret: str | None) -> str | None:
    """Return the sensitive attribute to infer, by default the only one."""
    names = [attribute.name for attribute in schema.sensitive]
    if secret is not None and secret not in names:
        raise SchemaError(f"secret {secret!r} is no sensitive attribute; {those_are(names, secret)}")
    return names[0] if secret is None and len(names) == 1 else secret


def _sides(
    quasi: list[str], parts: tuple[Sequence[str], Sequence[str]] | None
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the quasi-identifiers on either side of a link, by default two halves."""
    half = (len(quasi) + 1) // 2
    sides = parts or (quasi[:half], quasi[half:])
    for name in (name for side in sides for name in side):
        if name not in quasi:
            raise SchemaError(f"parts: {name!r} is no quasi-identifier; {those_are(quasi, name)}")
    return sides
