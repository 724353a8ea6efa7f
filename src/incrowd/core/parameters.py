"""Parameters declared once, and the registries of entries with parameters.

A parameter of a privacy model, a metric or an algorithm is declared as a dataclass field with
`parameter`. That one declaration checks the value, words the error and fills ``--help``, the policy
file and the docs.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, ParamSpec, Self, TypeVar

from incrowd.core.errors import ParameterError, PolicyError, did_you_mean, quoted
from incrowd_gate.parameters import COUNT, EPSILON, PART, SEED, SHARE, Parameter

__all__ = [
    "COUNT",
    "EPSILON",
    "PART",
    "SEED",
    "SHARE",
    "Configured",
    "Parameter",
    "Registry",
    "check_fields",
    "parameter",
    "text_parts",
    "with_keyword_hints",
]

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
    """Return a function that names the right keyword where a call has an unknown keyword.

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


def check_fields(owner: object, title: str) -> None:
    """Check the declared fields of a dataclass, and convert each to the declared type.

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
    """Base of every registered entry: a frozen dataclass with declared parameters as fields.

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
        """Write the entry with only the parameters that are not the default."""
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
        if group is None:
            return cls(what, *own)
        from incrowd.core.plugins import plugin_classes

        return cls(what, *own, *plugin_classes(group, base, own, lambda each: {each.name}))

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


S = TypeVar("S")
R = TypeVar("R")


class Measured(Mapping[str, R], Generic[E, S, R]):
    """Results by the name of the entry, in the order of the entries.

    None is found before it is read. Then the source is let go when nothing is left to measure. A copy, or a
    pickle, has all results and no source, because that is the table in short.

    Parameters
    ----------
    entries
        What is measured, as metrics or risk models.
    source
        What it is measured of; it may not change any more.
    """

    def __init__(self, entries: Iterable[E], source: S) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._source: S | None = source
        self._found: dict[str, R] = {}

    @abstractmethod
    def _measure(self, entry: E, source: S) -> R:
        """Compute the result of an entry."""

    def __getitem__(self, name: str) -> R:
        # Before it is asked what was found: another thread may find the last result meanwhile.
        source = self._source
        entry = self._entries[name]
        if name not in self._found:
            assert source is not None, "the source is kept until all is measured"
            self._found[name] = self._measure(entry, source)
            if len(self._found) == len(self._entries):
                self._source = None
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getstate__(self) -> dict[str, Any]:
        return {"_entries": self._entries, "_source": None, "_found": dict(self)}
