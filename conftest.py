import os
import signal

import pytest

from pinnlib.training import HEADLESS

os.environ.setdefault(HEADLESS, "quiet")  # no progress bars in what nbval compares
# Started in the background, pytest ignores Ctrl-C, and so would all processes of the tests.
signal.signal(signal.SIGINT, signal.default_int_handler)

LONGEST = (
    "tests/test_pipeline.py",
    "notebooks/06_gate_study.ipynb",
    "notebooks/05_gradient_scaling.ipynb",
    "tests/test_browser.py",
    "tests/test_sweep.py",
    "tests/test_setup.py",
    "tests/test_bench.py",
)


def place(item: pytest.Item) -> int:
    """Files that take long come first, then the other notebooks, then the other tests."""
    file = item.nodeid.partition("::")[0]
    if file in LONGEST:
        return LONGEST.index(file)
    return len(LONGEST) + (item.path.suffix != ".ipynb")


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cells of notebooks, and put the longest files first, so that no worker idles."""
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker("notebook")
    items.sort(key=place)
