"""k^m-anonymity over classes, held against people as sets."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations, product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from crossed import crossed
from people_readings import Reading, people_table

TREES = {
    "age": ic.Hierarchy.intervals(2, 4, 8, 16, 32),
    "town": ic.Hierarchy.from_nested({"*": {"ab": ["a", "b"], "cd": ["c", "d"]}}),
}
SCHEMA = ic.Schema(quasi=TREES, sensitive=["ill"], person="person", unlisted="drop")


def read(table: pl.DataFrame, whose: pl.Series) -> Reading:
    return Reading(
        whose.to_list(), [table[name].to_list() for name in TREES], {"ill": table["ill"].to_list()}
    )


def test_two_visits_that_nobody_else_has_find_a_person():
    table = pl.DataFrame(
        {"who": ["Ann", "Ann", "Bob", "Cid", "Cid", "Dan"], "town": ["x", "y", "x", "x", "z", "y"]}
    ).with_columns(age=pl.lit("30"))
    schema = ic.Schema(quasi=["town", "age"], person="who")
    one, two, everything = (
        ic.assess(table, schema, [ic.KMAnonymity(1, power)]).privacy[0].value for power in (1, 2, 0)
    )
    # Only Cid was in z, and only Ann in x and y.
    assert (one, two, everything) == (1, 1, 1)
    without = table.filter(pl.col("town") != "z")
    assert [ic.assess(without, schema, [ic.KMAnonymity(1, p)]).privacy[0].value for p in (1, 2, 0)] == [
        2,
        1,
        1,
    ]
    assert ic.privacy.km_anonymity(without, ["town", "age"], "who", power=1) == 2
    assert ic.privacy.km_anonymity(without, ["town", "age"], "who") == 1


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3, 4, 0]))
def test_the_figure_is_that_of_people_as_sets(seed, power):
    table = people_table(seed, people=30).with_columns((pl.col("age") // 8).cast(pl.String))
    try:
        measured = ic.assess(table, SCHEMA, [ic.KMAnonymity(3, power)]).privacy[0]
    except ic.ParameterError as error:
        assert "rows that anybody has" in str(error)  # noqa: PT017
        return
    reading = read(table, table["person"])
    least, weak = reading.km(power, 3)
    assert measured.value == least
    assert measured.failing[0] == len(weak)


def test_who_has_one_row_is_as_safe_as_the_class():
    table = people_table(5).unique("person", keep="first", maintain_order=True)
    measures = ic.assess(
        table, SCHEMA, [ic.KMAnonymity(1, power) for power in (1, 0)] + [ic.KAnonymity(1)]
    ).privacy
    assert measures[0].value == measures[1].value == measures[2].value


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("algorithm", "power"), crossed(["optimal", "samarati", "datafly", "bottom-up", "flash"], [1, 2, 3, 0])
)
def test_full_domain_algorithms_enforce_it(algorithm, power):
    releases = 0
    for seed in range(3):
        table = people_table(seed, people=60)
        limit = 0.0 if algorithm == "flash" else 0.25
        try:
            release = ic.anonymize(table, SCHEMA, [ic.KMAnonymity(3, power)], algorithm, max_suppression=limit, suppressed="keep", keep_order=True, force=True)  # fmt: skip
        except ic.InfeasibleError:
            continue
        assert read(release.table, table["person"]).km(power)[0] >= 3
        releases += 1
    assert releases


@pytest.mark.slow
@pytest.mark.parametrize("power", [2, 0])
def test_the_optimum_is_that_of_all_nodes(power):
    table = people_table(3, people=50)
    keeping = {"keep_order": True, "force": True}
    best = ic.anonymize(table, SCHEMA, [ic.KMAnonymity(4, power)], "optimal", **keeping)
    result = []
    for age, town in product(range(7), range(3)):
        if (age, town) == (6, 2):
            continue
        node = ic.anonymize(table, SCHEMA, "k-anonymity:1", levels={"age": age, "town": town}, **keeping)
        if read(node.table, table["person"]).km(power)[0] >= 4:
            result.append(node.utility["loss"].value)
    assert best.utility["loss"].value == min(result)


@pytest.mark.parametrize(
    ("table", "schema", "model", "algorithm", "problem"),
    [
        (
            people_table(1),
            SCHEMA,
            ic.KMAnonymity(2, 7),
            "optimal",
            "power=7 is more than the [3-6] different rows",
        ),
        (people_table(1), SCHEMA, ic.KMAnonymity(99), "optimal", "k=99 is more than the table's"),
        (
            people_table(1),
            SCHEMA,
            ic.KMAnonymity(2),
            "mondrian",
            "mondrian decides about few classes at a time",
        ),
        (
            people_table(1),
            SCHEMA,
            ic.KMAnonymity(2),
            "k-member",
            "k-member decides about few classes at a time",
        ),
        (
            people_table(1),
            ic.Schema(quasi=TREES, unlisted="drop"),
            ic.KMAnonymity(2),
            "optimal",
            "no column names a person",
        ),
    ],
)
def test_what_cannot_be_is_refused(table, schema, model, algorithm, problem):
    with pytest.raises(ic.ParameterError, match=problem):
        ic.anonymize(table, schema, [model], algorithm)


def test_a_power_above_anybodys_rows_is_told():
    table = pl.DataFrame({"who": [1, 1, 2, 2, 3], "age": [20, 30, 20, 30, 20]})
    schema = ic.Schema(quasi=["age"], person="who")
    high = ic.assess(table, schema, [ic.KMAnonymity(1, 5)])
    text = "km-anonymity: nobody has 5 different rows, but 2 at most; power=5 is measured as power=0 is"
    assert any(text in note for note in high.notes)
    both = ic.assess(table, schema, [ic.KMAnonymity(1, 2), ic.KMAnonymity(1, 0)])
    assert not any("km-anonymity" in note for note in both.notes)
    assert both.privacy[1].value == high.privacy[0].value


def raw_and_cells(table, levels):
    """Return the raw values of each row, and the cells at some levels."""
    raw = ic.anonymize(table, SCHEMA, "k-anonymity:1", levels=levels, keep_order=True, force=True).table
    return [list(zip(*(each[name].cast(pl.String) for name in TREES), strict=True)) for each in (table, raw)]


def left_of(table, cells, keys, k, power):
    """Return the rows that are left once classes are suppressed, and once people are, read as sets."""
    whose = [("row", row) if who is None else who for row, who in enumerate(table["person"])]

    def large(left):
        people = defaultdict(set)
        for row in left:
            people[cells[row]].add(whose[row])
        rows = {row for row in left if len(people[cells[row]]) >= k}
        return left if rows == left else large(rows)

    def exposed(left):
        people, classes = defaultdict(set), defaultdict(set)
        for row in left:
            people[cells[row]].add(whose[row])
            classes[whose[row]].add(cells[row])
        result, weak = set(), set()
        for who, mine in classes.items():
            for known in combinations(sorted(mine), min(power, len(mine)) if power else len(mine)):
                if len(set.intersection(*(people[cell] for cell in known))) < k:
                    result.add(who)
                    weak |= set(known)
        return result, weak

    left = start = large({row for row in range(len(whose)) if set(cells[row]) != {"*"}})
    weak = exposed(start)[1]
    while result := exposed(left)[0]:
        gone = {keys[row] for row in left if whose[row] in result}
        left = large({row for row in left if keys[row] not in gone})
    return {row for row in start if cells[row] not in weak}, left


def rows_left(release):
    cells = zip(*(release.table[name].cast(pl.String) for name in TREES), strict=True)
    return {row for row, cell in enumerate(cells) if set(cell) != {"*"}}


@pytest.mark.few(1)
@pytest.mark.parametrize("power", [1, 2, 3, 0])
def test_whoever_is_exposed_is_suppressed_whole_as_read_from_sets(power):
    people = 0
    for seed in range(3):
        table = people_table(seed, people=60)
        for levels in ({"age": 1 + seed, "town": seed % 2}, {"age": 3, "town": 0}):
            keys, cells = raw_and_cells(table, levels)
            by_class, by_person = left_of(table, cells, keys, 3, power)
            wanted = by_person if len(by_person) > len(by_class) else by_class
            if len(wanted) <= 0.1 * len(cells):
                continue
            people += len(by_person) > len(by_class)
            release = ic.anonymize(
                table, SCHEMA, [ic.KMAnonymity(3, power)], "optimal", max_suppression=0.9, suppressed="keep", levels=levels, keep_order=True, force=True,
            )  # fmt: skip
            assert rows_left(release) == wanted
            if wanted:
                assert read(release.table, table["person"]).km(power)[0] >= 3
    assert people > 1 or power == 1


@pytest.mark.slow
def test_the_optimum_counts_what_suppressing_people_costs():
    table = people_table(4, people=80)
    k, limit = 3, 0.2
    best = ic.anonymize(table, SCHEMA, [ic.KMAnonymity(k)], "optimal", max_suppression=limit, suppressed="keep", keep_order=True, force=True)  # fmt: skip
    result = {}
    for age, town in product(range(7), range(3)):
        levels = {"age": age, "town": town}
        if (age, town) == (6, 2):
            continue
        keys, cells = raw_and_cells(table, levels)
        left = max(left_of(table, cells, keys, k, 2), key=len)
        if len(left) < (1 - limit) * len(cells):
            continue
        node = ic.anonymize(table, SCHEMA, "k-anonymity:1", levels=levels, keep_order=True, force=True)
        result[age, town] = read_loss(node, left)
    assert best.utility["loss"].value == pytest.approx(min(result.values()), abs=1e-12)


def read_loss(node, left):
    """Return the mean loss of the cells of a node where only some rows are left."""
    total = 0.0
    for cells in node.recoding.cells:
        loss = cells.loss[cells.codes][node.frequency.row_keys]
        total += sum(loss[row] if row in left else 1.0 for row in range(len(loss)))
    return total / len(node.recoding.cells) / len(loss)


def suppressed_of(visits, k):
    """Release visits, (person, place, day) each, by month and place alone, and count the suppressed rows."""
    table = pl.DataFrame(visits, schema=["who", "place", "day"], orient="row")
    days = ic.Hierarchy.from_nested({"*": {"May": [f"May {n}" for n in range(20)]}})
    schema = ic.Schema(quasi={"place": ic.Hierarchy.flat(), "day": days}, person="who")
    release = ic.anonymize(
        table, schema, [ic.KMAnonymity(k, 2)], "optimal", max_suppression=0.9, suppressed="keep", levels={"place": 0, "day": 1}, keep_order=True,
    )  # fmt: skip
    gone = (release.table["place"] == "*").to_list()
    return [who for (who, _, _), star in zip(visits, gone, strict=True) if star]


@pytest.mark.parametrize(("others", "same_day"), [(5, 0), (5, 2), (4, 0)])
def test_the_example_of_the_page(others, same_day):
    """Ann was here and there; `others` were here alone and as many there, some of them on her day."""
    visits = [("Ann", "here", "May 0"), ("Ann", "there", "May 0")]
    for n in range(others):
        day = "May 0" if n < same_day else f"May {n + 1}"
        visits += [(f"h{n}", "here", day), (f"t{n}", "there", day)]
    visits += [(f"w{n}", "elsewhere", "May 9") for n in range(5)]
    gone = suppressed_of(visits, 5 if others == 4 or not same_day else 3)
    if others == 4:
        # Without her each place has four people, so it is as with the classes.
        assert sorted(gone) == sorted(who for who, place, _ in visits if place != "elsewhere")
    else:
        assert sorted(set(gone)) == ["Ann", *(f"{at}{n}" for at in "ht" for n in range(same_day))]


def test_classes_are_suppressed_where_that_loses_less():
    """Only Ann was in a and b. Without her Bob is alone in a, and Cid in b."""
    visits = [(who, place, "May 1") for who, places in {"Ann": "abc", "Bob": "ac", "Cid": "bc"}.items() for place in places]  # fmt: skip
    visits = [(who, place, f"May {n}") for n, (who, place, _) in enumerate(visits)]
    # By person: her three rows, and the two that are then alone. By class: the four rows of a and b.
    assert sorted(suppressed_of(visits, 2)) == ["Ann", "Ann", "Bob", "Cid"]


@pytest.mark.parametrize("algorithm", ["optimal", "datafly"])
def test_rounds_are_kept_while_histories_hold_over_all_of_them(algorithm):
    for seed in range(2):
        table = people_table(seed, people=60)
        search = f"{algorithm}:recode_suppressed=true"
        release = ic.anonymize(table, SCHEMA, [ic.KMAnonymity(3)], search, max_suppression=0.3, suppressed="keep", keep_order=True, force=True)  # fmt: skip
        assert read(release.table, table["person"]).km(2)[0] >= 3


@pytest.mark.parametrize(("many", "without_ann"), [(5, 0), (6, 10)])
def test_classes_are_suppressed_and_not_a_person_alone(many, without_ann):
    """The example of the page on people, with a third class that nobody shares."""
    others = [(f"{town}{n}", town) for town in "sa" for n in range(many - 1)]
    visits = [("Ann", "s"), ("Ann", "a"), *others, *((f"w{n}", "w") for n in range(5))]
    table = pl.DataFrame(visits, schema=["who", "town"], orient="row")
    release = ic.anonymize(
        table, ic.Schema(quasi=["town"], person="who"), [ic.KMAnonymity(5, 2)], "optimal",
        max_suppression=0.9, suppressed="keep", levels={"town": 0}, keep_order=True,
    )  # fmt: skip
    assert Counter(release.table["town"]) == {"*": 2 * many, "w": 5}
    # Removing people one by one, until whoever is left has company in all that is known of them.
    left = {person: {town for who, town in visits if who == person} for person, _ in visits}
    while weak := [one for one in left if sum(left[one] <= other for other in left.values()) < 5]:
        for person in weak:
            del left[person]
    assert sum(towns != {"w"} for towns in left.values()) == without_ann
