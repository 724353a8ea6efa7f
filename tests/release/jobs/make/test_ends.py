"""Releases with range ends on a grid: no value of a single person is published."""

from __future__ import annotations

import datetime as dt
import random
import re
from functools import partial

import polars as pl
import pytest

import incrowd as ic
from engine_tables import MAKERS
from incrowd.core.recoding import Recoding

allowing = partial(ic.apply_recoding, max_suppression=1.0)

PAY = pl.DataFrame({"pay": [*range(1000, 1009), 987654], "ill": list("ababababab")})
SCHEMA = ic.Schema(["pay"], sensitive=["ill"], unlisted="keep")


def policy(schema=SCHEMA, k=5, **settings):
    return ic.Policy(schema, (ic.KAnonymity(k),), **{"ends": "outward"} | settings)


def people(rows=300, seed=1):
    draw = random.Random(seed)
    return pl.DataFrame(
        {
            "pay": [round(draw.lognormvariate(8, 1)) for _ in range(rows)],
            "hired": [dt.date(2001, 1, 1) + dt.timedelta(days=draw.randrange(7000)) for _ in range(rows)],
            "ill": [draw.choice(["flu", "cold", "gout"]) for _ in range(rows)],
        }
    )


STAFF = ic.Schema(["pay", "hired"], sensitive=["ill"])


def test_the_pay_of_an_outlier_is_not_published():
    exact = ic.anonymize(PAY, policy(ends="exact"))
    assert set(exact.texts["pay"]) == {"[1000-1004]", "[1005-987654]"}
    rounded = ic.anonymize(PAY, policy())
    assert set(rounded.texts["pay"]) == {"1100 or less", "1000 or more"}


def test_ends_are_values_of_people_by_chance_alone():
    table = people()
    schema = ic.Schema(["pay"], unlisted="drop")
    values = set(map(str, table["pay"]))
    result = {}
    for ends in ("exact", "outward"):
        release = ic.anonymize(table, policy(schema, ends=ends))
        cells = [cell for cell in set(release.texts["pay"]) if not cell.isdigit()]
        numbers = [number for cell in cells for number in re.findall("[0-9]+", cell)]
        result[ends] = sum(number in values for number in numbers) / len(numbers)
    assert result["exact"] == 1
    assert result["outward"] < 0.1


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "algorithm",
    ["mondrian", "clustering", "k-member", "mdav", "agglomerative", "top-down-specialization:target=ill"],
)
def test_every_search_writes_ranges_on_the_grid(algorithm, tmp_path):
    table = people(120)
    release = ic.anonymize(table, STAFF, ic.KAnonymity(5), algorithm, ends="outward", keep_order=True)
    release.save(tmp_path / "out")
    table.write_csv(tmp_path / "raw.csv")
    verification = ic.verify(
        tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml", against=tmp_path / "raw.csv"
    )
    assert verification.ok, verification.problems
    cells = {*release.texts["pay"], *release.texts["hired"]}
    assert any(cell.endswith(("or more", "or earlier", "or less", "or later")) for cell in cells)


@pytest.mark.slow
@pytest.mark.parametrize("style", ["range", "mean"])
def test_the_account_and_two_files_tell_the_same_loss(style):
    for seed in range(3):
        table = people(200, seed)
        release = ic.anonymize(table, policy(STAFF, output=style, keep_order=True))
        measured = ic.evaluate(table, release.texts, STAFF, aligned=style == "mean")
        for name, lost in measured.utility.items():
            assert lost.value == pytest.approx(release.utility[name].value), name


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", sorted(MAKERS.keys() - {"RecodedTable"}))
def test_engines_write_the_same_ends(kind, tmp_path):
    table = people(80)
    mine = ic.anonymize(table, policy(STAFF))
    theirs = ic.anonymize(MAKERS[kind](table, tmp_path), policy(STAFF))
    for own, other in zip(mine.recoding.cells, theirs.recoding.cells, strict=True):
        assert set(own.labels) == set(other.labels)


def test_classes_whose_cells_become_one_text_are_one_class():
    table = pl.DataFrame({"pay": [*[1] * 40, *range(1010, 1030), *[90000] * 40]})
    exact, rounded = (
        ic.anonymize(table, policy(ic.Schema(["pay"]), k=4, ends=ends)) for ends in ("exact", "outward")
    )
    assert set(rounded.texts["pay"]) == {"1", "[1000-1100]", "90000"}
    assert rounded.privacy.classes == 3 < exact.privacy.classes
    assert rounded.privacy.smallest == 20


def test_a_recoding_is_saved_and_read_and_covers_new_values(tmp_path):
    release = ic.anonymize(PAY, policy())
    release.recoding.save(tmp_path / "rec")
    read = Recoding.load(tmp_path / "rec")
    assert read.domains[0].grid == release.recoding.domains[0].grid
    new = pl.DataFrame({"pay": [7, 1002, 1050, 1099, 1101, 2_000_000] * 3, "ill": list("abcdef") * 3})
    applied = ic.apply_recoding(read, new, policy(k=3, keep_order=True), force=True)
    assert applied.texts["pay"].to_list()[:6] == [
        "1100 or less", "1100 or less", "1100 or less", "1100 or less", "1000 or more", "1000 or more",
    ]  # fmt: skip


