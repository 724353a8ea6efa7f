"""Run the command line with ``python -m incrowd``."""

from __future__ import annotations

from incrowd.faces.cli import main

if __name__ == "__main__":
    main()
