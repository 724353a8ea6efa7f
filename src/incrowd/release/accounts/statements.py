"""Sentences of the reports of all jobs: verdicts, models, and the origin of the report."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import figure, plain
from incrowd.core.lazy import np, pl
from incrowd_gate import wording
from incrowd_gate.points import Point

if TYPE_CHECKING:
    from incrowd.measures.privacy import ModelResult
    from incrowd.release.policy.policy import Policy

_MEANING_FOR_PEOPLE = {
    "k-anonymity": "everybody shares each class with at least {less} others",
    "average-risk": "people are found with a probability of {value} on average",
}
"""What is said where a person may have several rows."""
_MEANING = {
    "k-anonymity": "every record looks like at least {less} others",
    "l-diversity": "every class has at least {value} {kind} values of {attribute}",
    "t-closeness": "no class is farther than {value} from the whole table in {attribute}",
    "maximum-risk": "nobody is found with a probability above {value}",
    "average-risk": "records are found with a probability of {value} on average",
}


def no_limit(what: str) -> str:
    """Say that no limit is set, so that there is no verdict."""
    return f"No limit was asked for; the figures say how private the {what} is."


def points_of_limits(measured: Sequence[ModelResult]) -> list[Point]:
    """Return a point for each limit that is not met."""
    return [
        wording.limit(each.model, each.attribute, each.attacker, each.quantity, each.value, each.limit)
        for each in measured
        if each.holds is False and each.limit is not None
    ]


def model_sentence(measured: ModelResult, quasi: Sequence[str]) -> str:
    """Compare a model's limit with the value of the table, and name the attacker.

    Parameters
    ----------
    quasi
        The quasi-identifiers, which the attacker knows where the policy names no other one.
    """
    about = f" of {measured.attribute}" if measured.attribute else ""
    against = wording.who_knows(measured.knows or quasi)
    if measured.attacker is not None:
        about += f" against {measured.attacker}"
    by = measured.settings.get("population")
    holds = {True: "holds", False: "fails", None: "is measured"}[measured.holds]
    text = (
        f"{measured.model}{about} {holds}: {measured.quantity} is {figure(measured.value)}, asked was "
        f"{measured.sign} {figure(measured.limit)}"
    ) + (f"; the population is {by}, a column of sampling weights" if by else "")
    by_people = measured.failing_people is not None
    meaning = (_MEANING | _MEANING_FOR_PEOPLE if by_people else _MEANING).get(measured.model)
    if meaning and measured.holds and measured.value is not None:
        text += ", so " + meaning.format(
            value=figure(measured.value),
            less=figure(measured.value - 1),
            kind=measured.settings.get("kind", "different"),
            attribute=measured.attribute or "the sensitive attributes",
        )
    return f"{text}, against {against}."


def model_entry(measured: ModelResult, *, cells: bool) -> dict[str, Any]:
    """Return the result of a model as plain data, with or without the cells of the weakest class."""
    entry: dict[str, Any] = {
        "model": measured.model,
        "quantity": measured.quantity,
        "settings": {name: str(value) for name, value in measured.settings.items()},
        "attribute": measured.attribute,
        **({} if measured.attacker is None else {"attacker": measured.attacker}),
        "reached": plain(measured.value),
        "reasons": list(measured.reasons),
    }
    if measured.limit is not None:
        entry |= {"asked": measured.limit, "sign": measured.sign, "holds": measured.holds}
        entry["failing_classes"] = None if measured.failing is None else measured.failing[0]
        weakest = measured.weakest
        entry["weakest"] = weakest.to_dict() if cells and weakest is not None else None
    return entry


def versions(policy: Policy | None) -> dict[str, Any]:
    """Return the versions of all packages behind the figures, and the seed."""
    from importlib.metadata import version

    entry: dict[str, Any] = {
        "incrowd": version("incrowd"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "polars": pl.__version__,
        "numba": version("numba"),
    }
    # With the seed, whoever has the data can do it again; alone it undoes nothing.
    return entry if policy is None else entry | {"seed": policy.seed}
