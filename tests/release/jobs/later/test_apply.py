"""apply_recoding(): the same decisions for other rows, and nothing that does not satisfy the policy."""

from __future__ import annotations

import contextlib
import json
import random
from dataclasses import replace
from functools import partial

import polars as pl
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import incrowd as ic
from engine_tables import MAKERS
from examples import examples
from incrowd.core.reading.cells import read_span
from incrowd.release.policy.policy import Policy
from incrowd.samples import hospital

allowing = partial(ic.apply_recoding, max_suppression=1.0)

TREE = ic.Hierarchy.from_nested({"*": {"A": ["a1", "a2"], "B": ["b1", "b2"]}})


@st.composite
def tables(draw, least=4):
    rows = draw(st.integers(least, 40))
    column = lambda values: draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows))  # noqa: E731
    return pl.DataFrame(
        {
            "n": column([0.0, 1.0, 2.5, 7.0, 20.0]),
            "t": column(["a1", "a2", "b1", "b2"]),
            "s": column(["x", "y", "z"]),
            "more": pl.Series(range(rows)),
        }
    )


def policy(algorithm, k, models=(), most=1.0, **settings):
    schema = ic.Schema(quasi={"n": None, "t": TREE}, sensitive=["s"], unlisted="keep")
    # Suppressed rows stay, so that each row says what became of it.
    return Policy(schema, (ic.KAnonymity(k), *models), algorithm, most, suppressed="keep", **settings)


def covers(cell: str, value: object, name: str) -> bool:
    if cell == "*":
        return True
    if name == "t":
        return cell == value or (
            cell in {"A": ("a1", "a2"), "B": ("b1", "b2")}
            and value in {"A": ("a1", "a2"), "B": ("b1", "b2")}[cell]
        )
    ends = read_span(cell, "number")
    return float(cell) == value if ends is None else ends[0] <= value <= ends[1]


def applied_or_nothing(*arguments, **settings):
    """The result, or None where every row would be suppressed."""
    result = []
    with contextlib.suppress(ic.InfeasibleError):
        result.append(allowing(*arguments, **settings))
    if not result:
        with pytest.raises(ic.InfeasibleError, match="every row would be suppressed"):
            allowing(*arguments, **settings)
    return result[0] if result else None


ALGORITHMS = [
    ic.Mondrian(),
    ic.Datafly(),
    ic.Optimal(),
    ic.Clustering(),
    ic.TopDownSpecialization(target="s"),
    ic.Optimal(recode_suppressed=True),
]


@pytest.mark.slow
@given(tables(), st.sampled_from(ALGORITHMS), st.integers(1, 4))
def test_the_same_rows_get_the_same_cells(table, algorithm, k):
    rules = policy(algorithm, k)
    try:
        release = ic.anonymize(table, rules)
    except ic.InfeasibleError:
        reject()
    applied = applied_or_nothing(release.recoding, table, rules)
    if applied is None:
        return
    assert applied.outside == 0
    if algorithm.full_domain:
        assert applied.table.equals(release.table)
        assert applied.too_small == 0
    for name in ("n", "t"):
        for cell, value in zip(applied.table[name], table[name], strict=True):
            assert covers(cell, value, name)


@pytest.mark.slow
@given(tables(), tables(least=1), st.sampled_from(ALGORITHMS), st.integers(1, 3), st.booleans())
def test_other_rows_satisfy_the_policy_or_are_suppressed(table, batch, algorithm, k, beside):
    rules = policy(algorithm, k, [ic.LDiversity(2)] if k > 1 else [])
    try:
        release = ic.anonymize(table, rules)
    except (ic.InfeasibleError, ic.ParameterError):
        reject()
    applied = applied_or_nothing(
        release.recoding, batch, rules, previous_release=release.table if beside else None
    )
    if applied is None:
        return
    assert applied.records == batch.height
    assert applied.table.columns == release.table.columns
    assert applied.table["s"].equals(batch["s"])
    assert applied.table["more"].equals(batch["more"])
    gone = [set(cells) == {"*"} for cells in applied.table.select("n", "t").rows()]
    assert applied.suppressed == sum(gone)
    assert ic.assess(applied.table, rules.schema, rules.models).holds
    if beside:
        both = pl.concat([release.table, applied.table])
        assert ic.assess(both, rules.schema, rules.models).holds
    for name in ("n", "t"):
        for cell, value in zip(applied.table[name], batch[name], strict=True):
            assert covers(cell, value, name)


