"""The JSON schema of a policy file agrees with the reader of policy files."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

import incrowd as ic
import page_runner
from incrowd.core.hierarchy import BUILDERS, Hierarchy
from incrowd.faces.cli.reference import policy_file_schema
from incrowd.release.policy.policy import Policy
from incrowd.release.policy.policy_schema import policy_schema

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = policy_schema()
CHECK = jsonschema.Draft7Validator(SCHEMA)

PLAIN = """version = 1
[columns.a]
role = "quasi"
[columns.s]
role = "sensitive"
[[models]]
model = "k-anonymity"
k = 2
"""


def wrong(text: str) -> list[str]:
    """Return where the schema finds a policy wrong."""
    return [error.json_path for error in CHECK.iter_errors(tomllib.loads(text))]


def reads(text: str, folder: Path = ROOT) -> bool:
    try:
        Policy.from_dict(tomllib.loads(text), folder)
    except ic.InputError:
        return False
    return True


def published() -> Iterator[tuple[str, str]]:
    """Yield every policy on the pages, with the place on the page."""
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")):
        for fence in page_runner.FENCE.finditer(page.read_text(encoding="utf-8")):
            written = (
                [fence[2]] if fence[1] == "toml" else re.findall(r"<<'(\w+)'\n(.*?)\n\1", fence[2], re.S)
            )
            for each in written:
                text = each if isinstance(each, str) else each[1]
                if text.lstrip().startswith("version ="):
                    yield f"{page.relative_to(ROOT)}: {text[:60]}", text


def test_the_published_schema_is_fresh():
    assert (ROOT / "docs" / "policy.schema.json").read_text(encoding="utf-8") == policy_file_schema(), (
        "run `make docs`"
    )
    assert json.loads(policy_file_schema()) == SCHEMA
    jsonschema.Draft7Validator.check_schema(SCHEMA)


def test_every_policy_on_the_pages_validates():
    result = dict(published())
    assert len(result) >= 2
    assert {place: wrong(text) for place, text in result.items() if wrong(text)} == {}


@pytest.mark.parametrize("model", list(ic.MODELS), ids=lambda entry: entry.name)
def test_every_model_as_it_is_written_validates(model):
    for each in model.variants():
        text = Policy(ic.Schema(quasi=["a"], sensitive=["s"]), [each]).to_toml()
        assert wrong(text) == [], text


@pytest.mark.parametrize("algorithm", list(ic.ALGORITHMS), ids=lambda entry: entry.name)
def test_every_algorithm_validates_and_needs_what_it_needs(algorithm):
    needed = dict.fromkeys(algorithm.needed(), "s")
    text = Policy(
        ic.Schema(quasi=["a"], sensitive=["s"]), [ic.KAnonymity(2)], algorithm.from_settings(needed)
    ).to_toml()
    assert wrong(text) == [], text
    for name in needed:
        assert wrong(re.sub(rf"^{name} = .*\n", "", text, flags=re.MULTILINE)) == ["$.algorithm"]


TREATED = (
    '"round:500,top=0.99"', "{ round = 500 }", "{ round = 500, top = 0.99 }", "{ round = true, base = 500 }",
    "{ top = 0.99 }", "{ pseudonym = true, key = 'file:k' }", "{ pseudonym = 'hmac', key = 'env:K' }",
    "{ email-domain = true }", "{ shift-dates = 30, by = 'p', linked = ['b', 'c'] }", "'redact'",
)  # fmt: skip


@pytest.mark.parametrize("treatment", TREATED)
def test_treatments_in_every_form_validate(treatment):
    assert wrong(PLAIN.replace('"sensitive"', f'"sensitive"\ntreat = {treatment}')) == []


def test_every_treatment_has_its_table():
    tables = SCHEMA["definitions"]["ColumnTable"]["properties"]["treat"]["anyOf"][1:]
    for treatment in ic.TREATMENTS:
        [*own] = [table for table in tables if treatment.name in table["required"]]
        assert own, treatment.name
        assert set(own[0]["properties"]) == {treatment.name, *treatment.parameters()}


RECIPES = (
    Hierarchy.intervals(5, 10), Hierarchy.intervals(0.5, origin=-3), Hierarchy.bands(18, 30.5), Hierarchy.prefix(),
    Hierarchy.dates(),
    Hierarchy.dates("year"), Hierarchy.order(["low", "high"]), Hierarchy.flat(),
)  # fmt: skip


def test_every_recipe_validates():
    assert {recipe.name for recipe in RECIPES} == set(BUILDERS)
    for recipe in RECIPES:
        policy = Policy(ic.Schema(quasi={"a": recipe}), [ic.KAnonymity(2)])
        assert wrong(policy.to_toml()) == [], recipe


GOOD = {
    "an attacker in short": PLAIN + "[[attackers]]\nname = 'n'\nknows = ['a']\nk = 5\nt = 0.2\n",
    "an attacker alone": PLAIN.partition("[[models]]")[0]
    + "[[attackers]]\nname = 'n'\nknows = ['a']\nmodels = [{ model = 'l-diversity', l = 2 }]\n",
    "parameters without a name": PLAIN + "[algorithm]\nmode = 'relaxed'\n",
    "a whole number for a number": PLAIN.replace("[columns.a]", "max_suppression = 1\n[columns.a]"),
    "levels": PLAIN.replace('"quasi"', '"quasi"\nlevels = [1]\nweight = 2'),
    "spellings": PLAIN.replace('"quasi"', '"quasi"\ndecimal = ","\nthousands = "."'),
    "a file": PLAIN.replace('"sensitive"', '"sensitive"\nhierarchy = "s.txt"'),
}

BAD = {
    "no version": PLAIN.replace("version = 1\n", ""),
    "another version": PLAIN.replace("version = 1", "version = 2"),
    "no model": PLAIN.partition("[[models]]")[0],
    "an unknown setting": "sed = 1\n" + PLAIN,
    "a share above 1": "max_suppression = 2\n" + PLAIN,
    "a text for a number": "seed = '1'\n" + PLAIN,
    "a truth value for a number": "seed = true\n" + PLAIN,
    "an open question": PLAIN.replace('"sensitive"', '"?"'),
    "an open format": PLAIN.replace('"quasi"', '"quasi"\nformat = "?"'),
    "a date without a year": PLAIN.replace('"quasi"', '"quasi"\nformat = "%d.%m."'),
    "an open decimal sign": PLAIN.replace('"quasi"', '"quasi"\ndecimal = "?"'),
    "an unknown role": PLAIN.replace('"quasi"', '"quassi"'),
    "no role": PLAIN.replace('role = "quasi"', 'kind = "number"'),
    "three levels": PLAIN.replace('"quasi"', '"quasi"\nlevels = [1, 2, 3]'),
    "an unknown model": PLAIN.replace("k-anonymity", "k-anonimity"),
    "a model without its limit": PLAIN.replace("k = 2\n", ""),
    "a limit out of range": PLAIN.replace("k = 2", "k = 0"),
    "a limit of another type": PLAIN.replace("k = 2", "k = 2.5"),
    "a setting of another model": PLAIN.replace("k = 2", "k = 2\nt = 0.2"),
    "an unknown choice": PLAIN + "[[models]]\nmodel = 't-closeness'\nt = 0.2\ndistance = 'far'\n",
    "an unknown algorithm": PLAIN + "[algorithm]\nname = 'mondrain'\n",
    "a setting of another algorithm": PLAIN + "[algorithm]\nname = 'datafly'\nmode = 'strict'\n",
    "an attacker who knows nothing": PLAIN + "[[attackers]]\nname = 'n'\nknows = []\nk = 5\n",
    "an attacker without a model": PLAIN + "[[attackers]]\nname = 'n'\nknows = ['a']\n",
    "an attacker's unknown letter": PLAIN + "[[attackers]]\nname = 'n'\nknows = ['a']\nk = 2\nz = 5\n",
    "a model that has attackers itself": PLAIN
    + "[[attackers]]\nname = 'n'\nknows = ['a']\nmodels = [{ model = 'lkc-privacy', L = 1, K = 2, C = 0.5 }]\n",
    "two recipes": PLAIN.replace('"quasi"', '"quasi"\nhierarchy = { flat = true, prefix = true }'),
    "a recipe that is off": PLAIN.replace('"quasi"', '"quasi"\nhierarchy = { flat = false }'),
    "a width of nothing": PLAIN.replace('"quasi"', '"quasi"\nhierarchy = { intervals = [0] }'),
    "an unknown treatment": PLAIN.replace('"sensitive"', '"sensitive"\ntreat = "rund:5"'),
    "two treatments": PLAIN.replace('"sensitive"', '"sensitive"\ntreat = { round = 5, mask = "x" }'),
    "a treatment out of range": PLAIN.replace('"sensitive"', '"sensitive"\ntreat = { round = -5 }'),
}


@pytest.mark.parametrize("case", GOOD)
def test_what_is_read_validates(case, tmp_path):
    (tmp_path / "s.txt").write_text("Any\n\tflu\n\tcold\n")
    text = GOOD[case]

    assert reads(text, tmp_path)
    assert wrong(text) == []


@pytest.mark.parametrize("case", BAD)
def test_what_is_refused_does_not_validate(case):
    assert not reads(BAD[case])
    assert wrong(BAD[case])


@pytest.mark.parametrize(
    ("visit", "fits"),
    [
        ('join = { of = "person.id" }\nknown = 2', True),
        ('join = { of = "person.id" }\nknown = "all"\nfile = "v/visits.parquet"', True),
        ('join = { of = "id" }', False),
        ('join = { of = "person.id" }\nknown = 6', False),
        ('join = { of = "person.id" }\nknown = "some"', False),
        ('join = { of = "person.id" }\njoins = "x"', False),
    ],
)
def test_linked_tables_fit_the_schema_as_they_are_read(visit, fits):
    text = f"""version = 1
[[linked]]
name = "person"
[[linked]]
name = "visit"
{visit}
[columns."person.id"]
role = "insensitive"
[columns."person.sex"]
role = "quasi"
[columns."visit.ward"]
role = "quasi"
[[models]]
model = "k-anonymity"
k = 2
"""
    assert bool(wrong(text)) is not fits
    try:
        ic.LinkedPolicy.from_dict(tomllib.loads(text), ROOT)
        read = True
    except ic.InputError:
        read = False
    assert read is fits
    assert not wrong(PLAIN.replace("version = 1", "version = 1\nlinked = true"))
