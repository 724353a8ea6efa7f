"""Every public function of the faces, called wrongly: an error of ours that names the argument."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import incrowd as ic
from incrowd.compat import comp430, notebook, p29, petworks
from incrowd.compat.k_anonymization import NCP
from incrowd.compat.petworks.attributetypes import QUASI_IDENTIFIER, SENSITIVE_ATTRIBUTE

DF = pd.DataFrame({"q": ["a", "a", "b", "b"], "n": [1, 2, 3, 4], "s": ["x", "y", "x", "y"]})
NO_ROWS, NO_COLUMNS = DF.head(0), pd.DataFrame(index=range(3))
TWICE = pd.DataFrame([[1, 2]], columns=["q", "q"])
FRAMES = (None, 5, "text", [1], DF["q"], NO_ROWS, NO_COLUMNS, TWICE)
LISTS = (None, 5, "q", [], ["nowhere"], [None], [["q"]], ["q", "q"], {"q": 1})
SERIES = (None, 5, "text", [1], DF)
NUMBERS = (None, "x", True, float("nan"), float("inf"), [1])
SCORE = (
    pd.DataFrame({"Quasi-identifiers": ["a", "b"], "k-anonymity": [2, 2]}),
    pd.DataFrame({"Quasi-identifiers": ["a", "b"], "l": [0.5, 1]}),
    pd.DataFrame({"Quasi-identifiers": ["a", "b"], "t": [0.1, 0.2]}),
)
FREQUENCIES = {"x": 0.5, "y": 0.5}
ROWS = [tuple(row) for row in DF.itertuples(index=False)]
MEAN_MODE, SUMMARY = (
    NCP.calculate_for_local_recoding_mean_mode,
    NCP.calculate_for_local_recoding_summarization,
)

# Function, arguments that are right, position of one, what it may not be, its name in the message.
WRONG = [
    (p29.calculate_k_anonymity, (DF,), 0, (None, 5, "text"), "group"),
    (p29.calculate_normalized_entropy, (DF["q"],), 0, SERIES, "series"),
    (p29.calculate_global_distribution, (DF["q"],), 0, SERIES, "series"),
    (p29.compute_t_closeness, (DF["s"], FREQUENCIES), 0, SERIES, "series"),
    (p29.compute_t_closeness, (DF["s"], FREQUENCIES), 1, (None, 5, "x", {"x": "y"}, {"x": None}), "global_d"),
    (p29.calculate_t_closeness, (DF, ["q"], ["s"]), 0, FRAMES, "df"),
    (p29.calculate_t_closeness, (DF, ["q"], ["s"]), 1, LISTS, "quasi_identifiers"),
    (p29.calculate_t_closeness, (DF, ["q"], ["s"]), 2, LISTS, "sensitive_attributes"),
    (p29.calculate_classes, (DF, ["q"], ["s"]), 0, FRAMES, "df"),
    (p29.calculate_classes, (DF, ["q"], ["s"]), 1, LISTS, "quasi_identifiers"),
    (p29.calculate_classes, (DF, ["q"], ["s"]), 2, LISTS, "sensitive_attributes"),
    (p29.calculate_P_29_score, SCORE, 0, (*FRAMES, DF, SCORE[0].assign(**{"k-anonymity": 0})), "k_value"),
    (p29.calculate_P_29_score, SCORE, 1, (*FRAMES, DF, SCORE[1].assign(l="x")), "l_value"),
    (p29.calculate_P_29_score, SCORE, 2, (*FRAMES, DF, SCORE[2].assign(t=np.nan)), "t_value"),
    (p29.calculate_P_29_score, (*SCORE, 1, 1, 1), 4, NUMBERS, "w_l"),
    (p29.ensure_privacy, (DF, ["q"], ["s"]), 0, FRAMES, "df"),
    (p29.ensure_privacy, (DF, ["q"], ["s"]), 1, LISTS, "QI"),
    (p29.ensure_privacy, (DF, ["q"], ["s"]), 2, LISTS, "SA"),
    (p29.ensure_privacy, (DF, ["q"], ["s"], 0.5, 1, 0), 3, (*NUMBERS, -1, 2), "t"),
    (p29.ensure_privacy, (DF, ["q"], ["s"], 0.5, 1, 0), 4, (*NUMBERS, -1, 1.5), "k"),
    (p29.ensure_privacy, (DF, ["q"], ["s"], 0.5, 1, 0), 5, (*NUMBERS, -1, 2), "l"),
    (notebook.get_spans, (DF, DF.index), 0, (None, 5, TWICE), "df"),
    (notebook.get_spans, (DF, DF.index), 1, (None, 5, "text", [99]), "partition"),
    (notebook.split, (DF, DF.index, "n"), 2, (None, 5, "nowhere", ["n"]), "column"),
    (notebook.is_k_anonymous, (DF, DF.index, "s", 2), 1, (None, 5, "text", [99]), "partition"),
    (notebook.is_k_anonymous, (DF, DF.index, "s", 2), 3, (*NUMBERS, 0, 1.5), "k"),
    (notebook.diversity, (DF, DF.index, "s"), 2, (None, 5, "nowhere"), "column"),
    (notebook.is_l_diverse, (DF, DF.index, "s", 2), 3, (*NUMBERS, 0), "l"),
    (notebook.t_closeness, (DF, DF.index, "s", FREQUENCIES), 3, (None, 5, {}, {"x": 1}, {"x": "a", "y": 1}), "gl"),
    (notebook.is_t_close, (DF, DF.index, "s", FREQUENCIES, 0.2), 4, (*NUMBERS, -1), "p"),
    (notebook.is_t_close, (DF, DF.index, "s", FREQUENCIES, 0.2), 2, (None, "nowhere"), "sensitive_column"),
    (notebook.partition_dataset, (DF, ["n"], "s", notebook.is_k_anonymous), 0, FRAMES, "df"),
    (notebook.partition_dataset, (DF, ["n"], "s", notebook.is_k_anonymous), 1, LISTS, "feature_columns"),
    (notebook.partition_dataset, (DF, ["n"], "s", notebook.is_k_anonymous), 2, (None, "no"), "sensitive_column"),
    (notebook.partition_dataset, (DF, ["n"], "s", notebook.is_k_anonymous), 3, (None, 5, "text"), "is_valid"),
    (notebook.agg_categorical_column, (DF["q"],), 0, SERIES, "series"),
    (notebook.agg_numerical_column, (DF["n"],), 0, (*SERIES, DF["q"]), "series"),
    (notebook.build_anonymized_dataset, (DF, [DF.index], ["n"], "s"), 0, FRAMES, "df"),
    (notebook.build_anonymized_dataset, (DF, [DF.index], ["n"], "s"), 1, (None, 5, "x", [5], [[9]]), "part"),
    (notebook.build_anonymized_dataset, (DF, [DF.index], ["n"], "s"), 2, LISTS, "feature_columns"),
    *(
        case
        for call in (MEAN_MODE, SUMMARY)
        for case in (
            (call, (DF, [ROWS], [0], [True]), 0, FRAMES, "org_data"),
            (call, (DF, [ROWS], [0], [True]), 1, (None, 5, "x", [5], [[5]], DF, [[(1,)]]), "groups"),
            (call, (DF, [ROWS], [0], [True]), 2, (None, 5, "0", [], [9], ["q"], [-1], [True]), "qids_idx"),
            (call, (DF, [ROWS], [0], [True]), 3, (None, 5, "x", [], ["no"], [None]), "is_categorical"),
            (call, (DF, [ROWS], [0], [True]), 3, ([False],), "column 0"),
            (call, (DF.assign(n=np.nan), [ROWS], [1], [False]), 3, ([False],), "org_data: column 1"),
        )
    ),
    (NCP.calculate_for_generalization, (DF, DF, {}, [1], [False]), 0, FRAMES, "org_data"),
    (NCP.calculate_for_generalization, (DF, DF, {}, [1], [False]), 1, (None, DF["q"], TWICE, DF.assign(n=None)), "an"),
    (NCP.calculate_for_generalization, (DF, DF, {}, [0], [True]), 2, (None, 5, {0: {"tree": [5]}}), "hierarchies"),
    (petworks.output, (DF, "out.csv"), 0, (None, 5, "x"), "data"),
    (petworks.output, (DF, "out.csv"), 1, (None, 5, ""), "filePath"),
    (petworks.report, ({}, "json"), 0, (None, 5, "x"), "result"),
    (petworks.report, ({}, "json"), 1, (None, 5, "x", []), "format"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "right", "place", "wrong", "name"),
    [pytest.param(*case, id=f"{case[0].__name__}-{case[4]}-{number}") for number, case in enumerate(WRONG)],
)
def test_wrong_arguments_are_named(call, right, place, wrong, name):
    for value in wrong:
        arguments = [*right[:place], value, *right[place + 1 :]]
        with pytest.raises(ic.IncrowdError, match=name) as error:
            call(*arguments)
        assert isinstance(error.value, ValueError)


def test_errors_are_also_those_that_python_would_raise():
    with pytest.raises(KeyError, match="QI: the table has no column 'nowhere'") as error:
        p29.ensure_privacy(DF, ["nowhere"], ["s"])
    assert not str(error.value).startswith(("'", '"'))
    with pytest.raises(KeyError, match=r"none of its 3 columns is named so; did you mean 's'\?$"):
        notebook.diversity(DF, DF.index, "ss")
    with pytest.raises(TypeError, match="df: give a pandas DataFrame, not None"):
        p29.ensure_privacy(None, ["q"], ["s"])


def test_what_is_empty_or_missing_and_right_all_the_same():
    none = DF["q"].head(0)
    assert p29.calculate_k_anonymity(NO_ROWS) == 0
    assert p29.calculate_normalized_entropy(none) == 0
    assert p29.calculate_global_distribution(none) == {}
    assert notebook.agg_categorical_column(none) == [""]
    assert np.isnan(notebook.agg_numerical_column(none)[0])
    # One NaN is another, though they differ for Python.
    one, other = (pd.Series([float("nan"), 1.0, 1.0, 1.0]) for _ in range(2))
    assert p29.compute_t_closeness(one, p29.calculate_global_distribution(other)) == 0
    row = DF.head(1)
    assert p29.calculate_t_closeness(row, ["q"], ["s"])["t-closeness_s"].tolist() == [0]
    assert [list(part) for part in notebook.partition_dataset(row, ["n"], "s", notebook.is_k_anonymous)] == [
        [0]
    ]
    assert MEAN_MODE(row, [ROWS[:1]], [0, 1], [True, False]) == 0
    # As the notebook divides by the records of the partition: 1/2 against 1/4, a missing value is no value.
    held = pd.DataFrame({"s": ["x", None]})
    assert notebook.t_closeness(held, held.index, "s", {"x": 0.25}) == 0.25


@pytest.mark.few(1)
@pytest.mark.parametrize("names", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_numbers_as_names_of_columns(names):
    """pandas takes a number first as the name of a level or column, and figures equal named columns'."""
    frame = pd.DataFrame(DF.to_numpy(), columns=list(names)).astype({names[1]: int})
    frame.index.name = names[0]
    q, n, s = names
    for is_valid in (notebook.is_k_anonymous, notebook.is_l_diverse):
        parts = notebook.partition_dataset(frame, [n], s, is_valid)
        plain = notebook.partition_dataset(DF, ["n"], "s", is_valid)
        assert [list(part) for part in parts] == [list(part) for part in plain]
    halves = [DF.index[:2], DF.index[2:]]
    result = notebook.build_anonymized_dataset(frame, halves, [n, q], s)
    expected = notebook.build_anonymized_dataset(DF, halves, ["n", "q"], "s")
    assert result.to_numpy().tolist() == expected.to_numpy().tolist()
    outcome = p29.calculate_t_closeness(frame, [q], [s])
    assert outcome.iloc[:, 1].tolist() == p29.calculate_t_closeness(DF, ["q"], ["s"]).iloc[:, 1].tolist()


