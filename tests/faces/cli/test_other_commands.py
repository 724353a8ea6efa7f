"""Commands beside anonymize, assess and verify, as in a user's session."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter

import polars as pl
import pytest
from pypdf import PdfReader

from incrowd.attacks import KINDS
from incrowd.samples import hospital

WRITTEN = ("--unanswered", "write")
"""These tests are about other things than the sensitive column that no model protects."""


@pytest.mark.slow
def test_compare_shows_a_line_per_setting(run, hospital_csv):
    arguments = (
        "compare", str(hospital_csv), "--qi", "age,length_of_stay", "--sensitive", "diagnosis",
        "--algorithms", "mondrian:choose=span,median=below,random,microaggregation", "-k", "4,16",
        "--seeds", "1,2",
    )  # fmt: skip
    result = run(*arguments)
    assert result.status == 1  # microaggregation takes one number
    lines = result.out.splitlines()
    caption = next(place for place, line in enumerate(lines) if line.startswith("algorithm"))
    assert "LM times 3,000 is the LM of the one page" in " ".join(lines[:caption])
    lines = lines[caption - 1 :]
    assert lines[1].split() == [
        "algorithm", "k", "seconds", "LM", "MD", "NCP", "discernibility", "class", "size", "suppressed"
    ]  # fmt: skip
    assert [line.split()[0] for line in lines[2:8]] == [
        "mondrian(choose=span,", "mondrian(choose=span,", "random", "random", "microaggregation",
        "microaggregation",
    ]  # fmt: skip
    assert "±" in lines[4]
    assert "nothing released" in lines[6]
    assert "  microaggregation k=4: microaggregation works on one number" in result.out
    table = run(*arguments, "--csv")
    rows = list(csv.DictReader(io.StringIO(table.out)))
    assert [(row["algorithm"].partition("(")[0], row["k"], row["seed"]) for row in rows] == [
        ("mondrian", "4", ""), ("mondrian", "16", ""), ("random", "4", "1"), ("random", "4", "2"),
        ("random", "16", "1"), ("random", "16", "2"), ("microaggregation", "4", ""),
        ("microaggregation", "16", ""),
    ]  # fmt: skip
    document = json.loads(run(*arguments, "--json").out)
    assert [str(entry["utility"]["loss"]) for entry in document["runs"][:6]] == [
        row["loss"] for row in rows[:6]
    ]
    assert all(float(row["seconds"]) > 0 for row in rows[:6])
    for wrong, words in (
        (("--json", "--csv"), "give only one of them"),
        (("--latex", "--markdown"), "--markdown and --latex: give only one of them"),
        (("-l", "two"), "-l: write whole numbers"),
        (("-t", "1.5"), "t must be a number between 0 and 1"),
    ):
        result = run(*arguments, *wrong)
        assert result.status == 2
        assert words in result.err


def test_anatomize_writes_two_tables(run, hospital_csv, tmp_path):
    arguments = (
        "anatomize", str(hospital_csv), "--qi", "age,sex,zip", "--sensitive", "diagnosis", "--unlisted", "drop",
        "-l", "4",
    )  # fmt: skip
    result = run(*arguments, "-o", str(tmp_path / "out"))
    assert result.status == 0
    assert "3,000 records in 750 groups of 4 to 4, each with 4 different values or more" in result.out
    quasi = pl.read_csv(tmp_path / "out" / "quasi.csv", infer_schema=False)
    sensitive = pl.read_csv(tmp_path / "out" / "sensitive.csv", infer_schema=False)
    assert quasi.columns == ["age", "sex", "zip", "group"]
    original = pl.read_csv(str(hospital_csv), infer_schema=False)
    assert quasi.drop("group").equals(original.select("age", "sex", "zip"))
    assert Counter(sensitive["diagnosis"]) == Counter(original["diagnosis"])
    assert sensitive.group_by("group").agg(pl.col("diagnosis").n_unique())["diagnosis"].min() == 4
    again = run(*arguments, "-o", str(tmp_path / "out"))
    assert again.status == 2
    assert "exists already" in again.err
    document = json.loads(run(*arguments, "-o", str(tmp_path / "out"), "--force", "--json").out)
    assert (document["groups"], document["l"]) == (750, 4)
    result = run(*arguments, "-o", str(tmp_path / "other"), "--model", "k-anonymity:3")
    assert result.status == 2
    assert "so k-anonymity cannot hold" in result.err
    result = run(*arguments, "-l", "400", "-o", str(tmp_path / "other"))
    assert result.status != 0
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_utility_reads_two_files(run, hospital_csv, tmp_path):
    released = tmp_path / "out.csv"
    columns = ("--qi", "age,sex,marital_status", "--sensitive", "diagnosis")
    result = run(
        "anonymize", str(hospital_csv), *columns, "--unlisted", "drop", "-k", "5", "-o", str(released), "--json",
        *WRITTEN,
    )  # fmt: skip
    known = {lost["metric"]: lost for lost in json.loads(result.out)["utility"]}
    document = json.loads(run("utility", str(hospital_csv), str(released), *columns, "--json").out)
    assert {lost["metric"]: lost["value"] for lost in document["utility"]} == pytest.approx(
        {name: lost["value"] for name, lost in known.items()}
    )
    outcome = run("utility", str(hospital_csv), str(released), *columns)
    assert outcome.status == 0
    assert "3,000 records in" in outcome.out
    assert [line.split()[0] for line in outcome.out.splitlines() if line.startswith(("loss", "aecs"))] == [
        "loss", "aecs"
    ]  # fmt: skip
    assert "Distributions, before and after" in outcome.out
    assert "100 random counts over 2 columns" in outcome.out
    assert len(document["statistics"]["marginals"]) == 3
    learned = run("utility", str(hospital_csv), str(released), *columns, "--target", "admission_type")
    assert "learning 'admission_type', accuracy:" in learned.out
    short = tmp_path / "short.csv"
    short.write_text("".join(released.read_text().splitlines(keepends=True)[:-1]))
    result = run("utility", str(hospital_csv), str(short), *columns)
    assert result.status == 2
    assert "(missing: 1), and the cells do not tell which row is which" in " ".join(result.err.split())
    for file, weight in ((hospital_csv, None), (released, -1)):
        pl.read_csv(file, infer_schema=False).with_row_index("nr", 1)[:weight].write_csv(
            tmp_path / f"nr-{file.name}"
        )
    files = (str(tmp_path / f"nr-{hospital_csv.name}"), str(tmp_path / "nr-out.csv"))
    keyed = " ".join(run("utility", *files, *columns, "--by", "nr").out.split())
    assert "suppressed (not in the release: 1)" in keyed
    attacked = json.loads(run("attack", *files, *columns, "--by", "nr", "--attacks", "10", "--json").out)
    assert "linkage" in [each["name"] for each in attacked["attacks"]]


def test_risk_on_the_command_line(run, hospital_csv, tmp_path):
    arguments = ("risk", str(hospital_csv), "--qi", "age,sex,zip", "--sensitive", "diagnosis")
    result = run(*arguments, "--population-size", "100000")
    assert result.status == 0
    assert "records have minimal sample uniques" in result.out
    assert "unique in the population, estimated" in result.out
    document = json.loads(run(*arguments, "--json", "--max-size", "2", "--distinction", "0.5").out)
    assert set(document["risks"]) >= {"prosecutor", "marketer", "attribute-disclosure"}
    assert set(document["risks"]) & {"journalist", "individual", "household"} == set()
    assert len(document["quasi_identifiers"]) == 6
    assert [entry["columns"] for entry in document["quasi_identifiers"] if entry["minimal"]] == [
        ["age", "zip"]
    ]
    assert "population_uniqueness" not in document
    assert "individual_risk" not in document
    weighted = tmp_path / "weighted.csv"
    pl.read_csv(hospital_csv).with_columns(weight=pl.lit(12.5)).write_csv(weighted)
    survey = ("risk", str(weighted), "--qi", "age,sex,zip", "--weights", "weight")
    individual = json.loads(run(*survey, "--json").out)["individual_risk"]
    assert 0 < individual["mean"] <= individual["max"] < 1
    assert individual["expected"] == pytest.approx(3000 * individual["mean"])
    assert "individual risk by sampling weights" in run(*survey).out
    assert "the table has no column 'w'" in run(*survey[:-1], "w").err
    wrong = run(*arguments, "--population-size", "10")
    assert wrong.status == 2
    assert "is fewer than the table's 3000 records" in wrong.err


def test_attack_on_the_command_line(run, hospital_csv, tmp_path):
    released, control = tmp_path / "out.csv", tmp_path / "control.csv"
    columns = ("--qi", "age,sex,marital_status", "--sensitive", "diagnosis")
    hospital(500, 9).write_csv(control)
    arguments = (
        "anonymize",
        str(hospital_csv),
        *columns,
        "--unlisted",
        "drop",
        "-k",
        "20",
        "-o",
        str(released),
    )
    assert run(*arguments, *WRITTEN).status == 0
    words = (
        "attack", str(hospital_csv), str(released), *columns, "--control", str(control), "--attacks", "50",
        "--aligned", "--known", "age,sex",
    )  # fmt: skip
    result = run(*words)
    assert result.status == 0, result.err
    needing_more = ("composition", "composition-by-order", "minimality")
    tried = [name for name in KINDS if name not in needing_more]
    assert tried[:6] == [
        "singling-out-univariate", "singling-out-multivariate", "linkability", "inference", "membership", "linkage",
    ]  # fmt: skip
    lines = result.out.splitlines()
    assert [line.split()[0] for line in lines[2 : 2 + len(tried)]] == tried
    document = json.loads(run(*words, "--json").out)
    assert [entry["name"] for entry in document["attacks"]] == tried
    assert all(0 <= entry["risk"]["value"] <= 1 for entry in document["attacks"][:5])


def test_p29_needs_a_sensitive_attribute(run, hospital_csv):
    for more in ((), ("--unlisted", "drop")):
        result = run("p29", str(hospital_csv), "--qi", "sex", *more)
        assert result.status == 2
        assert "p29 protects sensitive attributes and the schema names none" in result.err


def test_p29_on_the_command_line(run, hospital_csv, tmp_path):
    arguments = ("p29", str(hospital_csv), "--qi", "sex,age", "--sensitive", "diagnosis")
    result = run(*arguments)
    assert "P29 score: 0\n" in result.out
    assert result.status == 1
    target = tmp_path / "left.csv"
    outcome = run(*arguments, "--unlisted", "drop", "-o", str(target), "-t", "0.9", "--json")
    assert outcome.status == 0, outcome.err
    document = json.loads(outcome.out)
    assert document["clean"]
    left = pl.read_csv(target)
    assert left.height == document["records"] - document["deleted"]
    assert set(left.columns) == {"age", "sex", "diagnosis"}
    assert left.group_by("sex", "age").len()["len"].min() > 1
    short = tmp_path / "short.csv"
    (tmp_path / "two.csv").write_text(
        "p,s\n"
        + "".join(f"{p},{s}\n" for p, s in zip("a" * 7 + "b" * 5 + "c" * 3, "122221211112112", strict=True))
    )
    twice = (
        "p29",
        str(tmp_path / "two.csv"),
        "--qi",
        "p",
        "--sensitive",
        "s",
        "-t",
        "0.25",
        "-o",
        str(short),
    )
    once = run(*twice, "--max-rounds", "1")
    assert (once.status, short.exists()) == (1, False)
    assert "classes are left that fail" in once.out
    assert (run(*twice).status, short.exists()) == (0, True)
    short.unlink()
    assert run(*arguments, "--unlisted", "drop", "-o", str(target)).status == 2  # exists
    nothing = run(*arguments, "--unlisted", "drop", "-o", str(short), "-k", "100000")
    assert (nothing.status, "no class is left" in nothing.err) == (1, True)


def test_p29_weighs_and_keeps_the_order(run, tmp_path):
    """Classes of 32 with entropies of 1 at distances of 0: a weight times 1 - 1/32, and the two others."""
    rows = "b,x\nb,y\n" * 16 + "a,x\na,y\n" * 16
    (tmp_path / "raw.csv").write_text("p,s\n" + rows)
    arguments = ("p29", str(tmp_path / "raw.csv"), "--qi", "p", "--sensitive", "s")
    assert "P29 score: 0.984375\n" in run(*arguments).out
    weighted = ("--w-k", "1", "--w-l", "0", "--w-t", "2")
    assert "P29 score: 2.96875\n" in run(*arguments, *weighted).out
    target = tmp_path / "out.csv"
    # The rows are in the order of p, which --force lets through.
    refused = run(*arguments, "--keep-order", "-o", str(target))
    assert (refused.status, target.exists()) == (2, False)
    result = run(*arguments, *weighted, "--keep-order", "--force", "-o", str(target))
    assert (result.status, result.out.count("P29 score 2.96875")) == (0, 1)
    assert target.read_text() == "p,s\n" + rows
    for more in (("-t", "0.3"), ("-k", "2"), ("-l", "0"), ("--max-rounds", "1"), ("--keep-order",)):
        alone = run(*arguments, *more)
        assert (alone.status, alone.out) == (2, "")
        assert f"{more[0]} is for -o, which deletes classes; add -o FILE, or leave it out" in alone.err
    assert run(*arguments, "--w-l", "-1").status == 2


@pytest.mark.slow
def test_randomize_on_the_command_line(run, hospital_csv, tmp_path):
    spec, target = tmp_path / "dp.toml", tmp_path / "out.csv"
    spec.write_text(
        "budget = 3\n[columns.age]\nmechanism = 'laplace'\nepsilon = 1\nlow = 0\nhigh = 110\n"
        "[columns.sex]\nmechanism = 'randomized-response'\nepsilon = 2\ncategories = ['female', 'male', 'other']\n"
    )
    raw = pl.read_csv(hospital_csv)
    spec.write_text(
        spec.read_text().replace("['female', 'male', 'other']", json.dumps(raw["sex"].unique().to_list()))
    )
    result = run("randomize", str(hospital_csv), "--spec", str(spec), "-o", str(target))
    assert result.status == 0, result.err
    assert "budget 3, 0 left" in result.out
    frame = pl.read_csv(target)
    assert frame.columns == raw.columns
    assert not frame["age"].equals(raw["age"])
    assert frame["diagnosis"].equals(raw["diagnosis"])
    document = json.loads(
        run("randomize", str(hospital_csv), "--spec", str(spec), "-o", str(target), "--force", "--json").out
    )
    assert document["epsilon"] == 3
    spec.write_text("budget = 1\n" + spec.read_text().replace("budget = 3\n", ""))
    assert run("randomize", str(hospital_csv), "--spec", str(spec), "-o", str(target), "--force").status == 2


@pytest.mark.slow
def test_the_one_page_on_the_command_line(run, hospital_csv, tmp_path):
    target = tmp_path / "page.pdf"
    arguments = (
        "compare", str(hospital_csv), "--qi", "age,sex", "--sensitive", "diagnosis", "--algorithms", "random,datafly",
        "-k", "4,16", "-l", "1,2", "--seeds", "1", "--at-k", "8", "--max-suppression", "1", "--one-page", str(target),
    )  # fmt: skip
    result = run(*arguments)
    assert result.status == 0, result.err
    text = PdfReader(target).pages[0].extract_text()
    assert "Impact of l in l-diversity at k = 8" in " ".join(text.split())
    assert run(*arguments).status == 2  # exists
    document = json.loads(run(*arguments, "--force", "--json").out)
    assert {entry["k"] for entry in document["runs"]} == {4, 16}
    # Only full-domain algorithms are varied in l.
    assert {(entry["algorithm"], entry["l"]) for entry in document["against_l"]["runs"]} == {
        ("datafly", 1),
        ("datafly", 2),
    }
    # k = 8 is measured once for both curves, where it is a setting of both.
    document = json.loads(run(*arguments, "-k", "4,8", "--seeds", "1,2", "--force", "--json").out)
    [shared] = [entry for entry in document["averages"] if (entry["algorithm"], entry["k"]) == ("datafly", 8)]
    assert document["against_l"]["averages"][0] == shared | {"l": 1}
    assert shared["runs"] == 2
    assert "leave -t out" in run(*arguments[:-2], "-t", "0.3", "--one-page", str(tmp_path / "other.pdf")).err


@pytest.mark.slow
def test_reports_on_the_command_line(run, hospital_csv, tmp_path):
    columns = ("--qi", "age,sex", "--sensitive", "diagnosis")
    page, document, pdf = tmp_path / "a.html", tmp_path / "b.json", tmp_path / "c.pdf"
    assessed = run("assess", str(hospital_csv), *columns, "-k", "5", "--report", str(page))
    assert assessed.status == 1  # and the report says why
    assert "does not satisfy" in page.read_text()
    released = run(
        "anonymize", str(hospital_csv), *columns, "--unlisted", "drop", "-k", "5", "-o", str(tmp_path / "out.csv"),
        "--report", str(document), *WRITTEN,
    )  # fmt: skip
    assert released.status == 0, released.err
    assert json.loads(document.read_text())["verdict"]["state"] == "open"
    compared = run(
        "compare", str(hospital_csv), *columns, "--algorithms", "mondrian", "-k", "4,8", "--report", str(pdf)
    )
    assert compared.status == 0, compared.err
    assert pdf.read_bytes().startswith(b"%PDF")
    for wrong, words in (
        (str(tmp_path / "x.docx"), "a report is written as"),
        (str(page), "exists already"),
        (str(hospital_csv), "a report is written as"),
        (str(tmp_path / "no" / "x.pdf"), "does not exist"),
    ):
        refused = run("assess", str(hospital_csv), *columns, "--report", wrong)
        assert (refused.status, words in refused.err) == (2, True), refused.err


@pytest.mark.slow
def test_folders_stream_on_the_command_line(run, hospital_csv, tmp_path):
    folder, target = tmp_path / "big", tmp_path / "out.parquet"
    folder.mkdir()
    table = pl.read_csv(hospital_csv, infer_schema=False)
    for part in range(2):
        table[part * 1500 : part * 1500 + 1500].write_parquet(folder / f"{part}.parquet")
    columns = ("--qi", "age,sex", "--sensitive", "diagnosis")
    arguments = ("-k", "5", "--unlisted", "drop")
    result = run("anonymize", str(folder), *columns, *arguments, *WRITTEN, "-o", str(target))
    assert result.status == 0, result.err
    whole = tmp_path / "memory.parquet"
    assert run("anonymize", str(hospital_csv), *columns, *arguments, *WRITTEN, "-o", str(whole)).status == 0
    assert pl.read_parquet(target).equals(pl.read_parquet(whole))
    table.write_parquet(tmp_path / "one.parquet")
    measured = [
        run("assess", str(file), *columns, *more, "--json").out
        for file, more in (
            (hospital_csv, ()),
            (folder / "*.parquet", ()),
            (tmp_path / "one.parquet", ("--stream",)),
        )
    ]
    documents = [json.loads(text) | {"file": ""} for text in measured]
    assert documents[0] == documents[1] == documents[2]


@pytest.mark.slow
def test_apply_on_the_command_line(run, hospital_csv, tmp_path):
    first, second, policy = tmp_path / "first.csv", tmp_path / "second.csv", tmp_path / "policy.toml"
    table = pl.read_csv(hospital_csv, infer_schema=False)
    table[:2500].write_csv(first)
    table[2500:].write_csv(second)
    result = run(
        "anonymize", str(first), "--qi", "age,sex", "--sensitive", "diagnosis", "--unlisted", "drop", "-k", "5",
        "-o", str(tmp_path / "one.csv"), "--recoding", str(tmp_path / "recoding"), "--save-policy", str(policy),
        *WRITTEN,
    )  # fmt: skip
    assert result.status == 0, result.err
    arguments = (
        "apply",
        str(tmp_path / "recoding"),
        str(second),
        "--policy",
        str(policy),
        "-o",
        str(tmp_path / "two.csv"),
    )
    refused = run(*arguments)
    assert (refused.status, (tmp_path / "two.csv").exists()) == (1, False)
    assert "rows would be suppressed" in refused.err
    outcome = run(
        *arguments,
        "--previous-release",
        str(tmp_path / "one.csv"),
        "--published-as-one",
        "--max-suppression",
        "0.2",
    )
    assert outcome.status == 0, outcome.err
    assert "500 rows:" in outcome.out
    both = pl.concat([pl.read_csv(tmp_path / name, infer_schema=False) for name in ("one.csv", "two.csv")])
    sizes = both.filter(pl.col("age") != "*").group_by("age", "sex").len()["len"]
    assert sizes.min() >= 5
    document = json.loads(run(*arguments, "--max-suppression", "1", "--force", "--json").out)
    assert document["records"] == 500
    alone = (*arguments, "--max-suppression", "1", "--force", "--rows", str(tmp_path / "rows.csv"))
    outcome = run(*alone)
    assert outcome.status == 0, outcome.err
    rows = pl.read_csv(tmp_path / "rows.csv")
    released = pl.read_csv(tmp_path / "two.csv", infer_schema=False)
    starred = released.with_row_index(offset=1).filter(pl.col("age") == "*", pl.col("sex") == "*")["index"]
    assert rows["row"].to_list() == starred.to_list()
    assert set(rows["reason"]) <= {"outside", "class", "rest"}
    before = (tmp_path / "two.csv").read_bytes()
    streamed = run(*arguments, "--max-suppression", "1", "--force", "--stream", "--memory", "500MB")
    assert streamed.status == 0, streamed.err
    assert (tmp_path / "two.csv").read_bytes() == before
    no_rows = run(*alone, "--force", "--stream")
    assert no_rows.status == 2
    assert "not in memory, so they have no numbers" in no_rows.err


def test_folders_on_the_command_line(run, hospital_csv, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    table = pl.read_csv(hospital_csv, infer_schema=False)
    table[:1000].write_csv(folder / "a.csv")
    table[1000:].write_csv(folder / "b.csv")
    arguments = ("--qi", "age,sex", "--sensitive", "diagnosis", "--unlisted", "drop", "-k", "5")
    one = run("anonymize", str(hospital_csv), *arguments, *WRITTEN, "-o", str(tmp_path / "one.csv"))
    assert one.status == 0, one.err
    many = run(
        "anonymize", str(folder), *arguments, *WRITTEN, "-o", str(tmp_path / "out"), "--memory", "1GiB"
    )
    assert many.status == 0, many.err
    written = sorted((tmp_path / "out").glob("*.csv"))
    assert [path.name for path in written] == ["part-00000.csv", "part-00001.csv"]
    expected = pl.read_csv(tmp_path / "one.csv", infer_schema=False)
    parts = [pl.read_csv(path, infer_schema=False) for path in written]
    assert [len(part) for part in parts] == [1500, 1500]
    assert pl.concat(parts).equals(expected)
    for call, message in (
        (("-o", str(tmp_path / "out")), "exists already"),
        (("-o", str(folder / "out.csv")), "lies inside the input's folder"),
        (("-o", str(tmp_path / "x.csv"), "--memory", "much"), "memory must be an amount"),
    ):
        refused = run("anonymize", str(folder), *arguments, *call)
        assert (refused.status, message in refused.err) == (2, True), refused.err
    nodes = [
        json.loads(run("lattice", str(path), "--qi", "age,sex", "-k", "5", "--json").out)
        for path in (hospital_csv, folder)
    ]
    assert nodes[0] == nodes[1]
    no_stream = run("assess", str(hospital_csv), "--qi", "age", "--memory", "1GiB")
    assert (no_stream.status, "--memory is for rows that stream" in no_stream.err) == (2, True)


def test_names_and_labels_do_not_steer_the_terminal(run, tmp_path):
    name = "zip\x1b[31m\u202e"
    pl.DataFrame({name: ["1", "2"] * 5, "age": ["30", "31"] * 5}).write_parquet(tmp_path / "people.parquet")
    (tmp_path / "tree.csv").write_text(f"1;{name}\n2;{name}\n")
    people, policy = str(tmp_path / "people.parquet"), str(tmp_path / "policy.toml")
    for result in (
        run("init", people, "-o", policy),
        run("assess", people, "--qi", f"{name},age"),
        run("assess", people, "--qi", f"{name},missing"),
        run("hierarchy", "show", str(tmp_path / "tree.csv")),
        run("hierarchy", "check", str(tmp_path / "tree.csv")),
    ):
        said = result.out + result.err
        assert r"zip\x1b[31m\u202e" in said
        assert not {"\x1b", "\u202e"} & set(said)
