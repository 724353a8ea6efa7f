"""A PostgreSQL server of the test run's own: a cluster in a temporary folder, gone at the end."""

from __future__ import annotations

import contextlib
import getpass
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

__all__ = ["REQUIRED", "running_server"]

REQUIRED = os.environ.get("INCROWD_REQUIRE_SERVICES") == "1"
PASSWORD = "pass word/@:%"


def _programs() -> Path | None:
    """Return the folder of initdb and postgres."""
    program = shutil.which("initdb")
    folders = [Path(program).resolve().parent] if program else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


def _unprivileged() -> pwd.struct_passwd | None:
    """Return whom to run the server as where we are root, which PostgreSQL refuses; else None."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise LookupError("no user to run PostgreSQL as")


@contextlib.contextmanager
def running_server() -> Iterator[str]:
    """Start a server on a free loopback port, give the URL of the database, and always stop the server."""
    folder = _programs()
    if folder is None:
        reason = "PostgreSQL's initdb and postgres are not installed"
        if REQUIRED:
            pytest.fail(reason)
        pytest.skip(reason)
    user = _unprivileged()
    ids = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    root = Path(tempfile.mkdtemp(prefix="incrowd-postgres-"))
    process = None
    try:
        if user is not None:
            os.chown(root, user.pw_uid, user.pw_gid)
        secret = root / "password"
        secret.write_text(PASSWORD + "\n")
        secret.chmod(0o644)
        data = root / "data"
        options = ["--auth=scram-sha-256", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8", "-U", "owner"]
        subprocess.run(
            [folder / "initdb", "-D", data, *options, f"--pwfile={secret}"],
            check=True, capture_output=True, cwd=root, env=_environment(), **ids,
        )  # fmt: skip
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings = {
            "listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": "", "fsync": "off",
            "synchronous_commit": "off", "full_page_writes": "off", "shared_buffers": "64MB", "max_wal_size": "2GB",
            "logging_collector": "off",
        }  # fmt: skip
        flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        log = (root / "log").open("wb")
        # Should the test run be killed, the server goes with it.
        wrapper = ["setpriv", "--pdeathsig", "INT"] if shutil.which("setpriv") else []
        process = subprocess.Popen(
            [*wrapper, folder / "postgres", "-D", data, *flags],
            stdout=log, stderr=log, cwd=root, env=_environment(), start_new_session=True, **ids,
        )  # fmt: skip
        log.close()
        subprocess.run(
            ["bash", "-c", 'for i in $(seq 300); do "$0" -q -h 127.0.0.1 -p "$1" && exit 0; sleep 0.1; done; exit 1',
             str(folder / "pg_isready"), str(port)],
            check=True, capture_output=True,
        )  # fmt: skip
        yield f"postgresql://owner:pass%20word%2F%40%3A%25@127.0.0.1:{port}/postgres"
    finally:
        if process is not None:
            process.terminate()
            try:
                # SIGTERM waits for connections to leave; SIGINT does not.
                process.send_signal(2)
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(root, ignore_errors=True)


def _environment() -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
    return environment | {"LC_ALL": "C.UTF-8", "USER": getpass.getuser()}
