"""`python -m kcf_track` and `kcf-track`: the command line program."""

from __future__ import annotations

import os
import signal
import sys

from ._native import main as run


def main() -> int:
    """Run the program and give its exit code."""
    # The program handles Ctrl-C itself; Python's handler would raise after the run.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # The next file that is opened would take the place of a closed standard stream.
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    return run(["kcf-track", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
