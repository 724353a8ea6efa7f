"""Every suppressed record has a single reason, on each engine and for each algorithm."""

from __future__ import annotations

import json
import stat

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from database_tables import holding
from examples import examples
from incrowd.release.jobs.make.reasons import Reason

SCHEMA = ic.Schema(["side"], ["ill"])


def sides(*others: tuple[str, str]) -> pl.DataFrame:
    """Three classes of eight people with three illnesses, and others."""
    rows = [(side, "abc"[n % 3]) for side in "LRB" for n in range(8)]
    return pl.DataFrame([*rows, *others], ["side", "ill"], orient="row")


def released(table: object, *models: str, **settings: object) -> ic.Release:
    options = {"algorithm": "optimal", "max_suppression": 0.8, **settings}
    return ic.anonymize(table, SCHEMA, models or "k-anonymity:3", unanswered="write", **options)


def counted(release: ic.Release) -> dict[str, int]:
    """Return the counts of the account, after a comparison with the rows."""
    reasons = release.to_dict()["suppression"]["reasons"]
    rows = release.suppressed_rows()
    assert dict(rows["reason"].value_counts().rows()) == reasons
    assert sum(reasons.values()) == release.suppression.records
    assert rows["row"].is_sorted()
    return reasons


def test_no_record_no_reason(tmp_path):
    release = released(sides())
    assert counted(release) == {}
    release.save(tmp_path / "out")
    assert not (tmp_path / "out" / "internal" / "suppressed.csv").exists()


def test_a_record_that_came_in_suppressed_and_one_of_a_small_class(tmp_path):
    release = released(sides(("*", "a"), ("P", "b"), ("Q", "c")))
    assert counted(release) == {"input": 1, "class": 2}
    assert release.suppressed_rows().rows() == [(25, "input"), (26, "class"), (27, "class")]
    release.save(tmp_path / "out")
    place = tmp_path / "out" / "internal" / "suppressed.csv"
    assert place.read_text() == "row,reason\n25,input\n26,class\n27,class\n"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    account = json.loads((tmp_path / "out" / "release.json").read_text())
    assert account["suppression"]["reasons"] == {"input": 1, "class": 2}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"algorithm": "optimal", "levels": {"side": 1}}, "stars"),
        ({"algorithm": "agglomerative", "output": "suppress"}, "stars"),
        # Levels may stay, since this suppresses less.
        ({"algorithm": "optimal"}, "class"),
        # No set of cells helps these records.
        ({"algorithm": "cell-suppression"}, "class"),
    ],
)
def test_stars_that_a_search_writes(settings, reason):
    """The sides P and Q have only the root above."""
    tree = ic.Hierarchy.from_paths([*((side, "known", "*") for side in "LRB"), ("P", "*"), ("Q", "*")])
    table = sides(*(("PQ"[n % 2], "abc"[n % 3]) for n in range(4)))
    release = ic.anonymize(
        table, ic.Schema({"side": tree}, ["ill"]), "k-anonymity:3", max_suppression=0.8, suppressed="keep",
        unanswered="write", **settings,
    )  # fmt: skip
    assert counted(release) == {reason: 4}


def test_a_class_that_fails_once_others_are_left_out():
    """Side B is as far from all as possible, and farther from the records without P and Q."""
    counts = {"A": (5, 6), "B": (2, 8), "C": (8, 8), "P": (0, 1), "Q": (0, 1)}
    rows = [(side, "xy"[ill]) for side, each in counts.items() for ill in (0, 1) for _ in range(each[ill])]
    table = pl.DataFrame(rows, ["side", "ill"], orient="row")
    assert counted(released(table, "k-anonymity:5", "t-closeness:0.2")) == {"class": 2, "rest": 10}


def test_a_class_whose_perturbed_values_fail():
    schema = ic.Schema(["side"], ["ill"], treatments={"ill": "pram:1,matrix=given,moves=b>a:1"})
    table = sides().with_columns(ill=pl.Series([*"ac" * 8, *"ab" * 4]))
    release = ic.anonymize(
        table, schema, ["k-anonymity:3", "l-diversity:2"], "optimal", max_suppression=0.8, unanswered="write"
    )
    assert counted(release) == {"values": 8}


