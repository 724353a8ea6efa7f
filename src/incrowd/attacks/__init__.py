"""attack(): try to single out, link and infer with a release, and count how often it works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.attacks.base import Attack, Rate, wilson
from incrowd.attacks.composition import composition, composition_by_order
from incrowd.attacks.inference import inference
from incrowd.attacks.linkability import linkability
from incrowd.attacks.linkage import linkage
from incrowd.attacks.membership import membership
from incrowd.attacks.minimality import minimality
from incrowd.attacks.setting import Setting
from incrowd.attacks.singling_out import singling_out
from incrowd.errors import ParameterError, SchemaError, named
from incrowd.parameters import COUNT, SEED
from incrowd.progress import Progress, Silent
from incrowd.table.schema import Schema

if TYPE_CHECKING:
    from incrowd.jobs.policy import Policy

__all__ = ["KINDS", "Attack", "Rate", "attack", "wilson"]

KINDS = (
    "singling-out-univariate",
    "singling-out-multivariate",
    "linkability",
    "inference",
    "membership",
    "linkage",
    "composition-by-order",
    "composition",
    "minimality",
)
"""Names of the attacks, in the order in which they are tried."""

_NEEDED = dict(
    zip(
        KINDS[1:],
        (
            "two quasi-identifiers",
            "two sides",
            "a secret",
            "control=",
            "aligned=True",
            "also=",
            "also= and a secret",
            "a secret and a whole Policy in place of the schema",
        ),
        strict=True,
    )
)


def attack(
    raw: Any,
    release: Any,
    schema: Schema | Policy,
    *,
    also: Sequence[Any] = (),
    control: Any = None,
    secret: str | None = None,
    attacks: int = 500,
    columns: int = 3,
    neighbours: int = 1,
    aligned: bool = False,
    known: Sequence[str] | None = None,
    parts: tuple[Sequence[str], Sequence[str]] | None = None,
    kinds: Sequence[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Attack]:
    """Attack a release: generalized, microaggregated or synthetic.

    Parameters
    ----------
    raw, release
        Tables with the schema's quasi-identifiers and sensitive attributes, or paths of them; rows need not
        correspond. Cells of the release are read as `evaluate` reads them.
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
        Columns of a multivariate predicate, at most the quasi-identifiers there are.
    neighbours
        Records that linkability looks at on either side.
    aligned
        Whether row N of the release is row N of the raw table. Only then can links be checked.
    known
        The quasi-identifiers that an external table of the same people has, for linkage; all by default.
    parts
        The quasi-identifiers on either side that linkability brings together; the first and the second half
        by default.
    kinds
        Names of the attacks to try, from `KINDS`. By default, all that the tables allow, except minimality,
        which anonymizes the table many times. Composition by order is left out if the numbers of rows differ.
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
    *Singling out* guesses a predicate. The guess is right if exactly one raw record meets it.

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
    from incrowd.jobs.policy import Policy

    policy = schema if isinstance(schema, Policy) else None
    if policy is not None:
        schema = policy.schema
    if not isinstance(schema, Schema):
        raise ParameterError("schema must be a Schema or a Policy, e.g. ic.Schema(quasi=['age', 'zip'])")
    attacks = COUNT.within(low=10).check(attacks, "attack", "attacks")
    columns = COUNT.check(columns, "attack", "columns")
    neighbours = COUNT.check(neighbours, "attack", "neighbours")
    seed = SEED.check(seed, "attack", "seed")
    unknown = [kind for kind in kinds or () if kind not in KINDS]
    if unknown:
        raise ParameterError(f"there is no attack {unknown[0]!r}; there are {', '.join(KINDS)}")
    names = [attribute.name for attribute in schema.sensitive]
    if secret is None and len(names) == 1:
        secret = names[0]
    if secret is not None and secret not in names:
        raise SchemaError(f"secret {secret!r} is no sensitive attribute; those are {named(names)}")
    setting = Setting(raw, release, schema, control, seed)
    width = len(setting.quasi)
    sides = parts or (setting.quasi[: (width + 1) // 2], setting.quasi[(width + 1) // 2 :])
    for name in (name for side in sides for name in side):
        if name not in setting.quasi:
            raise SchemaError(f"parts: {name!r} is no quasi-identifier; those are {named(setting.quasi)}")
    possible: dict[str, Callable[[], Attack]] = {
        KINDS[0]: lambda: singling_out(setting, 1, attacks, KINDS[0]),
    }
    if width > 1:
        possible[KINDS[1]] = lambda: singling_out(setting, min(columns, width), attacks, KINDS[1])
    if all(sides):
        possible[KINDS[2]] = lambda: linkability(setting, sides, attacks, neighbours)
    if secret is not None:
        possible[KINDS[3]] = lambda: inference(setting, secret, attacks)
    if control is not None:
        possible[KINDS[4]] = lambda: membership(setting, attacks)
    if aligned:
        wanted = setting.quasi if known is None else list(known)
        possible[KINDS[5]] = lambda: linkage(setting, wanted, attacks)
    if also:
        settings = [setting, *(Setting(raw, other, schema, None, seed) for other in also)]
        # Where rows were left out, only the other way is open.
        if KINDS[6] in (kinds or ()) or len({each.records for each in settings}) == 1:
            possible[KINDS[6]] = lambda: composition_by_order(settings, secret)
        if secret is not None:
            possible[KINDS[7]] = lambda: composition(settings, secret, attacks)
    if policy is not None and secret is not None and KINDS[8] in (kinds or ()):
        possible[KINDS[8]] = lambda: minimality(raw, release, policy, secret, attacks, seed)
    missing = [kind for kind in kinds or () if kind not in possible]
    if missing:
        raise ParameterError(
            f"{missing[0]} needs {_NEEDED[missing[0]]}, which this call has not got; leave it out of kinds"
        )
    told = progress or Silent()
    found = []
    for kind, attempt in possible.items():
        if kinds is None or kind in kinds:
            told.stage(kind)
            found.append(attempt())
    return found
