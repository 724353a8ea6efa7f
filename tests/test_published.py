"""Figures that others published, or that another implementation gives, each with the source."""

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


PYCANON = [
    "math", "math_k5", "math_k2", "math_k7", "drugs_raw", "drugs_k5", "hospital", "hospital2",
    "stroke_raw", "stroke_k2", "stroke_k5", "stroke_k10", "stroke_k15", "stroke_k19", "stroke_k20",
    "stroke_k22", "stroke_k25", "adult_k20", "adult_k20_l2", "adult_k10_l2", "adult_k10", "adult_k3_l2",
    "adult_k3", "airline_k20_genTrue", "airline_k10_genTrue", "airline_k5_genTrue",
    "airline_k2_genTrue", "airline_k5_genFalse", "airline_k10_genFalse", "airline_k20_genFalse",
    "airline_k2_genFalse", "adult_raw_4qi", "adult_raw_4qi_num", "adult_raw_4qi_hours", "adult_raw",
]  # fmt: skip


def ratios_of_counts(assessed: pl.DataFrame, quasi: list[str], attribute: str, l: int) -> tuple[float, float]:  # noqa: E741
    """Largest r1 / (rl + ... + rm) over the classes: counts in descending order, and in ascending order."""
    counts = assessed.group_by([*quasi, attribute]).len().group_by(quasi).agg(pl.col("len"))["len"].to_list()
    falling = [sorted(row, reverse=True) for row in counts]
    return (
        max(row[0] / sum(row[l - 1 :]) for row in falling),
        max(row[-1] / sum(row[::-1][l - 1 :]) for row in falling),
    )


@pytest.mark.few(12)
@pytest.mark.parametrize("name", PYCANON)
def test_pycanon(shared_data, evidence, name):
    """pyCANON 1.3.5 on the example data: every value, and reasons for differences.

    With `gen` each sensitive attribute stands alone; without, the others join the quasi-identifiers.
    """
    folder = shared_data / "pycanon"
    lines = (folder / "oracles.jsonl").read_text().splitlines()
    setting = next(entry for entry in map(json.loads, lines) if entry["name"] == name)
    expected = setting["v"]
    joint = not setting["gen"]
    frame = read(folder / setting["file"])
    names = [column for column, dtype in zip(setting["sa"], setting["sa_dtype"], strict=True)]
    kinds = {
        column: "category" if dtype == "object" else "number"
        for column, dtype in zip(names, setting["sa_dtype"], strict=True)
    }
    quasi = setting["qi"]
    models = [
        ic.AlphaKAnonymity(1.0, 1, joint=joint),
        ic.LDiversity(1, joint=joint),
        ic.LDiversity(1, "entropy", joint=joint),
        ic.BetaLikeness(1e9, "basic", joint=joint),
        ic.BetaLikeness(1e9, "enhanced", joint=joint),
        ic.DeltaDisclosure(1e9, "skip", joint=joint),
        ic.TCloseness(1.0, joint=joint),
    ]
    schema = ic.Schema(quasi=quasi, sensitive=kinds)
    assessment = ic.assess(frame, schema, models)
    assert (assessment.suppressed, assessment.records) == (0, setting["rows"])
    values: dict[tuple[str, ...], list[float]] = {}
    for m in assessment.privacy:
        if m.limit is not None:
            texts = [value for value in m.settings.values() if isinstance(value, str)]
            kind = texts[:1] if m.model != "t-closeness" else []
            values.setdefault((m.model, m.quantity, *kind), []).append(m.value)
    assert values["alpha-k-anonymity", "k"] == [expected["k"]]
    assert [max(values["alpha-k-anonymity", "alpha"]), expected["k"]] == pytest.approx(expected["alpha_k"])
    assert min(values["l-diversity", "l", "distinct"]) == expected["l"]
    beta = max(values["beta-likeness", "beta", "basic"])
    assert beta == pytest.approx(expected["beta"], rel=1e-12)
    assert max(values["t-closeness", "t"]) == pytest.approx(expected["t"], abs=1e-12)
    # The definition gives infinity where a class lacks a value; pyCANON passes such values over.
    assert max(values["delta-disclosure", "delta", "skip"]) == pytest.approx(expected["delta"], abs=1e-12)
    # pyCANON rounds exp(entropy) down, and m equally frequent values to m - 1 for some m.
    entropy = min(values["l-diversity", "l", "entropy"])
    assert expected["ent_l"] in (math.floor(entropy), entropy - 1)
    # pyCANON caps each attribute's largest gain by -ln of its rarest value and keeps the largest; the paper
    # compares each gain with -ln of that very value, and a class above that satisfies no beta.
    capped = [
        min(gain, -math.log(frame[column].value_counts()["count"].min() / frame.height))
        for gain, column in zip(values["beta-likeness", "beta", "basic"], names, strict=True)
    ]
    assert max(capped) == pytest.approx(expected["ebeta"], rel=1e-12)
    for ours, gain in zip(
        values["beta-likeness", "beta", "enhanced"], values["beta-likeness", "beta", "basic"], strict=True
    ):
        assert ours in (gain, math.inf)
    if expected["l"] > 1 and len(names) == 1:
        # pyCANON sorts the counts in ascending order, so that its c says less than the paper's.
        ours, theirs = ratios_of_counts(frame, quasi, names[0], expected["l"])
        assert expected["c_l"] == [math.floor(theirs) + 1, expected["l"]]
        c = math.floor(ours) + 1
        assert ic.privacy.l_diversity(frame, quasi, kinds, kind="recursive", c=c) >= expected["l"]
        if c > 1:
            assert ic.privacy.l_diversity(frame, quasi, kinds, kind="recursive", c=ours) < expected["l"]
        assert c >= expected["c_l"][0]
    evidence(
        "pycanon",
        f"{name}: k, alpha, l, beta, delta, t",
        [
            expected["k"],
            expected["alpha_k"][0],
            expected["l"],
            expected["beta"],
            expected["delta"],
            expected["t"],
        ],
        [
            values["alpha-k-anonymity", "k"][0],
            max(values["alpha-k-anonymity", "alpha"]),
            min(values["l-diversity", "l", "distinct"]),
            beta,
            max(values["delta-disclosure", "delta", "skip"]),
            max(values["t-closeness", "t"]),
        ],
    )
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
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.engines import engine_for

    [(name, hierarchy)] = spec.items()
    schema = ic.Schema(quasi=quasi, sensitive={name: hierarchy})
    return (
        ic.TCloseness(1.0)
        .values(EquivalenceClasses.of_keys(engine_for(release).count(schema).frequency), 0)
        .tolist()
    )


