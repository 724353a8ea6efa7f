"""Messages name settings in the reader's terms."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from incrowd.core.errors import setting
from incrowd.faces.studio.page_words import in_the_page
from incrowd_gate.errors import on_the_command_line, options_taken


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


def test_the_page_names_its_fields_and_roles_and_else_arguments():
    with on_the_command_line():
        in_the_page()
        assert shown() == "force=True"
        assert setting("CsvFormat(encoding='latin-1')", "--encoding latin-1") == "the field Encoding"
        assert setting("person=", "--person") == "the role person"


def test_a_command_that_is_called_in_python_leaves_the_words_of_python():
    options_taken(["policy"])
    assert setting("force=True", "--force") == "force=True"
