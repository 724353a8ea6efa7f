"""A MariaDB server for the test run: a data folder in a temporary folder, gone at the end."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

__all__ = ["running_server"]

REQUIRED = os.environ.get("INCROWD_REQUIRE_SERVICES") == "1"
PASSWORD = "pass word/@:%"


def _program(*names: str) -> str | None:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin"
    return next((program for name in names if (program := shutil.which(name, path=path))), None)


def _unprivileged() -> pwd.struct_passwd | None:
    """Return whom to run the server as where we are root; else None."""
    if os.geteuid() != 0:
        return None
    for name in ("mysql", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise LookupError("no user to run MariaDB as")


@contextlib.contextmanager
def running_server() -> Iterator[str]:
    """Start a server on a free loopback port, give the URL of the database, and always stop the server."""
    server, install = _program("mariadbd", "mysqld"), _program("mariadb-install-db", "mysql_install_db")
    try:
        import pymysql
    except ImportError:
        pymysql = None  # type: ignore[assignment]
    reason = None if server and install else "MariaDB's mariadbd and mariadb-install-db are not installed"
    reason = reason or (None if pymysql else "PyMySQL is not installed")
    if reason:
        if REQUIRED:
            pytest.fail(reason)
        pytest.skip(reason)
    user = _unprivileged()
    ids = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    root = Path(tempfile.mkdtemp(prefix="incrowd-mariadb-"))
    process = None
    try:
        if user is not None:
            os.chown(root, user.pw_uid, user.pw_gid)
        data, sock = root / "data", root / "socket"
        log = (root / "log").open("wb")
        result = subprocess.run(
            [install, "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal",
             "--skip-test-db", "--innodb-flush-log-at-trx-commit=0", "--innodb-use-native-aio=0",
             f"--tmpdir={root}"],
            stdout=log, stderr=log, cwd=root, check=False, **ids,
        )  # fmt: skip
        assert result.returncode == 0, (root / "log").read_text(errors="replace")[-2000:]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        flags = [
            f"--datadir={data}", f"--socket={sock}", f"--port={port}", "--bind-address=127.0.0.1", "--skip-log-bin",
            f"--pid-file={root / 'pid'}", "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0",
            "--character-set-server=latin1", "--collation-server=latin1_swedish_ci",
            "--innodb-buffer-pool-size=64M", "--skip-name-resolve", f"--tmpdir={root}",
            "--innodb-use-native-aio=0",
        ]  # fmt: skip
        # Should the test run be killed, the server goes with it.
        wrapper = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
        process = subprocess.Popen(
            [*wrapper, server, "--no-defaults", *flags],
            stdout=log, stderr=log, cwd=root, start_new_session=True, **ids,
        )  # fmt: skip
        log.close()
        _prepare(sock, process, root / "log")
        yield f"mysql://owner:pass%20word%2F%40%3A%25@127.0.0.1:{port}/clinic"
    finally:
        if process is not None:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(root, ignore_errors=True)


def _prepare(sock: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for the server, and make a user and a database."""
    import pymysql

    for _ in range(600):
        with socket.socket(socket.AF_UNIX) as trying:
            if trying.connect_ex(str(sock)) == 0:
                break
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        time.sleep(0.1)
    with pymysql.connect(unix_socket=str(sock), user="root") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE clinic")
        cursor.execute("CREATE USER owner@'127.0.0.1' IDENTIFIED BY %s", (PASSWORD,))
        cursor.execute("GRANT ALL ON *.* TO owner@'127.0.0.1' WITH GRANT OPTION")
