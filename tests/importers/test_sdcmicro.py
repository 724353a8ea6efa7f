"""Scripts of sdcMicro: read and never run, where calls without a counterpart are named with the line."""

from __future__ import annotations

import re

import polars as pl
import pytest

import incrowd as ic
from incrowd.importers import read_foreign
from incrowd.importers.r_calls import UNKNOWN, Column, calls_of

SCRIPT = """library(sdcMicro)
# the study of 2024
dat <- read.csv("people.csv")
keys <- c('sex', "zip", `age`)
sdc <- createSdcObj(dat, keyVars = c("sex", "zip", "age"), numVars = c("income", "savings", "height"),
                    pramVars = "town", weightVar = "w", hhId = "hid", strataVar = "region",
                    sensibleVar = "diagnosis", excludeVars = "name", seed = 12)
sdc <- kAnon(sdc, k = c(4), importance = c(1, 3, 2))
sdc <- sdc |> addNoise(variables = "income", noise = 20)
sdc <- microaggregation(sdc, variables = "savings", aggr = 4, method = "onedims")
sdc <- sdcMicro::pram(sdc, pd = 0.7)
sdc <- suda2(sdc); print(sdc, "risk")
report(sdc, "r.html")
sdc@manipKeyVars$age[dat$age > 90] <- 90
x <- mySpecialThing(sdc, 3)
"""


@pytest.fixture
def read(tmp_path):
    def call(text):
        path = tmp_path / "study.R"
        path.write_text(text)
        return read_foreign(path)

    return call


def made(*calls, keys='"age", "zip"', more=""):
    lines = [f"sdc <- createSdcObj(d, keyVars = c({keys}){more})", *calls]
    return "\n".join(lines) + "\n"


def test_a_script_becomes_a_policy(read):
    result = read(SCRIPT)
    schema = result.policy.schema
    assert {each.name: each.role for each in schema.attributes} == {
        "income": "insensitive", "savings": "insensitive", "town": "insensitive",
        "sex": "quasi", "zip": "quasi", "age": "quasi", "diagnosis": "sensitive", "w": "weight",
        "hid": "household", "name": "identifying", "region": "insensitive",
    }  # fmt: skip
    assert [schema[name].weight for name in ("sex", "zip", "age")] == [3, 1, 2]
    assert schema["income"].treatment == ic.Noise(0.2)
    assert schema["savings"].treatment == ic.Microaggregate(4, within="region")
    assert schema["town"].treatment == ic.Pram(0.7, within="region")
    assert result.policy.models == (ic.KAnonymity(4),)
    assert result.policy.wildcards == "matches-any"
    assert type(result.policy.algorithm) is ic.CellSuppression
    assert [name for name, _ in result.questions] == ["height"]


def test_cells_are_suppressed_within_strata(read):
    result = read(made("sdc <- localSuppression(sdc, k = 4)", more=', strataVar = "region"'))
    assert result.policy.algorithm == ic.CellSuppression(strata="region")
    assert [each.name for each in result.policy.schema.quasi] == ["age", "zip", "region"]
    assert not any("strataVar" in line for line in result.unread)
    levels = read(
        made("sdc <- kAnon(sdc, k = 4)", 'sdc <- globalRecode(sdc, column = "age", breaks = c(0, 30, 60))',
             more=', strataVar = "region"')
    )  # fmt: skip
    assert levels.policy.schema["region"].role == "insensitive"
    assert any("strataVar: k-anonymity is not within it, since levels" in line for line in levels.unread)