def test_what_is_outside_and_what_is_too_small(tmp_path):
    table = pl.DataFrame(
        {"n": [1.0, 2, 3, 10, 11, 12], "t": ["a1", "a1", "a2", "b1", "b2", "b1"], "s": list("xyzxyz")}
    )
    rules = policy(ic.Mondrian(), 3, ends="exact")
    release = ic.anonymize(table, rules)
    assert release.table["n"].to_list() == ["[1-3]"] * 3 + ["[10-12]"] * 3
    release.recoding.save(tmp_path / "recoding")
    batch = pl.DataFrame(
        {
            # Between known values, beyond them, in the gap of two classes, an unknown value, and three in a class.
            "n": [1.5, 99.0, 5.0, 1.0, 10.5, 11.5, 12.0],
            "t": ["a1", "a1", "a1", "zz", "b2", "b1", "b1"],
            "s": list("xxxxxyz"),
        }
    )
    applied = allowing(tmp_path / "recoding", batch, rules)
    assert applied.table["n"].to_list() == ["*"] * 4 + ["[10-12]"] * 3
    assert applied.table["t"].to_list() == ["*"] * 4 + ["B"] * 3
    assert (applied.outside, applied.too_small, applied.suppressed) == (3, 1, 4)
    # Which file a row is in is known: beside yesterday's release, the single row still goes.
    alone = allowing(tmp_path / "recoding", batch, rules, previous_release=release.table)
    assert (alone.outside, alone.too_small) == (3, 1)
    # If both are merged before anybody sees them, it is one of four.
    both = allowing(
        tmp_path / "recoding", batch, rules, previous_release=release.table, published_as_one=True
    )
    assert both.table["n"].to_list() == ["[1-3]", "*", "*", "*"] + ["[10-12]"] * 3
    assert (both.outside, both.too_small) == (3, 0)
    assert json.loads(json.dumps(both.to_dict()))["suppressed"] == 3
    strict = policy(ic.Mondrian(), 3, most=0.1)
    with pytest.raises(
        ic.InfeasibleError, match=r"4 of 7 rows would be suppressed \(3 are covered by no cell, 1 in"
    ):
        ic.apply_recoding(release.recoding, batch, strict)


def test_rows_suppressed_before_and_other_kinds_of_frame():
    table = pl.DataFrame({"n": [1.0] * 4, "t": ["a1"] * 4, "s": list("xyxy")})
    rules = policy(ic.Datafly(), 2)
    release = ic.anonymize(table, rules)
    batch = pl.DataFrame({"n": ["1", "1", "*"], "t": ["a1", "a1", "*"], "s": list("xyx")})
    for frame in (batch, batch.to_pandas(), batch.to_arrow()):
        applied = ic.apply_recoding(release.recoding, frame, rules)
        assert type(applied.table) is type(frame)
        assert pl.DataFrame(applied.table)["t"].to_list()[2] == "*"
        assert (applied.outside, applied.suppressed) == (0, 1)


def test_wrong_calls(tmp_path):
    table = pl.DataFrame({"n": [1.0] * 4, "t": ["a1"] * 4, "s": list("xyxy")})
    rules = policy(ic.Mondrian(), 2)
    release = ic.anonymize(table, rules)
    other = Policy(ic.Schema(quasi=["n"], sensitive=["s"], unlisted="drop"), rules.models, ic.Mondrian(), 1.0)
    with pytest.raises(ic.ParameterError, match="the recoding is one of 'n', 't', and"):
        ic.apply_recoding(release.recoding, table, other)
    with pytest.raises(ic.TableError, match="no readable recoding"):
        ic.apply_recoding(tmp_path, table, rules)
    people = Policy(rules.schema, (ic.KMap(1),), ic.Datafly(), 1.0)
    with pytest.raises(ic.ParameterError, match="k-map needs a population"):
        ic.apply_recoding(release.recoding, table, people)
    # The earlier release does not satisfy the policy itself.
    with pytest.raises(ic.InfeasibleError, match=r"nothing was released|every row would be"):
        ic.apply_recoding(
            release.recoding,
            table,
            rules,
            previous_release=table.with_columns(n=pl.Series(["1", "2", "3", "4"])),
        )


