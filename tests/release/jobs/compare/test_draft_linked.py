"""The draft of a linked policy finds keys and joins by values."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from database_tables import HOLDERS, STORES, as_held
from incrowd.core.errors import TableError
from incrowd.engines.dialects.addresses import Address
from incrowd.faces.cli import main
from incrowd.release.jobs.compare.draft_linked import draft_linked, find_joins, has_different_tables


def folder(path, tables):
    path.mkdir(exist_ok=True)
    for name, table in tables.items():
        table.write_csv(path / f"{name}.csv")
    return path


def test_keys_and_joins_are_found_and_the_draft_runs(tmp_path, monkeypatch, capsys):
    tables = {name: table for name, table in ic.samples.omop(120).items() if not name.startswith("concept")}
    tables["person"] = tables["person"].rename({"gender_concept_id": "gender"})
    tables["note"] = pl.DataFrame({"words": ["some", "words"]})
    where = folder(tmp_path / "in", tables)
    assert has_different_tables(where)
    draft = draft_linked(where)
    assert draft.drawing() == [
        "person",
        "   visit_occurrence (its person_id is person.person_id)",
        "      condition_occurrence (its visit_occurrence_id is visit_occurrence.visit_occurrence_id)",
    ]
    assert draft.left_out == ("note",)
    monkeypatch.setattr("sys.argv", ["incrowd", "init", str(where), "-o", str(tmp_path / "policy.toml")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert "left out, as nothing joins it: note" in capsys.readouterr().out
    text = (tmp_path / "policy.toml").read_text().replace('role = "?', 'role = "quasi"  # "?')
    (tmp_path / "policy.toml").write_text(text)
    monkeypatch.setenv("INCROWD_KEY", "0f1e2d3c4b5a69788796a5b4c3d2e1f0aabbccdd")
    policy = ic.LinkedPolicy.read(tmp_path / "policy.toml")
    release = ic.anonymize_linked({name: tables[name] for name in policy.order}, policy, unanswered="write")
    assert release.view.smallest >= 5


def test_other_tables_keep_the_questions_of_the_usual_draft(tmp_path):
    people = pl.DataFrame({"no": [f"P{n:03}" for n in range(50)], "age": [20 + n % 40 for n in range(50)]})
    visits = pl.DataFrame({"patient": [f"P{n % 50:03}" for n in range(90)], "ward": ["A", "B", "C"] * 30})
    draft = draft_linked(folder(tmp_path / "in", {"people": people, "visits": visits}))
    assert draft.joins[0][:4] == ("visits", "patient", "people", "no")
    assert draft.questions == 1
    assert '[columns."visits.ward"]' in draft.text


def test_a_column_may_be_called_like_a_pattern(tmp_path):
    people = pl.DataFrame({"^no$": [f"P{n:03}" for n in range(50)], "^.*$": ["f", "m"] * 25})
    visits = pl.DataFrame({"^no$": [f"P{n % 50:03}" for n in range(90)], "ward": ["A", "B", "C"] * 30})
    [join] = find_joins({"people": people, "visits": visits})
    assert join[:4] == ("visits", "^no$", "people", "^no$")


def test_numbers_of_other_names_are_no_keys(tmp_path):
    people = pl.DataFrame({"id": range(100)})
    visits = pl.DataFrame({"ward": [n % 7 for n in range(80)]})
    assert find_joins({"people": people, "visits": visits}) == []
    with pytest.raises(TableError, match="no column of 'people', 'visits' holds the keys"):
        draft_linked(folder(tmp_path / "in", {"people": people, "visits": visits}))
    assert not has_different_tables(folder(tmp_path / "parts", {"a": visits, "b": visits}))


@pytest.mark.parametrize("where", quick(STORES, "duckdb"))
def test_the_tables_of_a_database_are_drafted_as_those_of_a_folder(
    where, tmp_path, monkeypatch, capsys, request
):
    tables = {name: as_held(where, table) for name, table in ic.samples.omop(60).items()}
    url = request.getfixturevalue("postgres") if where == "postgresql" else None
    for name, table in tables.items():
        address = HOLDERS[where](table, tmp_path, name, url)
    HOLDERS[where](tables["person"], tmp_path, "odd name", url)

    def init(data, output):
        output.parent.mkdir()
        monkeypatch.setattr("sys.argv", ["incrowd", "init", data, "-o", str(output)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        lines = capsys.readouterr().out.splitlines()
        return output.read_text().splitlines()[1:], lines

    text, said = init(address, tmp_path / "of_database" / "policy.toml")
    (tmp_path / "in").mkdir()
    for name, table in tables.items():
        table.write_parquet(tmp_path / "in" / f"{name}.parquet")
    whole, lines = init(str(tmp_path / "in"), tmp_path / "of_folder" / "policy.toml")
    assert text == whole
    assert "left out, as its name has other characters: odd name" in said
    assert {*lines[:-2]} <= {*said}
    assert f"anonymize {Address(address)} --policy" in said[-1]
    trees = [
        sorted(path.name for path in (tmp_path / each / "hierarchies").iterdir())
        for each in ("of_database", "of_folder")
    ]
    assert trees[0] == trees[1] != []


def test_a_database_whose_tables_join_nowhere_is_named(tmp_path, monkeypatch, capsys):
    for name in ("people", "wards"):
        address = HOLDERS["sqlite"](pl.DataFrame({name: [1, 2]}), tmp_path, name, None)
    monkeypatch.setattr("sys.argv", ["incrowd", "init", address])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert (
        ended.value.code,
        f"{Address(address)}: no column of 'people', 'wards' holds the keys" in said,
    ) == (2, True)
    assert "incrowd-" not in said.replace(str(tmp_path), "")