def test_what_is_not_taken_over_is_named_with_its_line(read):
    text = "\n".join(read(SCRIPT).unread)
    for line in (
        "line 5: createSdcObj: seed",
        "line 5: createSdcObj: strataVar: k-anonymity is not within it, since its treatments need it as it is",
        "line 11: pram: pd is",
        "line 12: suda2: measures .*incrowd risk",
        "line 13: report: measures .*the report of a release",
        "line 15: mySpecialThing: is not read",
    ):
        assert re.search(line, text), (line, text)
    assert "print" not in text


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("kAnon(sdc, k = my_k)", "k is no number"),
        ("kAnon(sdc, k = 3, combs = c(2, 3))", "^combs: a search of levels stands for local suppression"),
        ("kAnon(sdc, k = c(3, 4, 5), combs = c(2, 3))", "combs: numbers of columns, with one k or as many"),
        ("kAnon(sdc, k = 3, combs = m)", "combs: numbers of columns"),
        ("kAnon(sdc, k = kk, combs = 2)", "combs: numbers of columns"),
        ("kAnon(sdc, 3, importance = c(0.5, 1))", "importance: is not a whole number"),
        ("kAnon(sdc, 3, importance = imp)", "importance is not written out"),
        ("globalRecode(sdc, column = 'age', breaks = 5)", "breaks are no whole numbers, each once"),
        (
            "globalRecode(sdc, column = 'age', breaks = c(0, 10, 10))",
            "breaks are no whole numbers, each once",
        ),
        ("globalRecode(sdc, column = 'age', breaks = c(0.5, 10))", "breaks are no whole numbers, each once"),
        (
            "globalRecode(sdc, column = 'age', breaks = c(-Inf, Inf))",
            "breaks are no whole numbers, each once",
        ),
        ("globalRecode(sdc, column = 'age', breaks = c(0, 10, 50))", "numbers beyond the breaks"),
        ("d$zip <- gsub('-.*', '', d$zip)", "line 2: gsub: 'zip': the pattern is no count of characters"),
        ("d$zip <- gsub('..$', '', d$zip, fixed = TRUE)", "gsub: 'zip': the pattern is no count"),
        ("d$zip <- gsub('..', '', d$zip)", "gsub: 'zip': the pattern is no count of characters at the end"),
        ("d$zip <- sub('(..)$', '\\\\1', d$zip)", "sub: 'zip': the pattern is no count"),
        ("d$area <- sub('..$', '', d$zip)", "sub: is not a column that becomes its own texts"),
        ("d$zip[d$age > 9] <- sub('..$', '', d$zip)", "sub: is not a column that becomes its own texts"),
        ("d$zip <- paste0(sub('..$', '', d$zip), 'x')", "sub: is not a column that becomes"),
        ("d$town <- sub('..$', '', d$town)", "line 2: sub: 'town' is no key variable"),
        (
            "d$zip <- substr(d$zip, 1, 3)",
            "line 2: substr: how much is cut hangs on the texts; .*prefix = true",
        ),
        ("globalRecode(sdc, column = 'age', breaks = c(0, 10), labels = c('a'))", "labels of bins"),
        ("globalRecode(sdc, column = col, breaks = c(0, 10))", "column is not written out"),
        ("topBotCoding(sdc, value = 90, replacement = 92, column = 'age')", "the limit here"),
        ("topBotCoding(sdc, value = v, replacement = 1, column = 'age')", "not written out"),
        ("addNoise(sdc, 'x', method = 'correlated2')", "'correlated2': only additive"),
        ("microaggregation(sdc, 'x', method = 'pca')", "'pca' or aggr"),
        ("microaggregation(sdc, 'x', measure = 'trim')", "measure: has no counterpart"),
        ("rankSwap(sdc, 'x', R0 = 0.95)", "no rank range P"),
        ("pram(sdc, 'x', pd = c(0.8, 0.9))", "no single number"),
        ("pram(sdc, 'x', strata_variables = 'y')", "strata_variables"),
        ("pram(sdc)", "pram: no column is named, and createSdcObj has no pramVars"),
        ("microaggregation(sdc)", "microaggregation: no column is named, and createSdcObj has no numVars"),
        ("ldiversity(sdc, ldiv_index = 'zip2')", "of 'zip2' and asks for none"),
        ("groupAndRename(sdc, var = 'zip', before = b, after = 'x')", "not written out"),
        ("groupAndRename(sdc, 'zip', c('a', 'b'), 'ab', addNA = TRUE)", "addNA"),
        ("addNoise(sdc, 'x')\naddNoise(sdc, 'x')", "line 3: .*one treatment"),
        ("pram(sdc, 'x', pd = 4)", "pd|stay"),
        ("print(sdc)", "says k: it is 3"),
        # Neither method is here, so no command is named that would do the same.
        (
            "modRisk(sdc, formulaM = form)",
            "modRisk: measures the risk by log-linear models, .* no counterpart here$",
        ),
        (
            "dRiskRMD(sdc)",
            "dRiskRMD: measures the risk by robust Mahalanobis distances, .* no counterpart here$",
        ),
    ],
)
def test_a_call_that_says_too_little_or_too_much_is_named(read, call, told):
    assert re.search(told, "\n".join(read(made(call)).unread), re.MULTILINE)


