"""Figures that others published, or that another implementation gives; each names its source."""

from __future__ import annotations

import gzip
import io
import json
import math
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic


def read(path: Path, **settings) -> pl.DataFrame:
    if not path.exists():
        path = path.with_name(path.name + ".gz")
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    frame = pl.read_csv(io.BytesIO(data), infer_schema=False, **settings)
    return frame.rename({name: name.strip() for name in frame.columns})


SETTINGS = [
    ("processed/StudentsMath_Score.csv", "Teacher,Gender,Ethnic,Freeredu,wesson", "Score"),
    ("processed/StudentsMath_Score_k5.csv", "Teacher,Gender,Ethnic,Freeredu,wesson", "Score"),
    ("processed/drugs_k5.csv", "Age,Sex,BP,Cholesterol,Na_to_K", "Drug"),
    ("processed/hospital_anonymized.csv", "age,gender,city", "disease"),
    ("processed/stroke_k5.csv", "gender,age,hypertension,heart_disease,ever_married,work_type,Residence_type,smoking_status", "stroke"),
    ("processed/stroke_k25.csv", "gender,age,hypertension,heart_disease,ever_married,work_type,Residence_type,smoking_status", "stroke"),
    ("processed/adult_anonymized_10.csv", "age,education,occupation,relationship,sex,native-country", "salary-class"),
    ("l_diversity/adult_k20_anonymized_l2.csv", "age,education,occupation,relationship,sex,native-country", "salary-class"),
    ("raw/adult.csv", "age,sex,race,marital-status", "occupation"),
    ("raw/adult.csv", "education,sex,race", "age"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "quasi", "sensitive"), SETTINGS)
def test_pycanon(shared_data, file, quasi, sensitive):
    """pyCANON 1.3.5: k, l, t, beta, delta, classes and risks of its own example data."""
    folder = shared_data / "pycanon"
    lines = (folder / "oracles.jsonl").read_text().splitlines()
    settings = (json.loads(line) for line in lines)
    expected = next(
        entry["v"]
        for entry in settings
        if (entry["file"], ",".join(entry["qi"]), entry["sa"]) == (file, quasi, [sensitive])
    )
    assessment = ic.assess(
        read(folder / file), ic.Schema(quasi=quasi.split(","), sensitive=[sensitive]), [ic.KAnonymity(1)]
    )
    assert assessment.suppressed == 0
    assert assessment.smallest == expected["k"]
    assert assessment.reached("l-diversity") == expected["l"]
    assert assessment.reached("t-closeness") == pytest.approx(expected["t"], abs=1e-12)
    reached = {(m.model, *m.settings.values()): m.value for m in assessment.privacy}
    assert reached["beta-likeness", "basic"] == pytest.approx(expected["beta"], rel=1e-12)
    # The definition gives infinity where a class lacks a value; pyCANON passes such values over.
    assert reached["delta-disclosure", "skip"] == pytest.approx(expected["delta"], abs=1e-12)
    # pyCANON rounds exp(entropy) down, and m equally frequent values to m - 1 for some m.
    entropy = reached["l-diversity", "entropy"]
    assert expected["ent_l"] in (math.floor(entropy), entropy - 1)
    sizes = expected["sizes"]
    assert (assessment.classes, assessment.largest) == (sizes["n_ec"], sizes["max_ec"])
    assert assessment.mean_size == pytest.approx(sizes["mean_ec"], abs=1e-12)
    risk = assessment.risk["prosecutor"]
    assert risk["max"] == expected["max_rir"]
    assert risk["mean_over_classes"] == pytest.approx(expected["avg_rir"], abs=1e-12)


DISEASES = {
    "all": {
        "stomach": ["gastric ulcer", "gastritis", "stomach cancer"],
        "lungs": ["flu", "bronchitis", "pneumonia"],
    }
}


def distances(release: pl.DataFrame, quasi: list[str], **spec) -> list[float]:
    """t-closeness of every class, in order of appearance."""
    from incrowd.classes import EquivalenceClasses
    from incrowd.engines import engine_for

    [(name, hierarchy)] = spec.items()
    schema = ic.Schema(quasi=quasi, sensitive={name: hierarchy})
    return (
        ic.TCloseness(1.0).values(EquivalenceClasses.of_keys(engine_for(release).count(schema)), 0).tolist()
    )


