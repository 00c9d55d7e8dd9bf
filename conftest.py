import os
import signal

import pytest
from xdist.scheduler import LoadScopeScheduling

from pinnlib.progress import HEADLESS

os.environ.setdefault(HEADLESS, "quiet")  # no progress bars in what nbval compares
signal.signal(
    signal.SIGINT, signal.default_int_handler
)  # where tests run in the background it is ignored, and by all they start

# Notebooks write data, figures and tables, which each other and these read: they share a worker.
READERS = ("tests/test_paper.py", "tests/test_claims.py", "tests/test_readme.py")
LONGEST = (
    "tests/test_notebooks.py",
    "made",
    "tests/test_browser.py",
    "tests/test_sweep.py",
    "tests/test_bench.py",
    "tests/test_setup.py",
)


def room(nodeid):
    """What a worker takes as a whole: a file, so that its fixtures are made once, or all that is about what the notebooks make."""
    file = nodeid.partition("::")[0]
    return "made" if file.endswith(".ipynb") or file in READERS else file


class ByRoom(LoadScopeScheduling):
    def _split_scope(self, nodeid):
        return room(nodeid)


@pytest.hookimpl(optionalhook=True)  # with -p no:xdist there is none
def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False  # the order is ours
    return ByRoom(config, log)


def pytest_collection_modifyitems(items):
    """The longest first, so that no worker waits for the other at the end."""
    items.sort(
        key=lambda item: (
            LONGEST.index(room(item.nodeid)) if room(item.nodeid) in LONGEST else len(LONGEST)
        )
    )
