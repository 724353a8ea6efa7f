"""Access to the page, and the remains at the end."""

from __future__ import annotations

import base64
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from crossed import quick
from incrowd.core.errors import INSTALL
from incrowd.faces.cli import main
from incrowd.faces.studio.guard import Guard
from spark_session import SOURCES
from studio_browser import Studio, require_browser

SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    require_browser()
    server = Studio(tmp_path_factory.mktemp("served"))
    yield server
    server.end()


def ask(studio: Studio, path: str, method: str = "GET", **headers: str):
    """Ask with headers as given, where the Host is that of the address by default."""
    parts = urlsplit(studio.base)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    for name, value in {"Host": parts.netloc, **headers}.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    # What became a websocket has no end.
    body = b"" if answer.status == 101 else answer.read()
    connection.close()
    return answer.status, answer.headers, body.decode("utf-8", "replace")


def cookie(studio: Studio) -> str:
    _, headers, _ = ask(studio, studio.address.removeprefix(studio.base))
    return headers["Set-Cookie"].partition(";")[0]


def as_socket(**headers: str) -> dict[str, str]:
    return {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(b"0" * 16).decode(),
        **headers,
    }


def test_the_token_gives_a_cookie_that_other_pages_and_scripts_do_not_have(served):
    status, headers, body = ask(served, served.address.removeprefix(served.base))
    assert status == 200
    assert "url=/" in body
    _, *flags = re.split("; ", headers["Set-Cookie"])
    assert {"httponly", "samesite=strict", "path=/"} == {each.lower() for each in flags}
    assert headers["Referrer-Policy"] == "no-referrer"
    status, headers, body = ask(served, "/", Cookie=cookie(served))
    assert status == 200
    assert "incrowd studio" in body
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "DENY"
    for source in re.findall(r"[a-z]+://\S+", headers["Content-Security-Policy"]):
        assert source.rstrip(";") == served.base.replace("http", "ws")
    token = served.address.partition("token=")[2]
    assert token not in body


@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("/", "GET"),
        ("/?token=", "GET"),
        ("/?token=wrong", "GET"),
        ("/", "POST"),
        ("/_nicegui/3.0/static/nicegui.js", "GET"),
        ("/_nicegui/client/x/upload/1", "POST"),
        ("/_nicegui_ws/socket.io/?EIO=4&transport=polling", "GET"),
        ("/docs", "GET"),
        ("/0123abcd/Hand%20over", "GET"),
        ("/0123abcd/Column/0", "GET"),
        ("/openapi.json", "GET"),
    ],
)
def test_without_the_token_or_the_cookie_nothing_is_answered(served, path, method):
    status, headers, body = ask(served, path, method)
    assert (status, "Set-Cookie" in headers) == (403, False)
    assert body.startswith("403: open the address that incrowd studio printed")


@pytest.mark.parametrize(
    "address",
    [
        "/0123abcd/Limits",
        "/%3Cscript%3Ewindow.hacked=1%3C%2Fscript%3E/Limits",
        "/%22%3E%3Cimg%20src=x%20onerror=window.hacked=1%3E/x/%27;window.hacked=1;%27",
        "/..%2F..%2Fetc/passwd/0",
        "/x/Column/" + "9" * 5_000,
        "/%00/%ff/%E2%80%AE",
        "/x/y?token=wrong&z=%3Cscript%3Ewindow.hacked%3C/script%3E",
    ],
)
def test_an_address_of_a_place_is_the_page_and_nothing_of_it_comes_back(served, address):
    status, headers, body = ask(served, address, Cookie=cookie(served))
    assert (status, headers["Cache-Control"]) in ((200, "no-store"), (404, "no-store"))
    assert "window.hacked" not in body
    assert "passwd" not in body
    assert headers.get_content_type() in ("text/html", "text/plain")


