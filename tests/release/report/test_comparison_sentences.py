"""Sentences about a comparison follow the curves: other curves have other sentences."""

from __future__ import annotations

import pytest

from incrowd.release.report.comparison_sentences import conclusions, observations
from incrowd.release.report.document import ComparisonRun


def compared(name, value, loss, seconds=1.0, *, limit="k", md=None, spread=None, levels=None, risk=None):
    """Return a made-up run, where MD is ten times LM by default."""
    utility = None if loss is None else {"loss": loss, "distortion": 10 * loss if md is None else md}
    return ComparisonRun(
        name, **{"k": None, "l": None, "t": None, limit: value}, seed=None,
        seconds=seconds, utility=utility, spread=spread, levels=levels, risk=risk,
    )  # fmt: skip


def curve(name, values, losses, seconds, **settings):
    """Return the runs of an algorithm, of which each setting may be a list with a value per run."""
    each = [
        {key: x[i] if isinstance(x, list) else x for key, x in settings.items()} for i in range(len(values))
    ]
    return [
        compared(name, *figures, **more) for *figures, more in zip(values, losses, seconds, each, strict=True)
    ]


def told(*arguments, limit="k", records=1000, **settings):
    """Return the sentences about a single curve."""
    [line] = observations(curve(*arguments, limit=limit, **settings), limit, records)
    return line


K = [4, 16, 64]


def test_observations_say_what_the_figures_do():
    runs = [
        *curve("a", [2, 4, 8], [0.1, 0.3, 0.4], [1.0, 2.0, 3.0]),
        *curve("b", [2, 4, 8], [0.2, 0.2, 0.2], [0.5, 0.5, 0.5]),
        compared("c", 8, None, float("nan")),
    ]
    assert observations(runs, "k") == [
        "a loses least LM and MD for k = 2, b for k = 4 to 8.",
        "b is fastest at every k.",
        "a: from k = 2 to 8 LM per record rises from 0.100 to 0.400, and MD rises from 1 to 4. Its time rises "
        "from 1 s to 3 s.",
        "b: from k = 2 to 8 LM per record stays at 0.200, and MD stays at 2. It takes as long at every k: time "
        "stays at 0.5 s.",
        "No release: c (k = 8).",
    ]
    # On the page LM is a sum, as in its tables.
    assert "LM rises from 100 to 400, and" in observations(runs, "k", 1000)[2]


def test_lm_and_md_may_disagree():
    runs = [compared("a", 4, 0.1, md=30), compared("b", 4, 0.2, md=20)]
    assert observations(runs, "k")[:2] == ["a loses least LM at every k.", "b loses least MD at every k."]
    line = told("a", K, [0.2, 0.3, 0.4], [1, 1, 1], md=[50, 50, 40])
    assert "LM rises from 200 to 400, and MD falls from 50 to 40." in line


@pytest.mark.parametrize(
    ("seconds", "spread", "sentence"),
    [
        ([10, 11, 12], 0, "It takes as long at every k: time stays between 10 s and 12 s."),
        ([10, 20, 30], 0, "Its time rises from 10 s to 30 s."),
        ([30, 20, 10], 0, "Its time falls from 30 s to 10 s."),
        ([10, 30, 10], 0, "Its time goes up and down between 10 s and 30 s."),
        ([10, 30, 11], 0, "Its time goes up and down from 10 s to 11 s, between 10 s and 30 s."),
        # The ends are alike although the time falls in between.
        ([10, 14, 12], 0, "Its time goes up and down from 10 s to 12 s, between 10 s and 14 s."),
        # What lies within twice both spreads is no change.
        ([10, 14, 18], 2, "Its time stays between 10 s and 18 s, within its spread."),
        ([10, 14, 21], 2, "Its time rises from 10 s to 21 s."),
    ],
)
def test_an_algorithm_takes_as_long_only_where_its_curve_says_so(seconds, spread, sentence):
    line = told("a", K, [0.1, 0.1, 0.1], seconds, spread={"seconds": spread})
    assert line.endswith(f"MD stays at 1. {sentence}")


def test_full_domain_recoding_is_flat_where_its_levels_stay():
    def reason(losses, levels):
        line = told("datafly", K, losses, [1, 1, 1], levels=levels)
        return line.partition(": time stays at 1 s.")[2].strip()

    low, high = (0, 1), (1, 1)
    moves = "Full-domain recoding moves whole columns: it is flat where levels stay,"
    assert reason([0.1, 0.1, 0.2], [low, low, high]) == f"{moves} for k = 4 to 16."
    assert reason([0.1, 0.1, 0.1], [low, low, low]) == f"{moves} at every k."
    # Other levels, more suppressed records or no levels at all: this is not why.
    assert reason([0.1, 0.1, 0.1], [low, high, low]) == ""
    assert reason([0.1, 0.2, 0.3], [low, low, low]) == ""
    assert reason([0.1, 0.1, 0.1], None) == ""


