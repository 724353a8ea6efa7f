"""Files that are larger than memory give the same as frames in memory."""

from __future__ import annotations

import datetime as dt
import gzip
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import incrowd as ic
from engine_tables import frames, same
from examples import examples
from incrowd.core.io.files import read_table
from incrowd.core.io.streams import bytes_of, usual_memory
from incrowd.engines import FilesEngine, MemoryEngine, ScanEngine
from incrowd.engines.spilling import SpilledRows
from incrowd.samples import diagnosis_hierarchy, hospital

QUASI = ["p", "Q 'x'"]


def written(frame: pl.DataFrame, folder: Path, parts: int) -> Path:
    """The rows as several files in sequence."""
    for old in folder.iterdir():
        old.unlink()
    size = -(-len(frame) // parts)
    for part in range(parts):
        frame[part * size : (part + 1) * size].write_parquet(folder / f"{part}.parquet")
    return folder


def unsealed(folder: Path) -> list[str]:
    """Everything in a released folder but the mandatory seal."""
    seals = [path for path in folder.iterdir() if path.name.startswith("_incrowd-files-")]
    assert [path.stat().st_size for path in seals] == [0]
    return sorted(path.name for path in folder.iterdir() if path not in seals)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rows")


@pytest.mark.slow
@given(
    frames(),
    st.sampled_from([(), ("NA", "")]),
    st.booleans(),
    st.integers(1, 3),
    st.sampled_from([None, "t", "other"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_keys_are_the_same(folder, frame, null_values, joint, parts, target):
    schema = ic.Schema(quasi=QUASI, sensitive=["s", "t"], null_values=null_values, unlisted="keep")
    files = ic.scan(written(frame, folder, parts))
    # What is read again has lost nothing but the codes of categories.
    frame = files.frame.collect()
    try:
        expected = MemoryEngine(frame).count(schema, joint=joint, target=target).frequency
    except ic.InputError as error:
        with pytest.raises(type(error)):
            FilesEngine(files).count(schema, joint=joint, target=target)
        return
    frequency = FilesEngine(files).count(schema, joint=joint, target=target).frequency
    same(expected, frequency)
    if target:
        for one, other in zip(expected.target.keys, frequency.target.keys, strict=True):
            assert one.tolist() == other.tolist()


@pytest.mark.slow
@given(
    frames(),
    st.sampled_from([(), ("NA",)]),
    st.sampled_from(
        [ic.Mondrian(), ic.Mondrian(categories="appearance", choose="span"), ic.Datafly(), ic.Optimal()]
    ),
    st.integers(1, 4),
    st.integers(1, 3),
)
@examples(12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_releases_are_the_same(folder, tmp_path_factory, frame, null_values, algorithm, k, parts):
    schema = ic.Schema(quasi=QUASI, sensitive=["s"], null_values=null_values, unlisted="keep")
    files = ic.scan(written(frame, folder, parts))
    frame = files.frame.collect()

    def made(table):
        try:
            return ic.anonymize(table, schema, [ic.KAnonymity(k)], algorithm, max_suppression=0.5)
        except ic.IncrowdError as error:
            return str(error)

    one, other = made(frame), made(files)
    if isinstance(one, str):
        assert other == one
        return
    assert other.table.frame.collect().equals(one.table)
    assert one.recoding.decisions() == other.recoding.decisions()
    assert one.privacy == other.privacy
    target = tmp_path_factory.mktemp("out") / "safe"
    other.write(target)
    parts_written = unsealed(target)
    assert parts_written == [f"part-{number:05}.parquet" for number in range(parts)]
    sizes = [len(pl.read_parquet(target / name)) for name in parts_written]
    assert max(sizes) - min(sizes) <= 1
    assert pl.concat(pl.read_parquet(target / name) for name in parts_written).equals(one.table)


def test_columns_whose_values_are_joined(tmp_path, monkeypatch):
    monkeypatch.setattr("incrowd.engines.fold.place_of", lambda *_: None)
    frame = hospital(2000, 3)
    frame.write_parquet(tmp_path / "rows.parquet")
    schema = ic.Schema(
        quasi=["age", "zip", "sex"],
        sensitive={"diagnosis": diagnosis_hierarchy(), "cost": None},
        unlisted="drop",
    )
    same(
        MemoryEngine(frame).count(schema, joint=True).frequency,
        FilesEngine(ic.scan(tmp_path / "rows.parquet")).count(schema, joint=True).frequency,
    )


def test_types_that_are_read_otherwise_are_grouped_by_polars(tmp_path, monkeypatch):
    moments = pl.Series([1, 2, 1, 10**9], dtype=pl.Int64).cast(pl.Datetime("ns", "UTC"))
    frame = pl.DataFrame({"p": moments, "Q 'x'": [1, 1, 1, 2]})
    frame.write_parquet(tmp_path / "rows.parquet")
    schema = ic.Schema(quasi=QUASI)
    files = ic.scan(tmp_path / "rows.parquet")
    calls = []
    monkeypatch.setattr(SpilledRows, "opened", lambda *_: calls.append(1))
    frequency = FilesEngine(files).count(schema).frequency
    same(MemoryEngine(frame).count(schema).frequency, frequency)
    assert frequency.keys == 3
    assert not calls


@pytest.mark.parametrize("name", ["P", "file_row_number", "File_Index"])
def test_names_that_the_database_knows_otherwise(tmp_path, name):
    frame = pl.DataFrame({"p": [1, 1, 2, 2], name: [4, 3, 3, 3], "s": ["a", "b", "b", "b"]})
    frame.write_parquet(tmp_path / "rows.parquet")
    for quasi in (["p", name], ["p"]):
        schema = ic.Schema(quasi=quasi, sensitive=["s"], unlisted="keep")
        same(
            MemoryEngine(frame).count(schema).frequency,
            FilesEngine(ic.scan(tmp_path)).count(schema).frequency,
        )


@pytest.mark.few(8)
@pytest.mark.parametrize(
    "values",
    [
        pl.Series([-128, 127, None, 0], dtype=pl.Int8),
        pl.Series([-(2**63), 2**63 - 1, 5, None], dtype=pl.Int64),
        pl.Series([2**64 - 1, 2**64 - 2, 0, 7], dtype=pl.UInt64),
        pl.Series([2**64 - 1, 2**64 - 2, None, 2**64 - 3], dtype=pl.UInt64),
        pl.Series([10**6, 0, 300, 70_000], dtype=pl.Int32),
        pl.Series([dt.date(1, 1, 1), dt.date(9999, 12, 31), None, dt.date(1969, 12, 31)]),
        pl.Series([None] * 4, dtype=pl.String),
        pl.Series([None] * 4, dtype=pl.Int16),
        pl.Series(["", "'; DROP TABLE x; --", None, "ſ"]),
    ],
    ids=lambda values: f"{values.dtype}-{values[0]}",
)
@pytest.mark.parametrize("fewest", [0, 100_000])
def test_values_that_are_numbered(tmp_path, monkeypatch, values, fewest):
    monkeypatch.setattr("incrowd.engines.spilling._ENUMERATED", fewest)
    frame = pl.DataFrame({"p": pl.concat([values, values]), "s": pl.concat([values.reverse(), values])})
    frame.write_parquet(tmp_path / "rows.parquet")
    schema = ic.Schema(quasi=["p"], sensitive=["s"])
    same(MemoryEngine(frame).count(schema).frequency, FilesEngine(ic.scan(tmp_path)).count(schema).frequency)


# --- CSV ----------------------------------------------------------------------------------------------

TEXTS = 'name,x\n"",\nÄ,"a ""b"", c"\n"two\nlines",  \nNA,1.0\n,"1"\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_csv_is_read_as_in_memory(tmp_path, encoding, zipped, ends):
    path = tmp_path / ("rows.csv.gz" if zipped else "rows.csv")
    data = TEXTS.replace("\n", ends).encode(encoding)
    path.write_bytes(gzip.compress(data) if zipped else data)
    asked = ic.CsvFormat(encoding="utf-8" if encoding == "utf-8-sig" else encoding)
    expected, csv_format = read_table(path, asked)
    files = ic.scan(path, asked)
    assert files.frame.collect().equals(expected)
    assert files.csv_format == csv_format
    parent = files.stored[0].parent
    assert parent.stat().st_mode & 0o077 == 0
    assert sorted(file.name for file in parent.iterdir()) == ["000000.parquet", "lock"]
    del files
    assert not parent.exists()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b"a,b\n", "no rows below its header"),
        (b"a,b\n1,2\n1\n", "line 3: 1 fields where the first line has 2"),
        (b"a,b\n1,2\n3,4,,\n", "line 3: 4 fields where the first line has 2"),
        (b'a,b\n"1,2\n', "line 2: a quote is opened here and never closed"),
        (b"a,a\n1,2\n", "several columns of one name"),
        (b"a,b\n1,\xff\n", "are not utf-8; name the encoding"),
        (b"a,b\n1,\0\n", "the file has NUL bytes"),
        (b"\x1f\x8b\x08nonsense", "the gzip file is damaged or cut off"),
    ],
)
def test_bad_csv_is_refused_as_in_memory(tmp_path, data, message):
    path = tmp_path / "rows.csv"
    path.write_bytes(data)
    for read in (ic.scan, read_table):
        with pytest.raises(ic.TableError, match=message if read is ic.scan else "rows.csv"):
            read(path)


@pytest.mark.parametrize("rows", [["1", "", "2"], ["", ""], ["x"]])
def test_a_csv_of_one_column(tmp_path, rows):
    path = tmp_path / "rows.csv"
    path.write_text("a\n" + "\n".join(rows) + "\n")
    try:
        expected, _ = read_table(path)
    except ic.TableError:
        with pytest.raises(ic.TableError):
            ic.scan(path)
        return
    assert ic.scan(path).frame.collect().equals(expected)


@pytest.mark.parametrize("mark", [", ", ";"])
def test_a_csv_with_blanks_around_its_values(tmp_path, mark):
    path = tmp_path / "rows.csv"
    path.write_text(f"a{mark}b\n1{mark}x\n2{mark}y\n")
    asked = ic.CsvFormat(delimiter=mark)
    assert ic.scan(path, asked).frame.collect().equals(read_table(path, asked)[0])


@pytest.mark.few(1)
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_csv_released_is_the_same(tmp_path, suffix, encoding):
    frame = hospital(500, 1).select("age", "sex", "diagnosis").with_columns(word=pl.lit("é;"))
    source = tmp_path / "rows.csv"
    source.write_bytes(frame.write_csv(separator=";").encode(encoding))
    asked = ic.CsvFormat(encoding=encoding)
    schema = ic.Schema(quasi=["age", "sex"], sensitive=["diagnosis"], insensitive=["word"])
    one = ic.anonymize(source, schema, [ic.KAnonymity(5)], csv_format=asked)
    other = ic.anonymize(ic.scan(source, asked), schema, [ic.KAnonymity(5)])
    one.write(tmp_path / f"one.{suffix}")
    other.write(tmp_path / f"other.{suffix}")
    if suffix == "parquet":
        assert pl.read_parquet(tmp_path / "one.parquet").equals(pl.read_parquet(tmp_path / "other.parquet"))
    else:
        contents = [(tmp_path / f"{name}.{suffix}").read_bytes() for name in ("one", "other")]
        # The headers of the two gzip files name different systems.
        contents = [gzip.decompress(data) for data in contents] if suffix == "csv.gz" else contents
        assert contents[0] == contents[1]
    other.write(tmp_path / "folder")
    assert unsealed(tmp_path / "folder") == ["part-00000.csv"]
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]


def test_csv_that_no_encoding_holds(tmp_path):
    source = tmp_path / "rows.csv"
    pl.DataFrame({"q": ["a", "a"], "s": ["Ж", "Ж"]}).write_csv(source)
    release = ic.anonymize(ic.scan(source), ic.Schema(quasi=["q"], sensitive=["s"]), [ic.KAnonymity(2)])
    from dataclasses import replace

    narrow = replace(release, csv_format=ic.CsvFormat(encoding="latin-1"))
    with pytest.raises(ic.TableError, match="a value cannot be written in latin-1"):
        narrow.write(tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


# --- folders ------------------------------------------------------------------------------------------


def parted(tmp_path: Path) -> tuple[Path, pl.DataFrame]:
    folder = tmp_path / "by year"
    frames = []
    for year in ("2021", "2022", None):
        frame = hospital(300, int(year or 0)).select("age", "sex", "diagnosis")
        place = folder / f"year={year or '__HIVE_DEFAULT_PARTITION__'}"
        place.mkdir(parents=True)
        frame[:200].write_parquet(place / "a.parquet")
        frame[200:].write_parquet(place / "b%20.parquet")
        frames.append(frame.with_columns(year=pl.lit(year, dtype=pl.String)))
    return folder, pl.concat(frames)


@pytest.mark.slow
def test_folders_tell_columns(tmp_path):
    folder, table = parted(tmp_path)
    (folder / "_SUCCESS").touch()
    (folder / ".hidden.parquet").write_bytes(b"x")
    for path in (folder, folder / "*" / "*.parquet", folder / "**" / "*.parquet"):
        files = ic.scan(path)
        assert files.columns == ["age", "sex", "diagnosis", "year"]
        order = files.frame.collect()
        assert order.sort(pl.all()).equals(table.sort(pl.all()))
        schema = ic.Schema(
            quasi=["age", "year"], sensitive=["diagnosis"], unlisted="drop", null_values=["2022"]
        )
        same(MemoryEngine(order).count(schema).frequency, FilesEngine(files).count(schema).frequency)
    roles = ic.Schema(quasi=["age"], sensitive=["diagnosis"], insensitive=["year"], unlisted="drop")
    release = ic.anonymize(folder, roles, [ic.KAnonymity(5)])
    release.write(tmp_path / "out")
    written = sorted((tmp_path / "out").glob("*.parquet"))
    assert len(written) == 6
    again = pl.concat(pl.read_parquet(path) for path in written)
    # What says which files were written is no part of the table, whoever reads the folder.
    assert pl.read_parquet(tmp_path / "out").equals(again)
    assert ic.scan(tmp_path / "out").frame.collect().equals(again)
    assert again["year"].to_list() == order["year"].to_list()


@pytest.mark.few(1)
@pytest.mark.parametrize("role", ["quasi", "identifying", None])
def test_an_order_that_would_tell_is_not_kept(tmp_path, role):
    folder, _ = parted(tmp_path)
    quasi = ["age", "year"] if role == "quasi" else ["age"]
    schema = ic.Schema(quasi=quasi, identifying=["year"] if role == "identifying" else [], unlisted="drop")
    with pytest.raises(ic.ParameterError, match="in the order of 'year'"):
        ic.anonymize(folder, schema, [ic.KAnonymity(2)], keep_order=True)
    ic.anonymize(folder, schema, [ic.KAnonymity(2)])
    ic.assess(folder, schema)


def test_folders_that_do_not_fit(tmp_path):
    folder, _ = parted(tmp_path)
    pl.DataFrame({"age": [1], "sex": ["f"], "diagnosis": ["x"]}).write_parquet(folder / "z.parquet")
    with pytest.raises(ic.TableError, match="its folders do not tell the columns"):
        ic.scan(folder)
    (folder / "z.parquet").unlink()
    (folder / "year=2021" / "c.csv").write_text("age,sex,diagnosis\n1,f,x\n")
    with pytest.raises(ic.TableError, match="Parquet and CSV files lie there together"):
        ic.scan(folder)
    with pytest.raises(ic.TableError, match="cannot be read"):
        ic.scan(tmp_path / "nowhere.parquet")


def test_a_folder_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    folder, _ = parted(tmp_path)
    schema = ic.Schema(quasi=["age"], sensitive=["diagnosis"], insensitive=["year"], unlisted="drop")
    release = ic.anonymize(folder, schema, [ic.KAnonymity(5)])
    out = tmp_path / "out"
    out.mkdir()
    release.write(out)
    first = {path.name: path.read_bytes() for path in out.iterdir()}
    assert out.stat().st_mode & 0o700 == 0o700
    with pytest.raises(ic.TableError, match="exists already"):
        release.write(out)
    stray = out / "stray.parquet"
    stray.write_bytes(b"old")
    with pytest.raises(ic.TableError, match=r"it holds stray\.parquet"):
        release.write(out, force=True)
    assert stray.read_bytes() == b"old"
    stray.unlink()
    release.write(out, force=True)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first

    def fail(table, path, *rest):
        if "00003" in path.name:
            raise OSError(28, "No space left on device")
        table.sink_parquet(path)

    monkeypatch.setattr("incrowd.core.io.streams.stream_table", fail)
    with pytest.raises(ic.TableError, match="cannot be written"):
        release.write(out, force=True)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["by year", "out"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is full is a thing of Linux")
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_full_disk_is_no_damaged_input(tmp_path, monkeypatch, ending):
    pl.DataFrame({"age": ["1", "2"] * 4, "s": ["a"] * 8}).write_parquet(tmp_path / "a.parquet")
    schema = ic.Schema(quasi=["age"], sensitive=["s"])
    release = ic.anonymize(ic.scan(tmp_path / "a.parquet"), schema, [ic.KAnonymity(2)])

    def full(table, path, *rest):
        getattr(table, f"sink_{ending}")("/dev/full")

    monkeypatch.setattr("incrowd.core.io.streams.stream_table", full)
    with pytest.raises(ic.TableError, match=r"cannot be written \(No space left on device\)"):
        release.write(tmp_path / f"out.{ending}")


# --- memory -------------------------------------------------------------------------------------------


def test_amounts_of_memory():
    assert bytes_of("2GiB") == bytes_of("2g") == bytes_of(2**31) == 2**31
    assert bytes_of("1.5 GB") == 3 * 2**29
    assert usual_memory() > 2**26
    for wrong in ("much", "1k", "-2g", 0, "2 apples"):
        with pytest.raises(ic.ParameterError, match="memory must be an amount"):
            bytes_of(wrong)


@pytest.mark.slow
def test_keys_that_do_not_fit_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    pl.DataFrame({f"q{j}": rng.integers(0, 1000, 400_000) for j in range(4)}).write_parquet(
        tmp_path / "a.parquet"
    )
    schema = ic.Schema(quasi=[f"q{j}" for j in range(4)])
    with pytest.raises(
        ic.TableError, match=r"400,000 distinct keys, which take about .* allow more \(memory=\)"
    ):
        ic.assess(ic.scan(tmp_path / "a.parquet", memory="64MiB"), schema)
    assert ic.assess(ic.scan(tmp_path / "a.parquet", memory="200MiB"), schema).records == 400_000


def test_pairs_that_do_not_fit_are_refused(tmp_path, monkeypatch):
    pl.DataFrame({"q": [1, 1, 2], "s": ["a", "b", "a"]}).write_parquet(tmp_path / "a.parquet")
    files = ic.scan(tmp_path, memory="64MiB")
    schema = ic.Schema(quasi=["q"], sensitive=["s"])
    assert FilesEngine(files).count(schema).frequency.keys == 2
    monkeypatch.setattr("incrowd.engines.spilling._PAIR_BYTES", 2**24)
    with pytest.raises(
        ic.TableError, match="3 distinct pairs of a key and a sensitive value, which take about"
    ):
        FilesEngine(files).count(schema)


@pytest.mark.parametrize("new", [("c", "x"), ("a", "z"), ("a", "x")])
def test_files_that_change_meanwhile(tmp_path, monkeypatch, new):
    path = tmp_path / "a.parquet"
    frame = pl.DataFrame({"q": ["a", "b"], "s": ["x", "y"]})
    frame.write_parquet(path)
    engine = FilesEngine(ic.scan(path))
    group = SpilledRows._group

    def changing(self, table, *rest, **more):
        result = group(self, table, *rest, **more)
        pl.concat([frame, pl.DataFrame({"q": [new[0]], "s": [new[1]]})]).write_parquet(path)
        return result

    monkeypatch.setattr(SpilledRows, "_group", changing)
    with pytest.raises(ic.TableError, match="were changed while they were counted"):
        engine.count(ic.Schema(quasi=["q"], sensitive=["s"]))


@pytest.mark.few(9)
@pytest.mark.parametrize(
    ("column", "person"), [("q", ()), ("s", ()), ("q", ("who",)), ("s", ("who",)), ("who", ("who",))]
)
@pytest.mark.parametrize("known", [2, 255, 256])
def test_a_text_that_came_after_the_texts_were_listed(tmp_path, monkeypatch, known, column, person):
    path = tmp_path / "a.parquet"
    texts = [f"t{number}" for number in range(known)]
    frame = pl.DataFrame(dict.fromkeys(("q", "s", "who"), texts))
    frame.write_parquet(path)
    engine = FilesEngine(ic.scan(path))
    pack = SpilledRows._packed.func

    def changing(self):
        packed = pack(self)
        new = pl.when(pl.col(column) == "t1").then(pl.lit("new")).otherwise(pl.col(column))
        frame.with_columns(new.alias(column)).write_parquet(path)
        return packed

    changed = cached_property(changing)
    changed.__set_name__(SpilledRows, "_packed")
    monkeypatch.setattr(SpilledRows, "_packed", changed)
    with pytest.raises(ic.TableError, match="were changed while they were counted"):
        engine.count(ic.Schema(quasi=["q"], sensitive=["s"], person=person))


def test_paths_with_marks_of_patterns(tmp_path):
    odd = tmp_path / "a[1]*'b.parquet"
    pl.DataFrame({"q": [1, 1]}).write_parquet(odd)
    pl.DataFrame({"q": [1, 2]}).write_parquet(tmp_path / "a1xb.parquet")
    assert ic.assess(ic.scan(odd), ic.Schema(quasi=["q"])).smallest == 2


def test_nothing_raw_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    source = tmp_path / "rows.csv"
    hospital(300, 0).select("age", "sex", "diagnosis").write_csv(source)
    schema = ic.Schema(quasi=["age", "sex"], sensitive=["diagnosis"])
    release = ic.anonymize(ic.scan(source), schema, [ic.KAnonymity(3)])
    release.write(tmp_path / "out.csv")
    del release
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_lazy_frame_is_still_polars(tmp_path):
    day = dt.date(2020, 1, 1)
    frame = pl.DataFrame({"q": [day, day]})
    assert ScanEngine.takes(frame.lazy())
    assert not FilesEngine.takes(frame.lazy())
