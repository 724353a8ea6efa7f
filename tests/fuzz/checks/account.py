"""The account's statements about a release."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from fuzz import oracle
from fuzz.checks.made import Finding, Made, Outcome, is_summarized
from fuzz.oracle import STAR, Classes, Column
from fuzz.sources import Services


def account(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    account = made.release.to_dict()
    keys = [[column.keys[row] for row in range(made.classes.total)] for column in made.quasi.values()]
    cells = [
        [STAR if gone else ("key", key) for key, gone in zip(column, made.before, strict=True)]
        for column in keys
    ]
    yield from _figures("after", account["after"], made.classes)
    before = oracle.group(cells, made.sensitive, made.classes.whose)
    yield from _figures("before", account["before"], before)
    for when, classes in (("before", before), ("after", made.classes)):
        yield from _people(when, account[when].get("people"), classes)
    for measured in account["after"]["privacy"]:
        yield from _measured(made, measured)
    if made.classes.rows:
        yield from _risks(made, account["after"]["risk"])


def _risks(made: Made, told: dict[str, Any]) -> Iterator[Finding]:
    classes = made.classes.seen(made.case.get("wildcards", "value"))
    crowds = classes.crowds
    risks = classes.worst([Fraction(1, size) for size in crowds])
    expected = {
        "prosecutor": {
            "max": max(risks),
            "mean": sum(risks, Fraction(0)) / len(risks),
            "min": min(Fraction(1, size) for size in crowds),
        }
    }
    if made.sensitive:
        expected["attribute-disclosure"] = _confidence(classes)
    for name, figures in expected.items():
        for figure, value in figures.items():
            if (
                name in told
                and figure in told[name]
                and not math.isclose(told[name][figure], value, abs_tol=1e-12)
            ):
                yield Finding("account", f"{name} {figure} is {told[name][figure]} and not {float(value)}")


def _confidence(classes: Classes) -> dict[str, Fraction]:
    """How sure an attacker is of the most frequent value in somebody's class, by the worst attribute."""
    result: dict[str, Fraction] = {}
    for attribute in classes.sensitive:
        sure = [max(part.shares.values()) for part in classes.counts(attribute)]
        of_people = classes.worst(sure)
        here = {
            "max": max(sure),
            "mean": sum(of_people, Fraction(0)) / len(of_people),
            "homogeneous": Fraction(sum(share == 1 for share in of_people), len(of_people)),
            "baseline": Fraction(max(classes.whole(attribute).values()), classes.everyone),
        }
        result = {name: max(value, result.get(name, value)) for name, value in here.items()}
    return result


def _people(when: str, told: dict[str, Any] | None, classes: Classes) -> Iterator[Finding]:
    if told is None or not classes.whose:
        if bool(told) != bool(classes.whose):
            yield Finding("account", f"{when}: people are {told}")
        return
    crowds = classes.crowds
    expected = {
        "people": classes.everyone, "unnamed": classes.unnamed, "suppressed": classes.everyone - classes.left,
        "smallest": min(crowds, default=0), "largest": max(crowds, default=0),
        "alone": sum(each == 1 for each in classes.worst([Fraction(1, size) for size in crowds])),
    }  # fmt: skip
    for name, value in expected.items():
        if told[name] != value:
            yield Finding("account", f"{when}: {name} is {told[name]} people and not {value}")
    if crowds and not math.isclose(told["mean"], sum(crowds) / len(crowds)):
        yield Finding("account", f"{when}: mean is {told['mean']} people")
    for part in told["distribution"]:
        inside = [size for size in crowds if part["least"] <= size <= part["most"]]
        if (part["classes"], part["people"]) != (len(inside), sum(inside)):
            yield Finding("account", f"{when}: distribution of people {part}")


def _figures(when: str, told: dict[str, Any], classes: Classes) -> Iterator[Finding]:
    sizes = classes.sizes
    expected = {
        "records": classes.total, "suppressed": classes.suppressed, "unique": sizes.count(1),
        "count": len(sizes), "smallest": min(sizes, default=0), "largest": max(sizes, default=0),
    }  # fmt: skip
    told = told | told["classes"]
    for name, value in expected.items():
        if told[name] != value:
            yield Finding("account", f"{when}: {name} is {told[name]} and not {value}")
    if sizes and not math.isclose(told["mean"], sum(sizes) / len(sizes)):
        yield Finding("account", f"{when}: mean is {told['mean']}")
    for part in told["distribution"]:
        inside = [size for size in sizes if part["least"] <= size <= part["most"]]
        if (part["classes"], part["records"]) != (len(inside), sum(inside)):
            yield Finding("account", f"{when}: distribution {part}")
    if sum(part["records"] for part in told["distribution"]) != sum(sizes):
        yield Finding("account", f"{when}: distribution lacks records")


