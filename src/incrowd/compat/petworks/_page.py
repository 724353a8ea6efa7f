"""A page of a result."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["page"]

_STYLE = """
:root { color-scheme: light dark; font-family: system-ui, sans-serif; }
body { max-width: 42rem; margin: 3rem auto; padding: 0 1rem; line-height: 1.5; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 0.5rem 0.75rem; border-bottom: 1px solid #8886; }
td { font-variant-numeric: tabular-nums; }
"""


def page(result: Mapping[str, Any]) -> str:
    """Return HTML: single figures first, then a table for each part and for the groups."""
    parts = {name: value for name, value in result.items() if isinstance(value, Mapping | list)}
    single = {name: value for name, value in result.items() if name not in parts}
    body = _table(single) if single else ""
    for name, part in parts.items():
        drawn = _table(part) if isinstance(part, Mapping) else _table_of_groups(part)
        body += f"<h2>{html.escape(name)}</h2>{drawn}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Privacy report</title><style>{_STYLE}</style></head>"
        f"<body><h1>Privacy report</h1>{body}</body></html>\n"
    )


def _words(value: Any) -> str:
    words = {True: "yes", False: "no", None: "not measured"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def _table(figures: Mapping[str, Any]) -> str:
    rows = (
        f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(_words(value))}</td></tr>'
        for name, value in figures.items()
    )
    return f"<table>{''.join(rows)}</table>"


def _table_of_groups(groups: Sequence[Mapping[str, Any]]) -> str:
    """Draw a row per group, with a column for each key of a mapping."""
    flat = [
        {
            (name, key): figure
            for name, value in group.items()
            for key, figure in (value.items() if isinstance(value, Mapping) else [("", value)])
        }
        for group in groups
    ]
    heads = list(dict.fromkeys(head for row in flat for head in row))
    titles = (key if name == "group" else f"{name} of {key}" if key else name for name, key in heads)
    head = "".join(f'<th scope="col">{html.escape(title)}</th>' for title in titles)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(_words(row[head]))}</td>' for head in heads)}</tr>" for row in flat
    )
    return f"<table><tr>{head}</tr>{body}</table>"
