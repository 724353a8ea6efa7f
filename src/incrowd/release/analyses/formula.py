"""Formulas of analyses: the columns in them, and the functions that they may call."""

from __future__ import annotations

import ast
import re
from typing import Any

from incrowd.core.errors import ParameterError

_FUNCTIONS = {
    *("C", "I", "Q", "Treatment", "Sum", "Poly", "Diff", "Helmert", "bs", "cr", "cc", "te"),
    *("center", "standardize", "scale"),
}
"""Functions of patsy that formulas may call."""
_NUMPY = {"abs", "exp", "log", "log10", "log1p", "log2", "maximum", "minimum", "power", "sqrt", "square"}
"""Functions of NumPy that formulas may call, as ``np.log(cost)``."""
_PARTS = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Constant, ast.keyword),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context),
)
"""Parts of an expression that call nothing."""


def columns_of(side: str, where: str) -> list[str]:
    """Return the columns that one side of a formula names, in their order.

    A formula is code that patsy runs, and a policy file may come from somebody else. So a formula may call
    the functions of two lists alone.

    Raises
    ------
    ParameterError
        When there is anything else in the formula.

    Examples
    --------
    >>> columns_of("np.log(cost) + C(sex):Q('birth year')", "analysis cost")
    ['cost', 'sex', 'birth year']
    """
    refused = ParameterError(
        f"{where}: a formula has names of columns, numbers, operators, and functions such as C, I, Q, bs and "
        "np.log"
    )
    # The sign of an interaction is none of Python's, except inside texts.
    python = re.sub(r"""("[^"]*"|'[^']*')|:""", lambda part: part[1] or "*", side).strip() or "1"
    try:
        tree = ast.parse(python, mode="eval") if python.isprintable() and len(python) < 2_000 else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None:
        raise refused
    names: dict[tuple[int, int], str] = {}
    functions: set[Any] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _may_be_called(node.func):
            functions |= {node.func, getattr(node.func, "value", None)}
            if isinstance(node.func, ast.Name) and node.func.id == "Q":
                [name] = node.args if len(node.args) == 1 else [None]
                if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
                    raise refused
                names[name.lineno, name.col_offset] = name.value
        elif isinstance(node, ast.Name) and node not in functions and not node.id.startswith("__"):
            names[node.lineno, node.col_offset] = node.id
        elif node not in functions and not isinstance(node, _PARTS):
            raise refused
    return list(dict.fromkeys(names[place] for place in sorted(names)))


def _may_be_called(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and function.value.id == "np" and function.attr in _NUMPY
    return isinstance(function, ast.Name) and function.id in _FUNCTIONS
