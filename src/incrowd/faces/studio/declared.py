"""Settings of registered entries in the making: first values, and completeness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import InputError
from incrowd.core.parameters import Configured, Parameter
from incrowd.core.table.attribute import UNRELEASED
from incrowd.core.treatments import TREATMENTS, Treatment
from incrowd.core.treatments.base import treatment_of
from incrowd.measures.privacy import MODELS, PrivacyModel
from incrowd.measures.privacy.attacker import Attacker

if TYPE_CHECKING:
    from incrowd.faces.studio.choices import Choices

Parameters = dict[str, tuple[Parameter, Any]]
"""Parameters with their defaults, which are `MISSING` where a value has to be given."""
_FIRST: dict[str, Any] = {
    "k": 5, "l": 2, "t": 0.3, "h": 0.5, "alpha": 0.5, "L": 2, "K": 5, "C": 0.5, "beta": 1, "delta": 1,
    "delta_max": 0.5, "score": 1, "risk": 0.2, "share": 0.05, "threshold": 0.2,
}  # fmt: skip
"""What usual limits begin with."""


def first_of(name: str, declared: Parameter) -> Any:
    """Return the first value of a parameter without a default; None for a text that only the user knows.

    Example: a share begins at 0.5, whatever its name is.
    """
    usual = _FIRST.get(name)
    if usual is not None:
        with suppress(InputError):
            return declared.check(usual, "", name)
    if declared.choices:
        return declared.choices[0]
    if declared.kind is bool:
        return False
    if declared.kind is str:
        return None
    low = declared.low if declared.low is not None else declared.above
    if low is not None and declared.high is not None:
        middle = (low + declared.high) / 2
        return int(middle) if declared.kind is int else middle
    if declared.high is not None:
        return declared.kind(declared.high)
    return declared.kind((low or 0) + 1)


def first_settings(entry: type[Configured]) -> dict[str, Any]:
    """Return settings of an entry that fill the entry's form as far as possible."""
    declared = entry.parameters()
    settings = {name: first_of(name, declared[name]) for name in entry.needed()}
    return {name: value for name, value in settings.items() if value is not None}


def parameters_of(entry: type[Configured]) -> tuple[Parameters, Parameters]:
    """Return an entry's parameters with defaults: first required parameters and limits, then the others."""
    parameters = {each.name: (each.metadata["parameter"], each.default) for each in fields(entry)}
    names = {*entry.needed(), getattr(entry, "limit_name", "")}
    first = {name: each for name, each in parameters.items() if name in names}
    return first, {name: each for name, each in parameters.items() if name not in names}


# --- models ---------------------------------------------------------------------------------------


def models() -> list[type[PrivacyModel]]:
    """Return the models with a form: all but the attacker, which has a form apart."""
    return [model for model in MODELS if model is not Attacker]


def attacker_models() -> list[type[PrivacyModel]]:
    """Return the models that may hold against an attacker: models that name no attackers."""
    return [
        model
        for model in models()
        if not model.needs_cells and not model.needs_every_class and "needs_population" not in vars(model)
    ]


def plain_attacker(settings: dict[str, Any]) -> dict[str, Any]:
    """Write the short limits of an attacker, as ``k = 20``, as models; return the same settings."""
    short = {model.shorthand: model for model in MODELS if model.shorthand}
    models = settings.setdefault("models", [])
    for letter in [key for key in settings if key in short]:
        models.append({"model": short[letter].name, short[letter].limit_name: settings.pop(letter)})
    return settings


def protect(choices: Choices, names: list[str]) -> None:
    """Add l-diversity for some sensitive columns; without names, the model is for all columns."""
    columns = [{}] if names == choices.having("sensitive") else [{"attribute": name} for name in names]
    choices.models.extend({"model": "l-diversity", "l": 2, **column} for column in columns)


def complete_models(document: dict[str, Any]) -> Iterator[PrivacyModel]:
    """Return the complete models of a policy document, including models that hold against attackers."""
    attackers = map(plain_attacker, document.get("attackers", ()))
    for settings in [*document.get("models", ()), *(each for found in attackers for each in found["models"])]:
        parameters = {name: value for name, value in settings.items() if name != "model"}
        with suppress(InputError):
            yield MODELS.get(settings["model"]).from_settings(parameters)


# --- treatments -----------------------------------------------------------------------------------


def treatments_for(role: str) -> list[type[Treatment]]:
    """Return the treatments that a column of a role may have."""
    if role in ("insensitive", "sensitive"):
        return list(TREATMENTS)
    if role == "quasi":
        return [each for each in TREATMENTS if each.for_quasi is True]
    if role == "person":
        return [each for each in TREATMENTS if each.for_person is True]
    return []


def read_treatment(spec: Any, column: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings of a treatment, from the notation of a policy file."""
    treatment = treatment_of(spec, column, TREATMENTS)
    return treatment.name, treatment.settings()


def give_role(settings: dict[str, Any], column: str, role: str) -> None:
    """Give a column a role; a treatment that the role cannot have goes."""
    settings["role"] = role
    names = [each.name for each in treatments_for(role)]
    if "treat" in settings and read_treatment(settings["treat"], column)[0] not in names:
        del settings["treat"]
    holds_sets = settings.get("kind") == "set"
    if holds_sets and role != "quasi":
        for key in ("kind", "known"):
            settings.pop(key, None)
    # What parts the items of sets parts the values of a sensitive column, too.
    if role != "sensitive" and not (holds_sets and role == "quasi"):
        settings.pop("parts", None)
    if role in UNRELEASED:
        settings.pop("missing", None)


def write_treatment(name: str, settings: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """Return a treatment in the notation of a policy file, or None and the error while incomplete."""
    try:
        return TREATMENTS.get(name).from_settings(dict(settings)).spec(), ""
    except InputError as error:
        return None, str(error)
