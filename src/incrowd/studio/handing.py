"""What leaves the page: the release, and what makes it again without the page."""

from __future__ import annotations

import shlex
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.io.kinds.files import usual_suffix
from incrowd.io.streams import is_scan

if TYPE_CHECKING:
    from incrowd.io.files import CsvFormat
    from incrowd.studio.work import Work

__all__ = [
    "command",
    "has_files",
    "policy_file",
    "release_file",
    "release_name",
    "report_file",
    "script",
    "script_file",
]

_POLICY = "policy.toml"


def command(work: Work) -> str:
    """Return the command line that makes the release again, beside the policy file."""
    assert work.source is not None
    options = {"policy": _POLICY, "output": release_name(work), **_format(work.csv_format)}
    if work.population is not None:
        options["population"] = work.population
    if work.source.table is not None:
        options["table"] = work.source.table
    words = ["incrowd", "anonymize", work.source.name]
    words += [word for name, value in options.items() for word in (_option(name), value)]
    return shlex.join([*words, *([_option("stream")] if _opened(work) else [])])


def script(work: Work) -> str:
    """Return the Python script that makes the release again, beside the policy file."""
    assert work.source is not None
    if work.source.database is not None:
        return _database_script(work)
    lines = ["import incrowd as ic", "", f"policy = ic.Policy.read({_POLICY!r})"]
    given = ""
    table = repr(work.source.name)
    settings = _format(work.csv_format)
    if settings:
        inner = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        lines.append(f"csv_format = ic.CsvFormat({inner})")
        given = ", csv_format=csv_format"
    if _opened(work):
        table, given = f"ic.scan({table}{given})", ""
    if work.population is not None:
        given += f", population={work.population!r}"
    lines += [
        f"release = ic.anonymize({table}, policy{given})",
        f"release.write({release_name(work)!r})",
        "print(*release.sentences(), sep='\\n')",
    ]
    return "\n".join(lines) + "\n"


def _database_script(work: Work) -> str:
    assert work.source is not None
    given = "" if work.population is None else f", population={work.population!r}"
    lines = [
        "import incrowd as ic",
        "",
        f"policy = ic.Policy.read({_POLICY!r})",
        f"with ic.Database({work.source.name!r}) as database:",
        f"    release = ic.anonymize(database.table({work.source.table!r}), policy{given})",
        f"    release.write({release_name(work)!r})",
        "print(*release.sentences(), sep='\\n')",
    ]
    return "\n".join(lines) + "\n"


def _opened(work: Work) -> bool:
    """Say whether a single file is opened to stream; folders always are."""
    assert work.source is not None
    return work.source.database is None and work.streams and not is_scan(work.source.path)


def _format(csv_format: CsvFormat | None) -> dict[str, str]:
    """Return how the file is written, where it is not plain."""
    if csv_format is None:
        return {}
    found = {}
    if csv_format.delimiter not in (None, ","):
        found["delimiter"] = str(csv_format.delimiter)
    if csv_format.encoding != "utf-8":
        found["encoding"] = csv_format.encoding
    if csv_format.kept is not None and csv_format.kept.sheet is not None:
        found["sheet"] = csv_format.kept.sheet
    return found


def _option(name: str) -> str:
    return f"--{name}"


def release_file(work: Work) -> Path:
    """Write the release, checked as it is written, among the window's files."""
    assert work.release is not None
    path = work.place(Path(release_name(work)).suffix)
    work.release.write(path)
    return path


def release_name(work: Work) -> str:
    """Return what the release is called: a CSV, or of the same kind as the file it comes from."""
    kept = None if work.csv_format is None else work.csv_format.kept
    return f"release{usual_suffix(kept)}"


def report_file(work: Work) -> Path:
    """Write the report that may be published."""
    assert work.release is not None
    path = work.place(".html")
    work.release.report(path)
    return path


def policy_file(work: Work) -> tuple[Path, str]:
    """Write the policy; with hierarchies that stand in files, an archive of all. Return it with its name."""
    assert work.release is not None
    folder = work.place("")
    folder.mkdir(0o700)
    path = folder / _POLICY
    work.release.policy.write(path)
    beside = sorted((folder / "hierarchies").glob("*"))
    if not beside:
        return path, _POLICY
    archive = folder / "policy.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.write(path, _POLICY)
        for file in beside:
            packed.write(file, f"hierarchies/{file.name}")
    return archive, "policy.zip"


def script_file(work: Work) -> Path:
    """Write the script."""
    path = work.place(".py")
    path.write_text(script(work), encoding="utf-8")
    return path


def has_files(work: Work) -> bool:
    """Say whether hierarchies stand in files beside the policy."""
    from incrowd.hierarchy import Hierarchy

    assert work.release is not None
    return any(isinstance(each.hierarchy, Hierarchy) for each in work.release.policy.schema.attributes)
