"""The class NCP of k-anonymization: figures by hand, and a plain reading of the algorithm."""

from __future__ import annotations

import types
from collections import Counter

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.compat.k_anonymization import NCP, GroupAnonymizationBuiltIn

ORG = pd.DataFrame({"age": [20, 30, 40, 60], "ill": list("abcd"), "sex": ["M", "M", "M", "F"]})
GROUPS = [[(20, "a", "M"), (30, "b", "M")], [(40, "c", "M"), (60, "d", "F")]]
LEVELS = {
    "name": "sex",
    "tree": [
        {"values": [{"generalized": "A", "original": ["a", "b"]}, {"generalized": "B", "original": ["c"]}]},
        {"values": [{"generalized": "*", "original": ["A", "B"]}]},
    ],
}
TREE = ic.Hierarchy.from_nested({"*": {"A": ["a", "b"], "B": ["c"]}})


class Foreign:
    """A hierarchy of the library itself, as far as the tests call it."""

    leaves = ("a", "b", "c")

    def get_leaves_under_node(self, value):
        return {"A": ["a", "b"], "B": ["c"]}.get(value, [])

    def get_lowest_common_ancestor(self, values):
        return "A of the package"


def test_groups_by_hand():
    assert NCP.calculate_for_local_recoding_mean_mode(ORG, GROUPS, [0, 2], [False, True]) == 0.3125
    assert NCP.calculate_for_local_recoding_summarization(ORG, GROUPS, [0, 2], [False, True]) == 0.5625
    # Two records that are in no group count 1 in each column.
    for call, loss in (
        (NCP.calculate_for_local_recoding_mean_mode, 2 * (10 / 40)),
        (NCP.calculate_for_local_recoding_summarization, 2 * (10 / 40) + 2 * (1 / 2)),
    ):
        assert call(ORG, GROUPS[:1], [0, 2], [False, True]) == (loss + 4) / 8
    assert NCP.calculate_for_local_recoding_mean_mode(ORG, [], [0], [False]) == 1


def test_groups_may_be_frames():
    """A group is a part of a frame, as groupby and iloc give it, with columns by position."""
    parts = [ORG.iloc[:2], ORG.iloc[2:]]
    for call in (NCP.calculate_for_local_recoding_mean_mode, NCP.calculate_for_local_recoding_summarization):
        whole = call(ORG, GROUPS, [0, 2], [False, True])
        assert call(ORG, parts, [0, 2], [False, True]) == whole
        assert call(ORG, [parts[0], ORG.head(0), GROUPS[1]], [0, 2], [False, True]) == whole
        with pytest.raises(ic.TableError, match="groups: every record of a group needs 3 values"):
            call(ORG, [parts[0][["age", "sex"]]], [0, 2], [False, True])
    props = {"qids_idx": [0, 2], "is_categorical": [False, True], "hierarchies": {0: Foreign(), 2: Foreign()}}
    for style in ("SUMMARIZATION", "MEAN_MODE", "GENERALIZATION"):
        make = getattr(GroupAnonymizationBuiltIn, style)
        assert make(parts[1], props) == make(GROUPS[1], props)
        assert make(ORG.head(0), props) == []


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("names", [("sex", "age", "zip"), (0, 1, 2), (2, 0, 1), ("group", "level_0", 0)])
def test_a_category_in_any_place_under_any_name(place, names):
    """Groups of a single value each lose nothing, whatever number the column is or is named."""

    def put(value):
        record = [9, 9, 9]
        record[place] = value
        return tuple(record)

    groups = [[put("M"), put("M")], [put("M"), put("M")], [put("F"), put("F")]]
    org = pd.DataFrame([record for group in groups for record in group], columns=list(names))
    assert NCP.calculate_for_local_recoding_mean_mode(org, groups, [place], [True]) == 0
    # Of three records in the last group one is not the most frequent value: 1/7.
    more = [*groups[:2], [*groups[2], put("M")]]
    org = pd.DataFrame([record for group in more for record in group], columns=list(names))
    assert NCP.calculate_for_local_recoding_mean_mode(org, more, [place], [True]) == 1 / 7
    # Of two values in the column, groups have 1, 1 and 2.
    result = NCP.calculate_for_local_recoding_summarization(org, more, [place], [True])
    assert result == (4 * 1 / 2 + 3 * 2 / 2) / 7


