"""Projects: folders with a policy and a ledger, in the layout of the commands, and the next batch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import to_json
from incrowd.core.errors import ParameterError, TableError
from incrowd.core.io.files import CsvFormat
from incrowd.core.io.kinds.files import usual_suffix
from incrowd.core.io.seals import digest_of
from incrowd.core.io.targets import INTERNAL, Outputs, writing
from incrowd.core.lazy import pl
from incrowd.engines import loaded
from incrowd.faces.studio.tables import Source, plain_name
from incrowd.faces.studio.values import refuse_prompts
from incrowd.release.policy.policy import Policy, hierarchy_files
from incrowd_gate.points import Accepted, answered
from incrowd_gate.profiles import Attestation

if TYPE_CHECKING:
    from incrowd.core.progress import Progress
    from incrowd.release.jobs.later.apply import AppliedBatch
    from incrowd.release.jobs.later.batch_differences import Differences
    from incrowd.release.jobs.later.ledger import Ledger
    from incrowd.release.jobs.make.release import Release

_POLICY = "policy.toml"


@dataclass(frozen=True)
class Project:
    """A folder with a policy, a ledger with entries, and the reason if the folder cannot be read."""

    folder: Path
    ledger: Ledger
    entries: Sequence[dict[str, Any]] = ()
    problem: str = ""

    @property
    def policy(self) -> Path:
        """The policy file."""
        return self.folder / _POLICY

    @property
    def last(self) -> dict[str, Any]:
        """The last entry of the ledger; empty if there is none."""
        return self.entries[-1] if self.entries else {}

    def _files(self, name: str = "*") -> Iterator[Path]:
        return (each for place in (self.folder, self.folder / INTERNAL) for each in place.glob(name))

    def _find(self, entry: str, keyed: Callable[[str], str] = str) -> Path | None:
        files = (file for file in self._files() if self.entries and file.is_file())
        return next((file for file in files if keyed(_digest(file)) == self.last[entry]), None)

    @cached_property
    def release(self) -> Path | None:
        """The file of the last release, found by digest under any name."""
        return self._find("release")

    @cached_property
    def table(self) -> Path | None:
        """The raw table of the last release, found by digest, if in the folder."""
        return self._find("input", self.ledger.input_digest)

    @property
    def recoding(self) -> Path | None:
        """The recoding that was saved last."""
        places = (each for each in self._files("recoding*") if (each / "recoding.json").exists())
        return max(places, key=lambda place: (len(place.name), place.name), default=None)

    @property
    def account(self) -> dict[str, Any]:
        """The last release as ``--json`` prints a release, if stored in ``internal/release-N.json``."""
        with suppress(OSError, ValueError):
            file = self.internal("release", ".json", len(self.entries))
            return dict(json.loads(file.read_text(encoding="utf-8")))
        return {}

    def internal(self, name: str, suffix: str, number: int) -> Path:
        """Return the place of a confidential file of the release of some number."""
        return self.folder / INTERNAL / f"{name}-{number}{suffix}"

    @property
    def state(self) -> tuple[str, str]:
        """The state of the last release, in the words of a verdict, and a short reason."""
        if self.problem or (self.entries and self.release is None):
            return "broken", "the ledger was changed" if self.problem else "its file was moved or changed"
        if not self.entries or self.account.get("verdict", {}).get("state") == "open":
            return "open", "a point is open" if self.entries else "nothing is released yet"
        return "holds", "holds"

    @property
    def keys(self) -> list[str]:
        """The columns by which the ledger finds people again, if any."""
        by = self.last.get("matched_by") or "rows of"
        return [] if by.startswith("rows of") else by.split(", ")

    def record(self, released: Any, source: Source, table: Any, recipient: str, *, new: bool = False) -> Path:
        """Write a release with companions and an entry in the ledger, and return the file.

        The first release of a folder brings its policy. A recoding that was searched is kept for the next
        batch. `new` says that these are other people than before.
        """
        from incrowd.release.jobs.later.apply import AppliedBatch
        from incrowd.release.jobs.later.batch_differences import account_of

        if not recipient.strip():
            raise ParameterError("say who gets the release, which the ledger keeps")
        number, copy = len(self.entries) + 1, self.folder / INTERNAL / Path(source.name).name
        suffix = usual_suffix(None if released.csv_format is None else released.csv_format.kept)
        given = [self.policy, *hierarchy_files(self.policy)] if self.policy.exists() else []
        files = Outputs(source.path, self.ledger.folder, given, self.recoding)
        add = partial(files.add, private=True, parents=True)
        target = files.add(self.folder / f"release-{number}{suffix}")
        policy = self.policy if given else files.add(self.policy)
        with files:
            if not source.path.is_relative_to(self.folder):
                with writing(
                    add(copy.with_name(f"{number}-{copy.name}") if copy.exists() else copy)
                ) as place:
                    shutil.copyfile(source.path, place)
            if isinstance(released, AppliedBatch):
                waits = add(self.internal("waiting", ".parquet", number)) if released.held else None
                (released if waits else replace(released, waiting=None)).write(target, hold=waits)
            else:
                name = "recoding" if number == 1 else f"recoding-{number}"
                released.recoding.save(add(copy.with_name(name), folder=True))
                released.write(target)
            if not given:
                released.policy.write(policy)
            with writing(add(self.internal("release", ".json", number))) as place:
                place.write_text(to_json(account_of(released)) + "\n", encoding="utf-8", newline="\n")
            about: dict[str, Any] = {"recipient": recipient.strip(), "keys": self.keys, "new_people": new}
            about["files"] = {"input": source.path, "policy": policy, "release": target}
            files.through = partial(self.ledger.add, released, table, **about)
        return target.path


def projects(folder: Path) -> list[Project]:
    """Return the projects in a folder: the folder itself, and the folders inside, by name."""
    from incrowd.release.jobs.later.ledger import Ledger

    found = []
    for chain in sorted([*folder.glob("*/ledger.jsonl"), *folder.glob("*/*/ledger.jsonl")]):
        place, ledger = chain.parents[1], Ledger(chain.parent)
        if (place / _POLICY).is_file():
            problem = ledger.verify() or ""
            found.append(Project(place, ledger, () if problem else ledger.entries, problem))
    return found


def keep(work: Any, folder: Path, name: str, recipient: str) -> Project:
    """Make a project of the `Work` of a window: policy, recoding, release, ledger and a copy of the table.

    Raises
    ------
    TableError
        When there is a project of that name, or the folder cannot be written.
    """
    from incrowd.release.jobs.later.ledger import Ledger

    work.release.verdict.refuse()
    place = folder / plain_name(name.strip(), "")
    if (place / _POLICY).exists():
        raise TableError(f"{place.name}: there is a project of this name; take another name")
    try:
        place.mkdir(0o700, exist_ok=True)
    except OSError as error:
        raise TableError(f"{place}: cannot be made ({error.strerror})") from None
    book = place / "ledger"
    ledger = Ledger.open(book) if book.exists() else Ledger.init(book)
    Project(place, ledger).record(work.release, work.source, work.table, recipient)
    return projects(place)[0]


@dataclass
class Batch:
    """The next batch of a project: a new file, and a release once the ledger allows the release.

    `new_people` says that hardly anybody in it was in an earlier release, and `any_share` that as many rows
    as it takes may be suppressed. `written` is the released file.
    `reasons` has what is typed so far, by point.
    """

    project: Project
    source: Source
    table: pl.DataFrame
    csv_format: CsvFormat | None
    release: Release | AppliedBatch | None = None
    differences: Differences | None = None
    new_people: bool = False
    any_share: bool = False
    written: Path | None = None
    reasons: dict[str, str] = field(default_factory=dict)

    def make(self, progress: Progress, *, anew: bool = False) -> Differences:
        """Release the batch by the last recoding, or by a new search, and ask the ledger.

        Raises
        ------
        IncrowdError
            When it cannot be released so, or exposes somebody together with earlier releases.
        """
        from incrowd.release.jobs.later.apply import apply_recoding
        from incrowd.release.jobs.later.batch_differences import differences
        from incrowd.release.jobs.make.anonymize import anonymize

        project, self.release = self.project, None
        if project.problem:
            raise TableError(project.problem)
        if (command := project.last.get("command", "apply")) not in ("anonymize", "apply"):
            raise ParameterError(f"the last release was made by incrowd {command}; go on with that command")
        policy, last = Policy.read(project.policy), self._last_release()
        refuse_prompts(policy.schema)
        common: dict[str, Any] = {"csv_format": self.csv_format, "unanswered": "write"}
        released: Release | AppliedBatch
        if anew or project.recoding is None:
            released = anonymize(self.table, policy, progress=progress, **common)
        else:
            progress.stage("apply")
            applied = (each["number"] for each in project.entries if each["command"] == "apply")
            waiting = project.internal("waiting", ".parquet", max(applied, default=0))
            # Where a column names people, the ledger compares them: a release does not name any.
            common["previous_release"] = None if policy.schema.person else last
            common |= {"held": waiting if waiting.exists() else None, "hold": not policy.keep_order}
            common["max_suppression"] = 1.0 if self.any_share else None
            released = apply_recoding(project.recoding, self.table, policy, **common)
            if released.table is None:
                raise TableError(
                    f"all {released.held:,} rows would wait, as no group of them is large enough; put them "
                    "into the file of the next batch"
                )
        progress.stage("check")
        project.ledger.judge(released, self.table, keys=project.keys, new_people=self.new_people)
        self.differences, self.release = differences(project.account, last, released), released
        return self.differences

    def _last_release(self) -> pl.DataFrame | None:
        if self.project.release is None:
            return None
        encoding = "utf-8" if self.csv_format is None else self.csv_format.encoding
        frame: pl.DataFrame = loaded(self.project.release, CsvFormat(encoding=encoding))
        return frame

    def accept(self, answers: Sequence[Accepted], attested: Sequence[dict[str, str]] = ()) -> Any:
        """Accept points of the verdict, of this batch alone; see `Work.accept`."""
        assert self.release is not None
        policy, points = self.release.policy, self.release.points
        profile = policy.profile and policy.profile.attesting([*map(Attestation.of_entry, attested)])
        policy = replace(policy, accepted=(*policy.accepted, *answers), profile=profile)
        self.release = replace(self.release, policy=policy, points=answered(points, policy.accepted))
        return self.release

    def record(self, recipient: str) -> Path:
        """Write the release into the project, with an entry in the ledger."""
        assert self.release is not None
        self.release.verdict.refuse()
        given = self.release, self.source, self.table, recipient
        self.written = self.project.record(*given, new=self.new_people)
        return self.written


@lru_cache(1024)
def _digest_of(path: Path, changed: int, size: int) -> str:
    return digest_of(path)


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file, computed anew only after a change; empty for an unreadable file."""
    with suppress(OSError):
        about = path.stat()
        return _digest_of(path, about.st_mtime_ns, about.st_size)
    return ""
