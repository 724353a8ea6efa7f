"""incrowd.sklearn.Anonymizer: scikit-learn's own checks, folds that do not leak, frames and columns."""

from __future__ import annotations

import pickle
import re
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import incrowd as ic
from imported_late import LateModule
from incrowd.core.reading.cells import read_span

# scikit-learn takes a second to import, which only the process pays that runs these tests.
faces, sklearn = LateModule("incrowd.sklearn"), LateModule("sklearn")
pipelines, trees = LateModule("sklearn.pipeline"), LateModule("sklearn.tree")

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "scikit-learn.md"
DRAW = np.random.default_rng(1)
NUMBERS = np.column_stack([DRAW.integers(18, 90, 120), DRAW.normal(50, 9, 120).round(1)])
CLASSES = (NUMBERS[:, 0] > 50).astype(int)
PEOPLE = ic.samples.hospital(150, 3).select("age", "sex")


def cells(estimator, rows):
    return Counter(map(tuple, estimator.transform(rows).tolist()))


@pytest.mark.slow
def test_the_checks_of_scikit_learn_pass_but_for_those_that_the_page_names():
    from sklearn.utils.estimator_checks import check_estimator

    named = set(re.findall(r"^\| `(check_\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = check_estimator(faces.Anonymizer(), on_fail=None, on_skip=None)
    failed = {each["check_name"] for each in result if each["status"] == "failed"}
    assert failed == named
    assert sum(each["status"] == "passed" for each in result) > 40
    assert sum(each["status"] == "skipped" for each in result) <= 1


def test_the_rows_it_is_fitted_on_satisfy_the_models_and_keep_their_order():
    estimator = faces.Anonymizer("k-anonymity:4", encoding="cells").fit(NUMBERS)
    result = cells(estimator, NUMBERS)
    assert min(result.values()) == estimator.privacy_.smallest >= 4
    release = ic.anonymize(
        pl.DataFrame(NUMBERS, schema=["x0", "x1"]), ic.Schema(["x0", "x1"]), "k-anonymity:4"
    )
    assert result == Counter(release.table.rows())
    for row, cell in zip(NUMBERS[:, 0], estimator.transform(NUMBERS)[:, 0], strict=True):
        low, high, *_ = read_span(cell, "number")
        assert low <= row <= high


def test_a_number_tells_no_more_than_the_text_of_its_cell():
    pays = np.array([[1003], [1007], [1111], [1177], [1333], [1377], [5004], [987654]])
    texts = faces.Anonymizer("k-anonymity:2", encoding="cells").fit(pays).transform(pays)
    assert texts[::2, 0].tolist() == ["1100 or less", "[1100-1200]", "[1300-1400]", "5000 or more"]
    estimator = faces.Anonymizer("k-anonymity:2").fit(pays)
    assert estimator.transform(pays)[::2].tolist() == [[1100.0], [1150.0], [1350.0], [5000.0]]
    # No class covers it, and the ends of the cells lie between 1100 and 5000.
    assert estimator.transform([[2500]]).tolist() == [[3050.0]]


def test_with_exact_ends_a_number_is_the_middle_of_the_values_of_its_class():
    ages = np.array([[20], [22], [30], [32]])
    estimator = faces.Anonymizer("k-anonymity:2", ends="exact").fit(ages)
    assert estimator.transform(ages).tolist() == [[21.0], [21.0], [31.0], [31.0]]
    assert estimator.transform([[25], [90]]).tolist() == [[26.0], [26.0]]
    assert np.isnan(
        faces.Anonymizer("k-anonymity:2").fit([[1.0], [1.0], [np.nan], [np.nan]]).transform([[np.nan]])
    )


def test_a_fold_knows_nothing_of_its_test_rows():
    """The recoding of each fold is that of the training rows alone, for any other rows."""
    from sklearn.model_selection import cross_validate

    folds = [(np.arange(60, 120), np.arange(60)), (np.arange(60), np.arange(60, 120))]
    pipeline = pipelines.make_pipeline(
        faces.Anonymizer("k-anonymity:5"), trees.DecisionTreeClassifier(random_state=0)
    )
    strange = NUMBERS.copy()
    strange[:60] += 1000
    told = []
    for rows in (NUMBERS, strange):
        result = cross_validate(pipeline, rows, CLASSES, cv=folds, return_estimator=True, error_score="raise")
        told.append(
            [
                cells(each[0], NUMBERS[train])
                for each, (train, _) in zip(result["estimator"], folds, strict=True)
            ]
        )
        alone = faces.Anonymizer("k-anonymity:5").fit(rows[folds[0][0]])
        assert cells(result["estimator"][0][0], rows) == cells(alone, rows)
    assert told[0][0] == told[1][0]
    assert told[0][1] != told[1][1]


def test_a_row_is_recoded_by_itself():
    estimator = faces.Anonymizer("k-anonymity:5").fit(NUMBERS)
    together = estimator.transform(NUMBERS[::-1])[::-1]
    alone = np.vstack([estimator.transform(NUMBERS[at : at + 1]) for at in range(10)])
    assert (together[:10] == alone).all()


@pytest.mark.parametrize("frame", [PEOPLE, PEOPLE.to_pandas()], ids=["polars", "pandas"])
def test_frames_keep_their_names_and_categories_are_texts(frame):
    estimator = faces.Anonymizer("k-anonymity:5").fit(frame)
    assert estimator.get_feature_names_out().tolist() == ["age", "sex"]
    result = estimator.transform(frame)
    assert result.dtype == object
    assert {type(age) for age in result[:, 0]} == {float}
    assert set(result[:, 1]) <= {"F", "M", "*", "{F, M}", None} | {
        cell for cell in result[:, 1] if "{" in cell
    }
    for kind, module in (("pandas", pd), ("polars", pl)):
        frame_of_cells = estimator.set_output(transform=kind).transform(frame)
        assert isinstance(frame_of_cells, module.DataFrame)
        assert list(frame_of_cells.columns) == ["age", "sex"]


def test_some_columns_alone_in_a_pipeline():
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    table = ic.samples.hospital(200, 3).select("age", "sex", "length_of_stay").to_pandas()
    columns = ColumnTransformer(
        [
            ("ages", faces.Anonymizer("k-anonymity:5"), ["age"]),
            (
                "rest",
                pipelines.make_pipeline(
                    faces.Anonymizer("k-anonymity:5"), OneHotEncoder(handle_unknown="ignore")
                ),
                ["sex"],
            ),
        ]
    )
    model = pipelines.make_pipeline(columns, trees.DecisionTreeClassifier(random_state=0))
    target = table["length_of_stay"] > 5
    assert model.fit(table, target).score(table, target) > 0.4
    assert columns.fit(table).get_feature_names_out()[0] == "ages__age"


def test_y_may_be_protected():
    models = ["k-anonymity:3", "l-diversity:2"]
    estimator = faces.Anonymizer(models, protect_y=True).fit(NUMBERS, CLASSES)
    [diversity] = [each for each in estimator.privacy_.privacy if each.model == "l-diversity" and each.holds]
    assert diversity.value >= 2
    with pytest.raises(ValueError, match="requires y to be passed"):
        faces.Anonymizer(models, protect_y=True).fit(NUMBERS)


@pytest.mark.slow
def test_people_are_counted_where_rows_say_whose_they_are_also_in_a_pipeline():
    person = np.repeat(np.arange(30), 4)
    estimator = faces.Anonymizer("k-anonymity:6").fit(NUMBERS, person=person)
    assert estimator.privacy_.people.smallest >= 6
    with sklearn.config_context(enable_metadata_routing=True):
        model = pipelines.make_pipeline(
            faces.Anonymizer("k-anonymity:6").set_fit_request(person=True), trees.DecisionTreeClassifier()
        ).fit(NUMBERS, CLASSES, person=person)
    assert model[0].privacy_.people.smallest == estimator.privacy_.people.smallest


def test_hierarchies_are_named_by_column_and_cover_rows_that_nobody_saw():
    ages = pd.DataFrame({"age": [20, 21, 30, 31]})
    tree = ic.Hierarchy.from_nested(
        {"*": {f"{ten}s": [str(ten + each) for each in range(10)] for ten in (20, 30)}}
    )
    settings = {"algorithm": "optimal", "hierarchies": {"age": tree}}
    others = pd.DataFrame({"age": [25, 38]})
    told = faces.Anonymizer("k-anonymity:2", encoding="cells", **settings).fit(ages).transform(others)
    assert told[:, 0].tolist() == ["20s", "30s"]
    # The middle of what was seen under the node: 20 and 21, 30 and 31.
    assert faces.Anonymizer("k-anonymity:2", **settings).fit(ages).transform(others).tolist() == [
        [20.5],
        [30.5],
    ]
    with pytest.raises(ic.ParameterError, match=r"hierarchies names 'height'; the columns are 'age'"):
        faces.Anonymizer(hierarchies={"height": ic.Hierarchy.flat()}).fit(ages)


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"encoding": "middles"}, ic.ParameterError, "encoding must be one of auto, cells"),
        ({"models": "k-anonymity:500"}, ic.ParameterError, "500"),
        ({"models": ()}, ic.ParameterError, "at least one privacy model"),
    ],
)
def test_wrong_settings_are_refused_when_it_is_fitted(settings, error, told):
    with pytest.raises(error, match=told):
        faces.Anonymizer(**settings).fit(NUMBERS)


def test_it_can_be_pickled_and_cloned():
    estimator = faces.Anonymizer("k-anonymity:5").fit(NUMBERS)
    again = pickle.loads(pickle.dumps(estimator))
    assert (again.transform(NUMBERS) == estimator.transform(NUMBERS)).all()
    assert sklearn.clone(estimator).get_params() == estimator.get_params()


def test_it_asks_for_its_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "incrowd.sklearn")
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(ic.MissingExtraError, match=r"\.\[sklearn\]"):
        import incrowd.sklearn  # noqa: F401
