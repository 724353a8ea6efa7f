"""The class size that a policy asks for is one number for the program and for the verifier."""

from __future__ import annotations

import pytest

import incrowd as ic
from incrowd_verify.demands import class_size
from incrowd_verify.policy import read_policy

SIZES = {
    "k-anonymity:7": 7,
    "maximum-risk:risk=0.2": 5,
    "maximum-risk:risk=0.3": 4,
    "alpha-k-anonymity:alpha=0.6,k=3": 3,
    "km-anonymity:k=6,power=2": 6,
    # An l needs as many records, but nobody asks for them; the others know other columns, or populations.
    "l-diversity:l=3": 1,
    "t-closeness:t=0.5": 1,
    "average-risk:risk=0.1": 1,
    "records-at-risk:share=0.2,threshold=0.2": 1,
    "p29:score=0.3": 1,
    "subset-k-anonymity:k=3,of=2": 1,
    "lkc-privacy:L=2,K=3,C=0.8": 1,
    "k-map:k=9": 1,
}
SCHEMA = ic.Schema(["age", "zip"], sensitive=["ill"], person=["pid"], unlisted="drop")


def both(models, folder):
    policy = ic.Policy(SCHEMA, models)
    policy.write(folder / "policy.toml", force=True)
    return policy.k, class_size(read_policy(folder / "policy.toml").demands)


@pytest.mark.parametrize(("model", "size"), SIZES.items())
def test_each_model(model, size, tmp_path):
    assert both((model,), tmp_path) == (size, size)


def test_the_largest_counts_and_an_attacker_who_knows_one_column_does_not(tmp_path):
    attacker = ic.Attacker("insurer", "age", ic.KAnonymity(20))
    assert both((ic.KAnonymity(4), ic.MaximumRisk(0.1), attacker), tmp_path) == (10, 10)