def test_recodes_and_groups_are_hierarchies(read):
    result = read(
        made(
            "sdc <- globalRecode(sdc, column = 'age', breaks = seq(0, 100, 10))",
            "sdc <- groupAndRename(sdc, var = 'zip', before = c('a', 'b'), after = 'ab')",
            "sdc <- groupAndRename(sdc, var = 'zip', before = c('ab', 'c'), after = 'abc')",
            "sdc <- groupAndRename(sdc, var = 'zip', before = c('d', 'e'), after = 'de')",
            "sdc <- kAnon(sdc, k = 2)",
        )
    )
    age, town = (result.policy.schema[name] for name in ("age", "zip"))
    assert (age.hierarchy.spec(), age.levels) == ({"intervals": [10], "origin": 1}, (1, None))
    assert [town.hierarchy.path(rank) for rank in range(5)] == [
        *((leaf, "abc", "*") for leaf in "abc"), *((leaf, "de", "*") for leaf in "de"),
    ]  # fmt: skip
    assert isinstance(result.policy.algorithm, ic.Optimal)


@pytest.mark.parametrize(
    ("breaks", "spec"),
    [
        ("10*c(0:10)", {"intervals": [10], "origin": 1}),
        ("0:5 * 20 - 1", {"intervals": [20], "origin": 0}),
        ("c(-Inf, 17, 64, Inf)", {"bands": [18, 65]}),
        ("c(17, 29, 64)", {"bands": [18, 30, 65]}),
        ("c(0, 5*c(1, 2, 4))", {"bands": [1, 6, 11, 21]}),
        ("c(-Inf, 64, Inf)", {"bands": [65]}),
    ],
)
def test_breaks_are_bins_closed_on_the_right(read, breaks, spec):
    policy = read(made(f"sdc <- globalRecode(sdc, column = 'age', breaks = {breaks})")).policy
    assert policy.schema["age"].hierarchy.spec() == spec


@pytest.mark.parametrize(
    ("call", "models"),
    [
        ("localSuppression(sdc, k = 3, combs = 2)", [ic.SubsetKAnonymity(3, 2)]),
        (
            "localSuppression(sdc, k = c(9, 4), combs = c(1, 2))",
            [ic.SubsetKAnonymity(9, 1), ic.SubsetKAnonymity(4, 2)],
        ),
        (
            "kAnon(sdc, k = 2)\nkAnon(sdc, k = 3, combs = 1)",
            [ic.KAnonymity(2), ic.SubsetKAnonymity(3, 1)],
        ),
    ],
)
def test_combs_ask_for_every_set_of_so_many_columns(read, call, models):
    policy = read(made(call)).policy
    assert list(policy.models) == models
    assert isinstance(policy.algorithm, ic.Optimal)


@pytest.mark.parametrize(
    ("change", "least"),
    [
        ("d$zip <- sub('[0-9]{2}$', '', d$zip)", 2),
        ("d$zip <- as.factor(gsub('\\\\d\\\\d$', 'XX', d$zip))", 2),
        ("d$zip = gsub(x = d$zip, pattern = '[[:digit:]].$', replacement = '**')", 2),
        ("d$zip <- sub('.$', '', d$zip)\nd$zip <- sub('..$', '', d$zip)", 3),
    ],
)
def test_ends_that_are_cut_off_are_prefixes(read, change, least):
    result = read(made(change))
    zip_code = result.policy.schema["zip"]
    assert (zip_code.hierarchy, zip_code.levels) == (ic.Hierarchy.prefix(), (least, None))
    assert any("at least" in line and "masked" in line for line in result.unread)


def test_limits_and_swaps_are_treatments(read):
    result = read(
        made(
            "sdc <- topBotCoding(sdc, value = 90, replacement = 90, kind = 'top', column = 'age')",
            "sdc <- topBotCoding(sdc, value = -5, replacement = -5, kind = 'bottom', column = 'age')",
            "sdc <- rankSwap(sdc, P = 5)",
            "sdc <- microaggregation(sdc, variables = c('x', 'y'))",
            more=", numVars = c('n')",
        )
    )
    treated = {each.name: each.treatment for each in result.policy.schema.attributes if each.treatment}
    by_median = read(made("microaggregation(sdc, 'x', measure = 'median')")).policy
    assert by_median.schema["x"].treatment == ic.Microaggregate(3, how="median")
    assert treated == {
        "age": ic.Top(90, -5, limits="value"),
        "n": ic.RankSwap(0.05),
        "x": ic.Microaggregate(3, together="y"),
        "y": ic.Microaggregate(3, together="x"),
    }


