"""Suppressed records leave only if the suppressed class satisfies the models."""

from __future__ import annotations

import contextlib
import itertools
import json

import polars as pl
import pytest

import incrowd as ic
from database_tables import holding
from incrowd.release.jobs.make.suppressed_records import failing_models
from suppression_attack import fewest, trials

MODELS = ["k-anonymity:3", "l-diversity:2"]
SCHEMA = ic.Schema(["side"], ["ill"])
ALL = [each.name + ":target=ill" * ("target" in each.needed()) for each in ic.ALGORITHMS]


def sides(*others: tuple[str, str]) -> pl.DataFrame:
    """Three classes of eight people with three illnesses, and others."""
    rows = [(side, "abc"[n % 3]) for side in "LRB" for n in range(8)]
    return pl.DataFrame([*rows[:12], *others, *rows[12:]], ["side", "ill"], orient="row")


ONE = sides(("F", "HIV"))
ALIKE = sides(*((side, "HIV") for side in "PQSTU"))
MIXED = sides(*zip("PQSTU", ["HIV", "a", "b", "HIV", "c"], strict=True))


def released(table: object, models: object = MODELS, **settings: object) -> ic.Release:
    options = {"max_suppression": 0.3, **settings}
    return ic.anonymize(table, SCHEMA, models, "optimal", **options)


@pytest.mark.parametrize(
    ("table", "failing"), [(ONE, ("k-anonymity", "l-diversity")), (ALIKE, ("l-diversity",))]
)
def test_records_that_fail_as_a_class_are_left_out_and_counted(table, failing):
    others = len(table) - 24
    release = released(table)
    assert len(release.table) == 24
    assert "*" not in release.table["side"]
    assert "HIV" not in release.table["ill"]
    assert (release.left_out, release.suppression.records, release.suppression.failing) == (
        others,
        others,
        failing,
    )
    assert (release.privacy.records, release.privacy.suppressed) == (24, 0)
    assert f"{others} left out" in repr(release)
    assert release.to_dict()["left_out"] == release.document()["left_out"] == others
    said = " ".join(release.sentences())
    assert f"{others} suppressed record" in said
    assert f"would not satisfy {' and '.join(failing)}." in said


@pytest.mark.parametrize("how", ["judged", "keep"])
def test_records_that_satisfy_the_models_as_a_class_leave(how):
    release = released(MIXED, suppressed=how)
    assert (len(release.table), release.privacy.suppressed, release.left_out) == (29, 5, 0)
    assert release.suppression.failing == ()
    assert "The 5 suppressed records satisfy every model as a class of their own." in " ".join(
        release.sentences()
    )
    # One of five is more than one of eight.
    assert "found with a probability of 20%" in " ".join(release.sentences())


def test_dropped_records_are_left_out_whatever_they_satisfy():
    release = released(MIXED, suppressed="drop")
    assert (len(release.table), release.left_out, release.suppression.failing) == (24, 5, ())
    assert "5 suppressed records are left out, as the policy asks." in release.sentences()


def test_of_kept_records_nothing_is_promised():
    release = released(ONE, suppressed="keep")
    assert ("*", "HIV") in release.table.rows()
    assert release.suppression.exposed == 1
    said = " ".join(release.sentences())
    assert "Of the 1 suppressed record nothing is promised" in said
    assert "found with a probability of 100%" in said


def test_records_that_are_left_out_count_as_suppressed():
    with pytest.raises(ic.InfeasibleError, match="suppressed"):
        ic.anonymize(ALIKE, SCHEMA, MODELS, "optimal", max_suppression=5 / 30)
    assert released(ALIKE, max_suppression=5 / 29).left_out == 5


def test_a_setting_that_is_none_is_refused():
    with pytest.raises(ic.ParameterError, match="judged"):
        released(ONE, suppressed="maybe")


def test_a_class_that_fails_without_the_records_is_left_out_too():
    """Half of all have x, and more than half of the unsuppressed, so a class is too far from all."""
    rows = [("A", "x")] * 8 + [("A", "y")] * 2 + [("B", "x")] * 6 + [("B", "y")] * 4
    rows += [("C", "x"), ("D", "y"), ("E", "y"), ("F", "y"), ("G", "y"), ("H", "y")]
    table = pl.DataFrame(rows, ["side", "ill"], orient="row")
    for limit in (0.15, 0.2, 0.25, 0.3):
        models = ["k-anonymity:5", f"t-closeness:{limit}"]
        for how in ("judged", "drop"):
            release = released(table, models, suppressed=how, max_suppression=0.8)
            assert ic.assess(release.table, SCHEMA, models).holds
            assert len(table) == len(release.table) + release.left_out