def test_a_record_of_a_batch_that_no_cell_covers():
    tree = ic.Hierarchy.from_paths([(side, "*") for side in "LRB"])
    release = ic.anonymize(sides(), ic.Schema({"side": tree}, ["ill"]), "k-anonymity:3", "optimal")
    batch = sides(("*", "a"), ("P", "a"), ("L", "b")).slice(8)
    applied = ic.apply_recoding(
        release.recoding, batch, release.policy, max_suppression=0.9, unanswered="write"
    )
    assert applied.rows().rows() == [(17, "input"), (18, "outside"), (19, "class")]
    assert applied.to_dict()["suppression"]["reasons"] == {"input": 1, "outside": 1, "class": 1}


CELLS = st.tuples(
    st.sampled_from(["*", "p", "q", "r"]), st.sampled_from(["*", "m", "w"]), st.sampled_from("ab")
)
ALGORITHMS = ["optimal", "optimal:recode_suppressed=true", "mondrian", "cell-suppression", "datafly", "mdav"]


@pytest.mark.slow
@examples(40)
@given(
    st.lists(CELLS, min_size=4, max_size=20),
    st.sampled_from(ALGORITHMS),
    st.sampled_from(["judged", "drop", "keep"]),
    st.sampled_from(["k-anonymity:2", "l-diversity:2"]),
)
def test_reasons_are_as_many_as_suppressed_records(rows, algorithm, suppressed, model):
    table = pl.DataFrame(rows, ["town", "sex", "ill"], orient="row")
    policy = ic.Policy(
        ic.Schema(["town", "sex"], ["ill"]), (model,), algorithm, max_suppression=0.9, suppressed=suppressed
    )  # fmt: skip
    try:
        release = ic.anonymize(table, policy, unanswered="write")
    except (ic.InfeasibleError, ic.InputError):
        return
    counted(release)
    rows = release.suppressed_rows()
    starred = table.with_row_index("row", 1).filter(pl.col("town") == "*", pl.col("sex") == "*")["row"]
    assert rows.filter(pl.col("reason") == "input")["row"].to_list() == starred.to_list()


@pytest.mark.few(1)
@pytest.mark.parametrize("algorithm", ["optimal", "mondrian"])
def test_every_engine_counts_the_same_reasons(tmp_path, algorithm):
    table = sides(("*", "a"), ("P", "b"), ("Q", "c")) if algorithm == "optimal" else sides(("*", "a"))
    expected = counted(released(table, algorithm=algorithm))
    folder = tmp_path / "in"
    folder.mkdir()
    table[:10].write_csv(folder / "0.csv")
    table[10:].write_csv(folder / "1.csv")
    table.write_csv(tmp_path / "one.csv")
    assert counted(released(tmp_path / "one.csv", algorithm=algorithm)) == expected
    with holding("duckdb", table, tmp_path) as held:
        for source in (held, folder):
            release = released(source, algorithm=algorithm)
            assert release.suppression.reasons == expected
            with pytest.raises(ic.TableError, match="not in memory"):
                release.suppressed_rows()
    release.save(tmp_path / "out")
    assert not (tmp_path / "out" / "internal" / "suppressed.csv").exists()


def test_a_table_in_blocks_has_no_counts(spark):
    release = ic.anonymize(
        spark.createDataFrame(sides(("*", "HIV")).to_arrow()), SCHEMA, "k-anonymity:3", max_suppression=0.3,
        blocks=2,
    )  # fmt: skip
    assert release.to_dict()["suppression"]["reasons"] is None


def test_reasons_have_names_and_sentences():
    assert [int(reason) for reason in Reason] == list(range(1, len(Reason) + 1))
    assert all(reason.sentence.endswith(".") for reason in Reason)
