"""Stata, SPSS and SAS: codes, labels and missing codes, released cells, and parts that are left out."""

from __future__ import annotations

import datetime as dt
import tomllib

import pandas as pd
import polars as pl
import pyreadstat
import pytest

import incrowd as ic
from incrowd.core.errors import TableError
from incrowd.core.io.files import CsvFormat, read_table, write_table
from incrowd.core.io.kinds.labels import Column, plain, shown
from incrowd.release.jobs.compare.draft import draft_policy
from incrowd_verify.other_kinds import as_parquet

DAYS = [dt.date(2020, 1, 1), None, dt.date(1990, 5, 5), dt.date(2000, 2, 29)] * 3
EDUCATION = {1: "none", 2: "school", 3: "college", 7: "Quetzal"}
SCHEMA = ic.Schema(quasi=["age"], sensitive=["education"], unlisted="keep")


def stata(path, version=15):
    """Write a Stata file with all that such files may say."""
    table = pl.DataFrame(
        {
            "age": [30, 31, 32, 33] * 3,
            "education": [1, 2, 3, 3] * 3,
            "income": pl.Series([1200.5, "a", "b", None] * 3, dtype=pl.Object),
            "born": DAYS,
            "month": [720, 721, None, 733] * 3,
            "note": ["é", "", "x " * 50, "b"] * 3,
        }
    )
    pyreadstat.write_dta(
        table.with_columns(pl.col("age", "education", "month").cast(pl.Int32)),
        path,
        file_label="Zoraide",
        version=version,
        column_labels={"age": "Age in years", "income": "Income of the Zoë"},
        variable_value_labels={"education": EDUCATION, "income": {"a": "refused", "c": "Quetzal"}},
        missing_user_values={"income": ["a", "b", "c"]},
        variable_format={"born": "%tdDD/NN/CCYY", "month": "%tm", "income": "%12.2f"},
    )
    return path


def spss(path):
    """Write an SPSS file with all that such files may say."""
    table = pl.DataFrame(
        {
            "age": [30.0, 31.0, 32.0, 33.0] * 3,
            "education": [1.0, 2.0, 3.0, 3.0] * 3,
            "income": [1200.5, 998.0, 999.0, None] * 3,
            "born": DAYS,
            "ward": ["A", "B", "NA", ""] * 3,
        }
    )
    pyreadstat.write_sav(
        table,
        path,
        file_label="Zoraide",
        note=["Quetzal"],
        column_labels={"age": "Age in years"},
        variable_value_labels={
            "education": {float(code): label for code, label in EDUCATION.items()},
            "income": {998.0: "refused", 997.0: "Quetzal"},
            "ward": {"A": "east", "NA": "not asked", "Z": "Quetzal"},
        },
        missing_ranges={"income": [{"lo": 900.0, "hi": 999.0}], "ward": ["NA", "Z"]},
        variable_measure={"education": "ordinal"},
        variable_format={"income": "F8.1", "born": "EDATE10"},
    )
    return path


def sas(path, version=8):
    """Write a SAS transport file; the letters are put in by hand."""
    table = pl.DataFrame(
        {
            "AGE": [30.0, 31.0, 32.0, 33.0] * 3,
            "INCOME": [1200.5, None, None, -0.25] * 3,
            "BORN": DAYS,
            "S": ["A"] * 12,
        }
    )
    pyreadstat.write_xport(
        table, path, file_label="Zoraide", table_name="QUETZAL", column_labels={"AGE": "Age"},
        file_format_version=version, variable_format={"BORN": "YYMMDD10"},
    )  # fmt: skip
    data = path.read_bytes()
    missing = b"\x2e" + bytes(7)
    assert data.count(missing) == 9  # 6 of the income, 3 days
    at = data.index(missing)
    path.write_bytes(data[:at] + b"R" + data[at + 1 :])
    return path


