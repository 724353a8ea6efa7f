"""Text becomes SQL through functions that quote: no text of a file stands in SQL unquoted.

A second reading of the sources, function by function. What comes out of a setting, an input, JSON or a table
of TOML is foreign, and so is whatever is computed from it. A text with words of SQL may hold a foreign value
only within a function that quotes it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from package_sources import PACKAGE, VERIFIER, parsed, place

SQL = re.compile(
    r"\b(SELECT|FROM|WHERE|COPY|CREATE|INSERT|UPDATE|DELETE|GROUP BY|HAVING|CASE|FILTER|SET|ATTACH|CAST)\b"
)
FOREIGN = {
    "setting",
    "input",
    "file",
    "settings",
    "inputs",
    "loads",
    "load",
    "attested",
    "read_text",
    "title",
}
"""Calls and attributes that bring in what a file says."""
QUOTING = {
    # SQL of texts, names, paths and numbers
    "literal", "number", "quote", "quoted_name", "duckdb_name", "glob_free", "text", "qualified", "_literal", "_text",
    "_value", "_array",
    # SQL of a column by its name, or by its place
    "shown", "cell", "written", "means_missing", "finer_than_years", "in_one_group", "_sensitive", "place", "_expression",
    # SQL of a model by its settings; whoever has the parameter `settings` is read with it
    "diversity", "share", "gain", "log_ratio", "by_parts", "who_share", "_worst_of_subsets", "_texts_in_groups",
    # no text comes out of these
    "len", "int", "float", "bool", "enumerate", "sum", "count", "range",
}  # fmt: skip
ROOMS = (VERIFIER, PACKAGE / "engines")


def name_of(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def foreign(node: ast.AST | None, tainted: set[str]) -> bool:
    """Say whether an expression has text of a file, outside of functions that quote."""
    if node is None or (isinstance(node, ast.Call) and name_of(node.func) in QUOTING):
        return False
    if isinstance(node, ast.Call) and name_of(node.func) == "map" and name_of(node.args[0]) in QUOTING:
        return False
    if isinstance(node, ast.Name):
        return node.id in tainted
    if isinstance(node, ast.Attribute) and node.attr in FOREIGN:
        return True
    if isinstance(node, ast.Compare):
        return False
    if isinstance(node, ast.IfExp):
        return foreign(node.body, tainted) or foreign(node.orelse, tainted)
    if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
        inner = set(tainted)
        for each in node.generators:
            if foreign(each.iter, inner):
                inner |= {name.id for name in ast.walk(each.target) if isinstance(name, ast.Name)}
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        return any(foreign(each, inner) for each in parts)
    return any(foreign(each, tainted) for each in ast.iter_child_nodes(node))


def targets(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def unquoted(tree: ast.AST) -> list[int]:
    """Return the lines where a text of SQL has unquoted text of a file."""
    lines = set()
    for function in functions(tree):
        tainted = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)} & {"settings"}
        for _ in range(3):
            for node in ast.walk(function):
                if isinstance(node, ast.Assign) and foreign(node.value, tainted):
                    tainted |= {name for each in node.targets for name in targets(each)}
                elif (isinstance(node, ast.NamedExpr | ast.AnnAssign) and foreign(node.value, tainted)) or (
                    isinstance(node, ast.For) and foreign(node.iter, tainted)
                ):
                    tainted |= targets(node.target)
        for node in ast.walk(function):
            lines |= {
                each.lineno
                for each in fragments(node)
                if foreign(each.value if isinstance(each, ast.FormattedValue) else each, tainted)
            }
    return sorted(lines)


def fragments(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a text of SQL: of an f-string, `format`, `%` or `+`."""
    if isinstance(node, ast.JoinedStr):
        said = " ".join(str(each.value) for each in node.values if isinstance(each, ast.Constant))
        if SQL.search(said):
            yield from (each for each in node.values if isinstance(each, ast.FormattedValue))
    elif (
        isinstance(node, ast.Call) and name_of(node.func) == "format" and isinstance(node.func, ast.Attribute)
    ):
        if isinstance(node.func.value, ast.Constant) and SQL.search(str(node.func.value.value)):
            yield from [*node.args, *(each.value for each in node.keywords)]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        sides = (node.left, node.right)
        if any(isinstance(each, ast.Constant) and SQL.search(str(each.value)) for each in sides):
            yield from sides


def test_no_text_of_a_file_stands_in_sql_as_it_is():
    paths = [path for room in ROOMS for path in sorted(room.rglob("*.py"))]
    assert len(paths) > 50
    assert [f"{place(path)}:{line}" for path in paths for line in unquoted(parsed(path))] == []


@pytest.mark.parametrize(
    "body",
    [
        "least = subject.setting('least')\n  yield 'w', f'SELECT count(*) FROM classes WHERE size < {least}'",
        "oldest = subject.setting('oldest')\n  for n in c: yield f'SELECT 1 FROM t WHERE list_max(x) > {oldest}'",
        "least = subject.setting('least')\n  more = f'{least} + 1'\n  return f'SELECT x FROM t WHERE n < {more}'",
        "return 'SELECT {} FROM t'.format(chosen.input('risk'))",
        "return 'SELECT 1 FROM t WHERE n < %s' % subject.setting('least')",
        "return 'SELECT 1 FROM t WHERE n < ' + str(clause.settings['least'])",
        "data = json.loads(text)\n  rates = [each['high'] for each in data]\n  return f'SELECT {max(rates)} FROM t'",
        "for a, b in clause.settings.items(): con.execute(f'SET {a} = {b}')",
        "if (share := subject.setting('share')): return f'SELECT {share!r}::DOUBLE FROM t'",
    ],
)
def test_the_reading_finds_what_is_unquoted(body: str):
    assert unquoted(ast.parse(f"def f(subject):\n  {body}\n"))
    quoted = re.sub(r"(subject\.setting|chosen\.input)\(('\w+')\)", r"number(\1(\2))", body)
    if quoted != body:
        assert not unquoted(ast.parse(f"def f(subject):\n  {quoted}\n"))