@pytest.mark.parametrize("value", ["", "x", "x=y", "incrowd-studio={port}", "ä"])
def test_a_wrong_cookie_is_refused(served, value):
    name = f"incrowd-studio-{urlsplit(served.base).port}"
    assert ask(served, "/", Cookie=f"{name}={value}")[0] == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "[", "a:b"]
)
def test_a_name_that_somebody_else_gave_the_machine_is_refused(served, host):
    named = host.format(port=urlsplit(served.base).port)
    assert ask(served, "/", Cookie=cookie(served), Host=named)[0] == 403
    assert ask(served, served.address.removeprefix(served.base), Host=named)[0] == 403
    assert ask(served, "/", Cookie=cookie(served))[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1", "https://{host}", ""])
def test_a_request_of_another_page_is_refused(served, origin):
    address = origin.format(host=urlsplit(served.base).netloc)
    assert ask(served, "/", Cookie=cookie(served), Origin=address)[0] == 403
    assert ask(served, SOCKET, **as_socket(Cookie=cookie(served), Origin=address))[0] == 403


def test_a_websocket_needs_the_cookie_and_the_page(served):
    assert ask(served, SOCKET, **as_socket(Origin=served.base))[0] == 403
    assert ask(served, SOCKET, **as_socket(Cookie=cookie(served)))[0] == 403
    assert ask(served, SOCKET, **as_socket(Cookie=cookie(served), Origin=served.base))[0] == 101


def test_other_machines_do_not_reach_it(served):
    port = urlsplit(served.base).port
    for other in {each[4][0] for each in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}:
        if not other.startswith("127.0.0.1"):
            with pytest.raises(OSError):
                socket.create_connection((other, port), timeout=2).close()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", port), timeout=2).close()


def test_the_address_for_the_browser_works_once():
    guard = Guard(None, "127.0.0.1", 8080)
    address = guard.address(once=True)
    assert address.startswith("http://127.0.0.1:8080/?token=")
    assert address != guard.address()
    once = address.partition("=")[2]
    assert [guard._takes(once) for _ in range(2)] == [True, False]
    lasting = guard.address().partition("=")[2]
    assert [guard._takes(lasting) for _ in range(2)] == [True, True]
    assert guard.token not in repr(guard)


@pytest.mark.slow
def test_a_host_that_others_reach_is_told_and_is_known_by_its_numbers_alone(tmp_path):
    require_browser()
    studio = Studio(tmp_path, "--host", "0.0.0.0")
    try:
        assert "whoever in the network" in studio.told
        assert "not encrypted" in studio.told
        port = urlsplit(studio.base).port
        assert ask(studio, "/", Cookie=cookie(studio), Host=f"192.0.2.7:{port}")[0] == 200
        assert ask(studio, "/", Cookie=cookie(studio), Host=f"evil.example:{port}")[0] == 403
        assert ask(studio, "/")[0] == 403
    finally:
        studio.end()


@pytest.mark.slow
@pytest.mark.parametrize("number", quick([signal.SIGINT, signal.SIGTERM], signal.SIGTERM))
def test_nothing_is_left_when_it_ends(tmp_path, number):
    require_browser()
    studio = Studio(tmp_path)
    ask(studio, "/", Cookie=cookie(studio))
    assert [path.stat().st_mode & 0o777 for path in studio.folders[:1]] == [0o700]
    # Ctrl-C is how it is ended; SIGTERM is somebody else's wish.
    assert studio.end(number) == (0 if number == signal.SIGINT else 128 + number)
    assert list(studio.temporary.iterdir()) == []
    assert not (tmp_path / ".nicegui").exists()


@pytest.mark.slow
def test_what_a_crash_left_the_next_run_removes(tmp_path):
    require_browser()
    studio = Studio(tmp_path)
    studio.end(signal.SIGKILL)
    left = list(studio.temporary.iterdir())
    assert left
    (tmp_path / "again").mkdir()
    surroundings = {**os.environ, "TMPDIR": str(studio.temporary), "PYTHONPATH": SOURCES}
    script = "from incrowd.core.io.scratch import PrivateFolder; PrivateFolder().remove()"
    subprocess.run([sys.executable, "-c", script], env=surroundings, check=True)
    assert list(studio.temporary.iterdir()) == []


def refused(*arguments: str, monkeypatch, capsys) -> str:
    monkeypatch.setattr(sys, "argv", ["incrowd", "studio", "--no-browser", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_a_wrong_call_is_refused_before_anything_is_served(tmp_path, monkeypatch, capsys):
    def told(*arguments: str) -> str:
        return refused(*arguments, monkeypatch=monkeypatch, capsys=capsys)

    assert "there is no such file" in told(str(tmp_path / "none.csv"))
    assert "--table is for databases" in told(str(tmp_path), "--table", "people")
    assert "--table needs the address" in told("--table", "people")
    assert "name of a table" in told(f"sqlite:///{tmp_path}/people.db")
    refused_password = told("postgresql://me:hidden@host/db", "--table", "people")
    assert "leave the password out" in refused_password
    assert "hidden" not in refused_password
    (tmp_path / "p.toml").write_text(
        "version = 1\n[columns.a]\nrole = '?'\n[[models]]\nmodel = 'k-anonimity'\n"
    )
    assert "did you mean 'k-anonymity'?" in told("--policy", str(tmp_path / "p.toml"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        taken.listen()
        assert "--port" in told("--port", str(taken.getsockname()[1]))
    assert "cannot listen on 192.0.2.1" in told("--host", "192.0.2.1")


@pytest.mark.slow
def test_without_the_extra_one_line_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "nicegui", None)
    error = refused(monkeypatch=monkeypatch, capsys=capsys)
    assert error == f"incrowd: the page in a browser needs nicegui: {INSTALL.format(extra='studio')}\n"


@pytest.mark.slow
def test_no_other_command_loads_what_the_page_needs():
    program = "import sys, incrowd.faces.cli; print([x for x in sys.modules if x in ('nicegui', 'fastapi', 'uvicorn')])"
    process = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": SOURCES},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout == "[]\n"
