"""``python -m incrowd_verify`` is the command ``incrowd-verify``."""

from incrowd_verify.cli import main

main()
