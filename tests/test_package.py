"""What is shipped beside the package."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def steps() -> list[list[str]]:
    """Return the instructions of the Dockerfile as words."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line]


def test_the_image_is_built_of_what_is_there_and_of_nothing_else():
    """The file that says what the build may see names just what the build copies."""
    copied = {each.removeprefix("./") for step in steps() if step[0] == "COPY" for each in step[1:-1]}
    copied -= {"--from=wheel", "/wheel"}
    assert all((ROOT / name).exists() for name in copied)
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    assert {line.removeprefix("!") for line in ignored if line.startswith("!")} == copied
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {project["readme"], *project["license-files"], "pyproject.toml"} <= copied


def test_the_image_has_a_python_that_is_tested_and_no_root():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for step in steps():
        if step[0] == "FROM":
            version = re.fullmatch(r"python:([\d.]+)-slim", step[1])[1]
            assert f"Programming Language :: Python :: {version}" in project["classifiers"]
    words = [step[0] for step in steps()]
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert [step for step in steps() if step[0] == "ENTRYPOINT"] == [["ENTRYPOINT", "[incrowd]"]]
