"""The account names apparent missing values, numbers or dates that were read otherwise."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

import incrowd as ic
from incrowd_gate.errors import on_the_command_line

ROWS = 120


def sentences(values: list[str], **settings: object) -> str:
    table = pl.DataFrame({"x": (values * ROWS)[:ROWS], "sex": ["m", "f"] * (ROWS // 2)})
    schema = ic.Schema.of_attributes(
        [ic.Attribute("x", "quasi", **settings), ic.Attribute("sex", "quasi")],
        null_values=settings.pop("null_values", ()),  # type: ignore[arg-type]
    )
    text = ic.anonymize(table, schema, "k-anonymity:2").sentences()
    # A table as it stands is told the same.
    assessed = ic.assess(table, schema)
    assert list(assessed.notes) == [line for line in text if "look like" in line or "means missing" in line]
    assert assessed.sentences()[-len(assessed.notes) :] == list(assessed.notes) or not assessed.notes
    return "\n".join(text)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("values", "said"),
    {
        ("05.03.2020", "17.04.2020"): (
            "The values of x look like dates and were taken for words: declare in its Attribute how they are "
            'written, format = "%d.%m.%Y".'
        ),
        ("03/05/2020", "04/05/2020"): 'format = "%d/%m/%Y" or format = "%m/%d/%Y".',
        (
            "1.234,5",
            "2.345,5",
        ): "look like numbers and were taken for words: declare in its Attribute how they "
        'are written, decimal = ",", thousands = ".".',
        (
            "17",
            "18",
            "N/A",
        ): "look like numbers and were taken for words but for 'N/A': name what means missing",
    }.items(),
)
def test_numbers_and_dates_that_nobody_read_are_told(values, said):
    assert said in sentences(list(values))


def test_what_was_declared_is_not_told():
    for settings in (
        {"format": "%d.%m.%Y"}, {"kind": "category"}, {"hierarchy": ic.Hierarchy.prefix()},
    ):  # fmt: skip
        assert "look like" not in sentences(["05.03.2020", "17.04.2020"], **settings)
    assert "look like" not in sentences(["a", "b"])


def test_fillers_are_told_with_their_share_and_no_other_value_is():
    table = pl.DataFrame(
        {
            "age": [*range(20, 80), *[999] * 60],
            "weight": ["?"] * 90 + ["secret"] * 30,
            "disease": ["null"] * 60 + ["flu", "cold"] * 30,
        }
    )
    schema = ic.Schema(quasi=["age", "weight"], sensitive=["disease"])
    release = ic.anonymize(table, schema, "k-anonymity:2")
    assert set(ic.assess(table, schema).notes) < set(release.sentences())
    text = "\n".join(release.sentences())
    message = "'?' is in 75.0% of weight, '999' is in 50.0% of age, 'null' is in 50.0% of disease"
    assert (
        f"{message}: if that means missing, say null_values=['?', '999', 'null'], or it counts as a value."
        in text
    )
    assert "secret" not in text
    with on_the_command_line():
        text = "\n".join(release.sentences())
    assert "say --null-value '?' --null-value '999' --null-value 'null'," in text
    named = ic.Schema(quasi=["age", "weight"], sensitive=["disease"], null_values=["?", "999", "null"])
    assert "means missing" not in "\n".join(ic.anonymize(table, named, "k-anonymity:2").sentences())


@pytest.mark.parametrize("age", [99, 95])
def test_a_number_among_its_like_is_no_filler(age):
    table = pl.DataFrame({"age": [*range(20, 99), *[age] * 20]})
    text = "\n".join(ic.anonymize(table, ic.Schema(quasi=["age"]), "k-anonymity:2").sentences())
    assert "means missing" not in text


def test_a_page_and_json_of_a_table_as_it_stands_tell_them(tmp_path):
    table = pl.DataFrame({"day": ["05.03.2020", "17.04.2020", "?"] * 4, "age": [20, 30, 999] * 4})
    schema = ic.Schema(quasi=["day", "age"])
    assessed = ic.assess(table, schema)
    look, means = "The values of day look like dates", "'?' is in 33.3% of day, '999' is in 33.3% of age"
    for texts in (assessed.to_dict()["notes"], assessed.document(schema)["sentences"]):
        assert any(means in line for line in texts)
        assert any(look in line for line in texts)
    assert "2020" not in " ".join(assessed.notes)
    plain = ic.assess(table.select("age").filter(pl.col("age") < 999), ic.Schema(quasi=["age"]))
    assert plain.notes == ()
    assert "notes" not in plain.to_dict()
    # What is stored as times or numbers is none of words.
    times = pl.DataFrame(
        {"at": [dt.datetime(2020, 1, 1, 5), dt.datetime(2020, 1, 2, 6)] * 4, "n": [20200305] * 8}
    )
    for typed in (times, times.to_pandas(), times.lazy()):
        assert ic.assess(typed, ic.Schema(quasi=["at", "n"])).notes == ()
    # Cells of a release are no doubtful values.
    release = ic.anonymize(table, schema, "k-anonymity:4", output="set")
    masked = pl.DataFrame(
        {"zip": ["021**", "*"] * 4, "age": ["[20-29]", "*"] * 4, "kind": ["{a, b}", "*"] * 4}
    )
    assert ic.assess(masked, ic.Schema(quasi=["zip", "age", "kind"])).notes == ()
    assert release.before.notes == release.privacy.notes == ()
