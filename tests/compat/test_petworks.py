"""PETWorks's functions: figures of documents, outputs of ARX, and defects that are not copied."""

from __future__ import annotations

import gzip
import json
import re
from fractions import Fraction
from math import log2

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.compat.petworks import PETAnonymization, PETValidation, output, report
from incrowd.compat.petworks._levels import Levels, ambiguity, non_uniform_entropy, precision
from incrowd.compat.petworks.attributetypes import (
    IDENTIFIER,
    INSENSITIVE_ATTRIBUTE,
    QUASI_IDENTIFIER,
    SENSITIVE_ATTRIBUTE,
)

NINE = [
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
]
ADULT = dict.fromkeys(NINE, QUASI_IDENTIFIER) | {"workclass": SENSITIVE_ATTRIBUTE}
DELTA = {
    "zip": QUASI_IDENTIFIER, "age": QUASI_IDENTIFIER, "nationality": SENSITIVE_ATTRIBUTE,
    "salary-class": INSENSITIVE_ATTRIBUTE,
}  # fmt: skip


@pytest.fixture(scope="module")
def petworks(shared_data):
    return shared_data / "petworks"


# --- the documents ------------------------------------------------------------------------------------


def test_the_document_on_t_closeness(petworks, capsys):
    """The code block of "t-closeness.py" with another import prints the figures of the document."""
    anonymized = str(petworks / "patient" / "patient_anonymized.csv")
    dataHierarchy = str(petworks / "patient" / "patient_hierarchy")

    attributeTypes = {
        "ZIPCode": QUASI_IDENTIFIER,
        "Age": QUASI_IDENTIFIER,
        "Disease": SENSITIVE_ATTRIBUTE,
    }

    result = PETValidation(
        None,
        anonymized,
        "t-closeness",
        dataHierarchy=dataHierarchy,
        attributeTypes=attributeTypes,
        tLimit=0.376,
    )
    report(result, "json")
    assert capsys.readouterr().out == '{\n    "t": 0.376,\n    "fulfill t-closeness": true\n}\n'
    places = (dataHierarchy, attributeTypes, 0.376)
    # The same call as its sentence spells it.
    assert PETValidation(None, anonymized, "t-closeness", *places) == result


PATIENT_YAML = """DATASET:
  ATTRIBUTE_TYPE:
    QUASI_IDENTIFIER:
      - "ZIPCode"
      - "Age"
    SENSITIVE_ATTRIBUTE:
      - "Disease"
  HIERARCHY: "patient_hierarchy"
"""


@pytest.fixture
def patient(petworks, tmp_path):
    """The patients beside the file that PETWorks keeps there, plain and packed."""
    folder = petworks / "patient"
    (tmp_path / "patient_hierarchy").symlink_to(folder / "patient_hierarchy")
    rows = (folder / "patient_anonymized.csv").read_bytes()
    (tmp_path / "patient_anonymized.csv").write_bytes(rows)
    (tmp_path / "patient_anonymized.csv.gz").write_bytes(gzip.compress(rows))
    (tmp_path / "patient_anonymized.yaml").write_text(PATIENT_YAML)
    return tmp_path / "patient_anonymized.csv"


def test_values_without_names_are_read_in_the_order_of_the_texts(patient):
    """``dataHierarchy, attributeTypes, tLimit``: later texts leave out the file beside the data."""
    folder = patient.parent / "patient_hierarchy"
    types = {"ZIPCode": QUASI_IDENTIFIER, "Age": QUASI_IDENTIFIER, "Disease": SENSITIVE_ATTRIBUTE}
    for tech, name in (("k-anonymity", "k"), ("l-diversity", "l")):
        by_name = PETValidation(None, patient, tech, attributeTypes=types, **{name: 3})
        assert PETValidation(None, patient, tech, types, 3) == by_name
        assert PETValidation(None, patient, tech, 3) == by_name
    by_name = PETValidation(None, patient, "t-closeness", tLimit=0.3, groups=True)
    assert PETValidation(None, patient, "t-closeness", folder, types, "0.3", groups=True) == by_name
    assert PETValidation(None, patient, "t-closeness", 0.3, groups=True) == by_name
    assert len(by_name["groups"]) == 3
    with pytest.raises(ic.ParameterError, match="got 2 values for 1 parameters; those are tLimit="):
        PETValidation(None, patient, "t-closeness", 0.3, 0.4)
    names = "dataHierarchy=, attributeTypes=, tLimit="
    with pytest.raises(ic.ParameterError, match=f"got 'tLimit' twice; those are {names}"):
        PETValidation(None, patient, "t-closeness", folder, types, 0.3, tLimit=0.4)
    with pytest.raises(ic.ParameterError, match="attributeTypes: give a dict"):
        PETValidation(None, patient, "t-closeness", types, folder, 0.3)


