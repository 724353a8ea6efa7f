"""Random cases: a table, hierarchies, a policy and where the rows are, as plain data that JSON can hold."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

from fuzz.crowds import ABOUT, ALIKE, draw_attackers, give_persons, has_persons, null_person, rows_of_people
from fuzz.oracle import Spelling
from incrowd.core.parameters import Parameter
from incrowd.measures.privacy import MODELS, SensitiveModel

Case = dict[str, Any]

NASTY_NAMES = [
    "^.*$", "^name$", "*", "a.b", "a b ", " lead", 'q"uote', "it's", "count", "len", "index", "key0", "row", "Name", "NAME",
    "literal", "é", "e\u0301", "a,b", "x;y", "{z}", "[w]", "SELECT", "weight", "__index_level_0__", "a\nb", "\u202eb", "group",
]  # fmt: skip
NASTY_TEXTS = [
    "*", "{a, b}", "{a}", "[1, 2]", "[1-5]", "1~5", "\u202eabc", "caf\u00e9", "cafe\u0301", 'say "hi"', "line\nbreak", "a,b", "a;b",
    "", " x", "x ", "x", "=1+1", "+5", "-x", "@y", "None", "NA", "nan", "NaN", "null", "01", "1e3", "-0", "\t", "a\\,b", "{", "}", "\\",
    "missing", "<missing>", "\\<missing>", "'", "?", "\0missing", "\0", "\ufeffbom", "\u200b", "\r\n",
]  # fmt: skip
LETTERS = ["a", "b", "c", "d", "e", "f", "g"]
LONG = [f"{'long ' * 30}{letter}" for letter in ("a", "A", "b", "b ")]
"""Texts that differ after 150 letters."""
LIKE_NUMBERS = ["1", "1.0", "01", "x", "2", "2.00", "[1-2]", "{1, x}"]
"""Texts of which some are equal as numbers, and look like cells of numbers."""
TOO_HIGH = 390
"""A level above the height of every hierarchy."""
WORDS = ["flu", "cold", "gout", "HIV", "asthma"]
TYPED_NULLS = {
    "int": ["99", "-1", "0"], "float": ["99", "-1", "99.0", "0"], "date": ["1900-01-01", "9999-12-31"],
    "datetime": ["1900-01-01"], "text": ["?", "NA", "", "99", "missing", "{a}"], "numeric": ["-1", "99"], "day": ["1900-01-01"],
    "decimal": ["99", "-1"], "bool": ["true"], "category": ["?"], "int32": ["99", "-1"],
    "amount": ["?", "-1", "99", "1234.5"], "stamp": ["?", "1900-01-01", "2020-03-05"], "daynumber": ["19000101"],
}  # fmt: skip
NULL_KINDS = tuple(TYPED_NULLS)

POOLS: dict[str, list[list[str]]] = {
    "int": [
        [str(n) for n in range(8)], [str(n) for n in range(0, 100, 7)], ["-1", "99", "0", "1", "2", "34"],
        ["9007199254740992", "9007199254740993", "9007199254740994", "-9007199254740993"],
    ],
    "int32": [[str(n) for n in range(20, 60, 4)], ["-1", "99", "5", "7"]],
    "float": [
        ["0.5", "1.5", "2.5", "3.25"], ["0.0", "-0.0", "nan", "1.5", "-2.0"], ["1e300", "-1e300", "1e-7", "0.1"],
        ["99.0", "-1.0", "0.1", "0.2", "0.30000000000000004"], ["9007199254740992.0", "9007199254740994.0", "1.0"],
        ["inf", "1.0", "2.0", "-inf"],
    ],
    "decimal": [["1.10", "-3.00", "2.25", "99.00"], ["12345678901234567890.12", "12345678901234567890.13", "0.00"]],
    "date": [[f"20{y:02d}-{m:02d}-15" for y in range(3) for m in (1, 2, 7)], ["1900-01-01", "9999-12-31", "2000-02-29", "2001-03-01"]],
    "datetime": [
        ["2020-01-01T00:00:00", "2020-01-02T00:00:00", "2021-06-05T00:00:00", "1900-01-01T00:00:00"],
        ["2020-01-01T05:00:00", "2020-01-01T05:00:00.000001", "2020-03-29T02:30:00", "1900-01-01T00:00:00"],
    ],
    "bool": [["true", "false"]],
    "text": [LETTERS, LETTERS[:3], WORDS, NASTY_TEXTS, LIKE_NUMBERS, ALIKE, LONG],
    "category": [LETTERS, ["u", "v", "?"]],
    "numeric": [
        [str(n) for n in range(9)], ["1", "1.0", "2", "2.00", "3", "-1", "99"],
        ["9007199254740992", "9007199254740993", "9007199254740994"],
        ["0.1000000000000000000001", "0.1000000000000000000002", "0.1", "1"],
        ["0", "-0", "0.0", "-0.0", "5"],
    ],
    "day": [["2020-01-01", "2020-01-02", "2020-02-28", "2021-12-31", "1900-01-01"]],
    "zip": [["02139", "02138", "02141", "10001", "10002", "94110"], ["1", "12", "123", "2", "21"]],
}  # fmt: skip
"""Cells by type; numeric, day and zip are texts."""

SPELLED: dict[str, list[tuple[dict[str, str], list[str]]]] = {
    "amount": [
        ({"decimal": ","}, ["1,5", "1,50", "+2,25", "-3,0", "10", "0,99", "99", "-1,0"]),
        ({"decimal": ",", "thousands": "."}, ["1.234,5", "1234,5", "999", "2.000.000,00", "-1", "99,0"]),
        ({"thousands": ","}, ["$1,234.50", "$1234.5", "-$7", "$1,000,000", "$ 5"]),
        ({"decimal": ",", "thousands": " "}, ["1 234,5", "1\u00a0234,50", "12\u202f345", "7"]),
        ({"thousands": "."}, ["1.234", "27.500", "954", "3.434.830", "-2.000", "99"]),
        ({"decimal": "."}, ["1.234", "27.500", "954", "-2.000", "99"]),
        ({"thousands": "."}, ["45.000 TL", "954TL", "1.250 TL", "99 TL"]),
        ({"thousands": "'"}, ["1'234.5", "1\u2019234", "-99", "99.0"]),
        ({"decimal": ","}, ["5 %", "7,5 %", "7,50%", "\u22121,0 %", "99%"]),
        ({"decimal": "."}, ["12 EUR", "12.0EUR", "1.5 EUR", "007 EUR"]),
        ({"thousands": ","}, ["9,007,199,254,740,992", "9,007,199,254,740,993", "0.1000000000000000000001", "0.1"]),
    ],
    "stamp": [
        ({"format": "%d.%m.%Y"}, ["05.03.2020", "5.3.2020", "29.02.2020", "01.01.1900", "31.12.9999", "06.03.2020"]),
        ({"format": "%m/%d/%y"}, ["03/05/68", "03/05/69", "12/31/99", "3/5/20", "01/01/00"]),
        ({"format": "%Y-%m-%d %H:%M:%S"}, ["2020-03-05 00:05:00", "2020-03-05 00:00:00", "2020-03-06 23:59:59"]),
        ({"format": "%Y-%m-%d %H:%M:%S"}, ["2020-03-05 00:00:00", "2020-3-5 0:0:0", "1900-01-01 00:00:00"]),
        ({"format": "%d %b %Y"}, ["05 Jan 2020", "5 jan 2020", "29 Feb 2020", "31 Dec 1999"]),
        ({"format": "%B %d, %Y"}, ["March 5, 2020", "March 05, 2020", "May 1, 2021"]),
        ({"format": "%Y-%m-%dT%H:%M:%S.%fZ"}, ["2020-03-05T01:02:03.5Z", "2020-03-05T01:02:03.500000Z", "2020-03-05T01:02:03.000001Z"]),
        ({"format": "%d/%m/%Y %I:%M %p"}, ["05/03/2020 12:00 AM", "05/03/2020 01:30 PM", "06/03/2020 1:30 pm"]),
        ({"format": "%m/%Y"}, ["03/2020", "3/2020", "12/2019"]), ({"format": "%Y%j"}, ["2020065", "2020366", "2019001"]),
    ],
    "daynumber": [({"format": "%Y%m%d"}, ["20200305", "20200306", "20201231", "19000101", "99991231"])],
}  # fmt: skip
"""Spellings and cells of columns that declare one; days as whole numbers are stored as such."""

TEXTUAL = ("text", "numeric", "day", "zip", "amount", "stamp")
"""Types of columns that are texts."""
CHARS = 30
"""Characters of texts that a database fills up with blanks."""
PARTITIONED = ("folder-partitions",)
FRAMES = ("polars", "pandas", "pandas-arrow", "pyarrow")
FILES = ("csv", "csv-semicolon", "csv-tab", "csv-pipe", "csv-latin1", "csv-utf16", "csv-gz", "parquet")
STREAMS = ("polars-lazy", "folder-csv", "folder-parquet", *PARTITIONED)
SERVERS = ("spark", "postgresql", "mysql")
"""Sources that are sessions of a server, which a process may lack."""
DATABASES = ("sqlite", "duckdb", "relation", *SERVERS)
CASELESS = ("sqlite", "duckdb", "relation", "mysql")
"""Where two columns cannot have names that differ by case alone."""
SOURCES = (*FRAMES, *FILES, *STREAMS, *DATABASES)
IN_MEMORY = (*FRAMES, *FILES)
ORDERED = (*IN_MEMORY, *STREAMS)
LISTED = 1000
"""A limit of listed values that no case meets."""
WILDCARDS = ("value", "matches-any", "conservative")
BATCHES = ("alone", "beside", "as one", "some wait", "all wait", "held before")
"""What becomes of batches."""
SERIES = ("three releases", "counterfeits")
"""What becomes of a series of releases."""
PERTURBING: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "pram": (("text", "category", "zip"), ["pram:0.5", "pram:0.8", "pram:0.97", "pram:0.3,matrix=uniform"]),
    "rank-swap": (("int", "int32"), ["rank-swap:0.1", "rank-swap:0.5"]),
    "record-swap": (
        ("int", "int32", "text", "category", "bool", "date"),
        ["record-swap:0.3", "record-swap:1"],
    ),
    "round": (("int", "int32"), ["round:3,how=random", "round:50,how=random", "round:10,how=controlled"]),
    "noise": (("int", "int32"), ["noise:0.2", "noise:1"]),
    "microaggregate": (("int", "int32"), ["microaggregate:2"]),
}
"""Treatments that perturb a sensitive column: the types that they are drawn for, and settings."""


@dataclass(frozen=True)
class Stored:
    """A type of a database in which a column may be held.

    Attributes
    ----------
    sql
        How it is written.
    types
        Of columns that may be held so.
    longest
        How many characters a text may have.
    encoding
        In which texts have to be written.
    blanks
        Whether texts keep the blanks at their end.
    years
        The first and the last year, of points of time.
    """

    sql: str
    types: tuple[str, ...] = TEXTUAL
    longest: int = 10_000
    encoding: str = "utf-8"
    blanks: bool = True
    years: tuple[int, int] = (1, 9999)

    def holds(self, column: dict[str, Any]) -> bool:
        cells = [cell for what in ("cells", "people") for cell in column.get(what, []) if cell is not None]
        if column["type"] not in self.types or ("people" in column and not self.blanks):
            return False
        if column["type"] == "datetime":
            return all(self.years[0] <= int(cell[:4]) <= self.years[1] for cell in cells)
        if self.sql == "ENUM" and not (cells and all(cell and cell == cell.strip() for cell in cells)):
            return False
        fits = all(cell == cell.encode(self.encoding, "ignore").decode(self.encoding) for cell in cells)
        return fits and max(map(len, cells), default=0) <= self.longest and "\0" not in "".join(cells)


STORED: dict[str, dict[str, Stored]] = {
    "postgresql": {
        "varchar": Stored("varchar(60)", longest=60), "char": Stored(f"char({CHARS})", longest=CHARS, blanks=False),
        "caseless": Stored('text COLLATE "fuzz caseless"'), "enum": Stored("ENUM", longest=15),
        "zoned": Stored("timestamptz", ("datetime",)), "domain": Stored('"fuzz domain"'),
    },
    "mysql": {
        "varchar": Stored("VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", longest=60),
        "nopad": Stored("VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_nopad_ci", longest=60),
        "char": Stored(f"CHAR({CHARS}) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", longest=CHARS, blanks=False),
        "latin": Stored("VARCHAR(60) CHARACTER SET latin1", longest=60, encoding="latin-1"),
        "enum": Stored("ENUM", longest=30), "point": Stored("TIMESTAMP(6)", ("datetime",), years=(1971, 2037)),
    },
    "duckdb": {
        "caseless": Stored("VARCHAR COLLATE NOCASE.NOACCENT"), "enum": Stored("ENUM"),
        "zoned": Stored("TIMESTAMPTZ", ("datetime",)), "huge": Stored("HUGEINT", ("int",)),
    },
    "sqlite": {"caseless": Stored("TEXT COLLATE NOCASE"), "unpadded": Stored("VARCHAR(10) COLLATE RTRIM")},
    "spark": {
        "caseless": Stored("STRING COLLATE UTF8_LCASE"), "unpadded": Stored("STRING COLLATE UNICODE_CI_AI_RTRIM"),
    },
}  # fmt: skip
"""Types of databases beside the plain ones, by a name each: collations for which `a` is `A`, short texts."""
FEW = 25
"""Rows up to which no value counts as far from the others."""
FAR: dict[str, tuple[str, dict[str, str]]] = {
    "int": ("{}", {}), "int32": ("{}", {}), "float": ("{}.5", {}), "decimal": ("{}.25", {}), "numeric": ("{}", {}),
    "text": ("{}", {}), "amount": ("{},5", {"decimal": ","}),
}  # fmt: skip
"""How the numbers of a column are written of which one is far from the others, by type, and its spelling."""
STYLES = ("auto", "range", "ancestor", "set", "mean", "suppress")

UNWEIGHTED = ("random", "microaggregation", "top-down-specialization", "bottom-up-generalization")
TAGGING = ("incognito", "flash", "ola")
OF_PEOPLE = ("km-anonymity",)
"""Models that need to know whose rows they are; full-domain algorithms alone enforce them."""
BY_PEOPLE = ("k-anonymity", "k-map", "l-diversity", "maximum-risk")
"""Models under which generalizing never hurts where people count."""
GENERALIZING = ("k-anonymity", "k-map", "l-diversity", "maximum-risk", "alpha-k-anonymity", "beta-likeness")
"""Models under which generalizing never hurts; the first four absorb what is suppressed."""
FULL_DOMAIN = ("optimal", "bottom-up", "samarati", "incognito", "datafly", "ola", "flash")
BY_RECORD = ("clustering", "k-member", "oka", "mdav", "microaggregation", "random")
METRICS = (
    "loss", "distortion", "ncp", "precision", "non-uniform-entropy", "discernibility", "average-class-size", "ambiguity",
)  # fmt: skip
BY_COUNTS = tuple(model.name for model in MODELS if issubclass(model, SensitiveModel))


class Draw:
    """Draws cases, with the rarest so far first.

    Parameters
    ----------
    seed
        Of everything random.
    models, algorithms, sources
        The names to choose from.
    perturbed
        The share of cases of which a sensitive column is perturbed, if it can be. It is larger until every
        treatment was in a release.
    people
        The share of tables in which a column names a person; None for a third, and more until there was one.
    met
        How often each ("model", name), ("algorithm", name), ("source", name), ("style", name), ("null", type),
        ("person", source), ("attacker", model) and ("perturbed", treatment) was in a release.
    """

    def __init__(
        self,
        seed: int,
        models: list[str],
        algorithms: list[str],
        sources: list[str],
        met: Counter[Any],
        perturbed: float = 0.2,
        people: float | None = None,
    ) -> None:
        self.random = random.Random(seed)
        self.perturbed, self.persons = perturbed, people
        self.models, self.algorithms, self.sources, self.met = models, algorithms, sources, met

    def rarest(self, what: str, names: list[str] | tuple[str, ...]) -> str:
        if self.random.random() < 0.6:
            return min(names, key=lambda name: (self.met[what, name], self.random.random()))
        return self.random.choice(names)

    def case(self, source: str | None = None) -> Case:
        r = self.random
        source = source or r.choice([name for name in self.sources if name not in SERVERS])
        algorithm = self.rarest(
            "algorithm", [name for name in self.algorithms if source in IN_MEMORY or name not in BY_RECORD]
        )
        share = 0.33 if self.met["person", source] else 0.6
        persons = r.random() < (share if self.persons is None else self.persons)
        rows = r.choice([2, *range(6, 42, 3), 60, 80] if persons else [1, 2, 3, *range(4, 26), 40, 80])
        columns = self.columns(rows, algorithm, source)
        if persons:
            give_persons(r, columns, source in CASELESS)
        if rows > FEW and r.random() < (0.15 if self.met["point", "outlying-value"] else 0.4):
            self.outlier(columns)
        case: Case = {
            "source": source,
            "columns": columns,
            "null_values": self.null_values(columns),
            "others": r.choice(["drop", "keep"])
            if any(c["role"] == "other" for c in columns)
            else r.choice([None, None, "drop"]),
            "max_suppression": r.choice([0.0, 0.0, 0.1, 0.3, 0.5, 1.0]),
            "output": self.rarest("style", STYLES) if r.random() < 0.6 else "auto",
            "keep_order": source in ORDERED and r.random() < 0.3,
            "seed": r.choice([0, 1, 12345]),
            "set_limit": r.choice([2, 8, LISTED, LISTED, LISTED]),
            "ends": r.choice(["outward", "outward", "exact"]),
        }
        null_person(r, case)
        case["models"] = self.chosen_models(case, algorithm)
        if r.random() < 0.2:
            case["attackers"] = self.attackers(case, algorithm)
        case["algorithm"] = self.algorithm(algorithm, case)
        if any(needs_population(model) for model in case["models"]):
            self.people(case)
        self.batch(case)
        if r.random() < (0.9 if algorithm == "cell-suppression" else 0.3) and source != "spark":
            self.wildcards(case)
        lacking = any(not self.met["perturbed", name] for name in PERTURBING)
        if r.random() < self.perturbed * (2.5 if lacking else 1):
            self.perturb(case)
        self.store(case)
        return case

    def outlier(self, columns: list[dict[str, Any]]) -> None:
        """Give a released column many values, with an outlier."""
        r = self.random
        able = [
            column for column in columns
            if column["role"] in ("sensitive", "insensitive", "other") and column["type"] in FAR
            and not {"recipe", "paths", "people", "rid"} & column.keys()
        ]  # fmt: skip
        if able:
            column = r.choice(able)
            written, spellings = FAR[column["type"]]
            column["cells"] = [
                None if cell is None else written.format(r.randrange(10, 99)) for cell in column["cells"]
            ]
            for name in ("format", "decimal", "thousands"):
                column.pop(name, None)
            column |= spellings
            column["cells"][r.randrange(len(column["cells"]))] = written.format(r.choice([-900, 9000]))

    def store(self, case: Case) -> None:
        """Give columns of a database a special type, if the type can hold the cells."""
        for column in case["columns"]:
            if not column.get("rid") and "treat" not in column and self.random.random() < 0.4:
                able = [
                    name for name, stored in STORED.get(case["source"], {}).items() if stored.holds(column)
                ]
                if able:
                    column["stored"] = self.random.choice(able)

    def perturb(self, case: Case) -> None:
        """Let a treatment perturb a sensitive column with readable values and a fitting tree."""
        r = self.random
        free = {"round", "noise", "microaggregate"}
        able = [
            (column, name)
            for column in case["columns"] if column["role"] == "sensitive"
            for name, (types, _) in PERTURBING.items()
            if column["type"] in types and not (name in free and ("recipe" in column or "paths" in column))
        ]  # fmt: skip
        if able:
            name = self.rarest("perturbed", sorted({name for _, name in able}))
            column = r.choice([column for column, other in able if other == name])
            column["treat"] = r.choice(PERTURBING[name][1])
            case["judge"] = r.choice(["released"] * 6 + ["original"])

    def wildcards(self, case: Case) -> None:
        """Let `*` and missing cells match anything or nothing, if all models define such matches."""
        case["wildcards"] = self.rarest("wildcards", WILDCARDS)
        asked = [*case["models"], *(model for each in case.get("attackers", []) for model in each["models"])]
        if any(_needs_value(model, case["wildcards"]) for model in asked):
            del case["wildcards"]

    # --- tables

    def names(self, source: str) -> list[str]:
        r = self.random
        names = ["age", "zip", "sex", "day", "s", "t", "rid", "id", "x", "y"]
        if r.random() < 0.35:
            for place in r.sample(range(len(names)), r.choice([1, 2, 4])):
                names[place] = r.choice(NASTY_NAMES)
        if source == "mysql":
            # There a name has no blank at its end.
            names = [name.rstrip() or "blank" for name in names]
        if source in CASELESS:
            names = list({name.lower(): name for name in names}.values())
        names = list(dict.fromkeys(names))
        names += [f"n{number}" for number in range(10 - len(names))]
        r.shuffle(names)
        return names

    def columns(self, rows: int, algorithm: str, source: str) -> list[dict[str, Any]]:
        r = self.random
        names = self.names(source)
        several = [1, 1, 2, 2, 2, 3, 3, 4]
        roles = ["quasi"] * (1 if algorithm == "microaggregation" else r.choice(several))
        roles += ["sensitive"] * r.choice([0, 1, 1, 1, 2])
        roles += [role for role in ("insensitive", "identifying", "other") if r.random() < 0.25]
        columns = [
            self.column(name, role, rows, algorithm, spelled=not self.met["spelled", source])
            for name, role in zip(names, roles, strict=False)
        ]
        r.shuffle(columns)
        rid = {
            "name": names[len(roles)],
            "type": "text",
            "role": "insensitive",
            "cells": [f"r{n:03d}" for n in range(rows)],
            "rid": True,
        }
        columns.insert(r.randrange(len(columns) + 1), rid)
        return columns

    def column(self, name: str, role: str, rows: int, algorithm: str, *, spelled: bool) -> dict[str, Any]:
        r = self.random
        types = ["int", "int", "float", "text", "text", "numeric", "numeric", "day", "zip", "date", "bool", "datetime", "decimal",
                 "category", "int32"]  # fmt: skip
        if algorithm == "microaggregation" and role == "quasi":
            types = ["int", "float", "numeric", "date", "day"]
        if role in ("quasi", "sensitive"):
            types += ["amount", "stamp", "daynumber"]
            if spelled and r.random() < 0.3:
                types = list(SPELLED)
        lacking = [name for name in types if name in TYPED_NULLS and not self.met["null", name]]
        kind = r.choice(lacking if lacking and r.random() < 0.4 else types)
        spelling, pool = r.choice(SPELLED[kind]) if kind in SPELLED else ({}, r.choice(POOLS[kind]))
        if "inf" in pool and r.random() < 0.8:
            pool = POOLS[kind][0]
        if pool is NASTY_TEXTS:
            pool = r.sample(NASTY_TEXTS, r.choice([2, 3, 5, 8]))
            if r.random() < 0.9:
                pool = [text for text in pool if "\0" not in text] or ["q"]
        if role == "identifying":
            kind, pool = "text", [f"Planted-{n}@secret" for n in range(rows)]
        pool = pool[: r.choice([1, 2, 3, 5, 99])] if r.random() < 0.5 else pool
        if spelling and kind != "daynumber" and r.random() < 0.05:
            pool = [*pool, "Planted, 5 or so"]
        missing = r.choice([0, 0, 0, 0.1, 0.5])
        column: dict[str, Any] = {
            "name": name, "type": kind, "role": role, **spelling,
            "cells": [None if r.random() < missing else r.choice(pool) for _ in range(rows)],
        }  # fmt: skip
        if role in ("quasi", "sensitive"):
            if r.random() < 0.15 and (role != "quasi" or algorithm != "microaggregation"):
                column["kind"] = r.choice(["category", _kind_of(kind)])
            if r.random() < (0.6 if role == "quasi" else 0.3) and (
                role != "quasi" or algorithm != "microaggregation"
            ):
                column |= self.hierarchy(kind, column)
        if role == "quasi":
            if r.random() < 0.3:
                column["output"] = self.rarest("style", STYLES)
            measure = column.get("kind", _kind_of(kind))
            if measure != "category" and r.random() < 0.2:
                grids = ["day", "month", "year"] if measure == "date" else [1, 5, 100, 0.5, 0.25]
                column["grid"] = r.choice(grids)
            if r.random() < 0.15 and algorithm not in UNWEIGHTED:
                column["weight"] = r.choice([0.5, 2, 3])
            if algorithm in FULL_DOMAIN and r.random() < 0.2:
                column["levels"] = r.choice(
                    [[0, 1], [1, None], [0, 0], [1, 1], [0, None]] * 3 + [[TOO_HIGH, None], [0, TOO_HIGH]]
                )
        return column

    def hierarchy(self, kind: str, column: dict[str, Any]) -> dict[str, Any]:
        r = self.random
        present = sorted({cell for cell in column["cells"] if cell is not None})
        if kind in ("int", "int32", "numeric", "float", "decimal", "amount") and r.random() < 0.7:
            if kind != "amount" and (
                any(cell in ("nan", "inf", "-inf") or "e" in cell or len(cell) > 12 for cell in present)
                and r.random() < 0.7
            ):
                return {}
            return {"recipe": r.choice([
                {"intervals": [5, 10]}, {"intervals": [2, 4, 8]}, {"intervals": [0.5, 2]}, {"intervals": [10], "origin": 3},
                {"bands": [0, 18, 20.5]}, {"bands": [3, 30]},
            ])}  # fmt: skip
        if kind in ("date", "day", "datetime", "stamp", "daynumber"):
            return {
                "recipe": r.choice(
                    [
                        {"dates": ["month", "year"]},
                        {"dates": ["quarter", "year", "decade"]},
                        {"dates": ["year"]},
                    ]
                )
            }
        if kind == "zip" and r.random() < 0.7:
            return {"recipe": {"prefix": True}}
        texts = [text for text in self.texts(column) if text not in ("*", "")]
        if not texts:
            return {}
        choice = r.random()
        if choice < 0.15:
            return {"recipe": {"flat": True}}
        if choice < 0.3:
            return {"recipe": {"order": texts, "fanout": r.choice([2, 3])}}
        if choice < 0.4:
            return {"recipe": {"prefix": True}}
        return {"paths": self.tree(texts)}

    def texts(self, column: dict[str, Any]) -> list[str]:
        """Texts of the values of a column, and perhaps another text."""
        result = {_said(cell, column) for cell in column["cells"] if cell is not None} - {"nan"}
        texts = sorted(result)
        self.random.shuffle(texts)
        return texts + (["unseen"] if self.random.random() < 0.3 else [])

    def tree(self, texts: list[str]) -> list[list[str]]:
        r = self.random
        root = r.choice(["*", "*", "*", "Any"])
        odd = r.random() < 0.3
        labels = iter(["{g}", "[0-9]", "a|b", "=G", "g\u00e9", "1~9", "G 1"] if odd else [])
        groups: list[list[str]] = []
        for text in texts:
            if groups and r.random() < 0.6:
                r.choice(groups).append(text)
            else:
                groups.append([text])
        paths = []
        for number, group in enumerate(groups):
            label = next(labels, f"G{number}")
            upper = f"U{number // 2}"
            shape = r.choice(["flat", "group", "group", "deep"])
            for text in group:
                path = {"flat": [text], "group": [text, label], "deep": [text, label, upper]}[shape]
                paths.append([*path, root])
        return paths

    def null_values(self, columns: list[dict[str, Any]]) -> list[str]:
        """Choose values that mean missing, and make sure that such a value occurs."""
        r = self.random
        known = [c for c in columns if c["role"] in ("quasi", "sensitive") and c["type"] in TYPED_NULLS]
        fresh = any(not self.met["null", column["type"]] for column in known)
        if not known or r.random() > (0.8 if fresh else 0.35):
            return []
        kind = self.rarest("null", [column["type"] for column in known])
        column = r.choice([column for column in known if column["type"] == kind])
        null = r.choice(TYPED_NULLS[kind])
        result = [null]
        # `*` is refused as a null value, whatever the table is.
        present = sorted({cell for cell in column["cells"] if cell is not None} - {"*"})
        if present and r.random() < 0.5:
            cell = r.choice(present)
            result.append(r.choice([_plain(cell, kind), _said(cell, column)])[:19])
        if r.random() < 0.7:
            column["cells"][r.randrange(len(column["cells"]))] = null
        result = list(dict.fromkeys(result))
        if r.random() < 0.4:
            column["missing"] = result
            return []
        return result

    def people(self, case: Case) -> None:
        """Give every quasi-identifier cells of a population that holds the table and others."""
        r = self.random
        rows = len(case["columns"][0]["cells"])
        others = r.choice([0, 5, 30])
        again = [r.randrange(rows) for _ in range(others)]
        for column in case["columns"]:
            if column["role"] == "quasi":
                cells = column["cells"]
                column["people"] = cells + [
                    cells[row] if r.random() < 0.7 else r.choice(cells + self.strangers(column)) for row in again
                ]  # fmt: skip

    def strangers(self, column: dict[str, Any]) -> list[str]:
        """Values that people of a population may have, and nobody in the table."""
        recipe = column.get("recipe", {"flat": True})
        fits = column["type"] in ("text", "numeric", "zip") and "paths" not in column
        if not fits or not {"flat", "prefix"} & recipe.keys() or self.random.random() < 0.5:
            return []
        return LIKE_NUMBERS

    def batch(self, case: Case) -> None:
        """Give every column cells of two batches of later rows, and draw the comparison table."""
        r = self.random
        case["batches"] = {
            "beside": (beside := r.random() < 0.6),
            "as_one": beside and r.random() < 0.3,
            "hold": r.random() < 0.5,
        }
        for what in ("batch", "later"):
            self.later(case, what)

    def later(self, case: Case, what: str) -> None:
        """Give every column cells of later rows: values of the table, and others of the same type."""
        r = self.random
        rows = r.choice([1, 4, 12, 30])
        # Few of the rows, so that some come often enough to be a class alone.
        known = len(case["columns"][0]["cells"])
        often = r.sample(range(known), min(known, r.choice([1, 2, 4, 99])))
        again = [r.choice(often) for _ in range(rows)]
        for column in case["columns"]:
            cells = column["cells"]
            if column.get("rid"):
                column[what] = [f"{what[0]}{number:03d}" for number in range(rows)]
                continue
            new = [
                cell
                for cell in (
                    column["cells"] if column["type"] in SPELLED else r.choice(POOLS[column["type"]])
                )
                if cell is None or (cell not in ("inf", "-inf") and "\0" not in cell)
            ]
            fresh = column["role"] == "quasi" and r.random() < 0.5
            column[what] = [r.choice(new) if fresh and r.random() < 0.5 else cells[row] for row in again]

    # --- policies

    def chosen_models(self, case: Case, algorithm: str) -> list[dict[str, Any]]:
        r = self.random
        sensitive = [column for column in case["columns"] if column["role"] == "sensitive"]
        people = rows_of_people(case)
        apart = algorithm in BY_RECORD
        known = [
            name
            for name in self.models
            if (name not in OF_PEOPLE or (has_persons(case) and algorithm in FULL_DOMAIN))
            and (sensitive or name not in BY_COUNTS)
            and not (name in ("k-map", "delta-presence") and (apart or case["source"] == "spark"))
        ]
        if algorithm in TAGGING:
            kept = not case["max_suppression"]
            proved = BY_PEOPLE if has_persons(case) else GENERALIZING[: None if kept else 4]
            known = [name for name in known if name in proved or (kept and name in OF_PEOPLE)]
        chosen = [self.model(self.rarest("model", known), sensitive, len(people), algorithm, case)]
        for _ in range(r.choice([0, 0, 1, 1, 2])):
            more = self.model(r.choice(known), sensitive, len(people), algorithm, case)
            if more["model"] not in {model["model"] for model in chosen}:
                chosen.append(more)
        return chosen

    def attackers(self, case: Case, algorithm: str) -> list[dict[str, Any]]:
        sensitive = [column for column in case["columns"] if column["role"] == "sensitive"]
        people = len(rows_of_people(case))
        names = list(ABOUT if sensitive else ABOUT[:1])
        if algorithm in TAGGING:
            if case["max_suppression"]:
                return []
            names = [name for name in names if name != "alpha-k-anonymity" or not has_persons(case)]
        return draw_attackers(
            self.random, case, names, lambda name: self.model(name, sensitive, people, algorithm, case)
        )

    def model(
        self, name: str, sensitive: list[dict[str, Any]], rows: int, algorithm: str, case: Case
    ) -> dict[str, Any]:
        r = self.random
        k = r.choice([1, 2, 2, 3, 3, 5])
        k = min(k, max(rows, 1))
        s = r.choice(sensitive) if sensitive else None
        about: dict[str, Any] = {}
        if s is not None and r.random() < 0.4:
            about["attribute"] = s["name"]
        if len(sensitive) > 1 and r.random() < 0.3:
            about["joint"] = True
        value = {}
        if s is not None and r.random() < 0.3:
            present = sorted({cell for cell in s["cells"] if cell is not None})
            if present:
                value = {"value": _said(r.choice(present), s), "attribute": s["name"]}
        settings: dict[str, Any]
        match name:
            case "k-anonymity" | "k-map":
                settings = {"k": k}
            case "km-anonymity":
                most = max(rows_of_people(case).values())
                power = r.choice([power for power in (1, 2, 2, 3, 0, 0) if power <= most])
                settings = {"k": min(k, r.choice([1, 2, 2, 3])), "power": power}
            case "l-diversity":
                kind = r.choice(
                    ["distinct", "distinct", "entropy", "grassberger", "grassberger-arx", "recursive"]
                )
                if algorithm in TAGGING:
                    kind = "distinct"
                    about.pop("joint", None)
                settings = {
                    "l": r.choice([1, 2, 2, 3] if kind in ("distinct", "recursive") else [1, 1.2, 1.5, 2]),
                    "kind": kind,
                }
                settings["l"] = min(settings["l"], *(len(set(column["cells"])) for column in sensitive))
                settings |= ({"c": r.choice([0.5, 1, 2, 3])} if kind == "recursive" else {}) | about
            case "normalized-entropy":
                settings = {
                    "h": r.choice([0.0, 0.3, 0.6, 0.9]),
                    "over": r.choice(["minimum", "mean"]),
                } | about
            case "t-closeness":
                distances = ["auto", "auto", "equal", "maximal-frequency-difference"]
                if all(
                    _kind_of(column["type"]) != "category" and "kind" not in column for column in sensitive
                ):
                    distances.append("ordered")
                if all("recipe" in column or "paths" in column for column in sensitive):
                    distances.append("hierarchical")
                distance = r.choice(distances)
                settings = {"t": r.choice([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), "distance": distance} | about
            case "alpha-k-anonymity":
                settings = {"alpha": r.choice([0.4, 0.5, 0.7, 1.0]), "k": k} | about | value
            case "subset-k-anonymity":
                settings = {"k": k, "of": r.choice([1, 2, 3])}
            case "lkc-privacy":
                about.pop("joint", None)
                settings = (
                    {"L": r.choice([1, 2, 3]), "K": k, "C": r.choice([0.4, 0.5, 0.8, 1.0])} | about | value
                )
            case "beta-likeness":
                settings = {"beta": r.choice([0.5, 1, 2, 5]), "kind": r.choice(["basic", "enhanced"])} | about
            case "delta-disclosure":
                settings = {"delta": r.choice([0.5, 1, 2]), "absent": r.choice(["infinite", "skip"])} | about
            case "delta-presence":
                settings = {"delta_max": r.choice([0.5, 0.8, 1.0]), "delta_min": r.choice([0.0, 0.0, 0.1])}
            case "p29":
                settings = {"score": r.choice([0.0, 0.2, 0.5]), "strict": r.random() < 0.2}
            case "maximum-risk" | "average-risk":
                settings = {"risk": r.choice([risk for risk in (0.2, 0.34, 0.5, 1.0) if risk * rows >= 1])}
            case "records-at-risk":
                settings = {"share": r.choice([0.0, 0.2, 0.5]), "threshold": r.choice([0.2, 0.34, 0.5])}
            case "profitability":
                attacker = r.choice(["prosecutor", "prosecutor", "journalist"])
                if algorithm in BY_RECORD or case["source"] == "spark":
                    attacker = "prosecutor"
                settings = {
                    "attack": r.choice(["allowed", "none"]), "attacker": attacker,
                    "definition": "record" if attacker == "journalist" else r.choice(["record", "table"]),
                    "adversary_cost": r.choice([4.0, 50.0, 150.0]), "adversary_gain": r.choice([300.0, 100.0, 0.0]),
                    "publisher_loss": r.choice([300.0, 1000.0]), "publisher_benefit": r.choice([1200.0, 100.0]),
                }  # fmt: skip
            case _:
                known, needed = MODELS.get(name).parameters(), MODELS.get(name).needed()
                given = [each for each in known if each in needed or r.random() < 0.5]
                settings = {
                    each: self.allowed(known[each]) for each in given if each in needed or not known[each].optional
                }  # fmt: skip
                settings |= {each: about[each] for each in about if each in known}
        return {"model": name} | settings

    def allowed(self, declared: Parameter) -> Any:
        """Choose a value that a model's parameter allows by declaration, with low values more often."""
        r = self.random
        if declared.choices:
            return r.choice(declared.choices)
        if declared.kind is bool:
            return r.random() < 0.3
        low = next((least for least in (declared.low, declared.above) if least is not None), 0)
        step = min(1.0, (declared.high - low) / 3) if declared.high is not None else 1
        steps = r.choice([1, 1, 2, 3] if declared.above is not None else [0, 1, 1, 2])
        return declared.kind(low + steps * step)

    def algorithm(self, name: str, case: Case) -> dict[str, Any]:
        r = self.random
        settings: dict[str, Any] = {}
        targets = [
            c["name"]
            for c in case["columns"]
            if c["role"] in ("sensitive", "insensitive") and not c.get("rid")
        ]
        if not targets:
            targets = [c["name"] for c in case["columns"] if c.get("rid")]
        match name:
            case "mondrian":
                memory = case["source"] in IN_MEMORY
                whole = not memory or any(needs_population(model) for model in case["models"])
                settings = {
                    "mode": "strict" if whole else r.choice(["strict", "strict", "relaxed"]),
                    "choose": r.choice(["range", "span", "gain"]), "median": r.choice(["balanced", "below"]),
                    "categories": r.choice(["hierarchy", "ordered", "appearance"] if memory else ["hierarchy", "ordered"]),
                }  # fmt: skip
                if settings["choose"] == "gain":
                    settings["target"] = r.choice(targets)
                if r.random() < 0.15:
                    settings["max_depth"] = r.choice([0, 1, 2])
            case "cell-suppression":
                quasi = [c for c in case["columns"] if c["role"] == "quasi"]
                plain = case["output"] == "auto" and not any(c.get("output") for c in quasi)
                if plain and len(quasi) > 1 and r.random() < 0.4:
                    settings["strata"] = r.choice(quasi)["name"]
            case "top-down-specialization" | "bottom-up-generalization":
                settings = {"target": r.choice(targets)}
            case _ if name in FULL_DOMAIN:
                shares = any(model["model"] == "delta-presence" for model in case["models"])
                settings = {
                    "metric": r.choice(METRICS), "aggregate": r.choice(["mean", "mean", "geometric-mean", "max"]),
                    "recode_suppressed": r.random() < (0.6 if shares else 0.2), "rounds": r.choice(["sweep", "search"]),
                }  # fmt: skip
                if name == "optimal" and r.random() < 0.15:
                    settings["budget"] = r.choice(["5", "50"])
                if name == "datafly" and r.random() < 0.2:
                    settings["suppress_k"] = True
        return {"name": name} | settings


