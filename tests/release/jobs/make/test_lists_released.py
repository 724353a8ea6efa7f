"""Releases of tables with lists in the sensitive column: algorithms, several engines, people, accounts."""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction

import duckdb
import polars as pl
import pytest

import incrowd as ic
from database_tables import fill_duckdb
from incrowd.search import ALGORITHMS
from list_readings import fewest, parts
from test_contracts import example

CODES = ("F32", "E11", "I10", "J45", "K20", "M54")


def table(seed=0, rows=90):
    """A table in which many lists share a code, so that whole texts are diverse where parts are not."""
    draw = random.Random(seed)
    cells = [
        draw.choice(["; ", ";"]).join(draw.sample(CODES, draw.choice([0, 1, 1, 2, 3]))) for _ in range(rows)
    ]
    return pl.DataFrame(
        {
            "age": [draw.randrange(20, 60) for _ in range(rows)],
            "zip": [draw.choice(["12", "13", "24", "25"]) for _ in range(rows)],
            "dx": [f"F32;{cell}" if draw.random() < 0.3 else cell or None for cell in cells],
            "who": [str(draw.randrange(rows)) for _ in range(rows)],
        }
    )


def schema(separator=";", quasi=None, **settings):
    quasi = quasi or {"age": ic.Hierarchy.intervals(10, 20), "zip": ic.Hierarchy.prefix()}
    dx = ic.Attribute("dx", "sensitive", parts=separator)
    return ic.Schema(quasi, {"dx": dx}, unlisted="drop", **settings)


def classes_of(rows):
    """Return the lists of each class of released rows, without suppressed rows."""
    classes = defaultdict(list)
    for *cells, dx in rows.select(pl.exclude("dx"), "dx").iter_rows():
        if set(cells) != {"*"}:
            classes[tuple(cells)].append(dx)
    return list(classes.values())


def largest_share(cells):
    lists = [parts(cell) for cell in cells]
    return max(Fraction(sum(part in each for each in lists), len(lists)) for part in set().union(*lists))


def farthest(cells, everybody):
    whole = [parts(cell) for cell in everybody]
    mine = [parts(cell) for cell in cells]

    def share(part, lists):
        return Fraction(sum(part in each for each in lists), len(lists))

    return max(abs(share(part, mine) - share(part, whole)) for part in set().union(*whole))


