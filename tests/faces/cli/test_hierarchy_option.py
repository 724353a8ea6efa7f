"""`--hierarchy COLUMN=RECIPE`: the recipes of a policy file, on the command line."""

from __future__ import annotations

import json
import tomllib

import polars as pl
import pytest

from incrowd.core.errors import IncrowdError
from incrowd.core.hierarchy import builder_from_spec
from incrowd.core.hierarchy.formats import FORMATS
from incrowd.faces.cli.parsing import builders_of_texts

RECIPES = {
    "prefix": "prefix = true",
    "flat": "flat = true",
    "dates": "dates = true",
    "dates:month,year": 'dates = ["month", "year"]',
    "intervals:5,10,20": "intervals = [5, 10, 20]",
    "intervals:2.5,5": "intervals = [2.5, 5]",
    "intervals:5,10,origin=18": "intervals = [5, 10]\norigin = 18",
    "bands:-1,18,30.5": "bands = [-1, 18, 30.5]",
    "order:low,mid,high": 'order = ["low", "mid", "high"]',
    "order:1,2,3,fanout=3": 'order = ["1", "2", "3"]\nfanout = 3',
    'order:"a, b",c': 'order = ["a, b", "c"]',
}


@pytest.mark.parametrize("text", RECIPES)
def test_a_text_means_what_the_table_of_a_policy_means(text):
    assert builders_of_texts([f"x={text}"]) == {"x": builder_from_spec(tomllib.loads(RECIPES[text]))}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("zip", "write COLUMN=RECIPE, as zip=prefix or age=intervals:5,10,20"),
        ("=prefix", "write COLUMN=RECIPE"),
        ("zip=", "write COLUMN=RECIPE"),
        ("zip=prefx", "column 'zip': hierarchy: name one of intervals, bands, prefix, dates, order, flat, got ['prefx']; "
         "did you mean 'prefix'?"),
        ("zip=prefix:3", "column 'zip': hierarchy prefix: write prefix = true"),
        ("age=intervals", "column 'age': hierarchy intervals: give a list of widths, e.g. [5, 10, 20]"),
        ("age=intervals:5,7", "column 'age': hierarchy intervals: width 7 is no multiple of the one before"),
        ("age=intervals:5,x", "column 'age': hierarchy intervals: a width must be a number, got 'x'"),
        ("age=intervals:5,orign=1", "column 'age': hierarchy: unknown setting 'orign'"),
        ("day=dates:week", "column 'day': hierarchy dates: levels must be some of"),
    ],
)  # fmt: skip
def test_what_is_no_recipe_is_refused(text, told):
    with pytest.raises(IncrowdError) as refused:
        builders_of_texts([text])
    assert told in str(refused.value)


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(
        {
            "age": [20 + row % 40 for row in range(200)],
            "zip": [f"{12000 + 7 * (row % 60)}" for row in range(200)],
            "illness": ["flu", "cold", "ache", "none"] * 50,
        }
    ).write_csv("people.csv")
    return tmp_path


ASKED = (
    "people.csv",
    "--hierarchy",
    "zip=prefix",
    "--hierarchy",
    "age=intervals:5,10,20",
    "--sensitive",
    "illness",
)


@pytest.mark.slow
def test_a_release_needs_no_policy_file(run, people):
    result = run(
        "anonymize", *ASKED, "-k", "5", "--levels", "age=1", "-o", "out.csv", "--save-policy", "policy.toml"
    )
    assert result.status == 0, result.err
    policy = tomllib.loads((people / "policy.toml").read_text())["columns"]
    assert (policy["zip"]["role"], policy["zip"]["hierarchy"]) == ("quasi", {"prefix": True})
    assert policy["age"]["hierarchy"] == {"intervals": [5, 10, 20], "origin": 0}
    assert set(pl.read_csv("out.csv", infer_schema=False)["age"]) <= {
        f"[{a}-{a + 4}]" for a in range(20, 60, 5)
    }
    assert run("verify", "out.csv", "--policy", "policy.toml", "--against", "people.csv").status == 0


@pytest.mark.parametrize("command", ["assess", "lattice", "compare", "risk"])
def test_other_commands_take_it_too(run, people, command):
    more = {"compare": ("--algorithms", "optimal", "-k", "5"), "lattice": ("-k", "5")}.get(command, ())
    result = run(command, *ASKED, *more, "--json")
    assert result.status == 0, result.err
    json.loads(result.out)


def test_a_recipe_goes_before_a_file(run, people):
    (people / "trees").mkdir()
    (people / "trees" / "zip.csv").write_text("x;*\n")
    result = run("anonymize", *ASKED, "--hierarchies", "trees", "-k", "5", "-o", "out.csv")
    assert result.status == 0, result.err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--hierarchy", "zap=prefix"), "--hierarchy: the table has no column 'zap'; it has 'age', 'zip', 'illness'; "
         "did you mean 'zip'?"),
        (("--qi", "age"), "--hierarchy: column 'zip' is neither a quasi-identifier nor sensitive"),
        (("--hierarchy", "zip=flat"), "column 'zip' has two recipes; give it one"),
        (("--policy", "policy.toml"), "--hierarchy"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(run, people, more, told):
    result = run("anonymize", *ASKED, *more, "-k", "5", "-o", "out.csv")
    assert (result.status, (people / "out.csv").exists()) == (2, False)
    assert told in result.err


def test_the_refusal_of_a_list_says_how_to_give_a_hierarchy_and_that_works(run, people, tmp_path):
    codes = pl.DataFrame({"home zip": [f"{number:05}" for number in range(1000, 1160)], "s": ["a", "b"] * 80})
    codes.write_csv("codes.csv")
    roles = ("--qi", "home zip", "--sensitive", "s", "-k", "5")
    result = run("anonymize", "codes.csv", *roles, "-o", "safe.csv")
    assert result.status == 2
    assert (
        "(--hierarchy 'home zip=prefix' for codes, --hierarchy 'home zip=flat' for the value or *"
        in result.err
    )
    assert (
        run("anonymize", "codes.csv", *roles, "--hierarchy", "home zip=prefix", "-o", "safe.csv").status == 0
    )
    text = 'version = 1\n[columns."home zip"]\nrole = "quasi"\n[columns.s]\nrole = "sensitive"\n'
    (tmp_path / "codes.toml").write_text(f'{text}[[models]]\nmodel = "k-anonymity"\nk = 5\n')
    result = run("anonymize", "codes.csv", "--policy", str(tmp_path / "codes.toml"), "-o", "other.csv")
    assert (
        "(hierarchy = { prefix = true } for codes, hierarchy = { flat = true } for the value or *"
        in result.err
    )
    assert "--hierarchy" not in result.err


def test_the_help_of_a_hierarchy_names_every_kind_of_file(run):
    """The help answers before the formats are loaded, so it writes them out."""
    said = run("hierarchy", "check", "--help").out + run("hierarchy", "show", "--help").out
    assert [suffix for suffix in FORMATS if suffix != ".yml" and suffix not in said] == []
