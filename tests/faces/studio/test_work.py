"""The work behind a window, without a page."""

from __future__ import annotations

import gzip
import shlex
import zipfile
from pathlib import Path

import polars as pl
import pytest
import xlsxwriter

import incrowd as ic
from incrowd.core.io.files import CsvFormat
from incrowd.core.progress import Silent
from incrowd.faces.studio import export, window_table, work
from incrowd.faces.studio.cancelling import Cancelled, Watched
from incrowd.faces.studio.exploring import compare_settings
from incrowd.faces.studio.sampling import recoded_rows, sampled
from incrowd.faces.studio.tables import guessed
from incrowd.faces.studio.work import Source, Work
from incrowd.release.policy.policy_file import read_toml
from incrowd.samples import hospital, hospital_policy


@pytest.fixture
def window():
    state = Work()
    yield state
    state.close()


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people; 1.csv"
    hospital(400).select("age", "sex", "zip", "diagnosis").write_csv(path, separator=";")
    return path


@pytest.mark.few(1)
@pytest.mark.random_order
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("keep_order", [False, True])
def test_the_rows_side_by_side_are_the_same_rows(window, people, monkeypatch, streamed, keep_order):
    monkeypatch.setattr(window_table, "_STREAMED", 0 if streamed else 2**40)
    window.open(Source(people, people.name))
    assert window.streams is streamed
    window.choices.document["keep_order"] = keep_order
    window.anonymize(Watched())
    start, count = 37, 50
    before, after, height = window.pairs(start, count)
    assert height == 400
    assert before.equals(pl.read_csv(people, separator=";", infer_schema=False).slice(start, count))
    assert after.columns == before.columns
    # Sensitive values leave as they are, and every released age covers its raw one.
    assert before["diagnosis"].to_list() == after["diagnosis"].to_list()
    for raw, cell in zip(before["age"], after["age"], strict=True):
        low, _, high = cell.strip("[]").partition("-")
        assert int(low) <= int(raw) <= int(high or low)
    assert window.pairs(390, 50)[1].height == 10


@pytest.mark.few(1)
@pytest.mark.parametrize("streamed", [False, True])
def test_the_command_names_what_is_not_plain(window, people, monkeypatch, streamed):
    monkeypatch.setattr(window_table, "_STREAMED", 0 if streamed else 2**40)
    window.open(Source(people, people.name))
    window.anonymize(Watched())
    end = " --stream" if streamed else ""
    assert export.command(window) == (
        f"incrowd anonymize 'people; 1.csv' --policy policy.toml --output release.csv --delimiter ';'{end}"
    )
    table = "ic.scan('people; 1.csv', csv_format=csv_format)" if streamed else "'people; 1.csv'"
    assert f"ic.anonymize({table}, policy" in export.script(window)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["", "archive"])
def test_count_tables_are_those_of_the_command(window, tmp_path, monkeypatch, suffix):
    monkeypatch.chdir(tmp_path)
    hospital(400).select("age", "sex", "zip", "diagnosis").write_csv("people.csv")
    window.open(Source(tmp_path / "people.csv", "people.csv"))
    if suffix:
        window.keep_tree("sex", ic.Hierarchy.from_nested({"*": {"known": ["F", "M"], "other": ["X"]}}))
    window.choices.document["tables"] = [{"name": "t", "rows": ["age:1"], "columns": ["sex"]}]
    result = window.tabulate(Watched())
    assert result.release.verdict.holds
    archive, name = export.tables_file(window, Watched())
    assert name == "tables.zip"
    policy, _ = export.policy_file(window, window.tables.policy)
    if suffix:
        zipfile.ZipFile(policy).extractall()
    else:
        Path("policy.toml").write_bytes(policy.read_bytes())
    assert export.tables_command(window) == (
        "incrowd tabulate people.csv --policy policy.toml --output tables"
    )
    again = ic.tabulate(pl.read_csv("people.csv", infer_schema=False), ic.Policy.read("policy.toml"))
    again.save("tables")
    with zipfile.ZipFile(archive) as packed:
        assert sorted(packed.namelist()) == ["tables/t.csv", "tables/tables.json"]
        assert all(packed.read(each) == Path(each).read_bytes() for each in packed.namelist())
    window.changed()
    assert window.tables is None


