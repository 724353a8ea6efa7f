"""What the verifier takes from a policy file: roles, missing texts, the suppression limit and the models.

This is a reader of its own, on purpose: a slip in the reader that made the release must not be repeated here.
It fails closed: a model, or a parameter of a model, that this package cannot check is an error, not skipped.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incrowd.errors import PolicyError

__all__ = ["MODELS", "Column", "Demand", "Policy", "read_policy"]

SUPPRESSED = "*"
ROLES = ("identifying", "quasi", "sensitive", "insensitive")
KINDS = ("auto", "number", "date", "category")
DISTANCES = ("auto", "ordered", "hierarchical", "equal")


@dataclass(frozen=True)
class Column:
    """One column of the policy; its hierarchy is a file, a builder's spec or nothing."""

    name: str
    role: str
    kind: str = "auto"
    hierarchy: Path | dict[str, Any] | None = None


@dataclass(frozen=True)
class Demand:
    """One limit to check: a model, the attribute it looks at (None for k-anonymity), the limit.

    ``distance`` is for t-closeness alone.
    """

    model: str
    attribute: str | None
    limit: float
    distance: str = "auto"
    kind: str = ""


@dataclass(frozen=True)
class Policy:
    """The part of a policy file that can be checked on a released file."""

    columns: tuple[Column, ...]
    demands: tuple[Demand, ...]
    max_suppression: float
    null_values: tuple[str, ...]

    def named(self, role: str) -> tuple[Column, ...]:
        """Return the columns of a role, in the order of the policy."""
        return tuple(column for column in self.columns if column.role == role)


def read_policy(path: Path) -> Policy:
    """Read a policy file (TOML, version 1).

    Raises
    ------
    PolicyError
        The file cannot be read, contradicts itself, or asks for something that cannot be verified.
    """
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise PolicyError(f"{path}: the policy cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path}: no readable TOML: {error}") from None
    try:
        return _policy(data, path.parent)
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from None


def _policy(data: dict[str, Any], folder: Path) -> Policy:
    if data.get("version") != 1 or isinstance(data["version"], bool):
        raise PolicyError("needs 'version = 1', the only version that verify reads")
    nulls = data.get("null_values", [])
    if not isinstance(nulls, list) or not all(isinstance(text, str) for text in nulls):
        raise PolicyError("null_values must be a list of texts")
    if SUPPRESSED in nulls:
        raise PolicyError(f"null_values holds {SUPPRESSED!r}, which marks a suppressed cell: take it out")
    columns = _columns(data.get("columns"), folder)
    if not any(column.role == "quasi" for column in columns):
        raise PolicyError("names no column of role 'quasi', so there are no classes to check")
    sensitive = tuple(column.name for column in columns if column.role == "sensitive")
    return Policy(
        columns=columns,
        demands=_demands(data.get("models"), sensitive),
        max_suppression=_share(data.get("max_suppression", 0.0), "max_suppression"),
        null_values=tuple(nulls),
    )


def _columns(data: object, folder: Path) -> tuple[Column, ...]:
    if not isinstance(data, dict) or not data:
        raise PolicyError("names no columns: add a table [columns.NAME] with a role for each")
    columns = []
    for name, entry in data.items():
        where = f"column {name!r}"
        if not isinstance(entry, dict):
            raise PolicyError(f"{where} must be a table with a role")
        hierarchy = entry.get("hierarchy")
        if isinstance(hierarchy, str):
            hierarchy = folder / hierarchy
        elif hierarchy is not None and not isinstance(hierarchy, dict):
            raise PolicyError(f"{where}: hierarchy must be a file or a builder such as {{ flat = true }}")
        columns.append(
            Column(
                name=name,
                role=_choice(entry.get("role"), ROLES, f"role of {where}"),
                kind=_choice(entry.get("kind", "auto"), KINDS, f"kind of {where}"),
                hierarchy=hierarchy,
            )
        )
    return tuple(columns)


def _demands(data: object, sensitive: tuple[str, ...]) -> tuple[Demand, ...]:
    if not isinstance(data, list) or not data:
        raise PolicyError("names no models, so there is nothing to verify: add [[models]] and a limit")
    demands: list[Demand] = []
    for number, entry in enumerate(data, start=1):
        where = f"model {number}"
        if not isinstance(entry, dict):
            raise PolicyError(f"{where} must be a table")
        name = entry.get("model")
        if not isinstance(name, str) or name not in MODELS:
            raise PolicyError(f"{where} is {name!r}; verify knows {', '.join(MODELS)}")
        where = f"{where} ({name})"
        parameters, read = MODELS[name]
        unknown = sorted(set(entry) - {"model", *parameters})
        if unknown:
            raise PolicyError(f"{where}: verify does not know {', '.join(map(repr, unknown))}")
        demands += read(entry, sensitive, where)
    return tuple(demands)


