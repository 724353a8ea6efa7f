"""Probes of a function for pseudonyms: traces of the card and the key, and dependencies.

They are heuristics, which find the mistakes of students. They are no proof that a function is safe.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import itertools
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
    """Return whether a card's pseudonym stays equal after other cards and in a copy without memory."""
    cards, key = _cards()[:20], _key()
    copies = [_copy(pseudonym, None) for _ in range(2)]
    first = [pseudonym(card, key) for card in cards]
    return all([function(card, key) for card in cards] == first for function in [pseudonym, *copies])


def is_of_no_run(pseudonym: Pseudonym) -> bool:
    """Return whether the pseudonym is the same in another run of Python with another salt of ``hash``."""
    salts = ["one", "two"]
    one, other = ([_copy(pseudonym, salt)(card, "key") for card in _cards()[:20]] for salt in salts)
    return one == other and not _names(pseudonym) & _OF_A_RUN


def hides_the_card(pseudonym: Pseudonym) -> bool:
    """Return whether neither the card in either direction nor a digit of the card can be read."""
    key, cards = _key(), _cards()
    tokens = [pseudonym(card, key) for card in cards]
    readable = sum(card in token or card[::-1] in token for card, token in zip(cards, tokens, strict=True))
    return readable < 10 and not _can_guess(cards, tokens)


def hides_the_key(pseudonym: Pseudonym) -> bool:
    """Return whether neither the key in either direction nor three letters of the key can be read."""
    keys = [_key() for _ in range(300)]
    tokens = [pseudonym("04711", key) for key in keys]
    parts = [{one[at : at + 3] for one in (key, key[::-1]) for at in range(len(key) - 2)} for key in keys]
    pairs = zip(parts, tokens, strict=True)
    readable = sum(any(part in token for part in parts_of_key) for parts_of_key, token in pairs)
    return readable < 30 and not _can_guess(keys, tokens)


def needs_the_key(pseudonym: Pseudonym) -> bool:
    """Return whether many keys give distinct pseudonyms, even keys that differ in a letter."""
    key = _key()
    keys = {key[:at] + letter + key[at + 1 :] for at in range(len(key)) for letter in _LETTERS}
    return len({pseudonym("04711", other) for other in keys}) == len(keys)


def has_no_part_without_key(pseudonym: Pseudonym) -> bool:
    """Return whether no sign of the pseudonym is made of the card alone, as a hash without the key is."""
    cards, keys = _cards()[:60], [_key() for _ in range(4)]
    of_keys = [[pseudonym(card, key) for card in cards] for key in keys]
    for at in _positions([token for tokens in of_keys for token in tokens]):
        signs = [{tokens[number][at] for tokens in of_keys} for number in range(len(cards))]
        equal = Counter(min(each) for each in signs if len(each) == 1)
        if equal.total() > 0.8 * len(cards) and max(equal.values()) < 0.95 * equal.total():
            return False
    return True


def mixes_card_and_key(pseudonym: Pseudonym) -> bool:
    """Return whether the distance of two cards depends on the key, unlike ``crc32(card) ^ crc32(key)``.

    There it is ``crc32(card) ^ crc32(other)`` under every key, so one card that is known tells all others.
    """
    cards, keys = _cards()[:40], [_key() for _ in range(2)]
    of_keys = [[pseudonym(card, key) for card in cards] for key in keys]
    columns = zip(*(token for tokens in of_keys for token in tokens), strict=False)
    prefix = next((at for at, signs in enumerate(columns) if len(set(signs)) > 1), 0)
    for base, start in itertools.product((2, 8, 10, 16), (0, prefix)):
        with contextlib.suppress(ValueError):
            (a, *ones), (b, *others) = ([int(token[start:], base) for token in tokens] for tokens in of_keys)
            pairs = list(zip(ones, others, strict=True))
            equal = max(
                sum(a ^ one == b ^ other for one, other in pairs),
                sum((a - one - b + other) % 2**32 == 0 for one, other in pairs),
                sum(a * other == b * one for one, other in pairs),
            )
            if equal > 0.8 * len(pairs):
                return False
    return True


def tells_cards_apart(pseudonym: Pseudonym) -> bool:
    """Return whether all cards have distinct pseudonyms under several keys."""
    cards = _cards()
    return all(len({pseudonym(card, key) for card in cards}) == len(cards) for key in (_key(), _key(), "key"))


def _can_guess(inputs: Sequence[str], tokens: Sequence[str]) -> bool:
    """Return whether some sign of the pseudonym predicts some sign of the input in four of five cases."""
    for at in _positions(tokens):
        for position in range(min(map(len, inputs))):
            signs: dict[str, Counter[str]] = defaultdict(Counter)
            for text, token in zip(inputs, tokens, strict=True):
                signs[token[at]][text[position]] += 1
            if sum(max(counts.values()) for counts in signs.values()) > 0.8 * len(tokens):
                return True
    return False


def _positions(tokens: Sequence[str]) -> list[int]:
    """Return the places of signs that all pseudonyms have, from the front and from the end."""
    length = min(100, *map(len, tokens))
    return [*range(length), *range(-length, 0)]


def _copy(pseudonym: Pseudonym, salt: str | None) -> Pseudonym:
    """Return a copy of a function with separate globals, and with a salt for ``hash`` and ``id``."""
    function = inspect.unwrap(pseudonym)
    if not isinstance(function, FunctionType):
        return pseudonym
    globals_of, names = function.__globals__, _names(function)
    space = dict(globals_of)
    if salt is not None:
        space = {"hash": lambda value: hash((salt, value)), "id": lambda value: hash((salt, value))} | space
    for name in names & set(globals_of):
        if type(globals_of[name]) in (dict, list, set):
            space[name] = copy.deepcopy(globals_of[name])
        elif isinstance(globals_of[name], FunctionType) and globals_of[name].__globals__ is globals_of:
            space[name] = _rebind(globals_of[name], space)
    return _rebind(function, space)


def _rebind(function: FunctionType, space: dict[str, Any]) -> FunctionType:
    defaults = copy.deepcopy(function.__defaults__)
    return FunctionType(function.__code__, space, function.__name__, defaults, function.__closure__)


def _names(function: Any) -> set[str]:
    """Return the names that a function uses, and that called functions of the same module use."""
    function = inspect.unwrap(function)
    names: set[str] = set()
    waiting = [getattr(function, "__code__", None)]
    while waiting:
        code = waiting.pop()
        if not isinstance(code, CodeType):
            continue
        new = set(code.co_names) - names
        names |= new
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        waiting += [getattr(function.__globals__.get(name), "__code__", None) for name in new]
    return names
