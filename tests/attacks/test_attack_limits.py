"""Composition and minimality: the two examples of docs/limits.md, and plain second readings of both attacks."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.attacks import KINDS, attack
from incrowd.samples import hospital

ZIPS = pl.DataFrame({"zip": list("AABBB"), "illness": ["HIV", "HIV", "flu", "cold", "cough"]})
ZIP_TREE = ic.Hierarchy.from_nested({"here": ["A", "B"]})
ZIP_POLICY = ic.Policy(ic.Schema({"zip": ZIP_TREE}, ["illness"]), (ic.KAnonymity(2), ic.LDiversity(2)))


def posteriors(rows, refused) -> dict:
    """Chance of each value per person, over all ways to deal out the values under which cuts are refused."""
    people = [person for person, _ in rows]
    ways = set(itertools.permutations([value for _, value in rows]))
    left = [way for way in ways if refused(list(zip(people, way, strict=True)))]
    return {
        (place, value): Fraction(sum(way[place] == value for way in left), len(left))
        for place in range(len(people))
        for value in set(ways.pop())
    }


def refused_by_two_zips(rows) -> bool:
    halves = [[value for zip_code, value in rows if zip_code == half] for half in "AB"]
    return not all(len(half) >= 2 and len(set(half)) >= 2 for half in halves)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [ic.Mondrian(), ic.Optimal()], ids=lambda entry: entry.name)
def test_a_refused_cut_tells(algorithm):
    """Zip A has HIV, HIV and zip B flu, cold, cough at k = 2, l = 2: people of A have HIV for certain."""
    from dataclasses import replace

    policy = replace(ZIP_POLICY, algorithm=algorithm)
    release = ic.anonymize(ZIPS, policy)
    assert release.privacy.classes == 1
    attempt = attack(ZIPS, release.table, policy, kinds=["minimality"])[0]
    slow = posteriors(ZIPS.rows(), refused_by_two_zips)
    assert max(slow.values()) == 1
    assert slow[0, "HIV"] == slow[1, "HIV"] == 1
    assert (attempt.figures["largest"], attempt.figures["largest_low"], attempt.figures["largest_high"]) == (
        1,
        1,
        1,
    )
    assert attempt.figures["largest_share"] == 2 / 5
    assert attempt.figures["bound"] == 1 / 2
    assert (attempt.figures["exact"], attempt.figures["classes"], attempt.attacks) == (1, 1, 5)
    # Each of B is taken for the first of three alike values.
    assert attempt.main == ic.attacks.wilson(3, 5)
    assert attempt.baseline == ic.attacks.wilson(2, 5)


@pytest.mark.slow
@pytest.mark.random_order
def test_a_random_order_does_not_hinder_and_k_anonymity_tells_nothing():
    from dataclasses import replace

    release = ic.anonymize(ZIPS, ZIP_POLICY)
    assert attack(ZIPS, release.table, ZIP_POLICY, kinds=["minimality"])[0].figures["largest"] == 1
    policy = replace(ZIP_POLICY, models=(ic.KAnonymity(3),))
    attempt = attack(ZIPS, ic.anonymize(ZIPS, policy).table, policy, kinds=["minimality"])[0]
    assert attempt.figures["largest"] == 2 / 5
    assert "bound" not in attempt.figures


@pytest.mark.slow
def test_larger_classes_are_sampled_within_their_interval():
    rows = [("A", "HIV")] * 3 + [("B", value) for value in ("flu", "cold", "cough", "flu", "cold")]
    table = pl.DataFrame(rows, schema=["zip", "illness"], orient="row")
    release = ic.anonymize(table, ZIP_POLICY)
    attempt = attack(table, release.table, ZIP_POLICY, kinds=["minimality"], attacks=100)[0]
    assert attempt.figures["exact"] == 0
    slow = posteriors(rows, refused_by_two_zips)
    assert (
        attempt.figures["largest_low"] <= max(slow.values()) <= attempt.figures["largest_high"]
        or attempt.figures["unknown"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["^s$", "*", "^.*$"])
def test_minimality_finds_a_column_whatever_its_name_looks_like(name):
    table = ZIPS.rename({"illness": name})
    schema = ic.Schema(quasi=["zip"], sensitive=[name])
    policy = ic.Policy(schema, (ic.KAnonymity(2), ic.LDiversity(2)))
    attempt = attack(table, ic.anonymize(table, policy).table, policy, kinds=["minimality"])[0]
    assert attempt.figures["largest"] == 1


def test_minimality_refuses_what_it_cannot_run_again():
    release = ic.anonymize(ZIPS, ZIP_POLICY)
    from dataclasses import replace

    other = replace(ZIP_POLICY, models=(ic.KAnonymity(2),))
    with pytest.raises(ic.TableError, match="another release of this table"):
        attack(ZIPS, release.table, other, kinds=["minimality"])
    timed = replace(ZIP_POLICY, algorithm=ic.Optimal(budget="5s"))
    with pytest.raises(ic.ParameterError, match="time budget"):
        attack(ZIPS, release.table, timed, kinds=["minimality"])
    with pytest.raises(ic.ParameterError, match="whole Policy"):
        attack(ZIPS, release.table, ZIP_POLICY.schema, kinds=["minimality"])
    with pytest.raises(ic.ParameterError, match="also="):
        attack(ZIPS, release.table, ZIP_POLICY.schema, kinds=["composition"])


# --- composition ----------------------------------------------------------------------------------


SCHEMA = ic.Schema({"age": None, "zip": ic.Hierarchy.prefix(), "sex": None}, ["diagnosis"])


@pytest.fixture(scope="module")
def releases() -> tuple[pl.DataFrame, list[pl.DataFrame]]:
    """Two 5-anonymous releases of the same 2,000 rows, which cut the people in other places."""
    table = hospital(2000, seed=0).select("age", "zip", "sex", "diagnosis")
    tables = [
        ic.anonymize(table, SCHEMA, [ic.KAnonymity(5)], algorithm, ends="exact").table
        for algorithm in (ic.Mondrian(choose="range"), ic.Mondrian(choose="span", median="below"))
    ]
    return table, tables


@pytest.mark.slow
def test_two_releases_joined_by_order_single_people_out(releases):
    table, (one, two) = releases
    names = ["age", "zip", "sex"]
    attempt = attack(table, one, SCHEMA, also=[two], kinds=["composition-by-order"])[0]
    joined = list(zip(one.select(names).rows(), two.select(names).rows(), strict=True))
    sizes = Counter(joined)
    ill = {}
    for cells, diagnosis in zip(joined, table["diagnosis"], strict=True):
        ill.setdefault(cells, set()).add(diagnosis)
    assert attempt.figures == {
        "records": 2000,
        "unique": sum(sizes[cells] == 1 for cells in joined),
        "smallest": 1,
        "smallest_alone": min(min(Counter(each.select(names).rows()).values()) for each in (one, two)),
        "below": sum(sizes[cells] < 5 for cells in joined),
        "pinned": sum(len(ill[cells]) == 1 for cells in joined),
    }
    assert attempt.figures["smallest_alone"] >= 5
    # Quoted in docs/limits.md.
    assert (attempt.figures["unique"], attempt.figures["below"]) == (381, 1674)
    assert attempt.baseline == ic.attacks.wilson(0, 2000)


def covers(cell: str, value: object) -> bool:
    """Read a cell anew: `*`, a value, a masked value, a range or a set."""
    text = str(value)
    if cell in ("*", text):
        return True
    if cell.endswith("*"):
        return len(cell) == len(text) and text.startswith(cell.rstrip("*"))
    if cell.startswith("{"):
        return text in cell[1:-1].split(", ")
    if cell.startswith("["):
        low, high = (float(end) for end in cell[1:-1].replace(" - ", "-").split("-"))
        return low <= float(text) <= high
    return False


@pytest.mark.slow
def test_candidates_of_two_releases_are_intersected(releases):
    table, (one, two) = releases
    shuffled = two.sample(fraction=1, shuffle=True, seed=1)
    attempt = attack(table, one, SCHEMA, also=[shuffled], kinds=["composition"], attacks=40)[0]
    people = random_people(40)
    left, alone = [], []
    for person in people:
        values = [table[name][person] for name in ("age", "zip", "sex")]
        counts = [
            Counter(
                row[3]
                for row in release.select("age", "zip", "sex", "diagnosis").rows()
                if all(covers(cell, value) for cell, value in zip(row, values, strict=False))
            )
            for release in (one, shuffled)
        ]
        assert all(sum(each.values()) >= 5 for each in counts)
        left.append(counts[0] & counts[1])
        alone.append(counts[0])
    assert attempt.figures["unique"] == sum(sum(each.values()) == 1 for each in left)
    assert attempt.figures["smallest"] == min(sum(each.values()) for each in left)
    assert attempt.figures["pinned"] == sum(len(each) == 1 for each in left) > 0
    assert attempt.main == ic.attacks.wilson(int(attempt.figures["pinned"]), 40)
    assert attempt.baseline == ic.attacks.wilson(sum(len(each) == 1 for each in alone), 40)


def random_people(count: int) -> list[int]:
    return np.random.default_rng([0, 8]).choice(2000, count, replace=False).tolist()


def test_all_kinds_that_tables_allow(releases):
    table, (one, two) = releases
    names = [each.name for each in attack(table, one, SCHEMA, also=[two], attacks=10)]
    assert names == [name for name in KINDS if name not in ("membership", "linkage", "minimality")]
    fewer = attack(table, one, SCHEMA, also=[two.head(1990)], attacks=10)
    assert "composition-by-order" not in [each.name for each in fewer]
    with pytest.raises(ic.TableError, match="different numbers of rows"):
        attack(table, one, SCHEMA, also=[two.head(1990)], kinds=["composition-by-order"])


def test_labels_without_their_hierarchy_are_not_taken_for_safe():
    release = ic.anonymize(ZIPS, ZIP_POLICY).table
    plain = ic.Schema(["zip"], ["illness"])
    blind = attack(ZIPS, release, plain, also=[release], kinds=["composition"])[0]
    assert (blind.attacks, "label of a hierarchy" in blind.remarks[0]) == (0, True)
    attempt = attack(ZIPS, release, ZIP_POLICY, also=[release], kinds=["composition"])[0]
    assert (attempt.figures["smallest"], attempt.figures["not_found"]) == (5, 0)


def test_a_release_of_other_people_leaves_nothing_to_intersect():
    people = pl.DataFrame({"age": [1, 2, 3, 4], "ill": ["a", "b"] * 2})
    others = people.with_columns(age=pl.lit("[50-60]"))
    tries = attack(people, others, ic.Schema({"age": "number"}, ["ill"]), also=[others])
    none = tries[[each.name for each in tries].index("composition")]
    assert (none.attacks, "covers the values of anybody" in none.remarks[0]) == (0, True)
    assert any(each.attacks for each in tries)


@pytest.mark.parametrize(
    ("outer", "inner", "cell", "tree"),
    [
        (["a", "c"], "b", "{a, c}", {"*": ["a", "b", "c"]}),
        (["a", "c"], "b", "{a, c}", None),
        ([1, 3], 2, "{1, 3}", None),
        ([1, 3], 2, "{1, 3}", {"*": ["1", "2", "3"]}),
        ([1, 3], 2, "odd", {"*": {"odd": ["1", "3"], "even": ["2"]}}),
        ([2, None], 1, "{2, <missing>}", None),
        ([1, 3], None, "{1, 3}", None),
    ],
)
def test_a_cell_covers_what_it_names_and_nothing_between(outer, inner, cell, tree):
    """By hand: two people share a cell that names both, and two beside the cell have the same illness."""
    people = pl.DataFrame({"q": [*outer, inner, inner], "illness": ["flu", "cold", "HIV", "HIV"]})
    own = None if inner is None else str(inner)
    release = pl.DataFrame({"q": [cell, cell, own, own], "illness": people["illness"]})
    schema = ic.Schema({"q": tree and ic.Hierarchy.from_nested(tree)}, ["illness"])
    attempt = attack(people, release, schema, also=[release], kinds=["composition"])[0]
    assert attempt.figures == {
        "records": 4,
        "unique": 0,
        "smallest": 2,
        "smallest_alone": 2,
        "below": 0,
        "pinned": 2,
        "not_found": 0,
    }


@pytest.mark.parametrize(
    ("own", "two", "other", "tree"),
    [
        (1, 2, 3, None),
        (1, 2, 3, {"*": ["1", "2", "3"]}),
        ("1", "2", "3", None),
        ("a", "b", "c", None),
        ("a", "b", "c", {"*": ["a", "b", "c"]}),
    ],
)
def test_predicates_of_a_set_are_met_by_what_it_names(own, two, other, tree):
    """By hand: one of three people has 1 or 3 and two have 2, so the set singles out and 2 does not."""
    people = pl.DataFrame({"q": [own, two, two]})
    release = pl.DataFrame({"q": [f"{{{own}, {other}}}"] * 2 + [str(two)] * 2})
    schema = ic.Schema({"q": tree and ic.Hierarchy.from_nested(tree)})
    control = pl.DataFrame({"q": [other]})
    attempt = attack(people, release, schema, control=control, kinds=["singling-out-univariate"])[0]
    assert (attempt.attacks, attempt.main) == (2, ic.attacks.wilson(1, 2))


def test_a_person_with_a_missing_number_may_be_any_record_of_stars():
    people = pl.DataFrame({"q": [1, None], "illness": ["flu", "cold"]})
    release = people.with_columns(q=pl.lit("*"))
    attempt = attack(people, release, ic.Schema(["q"], ["illness"]), also=[release], kinds=["composition"])[0]
    assert (attempt.figures["smallest"], attempt.figures["not_found"]) == (2, 0)
