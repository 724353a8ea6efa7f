from __future__ import annotations

import datetime
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.errors import ParameterError
from incrowd.samples import diagnosis_hierarchy, diagnosis_titles, hospital
from incrowd.samples._profiles import ADMISSION_TYPES, ADMISSIONS, AGES, MARITAL_STATUSES, SEASONS
from incrowd.samples._values import REGIONS, chapters, diagnoses

ROWS = 200_000

SCHEMA = {
    "patient_id": pl.String,
    "name": pl.String,
    "birth_date": pl.Date,
    "age": pl.Int64,
    "sex": pl.String,
    "zip": pl.String,
    "marital_status": pl.String,
    "admission_date": pl.Date,
    "admission_type": pl.String,
    "diagnosis": pl.String,
    "length_of_stay": pl.Int64,
    "cost": pl.Int64,
}

is_birth = pl.col("diagnosis").str.starts_with("O")
is_newborn = (pl.col("diagnosis") == "Z38") | pl.col("diagnosis").str.starts_with("P")


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return hospital(ROWS, seed=11)


def share(table: pl.DataFrame, condition: pl.Expr) -> float:
    value = table.select(condition.mean()).item()
    assert isinstance(value, float)
    return value


def in_chapter(label: str) -> pl.Expr:
    chapter = next(chapter for chapter in chapters() if chapter.label == label)
    return pl.col("diagnosis").is_in([entry.code for block in chapter.blocks for entry in block.diagnoses])


class TestTable:
    def test_columns_rows_and_types(self, table: pl.DataFrame) -> None:
        assert dict(table.schema) == SCHEMA
        assert list(table.columns) == list(SCHEMA)
        assert table.height == ROWS

    def test_nothing_is_missing_or_empty(self, table: pl.DataFrame) -> None:
        assert sum(table.null_count().row(0)) == 0
        for column, kind in SCHEMA.items():
            if kind == pl.String:
                assert table[column].str.len_chars().min() > 0  # type: ignore[operator]

    def test_same_seed_same_table(self) -> None:
        assert hospital(3000, seed=5).equals(hospital(3000, seed=5))
        assert hospital(3000).equals(hospital(3000, seed=0))

    def test_another_seed_another_table(self) -> None:
        one, other = hospital(3000, seed=5), hospital(3000, seed=6)
        for column in SCHEMA:
            assert not one[column].equals(other[column]), column

    def test_columns_do_not_share_a_stream(self, table: pl.DataFrame) -> None:
        # streams that start alike would tie columns that have nothing to do with each other
        tied = table.select(pl.corr(pl.col("zip").cast(pl.Int64), "age")).item()
        assert abs(tied) < 0.01

    @pytest.mark.parametrize("rows", [1, 2, 7])
    def test_small(self, rows: int) -> None:
        small = hospital(rows, seed=3)
        assert small.height == rows
        assert dict(small.schema) == SCHEMA

    @given(rows=st.integers(1, 60), seed=st.integers(0, 2**64))
    def test_any_size_and_seed_is_whole(self, rows: int, seed: int) -> None:
        small = hospital(rows, seed)
        assert small.height == rows
        assert sum(small.null_count().row(0)) == 0
        assert small["patient_id"].n_unique() == rows

    @pytest.mark.parametrize("rows", [0, -1, 2.5, "10", None, True])
    def test_rows_out_of_range(self, rows: object) -> None:
        with pytest.raises(ParameterError, match="rows must be a whole number of at least 1"):
            hospital(rows)  # type: ignore[arg-type]

    @pytest.mark.parametrize("seed", [-1, 0.5, "a", None])
    def test_seed_out_of_range(self, seed: object) -> None:
        with pytest.raises(ParameterError, match="seed must be a whole number of at least 0"):
            hospital(10, seed)  # type: ignore[arg-type]


