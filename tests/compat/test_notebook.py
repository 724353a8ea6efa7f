"""The teaching notebook's functions: printed output, and the fast path beside the slow path."""

from __future__ import annotations

import functools
import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
import incrowd.compat.notebook as nb
from examples import examples
from incrowd.compat import notebook
from incrowd.compat.notebook import (
    agg_categorical_column,
    agg_numerical_column,
    build_anonymized_dataset,
    diversity,
    get_spans,
    is_k_anonymous,
    is_l_diverse,
    is_t_close,
    partition_dataset,
    split,
    t_closeness,
)

# --- the notebook, cell by cell -----------------------------------------------------------------------

names = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
categorical = {
    "workclass", "education", "marital-status", "occupation", "relationship", "sex", "native-country", "race", "income",
}  # fmt: skip
feature_columns = ["age", "education-num"]
sensitive_column = "income"


@pytest.fixture(scope="module")
def df(shared_data):
    with gzip.open(shared_data / "adult" / "adult.all.txt.gz", "rt") as file:
        df = pd.read_csv(file, sep=", ", header=None, names=names, index_col=False, engine="python")
    for name in categorical:
        df[name] = df[name].astype("category")
    return df


@pytest.fixture(scope="module")
def global_freqs(df):
    global_freqs = {}
    total_count = float(len(df))
    group_counts = df.groupby(sensitive_column, observed=True)[sensitive_column].agg("count")
    for value, count in group_counts.to_dict().items():
        p = count / total_count
        global_freqs[value] = p
    assert global_freqs == {"<=50k": 0.7607182343065395, ">50k": 0.23928176569346055}
    return global_freqs


@pytest.mark.slow
def test_spans_and_a_split(df):
    full_spans = get_spans(df, df.index)
    assert full_spans == {
        "age": 73, "workclass": 9, "fnlwgt": 1478115, "education": 16, "education-num": 15, "marital-status": 7,
        "occupation": 15, "relationship": 6, "race": 5, "sex": 2, "capital-gain": 99999, "capital-loss": 4356,
        "hours-per-week": 98, "native-country": 42, "income": 2,
    }  # fmt: skip
    assert list(full_spans) == list(names)
    left, right = split(df, df[:20].index, "age")
    assert left.tolist() == [4, 5, 8, 10, 11, 12, 13, 15, 16, 17]
    assert right.tolist() == [0, 1, 2, 3, 6, 7, 9, 14, 18, 19]


