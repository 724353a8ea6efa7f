"""A folder of OMOP is drafted by the names of its tables and columns."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import TableError
from incrowd.faces.cli import main
from incrowd.release.health import standard_of
from incrowd.release.health.omop import draft_omop


def folder(path, tables, write=pl.DataFrame.write_csv, ending="csv"):
    path.mkdir(exist_ok=True)
    for name, table in tables.items():
        write(table, path / f"{name}.{ending}")
    return path


def roles(draft):
    """Return the role of each column that the draft names."""
    import tomllib

    return {name: column["role"] for name, column in tomllib.loads(draft.text)["columns"].items()}


def init(monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["incrowd", "init", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code or 0


def test_the_draft_of_the_sample_runs_and_keeps_groups_of_concepts(tmp_path, monkeypatch, capsys):
    tables = ic.samples.omop(300)
    where = folder(tmp_path / "omop", {**tables, "provider": pl.DataFrame({"provider_id": [1, 2]})})
    assert init(monkeypatch, where, "-o", tmp_path / "policy.toml") == 0
    said = capsys.readouterr().out
    assert "OMOP CDM 5.4: person, visit_occurrence, condition_occurrence" in said
    assert "public vocabulary, read and not released: concept, concept_ancestor" in said
    assert "left out, as it is not mapped: provider" in said
    assert "   visit_occurrence (its person_id is person.person_id)" in said
    monkeypatch.setenv("INCROWD_KEY", "0f1e2d3c4b5a69788796a5b4c3d2e1f0aabbccdd")
    policy = ic.LinkedPolicy.read(tmp_path / "policy.toml")
    release = ic.anonymize_linked(where, policy, unanswered="write")
    assert release.view.smallest >= 5
    assert [*release.tables] == ["person", "visit_occurrence", "condition_occurrence"]
    assert not {"person_source_value", "month_of_birth"} & {*release.tables["person"].columns}
    tree = ic.Hierarchy.read(tmp_path / "hierarchies" / "condition_occurrence-condition_concept_id.csv")
    # Hypertension, fibrillation and infarction are of the heart and its vessels.
    assert {tree.path(tree.rank(each))[1] for each in ("320128", "313217", "4329847")} == {"134057"}


def test_a_table_joins_the_visit_only_where_each_row_has_one(tmp_path):
    tables = ic.samples.omop(50)
    drugs = tables["condition_occurrence"].select(
        "person_id", "visit_occurrence_id", drug_concept_id="condition_concept_id"
    )
    half = pl.when(pl.int_range(pl.len()) % 2 == 0).then("visit_occurrence_id").alias("visit_occurrence_id")
    draft = draft_omop(folder(tmp_path / "in", {**tables, "drug_exposure": drugs.with_columns(half)}))
    assert {join.table: join.above for join in draft.joins} == {
        "visit_occurrence": "person",
        "condition_occurrence": "visit_occurrence",
        "drug_exposure": "person",
    }
    assert roles(draft)["drug_exposure.visit_occurrence_id"] == "identifying"


def test_notes_are_asked_about_and_what_is_not_mapped_is_left_out_and_said(tmp_path):
    tables = ic.samples.omop(50)
    visits = tables["visit_occurrence"]
    note = visits.select(
        "person_id",
        "visit_occurrence_id",
        note_date="visit_start_date",
        note_text=pl.lit("He came with a cough, and his wife called twice about it."),
        ward_phone=pl.lit("4711"),
        language_concept_id=pl.lit(4180186),
        note_type_concept_id=pl.lit(32817),
    )
    measured = visits.select(
        "person_id", measurement_concept_id=pl.lit(3004249), value_as_number=pl.lit(120.5)
    )
    bare = visits.select("person_id")
    more = {"note": note, "measurement": measured, "death": bare}
    draft = draft_omop(folder(tmp_path / "in", {**tables, **more}))
    assert "left out, as it has no rows, or no column that others may know: death" in draft.notes
    assert roles(draft)["note.note_text"] == "?"
    assert roles(draft)["note.ward_phone"] == "identifying"
    assert roles(draft)["measurement.measurement_concept_id"] == "quasi"
    assert "left out of note, as they are not mapped: ward_phone, language_concept_id" in draft.notes
    assert draft.questions >= 1


@pytest.mark.parametrize("ending", ["parquet", "PARQUET"])
def test_upper_case_parquet_and_empty_tables_are_recognized(tmp_path, ending):
    tables = {
        name.upper(): frame.rename(str.upper)
        for name, frame in {**ic.samples.omop(50), "death": pl.DataFrame({"person_id": [], "x": []})}.items()
    }
    where = folder(tmp_path / "in", tables, pl.DataFrame.write_parquet, ending)
    assert standard_of(where) == "omop"
    draft = draft_omop(where)
    assert f'file = "PERSON.{ending}"' in draft.text
    assert roles(draft)["person.YEAR_OF_BIRTH"] == "quasi"
    assert "left out, as it has no rows, or no column that others may know: death" in draft.notes
    assert [*draft.hierarchies] == ["hierarchies/condition_occurrence-condition_concept_id.csv"]


def test_damaged_files_are_named_and_end_no_other_draft(tmp_path):
    where = folder(tmp_path / "in", ic.samples.omop(20))
    (where / "concept_ancestor.csv").write_text("above,below\n1,2\n")
    with pytest.raises(TableError, match="lacks a column of OMOP"):
        draft_omop(where)
    (where / "concept_ancestor.csv").write_bytes(b"")
    with pytest.raises(TableError, match=r"concept_ancestor\.csv: cannot be read"):
        draft_omop(where)
    (where / "person.csv").write_text("person_id,gender_concept_id,year_of_birth\n", encoding="utf-16")
    assert standard_of(where) is None


def test_places_of_people_become_states(tmp_path):
    tables = ic.samples.omop(4)
    person = tables["person"].with_columns(location_id=pl.Series([1, 2, 3, 3]))
    location = pl.DataFrame(
        {"location_id": [1, 2, 3], "zip": ["02139", "02140", None], "state": ["MA", "MA", "NY"]}
    )
    draft = draft_omop(folder(tmp_path / "in", {**tables, "person": person, "location": location}))
    tree = draft.hierarchies["hierarchies/person-location_id.csv"]
    assert tree.path(tree.rank("1")) == ("1", "MA 02139", "MA", "*")
    assert tree.path(tree.rank("3")) == ("3", "NY unknown", "NY", "*")


def test_a_concept_with_two_parents_gets_that_of_its_vocabulary_with_most_values(tmp_path):
    tables = ic.samples.omop(200)
    pairs = tables["concept_ancestor"]
    # Infarction is also under a class of another vocabulary, and under one of its own with less below.
    more = pl.DataFrame(
        {
            "ancestor_concept_id": [7, 8],
            "descendant_concept_id": [4329847, 4329847],
            "min_levels_of_separation": [1, 1],
            "max_levels_of_separation": [1, 1],
        }
    )
    others = pl.DataFrame({"concept_id": [7, 8], "vocabulary_id": ["ATC", "SNOMED"]})
    # The public files have tabs and no quotes.
    where = folder(tmp_path / "in", {name: tables[name] for name in ("person", "visit_occurrence")})
    tables["condition_occurrence"].write_csv(where / "condition_occurrence.csv")
    pl.concat([pairs, more]).write_csv(where / "CONCEPT_ANCESTOR.csv", separator="\t")
    concepts = pl.concat([tables["concept"], others]).with_columns(concept_name=pl.lit('a "quoted" name'))
    concepts.write_csv(where / "CONCEPT.csv", separator="\t", quote_style="never")
    [tree] = draft_omop(where).hierarchies.values()
    assert tree.path(tree.rank("4329847"))[1] == "134057"


def test_what_is_not_omop_is_refused_where_omop_is_asked_for(tmp_path, monkeypatch, capsys):
    tables = ic.samples.omop(20)
    tables["person"] = tables["person"].drop("gender_concept_id")
    where = folder(tmp_path / "in", tables)
    assert standard_of(where) is None
    assert init(monkeypatch, where, "--omop") == 2
    assert "there is no table person with the columns" in capsys.readouterr().err
    assert init(monkeypatch, where / "person.csv", "--omop") == 2
    assert "give the folder" in capsys.readouterr().err
    tables["person"] = ic.samples.omop(20)["person"]
    tables["death"] = pl.DataFrame({"death_date": ["2020-01-01"]})
    with pytest.raises(TableError, match="table death has no column 'person_id'"):
        draft_omop(folder(tmp_path / "in", tables))
