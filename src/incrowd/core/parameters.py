"""Parameters declared once, and the registries whose entries carry them.

A parameter of a privacy model, a metric or an algorithm is declared as a dataclass field with
`parameter`. That one declaration checks the value, words the error and fills ``--help``, the policy
file and the docs.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, ParamSpec, Self, SupportsIndex, TypeVar

from incrowd.core.errors import ParameterError, PolicyError, did_you_mean, quoted

_BEYOND = 2**128
"""Numbers from here on, of up to thousands of digits, are slips; seeds and limits of 2^64 are not."""

_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


_KEYWORDS = {
    "k": ("models", "models=[ic.KAnonymity({})]"),
    "l": ("models", "models=[ic.LDiversity({})]"),
    "t": ("models", "models=[ic.TCloseness({})]"),
    "model": ("models", "models=[...]"),
    **dict.fromkeys(
        ("qi", "qis", "quasi", "quasi_identifiers", "sensitive", "sensitive_attributes", "identifying",
         "insensitive", "person", "hierarchies", "unlisted", "null_values", "treatments"),
        ("schema", "schema=ic.Schema(quasi=[...], sensitive=[...])"),
    ),
    "policy": ("schema", "schema=ic.Policy.read(FILE)"),
    "suppression": ("max_suppression", "max_suppression"),
}  # fmt: skip
"""Keywords that other tools have: the parameter that takes the same here, and how it is written."""
_P = ParamSpec("_P")
_R = TypeVar("_R")


def with_keyword_hints(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function that names the right keyword where a call has one that it lacks.

    Examples
    --------
    >>> import incrowd as ic
    >>> ic.anonymize({}, k=5)
    Traceback (most recent call last):
    ...
    TypeError: anonymize() has no keyword 'k'; write models=[ic.KAnonymity(5)]
    """
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        for name, value in kwargs.items():
            if name not in known:
                raise TypeError(
                    f"{_title(function)} has no keyword {quoted(name)}{_hint(name, value, known)}"
                )
        return function(*args, **kwargs)

    return call


def _title(function: Callable[..., object]) -> str:
    return f"{function.__qualname__.removesuffix('.__init__')}()"


def _hint(name: str, value: object, known: Iterable[str]) -> str:
    """Say how a keyword is written that a function lacks."""
    own = (("quasi", "quasi=[...]"),) if name.startswith(("qi", "quasi")) else ()
    for taking, written in (*((_KEYWORDS[name],) if name in _KEYWORDS else ()), *own):
        if taking in known:
            # Only a number is a limit; anything else may be a table's.
            shown = value if isinstance(value, int | float) else "..."
            return f"; write {written.format(shown)}"
    return did_you_mean(name, known)


