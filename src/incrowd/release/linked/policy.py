"""The policy of linked tables: joins, the knowledge of an attacker, and all other terms."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from incrowd.core.errors import PolicyError, did_you_mean, named, quoted, those_are
from incrowd.core.io.addresses import file_path
from incrowd.core.treatments.base import PERSON
from incrowd.measures.privacy.k_anonymity import KAnonymity
from incrowd.measures.privacy.l_diversity import LDiversity
from incrowd.measures.privacy.t_closeness import TCloseness
from incrowd.release.policy.policy import Policy
from incrowd.release.policy.policy_file import read_toml
from incrowd.release.policy.toml_lines import toml_settings

if TYPE_CHECKING:
    from incrowd.core.table.schema import Attribute
    from incrowd.measures.privacy import PrivacyModel
    from incrowd_gate.points import Accepted

MODELS = (KAnonymity, LDiversity, TCloseness)
"""The models of linked tables: all that are defined for a person's view of several tables."""
_SETTINGS = ("name", "file", "table", "join", "known")
_MOST_KNOWN = 5
"""Most facts of a table that an attacker knows who does not know all of them."""


@dataclass(frozen=True)
class LinkedTable:
    """A table of linked tables.

    Attributes
    ----------
    name
        Name of the table, without a dot.
    file
        File of the table, relative to the folder of the tables; by default ``NAME.csv``.
    table
        The raw table in a database, as ``schema.table``; by default the name.
    join
        Columns of the table, each with the column ``TABLE.COLUMN`` that the values are in. Only the table of
        the people has none.
    known
        How many rows of a person an attacker knows: a number, or ``"all"``.

    Raises
    ------
    PolicyError
        When a setting is wrong.

    Examples
    --------
    >>> LinkedTable("visit", join={"person_id": "person.person_id"}, known=2).above
    'person'
    """

    name: str
    file: str = ""
    join: Mapping[str, str] = field(default_factory=dict)
    known: int | Literal["all"] = "all"
    table: str = ""

    def __post_init__(self) -> None:
        if not self.name or not isinstance(self.name, str) or set(self.name) & set("./\\\0"):
            raise PolicyError(f"linked: {quoted(self.name)} is no name of a table; write letters and digits")
        object.__setattr__(self, "file", self.file or f"{self.name}.csv")
        if (place := Path(self.file)).is_absolute() or ".." in place.parts:
            raise PolicyError(f"linked: the file of {quoted(self.name)} must be in the folder of the tables")
        is_number = isinstance(self.known, int) and not isinstance(self.known, bool)
        if self.known != "all" and not (is_number and 1 <= int(self.known) <= _MOST_KNOWN):
            raise PolicyError(
                f"linked: known of {quoted(self.name)} must be 1 .. {_MOST_KNOWN} rows of a person, or "
                f'"all", got {self.known!r}'
            )
        targets = [str(target).partition(".") for target in self.join.values()]
        if any(not dot or not column for _, dot, column in targets) or len({t for t, *_ in targets}) > 1:
            raise PolicyError(
                f"linked: join of {quoted(self.name)} names the columns of one other table, as "
                '{ person_id = "person.person_id" }'
            )

    @property
    def above(self) -> str | None:
        """The table that the rows belong to; None for the people."""
        return next((target.partition(".")[0] for target in self.join.values()), None)

    def settings(self) -> dict[str, Any]:
        """Return the settings as a policy file has them."""
        given = {name: getattr(self, name) for name in _SETTINGS} | {"join": dict(self.join)}
        return {name: value for name, value in given.items() if value not in ({}, "all", "")}


