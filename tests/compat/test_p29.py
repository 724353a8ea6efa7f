"""The functions of the notebook on the P_29 score, with each printed digit."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.compat.p29 import (
    calculate_classes,
    calculate_global_distribution,
    calculate_k_anonymity,
    calculate_normalized_entropy,
    calculate_P_29_score,
    calculate_t_closeness,
    compute_t_closeness,
    ensure_privacy,
)
from incrowd_gate import rules

quasi_identifiers = ["race", "gender", "age"]
sensitive_attributes = ["diag_1", "diag_2", "diag_3", "max_glu_serum", "A1Cresult", "readmitted"]


@pytest.fixture(scope="module")
def df(shared_data):
    return pd.read_csv(shared_data / "diabetes" / "df1-filter_qi_sa.csv.gz", keep_default_na=False)


@pytest.fixture(scope="module")
def results_df(df):
    """The notebook's loop over classes, as printed."""
    results = defaultdict(list)
    grouped = df.groupby(quasi_identifiers)
    for _name, group in grouped:
        k_anonymity = calculate_k_anonymity(group)
        for attribute in sensitive_attributes:
            normalized_entropy = calculate_normalized_entropy(group[attribute])
            results[f"Normalized Entropy l-diversity_{attribute}"].append(normalized_entropy)
        quasi_identifier_values = ", ".join(f"{qi}: {group[qi].iloc[0]}" for qi in quasi_identifiers)
        results["Quasi-identifiers"].append(quasi_identifier_values)
        results["k-anonymity"].append(k_anonymity)
    return pd.DataFrame(results)


@pytest.mark.slow
def test_classes(results_df):
    assert results_df.shape == (63, 8)
    row = results_df.iloc[0]
    assert [f"{row[f'Normalized Entropy l-diversity_{a}']:.6f}" for a in sensitive_attributes] == [
        "0.774974", "0.744782", "0.754702", "0.080875", "0.525621", "0.836904",
    ]  # fmt: skip
    assert row["Quasi-identifiers"] == "race: AfricanAmerican, gender: Female, age: [30-40)"
    assert row["k-anonymity"] == 750
    assert results_df["k-anonymity"].iloc[-5:].tolist()[:4] == [219, 377, 500, 445]


def test_distances(df):
    t_value = calculate_t_closeness(df, quasi_identifiers, sensitive_attributes)
    assert list(t_value) == ["Quasi-identifiers", *(f"t-closeness_{a}" for a in sensitive_attributes)]
    printed = {
        0: "0.303572 0.238707 0.184423 0.034396 0.074785 0.044816",
        1: "0.156351 0.140655 0.078049 0.024683 0.038327 0.007943",
        2: "0.044066 0.041732 0.024380 0.036376 0.041248 0.017997",
        3: "0.035150 0.060127 0.048147 0.033302 0.022644 0.016276",
        4: "0.069166 0.049878 0.063289 0.027757 0.020375 0.011250",
        58: "0.148696 0.197396 0.136719 0.039364 0.101809 0.160779",
        59: "0.085488 0.098287 0.099438 0.023885 0.073724 0.151804",
        60: "0.070874 0.083153 0.082875 0.023063 0.037748 0.090149",
        61: "0.120149 0.117597 0.088735 0.014861 0.011622 0.080126",
    }
    for row, line in printed.items():
        assert " ".join(f"{value:.6f}" for value in t_value.iloc[row, 1:]) == line
    readmitted = t_value["t-closeness_readmitted"]
    assert (readmitted.max(), readmitted.min()) == (0.24786315576225965, 0.00559306543589707)


def test_the_class_that_the_notebook_works_out(df, evidence):
    distribution = calculate_global_distribution(df["readmitted"])
    printed = {"NO": 0.5378511299520261, ">30": 0.3505415924931358, "<30": 0.1116072775548381}
    assert distribution == pytest.approx(printed, abs=1e-16)
    assert list(distribution) == ["NO", ">30", "<30"]
    ec_df = df[(df["race"] == "AfricanAmerican") & (df["gender"] == "Female") & (df["age"] == "[30-40)")]
    local = calculate_global_distribution(ec_df["readmitted"])
    assert local == {"NO": 0.5826666666666667, ">30": 0.308, "<30": 0.10933333333333334}
    distance = compute_t_closeness(ec_df["readmitted"], distribution)
    assert distance == pytest.approx(0.04481553671464057, abs=1e-15)
    evidence("p29", "t of readmitted in the class that is worked out", "0.04481553671464057", distance)
    # Its prose says 0.161857; its own cell, right, prints this.
    scaled = (distance - 0.00559306543589707) / (0.24786315576225965 - 0.00559306543589707)
    assert scaled == pytest.approx(0.16189563980393462, abs=1e-15)


