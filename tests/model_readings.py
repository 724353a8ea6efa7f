"""Privacy models read a second time: slowly, in fractions if possible, over tables of counts.

A model that has no reading here is measured by the verifier, which is a second reading, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.engines import engine_for, with_population
from incrowd.measures.privacy import MODELS, P29, PrivacyModel
from list_readings import judges_lists, value_by_parts

KINDS = ("number", "category", "tree")
WITH_LISTS = (*KINDS, "list")
LISTS = ("a", "b;a", "c; b", ";a;c;c", " ;")
"""The values of the kind ``list``. A script of SQL cannot judge them, so it is no other kind."""


@st.composite
def counts(draw, least_classes: int = 1):
    """Counts of 2 to 5 sensitive values in some classes, none empty: rows drawn singly miss too much."""
    values = draw(st.integers(2, 5))
    row = st.lists(st.integers(0, 6), min_size=values, max_size=values).filter(any)
    return draw(st.lists(row, min_size=least_classes, max_size=7))


def people_of(row: list[int]) -> int:
    """How many people look like a class: adds up when classes merge."""
    return sum(row) + 2 * row[0]


def rows_like(kind: str, table: list[list[int]]) -> list[tuple[str, str]]:
    return rows_of(table, LISTS if kind == "list" else "01234")


def rows_of(table: list[list[int]], names: Sequence[str] = "01234") -> list[tuple[str, str]]:
    return [
        (f"c{number}", names[value])
        for number, row in enumerate(table)
        for value, n in enumerate(row)
        for _ in range(n)
    ]


def classes_of(table: list[list[int]], kind: str, outside: int = 0) -> EquivalenceClasses:
    """Make the classes with given counts, and a sensitive attribute of the given kind."""
    schema = ic.Schema(quasi=["q"], sensitive={"s": _spec(kind, len(table[0]))})
    frame = pl.DataFrame(rows_like(kind, table), schema=["q", "s"], orient="row")
    population = pl.DataFrame({"q": people(table, outside)})
    frequency = with_population(engine_for(frame).count(schema).frequency, schema, population)
    return EquivalenceClasses.of_keys(frequency)


def _spec(kind: str, values: int) -> object:
    names = [str(value) for value in range(values)]
    tree = ic.Hierarchy.from_nested({"*": {"low": names[:2], "high": names[2:] or ["other"]}})
    of_lists = ic.Attribute("s", "sensitive", parts=";")
    return {"number": "number", "category": "category", "tree": tree, "list": of_lists}[kind]


def variants(kind: str) -> list[PrivacyModel]:
    """Every registered model in every kind, and some settings that only some attributes can have."""
    every = [
        *(variant for entry in MODELS for variant in entry.variants()),
        ic.TCloseness(1.0, "equal"),
        *([ic.TCloseness(1.0, "ordered")] if kind not in ("category", "list") else []),
        ic.Profitability("none", adversary_gain=0),
        ic.Profitability("none", adversary_cost=50, adversary_gain=200),
        ic.Profitability("allowed", publisher_benefit=60, adversary_cost=40),
        ic.Profitability("allowed", attacker="journalist", publisher_benefit=60),
        P29(0.0, w_k=0.2, w_l=0.3, w_t=0.5),
    ]
    return [model for model in every if kind != "list" or judges_lists(model)]


def limits(model: PrivacyModel) -> list[str]:
    """The parameters that a model compares with something."""
    return [part.limit_name for part in model.parts() if part.limit_name in model.parameters()]


def at_limit(model: PrivacyModel, quantity: str, limit: float) -> PrivacyModel:
    return type(model).from_settings(model.settings() | {quantity: limit})


def by_class(model: PrivacyModel, quantity: str) -> bool:
    """Whether a table satisfies the model exactly when every class does."""
    if isinstance(model, ic.NormalizedEntropy):
        return model.over == "minimum"
    if isinstance(model, ic.Profitability):
        return model.definition == "record"
    return not isinstance(model, P29 | ic.AverageRisk | ic.RecordsAtRisk) and quantity != "delta_min"


def class_values(model: PrivacyModel, quantity: str, kind: str, table: list[list[int]]) -> list[float] | None:
    """Value of each class, from the definition; None where the verifier alone reads the model."""
    result = [_class_value(model, quantity, kind, table, row) for row in table]
    if kind == "list":
        result = [
            value if value is None else value_by_parts(model, quantity, value, LISTS, table, row)
            for value, row in zip(result, table, strict=True)
        ]
    return [float(value) for value in result if value is not None] or None


def _class_value(
    model: PrivacyModel, quantity: str, kind: str, table: list[list[int]], row: list[int]
) -> float | Fraction | None:
    whole = [sum(column) for column in zip(*table, strict=True)]
    p = [Fraction(n, sum(row)) for n in row]
    q = [Fraction(w, sum(whole)) for w in whole]
    match model:
        case ic.KAnonymity() | ic.KMap() | ic.KMAnonymity():
            # With one row a person, whoever knows several rows knows one.
            return people_of(row) if isinstance(model, ic.KMap) else sum(row)
        case ic.LDiversity():
            return diversity(model, row)
        case ic.NormalizedEntropy():
            return evenness(row)
        case ic.BetaLikeness():
            gains = [((a - b) / b, b) for a, b in zip(p, q, strict=True) if a > b]
            if model.kind == "enhanced" and any(gain > -math.log(b) + 1e-12 for gain, b in gains):
                return math.inf
            return max((gain for gain, _ in gains), default=Fraction(0))
        case ic.DeltaDisclosure():
            pairs = [(a, b) for a, b in zip(p, q, strict=True) if b]
            if model.absent == "infinite" and any(not a for a, _ in pairs):
                return math.inf
            return max(abs(math.log(a / b)) for a, b in pairs if a)
        case ic.AlphaKAnonymity():
            return sum(row) if quantity == "k" else max(p)
        case ic.SubsetKAnonymity():
            return sum(row)
        case ic.LKCPrivacy():
            return sum(row) if quantity == "K" else max(p)
        case ic.DeltaPresence():
            return Fraction(sum(row), people_of(row))
        case ic.MaximumRisk() | ic.AverageRisk():
            return Fraction(1, sum(row))
        case ic.RecordsAtRisk():
            return int(1 / sum(row) > model.threshold)
        case ic.Profitability():
            return payoff(model, row)
        case P29():
            return 0 if offends(table, row) else math.inf
        case ic.TCloseness(distance="maximal-frequency-difference"):
            return max(abs(a - b) for a, b in zip(p, q, strict=True) if a)
        case ic.TCloseness():
            return distance(model, kind, whole, [a - b for a, b in zip(p, q, strict=True)])
    return None


def overall(model: PrivacyModel, quantity: str, kind: str, table: list[list[int]], outside: int = 0) -> float:
    """The reach of the table, from the definition."""
    values = class_values(model, quantity, kind, table)
    if values is None:
        return verified(model, quantity, kind, table, outside)
    sizes = [sum(row) for row in table]
    match model:
        case ic.NormalizedEntropy(over="mean"):
            return sum(values) / len(values)
        case ic.AverageRisk():
            return sum(1 for _ in table) / sum(sizes)
        case ic.RecordsAtRisk():
            return sum(n for n, value in zip(sizes, values, strict=True) if value) / sum(sizes)
        case ic.Profitability(definition="table"):
            return sum(values)
        case P29():
            return score(model, table)
    if quantity == "delta_min":
        return 0.0 if outside else min(values)
    part = next(part for part in model.parts() if part.limit_name == quantity)
    return min(values) if part.more_is_safer else max(values)


def verified(model: PrivacyModel, quantity: str, kind: str, table: list[list[int]], outside: int) -> float:
    """The verifier's figures of a file with such classes, which share no code with the models."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_classes(folder, rows_like(kind, table), people(table, outside), [model], kind, len(table[0]))
        findings = ic.verify(folder / "t.csv", folder / "policy.toml", population=folder / "p.csv").findings
    [reached] = [finding.reached for finding in findings if finding.quantity == quantity]
    assert reached is not None
    return reached


