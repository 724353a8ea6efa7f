"""The shape of a policy file, checked by pydantic and imported only on reading."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    create_model,
)

from incrowd.core.errors import PolicyError, did_you_mean, named, open_roles, quoted
from incrowd.core.io.addresses import read_bytes
from incrowd.core.reading.spellings import QUESTIONS, open_spelling
from incrowd.core.table.schema import OPEN_ROLE, Kind, Party, Role, Style
from incrowd.core.table.settings import Calendar, Ends
from incrowd.release.policy.settings import SETTINGS

Above = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Width = Annotated[StrictInt, Field(gt=0)] | Above
_PROBLEMS = 8
"""How many wrong settings a message names."""


_WORDS = {
    "missing": "is missing",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be finite",
    "string_type": "must be a text",
    "list_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "too_short": "must have at least {min_length}",
    "too_long": "must have at most {max_length}",
    "string_too_short": "must not be empty",
}
"""What is said of a wrong setting, by the kinds of pydantic."""
_UNION = ("str", "dict[str,any]")
"""What pydantic puts behind the place of a setting that may be a text or a table."""
_GRID = "must be a number above 0, or 'day', 'month' or 'year'"


class ColumnTable(BaseModel):
    """A table ``[columns.NAME]``."""

    model_config = ConfigDict(extra="forbid")
    role: Role = Field(description="what others may know of the column, and whether it leaves")
    kind: Kind = Field("auto", description="how its values are read; auto lets the values decide")
    hierarchy: StrictStr | dict[str, Any] | None = Field(
        None, description="the file of a generalization hierarchy, relative to the policy, or a recipe"
    )
    output: Style | None = Field(None, description="its style, where it differs from that of the release")
    ends: Ends | None = Field(
        None, description="ends of its ranges, where they differ from those of the release"
    )
    grid: Width | Calendar | None = Field(
        None, description="what the ends of its ranges, and its means, are rounded to"
    )
    weight: float = Field(
        1.0, ge=0, allow_inf_nan=False, strict=True, description="how much the loss of the column counts"
    )
    format: StrictStr | None = Field(
        None, description="how dates and times are written, as strptime takes it: %d.%m.%Y"
    )
    decimal: StrictStr | None = Field(None, description="the sign before decimals")
    thousands: StrictStr | None = Field(None, description="what groups digits in threes")
    parts: StrictStr | None = Field(
        None, min_length=1, description="the text between the parts of cells that hold lists"
    )
    known: StrictInt | None = Field(
        None, ge=1, le=5, description="how many items of a set an attacker knows at most"
    )
    key_of: list[Party] = Field(
        [], description="whose name the column is a part of, besides its role: a person, a household"
    )
    missing: list[StrictStr] = Field([], description="texts that mean missing in this column alone")
    levels: list[StrictInt] | None = Field(
        None, min_length=1, max_length=2, description="least and largest level of full-domain recoding"
    )
    treat: StrictStr | dict[str, Any] | None = Field(
        None, description="what becomes of the column besides recoding, e.g. { round = 500 }"
    )


class AttackerTable(BaseModel):
    """A table ``[[attackers]]``; further settings are short names of models, as ``k = 20``."""

    model_config = ConfigDict(extra="allow")
    name: StrictStr = Field(min_length=1, description="what the attacker is called in reports")
    knows: list[StrictStr] = Field(min_length=1, description="the quasi-identifiers that it knows")
    models: list[dict[str, Any]] = Field([], description="what must hold against this attacker")


class AcceptedTable(BaseModel):
    """A table ``[[accepted]]``: a point of the verdict, and the reason for the acceptance."""

    model_config = ConfigDict(extra="forbid")
    point: StrictStr = Field(description="its kind, as the verdict has it")
    column: StrictStr | None = Field(None, description="the column that it is about, if it is about columns")
    why: StrictStr = Field(min_length=1, description="the reason, which the account repeats")


class LedgerTable(BaseModel):
    """The table ``[ledger]``."""

    model_config = ConfigDict(extra="forbid")
    epsilon: Above | None = Field(None, description="the most that all releases may spend together")
    m: StrictInt | None = Field(
        None, ge=2, description="how many sensitive values a signature has at least, in m-invariant releases"
    )


def _field_of(setting: dataclasses.Field[Any]) -> tuple[Any, Any]:
    """Return the type and the field of a setting of `Policy`, as pydantic takes them."""
    declared = setting.metadata["parameter"]
    kind = Literal[declared.choices] if declared.choices else declared.kind
    options: dict[str, Any] = {} if declared.choices else {"strict": True}
    options |= {"ge": declared.low, "le": declared.high, "gt": declared.above}
    return kind, Field(setting.default, description=declared.meaning, **options)


class PolicyFile(
    create_model(  # type: ignore[misc]
        "_Settings",
        version=(Literal[1], Field(description="of the format")),
        **{name: _field_of(setting) for name, setting in SETTINGS.items()},
    )
):
    """The whole document."""

    model_config = ConfigDict(extra="forbid")
    linked: StrictBool = Field(False, description="whether anyone can join the rows of a person; or tables")
    null_values: list[StrictStr] = Field([], description="texts that mean missing, besides empty fields")
    unlisted: Literal["drop", "keep"] | None = Field(
        None, description="what becomes of columns that are not named; without it they are refused"
    )
    columns: dict[str, ColumnTable] = Field(min_length=1, description="the columns, by name")
    models: list[dict[str, Any]] = Field([], description="the privacy models that every class satisfies")
    attackers: list[AttackerTable] = Field(
        [], description="who knows some of the quasi-identifiers, and what holds against them"
    )
    algorithm: dict[str, Any] = Field({}, description="what searches the recoding")
    tables: list[dict[str, Any]] = Field([], description="the count tables that `tabulate` makes")
    analyses: list[dict[str, Any]] = Field([], description="what a recipient of the release wants to compute")
    accepted: list[AcceptedTable] = Field(
        [], description="points of the verdict that are accepted, each with a reason"
    )
    profile: dict[str, Any] | None = Field(
        None, description="the rule profile that the release is checked by, its inputs and attestations"
    )
    context: dict[str, Any] | None = Field(
        None, description="who receives the release, from which the class size follows that it needs"
    )
    ledger: LedgerTable | None = Field(None, description="what all releases of a ledger may do together")


_SHAPES: dict[object, type[BaseModel]] = {
    "columns": ColumnTable,
    "accepted": AcceptedTable,
    "ledger": LedgerTable,
}


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    PolicyError
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")
        return tomllib.loads(text.replace("\r\n", "\n").replace("\r", "\n"))
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise PolicyError(f"{path}: byte {error.start} is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{path}: not readable as TOML ({error})") from None
    except RecursionError:
        raise PolicyError(f"{path}: not readable as TOML (nested too deep)") from None
    except ValueError:
        raise PolicyError(f"{path}: not readable as TOML (a number of too many digits)") from None


def validate(document: Mapping[str, Any], source: str) -> PolicyFile:
    """Check a document.

    Raises
    ------
    PolicyError
        With the place and the problem of every wrong setting.
    """
    if questions := _questions(document, "role"):
        raise PolicyError(f"{source}: {open_roles(questions)}")
    for what in QUESTIONS:
        if questions := _questions(document, what):
            raise PolicyError(f"{source}: column {named(questions)}: {open_spelling(what)}")
    version = document.get("version", 1)
    if type(version) is not int or version != 1:
        raise PolicyError(f"{source} is of version {quoted(version)}; write version = 1")
    try:
        file: PolicyFile = PolicyFile.model_validate(document)
    except ValidationError as error:
        raise PolicyError(f"{source}: {_sentences(error)}") from None
    if not file.models and not file.attackers and not file.tables:
        raise PolicyError(f"{source}: models: name at least one model ([[models]], or [[attackers]])")
    named_models = [(f"models.{number}", model) for number, model in enumerate(file.models)]
    for number, attacker in enumerate(file.attackers):
        named_models += [(f"attackers.{number}.models.{n}", model) for n, model in enumerate(attacker.models)]
    for place, model in named_models:
        if not isinstance(model.get("model"), str):
            raise PolicyError(f'{source}: {place}: name the model, e.g. model = "k-anonymity"')
    return file


def _sentences(error: ValidationError) -> str:
    """Describe the errors in sentences, each once with all columns concerned."""
    problems = error.errors(include_url=False)
    guessed: set[tuple[object, ...]] = set()
    columns_of: dict[str, list[object]] = {}
    for problem in sorted(problems, key=lambda each: each["type"] != "extra_forbidden"):
        either = problem["loc"][-1] in _UNION and problem["type"] in ("string_type", "dict_type")
        grid = problem["loc"][-2:-1] == ("grid",)
        *table, name = problem["loc"][:-1] if either or grid else problem["loc"]
        column = table[1] if table[:1] == ["columns"] and table[1:] else None
        if problem["type"] == "extra_forbidden":
            settings = list(_SHAPES.get(table[0] if table else "", PolicyFile).model_fields)
            near = did_you_mean(name, settings)
            guessed.add((*table, near.partition("'")[2].partition("'")[0]))
            where = f" in [{table[0]}]" if table and column is None else ""
            wrong = f"there is no setting {quoted(name)}{where}{near or '; there are ' + ', '.join(settings)}"
        elif (*table, name) in guessed:
            continue
        else:
            place = ".".join(map(str, [*table[0 if column is None else 2 :], name]))
            must = "must be a text or a table" if either else _GRID if grid else _must(problem)
            wrong = f"{place} {must}"
        columns_of.setdefault(wrong, []).append(column)
    sentences = [
        ("" if of[0] is None else f"column {named(dict.fromkeys(of))}: ")
        + (wrong if wrong.endswith("?") else f"{wrong}.")
        for wrong, of in columns_of.items()
    ]
    if len(sentences) > _PROBLEMS:
        sentences[_PROBLEMS:] = [f"And {len(sentences) - _PROBLEMS:,} more."]
    return " ".join(sentences).removesuffix(".")


def _must(problem: Any) -> str:
    """Describe the allowed values of a setting."""
    must: str = _WORDS.get(problem["type"], problem["msg"].removeprefix("Value error, "))
    must = must.format_map(problem.get("ctx", {}))
    if problem["type"] == "literal_error":
        must += f", got {quoted(problem['input'])}"
        must += did_you_mean(problem["input"], re.findall("'(.*?)'", problem["ctx"]["expected"]))
    return must


def _questions(document: Mapping[str, Any], what: str) -> list[str]:
    """Return the columns of which a draft asks for a setting."""
    columns = document.get("columns")
    if not isinstance(columns, Mapping):
        return []
    return [
        str(name)
        for name, entry in columns.items()
        if isinstance(entry, Mapping) and str(entry.get(what)).startswith(OPEN_ROLE)
    ]
