"""The table in the middle of the page: heads of columns, and cells before and after."""

from __future__ import annotations

from datetime import date, datetime
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from incrowd.core.documents import loss_in_words
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.rows import Rows, changed_cells, pairs_of, points_by_column, width_of
from incrowd.faces.studio.tables import Source
from incrowd.faces.studio.work import Work
from incrowd.samples import hospital

ROWS = 120


def opened(folder, table: pl.DataFrame, algorithm: str = "mondrian", k: int = 4, **roles) -> Work:
    """Open a table with columns of some roles, or settings, and a limit."""
    table.write_parquet(folder / "people.parquet")
    work = Work()
    work.open(Source(folder / "people.parquet", "people.parquet"))
    for name, settings in roles.items():
        work.chosen.columns[name] = dict(settings) if isinstance(settings, dict) else {"role": settings}
    work.chosen.algorithm["name"] = algorithm
    work.chosen.models[:] = [{"model": "k-anonymity", "k": k}]
    work.chosen.document["max_suppression"] = 0.2
    return work


def shown(work: Work) -> Rows:
    """The rows of a window, without a browser."""
    rows = Rows(SimpleNamespace(work=work, column=None))
    rows.names = [each.name for each in work.columns]
    return rows


@pytest.fixture
def window(tmp_path):
    gone = pl.int_range(ROWS)
    table = hospital(ROWS).select("age", "sex", "zip", "admission_date", "cost")
    table = table.with_columns(
        sex=pl.when(gone % 17 != 0).then("sex"), age=pl.when(gone % 19 != 0).then("age")
    )
    result = opened(
        tmp_path,
        table,
        "optimal",
        age={"role": "quasi", "hierarchy": {"intervals": [5, 20]}},
        sex={"role": "quasi", "hierarchy": {"flat": True}},
        zip={"role": "quasi", "hierarchy": {"prefix": True}},
        admission_date={"role": "quasi", "hierarchy": {"dates": ["quarter", "year"]}},
        cost="insensitive",
    )
    yield result
    result.close()


# --- the small histogram of a head ----------------------------------------------------------------


def test_every_column_of_a_window_has_a_histogram(window):
    shapes = shown(window).measure(window)
    assert {*shapes} == {*window.chosen.columns}
    assert sum(shapes["cost"]) == ROWS
    assert sum(shapes["sex"]) == ROWS - 8
    # Numbers are read as the column spells them; one that is spelled otherwise leaves the others theirs.
    cost = pl.Series([f"{1 + row % 80}.000,50" for row in range(ROWS)])
    window._rows = window.table.with_columns(cost=cost).lazy()
    window.chosen.columns["cost"] |= {"decimal": ",", "thousands": "."}
    window.chosen.columns["age"] |= {"format": "%d.%m.%Y"}
    shapes = shown(window).measure(window)
    assert shapes["cost"] == [18, *[20] * 3, 11, *[10] * 3, 1]
    assert {*window.chosen.columns} - {*shapes} == {"age"}


# --- records before and after ---------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("algorithm", ["optimal", "mondrian", "k-member"])
@pytest.mark.parametrize("suppressed", ["judged", "keep"])
def test_bars_before_and_after_have_all_records_that_are_not_suppressed(window, algorithm, suppressed):
    window.chosen.algorithm["name"] = algorithm
    window.chosen.document["suppressed"] = suppressed
    window.recode(Watched())
    frequency, recoding = window.recoding
    records = int(frequency.weights[~recoding.suppressed].sum())
    assert (records < ROWS) or algorithm != "optimal"
    for position, domain in enumerate(frequency.domains):
        pairs = np.array(pairs_of(position, frequency, recoding))
        assert len(pairs) == min(domain.size, 12)
        assert (pairs >= 0).all()
        assert pairs.sum(axis=0) == pytest.approx([ROWS, records], abs=0.1)
        if (recoding.cells[position].lo == recoding.cells[position].hi).all():
            # What keeps its values keeps its bars.
            kept_codes = frequency.codes[position][~recoding.suppressed]
            whole = np.bincount(kept_codes, frequency.weights[~recoding.suppressed], domain.size)
            assert domain.size > 12 or pairs[:, 1].tolist() == whole.tolist()


def test_a_fully_generalized_column_is_flat(window):
    window.chosen.columns["sex"]["levels"] = [1, 1]
    window.recode(Watched())
    frequency, recoding = window.recoding
    place = next(place for place, each in enumerate(frequency.domains) if each.name == "sex")
    before, after = zip(*pairs_of(place, frequency, recoding), strict=True)
    # Male, female and missing.
    assert sorted(before)[0] == 8
    records = int(frequency.weights[~recoding.suppressed].sum())
    assert after == pytest.approx([records / 3] * 3, abs=0.01)


def test_numbers_stand_in_ranges_of_equal_width(tmp_path):
    ages = [*[0] * 10, *range(100, 120)]
    work = opened(tmp_path, pl.DataFrame({"age": ages}), k=1, age="quasi")
    work.recode(Watched())
    pairs = pairs_of(0, *work.recoding)
    assert [before for before, _ in pairs] == [10, *[0] * 9, 10, 10]
    assert pairs == [[before, before] for before, _ in pairs]
    work.close()


def test_values_that_are_no_numbers_stand_side_by_side_in_their_order(tmp_path):
    towns = [f"t{number:02}" for number in range(24) for _ in range(number + 1)]
    tree = {"role": "quasi", "hierarchy": {"flat": True}}
    work = opened(tmp_path, pl.DataFrame({"town": towns}), k=1, town=tree)
    work.recode(Watched())
    pairs = pairs_of(0, *work.recoding)
    assert [before for before, _ in pairs] == [4 * number + 3 for number in range(12)]
    work.close()