@pytest.mark.slow
def test_command_and_script_make_the_report_that_names_its_readers(window, people, monkeypatch):
    window.open(Source(people, people.name))
    window.anonymize(Watched())
    assert "report" not in export.command(window) + export.script(window)
    window.about.update(recipient="City; health", purpose='A study\'s "first" part')
    words = shlex.split(export.command(window))
    assert words[words.index("--report") :][:6] == [
        "--report", "report.html", "--recipient", "City; health", "--purpose", "A study's \"first\" part",
    ]  # fmt: skip
    monkeypatch.chdir(people.parent)
    window.release.policy.write("policy.toml")
    exec(compile(export.script(window), "release.py", "exec"), {})
    page = Path("report.html").read_text(encoding="utf-8")
    assert "City; health" in page
    assert "A study" in page


def test_a_workbook_is_opened_by_its_sheet_and_leaves_as_one(window, tmp_path):
    book = xlsxwriter.Workbook(tmp_path / "people.xlsx")
    for name in ("rows", "notes"):
        book.add_worksheet(name).write_column(0, 0, ["age", *range(20, 60)])
    book.close()
    with pytest.raises(ic.TableError, match="has several sheets"):
        window.open(Source(tmp_path / "people.xlsx", "people.xlsx"))
    window.open(Source(tmp_path / "people.xlsx", "people.xlsx"), CsvFormat(sheet="rows"))
    window.choices.document["columns"]["age"] = {"role": "quasi"}
    window.anonymize(Watched())
    assert export.command(window) == (
        "incrowd anonymize people.xlsx --policy policy.toml --output release.xlsx --sheet rows"
    )
    assert "csv_format = ic.CsvFormat(sheet='rows')" in export.script(window)
    assert export.release_file(window, Silent())[0].suffix == ".xlsx"
    assert window.upload("people.XLSX").path.suffix == ".xlsx"


def test_columns_are_counted(window, tmp_path):
    path = tmp_path / "t.parquet"
    table = {"^a$": [1, 1, None], "*": ["x", "y", "z"], "d": [None, None, 1.5]}
    pl.DataFrame(table).write_parquet(path)
    window.open(Source(path, "t"))
    assert [(c.name, c.type, c.distinct, c.missing) for c in window.columns] == [
        ("^a$", "number", 1, 1), ("*", "text", 3, 0), ("d", "number", 1, 2),
    ]  # fmt: skip


def test_a_table_that_cannot_be_read_leaves_the_one_before(window, people, tmp_path):
    window.open(Source(people, people.name))
    (tmp_path / "private").write_bytes(b"")
    with pytest.raises(ic.TableError) as error:
        window.open(Source(tmp_path / "private", "mine.csv"))
    assert str(error.value).startswith("mine.csv: ")
    assert str(tmp_path) not in str(error.value)
    assert window.source.name == people.name


def test_a_policy_with_trees_leaves_with_them(tmp_path):
    hospital(300).write_csv(tmp_path / "people.csv")
    hospital_policy().write(tmp_path / "p.toml")
    window = Work((read_toml(tmp_path / "p.toml"), tmp_path / "p.toml"))
    window.open(Source(tmp_path / "people.csv", "people.csv"))
    assert window.choices.origin == f"from {tmp_path / 'p.toml'}"
    window.anonymize(Watched())
    archive, name = export.policy_file(window, window.release.policy)
    assert name == "policy.zip"
    with zipfile.ZipFile(archive) as packed:
        assert packed.namelist() == ["policy.toml", "hierarchies/09-diagnosis.json"]
        packed.extractall(tmp_path / "out")
    read, schema = ic.Policy.read(tmp_path / "out" / "policy.toml").schema, window.release.policy.schema
    assert read["diagnosis"].hierarchy == schema["diagnosis"].hierarchy
    assert [each.role for each in read.attributes] == [each.role for each in schema.attributes]
    # Another table gets a draft, and is told why.
    (tmp_path / "other.csv").write_text("age,sex\n" + "30,m\n31,f\n" * 20)
    window.open(Source(tmp_path / "other.csv", "other.csv"))
    assert "this table lacks" in window.choices.origin
    window.close()


