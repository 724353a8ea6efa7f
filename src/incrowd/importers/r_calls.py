"""The calls of a script in R, read and never run: names, arguments that are written out, and lines.

What is not written out, such as the result of another function, has no value here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from incrowd.core.errors import TableError

__all__ = ["UNKNOWN", "Call", "Column", "calls_of"]

UNKNOWN = object()
"""The value of what only R could tell."""

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\f]+|\#[^\n]*)|(?P<line>\n|;)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?L?)"""
    r"""|(?P<name>(?:[^\W\d]|\.)[\w.]*|`[^`]+`)|(?P<sign><<-|<-|->|\|>|%[^%\n]*%|:::?|[=!<>]=|.)""",
    re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'"}
_CONSTANTS = {"TRUE": True, "T": True, "FALSE": False, "F": False, "NULL": None, "Inf": float("inf")}
_BINDING = {":": 4, "%>%": 3, "|>": 3, "*": 2, "/": 2, "+": 1, "-": 1}
"""How tightly signs bind, those that are computed; the others bind least, and have no value."""
_CASTS = frozenset({"as.factor", "factor", "as.character", "as.numeric", "as.integer"})
"""Functions that leave a value what it is."""
_OPEN, _CLOSED = "([{", ")]}"
_LONGEST = 100_000
"""Numbers of a sequence that is written out."""
_LARGEST = 1e15
"""Size of numbers that are computed."""
_DEEPEST = 100
"""Operands within each other that are read; R itself reads about fifty."""


class Column(NamedTuple):
    """A column of a table, such as ``dat$zip``."""

    name: str


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class Call:
    """A call of a function.

    Attributes
    ----------
    name
        Of the function, without its package.
    line
        Where it stands, from 1.
    positional, named
        Arguments: texts, numbers, truth values, None for NULL, lists of these, a `Column`, or `UNKNOWN`.
    into
        The column that takes the result, as it is: ``dat$zip <- sub(...)``; None where there is none.
    """

    name: str
    line: int
    positional: list[Any] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)
    into: str | None = None

    def matched(self, *names: str) -> dict[str, Any]:
        """Return arguments by name as R matches arguments, where unnamed arguments take the next free name.

        Parameters
        ----------
        names
            Of the parameters, in their order. What comes behind `...` keeps the name it was given.
        """
        arguments = {}
        for written, value in self.named.items():
            fits = [name for name in names if name.startswith(written)]
            arguments[written if written in names or len(fits) != 1 else fits[0]] = value
        free = [name for name in names if name not in arguments]
        return arguments | dict(zip(free, self.positional, strict=False))


def calls_of(text: str, source: str = "the script") -> list[Call]:
    """Return the calls of a script in the order in which R makes calls, inner calls first.

    Parameters
    ----------
    source
        Where the text is from, for errors.

    Raises
    ------
    TableError
        When calls, brackets or signs are nested too deep.

    Examples
    --------
    >>> [call] = calls_of('sdc <- kAnon(sdc, k = 3, importance = c(2, 1))')
    >>> call.name, call.named
    ('kAnon', {'k': 3, 'importance': [2, 1]})
    """
    return list(_Parser(text, source).statements())


def _tokens(text: str) -> list[_Token]:
    tokens, line = [], 1
    for token in _TOKEN.finditer(text):
        kind = str(token.lastgroup)
        if kind != "blank":
            tokens.append(_Token(kind, token[0], line))
        line += token[0].count("\n")
    return tokens


