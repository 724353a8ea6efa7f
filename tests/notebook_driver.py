"""Run a notebook in a kernel, and print the displayed outputs: ``python notebook_driver.py < cells.json``.

The cells are a list of texts. What is printed has a list a cell of what the kernel displayed, in order: each
with the name of the message and what it shows, by kind (``text/html``, ...).
"""

from __future__ import annotations

import json
import sys
from typing import Any

import nbclient
import nbformat


class Watched(nbclient.NotebookClient):
    """A client that keeps the changes up to the last state of a cell."""

    def process_message(self, msg: dict[str, Any], cell: Any, cell_index: int) -> Any:
        """Keep the displayed output."""
        content = msg["content"]
        if "data" in content:
            cell.metadata.setdefault("shown", []).append([msg["msg_type"], content["data"]])
        elif msg["msg_type"] == "error":
            cell.metadata.setdefault("shown", []).append(["error", {"text/plain": content["ename"]}])
        return super().process_message(msg, cell, cell_index)


def main() -> None:
    """Read the cells, run all and print the displayed outputs."""
    cells = [nbformat.v4.new_code_cell(text) for text in json.load(sys.stdin)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    Watched(notebook, kernel_name="python3", allow_errors=True, timeout=300).execute()
    json.dump([[*cell.metadata.get("shown", [])] for cell in cells], sys.stdout)


if __name__ == "__main__":
    main()
