"""`incrowd course`: list or copy the lessons of the course."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.core.errors import INSTALL
from incrowd.faces.cli import options
from incrowd.faces.cli.logs import LOG


def _complete_lesson(incomplete: str) -> list[str]:
    from incrowd.faces.cli.completing import names
    from incrowd.works.course.lessons import lessons

    return names([each.name for each in lessons()])(incomplete)


def course(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="LESSON|all",
            help="The lesson to copy, by its name or number. Without it, the lessons are listed.",
            autocompletion=_complete_lesson,
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the notebooks.")
    ] = Path(),
    no_answers: Annotated[
        bool, typer.Option("--no-answers", help="Leave out the hidden answers and the notes for teachers.")
    ] = False,
    force: options.Force = False,
) -> None:
    """List or copy the lessons of a course, with exercises.

    They are notebooks, and take a class three hours: who can be found in a table, pseudonyms, k-anonymity,
    l-diversity, t-closeness, Mondrian, Anatomy, harm to groups, a real census, and attacks.
    """
    from incrowd.core.io.targets import Outputs, writing
    from incrowd.works.course.lessons import lesson, lessons

    if name is None:
        lines = [f"{each.number}  {each.name:11}{each.minutes} min  {each.title}" for each in lessons()]
        LOG.say("\n".join([*lines, "", "incrowd course LESSON copies one, incrowd course all copies all."]))
        return
    copies = lessons() if name == "all" else (lesson(name),)
    with Outputs(force=force) as outputs:
        for target, each in [(outputs.add(output / each.file, parents=True), each) for each in copies]:
            with writing(target) as path:
                path.write_text(each.written(answers=not no_answers), encoding="utf-8", newline="\n")
    LOG.say("\n".join(f"written: {output / each.file}" for each in copies))
    LOG.say(f"To open them: {INSTALL.format(extra='course')}, then jupyter lab")
