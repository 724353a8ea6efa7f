"""The rules of count tables: the rules of a policy, and the rules that a folder was made by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from incrowd_gate.errors import PolicyError, TableError, did_you_mean, named
from incrowd_gate.points import Point
from incrowd_verify.count_tables.key_tables import KeyTable, of_setting
from incrowd_verify.policy import Column, Nulls, read_columns, read_toml

_DEFAULTS: dict[str, Any] = {
    "name": None, "rows": [], "columns": [], "count": "people", "sum": None, "threshold": 5,
    "dominance": None, "p_percent": None, "zeros": "show", "protect": "suppress", "cost": "people",
    "width": None, "base": None, "rounding": "controlled", "deviation": 5, "variance": 3.0, "key_table": None,
    "key": None, "hidden": [], "never_secondary": [], "waived": [],
}  # fmt: skip
"""Every setting of a table; None where there is none, or where it is the threshold."""
_OF_WAY = {
    "suppress": ("width",),
    "round": ("base", "rounding"),
    "cell-key": ("key_table", "deviation", "variance"),
}
"""The settings of each way of protection."""
_SAYS_NUMBER = re.compile(r"\d|[<>\u2264\u2265]|^-?(nan|inf|infinity)$", re.IGNORECASE)
"""What a label may not have."""
_RULE = re.compile(r"([0-9]{1,3})-([1-9][0-9]{0,2})")
_COMPARED = ("rows", "columns", "sum", "threshold", "dominance", "p_percent", "zeros", "protect", "waived")


@dataclass(frozen=True)
class Rules:
    """The rules of a table.

    - `settings`: every setting, those left out by their default.
    - `key_table`: the key table of an office that a policy names, if any.
    """

    settings: Mapping[str, Any]
    key_table: KeyTable | None = None

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any]) -> Rules:
        """Read the rules of an entry of a manifest or of a policy.

        Raises `TableError`: a setting has another type or range than any table.
        """
        settings = {name: entry.get(name, default) for name, default in _DEFAULTS.items()}
        for side in ("rows", "columns"):
            given = settings[side]
            settings[side] = [given] if isinstance(given, str) else given
        for name in ("width", "base"):
            settings[name] = settings["threshold"] if settings[name] is None else settings[name]
        name = settings["name"]
        if not isinstance(name, str) or not name:
            raise TableError("tables: a table has no name")
        dominance = settings["dominance"]
        for setting, fits in (
            ("rows", _are_texts(settings["rows"])),
            ("columns", _are_texts(settings["columns"])),
            ("sum", settings["sum"] is None or isinstance(settings["sum"], str)),
            ("count", settings["count"] in ("people", "records")),
            ("zeros", settings["zeros"] in ("show", "hide")),
            ("protect", settings["protect"] in _OF_WAY),
            ("rounding", settings["rounding"] in ("controlled", "random", "small", "midpoint")),
            ("key_table", settings["key_table"] is None or _is_key_table(settings["key_table"])),
            ("p_percent", settings["p_percent"] is None or _is_number(settings["p_percent"])),
            *((each, _are_cells(settings[each])) for each in ("hidden", "never_secondary", "waived")),
            ("variance", _is_number(settings["variance"])),
            ("dominance", dominance is None or _is_dominance(dominance)),
            *((each, type(settings[each]) is int and settings[each] > 0)
              for each in ("threshold", "width", "base", "deviation")),
        ):  # fmt: skip
            if not fits:
                raise TableError(f"table {name}: its {setting} is none that a table can have")
        return cls(settings)

    def __getitem__(self, name: str) -> Any:
        """Return a setting."""
        return self.settings[name]

    @property
    def name(self) -> str:
        """The name of the table."""
        return str(self["name"])

    @property
    def dimensions(self) -> list[tuple[str, int]]:
        """The columns of rows and columns, each with the number of finest levels that are left out."""
        pairs = []
        for text in (*self["rows"], *self["columns"]):
            column, sign, level = text.rpartition(":")
            pairs.append((column, int(level)) if sign and level.isdigit() else (text, 0))
        return pairs

    @property
    def rank(self) -> int:
        """How many of the largest parts of each sum the rules ask for."""
        return max(2, int((self["dominance"] or [2])[0]))

    def differences(self, other: Rules) -> list[str]:
        """Return the settings in which another table is made in another way."""
        compared = [*_COMPARED, *_OF_WAY[self["protect"]]]
        if threshold_and_base(self["key_table"]) is not None:
            # A rule says all.
            compared = [*_COMPARED, "key_table"]
        compared += ["count"] if self["sum"] is None else []
        return [name for name in compared if self[name] != other[name]]


def threshold_and_base(key_table: Any) -> tuple[int, int] | None:
    """Return the numbers of a rule such as ``10-5``: lower counts are 0, others multiples; else None."""
    rule = _RULE.fullmatch(key_table) if isinstance(key_table, str) else None
    return (int(rule[1]), int(rule[2])) if rule else None


def label_of(entry: Mapping[str, Any]) -> str | None:
    """Return the label in place of hidden values by an entry of a manifest; None where there is none.

    Raises `TableError`: it says a number, so that a value of a file may be taken for it, or it bounds cells.
    """
    label = entry.get("label")
    if label is None:
        return None
    if not isinstance(label, str) or not label.strip() or _SAYS_NUMBER.search(label):
        raise TableError(
            f"table {entry.get('name')}: its label is none that hides a value; it may say no number"
        )
    return label


def _is_key_table(given: Any) -> bool:
    is_file = isinstance(given, str) and re.fullmatch("sha256:[0-9a-f]{64}", given) is not None
    return is_file or threshold_and_base(given) is not None


def _are_texts(texts: Any) -> bool:
    return isinstance(texts, list) and all(isinstance(text, str) for text in texts)


def _are_cells(entries: Any) -> bool:
    return isinstance(entries, list) and all(
        isinstance(each, dict) and all(isinstance(text, str) for text in each.values()) for each in entries
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _is_dominance(rule: Any) -> bool:
    whole = isinstance(rule, list) and len(rule) == 2 and type(rule[0]) is int and rule[0] > 0
    return whole and _is_number(rule[1]) and rule[1] <= 1


@dataclass(frozen=True)
class TablePolicy:
    """The part of a policy about count tables, which count values as before any treatment."""

    columns: tuple[Column, ...]
    null_values: Nulls
    tables: tuple[Rules, ...]


def read_table_policy(path: Path) -> TablePolicy:
    """Read the columns and the tables of a policy file, which needs no model.

    Raises `PolicyError`: the file cannot be read, contradicts itself, or has no tables.
    """
    data = read_toml(path)
    columns = data.get("columns")
    if isinstance(columns, dict):
        untreated = {
            name: {key: value for key, value in entry.items() if key != "treat"}
            if isinstance(entry, dict)
            else entry
            for name, entry in columns.items()
        }
        data = {**data, "columns": untreated}
    try:
        return TablePolicy(*read_columns(data, path.parent), tuple(_tables(data.get("tables"))))
    except (PolicyError, TableError) as error:
        raise PolicyError(f"{path}: {error}") from None


def _tables(entries: Any) -> Iterator[Rules]:
    if not isinstance(entries, list) or not entries or not all(isinstance(each, dict) for each in entries):
        raise PolicyError("names no tables: add [[tables]] with a name, rows and columns")
    for entry in entries:
        unknown = [name for name in entry if name not in _DEFAULTS]
        if unknown:
            raise PolicyError(
                f"tables: verify does not know {named(unknown, 5)}; it knows {', '.join(_DEFAULTS)}"
                f"{did_you_mean(unknown[0], _DEFAULTS)}"
            )
        settings, key_table = dict(entry), of_setting(entry.get("key_table"))
        if key_table is not None:
            settings |= {"key_table": f"sha256:{key_table.digest}", "deviation": key_table.deviation}
        yield replace(Rules.of_entry(settings), key_table=key_table)


def compare_rules(published: Sequence[Rules], asked: Sequence[Rules]) -> list[Point]:
    """Return the points of tables that are missing, unasked for, or made by other rules."""
    there, wanted = ({each.name: each for each in rules} for rules in (published, asked))
    sentences = [
        f"Table {name} of the policy is not in the folder." for name in wanted if name not in there
    ] + [f"Table {name} is in the folder, and the policy has none of this name." for name in there
         if name not in wanted]  # fmt: skip
    for name, rules in wanted.items():
        if name in there and (others := rules.differences(there[name])):
            sentences.append(f"Table {name} is made by other rules than the policy's: {', '.join(others)}.")
    return [
        Point("conformity", (), None, text, "Make the tables anew with this policy.") for text in sentences
    ]
