import os
import signal

from pinnlib.progress import TERMINAL

os.environ.setdefault(TERMINAL, "off")  # no progress bars in what nbval compares
signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background it is ignored, and by all they start
