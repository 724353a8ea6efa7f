"""Lists in cells in the verifier's judgement: by a separate reading, and the same as an assessment."""

from __future__ import annotations

import itertools
import random

import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from incrowd.core.errors import ParameterError, PolicyError
from incrowd.release.verification import verify
from incrowd_verify.verification import ALL_HOLD, checks_as_sql
from policy_texts import K2, entry, only, t

LISTS = [entry("zip", "quasi"), entry("x", "sensitive", 'parts = ";"')]
L = 'model = "l-diversity"\nl = 2'
JUDGED = 'max_suppression = 0.9\nsuppressed = "judged"'


def test_a_code_that_all_share_fails(check):
    text = "zip,x\n" + "".join(
        f"1,{cell}\n" for cell in ("F32", "F32;E11", "I10; F32", "F32;I10", ";F32;J45")
    )
    assert only(check(text, LISTS, [L])).reached == 1
    assert not check(text, LISTS, [L]).ok
    assert only(check(text, [LISTS[0], entry("x", "sensitive")], [L])).reached == 5


def test_order_repetition_and_blanks_do_not_count(check):
    text = "zip,x\n1,a;b\n1,b ;a\n1,;b;b;a\n1,c\n"
    assert only(check(text, LISTS, [L])).reached == 2
    shares = check(text, LISTS, ['model = "alpha-k-anonymity"\nalpha = 1\nk = 1']).findings
    assert [each.reached for each in shares] == [0.75, 4]


def test_records_without_a_part_have_the_missing_one(check):
    text = 'zip,x\n1,\n1,;\n1," ; "\n1,?\n'
    assert only(check(text, LISTS, [L], 'null_values = ["?"]')).reached == 1


@pytest.mark.slow
def test_parts_that_nobody_has_alone_are_counted_up_to_a_cap(check):
    pairs = "".join(f"1,p{n};q{n}\n" for n in range(14))
    assert only(check("zip,x\n" + pairs, LISTS, [L])).reached == 10
    assert only(check("zip,x\n" + pairs, LISTS, ['model = "l-diversity"\nl = 12'])).reached == 12
    assert only(check("zip,x\n1,a\n1,b\n" + pairs, LISTS, [L])).reached == 12


def test_a_value_to_protect_may_be_a_part(check):
    text = "zip,x\n1,a;b\n1,b\n1,c\n1,c\n"

    def share(value):
        model = f'model = "alpha-k-anonymity"\nalpha = 1\nk = 1\nvalue = "{value}"'
        return check(text, LISTS, [model]).findings[0].reached

    assert [share(value) for value in ("a", "b", "a;b")] == [0.25, 0.5, 0.25]
    with pytest.raises(PolicyError, match="no value that is written as the value to protect"):
        share("d")