def test_the_worked_example_of_petworks():
    """PETWorks's page on t-closeness, its two swapped cells put right: exact fractions."""
    frame = pl.DataFrame(
        {
            "born": ["197*", "197*", "198*", "198*", "198*"],
            "salary": [3, 4, 5, 6, 8],
            "disease": ["stomach cancer", "flu", "flu", "gastritis", "stomach cancer"],
        }
    )
    assert distances(frame, ["born"], salary=None) == [3 / 8, 1 / 4]
    assert distances(frame, ["born"], disease=None) == [1 / 5, 2 / 15]
    tree = ic.Hierarchy.from_nested(
        {"all": {"digestive": DISEASES["all"]["stomach"], "respiratory": ["flu", "bronchitis"]}}
    )
    assert distances(frame, ["born"], disease=tree) == [3 / 20, 1 / 10]


def test_the_patients_of_the_t_closeness_paper(shared_data):
    """Table of Li, Li and Venkatasubramanian (ICDE 2007) as PETWorks has it: 7/27, 5/27, 8/27 and 5/9, 1/3, 4/9."""
    folder = shared_data / "petworks" / "patient"
    frame = read(folder / "patient_anonymized.csv", separator=";")
    tree = ic.Hierarchy.read(folder / "patient_hierarchy" / "patient_hierarchy_Disease.csv")
    assert distances(frame, ["ZIPCode", "Age"], Disease=tree) == [7 / 27, 5 / 27, 8 / 27]
    assert distances(frame, ["ZIPCode", "Age"], Disease=None) == [5 / 9, 1 / 3, 4 / 9]
    schema = ic.Schema(quasi=["ZIPCode", "Age"], sensitive={"Disease": tree})
    assert ic.assess(frame, schema, [ic.TCloseness(0.376)]).holds
    assert ic.assess(frame, schema, [ic.TCloseness(8 / 27)]).holds
    assert not ic.assess(frame, schema, [ic.TCloseness(math.nextafter(8 / 27, 0) - 1e-9)]).holds


def test_salaries_of_the_t_closeness_paper():
    """Li, Li and Venkatasubramanian (ICDE 2007), section 4: {3k,4k,5k} is 0.375 and {6k,8k,11k} 0.167 from the nine."""
    salaries = [3, 4, 5, 6, 8, 11, 7, 9, 10]
    frame = pl.DataFrame({"q": list("aaabbbccc"), "salary": salaries})
    first, second, _ = distances(frame, ["q"], salary=None)
    assert first == 0.375
    assert round(second, 3) == 0.167


def test_figures_of_the_diabetes_study(shared_data):
    """63 classes of (race, gender, age) in 99,429 rows, least 13; largest t 0.4997..., readmitted 0.2478..."""
    frame = read(shared_data / "diabetes" / "df1-filter_qi_sa.csv.gz")
    names = ["diag_1", "diag_2", "diag_3", "max_glu_serum", "A1Cresult", "readmitted"]
    schema = ic.Schema(
        quasi=["race", "gender", "age"], sensitive=dict.fromkeys(names, "category"), others="drop"
    )
    assessment = ic.assess(frame, schema)
    assert (assessment.records, assessment.classes, assessment.smallest) == (99_429, 63, 13)
    reached = [assessment.reached("t-closeness", name) for name in names]
    assert max(reached) == pytest.approx(0.4997312970313503, abs=1e-12)
    assert assessment.reached("t-closeness", "readmitted") == pytest.approx(0.24786315576225965, abs=1e-12)


def test_adult_as_arx_releases_it(shared_data):
    """ARX 3.9 on Adult: KAnonymization is 5-anonymous, LAnonymization distinct 5-diverse on occupation."""
    folder = shared_data / "petworks"
    columns = [
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
    released = read(folder / "KAnonymization.csv", separator=";")
    assessment = ic.assess(released, ic.Schema(quasi=columns), [ic.KAnonymity(5)])
    assert assessment.holds
    assert 0 < assessment.suppressed_share <= 0.04
    quasi = [name for name in columns if name != "occupation"]
    released = read(folder / "LAnonymization.csv", separator=";")
    assert ic.assess(released, ic.Schema(quasi=quasi, sensitive=["occupation"]), [ic.LDiversity(5)]).holds
