"""The package for R passes the check of R, gives the release of Python, and has a fresh manual."""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import incrowd as ic
from test_one_verdict import PLANTS, POLICY, TABLE, USUAL

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "r"
PACKAGES = ("testthat", "jsonlite", "haven", "tibble", "knitr", "rmarkdown", "roxygen2")


def _missing() -> str | None:
    """Name missing parts of R, or None."""
    if shutil.which("Rscript") is None:
        return "R is not installed"
    code = f"cat(setdiff(c({', '.join(map(repr, PACKAGES))}), rownames(installed.packages())))"
    lacking = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True).stdout
    return f"R lacks the packages {lacking}" if lacking.strip() else None


@pytest.fixture(scope="module")
def r(tmp_path_factory):
    """Return a function that runs a program of R, with the package, and with incrowd of this tree on the path."""
    missing = _missing()
    if missing:
        (pytest.fail if os.environ.get("INCROWD_REQUIRE_SERVICES") == "1" else pytest.skip)(missing)
    folder = tmp_path_factory.mktemp("r")
    programs, library = folder / "bin", folder / "library"
    programs.mkdir()
    library.mkdir()
    program = programs / "incrowd"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m incrowd "$@"\n', encoding="utf-8")
    program.chmod(0o700)
    # What is imported here is imported there. A check by R would ask the network for packages that are absent.
    profile = folder / "profile.R"
    profile.write_text("options(repos = character())\n", encoding="utf-8")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("INCROWD", "R_"))
    }
    environment |= {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(str(ROOT / folder / "src") for folder in ("", "gate", "verify")),
        "R_LIBS": str(library),
        "R_PROFILE_USER": str(profile),
        "_R_CHECK_FORCE_SUGGESTS_": "false",
        "LC_ALL": "C.UTF-8",
    }

    def run(
        *words: str | Path, cwd: Path = folder, succeeds: bool = True
    ) -> subprocess.CompletedProcess[str]:
        process = subprocess.run(
            [str(word) for word in words],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0 or not succeeds, process.stdout + process.stderr
        return process

    run("R", "CMD", "build", SOURCE)
    (archive,) = folder.glob("incrowd_*.tar.gz")
    run("R", "CMD", "INSTALL", f"--library={library}", archive)
    run.archive = archive
    return run


@pytest.mark.slow
def test_the_check_of_r_has_no_error_and_no_warning(r):
    """The check runs the package's examples and tests, by this tree's incrowd, after the vignette's build."""
    process = r("R", "CMD", "check", "--no-manual", "--ignore-vignettes", r.archive, succeeds=False)
    assert process.returncode == 0, process.stdout + process.stderr
    log = (r.archive.parent / "incrowd.Rcheck" / "00check.log").read_text(encoding="utf-8")
    checks = [
        part for part in log.split("\n* ")[:-1] if re.search(r"(NOTE|WARNING|ERROR)$", part, re.MULTILINE)
    ]
    # Packages for Parquet, which distributions do not have, are suggested.
    known = [part for part in checks if part.startswith("checking package dependencies") and "NOTE" in part]
    assert checks == known, log
    tests = (r.archive.parent / "incrowd.Rcheck" / "tests" / "testthat.Rout").read_text(encoding="utf-8")
    counts = re.search(r"FAIL (\d+) \| WARN (\d+) \| SKIP (\d+) \| PASS (\d+)", tests)
    assert counts is not None
    fail, warn, skipped, passes = map(int, counts.groups())
    assert (fail, warn, skipped) == (0, 0, 0)
    assert passes > 100
    vignette = subprocess.run(
        ["tar", "-xOf", r.archive, "incrowd/inst/doc/from-sdcmicro.html"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    # Chunks that need the program ran: they are not passed over.
    assert "HOLDS: the release satisfies its policy" in vignette


@pytest.mark.slow
def test_r_gives_the_release_of_python(r, tmp_path):
    """Cell for cell, in the same order, with the columns that come out unchanged in their classes."""
    rows = 300
    draw = [(7 * at * at + 3 * at) % 101 for at in range(rows)]
    table = pl.DataFrame(
        {
            "name": [f'Zoë "{at}",\nof Bern' for at in range(rows)],
            "age": [18 + each % 60 for each in draw],
            "height": [150 + (each * 13 % 40) / 4 for each in draw],
            "town": [("Zürich", "Bern", "Genève")[each % 3] for each in draw],
            "born": [datetime.date(1950, 1, 1) + datetime.timedelta(days=31 * each) for each in draw],
            "illness": [("flu", 'a, "b"', "", None)[(at * at + at // 3) % 4] for at in range(rows)],
            "cost": [(None, 1000.5, 0.1, 1e6, 123456789.25)[at * 7 % 5] for at in range(rows)],
            "insured": [(True, False, None)[at * 11 % 3] for at in range(rows)],
        }
    )
    (tmp_path / "policy.toml").write_text(
        "\n".join(
            [
                "version = 1\nunlisted = 'drop'\nkeep_order = true\nmax_suppression = 0.05",
                *(f"[columns.{name}]\nrole = 'quasi'" for name in ("age", "height", "town", "born")),
                "hierarchy = { dates = ['month', 'year', 'decade'] }",
                "[columns.illness]\nrole = 'sensitive'",
                *(f"[columns.{name}]\nrole = 'insensitive'" for name in ("cost", "insured")),
                "[[models]]\nmodel = 'k-anonymity'\nk = 5",
                "[[models]]\nmodel = 'l-diversity'\nl = 2",
            ]
        ),
        encoding="utf-8",
    )
    script = tmp_path / "release.R"
    script.write_text(
        """
        library(incrowd)
        raw <- jsonlite::fromJSON("table.json")
        raw$town <- factor(raw$town)
        raw$born <- as.Date(raw$born)
        safe <- anonymize(raw, "policy.toml", unanswered = "write")
        stopifnot(identical(class(safe$town), "factor"), is.character(safe$age))
        for (name in c("illness", "cost", "insured")) stopifnot(identical(safe[[name]], raw[[name]]))
        columns <- lapply(seq_along(safe), function(at) incrowd:::plain_text(incrowd:::plain_column(safe[[at]], "")))
        jsonlite::write_json(stats::setNames(columns, names(safe)), "safe.json", na = "null")
        """,
        encoding="utf-8",
    )
    table.with_columns(pl.col("born").cast(pl.String)).write_json(tmp_path / "table.json")
    r("Rscript", script, cwd=tmp_path)
    by_r = pl.read_json(tmp_path / "safe.json").explode(pl.all())

    release = ic.anonymize(table, ic.Policy.read(tmp_path / "policy.toml"), unanswered="write")
    by_python = release.table.with_columns(pl.col(pl.Float64, pl.Boolean).cast(pl.String))
    assert by_r.columns == by_python.columns
    number = pl.col("cost").cast(pl.Float64)
    assert by_r.with_columns(number).rows() == by_python.with_columns(number).rows()
    assert by_r["age"].str.contains("[", literal=True).any()


@pytest.mark.slow
def test_the_manual_is_that_of_the_comments(r, tmp_path):
    """The pages of the manual are made by roxygen2, and another version uses other words."""
    version = re.search(
        r"^RoxygenNote: (.*)$", (SOURCE / "DESCRIPTION").read_text(encoding="utf-8"), re.MULTILINE
    )[1]
    if r("Rscript", "-e", "cat(as.character(packageVersion('roxygen2')))").stdout != version:
        pytest.skip(f"the manual was made by roxygen2 {version}")
    copy = tmp_path / "r"
    shutil.copytree(SOURCE, copy)
    for page in (copy / "man").iterdir():
        page.unlink()
    r("Rscript", "-e", "roxygen2::roxygenise()", cwd=copy)
    for manual in (copy / "NAMESPACE", *(copy / "man").iterdir()):
        kept = SOURCE / manual.relative_to(copy)
        assert manual.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8"), (
            f"run roxygen2::roxygenise() in r/: {kept.name}"
        )
    assert {page.name for page in (copy / "man").iterdir()} == {
        page.name for page in (SOURCE / "man").iterdir()
    }


@pytest.mark.slow
def test_the_page_prints_what_r_prints(r, tmp_path):
    """Blocks of R run in sequence, and a `text` block below a block is the output."""
    page = (ROOT / "docs" / "how-to" / "r.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```r\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", page, re.DOTALL | re.MULTILINE)
    said = [(code, text) for code, text in blocks if text]
    assert len(said) == 3
    mark = "--- next block"
    for at, (code, _) in enumerate(said):
        (tmp_path / f"{at}.R").write_text(code, encoding="utf-8")
    runs = "; ".join(f'source("{at}.R", print.eval = TRUE); cat("\\n{mark}\\n")' for at in range(len(said)))
    printed = r("Rscript", "-e", runs, cwd=tmp_path).stdout.split(f"\n{mark}\n")
    assert [text.strip() for text in printed[:-1]] == [text.strip() for _, text in said]


def test_what_the_policy_has_as_lists_r_writes_as_lists():
    """A vector of R with a single value is written as a list if the schema has a list."""
    written = re.search(
        r"^\.lists <- c\((.*?)\)", (SOURCE / "R" / "policy.R").read_text(encoding="utf-8"), re.S | re.M
    )
    schema = json.loads((ROOT / "docs" / "policy.schema.json").read_text(encoding="utf-8"))
    # Lists of tables are lists of lists in R; `linked` may also be a truth value or one text.
    others = {
        "accepted",
        "analyses",
        "attackers",
        "hidden",
        "linked",
        "models",
        "never_secondary",
        "tables",
        "waived",
    }
    assert set(re.findall(r'"(\w+)"', written[1])) == _lists(schema) - others


def _lists(schema: object) -> set[str]:
    """Return the names of all settings that may be lists."""
    if isinstance(schema, list):
        return set().union(*map(_lists, schema))
    if not isinstance(schema, dict):
        return set()
    named = {
        name
        for name, each in (schema.get("properties") or {}).items()
        if '"array"' in json.dumps(_kinds(each))
    }
    return named.union(*map(_lists, schema.values()))


def _kinds(setting: Any) -> list[object]:
    """Return the types that a setting may have itself."""
    if not isinstance(setting, dict):
        return []
    choices = [*setting.get("anyOf", ()), *setting.get("oneOf", ())]
    return [setting.get("type"), *(kind for each in choices for kind in _kinds(each))]


@pytest.mark.slow
@pytest.mark.gated
def test_r_says_the_points_of_python(r, tmp_path):
    """The same verdict of the same cells, with points planted."""
    kinds = ("unique-column", "personal-text", "named-identifier", "derived-column", "repeated-id")
    expected = {}
    for kind in kinds:
        folder = tmp_path / kind
        folder.mkdir()
        plant = PLANTS[kind]
        columns = {name: pl.Series(name, list(values)) for name, values in plant.columns.items()}
        TABLE.with_columns(**columns).write_csv(folder / "raw.csv")
        (folder / "policy.toml").write_text(POLICY.format(**USUAL | plant.settings))
        release = ic.anonymize(folder / "raw.csv", ic.Policy.read(folder / "policy.toml"), unanswered="write")
        expected[kind] = release.verdict.text
    script = tmp_path / "points.R"
    script.write_text(
        """
        library(incrowd)
        for (kind in commandArgs(TRUE)) {
          raw <- read.csv(file.path(kind, "raw.csv"), colClasses = "character", check.names = FALSE)
          refused <- tryCatch({ anonymize(raw, file.path(kind, "policy.toml")); FALSE },
                              incrowd_refused = function(e) TRUE)
          safe <- anonymize(raw, file.path(kind, "policy.toml"), unanswered = "write")
          cat(kind, refused, account(safe)$verdict$text, sep = "\t")
          cat("\n")
        }
        """,
        encoding="utf-8",
    )
    printed = r("Rscript", script, *kinds, cwd=tmp_path).stdout
    said = {line.split("\t")[0]: line.split("\t")[1:] for line in printed.splitlines() if "\t" in line}
    assert said == {kind: ["TRUE", text] for kind, text in expected.items()}