@pytest.mark.slow
def test_types_and_hierarchies_are_read_beside_the_data(patient):
    """By the hierarchy t is 8/27, by equal distances 5/9, and the caller's arguments come first."""
    for data in (patient, f"{patient}.gz"):
        assert PETValidation(None, data, "k-anonymity", k=3)["fulfill k-anonymity"]
        for limit, holds in ((8 / 27, True), (8 / 27 - 1e-9, False)):
            assert PETValidation(None, data, "t-closeness", tLimit=limit)["fulfill t-closeness"] == holds
    all_one = {"attributeTypes": {"Disease": QUASI_IDENTIFIER}}
    assert not PETValidation(None, patient, "k-anonymity", k=3, **all_one)["fulfill k-anonymity"]
    (patient.parent / "none").mkdir()
    settings = {"dataHierarchy": patient.parent / "none", "tLimit": 5 / 9 - 1e-9}
    assert not PETValidation(None, patient, "t-closeness", **settings)["fulfill t-closeness"]
    raw = tableau(patient.parent, "ZIPCode;Age;Disease", *["47677;29;flu", "47602;22;flu"] * 2)
    out = tableau(patient.parent, "ZIPCode;Age;Disease", *["476**;[20,30[;flu"] * 4, name="out.csv")
    # Of two files, that of the second; for a release, that of the raw data.
    out.with_suffix(".yaml").write_text(PATIENT_YAML)
    assert PETValidation(raw, out, "Precision") == {"precision": 1 - (2 / 5 + 1 / 2) / 2}
    raw.with_suffix(".yaml").write_text(PATIENT_YAML)
    release = PETAnonymization(raw, "k-anonymity", 0, k=4)
    assert set(release["ZIPCode"]) == {"476**"}
    assert set(release["Age"]) == {"[20,30["}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("DATASET: [", "patient_anonymized.yaml: is none of PETWorks's .* or give attributeTypes"),
        ("- age", "is none of PETWorks's"),
        ("DATASET:\n  ATTRIBUTE_TYPE:\n    QUASI_IDENTIFIER: Age\n", "is none of PETWorks's"),
        (PATIENT_YAML.replace("ZIP", "Zip"), "patient_anonymized.yaml: the table has no column 'ZipCode'"),
        (PATIENT_YAML.replace("QUASI_", ""), "name the quasi-identifiers"),
        (PATIENT_YAML.replace("QUASI", "SEMI"), "patient_anonymized.yaml: 'ZIPCode' has no type of PETWorks"),
        ("", "attributeTypes: name the quasi-identifiers"),
    ],
)
def test_wrong_files_beside_the_data_are_named(patient, text, words):
    patient.with_suffix(".yaml").write_text(text)
    with pytest.raises(ic.InputError, match=words):
        PETValidation(None, patient, "k-anonymity", k=3)


def test_the_risk_is_that_of_the_first_file(tmp_path):
    (tmp_path / "one.csv").write_text("a\n1\n2\n")
    (tmp_path / "two.csv").write_text("a\n1\n1\n")
    for files, risk in ((("one", "two"), 1.0), (("two", "one"), 0.5), ((None, "two"), 0.5)):
        paths = [None if name is None else tmp_path / f"{name}.csv" for name in files]
        assert PETValidation(*paths, "ReidentificationRisk") == {"Re-identification Risk": risk}


def test_the_worked_example_of_the_document(tmp_path):
    """The last table swaps two cells: salary is 3/8 and 1/4, disease 3/20 and 1/10; "t = 4" must be 3/8."""
    (tmp_path / "table.csv").write_text(
        "year;salary;disease\n197*;3;stomach cancer\n197*;4;flu\n198*;5;flu\n198*;6;gastritis\n198*;8;stomach cancer\n"
    )
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "x_hierarchy_disease.csv").write_text(
        "flu;respiratory;disease\nstomach cancer;stomach;disease\ngastritis;stomach;disease\n"
    )
    for name, largest in (("salary", Fraction(3, 8)), ("disease", Fraction(3, 20))):
        types = {"year": QUASI_IDENTIFIER, name: SENSITIVE_ATTRIBUTE}
        for limit, holds in ((float(largest), True), (float(largest) - 1e-6, False)):
            answer = PETValidation(
                None,
                tmp_path / "table.csv",
                "t-closeness",
                dataHierarchy=folder,
                attributeTypes=types,
                tLimit=limit,
            )
            assert answer == {"t": limit, "fulfill t-closeness": holds}
    both = {"year": QUASI_IDENTIFIER, "salary": SENSITIVE_ATTRIBUTE, "disease": SENSITIVE_ATTRIBUTE}
    for limit, holds in ((0.375, True), (0.3, False)):
        settings = {"dataHierarchy": folder, "attributeTypes": both, "tLimit": limit}
        assert (
            PETValidation(None, tmp_path / "table.csv", "t-closeness", **settings)["fulfill t-closeness"]
            == holds
        )


