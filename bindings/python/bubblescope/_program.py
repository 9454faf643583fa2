"""The command line that comes with the wheel."""

import os
import sys


def main() -> int:
    """Becomes the program `bubblescope`, with the arguments of this process."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "bubblescope")
    if not os.path.exists(program):
        print(f"bubblescope: {program} is not there: only wheels bring the command line along", file=sys.stderr)
        return 3
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
