"""Errors that incrowd raises on purpose, and how messages name things: by arguments, options or policy keys.

`incrowd.core.errors` has the tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import ClassVar

INSTALL = "pip install '.[{extra}]' in a checkout of incrowd"
"""How an extra is installed. Once a version is published: ``pip install 'incrowd[{extra}]'``."""

_NAMED = 20
_QUOTED = 60
_LONGEST = 1_500
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_UNSEEN = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")


def quoted(value: object) -> str:
    """Quote the caller's value, cut to some 60 characters; never for a value of the table."""
    try:
        text = repr(value)
    except ValueError:
        # Python writes no numbers of more than some thousand digits.
        return f"a {type(value).__name__} of very many digits"
    return (
        text if len(text) <= _QUOTED else f"{text[: _QUOTED - 20]}...{text[-10:]} ({len(text):,} characters)"
    )


def visible(text: str) -> str:
    r"""Write out the signs of a text that steer a terminal or turn the order of the next signs around.

    Examples
    --------
    >>> visible("\u202egnp.exe")
    '\\u202egnp.exe'
    """
    return _UNSEEN.sub(lambda sign: ascii(sign[0])[1:-1], text)


def named(names: Iterable[object], most: int = _NAMED) -> str:
    """List names for a message, quoted, with commas between; of many the first few and how many more."""
    return listed(map(quoted, names), most)


def listed(texts: Iterable[str], most: int = _NAMED) -> str:
    """List texts for a message with commas between; of many the first few and how many more."""
    every = list(texts)
    shown = ", ".join(every[:most])
    return shown if len(every) <= most else f"{shown} and {len(every) - most:,} more"


Wording = Callable[[str, str, str], str]
"""How an interface names a setting, of its argument, its option, and its key in a policy file."""

_WORDING: ContextVar[Wording | None] = ContextVar("wording", default=None)


@contextmanager
def worded(words: Wording) -> Iterator[None]:
    """Let an interface name the settings in messages; otherwise settings are arguments of functions."""
    before = _WORDING.set(words)
    try:
        yield
    finally:
        _WORDING.reset(before)


def wording() -> Wording | None:
    """Return how the interface names settings, or None if settings are arguments of functions."""
    return _WORDING.get()


def reword(words: Wording) -> None:
    """Let an interface name the settings in messages from now on, as in a separate thread."""
    _WORDING.set(words)


def setting(argument: str, option: str, policy: str = "") -> str:
    """Name a setting as an argument, an option or an entry of a policy, as the reader of a message needs.

    - `argument`: the setting in Python, such as ``force=True``.
    - `option`: the setting of a command, such as ``--force``.
    - `policy`: the setting in a policy file, for a command without the option.
    """
    words = wording()
    return argument if words is None else words(argument, option, policy)


def null_values_setting(text: str = "") -> str:
    """Name the setting for texts that mean missing."""
    shown = f" {text}" if text else ""
    argument = f"null_values=[{text}]" if text else "null_values"
    return setting(argument, f"--null-value{shown}", argument.replace("=", " = "))


def row_map_setting() -> str:
    """Return the setting of a row map, and the place of the file, written with a release, never later."""
    written = setting("the file of Release.write_row_map", "the file that `anonymize --row-map FILE` wrote")
    asked = setting("row_map=", "--row-map")
    return f"the row map ({asked}), internal/rows.parquet of a saved folder or {written}"


def read_as_labels(known: Iterable[str], unknown: Iterable[str]) -> str:
    """Say how codes with labels are read, if a list of values has only numbers and lacks only texts.

    So it is if somebody who knows the codes of an SPSS, Stata or SAS file made the list.

    Parameters
    ----------
    known
        The listed values.
    unknown
        Values of the column that are not among them. None is repeated.

    Returns
    -------
    A part of a sentence, for the end of a message; empty if it is otherwise.

    Examples
    --------
    >>> read_as_labels(["1", "2"], ["male"]).partition(":")[0]
    '; only numbers are listed, and these values are texts'
    >>> read_as_labels(["1", "2"], ["3"])
    ''
    """
    if not all(map(_NUMBER.fullmatch, known)) or any(map(_NUMBER.fullmatch, unknown)):
        return ""
    return (
        "; only numbers are listed, and these values are texts: in a file with value labels (SPSS, Stata, "
        "SAS) a code is read as its label, so list the labels in place of the codes"
    )


def open_roles(names: Iterable[str]) -> str:
    """Say that the role of columns is still a question (`role = "?"`), and how to answer.

    Examples
    --------
    >>> print(open_roles(["ward"]).partition(";")[0])
    1 column has no role yet (role = "?"): 'ward'
    """
    every = list(names)
    have = "1 column has" if len(every) == 1 else f"{len(every):,} columns have"
    return (
        f'{have} no role yet (role = "?"): {named(every)}; answer each with quasi (who knows a person may '
        "know it: generalized), sensitive (protected by the models), insensitive (released as it is), "
        "identifying, person (whose row it is), household or weight (of a survey), which are left out"
    )


_NEAR = 0.65
"""How much alike two names are at least; `sxe` and `sex` are by two thirds."""


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """Return a question for the end of a message, where a known name is much like the given name."""
    from difflib import get_close_matches

    names = [str(name) for name in known]
    near = _same_letters([str(given)], names)
    if not near:
        lower = {name.casefold(): name for name in reversed(names)}
        near = [lower[found] for found in get_close_matches(str(given).casefold(), lower, n=1, cutoff=_NEAR)]
    return f"; did you mean {near[0]!r}?" if near else ""


