"""Linked tables: one recoding of all of them, judged by what they tell of a person together."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import InfeasibleError, ParameterError, PolicyError, TableError, VerdictError
from linked_readings import SHAPES, draw, fewest

pytestmark = pytest.mark.gated

KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f0aabbccdd"
EIGHT = {
    "person": pl.DataFrame({"id": list("abcdefgh"), "sex": list("ffffmmmm")}),
    "visit": pl.DataFrame(
        {"of": list("abcdefgh"), "ward": list("AAABBBBA"), "day": [f"2024-03-{n:02}" for n in range(1, 9)]}
    ),
}
"""Eight patients: each table has classes of four, and one woman of ward B is alone."""
TABLES = (ic.LinkedTable("person"), ic.LinkedTable("visit", join={"of": "person.id"}))


def policy(
    k: int = 4, tables=TABLES, quasi=("person.sex", "visit.ward"), unlisted=None, **settings
) -> ic.LinkedPolicy:
    schema = ic.Schema(quasi, person=["person.id"], insensitive=settings.pop("insensitive", ["visit.day"]),
                       sensitive=settings.pop("sensitive", []), treatments=settings.pop("treatments", {
        "person.id": "pseudonym:hmac,key=env:CLINIC", "visit.day": "shift-dates:30,key=env:CLINIC"}))  # fmt: skip
    return ic.LinkedPolicy(tables, ic.Policy(schema, settings.pop("models", [ic.KAnonymity(k)]), **settings))


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("CLINIC", KEY)


def lifted(table: str, column: str) -> dict[str, pl.DataFrame]:
    return EIGHT | {table: EIGHT[table].with_columns(pl.lit("any").alias(column))}


def test_eight_patients_are_refused_together_and_pass_where_a_column_is_lifted():
    for name, column in (("person", "sex"), ("visit", "ward")):
        alone = ic.assess(EIGHT[name], ic.Schema([column], unlisted="drop"), [ic.KAnonymity(4)])
        assert alone.holds
    view = ic.assess_linked(EIGHT, policy())
    assert (view.smallest, view.alone, view.verdict.state) == (1, 2, "broken")
    assert "whoever joins the tables" in view.verdict.points[0].text
    for table, column in (("person", "sex"), ("visit", "ward")):
        assert ic.assess_linked(lifted(table, column), policy()).smallest == 4
        assert ic.assess_linked(lifted(table, column), policy()).verdict.holds


def test_one_person_is_said_as_one():
    alone = pl.DataFrame({"id": ["a"], "sex": ["f"]}), EIGHT["visit"].head(1)
    view = ic.assess_linked(dict(zip(("person", "visit"), alone, strict=True)), policy(k=1))
    assert view.sentences()[0].startswith("The tables have rows of 1 person: ")
    assert view.sentences()[1].endswith("finds at least 1 person who fits; 1 person fits alone.")
    both = ic.assess_linked(EIGHT, policy(k=1)).sentences()
    assert both[0].startswith("The tables have rows of 8 people: ")
    assert both[1].endswith("finds at least 1 person who fits; 2 people fit alone.")


def test_keys_and_dates_change_in_the_same_way_in_all_tables():
    release = ic.anonymize_linked(EIGHT, policy(), unanswered="write")
    assert release.view.smallest == 4
    joined = release.tables["person"].join(release.tables["visit"], left_on="id", right_on="of")
    assert len(joined) == 8
    assert not {*joined["id"]} & {*EIGHT["person"]["id"]}
    later = EIGHT["visit"].with_columns(
        (pl.col("day").str.to_date() + pl.duration(days=3)).dt.to_string().alias("day")
    )
    longer = EIGHT | {"visit": pl.concat([EIGHT["visit"], later])}
    visits = ic.anonymize_linked(longer, policy(), unanswered="write").tables["visit"]
    days = visits.with_columns(pl.col("day").str.to_date()).group_by("of").agg(pl.col("day").sort())
    assert {(days[1] - days[0]).days for days in days["day"]} == {3}
    assert all(abs((day[0] - day[0].replace(month=3, day=4)).days) < 35 for day in days["day"])


def test_who_cannot_be_hidden_leaves_all_tables():
    people = pl.DataFrame({"id": range(9), "sex": list("ffffmmmmf")})
    visits = pl.DataFrame(
        {"of": [0, 1, 2, 3, 4, 5, 6, 7, *[8] * 5], "ward": ["A"] * 13, "day": ["2024-01-01"] * 13}
    )
    release = ic.anonymize_linked(
        {"person": people, "visit": visits}, policy(max_suppression=0.2), unanswered="write"
    )
    assert (release.left_out, len(release.tables["person"]), len(release.tables["visit"])) == (1, 8, 8)
    assert {*release.tables["visit"]["of"]} == {*release.tables["person"]["id"]}
    with pytest.raises(InfeasibleError, match=r"1 of 9 people cannot be hidden .* known = 2 for 'visit'"):
        ic.anonymize_linked({"person": people, "visit": visits}, policy())


def test_rows_of_nobody_are_left_out_and_counted():
    more = pl.concat([EIGHT["visit"], EIGHT["visit"][:1].with_columns(of=pl.lit("z"))])
    release = ic.anonymize_linked(EIGHT | {"visit": more}, policy(), unanswered="write")
    assert dict(release.nobody) == {"person": 0, "visit": 1}
    assert len(release.tables["visit"]) == 8
    assert ic.assess_linked(EIGHT | {"visit": more}, policy()).verdict.state == "broken"


def test_open_points_are_asked_of_tables_and_of_the_joined_view():
    with pytest.raises(VerdictError, match=r"unique-column: visit\.day"):
        ic.anonymize_linked(EIGHT, policy())
    why = [ic.Accepted("unique-column", "visit.day", "shifted"), ic.Accepted("blanked-column", "person.sex", "x"),
           ic.Accepted("blanked-column", "visit.ward", "x")]  # fmt: skip
    assert ic.anonymize_linked(EIGHT, policy(accepted=tuple(why))).verdict.holds
    # A column of visits that repeats the raw sex is seen beside the persons alone.
    told = EIGHT["visit"].with_columns(title=pl.Series(["Ms"] * 4 + ["Mr"] * 4), ward=pl.lit("A"))
    terms = policy(insensitive=["visit.day", "visit.title"], accepted=tuple(why), k=8)
    release = ic.anonymize_linked(EIGHT | {"visit": told}, terms, unanswered="write")
    assert ("derived-column", "visit.title") in {
        (p.name, p.columns[0]) for p in release.verdict.open if p.columns
    }


def test_a_column_that_joins_without_being_declared_is_a_point():
    notes = pl.DataFrame({"of": list("abcdefgh"), "kind": ["x"] * 8, "visit": [f"v00{n}" for n in range(8)]})
    tables = EIGHT | {"note": notes, "visit": EIGHT["visit"].with_columns(key=notes["visit"])}
    linked = (*TABLES, ic.LinkedTable("note", join={"of": "person.id"}))
    quasi = ("person.sex", "visit.ward", "note.kind")
    plain = {"tables": linked, "quasi": quasi, "k": 1}
    told = policy(insensitive=["visit.day", "visit.key", "note.visit"], **plain)
    [point] = ic.assess_linked(tables, told).verdict.open
    assert (point.name, point.columns) == ("repeated-id", ("note.visit",))
    silent = policy(insensitive=["visit.day", "note.visit"], unlisted="drop", **plain)
    assert ic.assess_linked(tables, silent).verdict.holds


def test_keys_of_like_numbers_are_no_join():
    tables = draw(1, people=40).tables
    numbers = {
        name: table.with_columns(
            pl.col("id").str.extract(r"(\d+)").cast(pl.Int64),
            *([pl.col("of").str.extract(r"(\d+)").cast(pl.Int64)] if "of" in table.columns else []),
        )
        for name, table in tables.items()
    }
    terms = draw(1, people=40).policy
    schema = terms.terms.schema
    keys = dict.fromkeys(("person.id", "visit.id", "drug.id"), "pseudonym:hmac,key=env:CLINIC")
    treated = ic.Schema.of_attributes(schema.attributes, treatments=keys)
    terms = replace(terms, terms=replace(terms.terms, schema=treated, max_suppression=0.9))
    points = ic.anonymize_linked(numbers, terms, unanswered="write").verdict.points
    assert "repeated-id" not in {point.name for point in points}


def test_diversity_is_counted_by_person_beside_the_view():
    codes = EIGHT["visit"].with_columns(code=pl.Series(list("uuuuvwvw")), ward=pl.lit("A"))
    terms = policy(sensitive=["visit.code"], models=[ic.KAnonymity(4), ic.LDiversity(2)])
    tables = EIGHT | {"visit": codes}
    view = ic.assess_linked(tables, terms)
    reached = {(each.model, each.attribute): each.value for each in view.results}
    assert reached == {("k-anonymity", None): 4, ("l-diversity", "visit.code"): 1}
    assert ic.anonymize_linked(tables, terms, unanswered="write").levels["person.sex"] == 1
    close = policy(sensitive=["visit.code"], models=[ic.KAnonymity(4), ic.TCloseness(0.3)])
    assert ic.anonymize_linked(tables, close, unanswered="write").levels["person.sex"] == 1


@pytest.mark.parametrize("seed", range(3 * len(SHAPES)))
def test_views_are_those_of_the_definition(seed):
    drawn = draw(seed)
    assert ic.assess_linked(*drawn).smallest == fewest(*drawn)


@pytest.mark.few(5)
@pytest.mark.parametrize("seed", range(0, 5 * len(SHAPES), 4))
def test_released_views_are_shared_by_k_people(seed):
    tables, terms = draw(seed, k=3, people=12, max_suppression=0.5)
    try:
        release = ic.anonymize_linked(tables, terms, unanswered="write")
    except InfeasibleError:
        return
    released = {name: pl.DataFrame(frame) for name, frame in release.tables.items()}
    assert fewest(released, terms) == release.view.smallest >= 3
    assert len(released["person"]) + release.left_out == 12
    for name in terms.order:
        for column in (each.name for each in terms.policy_of(name).schema.quasi):
            if release.levels[f"{name}.{column}"] == 0:
                assert {*released[name][column]} <= {*tables[name][column]}


def test_a_single_table_leaves_as_without_linked_tables():
    table = ic.samples.hospital(200)
    schema = ic.Schema(quasi={"age": ic.Hierarchy.intervals(10, 20)}, unlisted="drop")
    named = ic.Schema(quasi={"person.age": ic.Hierarchy.intervals(10, 20)}, unlisted="drop")
    alone = ic.anonymize(table, ic.Policy(schema, "k-anonymity:5", keep_order=True))
    one = ic.LinkedPolicy([ic.LinkedTable("person")], ic.Policy(named, "k-anonymity:5", keep_order=True))
    linked = ic.anonymize_linked({"person": table}, one)
    assert linked.tables["person"].write_csv() == alone.table.write_csv()
    assert linked.view.smallest >= 5


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: ic.LinkedTable("a.b"), PolicyError, "no name of a table"),
        (lambda: ic.LinkedTable("a", known=9), PolicyError, "must be 1 .. 5"),
        (lambda: ic.LinkedTable("a", file="../b.csv"), PolicyError, "in the folder"),
        (lambda: ic.LinkedTable("a", join={"b": "c"}), PolicyError, "one other table"),
        (lambda: policy(tables=TABLES[:1]), PolicyError, "names no table"),
        (lambda: policy(tables=(TABLES[0], replace(TABLES[1], join={"of": "people.id"}))), PolicyError, "joins"),
        (lambda: policy(tables=(TABLES[0], replace(TABLES[1], join={"ward": "person.id"}))), PolicyError, "joins"),
        (lambda: policy(quasi=["person.sex"]), PolicyError, "no quasi-identifier"),
        (lambda: policy(models=[ic.LDiversity(2)]), PolicyError, "need k-anonymity"),
        (lambda: policy(keep_order=True), PolicyError, "keep_order"),
        (lambda: policy(analyses=(ic.Analysis("a", "b ~ c"),)), PolicyError, "analyses"),
        (lambda: policy(treatments={}), PolicyError, "has to leave"),
        (
            lambda: policy(tables=(TABLES[0], replace(TABLES[1], known=2)),
                           models=[ic.KAnonymity(2), ic.TCloseness(0.5)]),
            PolicyError, "overlap",
        ),
        (lambda: ic.assess_linked({"person": EIGHT["person"]}, policy()), ParameterError, "only in the policy"),
        (lambda: ic.assess_linked("nowhere", policy()), TableError, "the files of a folder"),
        (lambda: ic.assess_linked("mysql://me:secret@host/db", policy()), TableError, "^an address is no file; open a d"),
        (lambda: ic.assess_linked(EIGHT | {"visit": EIGHT["person"]}, policy()), TableError, "has no column 'of'"),
        (
            lambda: ic.assess_linked(EIGHT | {"person": pl.concat([EIGHT["person"]] * 2)}, policy()),
            TableError, "two rows of one id",
        ),
        (lambda: ic.assess_linked([EIGHT], policy()), ParameterError, "or an ic.Database"),
    ],
)  # fmt: skip
def test_what_cannot_be_linked_is_refused(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


def test_a_policy_file_reads_back(tmp_path):
    terms = policy(tables=(TABLES[0], replace(TABLES[1], known=2)))
    terms.write(tmp_path / "policy.toml")
    again = ic.LinkedPolicy.read(tmp_path / "policy.toml")
    assert (again.tables, again.terms.models) == (terms.tables, terms.terms.models)
    assert [each.name for each in again.terms.schema.attributes] == [
        each.name for each in terms.terms.schema.attributes
    ]
    with pytest.raises(PolicyError, match="there is no setting 'nam'"):
        ic.LinkedPolicy.from_dict({"version": 1, "linked": [{"nam": "a"}]}, tmp_path)
    with pytest.raises(PolicyError, match="a search of their own"):
        ic.LinkedPolicy.from_dict({"linked": [{"name": "a"}], "algorithm": {"name": "mondrian"}}, tmp_path)


def test_a_folder_has_all_tables_or_none(tmp_path):
    release = ic.anonymize_linked(EIGHT, policy(), unanswered="write")
    release.save(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith("_")} == {
        "person.csv", "visit.csv", "policy.toml", "policies", "release.json", "internal",
    }  # fmt: skip
    account = (tmp_path / "out" / "release.json").read_text()
    assert "2024-03" not in account
    assert KEY not in "".join(path.read_text() for path in (tmp_path / "out").rglob("*.toml"))
    with pytest.raises(TableError):
        release.save(tmp_path / "out")
    with pytest.raises(TableError):
        release.save(tmp_path / "out" / "person.csv" / "below")
    assert ic.LinkedPolicy.read(tmp_path / "out" / "policy.toml").order == ("person", "visit")