def release_of(path, **columns):
    """Write a table that came from a file in which some columns have other cells."""
    table, csv_format = read_table(path)
    rows = table.with_columns(pl.Series(name, cells, pl.String) for name, cells in columns.items())
    out = path.with_name(f"out{path.suffix}")
    write_table(rows, out, out, csv_format)
    return out


def test_a_cell_of_stata_is_its_label_or_its_number(tmp_path):
    table, csv_format = read_table(stata(tmp_path / "a.dta"))
    assert table["age"].dtype == pl.Int64
    assert table["education"].to_list()[:4] == ["none", "school", "college", "college"]
    assert table["income"].to_list()[:4] == ["1200.5", "refused", ".b", None]
    assert table["born"].to_list() == DAYS
    assert table["note"].to_list()[:2] == ["é", None]
    assert "Quetzal" not in repr(csv_format)


@pytest.mark.parametrize("version", [10, 12, 13, 14, 15])
def test_a_stata_file_leaves_with_codes_labels_formats_and_missing_codes(tmp_path, version):
    out = release_of(stata(tmp_path / "a.dta", version))
    before, said = pyreadstat.read_dta(tmp_path / "a.dta", user_missing=True, output_format="dict")
    after, metadata = pyreadstat.read_dta(out, user_missing=True, output_format="dict")
    assert after == before
    assert metadata.column_names_to_labels == said.column_names_to_labels
    assert metadata.original_variable_types == said.original_variable_types
    assert metadata.variable_value_labels == {
        "education": {1: "none", 2: "school", 3: "college"},
        "income": {"a": "refused"},
    }
    assert metadata.missing_user_values == {"income": ["a", "b"]}
    assert metadata.file_label in (None, "")
    # Another reader sees the same.
    assert pd.read_stata(out)["education"].tolist() == ["none", "school", "college", "college"] * 3
    frame = pd.read_stata(out, columns=["income"], convert_missing=True, convert_categoricals=False)
    assert str(frame["income"][2]) == ".b"


@pytest.mark.parametrize("make", [stata, spss, sas], ids=lambda make: make.__name__)
def test_nothing_beside_the_cells_leaves(tmp_path, make):
    path = make(tmp_path / {"stata": "a.dta", "spss": "a.sav", "sas": "a.xpt"}[make.__name__])
    for secret in (b"Quetzal", b"Zoraide"):
        assert secret.lower() in path.read_bytes().lower()
        assert secret.lower() not in release_of(path).read_bytes().lower()


def test_the_verifier_reads_what_the_engine_reads(tmp_path):
    for path in (
        stata(tmp_path / "a.dta"),
        spss(tmp_path / "a.sav"),
        sas(tmp_path / "a.xpt"),
        sas(tmp_path / "b.xpt", 5),
    ):
        table = pl.read_parquet(as_parquet(path, tmp_path))
        ours = read_table(path)[0]
        for name in ours.columns:
            texts = [None if each is None else plain(each) for each in table[name].to_list()]
            assert texts == [None if each is None else plain(each) for each in ours[name].to_list()], (
                path,
                name,
            )


# --- what a released cell becomes --------------------------------------------------------------------


def test_a_suppressed_number_is_a_missing_code_with_a_label(tmp_path):
    cells = ["30", "*", "32", "33"] * 3
    out = release_of(stata(tmp_path / "a.dta"), age=cells)
    after, metadata = pyreadstat.read_dta(out, user_missing=True, output_format="dict")
    assert after["age"][:4] == [30, "z", 32, 33]
    assert metadata.variable_value_labels["age"] == {"z": "*"}
    assert pd.read_stata(out, convert_categoricals=False)["age"].sum() == 3 * (30 + 32 + 33)
    assert read_table(out)[0]["age"].to_list() == cells

    out = release_of(spss(tmp_path / "a.sav"), age=cells)
    after, metadata = pyreadstat.read_sav(out, user_missing=True, output_format="dict")
    assert after["age"][:4] == [30, -99, 32, 33]
    assert metadata.variable_value_labels["age"] == {-99: "*"}
    assert metadata.missing_ranges["age"] == [{"lo": -99, "hi": -99}]
    assert pyreadstat.read_sav(out, output_format="dict")[0]["age"][1] is None
    assert read_table(out)[0]["age"].to_list() == cells

    cells = [cell.replace("30", "30.5") for cell in cells]
    out = release_of(sas(tmp_path / "a.xpt"), AGE=cells)
    assert pyreadstat.read_xport(out, output_format="dict")[0]["AGE"] == cells