@pytest.mark.slow
def test_suppressed_records_are_judged_by_the_parts_of_their_lists(check):
    text = "".join(f"1,{cell}\n" for cell in ("a;b", "c", "d"))
    good, bad = "*,a\n*,b;c\n*,d\n", "*,a;b\n*,a;c\n*,a\n"
    assert check("zip,x\n" + text + good, LISTS, [L, t(0.9)], JUDGED).keeps_limits
    (problem,) = check("zip,x\n" + text + bad, LISTS, [L], JUDGED).problems
    assert problem == "3 suppressed records do not satisfy l-diversity as a class of their own"


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    quick(itertools.product([(), "who"], ["value", "matches-any", "conservative"]), ("who", "matches-any")),
)
def test_every_figure_is_that_of_an_assessment(tmp_path, case):
    person, wildcards = case
    draw = random.Random(f"{person}{wildcards}")
    rows = 40
    codes = ["F32", "E11", "I10", "J45", "K20"]
    frame = pl.DataFrame(
        {
            "q": [draw.choice(["a", "b", "c", *("*" if wildcards != "value" else ())]) for _ in range(rows)],
            "r": [draw.choice("xy") for _ in range(rows)],
            "dx": [
                "; ".join(draw.choices(codes, k=draw.choice([0, 1, 1, 2, 3]))) or None for _ in range(rows)
            ],
            "other": [draw.choice("uv") for _ in range(rows)],
            "who": [draw.randrange(rows) for _ in range(rows)],
        }
    )
    dx = ic.Attribute("dx", "sensitive", parts=";")
    schema = ic.Schema(["q", "r"], {"dx": dx, "other": None}, person=person, unlisted="drop")
    models = [
        make(joint)
        for joint in (False, True)
        for make in (
            lambda joint: ic.LDiversity(1, joint=joint),
            lambda joint: ic.LDiversity(1, "entropy", joint=joint),
            lambda joint: ic.LDiversity(1, "grassberger", joint=joint),
            lambda joint: ic.LDiversity(1, "grassberger-arx", joint=joint),
            lambda joint: ic.LDiversity(1, "recursive", 3, joint=joint),
            lambda joint: ic.TCloseness(1.0, joint=joint),
            lambda joint: ic.TCloseness(1.0, "maximal-frequency-difference", joint=joint),
            lambda joint: ic.AlphaKAnonymity(1.0, 1, joint=joint),
            lambda joint: ic.BetaLikeness(1e9, joint=joint),
            lambda joint: ic.BetaLikeness(1e9, "enhanced", joint=joint),
            lambda joint: ic.DeltaDisclosure(1e9, joint=joint),
            lambda joint: ic.DeltaDisclosure(1e9, "skip", joint=joint),
        )
    ]
    models += [ic.AlphaKAnonymity(1.0, 1, "F32", attribute="dx"), ic.LKCPrivacy(1, 1, 1.0)]
    frame.drop("who").write_csv(tmp_path / "t.csv")
    frame.write_csv(tmp_path / "raw.csv")
    policy = ic.Policy(schema, tuple(models), wildcards=wildcards, keep_order=True)
    policy.write(tmp_path / "policy.toml")
    findings = verify(tmp_path / "t.csv", tmp_path / "policy.toml", against=tmp_path / "raw.csv").findings
    assessed = ic.assess(frame, schema, models, wildcards=wildcards).results.asked
    reached = [(each.model, each.quantity, each.attribute) for each in findings]
    assert reached == [(each.model, each.quantity, each.attribute) for each in assessed]
    assert [each.reached for each in findings] == [pytest.approx(each.value, rel=1e-12) for each in assessed]


@pytest.mark.parametrize(
    ("model", "name"),
    [('model = "normalized-entropy"\nh = 0.5', "normalized-entropy"), ('model = "p29"\nscore = 0.1', "p29")],
)
def test_models_that_do_not_judge_lists_are_refused(check, model, name):
    with pytest.raises(PolicyError, match=f"{name} is not defined for lists, .*'x'"):
        check("zip,x\n1,a;b\n1,b\n", LISTS, [model])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (entry("x", "sensitive", "parts = 5"), "must be the text between the parts"),
        (entry("x", "sensitive", 'parts = ""'), "must be the text between the parts"),
        (entry("x", "insensitive", 'parts = ";"'), "a setting of sensitive columns"),
        (entry("x", "sensitive", 'parts = ";"\nkind = "number"'), "goes with no kind"),
        (entry("x", "sensitive", 'parts = ";"\ndecimal = ","'), "goes with no decimal"),
        (entry("x", "sensitive", 'parts = ";"\nhierarchy = { flat = true }'), "goes with no hierarchy"),
    ],
)
def test_wrong_settings_are_named(check, column, message):
    with pytest.raises(PolicyError, match=message):
        check("zip,x\n1,a\n1,b\n", [LISTS[0], column], [K2])


def test_no_script_judges_lists(check, tmp_path):
    check("zip,x\n1,a;b\n1,b\n", LISTS, [L])
    with pytest.raises(ParameterError, match="no SQL script can judge column 'x' by the parts"):
        checks_as_sql(tmp_path / "out.csv", tmp_path / "policy.toml")
    check("zip,x\n1,a;b\n1,b\n", LISTS, [K2])
    assert ALL_HOLD in checks_as_sql(tmp_path / "out.csv", tmp_path / "policy.toml")


def test_the_gate_counts_classes_that_share_a_part(tmp_path):
    cells = ["F32", "F32;E11", "I10;F32", "F32", "E11", "I10", None, "; ", ""]
    frame = pl.DataFrame({"q": list("aaabbbccc"), "dx": cells})
    schema = ic.Schema(["q"], {"dx": ic.Attribute("dx", "sensitive", parts=";")})
    release = ic.anonymize(frame, schema, [ic.KAnonymity(3)])
    release.save(tmp_path / "out")
    [mine] = [each for each in release.points if each.name == "unprotected-sensitive"]
    checked = verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml")
    [theirs] = [each for each in checked.points if each.name == "unprotected-sensitive"]
    assert mine.share == theirs.share == pytest.approx(2 / 3)
