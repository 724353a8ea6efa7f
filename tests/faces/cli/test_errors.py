"""Every wrong input of the design's list: the message, the exit status, and nothing written."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic

SECRET = "Zaphod"
TABLE = "name,age,zip,disease\n" + "".join(
    f"{SECRET}{i},{20 + i},0213{i % 10},{'flu' if i % 2 else 'cold'}\n" for i in range(12)
)
ROLES = ("--qi", "age,zip", "--sensitive", "disease", "--identifying", "name")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(TABLE)
    return path


def anonymize(run, table: Path, *arguments: str, status: int = 2) -> str:
    """Run `incrowd anonymize` to a failure without remains, and return the message."""
    before = sorted(table.parent.rglob("*"))
    result = run("anonymize", str(table), "-o", str(table.parent / "out.csv"), *arguments)
    assert result.status == status, result.err + result.out
    assert sorted(table.parent.rglob("*")) == before
    assert SECRET not in result.err + result.out
    assert result.err.startswith("incrowd: ")
    assert result.err.count("\n") == 1
    return result.err


def rewrite(table: Path, text: str | bytes) -> Path:
    table.write_bytes(text.encode() if isinstance(text, str) else text)
    return table


def test_missing_file(run, table):
    assert "cannot be read" in anonymize(run, table.with_name("nowhere.csv"), *ROLES, "-k", "2")


def test_missing_column(run, table):
    message = anonymize(run, table, "--qi", "age,height", "--unlisted", "drop", "-k", "2")
    assert "no column 'height'" in message
    assert "'age', 'zip', 'disease'" in message


def test_column_without_a_role_is_refused(run, table):
    message = anonymize(run, table, "--qi", "age,zip", "--sensitive", "disease", "-k", "2")
    assert "no role was given to column 'name'" in message
    assert "--unlisted drop" in message


def test_same_column_in_two_roles(run, table):
    message = anonymize(run, table, "--qi", "age,disease", "--sensitive", "disease", "-k", "2")
    assert "'disease'" in message
    assert "one role" in message


def test_duplicate_column_names(run, table):
    rewrite(table, TABLE.replace("name,age", "age,age", 1))
    assert "several columns of one name (columns 1, 2)" in anonymize(run, table, "--qi", "age", "-k", "2")


def test_value_that_the_hierarchy_does_not_know(run, table):
    folder = table.parent / "trees"
    folder.mkdir()
    (folder / "age.txt").write_text("Any\n\tyoung\n" + "".join(f"\t\t{i}\n" for i in range(20, 25)))
    message = anonymize(run, table, *ROLES, "-k", "2", "--hierarchies", str(folder))
    assert "column 'age': 7 of 12 distinct values are not leaves of its hierarchy" in message


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Any\n\tA\n\t\tAny\n", "line 3: 'Any' is its own ancestor, which is a cycle"),
        ("Any\n\tA\n\t\tx\n\tB\n\t\tx\n", "line 5: 'x' has two parents, 'A' and 'B'"),
    ],
)
def test_cycle_and_two_parents(run, table, text, problem):
    folder = table.parent / "trees"
    folder.mkdir()
    (folder / "age.txt").write_text(text)
    assert problem in anonymize(run, table, *ROLES, "-k", "2", "--hierarchies", str(folder))


@pytest.mark.parametrize("extra", [f"{SECRET},1,2\n", f"{SECRET},1,2,3,4\n"], ids=["short", "long"])
def test_ragged_line(run, table, extra):
    rewrite(table, TABLE + extra)
    message = anonymize(run, table, *ROLES, "-k", "2")
    assert f"line 14: {extra.count(',') + 1} fields where the first line has 4" in message


def test_quote_never_closed(run, table):
    rewrite(table, TABLE + f'"{SECRET},1,2,3\n')
    assert "line 14: a quote is opened here and never closed" in anonymize(run, table, *ROLES, "-k", "2")


def test_wrong_encoding(run, table):
    rewrite(table, TABLE.encode() + "Zoë,30,02139,flu\n".encode("latin-1"))
    message = anonymize(run, table, *ROLES, "-k", "2")
    assert "is not utf-8" in message
    assert "--encoding latin-1" in message
    assert "is not known" in anonymize(run, table, *ROLES, "-k", "2", "--encoding", "utf-99")


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "the file is empty"), ("name,age,zip,disease\n", "no rows below its header")],
)
def test_empty_table(run, table, text, problem):
    assert problem in anonymize(run, rewrite(table, text), *ROLES, "-k", "2")


def test_damaged_gzip(run, table):
    path = table.with_name("people.csv.gz")
    path.write_bytes(gzip.compress(TABLE.encode())[:-20])
    assert "damaged or cut off" in anonymize(run, path, *ROLES, "-k", "2")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("-k", "13"), "k=13 is more than the table's 12 records"),
        (("-k", "0"), "k must be a whole number of at least 1, got 0"),
        (("-l", "3"), "l=3 is more than the 2 distinct values of column 'disease'"),
        (("-l", "0"), "l must be a number of at least 1, got 0"),
        (("-t", "1.5"), "t must be a number between 0 and 1, got 1.5"),
        (("-t", "-0.1"), "t must be a number between 0 and 1, got -0.1"),
        (("--model", "m-invariance:2"), "no 'm-invariance' among the privacy models: k-anonymity"),
        (("--model", "k-anonymity:q=2"), "unknown parameter 'q'"),
        (("--model", "k-anonymity"), "k is missing"),
        (("--model", "l-diversity:l=2,attribute=age"), "'age' is not a sensitive attribute"),
        (("--model", "t-closeness:t=0.2,distance=ordered"), "neither numbers nor dates"),
        (("--model", "t-closeness:t=0.2,distance=hierarchical"), "has no hierarchy"),
        (("-k", "2", "--max-suppression", "1.5"), "max_suppression must be a number between 0 and 1"),
        (("-k", "2", "--algorithm", "magic"), "no 'magic' among the algorithms: mondrian"),
        (("-k", "2", "--style", "fancy"), "output must be one of auto"),
        (("-k", "2", "--delimiter", "ab"), "delimiter 'ab' is not one ASCII character"),
        ((), "name at least one privacy model"),
    ],
)
def test_wrong_parameters(run, table, arguments, problem):
    assert problem in anonymize(run, table, *ROLES, *arguments)


def test_a_model_of_sensitive_values_needs_one(run, table):
    assert "the schema names none" in anonymize(
        run, table, "--qi", "age,zip", "--unlisted", "drop", "-l", "2"
    )


def test_infeasible_exits_1_and_says_by_how_much(run, table):
    suppressed = TABLE + "".join(f"{SECRET},*,*,ebola\n" for _ in range(6))
    message = anonymize(run, rewrite(table, suppressed), *ROLES, "-k", "2", status=1)
    assert "6 of 18 records (33.33%) would be suppressed" in message
    assert "would be suppressed where 0.00% may be" in message
    message = anonymize(run, table, *ROLES, "-k", "2", "-t", "0.1", "--max-suppression", "0.5", status=1)
    assert "t-closeness(t=0.1, distance=auto) fails even when all 12 records are one class" in message


def test_output_is_never_the_input_and_not_replaced_unasked(run, table):
    same = run("anonymize", str(table), "-o", str(table), *ROLES, "-k", "2", "--force")
    assert same.status == 2
    assert "would replace an input file" in same.err
    assert table.read_text() == TABLE
    other = table.with_name("out.csv")
    other.write_text("precious")
    result = run("anonymize", str(table), "-o", str(other), *ROLES, "-k", "2")
    assert result.status == 2
    assert "exists already" in result.err
    assert other.read_text() == "precious"
    forced = run("anonymize", str(table), "-o", str(other), *ROLES, "-k", "20", "--force")
    assert forced.status == 2
    assert other.read_text() == "precious"
    nowhere = run("anonymize", str(table), "-o", str(table.parent / "no" / "out.csv"), *ROLES, "-k", "2")
    assert nowhere.status == 2
    assert "does not exist" in nowhere.err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("version = 4\n", "policy.toml is of version 4; write version = 1\n"),
        ("version = 1.0\n", "policy.toml is of version 1.0; write version = 1\n"),
        ("version = true\n", "policy.toml is of version True; write version = 1\n"),
        ("version = 1\nk = 5\n", "there is no setting 'k'; there are version, "),
        ('version = 1\n[columns.age]\nrole = "spy"\n', "column 'age': role must be 'identifying', "),
        (
            'version = 1\n[columns.age]\nrol = "quasi"\n[columns.zip]\nrol = "quasi"\n',
            "column 'age', 'zip': there is no setting 'rol'; did you mean 'role'?\n",
        ),
        (
            'version = 1\nkeep_order = 1\n[columns.age]\nrole = "qasi"\nhierarchy = 3\nweight = -1\n',
            "keep_order must be true or false. column 'age': role must be 'identifying', 'person', 'household', "
            "'weight', 'quasi', 'sensitive' or 'insensitive', got 'qasi'; did you mean 'quasi'? column 'age': "
            "hierarchy must be a text or a table. column 'age': weight must be at least 0\n",
        ),
        (
            'version = 1\n[columns.age]\nrole = "quasi"\n[[accepted]]\npoint = "x"\nwy = "y"\n',
            "there is no setting 'wy' in [accepted]; did you mean 'why'?\n",
        ),
        (
            'version = 1\n[columns.age]\nrole = "quasi"\ngrid = "x"\n[columns.zip]\nrole = "quasi"\ngrid = -3\n',
            "column 'age', 'zip': grid must be a number above 0, or 'day', 'month' or 'year'\n",
        ),
        ("version = [", "not readable as TOML"),
        (
            'version = 1\n[columns.age]\nrole = "quasi"\n[[models]]\nk = 2\n',
            "models.0: name the model",
        ),
        (
            'version = 1\n[columns.age]\nrole = "quasi"\nhierarchy = { bins = [5] }\n[[models]]\n'
            'model = "k-anonymity"\nk = 2\n',
            "name one of intervals, bands, prefix, dates, order, flat",
        ),
        (
            'version = 1\n[columns.age]\nrole = "quasi"\nhierarchy = "no.txt"\n[[models]]\n'
            'model = "k-anonymity"\nk = 2\n',
            "no.txt: cannot be read",
        ),
        (
            'version = 1\n[columns.age]\nrole = "quasi"\n[[models]]\nmodel = "k-anonymity"\nk = 0\n',
            "k must be a whole number of at least 1",
        ),
    ],
)
def test_wrong_policy(run, table, text, problem):
    policy = table.with_name("policy.toml")
    policy.write_text(text)
    message = anonymize(run, table, "--policy", str(policy))
    assert problem in message
    assert "policy.toml" in message


def test_roles_are_given_once(run, table):
    policy = table.with_name("policy.toml")
    policy.write_text(
        'version = 1\n[columns.age]\nrole = "quasi"\n[[models]]\nmodel = "k-anonymity"\nk = 2\n'
    )
    message = anonymize(run, table, "--policy", str(policy), "--unlisted", "drop", "--null-value", "?")
    assert "--unlisted, --null-value: the policy file says what the columns are" in message
    assert run("assess", str(table), "--policy", str(policy), "--qi", "zip").status == 2


def test_a_fault_of_ours_quotes_no_values(run, table, monkeypatch):
    def fail(*arguments: object, **settings: object) -> None:
        raise RuntimeError(f"could not digest {SECRET}")

    monkeypatch.setattr("incrowd.release.jobs.make.anonymize.anonymize", fail)
    assert "internal error (RuntimeError at fail" in anonymize(run, table, *ROLES, "-k", "2")


def test_what_the_system_refuses_names_the_file_and_the_way_out(run, table, monkeypatch):
    def fail(*arguments: object, **settings: object) -> None:
        raise OSError(28, "No space left on device", "/tmp/copy")

    monkeypatch.setattr("incrowd.release.jobs.make.anonymize.anonymize", fail)
    message = anonymize(run, table, *ROLES, "-k", "2")
    assert "/tmp/copy: cannot be read, written or removed (No space left on device); look at" in message
    assert "run the command again" in message


def test_an_error_of_the_system_that_names_no_file_is_a_fault_of_ours(run, table, monkeypatch):
    def fail(*arguments: object, **settings: object) -> None:
        raise OSError(f"could not digest {SECRET}")

    monkeypatch.setattr("incrowd.release.jobs.make.anonymize.anonymize", fail)
    assert "internal error (OSError at fail" in anonymize(run, table, *ROLES, "-k", "2")


HEADERLESS = [
    ("assess", "--qi", "age", "-k", "2"),
    ("anonymize", "-o", "out.csv", "--qi", "age,sex", "--sensitive", "disease", "-k", "2"),
    ("anonymize", "-o", "out.csv", "--qi", "age,sex", "--unlisted", "drop", "-k", "2"),
    ("anonymize", "-o", "out.csv", "--stream", "--qi", "age", "-k", "2"),
    ("lattice", "--qi", "age", "-k", "2"),
    ("p29", "--qi", "age", "--sensitive", "disease"),
    ("risk", "--qi", "age"),
    ("compare", "--algorithms", "mondrian", "--qi", "age", "-k", "2"),
    ("utility", "again.csv", "--qi", "age"),
    ("utility", "again.csv", "--qi", "age", "--target", "disease"),
    ("attack", "again.csv", "--qi", "age"),
    ("anatomize", "-o", "out", "--qi", "age", "--sensitive", "disease", "-l", "2"),
    ("anonymize", "-o", "out.csv", "--policy", "policy.toml"),
    ("randomize", "-o", "out.csv", "--spec", "spec.toml"),
    ("init",),
    ("init", "-o", "draft.toml"),
]
ROWS = {
    "no header": "Alice Doe,34,flu\nBob,35,flu\nCarol,36,cold\n",
    "one cell twice": "Alice Doe,34,34\nBob,35,35\nCarol,36,36\n",
}


@pytest.mark.parametrize("text", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("call", HEADERLESS, ids=" ".join)
def test_first_row_of_a_file_without_a_header_is_not_repeated(run, tmp_path, monkeypatch, call, text):
    monkeypatch.chdir(tmp_path)
    for name in ("people.csv", "again.csv"):
        (tmp_path / name).write_text(text)
    column = 'role = "quasi"\n'
    (tmp_path / "policy.toml").write_text(
        f'version = 1\n[columns.age]\n{column}[[models]]\nmodel = "k-anonymity"\nk = 2\n'
    )
    (tmp_path / "spec.toml").write_text(
        '[columns.age]\nmechanism = "laplace"\nepsilon = 1\nlow = 0\nhigh = 9\n'
    )
    before = sorted(tmp_path.rglob("*"))
    result = run(call[0], "people.csv", *call[1:])
    assert result.status == 2, result.out + result.err
    assert sorted(tmp_path.rglob("*")) == before
    for cell in ("Alice", "34", "flu"):
        assert cell not in result.out + result.err
    assert "--names" in result.err


FRAME = pl.DataFrame({"age": [1, 2], "income": ["x", "y"]})


@pytest.mark.parametrize(
    "frame", [FRAME, FRAME.to_pandas(), FRAME.to_arrow()], ids=["Polars", "pandas", "PyArrow"]
)
def test_a_wrong_column_of_a_frame_is_not_one_of_a_file(frame, tmp_path):
    """A frame has no delimiter, and the caller chose the names, so the similar name is suggested."""
    for name, words in (
        ("agee", "no column 'agee'; none of its 2 columns is named so; did you mean 'age'[?]$"),
        ("xyz", "no column 'xyz'; none of its 2 columns is named so; check the spelling$"),
        ("Age", "no column 'Age'; capitals and signs count; did you mean 'age'[?]$"),
    ):
        for call in (
            lambda name=name: ic.assess(frame, ic.Schema(quasi=[name]), [ic.KAnonymity(2)]),
            lambda name=name: ic.anonymize(
                frame, ic.Schema(quasi=[name], unlisted="drop"), [ic.KAnonymity(2)]
            ),
            lambda name=name: ic.privacy.k_anonymity(frame, [name]),
        ):
            with pytest.raises(ic.SchemaError, match=words):
                call()
    # The first line of a file may be a person's row.
    FRAME.write_csv(tmp_path / "people.csv")
    with pytest.raises(ic.SchemaError, match="check the spelling and the delimiter") as caught:
        ic.assess(tmp_path / "people.csv", ic.Schema(quasi=["agee"]), [ic.KAnonymity(2)])
    assert "'age'" not in str(caught.value)


def test_header_with_one_named_column_is_known_to_be_one():
    with pytest.raises(ic.SchemaError, match="it has 'age', 'zip'"):
        ic.Schema(["age", "zpi"]).check_columns(["age", "zip"])
    with pytest.raises(ic.SchemaError, match="did you mean 'zip'"):
        ic.Schema(["age", "zpi"]).check_columns(["age", "zip"])
    with pytest.raises(ic.SchemaError, match="none of its 2 columns") as caught:
        ic.Schema(["edad"]).check_columns(["age", "zip"])
    assert "'zip'" not in str(caught.value)
    with pytest.raises(ic.SchemaError, match="and 80 more"):
        ic.Schema(["x0", "y"]).check_columns([f"x{i}" for i in range(100)])
