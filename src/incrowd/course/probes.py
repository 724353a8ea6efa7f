"""Probes of a function that makes pseudonyms: its traces of the card and the key, and its dependencies.

They are heuristics, which find the mistakes of students. They are no proof that a function is safe.
"""

from __future__ import annotations

import copy
import inspect
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

from incrowd.course.tables import table

Pseudonym = Callable[[str, str], str]
_OF_A_RUN = {"__hash__", "getpid", "gethostname", "getnode", "now", "time", "today", "uuid1"}
_LETTERS = "ghkmnpqrst"


def _key() -> str:
    """Return a random key of letters that no hexadecimal number has."""
    return "".join(secrets.choice(_LETTERS) for _ in range(12))


def _cards() -> list[str]:
    return list(table("town").card)


def is_stable(pseudonym: Pseudonym) -> bool:
    """Say whether a card gets one pseudonym, also after others, and by a copy that remembers nothing."""
    cards, key = _cards()[:20], _key()
    copies = [_copied(pseudonym, None) for _ in range(2)]
    first = [pseudonym(card, key) for card in cards]
    return all([each(card, key) for card in cards] == first for each in [pseudonym, *copies])


def is_of_no_run(pseudonym: Pseudonym) -> bool:
    """Say whether the pseudonym is the same in another run of Python, which salts ``hash`` in another way."""
    salts = ["one", "two"]
    one, other = ([_copied(pseudonym, salt)(card, "key") for card in _cards()[:20]] for salt in salts)
    return one == other and not _names(pseudonym) & _OF_A_RUN


def hides_the_card(pseudonym: Pseudonym) -> bool:
    """Say whether neither the card, backwards or forwards, nor one of its digits can be read."""
    key, cards = _key(), _cards()
    made = [pseudonym(card, key) for card in cards]
    shown = sum(card in each or card[::-1] in each for card, each in zip(cards, made, strict=True))
    return shown < 10 and not _can_guess(cards, made)


def hides_the_key(pseudonym: Pseudonym) -> bool:
    """Say whether neither the key, backwards or forwards, nor three letters of it can be read."""
    keys = [_key() for _ in range(300)]
    made = [pseudonym("04711", key) for key in keys]
    parts = [{one[at : at + 3] for one in (key, key[::-1]) for at in range(len(key) - 2)} for key in keys]
    shown = sum(any(part in each for part in own) for own, each in zip(parts, made, strict=True))
    return shown < 30 and not _can_guess(keys, made)


def needs_the_key(pseudonym: Pseudonym) -> bool:
    """Say whether each of many keys gives a pseudonym of its own, also keys that differ in one letter."""
    key = _key()
    keys = {key[:at] + letter + key[at + 1 :] for at in range(len(key)) for letter in _LETTERS}
    return len({pseudonym("04711", each) for each in keys}) == len(keys)


def tells_cards_apart(pseudonym: Pseudonym) -> bool:
    """Say whether each card has a pseudonym of its own, by several keys."""
    cards = _cards()
    return all(len({pseudonym(card, key) for card in cards}) == len(cards) for key in (_key(), _key(), "key"))


def _can_guess(inputs: Sequence[str], made: Sequence[str]) -> bool:
    """Say whether one place of the pseudonym tells one place of the input, in four of five cases."""
    length = min(map(len, made))
    for at in (*range(min(length, 100)), *range(-min(length, 100), 0)):
        for place in range(min(map(len, inputs))):
            seen: dict[str, Counter[str]] = defaultdict(Counter)
            for one, each in zip(inputs, made, strict=True):
                seen[each[at]][one[place]] += 1
            if sum(max(each.values()) for each in seen.values()) > 0.8 * len(made):
                return True
    return False


def _copied(pseudonym: Pseudonym, salt: str | None) -> Pseudonym:
    """Return a copy of a function with memories of its own, and with a salt for its ``hash`` and ``id``."""
    function = inspect.unwrap(pseudonym)
    if not isinstance(function, FunctionType):
        return pseudonym
    own, names = function.__globals__, _names(function)
    space = dict(own)
    if salt is not None:
        space = {"hash": lambda value: hash((salt, value)), "id": lambda value: hash((salt, value))} | space
    for name in names & set(own):
        if type(own[name]) in (dict, list, set):
            space[name] = copy.deepcopy(own[name])
        elif isinstance(own[name], FunctionType) and own[name].__globals__ is own:
            space[name] = _moved(own[name], space)
    return _moved(function, space)


def _moved(function: FunctionType, space: dict[str, Any]) -> FunctionType:
    defaults = copy.deepcopy(function.__defaults__)
    return FunctionType(function.__code__, space, function.__name__, defaults, function.__closure__)


def _names(function: Any) -> set[str]:
    """Return the names that a function uses, and those of the functions beside it that it calls."""
    function = inspect.unwrap(function)
    found: set[str] = set()
    waiting = [getattr(function, "__code__", None)]
    while waiting:
        code = waiting.pop()
        if not isinstance(code, CodeType):
            continue
        new = set(code.co_names) - found
        found |= new
        waiting += [each for each in code.co_consts if isinstance(each, CodeType)]
        waiting += [getattr(function.__globals__.get(name), "__code__", None) for name in new]
    return found
