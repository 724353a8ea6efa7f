"""The built site reads offline: every link between its pages leads somewhere, and nothing is fetched."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.typing import ExtensionMetadata


class _Page(HTMLParser):
    """What a page names and what it points to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.anchors, self.links, self.loaded = path, {""}, [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag's names and addresses."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in {"script", "img", "iframe", "source"} and "src" in found:
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in {"stylesheet", "icon", "preload"}:
            self.loaded.append(found["href"])


def problems(folder: Path) -> list[str]:
    """Return what is wrong with the links of a built site."""
    pages = {path.resolve(): _Page(path) for path in sorted(folder.rglob("*.html"))}
    found: list[str] = []
    for path, page in pages.items():
        where = path.relative_to(folder.resolve()).as_posix()
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                found += [f"{where} loads {link}"] if link in page.loaded and parts.scheme != "data" else []
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                found.append(f"{where}: {link} leads nowhere")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{where}: {link} names no place of that page")
    return found


def check(app: Sphinx, exception: Exception | None) -> None:
    """Refuse a site with such links."""
    if exception is None and app.builder.name == "html" and (found := problems(Path(app.outdir))):
        raise ExtensionError("\n".join(found[:20]))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Check once all is written."""
    app.connect("build-finished", check)
    return {"version": "1", "parallel_read_safe": True}