def test_the_frame_of_all_classes_is_the_notebook_s(df, results_df):
    """The notebook's cells take three frames from this frame, and the score is the notebook's."""
    result = calculate_classes(df, quasi_identifiers, sensitive_attributes)
    t_value = calculate_t_closeness(df, quasi_identifiers, sensitive_attributes)
    assert sorted(result) == sorted({*results_df, *t_value})
    pd.testing.assert_frame_equal(result[[*t_value]], t_value)
    pd.testing.assert_frame_equal(result[[*results_df]], results_df, check_exact=False, rtol=0, atol=1e-14)
    k_value = result[["Quasi-identifiers", "k-anonymity"]].copy()
    l_value_columns = ["Quasi-identifiers"] + [
        col for col in result.columns if col.startswith("Normalized Entropy l-diversity")
    ]
    outcome = calculate_P_29_score(k_value, result[l_value_columns].copy(), t_value)
    assert outcome[0] == pytest.approx(0.8057811497937597, abs=1e-15)
    assert outcome[3:] == (13, pytest.approx(0.07358616908386309, abs=1e-15), 0.4997312970313503)


def test_the_score(df, results_df):
    k_value = results_df[["Quasi-identifiers", "k-anonymity"]].copy()
    l_value_columns = ["Quasi-identifiers"] + [
        col for col in results_df.columns if col.startswith("Normalized Entropy l-diversity")
    ]
    l_value = results_df[l_value_columns].copy()
    t_value = calculate_t_closeness(df, quasi_identifiers, sensitive_attributes)
    assert l_value.iloc[:, 1:].mean().mean() == pytest.approx(0.6468849936894951, abs=1e-15)
    assert calculate_P_29_score(k_value, l_value, t_value) == (
        0.8057811497937597,
        [],
        [],
        13,
        0.07358616908386309,
        0.4997312970313503,
    )
    assert ensure_privacy(df, quasi_identifiers, sensitive_attributes).equals(df)


def values(names, **columns):
    return pd.DataFrame({"Quasi-identifiers": names, **columns})


def test_a_score_of_zero_says_why():
    names = ["a: 1", "a: 2"]
    k_value = values(names, **{"k-anonymity": [1, 5]})
    l_value, t_value = values(names, l=[0.0, 0.7]), values(names, t=[0.2, 0.6])
    score, problems, reasons, k_min, l_min, t_max = calculate_P_29_score(k_value, l_value, t_value)
    assert (score, k_min, l_min, t_max) == (0.0, 1, 0.0, 0.6)
    assert reasons == [
        "k-anonymity is 1",
        "normalized entropy l-value is 0 for some attribute",
        "t-value exceeds 0.5 for some attribute",
    ]
    assert problems == [
        ("a: 1", "k-anonymity is 1"),
        ("a: 1", "normalized entropy l-value is 0 for l"),
        ("a: 2", "t-value exceeds 0.5 for t"),
    ]
    # 0.5 passes, although the text says below.
    good = calculate_P_29_score(
        values(names, **{"k-anonymity": [2, 5]}), values(names, l=[0.5, 0.7]), values(names, t=[0.1, 0.5])
    )
    assert good[0] == pytest.approx(0.5 * 0.5 + 0.25 * 0.6 + 0.25 * 0.5)
    with pytest.raises(ic.TableError, match="one class and one sensitive"):
        calculate_P_29_score(k_value.head(0), l_value, t_value)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", None]), st.sampled_from(["u", "v"]), st.sampled_from(["x", "y", None])
        ),
        min_size=1,
        max_size=40,
    )
)
def test_functions_agree_with_the_library(rows):
    df = pd.DataFrame(rows, columns=["p", "q", "s"])
    t_value = calculate_t_closeness(df, ["p", "q"], ["s"])
    whole = calculate_global_distribution(df["s"])
    for (_, group), distance in zip(
        df.groupby(["p", "q"], dropna=False), t_value["t-closeness_s"], strict=True
    ):
        assert distance == pytest.approx(compute_t_closeness(group["s"], whole), abs=1e-12)
    score = ic.privacy.p29(df, ["p", "q"], {"s": "category"})
    grouped = df.groupby(["p", "q"], dropna=False)
    sizes = [calculate_k_anonymity(group) for _, group in grouped]
    entropies = [calculate_normalized_entropy(group["s"]) for _, group in grouped]
    names = t_value["Quasi-identifiers"]
    result = calculate_classes(df, ["p", "q"], ["s"])
    assert result["k-anonymity"].tolist() == sizes
    assert result["Normalized Entropy l-diversity_s"].to_numpy() == pytest.approx(
        np.array(entropies), abs=1e-12
    )
    assert ((result["Normalized Entropy l-diversity_s"] == 0) == (np.array(entropies) == 0)).all()
    outcome = calculate_P_29_score(
        values(names, **{"k-anonymity": sizes}), values(names, s=entropies), t_value
    )
    assert outcome[0] == pytest.approx(score.value, abs=1e-12)
    assert outcome[3] == score.k_min


