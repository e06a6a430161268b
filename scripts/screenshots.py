"""Take the pictures of the documentation from a running server.

    python scripts/screenshots.py http://127.0.0.1:8000/s/<code>/
    python scripts/screenshots.py http://127.0.0.1:8000/studies/<number>/report/ --as var/first_admin

Of a study link: talks with the chatbot as a worker would, up to an open question, and writes chat*.png,
wide and narrow, light and dark. Of a report: signs in, and writes home.png, report.png, and of the same study
monitor.png and preview.png.
"""

import argparse
import os
import re
import shutil
from io import BytesIO
from pathlib import Path
from typing import Literal
from urllib.parse import urljoin

from PIL import Image  # comes with Matplotlib
from playwright.sync_api import Browser, Page, expect, sync_playwright

FOLDER = Path(__file__).parents[1] / "docs" / "images"
SIZES = {"": (1280, 800), "-390": (390, 844), "-320": (320, 640)}
SCHEMES: dict[str, Literal["light", "dark"]] = {"": "light", "-dark": "dark"}
TALK = (
    ("I have been learning the cello for a year.", ("Yes", "Yes")),
    ("I practise every evening after work.", ("Yes", "No")),
    ("My neighbours are very patient people.", ("Yes",)),
)


def start(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_label("I agree to take part").check()
    page.get_by_role("button", name="Continue").click()
    practise(page)


def practise(page: Page) -> None:
    """Through the practice, if the study has one, with whichever answers; then begin."""
    start = page.get_by_role("button", name=re.compile("^Start"))
    steps = page.locator("a:text('Try the questions'), #ask:not([inert]) .choice, #next").locator(
        "visible=true"
    )
    while True:
        expect(start.or_(steps).first).to_be_visible()
        if start.is_visible():
            return start.click()
        steps.first.click()


def talk(page: Page) -> None:
    for text, choices in TALK:
        expect(page.locator("#send")).to_have_attribute("aria-disabled", "false")
        page.get_by_role("textbox", name="Your message").fill(text)
        page.get_by_role("textbox", name="Your message").press("Enter")
        for choice in choices:
            page.locator("#ask:not([inert])").get_by_role("button", name=choice).click()
    expect(page.get_by_role("group", name="Is it specific?")).to_be_focused()
    expect(page.locator("#dock")).to_have_attribute("data-keys", "count")
    page.mouse.move(0, 0)  # no answer looks chosen


def chats(browser: Browser, link: str, to: Path) -> None:
    for size, (width, height) in SIZES.items():
        for dark, scheme in SCHEMES.items():
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            start(page, link)
            talk(page)
            picture(page, to / f"chat{size}{dark}.png")
            page.close()


def picture(page: Page, path: Path) -> None:
    """What the window shows, at rest, in 256 colours: none is missed, and the file is half as large."""
    taken = Image.open(BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    few = taken.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def whole(page: Page, path: Path) -> None:
    """The page from its first line to its last, in a window as high as that."""
    width = SIZES[""][0]
    page.set_viewport_size({"width": width, "height": page.evaluate("document.documentElement.scrollHeight")})
    picture(page, path)


def researcher(browser: Browser, report: str, signs_in: Path, to: Path) -> None:
    """Home, the report from its answer on, and the monitor and the preview of the same study."""
    name, password = signs_in.read_text().strip().split(" / ")
    width, height = SIZES[""]
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(urljoin(report, "/sign-in/"))
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/home/")
    page.reload()  # with the fonts, which the first page did not wait for
    whole(page, to / "home.png")
    page.set_viewport_size({"width": width, "height": height + 200})
    page.goto(report)
    expect(page.locator(".plot").first).to_be_visible()
    picture(page, to / "report.png")
    page.goto(urljoin(report, "../monitor/"))
    whole(page, to / "monitor.png")
    page.goto(urljoin(report, "../preview/?page=work"))
    frame = page.frame_locator("iframe")
    frame.get_by_role("textbox", name="Your message").fill(TALK[0][0])
    frame.get_by_role("textbox", name="Your message").press("Enter")
    expect(frame.locator("#ask:not([inert]) fieldset")).to_be_visible()
    whole(page, to / "preview.png")
    page.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("link", help="a study link, for workers, or the address of a report")
    parser.add_argument("--as", dest="signs_in", type=Path, help="file with name and password; for a report")
    parser.add_argument("--to", type=Path, default=FOLDER, help=f"folder; default: {FOLDER}")
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("TURNWISE_CHROMIUM") or shutil.which("chromium"), args=flags
        )
        if arguments.signs_in:
            researcher(browser, arguments.link, arguments.signs_in, arguments.to)
        else:
            chats(browser, arguments.link, arguments.to)
        browser.close()


if __name__ == "__main__":
    main()
