"""`incrowd init`: the draft of a policy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.core.errors import ParameterError
from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.calling import program
from incrowd.faces.cli.completing import names
from incrowd.faces.cli.flattening import Without
from incrowd.faces.cli.logs import LOG
from incrowd_verify.profiles import PROFILES, profile_lines, read_profile

if TYPE_CHECKING:
    from incrowd.core.table.schema import Role
    from incrowd.release.drafting.questions import Question
    from incrowd.release.jobs.draft import Draft
    from incrowd.release.jobs.draft_trial import Trial

_HEADINGS = (
    ("identifying", "left out"),
    ("person", "whose row it is, left out"),
    ("weight", "sampling weights, left out"),
    ("quasi", "quasi-identifiers"),
    ("sensitive", "sensitive"),
    ("insensitive", "released as they are"),
)
_LETTERS: dict[str, Role] = {
    "q": "quasi",
    "s": "sensitive",
    "i": "insensitive",
    "l": "identifying",
    "p": "person",
    "w": "weight",
}
_EACH = "each"
_LEAVE = {"leave": "identifying", "leave out": "identifying"}
_HOW = """For each question, write a letter or the word, and Enter:
  q  quasi        others may know it, so it is generalized
  s  sensitive    nobody must learn it about a person
  i  insensitive  neither, released as it is
  l  identifying  leave it out
  p  person       it says whose row it is
  w  weight       a sampling weight
  e  each         ask about each column of the group
