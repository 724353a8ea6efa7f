"""The contents of a report, once for every format: blocks of a first page and of an appendix.

A block is plain data with a ``kind``: ``verdict``, ``cards``, ``facts``, ``list``, ``table``, ``pictures``,
``sign`` or ``heat``. A page and a PDF draw the same blocks, but for the last, which a page has alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from incrowd.core.documents import loss_in_words
from incrowd.release.report import charts, trials
from incrowd.release.report.details import Table, losses_of, number, risk_limit, tables_of
from incrowd.release.report.document import ComparisonRun

Block = dict[str, Any]

_ORDER = ("broken", "open", "holds")
_POINTS = 15
"""Points of the verdict on the first page; the appendix has all."""
_COLUMNS = 12
"""Columns of which the first page draws the loss, those that lost most; the appendix has all."""
_SIGNS = {">=": "\N{GREATER-THAN OR EQUAL TO}", "<=": "\N{LESS-THAN OR EQUAL TO}"}
_TO = "\N{WORD JOINER}\N{EN DASH}\N{WORD JOINER}"
"""Between the ends of an interval, which stay on one line."""
_NO_ATTACK = (
    "None: nobody tried to find people in this release. "
    "Without an attack, a release for everybody is advised against."
)
_NOTICE = "INTERNAL: this report names values of the table before recoding. Do not publish it."
_NOTICES = {"tables": "INTERNAL: this report says which suppressed cells are unsafe. Do not publish it."}
_SIGN = ("Name and office", "Date", "Signature")


def contents_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return title, notice, origin, and the blocks of the first page (``front``) and of the ``appendix``."""
    of_kind = {"comparison": _comparison, "tables": _count_tables}.get(document["kind"], _table)
    front, appendix = of_kind(document)
    versions = ", ".join(f"{name} {value}" for name, value in document["reproduce"].items())
    return {
        "title": document["title"],
        "notice": _NOTICES.get(document["kind"], _NOTICE) if document["internal"] else "",
        "front": [block for block in front if block is not None],
        "appendix": [block for block in appendix if block is not None],
        "made": f"Made with {versions}.",
    }


def _table(document: Mapping[str, Any]) -> tuple[list[Block | None], list[Block | None]]:
    """Return the blocks of a release, or of a table without a release."""
    board, points = document["board"], _points(document)
    several = len(points) > _POINTS
    left = f"And {len(points) - _POINTS} more, in the appendix." if several else ""
    front = [
        _verdict(document),
        _facts("For whom, why, and against whom", board["audience"]),
        _facts("What is released" if document["attributes"] else "What was looked at", board["table"]),
        _cards(board["cards"]),
        _list(
            "Points of the verdict",
            [*points[:_POINTS], *([left] if left else [])],
            document["verdict"]["state"],
        ),
        _risk_and_loss(document),
        _attacks(document),
        _asked(document, "What was asked for", weakest=False),
        _list("What was left out", board["left_out"]),
        {"kind": "sign", "title": "Approved by", "fields": list(_SIGN)} if document["attributes"] else None,
    ]
    tables = {table.title: table for table in tables_of(document)}
    shown = ("Columns", "Classes", "People")
    appendix = [
        _list("In words", document["sentences"]),
        _list("All points of the verdict", points) if several else None,
        _facts("What was decided", board["decisions"]),
        _asked(document, "What was asked for, and the weakest class", weakest=True),
        _pictures("Every column, before and after", list(map(_of_column, _drawn(document)))),
        _pictures("Classes and risk", _risk_pictures(document)),
        *trials.blocks_of(document),
        *(_block(tables[title]) for title in shown if title in tables),
        *(_block(table, folded=True) for title, table in tables.items() if title not in shown),
    ]
    return front, appendix


def _comparison(document: Mapping[str, Any]) -> tuple[list[Block | None], list[Block | None]]:
    front = [
        _verdict(document),
        _cards(document["board"]["cards"]),
        _list("What the figures show", document["sentences"]),
        _pictures("In pictures", pictures_of_runs(document), wide=True),
    ]
    return front, [_block(table) for table in tables_of(document)]