@pytest.mark.parametrize(
    "text", ["x <- 1", "createSdcObj(d, keyVars = 1:3)", "createSdcObj(d, keyVars = names(d))", ")(}{", ""]
)
def test_a_script_without_key_variables_is_refused(read, text):
    with pytest.raises(ic.TableError, match="no createSdcObj"):
        read(text)


def test_what_is_no_text_is_refused(tmp_path):
    (tmp_path / "study.R").write_bytes(b"\x1f\x8b\x08\x00")
    with pytest.raises(ic.TableError, match="binary"):
        read_foreign(tmp_path / "study.R")
    with pytest.raises(ic.TableError, match="none of the files that are imported"):
        read_foreign(tmp_path / "study.py")
    with pytest.raises(ic.TableError, match="cannot be read"):
        read_foreign(tmp_path / "none.R")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("f(c('a', \"b\\\"\", 'c\\n'))", ["a", 'b"', "c\n"]),
        ("f(-1.5)", -1.5), ("f(2L)", 2), ("f(1e3)", 1000), ("f(3:1)", [3, 2, 1]), ("f((4))", 4),
        ("f(TRUE)", True), ("f(NULL)", None), ("f(a + 1)", UNKNOWN), ("f(function(x) { x + 1 })", UNKNOWN),
        ("f(seq(0, 1, 0.5))", [0.0, 0.5, 1.0]), ("f(c(g(1), 2))", UNKNOWN), ("f(x[1, 2]$y)", UNKNOWN),
        ("f(10*c(0:2))", [0, 10, 20]), ("f(1 + 2*3 - 4)", 3), ("f(c(1, 2) + c(3, 4))", [4, 6]), ("f(1:3*2)", [2, 4, 6]),
        ("f(c(1, 2) * 1:3)", UNKNOWN), ("f(3/2)", 1.5), ("f(4/2)", 2), ("f(1/0)", UNKNOWN), ("f(3*0.1)", 0.3), ("f(2*d$n)", UNKNOWN),
        ("f(2*'a')", UNKNOWN), ("f(2*TRUE)", UNKNOWN), ("f(1e300*1e300)", UNKNOWN), ("f(2*g(1))", UNKNOWN), ("f(1:2 == 2)", UNKNOWN),
        ("f(d$zip)", Column("zip")),
        ("v <- 'k'; f(v)", "k"), ("v = c(1)\nf(v)", 1), ("f(  # why\n 'x'\n)", "x"), ("f(if (a) 1 else 2)", UNKNOWN),
    ],
)  # fmt: skip
def test_arguments_that_are_written_out_are_read(text, value):
    call = next(call for call in calls_of(text) if call.name == "f")
    assert call.positional[0] == value
    assert type(call.positional[0]) is type(value)


def test_calls_within_calls_come_first_and_pipes_give_the_first_argument():
    calls = calls_of("a %>%\n  f(k = 2) |> g(h(1))\nfor (i in 1:3) { z(i) }\nlast()")
    assert [(call.name, call.line) for call in calls][:3] == [("f", 2), ("h", 2), ("g", 2)]
    assert calls[-1].name == "last"


@pytest.mark.few(1)
@pytest.mark.parametrize("opened", ["createSdcObj(", "(", "-", "c(f(", "f(a = "])
def test_deep_nesting_is_refused_with_its_line(opened, tmp_path, run_command):
    (tmp_path / "a.R").write_text("x <- 1\n" + opened * 40 + "1")
    assert calls_of((tmp_path / "a.R").read_text()) is not None
    (tmp_path / "a.R").write_text("x <- 1\ny <- " + opened * 5000)
    refused = run_command("import", tmp_path / "a.R", "-o", tmp_path / "out")
    assert refused.status == 2
    assert (
        f"{tmp_path / 'a.R'}, line 2: calls, brackets or signs are nested more than 100 deep" in refused.err
    )
    # Brackets that are skipped, and long pipes, are not nested.
    assert calls_of("if " + "(" * 5000 + ")" * 5000 + "\na" + " %>% f()" * 5000)


