"""The JSON schema of a policy file, built from the pydantic models and the registries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from incrowd.core.hierarchy.builders import BUILDERS, DATE_LEVELS
from incrowd.core.parameters import Configured, Parameter
from incrowd.core.reading.spellings import DECIMALS, THOUSANDS
from incrowd.core.treatments import TREATMENTS, Treatment
from incrowd.measures.privacy import MODELS, PrivacyModel
from incrowd.release.analyses.analysis import SETTINGS, TEXTS
from incrowd.release.tables.layout import CountTable
from incrowd.search import ALGORITHMS, Mondrian

Schema = dict[str, Any]

_DIALECT = "http://json-schema.org/draft-07/schema#"
"""What editors of TOML know; a newer one is not read by all."""
_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean"}
_TRUE: Schema = {"const": True}
_TEXTS: Schema = {"type": "array", "items": {"type": "string"}}


def policy_schema() -> Schema:
    """Return the JSON schema of a policy file.

    An editor that knows it completes names, shows what each setting means, and marks what is wrong. It sees
    one setting at a time. `Policy.read` also checks what belongs together, such as widths that nest.

    Returns
    -------
    dict
        A schema of draft 7.

    Examples
    --------
    >>> from incrowd.release.policy.policy_schema import policy_schema
    >>> policy_schema()["required"]
    ['version', 'columns']
    """
    from incrowd.release.policy.policy_file import PolicyFile

    shape = _without_titles(PolicyFile.model_json_schema(ref_template="#/definitions/{model}"))
    definitions = shape.pop("$defs")
    settings = shape["properties"]
    definitions |= {model.name: _entry(model, "model") for model in MODELS}
    settings["linked"] = _any_of(
        settings["linked"], [_linked_tables(), {"type": "boolean", "default": False}]
    )
    settings["models"]["items"] = _one_of(MODELS)
    settings["tables"]["items"] = _count_table()
    settings["analyses"]["items"] = _analysis()
    settings["algorithm"] = {
        "oneOf": [_entry(each, "name", may_lack_it=each is Mondrian) for each in ALGORITHMS],
        "description": settings["algorithm"]["description"],
    }
    _describe_attackers(definitions["AttackerTable"])
    column = definitions["ColumnTable"]["properties"]
    column["decimal"]["enum"], column["thousands"]["enum"] = list(DECIMALS), list(THOUSANDS)
    column["format"]["pattern"] = "%[Yy]"
    column["hierarchy"] = _any_of(column["hierarchy"], [{"type": "string", "minLength": 1}, *_recipes()])
    treatments = "|".join(TREATMENTS.names())
    text = {"type": "string", "pattern": f"^ *({treatments}) *(:|$)"}
    column["treat"] = _any_of(column["treat"], [text, *_treatments()])
    return {
        "$schema": _DIALECT,
        **shape,
        "title": "incrowd policy",
        "description": "Everything that decides a release, apart from the data.",
        "anyOf": [_at_least_one(name) for name in ("models", "attackers", "tables")],
        "properties": settings,
        "definitions": definitions,
    }


def _linked_tables() -> Schema:
    target = {"type": "string", "pattern": r"^[^.]+\..+$", "description": "a column TABLE.COLUMN"}
    known = {"anyOf": [{"const": "all"}, {"type": "integer", "minimum": 1, "maximum": 5}]}
    settings: Schema = {
        "name": {"type": "string", "pattern": r"^[^./\\]+$"},
        "file": {"type": "string", "description": "its file in the folder of the tables, else NAME.csv"},
        "table": {"type": "string", "description": "the raw table in a database, else NAME"},
        "join": {"type": "object", "additionalProperties": target},
        "known": {**known, "description": "how many rows of a person an attacker knows"},
    }
    return {"type": "array", "minItems": 1, "items": _table(settings, ["name"], "a table of `LinkedPolicy`")}


def _without_titles(node: Any) -> Any:
    """Remove the titles, which repeat the names, and null, which TOML does not have."""
    if isinstance(node, list):
        return [_without_titles(each) for each in node]
    if not isinstance(node, dict):
        return node
    if isinstance(options := node.get("anyOf"), list):
        alternatives = [_without_titles(each) for each in options if each != {"type": "null"}]
        node = {key: value for key, value in node.items() if key != "anyOf"}
        node |= alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}
    return {
        key: _without_titles(value)
        for key, value in node.items()
        if not (key == "title" and isinstance(value, str)) and not (key == "default" and value is None)
    }


def _any_of(setting: Schema, alternatives: list[Schema]) -> Schema:
    return {"description": setting["description"], "anyOf": alternatives}


def _one_of(models: Iterable[type[PrivacyModel]]) -> Schema:
    return {"oneOf": [{"$ref": f"#/definitions/{model.name}"} for model in models]}


def _at_least_one(name: str) -> Schema:
    return {"required": [name], "properties": {name: {"minItems": 1}}}


def _allowed_values(declared: Parameter, default: object = None) -> Schema:
    """Return the allowed values of a parameter."""
    if declared.choices:
        allowed: Schema = {"enum": list(declared.choices)}
    else:
        bounds = {"minimum": declared.low, "maximum": declared.high, "exclusiveMinimum": declared.above}
        allowed = {name: bound for name, bound in bounds.items() if bound is not None}
        allowed["type"] = _TYPES[declared.kind]
    if isinstance(default, int | float | str):
        allowed["default"] = default
    return {"description": declared.meaning, **allowed}


def _parameters(entry: type[Configured]) -> dict[str, Schema]:
    return {
        name: _allowed_values(declared, getattr(entry, name, None))
        for name, declared in entry.parameters().items()
    }


def _table(settings: Mapping[str, Schema], required: Iterable[str], about: str = "") -> Schema:
    """Return the schema of a table with exactly the given settings."""
    description = {"description": about} if about else {}
    return {
        **description,
        "type": "object",
        "properties": dict(settings),
        "required": list(required),
        "additionalProperties": False,
    }


def _entry(entry: type[Configured], key: str, *, may_lack_it: bool = False) -> Schema:
    """Return the table of a registered entry, with the name under `key`."""
    required = entry.needed() if may_lack_it else [key, *entry.needed()]
    return _table({key: {"const": entry.name}, **_parameters(entry)}, required, entry.summary)


def _count_table() -> Schema:
    """Return the schema of a table ``[[tables]]``."""
    text = {"type": "string", "minLength": 1}
    cells = {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "string"}}}
    settings: dict[str, Schema] = {
        "name": text | {"description": "the name of the table, after which its file is called"},
        "rows": _TEXTS
        | {"description": "columns whose codes make the rows; age:1 leaves out the finest level"},
        "columns": _TEXTS | {"description": "columns whose codes make the columns"},
        "sum": text | {"description": "a number that is summed in place of counting"},
        "dominance": {
            "type": "array",
            "items": {"type": "number", "exclusiveMinimum": 0},
            "minItems": 2,
            "maxItems": 2,
            "description": "[n, share]: a sum is unsafe if its n largest people have more than the share",
        },
        "hidden": cells | {"description": "cells that are hidden whatever their value, by their codes"},
        "never_secondary": cells | {"description": "cells that are not hidden for the sake of others"},
        "waived": cells
        | {"description": "cells that are shown although they are unsafe, each with its reason (why)"},
        "key_table": text
        | {"description": "how a cell key changes counts: file:PATH of a key table, or a rule as 10-5"},
        "key": text
        | {"description": "where cell keys come from: a secret in env:NAME or file:PATH, or column:NAME"},
    }
    declared = {each.name: each for each in fields(CountTable) if "parameter" in each.metadata}
    settings |= {
        name: _allowed_values(each.metadata["parameter"], each.default) for name, each in declared.items()
    }
    return _table(settings, ["name"], "a count table that `tabulate` makes")


def _analysis() -> Schema:
    """Return the schema of a table ``[[analyses]]``."""
    settings: dict[str, Schema] = {
        name: {"type": "string", "description": each} for name, each in TEXTS.items()
    }
    share = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
    settings["quantiles"] = {
        "type": "array",
        "items": share,
        "description": "the quantiles of kind quantiles",
    }
    settings |= {
        name: _allowed_values(each.metadata["parameter"], each.default) for name, each in SETTINGS.items()
    }
    return _table(settings, ["name", "formula"], "an analysis that a recipient of the release computes")


def _describe_attackers(table: Schema) -> None:
    """Add the possible models of an attacker, and the short options, as ``k = 20``."""
    short = {model.shorthand: model for model in MODELS if model.shorthand}
    settings = table["properties"]
    # The others say themselves who knows what.
    settings["models"]["items"] = _one_of(
        model for model in MODELS if not (model.needs_cells or model.needs_every_class)
    )
    settings |= {letter: _parameters(model)[model.limit_name] for letter, model in short.items()}
    table["additionalProperties"] = False
    table["anyOf"] = [_at_least_one("models"), *({"required": [letter]} for letter in short)]


def _recipes() -> Iterator[Schema]:
    """Yield the table of each recipe of a hierarchy."""
    number = {"type": "number"}
    width = {"type": "number", "exclusiveMinimum": 0}
    level = {"type": "array", "items": {"enum": list(DATE_LEVELS)}, "minItems": 1, "uniqueItems": True}
    settings: dict[str, dict[str, Schema]] = {
        "intervals": {"intervals": {"type": "array", "items": width, "minItems": 1}, "origin": number},
        "bands": {"bands": {"type": "array", "items": number, "minItems": 1}},
        "prefix": {"prefix": _TRUE},
        "dates": {"dates": {"anyOf": [_TRUE, level]}},
        "order": {
            "order": {**_TEXTS, "minItems": 1, "uniqueItems": True},
            "fanout": {"type": "integer", "minimum": 2, "default": 2},
        },
        "flat": {"flat": _TRUE},
    }
    for name, builder in BUILDERS.items():
        yield _table(settings[name], [name], (builder.__doc__ or "").partition("\n")[0])


def _treatments() -> Iterator[Schema]:
    """Yield the tables of each treatment: ``{ round = 500 }``, and ``{ pseudonym = true }``."""
    for entry in TREATMENTS:
        settings = _treatment_settings(entry)
        first = next(iter(settings), None)
        if first is None:
            yield _table({entry.name: _TRUE}, [entry.name], entry.summary)
            continue
        others = [name for name in entry.needed() if name != first]
        yield _table({**settings, entry.name: settings[first]}, [entry.name, *others], entry.summary)
        if entry.name not in settings and entry.parameters()[first].kind is not bool:
            yield _table({**settings, entry.name: _TRUE}, [entry.name, *entry.needed()], entry.summary)


def _treatment_settings(entry: type[Treatment]) -> dict[str, Schema]:
    settings = _parameters(entry)
    if "linked" in settings:
        several = {"anyOf": [{"type": "string"}, _TEXTS]}
        settings["linked"] = {"description": settings["linked"]["description"], **several}
    return settings