def _count_tables(document: Mapping[str, Any]) -> tuple[list[Block | None], list[Block | None]]:
    """Return the blocks of count tables, given as `HeatTable` in ``heat``."""
    board, heat = document["board"], document["heat"]
    front = [
        _verdict(document),
        _cards(board["cards"]),
        _list("Points of the verdict", _points(document), document["verdict"]["state"]),
        _facts("What is released", board["table"]),
        _facts("For whom, and why", board["audience"]),
        _list("How the tables are protected", document["sentences"]),
        *({"kind": "heat", "title": each.title, "heat": each} for each in heat),
    ]
    return front, []


# --- blocks -------------------------------------------------------------------------------------------


def _verdict(document: Mapping[str, Any]) -> Block:
    verdict = document["verdict"]
    return {"kind": "verdict", "state": verdict["state"], "text": verdict["text"]}


def _cards(cards: list[Any]) -> Block:
    return {"kind": "cards", "cards": cards}


def _facts(title: str, rows: list[Any]) -> Block | None:
    return {"kind": "facts", "title": title, "rows": rows} if rows else None


def _list(title: str, lines: list[str], state: str = "") -> Block | None:
    return {"kind": "list", "title": title, "lines": lines, "state": state} if lines else None


def _block(table: Table, *, folded: bool = False) -> Block | None:
    return {"kind": "table", "folded": folded, **table._asdict()} if table.rows else None


def _pictures(title: str, pictures: list[charts.Picture], *, wide: bool = False) -> Block | None:
    return {"kind": "pictures", "title": title, "pictures": pictures, "wide": wide} if pictures else None


def _points(document: Mapping[str, Any]) -> list[str]:
    """Return a line for each broken, open or accepted point, with the way out or the reason."""
    points = sorted(document["verdict"].get("points", ()), key=lambda each: _ORDER.index(each["state"]))
    return [
        f"{each['point']}: {each['text']} "
        + (each["way_out"] if each["accepted"] is None else f"Accepted by the owner: {each['accepted']}")
        for each in points
    ]


def _asked(document: Mapping[str, Any], title: str, *, weakest: bool) -> Block | None:
    """Return a row per requested model: limit, value, result, and the weakest class if wanted."""
    rows = []
    for each in document["models"]:
        about = f" of {each['attribute']}" if each["attribute"] else ""
        against = f", against {each['attacker']}" if "attacker" in each else ""
        sign = _SIGNS.get(each["sign"], each["sign"])
        row = [f"{each['model']}{about}{against}", f"{each['quantity']} {sign} {number(each['asked'])}"]
        row += [f"{number(each['reached'])}", "holds" if each["holds"] else "fails"]
        if weakest and each["weakest"]:
            cells = each["weakest"]["cells"].items()
            named = ", ".join(f"{name} {'(missing)' if cell is None else cell}" for name, cell in cells)
            people = f" of {each['weakest']['people']:,} people" if "people" in each["weakest"] else ""
            rows.append([*row, f"{named} ({each['weakest']['records']:,} records{people})"])
        elif not weakest:
            rows.append(row)
    header = ["model", "asked", "reached", "result", *(["weakest class"] if weakest else [])]
    return _block(Table(title, header, rows))


def _attacks(document: Mapping[str, Any]) -> Block | None:
    """Return a row per attack that was carried out, or a sentence if there was none."""
    attacks, title = document.get("attacks"), "Attacks that were carried out"
    if attacks is None:
        return None
    if not attacks:
        return _list(title, [_NO_ATTACK])

    def rate(of: Mapping[str, float] | None, guesses: int) -> str:
        if of is None:
            return "–"
        if not guesses:
            return "not measured"
        return f"{of['value']:.1%} ({100 * of['low']:.1f}{_TO}{of['high']:.1%})"

    rows = [
        [each["name"].replace("-", " "), f"{each['attacks']:,}"]
        + [rate(each[name], each["attacks"]) for name in ("main", "baseline")]
        for each in attacks
    ]
    header = ["attack", "guesses", "right with the release", "right without it"]
    return _block(Table(f"{title}, with 95% intervals", header, rows))


