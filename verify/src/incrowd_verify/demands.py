"""Models and attackers of a policy, read a second time: each limited quantity with column and limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from incrowd_gate.errors import PolicyError, named, those_are
from incrowd_verify.limits import Attacker, Demand


@dataclass(frozen=True)
class Parameter:
    """A parameter of a model: `kind` is int, float, bool, str or a tuple of choices."""

    kind: type | tuple[str, ...]
    default: Any = None
    least: float = -math.inf
    largest: float = math.inf
    needed: bool = False

    def read(self, value: object, what: str) -> Any:
        """Check a value."""
        if isinstance(self.kind, tuple):
            if value not in self.kind or not isinstance(value, str):
                raise PolicyError(f"{what} is {value!r}; it must be one of {', '.join(self.kind)}")
            return value
        if self.kind in (bool, str):
            if not isinstance(value, self.kind):
                form = "true or false" if self.kind is bool else "a text"
                raise PolicyError(f"{what} is {value!r}; it must be {form}")
            return value
        fits = type(value) is int or (self.kind is float and type(value) is float and math.isfinite(value))
        if not fits or not self.least <= value <= self.largest:  # type: ignore[operator]
            kind = "a whole number" if self.kind is int else "a number"
            upper = "" if math.isinf(self.largest) else f" to {self.largest:g}"
            raise PolicyError(f"{what} is {value!r}; it must be {kind} from {self.least:g}{upper}")
        return value


def _share(*, needed: bool = True, default: float = 0.0) -> Parameter:
    return Parameter(float, default, 0, 1, needed)


def _amount(least: float = 0, *, default: float | None = None) -> Parameter:
    return Parameter(float, default, least, needed=default is None)


_SIZE = Parameter(int, None, 1, needed=True)
_ATTRIBUTE = {"attribute": Parameter(str)}
_DISTANCE = Parameter(("auto", "ordered", "hierarchical", "equal", "maximal-frequency-difference"), "auto")
_DIVERSITY = Parameter(("distinct", "entropy", "grassberger", "grassberger-arx", "recursive"), "distinct")
_SENSITIVE = {**_ATTRIBUTE, "joint": Parameter(bool, False)}

Reader = Callable[[str, dict[str, Any], Sequence[str], str], list[Demand]]


def _on_classes(quantity: str, *, at_least: bool) -> Reader:
    """Read a model with a single limit, on the classes alone."""

    def read(model: str, given: dict[str, Any], sensitive: Sequence[str], where: str) -> list[Demand]:
        rest = {name: value for name, value in given.items() if name != quantity}
        return [Demand(model, quantity, None, given[quantity], at_least, rest)]

    return read


def _per_attribute(quantity: str, *, at_least: bool) -> Reader:
    """Read a model with a single limit, on each sensitive column or on a named column."""

    def read(model: str, given: dict[str, Any], sensitive: Sequence[str], where: str) -> list[Demand]:
        rest = {name: value for name, value in given.items() if name not in (quantity, "attribute")}
        return [
            Demand(model, quantity, name, given[quantity], at_least, rest)
            for name in _attributes(given["attribute"], sensitive, where)
        ]

    return read


def _l_diversity(model: str, given: dict[str, Any], sensitive: Sequence[str], where: str) -> list[Demand]:
    if given["kind"] in ("distinct", "recursive") and given["l"] != int(given["l"]):
        raise PolicyError(f"l of {where} is {given['l']!r}; it must be a whole number from 1")
    if (given["kind"] == "recursive") != (given["c"] is not None):
        raise PolicyError(f"{where}: c must be given for the kind recursive, and for no other")
    return _per_attribute("l", at_least=True)(model, given, sensitive, where)


def _with_size(model: str, given: dict[str, Any], sensitive: Sequence[str], where: str) -> list[Demand]:
    share, size = ("C", "K") if model == "lkc-privacy" else ("alpha", "k")
    shares = _per_attribute(share, at_least=False)(model, given, sensitive, where)
    return [*shares, Demand(model, size, None, given[size], True, given if size == "K" else {})]


def _delta_presence(model: str, given: dict[str, Any], sensitive: Sequence[str], where: str) -> list[Demand]:
    if given["delta_min"] > given["delta_max"]:
        raise PolicyError(f"{where}: delta_min must be at most delta_max")
    bounds = (("delta_max", False), ("delta_min", True))
    return [Demand(model, name, None, given[name], at_least) for name, at_least in bounds]


def _p29(model: str, given: dict[str, Any], sensitive: Sequence[str], where: str) -> list[Demand]:
    _attributes(None, sensitive, where)
    return _on_classes("score", at_least=True)(model, given, sensitive, where)


def _profitability(model: str, given: dict[str, Any], sensitive: Sequence[str], where: str) -> list[Demand]:
    if given["attacker"] == "journalist" and given["definition"] == "table":
        raise PolicyError(f"{where}: attacker journalist goes with definition record only")
    return [Demand(model, "payoff", None, 0.0, True, given)]


#: What can be verified: for each model its parameters and the reader of its entry.
MODELS: dict[str, tuple[dict[str, Parameter], Reader]] = {
    "k-anonymity": ({"k": _SIZE}, _on_classes("k", at_least=True)),
    "subset-k-anonymity": ({"k": _SIZE, "of": _SIZE}, _on_classes("k", at_least=True)),
    "k-map": ({"k": _SIZE}, _on_classes("k", at_least=True)),
    "l-diversity": ({
        "l": _amount(1), "kind": _DIVERSITY,
        "c": Parameter(float, None, 0), **_SENSITIVE,
    }, _l_diversity),
    "normalized-entropy": ({
        "h": _share(), "over": Parameter(("minimum", "mean"), "minimum"), **_SENSITIVE,
    }, _per_attribute("h", at_least=True)),
    "t-closeness": (
        {"t": _share(), "distance": _DISTANCE, **_SENSITIVE}, _per_attribute("t", at_least=False)
    ),
    "alpha-k-anonymity": (
        {"alpha": _share(), "k": _SIZE, "value": Parameter(str), **_SENSITIVE}, _with_size
    ),
    "lkc-privacy": (
        {"L": _SIZE, "K": _SIZE, "C": _share(), "value": Parameter(str), **_ATTRIBUTE}, _with_size
    ),
    "beta-likeness": ({
        "beta": _amount(), "kind": Parameter(("basic", "enhanced"), "basic"), **_SENSITIVE,
    }, _per_attribute("beta", at_least=False)),
    "delta-disclosure": ({
        "delta": _amount(), "absent": Parameter(("infinite", "skip"), "infinite"), **_SENSITIVE,
    }, _per_attribute("delta", at_least=False)),
    "delta-presence": ({"delta_max": _share(), "delta_min": _share(needed=False)}, _delta_presence),
    "p29": ({
        "score": _amount(), "w_k": _amount(default=0.5), "w_l": _amount(default=0.25),
        "w_t": _amount(default=0.25), "strict": Parameter(bool, False),
    }, _p29),
    "maximum-risk": ({"risk": _share()}, _on_classes("risk", at_least=False)),
    "average-risk": ({"risk": _share()}, _on_classes("risk", at_least=False)),
    "records-at-risk": ({"share": _share(), "threshold": _share()}, _on_classes("share", at_least=False)),
    "profitability": ({
        "attack": Parameter(("allowed", "none"), "allowed"),
        "definition": Parameter(("record", "table"), "record"),
        "attacker": Parameter(("prosecutor", "journalist"), "prosecutor"),
        "adversary_cost": _amount(default=4.0), "adversary_gain": _amount(default=300.0),
        "publisher_loss": _amount(default=300.0), "publisher_benefit": _amount(default=1200.0),
    }, _profitability),
    "km-anonymity": ({"k": _SIZE, "power": Parameter(int, 2, 0)}, _on_classes("k", at_least=True)),
}  # fmt: skip


def read_demands(data: object, sensitive: Sequence[str], *, of: str = "") -> tuple[Demand, ...]:
    """Read the ``[[models]]`` of a policy, or the models of an attacker.

    - `of`: whose models they are, in words that messages end with.
    - Raises `PolicyError`: a model, or a parameter of one, is unknown, missing or out of its range.
    """
    if not isinstance(data, list) or not data:
        raise PolicyError("names no models, so there is nothing to verify: add [[models]] and a limit")
    demands: list[Demand] = []
    for number, entry in enumerate(data, start=1):
        where = f"model {number}{of}"
        if not isinstance(entry, dict):
            raise PolicyError(f"{where} must be a table")
        name = entry.get("model")
        if not isinstance(name, str) or name not in MODELS:
            raise PolicyError(f"{where} is {name!r}; verify knows {', '.join(MODELS)}")
        where = f"model {number} ({name}){of}"
        parameters, read = MODELS[name]
        unknown = sorted(set(entry) - {"model", *parameters})
        if unknown:
            raise PolicyError(f"{where}: verify does not know {named(unknown)}")
        given = {}
        for key, parameter in parameters.items():
            if key not in entry and parameter.needed:
                raise PolicyError(f"{where}: {key} is missing")
            given[key] = (
                parameter.read(entry[key], f"{key} of {where}") if key in entry else parameter.default
            )
        demands += read(name, given, sensitive, where)
    return tuple(demands)


def _attributes(name: str | None, sensitive: Sequence[str], where: str) -> Sequence[str]:
    if not sensitive:
        raise PolicyError(f"{where} needs a column of role 'sensitive', and there is none")
    if name is None:
        return sensitive
    if name not in sensitive:
        raise PolicyError(
            f"{where}: attribute {name!r} is no column of role 'sensitive'; {those_are(sensitive, name)}"
        )
    return (name,)


def of_histories(demands: Sequence[Demand]) -> tuple[Demand, ...]:
    """Return the demand where rows of a person can be joined: that histories are shared by as many people.

    Raises `PolicyError`: nothing says how many these are.
    """
    if (k := class_size(demands)) == 1:
        if any(demand.model == "km-anonymity" and demand.settings["power"] == 0 for demand in demands):
            return tuple(demands)
        raise PolicyError(
            "linked = true, and no model says how many people have to share a history: ask for k-anonymity, "
            "or for km-anonymity with power = 0"
        )
    kept = [each for each in demands if each.model != "km-anonymity" or each.settings["power"] != 0]
    return (*kept, Demand("km-anonymity", "k", None, k, at_least=True, settings={"power": 0}))


def class_size(demands: Sequence[Demand]) -> int:
    """Return how many people, or records, the demands ask every class to have, 1 where none says."""
    return max(map(_class_size, demands), default=1)


def _class_size(demand: Demand) -> int:
    if demand.quantity == "k" and demand.model in ("k-anonymity", "km-anonymity", "alpha-k-anonymity"):
        return int(demand.limit)
    if demand.model == "maximum-risk":
        return math.ceil(1 / demand.limit - 1e-9) if demand.limit > 0 else 1
    return 1


_SHORT = {"k": "k-anonymity", "l": "l-diversity", "t": "t-closeness"}
"""Models that an attacker may have by a letter, which is the name of the limit, too."""
_NOT_THEIRS = ("k-map", "delta-presence", "lkc-privacy", "subset-k-anonymity", "km-anonymity")
"""Models that say themselves who knows what. So does whatever looks at a population."""


def read_attackers(data: object, quasi: Sequence[str], sensitive: Sequence[str]) -> tuple[Attacker, ...]:
    """Read the ``[[attackers]]`` of a policy.

    Raises `PolicyError`: a setting, column or model is unknown or out of its range, or nothing is known or
    asked.
    """
    if not isinstance(data, list) or not data or not all(isinstance(entry, dict) for entry in data):
        raise PolicyError("attackers must be tables [[attackers]], each with name, knows and models")
    attackers = []
    for number, entry in enumerate(data, start=1):
        name = entry.get("name")
        if not isinstance(name, str) or not name:
            raise PolicyError(f'attacker {number} has no name: add one, as name = "insurer"')
        where = f"attacker {name!r}"
        settings = ("name", "knows", "models", *_SHORT)
        unknown = [key for key in entry if key not in settings]
        if unknown:
            raise PolicyError(
                f"{where}: verify does not know {named(unknown, 5)}; it knows {named(settings)}"
            )
        knows = _knows(entry.get("knows"), quasi, where)
        attackers.append(Attacker(name, knows, _demands(entry, sensitive, where)))
    return tuple(attackers)


def _knows(data: object, quasi: Sequence[str], where: str) -> tuple[str, ...]:
    if not isinstance(data, list) or not data or not all(isinstance(name, str) for name in data):
        raise PolicyError(f"{where}: knows must list at least one quasi-identifier")
    strange = [name for name in data if name not in quasi]
    if strange:
        raise PolicyError(
            f"{where} knows {named(strange)}, no quasi-identifier; {those_are(quasi, strange[0])}"
        )
    return tuple(dict.fromkeys(data))


def _demands(entry: dict[str, object], sensitive: Sequence[str], where: str) -> tuple[Demand, ...]:
    models = entry.get("models", [])
    if not isinstance(models, list) or ("models" in entry and not models):
        raise PolicyError(f"{where}: models must list at least one model")
    short = [{"model": model, letter: entry[letter]} for letter, model in _SHORT.items() if letter in entry]
    if not models and not short:
        raise PolicyError(f"{where} has no models, so nothing would be checked: add models, or k = 5")
    demands = read_demands([*models, *short], sensitive, of=f" of {where}")
    for demand in demands:
        if demand.model in _NOT_THEIRS or demand.needs_people:
            raise PolicyError(
                f"{where}: {demand.model} says itself who knows what; write it under [[models]]"
            )
    return demands