def alike_of(given: Iterable[str], known: Iterable[str]) -> str:
    """Return the same question for names that differ by case and signs alone, so that none is revealed.

    Examples
    --------
    >>> alike_of(["BirthYear", "sex"], ["age", "birth_year"])
    "; did you mean 'birth_year'?"
    """
    near = _same_letters(map(str, given), map(str, known))
    return f"; did you mean {named(near)}?" if near else ""


def _same_letters(given: Iterable[str], known: Iterable[str]) -> list[str]:
    def letters(name: str) -> str:
        return "".join(filter(str.isalnum, name.casefold())) or name

    wanted = set(map(letters, given))
    return [name for name in known if letters(name) in wanted]


def those_are(known: Iterable[str], given: object) -> str:
    """List known names for the end of a message, and ask for a name that is much like the given name."""
    names = list(known)
    return f"those are {named(names) or 'none'}{did_you_mean(given, names)}"


class IncrowdError(Exception):
    """Base of every error that incrowd raises on purpose.

    A message that would not fit a screen is cut in its middle: its beginning names the thing, its end the
    way out.
    """

    exit_status: ClassVar[int] = 2

    def __str__(self) -> str:
        text = super().__str__()
        half = _LONGEST // 2
        return text if len(text) <= _LONGEST else f"{text[:half]} [...] {text[-half:]}"


class InputError(IncrowdError, ValueError):
    """The data or the call is wrong."""


class SchemaError(InputError):
    """The roles of the columns do not fit together or do not fit the table."""


class HierarchyError(InputError):
    """A hierarchy is no tree, cannot be read, or does not know a value of the column."""


class PolicyError(InputError):
    """A policy file cannot be read or contradicts itself."""


class ParameterError(InputError):
    """A parameter is of the wrong type or outside the allowed range."""


class TableError(InputError):
    """A table cannot be read or written."""


def refuse_pipe(path: Path, error: type[InputError] = TableError) -> None:
    """Raise an error of a kind for a pipe or a device, on which a reader would wait without end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise error(f"{path}: is a pipe or a device, and no file; write it to a file first")


class MissingExtraError(IncrowdError, ImportError):
    """An optional library is not installed.

    Made of the library, the extra that installs it, and the purpose; or of its message alone, as Polars makes
    an error anew that was raised while rows streamed, and adds the plan of its query.
    """

    def __init__(self, library: str, extra: str = "", purpose: str = "") -> None:
        install: str = getattr(wording(), "install", INSTALL)
        message = f"{purpose} needs {library}: {install.format(extra=extra)}"
        super().__init__(message if extra else library.partition("\n\n")[0])


class InfeasibleError(IncrowdError):
    """The data does not satisfy the policy and no release was made."""

    exit_status: ClassVar[int] = 1


class VerdictError(InfeasibleError):
    """The verdict of a release is open or broken, and nothing was released.

    Attributes
    ----------
    verdict
        The verdict: an `incrowd_gate.verdict.Verdict`.
    """

    def __init__(self, text: str, verdict: object) -> None:
        super().__init__(text)
        self.verdict = verdict

    def __str__(self) -> str:
        # Each point has a line of its own, and none is cut: whoever reads has to answer them all.
        return Exception.__str__(self)

    def __reduce__(self) -> tuple[type[VerdictError], tuple[str, object]]:
        return type(self), (str(self), self.verdict)


IN_A_POLICY = {
    "qi": 'role = "quasi"',
    **{
        role: f'role = "{role}"'
        for role in ("sensitive", "identifying", "insensitive", "person", "household")
    },
    "weights": 'role = "weight"',
    "unlisted": 'unlisted = "drop" or unlisted = "keep"',
    "linked": "linked = true",
    "hierarchies": "hierarchy = ...",
    "hierarchy": "hierarchy = ...",
    "null-value": "null_values = [...]",
    "treat": "treat = ...",
    "wildcards": "wildcards",
    "max-suppression": "max_suppression",
}
"""How a policy file writes an option that a command does not take."""


class CommandWords:
    """Names settings by the options of a command.

    - `options`: the names of the options that the command takes, such as ``max_suppression``; by default all.
    - `install`: how an extra of the program is installed.
    """

    def __init__(self, options: Iterable[str] | None = None, install: str = INSTALL) -> None:
        self.install = install
        self._options = None if options is None else {name.replace("_", "-") for name in options}

    def __call__(self, argument: str, option: str, policy: str) -> str:
        """Return the option, or the key in the policy file if the command lacks the option."""
        name = option.removeprefix("--").partition(" ")[0]
        there = policy or IN_A_POLICY.get(name, "")
        is_taken = self._options is None or name in self._options
        return option if is_taken or not there else f"{there} in the policy file"


def on_the_command_line(install: str = INSTALL) -> AbstractContextManager[None]:
    """Let messages name the options of commands, and not the arguments of functions."""
    return worded(CommandWords(install=install))


def options_taken(names: Iterable[str]) -> None:
    """Let messages name only the given options of a command, such as ``max_suppression``."""
    words = wording()
    if isinstance(words, CommandWords):
        reword(CommandWords(names, words.install))
