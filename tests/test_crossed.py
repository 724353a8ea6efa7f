"""Every run has each value of a cross, and no pair is lost."""

from __future__ import annotations

from itertools import product

import pytest

from crossed import crossed, left_to_other_parts, left_to_the_slow, quick


@pytest.mark.parametrize(("one", "other"), [("a", "x"), ("ab", "xyz"), ("abcd", "xy"), ("abc", "xyz")])
def test_a_cross_has_every_pair_and_each_value_is_tried_in_every_run(one, other):
    pairs = crossed(one, other)
    assert [pair.values for pair in pairs] == list(product(one, other))
    tried = [pair.values for pair in pairs if not pair.marks]
    assert {a for a, _ in tried} == set(one)
    assert {b for _, b in tried} == set(other)
    assert len(tried) == max(len(one), len(other))


def test_what_is_tried_in_every_run_is_named():
    assert [value.values for value in quick("abc", "a", "c") if not value.marks] == [("a",), ("c",)]
    assert len(quick("abc", "b")) == 3
    with pytest.raises(AssertionError):
        quick("abc", "d")


class Case:
    """A collected test, as far as marks go."""

    def __init__(self, nodeid: str, **marks) -> None:
        self.nodeid, self.marks, self.name = nodeid, marks, nodeid.partition("::")[2]

    def get_closest_marker(self, name):
        return self.marks.get(name)


@pytest.mark.parametrize("most", [1, 3, 7, 9])
def test_a_few_cases_are_tried_in_every_run_and_no_other_test_is_left_out(most):
    few = pytest.mark.few(most).mark
    cases = [Case(f"a.py::test[{number}]", few=few) for number in range(7)]
    slow = [Case("a.py::test[slow]", few=few, slow=pytest.mark.slow.mark), Case("a.py::other[1]")]
    left = [*left_to_the_slow([*cases, *slow])]
    assert len(left) == max(7 - most, 0)
    assert {*left} <= {*cases}


def test_every_case_is_in_one_part_and_other_tests_in_two():
    cases = [Case(f"a.py::test[{number}]") for number in range(60)]
    in_browser = Case("a.py::page[1]")
    in_browser.fixturenames = ["browser"]
    others = [in_browser, Case("a.py::alone")]
    left = [{*left_to_other_parts([*cases, *others], f"{part}/5")} for part in range(1, 6)]
    assert all(5 < 60 - len(each & {*cases}) < 20 for each in left)
    assert {len([each for each in left if case in each]) for case in cases} == {4}
    assert {len([each for each in left if case in each]) for case in others} == {3}