def test_the_last_table_of_the_document(tmp_path, monkeypatch):
    """The distances group by group, which the document prints with two cells swapped."""
    file = tableau(
        tmp_path, "出生年;薪水;疾病", "197*;3000;胃癌", "197*;4000;流感", "198*;5000;流感", "198*;6000;胃炎",
        "198*;8000;胃癌",
    )  # fmt: skip
    (tmp_path / "疾病.csv").write_text(
        "流感;呼吸感染;疾病\n胃癌;胃部疾病;疾病\n胃炎;胃部疾病;疾病\n", encoding="utf-8"
    )
    types = {"出生年": QUASI_IDENTIFIER, "薪水": SENSITIVE_ATTRIBUTE, "疾病": SENSITIVE_ATTRIBUTE}

    def groups(tech, **settings):
        return PETValidation(None, file, tech, attributeTypes=types, groups=True, **settings)["groups"]

    def of(disease):
        salaries = Fraction(3, 8), Fraction(1, 4)
        return [
            {"group": {"出生年": born}, "rows": rows, "t": {"薪水": float(salary), "疾病": float(other)}}
            for born, rows, salary, other in zip(("197*", "198*"), (2, 3), salaries, disease, strict=True)
        ]

    by_tree = groups("t-closeness", tLimit=0.375, dataHierarchy=tmp_path)
    assert by_tree == of((Fraction(3, 20), Fraction(1, 10)))
    assert groups("t-closeness", tLimit=0.375) == of((Fraction(1, 5), Fraction(2, 15)))
    assert [group["l"]["疾病"] for group in groups("l-diversity", l=1)] == [1, 1]
    assert groups("k-anonymity", k=2)[0] == {"group": {"出生年": "197*"}, "rows": 2}
    stars = tableau(tmp_path, "q;s", "*;1", "b;1", "b;<i>")
    types = {"q": QUASI_IDENTIFIER, "s": SENSITIVE_ATTRIBUTE}
    result = PETValidation(None, stars, "l-diversity", l=1, attributeTypes=types, groups=True)
    assert [group["group"] for group in result["groups"]] == [{"q": "*"}, {"q": "b"}]
    monkeypatch.chdir(tmp_path)
    report(result, "web")
    page = (tmp_path / "output.html").read_text(encoding="utf-8")
    assert '<tr><th scope="col">q</th><th scope="col">rows</th><th scope="col">l of s</th></tr>' in page
    assert "<tr><td>b</td><td>2</td><td>2</td></tr>" in page


def test_patients(petworks):
    types = {"ZIPCode": QUASI_IDENTIFIER, "Age": QUASI_IDENTIFIER, "Disease": SENSITIVE_ATTRIBUTE}
    folder = petworks / "patient"
    for tree, least in ((folder / "patient_hierarchy", Fraction(8, 27)), (None, Fraction(5, 9))):
        for limit, holds in ((float(least), True), (float(least) - 1e-9, False)):
            answer = PETValidation(
                None, folder / "patient_anonymized.csv", "t-closeness", dataHierarchy=tree, attributeTypes=types,
                tLimit=limit,
            )  # fmt: skip
            assert answer["fulfill t-closeness"] == holds


@pytest.mark.parametrize(
    ("tech", "key", "value"),
    [
        ("Precision", "precision", 0.7271401100722763),
        ("Non-Uniform Entropy", "Non-Uniform Entropy", 0.6740002378300514),
    ],
)
def test_adult_and_its_release(petworks, evidence, tech, key, value):
    """PETWorks with ARX: 8230 of 30162 records are suppressed, and ages are means, read as values."""
    folder = petworks / "adult"
    answer = PETValidation(
        folder / "adult.csv.gz", folder / "adult_anonymized.csv.gz", tech,
        dataHierarchy=folder / "adult_hierarchy", attributeTypes=ADULT,
    )  # fmt: skip
    assert list(answer) == [key]
    evidence("petworks", f"{tech} of Adult as ARX releases it", repr(value), answer[key])
    if tech == "Precision":
        assert answer[key] == pytest.approx(1 - 8230 / 30162, abs=1e-15)


def test_class_sizes_and_ambiguity_of_adult(petworks, evidence):
    folder = petworks / "adult"
    files = folder / "adult.csv.gz", folder / "adult_anonymized.csv.gz"
    raw, out = (pd.read_csv(file, sep=";", skipinitialspace=True, dtype=str) for file in files)
    out.columns = out.columns.str.strip()
    out = out.apply(lambda column: column.str.strip())
    quasi = [name for name in NINE if name != "workclass"]
    settings = {"dataHierarchy": folder / "adult_hierarchy", "attributeTypes": ADULT}
    rows = out[(out[quasi] != "*").any(axis=1)]
    least, mean = (len(frame) / frame.groupby(quasi).ngroups for frame in (raw, rows))
    values = PETValidation(*files, "AECS", **settings)["AECS"]
    assert values == pytest.approx(1 - (mean - least) / (len(raw) - least), abs=1e-12)
    # ARX counts a label on the highest level that has it: age 12 is the midpoint of five ages, too.
    every, most = np.ones(len(out)), 1
    for name in quasi:
        tree = pd.read_csv(folder / "adult_hierarchy" / f"adult_hierarchy_{name}.csv", sep=";", header=None)
        leaves = {}
        for level in tree:
            leaves |= tree[level].astype(str).value_counts().to_dict()
        every *= out[name].map(leaves | {"*": len(tree)}).to_numpy(float)
        most *= len(tree)
    expected = 1 - (every.sum() - 30162) / (30162 * most - 30162)
    values = PETValidation(*files, "Ambiguity", **settings)["ambiguity"]
    assert values == pytest.approx(expected, abs=1e-12)
    evidence("petworks", "ambiguity of Adult as ARX releases it", "0.72714009672634", values)


