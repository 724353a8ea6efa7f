"""Count tables from end to end: counted, protected, audited, written, and checked again from the files."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import InfeasibleError, ParameterError, TableError, VerdictError
from incrowd.core.io.files import read_table
from incrowd.engines import engine_for
from incrowd.release.jobs.make.tabulate import rules_of, sentence_of
from incrowd.release.tables.audit import intervals
from incrowd.release.tables.cells import Linked
from incrowd.release.tables.counting import count_cells
from incrowd.release.tables.key_table import threshold_rounding
from incrowd_verify.count_tables import RawTable, verify_tables

SCHEMA = ic.Schema(
    quasi={
        "area": ic.Hierarchy.from_nested({"*": {"north": ["a", "b"], "south": ["c", "d", "e"]}}),
        "age": ic.Hierarchy.intervals(10, 20),
        "sex": ic.Hierarchy.flat(),
    },
    sensitive=["ill"],
    insensitive=["cost"],
    person="who",
)
KEY = "5f0c8e7a1b9d3c62e4a87f15d02b6c93ab41e8d7f6209c5b3e1a7d84c09f62b5"
AREA = ic.CountTable("area-ill", rows=["area"], columns=["ill"], threshold=4)
AGE = ic.CountTable("age-ill", rows=["age:1"], columns=["ill"], threshold=4)


def people(seed=0, rows=400):
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "who": [f"p{number}" for number in range(rows)],
            "area": draw.choice(list("abcde"), rows, p=[0.4, 0.3, 0.2, 0.07, 0.03]),
            "age": draw.integers(20, 60, rows),
            "sex": draw.choice(["f", "m"], rows),
            "ill": draw.choice(["flu", "gout", "hiv", "none"], rows, p=[0.3, 0.1, 0.02, 0.58]),
            "cost": draw.integers(1, 1000, rows),
        }
    )


def small(release, table, layout):
    """The published counts of fewer people than the threshold."""
    frame = release[layout.name]
    quantity = frame.columns[-2]
    return frame.filter(
        pl.col(quantity).is_not_null() & (pl.col(quantity) > 0) & (pl.col(quantity) < layout.threshold)
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(4))
def test_no_small_count_is_published_or_told(tmp_path, seed):
    table = people(seed)
    release = ic.tabulate(table, ic.Policy(SCHEMA), [AREA, AGE])
    for layout in (AREA, AGE):
        assert small(release, table, layout).is_empty()
    assert release.verdict.holds
    release.save(tmp_path / "out", kinds=["csv", "parquet"])
    checked = verify_tables(tmp_path / "out")
    assert checked.ok
    assert checked.narrow == {"area-ill": 0, "age-ill": 0}
    assert checked.hidden == sum(
        len(each.frame.filter(pl.col("mark") == "x")) for each in release.tables
    ) - shared(release)


def shared(release):
    """Hidden cells of both tables: those of the sicknesses alone."""
    first, second = (
        {row[1] for row in each.frame.filter(pl.col("mark") == "x").rows() if row[0] == "Total"}
        for each in release.tables
    )
    assert first == second
    return len(first)


def test_what_is_shown_is_true():
    table = people(1)
    release = ic.tabulate(table, ic.Policy(SCHEMA), [AREA])
    for area, ill, count, mark in release["area-ill"].rows():
        areas = {"Total": "abcde", "north": "ab", "south": "cde"}.get(area, area)
        rows = table.filter(pl.col("area").is_in([*areas]), (pl.col("ill") == ill) | (ill == "Total"))
        assert (count == len(rows)) if mark == "" else count is None


def test_a_cell_that_the_search_leaves_open_is_told_by_the_audit(tmp_path):
    """With another cell shown, the audit and `verify` both say that the tables are broken."""
    release = ic.tabulate(people(0), ic.Policy(SCHEMA), [AREA])
    release.save(tmp_path / "out")
    place = tmp_path / "out/area-ill.csv"
    frame = pl.read_csv(place)
    true = {
        (area, ill): len(
            people(0).filter(
                pl.col("area").is_in([*{"Total": "abcde", "north": "ab", "south": "cde"}.get(area, area)]),
                (pl.col("ill") == ill) | (ill == "Total"),
            )
        )
        for area, ill in frame.select("area", "ill").rows()
    }
    hidden = frame.with_row_index().filter(pl.col("mark") == "x")
    row, area, ill = (
        hidden.filter(
            pl.struct("area", "ill").map_elements(
                lambda each: true[each["area"], each["ill"]] >= 4, pl.Boolean
            )
        )
        .select("index", "area", "ill")
        .row(0)
    )
    rows = frame.with_row_index().with_columns(
        people=pl.when(pl.col("index") == row).then(true[area, ill]).otherwise("people"),
        mark=pl.when(pl.col("index") == row).then(pl.lit("")).otherwise("mark"),
    )
    rows.drop("index").write_csv(place)
    with pytest.raises(TableError, match="was changed after it was made"):
        verify_tables(tmp_path / "out")
    manifest = json.loads((tmp_path / "out/tables.json").read_text())
    del manifest["files"]["area-ill.csv"]
    (tmp_path / "out/tables.json").write_text(json.dumps(manifest))
    checked = verify_tables(tmp_path / "out")
    assert not checked.ok
    assert checked.verdict.state == "broken"
    assert checked.narrow["area-ill"] > 0


KEYED = {"protect": "cell-key", "key": "env:TABLE_KEY"}
WAYS = {
    "controlled": {"protect": "round"},
    "random": {"protect": "round", "rounding": "random", "key": "env:TABLE_KEY"},
    "small": {"protect": "round", "rounding": "small"},
    "cell-key": KEYED,
    "10-5": {"protect": "cell-key", "key_table": "10-5"},
    "key table": KEYED | {"key_table": "file:office.csv"},
}


@pytest.mark.few(2)
@pytest.mark.parametrize("way", WAYS)
def test_noise_and_rounding(tmp_path, monkeypatch, way):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TABLE_KEY", KEY)
    if way == "key table":
        threshold_rounding(8, 5).to_frame().write_csv("office.csv")
    layouts = [
        ic.CountTable(name, rows=rows, columns=["ill"], **WAYS[way])
        for name, rows in (("one", ["area"]), ("two", ["sex"]))
    ]
    if way == "small":
        # Counts that are shown as they are tell of small ones in the table beside.
        with pytest.raises(VerdictError, match=r"Table one: 1 cell can be computed .* a larger base"):
            ic.tabulate(people(2), ic.Policy(SCHEMA), layouts)
        layouts = [layouts[0], ic.CountTable("two", rows=["sex"], **WAYS[way])]
    release = ic.tabulate(people(2), ic.Policy(SCHEMA), layouts)
    one, two = release["one"], release["two"]
    totals = [
        frame.filter(pl.col(name) == "Total")["people"].to_list()
        for frame, name in ((one, "area"), (two, "sex"))
    ]
    # The same people have the same count in every table, unless each table is rounded by itself.
    assert totals[0] == totals[1] or way == "small"
    if way in ("controlled", "random", "10-5"):
        assert (one["people"] % 5 == 0).all()
    assert not one["people"].is_between(1, 4).any() or way == "cell-key"
    if way in ("controlled", "small"):
        parts = one.filter(pl.col("area").is_in(["north", "south"]), pl.col("ill") == "Total")["people"].sum()
        assert parts == totals[0][0]
    again = ic.tabulate(people(2).reverse(), ic.Policy(SCHEMA), layouts)
    assert way in ("controlled", "small") or again["one"].equals(one)
    release.save(tmp_path / "out", kinds=["csv", "xlsx"])
    assert verify_tables(tmp_path / "out").ok
    assert "office" not in (tmp_path / "out/tables.json").read_text()


def test_the_rule_of_an_office_needs_no_key_and_no_people():
    """Counts of 9 become 0, 11 becomes 10, and 13 becomes 15."""
    rows = pl.DataFrame({"age": [20] * 9 + [21] * 10 + [22] * 11 + [23] * 13})
    policy = ic.Policy(ic.Schema(quasi={"age": ic.Hierarchy.flat()}))
    layout = ic.CountTable("t", rows=["age"], protect="cell-key", key_table="10-5")
    assert ic.tabulate(rows, policy, [layout])["t"].to_series(1).to_list() == [45, 0, 10, 10, 15]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("pcv,ckey\n1,0\n", "lacks pvalue"),
        ("pcv,ckey,pvalue\n1,0,0\n", "each pcv 1..750"),
        (None, "cannot be read"),
    ],
)
def test_a_wrong_key_table_is_named(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TABLE_KEY", KEY)
    if content is not None:
        (tmp_path / "office.csv").write_text(content)
    layout = ic.CountTable("t", rows=["area"], **WAYS["key table"])
    with pytest.raises(ParameterError, match=rf"table t: .*office\.csv.*{message}"):
        ic.tabulate(people(2), ic.Policy(SCHEMA), [layout])


def test_small_counts_are_not_rounded_where_totals_are_no_sums():
    rows = pl.DataFrame({"who": ["a", "a", "b"] * 9, "ill": ["flu", "gout", "flu"] * 9})
    schema = ic.Schema(sensitive=["ill"], quasi={}, person="who")
    layout = ic.CountTable("t", rows=["ill"], threshold=2, **WAYS["small"])
    with pytest.raises(ParameterError, match="people are in several codes of 'ill'"):
        ic.tabulate(rows, ic.Policy(schema), [layout])


def test_a_sum_is_protected_from_its_largest_part(tmp_path):
    table = people(3).with_columns(cost=pl.when(pl.col("who") == "p7").then(10**6).otherwise("cost"))
    layout = ic.CountTable("cost", rows=["area"], columns=["sex"], sum="cost", p_percent=15)
    release = ic.tabulate(table, ic.Policy(SCHEMA), [layout])
    [area, sex] = table.filter(pl.col("who") == "p7").select("area", "sex").row(0)
    hidden = release["cost"].filter(pl.col("mark") == "x")
    assert (area, sex) in hidden.select("area", "sex").rows()
    release.save(tmp_path / "out")
    assert verify_tables(tmp_path / "out").ok


def test_people_with_several_rows_are_counted_once(tmp_path):
    table = pl.concat([people(4), people(4).with_columns(ill=pl.lit("gout"))])
    release = ic.tabulate(table, ic.Policy(SCHEMA), [AREA])
    [published] = release.tables
    assert published.overlapping == ("ill",)
    frame = release["area-ill"]
    total = frame.filter((pl.col("area") == "Total") & (pl.col("ill") == "Total"))["people"].item()
    assert total == 400
    release.save(tmp_path / "out")
    assert verify_tables(tmp_path / "out").ok


def test_no_sum_holds_where_people_are_in_several_codes_of_every_column(tmp_path):
    """Then no sum says that another cell must be hidden, and small cells alone are."""
    table = pl.concat([people(4), people(5)])
    layout = ic.CountTable("t", rows=["area"], columns=["ill"], threshold=4)
    release = ic.tabulate(table, ic.Policy(SCHEMA), [layout])
    [published] = release.tables
    assert published.overlapping == ("area", "ill")
    assert small(release, table, layout).is_empty()
    release.save(tmp_path / "out")
    assert verify_tables(tmp_path / "out").ok


def test_missing_values_have_a_code_of_their_own():
    table = people(0).with_columns(
        ill=pl.when(pl.col("sex") == "f").then("ill"),
        sex=pl.when(pl.col("age") > 40).then(pl.lit("<missing>")).otherwise("sex"),
    )
    table = table.with_columns(sex=pl.when(pl.col("age") != 30).then("sex"))
    layouts = [ic.CountTable("ill", rows=["ill"]), ic.CountTable("sex", rows=["sex"])]
    release = ic.tabulate(table, ic.Policy(SCHEMA), layouts)
    counts = dict(release["ill"].select("ill", "people").rows())
    assert counts["<missing>"] == table["ill"].null_count()
    # A text that is called so is another code.
    counts = dict(release["sex"].select("sex", "people").rows())
    assert {"<missing>", "<missing>_"} < counts.keys()


def test_a_workbook_has_a_sheet_each_with_notes(tmp_path):
    fastexcel = pytest.importorskip("fastexcel")
    release = ic.tabulate(people(0), ic.Policy(SCHEMA), [AREA, AGE])
    release.save(tmp_path / "out", kinds=["xlsx"])
    book = fastexcel.read_excel(tmp_path / "out/tables.xlsx")
    assert book.sheet_names == ["area-ill", "age-ill"]
    texts = [str(cell) for row in book.load_sheet(0, header_row=None).to_polars().rows() for cell in row]
    assert "x" in texts
    assert any("fewer than 4 people" in text for text in texts)
    assert "=1+1" not in texts


def test_codes_that_a_spreadsheet_would_run_have_a_sign_in_front(tmp_path):
    codes = ["=1+1", "'-x", "-5", "plain"]
    rows = pl.DataFrame({"code": codes * 9})
    policy = ic.Policy(ic.Schema(quasi={"code": ic.Hierarchy.flat()}))
    release = ic.tabulate(rows, policy, [ic.CountTable("t", rows=["code"])])
    release.save(tmp_path / "safe", escape_formulas=True)
    code = pl.read_csv(tmp_path / "safe/t.csv", infer_schema=False)["code"].to_list()
    assert sorted(code) == sorted(["Total", "'=1+1", "''-x", "-5", "plain"])
    assert verify_tables(tmp_path / "safe").ok
    release.save(tmp_path / "plain")
    assert "'=1+1" not in (tmp_path / "plain/t.csv").read_text()
    assert "escaped" not in (tmp_path / "plain/tables.json").read_text()


def test_a_policy_file_has_tables(tmp_path):
    policy = ic.Policy(SCHEMA, tables=(AREA, AGE))
    policy.write(tmp_path / "policy.toml")
    again = ic.Policy.read(tmp_path / "policy.toml")
    assert again.tables == (AREA, AGE)
    one, other = ic.tabulate(people(0), policy), ic.tabulate(people(0), again)
    assert one["age-ill"].equals(other["age-ill"])


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ((), "no table"),
        ((AREA, AREA), "two tables have one name"),
        ((AREA, ic.CountTable("r", rows=["sex"], protect="round")), "protect both alike"),
    ],
)
def test_a_wrong_policy_is_refused(tables, message):
    with pytest.raises(ParameterError, match=message):
        ic.tabulate(people(0), ic.Policy(SCHEMA, tables=tables))


def test_a_table_of_few_people_is_hidden_whole():
    release = ic.tabulate(people(0, rows=3), ic.Policy(SCHEMA), [ic.CountTable("t", rows=["area"])])
    assert release["t"].filter(pl.col("people") > 0).is_empty()


# --- the report -------------------------------------------------------------------------------------------


def test_a_report_tells_no_more_than_the_tables(tmp_path):
    """The page is the same for any suppressed cells: small cells and costs do not matter."""
    release = ic.tabulate(people(0), ic.Policy(SCHEMA), [AREA, AGE])
    others = [replace(each, primary=~each.primary, cost=each.cost[::-1] * 7) for each in release.tables]
    release.report(tmp_path / "one.html")
    replace(release, tables=tuple(others)).report(tmp_path / "other.html")
    page = (tmp_path / "one.html").read_text()
    assert page == (tmp_path / "other.html").read_text()
    assert page.count('title="not shown"') == sum(int(each.hidden.sum()) for each in release.tables) > 0
    assert "primary" not in page.partition("</style>")[2]
    assert not re.search(r"(src|href)=|@import|url\(http|<script", page)


def test_a_suppressed_value_is_on_no_page(tmp_path):
    table = people(3).with_columns(cost=pl.when(pl.col("who") == "p7").then(7_654_321).otherwise("cost"))
    layout = ic.CountTable("cost", rows=["area"], columns=["sex"], sum="cost", p_percent=15, cost="values")
    release = ic.tabulate(table, ic.Policy(SCHEMA), [layout])
    frame, [area, sex] = release["cost"], table.filter(pl.col("who") == "p7").select("area", "sex").row(0)
    [planted] = table.filter(pl.col("area") == area, pl.col("sex") == sex).select(pl.sum("cost")).row(0)
    assert planted not in frame["sum of cost"].to_list()
    release.report(tmp_path / "report.html")
    release.report(tmp_path / "internal.html", internal=True)
    total = int(frame["sum of cost"].max())
    for page in (*(path.read_text() for path in tmp_path.glob("*.html")), release._repr_html_()):
        assert f"{total:,}" in page
        for value in (planted, 7_654_321):
            assert not {f"{value:,}", str(value)} & set(re.findall(r"[\d,]+", page))
    assert "within 15%" in (tmp_path / "report.html").read_text()


def test_an_internal_report_says_so_and_what_each_cell_costs(tmp_path):
    layouts = [replace(AREA, cost="cells"), replace(AGE, cost="people")]
    release = ic.tabulate(people(0), ic.Policy(SCHEMA), layouts)
    release.report(tmp_path / "report.html", internal=True, recipient="The <press>", purpose="Yearly")
    page = (tmp_path / "report.html").read_text()
    assert "INTERNAL: this report says which suppressed cells are unsafe" in page
    primary = sum(int((each.primary & each.hidden).sum()) for each in release.tables)
    assert page.count("<small>primary</small>") == primary > 0
    assert re.search(r"<small>secondary\n1 cell</small>", page)
    assert re.search(r"<small>secondary\n\d+\.\d% of people</small>", page)
    assert "The &lt;press&gt;" in page
    with pytest.raises(ParameterError, match=r"written as \.html"):
        release.report(tmp_path / "report.pdf")


def test_codes_are_texts_on_a_page_and_darker_cells_are_larger():
    table = people(0).with_columns(sex=pl.lit("<script>"))
    layout = ic.CountTable("t", rows=["sex", "area:1"])
    page = ic.tabulate(table, ic.Policy(SCHEMA), [layout])._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    shades = {int(value): int(shade) for shade, value in re.findall(r'class="s(\d)">(\d+)<', page)}
    assert len(shades) == 2
    assert shades[max(shades)] == 8 > shades[min(shades)]


@pytest.mark.gated
def test_codes_that_reach_people_wait_for_an_answer(tmp_path):
    mail = pl.when(pl.col("sex") == "f").then(pl.lit("ann.miller@clinic.de"))
    table = people(0).with_columns(ill=mail.otherwise(pl.lit("flu")))
    layout = ic.CountTable("t", rows=["area"], columns=["ill"])
    with pytest.raises(VerdictError, match=r"personal-text.*ill") as refused:
        ic.tabulate(table, ic.Policy(SCHEMA), [layout])
    assert "ann" not in str(refused.value)
    written = ic.tabulate(table, ic.Policy(SCHEMA), [layout], unanswered="write")
    assert written.verdict.state == "open"
    accepted = [
        ic.Accepted(point, "ill", "a desk, and nobody's own") for point in ("personal-text", "free-text")
    ]
    release = ic.tabulate(table, ic.Policy(SCHEMA, accepted=tuple(accepted)), [layout])
    assert release.verdict.holds
    assert len(release.verdict.accepted) == 2


@pytest.mark.gated
def test_the_finest_codes_of_a_column_are_searched_whichever_table_comes_first():
    desks = {"*": {"north": ["ann@clinic.de"], "south": ["bob@clinic.de"]}}
    schema = ic.Schema(quasi={"desk": ic.Hierarchy.from_nested(desks)})
    table = pl.DataFrame({"desk": ["ann@clinic.de", "bob@clinic.de"] * 20})
    groups, all_codes = ic.CountTable("groups", rows=["desk:1"]), ic.CountTable("all", rows=["desk"])
    assert ic.tabulate(table, ic.Policy(schema), [groups]).verdict.holds
    with pytest.raises(VerdictError, match="personal-text"):
        ic.tabulate(table, ic.Policy(schema), [groups, all_codes])


@pytest.mark.gated
def test_a_group_that_is_called_by_a_person_waits_for_an_answer():
    desks = {"*": {"ann@clinic.de": {"one": ["north", "south"]}, "two": {"three": ["east"]}}}
    schema = ic.Schema(quasi={"desk": ic.Hierarchy.from_nested(desks)})
    table = pl.DataFrame({"desk": ["north", "south", "east"] * 20})
    with pytest.raises(VerdictError, match=r"personal-text.*desk") as refused:
        ic.tabulate(table, ic.Policy(schema), [ic.CountTable("all", rows=["desk"])])
    assert "66.7%" in str(refused.value)


def test_names_and_secrets_are_in_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TABLE_KEY", KEY)
    layout = ic.CountTable("t", rows=["area"], protect="cell-key", key="env:TABLE_KEY")
    ic.tabulate(people(0), ic.Policy(SCHEMA), [layout]).save(
        tmp_path / "out", kinds=["csv", "xlsx", "parquet"]
    )
    for file in (tmp_path / "out").iterdir():
        content = file.read_bytes()
        assert b"p17" not in content
        assert b"TABLE_KEY" not in content
        assert KEY.encode() not in content


# --- the ledger -------------------------------------------------------------------------------------------


def hidden_of(release, name):
    return {row[:2] for row in release[name].filter(pl.col("mark") == "x").rows()}


def test_later_tables_of_the_same_data_are_protected_with_earlier_ones(tmp_path):
    """A published table is known: the union of both tables is audited, and stays hidden."""
    table, ledger = people(1), ic.Ledger.init(tmp_path / "ledger")
    first = ic.tabulate(table, ic.Policy(SCHEMA), [AREA], earlier=ledger.tables_of(table))
    ledger.add(first, table, recipient="the press")
    second = ic.tabulate(table, ic.Policy(SCHEMA), [AGE], earlier=ledger.tables_of(table))
    ledger.add(second, table, recipient="the press")
    # The margin of sicknesses is in both tables, and is shown or hidden in both.
    totals = [
        {ill for code, ill in hidden_of(each, name) if code == "Total"}
        for each, name in ((first, "area-ill"), (second, "age-ill"))
    ]
    assert totals[0] == totals[1]
    joined = Linked.of_tables([each.tables[0].axes for each in (first, second)])
    low, high = np.zeros(joined.size), np.full(joined.size, np.inf)
    for each, place in zip((first, second), joined.cells, strict=True):
        values = each.tables[0].values
        low[place] = np.where(np.isnan(values), 1, values)
        high[place] = np.where(np.isnan(values), np.inf, values)
    cells = np.flatnonzero(low < high)
    assert (intervals(joined, low, high, cells).widths >= 4).all()
    assert ledger.show()["command"].to_list() == ["tabulate", "tabulate"]
    assert ledger.verify() is None


def _as_csv(table, path):
    table.write_csv(path / "table.csv", line_terminator="\r\n")
    return read_table(path / "table.csv")[0], path / "table.csv"


def _as_parquet(table, path):
    table.sample(fraction=1, shuffle=True, seed=2).write_parquet(path / "table.parquet")
    return pl.read_parquet(path / "table.parquet"), path / "table.parquet"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "again",
    [
        lambda table, path: (table.sort("ill", "age"), None),
        lambda table, path: (table.select(reversed(table.columns)).to_pandas(), None),
        lambda table, path: (table.with_columns(new=pl.lit("x")), None),
        _as_csv,
        _as_parquet,
    ],
    ids=["sorted", "pandas", "further column", "csv", "parquet"],
)
def test_the_same_records_in_another_form_are_the_same_data(tmp_path, again):
    """The cells hidden in the earlier table stay hidden, though no byte of the input is the same."""
    table, ledger = people(1), ic.Ledger.init(tmp_path / "ledger")
    first = ic.tabulate(table, ic.Policy(SCHEMA), [AREA])
    ledger.add(first, table, recipient="the press")
    other, file = again(table, tmp_path)
    [earlier] = ledger.tables_of(other, file)
    assert earlier["layout"]["name"] == AREA.name
    fewer = other.head(len(other) - 7)
    assert ledger.tables_of(fewer) == []
    assert ledger.tables_of(table.drop("area")) == []
    second = ic.tabulate(other, ic.Policy(SCHEMA), [AGE], earlier=[earlier])
    totals = [
        {ill for code, ill in hidden_of(each, name) if code == "Total"}
        for each, name in ((first, "area-ill"), (second, "age-ill"))
    ]
    assert totals[0] == totals[1]


def test_a_changed_table_of_the_ledger_is_told(tmp_path):
    table, ledger = people(1), ic.Ledger.init(tmp_path / "ledger")
    ledger.add(
        ic.tabulate(table, ic.Policy(SCHEMA), [AREA], earlier=ledger.tables_of(table)), table, recipient="a"
    )
    [file] = (tmp_path / "ledger/people").glob("*.json")
    file.write_text(file.read_text().replace("area-ill", "area-all"))
    assert "tables of entry 1 were changed" in ledger.verify()


def test_tables_of_other_codes_or_ways_are_refused(tmp_path):
    table, ledger = people(1), ic.Ledger.init(tmp_path / "ledger")
    ledger.add(
        ic.tabulate(table, ic.Policy(SCHEMA), [AREA], earlier=ledger.tables_of(table)), table, recipient="a"
    )
    rounded = ic.CountTable("r", rows=["sex"], protect="round")
    with pytest.raises(ParameterError, match="protect = 'suppress'"):
        ic.tabulate(table, ic.Policy(SCHEMA), [rounded], earlier=ledger.tables_of(table))
    other = SCHEMA.with_attributes(
        ic.Attribute("area", "quasi") if each.name == "area" else each for each in SCHEMA.attributes
    )
    with pytest.raises(ParameterError, match="with other codes"):
        ic.tabulate(table, ic.Policy(other), [AGE], earlier=ledger.tables_of(table))


def test_hidden_zeros_of_one_table_widen_no_cell_of_another(tmp_path):
    """With shown zeros, a hidden cell is 1 or more, beside any other table."""
    ages = [20] * 1 + [21] * 5 + [22] * 50 + [23] * 60
    rows = pl.DataFrame({"age": ages, "sex": ["f", "m"] * 58})
    layouts = [ic.CountTable("ages", rows=["age"]), ic.CountTable("sexes", rows=["sex"], zeros="hide")]
    policy = ic.Policy(ic.Schema(quasi={"age": ic.Hierarchy.flat(), "sex": None}), tables=layouts)
    release = ic.tabulate(rows, policy)
    release.save(tmp_path / "out")
    assert verify_tables(tmp_path / "out").narrow == {"ages": 0, "sexes": 0}
    # 1 and 5 would be known to be 1 to 5 each.
    assert release["ages"].filter(pl.col("mark") == "x")["age"].to_list() != ["20", "21"]


def test_a_sum_of_nothing_of_one_person_is_hidden():
    rows = pl.DataFrame({"age": [20] + [21] * 6 + [22] * 6 + [23] * 6, "cost": [0] + [5, 4, 3, 5, 4, 3] * 3})
    schema = ic.Schema(quasi={"age": ic.Hierarchy.flat()}, insensitive=["cost"])
    release = ic.tabulate(
        rows, ic.Policy(schema), [ic.CountTable("t", rows=["age"], sum="cost", threshold=3)]
    )
    assert "20" in release["t"].filter(pl.col("mark") == "x")["age"].to_list()


def test_two_sums_of_nothing_do_not_tell_each_other(tmp_path):
    """Hidden together, two sums of 0 below a total that the others make up are 0 each."""
    rows = pl.DataFrame(
        {"age": [20, 21] + [22] * 6 + [23] * 6, "cost": [0, 0, *[5, 4, 3, 5, 4, 3] * 2]},
    )
    schema = ic.Schema(quasi={"age": ic.Hierarchy.flat()}, insensitive=["cost"])
    layout = ic.CountTable("t", rows=["age"], sum="cost", threshold=3)
    release = ic.tabulate(rows, ic.Policy(schema), [layout])
    assert release["t"].filter(pl.col("mark") == "x").height == 3
    release.save(tmp_path / "out")
    assert verify_tables(tmp_path / "out").ok
    # Whoever shows the third one tells the two.
    frame = release["t"].with_columns(
        pl.when(pl.col("age").is_in(["22", "23"]))
        .then(pl.lit(24.0))
        .otherwise("sum of cost")
        .alias("sum of cost"),
        pl.when(pl.col("age").is_in(["22", "23"])).then(None).otherwise("mark").alias("mark"),
    )
    frame.write_csv(tmp_path / "out" / "t.csv")
    manifest = json.loads((tmp_path / "out" / "tables.json").read_text())
    digest = hashlib.sha256((tmp_path / "out" / "t.csv").read_bytes()).hexdigest()
    manifest["files"]["t.csv"]["sha256"] = digest
    (tmp_path / "out" / "tables.json").write_text(json.dumps(manifest))
    assert verify_tables(tmp_path / "out").narrow == {"t": 2}


def test_a_total_of_nothing_is_hidden_with_a_small_part():
    """A shown total of 0 tells each part, and nobody contributes to any."""
    rows = pl.DataFrame({"age": [20, 21, 21, 21], "cost": [0] * 4})
    schema = ic.Schema(quasi={"age": ic.Hierarchy.flat()}, insensitive=["cost"])
    layout = ic.CountTable("t", rows=["age"], sum="cost", threshold=3)
    release = ic.tabulate(rows, ic.Policy(schema), [layout])
    assert release["t"].filter(pl.col("mark") == "x")["age"].to_list() == ["Total", "20", "21"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rows": 5}, "rows names columns"),
        ({"rows": True}, "rows names columns"),
        ({"rows": {"area": 1}}, "rows names columns"),
        ({"rows": [["area"]]}, "rows names columns"),
        ({"rows": "area", "columns": [5]}, "columns names columns"),
        ({"rows": "area", "columns": [None]}, "columns names columns"),
        ({"rows": "area", "sum": ["cost"]}, "sum is one text"),
        ({"rows": "area", "key": 5}, "key is one text"),
        ({"rows": "area", "key_table": 5, "protect": "cell-key"}, "key_table is one text"),
    ],
)
def test_a_setting_of_another_type_is_named(settings, message):
    with pytest.raises(ParameterError, match=f"table t: {message}"):
        ic.CountTable.from_settings({"name": "t", **settings})


def test_a_weight_is_not_passed_over_in_silence():
    """15 people for a weighted 285.75: a count of the sample would be read as a count of the population."""
    table = people(1).with_columns(weight=pl.lit(19.05))
    weighted = ic.Schema(quasi=["area", "sex"], sensitive=["ill"], weights="weight", unlisted="drop")
    with pytest.raises(ParameterError, match="'weight' is the weight of each row"):
        ic.tabulate(table, ic.Policy(weighted), [AREA])


@pytest.mark.parametrize("text", ["[" * 99_999, '{"format": "incrowd tables", "files": ' + "[" * 99_999])
def test_a_manifest_of_brackets_is_none(tmp_path, text):
    (tmp_path / "tables.json").write_text(text)
    with pytest.raises(TableError, match="is no manifest of count tables"):
        verify_tables(tmp_path)


def _people(number, columns):
    draw = random.Random("people")
    return pl.DataFrame(
        [{"who": n, **{name: draw.choice(codes) for name, codes in columns.items()}} for n in range(number)]
    )


def _policy(*quasi, **settings):
    return ic.Policy(
        ic.Schema(person=["who"], quasi={name: ic.Hierarchy.flat() for name in quasi}, **settings)
    )


def test_a_column_and_its_copy_are_one_system():
    rows = _people(60, {"g": "abcd", "h": "xyz"}).with_columns(copy=pl.col("g"))
    tables = [
        ic.CountTable("one", rows=["g"], columns=["h"], cost="cells"),
        ic.CountTable("two", rows=["copy"], columns=["h"], cost="people"),
    ]
    release = ic.tabulate(rows, _policy("g", "h", "copy"), tables)
    assert release["one"]["mark"].to_list() == release["two"]["mark"].to_list()
    assert (release["one"]["mark"] == "x").any()


def test_a_column_that_another_determines_is_a_group_of_it():
    """The table of areas may not hide in another way than the towns of an area tell."""
    rows = _people(300, {"town": "abcdef", "ill": ["flu", "flu", "flu", "cold", "cold", "cold", "hiv"]})
    rows = rows.with_columns(area=pl.col("town").replace_strict(dict(zip("abcdef", "NNSSSS", strict=True))))
    towns = ic.CountTable("towns", rows=["town"], columns=["ill"], threshold=6)
    areas = ic.CountTable("areas", rows=["area"], columns=["ill"], threshold=6, cost="cells")
    nested = ic.Hierarchy.from_nested({"*": {"N": ["a", "b"], "S": ["c", "d", "e", "f"]}})
    whole = ic.Policy(ic.Schema(person=["who"], quasi={"town": nested, "ill": ic.Hierarchy.flat()}))
    release = ic.tabulate(rows, _policy("town", "area", "ill"), [towns, areas], unanswered="write")
    cells = {(town, ill): mark for town, ill, _, mark in release["towns"].rows()}
    cells |= {(area, ill): mark for area, ill, _, mark in release["areas"].rows()}
    one = ic.tabulate(rows, whole, [ic.CountTable("t", rows=["town"], columns=["ill"], threshold=6)])
    axes = [one.tables[0].axes]
    linked = Linked.of_tables(axes)
    places = [
        linked.cells[0][n]
        for n, codes in enumerate(itertools.product(*(axis.codes for axis in axes[0])))
        if cells[codes] == "x"
    ]
    true = count_cells(engine_for(rows, starred=True), whole.schema, towns).values
    low, high = true.copy(), true.copy()
    low[places], high[places] = 1, np.inf
    assert len(places) > 3
    assert (intervals(linked, low, high, np.array(places)).widths >= 6).all()


def test_people_and_records_are_one_where_nobody_has_two():
    rows = _people(80, {"g": "abcde", "h": "xyzw"})
    tables = [
        ic.CountTable("people", rows=["g"], columns=["h"], cost="people"),
        ic.CountTable("records", rows=["g"], columns=["h"], count="records", cost="cells"),
    ]
    release = ic.tabulate(rows, _policy("g", "h"), tables)
    assert release["people"]["mark"].to_list() == release["records"]["mark"].to_list()
    with pytest.raises(ParameterError, match="protect both alike"):
        ic.tabulate(rows, _policy("g", "h"), [tables[0], replace(tables[1], protect="round")])


def test_the_people_without_a_code_are_a_cell():
    """Of 23 people 20 have drug A, so 3 have none."""
    drugs = {"A": range(1, 21), "B": [*range(4, 21), 21], "C": range(15, 24)}
    rows = pl.DataFrame([{"who": who, "drug": drug} for drug, people in drugs.items() for who in people])
    release = ic.tabulate(rows, _policy("drug"), [ic.CountTable("t", rows=["drug"])])
    counts = dict(zip(release["t"]["drug"], release["t"]["people"], strict=True))
    assert counts["Total"] is None or counts["A"] is None


def test_the_people_of_an_area_without_a_town_are_a_cell():
    """Of 23 people in the north 20 are in n1, so 3 are not."""
    towns = {"n1": range(20), "n2": range(10, 23), "s1": range(30, 60), "s2": range(40, 70)}
    rows = [{"who": who, "town": town, "area": town[0]} for town, people in towns.items() for who in people]
    tables = [ic.CountTable("towns", rows=["town"]), ic.CountTable("areas", rows=["area"])]
    release = ic.tabulate(pl.DataFrame(rows), _policy("town", "area"), tables)
    n1 = release["towns"].filter(pl.col("town") == "n1")["people"].item()
    assert n1 is None or release["areas"].filter(pl.col("area") == "n")["people"].item() is None


def test_sums_that_counts_tell_are_a_point(tmp_path):
    rows = _people(60, {"g": "ab", "ill": [0, 1]})
    tables = [
        ic.CountTable("sums", rows=["g"], sum="ill"),
        ic.CountTable("counts", rows=["g"], columns=["ill"]),
    ]
    release = ic.tabulate(rows, _policy("g", sensitive=["ill"]), tables, unanswered="write")
    assert [point.name for point in release.verdict.points] == ["linked-columns"]
    release.save(tmp_path / "out")
    assert verify_tables(tmp_path / "out").verdict.points == release.verdict.points
    ones = rows.with_columns(one=pl.lit(2.0))
    tables = [ic.CountTable("sums", rows=["g"], sum="one"), ic.CountTable("counts", rows=["g"])]
    release = ic.tabulate(ones, _policy("g", sensitive=["one"]), tables, unanswered="write")
    assert [point.name for point in release.verdict.points] == ["linked-columns"]


@pytest.mark.gated
def test_a_table_of_which_much_is_hidden_has_a_point_with_what_helps(tmp_path):
    rows = _people(250, {"g": "abcdefghij", "h": "klmnopqrst"})
    layout = ic.CountTable("t", rows=["g"], columns=["h"])
    release = ic.tabulate(rows, _policy("g", "h"), [layout], unanswered="write")
    [point] = release.verdict.points
    assert (point.name, point.state) == ("much-suppressed", "open")
    assert "Without h" in point.way_out or "Without g" in point.way_out
    release.save(tmp_path / "out")
    [same] = verify_tables(tmp_path / "out").verdict.points
    assert (same.name, same.text) == (point.name, point.text)
    with pytest.raises(VerdictError, match="not shown"):
        ic.tabulate(rows, _policy("g", "h"), [layout])


def test_midpoints_are_audited_with_the_sums(tmp_path):
    """Each count is in an interval of six, and the audit asks about the rest from sums."""
    layouts = [replace(each, protect="round", rounding="midpoint", base=6) for each in (AREA, AGE)]
    release = ic.tabulate(people(2), ic.Policy(SCHEMA), layouts)
    assert {count % 6 for count in release["area-ill"]["people"] if count} == {3}
    assert "1 to 6 are 3, 7 to 12 are 9, and so on; sums need not hold" in sentence_of(release.tables[0])
    assert release.verdict.holds
    release.save(tmp_path / "out", kinds=["csv", "xlsx"])
    assert verify_tables(tmp_path / "out").ok


def test_a_small_count_that_sums_of_midpoints_tell_is_broken():
    """Five codes of 7 or more and another of 1 or more are 36 or more, and the total is 36 or less."""
    rows = pl.DataFrame({"ill": [*"abcde"] * 7 + ["f"]})
    layout = ic.CountTable("ill", rows=["ill"], protect="round", rounding="midpoint", base=6)
    with pytest.raises(VerdictError, match="Table ill: 1 cell can be computed too closely"):
        ic.tabulate(rows, ic.Policy(ic.Schema(sensitive=["ill"])), [layout])


def test_an_interval_below_the_threshold_is_refused():
    with pytest.raises(ParameterError, match="below threshold = 5: raise the base"):
        ic.CountTable("ill", rows=["ill"], protect="round", rounding="midpoint", base=4)


def published(release, **codes):
    """The published value of a cell; columns left out are totals."""
    frame = release["area-ill"]
    codes = {"area": "Total", "ill": "Total"} | codes
    return frame.filter(pl.all_horizontal(pl.col(name) == code for name, code in codes.items()))["people"][0]


def checked_with_policy(tmp_path, table, release, layouts, name="out"):
    policy = ic.Policy(SCHEMA, tables=layouts)
    policy.write(tmp_path / f"{name}.toml", force=True)
    assert ic.Policy.read(tmp_path / f"{name}.toml").tables == tuple(layouts)
    table.write_csv(tmp_path / "raw.csv")
    release.save(tmp_path / name)
    return lambda asked: verify_tables(
        tmp_path / name, tmp_path / f"{asked}.toml", raw=RawTable(str(tmp_path / "raw.csv"))
    )


def test_a_cell_that_the_policy_hides_is_hidden_and_protected(tmp_path):
    table = people(0)
    plain = ic.tabulate(table, ic.Policy(SCHEMA), [AREA, AGE])
    assert published(plain, area="a", ill="flu") > 20
    hiding = replace(AREA, hidden=[{"area": "a", "ill": "flu"}])
    release = ic.tabulate(table, ic.Policy(SCHEMA), [hiding, AGE])
    assert published(release, area="a", ill="flu") is None
    assert release.verdict.holds
    assert "small or hidden by the policy" in sentence_of(release.tables[0])
    checked_with_policy(tmp_path, table, plain, [AREA, AGE], "plain")
    verify = checked_with_policy(tmp_path, table, release, [hiding, AGE])
    assert verify("out").ok
    assert "hidden" not in json.loads((tmp_path / "out/tables.json").read_text())["tables"][0]
    verification = verify_tables(tmp_path / "plain", tmp_path / "out.toml")
    assert (
        "cells are shown that the policy hides: area = a and ill = flu."
        in verification.verdict.points[0].text
    )


def test_a_cell_that_is_never_secondary_stays_shown():
    table = people(0)
    plain = ic.tabulate(table, ic.Policy(SCHEMA), [AREA]).tables[0]
    secondary = np.flatnonzero(plain.hidden & ~plain.primary)
    codes = {
        axis.column: axis.codes[place]
        for axis, place in zip(plain.axes, np.unravel_index(secondary[0], (8, 5)), strict=True)
    }
    release = ic.tabulate(table, ic.Policy(SCHEMA), [replace(AREA, never_secondary=[codes])])
    assert published(release, **codes) is not None
    assert release.verdict.holds
    every = [{"area": area, "ill": ill} for area, ill in itertools.product(*(a.codes for a in plain.axes))]
    with pytest.raises(InfeasibleError, match="never_secondary and waived stay shown, so name fewer"):
        ic.tabulate(table, ic.Policy(SCHEMA), [replace(AREA, never_secondary=every)])


def test_a_waived_cell_is_shown_with_its_reason_and_no_other(tmp_path):
    table = people(0)
    codes = {"area": "e", "ill": "gout"}
    waiving = replace(AREA, waived=[{**codes, "why": "its people agreed"}])
    release = ic.tabulate(table, ic.Policy(SCHEMA), [waiving])
    assert 0 < published(release, **codes) < 4
    assert release.verdict.holds
    checked_with_policy(tmp_path, table, release, [AREA], "plain")
    verify = checked_with_policy(tmp_path, table, release, [waiving])
    assert verify("out").ok
    [entry] = json.loads((tmp_path / "out/tables.json").read_text())["tables"]
    assert entry["waived"] == [{**codes, "why": "its people agreed"}]
    text = " ".join(point.text for point in verify("plain").verdict.points)
    assert "other rules than the policy's: waived" in text
    assert "1 cell is unsafe by its rules and shown: area = e and ill = gout" in text


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"hidden": [{"area": "nort"}]}, "hidden names area = 'nort'.* did you mean 'north'"),
        ({"hidden": [{"are": "north"}]}, "'are' is no column of it; .* did you mean 'area'"),
        ({"hidden": ["north"]}, "names cells by their codes, as hidden"),
        ({"waived": [{"area": "north"}]}, "say why each cell may be shown"),
        ({"waived": [{"area": "a", "why": "agreed"}], "hidden": [{"area": "a"}]}, "waived, and the"),
        ({"never_secondary": [{"area": "a"}], "protect": "round"}, "is for protect = 'suppress'"),
    ],
)
def test_cells_that_cannot_be_named_so_are_refused(settings, said):
    with pytest.raises(ParameterError, match=said):
        ic.tabulate(people(0), ic.Policy(SCHEMA), [replace(AREA, **settings)])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sum": "cost"}, "of fewer than 4 people, and others that would tell them.*No rule asks"),
        (
            {"sum": "cost", "p_percent": 10},
            "people, those whose second largest person could tell the largest to within 10%, and oth",
        ),
        (
            {"sum": "cost", "dominance": [2, 0.9]},
            "people, those whose 2 largest people have more than 90% of it, and",
        ),
        ({"hidden": [{"area": "a"}]}, "people, those that the policy names, and others"),
        ({"waived": [{"area": "a", "why": "agreed"}]}, "open by 4 or more. 1 cell may be shown although"),
    ],
)
def test_the_rules_of_a_table_are_said_in_full(settings, said):
    [table] = ic.tabulate(people(0), ic.Policy(SCHEMA), [replace(AREA, **settings)]).tables
    assert re.search(said, rules_of(table))
    assert ("No rule asks" in rules_of(table)) == (settings == {"sum": "cost"})