# --- pictures -----------------------------------------------------------------------------------------


def _drawn(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    # Pictures of a height stand beside each other.
    drawn = [attribute for attribute in document["attributes"] if attribute["bins"]]
    return sorted(drawn, key=lambda each: -len(each["bins"]))


def _of_column(attribute: Mapping[str, Any]) -> charts.Picture:
    bins = (
        f"{each['label']} {each['before']:,.0f} before, {each['after']:,.0f} after"
        for each in attribute["bins"]
    )
    return f"{attribute['name']}: {'; '.join(bins)}", partial(charts.distribution, dict(attribute))


def _risk_and_loss(document: Mapping[str, Any]) -> Block | None:
    """Return the largest risk on its scale, and the part of each column that cells stand for."""
    pictures: list[charts.Picture] = []
    risk = {when: figures.get("prosecutor", {}).get("max") for when, figures in document["risk"].items()}
    if (after := risk.get("after")) is not None:
        # An attacker who knows other columns has other limits.
        models = (each for each in document["models"] if "attacker" not in each)
        limit = risk_limit((each["model"], each["quantity"], each["asked"]) for each in models)
        known = ", ".join(f"{each:.1%} {when}" for when, each in risk.items() if each is not None)
        most = "" if limit is None else f"; the limit is {limit:.1%}"
        draw = partial(charts.risk_scale, risk.get("before"), after, limit)
        pictures.append((f"Largest risk of being found: {known}{most}", draw))
    lost, every = losses_of(document), {each["name"]: each for each in document["attributes"]}
    columns = [every[name] for name in lost if every[name].get("covers")][:_COLUMNS]
    if columns:
        words = ", ".join(f"{each['name']} {loss_in_words(lost[each['name']])}" for each in columns)
        named = [{**each, "name": f"{each['name']}, {loss_in_words(lost[each['name']])}"} for each in columns]
        pictures.append((f"Loss by column: {words}", partial(charts.coverage, named)))
    return _pictures("Risk and loss", pictures)


def _risk_pictures(document: Mapping[str, Any]) -> list[charts.Picture]:
    pictures: list[tuple[str, Callable[[], Any]]] = []
    if any(sizes["distribution"] for sizes in document["classes"].values()):
        pictures.append(
            ("Records by the size of their class", partial(charts.class_sizes, document["classes"]))
        )
    pictures.append(("Figures of the risk models", partial(charts.risks, document["risk"])))
    if measured := [each for each in document.get("attacks") or () if each["attacks"]]:
        pictures.append(("Success of attacks", partial(charts.attacks, measured)))
    if document["front"] and len(document["front"]) > 1:
        title = "Loss against mean risk of the recodings that none beats in both"
        pictures.append((title, partial(charts.front, document["front"])))
    return pictures


def pictures_of_runs(document: Mapping[str, Any]) -> list[charts.Picture]:
    """Return the small multiples of a comparison, a picture for each varying limit."""
    runs = [
        ComparisonRun(
            run["algorithm"], run.get("k"), run.get("l"), run.get("t"), None,
            seconds=run.get("seconds", float("nan")), utility=run.get("utility"), spread=run.get("spread"),
        )
        for run in document["runs"]
    ]  # fmt: skip
    names = list(dict.fromkeys(run.algorithm for run in runs))
    if len(names) > len(charts.COLOURS) or not any(run.utility for run in runs):
        return []
    axes = charts.measures(document["records"])
    return [
        (
            f"Seconds, LM and MD (sums over records) against {limit}; the table has the figures",
            partial(charts.panels, runs, limit, axes, names, (190, 150)),
        )
        for limit in document["limits"]
    ]
