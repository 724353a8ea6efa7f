"""The pages of the Python interface: every public name, in the group of the room that defines it."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

import incrowd
from incrowd.core.parameters import Registry

REGISTRIES = "registries"
MODULES = "modules"
LISTS = [found for name in incrowd.__all__ if isinstance(found := getattr(incrowd, name), Registry)]


def group_of(name: str) -> str:
    """Return the group of a public name: the room of its definition, or what kind of thing it is."""
    found = getattr(incrowd, name)
    if isinstance(found, ModuleType):
        return MODULES
    if isinstance(found, Registry):
        return REGISTRIES
    package, wing, *rooms = found.__module__.split(".")
    of_verifier = {"result": "verification"}.get(wing, wing) if package != "incrowd" else None
    room = of_verifier or (wing if wing in ("attacks", "engines", "search") else rooms[0])
    return f"{room} functions" if inspect.isfunction(found) else room


def lines_of(name: str) -> list[str]:
    """Return the directives that document one public name."""
    found = getattr(incrowd, name)
    if isinstance(found, ModuleType):
        public = getattr(found, "__all__", None) or [each for each in dir(found) if not each.startswith("_")]
        functions = [each for each in public if inspect.isfunction(getattr(found, each))]
        head = [f"(module-{name})=", f"## incrowd.{name}", "", inspect.getdoc(found) or "", ""]
        return head + [line for each in functions for line in _directive("function", f"{name}.{each}")]
    if isinstance(found, Registry):
        listed = ", ".join(f"`{entry.name}`" for entry in found)
        return [f"```{{eval-rst}}\n.. py:data:: incrowd.{name}\n```", "", f"Its entries: {listed}.", ""]
    kind = "exception" if inspect.isclass(found) and issubclass(found, Exception) else ""
    kind = kind or ("class" if inspect.isclass(found) else "function")
    return _directive(kind, name)


def _directive(kind: str, name: str) -> list[str]:
    members = _members_of(name) if kind == "class" else []
    return ["```{eval-rst}", f".. auto{kind}:: incrowd.{name}", *members, "```", ""]


def _members_of(name: str) -> list[str]:
    """Return the option that says which members of a class are shown: all, or for an entry of a list its own.

    What such an entry has from its bases is called by searches and jobs, and documented there.
    """
    found = getattr(incrowd, name)
    if not any(found is entry for each in LISTS for entry in each):
        # What these two have stands in the classes of their parts.
        inherited = found in (incrowd.Release, incrowd.AppliedBatch)
        return ["   :members:", *(["   :inherited-members:"] if inherited else [])]
    own = [
        each
        for each, value in vars(found).items()
        if inspect.isfunction(value) and not each.startswith("_") and not hasattr(found.__base__, each)
    ]
    return [f"   :members: {', '.join(own)}"] if own else []


class PublicNames(SphinxDirective):
    """``{public-names} GROUP ...``: document every public name of these groups."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Return what stands on the page."""
        groups = [each.strip() for each in self.arguments[0].split(",")]
        names = [name for name in sorted(incrowd.__all__, key=str.lower) if group_of(name) in groups]
        if not names:
            raise self.error(f"no public name is in the group {self.arguments[0]}")
        seen = self.env.domaindata.setdefault("incrowd", {})
        seen.update(dict.fromkeys(names, self.env.docname))
        text = "\n".join(line for name in names for line in lines_of(name))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def check(app: Sphinx, _: object) -> None:
    """Refuse a build that leaves a public name out."""
    seen = app.env.domaindata.get("incrowd", {})
    missing = sorted(set(incrowd.__all__) - set(seen))
    if missing:
        groups = sorted({group_of(name) for name in missing})
        message = f"no page documents {', '.join(missing)}; put `{{public-names}}` {', '.join(groups)} on one"
        raise ExtensionError(message)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive and its check."""
    app.add_directive("public-names", PublicNames)
    app.connect("env-updated", check)
    return {"version": "1", "parallel_read_safe": False}
