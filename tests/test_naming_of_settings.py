"""Messages name settings in the reader's terms."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor

import pytest

from incrowd.core.errors import VerdictError, setting
from incrowd.faces.studio.page_words import in_the_page
from incrowd_gate import wording
from incrowd_gate.errors import on_the_command_line, options_taken
from incrowd_gate.verdict import Verdict
from package_sources import nodes, sources


def shown() -> str:
    return setting("force=True", "--force")


def test_a_command_names_options_and_python_arguments():
    assert shown() == "force=True"
    with on_the_command_line():
        assert shown() == "--force"
    assert shown() == "force=True"


def test_a_thread_beside_a_command_names_arguments():
    with on_the_command_line(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(shown).result() == "force=True"
        assert shown() == "--force"


def test_a_command_names_the_policy_file_for_an_option_that_it_lacks():
    with on_the_command_line():
        options_taken(["policy"])
        assert setting("wildcards", "--wildcards") == "wildcards in the policy file"
    with on_the_command_line():
        assert setting("wildcards", "--wildcards") == "--wildcards"


def test_the_page_names_its_fields_and_roles_and_else_words():
    with on_the_command_line():
        in_the_page()
        assert shown() == "the setting force"
        assert setting("max_suppression=", "--max-suppression") == "the limit on suppression"
        assert setting("wildcards='value'", "--wildcards value") == (
            "the setting wildcards in the panel Limits (value)"
        )
        assert setting("CsvFormat(encoding='latin-1')", "--encoding big5") == "the field Encoding (big5)"
        assert setting("person=", "--person") == "the role person"
        assert setting('unanswered="write"', "--unanswered write") == ""


def test_a_command_that_is_called_in_python_leaves_the_words_of_python():
    options_taken(["policy"])
    assert setting("force=True", "--force") == "force=True"


def _settings() -> set[tuple[str, str]]:
    """Return argument and option of each setting that the sources name, with a value in place of what varies."""
    calls = set()
    for path in sources():
        for node in nodes(path):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setting":
                texts = [
                    "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "7"
                        for part in ast.walk(each)
                        if isinstance(part, ast.Constant | ast.FormattedValue)
                    )
                    for each in node.args[:2]
                ]
                if len(texts) == 2 and texts[1]:
                    calls.add((texts[0], texts[1].strip()))
    return calls


def test_the_page_never_names_an_argument_an_option_or_a_table_of_a_file():
    with on_the_command_line():
        in_the_page()
        named = {option: setting(argument, option) for argument, option in _settings()}
    assert len(named) > 60
    assert not {option: text for option, text in named.items() if set("=[]") & set(text) or "--" in text}


@pytest.mark.gated
def test_the_page_says_nothing_of_a_setting_that_it_lacks():
    open_point = Verdict((wording.personal_text("a", {"mail addresses": (1, 0.1)}, 0.1),))
    with pytest.raises(VerdictError, match=r"(?s)release it all the same.*unanswered="):
        open_point.refuse()
    with on_the_command_line():
        in_the_page()
        with pytest.raises(VerdictError) as refusal:
            open_point.refuse()
    assert "all the same" not in str(refusal.value)
