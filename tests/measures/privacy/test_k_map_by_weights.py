"""k-map and journalist risk where sampling weights estimate the population."""

from __future__ import annotations

import functools
import operator
from fractions import Fraction
from itertools import product

import polars as pl
import pytest

import incrowd as ic
from database_tables import holding
from incrowd.measures.privacy.k_map import k_map
from survey_readings import class_weights, survey_table

TABLE = survey_table(5, 200)
QUASI = {"age": ic.Hierarchy.intervals(2, 4, 8, 16), "town": None}
SCHEMA = ic.Schema(quasi=QUASI, weights="w", unlisted="drop")


def cells_of(table):
    return list(zip(*(table[name].to_list() for name in ("age", "town")), strict=True))


def weights_of(release, table=TABLE):
    """Sums of weights of the classes, suppressed rows left out."""
    result = class_weights(cells_of(release.table), table["w"].to_list())
    return {cell: people for cell, people in result.items() if set(cell) != {"*"}}


@pytest.mark.parametrize("seed", range(5))
def test_a_class_stands_for_the_sum_of_its_weights(seed):
    table = survey_table(seed)
    assessment = ic.assess(table, ic.Schema(quasi=["age", "town"], weights="w"), "k-map:2")
    people = class_weights(cells_of(table), table["w"].to_list())
    assert assessment.reached("k-map") == pytest.approx(float(min(people.values())), abs=1e-9)
    failing = {cell for cell, sum_ in people.items() if sum_ < 2}
    assert assessment.privacy[0].failing == (len(failing), sum(cell in failing for cell in cells_of(table)))
    sizes = {cell: cells_of(table).count(cell) for cell in people}
    risk = {cell: 1 / max(people[cell], Fraction(sizes[cell])) for cell in people}
    assert assessment.risk["journalist"]["max"] == pytest.approx(float(max(risk.values())))
    at_risk = sum(sizes[cell] for cell in people if risk[cell] > Fraction(1, 5))
    assert assessment.risk["journalist"]["at_risk"] == pytest.approx(at_risk / 60)
    expected = sum(float(risk[cell]) * sizes[cell] for cell in people) / 60
    assert assessment.risk["marketer"]["expected"] == pytest.approx(expected)


def test_tenths_add_up_exactly():
    """Fifty weights of 0.1 are five people, which sums of floats miss."""
    table = pl.DataFrame({"age": ["30"] * 50, "w": [0.1] * 50})
    # Python adds up floats better from 3.12 on.
    assert functools.reduce(operator.add, [0.1] * 50) < 5
    for rows in (table, table.lazy(), table.with_columns(pl.col("w").cast(pl.Float32))):
        assessment = ic.assess(rows, ic.Schema(quasi=["age"], weights="w"), "k-map:5")
        assert (assessment.reached("k-map"), assessment.holds) == (5.0, True)
    assert k_map(table, ["age"], weights="w") == 5


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "algorithm", ["mondrian", "optimal", "flash", "ola", "incognito", "samarati", "datafly", "k-member", "mdav", "oka"]
)  # fmt: skip
def test_searches_enforce_the_estimate(algorithm):
    settings = {"max_suppression": 0.05, "suppressed": "keep", "keep_order": True, "force": True}
    release = ic.anonymize(TABLE, SCHEMA, "k-map:9", algorithm, **settings)
    assert min(weights_of(release).values()) >= 9
    assert release.privacy.reached("k-map") == pytest.approx(float(min(weights_of(release).values())))
    # It is no k-anonymity in disguise: one row of weight 40 is enough.
    assert release.before.reached("k-map") < 9


@pytest.mark.slow
def test_optimal_finds_what_trying_every_node_finds():
    losses = {}
    # The last node has * everywhere, which is no release.
    for age, town in list(product(range(6), range(2)))[:-1]:
        release = ic.anonymize(
            TABLE, SCHEMA, "k-anonymity:1", levels={"age": age, "town": town}, keep_order=True, force=True,
        )  # fmt: skip
        if not weights_of(release) or min(weights_of(release).values()) >= 12:
            losses[age, town] = release.utility["loss"].value
    result = ic.anonymize(TABLE, SCHEMA, "k-map:12", "optimal")
    assert result.utility["loss"].value == pytest.approx(min(losses.values()))
    assert result.recoding.levels == min(losses, key=losses.get)
    assert min(losses) > (0, 0)


