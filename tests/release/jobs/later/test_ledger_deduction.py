"""Worlds that several releases leave possible, compared with all worlds of tiny histories."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict

import polars as pl
import pytest

from incrowd.core.errors import TableError
from incrowd.release.jobs.later.ledger import deduction
from incrowd.release.jobs.later.ledger.deduction import deduced_people
from incrowd.release.jobs.later.ledger.exposure import ReleasePeople

SUPPRESSED = None


# --- the second reading: every world -----------------------------------------------------------------------


def classes_of(records, values):
    """The frequency of each value in each class of each release, where a record is a person with classes."""
    groups = defaultdict(Counter)
    for (_, where), value in zip(records, values, strict=True):
        for place in where.items():
            groups[place][value] += 1
    return groups


def worlds(records, values):
    """All possible values of records with every class unchanged."""
    classes, names = classes_of(records, values), sorted(set(values))
    return [
        world
        for world in itertools.product(names, repeat=len(records))
        if classes_of(records, world) == classes
    ]


def needed(shown, where, least):
    """The promised number of values for a record, by the releases of the record."""
    has = {release: len(shown[release, cls]) for release, cls in where.items()}
    promised = [min(least[release], has[release]) for release in where if least[release]]
    return max([*promised, min(min(2, number) for number in has.values())])


def spanning(records):
    """Numbers of the parts of which several releases tell, by the number of the record."""
    parts = {}
    for number, (_, where) in enumerate(records):
        parts[number] = {number}
        for other in range(number):
            if where.items() & records[other][1].items():
                both = parts[number] | parts[other]
                parts |= dict.fromkeys(both, both)
    told = {
        number: {release for each in part for release in records[each][1]} for number, part in parts.items()
    }
    return {number for number, releases in told.items() if len(releases) > 1}


def narrowed(records, values, least):
    """People with a record of fewer possible values than promised."""
    classes, possible = (
        classes_of(records, values),
        [set(each) for each in zip(*worlds(records, values), strict=True)],
    )
    several = spanning(records)
    return {
        who
        for number, (who, where) in enumerate(records)
        if number in several and who is not None and len(possible[number]) < needed(classes, where, least)
    }


# --- histories ---------------------------------------------------------------------------------------------


def history(seed):
    """Two or three releases of up to six people with suppressed and counterfeit records."""
    draw = random.Random(seed)
    releases, size = draw.choice([2, 2, 3]), draw.randint(3, 6)
    records, values = [], []
    for person in range(size):
        where = {
            release: draw.choice([0, 0, 1, SUPPRESSED] if draw.random() < 0.5 else [0])
            for release in range(releases)
            if draw.random() < 0.75
        }
        if draw.random() < 0.1:
            person, where = None, dict([next(iter(where.items()), (0, 0))])  # noqa: PLW2901
        if where:
            records.append((person, where))
            values.append(draw.choice("xxyyz"))
    return records, values, [draw.choice([0, 2, 2, 3]) for _ in range(releases)]


def byte(value):
    return None if value is None else str(value).encode()


def named(release, cls, *, alike):
    return cls if cls is SUPPRESSED or alike else f"{release}.{cls}"


def shown_of(records, values, least, *, alike=False):
    """The kept data of a ledger, where with `alike` all classes have the same cells."""
    result = []
    for release, number in enumerate(least):
        there = [
            (byte(who), byte(named(release, where[release], alike=alike)), byte(value))
            for (who, where), value in zip(records, values, strict=True)
            if release in where
        ]
        rows = pl.DataFrame(there, dict.fromkeys(["person", "class", "v"], pl.Binary), orient="row")
        result.append(ReleasePeople(rows, 2, {"v": number} if number else {}))
    return result


def names_of(people):
    return {int(each) for each in people}


SEEDS = [*range(300), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(300, 1500))]


@pytest.mark.few(5)
@pytest.mark.parametrize("seed", SEEDS)
def test_whoever_has_too_few_values_in_all_worlds_is_found_and_nobody_else(seed):
    records, values, least = history(seed)
    assert names_of(deduced_people(shown_of(records, values, least))) == narrowed(records, values, least)


@pytest.mark.few(1)
@pytest.mark.parametrize(("setting", "most"), [("_MOST", 1), ("_MOST", 3), ("_CALLS", 0)])
def test_what_is_too_large_to_decide_counts_as_exposed(setting, most, monkeypatch):
    monkeypatch.setattr(deduction, setting, most)
    monkeypatch.setattr(deduction, "_NEAR", most)
    more = 0
    for seed in range(30):
        records, values, least = history(seed)
        result, sure = (
            names_of(deduced_people(shown_of(records, values, least))),
            narrowed(records, values, least),
        )
        assert result >= sure
        more += len(result - sure)
    assert more


def open_history():
    """A history with people that no exchange within a cell hides, so that the search solves programmes."""
    records = [(n, {0: n % 3, 1: n % 7}) for n in range(40)]
    return shown_of(records, list("xyzzx") * 8, [2, 2])


@pytest.mark.parametrize(("work", "most"), [(1, 1), (10**9, 2_000)])
def test_a_search_is_bounded_by_its_size(monkeypatch, work, most):
    from scipy import optimize

    asked, solve = [], optimize.milp
    monkeypatch.setattr(deduction, "_WORK", work)
    monkeypatch.setattr(
        optimize, "milp", lambda *args, **how: asked.append({**how["options"]}) or solve(*args, **how)
    )
    deduced_people(open_history())
    assert {each["node_limit"] for each in asked} == {most}


def test_a_search_that_the_clock_ends_is_an_error_and_no_answer(monkeypatch):
    from scipy import optimize

    """Also where a world was found until then, as another machine finds another one, or none."""
    solve = optimize.milp

    def late(*args, **how):
        result = solve(*args, **how)
        result.status = 1
        return result

    monkeypatch.setattr(optimize, "milp", late)
    with pytest.raises(TableError, match=r"is not decided.*Nothing is recorded"):
        deduced_people(open_history())


def test_around_one_cell_of_a_large_part_worlds_are_found(monkeypatch):
    """A chain of classes, where each class shares a person with the next."""
    records = [(n, {0: n // 2, 1: (n + 1) // 2}) for n in range(400)]
    values = ["xy"[n // 2 % 2] for n in range(400)]
    # Of the 400 people those at the ends are free, and of the others each world has a cycle of all.
    assert names_of(deduced_people(shown_of(records, values, [2, 2]))) != set()
    loose = [(n, {0: n % 3, 1: n % 7}) for n in range(400)]
    monkeypatch.setattr(deduction, "_MOST", 10)
    assert names_of(deduced_people(shown_of(loose, list("xyzzx") * 80, [2, 2]))) == set()


@pytest.mark.slow
def test_the_histories_have_harmful_and_harmless_ones():
    result = [narrowed(*history(seed)) for seed in range(300)]
    spans = [spanning(history(seed)[0]) for seed in range(300)]
    assert sum(map(bool, result)) > 40
    assert sum(bool(several) and not who for several, who in zip(spans, result, strict=True)) > 40


# --- people with several records ---------------------------------------------------------------------------


def encounters(seed):
    """Records of up to four people, of whom some have two or three."""
    draw = random.Random(seed)
    records, values = [], []
    for record in range(draw.randint(3, 6)):
        where = {release: draw.choice([0, 0, 0, 1]) for release in range(2) if draw.random() < 0.8}
        if where:
            records.append((record % draw.randint(2, 4), where))
            values.append(draw.choice("xyz"))
    return records, values, [2, 2]


def certain(records, values):
    """People of whom a value is sure in all worlds together, and in no release alone."""

    def sure(number, chosen):
        """Values that a person has in all worlds of some releases."""
        some = [(who, {each: cls for each, cls in where.items() if each in chosen}) for who, where in records]
        sets = [
            {value for (who, where), value in zip(some, world, strict=True) if who == number and where}
            for world in worlds(some, values)
        ]
        return set.intersection(*sets)

    several = spanning(records)
    people = {records[number][0] for number in several}
    return {who for who in people if sure(who, {0, 1}) - sure(who, {0}) - sure(who, {1})}


@pytest.mark.few(7)
@pytest.mark.parametrize(
    "seed", [*range(150), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(150, 600))]
)
def test_nobody_with_several_records_is_missed(seed):
    """A world may exchange single records, whether or not an attacker knows which are the same in both."""
    records, values, least = encounters(seed)
    if records:
        assert certain(records, values) <= names_of(deduced_people(shown_of(records, values, least)))


@pytest.mark.slow
def test_some_people_with_several_records_are_certain_and_some_are_not():
    cases = [encounters(seed) for seed in range(150)]
    result = [(certain(*each[:2]), names_of(deduced_people(shown_of(*each)))) for each in cases if each[0]]
    assert sum(map(bool, (sure for sure, _ in result))) > 20
    assert sum(not told for _, told in result) > 20


def test_the_same_records_in_the_same_cells_again_tell_nothing():
    """Also where a person has a value twice, and nobody could change places with both."""
    records = [(who, {0: cls, 1: cls}) for cls in (0, 1) for who in (0, cls * 10 + 1, cls * 10 + 2)]
    values = ["x", "y", "x", "x", "z", "z"]
    assert names_of(deduced_people(shown_of(records, values, [2, 2], alike=True))) == set()
    # With other cells nobody knows which record of the person went where.
    assert names_of(deduced_people(shown_of(records, values, [2, 2]))) != set()
