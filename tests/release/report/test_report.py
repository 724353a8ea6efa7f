"""Reports: every figure was measured, and nothing raw is inside."""

from __future__ import annotations

import datetime as dt
import hashlib
import html
import io
import json
import re
from datetime import date, timedelta
from pathlib import Path

import jsonschema
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader

import incrowd as ic
from crossed import quick
from incrowd.attacks import Attack
from incrowd.core.documents import loss_in_words
from incrowd.core.errors import visible
from incrowd.release.report.charts import svg_for_pages
from incrowd.release.report.details import tables_of
from incrowd.release.report.pages import to_html, to_json, write_report
from incrowd.samples import diagnosis_hierarchy, hospital

SCHEMA_FILE = Path(__file__).resolve().parents[3] / "docs" / "report.schema.json"


def valid(document):
    again = json.loads(to_json(document))
    jsonschema.validate(again, json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))
    return again


@pytest.fixture(scope="module")
def table():
    return hospital(1500, 1)


@pytest.fixture(scope="module")
def schema():
    return ic.Schema(
        quasi={"age": None, "sex": None, "zip": ic.Hierarchy.prefix()},
        sensitive={"diagnosis": diagnosis_hierarchy()},
        identifying=["name", "patient_id", "birth_date"],
        unlisted="drop",
    )


@pytest.fixture(scope="module")
def release(table, schema):
    return ic.anonymize(table, schema, [ic.KAnonymity(8), ic.LDiversity(2)])


def test_the_report_of_a_release(release):
    document = valid(release.document())
    assert document["verdict"] | {"not_looked_for": []} == {
        "state": "holds",
        "text": "HOLDS: the release satisfies its policy, and no point is open.",
        "points": [],
        "not_looked_for": [],
    }
    assert document["columns"]["dropped"] == 3
    assert [entry["model"] for entry in document["models"]] == ["k-anonymity", "l-diversity"]
    first = document["models"][0]
    assert (first["asked"], first["reached"], first["holds"]) == (8, release.privacy.smallest, True)
    assert first["weakest"]["records"] == release.privacy.smallest
    cells = release.table.select("age", "sex", "zip").rows()
    assert tuple(first["weakest"]["cells"].values()) in cells
    assert f"{release.risk['prosecutor']['max']:.1%}" in " ".join(document["sentences"])
    exact = release.utility["loss"].value
    losses = (document["loss"], release.document(internal=True)["loss"])
    figures = [{entry["metric"]: entry["value"] for entry in each}["loss"] for each in losses]
    assert figures == [float(f"{exact:.2g}"), exact]
    assert "every record looks like at least" in document["sentences"][1]
    assert (
        document["sentences"][-1]
        == "3 identifying columns were left out. A * or a missing cell counts as a value."
    )


def test_the_sentences_of_the_conditions_can_be_left_out(table, schema, release):
    assessment = ic.assess(table, schema, [ic.KAnonymity(8), ic.LDiversity(2)])
    for told, left in (
        (release.sentences(), release.sentences(conditions=False)),
        (assessment.sentences(), assessment.sentences(conditions=False)),
    ):
        gone = [line for line in told if line not in left]
        assert [line.split(" ")[0] for line in gone] == ["k-anonymity", "l-diversity"]
        assert left == [line for line in told if line not in gone]


def test_a_page_stands_alone(release):
    page = to_html(release.document())
    # Risk and loss, each column, and two of classes and risk.
    assert page.count("<svg") == 7
    assert not re.search(r"(src|href)=|@import|url\(http|<script", page.replace("http://www.w3.org", ""))
    assert page.count('role="img" aria-label="') == 7
    assert "prefers-color-scheme: dark" in page
    assert "currentColor" in page
    assert "#010203" not in page
    # No text of a picture is black on a dark page.
    assert {*re.findall(r'<text[^>]* fill="([^"]*)"', page)} == {"currentColor"}
    for line in release.document()["sentences"]:
        assert line.replace("'", "&#x27;").replace(">", "&gt;") in page


@pytest.mark.slow
def test_the_pdf_says_the_same(release, tmp_path):
    release.report(tmp_path / "r.pdf")
    text = " ".join(" ".join(page.extract_text() for page in PdfReader(tmp_path / "r.pdf").pages).split())
    document = release.document()
    assert document["verdict"]["text"] in text
    assert all(line.split(";")[0][:40] in text for line in document["sentences"])
    release.report(tmp_path / "again.pdf")
    assert (tmp_path / "r.pdf").read_bytes() == (tmp_path / "again.pdf").read_bytes()