@pytest.mark.slow
def test_the_other_documents(petworks):
    folder = petworks / "adult"
    for k, holds in ((5, True), (6, False)):
        answer = PETValidation(
            None, folder / "adult_anonymized.csv.gz", "k-anonymity", attributeTypes=ADULT, k=k
        )
        assert answer == {"k": k, "fulfill k-anonymity": holds}
    risk = PETValidation(petworks / "deidentifiedData.csv", None, "ReidentificationRisk")
    assert risk == {"Re-identification Risk": 1.0}
    types = {"zipcode": QUASI_IDENTIFIER, "age": QUASI_IDENTIFIER, "condition": SENSITIVE_ATTRIBUTE}
    for least, holds in ((3, True), (5, False)):
        file = petworks / "inpatient" / "inpatient_anonymized.csv"
        answer = PETValidation(None, file, "l-diversity", attributeTypes=types, l=least)
        assert answer == {"l": least, "fulfill l-diversity": holds}
    folder = petworks / "delta"
    files = folder / "delta.csv", folder / "delta_anonymized.csv"
    for bounds, holds in (((1 / 2, 2 / 3), True), ((0.51, 2 / 3), False), ((1 / 2, 0.66), False)):
        answer = PETValidation(
            *files, "d-presence", dataHierarchy=folder / "delta_hierarchy", attributeTypes=DELTA, dMin=bounds[0],
            dMax=bounds[1],
        )  # fmt: skip
        assert answer == {"dMin": bounds[0], "dMax": bounds[1], "d-presence": holds}
    for allowed in (True, False):
        answer = PETValidation(
            *files, "profitability", attributeTypes=DELTA, allowAttack=allowed, adversaryCost=4, adversaryGain=300,
            publisherLost=300, publisherBenefit=1200,
        )  # fmt: skip
        assert answer == {
            "allow attack": allowed, "adversary's cost": 4, "adversary's gain": 300, "publisher's loss": 300,
            "publisher's benefit": 1200, "isProfitable": allowed,
        }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tech", "rate", "settings", "sensitive"),
    [
        ("K", "k-anonymity", 0.04, {"k": 5}, None),
        ("L", "l-diversity", 0.04, {"l": 5}, "occupation"),
        ("OrderedT", "t-closeness", 0.04, {"t": 0.2}, "age"),
        ("HierarchicalT", "t-closeness", 0.04, {"t": 0.2}, "occupation"),
        ("D", "d-presence", 0.05, {"dMin": 0.0, "dMax": 0.2}, None),
    ],
)
def test_releases_are_those_of_arx(petworks, evidence, name, tech, rate, settings, sensitive):
    """Every cell of the outputs that PETWorks's own tests expect of ARX 3.9.0."""
    folder = petworks / "adult"
    types = dict.fromkeys(NINE, QUASI_IDENTIFIER) | (
        {} if sensitive is None else {sensitive: SENSITIVE_ATTRIBUTE}
    )
    if tech == "d-presence":
        settings = settings | {"subsetData": folder / "adult10.csv"}
    release = PETAnonymization(
        folder / "adult.csv.gz",
        tech,
        rate,
        dataHierarchy=folder / "adult_hierarchy",
        attributeTypes=types,
        **settings,
    )
    expected = pd.read_csv(petworks / f"{name}Anonymization.csv.gz", sep=";", dtype=str)
    assert list(release) == list(expected)
    same = int((release == expected).all(axis=1).sum())
    evidence(
        "arx",
        f"rows of its release under {tech} that are ours, cell by cell ({name})",
        str(len(expected)),
        same,
    )


@pytest.mark.slow
def test_the_attacks_on_synthetic_data(petworks):
    folder = petworks / "adult"
    files = folder / "adults_syn_ctgan.csv.gz", folder / "adults_train.csv.gz"
    control = folder / "adults_control.csv.gz"
    keys = [f"Success rate of {kind} attack" for kind in ("main", "baseline", "control")]
    linked = PETValidation(
        *files,
        "LinkabilityRisk",
        auxiliaryColumns=(["age", "type_employer"], ["fnlwgt"]),
        control=control,
        nAttack=200,
    )
    assert list(linked) == keys
    assert all(0 < rate < 0.05 for rate in linked.values())
    answer = PETValidation(*files, "SinglingOutRisk", control=control, nAttack=20)
    assert list(answer) == keys
    assert all(0 < rate < 1 for rate in answer.values())
    alone = PETValidation(*files, "SinglingOutRisk", nAttack=10)
    assert alone[keys[2]] is None
    inferred = PETValidation(*files, "InferenceRisk", control=control, nAttack=50)
    assert list(inferred) == ["age", "type_employer", "fnlwgt"]
    assert all(list(part) == keys for part in inferred.values())
    assert inferred["type_employer"][keys[0]] > inferred["fnlwgt"][keys[0]]


# --- what users rely on -------------------------------------------------------------------------------


def test_utility_bias():
    for bias, holds in ((2, True), (1.9, False)):
        answer = PETValidation(
            [1, 2, 3], [3, 4, 5], "UtilityBias", processingFunc=lambda x: sum(x) / 3, maxBias=bias
        )
        assert answer == {"UtilityBias": holds}


