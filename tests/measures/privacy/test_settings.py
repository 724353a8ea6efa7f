"""Settings of only some models: joint attributes, a single value, known cells, thresholds, the P29 score."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import incrowd as ic
from examples import examples
from incrowd.core.kernels.distances import frequency_differences
from incrowd.core.kernels.diversity import grassberger_values
from incrowd.core.kernels.grouping.counting import Counts
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.engines import engine_for, read_classes
from incrowd.measures.privacy.maximum_risk import size_for
from model_readings import grassberger

ROW = st.tuples(st.sampled_from("ab"), st.sampled_from("cd"), st.sampled_from("xyz"), st.sampled_from("uvw"))
ROWS = st.lists(ROW, min_size=1, max_size=30)
NAMES = ["p", "q", "s", "r"]


def frame_of(rows: list[tuple[str, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=NAMES, orient="row")


JOINT = [
    lambda joint: ic.LDiversity(1, joint=joint),
    lambda joint: ic.LDiversity(1, "entropy", joint=joint),
    lambda joint: ic.LDiversity(1, "recursive", 2, joint=joint),
    lambda joint: ic.NormalizedEntropy(0, joint=joint),
    lambda joint: ic.TCloseness(1.0, joint=joint),
    lambda joint: ic.AlphaKAnonymity(1.0, 1, joint=joint),
    lambda joint: ic.BetaLikeness(1e9, joint=joint),
    lambda joint: ic.DeltaDisclosure(1e9, "skip", joint=joint),
]


@pytest.mark.few(1)
@pytest.mark.parametrize("model", JOINT)
@examples(20)
@given(rows=ROWS)
def test_joint_is_the_other_attributes_among_the_quasi_identifiers(model, rows):
    frame = frame_of(rows)
    joint = {
        measured.attribute: measured.value
        for measured in ic.assess(
            frame, ic.Schema(quasi=["p", "q"], sensitive=["s", "r"]), [model(True)]
        ).privacy
        if measured.settings.get("joint") and measured.attribute
    }
    assert len(joint) == 2
    for attribute, other in (("s", "r"), ("r", "s")):
        schema = ic.Schema(quasi=["p", "q", other], sensitive=[attribute])
        plain = ic.assess(frame, schema, [model(False)]).privacy[0]
        assert joint[attribute] == plain.value


def test_joint_alone_changes_nothing():
    frame = frame_of([("a", "c", "x", "u"), ("a", "c", "y", "u")])
    schema = ic.Schema(quasi=["p"], sensitive=["s"])
    assert ic.assess(frame, schema, [ic.LDiversity(2, joint=True)]).holds


def test_joint_needs_the_combinations():
    frame = frame_of([("a", "c", "x", "u"), ("a", "c", "y", "u")])
    schema = ic.Schema(quasi=["p"], sensitive=["s", "r"])
    classes = read_classes(frame, schema)
    with pytest.raises(ic.ParameterError, match="count with joint=True"):
        ic.LDiversity(2, joint=True).holds(classes)
    assert ic.LDiversity(2, joint=True, attribute="s").holds(read_classes(frame, schema, joint=True)).all()


@pytest.mark.slow
@given(rows=st.lists(ROW, min_size=12, max_size=40))
def test_releases_with_joint_attributes(rows):
    frame = frame_of(rows)
    schema = ic.Schema(quasi=["p", "q"], sensitive=["s", "r"])
    model = ic.LDiversity(2, joint=True)
    try:
        release = ic.anonymize(frame, schema, [model], max_suppression=1.0, suppressed="keep")
    except (ic.InfeasibleError, ic.ParameterError):
        reject()
    values = defaultdict(set)
    for p, q, s, r in release.table.rows():
        if (p, q) != ("*", "*"):
            values["s", p, q, r].add(s)
            values["r", p, q, s].add(r)
    assert all(len(group) >= 2 for group in values.values())


@given(rows=ROWS, known=st.integers(1, 3), suppressed=st.integers(0, 3))
def test_lkc_is_every_set_of_known_cells(rows, known, suppressed):
    """By the definition: all sets of at most L quasi-identifiers, groups counted in a loop."""
    frame = frame_of(rows)
    schema = ic.Schema(quasi=["p", "q", "r"], sensitive=["s"])
    frequency = engine_for(frame).count(schema).frequency
    gone = np.arange(frequency.keys) < min(suppressed, frequency.keys - 1)
    sizes = [domain.size for domain in frequency.domains]
    classes = EquivalenceClasses.from_codes(frequency, frequency.codes, sizes, gone)
    kept = [row for row, key in zip(rows, frequency.row_keys, strict=True) if not gone[key]]
    least, most = len(kept), 0.0
    places = (0, 1, 3)
    for size in range(1, known + 1):
        for subset in combinations(places, size):
            groups = defaultdict(Counter)
            for row in kept:
                groups[tuple(row[j] for j in subset)][row[2]] += 1
            least = min(least, *(group.total() for group in groups.values()))
            most = max(most, *(max(group.values()) / group.total() for group in groups.values()))
    share, size_ = ic.LKCPrivacy(known, 1, 1.0).measure(classes)
    assert (share.quantity, size_.quantity) == ("C", "K")
    assert (size_.value, share.value) == (least, pytest.approx(most, abs=1e-12))
    [of] = ic.SubsetKAnonymity(1, known).measure(classes)
    assert of.value == least
    if not gone.any():
        assert ic.privacy.subset_k_anonymity(frame, ["p", "q", "r"], of=known) == least
        result = ic.privacy.lkc_privacy(frame, ["p", "q", "r"], "s", L=known)
        assert result == (least, pytest.approx(most, abs=1e-12))


def test_lkc_knows_less_than_k_anonymity():
    frame = frame_of(
        [("a", "c", "x", "u"), ("a", "d", "y", "u"), ("b", "c", "x", "u"), ("b", "d", "y", "u")]
    ).drop("r")
    schema = ic.Schema(quasi=["p", "q"], sensitive=["s"])
    assert ic.assess(frame, schema, [ic.LKCPrivacy(1, 2, 1.0)]).holds
    assert not ic.assess(frame, schema, [ic.LKCPrivacy(2, 2, 1.0)]).holds
    assert ic.assess(frame, schema, [ic.SubsetKAnonymity(2, 1)]).holds
    assert not ic.assess(frame, schema, [ic.SubsetKAnonymity(2, 2)]).holds
    # The second cell gives the value away.
    assert not ic.assess(frame, schema, [ic.LKCPrivacy(1, 2, 0.9)]).holds
    assert ic.assess(frame, schema, [ic.LKCPrivacy(1, 2, 1.0, value="x")]).holds
    with pytest.raises(ic.ParameterError, match="lower K"):
        ic.anonymize(frame, schema, [ic.LKCPrivacy(1, 5, 1.0)])
    with pytest.raises(ic.ParameterError, match="lower k"):
        ic.anonymize(frame, schema, [ic.SubsetKAnonymity(5, 1)])
    wide = pl.DataFrame({f"c{j}": ["a", "b"] for j in range(40)} | {"s": ["x", "y"]})
    with pytest.raises(ic.ParameterError, match="sets of 20 quasi-identifiers are more than"):
        ic.anonymize(
            wide, ic.Schema(quasi=[f"c{j}" for j in range(40)], sensitive=["s"]), [ic.LKCPrivacy(20, 1, 1.0)]
        )


def test_one_protected_value():
    frame = pl.DataFrame({"q": list("aaabbb"), "s": list("xxyyyy")})
    assert ic.privacy.alpha_k_anonymity(frame, "q", "s") == (1.0, 3)
    assert ic.privacy.alpha_k_anonymity(frame, "q", "s", value="x") == (2 / 3, 3)
    schema = ic.Schema(quasi=["q"], sensitive=["s"])
    measured = ic.assess(frame, schema, [ic.AlphaKAnonymity(0.7, 3, value="x")]).privacy[0]
    assert measured.holds
    assert measured.settings == {"value": "x"}
    assert measured.weakest.cells == {"q": "a"}


@pytest.mark.parametrize(
    "model", [ic.AlphaKAnonymity(0.5, 1, value="X"), ic.LKCPrivacy(1, 1, 0.5, value="X")]
)
def test_a_value_that_does_not_occur_protects_nobody(model):
    frame = pl.DataFrame({"q": list("aabb"), "s": list("xyxy")})
    schema = ic.Schema(quasi=["q"], sensitive=["s"])
    for call in (ic.assess, ic.anonymize):
        with pytest.raises(ic.ParameterError, match="none of the 2 values of column 's'"):
            call(frame, schema, [model])
    # A leaf of the hierarchy that no record has does not occur either.
    tree = ic.Hierarchy.from_nested({"*": ["x", "y", "X"]})
    with pytest.raises(ic.ParameterError, match="none of the 2 values of column 's'"):
        ic.assess(frame, ic.Schema(quasi=["q"], sensitive={"s": tree}), [model])


@given(risk=st.one_of(st.floats(1e-6, 1), st.integers(1, 10**6).map(lambda n: 1 / n)))
def test_the_least_size_for_a_risk(risk):
    size = size_for(risk)
    assert 1 / size <= risk
    assert size == 1 or 1 / (size - 1) > risk


def test_risk_thresholds_by_hand():
    frame = pl.DataFrame({"q": list("aaaaabbbbcd")})
    assert ic.privacy.maximum_risk(frame, "q") == 1
    assert ic.privacy.average_risk(frame, "q") == 4 / 11
    assert ic.privacy.records_at_risk(frame, "q", threshold=0.2) == 6 / 11
    assert ic.privacy.records_at_risk(frame, "q", threshold=0.25) == 2 / 11
    assert ic.privacy.records_at_risk(frame, "q", threshold=1) == 0
    schema = ic.Schema(quasi={"q": ic.Hierarchy.flat()})
    for model, least in ((ic.MaximumRisk(0.2), 5), (ic.AverageRisk(0.5), 2), (ic.RecordsAtRisk(0, 0.25), 4)):
        numbers = pl.DataFrame({"q": range(60)})
        release = ic.anonymize(numbers, ic.Schema(quasi={"q": "number"}), [model])
        assert release.privacy.smallest >= least
        assert release.privacy.smallest < 2 * least
    with pytest.raises(ic.ParameterError, match="less than that of one class of all 11 records"):
        ic.anonymize(frame, schema, [ic.MaximumRisk(0.05)])


def test_average_size_is_a_condition_on_the_table():
    """A record stands alone, and the mean over all is low enough all the same."""
    frame = pl.DataFrame({"q": ["a"] * 9 + ["b"]})
    assessment = ic.assess(frame, ic.Schema(quasi=["q"]), [ic.AverageRisk(0.2), ic.RecordsAtRisk(0.1, 0.5)])
    assert assessment.holds
    assert assessment.privacy[0].failing == (2 - 1, 1)


# --- kernels ------------------------------------------------------------------------------------------


@given(counts=st.lists(st.integers(1, 300), min_size=1, max_size=6))
def test_grassberger_by_its_recursion(counts):
    size = sum(counts)
    single = Counts(np.array([0, len(counts)]), np.arange(len(counts), dtype=np.int32), np.array(counts))
    [result] = grassberger_values(single, np.array([size]), arx=False)
    estimate = math.log(size) - sum(n * grassberger(n) for n in counts) / size
    assert result == pytest.approx(min(math.exp(estimate), len(counts)), abs=1e-12)


def test_grassberger_is_the_plain_estimate_for_large_counts():
    counts = np.array([600_000, 400_000])
    single = Counts(np.array([0, 2]), np.arange(2, dtype=np.int32), counts)
    [result] = grassberger_values(single, np.array([1_000_000]), arx=False)
    plain = math.exp(-0.6 * math.log(0.6) - 0.4 * math.log(0.4))
    # G(2m) - ln(2m) is 1 / (24 m^2) and less.
    less = 0.6 / (24 * 300_000**2) + 0.4 / (24 * 200_000**2)
    assert result == pytest.approx(plain * math.exp(-less), rel=1e-14)


@pytest.mark.parametrize("factor", [1, 2**40])
def test_frequency_differences_do_not_overflow(factor):
    counts = Counts(np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.array([3, 1, 1]) * factor)
    sizes, totals = np.array([4, 1]) * factor, np.array([5, 5]) * factor
    assert frequency_differences(counts, sizes, totals).tolist() == [0.25, 0.5]


# --- the P29 score ------------------------------------------------------------------------------------

SCORED = {
    "q": ["a"] * 4 + ["b"] * 4 + ["c"] * 4,
    "s": list("xxyy") + list("xyyy") + list("xyyy"),
    "r": list("uvuv") + list("uuvv") + list("uuvv"),
}


def test_p29_of_a_constant_distance():
    """In column r every class is distributed as the table; the notebook's score would be NaN."""
    frame = pl.DataFrame(SCORED)
    score = ic.privacy.p29(frame, ["q"], ["s", "r"])
    h = -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))
    entropies = ((1 + 2 * h) / 3 + 1) / 2
    assert score.entropies == {"s": pytest.approx((1 + 2 * h) / 3), "r": 1.0}
    # Distances of s: 1/6, 1/12, 1/12, scaled 1, 0, 0.
    assert score.distances == {"s": pytest.approx(1 / 3), "r": 0.0}
    assert score.value == pytest.approx(0.5 * 3 / 4 + 0.25 * entropies + 0.25 * (1 - 1 / 6))
    assert score.reasons == (
        "every class has the same distance in 'r', so scaling it is 0/0; it counts as 0",
    )
    strict = ic.privacy.p29(frame, ["q"], ["s", "r"], strict=True)
    assert (strict.value, strict.distance) == (None, None)
    assert strict.distances == {"s": pytest.approx(1 / 3), "r": None}
    assert "the score is not defined (strict)" in strict.reasons[0]
    schema = ic.Schema(quasi=["q"], sensitive=["s", "r"])
    [measured] = [
        measured
        for measured in ic.assess(frame, schema, [ic.P29(0.0, strict=True)]).privacy
        if measured.limit is not None
    ]
    assert (measured.value, measured.holds) == (None, False)
    with pytest.raises(ic.InfeasibleError, match="not defined"):
        ic.anonymize(frame, schema, [ic.P29(0.1, strict=True)])