def test_words_that_look_like_markup_are_words(tmp_path):
    table = pl.DataFrame({"<b>q</b>": ["a"] * 6 + ["<script>"] * 6, "#set x *y*": list("123456") * 2})
    release = ic.anonymize(
        table, ic.Schema(quasi=["<b>q</b>"], sensitive=["#set x *y*"]), [ic.KAnonymity(3)], unanswered="write"
    )
    page = to_html(release.document())
    assert "<script>" not in page
    assert "&lt;b&gt;q&lt;/b&gt;" in page
    release.report(tmp_path / "r.pdf")
    assert "#set x *y*" in PdfReader(tmp_path / "r.pdf").pages[0].extract_text()


@pytest.mark.slow
@pytest.mark.parametrize("text", ["constructor", "toString", "__proto__", "hasOwnProperty", "a\u2028b"])
def test_texts_that_every_object_of_the_charts_knows_are_texts(text):
    table = pl.DataFrame({text: ["x"] * 6 + ["y"] * 6, "age": [text] * 6 + ["other"] * 6})
    release = ic.anonymize(table, ic.Schema(quasi=[text, "age"]), [ic.KAnonymity(3)])
    drawn = svg_for_pages(release.plot.column(text)), svg_for_pages(release.plot.column("age"))
    for picture in drawn:
        assert f">{visible(text)}" in picture
    assert visible(text) in to_html(release.document())


@pytest.mark.slow
def test_signs_that_turn_a_text_around_are_written_out(tmp_path):
    name = "\u202eegap\u2066\x1b[31m"
    table = pl.DataFrame({name: ["x"] * 6 + ["y"] * 6})
    release = ic.anonymize(table, ic.Schema(quasi=[name]), [ic.KAnonymity(3)])
    release.table.write_parquet(tmp_path / "release.parquet")
    release.policy.write(tmp_path / "policy.toml")
    checked = ic.verify(tmp_path / "release.parquet", tmp_path / "policy.toml")
    objects = (release, release.policy, release.policy.schema, checked)
    for page in (to_html(release.document()), *(each._repr_html_() for each in objects)):
        assert not {"\u202e", "\u2066", "\x1b"} & set(page)
    assert r"\u202eegap\u2066\x1b[31m" in to_html(release.document())


@pytest.mark.slow
def test_a_title_is_no_wider_than_its_picture():
    table = pl.DataFrame({"n" * 5_000: ["x"] * 6 + ["y"] * 6})
    release = ic.anonymize(table, ic.Schema(quasi=table.columns), [ic.KAnonymity(3)])
    width = re.search(r'<svg[^>]* width="([0-9.]+)"', svg_for_pages(release.plot.column("n" * 5_000)))
    assert float(width[1]) < 1_000


# --- the first page -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def decided(table, tmp_path_factory):
    """A release with a point, an answer, a file, a recipient and attacks, and the pages as texts."""
    folder = tmp_path_factory.mktemp("decided")
    schema = ic.Schema(
        quasi={"age": None, "sex": None, "zip": ic.Hierarchy.prefix()},
        sensitive={"diagnosis": diagnosis_hierarchy()},
        insensitive=["patient_id"],
        identifying=["name"],
        unlisted="drop",
    )
    why = "numbers of the study alone"
    release = ic.anonymize(
        table,
        schema,
        [ic.KAnonymity(8), ic.LDiversity(2)],
        accepted=[ic.Accepted("unique-column", "patient_id", why)],
    )
    release.write(folder / "stays.csv")
    about = {
        "file": folder / "stays.csv",
        "recipient": "Institute for Public Health",
        "purpose": "a study of stays in hospital",
        "owner": "Stays of 2025, City Hospital",
        "attacks": ic.attack(table, release.table, schema, attacks=50, kinds=["linkability"]),
    }
    for suffix in ("html", "pdf", "json"):
        release.report(folder / f"r.{suffix}", **about)
    page = (folder / "r.html").read_text().partition('<h2 class="appendix">')[0]
    pages = [
        " ".join(each.extract_text().replace("\u200b", "").split())
        for each in PdfReader(folder / "r.pdf").pages
    ]
    return release, about, re.sub(r"<[^>]+>", " ", html.unescape(page)), pages


