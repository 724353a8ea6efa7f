"""Schema: the role and the meaning of each column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from incrowd.core.errors import SchemaError, alike_of, did_you_mean, named, setting
from incrowd.core.io.columns import FrameNames, repeated_columns
from incrowd.core.parameters import Parameter, with_keyword_hints
from incrowd.core.table.attribute import (
    KINDS,
    OPEN_ROLE,
    PARTIES,
    ROLES,
    STYLE,
    STYLES,
    UNRELEASED,
    Attribute,
    Kind,
    Party,
    Role,
    Style,
    attribute_of,
    check_household,
    check_together,
    linked_with,
)
from incrowd.core.treatments import TREATMENTS
from incrowd.core.treatments.base import PERSON, treatment_of

if TYPE_CHECKING:
    pass

__all__ = [
    "KINDS",
    "OPEN_ROLE",
    "ROLES",
    "STYLE",
    "STYLES",
    "UNRELEASED",
    "Attribute",
    "Kind",
    "Party",
    "Role",
    "Schema",
    "Style",
    "require_columns",
]

_LINKED = Parameter(bool, "whether rows of a person can be joined in the release")


class Schema:
    """The role of every column of a table.

    Parameters
    ----------
    quasi
        The quasi-identifiers: names, or a mapping of names to a hierarchy, a builder such as
        ``Hierarchy.intervals(5, 10)``, the path of a hierarchy file, a kind (``"number"``, ``"date"``,
        ``"category"``), an `Attribute`, or None.
    sensitive
        The sensitive attributes, in the same form. A hierarchy makes t-closeness hierarchical.
    identifying
        Columns that are never released.
    insensitive
        Columns that are released as they are.
    person
        The column that says whose row it is, where a person may have several rows; or several columns that
        say so together. Models and risks then count people in place of rows. It is never released, unless it
        is among the quasi-identifiers, too: it is then generalized, and its raw values tell people apart. A
        row without a value there is a person of its own.
    household
        The column that says which household a row belongs to, or several that say so together. Risks of
        households are measured. It is never released, unless it is among the quasi-identifiers, too.
    weights
        The column of sampling weights: how many people of the population each row stands for, above 0.
        Population sizes are estimated from it. It is never released. It is not `Attribute.weight`.
    null_values
        Texts that mean "missing", in columns of every type. Numbers, days and points of time are compared by
        value: ``99`` also means 99.0, and ``1900-01-01`` also means the midnight of that day.
    unlisted
        What becomes of columns that are not named: None refuses a table that has any, ``"drop"`` leaves
        them out of the release, ``"keep"`` releases them as they are.
    linked
        Whether rows of a person can be joined in the release, as by a case number or pseudonym that is kept.
        It needs a `person`. Limits on the size of classes then hold for all rows of a person together.
    treatments
        What becomes of columns besides recoding, by name: ``{"salary": ic.Round(500)}``. A text such as
        ``"round:500"`` stands for its treatment.

    Raises
    ------
    SchemaError
        When a column is in two roles, or a role, kind or path is not known.
    """

    @with_keyword_hints
    def __init__(  # noqa: PLR0913
        self,
        quasi: Mapping[str, object] | Iterable[str] = (),
        sensitive: Mapping[str, object] | Iterable[str] = (),
        identifying: Iterable[str] = (),
        insensitive: Iterable[str] = (),
        *,
        person: str | Iterable[str] = (),
        household: str | Iterable[str] = (),
        weights: str | Mapping[str, object] | None = None,
        null_values: Iterable[str] = (),
        unlisted: Literal["drop", "keep"] | None = None,
        linked: bool = False,
        treatments: Mapping[str, object] | None = None,
    ) -> None:
        roles: tuple[tuple[Role, Mapping[str, object] | Iterable[str]], ...] = (
            ("identifying", identifying),
            ("person", (person,) if isinstance(person, str) else person),
            ("household", (household,) if isinstance(household, str) else household),
            ("weight", (weights,) if isinstance(weights, str) else weights or ()),
            ("quasi", quasi),
            ("sensitive", sensitive),
            ("insensitive", insensitive),
        )
        attributes = _by_name(roles)
        if unlisted not in (None, "drop", "keep"):
            raise SchemaError(f"unlisted must be 'drop', 'keep' or None, got {unlisted!r}")
        for name, treatment in (treatments or {}).items():
            attributes[name] = _with_treatment(attributes, name, treatment)
        attributes |= _followers(attributes)
        _check_beside(attributes, unlisted)
        self._attributes = attributes
        self.null_values: tuple[str, ...] = _null_values(null_values)
        self.unlisted: Literal["drop", "keep"] | None = unlisted
        self.linked = _LINKED.check(linked, "schema", "linked")
        if linked and not self.person:
            raise SchemaError(
                f"{setting('linked', '--linked')}: rows of a person can be joined, and no column says whose "
                f"row it is; name it ({setting('person=', '--person')})"
            )

    @classmethod
    def of_attributes(
        cls,
        attributes: Iterable[Attribute],
        *,
        null_values: Iterable[str] = (),
        unlisted: Literal["drop", "keep"] | None = None,
        linked: bool = False,
        treatments: Mapping[str, object] | None = None,
    ) -> Schema:
        """Build a schema from attributes, where a column that names people may also be a quasi-identifier."""
        merged: dict[str, Attribute] = {}
        for attribute in attributes:
            both = _merge(merged[attribute.name], attribute) if attribute.name in merged else attribute
            if both is None:
                raise SchemaError(f"column {attribute.name!r} is named twice; give it one role")
            merged[attribute.name] = both
        roles: dict[Role, dict[str, object]] = {role: {} for role in ROLES}
        for attribute in merged.values():
            roles[attribute.role][attribute.name] = attribute
        weights = roles.pop("weight")
        return cls(
            **roles,
            weights=weights,
            null_values=null_values,
            unlisted=unlisted,
            linked=linked,
            treatments=treatments,
        )

    def with_attributes(self, attributes: Iterable[Attribute]) -> Schema:
        """Return a schema of other columns with the same settings."""
        return Schema.of_attributes(
            attributes, null_values=self.null_values, unlisted=self.unlisted, linked=self.linked
        )

    def nulls(self, name: str) -> tuple[str, ...]:
        """Return the texts that mean missing in a column."""
        return self._attributes[name].nulls(self.null_values) if name in self else self.null_values

    def __getitem__(self, name: str) -> Attribute:
        return self._attributes[name]

    def __contains__(self, name: object) -> bool:
        return name in self._attributes

    def __repr__(self) -> str:
        parts = (
            f"{role}: {', '.join(attribute.name for attribute in self.having(role)) or '-'}"
            for role in ROLES
            if role not in ("person", "household", "weight") or self.having(role)
        )
        return f"Schema({'; '.join(parts)}{'; linked' if self.linked else ''})"

    def _repr_html_(self) -> str:
        from incrowd.core.markup import table

        rows = (
            (
                attribute.name,
                attribute.role,
                attribute.kind,
                "" if attribute.hierarchy is None else repr(attribute.hierarchy),
            )
            for attribute in self._attributes.values()
        )
        return table("Schema", ("column", "role", "kind", "hierarchy"), rows)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Every named column."""
        return tuple(self._attributes.values())

    @property
    def person(self) -> tuple[str, ...]:
        """The columns that name the person of a row, empty where every row is a person."""
        return tuple(attribute.name for attribute in self.attributes if attribute.names("person"))

    @property
    def joined(self) -> bool:
        """Whether rows of a person can be joined, by declaration or by a released pseudonym."""
        return self.linked or any(attribute.leaves for attribute in self.having("person"))

    @property
    def household(self) -> tuple[str, ...]:
        """The columns that name the household of a row, empty where no column does."""
        return tuple(attribute.name for attribute in self.attributes if attribute.names("household"))

    @property
    def weights(self) -> str | None:
        """The column of sampling weights, or None."""
        return next((attribute.name for attribute in self.having("weight")), None)

    @property
    def quasi(self) -> tuple[Attribute, ...]:
        """The quasi-identifiers, in the order of declaration."""
        return self.having("quasi")

    @property
    def sensitive(self) -> tuple[Attribute, ...]:
        """The sensitive attributes, in the order of declaration."""
        return self.having("sensitive")

    @property
    def sets(self) -> tuple[Attribute, ...]:
        """The quasi-identifiers with cells that hold sets of items."""
        return tuple(attribute for attribute in self.quasi if attribute.kind == "set")

    @property
    def treated(self) -> tuple[Attribute, ...]:
        """The columns with a treatment, in the order of declaration."""
        return tuple(attribute for attribute in self._attributes.values() if attribute.treatment is not None)

    def after_treatment(self) -> Schema:
        """Return the schema of treated rows, in which the pseudonym of a person is a plain column."""
        return Schema.of_attributes(
            (
                replace(each, treatment=None, role="insensitive" if each.role == "person" else each.role)
                if each.treatment is not None
                else each
                for each in self.attributes
            ),
            null_values=self.null_values,
            unlisted=self.unlisted,
        )

    def having(self, role: Role) -> tuple[Attribute, ...]:
        """Return the columns of a role."""
        return tuple(attribute for attribute in self._attributes.values() if attribute.role == role)

    def measured(self, *, person: bool = True) -> Schema:
        """Return the schema for measuring a table, with quasi-identifiers as released texts.

        Parameters
        ----------
        person
            Whether with the columns that say whose row it is, its household and its weight, which a release
            lacks.
        """
        roles: tuple[Role, ...] = ("quasi", "sensitive")
        if person:
            roles = ("person", "household", "weight", *roles)
        attributes = [attribute for attribute in self.attributes if attribute.role in roles]
        measured = (attribute.as_counted().as_released() for attribute in attributes)
        return Schema.of_attributes(
            measured if person else (replace(each, key_of=()) for each in measured),
            null_values=self.null_values,
        )

    def without_perturbed(self) -> Schema:
        """Return the schema without perturbed sensitive attributes, the others being treated."""
        return self.with_attributes(
            each.as_counted() for each in self.attributes if each.role != "sensitive" or not each.perturbed
        )

    def target(self, name: str, columns: Sequence[str]) -> Attribute:
        """Return the column that a release is to predict.

        Raises
        ------
        SchemaError
            When the table has no such column, or it is identifying or a quasi-identifier.
        """
        require_columns([name], columns, "target: ", user_names=self._attributes)
        attribute = self._attributes.get(name) or Attribute(name, "insensitive")
        if attribute.role in (*UNRELEASED, "quasi"):
            raise SchemaError(
                f"target: {name!r} is {attribute.role}; name a sensitive or insensitive column, whose values "
                "are released as they are"
            )
        return attribute

    def check_columns(self, columns: Sequence[str]) -> None:
        """Check that the table has every named column, once.

        Raises
        ------
        SchemaError
            When a column is missing or stands twice in the table.
        """
        if repeated := repeated_columns(columns, self._attributes):
            raise SchemaError(f"the table has {repeated}")
        require_columns(self._attributes, columns)

    def released(self, columns: Sequence[str]) -> list[str]:
        """Return the columns of the table that may leave, in the table's order.

        Raises
        ------
        SchemaError
            When a column has no role and `unlisted` does not say what to do with it, or has a treatment: who
            asks does not know of it, and would release what it had before.
        """
        if self.treated:
            raise SchemaError(
                f"column {named(each.name for each in self.treated)} has a treatment, which only "
                "anonymize, apply and anatomize carry out; leave "
                + setting("treatments", "--treat")
                + " out here, and give the column the role identifying if it must not leave as it is"
            )
        self.check_columns(columns)
        unnamed = [name for name in columns if name not in self._attributes]
        if unnamed and self.unlisted is None:
            # Of a schema without columns nobody knows whether the first line of the file is a header.
            which = named(unnamed) if self._attributes else f"1 to {len(unnamed)}"
            raise SchemaError(
                f"no role was given to column {which}; name each as quasi, sensitive, identifying "
                "(dropped) or insensitive (released as it is), or say "
                + setting(
                    "unlisted='drop' or unlisted='keep'",
                    "--unlisted drop or --unlisted keep",
                )
            )
        return [
            name
            for name in columns
            if (name in self._attributes and self._attributes[name].role not in UNRELEASED)
            or (name not in self._attributes and self.unlisted == "keep")
        ]


