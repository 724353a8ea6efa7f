"""Downloads of the page: the release, and the means to repeat the release without the page."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.core.io.addresses import is_scan
from incrowd.core.io.kinds.files import usual_suffix
from incrowd.core.io.targets import INTERNAL
from incrowd.faces.studio.tables import called, option_words, packed

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.progress import Progress
    from incrowd.faces.studio.work import Work
    from incrowd.release.jobs.make.release import Release
    from incrowd.release.linked import LinkedPolicy
    from incrowd.release.policy.policy import Policy

_POLICY = "policy.toml"
_RELEASE = "release"
_TABLES = "tables"


def command(work: Work) -> str:
    """Return the command line that makes the release again, beside the policy file."""
    beside = {"population": work.population, **_about_report(work)}
    return _command(work, "anonymize", release_name(work), beside)


def tables_command(work: Work) -> str:
    """Return the command line that makes the count tables again, beside the policy file."""
    return _command(work, "tabulate", _TABLES, {})


def _command(work: Work, command: str, output: str, beside: dict[str, str | None]) -> str:
    """Return a command line on the table, with the window's way of reading."""
    assert work.source is not None
    named = {
        "policy": _POLICY,
        "output": output,
        **(given := _format(work.csv_format)),
        "names": ",".join(given.get("names", ())) or None,
        "table": work.source.table,
        **beside,
    }
    words = ["incrowd", command, work.source.name, *option_words(named)]
    return shlex.join([*words, *(f"--{flag}" for flag in ("stream",) if _opened(work))])


def _about_report(work: Work) -> dict[str, str]:
    """Return the options of the report for a first page with a recipient or a purpose."""
    about = {name: text for name, text in work.about.items() if text}
    return {"report": "report.html", **about} if about else {}


def check(work: Work) -> str:
    """Return the command line that checks the release in the unpacked archive of `published_file`."""
    named = {
        "policy": f"{_RELEASE}/{_POLICY}",
        "account": f"{_RELEASE}/release.json",
        **{name: value for name, value in _format(work.csv_format).items() if name not in ("sheet", "names")},
        "population": work.population,
    }
    return shlex.join(["incrowd", "verify", f"{_RELEASE}/{release_name(work)}", *option_words(named)])


def script(work: Work) -> str:
    """Return the Python script that makes the release again, beside the policy file."""
    assert work.source is not None
    csv_format, name = _format(work.csv_format), repr(work.source.name)
    lines = ["import incrowd as ic", "", f"policy = ic.Policy.read({_POLICY!r})"]
    table, beside = name, ""
    if csv_format:
        inner = ", ".join(f"{option}={value!r}" for option, value in csv_format.items())
        lines.append(f"csv_format = ic.CsvFormat({inner})")
        beside = ", csv_format=csv_format"
    if work.source.table is not None:
        table = f"database.table({work.source.table!r})"
    elif _opened(work):
        table, beside = f"ic.scan({name}{beside})", ""
    if work.population is not None:
        beside += f", population={work.population!r}"
    call = f"release = ic.anonymize({table}, policy{beside})"
    release = [call, f"release.write({release_name(work)!r})"]
    if about := _about_report(work):
        path = about.pop("report")
        told = "".join(f", {option}={text!r}" for option, text in about.items())
        release.append(f"release.report({path!r}, file={release_name(work)!r}{told})")
    if work.source.table is not None:
        lines.append(f"with ic.Database({name}) as database:")
        release = [f"    {line}" for line in release]
    return "\n".join([*lines, *release, "print(*release.sentences(), sep='\\n')"]) + "\n"


def _opened(work: Work) -> bool:
    """Say whether a single file is opened to stream; folders always are."""
    assert work.source is not None
    return work.source.database is None and work.streams and not is_scan(work.source.path)


def _format(csv_format: CsvFormat | None) -> dict[str, Any]:
    """Return the options for a file in another than the plain format."""
    if csv_format is None:
        return {}
    parts = {
        "delimiter": csv_format.delimiter,
        "encoding": csv_format.encoding,
        "names": csv_format.names,
        "sheet": None if csv_format.kept is None else csv_format.kept.sheet,
    }
    return {name: value for name, value in parts.items() if value not in (None, ",", "utf-8", ())}


def _released(work: Work) -> Release:
    """Return the release if the verdict holds."""
    assert work.release is not None
    work.release.verdict.refuse()
    return work.release


def release_file(work: Work, progress: Progress) -> tuple[Path, str]:
    """Write the release once among the window's files, with checks, and return the file with a name."""
    release, name = _released(work), release_name(work)
    if work.written is None:
        folder = work.place("")
        folder.mkdir(0o700)
        progress.stage("write and check")
        with called(folder / name, name):
            release.write(folder / name, progress=progress)
        work.written = folder / name
    return work.written, name


def release_name(work: Work) -> str:
    """Return the file name of the release: a CSV, or of the same kind as the source file.

    It is another one than the name of that file, which no command replaces.
    """
    kept = None if work.csv_format is None else work.csv_format.kept
    name = f"release{usual_suffix(kept)}"
    assert work.source is not None
    return f"new-{name}" if Path(work.source.name).name.casefold() == name else name


def published_file(work: Work, progress: Progress) -> tuple[Path, str]:
    """Write an archive of release, published policy and account, as by `save`, and return path and name."""
    release, folder = _released(work), work.place("")
    folder.mkdir(0o700)
    saved = folder / _RELEASE
    with called(saved, _RELEASE):
        release.save(saved, name=release_name(work), progress=progress)
    progress.stage("pack")
    inside = [file for file in saved.rglob("*") if not file.is_relative_to(saved / INTERNAL)]
    return packed(folder / "release.zip", inside)


def report_file(work: Work, progress: Progress, suffix: str) -> tuple[Path, str]:
    """Write the report for publication, where a PDF needs an extra, and return the file with a name.

    Its first page has the name and the SHA-256 of the release as it is saved here, the attacks that were
    carried out in this window, and for whom and why the release is made.
    """
    file, _ = release_file(work, progress)
    path = work.place(suffix)
    about: dict[str, Any] = work.about
    _released(work).report(
        path,
        file=file,
        attacks=work.attacks,
        **about,
    )
    return path, f"report{suffix}"


def tables_file(work: Work, progress: Progress) -> tuple[Path, str]:
    """Write an archive of the count tables, laid out as by `save`, and return the archive with a name."""
    assert work.tables is not None
    work.tables.release.verdict.refuse()
    folder = work.place("")
    folder.mkdir(0o700)
    progress.stage("pack")
    with called(folder / _TABLES, _TABLES):
        files = work.tables.release.save(folder / _TABLES)
    return packed(folder / "tables.zip", files)


def policy_file(work: Any, policy: Policy | LinkedPolicy) -> tuple[Path, str]:
    """Write a policy, or an archive with hierarchies that are files, and return the file with a name."""
    folder = work.place("")
    folder.mkdir(0o700)
    path = folder / _POLICY
    policy.write(path)
    beside = list((folder / "hierarchies").glob("*"))
    return packed(folder / "policy.zip", [path, *beside]) if beside else (path, _POLICY)


def script_file(work: Work) -> tuple[Path, str]:
    """Write the script, and return the file with a name."""
    path = work.place(".py")
    path.write_text(script(work), encoding="utf-8", newline="\n")
    return path, "release.py"
