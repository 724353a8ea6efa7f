"""The tables at the end of a report, a function per table for every format of page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from incrowd.core.documents import figure, loss_in_words

Row = list[str]


class Table(NamedTuple):
    """A table of texts."""

    title: str
    header: Row
    rows: list[Row]


def tables_of(document: Mapping[str, Any]) -> list[Table]:
    """Return every non-empty table of a report."""
    if document["kind"] == "comparison":
        return [_runs(document)]
    tables = (part(document) for part in _PARTS)
    return [table for table in tables if table is not None]


def number(value: Any) -> str:
    """Write a figure, a word or nothing for a cell of a table."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    return figure(value)


def _runs(document: Mapping[str, Any]) -> Table:
    limits = document["limits"]
    header = [
        *("algorithm", *limits, "runs", "seconds", "LM per record", "MD"),
        *("classes", "suppressed", "problem"),
    ]
    rows = []
    for run in document["runs"]:
        utility = run.get("utility", {})
        figures = [
            *(run.get(limit) for limit in limits),
            *(run.get("runs", 1), run.get("seconds"), utility.get("loss"), utility.get("distortion")),
            *(run.get("classes"), run.get("suppressed")),
        ]
        rows.append([run["algorithm"], *map(number, figures), run.get("problem", "")])
    return Table("All settings", header, rows)


def _columns(document: Mapping[str, Any]) -> Table:
    """Return a row per column: the role, the recoding, and the mean loss of a cell."""
    losses, how = losses_of(document), {each["name"]: each["how"] for each in document["attributes"]}
    rows = []
    for column in document["columns"]["released"]:
        name, role = column["name"], column["role"]
        lost = loss_in_words(losses[name]) if name in losses else "–"
        rows.append([name, "quasi-identifier" if role == "quasi" else role, lost, how.get(name, "as it is")])
    if not how:
        return Table("Columns", ["column", "role"], [row[:2] for row in rows])
    return Table("Columns", ["column", "role", "loss", "recoding"], rows)


def risk_limit(limits: Iterable[tuple[str, str, float]]) -> float | None:
    """Return the largest risk of being found that models allow: each is a name, a quantity and a limit."""
    risks = [
        1 / limit if quantity == "k" else limit
        for model, quantity, limit in limits
        if (model, quantity) == ("maximum-risk", "risk")
        or (quantity == "k" and model in ("k-anonymity", "km-anonymity", "alpha-k-anonymity"))
    ]
    return min(risks, default=None)


def losses_of(document: Mapping[str, Any]) -> dict[str, float]:
    """Return the mean loss of a cell of each quasi-identifier, 0..1, the largest first."""
    of_metric = {each["metric"]: each["per_attribute"] for each in document["loss"]}
    return dict(sorted(of_metric.get("loss", {}).items(), key=lambda each: -each[1]))


def classes(document: Mapping[str, Any]) -> Table:
    """Return the number and the sizes of the classes, before and after where both are given."""
    figures = {
        "equivalence classes": "count",
        "smallest class": "smallest",
        "largest class": "largest",
        "mean size": "mean",
        "records alone in their class": "unique",
    }
    return _before_and_after("Classes", figures, document["classes"])


def _people(document: Mapping[str, Any]) -> Table | None:
    if not document.get("people"):
        return None
    figures = {
        "people": "people",
        "people in the smallest class": "smallest",
        "people in the largest class": "largest",
        "mean": "mean",
        "people alone in a class": "alone",
        "people without a row left": "suppressed",
        "rows that do not say whose they are": "unnamed",
    }
    return _before_and_after("People", figures, document["people"])


def _before_and_after(title: str, figures: Mapping[str, str], moments: Mapping[str, Any]) -> Table:
    """Return a row per figure and a column per moment."""
    rows = [
        [words, *(number(moment[name]) for moment in moments.values())] for words, name in figures.items()
    ]
    return Table(title, ["figure", *moments], rows)


def risks(document: Mapping[str, Any]) -> Table:
    """Return every figure of every risk model, before and after where both are given."""
    moments = document["risk"]
    last = moments[list(document["classes"])[-1]]
    models = dict.fromkeys(name for moment in document["classes"] for name in moments[moment])
    rows = [
        [
            f"{model}, {name.replace('_', ' ')}",
            *(number(moments[moment].get(model, {}).get(name)) for moment in document["classes"]),
        ]
        for model in models
        for name in last.get(model, {})
    ]
    return Table("Risk models", ["figure", *document["classes"]], rows)


def _loss(document: Mapping[str, Any]) -> Table | None:
    if not document["loss"]:
        return None
    figures = {"value": "value", "normalized": "0 to 1"}
    if any("weighted" in each for each in document["loss"]):
        figures["weighted"] = "weighted"
    rows = [[each["metric"], *(number(each.get(name)) for name in figures)] for each in document["loss"]]
    return Table("Loss", ["metric", *figures.values()], rows)


def _models(document: Mapping[str, Any]) -> Table:
    rows = [
        [each["model"], _settings(each), each["attribute"] or "", each["quantity"], number(each["reached"])]
        for each in [*document["models"], *document["measured"]]
    ]
    return Table("Every privacy model", ["model", "settings", "attribute", "measures", "reached"], rows)


def _settings(model: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in model["settings"].items())


def _front(document: Mapping[str, Any]) -> Table | None:
    if not document["front"]:
        return None
    rows = [
        [
            " ".join(map(str, node["levels"])),
            *(number(node[name]) for name in ("score", "risk", "suppressed")),
        ]
        for node in document["front"]
    ]
    header = ["levels", "loss", "mean risk", "suppressed"]
    return Table("Recodings that none beats in loss and mean risk", header, rows)


def _policy(document: Mapping[str, Any]) -> Table | None:
    policy = document["policy"]
    if not policy:
        return None
    rows = [["models", "; ".join(policy["models"])]]
    rows += [
        [name.replace("_", " "), number(policy[name])]
        for name in (
            "algorithm",
            "max_suppression",
            "suppressed_records",
            "output",
            "ends",
            "keep_order",
            "wildcards",
        )
        if name in policy
    ]
    for each in policy["columns"]:
        hierarchy = f", hierarchy: {each['hierarchy']}" if each["hierarchy"] else ""
        ends = f", ends: {each['ends']}" if "ends" in each else ""
        rows.append([f"column {each['name']}", f"{each['role']}, {each['kind']}{hierarchy}{ends}"])
    return Table("Policy", ["setting", "value"], rows)


def clauses(document: Mapping[str, Any]) -> Table | None:
    """Return the judgement of each clause of the profile, if any."""
    if not document.get("clauses"):
        return None
    rows = [
        [each["id"], each["state"], each["text"], each["detail"], each["source"]]
        for each in document["clauses"]
    ]
    return Table("Clauses of the profile", ["clause", "result", "demand", "found", "source"], rows)


_PARTS = (clauses, _columns, classes, _people, risks, _loss, _models, _front, _policy)
"""The tables of an assessment or a release, in the order of the page."""