def require_different(keys: Sequence[str]) -> None:
    """Raise for a person column named twice.

    Raises
    ------
    SchemaError
    """
    if twice := [name for name in dict.fromkeys(keys) if keys.count(name) > 1]:
        option = setting("keys=", "--ledger-keys")
        raise SchemaError(f"{option}: column {named(twice)} is named twice; name it once")


def require_columns(
    required: Iterable[str], columns: Sequence[str], where: str = "", *, user_names: Iterable[str] = ()
) -> None:
    """Check that a table has some columns.

    The message lists the table's columns only if one of them was named by the caller. Otherwise the first
    line may be no header, but a person's row.

    Parameters
    ----------
    required
        The columns.
    columns
        What the table has.
    where
        What the message begins with.
    user_names
        Further names that the caller gave.

    Raises
    ------
    SchemaError
    """
    required, have = list(required), set(columns)
    missing = [name for name in required if name not in have]
    if not missing:
        return
    fields = [name for name in columns if str(name).startswith(f"{missing[0]}.")]
    if fields:
        has = f"{missing[0]!r} is an object; its fields are columns, as {fields[0]!r}"
    elif have.intersection(required) or have.intersection(user_names):
        has = f"it has {named(columns)}{did_you_mean(missing[0], columns)}"
    elif alike := alike_of(missing, columns):
        has = f"capitals and signs count{alike}"
    elif isinstance(columns, FrameNames):
        has = f"none of its {len(columns):,} columns is named so"
        has += did_you_mean(missing[0], columns) or "; check the spelling"
    else:
        has = (
            f"none of its {len(columns):,} columns is named so; check the spelling and the delimiter, and if "
            "the first line is a row and no header, name the columns "
            f"({setting('CsvFormat(names=...)', '--names')})"
        )
    raise SchemaError(f"{where}the table has no column {named(missing)}; {has}")