PRINTED = {
    "k": (
        477,
        [(500, "17.0", "3.000000", "<=50k", 3), (501, "17.0", "4.000000", "<=50k", 5),
         (213, "17.0", "5.000000", "<=50k", 36), (17, "17.0", "7.000000", "<=50k", 267),
         (19, "17.0", "8.172840", "<=50k", 81)],
        [(734, "90.0", "9.000000", ">50k", 4), (762, "90.0", "10.545455", "<=50k", 9),
         (763, "90.0", "10.545455", ">50k", 2), (764, "90.0", "13.647059", "<=50k", 10)],
    ),
    "l": (
        304,
        [(0, "17.812087", "6.376771", "<=50k", 1058), (1, "17.812087", "6.376771", ">50k", 1),
         (2, "18.894262", "8.822131", "<=50k", 1218), (3, "18.894262", "8.822131", ">50k", 2),
         (4, "19.333333", "10.054315", "<=50k", 1343)],
        [(573, "90.000000", "9.000000", ">50k", 4), (592, "90.000000", "10.545455", "<=50k", 9),
         (593, "90.000000", "10.545455", ">50k", 2), (594, "90.000000", "13.647059", "<=50k", 10)],
    ),
    "t": (
        115,
        [(2, "23.000159", "11.040885", "<=50k", 6021), (3, "23.000159", "11.040885", ">50k", 265),
         (0, "26.697666", "8.124394", "<=50k", 10248), (1, "26.697666", "8.124394", ">50k", 677),
         (42, "28.477519", "13.341085", "<=50k", 450)],
        [(225, "90.000000", "9.000000", ">50k", 4), (226, "90.000000", "10.545455", "<=50k", 9),
         (227, "90.000000", "10.545455", ">50k", 2), (228, "90.000000", "13.647059", "<=50k", 10)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", PRINTED)
def test_partitions_and_data_sets(df, global_freqs, kind, monkeypatch, evidence):
    # That the callables are recognized: the slow path would call them.
    monkeypatch.setattr(notebook, "split", None)
    is_valid = {
        "k": is_k_anonymous,
        "l": lambda *args: is_k_anonymous(*args) and is_l_diverse(*args),
        "t": lambda *args: is_k_anonymous(*args) and is_t_close(*args, global_freqs),
    }[kind]
    finished_partitions = partition_dataset(df, feature_columns, sensitive_column, is_valid)
    count, first, last = PRINTED[kind]
    asked = {"k": "k = 3", "l": "k = 3 and l = 2", "t": "k = 3 and t = 0.2"}[kind]
    evidence("notebook", f"partitions with {asked}", str(count), len(finished_partitions))
    if kind == "k":
        partition = finished_partitions[0]
        for place, name in ((0, 36), (1, 120)):
            row = df[feature_columns].iloc[partition[place]]
            assert (row.name, row.to_dict()) == (name, {"age": 21, "education-num": 10})
    dfn = build_anonymized_dataset(df, finished_partitions, feature_columns, sensitive_column)
    assert list(dfn) == ["age", "education-num", "income", "count"]
    shown = dfn.sort_values([*feature_columns, sensitive_column])
    digits = len(first[0][1].partition(".")[2])
    rows = [
        (index, f"{age:.{digits}f}", f"{education:.6f}", income, count)
        for index, age, education, income, count in shown.itertuples(name=None)
    ]
    assert rows[: len(first)] == first
    assert rows[-1 - len(last) : -1] == last
    assert dfn["count"].sum() == len(df)


# --- the fast path and the slow one -------------------------------------------------------------------


@st.composite
def frames(draw):
    rows = draw(st.integers(1, 40))
    column = lambda values: draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows))  # noqa: E731
    frame = pd.DataFrame(
        {
            "n": column([0, 1, 2, 3, 10]),
            "x": column([0.5, 1.5, 2.5]),
            "c": column(["u", "v", "w", "", None]),
            "s": column(["a", "b", "c"]),
            "r": column([True, False]),
        },
        index=draw(st.permutations([f"row{i}" for i in range(rows)])),
    )
    return frame.astype({"s": "category"}) if draw(st.booleans()) else frame


def plain(is_valid):
    """The same, but not recognized."""
    return lambda *args: bool(is_valid(*args))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "rule",
    [
        lambda k, many, p, shares: is_k_anonymous,
        lambda k, many, p, shares: functools.partial(is_k_anonymous, k=k),
        lambda k, many, p, shares: lambda *args: is_k_anonymous(*args, k=k) and is_l_diverse(*args, l=many),
        lambda k, many, p, shares: (
            lambda df, part, column: is_l_diverse(df, part, "r") and is_k_anonymous(df, part, column, k)
        ),
        lambda k, many, p, shares: lambda *args: is_t_close(*args, shares, p) and is_k_anonymous(*args, k),
    ],
    ids=["bare", "k", "k and l", "l of another column", "t"],
)
@examples(15)
@given(frames(), st.integers(1, 5), st.integers(1, 3), st.sampled_from([0, 0.1, 0.25, 1]))
def test_both_paths_partition_alike(rule, df, k, many, p):
    is_valid = rule(k, many, p, df["s"].value_counts(normalize=True).to_dict())
    assert notebook._recognize(is_valid, "s")
    fast = partition_dataset(df, ["n", "x", "c"], "s", is_valid)
    slow = partition_dataset(df, ["n", "x", "c"], "s", plain(is_valid))
    assert [part.tolist() for part in fast] == [part.tolist() for part in slow]
    assert sorted(name for part in fast for name in part) == sorted(df.index)


def recognized(is_valid):
    """The conditions, and sets of conditions that suffice."""
    conditions, enough = notebook._recognize(is_valid, "s")
    return [asked.kind for asked in conditions], sorted(enough)


