"""Take the pictures of the chat page, wide and narrow, light and dark, from a running server.

    python scripts/screenshots.py http://127.0.0.1:8000/s/<code>/

Talks with the study's chatbot as a worker would, up to an open question, and writes docs/images/chat*.png.
"""

import argparse
import os
import re
import shutil
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, expect, sync_playwright

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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("link", help="a study link, for workers")
    parser.add_argument("--to", type=Path, default=FOLDER, help=f"folder; default: {FOLDER}")
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("TURNWISE_CHROMIUM") or shutil.which("chromium"), args=flags
        )
        for size, (width, height) in SIZES.items():
            for dark, scheme in SCHEMES.items():
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                start(page, arguments.link)
                talk(page)
                page.screenshot(path=arguments.to / f"chat{size}{dark}.png")
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