def test_the_files_of_a_window_go_with_it():
    window = Work()
    source = window.sample()
    assert source.path.is_file()
    folder = source.path.parent
    assert folder.stat().st_mode & 0o777 == 0o700
    window.close()
    assert not folder.exists()


@pytest.mark.parametrize(
    ("name", "shown", "suffix"),
    [
        ("people.csv", "people.csv", ".csv"),
        ("../../etc/people.CSV.GZ", "people.CSV.GZ", ".csv.gz"),
        ("C:\\secret\\t.parquet", "t.parquet", ".parquet"),
        ("-o.csv", "./-o.csv", ".csv"),
        ("x.py", "x.py", ".csv"),
        ("..", "table.csv", ".csv"),
        ("", "table.csv", ".csv"),
    ],
)
def test_the_name_of_an_upload_is_shown_and_is_no_path(window, name, shown, suffix):
    source = window.upload(name)
    assert (source.name, source.path.name) == (shown, f"0001{suffix}")
    assert source.path.parent == window.place("").parent


@pytest.mark.slow
def test_a_comparison_says_what_each_setting_loses_and_can_be_cancelled(window, people):
    window.open(Source(people, people.name))
    window.choices.document["max_suppression"] = 1.0
    tries, problems = compare_settings(window, ["mondrian", "datafly"], [4, 401], Watched())
    assert [each.title.partition(", l")[0] for each in tries] == ["Mondrian, k = 4", "Datafly, k = 4"]
    [titles] = problems.values()
    assert [each.partition(", l")[0] for each in titles] == ["Mondrian, k = 401", "Datafly, k = 401"]
    assert tries[0].risk <= 1 / 4
    assert 0 < tries[0].loss < 1
    assert window.release is None
    watched = Watched()
    watched.cancel()
    with pytest.raises(Cancelled):
        compare_settings(window, ["mondrian"], [4], watched)


@pytest.mark.few(1)
@pytest.mark.parametrize("keep_order", [False, True])
def test_a_release_is_attacked_and_compared_with_its_table(window, people, keep_order):
    window.open(Source(people, people.name))
    window.choices.document["keep_order"] = keep_order
    window.anonymize(Watched())
    tried = {each.name: each for each in window.attack(Watched())}
    # Links are checked only because the rows are known to be the same.
    assert {"linkage", "linkability", "singling-out-univariate"} <= set(tried)
    assert {each.column for each in window.fidelity().marginals} == {"age", "sex", "zip"}
    watched = Watched()
    watched.cancel()
    with pytest.raises(Cancelled):
        window.attack(watched)


@pytest.mark.slow
def test_of_rows_that_stream_some_are_attacked(window, people, monkeypatch):
    monkeypatch.setattr(window_table, "_STREAMED", 0)
    window.open(Source(people, people.name))
    window.anonymize(Watched())
    monkeypatch.setattr(work, "ATTACKED", 90)
    assert (window.height, window.attacked) == (400, 90)
    attempts = window.attack(Watched())
    assert {"singling-out-univariate", "linkability"} <= {each.name for each in attempts}
    monkeypatch.setattr(work, "ATTACKED", 500)
    assert window.attacked == 400


def test_drawn_rows_are_rows_of_the_table_and_those_released_are_theirs(window, people):
    window.open(Source(people, people.name))
    rows = window.rows(0, window.height).with_row_index("place")
    drawn = sampled(rows.lazy(), len(rows), 100)
    assert len(drawn) == drawn["place"].n_unique() == 100
    assert drawn["place"].to_list() != sorted(drawn["place"])
    assert sampled(rows.lazy(), len(rows), 10**6).sort("place").equals(rows)
    window.choices.document["keep_order"] = True
    release = window.anonymize(Watched())
    places, drawn = drawn["place"].to_list(), drawn.drop("place")
    shown = recoded_rows(release, drawn)
    assert shown.equals(release.texts[places].select(shown.columns))
    # A value that nobody had is shown as suppressed.
    other = drawn.head(1).with_columns(zip=pl.lit("99999"), age=pl.lit("-7"))
    assert set(recoded_rows(release, other).select(a.name for a in release.policy.schema.quasi).row(0)) == {
        "*"
    }


