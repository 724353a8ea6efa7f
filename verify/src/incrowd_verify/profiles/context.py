"""The class size that the context of a release requires: ``[context]`` of a policy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from incrowd_verify.errors import PolicyError, did_you_mean

LEVELS = ("low", "medium", "high")
RECIPIENTS = ("public", "known")
_SETTINGS = ("recipient", "controls", "motives", "acquaintances", "prevalence", "breaches", "threshold")
_ATTEMPTS = {"high": ("0.05", "0.1", "0.2"), "medium": ("0.2", "0.3", "0.4"), "low": ("0.4", "0.5", "0.6")}
"""Probability of a deliberate attempt, by the controls of the recipient, from low to high motives.

El Emam and Arbuckle, Anonymizing Health Data (2013), chapter 2; Information and Privacy Commissioner of
Ontario, De-identification Guidelines for Structured Data (2016), step 5.
"""
_ACQUAINTANCES = 150
"""How many people one person knows: Dunbar's number, which both sources use."""


@dataclass(frozen=True)
class Context:
    """The answers about the context of a release, and the required class size.

    The largest risk in the context is the probability of an attempt times that of its success, which is one
    over the class size. The class size is the smallest that keeps it at or below the threshold. Nobody has to
    attempt a public release in a certain way, so its probability is 1.

    Attributes
    ----------
    recipient
        ``public``, or ``known``: somebody who signed a contract.
    controls
        The mitigating controls of the recipient: ``low``, ``medium`` or ``high``.
    motives
        The recipient's motives and capacity: ``low``, ``medium`` or ``high``.
    acquaintances, prevalence
        How many people somebody knows, and the share of the population that the table is about, 0..1: the
        probability that a member of the recipient's staff knows somebody in it.
    breaches
        The probability that data of such a recipient get out in a year, 0..1.
    threshold
        The largest risk in the context, above 0 and at most 1.
    settings
        The table as the policy has it.

    Examples
    --------
    >>> answers = {"recipient": "known", "controls": "medium", "motives": "low", "breaches": 0.27}
    >>> context = Context.of(answers | {"threshold": 0.05})
    >>> float(context.attempt), context.needed
    (0.27, 6)
    """

    recipient: str
    controls: str
    motives: str
    acquaintances: int
    prevalence: Fraction
    breaches: Fraction
    threshold: Fraction
    settings: Mapping[str, Any]

    @classmethod
    def of(cls, settings: Any) -> Context:
        """Read the table ``[context]`` of a policy.

        Raises
        ------
        PolicyError
        """
        if not isinstance(settings, dict):
            raise PolicyError("context must be a table")
        for name in settings:
            if name not in _SETTINGS:
                near = did_you_mean(name, _SETTINGS)
                raise PolicyError(f"context: there is no {name!r}; there are {', '.join(_SETTINGS)}{near}")
        recipient = _one_of(settings, "recipient", RECIPIENTS)
        is_known = recipient == "known"
        acquaintances = settings.get("acquaintances", _ACQUAINTANCES)
        if type(acquaintances) is not int or acquaintances < 0:
            raise PolicyError("context: acquaintances must be a whole number from 0")
        threshold = _share(settings, "threshold")
        if not threshold:
            raise PolicyError("context: threshold must be above 0")
        return cls(
            recipient,
            _one_of(settings, "controls", LEVELS) if is_known else "low",
            _one_of(settings, "motives", LEVELS) if is_known else "high",
            acquaintances,
            _share(settings, "prevalence", Fraction(0)),
            _share(settings, "breaches", None if is_known else Fraction(0)),
            threshold,
            settings,
        )

    @property
    def attempts(self) -> Mapping[str, Fraction]:
        """The probability of each kind of attempt, 0..1."""
        if self.recipient == "public":
            return {"a public release, where an attempt is certain": Fraction(1)}
        table = _ATTEMPTS[self.controls][LEVELS.index(self.motives)]
        return {
            f"deliberate ({self.controls} controls, {self.motives} motives and capacity)": Fraction(table),
            f"by acquaintance (1 - (1 - {float(self.prevalence):g})^{self.acquaintances})": (
                1 - (1 - self.prevalence) ** self.acquaintances
            ),
            "by a breach": self.breaches,
        }

    @property
    def attempt(self) -> Fraction:
        """The largest probability of an attempt."""
        return max(self.attempts.values())

    @property
    def needed(self) -> int:
        """The class size that the context needs."""
        return max(math.ceil(self.attempt / self.threshold), 1)

    def arithmetic(self) -> str:
        """Return the derivation of the class size in a sentence."""
        kinds = "; ".join(f"{name}: {float(share):.4g}" for name, share in self.attempts.items())
        return (
            f"probability of an attempt: {kinds}; the largest is {float(self.attempt):.4g}. "
            f"{float(self.attempt):.4g} / {self.needed} = {float(self.attempt / self.needed):.4g}, at most "
            f"the threshold {float(self.threshold):g}: a class needs {self.needed} records"
        )


def _one_of(settings: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> str:
    value = settings.get(name)
    if value not in choices:
        raise PolicyError(f"context: {name} must be one of {', '.join(choices)}")
    return str(value)


def _share(settings: Mapping[str, Any], name: str, default: Fraction | None = None) -> Fraction:
    value = settings.get(name, default)
    if value is None:
        raise PolicyError(f"context: say {name}, a number from 0 to 1")
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or not 0 <= value <= 1:
        raise PolicyError(f"context: {name} must be a number from 0 to 1")
    return Fraction(str(value))
