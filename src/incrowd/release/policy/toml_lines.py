"""Parts of a policy as lines of TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from incrowd.core.table.schema import Attribute
from incrowd.core.treatments._linked import Linked
from incrowd.measures.privacy.attacker import Attacker
from incrowd_gate.profiles import Choice


def profile_lines(chosen: Choice) -> list[str]:
    """Write the table ``[profile]``."""
    lines = ["", "[profile]", f"name = {toml_value(chosen.settings['name'])}"]
    for table in ("inputs", "columns", "cleared"):
        if chosen.settings.get(table):
            lines += ["", f"[profile.{table}]", *toml_settings(chosen.settings[table])]
    for each in chosen.attested.values():
        entry = {"clause": each.clause, "by": each.by, "on": each.on.isoformat(), "says": each.says}
        lines += ["", "[[profile.attested]]", *toml_settings(entry)]
    return lines


def column_lines(attribute: Attribute, hierarchies: Mapping[str, str]) -> list[str]:
    """Write the table of a column, with a reference to the file of a tree."""
    from incrowd.core.hierarchy import Builder

    lines = ["", f"[columns.{toml_key(attribute.name)}]", f"role = {toml_value(attribute.role)}"]
    if attribute.kind != "auto":
        lines.append(f"kind = {toml_value(attribute.kind)}")
    lines += toml_settings(attribute.spelling.settings())
    if attribute.parts is not None:
        lines.append(f"parts = {toml_value(attribute.parts)}")
    if attribute.known is not None:
        lines.append(f"known = {toml_value(attribute.known)}")
    if attribute.key_of:
        lines.append(f"key_of = {toml_value(attribute.key_of)}")
    if attribute.missing:
        lines.append(f"missing = {toml_value(list(attribute.missing))}")
    if isinstance(attribute.hierarchy, Builder):
        lines.append(f"hierarchy = {toml_value(attribute.hierarchy.spec())}")
    elif attribute.hierarchy is not None:
        lines.append(f"hierarchy = {toml_value(hierarchies[attribute.name])}")
    if attribute.output is not None:
        lines.append(f"output = {toml_value(attribute.output)}")
    rounding = {"ends": attribute.ends, "grid": attribute.grid}
    lines += toml_settings({name: value for name, value in rounding.items() if value is not None})
    if attribute.weight != 1:
        lines.append(f"weight = {toml_value(attribute.weight)}")
    if attribute.levels is not None:
        bounds = [level for level in attribute.levels if level is not None]
        lines.append(f"levels = {toml_value(bounds)}")
    if attribute.treatment is not None and not isinstance(attribute.treatment, Linked):
        lines.append(f"treat = {toml_value(attribute.treatment.spec())}")
    return lines


def attacker_lines(attacker: Attacker) -> list[str]:
    """Write a table ``[[models]]`` of an attacker and the models."""
    models = [{"model": model.name, **model.settings()} for model in attacker.models]
    return [
        "",
        "[[attackers]]",
        f"name = {toml_value(attacker.attacker)}",
        f"knows = {toml_value(list(attacker.knows))}",
        f"models = {toml_value(models)}",
    ]


def toml_key(name: str) -> str:
    """Write a key, quoted if necessary."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def toml_settings(settings: Mapping[str, Any]) -> list[str]:
    """Write settings as lines of TOML: ``name = value``."""
    return [f"{name} = {toml_value(value)}" for name, value in settings.items()]


def toml_value(value: Any) -> str:
    """Write a text, number, truth value, list or flat mapping as TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, str):
        # TOML's basic strings escape as JSON does, and DEL besides.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)