@pytest.mark.parametrize("make", [stata, spss], ids=lambda make: make.__name__)
def test_a_generalized_number_is_a_text_so_that_nobody_computes_with_its_code(tmp_path, make):
    path = make(tmp_path / f"a.{'dta' if make is stata else 'sav'}")
    cells = ["[30-31]", "31", None, "*"] * 3
    after, metadata = (pyreadstat.read_dta if make is stata else pyreadstat.read_sav)(
        release_of(path, age=cells), output_format="dict"
    )
    assert metadata.readstat_variable_types["age"] == "string"
    assert metadata.column_names_to_labels["age"] == "Age in years"
    assert after["age"] == ["[30-31]", "31", "", "*"] * 3


@pytest.mark.parametrize("make", [stata, spss], ids=lambda make: make.__name__)
def test_a_generalized_category_keeps_its_codes_and_gets_new_ones(tmp_path, make):
    path = make(tmp_path / f"a.{'dta' if make is stata else 'sav'}")
    cells = ["none", "{school, college}", "*", None] * 3
    read = pyreadstat.read_dta if make is stata else pyreadstat.read_sav
    out = release_of(path, education=cells)
    after, metadata = read(out, user_missing=True, output_format="dict")
    suppressed = "z" if make is stata else -9
    assert after["education"][:4] == [1, 11, suppressed, None]
    assert metadata.variable_value_labels["education"] == {
        1: "none",
        11: "{school, college}",
        suppressed: "*",
    }
    assert read_table(out)[0]["education"].to_list() == cells
    if make is spss:
        assert metadata.variable_measure["education"] == "ordinal"


def test_a_label_that_spss_would_cut_makes_a_text(tmp_path):
    long = "{" + ", ".join(f"kind {place}" for place in range(30)) + "}"
    out = release_of(spss(tmp_path / "a.sav"), education=[long, "none", "*"] * 4)
    after, metadata = pyreadstat.read_sav(out, output_format="dict")
    assert after["education"][:3] == [long, "none", "*"]
    assert "education" not in metadata.variable_value_labels


def test_a_number_that_leaves_as_it_came_stays_one(tmp_path):
    out = release_of(stata(tmp_path / "a.dta"), age=["30", "31", None, "33.5"] * 3)
    assert pyreadstat.read_dta(out, output_format="dict")[0]["age"] == [30, 31, None, 33.5] * 3
    days = [None if day is None else day.isoformat() for day in DAYS]
    out = release_of(stata(tmp_path / "a.dta"), born=days)
    assert read_table(out)[0]["born"].to_list() == DAYS
    out = release_of(stata(tmp_path / "a.dta"), born=["1990", "*", None, "2000-02-29"] * 3)
    assert read_table(out)[0]["born"].to_list() == ["1990", "*", None, "2000-02-29"] * 3