class _Parser:
    """A parser that visits each token once and skips unknown constructs, which have no value."""

    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._tokens = _tokens(text)
        self._place = self._depth = 0
        self._within = 0
        self._calls: list[Call] = []
        self._known: dict[str, Any] = {}

    def statements(self) -> Iterator[Call]:
        """Read everything."""
        while self._place < len(self._tokens):
            if self._next("line") or self._next("sign"):
                continue
            self._statement()
            yield from self._calls
            self._calls = []

    def _statement(self) -> None:
        """Read a statement, and store the value of an assigned variable."""
        name = self._peek()
        after = self._tokens[self._place + 1] if self._place + 1 < len(self._tokens) else None
        assigned = name and name.kind == "name" and after and after.text in ("<-", "<<-", "=")
        if assigned:
            self._place += 2
        value = self._expression()
        if assigned and name:
            self._known[name.text] = value

    # --- tokens ---------------------------------------------------------------------------------------

    def _peek(self) -> _Token | None:
        if self._within:  # a line end says nothing within brackets
            while self._place < len(self._tokens) and self._tokens[self._place].kind == "line":
                self._place += 1
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _next(self, kind: str, text: str | None = None) -> _Token | None:
        token = self._peek()
        if token is None or token.kind != kind or (text is not None and token.text != text):
            return None
        self._place += 1
        return token

    # --- expressions ----------------------------------------------------------------------------------

    def _expression(self, least: int = 0) -> Any:
        """Read a value, or several with signs between that bind at least so tightly."""
        value = self._operand()
        while (token := self._peek()) is not None and token.kind == "sign":
            binding = _BINDING.get(token.text, 0)
            if token.text in (",", *_CLOSED) or (binding < least and token.text not in ("$", *_OPEN)):
                break
            if token.text in _OPEN:
                self._skip_brackets()
                value = UNKNOWN
                continue
            self._place += 1
            self._skip_lines()
            if token.text in ("|>", "%>%"):
                value = self._operand(piped=(value,))
            elif token.text == "$":
                value = self._column()
            elif token.text in ("<-", "<<-", "=") and isinstance(value, Column):
                self._assign(value.name)
                value = UNKNOWN
            elif token.text == ":":
                value = _range(value, self._expression(binding + 1))
            elif binding:
                value = _compute(token.text, value, self._expression(binding + 1))
            else:
                self._operand()
                value = UNKNOWN
        return value

    def _column(self) -> Any:
        """Return the column behind `$`, or unknown for some rows of a column, as in ``dat[1:9, ]$zip``."""
        is_table = self._place >= 2 and self._tokens[self._place - 2].kind == "name"
        token = self._next("name") or self._next("text")
        return Column(token.text.strip("`\"'")) if is_table and token else UNKNOWN

    def _assign(self, column: str) -> None:
        """Read the new value of a column, and note the column in the only call that makes the value."""
        start = len(self._calls)
        self._expression()
        makers = [at for at in range(start, len(self._calls)) if self._calls[at].name not in _CASTS]
        if len(makers) == 1:
            self._calls[makers[0]] = replace(self._calls[makers[0]], into=column)

    def _operand(self, piped: tuple[Any, ...] = ()) -> Any:
        token = self._peek()
        if token is None or token.text in (",", *_CLOSED) or token.kind == "line":
            return UNKNOWN
        if self._depth == _DEEPEST:
            raise TableError(
                f"{self._source}, line {token.line}: calls, brackets or signs are nested more than "
                f"{_DEEPEST} deep"
            )
        self._place += 1
        self._depth += 1
        value = self._value(token, piped)
        self._depth -= 1
        return value

    def _value(self, token: _Token, piped: tuple[Any, ...]) -> Any:
        match token.kind:
            case "text":
                return re.sub(
                    r"\\(.)", lambda sign: _ESCAPES.get(sign[1], sign[0]), token.text[1:-1], flags=re.DOTALL
                )
            case "number":
                number = float(token.text.rstrip("L"))
                return int(number) if number.is_integer() else number
            case "name":
                return self._named(token, piped)
        if token.text == "-":
            value = self._operand()
            return -value if isinstance(value, int | float) else UNKNOWN
        if token.text == "(":
            self._within += 1
            value = self._expression()
            self._within -= 1
            self._next("sign", ")")
            return value
        if token.text in _OPEN:
            self._place -= 1
            self._skip_brackets()
        return UNKNOWN

    def _named(self, token: _Token, piped: tuple[Any, ...]) -> Any:
        while (sign := self._peek()) is not None and sign.text in ("::", ":::"):
            self._place += 1
            token = self._next("name") or token
        name = token.text.strip("`")
        sign = self._peek()
        if sign is None or sign.text != "(":
            return _CONSTANTS[name] if name in _CONSTANTS else self._known.get(name, UNKNOWN)
        if name in ("function", "if", "for", "while"):
            self._skip_brackets()
            return UNKNOWN
        call = Call(name, token.line, list(piped))
        self._arguments(call)
        if name in _VALUES:
            return _VALUES[name](call)
        self._calls.append(call)
        return UNKNOWN

    def _arguments(self, call: Call) -> None:
        self._place += 1
        self._within += 1
        while (token := self._peek()) is not None and token.text != ")":
            if self._next("sign", ","):
                continue
            after = self._tokens[self._place + 1] if self._place + 1 < len(self._tokens) else None
            start = self._place
            if token.kind in ("name", "text") and after is not None and after.text == "=":
                self._place += 2
                call.named[token.text.strip("`\"'")] = self._expression()
            else:
                call.positional.append(self._expression())
            if self._place == start:
                self._place += 1
        self._within -= 1
        self._next("sign", ")")

    def _skip_lines(self) -> None:
        while self._place < len(self._tokens) and self._tokens[self._place].kind == "line":
            self._place += 1

    def _skip_brackets(self) -> None:
        depth = 0
        while self._place < len(self._tokens):
            text = self._tokens[self._place].text
            depth += (text in _OPEN) - (text in _CLOSED)
            self._place += 1
            if depth <= 0:
                return


