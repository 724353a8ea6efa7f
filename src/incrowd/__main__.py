"""The program, as ``python -m incrowd`` and as ``incrowd``.

The version is printed before the commands are loaded, which takes ten times as long.
"""

from __future__ import annotations

import sys

from incrowd import __version__


def main() -> None:
    """Run the command line and exit with the command's status."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"incrowd {__version__}\n")
        return
    from incrowd.faces.cli import main as run

    run()


if __name__ == "__main__":
    main()
