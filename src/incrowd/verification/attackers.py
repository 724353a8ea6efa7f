"""The ``[[attackers]]`` of a policy: the attributes that each knows, and the models against each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incrowd.errors import PolicyError, named, those_are
from incrowd.verification.demands import Demand, read_demands

_SHORT = {"k": "k-anonymity", "l": "l-diversity", "t": "t-closeness"}
"""Models that an attacker may have by a letter, which is the name of the limit, too."""
_NOT_THEIRS = ("k-map", "delta-presence", "lkc-privacy", "subset-k-anonymity", "km-anonymity")
"""Models that say themselves who knows what. So does whatever looks at a population."""


@dataclass(frozen=True)
class Attacker:
    """An attacker who knows some quasi-identifiers, and the limits that must hold against this attacker."""

    name: str
    knows: tuple[str, ...]
    demands: tuple[Demand, ...]


def read_attackers(data: object, quasi: Sequence[str], sensitive: Sequence[str]) -> tuple[Attacker, ...]:
    """Read the ``[[attackers]]`` of a policy.

    Raises
    ------
    PolicyError
        A setting, column or model is unknown or out of its range, or nothing is known or asked.
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