@pytest.fixture
def files(tmp_path):
    (tmp_path / "raw.csv").write_text("q,s\na,x\nb,y\n")
    (tmp_path / "none.csv").write_text("q,s\n")
    (tmp_path / "DGHs").mkdir()
    (tmp_path / "DGHs" / "q.txt").write_text("R\n\ta\n\tb\n")
    return tmp_path


def test_wrong_arguments_of_the_homework(files):
    raw, folder, out = files / "raw.csv", files / "DGHs", files / "out.csv"
    costs = (raw, raw, folder), ("raw_dataset_file", "anonymized_dataset_file", "DGH_folder")
    calls = [(call, *costs) for call in (comp430.cost_MD, comp430.cost_LM)]
    names = "raw_dataset_file", "DGH_folder", "k"
    calls += [
        (comp430.random_anonymizer, (raw, folder, 1, 1, out), (*names, "s", "output_file")),
        (comp430.clustering_anonymizer, (raw, folder, 1, out), (*names, "output_file")),
        (comp430.bottomup_anonymizer, (raw, folder, 1, 1, out), (*names, "l", "output_file")),
    ]
    for call, right, named in calls:
        for place, name in enumerate(named):
            numbers = (None, "2", 1.5, True, -1, [])
            for value in numbers if len(name) == 1 else (None, 5, "", [], 1.5):
                with pytest.raises(ic.InputError, match=name):
                    call(*right[:place], value, *right[place + 1 :])
        with pytest.raises(ic.TableError, match=r"none.csv: the file has no records"):
            call(files / "none.csv", *right[1:])
    assert not out.exists()


