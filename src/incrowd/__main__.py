"""Run the command line with ``python -m incrowd``."""

from __future__ import annotations

from incrowd.cli import main

if __name__ == "__main__":
    main()