def test_p29_names_offending_classes():
    frame = pl.DataFrame({"q": list("abbcccddddee"), "s": list("xxxyywxxxyxw")})
    score = ic.privacy.p29(frame, ["q"], "s")
    assert score.value == 0
    assert [(item.cells["q"], item.records) for item in score.offending] == [("a", 1), ("b", 2), ("c", 3)]
    assert score.offending[0].reasons == ("a class of one record", "a single value of 's'")
    assert score.offending[2].reasons == ("a distance above 0.5 in 's'",)
    assert score.reasons == (
        "1 of 5 classes: a class of one record",
        "2 of 5 classes: a single value of 's'",
        "1 of 5 classes: a distance above 0.5 in 's'",
    )
    model = ic.P29(0.2)
    schema = ic.Schema(quasi=["q"], sensitive=["s"])
    measured = ic.assess(frame, schema, [model]).privacy[0]
    assert (measured.failing, measured.reasons) == ((3, 6), score.reasons)


def test_a_distance_of_one_half_passes():
    frame = pl.DataFrame({"q": list("aabb"), "s": list("xyzw")})
    score = ic.privacy.p29(frame, ["q"], "s")
    assert score.t_max == 0.5
    assert score.value > 0


def test_a_release_reaches_its_score():
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"n": rng.integers(0, 50, 400), "s": rng.choice(["x", "y", "z"], 400)})
    schema = ic.Schema(quasi={"n": "number"}, sensitive=["s"])
    release = ic.anonymize(frame, schema, [ic.P29(0.4), ic.KAnonymity(10)])
    assert release.privacy.reached("p29") >= 0.4
    assert ic.privacy.p29(release.table, ["n"], "s").value == release.privacy.reached("p29")
    with pytest.raises(ic.InfeasibleError, match=r"p29 reaches score=0\.\d+ where 1 was asked"):
        ic.anonymize(frame, schema, [ic.P29(1.0), ic.KAnonymity(10)])