def _k_anonymity(entry: dict[str, Any], sensitive: tuple[str, ...], where: str) -> list[Demand]:
    return [Demand("k-anonymity", None, _count(entry.get("k"), f"k of {where}"))]


def _l_diversity(entry: dict[str, Any], sensitive: tuple[str, ...], where: str) -> list[Demand]:
    kind = entry.get("kind", "distinct")
    names = _attributes(entry, sensitive, where)
    if kind == "entropy":
        least = _amount(entry.get("l"), f"l of {where}", 1)
        return [Demand("l-diversity", name, least, kind="entropy") for name in names]
    if kind != "distinct":
        raise PolicyError(f"{where} is of kind {kind!r}; verify knows the kinds 'distinct' and 'entropy'")
    limit = _count(entry.get("l"), f"l of {where}")
    return [Demand("l-diversity", name, limit) for name in names]


def _alpha_k(entry: dict[str, Any], sensitive: tuple[str, ...], where: str) -> list[Demand]:
    alpha = _share(entry.get("alpha"), f"alpha of {where}")
    size = Demand("alpha-k-anonymity", None, _count(entry.get("k"), f"k of {where}"))
    names = _attributes(entry, sensitive, where)
    return [*(Demand("alpha-k-anonymity", name, alpha) for name in names), size]


def _beta_likeness(entry: dict[str, Any], sensitive: tuple[str, ...], where: str) -> list[Demand]:
    kind = entry.get("kind", "basic")
    if kind != "basic":
        raise PolicyError(f"{where} is of kind {kind!r}; verify knows the kind 'basic'")
    beta = _amount(entry.get("beta"), f"beta of {where}", 0)
    return [Demand("beta-likeness", name, beta) for name in _attributes(entry, sensitive, where)]


def _maximum_risk(entry: dict[str, Any], sensitive: tuple[str, ...], where: str) -> list[Demand]:
    return [Demand("maximum-risk", None, _share(entry.get("risk"), f"risk of {where}"))]


def _average_risk(entry: dict[str, Any], sensitive: tuple[str, ...], where: str) -> list[Demand]:
    return [Demand("average-risk", None, _share(entry.get("risk"), f"risk of {where}"))]


def _t_closeness(entry: dict[str, Any], sensitive: tuple[str, ...], where: str) -> list[Demand]:
    limit = _share(entry.get("t"), f"t of {where}")
    distance = _choice(entry.get("distance", "auto"), DISTANCES, f"distance of {where}")
    return [Demand("t-closeness", name, limit, distance) for name in _attributes(entry, sensitive, where)]


Reader = Callable[[dict[str, Any], tuple[str, ...], str], list[Demand]]

#: What can be verified: for each model its parameters and the reader of its entry.
MODELS: dict[str, tuple[tuple[str, ...], Reader]] = {
    "k-anonymity": (("k",), _k_anonymity),
    "l-diversity": (("l", "kind", "attribute"), _l_diversity),
    "t-closeness": (("t", "distance", "attribute"), _t_closeness),
    "alpha-k-anonymity": (("alpha", "k", "attribute"), _alpha_k),
    "beta-likeness": (("beta", "kind", "attribute"), _beta_likeness),
    "maximum-risk": (("risk",), _maximum_risk),
    "average-risk": (("risk",), _average_risk),
}


def _attributes(entry: dict[str, Any], sensitive: tuple[str, ...], where: str) -> tuple[str, ...]:
    if not sensitive:
        raise PolicyError(f"{where} needs a column of role 'sensitive', and there is none")
    if "attribute" not in entry:
        return sensitive
    name = entry["attribute"]
    if name not in sensitive:
        raise PolicyError(f"{where}: attribute {name!r} is no column of role 'sensitive'")
    return (name,)


def _choice(value: object, choices: tuple[str, ...], what: str) -> str:
    if not isinstance(value, str) or value not in choices:
        raise PolicyError(f"{what} is {value!r}; it must be one of {', '.join(choices)}")
    return value


def _count(value: object, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise PolicyError(f"{what} is {value!r}; it must be a whole number from 1")
    return value


def _amount(value: object, what: str, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value < float("inf"):
        raise PolicyError(f"{what} is {value!r}; it must be a number from {least:g}")
    return float(value)


def _share(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise PolicyError(f"{what} is {value!r}; it must be a number from 0 to 1")
    return float(value)
