"""The blocks of a page, run in order as by a reader, with outputs compared with the page.

- `sh`: commands of `incrowd` run in this process; what sets a machine up (`pip`, `make`) is passed over. A command
  must end with status 0, or with the N of a comment `# exit status N` behind it.
- `python`: all blocks of a page share one scope.
- `text` right below such a block is what it prints; `...` stands for whatever else is printed there.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

__all__ = ["Block", "blocks", "commands", "run", "same", "shell"]

RUN = ("sh", "python")
SET_UP = ("pip", "pipx", "uvx", "make")
FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass
class Block:
    """Code of a page, the line, and the output if the page shows any."""

    language: str
    code: str
    line: int
    printed: str | None = None


def blocks(text: str) -> list[Block]:
    """Return the code blocks of a page."""
    result: list[Block] = []
    end = -1
    for fence in FENCE.finditer(text):
        language, code = fence[1], fence[2]
        if language in RUN:
            result.append(Block(language, code, text.count("\n", 0, fence.start()) + 1))
            end = fence.end()
        elif language == "text" and result and not text[end : fence.start()].strip() and end >= 0:
            result[-1].printed = code
            end = -1
    return result


def commands(code: str) -> Iterator[tuple[str, int]]:
    """Yield the commands of a shell block, each with the required status."""
    lines = iter(code.replace("\\\n", " ").splitlines())
    for line in lines:
        command, _, remark = line.partition(" # ") if "<<" not in line else (line, "", "")
        if not command.strip() or command.startswith("#"):
            continue
        if here := re.search(r"<<'(\w+)'", command):
            body = [command]
            while body[-1] != here[1]:
                body.append(next(lines))
            command = "\n".join(body) + "\n"
        status = re.search(r"exit status (\d)", remark)
        yield command.strip(), int(status[1]) if status else 0


def _incrowd(arguments: list[str]) -> int:
    """Run a command in this process and return the status."""
    from incrowd.faces.cli import main

    before = sys.argv
    sys.argv = ["incrowd", *arguments]
    try:
        with warnings.catch_warnings():
            main()
    except SystemExit as stop:
        return int(stop.code or 0)
    finally:
        sys.argv = before
    return 0


def shell(code: str, where: str) -> None:
    """Run the commands of a block, and print the output."""
    for command, expected in commands(code):
        program = command.split(maxsplit=1)[0]
        if program in SET_UP:
            continue
        if program == "cd":
            os.chdir(command.split()[1])
            continue
        if program == "incrowd":
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors):
                status = _incrowd(shlex.split(command)[1:])
            output = errors.getvalue()
        else:
            # The Python of the page is the one that runs the tests.
            words = re.sub(r"^incrowd-verify\b", "python -m incrowd_verify", command)
            words = re.sub(r"^python\b", shlex.quote(sys.executable), words)
            process = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=False)
            status = process.returncode
            output = process.stdout + process.stderr
        sys.stdout.write(output)
        assert status == expected, f"{where}: `{command}` ended with {status}\n{output}"


def same(said: str, printed: str, where: str) -> None:
    """Compare the page's text with the output, where ``...`` stands for any output."""
    expected = "".join(f"{line.rstrip()}\n" for line in said.splitlines())
    text = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    if not doctest.OutputChecker().check_output(expected, text, doctest.ELLIPSIS):
        pytest.fail(f"{where}: the page says\n{expected}\nand what is printed is\n{text}", pytrace=False)


@dataclass
class Page:
    """A page that is being run."""

    name: str
    scope: dict[str, Any] = field(default_factory=dict)

    def run(self, block: Block) -> None:
        """Run a block and compare the output."""
        where = f"{self.name}:{block.line}"
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            if block.language == "sh":
                shell(block.code, where)
            else:
                exec(compile(block.code, where, "exec"), self.scope)
        if block.printed is not None:
            same(block.printed, stream.getvalue(), where)


def run(name: str, text: str) -> dict[str, Any]:
    """Run every block of a page in the current folder, and return the names of the Python blocks."""
    page = Page(name)
    for block in blocks(text):
        page.run(block)
    return page.scope