@pytest.mark.parametrize(
    "hierarchies", [{1: TREE}, {"ill": TREE}, {"ill": LEVELS}, {1: Foreign()}, [None, TREE]]
)
def test_a_generalization_by_hand(hierarchies):
    org = pd.DataFrame({"age": [20, 30, 40, 60], "ill": list("abca")})
    out = pd.DataFrame({"age": ["20~30", 30, "*", "young"], "ill": ["A", "b", "B", "*"]})
    result = NCP.calculate_for_generalization(org, out, hierarchies, [0, 1], [False, True])
    assert result == pytest.approx((10 / 40 + 0 + 1 + 0 + 2 / 3 + 0 + 1 / 3 + 1) / 8)
    result = NCP.calculate_for_generalization(org, out.head(3), hierarchies, [0, 1], [False, True])
    assert result == pytest.approx((10 / 40 + 0 + 1 + 2 / 3 + 0 + 1 / 3 + 2) / 8)


@pytest.mark.parametrize("cell", ["[20-30]", "24 or less", "40 or more", "[20, 30)", "20-30"])
def test_ranges_of_other_forms_are_refused(cell):
    """The package takes every text without ~ for no loss, also a range: 0.0 for a table that lost much."""
    out = pd.DataFrame({"age": [cell] * 4})
    words = r"anon_data: column 0: .* written as low~high.* ic.evaluate\(raw, released, schema\)"
    with pytest.raises(ic.TableError, match=words) as error:
        NCP.calculate_for_generalization(ORG[["age"]], out, {}, [0], [False])
    assert cell not in str(error.value)
    assert NCP.calculate_for_generalization(ORG[["age"]], out.replace(cell, "30"), {}, [0], [False]) == 0
    assert NCP.calculate_for_generalization(ORG[["age"]], out.replace(cell, "-30"), {}, [0], [False]) == 0


def test_an_inner_node_over_one_leaf_costs_what_the_package_charges():
    """Leaves over all leaves: 1/3; by Xu et al., as in `ncp` of the API, a single value costs nothing."""
    org = pd.DataFrame({"ill": list("abc")})
    out = pd.DataFrame({"ill": ["a", "b", "B"]})
    assert NCP.calculate_for_generalization(org, out, {0: TREE}, [0], [True]) == pytest.approx(1 / 9)
    schema = ic.Schema(quasi={"ill": TREE})
    assert ic.evaluate(org, out, schema).utility["ncp"].value == 0


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.integers(0, 3)), min_size=1, max_size=30)
)
def test_groups_read_once_more(rows):
    """A plain loop over groups and columns; the third number is the group, 0 for none."""
    org = pd.DataFrame([row[:2] for row in rows], columns=["n", "c"])
    groups = [[row[:2] for row in rows if row[2] == group] for group in (1, 2, 3)]
    groups = [group for group in groups if group]
    extent = max(row[0] for row in rows) - min(row[0] for row in rows)
    distinct = len({row[1] for row in rows})
    mode = summary = 0.0
    for group in groups:
        numbers, values = zip(*group, strict=True)
        wide = len(group) * (max(numbers) - min(numbers)) / extent if extent else 0
        mode += wide + len(group) - max(Counter(values).values())
        summary += wide + len(group) * len(set(values)) / distinct
    missing = 2 * sum(row[2] == 0 for row in rows)
    result = NCP.calculate_for_local_recoding_mean_mode(org, groups, [0, 1], [False, True])
    assert result == pytest.approx((mode + missing) / (2 * len(rows)))
    result = NCP.calculate_for_local_recoding_summarization(org, groups, [0, 1], [False, True])
    assert result == pytest.approx((summary + missing) / (2 * len(rows)))


PROPS = types.SimpleNamespace(
    qids_idx=[0, 1, 2], is_categorical=[False, True, True], hierarchies={1: TREE, 2: Foreign()}
)


