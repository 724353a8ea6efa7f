"""Whether a release and its policy are those that an account describes, by digests and counts."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from incrowd.dialects.addresses import is_address
from incrowd.errors import TableError

_LARGEST = 1 << 26
_PIECE = 1 << 20


def differences(account: Path, released: str, policy: Path, records: int) -> tuple[list[str], list[str]]:
    """Compare a release and a policy with the account (``release.json``) that was saved beside them.

    Parameters
    ----------
    released
        The release: a file or a folder; of a database only the records are compared.

    Returns
    -------
    Problems, and what could not be checked.
    """
    said = _read(account)
    problems = []
    digests = {entry.get("sha256") for entry in said["files"].values() if isinstance(entry, dict)}
    place = Path(released)
    unchecked = []
    if is_address(released) or not place.exists():
        unchecked.append("whether the release is the one of the account: it is no file with a digest")
    elif _digest(place) not in digests:
        problems.append(
            "the release is not the file of its account: their digests (SHA-256) differ, so it was changed "
            "or written anew"
        )
    if _digest(policy) not in digests:
        problems.append(
            "the policy is not the one of the account: their digests (SHA-256) differ, so it may ask for less"
        )
    if said["records"] != records:
        problems.append(
            f"the release has {records:,} records, and its account says {said['records']:,}: records were "
            "added, left out, or stand in it twice"
        )
    return problems, unchecked


def _read(account: Path) -> dict[str, Any]:
    try:
        with account.open("rb") as file:
            content = file.read(_LARGEST + 1)
        document = json.loads(content)
    except OSError as error:
        raise TableError(f"{account}: the account cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get("format") != "incrowd release":
        raise TableError(f"{account}: is no account of a release; those are saved as release.json")
    files, after = document.get("files"), document.get("after")
    records = after.get("records") if isinstance(after, dict) else None
    if not isinstance(files, dict) or not isinstance(records, int):
        raise TableError(
            f"{account}: has no digests of files; Release.save and the studio write them into an account"
        )
    return {"files": files, "records": records}


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file; of a folder that of the lines that sha256sum prints of its files."""
    if path.is_dir():
        inside = sorted(each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file())
        kept = [name for name in inside if not name.rpartition("/")[2].startswith(("_incrowd-files-", "."))]
        text = "".join(f"{_digest(path / name)}  {name}\n" for name in kept)
        return hashlib.sha256(text.encode()).hexdigest()
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                found.update(piece)
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror})") from None
    return found.hexdigest()