def people(table: list[list[int]], outside: int) -> list[str]:
    """The class of everybody in the population, some of whom are in none."""
    return [f"c{n}" for n, row in enumerate(table) for _ in range(people_of(row))] + ["nowhere"] * outside


def write_classes(
    folder: Path,
    rows: list[tuple[str, str]],
    population: list[str],
    models: list[PrivacyModel],
    kind: str,
    values: int,
    *,
    person: bool = False,
) -> None:
    """Write the files that the verifier reads: table, population and policy; with people the raw table, too."""
    whose = "who" if person else ()
    schema = ic.Schema(["q"], {"s": _spec(kind, values)}, person=whose)
    table = pl.DataFrame(rows, schema=["q", "s"], orient="row")
    table.write_csv(folder / "t.csv")
    if person:
        table.with_row_index("who").write_csv(folder / "raw.csv")
    pl.DataFrame({"q": population}).write_csv(folder / "p.csv")
    ic.Policy(schema, tuple(models)).write(folder / "policy.toml")


def diversity(model: ic.LDiversity, row: list[int]) -> float:
    present = sorted((n for n in row if n), reverse=True)
    if model.kind == "distinct":
        return len(present)
    if model.kind == "entropy":
        return math.exp(entropy(row))
    if model.kind == "grassberger-arx":
        # A class fails in ARX where some order of the values comes above; the largest sum on the way counts.
        ways = (accumulate(order) for order in permutations(n * grassberger(n) for n in present))
        most = max(max(way) for way in ways)
        return min(math.exp(grassberger(sum(row)) - most / sum(row)), len(present))
    if model.kind == "grassberger":
        estimate = math.log(sum(row)) - sum(n * grassberger(n) for n in present) / sum(row)
        return min(math.exp(estimate), len(present))
    reached = [l for l in range(1, len(present) + 1) if present[0] < model.c * sum(present[l - 1 :])]  # noqa: E741
    return max(reached, default=0)


