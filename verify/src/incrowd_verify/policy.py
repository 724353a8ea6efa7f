"""The verifier's part of a policy file: roles, treatments, missing texts, the suppression limit, the models.

This is a reader of its own, on purpose: a slip in the reader that made the release must not be repeated here.
It fails closed: a setting that it does not know is an error, not skipped.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from incrowd_gate.errors import PolicyError, did_you_mean, named, open_roles, quoted, refuse_pipe
from incrowd_gate.points import Accepted
from incrowd_gate.profiles import Choice, Context
from incrowd_verify.demands import of_histories, read_attackers, read_demands
from incrowd_verify.limits import Attacker, Demand
from incrowd_verify.recipes import recipe_named
from incrowd_verify.spellings import Spelling, spelling_of

SUPPRESSED = "*"
ROLES = ("identifying", "person", "household", "weight", "quasi", "sensitive", "insensitive")
UNRELEASED = ("identifying", "person", "household", "weight")
KINDS = ("auto", "number", "date", "category", "set")
WILDCARDS = ("value", "matches-any", "conservative")
JUDGES = ("released", "original")
SUPPRESSED_RECORDS = ("judged", "drop", "keep")
STYLES = ("auto", "range", "ancestor", "set", "mean", "suppress")
_SETTINGS = (
    "version", "linked", "max_suppression", "suppressed", "output", "keep_order", "seed", "set_limit",
    "wildcards", "judge", "ends", "null_values", "unlisted", "columns", "models", "attackers", "algorithm",
    "accepted", "profile", "context", "ledger", "tables", "analyses",
)  # fmt: skip
_OF_COLUMN = (
    "role", "kind", "hierarchy", "output", "ends", "grid", "weight", "levels", "format", "decimal",
    "thousands", "treat", "parts", "key_of", "missing", "known",
)  # fmt: skip
ENDS = ("outward", "exact")
CALENDAR = ("day", "month", "year")
USUAL = "usual"
"""The grid where the policy names none: two significant digits, whole years, multiples of five, months."""
_LARGEST = 1 << 24
"""Bytes of a policy that is read."""


@dataclass(frozen=True)
class Nulls:
    """Texts that mean missing, in every column and in single columns."""

    common: tuple[str, ...] = ()
    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, name: str) -> tuple[str, ...]:
        """Return the texts that mean missing in a column."""
        return (*self.common, *self.own.get(name, ()))


NO_NULLS = Nulls()
"""Where only empty cells are missing."""


@dataclass(frozen=True)
class Column:
    """A column of the policy.

    - `style`: how its cells are written: its own style, else that of the policy.
    - `levels`: least and largest level of full-domain recoding; None for no bound.
    - `spelling`: how its texts write numbers or dates, where the policy says so.
    - `grid`: what the ends of its ranges are rounded to: a width, a part of the calendar or `USUAL`; None
      where they are exact.
    - `parts`: the text between the parts of cells that hold lists; None where cells are no lists.
    - `key_of`: whose name the column is a part of, besides its role: ``person`` or ``household``.
    - `missing`: texts that mean missing in this column alone.
    - `known`: how many items of a set an attacker knows; None where cells are no sets.
    """

    name: str
    role: str
    kind: str = "auto"
    hierarchy: Path | dict[str, Any] | None = None
    style: str = "auto"
    levels: tuple[int, int | None] | None = None
    spelling: Spelling | None = None
    treatment: Treatment | None = None
    grid: Fraction | str | None = None
    parts: str | None = None
    key_of: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    known: int | None = None

    @property
    def is_by_number(self) -> bool:
        """Whether cells are ranges or means that follow no hierarchy if the values are numbers or dates."""
        recipe = isinstance(self.hierarchy, dict) and bool(
            {"intervals", "bands", "dates"} & self.hierarchy.keys()
        )
        declared = self.kind in ("number", "date")
        return self.style in ("range", "mean") and (declared or (recipe and self.kind != "category"))

    def tree_over(self, *, ordered: bool) -> Path | dict[str, Any] | None:
        """Return the hierarchy that cells follow, over values that are numbers or dates or over others."""
        return None if self.is_by_number and (ordered or self.kind != "auto") else self.hierarchy

    def parts_of(self, cell: str | None) -> frozenset[str | None]:
        """Return the parts of a cell that holds a list; None stands for a cell without any."""
        parts = {part.strip() for part in (cell or "").split(self.parts or "\0")} - {""}
        return frozenset[str | None](parts) or frozenset([None])

    @property
    def names_values(self) -> bool:
        """Whether the hierarchy lists values by text: a file, or an order."""
        return isinstance(self.hierarchy, Path) or "order" in (self.hierarchy or {})

    @property
    def is_read_by_number(self) -> bool:
        """Whether texts that look like numbers are numbers to the models, since nothing else is declared."""
        plain = not self.names_values and self.parts is None and self.treatment is None
        return plain and self.kind in ("auto", "number") and self.role in ("quasi", "sensitive", "weight")

    @property
    def has_commas(self) -> bool:
        """Whether released cells have decimal commas, unlike the texts of a hierarchy that names values."""
        point = None if self.spelling is None or self.spelling.format else self.spelling.point
        return point == "," and self.kind != "category" and not self.names_values

    @property
    def measure(self) -> str | None:
        """Number or date, where the policy says that the column holds such; else None."""
        if isinstance(self.hierarchy, dict) and self.kind == "auto":
            if {"intervals", "bands"} & self.hierarchy.keys():
                return "number"
            if "dates" in self.hierarchy:
                return "date"
        return self.kind if self.kind in ("number", "date") else None


@dataclass(frozen=True)
class Policy:
    """The part of a policy file that can be checked on a released file.

    - `keep_order`: whether record N of the release is record N of the raw table.
    - `set_limit`: largest number of values that a cell may list.
    - `wildcards`: what a `*` or a missing cell matches: ``value``, ``matches-any`` or ``conservative``.
    - `accepted`: the points of a verdict that it accepts, each with its reason.
    - `judge`: what its models are about where sensitive values were perturbed: ``released``, those before and
      those in the file; ``original``, those before alone.
    - `profile`, `context`: the rule profile that it chose, and the context that it answers for; None where it
      has none.
    - `m`: how many sensitive values a group has at least in an m-invariant release; None for another one.
    - `suppressed`: which suppressed records are in the file: those that satisfy the models as a class of
      their own (``judged``), none (``drop``), or all (``keep``).
    """

    columns: tuple[Column, ...]
    demands: tuple[Demand, ...]
    attackers: tuple[Attacker, ...]
    max_suppression: float
    null_values: Nulls
    unlisted: str | None
    keep_order: bool
    set_limit: int
    algorithm: dict[str, Any]
    wildcards: str
    linked: bool = False
    accepted: tuple[Accepted, ...] = ()
    judge: str = "released"
    profile: Choice | None = None
    context: Context | None = None
    m: int | None = None
    suppressed: str = "judged"

    @property
    def unjudged(self) -> frozenset[str]:
        """The sensitive columns with released values that the models are not about."""
        if self.judge == "released":
            return frozenset()
        return frozenset(
            each.name
            for each in self.named("sensitive")
            if each.treatment is not None and each.treatment.perturbs
        )

    @property
    def all_demands(self) -> tuple[Demand, ...]:
        """The demands, including the demands against attackers."""
        return (*self.demands, *(demand for each in self.attackers for demand in each.demands))

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models that anything is asked of."""
        return tuple(demand.model for demand in self.all_demands)

    @property
    def treated(self) -> tuple[Column, ...]:
        """The columns that have a treatment."""
        return tuple(column for column in self.columns if column.treatment is not None)

    @property
    def quasi(self) -> frozenset[str]:
        """The names of the quasi-identifiers."""
        return frozenset(column.name for column in self.named("quasi"))

    @property
    def sets(self) -> tuple[Column, ...]:
        """The quasi-identifiers with cells that hold sets of items."""
        return tuple(column for column in self.columns if column.kind == "set")

    @property
    def person(self) -> tuple[Column, ...]:
        """The columns that name the person of a row; some may be quasi-identifiers, too."""
        return tuple(each for each in self.columns if each.role == "person" or "person" in each.key_of)

    @property
    def is_about_people(self) -> bool:
        """Whether a column names a row's person or household, or says for how many people a row stands."""
        return any(each.key_of or each.role in ("person", "household", "weight") for each in self.columns)

    def named(self, role: str) -> tuple[Column, ...]:
        """Return the columns of a role, in the order of the policy."""
        return tuple(column for column in self.columns if column.role == role)