@pytest.mark.parametrize("streamed", [False, True])
def test_the_values_of_a_column_are_counted_as_texts(window, tmp_path, monkeypatch, streamed):
    monkeypatch.setattr(window_table, "_STREAMED", 0 if streamed else 2**40)
    table = {"^n$": [3, 1, 3, None], "name": ["b", "?", "b", "a"]}
    pl.DataFrame(table).write_parquet(tmp_path / "t.parquet")
    window.open(Source(tmp_path / "t.parquet", "t"))
    window.choices.document["null_values"] = ["?"]
    assert window.counts("^n$") == {"1": 1, "3": 2}
    assert window.counts("name") == {"a": 1, "b": 2}


def test_an_edited_tree_is_the_hierarchy_of_its_column_and_leaves_with_the_policy(window, people, tmp_path):
    window.open(Source(people, people.name))
    recipe = window.choices.columns["zip"]["hierarchy"]
    editor = window.editor("zip")
    assert editor.unknown() == {}
    tops = [line.node for line in editor.below(0)]
    editor.merge(tops[:2], "together")
    window.keep_tree("zip", editor.tree)
    window.changed()
    assert window.is_edited(window.choices.columns["zip"]["hierarchy"])
    assert window.editor("zip").tree == editor.tree
    window.anonymize(Watched())
    assert window.release.policy.schema["zip"].hierarchy == editor.tree
    archive, name = export.policy_file(window, window.release.policy)
    assert name == "policy.zip"
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path / "out")
    assert ic.Policy.read(tmp_path / "out" / "policy.toml").schema["zip"].hierarchy == editor.tree
    window.restore(window.history.undo())
    assert window.choices.columns["zip"]["hierarchy"] == recipe
    assert window.editor("zip").tree != editor.tree


def test_a_column_without_a_hierarchy_begins_with_the_value_or_a_star(window, people):
    window.open(Source(people, people.name))
    window.choices.columns["diagnosis"].pop("hierarchy", None)
    tree = window.editor("diagnosis").tree
    assert tree.height == 1
    assert set(tree.values) == set(window.counts("diagnosis"))


@pytest.mark.slow
def test_the_tree_of_a_treated_column_is_made_of_what_comes_out(window, people):
    window.open(Source(people, people.name))
    window.choices.columns["age"] = {"role": "quasi", "treat": {"round": 20}, "hierarchy": {"flat": True}}
    editor = window.editor("age")
    assert {float(value) % 20 for value in editor.tree.values} == {0}
    assert sum(window.counts("age").values()) == window.height
    editor.merge([line.node for line in editor.below(0)][:2], "low")
    window.keep_tree("age", editor.tree)
    window.choices.models[:] = [{"model": "k-anonymity", "k": 3}]
    release = window.anonymize(Watched())
    assert release.policy.schema["age"].hierarchy == editor.tree
    window.choices.columns["age"].update(role="sensitive", treat={"pseudonym": "hmac"})
    with pytest.raises(ic.ParameterError, match="would ask for its key"):
        window.editor("age")


def test_the_tree_of_a_column_in_its_own_spelling_is_made_of_what_is_read(window, tmp_path):
    rows = {
        "born": ["05.03.1980", "05.03.1980", "17.11.1991"],
        "pay": ["1.000,5", "20", "20,0"],
        "x": [1, 1, 2],
    }
    pl.DataFrame(rows).write_csv(tmp_path / "t.csv", separator=";")
    window.open(Source(tmp_path / "t.csv", "t.csv"))
    window.choices.columns.update(
        born={"role": "quasi", "format": "%d.%m.%Y", "hierarchy": {"dates": ["year"]}},
        pay={"role": "quasi", "decimal": ",", "thousands": ".", "hierarchy": {"intervals": [100]}},
        x={"role": "insensitive"},
    )
    assert window.counts("born") == {"1980-03-05": 2, "1991-11-17": 1}
    assert sorted(window.counts("pay").values()) == [1, 2]
    editor = window.editor("born")
    assert editor.level(1) == [("1980", 2), ("1991", 1)]
    editor.merge([line.node for line in editor.below(0)], "ever")
    window.keep_tree("born", editor.tree)
    window.choices.models[:] = [{"model": "k-anonymity", "k": 1}]
    window.choices.columns["born"]["levels"] = [1, 1]
    window.choices.algorithm["name"] = "optimal"
    assert window.anonymize(Watched()).texts["born"].to_list() == ["ever"] * 3


