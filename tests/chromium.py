"""Debian's Chromium for the tests in a browser: installed where that is allowed, a plain word where it is not."""

import contextlib
import fcntl
import os
import shutil
import subprocess

from pinnlib.paths import ROOT

INSTALL = ["apt-get", "install", "--no-install-recommends", "chromium"]


@contextlib.contextmanager
def alone():
    """One installation at a time: apt-get fails beside another, and tests run in two processes."""
    place = ROOT / "build"
    place.mkdir(exist_ok=True)
    with open(place / "apt.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@alone()
def chromium():
    """The path of a Chromium, if need be after installing it (root on a Debian-like machine only), or None."""
    found = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"capture_output": True, "env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}}
        subprocess.run(["apt-get", "update"], **quiet)
        subprocess.run([*INSTALL[:2], "-y", *INSTALL[2:]], **quiet)
        found = shutil.which("chromium")
    return found
