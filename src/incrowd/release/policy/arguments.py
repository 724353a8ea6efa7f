"""Arguments for models, algorithms and schemas, with errors that name common slips."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from incrowd.core.errors import ParameterError, SchemaError
from incrowd.core.parameters import Configured
from incrowd.core.table.schema import Schema
from incrowd.measures.privacy import MODELS, PrivacyModel
from incrowd.search import ALGORITHMS, Algorithm


def as_models(value: object) -> tuple[PrivacyModel, ...]:
    """Return privacy models from a single model or text, or from several.

    Raises
    ------
    ParameterError, PolicyError
        When something else is given; the message says what to write.

    Examples
    --------
    >>> as_models("k-anonymity:5")
    (KAnonymity(k=5),)
    """
    models = []
    for each in _several(value):
        model = MODELS.parse(each) if isinstance(each, str) else _instance(each, "models")
        if not isinstance(model, PrivacyModel):
            raise ParameterError(f"models: {type(each).__name__} is no privacy model; use ic.KAnonymity(5)")
        models.append(model)
    return tuple(models)


def as_algorithm(value: object) -> Algorithm:
    """Return an algorithm from an instance, a text, or a class without required parameters.

    Raises
    ------
    ParameterError, PolicyError

    Examples
    --------
    >>> as_algorithm("mondrian").name
    'mondrian'
    """
    algorithm = ALGORITHMS.parse(value) if isinstance(value, str) else _instance(value, "algorithm")
    if not isinstance(algorithm, Algorithm):
        raise ParameterError(
            f"algorithm: {type(value).__name__} is no algorithm; use ic.Mondrian() or 'mondrian'"
        )
    return algorithm


def as_algorithms(value: object) -> tuple[Algorithm, ...]:
    """Return algorithms from a single value or several, as in `as_algorithm`."""
    return tuple(as_algorithm(each) for each in _several(value))


def as_numbers(value: object) -> Sequence[Any]:
    """Return a sequence of numbers from a single number or several."""
    return list(value) if isinstance(value, Iterable) else [value]


def as_schema(value: object, whole: str = "") -> Schema:
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
    if isinstance(value, Schema):
        return value
    message = f"schema must be a Schema{whole}, e.g. ic.Schema(quasi=['age', 'zip'], sensitive=['disease'])"
    if isinstance(value, str) or hasattr(value, "__fspath__"):
        message += "; read a policy file with ic.Policy.read(path)"
    raise SchemaError(f"{message}; this is a {type(value).__name__}")


def _several(value: object) -> list[object]:
    alone = isinstance(value, str | type | Configured) or not isinstance(value, Iterable)
    return [value] if alone else list(value)  # type: ignore[call-overload]


def _instance(value: object, argument: str) -> object:
    """Return a value, or the instance of a class without required parameters."""
    if not (isinstance(value, type) and issubclass(value, Configured)):
        return value
    if needed := value.needed():
        written = ", ".join(f"{name}=..." for name in needed)
        raise ParameterError(
            f"{argument}: {value.__name__} is a class; give it its parameters, ic.{value.__name__}({written})"
        )
    return value()