def test_the_worked_example_of_petworks(evidence):
    """PETWorks's page on t-closeness, with two swapped cells put right: exact fractions."""
    frame = pl.DataFrame(
        {
            "born": ["197*", "197*", "198*", "198*", "198*"],
            "salary": [3, 4, 5, 6, 8],
            "disease": ["stomach cancer", "flu", "flu", "gastritis", "stomach cancer"],
        }
    )
    evidence("petworks", "t of salary, two classes", "3/8, 1/4", distances(frame, ["born"], salary=None))
    assert distances(frame, ["born"], salary=None) == [3 / 8, 1 / 4]
    assert distances(frame, ["born"], disease=None) == [1 / 5, 2 / 15]
    tree = ic.Hierarchy.from_nested(
        {"all": {"digestive": DISEASES["all"]["stomach"], "respiratory": ["flu", "bronchitis"]}}
    )
    hierarchical = distances(frame, ["born"], disease=tree)
    evidence("petworks", "t of disease by its hierarchy, two classes", "3/20, 1/10", hierarchical)
    assert hierarchical == [3 / 20, 1 / 10]


def test_the_patients_of_the_t_closeness_paper(shared_data, evidence):
    """Table of Li, Li and Venkatasubramanian (ICDE 2007) as PETWorks has it: 7/27, 5/27, 8/27 and 5/9, 1/3, 4/9."""
    folder = shared_data / "petworks" / "patient"
    frame = read(folder / "patient_anonymized.csv", separator=";")
    tree = ic.Hierarchy.read(folder / "patient_hierarchy" / "patient_hierarchy_Disease.csv")
    assert distances(frame, ["ZIPCode", "Age"], Disease=tree) == [7 / 27, 5 / 27, 8 / 27]
    assert distances(frame, ["ZIPCode", "Age"], Disease=None) == [5 / 9, 1 / 3, 4 / 9]
    for what, told, found in (
        ("t of disease by its hierarchy, three classes", "7/27, 5/27, 8/27", tree),
        ("t of disease, all values equally far, three classes", "5/9, 1/3, 4/9", None),
    ):
        evidence("petworks", what, told, distances(frame, ["ZIPCode", "Age"], Disease=found))
    schema = ic.Schema(quasi=["ZIPCode", "Age"], sensitive={"Disease": tree})
    assert ic.assess(frame, schema, [ic.TCloseness(0.376)]).holds
    assert ic.assess(frame, schema, [ic.TCloseness(8 / 27)]).holds
    assert not ic.assess(frame, schema, [ic.TCloseness(math.nextafter(8 / 27, 0) - 1e-9)]).holds