def test_missing_codes_of_spss_survive(tmp_path):
    table, _ = read_table(spss(tmp_path / "a.sav"))
    assert table["income"].to_list()[:4] == ["1200.5", "refused", "999", None]
    assert table["ward"].to_list()[:4] == ["east", "B", "not asked", None]
    out = release_of(tmp_path / "a.sav")
    before = pyreadstat.read_sav(tmp_path / "a.sav", user_missing=True, output_format="dict")[0]
    after, metadata = pyreadstat.read_sav(out, user_missing=True, output_format="dict")
    assert after == before
    assert metadata.missing_ranges == {
        "income": [{"lo": 998.0, "hi": 998.0}, {"lo": 999.0, "hi": 999.0}],
        "ward": [{"lo": "NA", "hi": "NA"}],
    }
    assert metadata.original_variable_types["income"] == "F8.1"
    assert metadata.variable_value_labels["ward"] == {"A": "east", "NA": "not asked"}


def test_many_missing_codes_of_spss_are_a_range_again(tmp_path):
    table = pl.DataFrame({"x": [1.0, 95.0, 96.0, 97.0, 99.0, -1.0]})
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(table, path, missing_ranges={"x": [{"lo": 90.0, "hi": 120.0}, -1.0]})
    told = pyreadstat.read_sav(release_of(path), user_missing=True, output_format="dict")[1]
    assert {(each["lo"], each["hi"]) for each in told.missing_ranges["x"]} == {(95.0, 99.0), (-1.0, -1.0)}
    # There is no room for one more: the column becomes one of texts.
    out = release_of(path, x=["*", "95", "96", "97", "99", "-1"])
    assert pyreadstat.read_sav(out, output_format="dict")[0]["x"] == ["*", "95", "96", "97", "99", "-1"]


@pytest.mark.parametrize("version", [5, 8])
def test_missing_codes_of_sas_survive(tmp_path, version):
    path = sas(tmp_path / "a.xpt", version)
    table, _ = read_table(path)
    assert table["INCOME"].to_list()[:4] == ["1200.5", ".R", None, "-0.25"]
    out = release_of(path)
    assert read_table(out)[0].rows() == table.rows()
    assert (b"LIBV8" in out.read_bytes()) == (version == 8)
    assert out.read_bytes().count(b"R" + bytes(7)) == 1
    after, metadata = pyreadstat.read_xport(out, output_format="dict")
    assert after["INCOME"][:4] == [1200.5, None, None, -0.25]
    assert metadata.original_variable_types["BORN"] == "YYMMDD10"
    if version == 5:
        assert pd.read_sas(out, encoding="ascii")["INCOME"].tolist()[3] == -0.25


def test_missing_codes_of_sas_are_found_whatever_places_the_fields_claim(tmp_path):
    """Some files of SAS state another order than the fields have."""
    table = pl.DataFrame({"S": ["text"] * 3, "A": [1.0, None, 2.0], "B": [4.0, 5.0, None]})
    path = tmp_path / "a.xpt"
    pyreadstat.write_xport(table, path, file_format_version=8)
    data = bytearray(path.read_bytes())
    missing = data.index(b"\x2e" + bytes(7))
    data[missing] = ord("R")
    fields = data.index(b"HEADER RECORD*******NAM") + 80
    for number, place in enumerate((16, 0, 8)):
        data[fields + 140 * number + 84 : fields + 140 * number + 88] = place.to_bytes(4, "big")
    path.write_bytes(data)
    assert read_table(path)[0]["A"].to_list() == ["1", ".R", "2"]
    assert pl.read_parquet(as_parquet(path, tmp_path))["A"].to_list() == ["1", ".R", "2"]


def test_two_codes_of_one_label_stay_apart(tmp_path):
    table = pl.DataFrame({"x": [1, 2, 3, 4]}, schema={"x": pl.Int32})
    path = tmp_path / "a.dta"
    pyreadstat.write_dta(table, path, variable_value_labels={"x": {1: "other", 2: "other ", 3: "4", 9: "-"}})
    cells = ["other (1)", "other (2)", "4 (3)", "4"]
    assert read_table(path)[0]["x"].to_list() == cells
    assert pl.read_parquet(as_parquet(path, tmp_path))["x"].to_list() == cells
    assert pyreadstat.read_dta(release_of(path), output_format="dict")[0]["x"] == [1, 2, 3, 4]


