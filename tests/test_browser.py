"""The notebooks in JupyterLab and the index page, in a real browser."""

import re
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from chromium import INSTALL, chromium, find_chromium
from lab import PATIENCE, TOKEN, run_all, run_explorer, serving
from PIL import Image
from playwright.sync_api import expect
from screenshot import INTERFACE, photograph

from pinnlib.bundle.html import write_page
from pinnlib.bundle.index import write_index
from pinnlib.bundle.pipeline import numbered
from pinnlib.explorer import Explorer
from pinnlib.paths import NOTEBOOKS, ROOT

SCREENS = ROOT / "build" / "screens"  # for a person to look at
expect.set_options(timeout=PATIENCE)
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("lab")) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    if find_chromium() is None:
        pytest.skip(f"no Chromium here; on Debian or Ubuntu: sudo {INSTALL}")
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser):
    page = browser.new_page(viewport={"width": 1400, "height": 1100})
    page.set_default_timeout(PATIENCE)
    SCREENS.mkdir(parents=True, exist_ok=True)
    yield page
    page.close()


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
    run_explorer(page, lab, "other")
    status = page.locator(".jp-OutputArea .widget-html-content")
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
    run_explorer(page, lab, "more")
    status = page.locator(".jp-OutputArea .widget-html-content")
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


def test_the_picture_of_the_explorer_has_its_size_and_its_views(page, lab):
    """No bytes are compared: fonts and browsers differ."""
    run_explorer(page, lab, "picture")
    path = SCREENS / "interface.png"
    path.unlink(missing_ok=True)
    photograph(page, path)
    with Image.open(path) as taken, Image.open(INTERFACE) as committed:
        shape = taken.height / taken.width
        assert committed.height / committed.width == pytest.approx(shape, rel=0.05)
        assert 1200 <= committed.width <= 1600
    assert INTERFACE.stat().st_size < 400_000
    assert_sound(page)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """The index page of the committed results; the pages of numbered notebooks are empty."""
    place = tmp_path_factory.mktemp("site")
    write_page(NOTEBOOKS / "explorer.ipynb", place / "notebooks")
    for notebook in numbered():
        (place / "notebooks" / f"{notebook.stem}.html").touch()
    return write_index(place, ROOT)


@pytest.mark.parametrize("width", [1400, 390])
def test_the_index_page_is_complete_without_a_network(page, index, width):
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(index.as_uri())
    page.screenshot(path=SCREENS / f"index_{width}.png", full_page=True)
    others = [url for url in requests if not url.startswith("data:")]
    assert others == [index.as_uri()]
    assert page.locator("h1").inner_text().startswith("Which gate?")
    loaded = "images => images.map(image => image.complete && image.naturalWidth > 0)"
    images = page.locator("img").evaluate_all(loaded)
    assert all(images)
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) <= 0  # nothing is cut off or has to be scrolled sideways


def test_every_link_of_the_index_page_resolves(page, index):
    page.goto(index.as_uri())
    addresses = page.locator("a[href]").evaluate_all("links => links.map(link => link.href)")
    files = {unquote(urlsplit(address).path) for address in addresses}
    assert [urlsplit(address).scheme for address in addresses] == ["file"] * len(addresses)
    assert [file for file in files if not Path(file).is_file()] == []
    names = {Path(file).name for file in files}
    assert names >= {f"{path.stem}.html" for path in NOTEBOOKS.glob("*.ipynb")}
    assert names >= {path.name for path in (ROOT / "data").glob("*.csv")}
    assert "main.pdf" in names


def test_the_page_of_the_explorer_shows_its_interface_without_a_jupyter_kernel(page, index):
    page.goto((index.parent / "notebooks" / "explorer.html").as_uri())
    picture = page.get_by_alt_text(re.compile("explorer", re.I)).first
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 1200
