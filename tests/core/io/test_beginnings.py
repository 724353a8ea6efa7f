"""Tables with two rows of names are refused, and no table of people is."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from examples import examples
from incrowd.core.io.beginnings import MISSING_TEXTS, has_double_header
from incrowd.core.io.files import CsvFormat, read_table, write_table
from incrowd.core.io.streams import scan
from incrowd_verify import tables as verified
from incrowd_verify.source import CsvFormat as VerifiedFormat
from incrowd_verify.source import connect
from incrowd_verify.tables import Wanted, load

BELOW = "30,10115,2000\n41,80331,\n30,,9000\n"
TWO_ROWS = {
    "units, one of them missing": f"age,zip,salary\nyears,,EUR\n{BELOW}",
    "the names again": f"age,zip,salary\nage,zip,salary\n{BELOW}",
    "the names, written otherwise": f"age,zip,salary\n Age ,,\n{BELOW}",
    "units in brackets": f"age,zip,salary\n(years),-,[EUR]\n{BELOW}",
    "signs of units": f"share,zip,salary\n%,code,€\n{BELOW}",
    "types": f"age,zip,salary\nint,int,int\n{BELOW}",
    "one unit beside a word": "age,town\nyears,code\n30,Rome\n41,Rome\n",
    "above dates": "born,town\nday,code\n2001-02-03,Rome\n04.05.2006,Rome\n",
    "above numbers with fillers": "age,town\nyears,code\n30,Rome\nNA,Rome\nunknown,Oslo\n41,Oslo\n",
    "names of texts again": "town,ward\nTOWN,ward\nRome,a\nOslo,b\n",
    "one column": "age\nyears\n30\n41\n",
}
PEOPLE = {
    "a number": "age,town\n30,Rome\n41,Oslo\n35,Bern\n",
    "a number unknown": "age,town\nunknown,Rome\n41,Oslo\n35,Bern\n",
    "numbers unknown": "age,pay,town\nNA,refused,Rome\n41,1,Oslo\n35,2,Bern\n",
    "a class of ages": "age,town\n90+,Rome\n41,Oslo\n35,Bern\n",
    "one word, and a town that others have": "age,town\ninfant,Rome\n41,Rome\n35,Bern\n",
    "one word, and a cell missing": "age,town\ninfant,\n41,Rome\n35,Bern\n",
    "a word that others have": "age,pay,town\nold,high,Rome\n41,1,Rome\nold,2,Bern\n",
    "suppressed": "age,pay,town\n*,*,*\n41,1,Rome\n42,2,Bern\n",
    "texts alone": "sex,town\nfemale,Rome\nmale,Oslo\nfemale,Bern\n",
    "a flag of its own name": "smoker,town\nsmoker,Rome\n,Oslo\n,Bern\n",
    "flags of their own names": "smoker,drinker\nsmoker,drinker\n,\n,\n",
    "one person below": "age,pay\nyears,EUR\n30,4\n",
    "nobody below": "age,pay\nyears,EUR\n",
    "nothing but missing": "age,pay\n,\n30,4\n31,4\n",
}


def opened(path, how, csv_format=None):
    """Read a file whole or as a stream."""
    if how == "whole":
        return read_table(path, csv_format)[0]
    files = scan(path, csv_format)
    return files.frame.collect()


@pytest.mark.few(6)
@pytest.mark.parametrize("how", ["whole", "stream"])
@pytest.mark.parametrize("content", TWO_ROWS.values(), ids=TWO_ROWS)
def test_two_rows_of_names_are_refused(tmp_path, content, how):
    path = tmp_path / "people.csv"
    path.write_text(content)
    with pytest.raises(ic.TableError) as error:
        opened(path, how)
    assert str(error.value) == (
        f"{path}: the second line looks like a second row of names, since it has texts alone, above numbers or "
        "other texts; keep one row of names (or move it down, if it is a row of values)"
    )
    # Moved down as the error says, it is a row of values.
    names, first, *others = content.splitlines(keepends=True)
    path.write_text("".join([names, *others, first]))
    assert opened(path, how).height == len(others) + 1


@pytest.mark.parametrize("how", ["whole", "stream"])
@pytest.mark.parametrize("content", PEOPLE.values(), ids=PEOPLE)
def test_people_are_read(tmp_path, content, how):
    path = tmp_path / "people.csv"
    path.write_text(content)
    assert opened(path, how).height == content.count("\n") - 1


@pytest.mark.parametrize("how", ["whole", "stream"])
def test_a_row_of_names_below_names_that_were_given(tmp_path, how):
    path = tmp_path / "people.csv"
    path.write_text("age,pay\n30,4\n31,5\n")
    with pytest.raises(
        ic.TableError, match=r"the first line looks like a row of names.*leave .*names.* out and"
    ):
        opened(path, how, CsvFormat(names=("years", "euro")))


def test_what_only_later_records_tell_counts():
    rows = 3000
    digits = [str(number) for number in range(rows)]
    ages = {"age": ["years", *digits], "note": [None] * (rows + 1)}
    without_pay = pl.DataFrame(ages | {"pay": ["EUR", *[None] * rows]})
    late = pl.DataFrame(ages | {"pay": ["EUR", *[None] * (rows - 2), "4", "5"]})
    met_again = late.with_columns(age=pl.Series(["years", *digits[1:], "years"]))
    other_words = late.with_columns(age=pl.Series(["years", *digits[1:], "old"]))
    for table, refused in ((without_pay, False), (late, True), (met_again, False), (other_words, False)):
        assert has_double_header(table) is refused
        assert has_double_header(table.lazy()) is refused


def test_what_was_written_here_is_read_whatever_it_looks_like(tmp_path):
    table = pl.DataFrame({"age": ["child", "30", "41"], "pay": ["low", "3", "4"]})
    for name in ("a.csv", "a.xlsx"):
        write_table(table, tmp_path / name, tmp_path / name, CsvFormat())
        with pytest.raises(ic.TableError, match="a second row of names"):
            read_table(tmp_path / name)
    assert read_table(tmp_path / "a.csv", written=True)[0].equals(table)
    files = scan(tmp_path / "a.csv", written=True)
    assert files.frame.collect().equals(table)


NUMBERS = st.sampled_from(["0", "7", "30", "41.5", "-3", "1,250", "2001-02-03", "90+", "[20, 30)", "<5", "*"])
NOBODY_KNOWS = st.sampled_from([None, "", "unknown", "Refused", *MISSING_TEXTS])
TEXTS = st.sampled_from(["Rome", "Oslo", "town", "age", "flu", "A 1", "female", None, "NA"])


@st.composite
def people(draw):
    """Tables of people: numbers with gaps, texts, and flags that are set to a name."""
    rows = draw(st.integers(1, 6))
    columns = {}
    for place, kind in enumerate(draw(st.lists(st.sampled_from("nntf"), min_size=1, max_size=4))):
        name = draw(st.sampled_from(["age", "town", "pay"])) + str(place)
        cells = {"n": NUMBERS | NOBODY_KNOWS, "t": TEXTS, "f": st.sampled_from([name, None])}[kind]
        columns[name] = draw(st.lists(cells, min_size=rows, max_size=rows))
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


@pytest.mark.slow
@examples(200)
@given(people())
def test_random_people_are_no_names(table):
    assert not has_double_header(table)
    assert not has_double_header(table.lazy())


@st.composite
def tables(draw):
    """Tables with anything as the first record."""
    rows = draw(st.integers(1, 4))
    words = st.sampled_from(["years", "EUR", " a ", "B", "b", "unknown", "30", "%", None])
    columns = {}
    for name in draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True)):
        below = draw(st.sampled_from([NUMBERS, TEXTS, NOBODY_KNOWS | NUMBERS, words]))
        columns[name] = [draw(words), *draw(st.lists(below, min_size=rows, max_size=rows))]
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


@pytest.fixture(scope="module")
def verifier(tmp_path_factory):
    """A folder, and the connection of a verifier that keeps no table."""
    folder = tmp_path_factory.mktemp("verifier")
    with connect(folder, [folder / "raw.csv"], in_order=True) as con:
        yield folder, con


@pytest.mark.slow
@examples(200)
@given(tables())
def test_the_verifier_decides_alike(verifier, table):
    folder, con = verifier
    table.write_csv(folder / "raw.csv", quote_style="always" if table.width == 1 else "necessary")
    wanted = Wanted("raw", str(folder / "raw.csv"), None, table.columns, VerifiedFormat(","), everything=True)
    loaded = load(con, wanted, folder)
    try:
        verified.refuse_double_header(con, loaded, given_names=False)
    except ic.TableError:
        assert has_double_header(table)
    else:
        assert not has_double_header(table)
    finally:
        con.execute("DROP TABLE raw")
