"""The tree by which the values of a column are generalized, over the values of the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui import ui

from incrowd.core.errors import InputError
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.hierarchy.formats import FORMATS
from incrowd.faces.studio.bars import histogram
from incrowd.faces.studio.fields import button, choice_field, dropping, text_field
from incrowd.faces.studio.panels.panel import Panel
from incrowd.faces.studio.parts import box, cut, emptied, heading, marked, note, tell, words
from incrowd.faces.studio.tables import called, path_of
from incrowd.faces.studio.trees import Line, TreeEditor

_FORMATS = {suffix: each.title for suffix, each in FORMATS.items() if each.write and suffix != ".yml"}
_CHILDREN = 100
"""Values below one group that are shown; others are chosen by their name."""
_DEPTH = 100
"""Levels that are shown below each other."""
_BARS = 60
_NAMED = 8


class Tree(Panel):
    """See a column's hierarchy over the values, change the hierarchy, and take the file along."""

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self.column: str | None = None
        # It is there once a tree was built.
        self._editor: TreeEditor
        self._open: set[str] = set()
        self._chosen: set[int] = set()
        self._dragged: int | None = None

    def draw(self, place: Any, column: str) -> None:
        """Show the tree of a column in a place."""
        if column != self.column:
            self.column, self._open = column, set()
        with emptied(place):
            note("A hierarchy says what a value may become: 34 becomes 30-39, then 20-39, then *.")
            self._problems = ui.column().classes("w-full")
            self._place = ui.column().classes("w-full")
            ui.timer(0, self._load, once=True)

    async def _load(self) -> None:
        """Build the tree of the column's recipe, and show the tree."""
        with emptied(self._place):
            ui.spinner(size="lg")
        work, name = self.work, self.column
        editor = await self.page.doing(self._wrong, None, work.editor, name)
        self._place.clear()
        if editor is None or name != self.column:
            return
        self._editor = editor
        self._open.add(editor.tree.labels[0])
        self._chosen = set()
        with self._place:
            self._unknown = ui.column().classes("w-full")
            self._tools()
            self._problem = ui.column().classes("w-full")
            self._tree = marked(ui.element("div").classes("tree"), "tree")
            self._levels = ui.column().classes("w-full")
            self._files()
        self._draw_tree()

    # --- the tree ---------------------------------------------------------------------------------

    def _draw_tree(self) -> None:
        editor = self._editor
        self._tell_unknown(editor)
        with emptied(self._tree):
            self._draw_node(editor.root())
        self._targets.set_options(editor.groups(), value=0)
        self._enable()
        self._draw_levels(editor)

    def _draw_node(self, line: Line, depth: int = 0) -> None:
        opened = line.label in self._open
        with ui.element("div").classes("tree-row") as row:
            row.props["data-node"] = str(line.node)
            self._draw_row(row, line, opened=opened)
        if line.leaf or not opened:
            return
        if depth == _DEPTH:
            note(f"... more than {_DEPTH} levels; choose what is below by its name")
            return
        below = self._editor.below(line.node)
        with ui.element("div").classes("tree-below"):
            for child in below[:_CHILDREN]:
                self._draw_node(child, depth + 1)
            if len(below) > _CHILDREN:
                note(f"... and {len(below) - _CHILDREN:,} more; choose them by their name")

    def _draw_row(self, row: Any, line: Line, *, opened: bool) -> None:
        if line.leaf:
            ui.element("span").classes("tree-leaf")
        else:
            icon, turn = ("expand_more", "Close") if opened else ("chevron_right", "Open")
            fold = ui.button(icon=icon, on_click=lambda: self._turn(line.label))
            fold.props("flat round dense size=sm").props["aria-label"] = f"{turn} {line.label}"
            fold.props["aria-expanded"] = str(opened).lower()
            # What is dropped on a group goes below it.
            row.props["ondragover"] = "event.preventDefault()"
            row.on("drop.prevent", lambda: self._drop(line.node))
        if line.node:
            chosen = line.node in self._chosen
            choose = ui.checkbox(value=chosen, on_change=lambda e: self._choose(line.node, chosen=e.value))
            choose.props("dense").props["aria-label"] = f"Choose {line.label}"
            row.props["draggable"] = "true"
            row.on("dragstart", lambda: self._drag(line.node))
        words("span", cut(line.label), "tree-label" if line.leaf else "tree-label name")
        words("span", f"{line.share:.1%}", "muted")
        bar = ui.element("div").classes("bar after").props("aria-hidden=true")
        bar.style(f"width: {120 * line.share:.1f}px")

    def _turn(self, label: str) -> None:
        self._open ^= {label}
        self._draw_tree()

    def _choose(self, node: int, *, chosen: bool) -> None:
        (self._chosen.add if chosen else self._chosen.discard)(node)
        self._enable()

    def _drag(self, node: int) -> None:
        self._dragged = node

    def _drop(self, target: int) -> None:
        node, self._dragged = self._dragged, None
        if node is not None:
            self._step(lambda editor: editor.move([node], target))

    def _tell_unknown(self, editor: TreeEditor) -> None:
        unknown = editor.unknown()
        more = f" and {len(unknown) - _NAMED:,} more" if len(unknown) > _NAMED else ""
        with emptied(self._unknown):
            if not unknown:
                return
            problem = f"Values that it does not know: {', '.join(list(unknown)[:_NAMED])}{more}"
            marked(words("div", problem, "problem"), "unknown")
            title = "Put them below the group chosen at Move to"
            self._action(title, "add-unknown", lambda tree: tree.add_unknown(int(self._targets.value)))

    # --- steps ------------------------------------------------------------------------------------

    def _tools(self) -> None:
        """Show the actions on the chosen nodes, enabled where possible."""
        note(
            "Choose values or groups, then what becomes of them. Put into one group: a group among their "
            "like. Split off: a group of their own beside the one that they are in. They can also be dragged "
            "onto a group."
        )
        with ui.element("div").classes("fields box"):
            find = text_field("Choose by name", "find", hint="write a value or group, then Enter")
            find.on("keydown.enter", lambda: self._find(find))
            self._label = text_field("Name of the group", "label", hint="for a new group, or to rename one")
            self._label.on_value_change(self._enable)
            self._targets = choice_field({0: ""}, "Move to", "target", 0)
            act = self._action
            self._buttons = {
                "merge": act("Put into one group", "merge", lambda e: e.merge(self._chosen, self._name)),
                "split": act("Split off", "split", lambda e: e.split(self._chosen, self._name)),
                "rename": act("Rename", "rename", lambda e: e.rename(self._one(), self._name)),
                "move": act("Move", "move", lambda e: e.move(self._chosen, int(self._targets.value))),
                "dissolve": act("Dissolve", "dissolve", lambda e: e.dissolve(self._one())),
            }
        self._enable()

    def _enable(self) -> None:
        """Enable the actions that the chosen nodes, and the written name, allow."""
        tree, chosen = self._editor.tree, self._chosen
        parents = {int(tree.parents[node]) for node in chosen}
        named = bool(self._name)
        group = len(chosen) == 1 and all(tree.heights[node] > 0 for node in chosen)
        allowed = {
            "merge": named and len(parents) == 1,
            "split": named and len(parents) == 1 and 0 not in parents,
            "rename": named and group,
            "move": bool(chosen),
            "dissolve": group,
        }
        for mark, action in self._buttons.items():
            action.set_enabled(allowed[mark])

    def _action(self, title: str, mark: str, do: Callable[[TreeEditor], None]) -> Any:
        return button(title, mark, lambda: self._step(do))

    @property
    def _name(self) -> str:
        """The name that is written for a group."""
        return (self._label.value or "").strip()

    def _one(self) -> int:
        if len(self._chosen) != 1:
            raise InputError("choose one group")
        return next(iter(self._chosen))

    def _find(self, field: Any) -> None:
        """Choose a node by name, and open the way to the node."""
        tree = self._editor.tree
        label = (field.value or "").strip()
        if label not in tree.labels:
            field.error = "no value or group of the tree is called so"
            return
        field.error = None
        node = tree.find(label)
        self._chosen.add(node)
        while node >= 0:
            node = int(tree.parents[node])
            self._open.add(tree.labels[node])
        field.set_value("")
        self._draw_tree()

    def _step(self, do: Callable[[TreeEditor], None]) -> None:
        """Change the tree, and make the tree the column's hierarchy."""
        editor, name = self._editor, self.column
        assert name is not None
        self._problem.clear()
        before = editor.tree
        try:
            do(editor)
            self.work.keep_tree(name, editor.tree)
        except InputError as error:
            editor.tree = before
            tell(self._problem, str(error))
            return
        self._chosen = set()
        self.page.changed()
        self._draw_tree()

    # --- levels -----------------------------------------------------------------------------------

    def _draw_levels(self, editor: TreeEditor) -> None:
        """Show how many records every cell of a level would have."""
        height = editor.tree.height
        with emptied(self._levels):
            heading("Records by level", 3)
            note("Level 0 is the values as they are. A level that has few records in a cell protects little.")

            def draw(level: int) -> None:
                cells = editor.level(level)
                with emptied(shown):
                    marked(histogram(f"Records at level {level}", cells[:_BARS]), "histogram")
                    if len(cells) > _BARS:
                        note(f"The first {_BARS} of {len(cells):,} cells.")

            first = min(1, height)
            levels = list(range(height + 1))
            chosen = choice_field(levels, "Level", "level", first, on_change=lambda e: draw(e.value))
            chosen.style("width: 120px")
            shown = ui.column().classes("w-full")
            draw(first)

    # --- files ------------------------------------------------------------------------------------

    def _files(self) -> None:
        heading("Hierarchy files", 3)
        with ui.element("div").classes("halves"):
            with box("Take it along"):
                kind = choice_field(_FORMATS, "Format", "format", ".csv").classes("w-full")
                button("Save as a file", "save-tree", lambda: self._save(kind.value), icon="download")
            with box("Bring one"):
                path = text_field("Path of a hierarchy file", "tree-file").classes("w-full")
                path.on("keydown.enter", lambda: self._read_tree(path.value or ""))
                dropping("tree-upload", self._uploaded)

    def _save(self, suffix: str) -> None:
        path = self.work.place(suffix)
        self._problem.clear()
        try:
            with called(path, f"hierarchy{suffix}"):
                self._editor.tree.write(path)
        except InputError as error:
            tell(self._problem, str(error))
            return
        ui.download.file(path, f"hierarchy{suffix}")

    def _read_tree(self, text: str, name: str | None = None) -> None:
        """Take the tree of a file in place of the shown tree, as a step like others."""

        def read(editor: TreeEditor) -> None:
            path = path_of(text)
            with called(path, name or str(path)):
                tree = Hierarchy.read(path)
            editor.tree = tree
            self._open = {tree.labels[0]}

        self._step(read)

    async def _uploaded(self, event: Any) -> None:
        name = Path(event.file.name.replace("\\", "/")).name
        suffix = Path(name).suffix.lower()
        path = self.work.place(suffix if suffix in FORMATS else ".other")
        await event.file.save(path)
        self._read_tree(str(path), name)