@dataclasses.dataclass(frozen=True, slots=True)
class Parameter:
    """One declared parameter.

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

        Raises
        ------
        ParameterError
            When it is of another type or outside the allowed range.
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
        """Return the field of a dataclass that has this parameter; an optional one is None by default."""
        if self.optional and default is dataclasses.MISSING:
            default = None
        return dataclasses.field(default=default, metadata={"parameter": self})

    def within(self, low: float | None = None, high: float | None = None) -> Parameter:
        """Return the parameter with other bounds, as where the table sets them."""
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


def check_fields(owner: object, title: str) -> None:
    """Check the declared fields of a dataclass, and give each its declared type.

    Raises
    ------
    ParameterError
        Which begins with `title` and names the field.
    """
    for field in dataclasses.fields(owner):  # type: ignore[arg-type]
        declared = field.metadata.get("parameter")
        if declared is not None:
            value = declared.check(getattr(owner, field.name), title, field.name)
            object.__setattr__(owner, field.name, value)


def parameter(
    meaning: str,
    *,
    kind: type,
    default: Any = dataclasses.MISSING,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    optional: bool = False,
    above: float | None = None,
) -> Any:
    """Declare a parameter of a `Configured` class; see `Parameter` for the fields."""
    return Parameter(kind, meaning, low, high, choices, optional, above).field(default)


@dataclasses.dataclass(frozen=True)
class Configured:
    """Base of every registered entry: a frozen dataclass whose fields are declared parameters.

    Attributes
    ----------
    name
        The entry's name in policies, on the command line and in reports.
    summary
        One line that says what it is.
    paper
        Where its definition comes from.
    """

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    paper: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_fields(self, self.name)

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Return the declared parameters by name, in order."""
        return {field.name: field.metadata["parameter"] for field in dataclasses.fields(cls)}

    @classmethod
    def needed(cls) -> list[str]:
        """Return the names of the parameters that have no default."""
        return [field.name for field in dataclasses.fields(cls) if field.default is dataclasses.MISSING]

    def settings(self) -> dict[str, Any]:
        """Return the parameter values by name, without None and without truth values that are the default."""
        values = {field: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {
            field.name: value
            for field, value in values.items()
            if value is not None and not (isinstance(value, bool) and value == field.default)
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Make an entry from values by name.

        Raises
        ------
        ParameterError
            For an unknown, missing or wrong parameter.
        """
        known = cls.parameters()
        for name in settings:
            if name not in known:
                raise ParameterError(
                    f"{cls.name}: unknown parameter {quoted(name)}; it has {', '.join(known) or 'none'}"
                    + did_you_mean(name, known)
                )
        for name in cls.needed():
            if name not in settings:
                raise ParameterError(f"{cls.name}: {name} is missing; give {known[name].describe()}")
        return cls(**settings)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read ``value,name=value,...`` as written on a command line; the first name may be left out.

        A value in double quotes may hold commas, as in a CSV: ``"[0-9,]",mark=x``.
        """
        known = cls.parameters()
        settings: dict[str, Any] = {}
        for position, (given, value) in enumerate(text_parts(text, cls.name) if text else ()):
            name = given
            if name is None:
                if position or not known:
                    raise ParameterError(f"{cls.name}: write parameters as name=value")
                name = next(iter(known))
            if name in known:
                settings[name] = known[name].parse(value, cls.name, name)
            else:
                settings[name] = value
        return cls.from_settings(settings)

    def __str__(self) -> str:
        return self._written(self.settings())

    def brief(self) -> str:
        """Write the entry with those parameters alone that are not the default."""
        usual = {field.name: field.default for field in dataclasses.fields(self)}
        return self._written({name: x for name, x in self.settings().items() if x != usual[name]})

    def _written(self, settings: Mapping[str, Any]) -> str:
        inner = ", ".join(f"{name}={value}" for name, value in settings.items())
        return f"{self.name}({inner})" if inner else self.name


_PART = re.compile(
    r"""(?:([^=,"]*)=)?\s*"((?:[^"]|"")*)"\s*(?:,|$)   # a value in quotes, with a name or without
      | ([^,]*)(?:,|$)                                # any other part""",
    re.VERBOSE,
)


def text_parts(text: str, owner: str) -> Iterator[tuple[str | None, str]]:
    """Part ``value,name=value`` into names, None where there is none, and values; quotes hold commas."""
    place, ended = 0, False
    while not ended:
        found = _PART.match(text, place)
        assert found is not None
        name, quote, plain = found.groups()
        if quote is None:
            before, equals, after = plain.partition("=")
            name, value = (before, after.strip()) if equals else (None, plain.strip())
            if value.startswith('"'):
                raise ParameterError(
                    f"{owner}: a value that begins with a quote ends with one, and a quote in it is written "
                    'twice, as "a ""b"", c"'
                )
        else:
            value = quote.replace('""', '"')
        yield name if name is None else name.strip(), value
        place, ended = found.end(), not found.group().endswith(",")


E = TypeVar("E", bound=Configured)


class Registry(Generic[E]):
    """The list of a package's entries, by name.

    Parameters
    ----------
    what
        The plural noun for errors, e.g. ``privacy models``.
    entries
        The classes, in the order in which they are listed.
    """

    def __init__(self, what: str, *entries: type[E]) -> None:
        self.what = what
        self._entries = {entry.name: entry for entry in entries}

    @classmethod
    def of_imports(
        cls, what: str, base: type, namespace: Mapping[str, object], group: str | None = None
    ) -> Registry[E]:
        """Register every entry that a module imports, in the order of the imports.

        Parameters
        ----------
        what
            The plural noun for errors.
        base
            What the entries derive from; a class without a name is a base itself and no entry.
        namespace
            The module's ``globals()``.
        group
            The entry points by which other packages add entries; see `incrowd.core.plugins`.
        """
        classes: list[Any] = [x for x in namespace.values() if isinstance(x, type) and issubclass(x, base)]
        own = [each for each in classes if each.name]
        from incrowd.core.plugins import plugin_classes

        more = () if group is None else plugin_classes(group, base, own, lambda each: {each.name})
        return cls(what, *own, *more)

    def __iter__(self) -> Iterator[type[E]]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def names(self) -> list[str]:
        """Return the names in order."""
        return list(self._entries)

    def get(self, name: str) -> type[E]:
        """Return the entry of that name.

        Raises
        ------
        PolicyError
            When there is none; the message lists the known names.
        """
        try:
            return self._entries[name]
        except KeyError:
            raise PolicyError(
                f"no {quoted(name)} among the {self.what}: {', '.join(self._entries)}"
                + did_you_mean(name, self._entries)
            ) from None

    def parse(self, text: str) -> E:
        """Read ``name``, ``name:value`` or ``name:parameter=value,...``."""
        name, _, rest = text.partition(":")
        return self.get(name.strip()).from_text(rest.strip())