def _compute(sign: str, left: Any, right: Any) -> Any:
    """Compute numbers, and lists of numbers with a number or an equally long list."""
    if isinstance(left, list) or isinstance(right, list):
        count = max(len(side) for side in (left, right) if isinstance(side, list))
        sides = [side if isinstance(side, list) else [side] * count for side in (left, right)]
        if {len(side) for side in sides} != {count}:
            return UNKNOWN
        results = [_compute(sign, *pair) for pair in zip(*sides, strict=True)]
        return UNKNOWN if any(result is UNKNOWN for result in results) else results
    if any(isinstance(side, bool) or not isinstance(side, int | float) for side in (left, right)):
        return UNKNOWN
    if any(abs(side) > _LARGEST for side in (left, right)) or (sign == "/" and not right):
        return UNKNOWN
    values = {"*": left * right, "+": left + right, "-": left - right}
    return _short_number(left / right if sign == "/" else values[sign])


def _short_number(number: float) -> int | float:
    """Return a number as a person would write it: 0.3 for three times 0.1, and 10 for 10.0."""
    short = float(f"{number:.12g}")
    return int(number) if isinstance(number, int) or short.is_integer() else short


def _range(first: Any, last: Any) -> Any:
    if not (isinstance(first, int) and isinstance(last, int)) or abs(last - first) > _LONGEST:
        return UNKNOWN
    return list(range(first, last + 1)) if last >= first else list(range(first, last - 1, -1))


def _vector(call: Call) -> Any:
    values: list[Any] = []
    for argument in (*call.positional, *call.named.values()):
        values += argument if isinstance(argument, list) else [argument]
    if any(value is UNKNOWN for value in values):
        return UNKNOWN
    # In R a single value is a vector of one.
    return values[0] if len(values) == 1 else values


def _sequence(call: Call) -> Any:
    arguments = call.matched("from", "to", "by")
    numbers = [arguments.get(name) for name in ("from", "to")]
    step = arguments.get("by", 1)
    if not all(isinstance(number, int | float) for number in (*numbers, step)) or not step:
        return UNKNOWN
    first, last = numbers
    assert first is not None
    assert last is not None
    steps = int((last - first) / step + 1e-9)
    return [first + step * at for at in range(steps + 1)] if 0 <= steps <= _LONGEST else UNKNOWN


_VALUES = {"c": _vector, "seq": _sequence}