@pytest.mark.slow
def test_the_first_page_says_what_a_board_has_to_know(decided):
    release, about, page, pages = decided
    (attack,) = about["attacks"]
    digest = hashlib.sha256(about["file"].read_bytes()).hexdigest()
    must = [
        release.verdict.text, "stays.csv", "1,500", "Institute for Public Health", "a study of stays in hospital",
        "Stays of 2025, City Hospital",
        "Whoever knows age, sex and zip, and nothing else", "Accepted by the owner: numbers of the study alone",
        "k \N{GREATER-THAN OR EQUAL TO} 8", "linkability", f"{attack.main.value:.1%}", f"{attack.baseline.value:.1%}",
        "'name'", "'birth_date'", "Name and office", "Signature", "Loss", "Largest risk",
    ]  # fmt: skip
    for text in (page, pages[0]):
        assert [each for each in must if each not in text] == []
        assert digest in text.replace("\u200b", "").replace(" ", "")
    # One page is enough, and what nobody asked for comes later, folded on a screen.
    assert pages[1].startswith("Appendix")
    assert "distortion" not in page + pages[0]
    folded = re.findall(r"<summary>([^<]+)", to_html(release.document(**about)))
    assert {"Risk models", "Loss", "Every privacy model", "Policy"} <= set(folded)


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("k-anonymity:4", "25.0%"),
        ("maximum-risk:0.3", "30.0%"),
        (ic.AlphaKAnonymity(0.9, 5), "20.0%"),
        # What an attacker of one column may find is another risk.
        ([ic.KAnonymity(4), ic.Attacker("insurer", "age", ic.KAnonymity(10))], "25.0%"),
    ],
)
def test_the_limit_of_the_largest_risk_is_what_the_models_ask(model, limit):
    table = pl.DataFrame({"age": [30, 40] * 10, "zip": ["1"] * 20, "ill": ["a", "b", "c", "d"] * 5})
    schema = ic.Schema(["age", "zip"], sensitive=["ill"])
    document = ic.anonymize(table, schema, model, unanswered="write").document()
    assert f"; the limit is {limit}" in to_html(document)


@pytest.mark.slow
def test_all_that_is_signed_stands_on_one_page_of_the_pdf(release, tmp_path):
    document = release.document(owner="City Hospital", recipient="an institute", purpose="a study")
    point = {"point": "unique-column", "columns": [], "share": None, "state": "holds", "way_out": ""}
    reasons = [
        f"reason {n}, which the owner of the data gave in a sentence of some length" for n in range(12)
    ]
    points = [
        {**point, "text": "Many records have a value of their own. " * 2, "accepted": why} for why in reasons
    ]
    write_report({**document, "verdict": {**document["verdict"], "points": points}}, tmp_path / "r.pdf")
    front, appendix, *_ = (
        " ".join(each.extract_text().split()) for each in PdfReader(tmp_path / "r.pdf").pages
    )
    must = [
        *reasons,
        "City Hospital",
        "Largest risk of being found",
        "Attacks that were carried out",
        "Signature",
    ]
    assert [each for each in must if each not in front.replace("\u200b", "")] == []
    assert appendix.startswith("Appendix")


def test_dates_that_became_years_have_lost_in_the_picture():
    days = pl.datetime_range(dt.datetime(1950, 1, 1), dt.datetime(1989, 12, 31), "15d", eager=True)
    table = pl.DataFrame({"born": days.dt.date()})
    release = ic.anonymize(table, ic.Schema(quasi=["born"]), "k-anonymity:5", unanswered="write")
    (born,) = release.document()["attributes"]
    assert [each["label"] for each in born["covers"]] != ["one value"]
    assert sum(each["after"] for each in born["covers"]) == table.height


def test_nothing_is_made_up_where_nobody_said_it(release, tmp_path):
    release.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert page.count("<dd></dd>") == 3
    assert "not written to a file when this report was made" in page
    assert "None: nobody tried to find people in this release." in page


def test_a_table_of_a_report_stands_on_one_page_of_the_pdf(decided):
    release, about, _, pages = decided
    for title, _, rows in tables_of(release.document(**about)):
        if 1 < len(rows) <= 30:
            at = [place for place, text in enumerate(pages) if f"{title} " in text]
            names = [" ".join(row[0].split()) for row in rows]
            assert any(all(name in pages[place] for name in names) for place in at), title


def test_an_attack_that_made_no_guess_is_not_measured(release):
    none = Attack.of_nothing("linkage", "no row can be matched")
    page, without = to_html(release.document(attacks=[none])), to_html(release.document())
    assert page.count("<td>not measured</td>") == 2
    assert "100.0%)" not in page
    assert page.count("<svg") == without.count("<svg")