MODELS = {
    "distinct": (ic.LDiversity(3), lambda cells, _: fewest(cells) >= 3),
    "entropy": (ic.LDiversity(1.8, "entropy"), lambda cells, _: largest_share(cells) * 9 <= 5),
    "recursive": (ic.LDiversity(2, "recursive", 3), lambda cells, _: largest_share(cells) * 2 <= 1),
    "t": (ic.TCloseness(0.45), lambda cells, everybody: farthest(cells, everybody) <= Fraction(45, 100)),
    "alpha": (ic.AlphaKAnonymity(0.6, 3), lambda cells, _: largest_share(cells) <= Fraction(6, 10)),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("algorithm", list(ALGORITHMS), ids=lambda entry: entry.name)
def test_every_algorithm_satisfies_the_definition(algorithm, model):
    asked, satisfies = MODELS[model]
    frame = table()
    result = example(algorithm)
    if "target" in algorithm.needed():
        result = algorithm.from_settings(result.settings() | {"target": "dx"})
    columns = schema(quasi={"age": None}) if algorithm is ic.Microaggregation else schema()
    # Some prove their result only under models that absorb, or where nothing is suppressed.
    proves = algorithm in (ic.Incognito, ic.OLA, ic.Flash) and not asked.monotone.absorbing
    release = ic.anonymize(
        frame, columns, [ic.KAnonymity(2), asked], algorithm=result, max_suppression=0 if proves else 0.9
    )
    classes = classes_of(release.table)
    assert classes
    assert all(satisfies(cells, frame["dx"].to_list()) for cells in classes)
    assert release.privacy.privacy[1].holds


def test_whole_texts_alone_would_not_do():
    """The tables above tell the two apart."""
    frame = table()
    release = ic.anonymize(frame, schema(None), [ic.KAnonymity(2), ic.LDiversity(3)], max_suppression=0.3)
    assert any(fewest(cells) < 3 for cells in classes_of(release.table))


@pytest.mark.parametrize("algorithm", [ic.Mondrian(), ic.Optimal()], ids=lambda each: each.name)
def test_people_share_what_any_of_their_rows_has(algorithm):
    frame = table(3, 120)
    roles = schema(person="who")
    limit = ic.AlphaKAnonymity(0.7, 2)
    release = ic.anonymize(
        frame, roles, [limit, ic.LDiversity(2)], algorithm=algorithm, max_suppression=0.3, keep_order=True
    )
    people = defaultdict(lambda: defaultdict(set))
    for row, who in zip(release.table.iter_rows(named=True), frame["who"], strict=True):
        if (row["age"], row["zip"]) != ("*", "*"):
            people[row["age"], row["zip"]][who] |= parts(row["dx"])
    assert people
    for members in people.values():
        held = list(members.values())
        worst = max(sum(part in each for each in held) for part in set().union(*held))
        assert Fraction(worst, len(held)) <= Fraction(7, 10)


@pytest.mark.slow
def test_every_engine_judges_alike(tmp_path):
    frame = table(5)
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    with duckdb.connect(str(tmp_path / "a.db")) as connection:
        fill_duckdb(connection, frame)
    models = [ic.KAnonymity(2), ic.LDiversity(2), ic.TCloseness(0.5), ic.AlphaKAnonymity(0.7, 2)]
    database = ic.Database(f"duckdb:///{tmp_path}/a.db")
    tables = {
        "frame": frame,
        "lazy": frame.lazy(),
        "csv": tmp_path / "a.csv",
        "parquet": tmp_path / "a.parquet",
        "database": database.table("people"),
    }
    for person in ((), "who"):
        figures = {}
        for name, each in tables.items():
            assessment = ic.assess(each, schema(person=person), models)
            figures[name] = [result.value for result in assessment.results.asked]
            figures[name] += [
                assessment.risk["attribute-disclosure"][what] for what in ("max", "homogeneous")
            ]
        for name, mine in figures.items():
            assert mine == pytest.approx(figures["frame"]), name


def test_a_released_file_is_judged_by_parts(tmp_path):
    table(6).write_csv(tmp_path / "a.csv")
    release = ic.anonymize(
        tmp_path / "a.csv", schema(), [ic.KAnonymity(2), ic.LDiversity(2)], max_suppression=0.3
    )
    release.save(tmp_path / "out")
    policy = ic.Policy.read(tmp_path / "out" / "policy.toml")
    assert policy.schema["dx"].parts == ";"
    rows = pl.read_csv(tmp_path / "out" / "release.csv", infer_schema=False)
    assert all(fewest(cells) >= 2 for cells in classes_of(rows))
    # The cells leave as they are.
    assert set(rows["dx"]) <= set(table(6)["dx"])
    checked = ic.verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml")
    assert checked.ok


def test_the_account_speaks_of_parts():
    frame = table(7)
    text = {}
    for separator in (None, ";"):
        release = ic.anonymize(frame, schema(separator), [ic.KAnonymity(3)], max_suppression=0.3)
        text[separator] = " ".join(release.sentences())
        said = {each.name: each for each in release.points}["unprotected-sensitive"].text
        assert ("share a part of it" in said) == (separator is not None)
    assert "in classes with a single value" in text[None]
    assert "in classes of which all share a part" in text[";"]
    assert "guessing the most frequent sensitive part" in text[";"]


def test_m_invariance_refuses_lists(tmp_path):
    policy = ic.Policy(schema(), (ic.KAnonymity(2),), ledger_m=2)
    with pytest.raises(ic.SchemaError, match="m-invariance compares cells whole"):
        ic.next_release(table(), policy, ledger=tmp_path / "ledger", keys=["who"])
