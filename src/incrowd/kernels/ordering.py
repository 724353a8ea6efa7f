"""Putting texts in the order of their bytes, which is that of their characters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.jit import compiled, inner
from incrowd.kernels.words import WORD, first_weighs_most

_SKIPPED = 4
"""Bytes in common from which on it is worth while to read the words behind them."""

_FEW = 12
"""Texts up to which insertion is faster."""


@inner
def _word_at(data, start, stop):
    """Read a word; zeros stand for bytes behind the end."""
    word = first_weighs_most(data, start)
    length = stop - start
    if length >= WORD:
        return word
    if length <= 0:
        return np.uint64(0)
    behind = np.uint64(8 * (WORD - length))
    return (word >> behind) << behind


@inner
def _is_before(data, indptr, one, other, depth):
    """Say whether a text comes before another one; they are the same up to a depth."""
    own, its = indptr[one] + depth, indptr[other] + depth
    own_end, its_end = indptr[one + 1], indptr[other + 1]
    while own < own_end and its < its_end:
        word, against = _word_at(data, own, own_end), _word_at(data, its, its_end)
        if word != against:
            return word < against
        own += WORD
        its += WORD
    # What ended has only zeros behind it in a word, as a text with zeros may have.
    return own_end - indptr[one] < its_end - indptr[other]


@inner
def _read_run(place, start, stop, depth, data, indptr, words):
    """Write the words of a run at a depth; return how many of their bytes all texts have in common."""
    differ = np.uint64(0)
    shortest = WORD
    for position in range(start, stop):
        text = place[position]
        word = _word_at(data, indptr[text] + depth, indptr[text + 1])
        words[position - start] = word
        differ |= word ^ words[0]
        shortest = min(shortest, indptr[text + 1] - indptr[text] - depth)
    common = 0
    while common < shortest and differ >> np.uint64(8 * (WORD - 1 - common)) == 0:
        common += 1
    return common


@compiled
def _read(runs, place, data, indptr, words, run_of):
    """Write the words of the texts of all runs, mostly behind the common beginning of a run's texts."""
    read = 0
    for run in range(len(runs)):
        start, stop, depth = runs[run]
        own = words[read : read + stop - start]
        common = WORD
        while common >= _SKIPPED:
            common = _read_run(place, start, stop, depth, data, indptr, own)
            if common >= _SKIPPED:
                depth += common
        runs[run, 2] = depth
        run_of[read : read + stop - start] = run
        read += stop - start


@compiled
def _arrange(order, runs, run_of, place, words):
    """Put the texts of each run in the order of their words, and the words beside them."""
    members = np.empty(order.size, np.int64)
    cursor = np.empty(len(runs), np.int64)
    read = 0
    for run in range(len(runs)):
        start, stop, _ = runs[run]
        cursor[run] = read
        members[read : read + stop - start] = place[start:stop]
        read += stop - start
    moved = np.empty(order.size, np.int64)
    arranged = np.empty(order.size, np.uint64)
    for entry in order:
        run = run_of[entry]
        arranged[cursor[run]] = words[entry]
        moved[cursor[run]] = members[entry]
        cursor[run] += 1
    read = 0
    for run in range(len(runs)):
        start, stop, _ = runs[run]
        place[start:stop] = moved[read : read + stop - start]
        read += stop - start
    return arranged


@inner
def _insert(place, start, stop, data, indptr, depth):
    """Sort few texts that are the same up to a depth."""
    for position in range(start + 1, stop):
        text = place[position]
        before = position - 1
        while before >= start and _is_before(data, indptr, text, place[before], depth):
            place[before + 1] = place[before]
            before -= 1
        place[before + 1] = text


@inner
def _ended_first(place, start, stop, indptr, depth):
    """Put texts of one word in front that end in it or behind it, the shortest first; return how many do.

    Behind their end the word is zero, as are the bytes of those that are longer.
    """
    cursor = np.zeros(WORD + 3, np.int64)
    for position in range(start, stop):
        length = indptr[place[position] + 1] - indptr[place[position]]
        cursor[min(length - depth, WORD + 1) + 1] += 1
    for length in range(WORD + 2):
        cursor[length + 1] += cursor[length]
    members = place[start:stop].copy()
    for text in members:
        length = min(indptr[text + 1] - indptr[text] - depth, WORD + 1)
        place[start + cursor[length]] = text
        cursor[length] += 1
    return cursor[WORD]


@compiled
def _split(runs, words, place, data, indptr):
    """Sort few texts of the same word; return the runs of many that are the same up to a greater depth."""
    found = np.empty((words.size // (_FEW + 1) + 1, 3), np.int64)
    count = 0
    read = 0
    for run in range(len(runs)):
        position, stop, depth = runs[run]
        while position < stop:
            size = 1
            while position + size < stop and words[read + size] == words[read]:
                size += 1
            if 1 < size <= _FEW:
                _insert(place, position, position + size, data, indptr, depth)
            elif size > _FEW:
                ended = _ended_first(place, position, position + size, indptr, depth)
                if size - ended > 1:
                    found[count, 0], found[count, 1] = position + ended, position + size
                    found[count, 2] = depth + WORD
                    count += 1
            position += size
            read += size
    return found[:count].copy()


def order_of_texts(data: NDArray[np.uint8], indptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of texts in ascending order: int64[texts].

    All are sorted by a word of the bytes after those that they have in common. So are those that share it,
    until no word is shared by many.

    Parameters
    ----------
    data
        The bytes of all texts, one after the other, and eight more.
    indptr
        int64[texts + 1]: text t has the bytes ``data[indptr[t]:indptr[t + 1]]``.
    """
    place = np.arange(len(indptr) - 1)
    runs = np.array([[0, len(place), 0]])[: int(len(place) > 1)]
    while len(runs):
        several = int((runs[:, 1] - runs[:, 0]).sum())
        words, run_of = np.empty(several, np.uint64), np.empty(several, np.int32)
        _read(runs, place, data, indptr, words, run_of)
        order = np.argsort(words)
        if len(runs) == 1 and several == len(place):
            # This is the first round: later ones are without texts that end in a word of all.
            place, words = order, words[order]
        else:
            words = _arrange(order, runs, run_of, place, words)
        runs = _split(runs, words, place, data, indptr)
    return place