def test_names_of_a_module_and_joined_conditions_are_read():
    both, either = (["k", "l"], [0b11]), (["k", "l"], [0b01, 0b10])
    here, limit = notebook, {"l": 3}
    for is_valid, expected in (
        (nb.is_k_anonymous, (["k"], [1])),
        (lambda *args: nb.is_k_anonymous(*args) and nb.is_l_diverse(*args), both),
        (lambda *args: here.is_k_anonymous(*args) and nb.is_l_diverse(*args, l=limit["l"]), both),
        (lambda *args: ic.compat.notebook.is_k_anonymous(*args) and is_l_diverse(*args), both),
        (lambda *args: all([nb.is_k_anonymous(*args), nb.is_l_diverse(*args)]), both),
        (lambda *args: all((is_k_anonymous(*args), is_l_diverse(*args))), both),
        (lambda *args: all(each(*args) for each in (nb.is_k_anonymous, nb.is_l_diverse)), both),
        (lambda *args: not any([not is_k_anonymous(*args), not is_l_diverse(*args)]), both),
        (lambda *args: any([nb.is_k_anonymous(*args), nb.is_l_diverse(*args)]), either),
        (lambda *args: is_k_anonymous(*args) or is_l_diverse(*args), either),
        (lambda *args: True if is_k_anonymous(*args) else is_l_diverse(*args), either),
        (lambda *args: is_k_anonymous(*args) and 1, (["k"], [1])),
        (lambda *args: (is_k_anonymous(*args) and is_l_diverse(*args)) or is_k_anonymous(*args), (["k", "l"], [1])),
        (functools.partial(lambda *args, size: is_k_anonymous(*args, size), size=4), (["k"], [1])),
    ):  # fmt: skip
        assert recognized(is_valid) == expected


def test_callables_that_do_more_are_called():
    limit, size, calls, listed = {"k": 3}, len, {"n": 0}, [is_k_anonymous]
    number = 0

    def counted(*args):
        nonlocal number
        number += 1
        return is_k_anonymous(*args)

    def counted_in_a_dict(*args):
        calls["n"] += 1
        return is_k_anonymous(*args)

    def noted(*args):
        noted.last = 1
        return is_k_anonymous(*args)

    def caught(*args):
        try:
            return size(args[1]) > 5 and is_k_anonymous(*args)
        except:  # noqa: E722
            return is_k_anonymous(*args)

    def all(conditions):
        return True

    for is_valid in (
        counted,
        counted_in_a_dict,
        noted,
        caught,
        lambda *args: all([is_k_anonymous(*args), is_l_diverse(*args)]),
        lambda *args: not is_k_anonymous(*args),
        lambda *args: is_k_anonymous(*args) == is_l_diverse(*args),
        lambda *args: is_k_anonymous(*args) or not is_l_diverse(*args),
        lambda df, part, column: len(part) >= 3,
        lambda df, part, column: is_k_anonymous(df, part, column) and size(part) > 5,
        lambda df, part, column: is_k_anonymous(df, part, column) and part != 5,
        lambda df, part, column: is_k_anonymous(df, part, column) and part,
        lambda df, part, column: is_k_anonymous(df, part, column) and f"{part}",
        lambda df, part, column: is_k_anonymous(df, part, column) and df.__class__ != 5,
        lambda df, part, column: is_k_anonymous(df, part[:3], column),
        lambda df, part, column: is_k_anonymous(df, part, column) and diversity(df, part, column) > 1,
        lambda df, part, column: is_k_anonymous(df, part, column) and nb.diversity(df, part, column) > 1,
        lambda df, part, column: is_k_anonymous(df, part, column) and all(len(part) > 5 for _ in (1,)),
        lambda *args: is_k_anonymous(*args) and [],
        lambda *args: True,
        lambda *args: is_k_anonymous(*args) or True,
        lambda *args: [each(*args) for each in listed],
        functools.partial(is_k_anonymous, "other"),
        max,
    ):
        assert notebook._recognize(is_valid, "s") is None
    assert (number, calls, hasattr(noted, "last")) == (0, {"n": 0}, False)
    assert notebook._recognize(lambda *args: is_k_anonymous(*args, k=limit["k"]), "s")
    # The name of the column is known: it may decide.
    other = lambda df, part, column: column != "s" or is_k_anonymous(df, part, column)  # noqa: E731
    assert notebook._recognize(other, "s")
    assert notebook._recognize(other, "r") is None


@pytest.mark.parametrize("name", ["is_k_anonymous", "is_l_diverse", "diversity", "t_closeness"])
def test_functions_that_were_replaced_are_called(monkeypatch, name):
    monkeypatch.setattr(notebook, name, lambda *args, **named: False)
    for is_valid in (
        lambda *args: nb.is_k_anonymous(*args) and nb.is_l_diverse(*args),
        lambda *args: any([nb.is_k_anonymous(*args), nb.is_l_diverse(*args)]),
    ):
        assert notebook._recognize(is_valid, "s") is None


ATOMS = (
    "nb.is_k_anonymous(*args, {k})",
    "is_k_anonymous(*args, k={k})",
    "nb.is_l_diverse(*args, l={many})",
    "is_l_diverse(args[0], args[1], 'r', {many})",
    "ic.compat.notebook.is_t_close(*args, shares, {p})",
    "(args[2] == 's')",
    "True",
    "len(args[1]) > 4",
)