def test_salaries_of_the_t_closeness_paper(evidence):
    """Li, Li and Venkatasubramanian (ICDE 2007), section 4: {3k,4k,5k} is 0.375 and {6k,8k,11k} 0.167 from the nine."""
    salaries = [3, 4, 5, 6, 8, 11, 7, 9, 10]
    frame = pl.DataFrame({"q": list("aaabbbccc"), "salary": salaries})
    first, second, _ = distances(frame, ["q"], salary=None)
    evidence(
        "t-closeness",
        "t of {3k, 4k, 5k} and {6k, 8k, 11k} among nine salaries",
        "0.375, 0.167",
        [first, second],
    )
    assert first == 0.375
    assert round(second, 3) == 0.167


def test_figures_of_the_diabetes_study(shared_data, evidence):
    """The P_29 notebook on the diabetes data: 63 classes of (race, gender, age) in 99,429 rows, all its figures."""
    from incrowd.engines import read_classes

    frame = read(shared_data / "diabetes" / "df1-filter_qi_sa.csv.gz")
    names = ["diag_1", "diag_2", "diag_3", "max_glu_serum", "A1Cresult", "readmitted"]
    quasi = ["race", "gender", "age"]
    sensitive = dict.fromkeys(names, "category")
    score = ic.privacy.p29(frame, quasi, sensitive)
    assert score.value == pytest.approx(0.8057811497937597, abs=1e-15)
    evidence("p29", "P_29 score", "0.8057811497937597", score.value)
    evidence("p29", "least k, least normalized entropy, largest t", "13, 0.07358616908386309, 0.4997312970313503",
             [score.k_min, score.l_min, score.t_max])  # fmt: skip
    evidence("p29", "normalized entropy of six attributes",
             "0.816539, 0.777670, 0.771016, 0.198358, 0.499301, 0.818425", score.entropies.values())  # fmt: skip
    evidence("p29", "mean distance of six attributes",
             "0.263849, 0.287875, 0.354814, 0.220297, 0.219628, 0.273022", score.distances.values())  # fmt: skip
    assert score.k_min == 13
    assert score.l_min == pytest.approx(0.07358616908386309, abs=1e-12)
    assert score.t_max == pytest.approx(0.4997312970313503, abs=1e-12)
    assert list(score.entropies) == list(score.distances) == names
    assert [round(value, 6) for value in score.entropies.values()] == [
        0.816539, 0.777670, 0.771016, 0.198358, 0.499301, 0.818425,
    ]  # fmt: skip
    assert [round(value, 6) for value in score.distances.values()] == [
        0.263849, 0.287875, 0.354814, 0.220297, 0.219628, 0.273022,
    ]  # fmt: skip
    assert score.entropy == pytest.approx(0.6468849936894951, abs=1e-12)
    assert score.distance == pytest.approx(0.2699142406683029, abs=1e-12)
    assert (score.reasons, score.offending) == ((), ())
    classes = read_classes(frame, ic.Schema(quasi=quasi, sensitive=sensitive))
    assert (classes.records, len(classes)) == (99_429, 63)
    cells = [tuple(classes.cells(number).values()) for number in range(63)]
    assert cells[int(classes.sizes.argmin())] == ("Hispanic", "Female", "[90-100)")
    first = cells.index(("AfricanAmerican", "Female", "[30-40)"))
    assert classes.sizes[first] == 750
    entropies = [ic.NormalizedEntropy(0.0).values(classes, j)[first] for j in range(6)]
    distances = [ic.TCloseness(1.0).values(classes, j)[first] for j in range(6)]
    assert [round(value, 6) for value in entropies] == [
        0.774974, 0.744782, 0.754702, 0.080875, 0.525621, 0.836904,
    ]  # fmt: skip
    assert [round(value, 6) for value in distances] == [
        0.303572, 0.238707, 0.184423, 0.034396, 0.074785, 0.044816,
    ]  # fmt: skip
    readmitted = ic.TCloseness(1.0).values(classes, 5)
    evidence("p29", "largest and least t of readmitted over 63 classes", "0.24786315576225965, 0.00559306543589707",
             [readmitted.max(), readmitted.min()])  # fmt: skip
    assert readmitted.max() == pytest.approx(0.24786315576225965, abs=1e-12)
    assert readmitted.min() == pytest.approx(0.00559306543589707, abs=1e-12)