def test_the_page_of_every_result(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for result, words in (
        ({"t": 0.376, "fulfill t-closeness": True}, ["fulfill t-closeness", "yes"]),
        ({"<script>": {"Success rate of main attack": 0.5, "Success rate of control attack": None}},
         ["&lt;script&gt;", "Success rate of main attack", "not measured"]),
    ):  # fmt: skip
        report(result, "web")
        page = (tmp_path / "output.html").read_text(encoding="utf-8")
        assert all(word in page for word in words)
        assert "<script>" not in page
    assert capsys.readouterr().out == "output.html\n" * 2
    with pytest.raises(ic.ParameterError, match="'json' or 'web'"):
        report({}, "pdf")


def test_output(tmp_path):
    output(pd.DataFrame({"a": ["1"], "b": ["x;y"]}), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == 'a;b\n1;"x;y"\n'


@pytest.fixture
def small(tmp_path):
    """Missing cells, a quasi-identifier, an identifier and two sensitive attributes."""
    (tmp_path / "raw.csv").write_text("id;age;ill;pay\n1;20;flu;3\n2;30;cold;4\n3;;flu;5\n4;;cold;3\n")
    (tmp_path / "out.csv").write_text("id;age;ill;pay\n*;20-30;flu;3\n*;20-30;cold;4\n*;;flu;5\n*;;cold;3\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "age.csv").write_text("20;20-30;*\n30;20-30;*\n40;40-50;*\n50;40-50;*\n")
    return tmp_path


def test_missing_cells_are_counted(small):
    """PETWorks's group-by leaves records with an empty cell out."""
    settings = {"attributeTypes": {"age": QUASI_IDENTIFIER}}
    assert PETValidation(None, small / "out.csv", "k-anonymity", k=2, **settings)["fulfill k-anonymity"]
    (small / "one.csv").write_text('age\n20-30\n20-30\n""\n')
    assert not PETValidation(None, small / "one.csv", "k-anonymity", k=2, **settings)["fulfill k-anonymity"]


def test_the_caller_s_types_count(small):
    """With several sensitive attributes the others are known to the attacker."""
    types = {"age": QUASI_IDENTIFIER, "ill": SENSITIVE_ATTRIBUTE}
    assert PETValidation(None, small / "out.csv", "l-diversity", l=2, attributeTypes=types)[
        "fulfill l-diversity"
    ]
    types |= {"pay": SENSITIVE_ATTRIBUTE}
    assert not PETValidation(None, small / "out.csv", "l-diversity", l=2, attributeTypes=types)[
        "fulfill l-diversity"
    ]


def tableau(folder, header, *rows, name="table.csv"):
    path = folder / name
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("tech", "name", "reached", "refused"),
    [
        # Group *: shares 1, 0, 0 against 1/2, 1/4, 1/4, so 1/2 moves one step of two, then 1/4: 3/8.
        ("t-closeness", "tLimit", 3 / 8, 3 / 8 - 1e-9),
        ("l-diversity", "l", 1, 2),
    ],
)
def test_rows_of_stars_are_a_group(tmp_path, tech, name, reached, refused):
    """Only k-anonymity leaves rows of stars out, and the document forms groups from all rows."""
    file = tableau(tmp_path, "q;s", "*;1", "b;1", "b;3", "b;4")
    types = {"q": QUASI_IDENTIFIER, "s": SENSITIVE_ATTRIBUTE}
    for limit, holds in ((reached, True), (refused, False)):
        answer = PETValidation(None, file, tech, attributeTypes=types, **{name: limit})
        assert answer[f"fulfill {tech}"] == holds
    assert PETValidation(None, file, "k-anonymity", k=3, attributeTypes=types)["fulfill k-anonymity"]


CELLS = ("5", "5.0", "05", "5e0", "6", "")
TEXTS = (*CELLS, "x", "*")


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from(CELLS[:-1]), *[st.sampled_from(cells) for cells in (CELLS, TEXTS)]),
        min_size=1,
        max_size=8,
    )
)
def test_groups_and_values_are_read_as_pandas_reads_them(tmp_path_factory, rows):
    """PETWorks groups by pandas, where numbers are numbers and a blank cell is no sensitive value."""
    file = tableau(tmp_path_factory.mktemp("case"), "q;r;s", *(f"{q};r{r};{s}" for q, r, s in rows))
    read = pd.read_csv(file, sep=";", skipinitialspace=True)
    groups = read.groupby(["q", "r"])
    types = {"q": QUASI_IDENTIFIER, "r": QUASI_IDENTIFIER, "s": SENSITIVE_ATTRIBUTE}
    for tech, limit, most in (
        ("k-anonymity", "k", int(groups.size().min())),
        ("l-diversity", "l", int(groups["s"].nunique().min())),
    ):
        for asked in (max(most, 1), most + 1):
            answer = PETValidation(None, file, tech, attributeTypes=types, groups=True, **{limit: asked})
            assert answer[f"fulfill {tech}"] == (asked <= most)
            assert sorted(group["rows"] for group in answer["groups"]) == sorted(groups.size())
    assert sorted(group["l"]["s"] for group in answer["groups"]) == sorted(groups["s"].nunique())