@pytest.mark.slow
@given(tables(), tables(least=1), st.sampled_from(ALGORITHMS), st.integers(1, 3), st.booleans())
def test_rows_that_stream_get_the_same(table, batch, algorithm, k, beside):
    rules = policy(algorithm, k)
    try:
        release = ic.anonymize(table, rules)
    except (ic.InfeasibleError, ic.ParameterError):
        reject()
    earlier = release.table if beside else None
    one = applied_or_nothing(release.recoding, batch, rules, previous_release=earlier)
    other = applied_or_nothing(
        release.recoding, batch.lazy(), rules, previous_release=None if earlier is None else earlier.lazy()
    )
    if one is None:
        assert other is None
        return
    assert other.table.collect().equals(one.table)
    assert (one.outside, one.too_small, one.suppressed) == (other.outside, other.too_small, other.suppressed)
    assert (one.privacy, one.together) == (other.privacy, other.together)
    with pytest.raises(ic.TableError, match="not in memory, so they have no numbers"):
        other.rows()


@pytest.mark.slow
@given(tables(), tables(least=1), st.integers(1, 3))
def test_rows_say_why(table, batch, k):
    rules = policy(ic.Mondrian(), k)
    try:
        release = ic.anonymize(table, rules)
    except ic.InfeasibleError:  # all records are suppressed, so there is no class
        return
    applied = applied_or_nothing(release.recoding, batch, rules)
    if applied is None:
        return
    rows = applied.rows()
    stars = [
        number for number, cells in enumerate(applied.table.select("n", "t").rows(), 1) if set(cells) == {"*"}
    ]
    assert rows["row"].to_list() == stars
    counted = dict(rows["reason"].value_counts().rows())
    assert counted.get("outside", 0) == applied.outside
    assert counted.get("class", 0) + counted.get("rest", 0) == applied.too_small


def test_several_sensitive_attributes_of_both_tables_at_once():
    """Joint models count combinations, and values may be written in two ways."""
    schema = ic.Schema(quasi=["q"], sensitive={"a": None, "b": None})
    policy = Policy(
        schema,
        (ic.KAnonymity(2), ic.LDiversity(1, attribute="a", joint=True)),
        ic.Datafly(),
        1.0,
        suppressed="keep",
    )
    early = pl.DataFrame({"q": ["x"] * 4, "a": [1, 1, 2, 3], "b": ["u", "v", "u", "v"]})
    release = ic.anonymize(early, policy)
    batch = pl.DataFrame({"q": ["x", "x", "y"], "a": ["1.0", "9", "1"], "b": ["u", "w", "u"]})
    applied = ic.apply_recoding(
        release.recoding, batch, policy, previous_release=release.table, published_as_one=True
    )
    assert applied.table["q"].to_list() == ["x", "x", "*"]
    both = pl.concat([release.table.cast(pl.String), applied.table])
    again = ic.assess(both.with_columns(pl.col("a").cast(pl.Float64)), schema, policy.models)
    assert applied.privacy.to_dict(cells=False) == again.to_dict(cells=False)


def test_rounds_take_the_first_that_had_a_class():
    table = pl.DataFrame({"n": [1.0, 1, 2, 9], "t": ["a1", "a1", "a1", "b1"], "s": list("xyxy")})
    rules = policy(ic.Optimal(recode_suppressed=True), 2)
    release = ic.anonymize(table, rules)
    applied = ic.apply_recoding(release.recoding, table, rules)
    assert applied.table.equals(release.table)