@pytest.mark.slow
def test_missing_sensitive_values_count():
    assert calculate_normalized_entropy(pd.Series(["a", None])) == 1
    assert calculate_normalized_entropy(pd.Series([], dtype=object)) == 0
    assert compute_t_closeness(pd.Series(["a", None]), {"a": 0.5, None: 0.5}) == 0
    with pytest.raises(ic.SchemaError, match="no column 'z'"):
        calculate_t_closeness(pd.DataFrame({"a": [1]}), ["z"], ["a"])
    # More values than are laid out at a time.
    wide = pd.DataFrame({"a": np.arange(3000) % 1500, "s": np.arange(3000)})
    assert calculate_t_closeness(wide, ["a"], ["s"]).iloc[:, 1].to_numpy() == pytest.approx(2998 / 3000)


@pytest.mark.parametrize(
    ("cells", "shares", "distance"),
    [
        (["a", "z"], {"a": 1.0}, 0.25),
        (["z"], {"a": 1.0}, 0.5),
        ([], {"a": 1.0}, 0.5),
        ([], {"a": 0.3, "b": 0.7}, 0.5),
        (["a"], {}, 0.0),
        (["a", "b", "a"], {"b": 0.25, "a": 0.75}, 0.08333333333333334),
    ],
)
def test_distances_are_summed_over_the_values_of_the_whole(cells, shares, distance):
    """The notebook lays the shares of a class out by the table's values; others are left out."""
    series = pd.Series(cells, dtype=object)
    own = series.value_counts(normalize=True).reindex(list(shares), fill_value=0)
    assert distance == 0.5 * np.sum(np.abs(own.values - np.array(list(shares.values()))))
    assert compute_t_closeness(series, shares) == distance


def test_the_first_column_names_the_classes():
    names = ["a: 1", "a: 2"]
    frames = [
        pd.DataFrame({"class": names, "k-anonymity": [1, 5], "note": ["x", "y"]}),
        pd.DataFrame({0: names, "l": [0.5, 0.7]}),
        pd.DataFrame({"EC": names, "t": [0.2, 0.6]}),
    ]
    score, problems, *_ = calculate_P_29_score(*frames)
    assert (score, problems) == (
        0.0,
        [("a: 1", "k-anonymity is 1"), ("a: 2", "t-value exceeds 0.5 for t")],
    )
    frames[0]["k-anonymity"], frames[2]["t"] = [2, 5], [0.1, 0.5]
    named = [frame.rename(columns={frame.columns[0]: "Quasi-identifiers"}) for frame in frames]
    moved = named[1][["l", "Quasi-identifiers"]]
    assert calculate_P_29_score(*frames)[0] == pytest.approx(0.5 * 0.5 + 0.25 * 0.6 + 0.25 * 0.5)
    assert calculate_P_29_score(*frames) == calculate_P_29_score(named[0], moved, named[2])
    with pytest.raises(ic.SchemaError, match=r"k_value: .*k-anonymity"):
        calculate_P_29_score(frames[1], *frames[1:])
    for frame in (frames[1][["l"]], frames[1].iloc[:, :0]):
        with pytest.raises(ic.TableError, match="l_value: the score needs one class"):
            calculate_P_29_score(frames[0], frame, frames[2])


def test_equal_distances_are_equal_whatever_their_rounding():
    rows = (
        [("a", "x")] * 2 + [("a", "y")] * 2 + [("b", "y")] + [("b", None)] * 2 + [(None, "x"), (None, None)]
    )
    df = pd.DataFrame(rows, columns=["p", "s"])
    t_value = calculate_t_closeness(df, ["p"], ["s"])
    k_value = values(t_value["Quasi-identifiers"], **{"k-anonymity": [4, 3, 2]})
    l_value = values(t_value["Quasi-identifiers"], s=[1.0, 0.9, 1.0])
    assert t_value["t-closeness_s"].to_numpy() == pytest.approx(1 / 3)
    result = calculate_P_29_score(k_value, l_value, t_value)
    assert result[0] == pytest.approx(0.5 * 0.5 + 0.25 * 2.9 / 3 + 0.25)


# --- the loop that deletes classes --------------------------------------------------------------------


