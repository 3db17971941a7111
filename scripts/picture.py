"""Make the picture of the README, a report in a real browser, or tell whether it is older than the page.

python scripts/picture.py            # needs Chromium and the extra `test`
python scripts/picture.py --check    # exit status 1 if the text or the style of the page has changed since
"""

from __future__ import annotations

import argparse
import hashlib
import html
import re
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import sync_playwright

import calibrant as cb

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "_static" / "report.png"
SIZE = {"width": 1180, "height": 1500}
KEY = "calibrant page"
DRAWN = re.compile(r"<svg.*?</svg>|<script.*?</script>|<[^>]*>|calibrant \d+\.\d+\.\d+", re.DOTALL)
STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def page() -> str:
    """Return the report on the churn example."""
    churn = cb.examples.churn()
    names = {"outcome": "left", "prediction": "network", "source": "churn.parquet"}
    audit = cb.audit(churn.y, churn.p, groups={"plan": churn.segment}, names=names)
    with tempfile.TemporaryDirectory() as folder:
        return audit.to_html(Path(folder) / "report.html").read_text("utf-8")


def digest(text: str) -> str:
    """Return a digest of the words and the style of a page; how pictures are drawn depends on matplotlib."""
    words = " ".join(html.unescape(DRAWN.sub(" ", STYLE.sub(" ", text))).split())
    return hashlib.sha256((words + "".join(STYLE.findall(text))).encode()).hexdigest()


def taken(text: str, path: Path) -> None:
    """Open a page in Chromium and keep its first screen, with the digest of the page."""
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        place = Path(folder) / "report.html"
        place.write_text(text, "utf-8")
        tab = browser.new_page(viewport=SIZE, color_scheme="light")
        tab.goto(place.as_uri())
        shot = Path(folder) / "shot.png"
        tab.screenshot(path=shot)
        known = PngInfo()
        known.add_text(KEY, digest(text))
        Image.open(shot).convert("P", palette=Image.Palette.ADAPTIVE).save(path, pnginfo=known, optimize=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="make nothing, compare")
    text = page()
    if not parser.parse_args().check:
        taken(text, PICTURE)
        return 0
    with Image.open(PICTURE) as picture:
        if picture.info.get(KEY) == digest(text):
            return 0
    print(f"{PICTURE.name} shows an older page: run scripts/picture.py, and look at it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
