"""Settings that were tried, the chart of losses and risks, and help for an infeasible policy."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from incrowd.faces.studio import exploring
from incrowd.faces.studio.cancelling import Cancelled, Watched
from incrowd.faces.studio.exploring import Try
from incrowd.faces.studio.tables import read_policy
from incrowd.faces.studio.work import Source, Work
from incrowd.samples import hospital
from incrowd.search.lattice.node import Node
from incrowd.search.lattice.space import SolutionSpace


@pytest.fixture
def window(tmp_path):
    hospital(400).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    work = Work()
    work.open(Source(tmp_path / "people.csv", "people.csv"))
    yield work
    work.close()


def test_a_setting_that_gives_no_release_says_why_and_another_one_can_be_taken(window):
    tries, problems = exploring.compare_settings(window, ["mondrian"], [4, 401], Watched())
    assert [each.title.partition(", l")[0] for each in tries] == ["Mondrian, k = 4"]
    [(reason, titles)] = problems.items()
    assert "k=401 is more than" in reason
    assert [each.partition(", l")[0] for each in titles] == ["Mondrian, k = 401"]
    assert tries[0].risk <= 1 / 4
    assert tries[0].state in ("holds", "open")
    window.choices.document.clear()
    window.choices.document.update(deepcopy(tries[0].document))
    assert window.choices.algorithm == {"name": "mondrian"}
    assert window.choices.models[0] == {"model": "k-anonymity", "k": 4}
    lost = window.anonymize(Watched()).utility["loss"].per_attribute
    assert tries[0].lost == lost
    names, rows = exploring.losses({1: tries[0]})
    assert names == ["column", f"1: {tries[0].title}"]
    assert [name for name, _ in rows] == ["all columns", *lost]


@pytest.mark.slow
def test_every_release_stays_among_the_tries_and_the_same_one_once(window):
    for k in (5, 8, 5):
        window.choices.models[:] = [{"model": "k-anonymity", "k": k}]
        window.recode(Watched())
        release = window.judge(Watched())
    assert [each.title for each in window.tries] == ["Mondrian, k = 8", "Mondrian, k = 5"]
    last = window.tries[-1]
    assert (last.loss, last.state) == (release.utility["loss"].value, release.verdict.state)
    assert last.suppressed == release.suppression.records
    window.choices.models[0]["k"] = 12
    assert window.tries[-1].document["models"] == [{"model": "k-anonymity", "k": 5}]


def test_a_title_names_the_method_and_every_limit():
    document = {
        "algorithm": {"name": "top-down-specialization"},
        "models": [{"model": "k-anonymity", "k": 5}, {"model": "t-closeness", "t": 0.25}],
        "max_suppression": 0.02,
        "attackers": [{"name": "neighbour"}],
    }
    title = "Top down specialization, k = 5, t = 0.25, up to 2% suppressed, 1 attacker"
    assert exploring.title_of(document) == title


def test_one_level_for_each_column_is_taken_and_set_free_again(window):
    window.choices.models[:] = [{"model": "k-anonymity", "k": 5}]
    tries = exploring.of_levels(window, Watched())
    assert tries
    chosen = tries[-1]
    window.choices.document.clear()
    window.choices.document.update(deepcopy(chosen.document))
    assert window.choices.algorithm["name"] == "optimal"
    release = window.anonymize(Watched())
    levels = dict(zip(("age", "sex", "zip"), release.recoding.levels, strict=True))
    assert all(window.choices.columns[name]["levels"] == [level, level] for name, level in levels.items())
    assert release.utility["loss"].value == pytest.approx(chosen.loss)
    exploring.free_levels(window.choices.document)
    assert not any("levels" in settings for settings in window.choices.columns.values())


def test_a_recoding_that_a_run_refuses_hides_none_that_loses_less_than_all_stars():
    """The first is refused, and beats the second in both, so that only the third would be left: nearly all ``*``."""
    refused, kept, stars = (
        Node(levels, True, 0, classes, 5, score, False, 0.0)
        for levels, score, classes in (((1, 0), 0.1, 20), ((1, 1), 0.2, 25), ((4, 5), 0.9, 1))
    )
    nodes = (refused, kept, stars)
    space = SolutionSpace(("age", "zip"), 30, "loss (mean)", nodes, refused, proved=True, records=100)

    def trial(levels, _):
        if levels == {"age": 1, "zip": 0}:
            raise ic.InfeasibleError("refused")
        loss = {1: 0.2, 4: 0.9}[levels["age"]]
        return SimpleNamespace(
            utility={"loss": SimpleNamespace(value=loss, per_attribute={})},
            privacy=SimpleNamespace(risk={"prosecutor": {"max": 0.2}}, results=SimpleNamespace(asked=())),
            suppression=SimpleNamespace(records=0),
            verdict=SimpleNamespace(state="holds"),
        )

    document = {"columns": {"age": {}, "zip": {}}, "algorithm": {"name": "mondrian"}}
    work = SimpleNamespace(
        policy=lambda: SimpleNamespace(with_levels=dict),
        explore=lambda _: space,
        chosen=SimpleNamespace(document=document),
        trial=trial,
    )
    tries = exploring.of_levels(work, Watched())
    assert [each.title for each in tries] == ["Levels: age 1, zip 1", "Levels: age 4, zip 5"]
    assert exploring.best(tries) == 0


def short_lists(window):
    window.choices.document["set_limit"] = 1


def conservative(window):
    window.choices.document["wildcards"] = "conservative"


def an_attacker(window):
    models = [{"model": "k-anonymity", "k": 20}]
    window.choices.document["attackers"] = [{"name": "a", "knows": ["age", "zip"], "models": models}]


def a_population(window):
    window.choices.models.append({"model": "k-map", "k": 3})
    path = window.place(".csv")
    hospital(900, seed=7).select("age", "sex", "zip").write_csv(path)
    window.set_population(str(path))


def a_treatment(window):
    window.choices.columns["age"]["treat"] = {"round": 5}


def fixed_levels(window):
    window.choices.columns["age"]["levels"] = [1, 2]


def a_seed(window):
    window.choices.document["seed"] = 5


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "change",
    quick(
        [short_lists, conservative, an_attacker, a_population, a_treatment, fixed_levels, a_seed],
        conservative,
        an_attacker,
        a_treatment,
    ),
    ids=lambda change: change.__name__,
)
def test_what_is_offered_is_released_by_a_run(gaps, change):
    window, offered = gaps, []
    window.choices.models[:] = [{"model": "k-anonymity", "k": 5}]
    window.choices.document["max_suppression"] = 0.05
    change(window)
    before = deepcopy(window.choices.document)
    tries, problems = exploring.compare_settings(window, ["mondrian", "datafly", "random"], [2, 5], Watched())
    assert len(tries) + sum(map(len, problems.values())) == 6
    for each in (*tries, *exploring.of_levels(window, Watched())):
        window.choices.document.clear()
        window.choices.document.update(deepcopy(each.document))
        offered.append(window.anonymize(Watched()).privacy.holds)
        # It is the very release that was tried.
        assert window.release.utility["loss"].value == pytest.approx(each.loss)
        window.choices.document.clear()
        window.choices.document.update(deepcopy(before))
    assert all(offered)
    assert bool(offered) is (change is not conservative)


@pytest.fixture
def gaps(tmp_path):
    """A window on a table with missing cells, which wildcards match."""
    table = hospital(400).select("age", "sex", "zip", "diagnosis")
    gone = pl.int_range(400)
    table = table.with_columns(
        sex=pl.when(gone % 17 != 0).then(pl.col("sex")), zip=pl.when(gone % 13 != 0).then(pl.col("zip"))
    )
    table.write_csv(tmp_path / "people.csv")
    work = Work()
    work.open(Source(tmp_path / "people.csv", "people.csv"))
    yield work
    work.close()


def setting(title, loss, risk, state="holds"):
    return Try(title, loss, risk, 3, state, {}, {})


def test_of_the_sound_settings_the_one_that_loses_least_is_named():
    tries = [setting("a", 0.1, 0.5, "broken"), setting("b", 0.3, 0.2), setting("c", 0.2, 0.2, "open")]
    assert exploring.best(tries) == 2
    assert exploring.best(tries[:1]) is None


def test_points_stand_at_their_true_places_and_share_a_label_where_they_meet():
    tries = [
        setting("a", 0.25, 0.5),
        setting("b", 0.25, 0.5, "open"),
        setting("c, <i>{b}</i>\u202e", 0.5, 0.1),
    ]
    data = exploring.chart(tries)["series"][0]["data"]
    assert [each["value"] for each in data] == [[50, 25], [50, 25], [10, 50]]
    assert [each["name"] for each in data] == ["1", "2", "3"]
    assert [each["label"]["formatter"] for each in data if each["label"]["show"]] == ["1, 2", "3"]
    assert data[1]["told"] == "2: b\nloss 25%\nlargest risk 50%\nsuppressed 3\nverdict: open"
    assert data[2]["told"].startswith("3: c, <i>{b}</i>\\u202e\n")
    # Where all is suppressed, or nothing lost, there is still a place.
    assert exploring.chart([setting("none", 0.0, 0.0)])["series"][0]["data"][0]["value"] == [0, 0]


def test_equal_results_are_one_point_and_its_label_counts_them():
    tries = [setting(f"s{number}", 0.7301, 0.1, "open") for number in range(24)]
    tries.insert(3, setting("other", 0.2, 0.5))
    assert [len(each) for each in exploring.alike(tries)] == [24, 1]
    [series] = exploring.chart(tries)["series"]
    assert [each["label"]["formatter"] for each in series["data"]] == ["24 settings", "4"]
    assert series["data"][0]["told"].startswith("24 settings\nloss 73%\n")
    # Labels of other points that meet are left out: the cards have every setting.
    assert series["labelLayout"] == {"hideOverlap": True}


def test_the_colours_of_points_stand_out_from_a_light_and_a_dark_page():
    def light(colour):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (
            each / 12.92 if each <= 0.04 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05

    for colour in exploring._COLOURS.values():
        assert light("#ffffff") / light(colour) >= 3, colour
        assert light(colour) / light("#121212") >= 3, colour


def test_examples_are_cells_of_the_most_frequent_value(window):
    result = window.examples(["age", "zip", "sex"])
    frequent = max((count, value) for value, count in window.counts("age").items())[1]
    assert result["age"][0] == frequent
    assert result["age"][-1] == "*"
    window.choices.columns["age"]["treat"] = {"round": 5}
    assert float(window.examples(["age", "sex"])["age"][0]) % 5 == 0
    window.choices.columns["age"]["format"] = "?"
    assert "age" not in window.examples(["age", "sex"])


@pytest.fixture
def stays(tmp_path):
    """A window on a table, with an analysis in its policy and a hierarchy in a file."""
    hospital(300).select("age", "sex", "length_of_stay").write_csv(tmp_path / "stays.csv")
    ic.Hierarchy.flat().build(["F", "M", "X"], "sex").write(tmp_path / "sex.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    work = Work(read_policy(tmp_path / "policy.toml"))
    work.open(Source(tmp_path / "stays.csv", "stays.csv"))
    yield work
    work.close()


POLICY = """version = 1
max_suppression = 0.05

