"""A policy with several attackers: verify judges the view of each."""

from __future__ import annotations

import json
import re
from itertools import combinations

import polars as pl
import pytest
from typer.testing import CliRunner

import incrowd as ic
from crossed import crossed
from incrowd.core.errors import PolicyError
from incrowd.faces.cli import app
from incrowd.release.verification import verify
from people_readings import Reading, people_table
from people_releases import ALGORITHMS, SENSITIVE, models_of_people, near, other_models, saved
from policy_texts import K2, SIMPLE, entry, policy_text

QUASI = ("age", "town")
KNOWN = [("age",), ("town",), QUASI]


def theirs(model):
    """Whether an attacker may have a model."""
    return not (model.needs_cells or model.needs_population or model.needs_every_class)


def read(whose, made, values, known):
    """Read the view of an attacker with some columns, where a suppressed row is in no group."""
    hidden = [set(cells) == {"*"} for cells in zip(*(made[name].to_list() for name in QUASI), strict=True)]
    cells = [
        ["*" if out else ("seen", cell) for cell, out in zip(made[name].to_list(), hidden, strict=True)]
        for name in known
    ]
    return Reading(whose, cells, {name: values[name].to_list() for name in SENSITIVE})


def read_saved(table, given, known, *, person):
    """Read a saved release in the view of an attacker."""
    values = table[pl.read_parquet(given["row_map"])["row"].to_numpy() - 1]
    frame = pl.read_csv(given["path"], infer_schema=False)
    return read(values["person"].to_list() if person else range(len(table)), frame, values, known)


def by(person):
    """Return the settings of a schema with figures by people, or by rows."""
    return {} if person else {"person": (), "identifying": ["person"]}


# --- figures ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("person", [False, True])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_figures_are_those_of_the_release_and_of_groups_as_sets(tmp_path, algorithm, person):
    table = people_table(4, people=70)
    pairs = [(model, hows) for model, hows in models_of_people() if theirs(model)]
    models = [*(model for model, _ in pairs), *filter(theirs, other_models(algorithm))]
    attackers = [ic.Attacker(f"a{number}", known, models) for number, known in enumerate(KNOWN)]
    together = [model for model, _ in pairs if "joint" in model.settings()]
    release, settings = saved(tmp_path, table, [*together, *attackers], algorithm, **by(person))
    verification = verify(**settings)
    measures = [measured for measured in release.privacy.privacy if measured.limit is not None]
    assert len(verification.findings) == len(measures) > 150
    for finding, measured in zip(verification.findings, measures, strict=True):
        assert (finding.model, finding.quantity) == (measured.model, measured.quantity)
        assert (finding.attacker, finding.knows) == (measured.attacker, measured.knows)
        assert (finding.attribute, finding.unit) == (measured.attribute, "people" if person else "records")
        assert finding.reached == near(measured.value), finding
        assert finding.holds is measured.holds is True
    for number, known in enumerate(KNOWN):
        reading = read_saved(table, settings, known, person=person)
        mine = [finding for finding in verification.findings if finding.attacker == f"a{number}"]
        for finding, how in zip(mine, [how for _, hows in pairs for how in hows], strict=False):
            assert finding.reached == near(how(reading)), finding
    assert verification.keeps_limits