# --- the heads ------------------------------------------------------------------------------------


def test_heads_show_what_is_known_of_each_column(window):
    rows = shown(window)
    rows._shapes = {"age": [3, 4]}
    heads = rows._heads()
    assert heads["age"]["pairs"] == [[3, None], [4, None]]
    assert (heads["age"]["role"], heads["age"]["lost"], heads["age"]["state"]) == ("quasi", "", "")
    assert ["quasi", "quasi-identifier"] in heads["age"]["roles"]
    window.recode(Watched())
    window.judge(Watched())
    rows._page.column = "cost"
    heads = rows._heads()
    assert sum(before for before, _ in heads["age"]["pairs"]) == pytest.approx(ROWS, abs=0.1)
    assert heads["cost"]["pairs"] == []
    assert [name for name, head in heads.items() if head["pressed"]] == ["cost"]
    lost = window.release.utility["loss"].per_attribute["zip"]
    assert heads["zip"]["lost"] == loss_in_words(lost)
    assert heads["cost"]["lost"] == ""
    assert heads["cost"]["state"] == "open"
    assert "a value of cost that no other record has" in heads["cost"]["points"]


def test_points_stand_at_their_columns_and_broken_ones_count_most():
    def point(text, *columns):
        return SimpleNamespace(text=text, columns=columns)

    verdict = SimpleNamespace(
        open=[point("A.", "age"), point("B.", "age", "zip")], broken=[point("C.", "age")]
    )
    work = SimpleNamespace(release=SimpleNamespace(verdict=verdict))
    # A change of age mends B.: zip is named beside it, and its mark is a thin one.
    assert points_by_column(work) == {"age": ("broken", "A. B. C."), "zip": ("beside", "B.")}
    assert points_by_column(SimpleNamespace(release=None)) == {}


def test_names_with_markup_are_written_out(tmp_path):
    names = ["<b>a</b>", "\u202egnp"]
    work = opened(
        tmp_path, pl.DataFrame({name: [*range(8)] for name in names}), **dict.fromkeys(names, "quasi")
    )
    heads = shown(work)._heads()
    assert [head["name"] for head in heads.values()] == ["<b>a</b>", r"\u202egnp"]
    work.close()


# --- the cells ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "width"),
    [
        (["m"] * 9, 56),
        # Of the median row, both texts are whole: the one before is written smaller.
        ([{"was": "06.01.2025", "now": "2025"}] * 3 + ["x" * 99], 62),
        (["Innere Medizin", "Chirurgie", "Chirurgie"], 66),
        (["x" * 99] * 3, 100),
    ],
)
def test_columns_are_as_wide_as_their_median_row(cells, width):
    assert width_of(cells) == width


def test_a_cell_that_stayed_is_shown_once_and_another_before_and_after():
    before = pl.DataFrame(
        {
            "kept": [True, False],
            "day": [date(2024, 1, 2), None],
            "seen": [datetime(2024, 1, 2), datetime(2024, 1, 2, 8, 30)],
            "age": [34, 35],
            "gone": ["<b>Ann</b>", "Bo\u202e"],
        }
    )
    # A release has a day without a time, and so has the table.
    days = {"day": ["2024-01-02", None], "seen": ["2024-01-02", "2024-01-02 08:30:00"]}
    after = pl.DataFrame({"kept": ["true", "*"], **days, "age": ["30-39", "35"]})
    first, second = changed_cells(before, after)
    assert first == [
        "true",
        "2024-01-02",
        "2024-01-02",
        {"was": "34", "now": "30-39"},
        {"was": "<b>Ann</b>", "now": "left out"},
    ]
    assert second[:4] == [{"was": "false", "now": "*"}, "(missing)", "2024-01-02 08:30:00", "35"]
    assert second[4]["was"] == r"Bo\u202e"


def test_each_view_gives_the_cells_that_are_in_sight(window):
    window.chosen.columns["cost"]["role"] = "identifying"
    rows = shown(window)
    raw = [str(cell) for cell in window.table["cost"]]
    for view in ("before", "after", "difference"):
        rows.view = view
        cells, height = rows._cells(100, 50)
        # There is nothing after yet.
        assert [each["c4"] for each in cells] == raw[100:]
        assert height == ROWS
    window.recode(Watched())
    height = ROWS - window.recoded.result.suppression.left_out
    rows.view = "before"
    assert rows._cells(0, 5)[1] == ROWS
    rows.view = "difference"
    cells, shown_rows = rows._cells(0, 1_000)
    assert (len(cells), shown_rows) == (height, height)
    assert {each["c4"]["now"] for each in cells} == {"left out"}
    rows.view = "after"
    after, _ = rows._cells(0, 1_000)
    assert {each["c4"] for each in after} == {""}
    # A column that has no role is shown as it is.
    window.chosen.columns["cost"]["role"] = "?"
    assert [each["c4"] for each in rows._cells(0, 1_000)[0]] != [""] * height
    window.chosen.columns["cost"]["role"] = "identifying"
    released = window.pairs(0, 1_000)[1]
    assert [each["c0"] for each in after] == released["age"].fill_null("(missing)").to_list()
    for old, new in zip(cells, after, strict=True):
        now = old["c0"] if isinstance(old["c0"], str) else old["c0"]["now"]
        assert now == new["c0"]
    rows.names = []
    assert rows._cells(0, 5) == ([], 0)
