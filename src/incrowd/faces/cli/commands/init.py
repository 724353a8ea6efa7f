"""`incrowd init`: the draft of a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.core.errors import ParameterError, quoted, those_are
from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.completing import names, program
from incrowd.faces.cli.flattening import Without
from incrowd.faces.cli.linked import are_tables, draft_tables, refuse_given
from incrowd.faces.cli.logs import LOG
from incrowd.faces.cli.parsing import names_of
from incrowd_gate.profiles import PROFILES, profile_lines, read_profile

if TYPE_CHECKING:
    from incrowd.core.table.schema import Role
    from incrowd.release.drafting.questions import Question
    from incrowd.release.jobs.compare.draft import Draft
    from incrowd.release.jobs.compare.draft_trial import Trial

_HEADINGS = (
    ("identifying", "left out"),
    ("person", "whose row it is, left out"),
    ("household", "who lives together, left out"),
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
"""Rows read from a stream."""
_WIDTH = 78
_QUESTION_COLUMNS = 6
"""Columns of a group printed with shapes of values."""
_LINES = 2
"""Most lines of names per role."""
_OF_THE_RUN = ("stream", "memory")
"""Options that say how the rows are read, and not how they are written."""


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
    codebook: Annotated[
        Path | None,
        typer.Option(
            "--codebook",
            metavar="FILE",
            help="A codebook of the table (REDCap's dictionary, DDI, Croissant): labels, missing codes, and "
            "proposals of roles.",
        ),
    ] = None,
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--tables",
            metavar="A,B",
            help="Also draft a count table of these columns: A by B. Again for more; tabulate makes them.",
        ),
    ] = None,
    omop: Annotated[
        bool, typer.Option("--omop", help="The folder has tables of OMOP; else their names and columns tell.")
    ] = False,
    fhir: Annotated[
        bool, typer.Option("--fhir", help="The folder has NDJSON files or bundles of FHIR; else they tell.")
    ] = False,
    force: options.Force = False,
) -> None:
    """Draft a policy: guessed roles, hierarchies, and questions.

    Answer every role = "?" before you use it, and read the rest. Of a folder, a pattern or a database the
    first million rows are looked at. Of a folder or a database of several tables their joins are found, too.
    """
    from incrowd.core.io.targets import writing
    from incrowd.engines import first_rows
    from incrowd.release.jobs.compare.draft import draft_policy

    rules = [] if profile is None else profile_lines(read_profile(profile))
    if ask and no_questions:
        raise ParameterError("--ask and --no-questions: say one of them")
    if omop and fhir:
        raise ParameterError("--omop and --fhir: say one of them")
    standard = "omop" if omop else "fhir" if fhir else None
    if are_tables(data, source.table, standard):
        refuse_given(
            source, profile=profile, codebook=codebook, tables=tables, ask=ask, no_questions=no_questions
        )
        draft_tables(data, output, standard=standard, force=force)
        return
    files = outputs.outputs_of(data, codebook, force=force)
    target = outputs.add_output(files, output)
    rows, csv_format, _ = source.open(data)
    table = first_rows(rows, _MOST)
    name = data.name if isinstance(data, Path) else str(source.table)
    source_label = name if table.height < _MOST or table is rows else f"the first {_MOST:,} rows of {name}"
    draft = draft_policy(
        table,
        source_label,
        tuple(null_value or ()),
        ask=not no_questions,
        answered=_answers if ask else None,
        labels=None if csv_format is None else csv_format.labels,
        missing_codes=None if csv_format is None else csv_format.missing_codes,
        codebook=codebook,
        counted=[name for each in tables or () for name in names_of(each)],
    )
    counted = [line for each in tables or () for line in _table_lines(each, table.columns)]
    text = draft.text + "".join(f"{line}\n" for line in [*counted, *rules])
    if target is None:
        typer.echo(text, nl=False)
    else:
        with files, writing(target) as place:
            place.write_text(text, encoding="utf-8", newline="\n")
    # Standard output may be the draft itself.
    arguments = [
        quote(str(data)),
        *(
            f"--{each.name.replace('_', '-')} {quote(str(value))}"
            for each in fields(source)
            if each.name not in _OF_THE_RUN and (value := getattr(source, each.name)) != each.default
        ),
    ]
    for line in _summary(draft, source_label, " ".join(arguments), output):
        LOG.say(line, err=target is None)


def _table_lines(text: str, columns: Sequence[str]) -> list[str]:
    """Return the ``[[tables]]`` of the option ``--tables age,sex``."""
    from incrowd.release.policy.toml_lines import toml_settings
    from incrowd.release.tables.layout import CountTable, name_of

    first, *others = names_of(text) or [""]
    for name in (first, *others):
        if name not in columns:
            raise ParameterError(
                f"--tables {text}: there is no column {quoted(name)}; {those_are(columns, name)}"
            )
    layout = CountTable(name_of("-by-".join([first, *others])) or "table", (first,), tuple(others))
    return ["", "[[tables]]", *toml_settings(layout.settings())]


def _answers(questions: list[Question]) -> dict[str, Role]:
    """Ask the questions on the terminal and return answered roles by column."""
    roles: dict[str, Role] = {}
    if questions:
        typer.echo(_HOW, err=True)
    # What tells most of a record comes first, so that three answers keep most of what can be kept.
    for number, question in enumerate(sorted(questions, key=lambda each: -each.bits), 1):
        several = len(question.names) > 1
        lines = ["", f"{number} of {len(questions)}. {question.text}"]
        if several:
            lines += [_column_line(question, name) for name in question.names[:_QUESTION_COLUMNS]]
            if len(question.names) > _QUESTION_COLUMNS:
                lines.append(f"   and {len(question.names) - _QUESTION_COLUMNS:,} more")
        else:
            lines += [f"   {shapes}"] if (shapes := _shapes(question, question.names[0])) else []
        answer = _answer(question, question.names, lines)
        for name in question.names:
            asks_each = answer == _EACH
            role = _answer(question, (name,), [_column_line(question, name)]) if asks_each else answer
            if role:
                roles[name] = role  # type: ignore[assignment]
    return roles


def _column_line(question: Question, name: str) -> str:
    """Format a column with name, label and shapes of values."""
    label = f" ({question.labels[name]})" if name in question.labels else ""
    shapes = _shapes(question, name)
    return f"   {name}{label}" + (f": {shapes}" if shapes else "")


def _shapes(question: Question, name: str) -> str:
    return ", ".join(question.shapes.get(name, ()))


def _answer(question: Question, names: Sequence[str], lines: Sequence[str]) -> str:
    """Prompt until the answer is a role allowed for `names`, ``each`` or empty."""
    several = len(names) > 1
    letters = {letter: role for letter, role in _LETTERS.items() if not (several and letter in "pw")}
    meanings: dict[str, str] = {**letters, **{role: role for role in letters.values()}, **_LEAVE, "": ""}
    if several:
        meanings |= {"e": _EACH, _EACH: _EACH}
    for line in lines:
        for part in _fold(line) or [""]:
            typer.echo(part, err=True)
    while True:
        answer: str = typer.prompt(
            "   your answer", default="", show_default=False, prompt_suffix=": ", err=True
        )
        role = meanings.get(" ".join(answer.lower().split()))
        if role is None:
            usable = ", ".join([*letters, *(["e"] if several else [])])
            hint = f"write one of {usable}, the word for it, or Enter alone"
        elif several and question.special and role == "insensitive":
            hint = (
                f"data on {question.special} is released only where each column is answered: write e, and "
                "answer one column after the other"
            )
        elif any(role in question.refused.get(name, ()) for name in names):
            hint = "nearly every row has its own value there, so it cannot be released as it is: write q or l"
        else:
            return str(role)
        for part in _fold(f"   {hint}"):
            typer.echo(part, err=True)


def _fold(line: str) -> list[str]:
    """Wrap a line for an 80-column terminal."""
    from textwrap import wrap

    begin = line[: len(line) - len(line.lstrip())]
    return wrap(
        " ".join(line.split()), _WIDTH, initial_indent=begin, subsequent_indent=begin + "   ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _summary(draft: Draft, name: str, arguments: str, output: Path | None) -> list[str]:
    """Return lines with roles, questions, warnings and the next commands."""
    policy = "policy.toml" if output is None else str(output)
    lines = [f"{name}: {draft.rows:,} rows, {len(draft.guesses):,} columns"]
    unanswered = set(draft.unanswered)
    for role, title in _HEADINGS:
        names = [name for name in draft.having(role) if name not in unanswered]
        if names:
            lines += _name_lines(f"{title} ({len(names)}): ", names)
    if draft.unanswered:
        title = f"left out, since nobody was asked ({len(draft.unanswered)}): "
        lines += _name_lines(title, draft.unanswered)
    if draft.questions:
        lines.append(f"QUESTIONS ({len(draft.questions)}):")
        for question in draft.questions:
            mark = "" if question.mark == "?" else f"{question.mark} "
            lines.append(_shorten(f"  {mark}{question.text}"))
    lines += _warning_lines(draft)
    if draft.trial is not None:
        lines += _trial_lines(draft.trial, draft.rows)
    open_ = len(draft.questions) + len(draft.unread)
    lines.append("" if output is None else f"written: {output}")
    if open_:
        questions = "the question" if open_ == 1 else f"all {open_} questions"
        lines.append(f'1. Answer {questions} ("?") in {policy} (or here: --ask).')
    else:
        lines.append(f"1. Check every role in {policy}.")
    arguments += f" --policy {quote(policy)}"
    lines.append(f"2. {program()} assess {arguments}")
    lines.append(f"3. {program()} anonymize {arguments} -o release.csv")
    return lines


def _warning_lines(draft: Draft) -> list[str]:
    """Return warnings about the columns of a draft."""
    lines = []
    if draft.kept_open:
        lines.append("! no quasi-identifier is known that records share, so questions stay in spite")
        lines.append("    of --no-questions: name at least one among them")
    elif not draft.having("quasi"):
        lines.append("! no quasi-identifier was recognized: name at least one among the questions")
    if draft.repeated:
        lines += _name_lines("! ids that repeat; give the one of people the role person: ", draft.repeated)
    if draft.telling:
        pairs = [f"{_short_name(one)} > {_short_name(other)}" for one, other in draft.telling]
        lines += _name_lines("! columns that tell others, so hide both or none: ", pairs)
    if draft.look_alikes:
        columns = [f"{_short_name(name)} ({values})" for name, values in draft.look_alikes]
        lines += _name_lines(
            "! values that differ only in case or blanks; treat = { fold = true }: ", columns
        )
    if draft.rounded:
        lines += _name_lines("! released rounded, since few rows share the exact number: ", draft.rounded)
    if draft.spelled:
        lines += _name_lines("! numbers or dates in a spelling of their own: ", draft.spelled)
    if draft.undescribed:
        lines += _name_lines("! columns that the codebook does not describe: ", list(draft.undescribed))
    if draft.unread:
        asked = "which is day and month, or what a point or a comma means"
        lines += _name_lines(f"! QUESTION, {asked}: ", draft.unread)
    if draft.answered_variously:
        heading = "! yes and no in several spellings, each counts as a value; write them one way: "
        lines += _name_lines(heading, draft.answered_variously)
    fillers = list(dict.fromkeys(text for _, text, _ in draft.fillers))
    if fillers:
        lines += _name_lines("! probably missing values, see null_values: ", [repr(text) for text in fillers])
    return lines


def _trial_lines(trial: Trial, rows: int) -> list[str]:
    """Return lines on the draft's trial run: verdict, open points and changes."""
    from incrowd.core.documents import loss_in_words
    from incrowd_gate.wording import at_most

    on = "" if trial.rows == rows else f" on {trial.rows:,} of {rows:,} rows"
    if trial.problem:
        return _fold(f"! tried{on}, and this draft does NOT run: {trial.problem}")
    assert trial.suppressed is not None
    assert trial.loss is not None
    assert trial.verdict is not None
    return [
        f"tried{on}: {at_most(trial.suppressed)} suppressed, {loss_in_words(trial.loss)} lost",
        _shorten(trial.verdict.text),
        *(_shorten(f"  {point.sentence()}") for point in trial.verdict.open),
        *(_shorten(f"! changed so that it runs: {each}") for each in trial.mended),
        *(_shorten(f"! changed so that it holds: {each}") for each in trial.remedies),
    ]


def _shorten(line: str) -> str:
    plain = " ".join(line.split()) if not line.startswith(" ") else "  " + " ".join(line.split())
    return plain if len(plain) <= _WIDTH else plain[: _WIDTH - 3].rpartition(" ")[0] + " ..."


def _name_lines(title: str, names: list[str]) -> list[str]:
    """Format a title and as many names as fit in two lines, with the number of omitted names."""
    from textwrap import wrap

    # A name needs two characters at least, with the comma.
    for count in range(min(len(names), _LINES * _WIDTH // 2), -1, -1):
        more = f"and {len(names) - count} more" if count < len(names) else ""
        text = title + ", ".join([*(_short_name(name) for name in names[:count]), *([more] if more else [])])
        lines = wrap(text, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)
        if len(lines) <= _LINES:
            return lines
    return [title]


def _short_name(name: str) -> str:
    plain = " ".join(name.split())
    return plain if len(plain) <= 30 else plain[:27] + "..."