@pytest.mark.few(2)
@pytest.mark.parametrize("place", ["csv", "lazy", "sqlite", "duckdb"])
def test_every_engine_releases_the_same(place, tmp_path):
    expected = ic.anonymize(TABLE, SCHEMA, "k-map:9", "optimal", max_suppression=0.05, suppressed="keep")
    TABLE.write_csv(tmp_path / "t.csv")

    def check(rows):
        release = ic.anonymize(rows, SCHEMA, "k-map:9", "optimal", max_suppression=0.05, suppressed="keep")
        assert release.recoding.levels == expected.recoding.levels
        assert release.privacy.reached("k-map") == expected.privacy.reached("k-map")
        assert release.risk["journalist"] == pytest.approx(expected.risk["journalist"], abs=1e-12)

    if place in ("csv", "lazy"):
        check(ic.scan(tmp_path / "t.csv") if place == "csv" else TABLE.lazy())
    else:
        with holding(place, TABLE, None) as rows:
            check(rows)


@pytest.mark.slow
def test_every_output_says_that_it_is_an_estimate(tmp_path):
    release = ic.anonymize(TABLE, SCHEMA, "k-map:9", "optimal", max_suppression=0.05, suppressed="keep")
    figures = release.to_dict()["after"]
    assert figures["estimated"] == {"by": "w", "figures": ["k-map", "journalist", "marketer", "individual"]}
    assert figures["privacy"][0]["settings"] == {"population": "estimated by w"}
    said = " ".join(release.sentences())
    assert "asked was >= 9; the population is estimated by w, a column of sampling weights" in said
    assert "The sampling weights of w estimate the population." in said
    document = release.document()
    assert document["estimated"]["by"] == "w"
    assert document["models"][0]["settings"] == {"population": "estimated by w"}
    release.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "The sampling weights of w estimate the population." in page


def test_a_population_counts_in_place_of_the_estimate():
    people = pl.concat([TABLE.select("age", "town")] * 3)
    schema = ic.Schema(quasi=["age", "town"], weights="w", household="home")
    assessment = ic.assess(TABLE, schema, population=people)
    assert assessment.reached("k-map") == 3
    assert assessment.estimates.figures == ("individual", "household")
    assert assessment.privacy[[m.model for m in assessment.privacy].index("k-map")].settings == {}


def test_what_cannot_be_estimated_is_refused():
    with pytest.raises(ic.ParameterError, match=r"delta-presence compares the table with a population; give one with population=$"):  # fmt: skip
        ic.assess(TABLE, SCHEMA, "delta-presence:0.5")
    assert ic.assess(TABLE, SCHEMA).reached("delta-presence") is None
    plain = ic.Schema(quasi=["age"], unlisted="drop")
    with pytest.raises(ic.ParameterError, match=r"or the column of sampling weights \(Schema\(weights=\)\)"):
        ic.anonymize(TABLE, plain, "k-map:5")
    people = TABLE.select("age", "town")
    with pytest.raises(ic.ParameterError, match="mdav parts records that look alike"):
        ic.anonymize(TABLE, SCHEMA, "k-map:5", "mdav", population=people)
    with pytest.raises(
        ic.ParameterError, match=r"k=100000 is more than the \d+ people whom all rows stand for"
    ):
        ic.anonymize(TABLE, SCHEMA, "k-map:100000")


@pytest.mark.slow
def test_the_verifier_adds_up_the_weights_of_the_raw_table(tmp_path):
    """The verifier has separate code, and without the raw table the answer is not checked."""
    TABLE.write_csv(tmp_path / "t.csv")
    models = ["k-map:9", "k-anonymity:2"]
    result = ic.anonymize(
        tmp_path / "t.csv", SCHEMA, models, "optimal", max_suppression=0.1, suppressed="keep"
    )
    result.save(tmp_path / "out")
    saved = tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml"
    whole = {"against": tmp_path / "t.csv", "row_map": tmp_path / "out" / "internal" / "rows.parquet"}
    verification = ic.verify(*saved, **whole)
    assert verification.ok
    assert verification.findings[0].reached == result.privacy.reached("k-map")
    assert verification.findings[0].settings == {"population": "estimated by weights"}
    # It finds the row map in the folder by itself, and without it cannot know whose weights these are.
    assert ic.verify(*saved, against=tmp_path / "t.csv").ok
    alone = tmp_path / "alone.csv"
    alone.write_bytes(saved[0].read_bytes())
    for release, some in ((saved[0], {}), (alone, {"against": tmp_path / "t.csv"})):
        verification = ic.verify(release, saved[1], **some)
        assert [finding.holds for finding in verification.findings] == [None, True]
        assert verification.is_unchecked
        assert "the classes stand for by their sampling weights, an estimate" in " ".join(
            verification.unchecked
        )
    # Other weights, other people.
    TABLE.with_columns(w=pl.col("w") / 8).write_csv(tmp_path / "t.csv")
    verification = ic.verify(*saved, **whole)
    assert verification.findings[0].reached == pytest.approx(result.privacy.reached("k-map") / 8, abs=1e-5)
    assert (verification.findings[0].holds, verification.ok) == (False, False)
    TABLE.with_columns(w=pl.lit("none")).write_csv(tmp_path / "t.csv")
    verification = ic.verify(*saved, **whole)
    assert "200 rows of the raw table have no number above 0 in column 'w'" in " ".join(
        verification.unchecked
    )