def entropy(row: list[int]) -> float:
    return -sum(n / sum(row) * math.log(n / sum(row)) for n in row if n)


def evenness(row: list[int]) -> float:
    present = sum(1 for n in row if n)
    return entropy(row) / math.log(present) if present > 1 else 0.0


def grassberger(n: int) -> float:
    """G(n) by recursion: G(2n + 1) = G(2n), G(2n + 2) = G(2n) + 2 / (2n + 1)."""
    if n == 1:
        return -0.57721566490153286 - math.log(2)
    if n == 2:
        return 2 + grassberger(1)
    return grassberger(n - 1) if n % 2 else grassberger(n - 2) + 2 / (n - 1)


def payoff(model: ic.Profitability, row: list[int]) -> Fraction:
    size = people_of(row) if model.attacker == "journalist" else sum(row)
    p = Fraction(1, size)
    cost, gain = Fraction(model.adversary_cost), Fraction(model.adversary_gain)
    loss, benefit = Fraction(model.publisher_loss), Fraction(model.publisher_benefit)
    if model.definition == "table":
        return benefit * size - loss * p if model.attack == "allowed" else cost * size - gain * size * p
    if model.attack == "none":
        return cost - gain * p
    return benefit - (loss * p if gain * p > cost else 0)


def half_difference(table: list[list[int]], row: list[int]) -> Fraction:
    whole = [sum(column) for column in zip(*table, strict=True)]
    gaps = (abs(Fraction(n, sum(row)) - Fraction(w, sum(whole))) for n, w in zip(row, whole, strict=True))
    return sum(gaps, Fraction(0)) / 2


def offends(table: list[list[int]], row: list[int]) -> bool:
    single = sum(1 for n in row if n) == 1
    return sum(row) == 1 or single or half_difference(table, row) > Fraction(1, 2)


def score(model: P29, table: list[list[int]]) -> float:
    if any(offends(table, row) for row in table):
        return 0.0
    gaps = [half_difference(table, row) for row in table]
    extent = max(gaps) - min(gaps)
    scaled = [float((gap - min(gaps)) / extent) if extent else 0.0 for gap in gaps]
    evennesses = [evenness(row) for row in table]
    return (
        model.w_k * (1 - 1 / min(sum(row) for row in table))
        + model.w_l * sum(evennesses) / len(table)
        + model.w_t * (1 - sum(scaled) / len(table))
    )


def distance(model: ic.TCloseness, kind: str, whole: list[int], gap: list[Fraction]) -> Fraction:
    named = model.distance
    if named == "auto":
        named = {"number": "ordered", "tree": "hierarchical"}.get(kind, "equal")
    if named == "equal":
        return sum(map(abs, gap), Fraction(0)) / 2
    if named == "ordered":
        present = [g for g, w in zip(gap, whole, strict=True) if w]
        if len(present) < 2:
            return Fraction(0)
        partial = (abs(sum(present[: i + 1], Fraction(0))) for i in range(len(present)))
        return sum(partial, Fraction(0)) / (len(present) - 1)
    # Two groups under the root: mass moved within a group costs 1/2, between the groups 1.
    across = abs(sum(gap[:2], Fraction(0)))
    within = Fraction(0)
    for part in (gap[:2], gap[2:]):
        within += min(
            sum((g for g in part if g > 0), Fraction(0)), sum((-g for g in part if g < 0), Fraction(0))
        )
    return across + within / 2