Enter alone leaves the question for later. Behind a name are shapes of its
frequent values: A and a for letters, 9 for digits."""
_MOST = 1_000_000
"""Rows that are looked at where they stream."""
_WIDTH = 78
_SHOWN = 6
"""Columns of a group that are shown with their shapes."""
_LINES = 2
"""Lines of names per role."""


def init(
    data: options.FileOrAddress,
    source: Annotated[option_groups.TableOptions, Without("stream", "memory")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The policy file; standard output by default.")
    ] = None,
    null_value: options.NullValues = None,
    no_questions: Annotated[
        bool,
        typer.Option(
            "--no-questions",
            help="Leave out every column that there would be a question about; the draft is tried. Where no "
            "quasi-identifier is known, the questions stay.",
        ),
    ] = False,
    ask: Annotated[
        bool,
        typer.Option("--ask", help="Ask the questions here, one after the other; of like columns together."),
    ] = False,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="The rules that verify checks the release by; `list profiles` names them.",
            autocompletion=names(PROFILES),
        ),
    ] = None,
    force: options.Force = False,
) -> None:
    """Draft a policy: guessed roles, hierarchies, and questions.

    Answer every role = "?" before you use it, and read the rest. Of a folder, a pattern or a database the
    first million rows are looked at.
    """
    from incrowd.core.io.targets import writing
    from incrowd.engines import first_rows
    from incrowd.release.jobs.draft import draft_policy

    rules = [] if profile is None else profile_lines(read_profile(profile))
    if ask and no_questions:
        raise ParameterError("--ask and --no-questions: say one of them")
    written = outputs.outputs_of(data, force=force)
    target = outputs.added(written, output)
    rows, csv_format, _ = source.open(data)
    table = first_rows(rows, _MOST)
    name = data.name if isinstance(data, Path) else str(source.table)
    looked = name if table.height < _MOST or table is rows else f"the first {_MOST:,} rows of {name}"
    draft = draft_policy(
        table,
        looked,
        tuple(null_value or ()),
        ask=not no_questions,
        answered=_answers if ask else None,
        labels=None if csv_format is None else csv_format.labels,
        missing_codes=None if csv_format is None else csv_format.missing_codes,
    )
    text = draft.text + "".join(f"{line}\n" for line in rules)
    if target is None:
        typer.echo(text, nl=False)
    else:
        with written, writing(target) as place:
            place.write_text(text, encoding="utf-8", newline="\n")
    # The draft itself may go through a pipe.
    given = [
        quote(str(data)),
        *(
            f"--{key.replace('_', '-')} {quote(str(value))}"
            for key in ("table", "sheet", "header_row")
            if (value := getattr(source, key))
        ),
    ]
    for line in _account(draft, looked, " ".join(given), output):
        LOG.say(line, err=target is None)


def _answers(questions: list[Question]) -> dict[str, Role]:
    """Ask the questions on the terminal, and return the roles of the columns that were answered."""
    found: dict[str, Role] = {}
    if questions:
        typer.echo(_HOW, err=True)
    for number, question in enumerate(questions, 1):
        several = len(question.names) > 1
        lines = ["", f"{number} of {len(questions)}. {question.text}"]
        if several:
            lines += [_shown(question, name) for name in question.names[:_SHOWN]]
            if len(question.names) > _SHOWN:
                lines.append(f"   and {len(question.names) - _SHOWN:,} more")
        else:
            lines += [f"   {shapes}"] if (shapes := _shapes(question, question.names[0])) else []
        answer = _answer(question, question.names, lines)
        for name in question.names:
            own = answer == _EACH
            role = _answer(question, (name,), [_shown(question, name)]) if own else answer
            if role:
                found[name] = role  # type: ignore[assignment]
    return found


def _shown(question: Question, name: str) -> str:
    """Write a column of a question: its name, its label and the shapes of its values."""
    label = f" ({question.labels[name]})" if name in question.labels else ""
    shapes = _shapes(question, name)
    return f"   {name}{label}" + (f": {shapes}" if shapes else "")


def _shapes(question: Question, name: str) -> str:
    return ", ".join(question.shapes.get(name, ()))


def _answer(question: Question, names: Sequence[str], lines: Sequence[str]) -> str:
    """Ask about columns until the answer is a role that they can have, ``each``, or nothing."""
    several = len(names) > 1
    letters = {letter: role for letter, role in _LETTERS.items() if not (several and letter in "pw")}
    known: dict[str, str] = {**letters, **{role: role for role in letters.values()}, **_LEAVE, "": ""}
    if several:
        known |= {"e": _EACH, _EACH: _EACH}
    for line in lines:
        for part in _filled(line) or [""]:
            typer.echo(part, err=True)
    while True:
        answer: str = typer.prompt(
            "   your answer", default="", show_default=False, prompt_suffix=": ", err=True
        )
        role = known.get(" ".join(answer.lower().split()))
        if role is None:
            usable = ", ".join([*letters, *(["e"] if several else [])])
            told = f"write one of {usable}, the word for it, or Enter alone"
        elif several and question.special and role == "insensitive":
            told = (
                f"data on {question.special} is released only where each column is answered: write e, and "
                "answer one column after the other"
            )
        elif any(role in question.refused.get(name, ()) for name in names):
            told = "nearly every row has its own value there, so it cannot be released as it is: write q or l"
        else:
            return str(role)
        for part in _filled(f"   {told}"):
            typer.echo(part, err=True)


def _filled(line: str) -> list[str]:
    """Break a line between words, so that it fits an 80-column terminal."""
    from textwrap import wrap

    begin = line[: len(line) - len(line.lstrip())]
    return wrap(
        " ".join(line.split()), _WIDTH, initial_indent=begin, subsequent_indent=begin + "   ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _account(draft: Draft, name: str, given: str, output: Path | None) -> list[str]:
    """Print the findings, the questions and the next command on one screen."""
    policy = "policy.toml" if output is None else str(output)
    lines = [f"{name}: {draft.rows:,} rows, {len(draft.guesses):,} columns"]
    unanswered = set(draft.unanswered)
    for role, title in _HEADINGS:
        names = [name for name in draft.having(role) if name not in unanswered]
        if names:
            lines += _wrapped(f"{title} ({len(names)}): ", names)
    if draft.unanswered:
        title = f"left out, since nobody was asked ({len(draft.unanswered)}): "
        lines += _wrapped(title, draft.unanswered)
    if draft.questions:
        lines.append(f"QUESTIONS ({len(draft.questions)}):")
        for question in draft.questions:
            mark = "" if question.mark == "?" else f"{question.mark} "
            lines.append(_cut(f"  {mark}{question.text}"))
    lines += _warnings(draft)
    if draft.trial is not None:
        lines += _tried(draft.trial, draft.rows)
    open_ = len(draft.questions) + len(draft.unread)
    lines.append("" if output is None else f"written: {output}")
    if open_:
        questions = "the question" if open_ == 1 else f"all {open_} questions"
        lines.append(f'1. Answer {questions} ("?") in {policy} (or here: --ask).')
    else:
        lines.append(f"1. Check every role in {policy}.")
    given += f" --policy {quote(policy)}"
    lines.append(f"2. {program()} assess {given}")
    lines.append(f"3. {program()} anonymize {given} -o release.csv")
    return lines


def _warnings(draft: Draft) -> list[str]:
    """Print the findings about the columns of a draft."""
    lines = []
    if draft.kept_open:
        lines.append("! no quasi-identifier is known that records share, so questions stay in spite")
        lines.append("    of --no-questions: name at least one among them")
    elif not draft.having("quasi"):
        lines.append("! no quasi-identifier was recognized: name at least one among the questions")
    if draft.repeated:
        lines += _wrapped("! ids that repeat; give the one of people the role person: ", draft.repeated)
    if draft.telling:
        pairs = [f"{_short(one)} > {_short(other)}" for one, other in draft.telling]
        lines += _wrapped("! columns that tell others, so hide both or none: ", pairs)
    if draft.rounded:
        lines += _wrapped("! released rounded, since few rows share the exact number: ", draft.rounded)
    if draft.spelled:
        lines += _wrapped("! numbers or dates in a spelling of their own: ", draft.spelled)
    if draft.unread:
        lines += _wrapped("! QUESTION, which is day and month, or what a comma means: ", draft.unread)
    if draft.answered_variously:
        heading = "! yes and no in several spellings, each counts as a value; write them one way: "
        lines += _wrapped(heading, draft.answered_variously)
    fillers = list(dict.fromkeys(text for _, text, _ in draft.fillers))
    if fillers:
        lines += _wrapped("! probably missing values, see null_values: ", [repr(text) for text in fillers])
    return lines


def _tried(trial: Trial, rows: int) -> list[str]:
    """Print the verdict of the release that a draft makes, its open points, and the changes."""
    from incrowd_verify.gate.wording import at_most, percent

    on = "" if trial.rows == rows else f" on {trial.rows:,} of {rows:,} rows"
    if trial.problem:
        return _filled(f"! tried{on}, and this draft does NOT run: {trial.problem}")
    assert trial.suppressed is not None
    assert trial.loss is not None
    assert trial.verdict is not None
    return [
        f"tried{on}: {at_most(trial.suppressed)} suppressed, {percent(trial.loss)} lost",
        _cut(trial.verdict.text),
        *(_cut(f"  {point.sentence()}") for point in trial.verdict.open),
        *(_cut(f"! changed so that it runs: {each}") for each in trial.mended),
        *(_cut(f"! changed so that it holds: {each}") for each in trial.remedies),
    ]


def _cut(line: str) -> str:
    plain = " ".join(line.split()) if not line.startswith(" ") else "  " + " ".join(line.split())
    return plain if len(plain) <= _WIDTH else plain[: _WIDTH - 3].rpartition(" ")[0] + " ..."


def _wrapped(title: str, names: list[str]) -> list[str]:
    """List names after a title on two lines at most; of many the first ones and how many more."""
    from textwrap import wrap

    # More names than half as many as there are signs have no room beside their commas.
    for shown in range(min(len(names), _LINES * _WIDTH // 2), -1, -1):
        more = f"and {len(names) - shown} more" if shown < len(names) else ""
        text = title + ", ".join([*(_short(name) for name in names[:shown]), *([more] if more else [])])
        lines = wrap(text, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)
        if len(lines) <= _LINES:
            return lines
    return [title]


def _short(name: str) -> str:
    plain = " ".join(name.split())
    return plain if len(plain) <= 30 else plain[:27] + "..."
