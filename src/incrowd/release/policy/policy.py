"""Policy: the conditions on a release, as a TOML file or as an object."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import InputError, ParameterError, those_are
from incrowd.core.io.addresses import file_path
from incrowd.core.markup import document
from incrowd.core.parameters import EPSILON, Parameter, check_fields
from incrowd.core.table.schema import Attribute, Schema, Style
from incrowd.core.table.settings import Ends, Judge, SuppressedRecords, Wildcards
from incrowd.core.treatments import TREATMENTS
from incrowd.core.treatments.base import treatment_of
from incrowd.measures.privacy import MODELS, PrivacyModel
from incrowd.measures.privacy.attacker import Attacker
from incrowd.measures.privacy.base import class_size
from incrowd.release.analyses.analysis import Analysis, check_analyses
from incrowd.release.policy.arguments import as_algorithm, as_models, as_schema
from incrowd.release.policy.settings import SETTINGS
from incrowd.release.policy.toml_lines import (
    attacker_lines,
    column_lines,
    profile_lines,
    toml_settings,
    toml_value,
)
from incrowd.release.tables.layout import CountTable, check_tables
from incrowd.search import ALGORITHMS, Algorithm, Mondrian, Optimal, SearchProblem
from incrowd_gate.points import Accepted
from incrowd_gate.profiles import Choice, Context

if TYPE_CHECKING:
    from incrowd.core.io.targets import Outputs, Target
    from incrowd.core.progress import Progress
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.release.policy.policy_file import AttackerTable

_M = Parameter(int, "least number of sensitive values in a signature", low=2, optional=True)


@dataclass(frozen=True)
class Policy:
    """Everything that decides a release, apart from the data.

    Attributes
    ----------
    schema
        The roles of the columns.
    models
        The privacy models that every released class must satisfy.
    algorithm
        What searches the recoding.
    max_suppression
        Largest share of records that may be suppressed, 0 to 1.
    output
        How cells are written: auto, range, ancestor, set, mean or suppress. ``auto`` is what suits each
        column, and ``suppress`` is the value where a class has one, else ``*``.
    keep_order
        Whether row N stays row N; else rows come in a random order. The random order has no seed.
    seed
        Seed of what is random in the search.
    set_limit
        Most values that a cell may list, as {a, b} does.
    wildcards
        What a * or a missing cell matches: value (itself), matches-any or conservative (nothing). The release
        is judged so. A search counts by ``value`` all the same. So a release may be refused that another
        algorithm could make.
    accepted
        Points of the verdict that the owner of the data accepts, each with a reason.
    judge
        Perturbed values that models judge: before and as released (released), or before (original). A
        treatment such as PRAM perturbs sensitive values.
    ends
        Ends of ranges, and means: outward (rounded, open at the tails) or exact (values of people). The exact
        ends are the smallest and the largest value of the class. A column may have a grid of its own, to
        which ends and means are rounded, see `Attribute`.
    profile
        The rule profile that `verify` checks the release by, with its inputs and attestations.
    context
        Who receives the release. The class size follows that it needs, and k must not be smaller.
    ledger_epsilon
        The largest epsilon that all releases of a `Ledger` may spend together; None for no limit.
    ledger_m
        How many sensitive values each signature has at least where releases are m-invariant (`next_release`);
        None where they are not.
    suppressed
        Whether suppressed records leave: if they satisfy the models as a class (judged), never (drop), or
        always (keep). Nothing is promised of those that always leave. Those that do not leave are counted,
        and count for `max_suppression`, too.
    tables
        The count tables that `tabulate` makes.
    analyses
        What a recipient wants to compute, so that a release says what it keeps of each (`Analysis`).

    Raises
    ------
    ParameterError
        When a setting is outside its range.
    """

    schema: Schema
    models: tuple[PrivacyModel, ...] = ()
    algorithm: Algorithm = field(default_factory=Mondrian)
    max_suppression: float = SETTINGS["max_suppression"]
    output: Style = SETTINGS["output"]
    keep_order: bool = SETTINGS["keep_order"]
    seed: int = SETTINGS["seed"]
    set_limit: int = SETTINGS["set_limit"]
    wildcards: Wildcards = SETTINGS["wildcards"]
    accepted: tuple[Accepted, ...] = ()
    judge: Judge = SETTINGS["judge"]
    ends: Ends = SETTINGS["ends"]
    profile: Choice | None = None
    context: Context | None = None
    ledger_epsilon: float | None = replace(EPSILON, optional=True).field(None)
    ledger_m: int | None = _M.field(None)
    suppressed: SuppressedRecords = SETTINGS["suppressed"]
    tables: tuple[CountTable, ...] = ()
    analyses: tuple[Analysis, ...] = ()

    def __repr__(self) -> str:
        models = ", ".join(dict.fromkeys(model.name for model in self.models)) or "no model"
        return f"Policy({len(self.schema.attributes)} columns; {models}; {self.algorithm.name})"

    def _repr_html_(self) -> str:
        summary = {
            "models": list(dict.fromkeys(model.name for model in self.models)),
            "algorithm": self.algorithm.name,
            "max_suppression": self.max_suppression,
        }
        return document(repr(self), summary) + self.schema._repr_html_()

    def __post_init__(self) -> None:
        as_schema(self.schema)
        object.__setattr__(self, "models", as_models(self.models))
        object.__setattr__(self, "algorithm", as_algorithm(self.algorithm))
        check_fields(self, "policy")
        object.__setattr__(self, "tables", tuple(self.tables))
        if self.tables:
            check_tables(self.tables)
        object.__setattr__(self, "analyses", check_analyses(self.analyses) if self.analyses else ())
        for model in self.models:
            model.check_wildcards(self.wildcards)
        if self.context is not None:
            self._refuse_small_classes(self.context)

    def _refuse_small_classes(self, context: Context) -> None:
        if self.k < context.needed:
            raise ParameterError(
                f"the context needs classes of {context.needed} records, and the models ask for {self.k}: "
                f"raise k, or change the answers in [context] ({context.arithmetic()})"
            )

    @property
    def k(self) -> int:
        """How many people, or records, the models ask every class to have: five for a risk of 0.2, else 1."""
        return class_size(self.models)

    @property
    def written(self) -> Schema:
        """The schema with the final style and ends of every quasi-identifier."""
        return self.schema.with_attributes(
            replace(
                attribute,
                output=attribute.output or self.output,
                ends=attribute.ends or ("outward" if attribute.rounded else self.ends),
            )
            if attribute.role == "quasi"
            else attribute
            for attribute in self.schema.attributes
        )

    @property
    def counting(self) -> Schema:
        """The schema for counting, with the style and the ends of each quasi-identifier."""
        return self.schema.with_attributes(each.as_counted() for each in self.written.attributes)

    def with_levels(self, levels: Mapping[str, int]) -> Policy:
        """Fix the levels of some quasi-identifiers, with `Optimal` if the algorithm has no levels.

        Raises
        ------
        ParameterError
            When a name is no quasi-identifier.
        """
        names = [attribute.name for attribute in self.schema.quasi]
        for name in levels:
            if name not in names:
                raise ParameterError(f"levels: {name!r} is no quasi-identifier; {those_are(names, name)}")
        schema = self.schema.with_attributes(
            replace(attribute, levels=(levels[attribute.name], levels[attribute.name]))
            if attribute.name in levels
            else attribute
            for attribute in self.schema.attributes
        )
        algorithm = self.algorithm if self.algorithm.full_domain else Optimal()
        return replace(self, schema=schema, algorithm=algorithm)

    def with_models(self, models: Sequence[PrivacyModel]) -> Policy:
        """Add models, each in place of models of the same name."""
        models = as_models(models)
        names = {model.name for model in models}
        others = (model for model in self.models if model.name not in names)
        return replace(self, models=(*others, *models))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a TOML file, with hierarchy files relative to the file.

        Raises
        ------
        PolicyError
            When the file cannot be read, or has an unknown or wrong setting; the message says where.
        """
        from incrowd.release.policy.policy_file import read_toml

        path = file_path(path)
        return cls.from_dict(read_toml(path), path.parent, str(path))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], folder: Path, source: str = "policy") -> Policy:
        """Read the content of a TOML file."""
        from incrowd.release.policy.policy_file import validate

        file = validate(document, source)
        try:
            schema = Schema.of_attributes(
                (
                    Attribute(
                        name,
                        column.role,
                        kind=column.kind,
                        hierarchy=_hierarchy(column.hierarchy, folder),
                        output=column.output,
                        weight=column.weight,
                        levels=_levels(column.levels),
                        format=column.format,
                        decimal=column.decimal,
                        thousands=column.thousands,
                        parts=column.parts,
                        known=column.known,
                        key_of=tuple(column.key_of),
                        missing=tuple(column.missing),
                        treatment=None
                        if column.treat is None
                        else treatment_of(column.treat, name, TREATMENTS),
                        ends=column.ends,
                        grid=column.grid,
                    )
                    for name, column in file.columns.items()
                ),
                null_values=file.null_values,
                unlisted=file.unlisted,
                linked=file.linked,
            )
            algorithm = dict(file.algorithm)
            return cls(
                schema=schema,
                models=(
                    *(_model(settings) for settings in file.models),
                    *(_attacker(table) for table in file.attackers),
                ),
                algorithm=ALGORITHMS.get(str(algorithm.pop("name", Mondrian.name))).from_settings(algorithm),
                accepted=tuple(Accepted(table.point, table.column, table.why) for table in file.accepted),
                profile=None if file.profile is None else Choice.of_settings(file.profile, folder),
                context=None if file.context is None else Context.of_settings(file.context),
                ledger_epsilon=None if file.ledger is None else file.ledger.epsilon,
                ledger_m=None if file.ledger is None else file.ledger.m,
                tables=tuple(CountTable.from_settings(table) for table in file.tables),
                analyses=tuple(Analysis.from_settings(each) for each in file.analyses),
                **{name: getattr(file, name) for name in SETTINGS},
            )
        except InputError as error:
            raise type(error)(f"{source}: {error}") from None

    def to_toml(self, hierarchies: Mapping[str, str] | None = None) -> str:
        """Write the policy as TOML.

        Parameters
        ----------
        hierarchies
            File of each column whose hierarchy is a tree and no recipe; see `write`.
        """
        lines = ["version = 1"]
        settings = {name: getattr(self, name) for name in SETTINGS}
        if self.judge == "released":
            del settings["judge"]
        lines += toml_settings(settings)
        if self.schema.null_values:
            lines.append(f"null_values = {toml_value(list(self.schema.null_values))}")
        if self.schema.unlisted is not None:
            lines.append(f"unlisted = {toml_value(self.schema.unlisted)}")
        if self.schema.linked:
            lines.append("linked = true")
        for attribute in self.schema.attributes:
            lines += column_lines(attribute, hierarchies or {})
        lines += _list_lines(self)
        if self.profile is not None:
            lines += profile_lines(self.profile)
        if self.context is not None:
            lines += ["", "[context]", *toml_settings(self.context.settings)]
        ledger = {"epsilon": self.ledger_epsilon, "m": self.ledger_m}
        if limits := {name: limit for name, limit in ledger.items() if limit is not None}:
            lines += ["", "[ledger]", *toml_settings(limits)]
        lines += ["", "[algorithm]", f"name = {toml_value(self.algorithm.name)}"]
        lines += toml_settings(self.algorithm.settings())
        return "\n".join(lines) + "\n"

    def write(self, path: str | os.PathLike[str], *, private: bool = True, force: bool = False) -> None:
        """Write the policy file, and hierarchies without a recipe into ``hierarchies/`` beside the file.

        The leaves of the hierarchies are raw values, so nobody else may read the files (modes 0600 and 0700)
        unless `private` is false.

        Raises
        ------
        TableError
            When the file, or that folder, exists (unless `force`) or cannot be written.
        """
        from incrowd.core.io.targets import Outputs, Target

        if isinstance(path, Target):
            self._write(path, path.outputs, private=private)
            return
        with Outputs(force=force) as outputs:
            self._write(outputs.add(path), outputs, private=private)

    def _write(self, target: Target, outputs: Outputs, *, private: bool) -> None:
        from incrowd.core.hierarchy import Hierarchy
        from incrowd.core.hierarchy.formats import kept_as
        from incrowd.core.io.targets import writing

        target.private = private

        files = {}
        trees = {}
        for number, attribute in enumerate(self.schema.attributes, 1):
            if isinstance(attribute.hierarchy, Hierarchy):
                safe = re.sub(r"[^A-Za-z0-9_-]+", "-", attribute.name)[:60]
                name = f"{number:02d}-{safe}{kept_as(attribute.hierarchy)}"
                trees[name] = attribute.hierarchy
                files[attribute.name] = f"hierarchies/{name}"
        if trees:
            beside = outputs.add(Path(target).with_name("hierarchies"), folder=True, private=private)
            with writing(beside) as folder:
                for name, tree in trees.items():
                    tree.write(folder / name)
        with writing(target) as place:
            place.write_text(self.to_toml(files), encoding="utf-8", newline="\n")