def test_zsav_leaves_as_zsav(tmp_path):
    table, csv_format = read_table(spss(tmp_path / "a.sav"))
    out = tmp_path / "b.zsav"
    write_table(table, out, out, csv_format)
    assert out.read_bytes()[:4] == b"$FL3"
    assert read_table(out)[0].rows() == table.rows()


# --- whole jobs --------------------------------------------------------------------------------------


def test_a_table_of_pandas_with_categories_is_released_in_stata(tmp_path):
    """Pandas writes the file and reads the release; both are not pyreadstat."""
    frame = pd.DataFrame(
        {
            "age": [30, 31, 32, 33] * 3,
            "education": pd.Categorical(["none", "school"] * 6, ["none", "school", "Quetzal"]),
            "when": pd.Timestamp("2024-02-29 10:20:30"),
        }
    )
    frame.to_stata(tmp_path / "a.dta", write_index=False, data_label="Zoraide", version=118)
    release = ic.anonymize(tmp_path / "a.dta", SCHEMA, "k-anonymity:4", keep_order=True)
    release.write(tmp_path / "b.dta")
    result = pd.read_stata(tmp_path / "b.dta")
    assert result["education"].tolist() == frame["education"].tolist()
    assert list(result["education"].cat.categories) == ["none", "school"]
    assert result["when"].tolist() == frame["when"].tolist()
    assert set(result["age"]) <= {"31 or less", "32 or more", "*"}
    assert b"Quetzal" not in (tmp_path / "b.dta").read_bytes()


def test_means_leave_as_numbers(tmp_path):
    release = ic.anonymize(stata(tmp_path / "a.dta"), SCHEMA, "k-anonymity:4", output="mean", ends="exact")
    release.write(tmp_path / "b.dta")
    frame, said = pyreadstat.read_dta(tmp_path / "b.dta", output_format="dict")
    assert said.readstat_variable_types["age"] in ("double", "int32")
    assert sum(frame["age"]) == 3 * (30 + 31 + 32 + 33)


def test_a_null_value_makes_a_missing_code_missing(tmp_path):
    table = pl.DataFrame({"age": [30.0, 31.0, 32.0, 99.0] * 3})
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(
        table, path, variable_value_labels={"age": {99.0: "refused"}}, missing_ranges={"age": [99.0]}
    )
    schema = ic.Schema(quasi=["age"], null_values=["refused"])
    assert not ic.assess(path, schema, "k-anonymity:4").holds
    release = ic.anonymize(path, schema, "k-anonymity:3")
    release.write(tmp_path / "b.sav")
    assert ic.assess(tmp_path / "b.sav", schema, "k-anonymity:3").holds


# --- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".xpt"])
@pytest.mark.parametrize("name", ["1st", "a b", "x" * 70])
def test_a_name_that_such_files_cannot_have_is_told(tmp_path, suffix, name):
    out = tmp_path / f"out{suffix}"
    with pytest.raises(TableError, match=r"cannot hold this table: .*; rename the column"):
        write_table(pl.DataFrame({name: [1.0]}), out, out, CsvFormat())


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".xpt"])
def test_a_type_that_such_files_cannot_have_is_told(tmp_path, suffix):
    out = tmp_path / f"out{suffix}"
    with pytest.raises(TableError, match=r"column 'x' is of type List"):
        write_table(pl.DataFrame({"x": [[1]]}), out, out, CsvFormat())


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".xpt"])
def test_a_number_that_would_be_rounded_is_not_written(tmp_path, suffix):
    out = tmp_path / f"out{suffix}"
    with pytest.raises(TableError, match="column 'x' does not read back the same"):
        write_table(pl.DataFrame({"x": [2**53 + 1]}), out, out, CsvFormat())