def read_policy(path: Path) -> Policy:
    """Read a policy file (TOML).

    Raises `PolicyError`: the file cannot be read, contradicts itself, or asks for something that cannot be
    verified.
    """
    data = read_toml(path)
    try:
        return _policy(data, path.parent)
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """Return the settings of a policy file as written.

    Raises `PolicyError`: the file cannot be read, is no TOML, or has another version than 1, or a setting
    that verify does not know.
    """
    refuse_pipe(path, PolicyError)
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise PolicyError(f"{path}: a policy of more than {_LARGEST >> 20} MiB is not read")
        data = tomllib.loads(content.decode("utf-8-sig"))
    except OSError as error:
        raise PolicyError(f"{path}: the policy cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, PolicyError):
            raise
        problem = "nested too deep" if isinstance(error, RecursionError) else str(error)[:200]
        raise PolicyError(f"{path}: no readable TOML: {problem}") from None
    version = data.get("version")
    if type(version) is not int or version != 1:
        given = "has no version" if version is None else f"is of version {quoted(version)}"
        raise PolicyError(f"{path} {given}; write version = 1")
    try:
        _refuse_unknown(data, _SETTINGS, "")
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from None
    return data


def _policy(data: dict[str, Any], folder: Path) -> Policy:
    columns, nulls = read_columns(data, folder)
    if not any(column.role == "quasi" for column in columns):
        raise PolicyError("names no column of role 'quasi', so there are no classes to check")
    unlisted = data.get("unlisted")
    seed, algorithm = data.get("seed", 0), data.get("algorithm", {})
    if type(seed) is not int or seed < 0:
        raise PolicyError("seed must be a whole number from 0")
    if not isinstance(algorithm, dict):
        raise PolicyError("algorithm must be a table with a name")
    ledger = data.get("ledger", {})
    if not isinstance(ledger, dict) or not ledger.keys() <= {"epsilon", "m"}:
        raise PolicyError("ledger must be a table with epsilon or m, about all releases of a ledger")
    if not 0 < _number_up_to(ledger.get("epsilon", 1), "epsilon of ledger", math.inf) < math.inf:
        raise PolicyError("epsilon of ledger must be above 0")
    if type(m := ledger.get("m", 2)) is not int or m < 2:
        raise PolicyError("m of ledger must be a whole number from 2")
    demands, attackers = _asked(data, columns)
    _refuse_beside_sets(columns, demands, attackers, data)
    return Policy(
        columns=columns,
        demands=demands,
        attackers=attackers,
        max_suppression=_number_up_to(data.get("max_suppression", 0.0), "max_suppression", 1),
        null_values=nulls,
        unlisted=None if unlisted is None else _choice(unlisted, ("drop", "keep"), "unlisted"),
        keep_order=_flag(data, "keep_order"),
        set_limit=_set_limit(data),
        algorithm=algorithm,
        wildcards=_choice(data.get("wildcards", "value"), WILDCARDS, "wildcards"),
        linked=_flag(data, "linked"),
        accepted=_accepted(data.get("accepted", [])),
        judge=_choice(data.get("judge", "released"), JUDGES, "judge"),
        profile=Choice.of_settings(data["profile"], folder) if "profile" in data else None,
        context=Context.of_settings(data["context"]) if "context" in data else None,
        m=ledger.get("m"),
        suppressed=_choice(data.get("suppressed", "judged"), SUPPRESSED_RECORDS, "suppressed"),
    )


def _refuse_beside_sets(
    columns: Collection[Column],
    demands: Sequence[Demand],
    attackers: Sequence[Attacker],
    data: Mapping[str, Any],
) -> None:
    """Refuse settings that columns of sets do not know."""
    sets = {each.name: each.known for each in columns if each.kind == "set"}
    if not sets:
        return
    where = f"column {next(iter(sets))!r} holds sets"
    if len({*sets.values()}) > 1:
        raise PolicyError(f"{where}, and not every column of sets has the same known")
    if [*{demand.model for demand in demands}] != ["k-anonymity"]:
        raise PolicyError(f"{where}, beside which k-anonymity is judged alone")
    if any(name in attacker.knows for attacker in attackers for name in sets):
        raise PolicyError(f"{where}, and an attacker is judged by other columns alone")
    for name, usual in (("wildcards", "value"), ("keep_order", False), ("linked", False)):
        if data.get(name, usual) != usual:
            raise PolicyError(f"{where}, for which {name} is not defined")


def read_columns(data: dict[str, Any], folder: Path) -> tuple[tuple[Column, ...], Nulls]:
    """Read the columns of a policy, and the texts that mean missing."""
    nulls = data.get("null_values", [])
    if not isinstance(nulls, list) or not all(isinstance(text, str) for text in nulls):
        raise PolicyError("null_values must be a list of texts")
    if SUPPRESSED in nulls:
        raise PolicyError(f"null_values holds {SUPPRESSED!r}, which marks a suppressed cell: take it out")
    style = _choice(data.get("output", "auto"), STYLES, "output")
    ends = _choice(data.get("ends", "outward"), ENDS, "ends")
    columns = _columns(data.get("columns"), folder, style, ends)
    return columns, Nulls(tuple(nulls), {column.name: column.missing for column in columns})


def _asked(
    data: dict[str, Any], columns: Collection[Column]
) -> tuple[tuple[Demand, ...], tuple[Attacker, ...]]:
    """Read the models and the attackers, of which either is enough."""
    quasi, sensitive = (
        [column.name for column in columns if column.role == role] for role in ("quasi", "sensitive")
    )
    attackers = read_attackers(data["attackers"], quasi, sensitive) if "attackers" in data else ()
    demands: tuple[Demand, ...] = ()
    if "models" in data or not attackers:
        demands = read_demands(data.get("models"), sensitive)
    if _flag(data, "linked"):
        if attackers:
            raise PolicyError("linked = true: attackers are not judged by whole histories, take them out")
        demands = of_histories(demands)
    if any(demand.model == "km-anonymity" for demand in demands) and not any(
        column.role == "person" or "person" in column.key_of for column in columns
    ):
        raise PolicyError(
            "km-anonymity counts people who share several rows, and no column has the role 'person': give it "
            "to the one that says whose row it is"
        )
    return demands, attackers


def _accepted(entries: Any) -> tuple[Accepted, ...]:
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise PolicyError("accepted must be a list of tables: [[accepted]]")
    answers = []
    for entry in entries:
        _refuse_unknown(entry, ("point", "column", "why"), "accepted: ")
        point, why, column = entry.get("point"), entry.get("why"), entry.get("column")
        if not isinstance(point, str) or not isinstance(why, str) or not isinstance(column, str | None):
            raise PolicyError("accepted: each needs a point and a why, which are texts")
        answers.append(Accepted(point, column, why))
    return tuple(answers)


def _set_limit(data: dict[str, Any]) -> int:
    limit = data.get("set_limit", 8)
    if type(limit) is not int or limit < 1:
        raise PolicyError("set_limit must be a whole number from 1")
    return limit


def _flag(data: dict[str, Any], name: str) -> bool:
    value = data.get(name, False)
    if not isinstance(value, bool):
        raise PolicyError(f"{name} must be true or false")
    return value


def _refuse_unknown(data: dict[str, Any], known: Collection[str], where: str) -> None:
    unknown = [name for name in data if name not in known]
    if unknown:
        near = did_you_mean(unknown[0], known)
        raise PolicyError(
            f"{where}verify does not know {named(unknown, 5)}; it knows {', '.join(known)}{near}"
        )


def _columns(data: object, folder: Path, style: str, ends: str) -> tuple[Column, ...]:
    if not isinstance(data, dict) or not data:
        raise PolicyError("names no columns: add a table [columns.NAME] with a role for each")
    roles = {name: str(entry.get("role")) for name, entry in data.items() if isinstance(entry, dict)}
    asked = [name for name, role in roles.items() if role.startswith("?")]
    if asked:
        raise PolicyError(open_roles(asked))
    columns = []
    for name, entry in data.items():
        where = f"column {name!r}"
        if not isinstance(entry, dict):
            raise PolicyError(f"{where} must be a table with a role")
        _refuse_unknown(entry, _OF_COLUMN, f"{where}: ")
        spelling = spelling_of(entry, where)
        kind = _choice(entry.get("kind", "auto"), KINDS, f"kind of {where}")
        if spelling is not None and kind == "auto":
            kind = "number" if spelling.format is None else "date"
        hierarchy = entry.get("hierarchy")
        if isinstance(hierarchy, str):
            hierarchy = folder / hierarchy
        elif isinstance(hierarchy, dict):
            recipe_named(hierarchy, name)
        elif hierarchy is not None:
            raise PolicyError(f"{where}: hierarchy must be a file or a builder such as {{ flat = true }}")
        treatment = read_treatment(entry.get("treat"), where)
        changed = treatment is not None and treatment.changes_kind
        kind = "auto" if changed else kind
        _number_up_to(entry.get("weight", 1), f"weight of {where}", math.inf)
        role = _choice(entry.get("role"), ROLES, f"role of {where}")
        own_style = _choice(entry.get("output", style), STYLES, f"output of {where}")
        columns.append(Column(
            name, role, kind, hierarchy, own_style, _levels(entry.get("levels"), where),
            None if changed else spelling, treatment, _grid(entry, ends, where), _parts(entry, where),
            _key_of(entry, where), _missing(entry, where), _known(entry, where),
        ))  # fmt: skip
    return _with_linked(columns)


def _with_linked(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Give columns that are linked with a treated column the treatment of that column."""
    leads = {name: each for each in columns if each.treatment for name in each.treatment.linked}
    attributes = []
    for each in columns:
        column = each
        lead = leads.get(column.name)
        if lead is not None and lead.treatment is not None:
            if column.treatment is not None:
                raise PolicyError(f"column {column.name!r} is linked with {lead.name!r} and has a treatment")
            # Texts are told apart as they are; numbers and dates are written as before.
            plain = column.kind == "category"
            column = replace(
                column,
                treatment=lead.treatment.led_by(lead.name),
                kind="auto" if plain else column.kind,
                spelling=None if plain else column.spelling,
            )
        attributes.append(column)
    missing = [name for name in leads if name not in {column.name for column in columns}]
    if missing:
        raise PolicyError(f"linked names {named(missing)}, which has no role")
    return tuple(attributes)


def _grid(entry: dict[str, Any], ends: str, where: str) -> Fraction | str | None:
    """Read the grid that the ends of a column's ranges are rounded to, or None for exact ends."""
    grid, own = entry.get("grid"), entry.get("ends")
    if (grid is not None or own is not None) and entry.get("role") != "quasi":
        raise PolicyError(f"{where}: ends and grid are settings of quasi-identifiers")
    own = ends if own is None else _choice(own, ENDS, f"ends of {where}")
    if grid is None:
        return USUAL if own == "outward" else None
    if entry.get("ends") == "exact":
        raise PolicyError(f"{where}: exact ends have no grid")
    if isinstance(grid, str):
        return _choice(grid, CALENDAR, f"grid of {where}")
    if not _number_up_to(grid, f"grid of {where}", math.inf) or not math.isfinite(grid):
        raise PolicyError(f"grid of {where} must be above 0")
    return Fraction(str(grid))


def _parts(entry: dict[str, Any], where: str) -> str | None:
    parts = entry.get("parts")
    if parts is None:
        return None
    if not isinstance(parts, str) or not parts:
        raise PolicyError(f"parts of {where} must be the text between the parts of a cell")
    if entry.get("kind") == "set":
        return parts
    if entry.get("role") != "sensitive":
        raise PolicyError(f"{where}: parts is a setting of sensitive columns, and of sets")
    whole = [name for name in ("hierarchy", "format", "decimal", "thousands", "treat") if name in entry]
    if whole or entry.get("kind") in ("number", "date"):
        raise PolicyError(f"{where}: parts goes with no {whole[0] if whole else 'kind of numbers or dates'}")
    return parts


def _known(entry: dict[str, Any], where: str) -> int | None:
    known = entry.get("known")
    if (entry.get("kind") == "set") != (known is not None):
        raise PolicyError(
            f'{where}: known says how many items of a set are known, and goes with kind = "set"'
        )
    if known is None:
        return None
    if entry.get("role") != "quasi":
        raise PolicyError(f"{where}: the kind set is for quasi-identifiers")
    if type(known) is not int or known < 1:
        raise PolicyError(f"known of {where} must be a whole number from 1")
    whole = ("output", "ends", "grid", "levels", "treat", "format", "decimal", "thousands", "key_of")
    if given := [name for name in whole if name in entry]:
        raise PolicyError(f"{where}: {given[0]} is no setting of sets")
    return known


def _key_of(entry: dict[str, Any], where: str) -> tuple[str, ...]:
    columns = entry.get("key_of", [])
    if not isinstance(columns, list):
        raise PolicyError(f"key_of of {where} must be a list")
    for each in columns:
        _choice(each, ("person", "household"), f"key_of of {where}")
    role = entry.get("role")
    if columns and ("treat" in entry or role in columns or role not in ("quasi", "person", "household")):
        raise PolicyError(f"{where}: key_of is a setting of quasi-identifiers without a treatment")
    return tuple(columns)


def _missing(entry: dict[str, Any], where: str) -> tuple[str, ...]:
    texts = entry.get("missing", [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise PolicyError(f"missing of {where} must be a list of texts")
    if SUPPRESSED in texts:
        raise PolicyError(f"missing of {where} holds {SUPPRESSED!r}, which marks a suppressed cell")
    released = entry.get("role") in ("quasi", "sensitive", "insensitive")
    if texts and (not released or entry.get("key_of")):
        raise PolicyError(f"{where}: missing is a setting of released columns that name nobody")
    return tuple(texts)


def _levels(data: object, where: str) -> tuple[int, int | None] | None:
    if data is None:
        return None
    if (
        not isinstance(data, list)
        or len(data) not in (1, 2)
        or any(type(level) is not int or level < 0 for level in data)
        or data != sorted(data)
    ):
        raise PolicyError(f"levels of {where} must be [least, largest], from 0 up")
    return data[0], data[1] if len(data) > 1 else None


def _choice(value: object, choices: tuple[str, ...], what: str) -> str:
    if not isinstance(value, str) or value not in choices:
        near = did_you_mean(value, choices)
        raise PolicyError(f"{what} is {value!r}; it must be one of {', '.join(choices)}{near}")
    return value


def _number_up_to(value: object, what: str, largest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= largest:
        bounds = "a number from 0 to 1" if largest == 1 else "a number from 0"
        raise PolicyError(f"{what} is {value!r}; it must be {bounds}")
    return float(value)


_CODING = ("limits", "instead")
_OF_TREATMENT: dict[str, tuple[str, ...]] = {
    "pseudonym": ("key", "length", "form"),
    "format-preserving": ("key",),
    "random-numbers": (),
    "shift-dates": ("by", "key", "keep_weekday", "linked"),
    "truncate-dates": ("linked",),
    "age-at": ("over", "linked"),
    "noise": ("how", "together"),
    "rank-swap": ("by", "within"),
    "record-swap": ("together", "within"),
    "household-swap": ("together", "within"),
    "microaggregate": ("together", "within", "how"),
    "pram": ("matrix", "moves", "within"),
    "keep-first": ("keep_length", "linked"),
    "keep-last": ("keep_length", "linked"),
    "mask": ("mark", "linked"),
    "email-domain": ("linked",),
    "fold": (),
    "other": ("label", "linked"),
    "redact": (),
    "presidio": (),
    "constant": (),
    "round": ("how", "top", "bottom", "within", "linked", *_CODING),
    "top": ("bottom", "linked", *_CODING),
    "bottom": ("linked", *_CODING),
}
"""Every treatment and its settings beside the first, which its name has."""
_PERTURBING = frozenset(
    {"shift-dates", "noise", "rank-swap", "record-swap", "household-swap", "microaggregate", "pram"}
)
_KEEPING = (_PERTURBING - {"record-swap", "household-swap"}) | {"round", "top", "bottom", "truncate-dates"}
"""Those after which numbers are numbers and dates are dates, written as before."""
LINKED = "linked"
"""What a column has that goes along with a treated one."""
_HIDING = ("pseudonym", "format-preserving", "keep-first", "keep-last")
"""Those after which no raw value may be left."""


@dataclass(frozen=True)
class Treatment:
    """The policy's treatment of a column.

    `first`: the setting that stands at its name; True where nothing is said.
    """

    name: str
    first: Any = True
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def perturbs(self) -> bool:
        """Whether equal values may have become different, so that models judged the values before."""
        return self.of in _PERTURBING or self.settings.get("how") in ("random", "controlled")

    @property
    def of(self) -> str:
        """Name of the treatment; for a linked column, name of the lead's treatment."""
        return str(self.settings["of"]) if self.name == LINKED else self.name

    @property
    def linked(self) -> tuple[str, ...]:
        """The columns that go along."""
        given = self.settings.get("linked", ())
        return tuple(given.split("+") if isinstance(given, str) else map(str, given))

    def led_by(self, lead: str) -> Treatment:
        """Return the treatment of a linked column, with the lead as `first`."""
        return Treatment(LINKED, lead, {"of": self.name})

    @property
    def changes_kind(self) -> bool:
        """Whether numbers and dates have become something else."""
        return self.name not in _KEEPING and self.name != LINKED

    @property
    def hides(self) -> bool:
        """Whether no raw value of the column may be left."""
        return self.name in _HIDING


def read_treatment(entry: object, where: str) -> Treatment | None:
    """Read the setting ``treat`` of a column, or return None without the setting."""
    if entry is None:
        return None
    if isinstance(entry, str):
        return _of_text(entry, where)
    if not isinstance(entry, dict):
        raise PolicyError(f"{where}: treat must be a table such as {{ round = 500 }}")
    names = [name for name in entry if name in _OF_TREATMENT]
    fitting = [name for name in names if set(entry) - {name} <= {*_OF_TREATMENT[name]}]
    if not fitting:
        raise PolicyError(
            f"{where}: verify does not know the treatment {named(entry, 5)}; "
            f"it knows {', '.join(_OF_TREATMENT)}"
        )
    name = fitting[0]
    return Treatment(name, entry[name], {key: value for key, value in entry.items() if key != name})


def _of_text(text: str, where: str) -> Treatment:
    name, _, rest = text.partition(":")
    if name.strip() not in _OF_TREATMENT:
        raise PolicyError(f"{where}: verify does not know the treatment {name[:40]!r}")
    first: Any = True
    settings: dict[str, Any] = {}
    # A constant 5 is a text, too.
    read = _unquoted if name.strip() in ("constant", "mask") else _setting_of_text
    for place, part in enumerate(_split(rest) if rest else ()):
        key, equals, value = part.partition("=")
        if equals and key.strip() in _OF_TREATMENT[name.strip()]:
            settings[key.strip()] = read(value)
        elif place == 0:
            named_first = equals and not part.lstrip().startswith('"')
            first = read(value if named_first else part)
        else:
            raise PolicyError(f"{where}: verify does not know the setting {key[:40]!r} of {name.strip()}")
    return Treatment(name.strip(), first, settings)


_TREATMENT_PART = re.compile(r'(?:[^,="]*=)?\s*"(?:[^"]|"")*"\s*(?=,|$)|[^,]*')


def _split(text: str) -> list[str]:
    """Split at commas that stand in no quotes; a quote begins a value, and is written twice within."""
    parts, place = [], 0
    while place <= len(text):
        match = _TREATMENT_PART.match(text, place)
        assert match is not None
        parts.append(match.group())
        place = match.end() + 1
    return parts


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1].replace('""', '"') if text.startswith('"') else text


def _setting_of_text(text: str) -> Any:
    text = _unquoted(text)
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)