def places(path):
    """Return every text of a PDF with the page, the left end and the height, in points."""
    for number, page in enumerate(PdfReader(path).pages):
        texts = []

        def visit(text, outer, inner, _, size, texts=texts):
            left, height = (inner[4] * outer[i] + inner[5] * outer[i + 2] + outer[i + 4] for i in (0, 1))
            texts.append((text.strip(), left, height, size))

        page.extract_text(visitor_text=visit)
        yield from ((number, *each) for each in texts if each[0])


@pytest.mark.slow
def test_long_names_of_columns_break_within_a_page_of_the_pdf(table, tmp_path):
    long = "date_of_the_first_admission_to_the_ward_or_of_the_transfer"
    secret = "main_diagnosis_at_the_day_of_discharge_from_the_hospital"
    table = table.rename({"marital_status": long, "diagnosis": secret})
    schema = ic.Schema(quasi=[long, "sex"], sensitive=[secret], unlisted="drop")
    ic.anonymize(table, schema, [ic.KAnonymity(5), ic.LDiversity(2)]).report(tmp_path / "r.pdf")
    # Most characters are wider than 0.4 of the font's height. A4 is 595 points wide, with a margin of 54.
    beyond = [
        (text, left)
        for _, text, left, _, size in places(tmp_path / "r.pdf")
        for line in text.splitlines()
        if left + 0.4 * size * len(line.replace("\u200b", "")) > 595 - 50
    ]
    assert beyond == []


@pytest.mark.slow
def test_a_table_that_is_longer_than_a_page_goes_on_and_begins_with_several_rows(release, tmp_path):
    document = release.document()
    words = "what is found, in a sentence that fills its cell on several lines of the page. " * 4
    clauses = [
        {"id": f"clause{n}", "state": "holds", "text": words, "detail": words, "source": "a law"}
        for n in range(25)
    ]
    write_report({**document, "clauses": clauses}, tmp_path / "r.pdf")
    result = [
        each for each in places(tmp_path / "r.pdf") if each[1].startswith("clause") and each[1] != "clause"
    ]
    assert len(result) == 25
    # A row that stands below the margin of a page is cut off there.
    assert min(height for _, _, _, height, _ in result) > 45
    # The last column has room on the page, too.
    assert max(left for _, text, left, *_ in places(tmp_path / "r.pdf") if text == "source") < 595 - 54 - 30
    numbers = [number for number, *_ in result]
    assert len(set(numbers)) > 1
    assert numbers.count(numbers[0]) >= 3


@pytest.mark.slow
def test_a_loss_is_written_alike_in_report_summary_and_notebook(table, release, tmp_path):
    """Wherever a loss is told in percent, the two digits that are published are told."""
    from rich.console import Console

    from incrowd.faces.cli.summary import show_release_summary

    told = loss_in_words(release.utility["loss"].value)
    out = Console(file=io.StringIO(), width=400)
    show_release_summary(out, release)
    places = {
        "report": to_html(release.document()),
        "internal": to_html(release.document(internal=True)),
        "summary": out.file.getvalue(),
        "notebook": release._repr_html_(),
        "account": " ".join(release.sentences()),
    }
    exact = f"{release.utility['loss'].value:.1%}"
    for place, text in places.items():
        assert re.search(rf"(?<![\d.]){re.escape(told)}", text), place
        assert exact == told or not re.search(rf"(?<![\d.]){re.escape(exact)}", text), place


# --- nothing raw --------------------------------------------------------------------------------------


def planted():
    """Values without any other occurrence, each in a record of a class that is recoded or suppressed."""
    days = [date(1950, 1, 1) + timedelta(days=400 * i) for i in range(40)]
    return pl.DataFrame(
        {
            "name": [f"NAME{i:03}XX" for i in range(40)],
            "income": [100_000.0 + 1017.3371 * i for i in range(39)] + [98_765_432.123],
            "born": days,
            "town": ["Aville", "Bville"] * 19 + ["RAREVILLE", "ODDVILLE"],
            "job": [f"job{i % 4}" for i in range(38)] + ["SPYMASTER", "POPESS"],
            "ill": ["flu", "cold"] * 20,
        }
    )


JOBS = ic.Hierarchy.from_nested(
    {"*": {"common": ["job0", "job1", "job2", "job3"], "SPYMASTER": [], "POPESS": []}}
)
RAW = ["98765432", "98,765,432", "RAREVILLE", "ODDVILLE", "SPYMASTER", "POPESS", "NAME0", "XX"]