def test_what_is_written_is_judged(tmp_path, monkeypatch):
    table = pl.DataFrame({"n": [1.0] * 4, "t": ["a1"] * 4, "s": list("xyxy")})
    rules = policy(ic.Datafly(), 2)
    release = ic.anonymize(table, rules)
    applied = ic.apply_recoding(release.recoding, table, rules)
    applied.write(tmp_path / "out.csv")
    assert (
        pl.read_csv(tmp_path / "out.csv", infer_schema=False)["t"].to_list() == release.table["t"].to_list()
    )
    with pytest.raises(ic.TableError, match="exists already"):
        applied.write(tmp_path / "out.csv")
    monkeypatch.setattr(
        "incrowd.core.io.files.write_table", lambda frame, path, *_: frame.head(1).write_csv(path)
    )
    with pytest.raises(ic.InfeasibleError, match="nothing was released"):
        applied.write(tmp_path / "other.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


@pytest.mark.slow
@pytest.mark.parametrize("engine", sorted(set(MAKERS) - {"RecodedTable"}))
def test_batches_anywhere_get_the_same(engine, tmp_path):
    rows = hospital(400, 5).select("age", "sex", "diagnosis").with_row_index("id").cast({"id": pl.Int64})
    schema = ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(10, 20), "sex": None}, sensitive=["diagnosis"], unlisted="keep"
    )
    policy = Policy(schema, (ic.KAnonymity(4), ic.LDiversity(2)), ic.Mondrian(), 1.0, suppressed="keep")
    release = ic.anonymize(rows[:250], policy)
    batch = rows[250:]
    expected = ic.apply_recoding(release.recoding, batch, policy, previous_release=release.table)
    result = ic.apply_recoding(
        release.recoding, MAKERS[engine](batch, tmp_path), policy, previous_release=release.table
    )
    assert (result.outside, result.too_small) == (expected.outside, expected.too_small)
    table = result.table
    if engine == "FilesEngine":
        table = table.frame
    if engine == "SparkEngine":
        table = table.toArrow()
    if engine == "SqlEngine":
        table = table.to_arrow_table()
    table = table.collect() if isinstance(table, pl.LazyFrame) else pl.DataFrame(table)
    assert table.sort("id").equals(expected.table.sort("id"))


LEAVES = {"A": ["a1", "a2"], "B": ["b1", "b2"]}
BIG = 2**53


def parts(text: str) -> list[str]:
    """Split the inside of a set, by hand."""
    result, escaped = [""], False
    for mark in text:
        if escaped or mark not in "\\,":
            result[-1] += mark
            escaped = False
        elif mark == "\\":
            escaped = True
        else:
            result.append("")
    return [result[0], *(part[1:] for part in result[1:])]


def says(cell: str | None, value: object) -> bool:
    """Say whether a cell covers a value, in the reading of somebody with the cell alone."""
    if cell in ("*", value):
        return True
    if cell is None:
        return False
    if cell.startswith("{") and cell.endswith("}"):
        return ("<missing>" if value is None else str(value)) in parts(cell[1:-1])
    if isinstance(value, str):
        return value in LEAVES.get(cell, [])
    ends = read_span(cell, "number")
    if value is not None and ends is not None:
        return ends[0] <= value <= ends[1]
    return value is not None and cell == str(value)


@st.composite
def mixed(draw, numbers, least=4):
    rows = draw(st.integers(least, 25))
    column = lambda values: draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows))  # noqa: E731
    return pl.DataFrame(
        {
            "n": pl.Series(column(numbers), dtype=pl.Int64),
            "t": pl.Series(column(["a1", "a2", "b1", "b2", None]), dtype=pl.String),
            "c": pl.Series(column(["", "x", "y, z", "{w}", None]), dtype=pl.String),
            "s": column(["x", "y", "z"]),
        }
    )


