"""The policy's treatments of columns, read a second time: an unknown treatment is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from incrowd_verify.errors import PolicyError, named

_CODING = ("limits", "instead")
_SETTINGS: dict[str, tuple[str, ...]] = {
    "pseudonym": ("key", "length", "form"),
    "format-preserving": ("key",),
    "random-numbers": (),
    "shift-dates": ("by", "key", "keep_weekday", "linked"),
    "truncate-dates": ("linked",),
    "age-at": ("over", "linked"),
    "noise": ("how", "together"),
    "rank-swap": ("by", "within"),
    "record-swap": ("together", "within"),
    "household-swap": ("together", "within"),
    "microaggregate": ("together", "within", "how"),
    "pram": ("matrix", "moves", "within"),
    "keep-first": ("keep_length", "linked"),
    "keep-last": ("keep_length", "linked"),
    "mask": ("mark", "linked"),
    "email-domain": ("linked",),
    "other": ("label", "linked"),
    "redact": (),
    "presidio": (),
    "constant": (),
    "round": ("how", "top", "bottom", "within", "linked", *_CODING),
    "top": ("bottom", "linked", *_CODING),
    "bottom": ("linked", *_CODING),
}
"""Every treatment and its settings beside the first, which its name has."""
_PERTURBING = frozenset(
    {"shift-dates", "noise", "rank-swap", "record-swap", "household-swap", "microaggregate", "pram"}
)
_KEEPING = (_PERTURBING - {"record-swap", "household-swap"}) | {"round", "top", "bottom", "truncate-dates"}
"""Those after which numbers are numbers and dates are dates, written as before."""
LINKED = "linked"
"""What a column has that goes along with a treated one."""
_HIDING = ("pseudonym", "format-preserving", "keep-first", "keep-last")
"""Those after which no raw value may be left."""


@dataclass(frozen=True)
class Treatment:
    """The policy's treatment of a column.

    Attributes
    ----------
    first
        The setting that stands at its name; True where nothing is said.
    """

    name: str
    first: Any = True
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def perturbs(self) -> bool:
        """Whether equal values may have become others, so that models judged those before."""
        return self.of in _PERTURBING or self.settings.get("how") in ("random", "controlled")

    @property
    def of(self) -> str:
        """Its name; of a linked column that of the treatment that it follows."""
        return str(self.settings["of"]) if self.name == LINKED else self.name

    @property
    def linked(self) -> tuple[str, ...]:
        """The columns that go along."""
        given = self.settings.get("linked", ())
        return tuple(given.split("+") if isinstance(given, str) else map(str, given))

    def led_by(self, lead: str) -> Treatment:
        """Return the treatment of a linked column; `first` is its lead."""
        return Treatment(LINKED, lead, {"of": self.name})

    @property
    def changes_kind(self) -> bool:
        """Whether numbers and dates have become something else."""
        return self.name not in _KEEPING and self.name != LINKED

    @property
    def hides(self) -> bool:
        """Whether no raw value of the column may be left."""
        return self.name in _HIDING


def read_treatment(entry: object, where: str) -> Treatment | None:
    """Read the setting ``treat`` of a column, or None where it has none."""
    if entry is None:
        return None
    if isinstance(entry, str):
        return _of_text(entry, where)
    if not isinstance(entry, dict):
        raise PolicyError(f"{where}: treat must be a table such as {{ round = 500 }}")
    names = [name for name in entry if name in _SETTINGS]
    fitting = [name for name in names if set(entry) - {name} <= {*_SETTINGS[name]}]
    if not fitting:
        raise PolicyError(
            f"{where}: verify does not know the treatment {named(entry, 5)}; it knows {', '.join(_SETTINGS)}"
        )
    name = fitting[0]
    return Treatment(name, entry[name], {key: value for key, value in entry.items() if key != name})


def _of_text(text: str, where: str) -> Treatment:
    name, _, rest = text.partition(":")
    if name.strip() not in _SETTINGS:
        raise PolicyError(f"{where}: verify does not know the treatment {name[:40]!r}")
    first: Any = True
    settings: dict[str, Any] = {}
    # A constant 5 is a text, too.
    read = _unquoted if name.strip() in ("constant", "mask") else _plain
    for place, part in enumerate(_split(rest) if rest else ()):
        key, equals, value = part.partition("=")
        if equals and key.strip() in _SETTINGS[name.strip()]:
            settings[key.strip()] = read(value)
        elif place == 0:
            named_first = equals and not part.lstrip().startswith('"')
            first = read(value if named_first else part)
        else:
            raise PolicyError(f"{where}: verify does not know the setting {key[:40]!r} of {name.strip()}")
    return Treatment(name.strip(), first, settings)


_PART = re.compile(r'(?:[^,="]*=)?\s*"(?:[^"]|"")*"\s*(?=,|$)|[^,]*')


def _split(text: str) -> list[str]:
    """Split at commas that stand in no quotes; a quote begins a value, and is written twice within."""
    parts, place = [], 0
    while place <= len(text):
        match = _PART.match(text, place)
        assert match is not None
        parts.append(match.group())
        place = match.end() + 1
    return parts


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1].replace('""', '"') if text.startswith('"') else text


def _plain(text: str) -> Any:
    return _value(_unquoted(text))


def _value(text: str) -> Any:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)
