"""Settings of clauses and inputs of policies, with types and ranges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from incrowd_verify.errors import ParameterError, PolicyError, did_you_mean, named, quoted
from incrowd_verify.lazy import pl
from incrowd_verify.parameters import COUNT, PART, SHARE, Parameter

_MOST = 1_000
"""Most words that a list may have."""


@dataclass(frozen=True)
class Setting:
    """A setting of a check, or an input.

    Attributes
    ----------
    one
        What a value must be.
    needed
        Whether a clause has to say it.
    many
        Whether it is a list of such values.
    is_pattern
        Whether it is a regular expression.
    """

    one: Parameter
    needed: bool = False
    many: bool = False
    is_pattern: bool = False

    def refuse_wrong(self, value: object, owner: str, name: str) -> None:
        """Refuse a value.

        Parameters
        ----------
        owner, name
            Where it stands, for the message.

        Raises
        ------
        PolicyError
            It is of another type, or outside of its range.
        """
        if self.many and not (isinstance(value, list) and 0 < len(value) <= _MOST):
            raise PolicyError(f"{owner}: {name} must be a list of 1 to {_MOST:,} texts, got {quoted(value)}")
        for each in value if self.many and isinstance(value, list) else [value]:
            try:
                self.one.check(each, owner, name)
            except ParameterError as error:
                raise PolicyError(str(error)) from None
            if isinstance(each, str) and not each.strip():
                raise PolicyError(f"{owner}: {name} must not be an empty text")
            if self.is_pattern and not _is_pattern(str(each)):
                raise PolicyError(f"{owner}: {name} must be a regular expression of RE2, got {quoted(each)}")


def _is_pattern(text: str) -> bool:
    try:
        pl.Series([""]).str.contains(text)
    except pl.exceptions.PolarsError:
        return False
    return True


SIGNS = (
    "mail", "telephone", "iban", "card", "national-number", "ip", "mac", "url", "plate", "address", "date",
    "title", "name",
)  # fmt: skip
"""The signs of people in texts that `incrowd_verify.texts` looks for."""
ATTACKS = (
    "singling-out-univariate", "singling-out-multivariate", "linkability", "inference", "membership",
    "linkage", "order", "composition-by-order", "composition", "minimality",
)  # fmt: skip
"""The attacks whose success a clause may limit."""
_WORDS = Setting(Parameter(str, "words by which columns are called"), many=True)
_LEAST = Setting(COUNT, needed=True)
_PATTERN = Setting(Parameter(str, "a regular expression"), is_pattern=True)

CHECKS: Mapping[str, Mapping[str, Setting]] = {
    "absent": {
        "columns": _WORDS,
        "signs": Setting(Parameter(str, "signs of people in texts", choices=SIGNS), many=True),
        "texts": _PATTERN,
        "doubtful": _PATTERN,
        "share": Setting(SHARE),
        "in_texts": Setting(Parameter(bool, "whether longer texts are looked at")),
    },
    "years": {"columns": _WORDS},
    "oldest": {
        "columns": _WORDS,
        "births": _WORDS,
        "oldest": Setting(Parameter(int, "the last age that is told", low=0, high=150), needed=True),
    },
    "zip3": {"columns": _WORDS, "least": _LEAST},
    "unique": {"share": Setting(PART, needed=True)},
    "risk": {"least": Setting(COUNT), "risk": Setting(PART)},
    "context": {},
    "counts": {"least": _LEAST, "within_classes": Setting(Parameter(bool, "whether classes are looked at"))},
    "shares": {"share": Setting(PART, needed=True)},
    "fraction": {"largest": Setting(PART, needed=True)},
    "ends": {"least": _LEAST},
    "attack": {
        "attacks": Setting(Parameter(str, "attacks", choices=ATTACKS), needed=True, many=True),
    },
}
"""The settings of each check; `incrowd_verify.clause_checks` has the checks."""

INPUTS: Mapping[str, Setting] = {
    "year": Setting(Parameter(int, "a year", low=1900, high=2200)),
    "populous": Setting(Parameter(str, "the path of a file")),
    "risk": Setting(Parameter(float, "the largest risk", above=0, high=0.5)),
    "fraction": Setting(PART),
    "attacks": Setting(Parameter(str, "the path of a file")),
    "rate": Setting(Parameter(float, "the largest rate of success", low=0, high=0.99)),
}
"""The inputs that checks read."""


def refuse_wrong_settings(check: object, settings: Mapping[str, Any], owner: str) -> None:
    """Refuse an unknown check, and settings that are unknown, missing or wrong.

    Parameters
    ----------
    owner
        The profile and the clause, for the message.

    Raises
    ------
    PolicyError
    """
    if not isinstance(check, str) or check not in CHECKS:
        near = did_you_mean(check, CHECKS) if isinstance(check, str) else ""
        raise PolicyError(f"{owner}: there is no check {quoted(check)}; there are {', '.join(CHECKS)}{near}")
    declared = CHECKS[check]
    refuse_unknown(settings, declared, f"{owner}, check {check!r}")
    for name, each in declared.items():
        if name in settings:
            each.refuse_wrong(settings[name], owner, name)
        elif each.needed:
            raise PolicyError(f"{owner}: {name} is missing; give {each.one.describe()}")


def refuse_unknown(data: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Refuse unknown names.

    Raises
    ------
    PolicyError
    """
    listed = list(known)
    for name in data:
        if name not in listed:
            alternatives = f"there are {named(listed, 30)}" if listed else "it has none"
            raise PolicyError(
                f"{where}: there is no {quoted(name)}; {alternatives}{did_you_mean(name, listed)}"
            )