def test_what_each_sees_of_a_small_table(tmp_path):
    """Missing is a cell like others: a record with `*` in known cells is seen, a suppressed record is not."""
    rows = [
        ("1", "a", "x"),
        ("1", "b", "x"),
        ("1", None, "y"),
        ("2", None, "x"),
        ("*", "a", "y"),
        ("*", "a", "y"),
        ("*", "*", "z"),
    ]
    pl.DataFrame(rows, schema=["age", "town", "ill"], orient="row").write_csv(tmp_path / "t.csv")
    models = [ic.KAnonymity(1), ic.LDiversity(1), ic.TCloseness(1.0, "equal"), ic.AverageRisk(1.0)]
    models.append(ic.RecordsAtRisk(1.0, 0.4))
    attackers = [ic.Attacker(name, [name], models) for name in QUASI]
    schema = ic.Schema(QUASI, ["ill"], null_values=[""])
    ic.Policy(schema, attackers, max_suppression=0.5).write(tmp_path / "p.toml")
    verification = verify(tmp_path / "t.csv", tmp_path / "p.toml")
    # Ages: 1 three times (x, x, y), 2 once (x), * twice (y, y). Of all: 3 x, 3 y, 1 z.
    assert [finding.reached for finding in verification.findings[:5]] == [
        1,
        1,
        near(4 / 7),
        near(3 / 6),
        3 / 6,
    ]
    # Towns: a three times (x, y, y), b once (x), missing twice (y, x).
    assert [finding.reached for finding in verification.findings[5:]] == [
        1,
        1,
        near(4 / 7),
        near(3 / 6),
        3 / 6,
    ]
    assert (verification.classes, verification.suppressed, verification.keeps_limits) == (5, 1, True)


def test_nobody_is_counted_twice_in_a_group(tmp_path):
    """Ann has rows in both towns. Who knows the age alone finds two people, not three."""
    table = pl.DataFrame(
        {"who": ["Ann", "Ann", "Bob"], "age": [30, 30, 30], "town": list("aba"), "ill": list("xyx")}
    )
    table.write_csv(tmp_path / "raw.csv")
    table.drop("who").write_csv(tmp_path / "t.csv")
    applied_to = [ic.KAnonymity(2), ic.AlphaKAnonymity(1.0, 3), ic.RecordsAtRisk(0.0, 0.4)]
    policy = ic.Policy(
        ic.Schema(QUASI, ["ill"], person="who"), [ic.Attacker("x", ["age"], applied_to)], keep_order=True
    )
    policy.write(tmp_path / "p.toml")
    verification = verify(tmp_path / "t.csv", tmp_path / "p.toml", against=tmp_path / "raw.csv")
    # Both have x: it is certain of whoever is 30. Each of the two has a risk of 1/2.
    assert [finding.reached for finding in verification.findings] == [2, 1, 2, 1]
    assert [finding.holds for finding in verification.findings] == [True, True, False, False]


# --- verdicts ---------------------------------------------------------------------------------------------


def extended(given, *attackers):
    """Write the policy of a release with other models: those of attackers, with names and letters."""
    text = given["policy_path"].read_text()
    head, tail = re.split(r"\[\[(?:models|attackers)\]\]", text)[0], text[text.index("[algorithm]") :]
    tables = "".join(
        f"[[attackers]]\nname = {json.dumps(name)}\nknows = {json.dumps(known)}\n{more}\n"
        for name, known, more in attackers
    )
    given["policy_path"].write_text(head + tables + tail)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "person"), crossed(["mondrian", "datafly", "mdav", "optimal"], [False, True])
)
def test_a_release_fails_for_one_attacker_alone(tmp_path, algorithm, person):
    table = people_table(7, people=60)
    _, settings = saved(tmp_path, table, [ic.KAnonymity(2)], algorithm, **by(person))
    everybody = [list(known) for size in (1, 2) for known in combinations(QUASI, size)]
    readings = [read_saved(table, settings, known, person=person) for known in everybody]
    for chosen in (None, 0, 1, 2):
        limits = [reading.k() + (number == chosen) for number, reading in enumerate(readings)]
        extended(
            settings,
            *(
                (f"n{n}", known, f"k = {k}")
                for n, (known, k) in enumerate(zip(everybody, limits, strict=True))
            ),
        )
        verification = verify(**settings)
        assert [finding.reached for finding in verification.findings] == [reading.k() for reading in readings]
        assert [finding.holds for finding in verification.findings] == [n != chosen for n in range(3)]
        assert verification.keeps_limits is (chosen is None)
    assert len({reading.k() for reading in readings}) > 1, "else the test shows little"


