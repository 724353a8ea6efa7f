"""The examples of the pages run as they stand, and give what their comments say."""

from __future__ import annotations

import ast
import contextlib
import gzip
import io
import sys
import tokenize
from pathlib import Path

import pytest

import page_runner
from incrowd.errors import IncrowdError

pytestmark = pytest.mark.gated

PAGES = Path(__file__).resolve().parents[2] / "docs" / "compat"
JOBS = "Any\n\tProfessional\n\t\tEngineer\n\t\tLawyer\n\tArtist\n\t\tDancer\n\t\tWriter\n"
TEXTS = {
    "table.csv": "born;salary;disease\n197*;3;cancer\n197*;4;flu\n198*;5;flu\n198*;6;gastritis\n198*;8;cancer\n",
    "salaries.csv": "born;salary\n197*;3k\n197*;4k\n198*;5k\n198*;6k\n198*;8k\n",
    "JobDGHs/Job.txt": JOBS,
    "JobDGHs/Sex.txt": "Any\n\tMale\n\tFemale\n",
    "hospital.csv": "Zip,Age,Nationality,Disease\n13053,28,Russian,Heart\n13068,29,American,Heart\n"
    "13068,21,Japanese,Flu\n13053,23,American,Flu\n14853,50,Indian,Cancer\n14853,55,Russian,Heart\n"
    "14850,47,American,Flu\n14850,59,American,Flu\n",
    "HospitalDGHs/Zip.txt": "*****\n\t130**\n\t\t13053\n\t\t13068\n\t1485*\n\t\t14850\n\t\t14853\n",
    "HospitalDGHs/Age.txt": "*\n\t<30\n\t\t21\n\t\t23\n\t\t28\n\t\t29\n"
    "\t>40\n\t\t47\n\t\t50\n\t\t55\n\t\t59\n",
    "HospitalDGHs/Nationality.txt": "*\n\tAmerican\n\tIndian\n\tJapanese\n\tRussian\n",
    "raw.csv": "age,sex\n20,M\n30,M\n40,M\n60,F\n",
    "released.csv": 'age,sex\n[20-30],M\n[20-30],M\n[40-60],"{F, M}"\n[40-60],"{F, M}"\n',
}
"""Small files of the pages."""

FILES: dict[str, dict[str, str]] = {
    "comp430": {"adult-hw1.csv": "adult-hw1/adult-hw1.csv", "DGHs": "adult-hw1/DGHs"},
    "k-anonymization": {},
    "notebook": {"adult.csv": "adult/adult.all.txt.gz"},
    "p29": {
        "df1-filter.csv": "diabetes/df1-filter_qi_sa.csv.gz",
        "diabetic_data.csv": "diabetes/diabetic_data.csv.gz",
    },
    "petworks": {"data": "petworks/patient"},
}
"""Files and folders among the real tables, by the names that the pages have."""
ADULT = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income\n"
)


def remarks(code: str) -> dict[int, str]:
    """Return the comments by their lines."""
    lines = iter(code.splitlines(keepends=True))
    found = tokenize.generate_tokens(lambda: next(lines, ""))
    return {token.start[0]: token.string[2:] for token in found if token.type == tokenize.COMMENT}


def test_every_page_is_run():
    assert {path.stem for path in PAGES.glob("*.md")} == {*FILES}


def run_python(code: str, where: str, scope: dict[str, object]) -> int:
    """Run code whose comments say what its statements give; return how many said it."""
    told, seen = remarks(code), 0
    for statement in ast.parse(code).body:
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), where, "exec"), scope)
            continue
        printed, failed = io.StringIO(), False
        try:
            with contextlib.redirect_stdout(printed):
                value = eval(compile(ast.Expression(statement.value), where, "eval"), scope)
            found = printed.getvalue().strip() or repr(value)
        except IncrowdError as error:
            found, failed = f"{type(error).__name__}: {error}", True
        sys.stdout.write(printed.getvalue())
        # An error is shown on the line below.
        said = told.get((statement.end_lineno or 0) + failed, "")
        assert said or not failed, found
        if said:
            # A remark gives the value first; figures may be cut short, and words may follow a colon.
            wanted = said if said.startswith("{") or failed else said.partition(": ")[0]
            wanted, found = ("".join(text.replace("'", '"').split()) for text in (wanted, found))
            shown = found[: len(wanted) - 3] + "..." if wanted.endswith("...") else found
            assert shown == wanted
            seen += 1
    return seen


@pytest.mark.parametrize("page", FILES)
def test_the_examples_of_a_page(page, shared_data, tmp_path, monkeypatch):
    for name, source in FILES[page].items():
        if source.endswith(".gz"):
            text = gzip.decompress((shared_data / source).read_bytes()).decode()
            adult = name == "adult.csv"
            (tmp_path / name).write_text(ADULT + text.replace(", ", ",") if adult else text)
        else:
            (tmp_path / name).symlink_to(shared_data / source)
    for name, text in TEXTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    text, scope, seen, compared = (PAGES / f"{page}.md").read_text(encoding="utf-8"), {}, 0, 0
    fences = list(page_runner.FENCE.finditer(text))
    for fence, below in zip(fences, [*fences[1:], None], strict=True):
        language, code = fence[1], fence[2]
        printed = None
        if below is not None and below[1] == "text" and not text[fence.end() : below.start()].strip():
            printed = below[2]
        where = f"{page}:{text.count(chr(10), 0, fence.start()) + 1}"
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            if language in ("py", "python"):
                seen += run_python(code, where, scope)
            elif language == "bash" and printed is not None:
                page_runner.shell(code, where)
            else:
                continue
        if printed is not None:
            page_runner.same(printed, shown.getvalue(), where)
            compared += 1
    first = next(fence for fence in fences if fence[1] != "text")
    assert "```text" in text[first.end() : first.end() + 20], "a page begins with an example and its output"
    assert (seen, compared) == {
        "comp430": (7, 2), "k-anonymization": (0, 4), "notebook": (4, 1), "p29": (3, 2), "petworks": (3, 2)
    }[page]  # fmt: skip