class TestPeople:
    def test_patient_id_is_unique_and_out_of_order(self, table: pl.DataFrame) -> None:
        assert table["patient_id"].n_unique() == ROWS
        assert table["patient_id"].str.contains(r"^P\d{8}$").all()
        assert not table["patient_id"].is_sorted()

    def test_name_is_first_and_last(self, table: pl.DataFrame) -> None:
        assert table["name"].str.contains(r"^[A-Z][a-z]+ [A-Z][A-Za-z']+$").all()
        counts = table["name"].value_counts()["count"]
        assert counts.max() > 8 * counts.median()  # type: ignore[operator]

    def test_first_name_goes_with_sex(self, table: pl.DataFrame) -> None:
        first = pl.col("name").str.split(" ").list.first()
        assert set(table.filter(first == "Mary")["sex"]) <= {"F", "X"}
        assert set(table.filter(first == "James")["sex"]) <= {"M", "X"}

    def test_age_is_the_whole_years_between_the_dates(self, table: pl.DataFrame) -> None:
        born, admitted = pl.col("birth_date"), pl.col("admission_date")
        years = admitted.dt.year() - born.dt.year()
        same_month = admitted.dt.month() == born.dt.month()
        birthday_to_come = (admitted.dt.month() < born.dt.month()) | (
            same_month & (admitted.dt.day() < born.dt.day())
        )
        assert table.select((years - birthday_to_come.cast(pl.Int32) == pl.col("age")).all()).item()
        assert table.select((born <= admitted).all()).item()
        assert table["age"].min() == 0
        assert 95 < table["age"].max() < 110  # type: ignore[operator]

    def test_leap_days_occur(self, table: pl.DataFrame) -> None:
        for column in ("birth_date", "admission_date"):
            leap = table.filter((pl.col(column).dt.month() == 2) & (pl.col(column).dt.day() == 29))
            assert leap.height > 0, column

    def test_birthdays_are_spread_over_the_year(self, table: pl.DataFrame) -> None:
        months = table.filter(pl.col("age") > 0)["birth_date"].dt.month().value_counts()["count"]
        assert months.len() == 12
        assert months.max() < 1.25 * months.min()  # type: ignore[operator]

    def test_sexes(self, table: pl.DataFrame) -> None:
        counts = dict(table["sex"].value_counts().iter_rows())
        assert set(counts) == {"F", "M", "X"}
        assert 0.4 < counts["M"] / ROWS < 0.5
        assert 0.0005 < counts["X"] / ROWS < 0.01

    def test_marital_status_goes_with_age(self, table: pl.DataFrame) -> None:
        assert set(table["marital_status"]) == set(MARITAL_STATUSES)
        assert set(table.filter(pl.col("age") < 18)["marital_status"]) == {"single"}
        widowed = pl.col("marital_status") == "widowed"
        old, middle = table.filter(pl.col("age") >= 80), table.filter(pl.col("age").is_between(40, 55))
        assert share(old, widowed) > 5 * share(middle, widowed)
        assert share(old.filter(pl.col("sex") == "F"), widowed) > share(
            old.filter(pl.col("sex") == "M"), widowed
        )


class TestPlaces:
    def test_zip_is_text_of_five_digits(self, table: pl.DataFrame) -> None:
        assert table["zip"].str.contains(r"^\d{5}$").all()

    def test_leading_zeros_are_common_but_not_the_rule(self, table: pl.DataFrame) -> None:
        assert 0.3 < share(table, pl.col("zip").str.starts_with("0")) < 0.8

    def test_zips_are_many_and_skewed(self, table: pl.DataFrame) -> None:
        counts = table["zip"].value_counts()["count"]
        assert 300 <= counts.len() <= 2000
        assert counts.max() > 15 * counts.median()  # type: ignore[operator]

    def test_areas_hold_no_more_codes_than_there_are(self) -> None:
        areas = [area for region in REGIONS for area in region.areas]
        assert all(re.fullmatch(r"\d{3}", name) and 1 <= count <= 100 for name, count in areas)
        assert len({name for name, _ in areas}) == len(areas)
        assert sum(region.share for region in REGIONS) == pytest.approx(1)