def published_entropy(series):
    """The notebook's code."""
    if series.empty:
        return 0
    value_counts = series.value_counts(normalize=True)
    total_entropy = 0
    for count in value_counts:
        if count > 0:
            total_entropy -= count * np.log2(count)
    unique_values = series.nunique()
    if unique_values == 1:
        return 0
    return total_entropy / np.log2(unique_values)


def published_distance(series, global_distribution):
    """The notebook's code."""
    class_distribution = series.value_counts(normalize=True)
    combined_index = list(global_distribution.keys())
    class_distribution = class_distribution.reindex(combined_index, fill_value=0)
    p_values = class_distribution.values
    q_values = np.array([global_distribution.get(k, 0) for k in combined_index])
    return 0.5 * np.sum(np.abs(p_values - q_values))


def published_classes(df, quasi_identifiers, sensitive_attributes):
    """The notebook's two loops over the classes: sizes with entropies, and distances."""
    results = defaultdict(list)
    for _name, group in df.groupby(quasi_identifiers):
        for attribute in sensitive_attributes:
            results[f"l_{attribute}"].append(published_entropy(group[attribute]))
        quasi_identifier_values = ", ".join(f"{qi}: {group[qi].iloc[0]}" for qi in quasi_identifiers)
        results["Quasi-identifiers"].append(quasi_identifier_values)
        results["k-anonymity"].append(len(group))
    global_distributions = {
        attribute: df[attribute].value_counts(normalize=True).to_dict() for attribute in sensitive_attributes
    }
    distances = []
    for group_name, group_df in df.groupby(quasi_identifiers):
        t_closeness_values = {
            f"t_{attribute}": published_distance(group_df[attribute], global_distributions[attribute])
            for attribute in sensitive_attributes
        }
        named = ", ".join(f"{qi}: {value}" for qi, value in zip(quasi_identifiers, group_name, strict=True))
        distances.append({"Quasi-identifiers": named, **t_closeness_values})
    return pd.DataFrame(results), pd.DataFrame(distances)


def published_loop(df, QI, SA, t=0.5, k=1, l=0):  # noqa: E741
    """Look at each class by the notebook's code until none fails; no row is left where all do."""
    while len(df):
        results_df, t_value = published_classes(df, QI, SA)
        fails = results_df["k-anonymity"] <= k
        for name in SA:
            fails |= (results_df[f"l_{name}"] <= l) | (t_value[f"t_{name}"] > t)
        if not fails.any():
            break
        df = df[~df.groupby(QI).ngroup().isin(np.flatnonzero(fails))]
    return df.reset_index(drop=True)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(*map(st.sampled_from, ("ab", "uvw", "xyz", "12"))), min_size=1, max_size=60
    ),
    st.sampled_from([0.3717, 0.6173, 1]), st.integers(0, 3), st.sampled_from([0, 0.7173]),
)  # fmt: skip
def test_the_loop_leaves_the_rows_that_the_notebook_s_code_leaves(rows, t, k, l):  # noqa: E741
    df = pd.DataFrame(rows, columns=["p", "q", "s", "u"])
    left = published_loop(df, ["p", "q"], ["s", "u"], t, k, l)
    if not len(left):
        with pytest.raises(ic.InfeasibleError, match="no class is left"):
            ensure_privacy(df, ["p", "q"], ["s", "u"], t, k, l)
        return
    pd.testing.assert_frame_equal(ensure_privacy(df, ["p", "q"], ["s", "u"], t, k, l), left)


def test_the_rows_are_those_of_the_library_and_no_verdict_is_made(monkeypatch):
    """A verdict took 8 of 10 parts of the time, and no caller of the published interface sees it."""
    df = pd.DataFrame(
        {
            "p": pd.Categorical(["a", "b", "a", "*", None, "a", None]),
            "n": pd.array([1, 2, 1, None, 3, 1, 3], "Int64"),
            "s": ["x", "x", "y", "z", "x", None, "y"],
            "home": [{"zip": str(place)} for place in range(7)],
        },
        index=[5, 5, 1, 0, 0, 7, 9],
    )
    roles = [ic.Attribute(name, "quasi", kind="category") for name in ("p", "n")]
    schema = ic.Schema.of_attributes(
        [*roles, ic.Attribute("s", "sensitive", kind="category")], unlisted="keep"
    )
    left = ic.ensure_privacy(df, schema, t=0.8, keep_order=True, force=True, unanswered="write").table
    monkeypatch.setattr(rules, "points_of", None)
    pd.testing.assert_frame_equal(ensure_privacy(df, ["p", "n"], ["s"], t=0.8), left)
    assert left["home.zip"].tolist() == ["0", "2", "4", "5", "6"]