def _by_name(
    roles: Iterable[tuple[Role, Mapping[str, object] | Iterable[str]]],
) -> dict[str, Attribute]:
    """Build an attribute for each column, and raise for two roles of a column or two weight columns."""
    attributes: dict[str, Attribute] = {}
    for role, columns in roles:
        if isinstance(columns, str):
            raise SchemaError(f"{role}: give a list of column names, not one text")
        specs = columns if isinstance(columns, Mapping) else None
        for name in columns:
            attribute = attribute_of(name, role, specs[name] if specs is not None else None)
            both = _merge(attributes[name], attribute) if name in attributes else None
            if name in attributes and both is None:
                earlier = attributes[name].role
                conflict = f"both {earlier} and {role}" if earlier != role else f"twice among the {role}"
                raise SchemaError(f"column {name!r} is {conflict}; give it one role")
            attributes[name] = both or attribute
    weighing = [attribute.name for attribute in attributes.values() if attribute.role == "weight"]
    if len(weighing) > 1:
        raise SchemaError(
            f"columns {named(weighing)} have the role weight; one column holds the sampling weights"
        )
    return attributes


def _merge(earlier: Attribute, later: Attribute) -> Attribute | None:
    """Return a column that names people or households beside another role, or None if impossible."""
    party = next((party for party in PARTIES if party == earlier.role), None)
    if party is not None and (later.role == "quasi" or (party, later.role) == ("person", "household")):
        return replace(later, key_of=tuple(dict.fromkeys((*earlier.key_of, party, *later.key_of))))
    return None