def test_records_that_came_in_suppressed_are_left_out():
    table = sides(*[("*", "a"), ("*", "b"), ("*", "c"), ("*", "a")])
    release = released(table)
    assert (len(release.table), release.left_out, release.suppression.came) == (24, 4, 4)
    assert "came in suppressed" in " ".join(release.sentences())
    assert len(released(table, suppressed="keep").table) == 28


def test_an_attacker_needs_the_records_to_be_a_group_of_their_own():
    schema = ic.Schema(["side", "sex"], ["ill"])
    table = pl.concat([MIXED.with_columns(sex=pl.lit("m")), MIXED[:12].with_columns(sex=pl.lit("f"))])
    models = [ic.KAnonymity(2), ic.LDiversity(2), ic.Attacker("insurer", ["side"], ic.KAnonymity(6))]
    release = ic.anonymize(table, schema, models, "optimal", max_suppression=0.3)
    assert release.left_out == 5
    assert release.suppression.failing == ("the models of attacker 'insurer'",)


def test_people_count_and_not_records():
    """Five records of two people are no class of three."""
    people = pl.Series("who", [*range(12), 100, 100, 100, 101, 101, *range(12, 24)])
    schema = ic.Schema(["side"], ["ill"], person="who")
    release = ic.anonymize(MIXED.with_columns(people), schema, MODELS, "optimal", max_suppression=0.3)
    assert (release.left_out, release.suppression.failing, release.suppression.size) == (
        5,
        ("k-anonymity",),
        2,
    )
    assert release.privacy.people.people == 24
    assert ic.anonymize(MIXED, SCHEMA, MODELS, "optimal", max_suppression=0.3).left_out == 0


# --- engines ------------------------------------------------------------------------------------------


def rows_of(table: object) -> list[tuple[str, str]]:
    """Return the released rows, sorted."""
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    return sorted(pl.DataFrame(table).rows())