def test_several_tables_in_a_transport_file_are_refused(tmp_path):
    data = sas(tmp_path / "a.xpt").read_bytes()
    (tmp_path / "b.xpt").write_bytes(data + data[240:])
    with pytest.raises(TableError, match="has several tables; save each to a file of its own"):
        read_table(tmp_path / "b.xpt")


def test_a_file_that_was_cut_off_is_refused(tmp_path):
    for path in (stata(tmp_path / "a.dta"), spss(tmp_path / "a.sav"), sas(tmp_path / "a.xpt")):
        data = path.read_bytes()
        for share in (0.2, 0.5, 0.8):
            path.write_bytes(data[: int(len(data) * share)])
            try:
                rows = read_table(path)[0].height
            except TableError:
                continue
            assert path.suffix == ".xpt", share  # It does not say how many rows it has.
            assert rows < 12


def test_columns_of_many_shapes_are_shown_as_their_values():
    assert shown([1.0, None], Column("number")).to_list() == [1, None]
    assert shown([0.5, None], Column("number")).to_list() == [0.5, None]
    assert shown([1.0, 2.0], Column("number", labels={3.0: "c"})).to_list() == [1, 2]
    assert shown([1.0, 0.25, None], Column("number", labels={1.0: " c "})).to_list() == ["c", "0.25", None]
    assert shown([dt.date(2020, 1, 1), "a"], Column("date")).to_list() == ["2020-01-01", ".a"]


@pytest.mark.parametrize("make", [stata, spss], ids=["stata", "spss"])
def test_a_hierarchy_of_codes_is_told_that_labels_are_read(tmp_path, make):
    path = make(tmp_path / f"people{'.dta' if make is stata else '.sav'}")
    words = "column 'education': 3 .*a code is read as its label, so list the labels in place of the codes"
    labels = ic.Hierarchy.from_paths([label, "*"] for label in EDUCATION.values())
    for tree in (
        ic.Hierarchy.from_paths([str(code), "*"] for code in EDUCATION),
        ic.Hierarchy.order(list("1237")),
    ):
        schema = ic.Schema(quasi={"education": tree}, unlisted="drop")
        with pytest.raises(ic.HierarchyError, match=words) as caught:
            ic.anonymize(path, ic.Policy(schema, [ic.KAnonymity(2)]))
        assert not any(label in str(caught.value) for label in EDUCATION.values())
    # The way out.
    schema = ic.Schema(quasi={"education": labels}, unlisted="drop")
    policy = ic.Policy(schema, [ic.KAnonymity(2)])
    ic.anonymize(path, policy).save(tmp_path / "out")
    # The verifier reads labels, too.
    codes = tmp_path / "codes.csv"
    codes.write_text("".join(f"{code};*\n" for code in EDUCATION))
    text = 'version = 1\nunlisted = "drop"\n[columns.education]\nrole = "quasi"\nhierarchy = "codes.csv"\n'
    (tmp_path / "codes.toml").write_text(text + '[[models]]\nmodel = "k-anonymity"\nk = 2\n')
    released = tmp_path / "out" / f"release{path.suffix}"
    with pytest.raises(ic.HierarchyError, match=r"no leaf of .*codes.csv; .*a code is read as its label"):
        ic.verify(released, tmp_path / "codes.toml", against=path)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "write", "codes"),
    [
        ("a.sav", spss, {"income": ["999", "refused"], "ward": ["not asked"]}),
        ("a.dta", stata, {"income": [".b", "refused"]}),
        ("a.xpt", sas, {"INCOME": [".R"]}),
    ],
)
def test_a_draft_names_the_missing_codes_that_occur(tmp_path, name, write, codes):
    table, csv_format = read_table(write(tmp_path / name))
    assert csv_format.missing_codes == codes
    draft = draft_policy(table, name, missing_codes=csv_format.missing_codes)
    columns = tomllib.loads(draft.text)["columns"]
    assert {name: each["missing"] for name, each in columns.items() if "missing" in each} == codes
