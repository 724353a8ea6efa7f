"""The server of the page: a process, a port, a private folder."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, require_extra, setting
from incrowd.core.io.scratch import PrivateFolder
from incrowd.core.progress import on_compiling
from incrowd.faces.studio.page_words import in_the_page

if TYPE_CHECKING:
    from incrowd.faces.studio.guard import Guard

OWN_MACHINE = ("127.0.0.1", "localhost", "::1")
"""The addresses that no other machine reaches."""
_RECONNECT = 30.0
"""Seconds for which a window that lost its connection is kept, with its table."""


def serve(
    data: Path | tuple[str, str] | None,
    policy: tuple[dict[str, Any], Path] | None,
    folder: Path,
    host: str,
    port: int,
    *,
    browser: bool,
    tell: Callable[[str], None],
) -> None:
    """Serve the page until the process is told to end.

    Parameters
    ----------
    data
        The table that every window begins with: a path, or the address of a database and a table of it.
    policy
        A policy file as plain data, and its path.
    folder
        Where projects lie, which the first page lists.
    host, port
        What to listen on; port 0 takes a free one.
    browser
        Whether to open a browser.
    tell
        Told the address of the page, and what a host means that others reach.

    Raises
    ------
    MissingExtraError
        When NiceGUI is not installed.
    ParameterError
        When the port is taken, or the address is not one of this machine.
    """
    require_extra(["nicegui"], "studio", "the page in a browser")
    from incrowd.faces.studio.figures import Loops
    from incrowd.faces.studio.guard import Guard

    temporary = tempfile.tempdir
    with _listening(host, port) as listening:
        private = PrivateFolder()
        try:
            guard = Guard(_application(private.path, data, policy, folder), host, listening.getsockname()[1])
            in_the_page()
            on_compiling.append(Loops.count)
            asyncio.run(_run(guard, listening, lambda: _print_address(guard, browser=browser, tell=tell)))
        finally:
            if Loops.count in on_compiling:
                on_compiling.remove(Loops.count)
            tempfile.tempdir = temporary
            private.remove()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server_socket = socket.socket(family, socket.SOCK_STREAM)
    server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server_socket.bind((host, port))
    except (OSError, OverflowError) as error:
        server_socket.close()
        why = getattr(error, "strerror", None) or str(error)
        raise ParameterError(
            f"cannot listen on {host}, port {port} ({why}); take another with "
            f"{setting('port', '--port')}, or 0 for a free one"
        ) from None
    return server_socket


def _application(
    private: Path,
    data: Path | tuple[str, str] | None,
    policy: tuple[dict[str, Any], Path] | None,
    folder: Path,
) -> Any:
    # Before NiceGUI is imported: it keeps its files below the folder where it was started, and uploads on
    # their way in that of temporary files.
    os.environ["NICEGUI_STORAGE_PATH"] = str(private / "storage")
    tempfile.tempdir = str(private)
    from fastapi import FastAPI
    from nicegui import ui

    from incrowd.faces.studio.page import show

    _quiet()

    def page(work: str = "", panel: str = "", column: str = "") -> None:
        show(data, policy, folder, tuple(part for part in (work, panel, column) if part))

    for address in ("/", "/{work}/{panel}", "/{work}/{panel}/{column}"):
        ui.page(address, title="incrowd studio", response_timeout=30)(page)
    inner = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    ui.run_with(
        inner,
        title="incrowd studio",
        dark=None,
        language="en-US",
        reconnect_timeout=_RECONNECT,
        show_welcome_message=False,
    )
    return inner


async def _run(guard: Guard, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Run uvicorn, with a word once the server listens."""
    import uvicorn

    # No access log: addresses may hold the token.
    config = uvicorn.Config(
        guard, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=0
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.02)
    if server.started:
        ready()
    await serving


def _print_address(guard: Guard, *, browser: bool, tell: Callable[[str], None]) -> None:
    if guard.host not in OWN_MACHINE:
        tell(
            f"Listening on {guard.host}: whoever in the network has the address below can open the page, and "
            "read every file that you can. The connection is not encrypted."
        )
    tell(f"incrowd studio: {guard.address()}")
    tell("Ctrl-C ends it, and removes what was uploaded.")
    if browser:
        webbrowser.open(guard.address(once=True))


def _quiet() -> None:
    """Log nothing: a library's message about an error may quote the table."""
    if os.environ.get("INCROWD_DEBUG"):
        logging.basicConfig(stream=sys.stderr)
        return
    for name in ("nicegui", "uvicorn", "uvicorn.error", "asyncio", "engineio", "socketio"):
        logger = logging.getLogger(name)
        logger.handlers = [logging.NullHandler()]
        logger.propagate = False
