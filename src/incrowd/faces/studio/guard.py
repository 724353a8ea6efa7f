"""Access to the page: only with the token, from this machine's page."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.websockets import WebSocketClose

_App = Callable[[Any, Any, Any], Awaitable[None]]
_REFUSED = b"403: open the address that incrowd studio printed; it holds a token.\n"
_ENTER = (
    b'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>incrowd studio</title>'
    b'<meta http-equiv="refresh" content="0;url=/"></head>'
    b'<body><a href="/">Open the studio</a></body></html>'
)
"""The page comes here by itself: a redirect would be part of a visit that another site may have begun, and
would bring no strict cookie along."""
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self' {sockets}; object-src 'none'; "
    "base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {"referrer-policy": "same-origin", "x-content-type-options": "nosniff", "x-frame-options": "DENY"}
_NOT_KEPT = {"cache-control": "no-store"}


@dataclass
class Guard:
    """An ASGI application around another, which lets only authorized requests through.

    Example: ``Guard(app, "127.0.0.1", 8080)`` answers 403 to ``GET /``. It answers ``GET /?token=...`` with
    a cookie and lets through what brings the cookie. Addresses of other machines are refused, so that no
    page from elsewhere reaches this one by a name of its own, and so are requests of other pages.

    Attributes
    ----------
    app
        What is guarded.
    host
        The address that is listened on.
    port
        The port that is listened on.
    token
        What the printed address holds.
    once
        What the address for the browser holds: it works once, since every user of a machine can see with
        what a program was started.
    """

    app: _App
    host: str
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    once: str | None = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def cookie_name(self) -> str:
        """The cookie of this port: cookies know no ports, and two studios may run."""
        return f"incrowd-studio-{self.port}"

    def address(self, *, once: bool = False) -> str:
        """Return the address of the page with the token."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/?token={self.once if once else self.token}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a request through, or refuse the request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        host = request.headers.get("host", "")
        if not self._is_own(host) or not _is_same(request, host):
            await _refuse(scope, receive, send)
        elif _same(request.cookies.get(self.cookie_name, ""), self._cookie):
            await self.app(scope, receive, _with_headers(send, host))
        elif (
            scope["type"] == "http"
            and scope["path"] == "/"
            and self._takes(request.query_params.get("token", ""))
        ):
            response = HTMLResponse(_ENTER, headers={**_NOT_KEPT, "referrer-policy": "no-referrer"})
            response.set_cookie(self.cookie_name, self._cookie, httponly=True, samesite="strict")
            await response(scope, receive, send)
        else:
            await _refuse(scope, receive, send)

    def _is_own(self, host: str) -> bool:
        """Say whether a Host is an address of this machine, and no name that was made to point there."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if port != self.port:
            return False
        if name in ("127.0.0.1", "localhost", "::1", self.host):
            return True
        return self.host in ("0.0.0.0", "::") and _is_number(name)

    def _takes(self, token: str) -> bool:
        """Say whether a token is right; that of the browser is right once."""
        if _same(token, self.token):
            return True
        if self.once is not None and _same(token, self.once):
            self.once = None
            return True
        return False


def _is_same(request: HTTPConnection, host: str) -> bool:
    """Say whether a request comes from a page of ours, as browsers declare for all risky requests."""
    origin = request.headers.get("origin")
    return request.scope["type"] == "http" if origin is None else origin == f"http://{host}"


def _same(given: str, wanted: str) -> bool:
    """Compare in a time that tells nothing of the wanted text."""
    return hmac.compare_digest(given.encode(), wanted.encode())


def _is_number(name: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return False


async def _refuse(scope: Any, receive: Any, send: Any) -> None:
    # Closing a socket before accepting it is answered with 403.
    response = (
        WebSocketClose(1008)
        if scope["type"] == "websocket"
        else PlainTextResponse(_REFUSED, 403, headers=_NOT_KEPT)
    )
    await response(scope, receive, send)


def _with_headers(send: Any, host: str) -> Any:
    """Add headers that keep a browser from loading anything from elsewhere, and from keeping pages."""

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(_HEADERS)
            headers["content-security-policy"] = _POLICY.format(sockets=f"ws://{host}")
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sending