def _list_lines(policy: Policy) -> list[str]:
    """Write the lists: models and attackers, count tables, analyses, accepted points."""
    lines: list[str] = []
    for model in policy.models:
        if isinstance(model, Attacker):
            lines += attacker_lines(model)
            continue
        lines += ["", "[[models]]", f"model = {toml_value(model.name)}"]
        lines += toml_settings(model.settings())
    lists = (
        ("tables", (each.settings() for each in policy.tables)),
        ("analyses", (each.settings() for each in policy.analyses if each.function is None)),
        ("accepted", (each.to_dict() for each in policy.accepted)),
    )
    for name, entries in lists:
        for entry in entries:
            lines += ["", f"[[{name}]]", *toml_settings(entry)]
    return lines


def terms_of(policy: Policy) -> dict[str, Any]:
    """Return the terms of a policy for the beginning of a report.

    These are the algorithm, the models, the limit of suppression, wildcards and the ends of ranges, also
    those of the columns that have ends of their own.
    """
    columns = {each.name for each in policy.schema.quasi if each.ends is not None or each.rounded}
    column_ends = {each.name: each.ends for each in policy.written.quasi if each.name in columns}
    return {
        "algorithm": str(policy.algorithm),
        "models": [str(model) for model in policy.models],
        "max_suppression": policy.max_suppression,
        "suppressed_records": policy.suppressed,
        "wildcards": policy.wildcards,
        "ends": policy.ends,
        **({"column_ends": column_ends} if column_ends else {}),
    }