def survey(path, flags=8):
    """Write a table with columns that nobody can judge from outside."""
    table = hospital(400).select("age", "sex", "diagnosis")
    answers = {f"q{number}": pl.Series(["yes", "no", "no", "yes"] * 100) for number in range(flags)}
    table.with_columns(**answers).write_csv(path)
    return path


def test_columns_that_look_alike_are_one_question(window, tmp_path):
    window.open(Source(survey(tmp_path / "survey.csv"), "survey.csv"))
    [(text, names)] = window.choices.together.items()
    assert text.startswith("8 yes/no columns such as q0")
    assert list(names) == [f"q{number}" for number in range(8)]
    assert {window.choices.columns[name]["role"] for name in names} == {"?"}


def test_the_risk_of_known_columns_is_measured_while_others_have_no_role(window, tmp_path):
    window.open(Source(survey(tmp_path / "survey.csv"), "survey.csv"))
    assert len(window.choices.having("?")) == 8
    recoded = window.recode(Watched())
    assert recoded.after.risk["prosecutor"]["max"] <= 0.2 < window.risk_before
    assert len(window.choices.having("?")) == 8
    assert window.release is None


def test_the_groups_of_a_given_draft_are_questions_of_the_page(tmp_path):
    from incrowd.release.jobs.compare.draft import draft_policy

    path = survey(tmp_path / "survey.csv")
    draft = tmp_path / "policy.toml"
    draft.write_text(draft_policy(pl.read_csv(path, infer_schema=False), path.name).text)
    assert 'role = "?1"' in draft.read_text()
    state = Work((read_toml(draft), draft))
    try:
        state.open(Source(path, path.name))
        assert state.choices.together == {"Columns of question ?1": [f"q{number}" for number in range(8)]}
        assert state.choices.having("?") == [f"q{number}" for number in range(8)]
    finally:
        state.close()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("..", "table.csv"), (".", "table.csv"), ("../..", "table.csv"), ("*.csv", "_.csv"),
        ("people [1].csv", "people _1_.csv"), ("a\nb\x1b[31m.csv", "a_b__31m.csv"), ("a\0b.csv", "a_b.csv"),
        ("\u202evsc.x", "_vsc.x"), ("\udcff.csv", "_.csv"), ("host=h password=x.csv", "table.csv"),
        ("n" * 5_000 + ".xlsx", "table.xlsx"), ("C:\\people.csv", "people.csv"), ("'`$(id)`.csv", "'`$(id)`.csv"),
    ],
)  # fmt: skip
def test_a_command_takes_the_name_of_an_upload_for_that_file(window, name, shown):
    source = window.upload(name)
    source.path.write_text("age,sex\n" + "30,m\n" * 12)
    window.source = source
    assert source.name == shown
    assert shlex.split(export.command(window))[2] == shown
    compile(export.script(window), "release.py", "exec")


@pytest.mark.parametrize("name", ["release.csv", "RELEASE.CSV", "old/release.csv"])
def test_a_release_is_called_otherwise_than_its_table(window, name):
    window.source = window.upload(name)
    assert "--output new-release.csv" in export.command(window)
    assert "release.write('new-release.csv')" in export.script(window)


@pytest.mark.slow
def test_a_policy_that_unpacks_to_very_much_is_refused_and_leaves_nothing(window):
    source = window.upload("policy.zip")
    with zipfile.ZipFile(source.path, "w", zipfile.ZIP_DEFLATED) as packed, packed.open("x.csv", "w") as file:
        for _ in range(257):
            file.write(bytes(1 << 20))
    with pytest.raises(ic.PolicyError, match=r"^policy.zip: more than 256 MiB when unpacked"):
        window.begin_from(source.path, source.name)
    assert [path.name for path in source.path.parent.rglob("*.csv")] == []


@pytest.mark.few(1)
@pytest.mark.parametrize("cut", [30, -20])
def test_no_encoding_is_guessed_of_a_damaged_archive(tmp_path, cut):
    path = tmp_path / "people.csv.gz"
    whole = gzip.compress("n\xe4me\n".encode("latin-1") * 50 + bytes(range(256)) * 9)
    path.write_bytes(whole[:cut] + b"x" * 9)
    assert guessed(path, "utf-8") is None
