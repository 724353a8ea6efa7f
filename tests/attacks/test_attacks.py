"""attack(): attacks work with raw data, and fail against a release that protects."""

from __future__ import annotations

import gzip
import json
import math
import tracemalloc

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from examples import share
from incrowd.attacks import attack, wilson
from incrowd.attacks.setting import Setting, nearest_records
from incrowd.attacks.singling_out import size_factor
from incrowd.core.errors import InputError
from incrowd.core.kernels.clusters.nearest import Cloud, nearest

TREE = ic.Hierarchy.from_nested({"*": {"A": ["a1", "a2"], "B": ["b1", "b2"]}})
SCHEMA = ic.Schema(quasi={"n": None, "t": TREE, "m": None, "c": None}, sensitive=["s"])


def people(rows: int, seed: int) -> pl.DataFrame:
    """The secret depends on nothing, so only people in the release can be inferred."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "n": rng.normal(size=rows).round(4),
            "m": rng.normal(size=rows).round(4),
            "t": rng.choice(["a1", "a2", "b1", "b2"], rows),
            "c": rng.choice(list("uvwxyz"), rows),
            "s": rng.choice(list("ABCDEFGH"), rows),
        }
    )


OWN, OTHERS = people(800, 1), people(800, 2)


def by_name(release: pl.DataFrame, **settings) -> dict[str, ic.Attack]:
    attempts = attack(OWN, release, SCHEMA, control=OTHERS, attacks=200, **settings)
    return {entry.name: entry for entry in attempts}


def test_a_raw_release_gives_everything_away():
    attempts = by_name(OWN)
    # By order nothing is found that the cells do not tell already: here they tell everything.
    assert attempts.pop("order").baseline.value > 0.99
    for entry in attempts.values():
        assert entry.stronger_than_guessing
        assert entry.main.low <= entry.main.value <= entry.main.high
    # Every guess is unique in the release and so in the raw table; links and secrets are found.
    assert attempts["singling-out-multivariate"].main.value > 0.95
    assert attempts["linkability"].main.value > 0.95
    assert attempts["inference"].main.value > 0.95
    assert attempts["inference"].risk.value > 0.9
    assert attempts["linkability"].risk.value > 0.9


@pytest.mark.slow
def test_a_k_anonymous_release_gives_little_away():
    release = ic.anonymize(OWN, SCHEMA, [ic.KAnonymity(20), ic.LDiversity(4)]).table
    attempts = by_name(release)
    assert attempts["singling-out-multivariate"].main.value < 0.1
    assert attempts["linkability"].main.value < 0.2
    assert attempts["inference"].main.value < 0.4
    assert attempts["inference"].risk.value < 0.2


@pytest.mark.few(1)
@pytest.mark.parametrize("style", ["auto", "set", "mean", "suppress", "ancestor"])
def test_cells_of_every_style_are_read(style):
    release = ic.anonymize(
        OWN,
        SCHEMA,
        [ic.KAnonymity(5)],
        output=style,
        max_suppression=1.0,
        suppressed="keep",
        set_limit=1000,
        unanswered="write",
    ).table
    for entry in by_name(release).values():
        assert 0 <= entry.main.value <= 1
        assert entry.name == "order" or math.isfinite(entry.risk.value)


def test_other_people_of_the_same_kind_are_no_risk():
    """A synthetic table that knows nobody is as right about its people as about the control."""
    attempts = by_name(people(800, 3))
    assert attempts["inference"].risk.low == 0
    assert attempts["linkability"].risk.low == 0
    assert attempts["inference"].main.value < 0.3


def test_inference_learns_what_is_true_of_everybody_without_risk():
    """The secret follows from t: guessed rightly, of the control as well."""
    own, others = (frame.with_columns(s=pl.col("t")) for frame in (OWN, OTHERS))
    (attempt,) = [
        entry for entry in attack(own, own, SCHEMA, control=others, attacks=200) if entry.name == "inference"
    ]
    assert attempt.main.value > 0.95
    assert attempt.control.value > 0.95
    assert attempt.risk.low == 0


def test_numbers_as_secrets():
    own = OWN.with_columns(s=pl.Series(np.random.default_rng(5).uniform(10, 1000, 800)))
    result = {entry.name: entry for entry in attack(own, own, SCHEMA, attacks=100)}
    assert result["inference"].main.value > 0.95
    assert result["inference"].baseline.value < 0.2
    assert result["inference"].control is None
    assert result["inference"].risk is None


@given(st.integers(0, 200), st.integers(1, 200))
def test_wilson_interval(wins, attacks):
    wins = min(wins, attacks)
    rate = wilson(wins, attacks)
    assert 0 <= rate.low <= rate.value <= rate.high <= 1
    # The ends solve (p - share)^2 = z^2 p (1 - p) / n.
    share = wins / attacks
    for end in (rate.low, rate.high):
        if 0 < end < 1:
            assert (end - share) ** 2 == pytest.approx(
                1.959963984540054**2 * end * (1 - end) / attacks, rel=1e-6, abs=1e-12
            )


@pytest.mark.slow
def test_the_same_seed_attacks_alike_and_says_no_value():
    first, again = by_name(OWN, seed=4), by_name(OWN, seed=4)
    assert first == again
    assert first != by_name(OWN, seed=5)
    document = json.dumps([entry.to_dict() for entry in first.values()])
    assert "a1" not in document


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"attacks": 5}, "attacks must be a whole number of at least 10"),
        ({"secret": "t"}, "secret 't' is no sensitive attribute"),
        ({"released": OWN.drop("t")}, "release: the table has no column 't'"),
        ({"control": OWN.drop("n")}, "control: the table has no column 'n'"),
        ({"released": OWN.head(0)}, "release: the table has no rows"),
    ],
)
def test_bad_calls(settings, words):
    arguments = {"table": OWN, "released": OWN, "schema": SCHEMA} | settings
    with pytest.raises(InputError, match=words):
        attack(**arguments)


def test_one_column_is_singled_out_and_nothing_else():
    schema = ic.Schema(quasi=["n"])
    attempts = attack(OWN.select("n"), OWN.select("n"), schema, attacks=50)
    assert [entry.name for entry in attempts] == ["singling-out-univariate", "order"]


@pytest.mark.slow
def test_predicates_range_over_all_released_columns():
    """A number per row beside the cells singles everybody out, whatever role the number has."""
    table = people(300, 5).select("n", "s", seqn=pl.int_range(300))
    schema = ic.Schema(quasi=["n"], sensitive=["s"], insensitive=["seqn"], unlisted="keep")
    release = ic.anonymize(
        table, schema, "k-anonymity:10", keep_order=True, force=True, unanswered="write"
    ).table
    result = {entry.name: entry for entry in attack(table, release, schema, attacks=100)}
    assert result["singling-out-univariate"].main.value > 0.9
    assert result["singling-out-multivariate"].main.value > 0.9
    without = {entry.name: entry for entry in attack(table, release.drop("seqn"), schema, attacks=100)}
    assert without["singling-out-univariate"].main.value < 0.2
    # A column that was treated is not compared with the raw one.
    treated = ic.Schema(quasi=["n"], insensitive=["seqn"], treatments={"seqn": "round:50"}, unlisted="drop")
    frame = ic.anonymize(table, treated, "k-anonymity:10").table
    (alone,) = attack(table, frame, treated, attacks=100, kinds=["singling-out-univariate"])
    assert alone.main.value < 0.2


@pytest.mark.slow
def test_membership_is_told_from_raw_records_and_not_from_crowds():
    names = ["singling-out-univariate", "singling-out-multivariate", "linkability", "inference", "membership"]
    raw = by_name(OWN)
    assert list(raw) == [*names, "order"]
    assert raw["membership"].main.value > 0.95
    assert raw["membership"].risk.value > 0.9
    member = by_name(ic.anonymize(OWN, SCHEMA, [ic.KAnonymity(20)], unanswered="write").table)["membership"]
    assert member.main.value < 0.65
    assert member.baseline.value == 0.5
    nobody = by_name(people(800, 3))["membership"]
    assert nobody.main.low < 0.5 < nobody.main.high


@pytest.mark.slow
def test_links_with_an_external_table():
    settings = {"aligned": True, "kinds": ["linkage"]}
    raw = by_name(OWN, **settings)["linkage"]
    assert raw.main.value > 0.95
    assert raw.baseline.value < 0.05
    known = by_name(OWN, **settings, known=["t", "c"])["linkage"]
    assert known.main.value < 0.15  # 24 combinations for 800 people
    release = ic.anonymize(OWN, SCHEMA, [ic.KAnonymity(20)], unanswered="write").table
    assert by_name(release, **settings)["linkage"].main.value < 0.12
    with pytest.raises(ic.SchemaError, match="known: 's' is no quasi-identifier"):
        by_name(OWN, aligned=True, known=["s"])
    with pytest.raises(ic.TableError, match="linkage: the release has 10 rows"):
        by_name(OWN.head(10), aligned=True)


def test_numbers_that_are_one_double_are_linked_one_by_one():
    """Doubles tell half of the rows from close neighbours at best, and a person with the table tells all."""
    people = pl.DataFrame({"id": [2**53 + number for number in range(60)], "s": ["x"] * 60})
    attempts = attack(
        people, people, ic.Schema(quasi=["id"], sensitive=["s"]), attacks=60, aligned=True, kinds=["linkage"]
    )
    assert attempts[0].main.value > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(share(1)))
def test_beside_another_library(shared_data, seed):
    """Intervals meet those of anonymeter 1.1.0 on its own example: three columns of Adult, a CTGAN of them.

    Of three seeds its centres, lowest and highest, with 100 / 100 / 2000 / 1000 guesses. Its guessing without
    the release is left out: the rows of its guesses and of their targets do not correspond.
    """
    folder = shared_data / "petworks" / "adult"
    own, others, release = (
        pl.read_csv(gzip.decompress((folder / f"adults_{name}.csv.gz").read_bytes()))
        for name in ("train", "control", "syn_ctgan")
    )
    theirs = {
        "singling-out-univariate": ((0.0378, 0.0666), (0.0210, 0.0261), 100),
        "singling-out-multivariate": ((0.2015, 0.2496), (0.0539, 0.0666), 100),
        "linkability": ((0.0020, 0.0045), (0.0025, 0.0035), 2000),
        "inference": ((0.4492, 0.4791), (0.4552, 0.4920), 1000),
    }
    schema = ic.Schema(quasi=["age", "fnlwgt", "type_employer"])
    known = ic.Schema(quasi=["age", "fnlwgt"], sensitive=["type_employer"])
    settings = {"control": others, "seed": seed}
    asked = [name for name in theirs if name != "inference"]
    result = {
        e.name: e
        for e in (
            *attack(own, release, known, kinds=["inference"], attacks=1000, **settings),
            *attack(own, release, schema, kinds=asked, neighbours=10, attacks=100, **settings),
        )
    }
    for name, (main, control, guesses) in theirs.items():
        entry = result[name]
        for rate, (low, high) in ((entry.main, main), (entry.control, control)):
            slack = 2 * math.sqrt(high * (1 - high) / guesses)
            assert rate.low <= high + slack, name
            assert rate.high >= low - slack, name


@st.composite
def clouds(draw):
    rows, records, values = draw(st.integers(1, 6)), draw(st.integers(1, 12)), 3
    number = st.one_of(st.just(math.nan), st.integers(0, 4).map(float))
    ends = draw(st.lists(st.tuples(number, number), min_size=records, max_size=records))
    ends = [(a, b) if a <= b else (a, a) if math.isnan(a) or math.isnan(b) else (b, a) for a, b in ends]
    cells = draw(st.lists(st.sets(st.integers(0, values - 1), min_size=1), min_size=1, max_size=3))
    pick = lambda top, many: draw(st.lists(st.integers(0, top), min_size=many, max_size=many))  # noqa: E731
    sets = draw(st.lists(st.lists(number, min_size=2, max_size=4), max_size=3))
    of_set = draw(st.lists(st.integers(-1, len(sets) - 1), min_size=records, max_size=records))
    # The sets of categories are numbered after those of numbers.
    of_cell = [cell - 1 if not cell else len(sets) + cell - 1 for cell in pick(len(cells), records)]
    everything = [*sets, *map(sorted, cells)]
    return Cloud(
        np.array([True, False]),
        np.array([[low, 0] for low, _ in ends], float),
        np.array([[high, 0] for _, high in ends], float),
        np.array([4.0, 1.0]),
        np.array([[draw(number), 0] for _ in range(rows)], float),
        np.array([[held, cell] for held, cell in zip(of_set, of_cell, strict=True)], np.int32),
        np.array([[0, rank] for rank in pick(values - 1, rows)], np.int32),
        np.array([number for held in everything for number in held], float),
        np.cumsum([0, *map(len, everything)]),
    )


@given(clouds(), st.integers(1, 3))
def test_the_nearest_records_read_once_more(cloud, count):
    records, rows = len(cloud.codes), len(cloud.ranks)
    count = min(count, records)
    result, gaps = nearest(cloud, np.arange(rows), count)
    for row in range(rows):
        far = []
        for record in range(records):
            value, low, high = cloud.values[row, 0], cloud.low[record, 0], cloud.high[record, 0]
            number = cloud.codes[record, 0]
            named = cloud.members[cloud.starts[number] : cloud.starts[number + 1]] if number >= 0 else []
            if len(named):
                # The mean distance to what the set names.
                gap = sum(
                    float(math.isnan(value) != math.isnan(each))
                    if math.isnan(value) or math.isnan(each)
                    else abs(value - each) / 4
                    for each in named
                ) / len(named)
            elif math.isnan(value) or math.isnan(low):
                gap = float(math.isnan(value) != math.isnan(low))
            elif low < value < high:
                # The mean distance to a value anywhere in the interval.
                gap = ((value - low) ** 2 + (high - value) ** 2) / (2 * (high - low)) / 4
            else:
                gap = abs(value - (low + high) / 2) / 4
            cell, rank = cloud.codes[record, 1], cloud.ranks[row, 1]
            held = cloud.members[cloud.starts[cell] : cloud.starts[cell + 1]].tolist() if cell >= 0 else []
            far.append(round(gap + 1 - (held.count(rank) / len(held) if held else 0), 9))
        order = sorted(range(records), key=far.__getitem__)[:count]
        assert result[row].tolist() == order
        assert gaps[row] == pytest.approx([far[record] for record in order])


@given(st.integers(0, 99), st.integers(1, 4))
def test_of_equal_records_the_first_ones_are_enough(seed, count):
    """A search among all records finds the same as a search among the first of each equivalence class."""
    raw = people(40, seed)
    release = raw.with_columns(pl.lit("*").alias("t"), pl.col("n", "m").round(0), pl.col("c"))
    setting = Setting(raw, release, SCHEMA, None, seed)
    names, rows = ["n", "m", "c"], np.arange(40)
    order = np.random.default_rng([seed, 3]).permutation(setting.records)
    result, gaps = nearest(setting.cloud(names, order), rows, count)
    again = nearest_records(setting, names, rows, count)
    assert again[0].tolist() == order[result].tolist()
    assert again[1].tolist() == gaps.tolist()


@pytest.mark.slow
def test_a_column_of_names_takes_memory_for_each_name_and_not_for_each_pair():
    names = pl.DataFrame({"n": [f"x{i}" for i in range(12_000)], "s": ["A"] * 12_000})
    tracemalloc.start()
    try:
        attack(names, names, ic.Schema(quasi=["n"], sensitive=["s"]), attacks=10)
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_small_control_is_scaled_up():
    """Raw people and a quarter as many others of the same kind: no excess, whatever the sizes."""
    kinds = ["singling-out-multivariate"]
    tables = people(1600, 7), people(1600, 8)
    [entry] = attack(*tables, SCHEMA, control=people(400, 9), attacks=500, kinds=kinds)
    assert entry.main.value > 0.1
    assert entry.control.value > 0.1
    assert entry.risk.low == 0


@pytest.mark.parametrize(("shape", "mean", "scale"), [(0.2, 0.3, 4.0), (3.0, 0.5, 3.0), (0.05, 2.0, 2.0)])
def test_the_size_of_the_control_is_allowed_for(shape, mean, scale):
    rng = np.random.default_rng(1)
    weights = rng.gamma(shape, mean / shape, 200_000)
    few, many = rng.poisson(weights), rng.poisson(weights * scale)
    expected = (many == 1).mean() / (few == 1).mean()
    assert size_factor(few.tolist(), scale) == pytest.approx(expected, rel=0.05)
    assert size_factor([0, 0, 5], 4.0) == size_factor([1, 1], 4.0) == size_factor([0, 1], 0.5) == 1


def test_cells_that_nobody_can_read_leave_nothing_to_guess():
    raw = pl.DataFrame({"zip": [f"0210{row}" for row in range(6)], "ill": ["a", "b"] * 3})
    release = raw.with_columns(zip=pl.lit("group 1"), ill=pl.lit("?"))
    schema = ic.Schema(["zip"], sensitive=["ill"])
    tries = ic.attack(raw, release, schema, secret="ill")
    alone = [each for each in tries if each.name.startswith("singling-out")]
    assert {each.name for each in tries} > {each.name for each in alone}
    for each in tries:
        assert (each.attacks, each.main) == (0, ic.attacks.Rate(0.0, 0.0, 1.0))
        assert "column 'zip': the cells of 6 records" in each.remarks[0]
        assert "they look like 'aaaaa 9'" in each.remarks[0]


@pytest.mark.slow
def test_a_mask_is_the_values_that_it_fits():
    raw = pl.DataFrame({"zip": ["02101", "02102", "02201", "12345"], "ill": ["a", "b", "a", "b"]})
    release = raw.with_columns(zip=pl.Series(["021**", "021**", "0**01", "*"]))
    schema = ic.Schema(["zip"], sensitive=["ill"])
    evaluation = ic.evaluate(raw, release, schema)
    assert evaluation.summarized == {"zip": 0}
    # Two of four values, the same, two again, and the suppressed record.
    assert evaluation.utility["loss"].value == pytest.approx((1 / 3 + 1 / 3 + 1 / 3 + 1) / 4)
    assert len(ic.attack(raw, release, schema, secret="ill")) > 1
