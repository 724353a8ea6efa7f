"""Attribute: a column of a table, with the role and the reading of values."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal, TypeGuard, get_args

from incrowd.core.errors import ParameterError, SchemaError, null_values_setting, open_roles, setting
from incrowd.core.io.addresses import file_path
from incrowd.core.lazy import np
from incrowd.core.parameters import Parameter, check_fields
from incrowd.core.reading.spellings import Spelling, check_spelling
from incrowd.core.table.parts import check_parts, check_set
from incrowd.core.table.settings import ENDS, Ends, check_grid
from incrowd.core.treatments import TREATMENTS
from incrowd.core.treatments._linked import Linked
from incrowd.core.treatments.base import HOUSEHOLD, Reads, Treatment

if TYPE_CHECKING:
    from incrowd.core.hierarchy import Builder, Hierarchy


def check_treatment(name: str, role: str, kind: str, spelling: Spelling, treatment: Treatment) -> None:
    """Raise for a treatment that a column cannot have.

    Raises
    ------
    SchemaError
    """
    where = f"column {name!r}: {treatment.name}"
    if role in ("identifying", "household", "weight"):
        raise SchemaError(f"{where}: a column of the role {role} never leaves; give it another to release it")
    if role == "person" and not treatment.for_person:
        able = [each.name for each in TREATMENTS if each.for_person]
        raise SchemaError(
            f"{where} cannot stand for people, as it gives two of them one value; a column of the role "
            f"person can have {', '.join(able)}"
        )
    if role == "quasi" and not (treatment.for_quasi and not treatment.perturbs):
        able = [each.name for each in TREATMENTS if each.for_quasi]
        raise SchemaError(
            f"{where}: a quasi-identifier is generalized, and a perturbed one has no k-anonymity; it can "
            f"have {', '.join(able)}, or else another role"
        )
    others = {"number": ("date", "category"), "date": ("number", "category"), "text": ()}[treatment.reads]
    spelled = spelling.kind if spelling else kind
    if kind in others or spelled in others:
        raise SchemaError(f"{where} is for {treatment.reads}s, and the column is declared to have others")


def check_key(name: str, role: str, key_of: object, *, treated: bool) -> None:
    """Raise for a column of people or households where raw values cannot tell people or households apart.

    Raises
    ------
    SchemaError
    """
    if not isinstance(key_of, tuple) or not set(key_of) <= {"person", "household"}:
        raise SchemaError(f'column {name!r}: key_of must be a list of "person" and "household"')
    if key_of and (role not in ("quasi", "person", "household") or role in key_of):
        raise SchemaError(
            f"column {name!r}: key_of goes with the role quasi, or with the other one of person and household"
        )
    if key_of and treated:
        raise SchemaError(
            f"column {name!r} names people or households together with others, by its raw values, so it has "
            "no treatment; make a copy of the column to treat"
        )


def check_missing(name: str, role: str, missing: object, *, names_people: bool) -> None:
    """Raise for invalid missing texts of a column, or for a column that names people.

    Raises
    ------
    SchemaError
    """
    if not isinstance(missing, tuple) or not all(isinstance(text, str) for text in missing):
        raise SchemaError(f'column {name!r}: missing must be a list of texts, as ["9", "99"]')
    if "*" in missing:
        raise SchemaError(f"column {name!r}: missing names '*', which marks a suppressed cell; take it out")
    if missing and (role not in ("quasi", "sensitive", "insensitive") or names_people):
        raise SchemaError(
            f"column {name!r}: missing is a setting of columns that are released, and this one names or "
            f"weighs people; name the texts with {null_values_setting()}"
        )


def check_household(name: str, treatment: Treatment | None, roles: Container[str]) -> None:
    """Raise for a treatment by households without a household column.

    Raises
    ------
    SchemaError
    """
    if treatment is not None and HOUSEHOLD in treatment.columns and "household" not in roles:
        raise SchemaError(
            f"column {name!r}: {treatment.name} moves whole households, and no column has the role "
            f"household; name the one that says who lives together ({setting('household=', '--household')}), "
            "or take record-swap, which moves single rows"
        )


def check_together(name: str, treatments: Mapping[str, Treatment | None]) -> None:
    """Raise for a column that moves together with columns of other treatments.

    Raises
    ------
    SchemaError
    """
    treatment = treatments[name]
    if treatment is None:
        return
    together = treatment.moves_with(name)
    if together and treatment.name != "rank-swap" and name not in together:
        raise SchemaError(
            f"column {name!r}: {treatment.name}: together names all columns, this one among them"
        )
    for other in together:
        moved = treatments.get(other)
        alike = moved is not None and treatment.moves_like(moved) and other in moved.moves_with(other)
        if not alike:
            raise SchemaError(
                f"column {name!r}: {treatment.name} moves together with {other!r}, which has no such "
                "treatment; give both the same settings"
            )


def linked_with(
    treatments: Mapping[str, Treatment | None], roles: Mapping[str, str], kinds: Mapping[str, str]
) -> dict[str, Linked]:
    """Return the treatments of columns linked with a treated column, by name.

    Raises
    ------
    SchemaError
        When a column cannot follow.
    """
    links: dict[str, Linked] = {}
    for lead, treatment in treatments.items():
        for name in treatment.linked_columns if treatment is not None else ():
            assert treatment is not None
            where = f"column {lead!r}: {treatment.name}: linked names {name!r}, which"
            if name not in roles:
                raise SchemaError(f"{where} has no role; give it one")
            if name == lead:
                raise SchemaError(f"{where} is the column itself; name those that tell the same")
            if roles[name] not in ("quasi", "sensitive", "insensitive"):
                raise SchemaError(f"{where} never leaves, as its role is {roles[name]}; leave it out there")
            if (roles[lead] == "quasi") != (roles[name] == "quasi"):
                raise SchemaError(
                    f"{where} is {'no' if roles[lead] == 'quasi' else 'a'} quasi-identifier, unlike the "
                    "column itself; what is generalized further cannot be followed"
                )
            linked = Linked(lead, treatment, _read_as(kinds[name], treatment))
            if {treatments[name], links.get(name)} - {None, linked}:
                raise SchemaError(f"{where} has another treatment; give it one, or leave it out there")
            links[name] = linked
    return links


def _read_as(kind: str, treatment: Treatment) -> Reads | Literal["auto"]:
    """Return the reading of a linked column, which for moved dates is dates."""
    if treatment.moves_dates:
        return "date"
    kinds: dict[str, Reads] = {"number": "number", "date": "date", "category": "text"}
    return kinds.get(kind, "auto")


Role = Literal["identifying", "person", "household", "weight", "quasi", "sensitive", "insensitive"]
ValueKind = Literal["number", "date", "category"]
Kind = Literal["auto", ValueKind, "set"]
Party = Literal["person", "household"]
Style = Literal["auto", "range", "ancestor", "set", "mean", "suppress"]

ROLES: tuple[Role, ...] = get_args(Role)
KINDS: tuple[Kind, ...] = get_args(Kind)
PARTIES: tuple[Party, ...] = get_args(Party)
STYLES: tuple[Style, ...] = get_args(Style)
UNRELEASED: tuple[Role, ...] = ("identifying", "person", "household", "weight")
"""The roles of columns that never leave."""
OPEN_ROLE: Literal["?"] = "?"
"""Role of a column that a draft asks about. No schema accepts the role, so no job can ignore the question."""
STYLE = Parameter(str, "output style", choices=STYLES)
WEIGHT = Parameter(float, "how much the loss of a column counts", low=0)


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column of the table, with role, kind, hierarchy and treatment.

    Attributes
    ----------
    name
        The column's name, exactly as in the table.
    role
        ``identifying`` (never released), ``person`` (never released; rows of the same value are rows of the
        same person), ``household`` (never released; who finds one member has found all), ``weight`` (never
        released; how many people of the population the row stands for), ``quasi`` (generalized),
        ``sensitive`` (released as it is and protected by the privacy models) or ``insensitive`` (released as
        it is).
    kind
        How the values are read: ``number``, ``date`` or ``category``; ``auto`` lets the values decide. Cells
        of a ``set`` hold several items, as ``E11;I10``; the hierarchy is then one of items.
    hierarchy
        A generalization hierarchy or the recipe of one.
    output
        Output style of this column where it differs from that of the release.
    weight
        How much the column's loss counts where an algorithm minimizes one, >= 0. It has nothing to do with
        the role ``weight``.
    levels
        Least and largest level of full-domain recoding, both included; None for the largest is the top.
    format
        How dates and times are written in texts, as `datetime.strptime` takes it: ``%d.%m.%Y``.
    decimal, thousands
        How numbers are written in texts: the sign before decimals (``.`` or ``,``), and what groups digits in
        threes. A sign of a currency or of percent that all numbers have is left out.
    treatment
        What becomes of its values besides recoding, e.g. ``ic.Round(500)``. A column that says whose row it
        is leaves where it has one.
    ends
        Ends of the ranges of this quasi-identifier where they differ from those of the release: ``outward``
        or ``exact``.
    grid
        What the ends of its ranges, and its means, are rounded to: a number whose multiples they are, or
        ``day``, ``month`` or ``year``. The ends are then ``outward``. Without it, ends have two significant
        digits, are multiples of five where the values are 20 or more apart, and are the ends of months.
    parts
        The text between the parts of a cell, where cells are texts that hold lists: ``";"`` for ``F32;E11``.
        Models judge the classes of a sensitive column by the parts, too, and its cells leave as they are. In
        a quasi-identifier of the kind ``set`` the parts are the items.
    known
        How many items of a cell an attacker knows at most, 1 to 5, where the kind is ``set``.
    key_of
        Whose name the column is a part of, besides its role: ``person``, ``household`` or both. A region and
        a number may name a household together while the region is a quasi-identifier. People and households
        are told apart by the raw values.
    missing
        Texts that mean missing in this column, besides the `null_values` of the schema: ``("9", "99")``. They
        mean the numbers and days, too. The column is one that is released.
    """

    name: str
    role: Role
    kind: Kind = "auto"
    hierarchy: Hierarchy | Builder | None = None
    output: Style | None = None
    weight: float = WEIGHT.field(1.0)
    levels: tuple[int, int | None] | None = None
    format: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    treatment: Treatment | None = None
    ends: Ends | None = None
    grid: float | str | None = None
    parts: str | None = None
    known: int | None = None
    key_of: tuple[Party, ...] = ()
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        try:
            check_fields(self, f"column {self.name!r}")
        except ParameterError as error:
            raise SchemaError(str(error)) from None
        if str(self.role) == OPEN_ROLE:
            raise SchemaError(open_roles([self.name]))
        _check_levels(self.name, self.levels)
        for part, value, allowed in (
            ("role", self.role, ROLES),
            ("kind", self.kind, KINDS),
            ("output", self.output, (None, *STYLES)),
            ("ends", self.ends, (None, *ENDS.choices)),
        ):
            if value not in allowed:
                choices = ", ".join(str(item) for item in allowed if item)
                raise SchemaError(f"column {self.name!r}: {part} must be one of {choices}, got {value!r}")
        if self.role == "weight" and self.weight != 1:
            raise SchemaError(
                f"column {self.name!r} has the role weight, so its numbers are sampling weights; a weight of "
                "its own says how much the loss of a quasi-identifier counts, so leave that out"
            )
        if self.grid is not None:
            check_grid(self.name, self.grid)
            if self.ends == "exact":
                raise SchemaError(f"column {self.name!r}: exact ends have no grid; leave one of them out")
        if self.role != "quasi" and (self.ends is not None or self.grid is not None):
            raise SchemaError(
                f"column {self.name!r}: ends and grid are about the ranges of a quasi-identifier; to round "
                "other values, use a treatment"
            )
        check_spelling(self.name, self.spelling, self.kind)
        if self.kind == "set" or self.known is not None:
            check_set(self)
        elif self.parts is not None:
            beside = {
                "hierarchy": self.hierarchy is not None,
                "format, decimal or thousands": bool(self.spelling),
                "treatment": self.treatment is not None,
            }
            incompatible = [setting for setting, declared in beside.items() if declared]
            check_parts(self.name, self.role, self.kind, self.parts, incompatible)
        check_key(self.name, self.role, self.key_of, treated=self.treatment is not None)
        check_missing(self.name, self.role, self.missing, names_people=bool(self.key_of))
        if self.treatment is not None:
            check_treatment(self.name, self.role, self.kind, self.spelling, self.treatment)

    def nulls(self, common: tuple[str, ...]) -> tuple[str, ...]:
        """Return all texts that mean missing in this column, given the common texts of the schema."""
        return (*common, *self.missing)

    @property
    def rounded(self) -> bool:
        """Whether the ends of the column's ranges are rounded outward."""
        return self.ends == "outward" or self.grid is not None

    @property
    def leaves(self) -> bool:
        """Whether the column is released, which for a column that names people needs a treatment."""
        return self.role not in UNRELEASED or self.treatment is not None

    @property
    def perturbed(self) -> bool:
        """Whether equal values may be released as different values, so that models judge the raw values."""
        return self.treatment is not None and self.treatment.perturbs

    def as_counted(self) -> Attribute:
        """Return the attribute for counting treated values, with perturbed values counted unperturbed."""
        if self.treatment is None or self.perturbed or self.treatment.gives == self.treatment.reads != "text":
            return replace(self, treatment=None)
        return replace(self.unspelled(), kind="auto", treatment=None)

    @property
    def spelling(self) -> Spelling:
        """Declared spelling of the column's texts."""
        return Spelling(self.format, self.decimal, self.thousands)

    def as_released(self) -> Attribute:
        """Return the attribute for the released cells, which are texts in a quasi-identifier."""
        if self.role != "quasi":
            return self
        plain = self.as_texts().unspelled()
        return plain._as(WithCommas) if self.commas else plain

    def with_points(self) -> Attribute:
        """Return the attribute for values with points known to stand before decimals."""
        return self._as(WithPoints)

    def _as(self, kind: type[Attribute]) -> Attribute:
        return kind(**{each.name: getattr(self, each.name) for each in fields(self)})

    @property
    def commas(self) -> bool:
        """Whether the released cells have decimal commas, which labels of a hierarchy never have."""
        told = self.spelling.point == "," and self.kind != "category"
        return told and not self.names_values

    @property
    def names_values(self) -> bool:
        """Whether the hierarchy lists values by texts, as a file or an order does."""
        return self.hierarchy is not None and bool(getattr(self.hierarchy, "names_values", True))

    def unspelled(self) -> Attribute:
        """Return the attribute for plainly written values: ``2020-03-05``, ``1234.5``."""
        return replace(self, format=None, decimal=None, thousands=None)

    def as_sensitive(self) -> Attribute:
        """Return the attribute as a sensitive column without settings of recoding, its items as parts."""
        if self.kind == "set":
            return Attribute(self.name, "sensitive", parts=self.parts or ";", missing=self.missing)
        return replace(
            self, role="sensitive", levels=None, output=None, weight=1.0, ends=None, grid=None, key_of=()
        )

    def names(self, party: Party) -> bool:
        """Say whether the column names people, or households, alone or with other columns."""
        return self.role == party or party in self.key_of

    def as_texts(self) -> Attribute:
        """Return the attribute untreated, without kind and hierarchy, so that texts tell values apart."""
        kind: Kind = "set" if self.kind == "set" else "category"
        return replace(self, kind=kind, hierarchy=None, treatment=None, ends=None, grid=None)


