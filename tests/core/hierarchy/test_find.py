"""Which file is of which column."""

from __future__ import annotations

import pytest

from incrowd.core.errors import HierarchyError
from incrowd.core.hierarchy import find_files


def names(folder, columns):
    return {column: path.name for column, path in find_files(folder, columns).items()}


def test_a_file_is_of_the_longest_column_that_it_names(tmp_path):
    for name in ("adult_hierarchy_marital_status.csv", "salary_class.csv"):
        (tmp_path / name).touch()
    columns = ["status", "marital_status", "class", "salary_class"]
    expected = {"marital_status": "adult_hierarchy_marital_status.csv", "salary_class": "salary_class.csv"}
    assert names(tmp_path, columns) == expected
    assert names(tmp_path, columns[::-1]) == expected
    (tmp_path / "adult_hierarchy_status.csv").touch()
    assert names(tmp_path, columns) == expected | {"status": "adult_hierarchy_status.csv"}


def test_case_and_the_underscore_count(tmp_path):
    for name in ("Age.txt", "homepage.csv", "hierarchy_sex.yml"):
        (tmp_path / name).touch()
    assert names(tmp_path, ["age", "page", "sex"]) == {"sex": "hierarchy_sex.yml"}


def test_two_files_for_a_column(tmp_path):
    for name in ("age.txt", "age.csv"):
        (tmp_path / name).touch()
    with pytest.raises(HierarchyError, match=r"'age' has several hierarchies, age.csv and age.txt; keep one"):
        find_files(tmp_path, ["age"])
