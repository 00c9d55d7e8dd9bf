"""`python -m pinnlib`: the command line."""

import sys

from pinnlib.bundle.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