def _needs_value(model: dict[str, Any], wildcards: str) -> bool:
    """Whether a model is undefined for matches of `*`."""
    if wildcards == "value":
        return False
    return (
        model["model"] in ("km-anonymity", "p29")
        or model.get("definition") == "table"
        or (wildcards == "matches-any" and model["model"] == "delta-presence")
        or (wildcards == "conservative" and model.get("over") == "mean")
    )


def needs_population(model: dict[str, Any]) -> bool:
    return model["model"] in ("k-map", "delta-presence") or model.get("attacker") == "journalist"


def _kind_of(kind: str) -> str:
    if kind in ("int", "int32", "float", "decimal", "numeric", "amount"):
        return "number"
    return "date" if kind in ("date", "day", "datetime", "stamp", "daynumber") else "category"


def spelling_of(column: dict[str, Any]) -> Spelling | None:
    """The declared spelling of a column, if any."""
    said = {name: column[name] for name in ("format", "decimal", "thousands") if name in column}
    return Spelling(**said) if said else None


def _said(cell: str, column: dict[str, Any]) -> str:
    """Write a cell as in a release."""
    spelling = spelling_of(column)
    return (spelling and spelling.plain(cell)) or _plain(cell, column["type"])


def _plain(cell: str, kind: str) -> str:
    """Write a cell as in a table: a whole float as an integer."""
    if kind == "float" and cell.endswith(".0"):
        return cell[:-2].replace("-0", "0") if cell == "-0.0" else cell[:-2]
    return cell