@pytest.mark.slow
def test_verdicts_by_records_are_those_by_people_or_open(tmp_path):
    table = people_table(2, people=60)
    _, settings = saved(tmp_path, table, [ic.KAnonymity(2)])
    extended(settings, *(("x", ["age"], f"k = {k}\nl = {1 + k % 4}\nt = {k / 60}") for k in range(1, 60, 3)))
    known = verify(**settings).findings
    alone = verify(settings["path"], settings["policy_path"])
    for mine, other in zip(alone.findings, known, strict=True):
        assert mine.holds in (None, other.holds)
        assert mine.unit == "records"
    told = {(finding.model, finding.holds) for finding in alone.findings}
    assert {("k-anonymity", False), ("k-anonymity", None), ("l-diversity", True)} <= told
    assert ("k-anonymity", True) not in told


def test_no_class_no_group(tmp_path):
    pl.DataFrame({"age": ["*"], "town": ["*"], "ill": ["x"]}).write_csv(tmp_path / "t.csv")
    attackers = [ic.Attacker("x", ["age"], [ic.KAnonymity(1), ic.LDiversity(1)])]
    ic.Policy(ic.Schema(QUASI, ["ill"]), attackers, max_suppression=1.0).write(tmp_path / "p.toml")
    verification = verify(tmp_path / "t.csv", tmp_path / "p.toml")
    assert [(finding.reached, finding.holds) for finding in verification.findings] == [(None, False)] * 2


# --- the policy -------------------------------------------------------------------------------------------

COLUMNS = [entry("zip", "quasi"), entry("sex", "quasi"), entry("x", "sensitive"), entry("y", "insensitive")]
INSURER = '[[attackers]]\nname = "insurer"\nknows = ["zip"]\n'
TABLE = "zip,sex,x,y\n1,f,a,1\n1,m,b,2\n2,f,a,3\n2,f,b,4\n2,m,a,5\n"


def with_attackers(text, models=()):
    return policy_text(COLUMNS, models) + text


def written(folder, text):
    (folder / "t.csv").write_text(TABLE)
    (folder / "p.toml").write_text(text)
    return folder / "t.csv", folder / "p.toml"


def test_letters_stand_for_models_and_come_last(tmp_path):
    text = INSURER + 'k = 2\nt = 0.5\nl = 2\nmodels = [{ model = "maximum-risk", risk = 0.5 }]\n'
    text += '[[attackers]]\nname = "both"\nknows = ["sex", "zip", "sex"]\nk = 2\n'
    verification = verify(*written(tmp_path, with_attackers(text)))
    assert [
        (finding.model, finding.asked, finding.attacker, finding.knows) for finding in verification.findings
    ] == [
        ("maximum-risk", 0.5, "insurer", ("zip",)),
        ("k-anonymity", 2, "insurer", ("zip",)),
        ("l-diversity", 2, "insurer", ("zip",)),
        ("t-closeness", 0.5, "insurer", ("zip",)),
        ("k-anonymity", 2, "both", ("sex", "zip")),
    ]
    assert [finding.reached for finding in verification.findings[:3]] == [0.5, 2, 2]
    assert [finding.holds for finding in verification.findings] == [True, True, True, True, False]


def test_models_without_attackers_are_of_somebody_who_knows_everything(tmp_path):
    verification = verify(*written(tmp_path, with_attackers(INSURER + "k = 2\n", [K2])))
    assert [(finding.attacker, finding.knows, finding.reached) for finding in verification.findings] == [
        (None, (), 1),
        ("insurer", ("zip",), 2),
    ]
    assert not verification.keeps_limits


