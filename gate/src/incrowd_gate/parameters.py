"""A parameter that is declared once: type, range and meaning."""

from __future__ import annotations

import dataclasses
import math
import operator
from typing import Any, SupportsIndex

from incrowd_gate.errors import ParameterError, did_you_mean, quoted

_BEYOND = 2**128
"""Numbers from here on, of up to thousands of digits, are slips; seeds and limits of 2^64 are not."""

_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


@dataclasses.dataclass(frozen=True, slots=True)
class Parameter:
    """A declared parameter.

    Attributes
    ----------
    kind
        ``int``, ``float``, ``str`` or ``bool``.
    meaning
        One line for ``--help``, docs and forms.
    low, high
        Allowed range, both ends included; None where open.
    choices
        The allowed texts, where only some are.
    optional
        Whether None is allowed.
    above
        What the value must be larger than; None where there is nothing.
    """

    kind: type
    meaning: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    optional: bool = False
    above: float | None = None

    def describe(self) -> str:
        """Describe the allowed values, e.g. ``a whole number of at least 1``."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        words = _WORDS[self.kind]
        if self.above is not None:
            most = "" if self.high is None else f" and at most {self.high:g}"
            return f"{words} above {self.above:g}{most}"
        if self.low is not None and self.high is not None:
            return f"{words} between {self.low:g} and {self.high:g}"
        if self.low is not None:
            return f"{words} of at least {self.low:g}"
        if self.high is not None:
            return f"{words} of at most {self.high:g}"
        return words

    def check(self, value: object, owner: str, name: str) -> Any:
        """Return `value` as the declared type.

        Raises `ParameterError`: it is of another type or outside the allowed range.
        """
        if value is None and self.optional:
            return None

        def wrong(most: str = "") -> ParameterError:
            return ParameterError(f"{owner}: {name} must be {self.describe()}{most}, got {quoted(value)}")

        # Most values are plain; to ask for a protocol takes longer than the rest.
        if not isinstance(value, int | float | str) and isinstance(value, SupportsIndex):
            value = operator.index(value)  # NumPy's
        # A whole number is a number, too, and stays one: l=2 is not written l=2.0.
        fits = isinstance(value, int | float) if self.kind is float else isinstance(value, self.kind)
        if not fits or (self.kind is not bool and isinstance(value, bool)):
            raise wrong()
        if isinstance(value, float) and not math.isfinite(value):
            raise wrong()
        if isinstance(value, int | float) and not isinstance(value, bool):
            if abs(value) >= _BEYOND:
                raise wrong(" below 2^128")
            if self.low is not None and value < self.low:
                raise wrong()
            if self.above is not None and value <= self.above:
                raise wrong()
            if self.high is not None and value > self.high:
                raise wrong()
        if self.choices and value not in self.choices:
            raise ParameterError(f"{wrong()}{did_you_mean(value, self.choices)}")
        return value

    def parse(self, text: str, owner: str, name: str) -> Any:
        """Read a value written on a command line; the error is that of `check`."""
        value: object = text
        try:
            if self.kind is int:
                value = int(text)
            elif self.kind is float:
                value = int(text) if text.lstrip("+-").isdecimal() else float(text)
            elif self.kind is bool:
                value = {"true": True, "false": False}.get(text.lower(), text)
        except ValueError:
            pass
        return self.check(value, owner, name)

    def field(self, default: Any = dataclasses.MISSING) -> Any:
        """Return the field of a dataclass with the parameter; an optional parameter is None by default."""
        if self.optional and default is dataclasses.MISSING:
            default = None
        return dataclasses.field(default=default, metadata={"parameter": self})

    def within(self, low: float | None = None, high: float | None = None) -> Parameter:
        """Return the parameter with other bounds, such as bounds from the table."""
        return dataclasses.replace(self, low=low, high=high)


SEED = Parameter(int, "seed of random choices", low=0)
"""A seed."""
SHARE = Parameter(float, "a share", low=0, high=1)
"""A share that may be nothing."""
PART = Parameter(float, "a share", above=0, high=1)
"""A share that is something."""
COUNT = Parameter(int, "how many", low=1)
"""How many of something there are."""
EPSILON = Parameter(float, "privacy loss of a record's value", above=0)
"""What a differentially private mechanism may lose."""
