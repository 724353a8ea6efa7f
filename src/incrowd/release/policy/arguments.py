"""Arguments of callers for models, algorithms and schemas, and the slips that are understood or named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from incrowd.core.errors import ParameterError, SchemaError
from incrowd.core.parameters import Configured
from incrowd.core.table.schema import Schema
from incrowd.measures.privacy import MODELS, PrivacyModel
from incrowd.search import ALGORITHMS, Algorithm


def as_models(given: object) -> tuple[PrivacyModel, ...]:
    """Return privacy models: one, several, or their texts.

    Raises
    ------
    ParameterError, PolicyError
        When something else is given; the message says what to write.

    Examples
    --------
    >>> as_models("k-anonymity:5")
    (KAnonymity(k=5),)
    """
    found = []
    for each in _several(given):
        model = MODELS.parse(each) if isinstance(each, str) else _made(each, "models")
        if not isinstance(model, PrivacyModel):
            raise ParameterError(f"models: {type(each).__name__} is no privacy model; use ic.KAnonymity(5)")
        found.append(model)
    return tuple(found)


def as_algorithm(given: object) -> Algorithm:
    """Return an algorithm: itself, its text, or its class where it needs no parameter.

    Raises
    ------
    ParameterError, PolicyError

    Examples
    --------
    >>> as_algorithm("mondrian").name
    'mondrian'
    """
    made = ALGORITHMS.parse(given) if isinstance(given, str) else _made(given, "algorithm")
    if not isinstance(made, Algorithm):
        raise ParameterError(
            f"algorithm: {type(given).__name__} is no algorithm; use ic.Mondrian() or 'mondrian'"
        )
    return made


def as_algorithms(given: object) -> tuple[Algorithm, ...]:
    """Return algorithms: one or several, as in `as_algorithm`."""
    return tuple(as_algorithm(each) for each in _several(given))


def as_numbers(given: object) -> Sequence[Any]:
    """Return numbers: one or several."""
    return list(given) if isinstance(given, Iterable) else [given]


def as_schema(given: object, whole: str = "") -> Schema:
    """Return a schema.

    Parameters
    ----------
    whole
        What may stand in its place, for the message.

    Raises
    ------
    SchemaError
        When it is none.
    """
    if isinstance(given, Schema):
        return given
    message = f"schema must be a Schema{whole}, e.g. ic.Schema(quasi=['age', 'zip'], sensitive=['disease'])"
    if isinstance(given, str) or hasattr(given, "__fspath__"):
        message += "; read a policy file with ic.Policy.read(path)"
    raise SchemaError(f"{message}; this is a {type(given).__name__}")


def _several(given: object) -> list[object]:
    alone = isinstance(given, str | type | Configured) or not isinstance(given, Iterable)
    return [given] if alone else list(given)  # type: ignore[call-overload]


def _made(given: object, argument: str) -> object:
    """Return an entry; a class that needs no parameter is called."""
    if not (isinstance(given, type) and issubclass(given, Configured)):
        return given
    if needed := given.needed():
        written = ", ".join(f"{name}=..." for name in needed)
        raise ParameterError(
            f"{argument}: {given.__name__} is a class; give it its parameters, ic.{given.__name__}({written})"
        )
    return given()
