"""``python -m incrowd_verify`` is the command ``incrowd-verify``."""

from incrowd_verify.cli import main

if __name__ == "__main__":
    main()
