"""The files beside the package in a shipment."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from incrowd.core.errors import INSTALL

ROOT = Path(__file__).resolve().parents[1]


IMAGES = ("Dockerfile", "channels/Dockerfile")


def steps(image: str) -> list[list[str]]:
    """Return the instructions of a Dockerfile as words."""
    text = (ROOT / image).read_text(encoding="utf-8")
    lines = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line]


def test_the_image_is_built_of_what_is_there_and_of_nothing_else():
    """The file of the build's visible paths names just the paths that the build copies."""
    copied = {
        each.removeprefix("./")
        for image in IMAGES
        for step in steps(image)
        if step[0] == "COPY"
        for each in step[1:-1]
    }
    copied -= {"--from=wheel", "/wheel"}
    # A bundle is made beforehand.
    assert all((ROOT / name).exists() for name in copied - {"bundle"})
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    assert {line.removeprefix("!") for line in ignored if line.startswith("!")} == copied
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {project["readme"], *project["license-files"], "pyproject.toml"} <= copied


@pytest.mark.parametrize("image", IMAGES)
def test_the_image_has_a_python_that_is_tested_and_no_root(image):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for step in steps(image):
        if step[0] == "FROM":
            version = re.fullmatch(r"python:([\d.]+)-slim", step[1])[1]
            assert f"Programming Language :: Python :: {version}" in project["classifiers"]
    words = [step[0] for step in steps(image)]
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert [step for step in steps(image) if step[0] == "ENTRYPOINT"] == [["ENTRYPOINT", "[incrowd]"]]


def test_everything_says_how_to_install_what_there_is():
    """No version is published, so a version would find nothing, and a release changes the one constant."""
    way = INSTALL.partition("[")[0]
    other = {"pip install '.": "incrowd[", "pip install 'incrowd": "pip install '.["}[way]
    pages = [ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md", "Makefile", "Dockerfile")]
    for folder, kinds in (
        ("docs", ("md", "ipynb", "py")),
        ("examples", ("md", "py", "sh")),
        ("src", ("py",)),
        ("gate", ("md", "py")),
        ("verify", ("md", "py")),
    ):
        pages += [path for kind in kinds for path in (ROOT / folder).rglob(f"*.{kind}")]
    lines = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in pages
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if other in line and not line.startswith(("INSTALL =", '"""How an extra is installed.'))
    ]
    assert (len(pages) > 500, lines) == (True, [])
    for page in pages:
        if page.suffix == ".md" and "dist/incrowd" not in (text := page.read_text(encoding="utf-8")):
            assert not re.search(r"(uvx|pipx run|pip install) incrowd\b", text), page
