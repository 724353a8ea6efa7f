"""Who may talk to the page: whoever has the token, from this machine's own page, and nobody else."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

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


@dataclass
class Guard:
    """An ASGI application around another one, which lets through only who may see the page.

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
        """Return the address of the page with its token."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/?token={self.once if once else self.token}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a request through or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        host = headers.get("host", "")
        if not self._is_own(host) or not self._is_same(headers, host, scope["type"]):
            await _refuse(scope, send)
        elif self._has_cookie(headers):
            await self.app(scope, receive, _with_headers(send, host))
        elif scope["type"] == "http" and scope["path"] == "/" and self._has_token(scope["query_string"]):
            await self._enter(send)
        else:
            await _refuse(scope, send)

    def _is_own(self, host: str) -> bool:
        """Say whether a Host is an address of this machine, and no name that somebody made point to it."""
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

    @staticmethod
    def _is_same(headers: Mapping[str, str], host: str, kind: str) -> bool:
        """Say whether a request comes from a page of ours; browsers say so wherever it matters."""
        origin = headers.get("origin")
        if origin is None:
            return kind == "http"
        return origin == f"http://{host}"

    def _has_cookie(self, headers: Mapping[str, str]) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie_name)
        except CookieError:
            return False
        return cookie is not None and _same(cookie.value, self._cookie)

    def _has_token(self, query: bytes) -> bool:
        token = parse_qs(query.decode("latin-1")).get("token", [""])[0]
        if _same(token, self.token):
            return True
        if self.once is not None and _same(token, self.once):
            self.once = None
            return True
        return False

    async def _enter(self, send: Any) -> None:
        cookie = f"{self.cookie_name}={self._cookie}; HttpOnly; SameSite=Strict; Path=/"
        headers = [
            (b"content-type", b"text/html; charset=utf-8"),
            (b"set-cookie", cookie.encode()),
            (b"cache-control", b"no-store"),
            (b"referrer-policy", b"no-referrer"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": _ENTER})


def _same(given: str, wanted: str) -> bool:
    """Compare in a time that tells nothing of the wanted text."""
    return hmac.compare_digest(given.encode(), wanted.encode())


def _is_number(name: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return False


async def _refuse(scope: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        # Closing before accepting is answered with 403.
        await send({"type": "websocket.close", "code": 1008})
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": _REFUSED})


def _with_headers(send: Any, host: str) -> Any:
    """Add headers that keep a browser from loading anything from elsewhere, and from keeping pages."""
    added = {
        b"content-security-policy": _POLICY.format(sockets=f"ws://{host}").encode("latin-1"),
        b"referrer-policy": b"same-origin",
        b"x-content-type-options": b"nosniff",
        b"x-frame-options": b"DENY",
    }

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = [pair for pair in message["headers"] if pair[0].lower() not in added]
            names = {name.lower() for name, _ in headers}
            if b"cache-control" not in names:
                headers.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*headers, *added.items()]}
        await send(message)

    return sending
