"""The browser of the tests. ./run_all.sh test installs it as root; tests never do."""

import shutil

INSTALL = "apt-get install --no-install-recommends chromium"


def find_chromium() -> str | None:
    """The path of a Chromium, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None