@pytest.mark.parametrize(
    "algorithm",
    quick([ic.Mondrian(), ic.Optimal(), ic.Clustering(), ic.CellSuppression()], ic.Optimal()),
)
def test_no_raw_value_is_in_any_report(tmp_path, algorithm):
    table = planted()
    schema = ic.Schema(
        quasi={"income": ic.Hierarchy.intervals(50_000, 200_000) if algorithm.name == "optimal" else None,
               "born": ic.Hierarchy.dates("year", "decade") if algorithm.name == "optimal" else None,
               "town": None, "job": JOBS},
        sensitive=["ill"],
        identifying=["name"],
    )  # fmt: skip
    release = ic.anonymize(
        table, schema, [ic.KAnonymity(4)], algorithm, max_suppression=0.6, unanswered="write"
    )
    public = json.dumps(release.table.to_dicts(), default=str)
    hidden = [value for value in RAW if value not in public]
    hidden += [str(value) for value in table["income"].to_list() if str(value) not in public]
    hidden += [str(day) for day in table["born"].to_list() if str(day) not in public]
    assert len(hidden) > 20
    for suffix in ("html", "json", "pdf"):
        target = tmp_path / f"report.{suffix}"
        release.report(target)
        text = target.read_bytes().decode("latin-1")
        if suffix == "pdf":
            reader = PdfReader(target)
            text = " ".join(page.extract_text() for page in reader.pages) + str(reader.metadata)
        assert not [value for value in hidden if value in text], suffix
    release.report(tmp_path / "internal.json", internal=True)
    inside = json.loads((tmp_path / "internal.json").read_text())
    assert inside["internal"]
    assert "RAREVILLE" in json.dumps(inside)
    release.report(tmp_path / "internal.html", internal=True)
    assert "INTERNAL" in (tmp_path / "internal.html").read_text()


@st.composite
def tables(draw):
    rows = draw(st.integers(12, 60))
    column = lambda values: draw(st.lists(values, min_size=rows, max_size=rows))  # noqa: E731
    return pl.DataFrame(
        {
            "n": column(st.one_of(st.none(), st.integers(-50, 1000).map(float))),
            "t": column(st.sampled_from(["a1", "a2", "b1", "b2", "c"])),
            "c": column(st.sampled_from(["u", "v", "w", None])),
            "s": column(st.sampled_from(["x", "y"])),
        },
        schema={"n": pl.Float64, "t": pl.String, "c": pl.String, "s": pl.String},
    )


TREE = ic.Hierarchy.from_nested({"*": {"A": ["a1", "a2"], "B": ["b1", "b2"], "c": []}})


@pytest.mark.slow
@given(
    tables(),
    st.sampled_from([ic.Mondrian(), ic.Clustering(), ic.Datafly(), ic.CellSuppression()]),
    st.integers(2, 6),
)
def test_bins_count_everybody_and_name_no_few(table, algorithm, k):
    schema = ic.Schema(quasi={"n": None, "t": TREE, "c": None}, sensitive=["s"])
    try:
        release = ic.anonymize(table, schema, [ic.KAnonymity(k)], algorithm, max_suppression=1.0)
    except ic.InfeasibleError:
        return
    document = valid(release.document())
    floor = max(5, k)
    for attribute in document["attributes"]:
        bins = attribute["bins"]
        name = attribute["name"]
        missing = int(table[name].null_count())
        before = sum(each["before"] for each in bins)
        assert before == table.height or (before == table.height - missing and missing < floor)
        after = sum(each["after"] for each in bins)
        if before == table.height:
            assert after <= table.height - attribute["suppressed"] + 1e-6
        released = {str(value) for value in release.table[name].to_list()}
        for each in bins:
            if each["label"] in ("generalized further", "others", "all", "one value", "a single value"):
                continue
            if each["label"].endswith(" values"):
                continue
            assert each["before"] >= floor or len(bins) <= 2
            if name == "c":
                assert each["label"] in released | {"(missing)"}
            if name == "t":
                assert each["label"] in {"A", "B"} | released


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("state", "roles", "k"), [("holds", "drop", 8), ("open", "keep", 8), ("broken", "", 5)]
)
def test_the_verdict_and_its_points_stand_on_top_in_its_colour(table, tmp_path, state, roles, k):
    schema = ic.Schema(quasi=["age", "sex"], unlisted=roles or "drop")
    named = table.select("patient_id", "age", "sex")
    if state == "broken":
        verdict = ic.assess(named, schema, [ic.KAnonymity(k)]).verdict
        document = ic.assess(named, schema, [ic.KAnonymity(k)]).document(schema)
    else:
        release = ic.anonymize(named, schema, [ic.KAnonymity(k)], unanswered="write")
        verdict, document = release.verdict, release.document()
    assert verdict.state == state
    page = to_html(document)
    first = page.partition("<h1>")[2]
    assert f'<p class="verdict {state}">{verdict.text}</p>' in first
    for point in verdict.points:
        assert html.escape(point.text) in first.partition("<h2>What was asked")[0]
    assert (f'class="points {state}"' in page) == bool(verdict.points)
    # Green is for a verdict that holds, and for nothing else.
    style = page.partition("<style>")[2].partition("</style>")[0]
    green = re.findall(r"([^{};]*)\{[^}]*var\(--good\)", style)
    assert len(green) >= 2
    assert all("verdict" in each and ".holds" in each for each in green)