def _saved(table, models, tmp_path, schema=SCHEMA, **settings):
    """Save a release of a CSV, and return the release with the arguments of verify."""
    table.write_csv(tmp_path / "t.csv")
    release = ic.anonymize(tmp_path / "t.csv", schema, models, **settings)
    release.save(tmp_path / "out")
    whole = {"against": tmp_path / "t.csv", "row_map": tmp_path / "out" / "internal" / "rows.parquet"}
    return release, (tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml"), whole


@pytest.mark.parametrize("wildcards", ["matches-any", "conservative"])
def test_the_verifier_adds_up_weights_by_what_cells_match(wildcards, tmp_path):
    rows = {
        "age": [30, 30, 30, None, None, 40, 40, 40],
        "town": ["a", "a", None, "a", None, "b", "b", None],
        "w": [0.25, 2.5, 4, 8, 0.5, 1.1, 2.2, 0.75],
    }
    table = pl.DataFrame(rows)
    schema = ic.Schema(quasi=["age", "town"], weights="w")
    release, saved, whole = _saved(table, ["k-map:1"], tmp_path, schema, wildcards="matches-any", max_suppression=1.0, suppressed="keep", algorithm="cell-suppression")  # fmt: skip
    assert release.table.null_count().sum_horizontal().item() > 0
    policy = saved[1]
    policy.write_text(policy.read_text().replace('"matches-any"', f'"{wildcards}"').replace("k = 1", "k = 3"))
    order = pl.read_parquet(whole["row_map"])["row"] - 1
    weights = [Fraction(str(weight)) for weight in table["w"][order].to_list()]
    cells = list(zip(*(pl.read_csv(saved[0], infer_schema=False)[name].to_list() for name in ("age", "town")), strict=True))  # fmt: skip

    def agree(one, other):
        same = (a == b or a in hidden or b in hidden for a, b in zip(one, other, strict=True))
        return all(same)

    hidden = (None, "*", "")
    rest = [cell for cell in cells if set(cell) != {"*"}]
    sums = []
    for cell in set(rest):
        if wildcards == "matches-any":
            alike = [each != ("*", "*") and agree(cell, each) for each in cells]
        else:
            alike = [each == cell for each in cells]
        people = sum(weight for weight, there in zip(weights, alike, strict=True) if there)
        alone = wildcards == "conservative" and any(part in hidden for part in cell)
        sums.append(min(people, 1) if alone else people)
    verification = ic.verify(*saved, **whole)
    assert verification.findings[0].reached == float(min(sums))
    assert verification.findings[0].holds == (min(sums) >= 3)
    assert "sampling weights" not in " ".join(verification.unchecked)
    measured = ic.assess(
        release.table.with_columns(w=table["w"][order]), schema, "k-map:1", wildcards=wildcards
    )
    assert measured.reached("k-map") == float(min(sums))


def test_the_verifier_reads_weights_by_their_spelling(tmp_path):
    texts = TABLE.with_columns(
        w=pl.when(pl.col("w") >= 40).then(pl.lit("1.040")).otherwise(pl.col("w").cast(str).str.replace(".", ",", literal=True))
    )  # fmt: skip
    attributes = [
        ic.Attribute("age", "quasi", hierarchy=QUASI["age"]),
        ic.Attribute("town", "quasi"),
        ic.Attribute("w", "weight", kind="number", decimal=",", thousands="."),
    ]
    schema = ic.Schema.of_attributes(attributes, unlisted="drop")
    release, saved, whole = _saved(
        texts, "k-map:9", tmp_path, schema, algorithm="optimal", max_suppression=0.1, suppressed="keep"
    )
    verification = ic.verify(*saved, **whole)
    assert verification.ok
    assert verification.findings[0].reached == release.privacy.reached("k-map")
    # What is spelled otherwise is no weight: nobody knows how many people those rows stand for.
    texts.with_columns(w=pl.col("w").str.replace("1.040", "10.40", literal=True)).write_csv(
        tmp_path / "t.csv"
    )
    verification = ic.verify(*saved, **whole)
    assert verification.findings[0].holds is None
    assert verification.is_unchecked
    assert "column 'w': 1 of 6 distinct values are not spelled as the policy says" in " ".join(
        verification.unchecked
    )
