"""Foreign rule profiles: any setting is refused by name or judged, and nothing in a profile runs."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator

import incrowd as ic
from fuzz.checks.made import Finding, Made, Outcome
from fuzz.draw import NASTY_TEXTS
from fuzz.sources import Services
from incrowd.release.policy.toml_lines import toml_value
from incrowd.release.verification import verify
from incrowd_gate.profiles import CHECKS, INPUTS

SQL = (
    "1) AS z); COPY (SELECT 1) TO 'STOLEN.csv'; SELECT count(*) FROM (",
    "' OR 1 = 1; ATTACH 'STOLEN.db' AS s; --",
    "0; INSTALL httpfs; LOAD httpfs",
    "\"); SELECT content FROM read_text('/etc/hostname') --",
)
PATTERNS = (r"\d", "(", ".*", "(?i)x|'", r"^\p{Lu}+$", "a{1,1000}")


def profiles(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """A profile of random checks, settings and inputs is refused, or each clause is judged."""
    if made.case["source"] == "spark" or "\0" in "".join(map(str, made.out.columns)):
        return
    draw = random.Random(json.dumps(made.case, sort_keys=True))
    folder = services.fresh()
    made.out.write_parquet(folder / "release.parquet")
    made.policy.write(folder / "policy.toml")
    clauses = [_clause(draw, number, made.out.columns) for number in range(draw.randint(1, 3))]
    inputs = {name: _value(draw, each) for name, each in INPUTS.items() if draw.random() < 0.5}
    lines = ['name = "own"', 'version = "1"', 'title = "Own"', 'source = "Own"', "[inputs]"]
    lines += [f'{name} = "An input."' for name in INPUTS]
    for clause in clauses:
        lines += ["[[clauses]]", *(f"{name} = {_toml(value)}" for name, value in clause.items())]
    (folder / "own.toml").write_text("\n".join(lines), encoding="utf-8")
    said = ['[profile]\nname = "own.toml"', "[profile.inputs]"]
    said += [f"{name} = {_toml(value)}" for name, value in inputs.items()]
    with (folder / "policy.toml").open("a", encoding="utf-8") as file:
        file.write("\n".join(["", *said, ""]))
    before = {path.name for path in folder.iterdir()}
    try:
        result = verify(folder / "release.parquet", folder / "policy.toml").clauses
        if [each.id for each in result] != [each["id"] for each in clauses]:
            yield Finding("profile", f"{len(clauses)} clauses, and {len(result)} judged")
    except ic.IncrowdError as error:
        if "DuckDB cannot read" in str(error):
            yield Finding("profile", f"{clauses}: {error}"[:600])
    if {path.name for path in folder.iterdir()} != before:
        yield Finding("profile", f"a file was made: {clauses}"[:600])


def _clause(draw: random.Random, number: int, columns: list[str]) -> dict[str, object]:
    check = draw.choice(list(CHECKS))
    clause: dict[str, object] = {"id": f"c{number}", "text": "A.", "source": "S", "check": check}
    for name, each in CHECKS[check].items():
        if each.needed or draw.random() < 0.5:
            clause[name] = _value(draw, each)
            if name in ("columns", "births") and draw.random() < 0.7:
                clause[name] = [draw.choice(columns) or "x"]
    return clause


def _value(draw: random.Random, setting) -> object:
    """Draw a value that suits a setting, in a quarter of the cases a hostile value."""
    if draw.random() < 0.25:
        hostile = [
            *SQL,
            *NASTY_TEXTS,
            True,
            math.nan,
            math.inf,
            -1,
            0,
            10**30,
            1.5,
            [],
            [draw.choice(SQL)],
            {"a": 1},
        ]
        return draw.choice([each for each in hostile if each != "\0"])
    one = setting.one
    if one.kind is bool:
        return draw.random() < 0.5
    if one.kind is str:
        chosen = draw.choice(one.choices or (PATTERNS if setting.is_pattern else ("age", "x", *SQL)))
        return [chosen] if setting.many else chosen
    low = one.low if one.low is not None else one.above or 0
    high = one.high if one.high is not None else low + 50
    return draw.randint(int(low), int(high)) if one.kind is int else draw.uniform(low + 1e-9, high)


def _toml(value: object) -> str:
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else toml_value(value)