@pytest.mark.parametrize("props", [PROPS, vars(PROPS)], ids=["an object", "a dict"])
def test_the_styles_of_groups_by_hand(props):
    """As the package's own code has them; it lists a set in any order, here it is sorted."""
    group = [(30, "b", "b", "flu"), (20, "a", "a", "cold"), (20, "b", "a", "flu")]
    summary = GroupAnonymizationBuiltIn.SUMMARIZATION(group, props)
    mean = GroupAnonymizationBuiltIn.MEAN_MODE(group, props)
    general = GroupAnonymizationBuiltIn.GENERALIZATION(group, {**vars(PROPS), "qids_idx": [1, 2]})
    ills = ["flu", "cold", "flu"]
    assert summary == [("20 ~ 30", "a & b", "a & b", ill) for ill in ills]
    assert mean == [(70 / 3, "b", "a", ill) for ill in ills]
    assert [row[1:] for row in general] == [("A", "A of the package", ill) for ill in ills]
    # One value stays, as a text in a summary.
    assert GroupAnonymizationBuiltIn.SUMMARIZATION([(20, "a", "a", "flu")] * 2, props)[0][:2] == ("20", "a")
    assert group[0] == (30, "b", "b", "flu")


def test_ncp_measures_what_the_styles_release():
    """A summary's ranges are those of the generalization: 10/40 and 20/40."""
    style = {"qids_idx": [0], "is_categorical": [False]}
    out = [row for group in GROUPS for row in GroupAnonymizationBuiltIn.SUMMARIZATION(group, style)]
    result = NCP.calculate_for_generalization(ORG, pd.DataFrame(out), {}, [0], [False])
    assert result == NCP.calculate_for_local_recoding_summarization(ORG, GROUPS, [0], [False]) == 0.375


def test_styles_that_cannot_be():
    group = [(20, "a")]
    for style, props, words in (
        ("SUMMARIZATION", {"qids_idx": [2], "is_categorical": [True]}, "2 is no position of the 2 columns"),
        (
            "MEAN_MODE",
            {"qids_idx": [1], "is_categorical": [False]},
            "group: column 1 is not categorical and has",
        ),
        ("MEAN_MODE", {"qids_idx": [0]}, "props: give an object or a dict with 'is_categorical'"),
        ("GENERALIZATION", {"qids_idx": [1], "hierarchies": {}}, "there is none for column 1"),
        (
            "GENERALIZATION",
            {"qids_idx": [0], "hierarchies": {0: TREE}},
            "column 0: a value is not in its hierarchy",
        ),
        (
            "GENERALIZATION",
            {"qids_idx": [0], "hierarchies": {0: 5}},
            "column 0 .* get_lowest_common_ancestor",
        ),
    ):
        with pytest.raises(ic.InputError, match=words):
            getattr(GroupAnonymizationBuiltIn, style)(group, props)
    with pytest.raises(ic.InputError, match="group: every record needs 2 values"):
        GroupAnonymizationBuiltIn.MEAN_MODE([(20, "a"), (3,)], {"qids_idx": [0], "is_categorical": [False]})
    assert GroupAnonymizationBuiltIn.MEAN_MODE([], {"qids_idx": [], "is_categorical": []}) == []


def test_wrong_calls():
    out = pd.DataFrame({"age": ["20~x"] * 4, "ill": ["Z"] * 4, "sex": ["M"] * 4})
    mean_mode, generalization = NCP.calculate_for_local_recoding_mean_mode, NCP.calculate_for_generalization
    for call, arguments, words in (
        (mean_mode, (ORG, GROUPS, [0], [False, True]), "one is_categorical flag for each"),
        (mean_mode, (ORG, GROUPS, [], []), "at least one"),
        (mean_mode, (ORG, GROUPS, [3], [True]), "3 is no position of the 3 columns"),
        (mean_mode, (ORG.head(0), [], [0], [True]), "org_data: the table has no rows"),
        (mean_mode, (ORG, [GROUPS[0] * 3], [0], [True]), "the groups have 6 records"),
        (mean_mode, (ORG, [[(1, 2)]], [0], [True]), "needs 3 values"),
        (generalization, (ORG.head(1), out, {}, [0], [False]), "anon_data has 4 records"),
        (generalization, (ORG, out, {}, [0], [False]), "no low~high of two numbers"),
        (generalization, (ORG, out, {}, [1], [True]), "there is none for column 1, 'ill'"),
        (generalization, (ORG, out, {1: 5}, [1], [True]), "neither a Hierarchy nor"),
        (generalization, (ORG, out, {1: TREE}, [1], [True]), "a value is not in its hierarchy"),
    ):
        with pytest.raises(ic.InputError, match=words):
            call(*arguments)
    constant = pd.DataFrame({"n": [5, 5]})
    assert mean_mode(constant, [[(5,), (5,)]], [0], [False]) == 0
    assert generalization(constant, pd.DataFrame({"n": ["5~5", "5~5"]}), {}, [0], [False]) == 0