def test_clustering_gets_faster_as_there_are_fewer_centroids():
    losses, faster = [0.1, 0.2, 0.3], [9, 3, 1]
    reason = "There are fewer centroids: 15 in place of 250."
    assert told("clustering", K, losses, faster).endswith(f"Its time falls from 9 s to 1 s. {reason}")
    assert "centroids" not in told("clustering", K, losses, [3, 3, 3])
    assert "centroids" not in told("clustering", K, losses, [1, 3, 9])
    assert "centroids" not in told("mondrian", K, losses, faster)
    # The number of centroids follows from k alone.
    assert "centroids" not in told("clustering", [1, 2, 3], losses, faster, limit="l")


def test_random_nears_the_root():
    end = "At k = 64 it nears the root: LM is 97% of the most possible."
    random = told("random", K, [0.7, 0.8, 0.979], [1, 1, 1])
    assert random.endswith(f"{end} People drawn at random have little else in common.")
    assert told("a", K, [0.7, 0.8, 0.979], [1, 1, 1]).endswith(end)
    assert "root" not in told("random", K, [0.7, 0.8, 0.85], [1, 1, 1])


def test_values_are_counted_only_where_l_asks_for_them():
    def sentence(seconds):
        return told("a", [1, 2, 3], [0.1, 0.1, 0.1], seconds, limit="l")

    assert sentence([1, 3, 3]).endswith("From l = 2 on the values of each class are counted, too.")
    assert "counted" not in sentence([3, 3, 3])
    assert "counted" not in sentence([1, 3, 1])
    assert "counted" not in told("a", [2, 3, 4], [0.1, 0.1, 0.1], [1, 3, 3], limit="l")


def test_a_larger_limit_buys_the_risk_that_was_measured():
    def gain(limit, **risks):
        names = {
            "highest": "prosecutor-max",
            "one": "attribute-disclosure-homogeneous",
            "guess": "attribute-disclosure-max",
        }
        each = [
            dict(zip(map(names.get, risks), figures, strict=True))
            for figures in zip(*risks.values(), strict=True)
        ]
        return conclusions(curve("a", [2, 4], [0.1, 0.1], [1, 1], limit=limit, risk=each), limit)[0]

    assert gain("k", highest=[0.5, 0.0125]) == (
        "A larger k buys less risk: the highest risk of finding a person falls from 50% to 1.2% with a."
    )
    assert gain("k", highest=[0.04, 0.04]) == (
        "A larger k buys no less risk here: the highest risk of finding a person stays at 4% with a."
    )
    assert gain("l", one=[0.2, 0.0], guess=[1.0, 0.5]) == (
        "A larger l buys less risk: the share of records whose class has one sensitive value falls from 20% to "
        "0% with a; the surest guess of a sensitive value by the class falls from 100% to 50% with a."
    )
    # No class has one value before, so nothing is to be bought there.
    assert gain("l", one=[0.0, 0.0], guess=[0.3, 0.4]) == (
        "A larger l buys no less risk here: the surest guess of a sensitive value by the class rises from 30% "
        "to 40% with a."
    )
    several = [
        run for name in "ab" for run in curve(name, [2, 4], [0.1, 0.1], [1, 1], risk={"prosecutor-max": 0.25})
    ]
    assert conclusions(several, "k")[0].endswith(
        "finding a person stays at 25% with a and stays at 25% with b."
    )
    falling = [{"prosecutor-max": risk} for risk in (0.5, 0.25)]
    several = [run for name in "ab" for run in curve(name, [2, 4], [0.1, 0.1], [1, 1], risk=falling)]
    assert conclusions(several, "k")[0].endswith("falls from 50% to 25% with a and from 50% to 25% with b.")
    uneven = [{"prosecutor-max": risk} for risk in (0.5, 0.2, 0.25)]
    [line] = [
        line for line in conclusions(curve("a", K, [0.1] * 3, [1] * 3, risk=uneven), "k") if "buys" in line
    ]
    assert line.startswith("A larger k buys less risk, but not with every step: ")
    assert line.endswith("goes up and down from 50% to 25%, between 20% and 50% with a.")
    assert not [line for line in conclusions(curve("a", K, [0.1] * 3, [1] * 3), "k") if "buys" in line]


def concluded(*runs):
    return conclusions([compared(*run) for run in runs], "k")