def test_with_two_sensitive_attributes_a_blank_one_is_known_and_counts_nothing(tmp_path):
    """Each row is alone by the other attribute, but in the second table: there the first has x and y for 1."""
    types = {"q": QUASI_IDENTIFIER, "s": SENSITIVE_ATTRIBUTE, "t": SENSITIVE_ATTRIBUTE}
    for rows, least in (
        (("a;x;1", "a;y;", "a;;1"), {"s": 1, "t": 0}),
        (("a;x;1.0", "a;y;1"), {"s": 2, "t": 1}),
    ):
        file = tableau(tmp_path, "q;s;t", *rows)
        answer = PETValidation(None, file, "l-diversity", l=1, attributeTypes=types, groups=True)
        assert answer["groups"][0]["l"] == least
        assert answer["fulfill l-diversity"] == (min(least.values()) >= 1)


def test_numbers_are_one_cell_in_every_technique_that_groups_by_pandas(tmp_path):
    """5 and 5.0 are one group of t-closeness, and of profitability, where two groups of one lose more."""
    types = {"q": QUASI_IDENTIFIER, "s": SENSITIVE_ATTRIBUTE}
    file = tableau(tmp_path, "q;s", "5;x", "5.0;y")
    answer = PETValidation(None, file, "t-closeness", attributeTypes=types, tLimit=0, groups=True)
    assert answer["groups"] == [{"group": {"q": "5"}, "rows": 2, "t": {"s": 0.0}}]
    costs = dict.fromkeys(("adversaryCost", "adversaryGain"), 1) | {"publisherBenefit": 1, "publisherLost": 2}
    answer = PETValidation(None, file, "profitability", allowAttack=True, attributeTypes=types, **costs)
    assert answer["isProfitable"]


def test_profitability_counts_rows_of_stars(tmp_path):
    """Attacks: 4 rows bring 10 each, groups of 1 and 3 lose 25 and 25/3: 40 > 33.3 > 32; without the first 24 > 8.3."""
    file = tableau(tmp_path, "q;s", "*;1", "b;1", "b;3", "b;4")
    settings = {"adversaryCost": 4, "adversaryGain": 300, "attributeTypes": {"q": QUASI_IDENTIFIER}}
    for benefit, pays in ((10, True), (8, False)):
        answer = PETValidation(
            None,
            file,
            "profitability",
            allowAttack=True,
            publisherLost=25,
            publisherBenefit=benefit,
            **settings,
        )
        assert answer["isProfitable"] == pays


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("values", "reached"),
    [
        # Two groups of two: {1, 2} and {3, 4} are 1/3 apart from the whole by order, 1/2 by equality.
        (("1", "2", "3", "4"), 1 / 3),
        (("1", "2", "1e3", "4000"), 1 / 3),
        (("-1", "+5", "+7.", "inf"), 1 / 3),
        (("-inf", "5e-1", ".6", "1E3"), 1 / 3),
        # 2**53 and 2**53 + 1 are one double.
        (("9007199254740992", "9007199254740993", "9007199254740994", "9007199254740995"), 1 / 3),
        (("1", "1.0", "1e0", "+2"), 1 / 4),
        # Numbers later do not make the first one: not numerical, so all differ alike.
        (("a", "2", "3", "4"), 1 / 2),
        (("nan", "2", "3", "4"), 1 / 2),
    ],
)
def test_numbers_are_numbers_if_the_first_value_is_one(tmp_path, values, reached):
    file = tableau(tmp_path, "q;s", *(f"{q};{s}" for q, s in zip("aabb", values, strict=True)))
    types = {"q": QUASI_IDENTIFIER, "s": SENSITIVE_ATTRIBUTE}
    for limit, holds in ((reached, True), (reached - 1e-9, False)):
        answer = PETValidation(None, file, "t-closeness", attributeTypes=types, tLimit=limit)
        assert answer["fulfill t-closeness"] == holds


@pytest.mark.parametrize(
    "values",
    [("1", "x", "3", "4"), ("1", "2", "", "4"), ("", "2", "3", "4"), ("1", "nan", "3", "4"), ("1", "1_0")],
)
def test_a_value_among_numbers_that_is_none_is_named(tmp_path, values):
    raw = tableau(tmp_path, "q;s", *(f"a;{s}" for s in values))
    (tmp_path / "q.csv").write_text("a;*\n")
    settings = {
        "attributeTypes": {"q": QUASI_IDENTIFIER, "s": SENSITIVE_ATTRIBUTE}, "dataHierarchy": tmp_path
    }  # fmt: skip
    words = "column 's' holds numbers, as its first value says, and 1 of its [0-9] distinct values is none"
    with pytest.raises(ic.TableError, match=words):
        PETValidation(None, raw, "t-closeness", tLimit=1, **settings)
    with pytest.raises(ic.TableError, match=words):
        PETAnonymization(raw, "t-closeness", 0, t=1, **settings)
    # What does not look at distances takes any value.
    assert PETValidation(None, raw, "l-diversity", l=1, **settings)["fulfill l-diversity"]
    assert PETAnonymization(raw, "l-diversity", 0, l=1, **settings)["s"].tolist() == list(values)


