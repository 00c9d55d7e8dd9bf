"""The quickstart and the explorer in JupyterLab, in a real browser."""

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

from pinnlib.explorer import Explorer
from pinnlib.paths import NOTEBOOKS, ROOT
from pinnlib.training import HEADLESS

TOKEN = "a-token-for-this-test"
SCREENS = ROOT / "build" / "screens"  # for a person to look at
PATIENCE = 180_000  # ms, on a busy machine
expect.set_options(timeout=PATIENCE)
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of `./run_all.sh lab`, which serves copies of the notebooks without outputs."""
    place = tmp_path_factory.mktemp("lab")
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
    idle = page.get_by_role("button", name=re.compile(r"Python 3 .* Idle"))
    expect(idle).to_be_visible()  # before that, Run asks for a Jupyter kernel
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def assert_sound(page):
    """No cell failed, and every widget is displayed."""
    for kind in ("error", "stderr"):
        messages = page.locator(f'[data-mime-type="application/vnd.jupyter.{kind}"]')
        assert messages.all_inner_texts() == []
    shown = " ".join(page.locator(".jp-OutputArea-output").all_inner_texts())
    for text in ("Loading widget", "Error displaying widget", "model not found", "Box("):
        assert text not in shown


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


def test_the_lab_opens_at_the_quickstart_and_shows_a_trained_network(page, lab):
    run_all(page, f"{lab}/?token={TOKEN}")
    expect(page.locator(".jp-NotebookPanel:visible h1", has_text="Quickstart")).to_be_visible()
    outputs = page.locator(".jp-OutputArea-output")
    expect(outputs.locator("img").nth(2)).to_be_attached()  # the first trained run
    last = outputs.filter(has_text="figures/quickstart/two_gates.png")
    expect(last).to_be_visible()
    page.screenshot(path=SCREENS / "quickstart.png")
    assert_sound(page)


@pytest.fixture(scope="module")
def target():
    """A run, and the pixels of its point in the view against k, from the left and the top."""
    explorer = Explorer(beside="linear")
    explorer.tabs.selected_index = 1
    figure, table = explorer.scatter.canvas.figure, explorer.scatter.table
    figure.draw_without_rendering()
    row = table.loc[table[table["k"] == 110]["rel_l2_u"].idxmax()]  # no other point is near
    x, y = figure.axes[0].transData.transform((row["x"], row["rel_l2_u"]))
    return row, x, figure.bbox.height - y


def test_a_click_a_slider_and_a_training_change_the_picture(page, lab, target):
    run_all(page, f"{lab}/lab/workspaces/other/tree/notebooks/explorer.ipynb?token={TOKEN}")
    expect(page.locator("img.widget-image")).to_be_visible()
    status = page.locator(".jp-OutputArea .widget-html-content")
    expect(status).to_contain_text("On record")
    recorded = picture(page)
    page.screenshot(path=SCREENS / "explorer_record.png")

    page.get_by_role("tab", name="all runs against k").click()
    canvas = page.locator(".jupyter-matplotlib-canvas-container")
    canvas.locator("canvas").first.scroll_into_view_if_needed()
    page.wait_for_timeout(1500)  # the canvas is drawn after it is shown
    page.screenshot(path=SCREENS / "explorer_scatter.png")
    row, x, y = target
    canvas.click(position={"x": x, "y": y})
    expect(status).to_contain_text(f"{row['rel_l2_u']:.4f}")
    clicked = changed(page, recorded)

    page.get_by_label("beside").select_option("nothing")
    page.locator(".widget-slider", has_text=re.compile("^k")).locator(".noUi-handle").focus()
    page.keyboard.press("ArrowRight")
    expect(status).to_contain_text("Not on record")
    untrained = changed(page, clicked)

    page.get_by_role("button", name="Train").click()
    expect(page.get_by_role("button", name="Cancel")).to_be_enabled()
    page.wait_for_timeout(1500)
    page.screenshot(path=SCREENS / "explorer_training.png")
    expect(status).to_contain_text("Trained here", timeout=3 * PATIENCE)
    changed(page, untrained)
    page.screenshot(path=SCREENS / "explorer_trained.png")
    assert_sound(page)


def test_more_settings_lead_to_another_system_without_a_gate(page, lab):
    run_all(page, f"{lab}/lab/workspaces/more/tree/notebooks/explorer.ipynb?token={TOKEN}")
    expect(page.locator("img.widget-image")).to_be_visible()
    status = page.locator(".jp-OutputArea .widget-html-content")
    expect(status).to_contain_text("On record")
    pendulum = picture(page)

    page.get_by_text("More settings", exact=True).last.click()
    page.get_by_label("system").select_option("quartic")
    quartic = changed(page, pendulum)
    page.screenshot(path=SCREENS / "explorer_quartic.png")
    page.get_by_label("form").select_option("soft")
    expect(page.get_by_label("gate", exact=True)).to_be_disabled()
    page.get_by_label("system").select_option("spring_pendulum")
    changed(page, quartic)
    page.get_by_label("form").select_option("gated")
    expect(status).to_contain_text("On record")
    page.screenshot(path=SCREENS / "explorer_more.png")
    assert_sound(page)