FRAMES = {
    "polars": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "arrow": lambda table: table.to_arrow(),
    "lazy": lambda table: table.lazy(),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("keep_order", [False, True])
@pytest.mark.random_order
def test_frames_have_the_same_rows(kind, keep_order):
    release = released(FRAMES[kind](ALIKE), keep_order=keep_order, force=True)
    assert rows_of(release.table) == rows_of(released(ALIKE).table)
    numbers = (release.row_map()["row"] - 1).to_list()
    assert len(numbers) == 24
    frame = release.table.collect() if kind == "lazy" else pl.DataFrame(release.table)
    assert ALIKE["ill"][numbers].to_list() == frame["ill"].to_list()
    assert numbers == sorted(numbers) or not keep_order


@pytest.mark.few(1)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.random_order
def test_files_have_the_same_rows(tmp_path, ending, many):
    """A folder of files streams, and a single file is read."""
    place = tmp_path / "in"
    place.mkdir()
    parts = [ALIKE[:10], ALIKE[10:]] if many else [ALIKE]
    for number, part in enumerate(parts):
        (part.write_csv if ending == "csv" else part.write_parquet)(place / f"{number}.{ending}")
    release = released(str(place if many else place / f"0.{ending}"))
    release.write(tmp_path / f"out.{ending}")
    written = (pl.read_csv if ending == "csv" else pl.read_parquet)(tmp_path / f"out.{ending}")
    assert rows_of(written) == rows_of(released(ALIKE).table)
    assert ALIKE["ill"][(release.row_map()["row"] - 1).to_list()].to_list() == written["ill"].to_list()
    release.save(tmp_path / "saved")
    account = json.loads((tmp_path / "saved" / "release.json").read_text())
    assert (account["left_out"], account["after"]["records"]) == (5, 24)
    assert 'suppressed = "judged"' in (tmp_path / "saved" / "policy.toml").read_text()
    assert len(pl.read_parquet(tmp_path / "saved" / "internal" / "rows.parquet")) == 24


@pytest.mark.slow
@pytest.mark.parametrize("where", ["sqlite", "duckdb"])
@pytest.mark.parametrize("algorithm", ["optimal", "mondrian"])
def test_tables_of_databases_have_the_same_rows(tmp_path, where, algorithm):
    """Full-domain recoding joins column by column, Mondrian key by key."""
    models = MODELS if algorithm == "optimal" else ["k-anonymity:3", "l-diversity:2", "t-closeness:0.2"]
    table = ALIKE if algorithm == "optimal" else sides(("*", "a"), ("*", "b"))
    with holding(where, table, tmp_path) as held:
        release = ic.anonymize(held, SCHEMA, models, algorithm, max_suppression=0.3)
        assert release.left_out == len(table) - 24
        release.write(tmp_path / "out.csv")
        release.into("out")
        with contextlib.closing(ic.Database(held.database.address)) as again:
            result = pl.concat(list(again.table("out").rows()))
    meant = ic.anonymize(table, SCHEMA, models, algorithm, max_suppression=0.3)
    assert rows_of(result) == rows_of(pl.read_csv(tmp_path / "out.csv")) == rows_of(meant.table)


def test_relations_have_the_same_rows():
    import duckdb

    frame = ALIKE.to_arrow()
    relation = duckdb.from_arrow(frame)
    assert rows_of(released(relation).table.pl()) == rows_of(released(ALIKE).table)


@pytest.mark.parametrize("algorithm", ["optimal", "mondrian"])
def test_rows_on_spark_are_the_same(spark, algorithm):
    table = ALIKE if algorithm == "optimal" else sides(("*", "a"), ("*", "b"))
    frame = spark.createDataFrame(table.to_arrow())
    release = ic.anonymize(frame, SCHEMA, MODELS, algorithm, max_suppression=0.3)
    meant = ic.anonymize(table, SCHEMA, MODELS, algorithm, max_suppression=0.3)
    assert rows_of(pl.from_arrow(release.table.toArrow())) == rows_of(meant.table)
    assert release.left_out == meant.left_out == len(table) - 24


def test_blocks_leave_out_records_that_came_in_suppressed(spark, tmp_path):
    table = sides(("*", "HIV"))
    frame = spark.createDataFrame(table.to_arrow())
    release = ic.anonymize(frame, SCHEMA, MODELS, max_suppression=0.3, blocks=2)
    assert (release.left_out, release.privacy.records) == (1, 24)
    assert "HIV" not in pl.from_arrow(release.table.toArrow())["ill"]
    release.write((tmp_path / "out").as_uri())
    with pytest.raises(ic.InfeasibleError, match="left out for that"):
        ic.anonymize(frame, SCHEMA, MODELS, max_suppression=0.01, blocks=2)
    assert ic.anonymize(frame, SCHEMA, MODELS, max_suppression=0.3, blocks=2, suppressed="keep").left_out == 0


# --- further jobs -------------------------------------------------------------------------------------


def test_a_batch_is_judged_likewise(tmp_path):
    release = released(sides())
    policy = release.policy
    batch = ic.apply_recoding(release.recoding, ONE, policy, max_suppression=0.2)
    assert (batch.left_out, batch.suppressed, len(batch.table)) == (1, 1, 24)
    assert "HIV" not in batch.table["ill"]
    assert "left out" in " ".join(batch.sentences())
    assert batch.to_dict()["left_out"] == 1
    batch.write(tmp_path / "batch.csv")
    assert len(pl.read_csv(tmp_path / "batch.csv")) == 24
    mixed = ic.apply_recoding(release.recoding, MIXED, policy, max_suppression=0.2)
    assert (mixed.left_out, mixed.suppressed, len(mixed.table)) == (0, 5, 29)


@pytest.mark.parametrize("as_one", [False, True])
@pytest.mark.parametrize("person", [False, True])
def test_a_batch_beside_an_earlier_release_is_judged_likewise(as_one, person):
    schema = ic.Schema(["side"], ["ill"], person="who") if person else SCHEMA
    first = sides().with_columns(who=pl.int_range(24)) if person else sides()
    second = ONE.with_columns(who=pl.int_range(20, 45)) if person else ONE
    release = ic.anonymize(first, schema, MODELS, "optimal", max_suppression=0.2)
    known = {"previous_table": first, "previous_row_map": release.row_map()} if person else {}
    batch = ic.apply_recoding(
        release.recoding,
        second,
        release.policy,
        previous_release=release.texts,
        published_as_one=as_one,
        **known,
    )
    assert (batch.left_out, len(batch.table)) == (1, 24)
    assert batch.together.records == 48


def test_a_ledger_knows_the_rows_that_leave(tmp_path):
    ledger = ic.Ledger.init(tmp_path / "ledger")
    table = ALIKE.with_columns(who=pl.int_range(pl.len()))
    schema = ic.Schema(["side"], ["ill"], identifying=["who"])
    release = ic.anonymize(table, schema, MODELS, "optimal", max_suppression=0.3)
    ledger.add(release, table, recipient="A", keys=["who"])
    [entry] = ledger.entries
    assert (entry["records"], entry["people"]) == (24, 24)


def test_losses_count_the_records_that_are_left_out():
    release = released(ALIKE)
    evaluation = ic.evaluate(ALIKE, release.texts, SCHEMA, row_map=release.row_map())
    assert (evaluation.records, evaluation.suppressed) == (29, 5)
    assert evaluation.utility["loss"].value == pytest.approx(release.utility["loss"].value)


@pytest.mark.parametrize("treatment", ["pram:0.7", "pram:1,matrix=given,moves=b>a:0.6"])
def test_perturbed_values_of_suppressed_records_are_judged_too(treatment):
    schema = ic.Schema(["side"], ["ill"], treatments={"ill": treatment})
    for table in (ONE, MIXED, ALIKE):
        release = ic.anonymize(table, schema, MODELS, "optimal", max_suppression=0.9)
        counts = release.table.group_by("side").agg(pl.len(), pl.col("ill").n_unique())
        assert counts["len"].min() >= 3
        assert counts["ill"].min() >= 2
        assert len(release.table) + release.left_out == len(table)


def test_a_copy_on_disk_keeps_the_figures():
    import pickle

    again = pickle.loads(pickle.dumps(released(ONE)))
    assert again.left_out == 1
    assert again.row_map()["row"].max() == 25


# --- policies -----------------------------------------------------------------------------------------


def test_the_judgement_names_the_models():
    release = released(ONE, suppressed="keep")
    models = release.policy.models
    assert failing_models(release.frequency, release.recoding, models) == ("k-anonymity", "l-diversity")
    assert failing_models(release.frequency, release.recoding, models[:0]) == ()


# --- the attack ---------------------------------------------------------------------------------------


def attacked(seed: int, many: int, **settings: object) -> tuple[int, int, int]:
    """Return the numbers of releases, of releases with records left out, and of releases that expose."""
    result = left_out = exposed = 0
    for trial in itertools.islice(trials(seed, ALL, **settings), many):
        try:
            release = ic.anonymize(trial.table, trial.policy)
        except ic.InputError:
            continue
        except ic.InfeasibleError:
            continue
        result += 1
        left_out += release.left_out > 0
        people, illnesses = fewest(trial, release)
        exposed += people < trial.people or illnesses < trial.values
    return result, left_out, exposed


@pytest.mark.slow
def test_nobody_falls_below_k_or_l():
    result, left_out, exposed = attacked(1, 40)
    assert result > 15
    assert left_out
    assert not exposed


@pytest.mark.slow
def test_nobody_falls_below_k_or_l_in_500_tables():
    result, left_out, exposed = attacked(2, 500)
    assert result > 200
    assert left_out > 20
    assert not exposed


@pytest.mark.slow
def test_the_attack_finds_people_where_suppressed_records_are_kept():
    assert attacked(3, 60, suppressed="keep")[2]


@pytest.mark.parametrize(
    "model",
    [
        lambda value: ic.AlphaKAnonymity(alpha=0.5, k=3, value=value),
        lambda value: ic.LKCPrivacy(L=1, K=3, C=0.5, value=value),
    ],
)
def test_a_value_to_protect_of_which_all_records_are_left_out_is_protected(model):
    release = released(ONE, [model("HIV")])
    assert release.left_out == 1
    assert "HIV" not in release.table["ill"]


@pytest.mark.parametrize("job", [ic.assess, ic.anonymize])
def test_a_value_to_protect_that_no_record_has_is_refused(job):
    typo = ic.AlphaKAnonymity(alpha=0.5, k=3, value="hiv")
    for model in (typo, ic.Attacker("x", ["side"], [typo]), ic.LKCPrivacy(L=1, K=3, C=0.5, value="hiv")):
        with pytest.raises(ic.ParameterError, match="none of the 4 values"):
            job(ONE, SCHEMA, [ic.KAnonymity(1), model])
