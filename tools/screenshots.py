"""Make the pictures of README and guides, in a real browser, from the demo models and the demo atlas.

    make demo
    python tools/screenshots.py                       # all of them
    python tools/screenshots.py explorer-atlas ...    # some
    python tools/screenshots.py --atlas other.nc --folder elsewhere

Needs chromium. Each picture is 1280 x 900 pixels, light, or the part of that which shows something, and below 200 kB.
"""

import argparse
import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, expect, sync_playwright

from headscope.atlas import open_atlas
from headscope.report import write_report

ROOT = Path(__file__).parents[1]
WIDE, HIGH = 1280, 900
LARGEST = 200_000
PATIENCE = 180_000
"""Milliseconds; a busy machine needs them when a model is first used."""

OBJECTS = "Anna wrote a long letter to the mayor, and the boy broke the blue cup."
REPEATED = "The old doctor lost a silver letter in the garden. Next summer the old doctor lost a silver"
OBJECT_ACCURACY = "dependency_accuracy:relation=obj,direction=dependent_to_head"
INDUCTION = "4.2, 4.3, 4.4, 4.5, 4.6"


@dataclass(frozen=True)
class Picture:
    """What to look at, what to wait for, and how much of it to keep."""

    shows: str
    """An element that is there once all is drawn."""
    link: dict[str, str]
    """The state of the explorer's page; empty for the report."""
    high: int = HIGH
    """Pixels from the top that are kept."""


PICTURES = {
    "explorer-atlas": Picture(
        ".hp-card", {"view": "atlas", "layer": "7", "heads": "4", "colour": OBJECT_ACCURACY}
    ),
    "explorer-map": Picture(".hp-card", {"view": "map", "layer": "7", "heads": "4"}, high=760),
    "explorer-heads": Picture(
        ".hs-footer",
        {"view": "head", "model": "demo", "a": OBJECTS, "layer": "7", "heads": "4", "level": "word"},
        high=620,
    ),
    "explorer-matrix": Picture(
        ".hs-footer", {"view": "matrix", "model": "demo", "a": OBJECTS, "layer": "7", "heads": "4"}
    ),
    "explorer-all-heads": Picture(".hs-footer", {"view": "model", "model": "demo", "a": OBJECTS}),
    "explorer-neurons": Picture(
        ".hs-footer",
        {"view": "neuron", "model": "demo", "a": OBJECTS, "layer": "7", "heads": "4", "token": "5"},
        high=600,
    ),
    "explorer-try": Picture(
        ".hs-main-part",
        {"view": "try", "model": "demo-lm", "a": REPEATED, "x-off": INDUCTION},
        high=400,
    ),
    "induction-head": Picture(
        ".hs-footer",
        {"view": "head", "model": "demo-lm", "a": REPEATED, "layer": "4", "heads": "2"},
        high=620,
    ),
    "report": Picture("main", {}),
}


@contextmanager
def explorer(atlas: Path) -> Iterator[str]:
    """The link of `headscope explore`, running."""
    command = [sys.executable, "-m", "headscope", "explore", "demo", "demo-lm", str(atlas), "--no-open"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"HF_HUB_OFFLINE": "1"}
    )
    assert process.stdout is not None
    with process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)


def photograph(browser: Browser, picture: Picture, address: str) -> bytes:
    """The picture as PNG."""
    with browser.new_context(viewport={"width": WIDE, "height": HIGH}, color_scheme="light") as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        expect(page.locator(picture.shows).first).to_be_visible(timeout=PATIENCE)
        expect(page.locator(".hs-busy")).to_have_count(0, timeout=PATIENCE)
        page.wait_for_timeout(800)
        return page.screenshot(clip={"x": 0, "y": 0, "width": WIDE, "height": picture.high})


def store(pixels: bytes, path: Path) -> None:
    """Write the picture in its true colours, or where that is too large with a palette."""
    image = Image.open(io.BytesIO(pixels)).convert("RGB")
    image.save(path, optimize=True)
    if path.stat().st_size > LARGEST:
        image.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            path, optimize=True
        )
    size = path.stat().st_size
    print(f"{path.name}: {image.width} x {image.height}, {size / 1000:.0f} kB", flush=True)
    if size > LARGEST:
        raise SystemExit(f"{path.name} is larger than {LARGEST / 1000:.0f} kB; keep less of it")


def main() -> None:
    """Make the pictures that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help=", ".join(PICTURES))
    parser.add_argument("--atlas", type=Path, default=ROOT / "demo" / "demo.nc")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "images")
    options = parser.parse_args()
    if not options.atlas.exists():
        parser.error(f"{options.atlas} is not there; make it with: make demo")
    with TemporaryDirectory() as folder, sync_playwright() as playwright, explorer(options.atlas) as link:
        report = Path(folder) / "report.html"
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in options.names or PICTURES:
            picture = PICTURES[name]
            if picture.link:
                address = f"{link}&{urlencode(picture.link)}"
            else:
                address = write_report(open_atlas(options.atlas), report).as_uri()
            store(photograph(browser, picture, address), options.folder / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
