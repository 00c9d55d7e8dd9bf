"""JupyterLab as `./run_all.sh lab` starts it, with copies of the notebooks, for a browser."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
from playwright.sync_api import Page, expect

from pinnlib.paths import NOTEBOOKS, ROOT
from pinnlib.training import HEADLESS

TOKEN = "a-token-for-this-test"
PATIENCE = 180_000  # ms, on a busy machine


@contextlib.contextmanager
def serving(place: Path) -> Iterator[str]:
    """The address of `./run_all.sh lab`, which serves copies of the notebooks without outputs."""
    (place / "notebooks").mkdir()
    for name in ("00_quickstart", "explorer"):
        _copy_without_outputs(f"{name}.ipynb", place / "notebooks")
    settings = place / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    news = '{"fetchNews": "false", "checkForUpdates": false}'
    (settings / "notification.jupyterlab-settings").write_text(news)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [
        "--no-browser",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={TOKEN}",
        f"--ServerApp.root_dir={place}",
    ]
    env = _environment(place)
    with open(place / "log", "w") as log:
        server = subprocess.Popen(
            [ROOT / "run_all.sh", "lab", *options],
            env=env,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        address = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + PATIENCE / 1000
        while not _answers(f"{address}/api/status?token={TOKEN}"):
            log_text = (place / "log").read_text()
            assert server.poll() is None, log_text
            assert time.monotonic() < deadline, log_text
            time.sleep(0.2)
        yield address
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=20)


def _copy_without_outputs(name, folder):
    book = nbformat.read(NOTEBOOKS / name, as_version=4)
    for cell in book.cells:
        cell.source = cell.source.replace('output = "build/lab"', 'output = "build/test-lab"')
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None
    nbformat.write(book, folder / name)


def _environment(place):
    """The variables of a lab that runs in this Python and keeps its own settings under `place`."""
    text = (ROOT / "environment.yml").read_text()
    env = {key: value for key, value in os.environ.items() if key != HEADLESS}
    return env | {
        "CONDA_DEFAULT_ENV": re.search(r"^name: *(\S+)", text, re.M)[1],  # use it, build none
        "PATH": f"{Path(sys.executable).parent}:{env['PATH']}",
        "PYTHONPATH": str(ROOT),
        "JUPYTERLAB_SETTINGS_DIR": str(place / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(place / "workspaces"),
        "JUPYTER_CONFIG_DIR": str(place / "config"),
        "JUPYTER_RUNTIME_DIR": str(place / "runtime"),
    }


def _answers(address):
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return "started" in json.load(answer)
    except OSError:
        return False


def run_all(page: Page, address: str) -> None:
    """Open a notebook in JupyterLab and run it from top to bottom."""
    page.goto(address)
    expect(page.locator(".jp-Notebook .jp-CodeCell").first).to_be_visible()
    idle = page.get_by_role("button", name=re.compile(r"Python 3 .* Idle"))
    expect(idle).to_be_visible()  # before that, Run asks for a Jupyter kernel
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def run_explorer(page: Page, lab: str, workspace: str) -> None:
    """Open the explorer in a workspace of its own and wait for its picture."""
    run_all(page, f"{lab}/lab/workspaces/{workspace}/tree/notebooks/explorer.ipynb?token={TOKEN}")
    expect(page.locator("img.widget-image")).to_be_visible()
    status = page.locator(".jp-OutputArea .widget-html-content")
    expect(status).to_contain_text("On record")