STYLES = ["auto", "ancestor", "range", "set", "mean", "suppress"]
KINDS = [
    *ALGORITHMS,
    ic.Mondrian(mode="relaxed", categories="ordered"),
    ic.CellSuppression(),
    ic.KMember(),
    ic.MDAV(),
]
NUMBERS = [[1, 2, 5, 9, None], [BIG, BIG + 1, BIG + 2, BIG + 4, None]]


@pytest.mark.slow
@examples(30)
@given(st.data(), st.sampled_from(STYLES), st.sampled_from(KINDS), st.sampled_from(NUMBERS))
def test_every_cell_covers_its_row_as_it_is_written(data, style, algorithm, numbers):
    table = data.draw(mixed(numbers))
    first = numbers[0]
    batch = data.draw(mixed([*range(first - 1, first + 10), None], least=1))
    if data.draw(st.booleans()):
        batch = batch.with_columns(c=pl.lit("new"))
    schema = ic.Schema(quasi={"n": None, "t": TREE, "c": None}, sensitive=["s"])
    policy = Policy(schema, (ic.KAnonymity(2),), algorithm, 1.0, style, suppressed="keep")
    try:
        release = ic.anonymize(table, policy)
    except (ic.InfeasibleError, ic.ParameterError):
        reject()
    assert "\0" not in release.table.write_csv()
    assert "\\u0000" not in json.dumps(release.to_dict())
    for rows in (batch, table):
        try:
            applied = ic.apply_recoding(release.recoding, rows, policy)
        except ic.InfeasibleError:
            continue
        for name in ("n", "t", "c"):
            # Means come back as numbers, which read as their texts.
            cells = [
                str(cell).removesuffix(".0") if isinstance(cell, float) else cell
                for cell in applied.table[name]
            ]
            assert not any("\0" in (cell or "") for cell in cells)
            assert all(says(cell, value) for cell, value in zip(cells, rows[name].to_list(), strict=True))


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("values", "style", "fresh", "expected"),
    [
        ([1, 5], "set", [1, 3, 5], ["{1, 5}", "*", "{1, 5}"]),
        (["a", "c"], "set", ["a", "b", "c"], ["{a, c}", "*", "{a, c}"]),
        ([None, "a"], "set", ["", None, "a"], ["*", "{a, <missing>}", "{a, <missing>}"]),
        ([1, 4], "mean", [1, 2, 3], ["*", "*", "*"]),
        ([1, 5], "range", [0, 1, 3, 5, 6], ["*", "[1-5]", "[1-5]", "[1-5]", "*"]),
        ([BIG, BIG + 2], "range", [BIG - 1, BIG + 1, BIG + 3], ["*", f"[{BIG}-{BIG + 2}]", "*"]),
        ([1, None], "range", [1, None], ["*", "*"]),
    ],
)
def test_a_cell_is_given_to_what_it_covers(values, style, fresh, expected):
    def frame(column):
        others = [each for each in "op" for _ in range(2 * len(column))]
        return pl.DataFrame({"q": column * 4, "other": others}, strict=False)

    # The cut is by the other column, so that each class has all values.
    policy = Policy(
        ic.Schema.of_attributes([ic.Attribute("q", "quasi", weight=0.01), ic.Attribute("other", "quasi")]),
        (ic.KAnonymity(2),),
        ic.Mondrian(),
        1.0,
        style,
        ends="exact",
        suppressed="keep",
    )
    release = ic.anonymize(frame(values), replace(policy, models=(ic.KAnonymity(4),)))
    if set(expected) == {"*"} and style == "mean":
        with pytest.raises(
            ic.InfeasibleError, match=r"every row would be suppressed \(12 are covered by no cell"
        ):
            allowing(release.recoding, frame(fresh), policy)
        return
    applied = allowing(release.recoding, frame(fresh), policy)
    assert applied.table["q"].to_list() == expected * 4


