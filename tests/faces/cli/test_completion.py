"""A tab in the shell completes commands, options and names."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from incrowd.faces.cli.completing import SHELLS
from incrowd.search import ALGORITHMS


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_printed_for_each_shell(run, shell):
    result = run("completion", shell)
    assert result.status == 0
    assert "_INCROWD_COMPLETE=complete_" + shell in result.out.replace("env ", "")


def test_another_shell_is_refused(run):
    result = run("completion", "cmd")
    assert result.status == 2
    assert "'cmd' is none of bash, zsh, fish" in result.err


def offered(run, monkeypatch, words: str) -> list[str]:
    """Return bash's offers for the last word, which a blank ends if the word is empty."""
    monkeypatch.setenv("_INCROWD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    return run().out.split()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("incrowd anon", ["anonymize"]),
        ("incrowd hierarchy ", ["check", "show", "convert"]),
        ("incrowd anonymize x.csv --max", ["--max-suppression"]),
        ("incrowd anonymize x.csv --algorithm m", [name for name in ALGORITHMS.names() if name[0] == "m"]),
        ("incrowd assess x.csv --help", ["--help-all", "--help"]),
        ("incrowd assess --model t-", ["t-closeness"]),
        ("incrowd assess --wildcards m", ["matches-any"]),
        ("incrowd list t", ["treatments"]),
        ("incrowd completion z", ["zsh"]),
        ("incrowd anonymize --output x", []),
    ],
)
def test_a_tab_offers_what_may_stand_there(run, monkeypatch, words, wanted):
    assert offered(run, monkeypatch, words) == wanted


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_with_the_script(tmp_path, monkeypatch):
    command = tmp_path / "incrowd"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m incrowd "$@"\n')
    command.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    script = (
        'eval "$(incrowd completion bash)"; complete -p incrowd; COMP_WORDS=(incrowd verify --row); '
        'COMP_CWORD=2; _incrowd_completion incrowd; echo "${COMPREPLY[@]}"'
    )
    process = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout.splitlines() == [
        "complete -o default -F _incrowd_completion incrowd", "--row-map",
    ]  # fmt: skip