# --- one-call functions -------------------------------------------------------------------------------


@pytest.mark.slow
def test_functions_return_what_assess_says(tmp_path):
    rng = np.random.default_rng(11)
    frame = pl.DataFrame(
        {
            "q": rng.choice(["a", "b", "c"], 90),
            "n": rng.integers(0, 2, 90),
            "s": rng.choice(["x", "y", "z"], 90),
            "v": rng.integers(0, 5, 90),
        }
    )
    frame.write_csv(tmp_path / "t.csv")
    schema = ic.Schema(quasi=["q", "n"], sensitive={"s": None, "v": None})
    people = pl.concat([frame, frame])
    assessment = ic.assess(frame, schema, population=people)
    reached = defaultdict(list)
    for m in assessment.privacy:
        texts = (value for value in m.settings.values() if isinstance(value, str))
        kind = () if m.model == "t-closeness" and "maximal" not in str(m.settings) else tuple(texts)
        reached[m.model, m.quantity, *kind].append(m.value)
    quasi = ["q", "n"]
    for table in (frame, frame.to_pandas(), frame.to_arrow(), tmp_path / "t.csv"):
        both = (table, quasi, ["s", "v"])
        p = ic.privacy
        assert p.k_anonymity(table, quasi) == reached["k-anonymity", "k"][0]
        assert p.k_map(table, quasi, people) == reached["k-map", "k"][0]
        for kind in ("distinct", "entropy", "grassberger"):
            assert p.l_diversity(*both, kind=kind) == min(reached["l-diversity", "l", kind])
        assert p.l_diversity(*both, kind="recursive", c=3) == min(reached["l-diversity", "l", "recursive"])
        for over in ("minimum", "mean"):
            expected = min(reached["normalized-entropy", "h", over])
            assert p.normalized_entropy(*both, over=over) == pytest.approx(expected, abs=1e-12)
        assert p.t_closeness(*both) == max(reached["t-closeness", "t"])
        maximal = "maximal-frequency-difference"
        assert p.t_closeness(*both, distance=maximal) == max(reached["t-closeness", "t", maximal])
        assert p.alpha_k_anonymity(*both)[0] == max(reached["alpha-k-anonymity", "alpha"])
        assert p.beta_likeness(*both, kind="enhanced") == max(reached["beta-likeness", "beta", "enhanced"])
        assert p.delta_disclosure(*both) == max(reached["delta-disclosure", "delta", "infinite"])
        assert p.delta_presence(table, quasi, people) == (
            reached["delta-presence", "delta_min"][0],
            reached["delta-presence", "delta_max"][0],
        )
        assert p.p29(*both).value == pytest.approx(reached["p29", "score"][0], abs=1e-12)
        assert p.maximum_risk(table, quasi) == reached["maximum-risk", "risk"][0]
    assert ic.privacy.t_closeness(frame, "q", "v") == ic.privacy.t_closeness(frame, ["q"], {"v": "number"})


