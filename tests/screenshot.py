"""Take the picture of the explorer that its notebook and the README show.

.venv/bin/python tests/screenshot.py   writes figures/explorer/interface.png (needs Chromium)

Take it anew after a change of the explorer's looks. No test compares its bytes, which depend on
fonts and browser.
"""

import io
import sys
import tempfile
from pathlib import Path

from chromium import INSTALL, chromium, find_chromium
from lab import PATIENCE, run_explorer, serving
from PIL import Image
from playwright.sync_api import Page, expect

from pinnlib.paths import ROOT

INTERFACE = ROOT / "figures" / "explorer" / "interface.png"
WIDTH = 1000  # of the explorer, in pixels of CSS
SCALE = 1.36  # pixels of the picture per pixel of CSS
VIEWPORT = {"width": 1600, "height": 2400}  # all of the explorer is in sight
MARGIN = 20  # around the two parts of the picture, in its pixels
COLOURS = 256


def photograph(page: Page, path: Path) -> None:
    """Save a picture of the explorer that runs in a page: all menus and both views."""
    page.set_viewport_size(VIEWPORT)
    page.get_by_text("More settings", exact=True).last.click()
    whole = page.locator(".jp-OutputArea-output > .widget-vbox")
    whole.evaluate(f"box => {{ box.style.width = '{WIDTH}px' }}")
    expect(page.get_by_label("precision")).to_be_visible()
    one_run = _screenshot(page, whole)
    page.get_by_role("tab", name="all runs against k").click()
    expect(page.locator(".jupyter-matplotlib-canvas-container canvas").first).to_be_visible()
    all_runs = _screenshot(page, page.locator(".jp-OutputArea-output .widget-tab"))
    height = one_run.height + all_runs.height + 3 * MARGIN
    both = Image.new("RGB", (one_run.width + 2 * MARGIN, height), "white")
    both.paste(one_run, (MARGIN, MARGIN))
    both.paste(all_runs, (MARGIN, one_run.height + 2 * MARGIN))
    path.parent.mkdir(parents=True, exist_ok=True)
    both.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def _screenshot(page, part):
    page.wait_for_timeout(2000)  # menus unfold and the canvas is drawn
    return Image.open(io.BytesIO(part.screenshot()))


def main() -> None:
    if find_chromium() is None:
        sys.exit(f"no Chromium here; on Debian or Ubuntu: sudo {INSTALL}")
    expect.set_options(timeout=PATIENCE)
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder)) as lab,
        chromium() as browser,
    ):
        page = browser.new_page(viewport=VIEWPORT, device_scale_factor=SCALE)
        page.set_default_timeout(PATIENCE)
        run_explorer(page, lab, "picture")
        photograph(page, INTERFACE)
    print(INTERFACE)


if __name__ == "__main__":
    main()