# --- assessments and comparisons ----------------------------------------------------------------------


@pytest.mark.slow
def test_the_report_of_an_assessment_names_no_value(table, schema, tmp_path):
    assessment = ic.assess(table, schema, [ic.KAnonymity(5)])
    document = valid(assessment.document(schema))
    assert document["verdict"]["state"] == "broken"
    assert document["verdict"]["text"] == "BROKEN: the table does not satisfy its policy (limit)."
    assert document["verdict"]["points"][0]["text"] == "k-anonymity fails: k is 1, asked is 5."
    assert all(entry["weakest"] is None for entry in document["models"])
    assert f"{assessment.unique:,} records" in document["sentences"][1]
    for suffix in ("html", "pdf", "json"):
        assessment.report(tmp_path / f"a.{suffix}", schema)
    everything = (tmp_path / "a.html").read_text() + (tmp_path / "a.json").read_text()
    rare = table.group_by("zip").len().filter(pl.col("len") == 1)["zip"].to_list()
    assert rare
    assert not [value for value in rare if re.search(rf"(?<![\d.]){value}(?!\d)", everything)]
    plain = ic.assess(table, schema)
    nothing = valid(plain.document(schema))
    assert (nothing["verdict"]["state"], nothing["verdict"]["text"]) == (
        "",
        "No limit was asked for; the figures say how private the table is.",
    )
    assert '<p class="verdict">No limit was asked for' in to_html(nothing)


@pytest.mark.slow
def test_the_report_of_a_comparison(table, tmp_path):
    schema = ic.Schema(quasi=["age", "sex"], sensitive=["diagnosis"], unlisted="drop")
    comparison = ic.compare(
        table, schema, [ic.Mondrian(), ic.Random()], k=[2, 8], seeds=[1, 2], max_suppression=1.0
    )
    document = valid(comparison.document())
    assert document["limits"] == ["k"]
    assert document["verdict"]["state"] == ""
    assert len(document["runs"]) == 4
    for suffix in ("html", "pdf", "json"):
        comparison.report(tmp_path / f"c.{suffix}")
    assert (tmp_path / "c.html").read_text().count("<figure") == 1
    with pytest.raises(ic.ParameterError, match=r"a report is written as \.html, \.pdf, \.json"):
        write_report(document, tmp_path / "c.docx")
    with pytest.raises(ic.TableError, match="exists already"):
        write_report(document, tmp_path / "c.json", force=False)


# --- notebooks ----------------------------------------------------------------------------------------


def test_what_notebooks_show(table, schema, release):
    markup = {
        "schema": schema._repr_html_(),
        "tree": diagnosis_hierarchy()._repr_html_(),
        "frequency": release.frequency._repr_html_(),
        "assessment": ic.assess(table, schema, [ic.KAnonymity(2)])._repr_html_(),
        "release": release._repr_html_(),
    }
    assert "patient_id" in markup["schema"]
    assert markup["tree"] == "<p>Hierarchy(243 leaves, height 3): draw() shows its labels</p>"
    assert "1,500 records" in markup["frequency"]
    assert "fails" in markup["assessment"]
    assert release.verdict.text in markup["release"]
    zips = table.group_by("zip").len().filter(pl.col("len") == 1)["zip"].to_list()
    for name in ("frequency", "assessment", "release"):
        assert not [value for value in zips if value in markup[name]]