def test_none_is_a_word_in_the_diabetes_data(shared_data):
    """Read as missing and its rows left out, as pandas would, 59 classes are left and the score is 0.8726..."""
    frame = read(shared_data / "diabetes" / "df1-filter_qi_sa.csv.gz")
    names = ["diag_1", "diag_2", "diag_3", "max_glu_serum", "A1Cresult", "readmitted"]
    assert (frame["A1Cresult"] == "None").any()
    rows = frame.filter((pl.col("max_glu_serum") != "None") & (pl.col("A1Cresult") != "None"))
    assert rows.height < frame.height / 2
    # Missing values kept as values of their own change nothing, since only their name differs.
    renamed = frame.with_columns(pl.col("max_glu_serum", "A1Cresult").replace("None", None))
    score = ic.privacy.p29(renamed, ["race", "gender", "age"], dict.fromkeys(names, "category"))
    assert score.value == pytest.approx(0.8057811497937597, abs=1e-14)


def test_delta_presence_of_petworks(shared_data, evidence):
    """PETWorks's example after Nergiz et al.: shares 1/2 of 47* in America and 2/3 of 48* in Europe."""
    folder = shared_data / "petworks" / "delta"
    sample = read(folder / "delta_anonymized.csv", separator=";")
    everybody = read(folder / "delta.csv", separator=";")
    trees = {
        name: ic.Hierarchy.read(folder / "delta_hierarchy" / f"delta_hierarchy_{name}.csv")
        for name in ("zip", "age", "nationality")
    }
    for quasi in ({"zip": trees["zip"], "age": trees["age"]}, trees):
        assert ic.privacy.delta_presence(sample, quasi, everybody) == (1 / 2, 2 / 3)
        assert ic.privacy.k_map(sample, quasi, everybody) == 3
        schema = ic.Schema(quasi=quasi)
        for lower, upper, holds in ((1 / 2, 2 / 3, True), (0.51, 2 / 3, False), (1 / 2, 0.66, False)):
            model = ic.DeltaPresence(upper, lower)
            assert ic.assess(sample, schema, [model], population=everybody).holds == holds
    evidence(
        "petworks",
        "delta-presence, least and largest",
        "1/2, 2/3",
        ic.privacy.delta_presence(sample, trees, everybody),
    )
    # Without the class in Europe its three people have share 0.
    america = sample.filter(pl.col("nationality") == "America")
    assert ic.privacy.delta_presence(america, trees, everybody) == (0, 1 / 2)


