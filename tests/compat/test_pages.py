"""The examples of the pages run unchanged, and give the figures of the comments."""

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
from incrowd.compat._examples import EXAMPLES
from incrowd.core.errors import IncrowdError

pytestmark = pytest.mark.gated

PAGES = Path(__file__).resolve().parents[2] / "docs" / "compat"
FILES: dict[str, dict[str, str]] = {
    "comp430": {"adult-hw1.csv": "adult-hw1/adult-hw1.csv", "DGHs": "adult-hw1/DGHs"},
    "k-anonymization": {},
    "notebook": {"Data/adult.all.txt": "adult/adult.all.txt.gz"},
    "p29": {
        "df1-filter.csv": "diabetes/df1-filter_qi_sa.csv.gz",
        "diabetic_data.csv": "diabetes/diabetic_data.csv.gz",
    },
    "petworks": {},
}
"""Files and folders among the real tables, by the names that the pages have."""


def remarks(code: str) -> dict[int, str]:
    """Return the comments by line."""
    lines = iter(code.splitlines(keepends=True))
    result = tokenize.generate_tokens(lambda: next(lines, ""))
    return {token.start[0]: token.string[2:] for token in result if token.type == tokenize.COMMENT}


def test_every_page_is_run():
    assert {path.stem for path in PAGES.glob("*.md")} == {*FILES}


def run_python(code: str, where: str, scope: dict[str, object]) -> int:
    """Run code with results in comments, and return the number of compared results."""
    told, seen = remarks(code), 0
    for statement in ast.parse(code).body:
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), where, "exec"), scope)
            continue
        printed, failed = io.StringIO(), False
        try:
            with contextlib.redirect_stdout(printed):
                value = eval(compile(ast.Expression(statement.value), where, "eval"), scope)
            output = printed.getvalue().strip() or repr(value)
        except IncrowdError as error:
            output, failed = f"{type(error).__name__}: {error}", True
        sys.stdout.write(printed.getvalue())
        # An error is shown on the line below.
        said = told.get((statement.end_lineno or 0) + failed, "")
        assert said or not failed, output
        if said:
            # A remark gives the value first; figures may be cut short, and words may follow a colon.
            wanted = said if said.startswith("{") or failed else said.partition(": ")[0]
            wanted, output = ("".join(text.replace("'", '"').split()) for text in (wanted, output))
            excerpt = output[: len(wanted) - 3] + "..." if wanted.endswith("...") else output
            assert excerpt == wanted
            seen += 1
    return seen


@pytest.mark.parametrize("page", EXAMPLES)
def test_an_example_needs_the_files_of_the_command_alone(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page_runner.shell(f"incrowd list interfaces --example {page}", page)
    text = (PAGES / f"{page.replace('_', '-')}.md").read_text(encoding="utf-8")
    example, printed = list(page_runner.FENCE.finditer(text))[:2]
    assert f"`incrowd list interfaces --example {page.replace('_', '-')}`" in " ".join(text.split())
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        run_python(example[2], page, {})
    page_runner.same(printed[2], stream.getvalue(), page)


def test_the_first_example_of_the_chinese_page_needs_the_files_of_the_command_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page_runner.shell("incrowd list interfaces --example petworks", "petworks")
    text = (PAGES.parent / "zh-TW" / "petworks.md").read_text(encoding="utf-8")
    assert "`incrowd list interfaces --example petworks`" in text
    assert run_python(next(page_runner.FENCE.finditer(text))[2], "zh-TW/petworks", {}) == 1


@pytest.mark.few(1)
@pytest.mark.parametrize("page", FILES)
def test_the_examples_of_a_page(page, shared_data, tmp_path, monkeypatch):
    for name, source in FILES[page].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        if source.endswith(".gz"):
            (tmp_path / name).write_bytes(gzip.decompress((shared_data / source).read_bytes()))
        else:
            (tmp_path / name).symlink_to(shared_data / source)
    monkeypatch.chdir(tmp_path)
    if page.replace("-", "_") in EXAMPLES:
        page_runner.shell(f"incrowd list interfaces --example {page}", page)
    text, scope, seen, compared = (PAGES / f"{page}.md").read_text(encoding="utf-8"), {}, 0, 0
    fences = list(page_runner.FENCE.finditer(text))
    for fence, below in zip(fences, [*fences[1:], None], strict=True):
        language, code = fence[1], fence[2]
        printed = None
        if below is not None and below[1] == "text" and not text[fence.end() : below.start()].strip():
            printed = below[2]
        where = f"{page}:{text.count(chr(10), 0, fence.start()) + 1}"
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            if language in ("py", "python"):
                seen += run_python(code, where, scope)
            elif language == "bash" and printed is not None:
                page_runner.shell(code, where)
            else:
                continue
        if printed is not None:
            page_runner.same(printed, stream.getvalue(), where)
            compared += 1
    first = next(fence for fence in fences if fence[1] != "text")
    assert "```text" in text[first.end() : first.end() + 20], "a page begins with an example and its output"
    assert (seen, compared) == {
        "comp430": (7, 2), "k-anonymization": (0, 4), "notebook": (4, 1), "p29": (3, 3), "petworks": (3, 2)
    }[page]  # fmt: skip
