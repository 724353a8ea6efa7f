"""Lists in cells: parts, frequencies of parts in classes, and settings that lists cannot have."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.table.parts import Parts, parts_of
from incrowd.engines import engine_for, read_classes
from list_readings import parts

CELLS = ("F32", "F32;E11", " E11 ;F32;", "I10;;I10", "", ";", None, "E11; J45")


def lists(separator=";", **settings):
    return ic.Attribute("dx", "sensitive", parts=separator, **settings)


def frame_of(rows):
    return pl.DataFrame(rows, schema={"q": pl.String, "dx": pl.String, "who": pl.String}, orient="row")


rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(CELLS), st.sampled_from("12345")),
    min_size=1,
    max_size=16,
)


@pytest.mark.parametrize(
    ("cell", "separator", "expected"),
    [
        ("F32;E11", ";", {"F32", "E11"}),
        ("E11; F32 ;;F32", ";", {"F32", "E11"}),
        ("F32 E11", " ", {"F32", "E11"}),
        ("F32 || E11", "||", {"F32", "E11"}),
        ("F32;E11", ",", {"F32;E11"}),
        (" ; ", ";", {None}),
        (None, ";", {None}),
    ],
)
def test_parts_of_a_cell(cell, separator, expected):
    assert parts_of(cell, separator) == expected


@given(st.lists(st.sampled_from(CELLS), min_size=1, unique=True))
def test_parts_of_values(cells):
    result = Parts.of_values(cells, ";")
    for value, cell in enumerate(cells):
        names = [result.names[code] for code in result.codes[result.indptr[value] : result.indptr[value + 1]]]
        assert {name or "(none)" for name in names} == parts(cell)
        assert len(set(names)) == len(names)
    known = [name for name in result.names if name is not None]
    assert known == sorted(known)
    assert None not in result.names[:-1]


@pytest.mark.parametrize("person", [(), "who"])
@given(rows=rows)
def test_classes_count_those_who_have_a_part_once(person, rows):
    frame = frame_of(rows)
    schema = ic.Schema(["q"], {"dx": lists()}, person=person, unlisted="drop")
    classes = read_classes(frame, schema).counted
    counted = classes.frequency.sensitive[0]
    names = [name or "(none)" for name in counted.domain.parts.names]
    result = classes.part_counts(0)
    whose = [who if person else number for number, (_, _, who) in enumerate(rows)]
    for number in range(len(classes)):
        here = slice(result.indptr[number], result.indptr[number + 1])
        mine = {
            names[code]: n for code, n in zip(result.codes[here], result.counts[here].tolist(), strict=True)
        }
        key = classes.cells(number)["q"]
        have = {
            (part, who)
            for (q, cell, _), who in zip(rows, whose, strict=True)
            if q == key
            for part in parts(cell)
        }
        assert mine == {part: sum(each == part for each, _ in have) for part in {each for each, _ in have}}
    whole = {(part, who) for (_, cell, _), who in zip(rows, whose, strict=True) for part in parts(cell)}
    totals = dict(zip(names, counted.part_totals.tolist(), strict=True))
    assert {part: n for part, n in totals.items() if n} == {
        part: sum(each == part for each, _ in whole) for part in {each for each, _ in whole}
    }


def test_totals_of_people_have_those_of_suppressed_rows():
    frame = frame_of([("a", "F32;E11", "1"), ("*", "F32", "1"), ("*", "I10", "2"), ("a", "J45", "3")])
    schema = ic.Schema(["q"], {"dx": lists()}, person="who")
    counted = engine_for(frame).count(schema).frequency.counted.sensitive[0]
    assert dict(zip(counted.domain.parts.names, counted.part_totals.tolist(), strict=True)) == {
        "E11": 1, "F32": 1, "I10": 1, "J45": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ic.Attribute("dx", "quasi", parts=";"), "has the role quasi; say kind = 'set', too"),
        (lambda: ic.Attribute("dx", "insensitive", parts=";"), "has the role insensitive"),
        (lambda: lists(""), "must be the text between the parts"),
        (lambda: lists(5), "must be the text between the parts"),
        (lambda: lists(kind="number"), "the kind number reads cells whole"),
        (lambda: lists(hierarchy=ic.Hierarchy.prefix()), "go with no hierarchy"),
        (lambda: lists(format="%d.%m.%Y"), "go with no format, decimal or thousands"),
        (lambda: lists(treatment=ic.Redact()), "go with no treatment"),
    ],
)
def test_a_column_of_lists_has_nothing_that_sees_cells_whole(make, message):
    with pytest.raises(ic.SchemaError, match=f"column 'dx': parts .*{message}"):
        make()


def test_numbers_in_lists_are_texts():
    frame = pl.DataFrame({"q": ["a", "a", "a"], "dx": [5, 7, 5]})
    schema = ic.Schema(["q"], {"dx": lists()})
    domain = engine_for(frame).count(schema).frequency.sensitive[0].domain
    assert domain.kind == "category"
    assert domain.parts.names == ("5", "7")
