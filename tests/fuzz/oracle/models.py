"""The reach of equivalence classes under each model, by rows or by people."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations
from typing import Any

from fuzz.oracle.cells import same_value
from fuzz.oracle.classes import Classes, Part
from fuzz.oracle.values import STAR, Column, Key

# --- models -----------------------------------------------------------------------------------------

MORE_IS_SAFER = {
    ("k-anonymity", "k"), ("k-map", "k"), ("l-diversity", "l"), ("normalized-entropy", "h"), ("alpha-k-anonymity", "k"),
    ("lkc-privacy", "K"), ("subset-k-anonymity", "k"), ("km-anonymity", "k"), ("delta-presence", "delta_min"), ("p29", "score"), ("profitability", "payoff"),
}  # fmt: skip
BY_ATTRIBUTE = {
    "l-diversity", "normalized-entropy", "t-closeness", "alpha-k-anonymity", "beta-likeness", "delta-disclosure",
    "lkc-privacy",
}  # fmt: skip
LIMITS = {
    "k-anonymity": ("k",), "subset-k-anonymity": ("k",), "km-anonymity": ("k",), "k-map": ("k",), "l-diversity": ("l",), "normalized-entropy": ("h",), "t-closeness": ("t",),
    "alpha-k-anonymity": ("alpha", "k"), "lkc-privacy": ("C", "K"), "beta-likeness": ("beta",),
    "delta-disclosure": ("delta",), "delta-presence": ("delta_max", "delta_min"), "p29": ("score",),
    "maximum-risk": ("risk",), "average-risk": ("risk",), "records-at-risk": ("share",), "profitability": ("payoff",),
}  # fmt: skip
Figure = float | Fraction | int | None


def attributes_of(model: str, settings: dict[str, Any], quantity: str, classes: Classes) -> list[str | None]:
    if model not in BY_ATTRIBUTE or (model, quantity) in (("alpha-k-anonymity", "k"), ("lkc-privacy", "K")):
        return [None]
    return [settings["attribute"]] if settings.get("attribute") else list(classes.sensitive)


def measure(
    model: str, quantity: str, settings: dict[str, Any], attribute: str | None, classes: Classes
) -> Figure:
    """The reach of a table under a model: the worst class, or the figure of the table."""
    sizes = classes.crowds
    safer = (model, quantity) in MORE_IS_SAFER
    worst = min if safer else max
    if model == "p29":
        return _score(settings, classes)
    if model == "subset-k-anonymity":
        return _lkc("K", {"L": settings["of"]}, None, classes)
    if model == "lkc-privacy":
        return _lkc(quantity, settings, attribute, classes)
    if model in ("k-map", "delta-presence"):
        assert classes.people is not None
        if quantity == "k":
            return min(classes.people)
        if quantity == "delta_min" and classes.outside:
            return 0
        shares = [Fraction(n, m) if m else math.inf for n, m in zip(sizes, classes.people, strict=True)]
        return worst(shares)
    if model == "km-anonymity":
        return _shared(settings.get("power", 2), classes)
    if model == "k-anonymity" or quantity == "k":
        return min(sizes)
    if model == "maximum-risk":
        return Fraction(1, min(sizes))
    if model in ("average-risk", "records-at-risk"):
        risks = classes.worst([Fraction(1, n) for n in sizes])
        if model == "average-risk":
            return sum(risks, Fraction(0)) / len(risks)
        return Fraction(sum(risk > _exact(settings["threshold"]) for risk in risks), len(risks))
    if model == "profitability":
        return _payoff(settings, classes)
    assert attribute is not None
    column = classes.sensitive[attribute]
    whole = classes.whole(attribute)
    parts = classes.counts(attribute, joint=bool(settings.get("joint")))
    everyone = classes.everyone
    values = [_class_value(model, settings, column, Part(-1, whole, everyone), part) for part in parts]
    if model == "normalized-entropy" and settings.get("over") == "mean":
        of_class: dict[int, list[float]] = defaultdict(list)
        for part, value in zip(parts, values, strict=True):
            of_class[part.number].append(float(value))  # type: ignore[arg-type]
        return sum(min(group) for group in of_class.values()) / len(of_class)
    return worst(values)


def _exact(limit: float) -> Fraction:
    return Fraction(limit)


def holds(model: str, settings: dict[str, Any], classes: Classes) -> list[str]:
    """Say which limits of a model a table breaks, where equality is no break.

    A model that is not read here is left to the verifier, whose figures `checks.again` compares.
    """
    if not classes.rows:
        return [f"{model}: no class"]
    problems = []
    for quantity in LIMITS.get(model, ()):
        limit = 0 if model == "profitability" else settings.get(quantity, 0)
        for attribute in attributes_of(model, settings, quantity, classes):
            value = measure(model, quantity, settings, attribute, classes)
            if not meets(model, quantity, settings, value, limit):
                problems.append(f"{model} {quantity}={limit} of {attribute!r} is {value}")
    return problems


def meets(model: str, quantity: str, settings: dict[str, Any], value: Figure, limit: float) -> bool:
    if value is None:
        return False
    slack = 1e-9 * max(1.0, abs(limit)) if isinstance(value, float) else 2e-12 * max(1.0, abs(limit))
    if model == "profitability":
        zero = settings.get("attack") == "none" and (
            settings.get("definition") == "table" or not settings.get("adversary_gain", 300.0)
        )
        return value >= 0 if zero else value > 0
    return value >= limit - slack if (model, quantity) in MORE_IS_SAFER else value <= limit + slack


def _class_value(model: str, settings: dict[str, Any], column: Column, whole: Part, part: Part) -> Figure:
    counter = part.counter
    # Somebody with two values adds to both, so shares of people need not add up to 1; distributions do.
    if model == "t-closeness":
        return _closeness(settings, column, part.distribution, whole.distribution)
    shares, table = part.shares, whole.shares
    match model:
        case "l-diversity":
            return _diversity(settings, counter)
        case "normalized-entropy":
            return _entropy(counter) / math.log(len(counter)) if len(counter) > 1 else 0.0
        case "alpha-k-anonymity":
            value = settings.get("value")
            if value is None:
                return max(shares.values())
            return sum((share for key, share in shares.items() if _named(column, key, value)), Fraction(0))
        case "beta-likeness":
            gains = [((share - table[key]) / table[key], table[key]) for key, share in shares.items()]
            if settings.get("kind") == "enhanced" and any(
                g > -math.log(q) + 1e-12 for g, q in gains if g > 0
            ):
                return math.inf
            return max(Fraction(0), *(gain for gain, _ in gains))
        case "delta-disclosure":
            if settings.get("absent", "infinite") == "infinite" and len(shares) < len(table):
                return math.inf
            return max(abs(math.log(share / table[key])) for key, share in shares.items())
    raise AssertionError(f"no reading of {model}")


def _named(column: Column, key: Key, value: str) -> bool:
    return key is not None and same_value(column, key, value)


def _entropy(counter: Counter[Key]) -> float:
    size = sum(counter.values())
    return -sum(n / size * math.log(n / size) for n in counter.values())


def _diversity(settings: dict[str, Any], counter: Counter[Key]) -> Figure:
    kind = settings.get("kind", "distinct")
    if kind == "distinct":
        return len(counter)
    if kind == "entropy":
        return math.exp(_entropy(counter))
    size = sum(counter.values())
    if kind == "grassberger-arx":
        # Sums in the order of a hash table; the worst is where those below 0, of single records, come last.
        most = math.fsum(n * _grassberger(n) for n in counter.values() if n > 1) or _grassberger(1)
        return min(math.exp(_grassberger(size) - most / size), len(counter))
    if kind == "grassberger":
        estimate = math.log(size) - sum(n * _grassberger(n) for n in counter.values()) / size
        return min(math.exp(estimate), float(len(counter)))
    ordered = sorted(counter.values(), reverse=True)
    c = Fraction(settings["c"] if settings.get("c") is not None else 3)
    return max((n for n in range(1, len(ordered) + 1) if ordered[0] < c * sum(ordered[n - 1 :])), default=0)


def _grassberger(n: int) -> float:
    """G(1) = -gamma - ln 2, G(2) = 2 - gamma - ln 2, G(2m + 1) = G(2m), G(2m + 2) = G(2m) + 2 / (2m + 1)."""
    value = -0.57721566490153286 - math.log(2)
    even = n - n % 2
    if even:
        value += 2 + sum(2 / (m + 1) for m in range(2, even, 2))
    return value


def _closeness(
    settings: dict[str, Any], column: Column, shares: dict[Key, Fraction], table: dict[Key, Fraction]
) -> Fraction:
    gap = {key: shares.get(key, Fraction(0)) - share for key, share in table.items()}
    named = settings.get("distance", "auto")
    if named == "maximal-frequency-difference":
        return max(abs(gap[key]) for key in shares)
    if named == "auto":
        named = (
            "hierarchical"
            if column.paths is not None
            else "equal"
            if column.kind == "category"
            else "ordered"
        )
    if named == "equal":
        return sum(map(abs, gap.values()), Fraction(0)) / 2
    if named == "ordered":
        # Texts under a hierarchy may write one number in several ways; it is one value.
        of_number: dict[Fraction, Fraction] = defaultdict(Fraction)
        for key, mass in gap.items():
            if key is not None:
                of_number[column.numbers[key]] += mass
        masses = [of_number[number] for number in sorted(of_number)] + ([gap[None]] if None in gap else [])
        if len(masses) < 2:
            return Fraction(0)
        moved, work = Fraction(0), Fraction(0)
        for mass in masses[:-1]:
            moved += mass
            work += abs(moved)
        return work / (len(masses) - 1)
    return _hierarchical(column, gap)


def _hierarchical(column: Column, gap: dict[Key, Fraction]) -> Fraction:
    """Mass is moved within the lowest nodes first, at a cost of the node's height over the root's."""
    assert column.paths is not None
    root = column.leaves[0][-1] if column.leaves else STAR
    chains: dict[tuple[str, ...], Fraction] = {path[::-1]: Fraction(0) for path in column.leaves}
    for key, mass in gap.items():
        chain = column.paths[key][::-1] if key is not None else (root, "\0missing")
        chains[chain] = chains.get(chain, Fraction(0)) + mass
    nodes = {chain[:n] for chain in chains for n in range(1, len(chain) + 1)}
    children: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for node in nodes:
        if len(node) > 1:
            children[node[:-1]].append(node)

    def height(node: tuple[str, ...]) -> int:
        return 1 + max(height(child) for child in children[node]) if children[node] else 0

    tall = height((root,))
    work = Fraction(0)

    def mass(node: tuple[str, ...]) -> Fraction:
        nonlocal work
        if not children[node]:
            return chains[node]
        parts = [mass(child) for child in children[node]]
        plus = sum((part for part in parts if part > 0), Fraction(0))
        minus = sum((-part for part in parts if part < 0), Fraction(0))
        work += min(plus, minus) * height(node)
        return plus - minus

    mass((root,))
    return work / tall if tall else Fraction(0)


def _lkc(quantity: str, settings: dict[str, Any], attribute: str | None, classes: Classes) -> Figure:
    width = len(classes.cells[0])
    known = min(settings["L"], width)
    least, most = math.inf, Fraction(0)
    for subset in combinations(range(width), known):
        groups = classes.known_by(subset)
        least = min(least, *groups.crowds)
        if attribute is None:
            continue
        column, value = classes.sensitive[attribute], settings.get("value")
        for part in groups.counts(attribute):
            n = max(part.counter.values()) if value is None else sum(
                n for key, n in part.counter.items() if _named(column, key, value)
            )  # fmt: skip
            most = max(most, Fraction(n, part.people))
    return int(least) if quantity == "K" else most


def _shared(power: int, classes: Classes) -> int:
    """Fewest people with rows in all of the classes that an attacker knows of somebody."""
    least = classes.everyone
    crowds = [classes.people_of(rows) for rows in classes.rows]
    for person in set().union(*crowds):
        mine = [crowd for crowd in crowds if person in crowd]
        for known in combinations(mine, min(power, len(mine)) if power else len(mine)):
            least = min(least, len(set.intersection(*known)))
    return least


def _payoff(settings: dict[str, Any], classes: Classes) -> Fraction:
    get = {
        "adversary_cost": 4.0, "adversary_gain": 300.0, "publisher_loss": 300.0, "publisher_benefit": 1200.0,
        "attack": "allowed", "definition": "record", "attacker": "prosecutor",
    } | settings  # fmt: skip
    cost, gain = Fraction(get["adversary_cost"]), Fraction(get["adversary_gain"])
    loss, benefit = Fraction(get["publisher_loss"]), Fraction(get["publisher_benefit"])
    sizes = classes.crowds
    if get["definition"] == "table":
        if get["attack"] == "allowed":
            return sum((benefit * n - loss / n for n in sizes), Fraction(0))
        return sum((cost * n - gain for n in sizes), Fraction(0))
    if get["attacker"] == "journalist":
        assert classes.people is not None
        sizes = [max(n, 1) for n in classes.people]
    worst = []
    for n in sizes:
        margin = cost - gain / n
        worst.append(margin if get["attack"] == "none" else benefit - (loss / n if margin < 0 else 0))
    return min(worst)


def _score(settings: dict[str, Any], classes: Classes) -> Figure:
    weights = {"w_k": 0.5, "w_l": 0.25, "w_t": 0.25, "strict": False} | settings
    evennesses, distances = [], []
    offends = min(classes.crowds) < 2
    undefined = False
    for attribute in classes.sensitive:
        table = Part(-1, classes.whole(attribute), 0).distribution
        even, gaps = [], []
        for part in classes.counts(attribute):
            counter, shares = part.counter, part.distribution
            even.append(_entropy(counter) / math.log(len(counter)) if len(counter) > 1 else 0.0)
            gaps.append(sum((abs(shares.get(key, 0) - q) for key, q in table.items()), Fraction(0)) / 2)
            offends |= len(counter) == 1 or gaps[-1] > Fraction(1, 2)
        extent = max(gaps) - min(gaps)
        undefined |= not extent and bool(weights["strict"])
        distances.append(
            sum((gap - min(gaps)) / extent for gap in gaps) / len(gaps) if extent else Fraction(0)
        )
        evennesses.append(sum(even) / len(even))
    if undefined:
        return None
    if offends:
        return 0
    return (
        weights["w_k"] * (1 - 1 / min(classes.crowds))
        + weights["w_l"] * sum(evennesses) / len(evennesses)
        + weights["w_t"] * (1 - float(sum(distances)) / len(distances))
    )