def test_what_is_shown_names_attackers(tmp_path):
    released, policy = written(tmp_path, with_attackers(INSURER + "k = 3\n", [K2]))
    arguments = ["verify", str(released), "--policy", str(policy)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["model", "attribute", "against", "reached", "asked"] in lines
    assert ["k-anonymity", "1", "2", "FAILS"] in lines
    assert ["k-anonymity", "insurer", "(who", "knows", "zip)", "2", "3", "FAILS"] in lines
    plain = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert [finding.get("attacker") for finding in plain["findings"]] == [
        None,
        {"name": "insurer", "knows": ["zip"]},
    ]
    assert not any("knows" in finding for finding in plain["findings"])
    released, policy = written(tmp_path, policy_text(COLUMNS, [K2]))
    assert "against" not in CliRunner().invoke(app, arguments).stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no models"),
        ("[attackers]\nname = 'x'\n", "must be tables"),
        (INSURER, "attacker 'insurer' has no models"),
        (INSURER + "models = []\nk = 2\n", "attacker 'insurer': models must list at least one model"),
        (INSURER + "models = 'k'\n", "attacker 'insurer': models must list"),
        (INSURER + "models = ['k-anonymity']\n", "model 1 of attacker 'insurer' must be a table"),
        (INSURER + "models = [{ k = 2 }]\n", "model 1 of attacker 'insurer' is None"),
        (INSURER + "models = [{ model = 'k-anon', k = 2 }]\n", "model 1 of attacker 'insurer' is 'k-anon'"),
        (
            INSURER + "models = [{ model = 'k-anonymity', k = 2, l = 3 }]\n",
            r"model 1 \(k-anonymity\) of attacker 'insurer': verify does not know 'l'",
        ),
        (INSURER + "k = 0\n", r"k of model 1 \(k-anonymity\) of attacker 'insurer' is 0; it must be a whole"),
        (INSURER + "t = 'a'\n", "t of model 1 "),
        (INSURER + "l = 2.5\n", "l of model 1 "),
        (INSURER + "m = 2\n", "attacker 'insurer': verify does not know 'm'; it knows 'name', 'knows'"),
        (INSURER.replace('["zip"]', "[]") + "k = 2\n", "'insurer': knows must list at least one quasi"),
        (INSURER.replace('["zip"]', '"zip"') + "k = 2\n", "knows must list"),
        (INSURER.replace('["zip"]', "[1]") + "k = 2\n", "knows must list"),
        (INSURER.replace('"zip"', '"zip", "job"') + "k = 2\n", "knows 'job', no quasi-.*are 'zip', 'sex'"),
        (INSURER.replace('"zip"', '"x"') + "k = 2\n", "knows 'x', no quasi-identifier"),
        (INSURER.replace('"zip"', '"y"') + "k = 2\n", "knows 'y', no quasi-identifier"),
        (INSURER.replace('"insurer"', '""') + "k = 2\n", "attacker 1 has no name"),
        (INSURER.replace('name = "insurer"', "") + "k = 2\n", "attacker 1 has no name"),
        *(
            (INSURER + f"models = [{{ model = '{model}', {more} }}]\n", f"{model} says itself who knows what")
            for model, more in (
                ("lkc-privacy", "L = 1, K = 2, C = 1"),
                ("k-map", "k = 2"),
                ("delta-presence", "delta_max = 1"),
                ("km-anonymity", "k = 2"),
                ("profitability", "attacker = 'journalist'"),
            )
        ),
        (
            INSURER + "models = [{ model = 'l-diversity', l = 2, attribute = 'zip' }]\n",
            r"model 1 \(l-diversity\) of attacker 'insurer': attribute 'zip' is no column",
        ),
    ],
)
def test_mistakes_in_attackers_are_refused(tmp_path, text, message):
    with pytest.raises(PolicyError, match=message):
        verify(*written(tmp_path, with_attackers(text)))


@pytest.mark.parametrize(("head", "models"), [("attackers = []", [K2]), ("attackers = [3]", [K2]), ("models = []", [])])  # fmt: skip
def test_empty_lists_are_refused(tmp_path, head, models):
    text = policy_text(COLUMNS, models, head) + (INSURER + "k = 2\n" if "models" in head else "")
    with pytest.raises(PolicyError, match=r"must be tables \[\[attackers\]\]|names no models"):
        verify(*written(tmp_path, text))


def test_a_model_of_values_needs_a_sensitive_column(tmp_path):
    text = policy_text(SIMPLE[:1], []) + INSURER + "l = 2\n"
    with pytest.raises(PolicyError, match=r"model 1 \(l-diversity\) of attacker 'insurer' needs a column"):
        verify(*written(tmp_path, text))