[columns.age]
role = "quasi"
hierarchy = { intervals = [5, 10, 20, 40] }

[columns.sex]
role = "quasi"
hierarchy = "sex.csv"

[columns.length_of_stay]
role = "insensitive"

[[models]]
model = "k-anonymity"
k = 10

[[analyses]]
name = "stay"
formula = "length_of_stay ~ age"

[algorithm]
name = "datafly"
"""


def figures(trials):
    """Rows in a random order are summed in another order, so that the last digits differ."""
    return [
        {name: round(value, 9) if isinstance(value, float) else value for name, value in vars(each).items()}
        for each in trials
    ]


@pytest.mark.slow
def test_the_setting_that_keeps_an_analysis_is_that_of_python_and_is_taken(stays, tmp_path):
    tuned = exploring.keep_analysis(stays, "stay", 3, Watched())
    table = pl.read_csv(tmp_path / "stays.csv", infer_schema=False)
    same = ic.tune(table, ic.Policy.read(tmp_path / "policy.toml"), "analysis:stay", most=3)
    assert (figures(tuned.trials), tuned.sentence) == (figures(same.trials), same.sentence)
    assert tuned.document["algorithm"]["name"] == "mondrian"
    # What was not varied stays as somebody wrote it.
    assert tuned.document["columns"]["sex"]["hierarchy"] == "sex.csv"
    assert tuned.document["columns"]["age"]["hierarchy"] == {"intervals": [5, 10, 20, 40]}
    assert tuned.document["analyses"][0]["tried"] == 3
    files = {"sex": "sex.csv"}
    assert stays.policy(tuned.document).to_toml(files) == same.policy.to_toml(files)
    stays.tuned = tuned
    before = stays.choices.document
    stays.choices = replace(stays.choices, document=deepcopy(dict(tuned.document)))
    stays.changed()
    stays.recode(Watched())
    release = stays.judge(Watched())
    assert release.analyses["stay"].kept == pytest.approx(same.release.analyses["stay"].kept)
    # So its report has the picture, which that of another setting has not.
    assert stays.account["trials"] == same.release.document()["trials"]
    assert release.verdict.remark == same.release.verdict.remark
    stays.choices = replace(stays.choices, document=before)
    stays.changed()
    assert stays.anonymize(Watched()).analyses.trials == ()


@pytest.mark.slow
def test_advice_is_followed_and_gives_a_release(window):
    window.choices.document["algorithm"] = {"name": "optimal"}
    window.choices.document["max_suppression"] = 0.0
    window.choices.models[:] = [{"model": "k-anonymity", "k": 5}, {"model": "t-closeness", "t": 0.05}]
    with pytest.raises(ic.InfeasibleError):
        window.anonymize(Watched())
    assert window.infeasible
    result = window.advise(Watched())
    assert 1 <= len(result) <= 3
    for change in result:
        changed = change.edited(window.choices.document)
        window.choices.document.clear()
        window.choices.document.update(changed)
        assert window.anonymize(Watched()).privacy.holds
    assert not window.infeasible
    watched = Watched()
    watched.cancel()
    with pytest.raises(Cancelled):
        window.advise(watched)