class TestAdmissions:
    def test_dates_cover_three_years(self, table: pl.DataFrame) -> None:
        assert table["admission_date"].min() == datetime.date(2022, 1, 1)
        assert table["admission_date"].max() == datetime.date(2024, 12, 31)
        assert table["admission_date"].n_unique() == 3 * 365 + 1

    def test_weekends_are_quiet_for_planned_care_only(self, table: pl.DataFrame) -> None:
        weekend = pl.col("admission_date").dt.weekday() >= 6
        assert share(table.filter(pl.col("admission_type") == "elective"), weekend) < 0.08
        assert 0.22 < share(table.filter(pl.col("admission_type") == "emergency"), weekend) < 0.32

    def test_types(self, table: pl.DataFrame) -> None:
        counts = dict(table["admission_type"].value_counts().iter_rows())
        assert set(counts) == set(ADMISSION_TYPES)
        assert counts["emergency"] == max(counts.values())
        assert min(counts.values()) > 0.05 * ROWS

    def test_newborns(self, table: pl.DataFrame) -> None:
        newborn = pl.col("admission_type") == "newborn"
        assert table.select((newborn == is_newborn).all()).item()
        rows = table.filter(newborn)
        assert set(rows["age"]) == {0}
        assert rows["birth_date"].equals(rows["admission_date"].rename("birth_date"))
        infants = table.filter(~newborn & (pl.col("age") == 0))
        assert share(infants, pl.col("birth_date") < pl.col("admission_date")) > 0.99


class TestDiagnoses:
    def test_every_code_occurs_and_frequencies_are_skewed(self, table: pl.DataFrame) -> None:
        counts = table["diagnosis"].value_counts()["count"]
        assert set(table["diagnosis"]) == {entry.code for entry in diagnoses()}
        assert 120 <= counts.len() <= 250
        assert counts.max() > 30 * counts.median()  # type: ignore[operator]
        assert counts.top_k(25).sum() > 0.4 * ROWS

    def test_pregnancy_is_for_women_of_15_to_49(self, table: pl.DataFrame) -> None:
        rows = table.filter(is_birth)
        assert rows.height > 0.05 * ROWS
        assert set(rows["sex"]) == {"F"}
        assert rows["age"].min() == 15
        assert 44 < rows["age"].max() <= 49  # type: ignore[operator]

    def test_diseases_of_one_sex(self, table: pl.DataFrame) -> None:
        for code in ("C61", "C62", "N40", "N41", "N45"):
            assert set(table.filter(pl.col("diagnosis") == code)["sex"]) == {"M"}, code
        for code in ("C53", "C54", "C56", "D25", "N80", "N81", "N92"):
            assert set(table.filter(pl.col("diagnosis") == code)["sex"]) == {"F"}, code

    def test_influenza_comes_in_winter(self, table: pl.DataFrame) -> None:
        winter = pl.col("admission_date").dt.month().is_in([12, 1, 2, 3])
        assert share(table.filter(pl.col("diagnosis") == "J10"), winter) > 0.7
        assert 0.3 < share(table, winter) < 0.4

    def test_ages(self, table: pl.DataFrame) -> None:
        def mean_age(rows: pl.Expr) -> float:
            return float(table.filter(rows)["age"].mean())  # type: ignore[arg-type]

        for chapter in ("C00-D48", "I00-I99"):
            assert mean_age(in_chapter(chapter)) > 60
        assert mean_age(pl.col("diagnosis") == "I63") > 68
        assert mean_age(pl.col("diagnosis").str.starts_with("S") & (pl.col("diagnosis") != "S72")) < 52
        assert mean_age(pl.col("diagnosis") == "J21") < 6
        assert mean_age(pl.col("diagnosis") == "K35") < 40

    def test_profiles_exist_and_figures_are_in_range(self) -> None:
        for entry in diagnoses():
            assert entry.ages in AGES, entry.code
            assert entry.season in SEASONS, entry.code
            assert entry.admission in ADMISSIONS, entry.code
            assert 0 <= entry.women <= 1, entry.code
            assert min(entry.weight, entry.stay, entry.cost) > 0, entry.code
            assert (entry.ages == "newborn") == (entry.admission == "newborn"), entry.code
        for name, shares in ADMISSIONS.items():
            assert sum(shares) == pytest.approx(1), name


