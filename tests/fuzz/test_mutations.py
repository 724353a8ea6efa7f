"""Every mutation breaks something that is there: a renamed function would leave the fuzzer untried."""

from __future__ import annotations

import pytest

from fuzz.mutations import MUTATIONS, SLOW, broken


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_breaks_what_is_there(name):
    with broken(name):
        pass


def test_slow_mutations_are_on_the_list():
    assert set(SLOW) <= set(MUTATIONS)