def test_profitability_of_petworks(shared_data, evidence):
    """PETWorks: 1200 x 5 - 300 (1/3 + 1/2) = 6000 - 250 with attacks; 300 x 2 - 4 x 5 = 580 too much without."""
    sample = read(shared_data / "petworks" / "delta" / "delta_anonymized.csv", separator=";")
    payoffs = {"adversary_cost": 4, "adversary_gain": 300, "publisher_loss": 300, "publisher_benefit": 1200}
    quasi = ["zip", "age"]
    payoff = ic.privacy.profitability(sample, quasi, definition="table", **payoffs)
    evidence("petworks", "payoff of the publisher, with attacks", "5750", payoff)
    assert payoff == pytest.approx(6000 - 250, abs=1e-9)
    payoff = ic.privacy.profitability(sample, quasi, definition="table", attack="none", **payoffs)
    evidence("petworks", "payoff, without attacks", "-580", payoff)
    assert payoff == -(600 - 20)
    schema = ic.Schema(quasi=quasi)
    for attack, holds in (("allowed", True), ("none", False)):
        assert ic.assess(sample, schema, [ic.Profitability(attack, "table", **payoffs)]).holds == holds
    # Per record, the text's and ARX's definition: 1200 - 300/2, and 4 - 300/2 where no attack may pay.
    assert ic.privacy.profitability(sample, quasi, **payoffs) == 1050
    assert ic.privacy.profitability(sample, quasi, attack="none", **payoffs) == -146


def test_profitability_in_a_class_that_nobody_attacks():
    """ARX's prosecutor game without attacks asks for more than gain / cost = 75 records."""
    frames = {size: pl.DataFrame({"q": ["a"] * size}) for size in (74, 75, 76)}
    schema = ic.Schema(quasi=["q"])
    holds = {
        size: ic.assess(frame, schema, [ic.Profitability("none")]).holds for size, frame in frames.items()
    }
    assert holds == {74: False, 75: False, 76: True}
    assert ic.assess(frames[74], schema, [ic.Profitability("none", adversary_gain=0, adversary_cost=0)]).holds
    assert ic.privacy.profitability(frames[75], ["q"]) == 1200
    assert ic.privacy.profitability(frames[74], ["q"]) == 1200 - 300 / 74


def test_inpatients_of_the_l_diversity_paper(shared_data, evidence):
    """Machanavajjhala et al., figure 3, after PETWorks: 3-diverse, not 5-diverse."""
    frame = read(shared_data / "petworks" / "inpatient" / "inpatient_anonymized.csv", separator=";")
    evidence(
        "l-diversity",
        "l of the inpatients, figure 3",
        "3",
        ic.privacy.l_diversity(frame, ["zipcode", "age"], "condition"),
    )
    schema = ic.Schema(quasi=["zipcode", "age"], sensitive=["condition"])
    assert ic.assess(frame, schema, [ic.LDiversity(3)]).holds
    assert not ic.assess(frame, schema, [ic.LDiversity(5)]).holds


# --- the attacks that the models were made against ----------------------------------------------------


def test_homogeneity_attack(evidence):
    """Machanavajjhala et al. 2007, figure 2: four in their thirties from 130** all have cancer, under k = 4."""
    frame = pl.DataFrame(
        {
            "zip": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
            "age": ["<30"] * 4 + [">=40"] * 4 + ["3*"] * 4,
            "condition": ["heart", "heart", "viral", "viral", "cancer", "heart", "viral", "viral"]
            + ["cancer"] * 4,
        }
    )
    quasi = ["zip", "age"]
    result = [ic.privacy.k_anonymity(frame, quasi), ic.privacy.l_diversity(frame, quasi, "condition")]
    evidence(
        "l-diversity", "k and l of figure 2: four patients in their thirties have cancer", "4, 1", result
    )
    schema = ic.Schema(quasi=quasi, sensitive=["condition"])
    caught = [ic.LDiversity(2), ic.LDiversity(1.1, "entropy"), ic.AlphaKAnonymity(0.9, 4), ic.TCloseness(0.5)]
    for model in caught:
        assessment = ic.assess(frame, schema, [model])
        assert not assessment.holds
        failed = next(measured for measured in assessment.privacy if measured.holds is False)
        assert failed.weakest.cells == {"zip": "130**", "age": "3*"}


def test_background_knowledge_attack():
    """The same paper, section 2.2: a reader who excludes heart disease learns the rest, bounded by (c, l)."""
    frame = pl.DataFrame({"q": ["a"] * 4 + ["b"] * 6, "s": list("hhvv") + list("hhvvcc")})
    # Without h the first class has one value left: (c, 3)-diversity asks for one more.
    assert ic.privacy.l_diversity(frame, ["q"], "s", kind="recursive", c=2) == 2
    assert ic.privacy.l_diversity(frame.filter(pl.col("q") == "b"), ["q"], "s", kind="recursive", c=2) == 3