def test_anonymization_keeps_numbers_as_they_are_written(tmp_path):
    """1e3 is the largest value: alone 1/2 away, with the least value 1/6, and cells stay."""
    raw = tableau(tmp_path, "q;s", "a;1e3", "b;+1", "c;02", "d;3.0")
    (tmp_path / "q.csv").write_text("a;A;*\nb;A;*\nc;C;*\nd;C;*\n")
    settings = {
        "attributeTypes": {"q": QUASI_IDENTIFIER, "s": SENSITIVE_ATTRIBUTE}, "dataHierarchy": tmp_path
    }  # fmt: skip
    for limit, cells in ((1, list("abcd")), (0.3, list("AACC")), (0, ["*"] * 4)):
        release = PETAnonymization(raw, "t-closeness", 0, t=limit, **settings)
        assert release.to_dict("list") == {"q": cells, "s": ["1e3", "+1", "02", "3.0"]}


def test_anonymization_of_one_quasi_identifier(small):
    (small / "raw.csv").write_text("id;age;ill\n1;20;flu\n2;30;cold\n3;40;flu\n4;50;cold\n")
    types = {"id": IDENTIFIER, "age": QUASI_IDENTIFIER, "ill": SENSITIVE_ATTRIBUTE}
    release = PETAnonymization(
        small / "raw.csv", "k-anonymity", 0, k=2, dataHierarchy=small / "tree", attributeTypes=types
    )
    assert release.to_dict("list") == {
        "id": ["*"] * 4, "age": ["20-30", "20-30", "40-50", "40-50"], "ill": ["flu", "cold", "flu", "cold"],
    }  # fmt: skip
    output(release, small / "out.csv")
    answer = PETValidation(
        small / "raw.csv", small / "out.csv", "Precision", dataHierarchy=small / "tree", attributeTypes=types
    )
    assert answer == {"precision": 0.5}


@pytest.mark.parametrize(
    ("tech", "settings", "words"),
    [
        ("k-anonimity", {"k": 2}, "there is no technique 'k-anonimity'; there are k-anonymity, l-diversity"),
        ("k-anonymity", {}, "k-anonymity needs 'k'"),
        ("k-anonymity", {"k": 2, "kk": 3}, "does not take 'kk'; its parameters are k"),
        ("k-anonymity", {"k": 2, "attributeTypes": {}}, "name the quasi-identifiers"),
        (
            "k-anonymity",
            {"k": 2, "attributeTypes": {"agee": QUASI_IDENTIFIER}},
            "attributeTypes: the table has no column 'agee'",
        ),
        ("k-anonymity", {"k": 2, "attributeTypes": {"age": "quasi"}}, "'age' has no type of PETWorks"),
        ("l-diversity", {"l": 2, "attributeTypes": {"age": QUASI_IDENTIFIER}}, "name a sensitive attribute"),
        (
            "Precision",
            {"attributeTypes": {"age": QUASI_IDENTIFIER, "ill": QUASI_IDENTIFIER}},
            "no file for .* 'ill'",
        ),
        ("Precision", {"attributeTypes": {"age": QUASI_IDENTIFIER}}, "'age' has 1 distinct values that"),
        (
            "d-presence",
            {"dMin": 0, "dMax": 1, "attributeTypes": {"age": QUASI_IDENTIFIER}},
            "'age' has values that",
        ),
    ],
)
def test_wrong_calls(small, tech, settings, words):
    settings = {"attributeTypes": {"age": QUASI_IDENTIFIER}, "dataHierarchy": small / "tree"} | settings
    with pytest.raises(ic.InputError, match=words):
        PETValidation(small / "raw.csv", small / "out.csv", tech, **settings)


@pytest.mark.parametrize(
    ("rows", "bounds", "holds"),
    [
        ("a b", (1 / 2, 1 / 2), True),
        ("a b *", (1 / 2, 1 / 2), True),
        ("a b * * * *", (0, 1 / 2), True),
        ("a b b *", (0, 1 / 2), False),
        ("* *", (1 / 2, 1 / 2), True),
        ("* *", (0, 0.49), False),
    ],
)
def test_suppressed_rows_of_a_sample_are_nobody_s_class(tmp_path, rows, bounds, holds):
    """As in PETWorks, rows of ``*`` are a class, of everybody, only where all rows are such."""
    (tmp_path / "everybody.csv").write_text("age;sex\n1;M\n2;M\n3;M\n3;M\n")
    (tmp_path / "sample.csv").write_text("age;sex\n" + "".join(f"{row};*\n" for row in rows.split()))
    (tmp_path / "age.csv").write_text("1;a;*\n2;a;*\n3;b;*\n")
    (tmp_path / "sex.csv").write_text("M;*\nF;*\n")
    answer = PETValidation(
        tmp_path / "everybody.csv",
        tmp_path / "sample.csv",
        "d-presence",
        dataHierarchy=tmp_path,
        attributeTypes=dict.fromkeys(("age", "sex"), QUASI_IDENTIFIER),
        dMin=bounds[0],
        dMax=bounds[1],
    )
    assert answer["d-presence"] is holds