HOMEWORK = (
    ("random", 4, 0.76, 0.1), ("clustering", 4, 0.15, 2.0), ("bottom-up", 4, 0.6, 1.0),
    ("random", 64, 0.98, 0.1), ("clustering", 64, 0.71, 0.5), ("bottom-up", 64, 0.65, 1.0),
)  # fmt: skip


def test_conclusions_answer_what_to_prefer_and_to_expect():
    assert concluded(*HOMEWORK) == [
        "Trade-off: at k = 4 random takes 5.0% of the time of clustering, for 5.07 times the LM and 5.07 times the "
        "MD; at k = 64 random takes 10.0% of the time of bottom-up, for 1.51 times the LM and 1.51 times the MD.",
        "To prefer, the fastest of those within 10% of the least LM: clustering at every k. If seconds alone count: "
        "random at every k.",
        "As expected, neither LM nor MD falls as k grows, and none loses more than random.",
    ]
    assert concluded(("a", 2, 0.1, 0.5), ("b", 2, 0.2, 1.0))[:2] == [
        "Trade-off: at k = 2 a is the fastest and loses least.",
        "To prefer, the fastest of those within 10% of the least LM: a at every k.",
    ]
    assert concluded(("a", 2, 0.1, 0.5), ("a", 4, 0.1, 0.5)) == [
        "As expected, neither LM nor MD falls as k grows."
    ]
    assert conclusions([compared("c", k, None, float("nan")) for k in (2, 4)], "k") == []


def test_conclusions_say_where_expectations_fail():
    against = concluded(*HOMEWORK, ("clustering", 128, 0.7, 0.5), ("random", 128, 0.6, 0.1))
    assert against[1:] == [
        "To prefer, the fastest of those within 10% of the least LM: clustering for k = 4 to 64, random for k = 128. "
        "If seconds alone count: random at every k.",
        "Against expectation losses fall as k grows: LM of random from k = 64 to 128, MD of random from k = 64 to "
        "128, LM of clustering from k = 64 to 128, MD of clustering from k = 64 to 128.",
        "Against expectation some lose more than random: LM of clustering at k = 128, MD of clustering at k = 128.",
    ]
    # A mean over seeds falls only beyond their spread.
    noisy = curve("a", [2, 4], [0.5, 0.45], [1, 1], spread={"loss": 0.03, "distortion": 0.3})
    assert conclusions(noisy, "k") == ["As expected, neither LM nor MD falls as k grows."]


def test_observations_name_those_that_tie():
    def observed(*runs):
        return observations([compared(*run) for run in runs], "k")[:2]

    runs = ("a", 2, 0.3, 1.0), ("b", 2, 0.1 + 0.2, 2.0), ("a", 4, 0.5, 1.0), ("b", 4, 0.4, 1.0004)
    assert observed(*runs) == [
        "a and b lose least LM and MD for k = 2, b for k = 4.",
        "a is fastest for k = 2, a and b for k = 4.",
    ]
    assert observed(*runs[:2])[0] == "a and b lose least LM and MD at every k."
    assert observed(*runs[:2], ("c", 2, 0.3, 1.0))[0] == "a, b and c lose least LM and MD at every k."
    turns = [(name, k, (k + place) % 2, k) for k in range(2, 11) for place, name in enumerate("ab")]
    assert observed(*turns) == [
        "Of 9 values of k: a loses least LM and MD for 5, b for 4.",
        "a and b are fastest at every k.",
    ]
    [line] = observations([compared("c", k, None, float("nan")) for k in range(2, 30)], "k")
    assert line.startswith("No release: c (k = 2), ")
    assert line.endswith("c (k = 7) and 22 more.")


def test_times_within_their_spreads_tie():
    runs = [
        compared("a", 2, 0.1, 1.0, spread={"seconds": 0.3}),
        compared("b", 2, 0.2, 1.5, spread={"seconds": 0.3}),
    ]
    assert observations(runs, "k")[1] == "a and b are fastest at every k."


def test_other_figures_have_other_sentences():
    one = curve("clustering", K, [0.1, 0.2, 0.3], [9, 3, 1]), curve("random", K, [0.8, 0.9, 0.95], [1, 1, 1])
    other = (
        curve("clustering", K, [0.3, 0.2, 0.1], [1, 3, 9]),
        curve("random", K, [0.05, 0.06, 0.07], [5, 5, 5]),
    )
    lines = [
        {*observations([*first, *second], "k", 1000), *conclusions([*first, *second], "k")}
        for first, second in (one, other)
    ]
    assert lines[0] & lines[1] == set()
