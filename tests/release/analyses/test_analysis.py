"""Settings of an analysis, and formulas that call nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import incrowd as ic
from incrowd.release.analyses.formula import columns_of
from incrowd.release.policy.policy_schema import policy_schema

COST = ic.Analysis("cost", "cost ~ age + C(sex)")
POLICY = """
version = 1
[columns.age]
role = "quasi"
[[models]]
model = "k-anonymity"
k = 5
[[analyses]]
{}
"""


def read(lines):
    return ic.Policy.from_dict(tomllib.loads(POLICY.format(lines)), Path())


def test_an_analysis_stands_in_the_policy_file_and_comes_back():
    policy = read('name = "cost"\nformula = "cost ~ age + C(sex)"\nkind = "ols"\nranges = "draws"\ndraws = 7')
    [analysis] = policy.analyses
    assert (analysis.formula, analysis.ranges, analysis.draws) == ("cost ~ age + C(sex)", "draws", 7)
    assert ic.Policy.from_dict(tomllib.loads(policy.to_toml()), Path()).analyses == (analysis,)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('formula = "a ~ b"', "name the analysis"),
        ('name = "x"', "write its formula"),
        ('name = "x"\nformula = "a ~ b"\nkind = "olz"', "did you mean 'ols'"),
        ('name = "x"\nformula = "a ~ b"\nkin = "ols"', "did you mean 'kind'"),
        ('name = "x"\nformula = "a + b"', "looks like 'cost ~ age'"),
        ('name = "x"\nformula = "a ~ b"\nkind = "table"', "looks like '~ age [+] cost'"),
        ('name = "x"\nformula = "a ~ b"\nevent = "c"', "for cox and kaplan-meier"),
        (
            'name = "x"\nformula = "a ~ b"\nkind = "quantiles"\nstrata = "s"',
            "strata and clusters are for 'ols', ",
        ),
        ('name = "x"\nformula = "a ~ b"\nclusters = 3', "clusters names one column"),
        ('name = "x"\nformula = "a ~ b"\nkind = "logit"\nranges = "interval"', "is for kind = 'ols'"),
        ('name = "x"\nformula = "a ~ b"\nquantiles = [0.5, 2.0]', "above 0 and below 1"),
        ('name = "x"\nformula = "a ~ b"\ndraws = 1', "between 2 and 1000"),
        ('name = "x"\nformula = "a ~ b"\n[[analyses]]\nname = "x"\nformula = "a ~ c"', "have one name"),
    ],
)
def test_a_wrong_setting_is_named_with_the_way_out(lines, message):
    with pytest.raises(ic.InputError, match=message) as caught:
        read(lines)
    assert str(caught.value).startswith("policy: ")


def test_the_schema_has_every_setting_of_a_file():
    entry = policy_schema()["properties"]["analyses"]["items"]
    settings = {*ic.Analysis("x", "a ~ b", "quantiles").__dataclass_fields__} - {"function", "columns"}
    assert entry["properties"].keys() == settings
    assert all(each["description"] for each in entry["properties"].values())


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("cost ~ age * sex + age:zip - 1", ["cost", "age", "sex", "zip"]),
        ("np.log(cost) ~ bs(age, df=3) + C(Q('a:b'), Treatment(reference='u'))", ["cost", "age", "a:b"]),
        ("I(income == '>50K') ~ age", ["income", "age"]),
    ],
)
def test_the_columns_of_a_formula(formula, columns):
    assert list(ic.Analysis("x", formula).columns) == columns


@pytest.mark.parametrize(
    "side",
    [
        "__import__('os').system('x')", "age.real", "[age for age in cost]", "np.load('a')", "(lambda: 1)()",
        "C(age)(cost)", "age\n+ cost", "f'{age}'", "Q(__builtins__)", "'a'.join(age)", "age if cost else 1",
        "age[1:2]", "{age: 1}", "open('a')", "Q('a', 'b')", "np.log.real", "C(*age)", "(age := 1)", "x" * 5_000,
    ],
)  # fmt: skip
def test_a_formula_calls_nothing_else(side):
    with pytest.raises(ic.ParameterError, match="a formula has names of columns"):
        columns_of(side, "analysis x")


def test_a_function_of_python_has_columns_and_stays_out_of_files():
    with pytest.raises(ic.ParameterError, match="a function has columns, and no formula"):
        ic.Analysis("mine", function=len)
    mine = ic.Analysis("mine", function=len, columns=["cost"])
    with pytest.raises(ic.ParameterError, match="no place in a policy file"):
        mine.settings()


def test_a_goal_names_an_analysis():
    from incrowd.release.analyses.analysis import analysis_of

    assert analysis_of("analysis:cost", [COST]) is COST
    for goal, message in (("cost", "write analysis:NAME"), ("analysis:cots", "did you mean 'cost'")):
        with pytest.raises(ic.ParameterError, match=message):
            analysis_of(goal, [COST])