TYPES = {"q": QUASI_IDENTIFIER, "s": SENSITIVE_ATTRIBUTE}


@pytest.mark.parametrize(
    ("tech", "settings", "wrong"),
    [
        ("k-anonymity", {"k": 1}, {"k": (None, "2", 1.5, 0), "attributeTypes": (None, 5, "x", [], {}, {"z": 1})}),
        ("l-diversity", {"l": 1}, {"l": (None, "2", 1.5, 0), "groups": (None, "yes")}),
        ("t-closeness", {"tLimit": 1}, {"tLimit": (None, "x", [], 2), "dataHierarchy": (5, [], "nowhere")}),
        ("d-presence", {"dMin": 0, "dMax": 1}, {"dMin": (None, "x"), "dMax": (None, "x"), "dataHierarchy": (None,)}),
        (
            "profitability",
            dict.fromkeys(("adversaryCost", "adversaryGain", "publisherLost", "publisherBenefit"), 1)
            | {"allowAttack": True},
            {"adversaryCost": (None, "x"), "publisherLost": (None, "x"), "allowAttack": (None, "no")},
        ),
        ("UtilityBias", {"processingFunc": len, "maxBias": 1},
         {"processingFunc": (None, 5, lambda _: "x"), "maxBias": (None, "x")}),
        ("LinkabilityRisk", {"auxiliaryColumns": (["q"], ["s"])},
         {"auxiliaryColumns": (None, 5, "qs", [], ["q", "s"], (["q"], []), (["q"], ["z"])), "nAttack": (None, 0)}),
        ("SinglingOutRisk", {}, {"n_col": (None, "x", 0, 9), "nAttack": (None, "x", 0)}),
        ("InferenceRisk", {}, {"nAttack": (None, "x", 0)}),
    ],
)  # fmt: skip
def test_wrong_arguments_of_petworks(files, tech, settings, wrong):
    options = settings if "Risk" in tech or tech == "UtilityBias" else settings | {"attributeTypes": TYPES}
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ic.InputError, match="nowhere" if value == "nowhere" else name[:6]):
                petworks.PETValidation(
                    str(files / "raw.csv"), str(files / "raw.csv"), tech, **{**options, name: value}
                )
    if tech != "UtilityBias":
        for value in (None, 5, "", files / "none.csv"):
            with pytest.raises(ic.InputError):
                petworks.PETValidation(value, value, tech, **options)


def test_wrong_arguments_of_anonymization(files):
    settings = {"k": 1, "attributeTypes": TYPES, "dataHierarchy": files}
    for value in (None, "x", [], float("nan"), 2, -1):
        with pytest.raises(ic.InputError, match=r"(?i)suppression"):
            petworks.PETAnonymization(files / "raw.csv", "k-anonymity", value, **settings)
    for value in (None, 5, []):
        with pytest.raises(ic.InputError, match="tech"):
            petworks.PETAnonymization(files / "raw.csv", value, 0, **settings)
