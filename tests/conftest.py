import os

from pinnlib.progress import TERMINAL

os.environ.setdefault(TERMINAL, "off")  # no progress bars in what nbval compares