def test_a_value_within_a_written_range_is_covered():
    """No earlier value lay there, but the text of the cell does."""
    table = pl.DataFrame({"pay": [*[1] * 8, 1210, 1220, 1280, 1290, 1291, 1292, 1293, 1295, *[90000] * 8]})
    release = ic.anonymize(table, policy(ic.Schema(["pay"]), k=4))
    assert set(release.texts["pay"]) == {"1", "[1200-1300]", "90000"}
    new = pl.DataFrame({"pay": [1201, 1299, 1301, 50000, 95000]})
    applied = allowing(
        release.recoding,
        new,
        policy(ic.Schema(["pay"]), k=1, max_suppression=1.0, keep_order=True),
        force=True,
    )
    assert applied.texts["pay"].to_list() == ["[1200-1300]", "[1200-1300]", "*", "*", "*"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["auto", "number"])
def test_verify_finds_ends_beside_the_grid_without_the_raw_table(tmp_path, kind):
    schema = ic.Schema({"pay": kind}, sensitive=["ill"])
    release = ic.anonymize(PAY, policy(schema))
    release.save(tmp_path / "out")
    out = tmp_path / "out"
    assert ic.verify(out / "release.csv", out / "policy.toml").ok
    text = (out / "release.csv").read_text()
    for wrong in ("1005 or more", "[1005-987654]"):
        (tmp_path / "wrong.csv").write_text(text.replace("1000 or more", wrong))
        verification = ic.verify(tmp_path / "wrong.csv", out / "policy.toml")
        assert not verification.ok
        assert "5 records have a range (1 distinct) that does not end on its grid" in "; ".join(
            verification.problems
        )
    exact = (out / "policy.toml").read_text().replace('ends = "outward"', 'ends = "exact"')
    (tmp_path / "exact.toml").write_text(exact)
    verification = ic.verify(out / "release.csv", tmp_path / "exact.toml")
    assert verification.ok is (kind == "auto")


@pytest.mark.parametrize(("first", "ages"), [("32", True), ("1932", True), ("62", False)])
def test_verify_finds_an_age_among_the_ends(tmp_path, first, ages):
    """Range ends a few years apart may be values of people, and the grid of such values is a year."""
    text = "version = 1\n[columns.age]\nrole = 'quasi'\nkind = 'number'\n[[models]]\nmodel = 'k-anonymity'\nk = 2\n"
    (tmp_path / "policy.toml").write_text(text)
    century = first[:-2]
    cells = [f"[{first}-{century}70]", f"[{century}65-{century}80]", f"{century}75 or more"]
    (tmp_path / "safe.csv").write_text("age\n" + "".join(f"{cell}\n" * 2 for cell in cells))
    verification = ic.verify(tmp_path / "safe.csv", tmp_path / "policy.toml")
    assert verification.ok is not ages
    assert ("does not end on its grid" in "".join(verification.problems)) is ages


def test_verify_finds_an_end_that_was_rounded_inward(tmp_path):
    release = ic.anonymize(people(), policy(STAFF, keep_order=True))
    release.save(tmp_path / "out")
    people().write_csv(tmp_path / "raw.csv")
    out = tmp_path / "out"
    text = (out / "release.csv").read_text()
    assert ic.verify(out / "release.csv", out / "policy.toml", against=tmp_path / "raw.csv").ok
    wide = max(re.findall(r"\[([0-9]+)-([0-9]+)\]", text), key=lambda ends: int(ends[1]) - int(ends[0]))
    inward = str(int(wide[1]) - 10 ** (len(wide[1]) - 2))
    (tmp_path / "wrong.csv").write_text(text.replace(f"[{wide[0]}-{wide[1]}]", f"[{wide[0]}-{inward}]"))
    assert not ic.verify(tmp_path / "wrong.csv", out / "policy.toml", against=tmp_path / "raw.csv").ok


def test_a_column_may_differ_from_the_policy(tmp_path):
    schema = ic.Schema.of_attributes(
        [
            ic.Attribute("pay", "quasi", grid=500),
            ic.Attribute("hired", "quasi", ends="outward", grid="year"),
            ic.Attribute("ill", "sensitive"),
        ]
    )
    rules = policy(schema, ends="exact")
    rules.write(tmp_path / "p.toml")
    assert ic.Policy.read(tmp_path / "p.toml").to_toml() == rules.to_toml()
    release = ic.anonymize(people(), rules)
    numbers = [int(number) for cell in set(release.texts["pay"]) for number in re.findall("[0-9]+", cell)]
    assert all(number % 500 == 0 for number in numbers)
    days = [
        day
        for cell in set(release.texts["hired"])
        for day in re.findall(r"[0-9]{4}-([0-9]{2}-[0-9]{2})", cell)
    ]
    assert set(days) <= {"01-01", "12-31"}
    exact = ic.Schema.of_attributes(
        [ic.Attribute("pay", "quasi", ends="exact"), ic.Attribute("ill", "sensitive")]
    )
    assert "987654" in "".join(set(ic.anonymize(PAY, policy(exact)).texts["pay"]))