@pytest.mark.parametrize(
    ("tree", "algorithm", "expected"),
    [
        (None, ic.Mondrian(), ["0", "0"]),
        (ic.Hierarchy.intervals(5, 10), ic.Incognito(), ["-0", "0"]),
        (ic.Hierarchy.from_nested({"*": {"A": ["0"], "B": ["-0"]}}), ic.Optimal(), ["B", "A"]),
    ],
)
def test_ways_to_write_a_number_are_one_value_unless_a_hierarchy_has_them_apart(tree, algorithm, expected):
    raw = pl.DataFrame({"n": ["0", "0"]})
    levels = (1, None) if expected[0] == "B" else None
    schema = ic.Schema.of_attributes([ic.Attribute("n", "quasi", hierarchy=tree, levels=levels)])
    policy = Policy(schema, (ic.KAnonymity(1),), algorithm, 1.0, suppressed="keep")
    recoding = ic.anonymize(raw, policy).recoding
    applied = ic.apply_recoding(recoding, pl.DataFrame({"n": ["-0", "0"]}), policy)
    assert applied.table["n"].to_list() == expected


def test_a_missing_value_shows_no_mark_of_ours():
    table = pl.DataFrame({"t": ["a1", "a1", None, None], "n": [1, 1, 2, 2]})
    policy = Policy(ic.Schema(quasi={"t": TREE, "n": None}), (ic.KAnonymity(2),), ic.Optimal())
    release = ic.anonymize(table, policy)
    assert release.recoding.levels == (0, 0)
    assert ic.apply_recoding(release.recoding, table, policy).table["t"].to_list() == ["a1", "a1", None, None]


def test_a_batch_is_judged_by_its_people(tmp_path):
    from people_readings import Reading, people_table

    schema = ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(2, 4, 8, 16), "town": None},
        sensitive=["ill"],
        person="person",
        unlisted="drop",
    )
    policy = ic.Policy(schema, (ic.KAnonymity(4),), ic.Optimal(), max_suppression=0.6, suppressed="keep")
    release = ic.anonymize(people_table(1, people=90), policy)
    batch = people_table(2, people=70)
    applied = ic.apply_recoding(release.recoding, batch, replace(policy, keep_order=True), force=True)
    assert "person" not in applied.table.columns
    cells = [applied.table[name].to_list() for name in ("age", "town")]
    reading = Reading(batch["person"].to_list(), cells, {"ill": batch["ill"].to_list()})
    assert reading.k() == applied.privacy.people.smallest >= 4
    # Counted by rows, more rows of the same batch would do.
    rows = without_people(schema)
    by_rows = ic.apply_recoding(release.recoding, batch, replace(policy, schema=rows))
    assert by_rows.suppressed < applied.suppressed
    applied.write(tmp_path / "batch.csv")
    with pytest.raises(ic.ParameterError, match=r"name its raw table \(previous_table=\) and its row map"):
        ic.apply_recoding(release.recoding, batch, policy, previous_release=release.table)


def without_people(schema):
    attributes = [attribute for attribute in schema.attributes if attribute.role != "person"]
    return ic.Schema.of_attributes(attributes, unlisted="drop")


@pytest.mark.parametrize("algorithm", [ic.Mondrian(), ic.Clustering()])
def test_known_rows_get_the_class_that_they_had_where_rounded_ranges_overlap(algorithm):
    draw = random.Random(5)
    table = pl.DataFrame(
        {
            "age": [draw.randint(18, 90) for _ in range(200)],
            "pay": [draw.randint(900, 5000) for _ in range(200)],
        }
    )
    schema = ic.Schema(quasi={"age": None, "pay": None})
    settings = Policy(schema, (ic.KAnonymity(4),), algorithm, 1.0, keep_order=True)
    release = ic.anonymize(table, settings, unanswered="write")
    again = allowing(release.recoding, table, settings, unanswered="write")
    assert again.table.equals(release.table)
    # New rows beside them change nothing, and get a class that satisfies the limits, always the same one.
    new = pl.DataFrame({"age": [draw.randint(18, 90) for _ in range(90)], "pay": [2500] * 90})
    both = [allowing(release.recoding, pl.concat([table, new]), settings, unanswered="write") for _ in "ab"]
    assert both[0].table.equals(both[1].table)
    assert both[0].table.head(200).equals(release.table)
    assert min(both[0].table.group_by("age", "pay").len()["len"]) >= 4