def conditions():
    atoms = st.builds(
        str.format,
        st.sampled_from([*ATOMS[:5], *ATOMS]),
        k=st.sampled_from([1, 2, 3, 5]),
        many=st.integers(1, 3),
        p=st.sampled_from([0, 0.1, 0.25, 1]),
    )
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            *(
                st.builds(shape.format, inner, inner)
                for shape in (
                    "({} and {})", "({} or {})", "all([{}, {}])", "any(({}, {}))", "all(each for each in ({}, {}))",
                    "any([each() for each in (lambda: {}, lambda: {})])", "({} == {})", "(not {} or {})",
                    "({} if {} else False)",
                )
            )
        ),
        max_leaves=5,
    )  # fmt: skip


@pytest.mark.slow
@examples(20)
@given(frames(), conditions(), st.booleans(), st.booleans(), st.sampled_from(["", "is_k_anonymous", "all"]))
def test_a_condition_and_its_plain_calls_partition_alike(df, text, missing, dropna, own):
    if missing:
        df["s"] = df["s"].where(df["s"] != "c")
    shares = df["s"].value_counts(normalize=True, dropna=dropna).to_dict()
    names = {
        "nb": nb,
        "ic": ic,
        "shares": shares,
        "is_k_anonymous": is_k_anonymous,
        "is_l_diverse": is_l_diverse,
    }
    if own:
        names[own] = lambda given, *_, **named: isinstance(given, pd.DataFrame)
    is_valid = eval(f"lambda *args: {text}", names)
    result = [partition_dataset(df, ["n", "c"], "s", each) for each in (is_valid, plain(is_valid))]
    assert [part.tolist() for part in result[0]] == [part.tolist() for part in result[1]]


def test_conditions_on_what_the_compiled_code_does_not_take():
    df = pd.DataFrame({"n": range(12), "s": ["1", 1] * 6})
    for is_valid in (
        nb.is_l_diverse,
        lambda df, part, column: nb.is_l_diverse(df, part, "n"),
        lambda *args: nb.is_k_anonymous(*args, k=10**6) or nb.is_l_diverse(*args, l=3),
    ):
        assert notebook._recognize(is_valid, "s")
        result = [partition_dataset(df, ["n"], "s", each) for each in (is_valid, plain(is_valid))]
        assert [part.tolist() for part in result[0]] == [part.tolist() for part in result[1]]
    for limit in (0, True, 2.5):
        is_valid = functools.partial(
            lambda *args, least: nb.is_k_anonymous(*args) and is_l_diverse(*args, least), least=limit
        )
        with pytest.raises(ic.ParameterError):
            partition_dataset(df, ["n"], "s", is_valid)


def test_a_callable_of_one_s_own():
    df = pd.DataFrame({"n": range(20), "s": ["a", "b"] * 10})
    even = partition_dataset(df, ["n"], "s", lambda df, part, column: len(part) % 5 == 0)
    assert [len(part) for part in even] == [5, 5, 5, 5]
    # Each half is valid, even if it has no records: the notebook would never end.
    assert len(partition_dataset(df, ["n"], "s", lambda *args: True)) == 20


def test_frequencies_of_another_table_are_taken_as_they_are(df, global_freqs):
    few = df.head(200)
    is_valid = lambda *args: is_k_anonymous(*args) and is_t_close(*args, global_freqs)  # noqa: E731
    fast = partition_dataset(few, feature_columns, sensitive_column, is_valid)
    slow = partition_dataset(few, feature_columns, sensitive_column, plain(is_valid))
    assert [part.tolist() for part in fast] == [part.tolist() for part in slow]
    assert all(t_closeness(few, part, "income", global_freqs) <= 0.2 for part in fast[1:])


@pytest.mark.slow
@given(frames(), st.integers(1, 4))
def test_the_data_set_read_once_more(df, k):
    parts = partition_dataset(df, ["n", "c"], "s", functools.partial(is_k_anonymous, k=k))
    result = build_anonymized_dataset(df, parts, ["n", "c"], "s")
    expected = []
    for part in parts:
        held = df.loc[part]
        mean, joined = agg_numerical_column(held["n"])[0], agg_categorical_column(held["c"])[0]
        expected += [
            (mean, joined, value, int((held["s"] == value).sum())) for value in sorted(held["s"].unique())
        ]
    assert [(float(n), c, s, int(count)) for n, c, s, count in result.itertuples(index=False)] == [
        (pytest.approx(n), *rest) for n, *rest in expected
    ]