@pytest.mark.slow
def test_functions_are_there_without_another_import():
    code = (
        "import incrowd as ic, polars as pl; print(ic.privacy.k_anonymity(pl.DataFrame({'q': [1, 1]}), 'q'))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "2\n"


def test_functions_refuse_what_they_cannot_measure():
    gone = pl.DataFrame({"q": ["*"], "s": ["x"]})
    with pytest.raises(ic.TableError, match="k-anonymity: every record is suppressed"):
        ic.privacy.k_anonymity(gone, "q")
    with pytest.raises(ic.TableError, match="p29: every record is suppressed"):
        ic.privacy.p29(gone, "q", "s")
    with pytest.raises(ic.SchemaError, match="the table has no column 'nowhere'"):
        ic.privacy.t_closeness(gone, "q", "nowhere")


# --- every model as a constraint ----------------------------------------------------------------------


def constraints() -> list[ic.PrivacyModel]:
    return [
        ic.KMap(12),
        ic.LDiversity(1.8, "entropy"),
        ic.LDiversity(1.8, "grassberger"),
        ic.LDiversity(2, "recursive", 2),
        ic.LDiversity(2, joint=True),
        ic.NormalizedEntropy(0.7),
        ic.NormalizedEntropy(0.8, "mean"),
        ic.TCloseness(0.3),
        ic.TCloseness(0.2, "maximal-frequency-difference"),
        ic.AlphaKAnonymity(0.6, 4),
        ic.AlphaKAnonymity(0.5, 4, value="x", attribute="s"),
        ic.LKCPrivacy(1, 8, 0.7),
        ic.BetaLikeness(1.5),
        ic.BetaLikeness(1.5, "enhanced"),
        ic.DeltaDisclosure(1.5),
        ic.DeltaPresence(0.6),
        ic.P29(0.5),
        ic.MaximumRisk(0.1),
        ic.AverageRisk(0.1),
        ic.RecordsAtRisk(0.05, 0.1),
        ic.Profitability("none"),
        ic.Profitability("none", "table"),
        ic.Profitability("none", attacker="journalist"),
    ]


@pytest.mark.few(3)
@pytest.mark.parametrize("model", constraints(), ids=str)
def test_every_model_can_be_enforced(model):
    """The release satisfies the model, and has several classes if possible."""
    rng = np.random.default_rng(2)
    rows = 600
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "zip": rng.choice(["02139", "02138", "10001", "94107", "94110"], rows),
            "s": rng.choice(["x", "y", "z"], rows),
            "v": rng.integers(0, 3, rows),
        }
    )
    schema = ic.Schema(quasi={"age": None, "zip": ic.Hierarchy.prefix()}, sensitive={"s": None, "v": None})
    release = ic.anonymize(frame, schema, [model], population=pl.concat([frame, frame]))
    assert release.privacy.holds
    assert release.privacy.classes > 1
    judged = [measured for measured in release.privacy.privacy if measured.limit is not None]
    assert {measured.model for measured in judged} == {model.name}
    assert all(measured.holds for measured in judged)


def test_the_ordered_distance_is_one_of_numbers_whatever_the_hierarchy_tells_apart():
    """0, 0.0 and -0.0 are three leaves and a single number: 1/4 of the mass moves to the other end."""
    table = pl.DataFrame({"q": ["a", "b", "a", "b"], "s": ["0.0", "5", "-0.0", "0.0"]})
    tree = ic.Hierarchy.from_paths([[text, "*"] for text in ("0.0", "5", "-0.0")])
    schema = ic.Schema.of_attributes(
        [ic.Attribute("q", "quasi"), ic.Attribute("s", "sensitive", "number", tree)]
    )
    assessment = ic.assess(table, schema, [ic.TCloseness(0.5, "ordered")])
    assert assessment.privacy[0].value == 0.25