class TestTreatment:
    def test_stay_is_skewed_and_may_be_zero(self, table: pl.DataFrame) -> None:
        stay = table["length_of_stay"]
        assert stay.min() == 0
        assert stay.mean() > stay.median()  # type: ignore[operator]
        assert stay.max() > 10 * stay.median()  # type: ignore[operator]
        assert stay.max() <= 365  # type: ignore[operator]

    def test_correlations(self, table: pl.DataFrame) -> None:
        assert table.select(pl.corr("age", "length_of_stay")).item() > 0.1
        assert table.select(pl.corr("age", "cost")).item() > 0.1
        assert table.select(pl.corr("length_of_stay", "cost")).item() > 0.5

    def test_stay_depends_on_diagnosis_age_and_type(self, table: pl.DataFrame) -> None:
        def mean_stay(rows: pl.Expr) -> float:
            return float(table.filter(rows)["length_of_stay"].mean())  # type: ignore[arg-type]

        sepsis = pl.col("diagnosis") == "A41"
        assert mean_stay(sepsis) > 2 * mean_stay(pl.col("diagnosis") == "M16")
        assert mean_stay(sepsis & (pl.col("age") > 75)) > mean_stay(sepsis & (pl.col("age") < 55))
        bowel = pl.col("diagnosis") == "C18"
        assert mean_stay(bowel & (pl.col("admission_type") == "emergency")) > mean_stay(
            bowel & (pl.col("admission_type") == "elective")
        )

    def test_cost_is_positive_and_lognormal_like(self, table: pl.DataFrame) -> None:
        cost = table["cost"].to_numpy()
        assert cost.min() > 0
        assert cost.mean() > np.median(cost)
        logs = np.log(cost)
        skewness = np.mean(((logs - logs.mean()) / logs.std()) ** 3)
        assert abs(skewness) < 0.5

    def test_cost_depends_on_diagnosis_at_equal_stay(self, table: pl.DataFrame) -> None:
        three_days = table.filter(pl.col("length_of_stay") == 3)
        valve = three_days.filter(pl.col("diagnosis") == "I35")["cost"].median()
        cellulitis = three_days.filter(pl.col("diagnosis") == "L03")["cost"].median()
        assert valve > 3 * cellulitis  # type: ignore[operator]


class TestHierarchy:
    def test_labels_are_told_apart(self) -> None:
        blocks = [block for chapter in chapters() for block in chapter.blocks]
        labels = [chapter.label for chapter in chapters()]
        labels += [block.label for block in blocks]
        labels += [entry.code for entry in diagnoses()]
        assert len(labels) == len(set(labels))
        titles = [entry.title for entry in diagnoses()]
        assert len(titles) == len(set(titles))
        assert set(diagnosis_titles()) == set(labels)

    def test_codes_lie_in_the_range_of_block_and_chapter(self) -> None:
        for chapter in chapters():
            first, last = chapter.label.split("-")
            assert first[0] <= last[0]
            for block in chapter.blocks:
                low, high = block.label.split("-")
                assert first <= low <= high <= last, block.label
                for entry in block.diagnoses:
                    assert re.fullmatch(r"[A-Z]\d\d", entry.code)
                    assert low <= entry.code <= high, entry.code

    def test_every_diagnosis_is_a_leaf(self, table: pl.DataFrame) -> None:
        hierarchy = diagnosis_hierarchy()
        assert set(table["diagnosis"]) == set(hierarchy.values)
        assert hierarchy.n_leaves == len(diagnoses())
        assert hierarchy.height == 3
        assert set(hierarchy.depths[hierarchy.leaves]) == {3}
        assert hierarchy.path(hierarchy.rank("I50")) == ("I50", "I30-I52", "I00-I99", "*")
