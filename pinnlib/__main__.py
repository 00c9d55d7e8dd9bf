"""`python -m pinnlib`: the command line."""

import sys

from pinnlib.bundle.cli import main

sys.exit(main(*sys.argv[1:]))