def test_an_imported_script_runs_to_a_verified_release(tmp_path, run_command):
    table = ic.samples.hospital(200, 1).select("sex", "zip", "age", "diagnosis")
    table.write_csv(tmp_path / "people.csv")
    (tmp_path / "s.R").write_text(
        "sdc <- createSdcObj(d, keyVars = c('sex', 'zip', 'age'), sensibleVar = 'diagnosis')\n"
        "sdc <- localSuppression(sdc, k = 2)\n"
    )
    assert run_command("import", tmp_path / "s.R", "-o", tmp_path / "p").status == 0
    policy, safe = tmp_path / "p/policy.toml", tmp_path / "safe.csv"
    result = run_command("anonymize", tmp_path / "people.csv", "--policy", policy, "-o", safe)
    assert result.status == 0, result.err
    assert run_command("verify", safe, "--policy", policy).status == 0
    assert pl.read_csv(safe).height == 200


def test_cut_texts_and_bands_run_to_a_verified_release(tmp_path, run_command):
    changes = "d$zip <- sub('.$', '', d$zip)", "globalRecode(sdc, 'age', c(-Inf, 17, 10*c(3:6), Inf))"
    (tmp_path / "s.R").write_text(made(*changes, "kAnon(sdc, 3)"))
    ages, zips = [row * 7 % 90 for row in range(200)], [f"{1000 + row % 4}" for row in range(200)]
    pl.DataFrame({"age": ages, "zip": zips}).write_csv(tmp_path / "d.csv")
    assert run_command("import", tmp_path / "s.R", "-o", tmp_path / "p").status == 0
    policy, safe = tmp_path / "p/policy.toml", tmp_path / "safe.csv"
    result = run_command("anonymize", tmp_path / "d.csv", "--policy", policy, "-o", safe)
    assert result.status == 0, result.err
    released = pl.read_csv(safe)
    assert set(released["age"]) == {"<18", "[18-30]", "[31-40]", "[41-50]", "[51-60]", ">=61"}
    assert set(released["zip"]) == {"100*"}
    checked = run_command("verify", safe, "--policy", policy, "--against", tmp_path / "d.csv")
    assert checked.status == 0, checked.err


def test_questions_stop_the_next_command(tmp_path, run_command):
    (tmp_path / "s.R").write_text(made("kAnon(sdc, k = 2)", more=", numVars = 'pay'"))
    result = run_command("import", tmp_path / "s.R", "-o", tmp_path / "p")
    assert "give 'pay' a role" in result.out
    (tmp_path / "t.csv").write_text("age,zip,pay\n1,2,3\n")
    stopped = run_command(
        "anonymize", tmp_path / "t.csv", "--policy", tmp_path / "p/policy.toml", "-o", tmp_path / "o.csv"
    )
    assert stopped.status == 2
    assert "pay" in stopped.err


def test_a_treatment_that_no_such_column_can_have_is_listed_and_the_rest_is_read(read):
    """Key variables are perturbed there, too; that aborted the whole import."""
    result = read(
        made(
            'sdc <- pram(sdc, variables = c("roof", "town"), pd = 0.8)',
            'sdc <- addNoise(sdc, variables = "w")',
            'sdc <- microaggregation(sdc, variables = c("income", "zip", "savings"))',
            'sdc <- addNoise(sdc, variables = "height")',
            "sdc <- kAnon(sdc, k = 4)",
            keys='"roof", "zip"',
            more=', numVars = c("income", "savings", "height"), pramVars = c("roof", "town"), weightVar = "w"',
        )
    )
    schema = result.policy.schema
    assert {each.name: each.role for each in schema.treated} == {
        "town": "insensitive",
        "height": "insensitive",
    }
    assert [each.name for each in schema.quasi] == ["roof", "zip"]
    assert result.policy.models == (ic.KAnonymity(4),)
    assert [name for name, _ in result.questions] == ["income", "savings"]
    text = "\n".join(result.unread)
    assert re.search(r"line 2: pram: column 'roof': pram: a quasi-identifier is generalized", text)
    assert re.search(r"line 3: addNoise: column 'w'", text)
    assert re.search(r"line 4: microaggregation: column 'zip'", text)
    assert len(re.findall("line 4: microaggregation", text)) == 1