def test_skewness_attack():
    """Li et al. 2007, section 3: 49 of 50 positive where 1 % of the table is; l-diversity cannot tell it."""
    rows = [("a", "negative")] * 49 + [("a", "positive")] + [("b", "positive")] * 49 + [("b", "negative")]
    rows += [("c", "negative")] * 9851 + [("c", "positive")] * 49
    frame = pl.DataFrame(rows, schema=["q", "s"], orient="row")
    attacked, mirrored = (frame.filter(pl.col("q").is_in([name, "c"])) for name in "ba")
    # Both classes are equally diverse in every sense ...
    for kind in ("distinct", "entropy"):
        diversities = [
            ic.privacy.l_diversity(frame.filter(pl.col("q") == name), ["q"], "s", kind=kind) for name in "ab"
        ]
        assert diversities[0] == diversities[1]
    # ... and only the distance to the table says that one of them gives people away.
    assert ic.privacy.t_closeness(attacked, ["q"], "s") > 0.9
    assert ic.privacy.t_closeness(mirrored, ["q"], "s") < 0.05
    assert ic.privacy.beta_likeness(attacked, ["q"], "s") > 90
    assert ic.privacy.beta_likeness(mirrored, ["q"], "s") < 4
    assert ic.privacy.delta_disclosure(attacked, ["q"], "s") > 4


def test_similarity_attack(evidence):
    """Li et al. 2007, table 4: 3-diverse, yet the first class earns 3k to 5k and has a stomach disease."""
    frame = pl.DataFrame(
        {
            "q": ["476**"] * 3 + ["4790*"] * 3 + ["4760*"] * 3,
            "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10],
            "disease": [
                "gastric ulcer",
                "gastritis",
                "stomach cancer",
                "gastritis",
                "flu",
                "bronchitis",
                "bronchitis",
                "pneumonia",
                "stomach cancer",
            ],
        }
    )
    tree = ic.Hierarchy.from_nested(DISEASES)
    both = ["salary", "disease"]
    evidence(
        "t-closeness", "l of table 4, salaries and diseases", "3", ic.privacy.l_diversity(frame, ["q"], both)
    )
    assert ic.privacy.l_diversity(frame, ["q"], ["salary", "disease"]) == 3
    assert ic.privacy.l_diversity(frame, ["q"], ["salary", "disease"], kind="entropy") == 3
    assert ic.privacy.t_closeness(frame, ["q"], "salary") == 0.375
    # Values that are alike are near each other in the hierarchy, so the class is far from the table.
    assert distances(frame, ["q"], disease=tree) == [4 / 9, 1 / 3, 1 / 3]
    assert ic.privacy.t_closeness(frame, ["q"], {"disease": tree}) == 4 / 9


def test_other_sensitive_attributes_as_knowledge():
    """Machanavajjhala et al. 2007, section 5.2: each attribute is 2-diverse, yet one gives the other away."""
    frame = pl.DataFrame(
        {"q": ["a"] * 4, "disease": ["flu", "flu", "cancer", "cancer"], "drug": ["x", "x", "y", "y"]}
    )
    sensitive = ["disease", "drug"]
    assert ic.privacy.l_diversity(frame, ["q"], sensitive) == 2
    assert ic.privacy.l_diversity(frame, ["q"], sensitive, joint=True) == 1


def test_deassociation_of_wong(evidence):
    """Wong et al. 2006, table 1 in short: 2-anonymous, but the share of the sensitive value is the point."""
    frame = pl.DataFrame({"job": list("aabb"), "illness": ["HIV", "flu", "HIV", "HIV"]})
    result = ic.privacy.alpha_k_anonymity(frame, ["job"], "illness")
    evidence("alpha-k", "alpha and k of table 1, in short", "1, 2", result)
    assert ic.privacy.alpha_k_anonymity(frame, ["job"], "illness", value="flu") == (0.5, 2)


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