def test_helpers():
    df = pd.DataFrame({"n": [1.0, 2.0, 4.0], "c": ["b", "a", "b"], "flag": [True, False, True]})
    assert get_spans(df, df.index) == {"n": 3.0, "c": 2, "flag": 2}
    assert diversity(df, df.index[:1], "c") == 1
    assert agg_categorical_column(df["c"]) == ["a,b"]
    assert agg_numerical_column(df["n"]) == [pytest.approx(7 / 3)]
    assert [part.tolist() for part in split(df, df.index, "c")] == [[0, 2], [1]]
    assert t_closeness(df, df.index[:2], "c", {"a": 1 / 3, "b": 2 / 3}) == pytest.approx(1 / 6)
    assert t_closeness(df, df.index[:0], "c", {}) == 0
    assert is_t_close(df, df.index, "c", {"a": 1 / 3, "b": 2 / 3}, p=0)
    assert len(build_anonymized_dataset(df, [], ["n"], "c")) == 0


def test_wrong_calls():
    df = pd.DataFrame({"n": [1.0, 2.0, np.nan], "c": ["b", "a", "b"]})
    for arguments, words in (
        ((df, ["m"], "c"), "no column 'm'"),
        ((df, ["n"], "c"), "missing number lies on neither side"),
        ((df, ["c"], "c"), "cannot be a feature as well"),
        ((df, [], "c"), "give a list"),
        ((df, "n", "c"), "give a list"),
        ((df.set_index("c", drop=False), ["c"], "n"), "names a row twice"),
    ):
        with pytest.raises(ic.InputError, match=words):
            partition_dataset(*arguments, is_k_anonymous)
    with pytest.raises(ic.SchemaError, match="only works for categorical"):
        is_t_close(df, df.index, "n", {})
    for parts in ([pd.Index([0, 5])], [pd.Index([0]), pd.Index([0])]):
        with pytest.raises(ic.TableError, match="a row is not in the table, or in two"):
            build_anonymized_dataset(df.fillna(0), parts, ["n"], "c")


@pytest.mark.parametrize(
    ("secrets", "p", "partitions"),
    [
        # The left half has 4 of 5 and the table 6 of 10: in floats a little more than 0.2 apart.
        ("xxxxyxxyyy", 0.2, 1),
        ("xxxxyxxyyy", 0.8 - 0.6, 2),
        # The right half has 4 of 5 and the table 7 of 10: again a little more than 0.1 apart.
        ("xxyyyxyyyy", 0.1, 1),
        ("xxyyyxyyyy", 0.8 - 0.7, 2),
        ("xxyyyxxyyy", 0.0, 2),
    ],
)
def test_ties_are_those_of_the_notebook_s_floats(secrets, p, partitions):
    df = pd.DataFrame({"a": range(10), "s": list(secrets)})
    total = float(len(df))
    global_freqs = {value: count / total for value, count in df.groupby("s")["s"].agg("count").items()}

    def published(df, partition, column):
        counts = df.loc[partition].groupby(column)[column].agg("count").to_dict()
        return len(partition) >= 3 and (
            max(abs(count / float(len(partition)) - global_freqs[value]) for value, count in counts.items())
            <= p
        )

    is_valid = lambda *args: is_k_anonymous(*args) and is_t_close(*args, global_freqs, p=p)  # noqa: E731
    assert notebook._recognize(is_valid, "s")
    for condition in (published, is_valid, plain(is_valid)):
        assert len(partition_dataset(df, ["a"], "s", condition)) == partitions


@pytest.mark.slow
@given(
    st.lists(st.sampled_from("xyz"), min_size=6, max_size=30), st.sampled_from([0.1, 0.2, 0.25, 0.3, 0.05])
)
def test_ties_of_any_table_are_those_of_plain_floats(secrets, p):
    df = pd.DataFrame({"a": range(len(secrets)), "s": secrets})
    shares = {value: count / float(len(df)) for value, count in df["s"].value_counts().items()}

    def published(df, partition, column):
        counts = df.loc[partition, column].value_counts().items()
        return max(abs(count / float(len(partition)) - shares[value]) for value, count in counts) <= p

    fast = partition_dataset(df, ["a"], "s", lambda *args: is_t_close(*args, shares, p=p))
    slow = partition_dataset(df, ["a"], "s", published)
    assert [part.tolist() for part in fast] == [part.tolist() for part in slow]