@dataclass(frozen=True)
class LinkedPolicy:
    """Everything that decides a release of linked tables, apart from the data.

    Attributes
    ----------
    tables
        The tables, in any order; one is that of the people.
    terms
        The columns of all tables, called ``TABLE.COLUMN``, with models and all other settings. A column that
        joins is released as the column that it joins.

    Raises
    ------
    PolicyError
        When the tables are no tree below the people, a joining column does not leave, or a setting is not for
        linked tables.

    Examples
    --------
    >>> import incrowd as ic
    >>> tables = [ic.LinkedTable("person"), ic.LinkedTable("visit", join={"of": "person.id"})]
    >>> schema = ic.Schema(quasi=["person.sex", "visit.ward"], insensitive=["person.id"])
    >>> ic.LinkedPolicy(tables, ic.Policy(schema, "k-anonymity:4")).order
    ('person', 'visit')
    """

    tables: Sequence[LinkedTable]
    terms: Policy

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", tuple(self.tables))
        names = [table.name for table in self.tables]
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise PolicyError(f"linked: table {named(twice)} is named twice")
        if len({table.file for table in self.tables}) < len(names):
            raise PolicyError("linked: two tables have one file; say file = for each")
        roots = [table.name for table in self.tables if table.above is None]
        if len(roots) != 1:
            raise PolicyError(
                f"linked: exactly one table has no join, that of the people, and here are {len(roots)}"
            )
        for table in self.tables:
            if table.above is not None and table.above not in names:
                hint = those_are(names, table.above)
                raise PolicyError(f"linked: {quoted(table.name)} joins {quoted(table.above)}; {hint}")
        if len(self.order) < len(names):
            raise PolicyError("linked: the joins go in a circle; each table has to lead to the people")
        self._check_columns()
        if len(names) > 1:
            self._check_terms()

    def __getitem__(self, name: str) -> LinkedTable:
        return next(table for table in self.tables if table.name == name)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The names of the tables, each behind the table that it joins."""
        order = [table.name for table in self.tables if table.above is None]
        for name in order:
            order += [table.name for table in self.tables if table.above == name]
        return tuple(order)

    @property
    def person(self) -> str:
        """The table of the people."""
        return self.order[0]

    def keys_of(self, name: str) -> tuple[str, ...]:
        """Return the columns of a table by which others join it, in one order for all of them."""
        targets = (target.partition(".") for table in self.tables for target in table.join.values())
        return tuple(dict.fromkeys(column for table, _, column in targets if table == name))

    def _check_columns(self) -> None:
        names = [table.name for table in self.tables]
        for attribute in self.terms.schema.attributes:
            name, dot, column = attribute.name.partition(".")
            if not dot or name not in names:
                raise PolicyError(
                    f"column {quoted(attribute.name)} names no table: write TABLE.COLUMN; "
                    + those_are(names, name)
                )
            if column in self[name].join:
                raise PolicyError(
                    f"column {quoted(attribute.name)} joins, so it is released as "
                    f"{quoted(self[name].join[column])} is; leave it out"
                )
        for table in self.tables:
            if table.above is not None and {*table.join.values()} != {
                f"{table.above}.{key}" for key in self.keys_of(table.above)
            }:
                raise PolicyError(
                    f"linked: all tables join {quoted(table.above)} by the same columns "
                    f"({', '.join(self.keys_of(table.above))}), and {quoted(table.name)} does not"
                )
            for key in self.keys_of(table.name):
                path = f"{table.name}.{key}"
                if key in table.join:
                    continue
                own = [each for each in self.terms.schema.attributes if each.name == path and each.leaves]
                if not own or own[0].role not in ("insensitive", "person"):
                    raise PolicyError(
                        f"column {quoted(path)} joins tables, so it has to leave: give it the role "
                        'insensitive, or person, with treat = { pseudonym = "hmac", key = "env:NAME" }'
                    )
            if not any(each.role == "quasi" for each in self._own(table.name)):
                raise PolicyError(
                    f"linked: table {quoted(table.name)} has no quasi-identifier; name at least one, or "
                    "leave the table out"
                )

    def _check_terms(self) -> None:
        terms = self.terms
        others = [model.name for model in terms.models if not isinstance(model, MODELS)]
        if others or not any(isinstance(model, KAnonymity) for model in terms.models):
            raise PolicyError(
                "models: linked tables need k-anonymity, and know besides l-diversity and t-closeness"
                + (f"; leave out {named(others)}" if others else "")
            )
        if any(isinstance(model, TCloseness) for model in terms.models) and any(
            table.known != "all" for table in self.tables
        ):
            raise PolicyError(
                "models: t-closeness compares views that part the people, and those of an attacker who knows "
                'a few rows overlap; say known = "all", or ask for l-diversity'
            )
        if any(getattr(model, "joint", False) for model in terms.models):
            raise PolicyError("models: joint is for one table; leave it out for linked tables")
        for name, wrong in {
            "keep_order": terms.keep_order,
            "wildcards": terms.wildcards != "value",
            "linked": terms.schema.linked,
            "tables": bool(terms.tables),
            "analyses": bool(terms.analyses),
            "profile": terms.profile is not None,
            "ledger": terms.ledger_epsilon is not None or terms.ledger_m is not None,
        }.items():
            if wrong:
                raise PolicyError(f"{name}: this setting is for one table; leave it out for linked tables")

    def _own(self, table: str) -> Iterator[Attribute]:
        """Yield the attributes of a table, without those of joining columns."""
        for attribute in self.terms.schema.attributes:
            if attribute.name.partition(".")[0] == table:
                yield attribute

    def source_of(self, table: str, column: str) -> str:
        """Return the column ``TABLE.COLUMN`` whose values a column has, over all joins."""
        while column in self[table].join:
            table, _, column = self[table].join[column].partition(".")
        return f"{table}.{column}"

    def whose(self, table: str) -> str:
        """Return the column that says whose the rows of a table are; people have it, others get it."""
        keys = self.keys_of(self.person)
        plain = table == self.person and len(keys) == 1
        return keys[0] if plain else f"{self.person}.{'+'.join(keys)}"

    def policy_of(self, table: str) -> Policy:
        """Return the policy of one table, with columns called as in the table, for judging it alone.

        Joining columns are plain columns there. Limits of people are left to the joined view.
        """
        keys = [(key, self.source_of(table, key)) for key in self[table].join]
        attributes = [replace(each, name=each.name.partition(".")[2]) for each in self._own(table)]
        attributes += [replace(self.terms.schema[source], name=key) for key, source in keys]
        return self._alone(attributes, self.whose(table), prefix=f"{table}.")

    def joined_policy(self, table: str) -> Policy:
        """Return the policy of the rows of a table beside the rows above, with columns ``TABLE.COLUMN``."""
        lines = self.lines_of(table)
        attributes = [each for each in self.terms.schema.attributes if each.name.partition(".")[0] in lines]
        return self._alone(attributes, self.whose(table), prefix="")

    @property
    def alone(self) -> Policy:
        """The policy of the only table, where there is one."""
        prefix = f"{self.person}."
        attributes = [
            replace(each, name=each.name.removeprefix(prefix)) for each in self.terms.schema.attributes
        ]
        models: list[Any] = [
            replace(cast("Any", model), attribute=attribute.removeprefix(prefix))
            if (attribute := getattr(model, "attribute", None))
            else model
            for model in self.terms.models
        ]
        schema = self.terms.schema.with_attributes(attributes)
        return replace(self.terms, schema=schema, models=tuple(models), accepted=self.accepted_of(prefix))

    def accepted_of(self, prefix: str) -> tuple[Accepted, ...]:
        """Return the answers about the columns that begin with a prefix, without it, and about records."""
        return tuple(
            replace(each, column=each.column and each.column.removeprefix(prefix))
            for each in self.terms.accepted
            if each.column is None or each.column.startswith(prefix)
        )

    @cached_property
    def joining(self) -> frozenset[str]:
        """The columns ``TABLE.COLUMN`` that tables are joined by."""
        return frozenset(f"{name}.{key}" for name in self.order for key in self.keys_of(name))

    def lines_of(self, table: str) -> list[str]:
        """Return a table and those above it, up to the people."""
        lines = [table]
        while (above := self[lines[-1]].above) is not None:
            lines.append(above)
        return lines

    def _alone(self, attributes: Sequence[Attribute], whose: str, prefix: str) -> Policy:
        from incrowd.core.table.schema import Attribute

        names = {each.name for each in attributes}
        plain: list[Attribute] = []
        moved = False
        for each in attributes:
            treatment = each.treatment
            if treatment is not None and PERSON in treatment.columns:
                treatment, moved = replace(cast("Any", treatment), by=whose), True
            role = "insensitive" if each.role == "person" else each.role
            plain.append(replace(each, role=role, treatment=treatment))
        if moved and whose not in names:
            plain.append(Attribute(whose, "identifying"))
        sensitive = {f"{prefix}{each.name}" for each in plain if each.role == "sensitive"}
        models: list[PrivacyModel] = []
        for model in self.terms.models:
            if isinstance(model, KAnonymity):
                models.append(model)
            elif isinstance(model, LDiversity) and model.kind == "distinct":
                if model.attribute is None and sensitive:
                    models.append(model)
                elif model.attribute in sensitive:
                    models.append(replace(model, attribute=model.attribute.removeprefix(prefix)))
        return replace(
            self.terms,
            schema=self.terms.schema.with_attributes(plain),
            models=tuple(models),
            accepted=self.accepted_of(prefix),
            max_suppression=1.0,
            suppressed="keep",
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> LinkedPolicy:
        """Read a TOML file, with hierarchy files relative to the file.

        Raises
        ------
        PolicyError
            When the file cannot be read, or has an unknown or wrong setting; the message says where.
        """
        path = file_path(path)
        return cls.from_dict(read_toml(path), path.parent, str(path))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], folder: Path, source: str = "policy") -> LinkedPolicy:
        """Read the content of a TOML file."""
        if not is_linked(document):
            raise PolicyError(f"{source}: no table is named; write [[linked]] for each of them")
        if "algorithm" in document:
            raise PolicyError(
                f"{source}: algorithm: linked tables have a search of their own; leave [algorithm] out"
            )
        rest = {name: value for name, value in document.items() if name != "linked"}
        try:
            return cls(linked_tables(document), Policy.from_dict(rest, folder, source))
        except PolicyError as error:
            start = "" if str(error).startswith(source) else f"{source}: "
            raise PolicyError(f"{start}{error}") from None

    def write(self, path: str | os.PathLike[str], *, private: bool = True) -> None:
        """Write the policy file, and hierarchies without a recipe beside the file, as `Policy.write` does."""
        path = Path(path)
        self.terms.write(path, private=private)
        head, _, rest = path.read_text(encoding="utf-8").partition("\n")
        top, _, columns = rest.partition("\n[algorithm]\n")[0].partition("\n[columns.")
        lines = [head, top]
        for table in self.tables:
            lines += ["", "[[linked]]", *toml_settings(table.settings())]
        path.write_text("\n".join(lines) + "\n\n[columns." + columns, encoding="utf-8", newline="\n")

    def __repr__(self) -> str:
        models = ", ".join(dict.fromkeys(model.name for model in self.terms.models))
        return f"LinkedPolicy({', '.join(self.order)}; {models})"


def linked_tables(document: Mapping[str, Any]) -> list[LinkedTable]:
    """Return the tables that the content of a policy file names.

    Raises
    ------
    PolicyError
        When a setting is unknown or wrong.
    """
    tables = []
    for entry in document["linked"]:
        if unknown := [name for name in entry if name not in _SETTINGS]:
            hint = did_you_mean(unknown[0], _SETTINGS) or "; there are " + ", ".join(_SETTINGS)
            raise PolicyError(f"linked: there is no setting {quoted(unknown[0])}{hint}")
        tables.append(LinkedTable(**{"name": "", **entry}))
    return tables


def is_linked(document: Mapping[str, Any]) -> bool:
    """Say whether the content of a policy file is about linked tables.

    Examples
    --------
    >>> is_linked({"linked": [{"name": "person"}]}), is_linked({"linked": True})
    (True, False)
    """
    tables = document.get("linked")
    return isinstance(tables, list) and bool(tables) and all(isinstance(each, dict) for each in tables)