def _followers(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """Return the columns linked with a treated column, with the linked treatment."""
    every = attributes.values()
    treatments = linked_with(
        {each.name: each.treatment for each in every},
        {each.name: each.role for each in every},
        {each.name: each.spelling.kind if each.spelling else each.kind for each in every},
    )
    return {name: replace(attributes[name], treatment=each) for name, each in treatments.items()}


def _with_treatment(attributes: Mapping[str, Attribute], name: str, spec: object) -> Attribute:
    """Return the attribute of a column with a treatment."""
    if name not in attributes:
        raise SchemaError(
            f"treatments: column {name!r} has no role; name it as sensitive, insensitive, person or quasi"
            + did_you_mean(name, attributes)
        )
    if attributes[name].treatment is not None:
        raise SchemaError(f"column {name!r} has two treatments; give it one")
    return replace(attributes[name], treatment=treatment_of(spec, name, TREATMENTS))


def _check_beside(attributes: Mapping[str, Attribute], unlisted: str | None) -> None:
    """Raise for treatments by people without a person column, or by groups that are not released."""
    roles = {role for each in attributes.values() for role in (each.role, *each.key_of)}
    _check_keys(list(attributes.values()))
    treatments = {each.name: each.treatment for each in attributes.values()}
    for each in attributes.values():
        treatment = each.treatment
        if treatment is None:
            continue
        if PERSON in treatment.columns and "person" not in roles:
            raise SchemaError(
                f"column {each.name!r}: {treatment.name} goes by the person, and no column has the role "
                "person; give it to the one that says whose row it is, or name a column with by"
            )
        check_household(each.name, treatment, roles)
        check_together(each.name, treatments)
        strata = treatment.strata
        if strata is None:
            continue
        group = attributes.get(strata)
        leaves = unlisted == "keep" if group is None else group.role in ("sensitive", "insensitive")
        if not leaves or (group is not None and group.treatment is not None):
            raise SchemaError(
                f"column {each.name!r}: the groups of within = {strata!r} would show in it, so that column "
                "has to leave as it is: give it the role insensitive and no treatment, or leave within out"
            )


def _check_keys(attributes: Sequence[Attribute]) -> None:
    """Raise for quasi-identifiers that name people or households alone, or people beside changed values."""
    for party in PARTIES:
        keys = [each for each in attributes if each.names(party)]
        if len(keys) == 1 and keys[0].role == "quasi":
            raise SchemaError(f"column {keys[0].name!r} is both {party} and quasi; give it one role")
    shared = [each.name for each in attributes if "person" in each.key_of]
    if shared and (
        changed := [
            each.name for each in attributes if each.perturbed or (each.role == "person" and each.treatment)
        ]
    ):
        raise SchemaError(
            f"column {named(shared)} names people and has another role, too, and column {named(changed)} is "
            "perturbed, or a pseudonym of a part of the name: people of released rows could not be counted; "
            "name people by a column of their own"
        )


def _null_values(texts: Iterable[str]) -> tuple[str, ...]:
    if isinstance(texts, str):
        raise SchemaError("null_values: give a list of texts, not one text")
    distinct = tuple(dict.fromkeys(texts))
    if not all(isinstance(text, str) for text in distinct):
        raise SchemaError('null_values: give texts, as ["99"]; they mean the numbers and days, too')
    if "*" in distinct:
        raise SchemaError("null_values names '*', which marks a suppressed cell; take it out")
    return distinct