def test_wrong_files(small):
    types = {"attributeTypes": {"age": QUASI_IDENTIFIER}}
    with pytest.raises(ic.TableError, match="cannot be read"):
        PETValidation(None, small / "none.csv", "k-anonymity", k=2, **types)
    with pytest.raises(ic.ParameterError, match="anonymized: give the path of a file, not None"):
        PETValidation(None, None, "k-anonymity", k=2, **types)
    (small / "short.csv").write_text("age\n20\n")
    for tech in ("AECS", "Precision"):
        with pytest.raises(ic.TableError, match="4 and 1 rows"):
            PETValidation(small / "raw.csv", small / "short.csv", tech, dataHierarchy=small / "tree", **types)
    for text, words in (
        ("20;a\n20;b\n", "stands in two rows"),
        ("20;a\n30\n", "row 2 has not 2 labels"),
        ("", "is empty"),
    ):
        (small / "tree" / "age.csv").write_text(text)
        with pytest.raises(ic.HierarchyError, match=words):
            PETValidation(
                small / "raw.csv", small / "raw.csv", "Precision", dataHierarchy=small / "tree", **types
            )
    (small / "tree" / "x_hierarchy_age.csv").write_text("20;a\n")
    (small / "tree" / "age.csv").write_text("20;a\n")
    with pytest.raises(ic.HierarchyError, match="two hierarchy files"):
        PETValidation(
            small / "raw.csv", small / "raw.csv", "Precision", dataHierarchy=small / "tree", **types
        )
    with pytest.raises(ic.HierarchyError, match="cannot read the folder"):
        PETValidation(small / "raw.csv", small / "raw.csv", "Precision", dataHierarchy=small / "no", **types)


# --- a plain reading of the measures ------------------------------------------------------------------

ROWS = (
    ("a", "A", "X", "*"),
    ("b", "A", "X", "*"),
    ("c", "C", "X", "*"),
    ("d", "d", "d", "*"),
    ("X", "A", "Y", "*"),
)


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 4), st.integers(0, 3)), min_size=1
    )
)
def test_measures_read_once_more(cells):
    """`d`, `A` and `X` stand on several levels: the lowest counts, for leaves the highest, as in ARX."""
    import polars as pl

    table = Levels("p", ROWS), Levels("q", ROWS)
    raw = pl.DataFrame({"p": [ROWS[a][0] for a, *_ in cells], "q": [ROWS[c][0] for _, _, c, _ in cells]})
    out = pl.DataFrame({"p": [ROWS[a][b] for a, b, *_ in cells], "q": [ROWS[c][d] for _, _, c, d in cells]})
    lowest = {
        label: min(j for row in ROWS for j in range(4) if row[j] == label) for row in ROWS for label in row
    }
    n = len(cells)
    lost = sum(lowest[label] / 3 for column in ("p", "q") for label in out[column])
    assert precision(out, table) == pytest.approx(1 - lost / (2 * n))
    highest = {
        label: max(j for row in ROWS for j in range(4) if row[j] == label) for row in ROWS for label in row
    }
    leaves = {label: sum(row[highest[label]] == label for row in ROWS) for label in highest}
    every = sum(leaves[p] * leaves[q] for p, q in out.rows())
    assert ambiguity(out, table) == pytest.approx(1 - (every - n) / (n * 25 - n))
    bits = most = 0.0
    for column in ("p", "q"):
        level = [lowest[label] for label in out[column]]
        path = [next(row for row in ROWS if row[0] == value) for value in raw[column]]
        most += sum(-log2([p[0] for p in path].count(p[0]) / n) for p in path)
        before = 0
        for here in sorted(set(level)):
            live = [p for p, at in zip(path, level, strict=True) if at >= here]
            for p in live:
                fine = sum(other[before] == p[before] for other in live)
                coarse = sum(other[here] == p[here] for other in live)
                bits -= log2(fine / coarse)
            before = here
    expected = 1 - min(max(bits / most, 0), 1) if most else 1
    assert non_uniform_entropy(raw, out, table) == pytest.approx(expected, abs=1e-9)
    assert json.dumps(float(np.float64(expected)))


@pytest.mark.parametrize("wrong", ["table.csv", "late.csv", "hierarchy"])
def test_a_file_in_big5_says_how_to_write_it_anew(tmp_path, wrong):
    """Also where the header is in ASCII, and the first other letter far below it."""
    texts = {
        "table.csv": "zip;病\n1;流感\n1;胃癌\n",
        "late.csv": "zip;病\n".replace("病", "ill") + "1;flu\n" * 5000 + "1;胃癌\n",
        "hierarchy/病.csv": "流感;疾病\n胃癌;疾病\n",
    }
    (tmp_path / "hierarchy").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="big5" if name.startswith(wrong) else "utf-8")
    table = "late.csv" if wrong == "late.csv" else "table.csv"
    sensitive = "ill" if wrong == "late.csv" else "病"

    def test():
        types = {"zip": QUASI_IDENTIFIER, sensitive: SENSITIVE_ATTRIBUTE}
        settings = {"dataHierarchy": str(tmp_path / "hierarchy"), "attributeTypes": types, "tLimit": 0.5}
        return PETValidation(None, str(tmp_path / table), "t-closeness", **settings)

    with pytest.raises(
        ic.IncrowdError, match=r"the file is not in UTF-8; write it anew, .* in Big5"
    ) as error:
        test()
    [name] = [name for name in texts if name.startswith(wrong)]
    assert str(tmp_path / name) in str(error.value)
    assert "CsvFormat" not in str(error.value)
    # What it says to do helps.
    code = re.search(r"by (path\..*\)) of pathlib", str(error.value))[1]
    eval(code, {"path": tmp_path / name})
    assert test()["fulfill t-closeness"]