def _measured(made: Made, measured: dict[str, Any]) -> Iterator[Finding]:
    if measured["model"] not in oracle.LIMITS:
        return  # `again` compares it with what verify measures
    settings = dict(measured.get("settings", {}))
    models, classes = made.case["models"], made.classes
    if "attacker" in measured:
        models = next(
            each["models"] for each in made.case["attackers"] if each["name"] == measured["attacker"]["name"]
        )
        names = list(made.quasi)
        classes = classes.known_by([names.index(name) for name in measured["attacker"]["knows"]])
    classes = classes.seen(made.case.get("wildcards", "value"))
    for model in models:
        if model["model"] == measured["model"] and "limit" in measured:
            settings = {name: value for name, value in model.items() if name != "model"} | settings
    if measured["model"] == "l-diversity" and settings.get("kind") == "recursive":
        settings.setdefault("c", 3)
    value = oracle.measure(
        measured["model"], measured["quantity"], settings, measured.get("attribute"), classes
    )
    figure = math.inf if measured["value"] == "infinity" else measured["value"]
    same = figure is None if value is None else figure is not None and (
        figure == value or math.isclose(figure, float(value), rel_tol=1e-9, abs_tol=1e-9)
    )  # fmt: skip
    if not same:
        where = measured.get("attribute")
        yield Finding(
            f"measured {measured['model']}",
            f"{measured['quantity']} of {where!r} is {figure} and not {value}; {settings}",
        )


def loss(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    told = {entry["metric"]: entry for entry in made.release.to_dict()["utility"]}
    sizes, total = made.classes.sizes, made.classes.total
    squares = sum(size * size for size in sizes)
    expected: dict[str, float] = {
        "discernibility": squares + made.classes.suppressed * total,
        "discernibility-star": squares + made.classes.suppressed**2,
        "suppression": made.classes.suppressed / total,
    }
    if sizes:
        expected["average-class-size"] = sum(sizes) / len(sizes)
    loss = _lm(made)
    if loss is not None:
        expected["loss"] = loss
    for name, value in expected.items():
        if name in told and not math.isclose(told[name]["value"], value, rel_tol=1e-9, abs_tol=1e-9):
            yield Finding(f"utility {name}", f"{told[name]['value']} and not {value}")


def _lm(made: Made) -> float | None:
    """LM of the release if cells alone give the loss."""
    columns = made.quasi.values()
    plain = all(
        oracle.width_of(column, made.live) > 1 and STAR not in column.texts and not is_summarized(made, column)
        and (column.grid is None or len(set(map(float, column.numbers.values()))) == len(set(column.numbers.values())))
        and (column.paths is None or all(len(set(path)) == len(path) for path in column.leaves))
        for column in columns
    )  # fmt: skip
    if not plain or made.kind not in ("local", "full-domain"):
        return None
    total = Fraction(0)
    levels = made.release.recoding.decisions().get("levels", {})
    for j, (name, column) in enumerate(made.quasi.items()):
        lost = Fraction(made.classes.suppressed)
        for cells, rows in zip(made.classes.cells, made.classes.rows, strict=True):
            keys = {column.keys[row] for row in rows}
            if made.kind == "local":
                # `narrow` says whether a cell has to be starred.
                starred = (column.style, cells[j]) == ("suppress", STAR)
                lost += len(rows) * (1 if starred else oracle.spread(column, keys, made.live))
            elif column.paths is None:
                lost += len(rows) * levels[name]
            else:
                lost += len(rows) * _node_loss(made, column, levels[name], keys)
        total += lost / made.classes.total
    return float(total / len(made.quasi))


def _node_loss(made: Made, column: Column, level: int, keys: set[Any]) -> Fraction:
    assert column.paths is not None
    if level == 0:
        return Fraction(0)
    size = oracle.width_of(column, made.live)
    if None in keys:
        return Fraction(1)
    path = column.paths[next(iter(keys))]
    place = min(level, len(path) - 1)
    stem = path[place:]
    if len(stem) == 1:
        return Fraction(1)
    under = sum(1 for leaf in column.leaves if leaf[-len(stem) :] == stem)
    return Fraction(under - 1, size - 1)
