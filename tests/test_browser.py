"""The explorer and the quickstart as a person meets them: JupyterLab, a real browser, a slider, a button, a new picture."""

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
from pathlib import Path

import nbformat
import pytest
from chromium import INSTALL, find_chromium
from playwright.sync_api import expect, sync_playwright

from pinnlib.explorer.app import Explorer
from pinnlib.paths import NOTEBOOKS, ROOT
from pinnlib.progress import HEADLESS

TOKEN = "a-token-for-this-test"
SCREENS = ROOT / "build" / "screens"  # for a person to look at
PATIENCE = 180_000  # ms, on a busy machine
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of `./run_all.sh lab` on loopback; it serves bare copies of the notebooks, so that saving them does no harm."""
    place = tmp_path_factory.mktemp("lab")
    (place / "notebooks").mkdir()
    for name in ("00_quickstart", "explorer"):
        book = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
        for cell in book.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        nbformat.write(book, place / "notebooks" / f"{name}.ipynb")
    quiet = (
        place
        / "settings"
        / "@jupyterlab"
        / "apputils-extension"
        / "notification.jupyterlab-settings"
    )
    quiet.parent.mkdir(parents=True)
    quiet.write_text('{"fetchNews": "false", "checkForUpdates": false}')
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    name = re.search(r"^name: *(\S+)", (ROOT / "environment.yml").read_text(), re.M)[1]
    env = {key: value for key, value in os.environ.items() if key != HEADLESS}
    env |= {
        "CONDA_DEFAULT_ENV": name,
        "PATH": f"{Path(sys.executable).parent}:{env['PATH']}",
        "PYTHONPATH": str(ROOT),
    }  # as it is
    env |= {
        "JUPYTERLAB_SETTINGS_DIR": str(place / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(place / "workspaces"),
    }
    env |= {f"JUPYTER_{kind}_DIR": str(place / kind.lower()) for kind in ("CONFIG", "RUNTIME")}
    options = ["--no-browser", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"]
    options += [f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={place}"]
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
            assert server.poll() is None and time.monotonic() < deadline, (
                place / "log"
            ).read_text()
            time.sleep(0.2)
        yield address
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=20)


def _answers(address):
    with contextlib.suppress(OSError):
        return json.load(urllib.request.urlopen(address, timeout=5))["started"]


@pytest.fixture(scope="module")
def browser():
    path = find_chromium()
    if path is None:
        pytest.skip(f"no Chromium here; on Debian or Ubuntu: sudo {INSTALL}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    page = browser.new_page(viewport={"width": 1400, "height": 1100})
    page.set_default_timeout(PATIENCE)
    SCREENS.mkdir(parents=True, exist_ok=True)
    yield page
    page.close()


def run_all(page, address):
    """Open a notebook in JupyterLab and run it from top to bottom."""
    page.goto(address)
    expect(page.locator(".jp-Notebook .jp-CodeCell").first).to_be_visible()
    expect(
        page.get_by_role("button", name=re.compile(r"Python 3 .* Idle"))
    ).to_be_visible()  # before that, Run asks which kernel
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def assert_sound(page):
    """Nothing went wrong, and no widget is left unmade."""
    for kind in ("error", "stderr"):
        assert (
            page.locator(f'[data-mime-type="application/vnd.jupyter.{kind}"]').all_inner_texts()
            == []
        )
    shown = " ".join(page.locator(".jp-OutputArea-output").all_inner_texts())
    assert not re.search(
        r"Loading widget|Error displaying widget|model not found|VBox\(|HBox\(", shown
    )


def picture(page):
    """The bytes of the explorer's picture, as the browser has them."""
    return page.locator("img.widget-image").evaluate(
        "async image => [...new Uint8Array(await (await fetch(image.src)).arrayBuffer())]"
    )


def changed(page, before):
    deadline = time.monotonic() + PATIENCE / 1000
    while (now := picture(page)) == before:
        assert time.monotonic() < deadline, "the picture stays the same"
        page.wait_for_timeout(100)
    return now


def test_the_lab_opens_at_the_quickstart_and_a_trained_network_is_seen(page, lab):
    run_all(page, f"{lab}/?token={TOKEN}")
    expect(page.locator(".jp-NotebookPanel:visible h1", has_text="Quickstart")).to_be_visible()
    expect(page.locator(".jp-OutputArea-output img")).to_have_count(
        3
    )  # the third is the first trained run
    expect(
        page.locator(".jp-OutputArea-output", has_text="figures/quickstart/two_gates.png")
    ).to_be_visible()  # the last cell
    page.screenshot(path=SCREENS / "quickstart.png")
    assert_sound(page)


@pytest.fixture(scope="module")
def target():
    """A run, and where its point lies in the view against k: pixels from the left and from the top."""
    explorer = Explorer(beside="linear")
    explorer.tabs.selected_index = 1
    figure, frame = explorer.scatter.canvas.figure, explorer.scatter.frame
    figure.draw_without_rendering()
    row = frame.loc[frame[frame["k"] == 110]["rel_l2_u"].idxmax()]  # it lies alone
    x, y = figure.axes[0].transData.transform((row["x"], row["rel_l2_u"]))
    return row, x, figure.bbox.height - y


def test_the_explorer_shows_a_new_picture_for_a_click_a_slider_and_a_training(page, lab, target):
    run_all(page, f"{lab}/lab/workspaces/other/tree/notebooks/explorer.ipynb?token={TOKEN}")
    expect(page.locator("img.widget-image")).to_be_visible()
    status = page.locator(".jp-OutputArea .widget-html-content")
    expect(status).to_contain_text("On record: relative L² error 0.0247")
    recorded = picture(page)
    page.screenshot(path=SCREENS / "explorer_record.png")

    page.get_by_role("tab", name="all runs against k").click()
    page.locator(".jupyter-matplotlib-canvas-container canvas").first.scroll_into_view_if_needed()
    page.wait_for_timeout(1500)  # the canvas is drawn after it is shown
    page.screenshot(path=SCREENS / "explorer_cloud.png")
    row, x, y = target
    page.locator(".jupyter-matplotlib-canvas-container").click(position={"x": x, "y": y})
    expect(status).to_contain_text(f"On record: relative L² error {row['rel_l2_u']:.4f}")
    clicked = changed(page, recorded)

    page.get_by_label("beside").select_option("nothing")
    page.locator(".widget-slider", has_text=re.compile("^k")).locator(".noUi-handle").focus()
    page.keyboard.press("ArrowRight")
    expect(status).to_have_text("Not on record: Train takes seconds.")
    untrained = changed(page, clicked)

    page.get_by_role("button", name="Train").click()
    expect(page.get_by_role("button", name="Cancel")).to_be_enabled()
    page.wait_for_timeout(1500)
    page.screenshot(path=SCREENS / "explorer_training.png")
    expect(status).to_contain_text(
        re.compile(r"Trained here in [\d.]+ s: relative L² error 0\.\d+"), timeout=3 * PATIENCE
    )
    changed(page, untrained)
    page.screenshot(path=SCREENS / "explorer_trained.png")
    assert_sound(page)
