"""Runs the command-line program in the wheel."""

import os
import sys


def main() -> int:
    """Replaces this process with the program `bubblescope` and passes the arguments."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "bubblescope")
    if not os.path.exists(program):
        print(f"bubblescope: {program} not found: only wheels include the command line", file=sys.stderr)
        return 3
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