def hierarchy_files(path: Path) -> list[Path]:
    """Return the hierarchy files named in a policy file, or none if unreadable."""
    from incrowd.release.policy.policy_file import read_toml

    try:
        columns = read_toml(path)["columns"].values()
        names = [each["hierarchy"] for each in columns if isinstance(each.get("hierarchy"), str)]
        return [path.parent / file for file in names if "\0" not in file]
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return []


def _hierarchy(spec: str | dict[str, Any] | None, folder: Path) -> Any:
    from incrowd.core.hierarchy import Hierarchy, builder_from_spec

    if isinstance(spec, str):
        return Hierarchy.read(folder / spec)
    return None if spec is None else builder_from_spec(spec)


def _levels(bounds: list[int] | None) -> tuple[int, int | None] | None:
    if bounds is None:
        return None
    return bounds[0], bounds[1] if len(bounds) > 1 else None


def _model(settings: Mapping[str, Any]) -> PrivacyModel:
    rest = dict(settings)
    return MODELS.get(str(rest.pop("model"))).from_settings(rest)


def _attacker(table: AttackerTable) -> Attacker:
    """Build an attacker from a table, with models by full settings or by short options."""
    short = {model.shorthand: model for model in MODELS if model.shorthand}
    models = [_model(settings) for settings in table.models]
    for letter, limit in (table.model_extra or {}).items():
        if letter not in short:
            raise ParameterError(
                f"attackers: {table.name!r} has an unknown setting {letter!r}; it has name, knows, models, "
                f"and for short {', '.join(short)}"
            )
        models.append(short[letter].from_settings({short[letter].limit_name: limit}))
    return Attacker(table.name, table.knows, models)


def search_problem(
    policy: Policy, frequency: FrequencyTable, attributes: Sequence[Attribute], progress: Progress
) -> SearchProblem:
    """Return the search problem of a table's keys under a policy."""
    return SearchProblem(
        frequency,
        policy.models,
        attributes,
        policy.max_suppression,
        progress,
        policy.seed,
        policy.set_limit,
        policy.wildcards,
    )