def _is_level(value: object) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 0


def _check_levels(name: str, levels: object) -> None:
    """Raise for bounds of levels that are no pair of integers in order, the largest of which may be open."""
    match levels:
        case None:
            return
        case [low, high] if _is_level(low) and (high is None or (_is_level(high) and high >= low)):
            return
    raise SchemaError(f"column {name!r}: levels must be [least, largest], whole numbers from 0 up")


@dataclass(frozen=True, slots=True)
class WithCommas(Attribute):
    """A released column with decimal commas in the cells (see `Attribute.as_released`)."""


@dataclass(frozen=True, slots=True)
class WithPoints(Attribute):
    """A column of numbers with points known to stand before decimals, as in an earlier batch."""


def attribute_of(name: str, role: Role, spec: object) -> Attribute:
    """Build an attribute from a schema's entry for a column: a hierarchy, a recipe, a file or a kind.

    Raises
    ------
    SchemaError
        For anything else.
    """
    from incrowd.core.hierarchy import Builder, Hierarchy

    if not isinstance(name, str):
        raise SchemaError(f"column names are texts; {role} names a {type(name).__name__}")
    if isinstance(spec, Attribute):
        if spec.name != name or spec.role != role:
            raise SchemaError(f"column {name!r}: its Attribute says {spec.name!r} as {spec.role}")
        return spec
    if spec is None:
        return Attribute(name, role)
    if isinstance(spec, Hierarchy | Builder):
        return Attribute(name, role, hierarchy=spec)
    for kind in KINDS:
        if spec == kind:
            return Attribute(name, role, kind=kind)
    if isinstance(spec, str | os.PathLike):
        path = file_path(spec)
        if not path.suffix:
            raise SchemaError(
                f"column {name!r}: {str(spec)!r} is neither a kind ({', '.join(KINDS)}) nor a hierarchy file"
            )
        return Attribute(name, role, hierarchy=Hierarchy.read(path))
    raise SchemaError(
        f"column {name!r}: give a hierarchy, a builder, a file, a kind or None, not a {type(spec).__name__}"
    )
