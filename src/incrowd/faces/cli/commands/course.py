"""`incrowd course`: list or copy the lessons of the course."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.core.errors import INSTALL
from incrowd.faces.cli import options
from incrowd.faces.cli.logs import LOG


def _complete_lesson(incomplete: str) -> list[str]:
    from incrowd.course.lessons import lessons
    from incrowd.faces.cli.completing import names

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
    own: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder with lessons and tables of your own, which join those of the course.",
            show_default=False,
        ),
    ] = None,
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
    from incrowd.course.lessons import copies, lesson, lessons_beside

    among = lessons_beside(own)
    if name is None:
        lines = [
            f"{each.number:3}{each.name:11}{f'{each.minutes} min' if each.minutes else '':8}{each.title}"
            for each in among
        ]
        LOG.say("\n".join([*lines, "", "incrowd course LESSON copies one, incrowd course all copies all."]))
        return
    chosen = among if name == "all" else [lesson(name, among)]
    written = copies(chosen, own, answers=not no_answers)
    with Outputs(own, force=force) as outputs:
        for target, data in [
            (outputs.add(output / file, parents=True), data) for file, data in written.items()
        ]:
            with writing(target) as path:
                path.write_bytes(data)
    LOG.say("\n".join(f"written: {output / file}" for file in written))
    LOG.say(f"To open them: {INSTALL.format(extra='course')}, then jupyter lab")
