"""Content of another tool's file: policy, questions, and settings without a counterpart."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from incrowd.core.errors import TableError
from incrowd.core.io.addresses import require_regular
from incrowd.release.policy.policy import Policy
from incrowd.release.policy.toml_lines import toml_key

__all__ = ["Imported", "read_text"]

_LARGEST = 1 << 24


@dataclass(frozen=True)
class Imported:
    """The content of another tool's file.

    Attributes
    ----------
    policy
        Roles, hierarchies, models, treatments and the search.
    data
        The table, as the bytes of a CSV in UTF-8; None where the file has none.
    delimiter
        Between its fields.
    unread
        What has no counterpart here, in words: it is not in the policy.
    questions
        Columns whose role the file does not tell, and why. No job runs until they are answered.
    """

    policy: Policy
    data: bytes | None = field(default=None, repr=False)
    delimiter: str = ","
    unread: tuple[str, ...] = ()
    questions: tuple[tuple[str, str], ...] = ()

    def write(self, folder: Path) -> None:
        """Write the policy, the hierarchies and the data into a folder."""
        path = folder / "policy.toml"
        self.policy.write(path)
        if self.questions:
            lines = ["", "# QUESTIONS. Nothing runs until each of them has a role."]
            for name, why in self.questions:
                lines += ["", f"[columns.{toml_key(name)}]", f'role = "?"  # {why}']
            with path.open("a", encoding="utf-8", newline="\n") as file:
                file.write("\n".join(lines) + "\n")
        if self.data is not None:
            (folder / "data.csv").write_bytes(self.data)


def read_text(place: Path) -> str:
    """Read a text in UTF-8, or else in Windows' Latin alphabet.

    Raises
    ------
    TableError
        It cannot be read, or is too large for what it should be.
    """
    try:
        require_regular(place)
        with place.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise TableError(f"{place}: cannot be read ({error.strerror})") from None
    if len(data) > _LARGEST:
        raise TableError(f"{place}: has more than {_LARGEST >> 20} MiB, so it is no such file")
    if b"\0" in data or data.startswith(b"\x1f\x8b"):
        raise TableError(f"{place}: is binary and no text, so it is no such file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
