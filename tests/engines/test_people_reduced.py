"""People are reduced where the rows are: what comes back is what people as sets say."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.engines import FilesEngine, engine_for
from people_readings import counted_people, crowd, told_of_people

NULLS = ["NA", "-9"]
PERSONS = [["clinic", "nr"], ["nr"], ["clinic"]]
SENSITIVE = [["ill", "cost"], ["ill"], []]


def schema_of(person, sensitive):
    return ic.Schema(
        quasi=["age", "town"], sensitive=sensitive, person=person, null_values=NULLS, unlisted="drop"
    )


def expected(table, person, sensitive, joint):
    told = told_of_people(table, person, sensitive)
    if not told["several"]:
        return {name: told[name] for name in ("people", "unnamed", "several")}
    return told if joint and sensitive else told | {"joint": {}}


def same_arrays(one, other):
    """Compare everything, the order of what is listed included."""
    for mine, theirs in [
        (one.weights, other.weights),
        (one.spread.indptr, other.spread.indptr),
        (one.spread.entry, other.spread.entry),
        (one.spread.stories.person, other.spread.stories.person),
        (one.spread.stories.story, other.spread.stories.story),
        *zip(one.spread.stories.values, other.spread.stories.values, strict=True),
        *((a.totals, b.totals) for a, b in zip(one.sensitive, other.sensitive, strict=True)),
        *((x, y) for a, b in zip(one.sensitive, other.sensitive, strict=True) for x, y in zip(a.keys, b.keys, strict=True)),
    ]:  # fmt: skip
        assert np.array_equal(mine, theirs)


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 30), st.sampled_from(PERSONS), st.sampled_from(SENSITIVE), st.booleans()
)  # fmt: skip
def test_rows_in_memory(seed, people, person, sensitive, joint):
    table = crowd(seed, people)
    found = engine_for(table).count(schema_of(person, sensitive), joint=joint)
    assert counted_people(found) == expected(table, person, sensitive, joint)


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 30), st.sampled_from(PERSONS), st.sampled_from(SENSITIVE), st.booleans(),
    st.sampled_from(["parquet", "csv", "folder"]),
)  # fmt: skip
def test_files(tmp_path_factory, seed, people, person, sensitive, joint, kind):
    table, folder = crowd(seed, people), tmp_path_factory.mktemp("people")
    if kind == "folder":
        for number, part in enumerate(table.iter_slices(len(table) // 2 + 1)):
            part.write_parquet(folder / f"{number}.parquet")
    else:
        getattr(table, f"write_{kind}")(folder / f"t.{kind}")
    files = ic.scan(folder if kind == "folder" else folder / f"t.{kind}", memory="64MiB")
    schema = schema_of(person, sensitive)
    found = engine_for(files).count(schema, joint=joint)
    assert counted_people(found) == expected(table, person, sensitive, joint)
    if found.people is not None:
        same_arrays(found.people, engine_for(table).count(schema, joint=joint).people)


def test_people_with_one_kind_of_row_stay_on_disk(tmp_path, monkeypatch):
    """A hundred thousand people of one row each bring no line each."""
    rows = 100_000
    table = pl.DataFrame(
        {"who": [*range(rows), 5, 5], "q": [*(n % 10 for n in range(rows)), 5, 6], "s": ["a"] * (rows + 2)}
    )
    table.write_parquet(tmp_path / "t.parquet")
    read = []
    whole = FilesEngine._coded_values

    def coded(self, *given):
        found = whole(self, *given)
        read.append(len(found))
        return found

    monkeypatch.setattr(FilesEngine, "_coded_values", coded)
    engine = engine_for(ic.scan(tmp_path / "t.parquet"))
    found = engine.count(ic.Schema(quasi=["q"], sensitive=["s"], person="who"))
    assert found.persons.people == rows
    assert (found.people.spread.people, len(found.people.spread.entry)) == (1, 2)
    assert max(read) == 10


def test_too_many_people_to_list_are_refused(tmp_path, monkeypatch):
    table = pl.DataFrame({"who": [1, 1, 2, 2, 3], "q": [1, 2, 1, 2, 1], "s": ["a"] * 5})
    table.write_parquet(tmp_path / "t.parquet")
    files = ic.scan(tmp_path / "t.parquet", memory="64MiB")
    schema = ic.Schema(quasi=["q"], sensitive=["s"], person="who")
    assert engine_for(files).count(schema).people.spread.people == 2
    monkeypatch.setattr("incrowd.engines.spilling._ENTRY_BYTES", 2**24)
    with pytest.raises(ic.TableError, match="4 distinct pairs of a person and a kind of row, which take"):
        engine_for(files).count(schema)


def test_files_that_lose_rows_meanwhile_are_refused(tmp_path, monkeypatch):
    table = pl.DataFrame({"who": [1, 1, 2], "q": [1, 2, 1]})
    path = tmp_path / "t.parquet"
    table.write_parquet(path)
    engine = engine_for(ic.scan(path))
    told = FilesEngine._told

    def meanwhile(self, asked):
        table[:2].write_parquet(path)
        return told(self, asked)

    monkeypatch.setattr(FilesEngine, "_told", meanwhile)
    with pytest.raises(ic.TableError, match="changed while they were counted"):
        engine.count(ic.Schema(quasi=["q"], person="who"))
