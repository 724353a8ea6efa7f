"""The docs agree with the code."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import tomllib
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
import typer
from pygments.lexers import get_lexer_by_name

import incrowd
import incrowd_gate
import incrowd_verify
import page_runner
from crossed import quick
from evidence import HEAD, TAIL, Evidence, items_of, speed_rows
from incrowd.core.hierarchy import BUILDERS
from incrowd.faces.cli import app
from incrowd.faces.cli.reference import command_line, counted, markdown, public_names, rule_profiles
from incrowd.measures.privacy import MODELS
from incrowd.measures.risk import RISKS
from incrowd.measures.utility import METRICS
from incrowd.release.policy.policy import Policy
from incrowd.search import ALGORITHMS
from incrowd_gate.points import KINDS
from incrowd_gate.profiles import CHECKS

ROOT = Path(__file__).resolve().parents[1]


FOLDERS = [folder for folder in ROOT.iterdir() if folder.is_dir() and not folder.name.startswith(".")]
PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for found in (ROOT.glob("*.md"), *(folder.rglob("*.md") for folder in FOLDERS))
    for page in found
)


@cache
def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text_of(page), re.DOTALL)


def too_long(text: str, width: int = 100) -> list[int]:
    """Tell the numbers of the lines of prose that are longer, tables and code aside.

    A line of one word, such as a link, cannot be broken. The mark of a list item and the indentation do not
    count as words.
    """
    result, fence = [], ""
    for number, line in enumerate(text.splitlines(), 1):
        begin = re.match(r"\s*(```+|~~~+)", line)
        if begin and not fence:
            fence = begin[1]
        elif fence:
            fence = "" if line.strip() == fence else fence
        elif len(line) > width and not line.lstrip().startswith("|"):
            words = re.sub(r"^\s*([-*+]|\d+[.)]|#+)\s", "", line).split()
            result += [number] if len(words) > 1 else []
    return result


def test_lines_of_prose_have_at_most_100_characters():
    assert [f"{page}:{number}" for page in PAGES for number in too_long(text_of(page))] == []


def test_long_lines_of_prose_are_found_and_tables_code_and_links_are_not():
    long = "word " * 21
    link = "https://example.org/" + "a" * 90
    assert too_long(f"{long}\n\n- {long}\n") == [1, 3]
    assert too_long(f"| {long} |\n\n```sh\n{long}\n```\n\n- {link}\n") == []
    assert too_long(f"```sh\nrun\n```\n{long}\n") == [4]
    assert too_long("a" * 60 + " " + "b" * 39) == []
    assert too_long("a" * 60 + " " + "b" * 40) == [1]
    assert {"README.md", "benchmarks/README.md", "docs/compat/p29.md"} <= set(PAGES)


def test_every_block_is_in_a_language_that_the_site_can_color():
    for page in PAGES:
        for language in set(re.findall(r"^ *```(\w+)", text_of(page), re.MULTILINE)):
            assert get_lexer_by_name(language), (page, language)


def test_the_reference_is_fresh():
    assert (ROOT / "docs" / "reference.md").read_text(encoding="utf-8") == markdown(), "run `make docs`"
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == command_line(), "run `make docs`"
    assert text_of("docs/reference/profiles.md") == rule_profiles(), "run `make docs`"


def test_the_public_names_are_fresh():
    stub = Path(incrowd.__file__).with_suffix(".pyi")
    assert stub.read_text(encoding="utf-8") == public_names(), "run `make docs`"


@pytest.mark.parametrize("registry", [MODELS, ALGORITHMS, METRICS, RISKS])
def test_every_entry_is_in_the_reference(registry):
    text = text_of("docs/reference.md")
    for entry in registry:
        assert f"### {entry.name}\n" in text


def test_the_policy_page_shows_a_policy_that_loads(tmp_path):
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "disease.txt").write_text("Any\n\tflu\n\tcold\n")
    [text] = blocks("docs/policy.md", "toml")
    policy = Policy.from_dict(tomllib.loads(text), tmp_path)
    assert [str(model) for model in policy.models] == [
        "k-anonymity(k=5)",
        "l-diversity(l=2, kind=distinct)",
        "t-closeness(t=0.3, distance=auto)",
        "neighbour (age): k-anonymity(k=10)",
    ]


def test_the_policy_page_names_every_builder():
    text = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
    for name in BUILDERS:
        assert f"`{name}`" in text


def test_the_page_on_profiles_describes_every_check():
    checks = text_of("docs/how-to/profiles.md").partition("\n## The checks\n")[2]
    assert re.findall(r"^- `(\w+)`:", checks, re.MULTILINE) == [*CHECKS]


def test_the_page_on_verdicts_names_every_kind_of_point_by_what_answers_it():
    points = text_of("docs/how-to/verdict.md").partition("\n## The points\n")[2].partition("\n## ")[0]
    accepted, _, others = points.partition("\n### Points that nobody can accept\n")
    open_ones, _, broken = others.partition("\nThese break the release:\n")
    sections = [
        sorted(re.findall(r"^- `([a-z-]+)`:", each, re.MULTILINE)) for each in (accepted, open_ones, broken)
    ]
    kinds = [(name, kind.accepted, kind.broken) for name, kind in KINDS.items()]
    assert sections == [
        sorted(name for name, *answers in kinds if answers == answer)
        for answer in ([True, False], [False, False], [False, True])
    ]


@cache
def changed() -> set[str]:
    """Return the files that differ from the last commit; none where there is no Git."""
    with suppress(OSError):
        command = ["git", "diff", "--name-only", "HEAD"]
        process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return {*process.stdout.splitlines()}
    return set()


QUICK = (
    "README.md", "docs/compat/k-anonymization.md", "docs/definitions.md", "docs/people.md", "docs/treatments.md",
    "docs/tutorials/first-release.md", "docs/tutorials/first-release-python.md",
)  # fmt: skip
"""Pages that every run tries, beside those whose text was changed; `make slow` tries all others."""
SLOW = (
    "docs/databases.md", "docs/files.md", "docs/gallery.md", "docs/index.md", "docs/policy.md", "docs/reports.md",
    "docs/scale.md", "docs/verify.md",
)  # fmt: skip
GROUPS = ("docs/tutorials/", "docs/course/", "docs/how-to/", "docs/explanation/", "docs/zh-TW/")
SPARK = (pytest.mark.slow, pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"))
SHORT = [page for page in PAGES if page.startswith(GROUPS) or page in QUICK]
TRIED = [page for page in SHORT if page in QUICK or page.startswith("docs/explanation/") or page in changed()]
RUN = [*quick((*SHORT, *SLOW), *TRIED, *(changed() & {*SLOW})), pytest.param("docs/spark.md", marks=SPARK)]


def _spark_goes_to(session, folder: str) -> str:
    """Let paths of Spark without a folder be in a given folder, and return the old folder."""
    context = session.sparkContext
    hadoop = context._jvm.org.apache.hadoop.fs
    system = hadoop.FileSystem.get(context._jsc.hadoopConfiguration())
    before = system.getWorkingDirectory().toString()
    system.setWorkingDirectory(hadoop.Path(folder))
    return before


@pytest.mark.gated
@pytest.mark.parametrize("page", RUN)
def test_every_block_of_a_page_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    # Tables on the pages are as wide as a terminal that many have.
    monkeypatch.setenv("COLUMNS", "100")
    if page == "docs/spark.md":
        session = request.getfixturevalue("spark")
        before = _spark_goes_to(session, str(tmp_path))
        request.addfinalizer(lambda: _spark_goes_to(session, before))
    scope = page_runner.run(page, text_of(page))
    if page == "docs/spark.md":
        assert (tmp_path / "safe" / "_SUCCESS").is_file()
    if page == "README.md":
        assert scope["release"].privacy.smallest >= 5
        assert (tmp_path / "out" / "release.csv").is_file()


def test_every_page_whose_blocks_can_run_is_run():
    """Code of pages that no test runs is marked as such: bash in place of sh, py in place of python."""
    run = {page.values[0] for page in RUN}
    assert [page for page in PAGES if page_runner.blocks(text_of(page)) and page not in run] == []


def test_every_model_has_an_attack_that_runs_and_a_picture():
    sections = {}
    for page in sorted((ROOT / "docs" / "explanation" / "models").glob("*.md")):
        for heading, text in re.findall(
            r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", page.read_text(), re.DOTALL | re.MULTILINE
        ):
            sections |= dict.fromkeys(re.split(r", | and ", heading), text)
    for model in MODELS:
        assert model.name in sections, f"explain {model.name} in docs/explanation/models/"
        text = sections[model.name]
        attack, picture = text.find("**The attack"), text.find("```{chart}")
        assert -1 < attack < picture, model.name
        assert text.count("```python\n") >= 1, model.name
        assert re.search(rf"ic\.{model.__name__}\(", text), model.name
        assert "**What it leaves open.**" in text or "**What they leave open.**" in text or "costs" in text


def test_one_version_stands_in_one_place_and_the_other_files_agree():
    project = tomllib.loads(text_of("pyproject.toml"))
    assert project["project"]["dynamic"] == ["version"]
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/incrowd/__init__.py"
    first = re.search(r"^## (\S+)", text_of("CHANGELOG.md"), re.MULTILINE)
    cited = re.search(r"^version: (\S+)$", text_of("CITATION.cff"), re.MULTILINE)
    assert (first and first[1], cited and cited[1]) == (incrowd.__version__, incrowd.__version__)
    assert incrowd_gate.__version__ == incrowd_verify.__version__ == incrowd.__version__
    in_r = re.search(r"^Version: (\S+)$", text_of("r/DESCRIPTION"), re.MULTILINE)
    assert in_r is not None
    assert in_r[1] == incrowd.__version__
    for folder, others in (("verify", ("gate",)), ("", ("gate", "verify"))):
        needed = tomllib.loads(text_of(f"{folder}/pyproject.toml".lstrip("/")))["project"]["dependencies"]
        assert {f"incrowd-{other}=={incrowd.__version__}" for other in others} <= {*needed}


def test_changes_are_in_the_usual_order():
    # The first version changes nothing: the page says what it has.
    versions = re.split(r"^## .*$", text_of("CHANGELOG.md"), flags=re.MULTILINE)[1:-1]
    usual = ["Added", "Changed", "Security", "Fixed"]
    for version in versions:
        assert [title for title in usual if f"### {title}\n" in version] == re.findall(
            r"^### (.*)$", version, re.MULTILINE
        )


def test_every_item_of_the_evidence_has_its_test():
    items = items_of(text_of("docs/evidence.md"))
    assert len(items) > 40
    assert text_of("docs/evidence.md").startswith(HEAD)
    for test in items:
        file, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}(" in text_of(f"tests/{file}")


def test_the_speed_on_the_page_of_evidence_is_that_of_the_benchmarks():
    page, rows = text_of("docs/evidence.md"), speed_rows()
    head, _, speed = page.partition(TAIL)
    assert head
    assert speed == "".join(f"| {' | '.join(row)} |\n" for row in rows)
    assert len(rows) > 7
    for ratio, work, _, theirs, ours in rows:
        both = [float(each.removesuffix(" †").removesuffix(" s")) for each in (theirs, ours)]
        # All three are rounded.
        assert both[0] / both[1] == pytest.approx(float(ratio.replace(",", "")), rel=0.07), work


def test_a_figure_that_is_not_met_fails():
    held = Evidence("tests/test_x.py::test_x")
    held("arx", "a rounded figure, and a fraction", "0.17, 1/3", [0.1666, 1 / 3])
    item = "published 0.17, 1/3; ours 0.166600, 0.333333. `tests/test_x.py::test_x`"
    assert held.items == [("ARX 3.9, on UCI Adult", f"- a rounded figure, and a fraction: {item}")]
    for published, ours in (("0.17", 0.1649), ("1/3", 0.3333), ("5", 4), ("5, 6", [5])):
        with pytest.raises(AssertionError, match="a figure"):
            held("arx", "a figure", published, ours)
    with pytest.raises(AssertionError, match="make evidence"):
        held.finish()


def test_every_page_has_its_place_in_the_navigation():
    """The site asks for the same, but the test builds no site."""
    docs = ROOT / "docs"
    named = set()
    for page in docs.rglob("*.md"):
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            lines = [line for line in tree.splitlines() if line and not line.startswith(":")]
            targets = [re.sub(r".*<(.*)>$", r"\1", line) for line in lines]
            named |= {(page.parent / f"{target}.md").resolve() for target in targets}
    pages = {page.resolve() for page in docs.rglob("*.md")} - {(docs / "index.md").resolve()}
    assert {page.relative_to(docs).as_posix() for page in pages - named} == set(), "name it in an index.md"
    assert {page.name for page in named - pages} == set()


def commands_of(text: str) -> list[list[str]]:
    """Return the commands of incrowd in the shell blocks of a page, as words."""
    calls = []
    for fence in page_runner.FENCE.finditer(text):
        if fence[1] in ("sh", "bash", "console", "text"):
            # Where a block also shows what is printed, a dollar sign stands before a command.
            mark = "$ incrowd " if fence[1] in ("console", "text") else "incrowd "
            lines = fence[2].replace("\\\n", " ").splitlines()
            calls += [
                shlex.split(line.removeprefix("$ "), comments=True) for line in lines if line.startswith(mark)
            ]
    return calls


@cache
def whole_command():
    return typer.main.get_command(app)


def unknown_options(words: list[str]) -> list[str]:
    """Return the unknown options of a command, or the name of an unknown command."""
    command = whole_command()
    for number, word in enumerate(words[1:], 1):
        if not hasattr(command, "commands"):
            known = {option for parameter in command.params for option in parameter.opts}
            given = [each.partition("=")[0] for each in words[number:] if re.match(r"--?[a-z]", each)]
            return [each for each in given if each not in known and each not in ("-h", "--help")]
        if word.startswith("-"):
            return []
        if word not in command.commands:
            return [word]
        command = command.commands[word]
    return []


def test_commands_on_the_pages_exist_and_so_do_their_options():
    commands = [(page, words) for page in PAGES for words in commands_of(text_of(page))]
    assert [(page, " ".join(words)) for page, words in commands if unknown_options(words)] == []
    assert len(commands) > 80


def test_wrong_commands_are_found():
    text = "```bash\nincrowd verify a --against b \\\n  --besides c\nincrowd verifi a\n```\n```text\n$ incrowd -h\nincrowd x\n```\n"
    assert [unknown_options(words) for words in commands_of(text)] == [["--besides"], ["verifi"], []]


def test_the_readme_counts_right():
    text = text_of("README.md")
    assert re.findall(r"\d+ (relatives|treatments|metrics)", text) == ["relatives", "treatments", "metrics"]
    assert counted(text) == text, "run `make docs`"
    assert (
        counted("0 metrics and 99 relatives")
        == f"{len([*METRICS])} metrics and {len([*MODELS]) - 3} relatives"
    )


def test_the_readme_fits_on_a_page():
    """Tables and blank lines do not count, and longer texts belong on another page."""
    lines = [line for line in text_of("README.md").splitlines() if line and not line.startswith("|")]
    assert len(lines) <= 75


def test_a_page_that_says_something_else_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page_runner.run("page", "```python\nprint(1)\n```\n\n```text\n1\n```\n")
    with pytest.raises(pytest.fail.Exception, match="page:1: the page says"):
        page_runner.run("page", "```python\nprint(1)\n```\n\n```text\n2\n```\n")
    with pytest.raises(AssertionError, match="ended with 0"):
        page_runner.run("page", "```sh\nincrowd list models # exit status 1\n```\n")
    with pytest.raises(AssertionError, match="`false` ended with 1"):
        page_runner.run("page", "\n```sh\ntrue\nfalse\n```\n")


def test_a_text_is_of_the_block_right_above_it_alone():
    [code] = page_runner.blocks("```sh\ntrue\n```\n\nA sentence.\n\n```text\n1\n```\n")
    assert code.printed is None
    assert [*page_runner.commands("a b \\\n  c # exit status 2\n# no\ncat > f <<'END'\nx # 1\nEND\nd\n")] == [
        ("a b    c", 2), ("cat > f <<'END'\nx # 1\nEND", 0), ("d", 0),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.gated
def test_the_notebook_runs(monkeypatch, tmp_path):
    """The cells run in a single scope, charts are Vega-Lite, and the file stores nothing of a run."""
    monkeypatch.chdir(tmp_path)
    document = json.loads((ROOT / "docs" / "learning.ipynb").read_text(encoding="utf-8"))
    scope: dict[str, object] = {}
    drawn = 0
    for number, cell in enumerate(document["cells"]):
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), scope)
        if last is not None:
            output = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), scope)
            drawn += hasattr(output, "to_json")
    assert drawn == 2


def test_public_names_are_what_they_say_however_often_they_are_asked():
    import incrowd as ic

    for _ in range(2):
        for name in ic.__all__:
            result = getattr(ic, name)
            rooms = {
                "compat": "petworks", "course": "check", "privacy": "k_anonymity", "profiles": "read_profile", "risk": "suda2",
                "samples": "hospital", "treatments": "Round",
            }  # fmt: skip
            if name in rooms:
                assert getattr(result, rooms[name]) is not None
                continue
            assert getattr(result, "__name__", name) == name or name.isupper()
            assert type(result).__name__ != "module"
    assert set(ic.__all__) <= set(dir(ic))
    with pytest.raises(AttributeError, match="attribute 'nothing'"):
        _ = ic.nothing
