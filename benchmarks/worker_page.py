"""Speed and layout stability of the chat page, in a real browser.

    python benchmarks/worker_page.py http://127.0.0.1:8000/s/<code>/

Talks with the study's chatbot as a worker would, by keyboard, to the last turn that the study allows, and
prints one JSON object: time from an answer's key to the frame that shows what comes next, beside that of a
key which does nothing on the same page (the floor); layout shift; bytes of the page as sent; time until one
can write.
"""

import argparse
import json
import os
import platform
import re
import shutil
from typing import Any

import numpy as np
from playwright.sync_api import Page, expect, sync_playwright

# The next frame after a key, by the browser's own clock: event → script → paint.
WATCH = """() => {
    window.paints = [];
    addEventListener("keydown", event => requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => paints.push([event.key, performance.now() - event.timeStamp]);
        channel.port2.postMessage(null);
    }), true);
    window.shifts = [];
    const named = node => node && (node.id || node.className || named(node.parentElement) || node.nodeName);
    new PerformanceObserver(list => {
        for (const {value, hadRecentInput, sources} of list.getEntries()) {
            const moved = sources.map(({node}) => named(node));
            shifts.push([value, hadRecentInput, moved]);
        }
    }).observe({type: "layout-shift", buffered: true});
}"""
USABLE = """new MutationObserver(() => {
    const isUsable = document.getElementById("send")?.getAttribute("aria-disabled") === "false";
    if (isUsable) window.usableAt ??= performance.now();
}).observe(document, {subtree: true, childList: true, attributes: true})"""
LOADED = """() => {
    const entries = ["navigation", "resource"].flatMap(type => performance.getEntriesByType(type));
    const own = entries.filter(({name}) => !name.endsWith(".svg"));
    return {files: own.length, bytes: own.reduce((sum, {encodedBodySize}) => sum + encodedBodySize, 0)};
}"""
NOTHING = "F8"
NO_BURST_MS = 350


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


def open_chat(page: Page, link: str) -> float:
    """To the chat; milliseconds from its address to a box in which one can write."""
    page.goto(link)
    page.get_by_label("I agree to take part").check()
    page.get_by_role("button", name="Continue").click()
    practise(page)
    expect(page.locator("#send")).to_have_attribute("aria-disabled", "false")
    page.add_init_script(USABLE)
    page.reload()
    expect(page.locator("#send")).to_have_attribute("aria-disabled", "false")
    return float(page.evaluate("usableAt"))


def talk(page: Page) -> int:
    """Say something, and answer by key, until nothing more may be said; the number of replies."""
    for number in range(1, 1000):
        page.get_by_role("textbox", name="Your message").fill(f"This is what I say as number {number}.")
        page.keyboard.press("Enter")
        for key in "yn":
            expect(page.locator("#dock")).to_have_attribute("data-keys", "count", timeout=60_000)
            page.keyboard.press(NOTHING)
            page.wait_for_timeout(NO_BURST_MS)
            page.keyboard.press(key)
        expect(page.locator("#dock")).to_have_attribute("data-mode", re.compile("write|over"))
        if page.locator("#dock").get_attribute("data-mode") == "over":
            return number
        expect(page.locator("#send")).to_have_attribute("aria-disabled", "false")
    raise SystemExit("The conversation does not end: take a study with fewer turns.")


def of(paints: list[tuple[str, float]], keys: str) -> dict[str, float]:
    median, p95, most = np.percentile([ms for key, ms in paints if key in keys.split()], [50, 95, 100])
    return {"median_ms": round(median, 1), "p95_ms": round(p95, 1), "max_ms": round(most, 1)}


def measure(page: Page, link: str) -> dict[str, Any]:
    usable = open_chat(page, link)
    loaded = page.evaluate(LOADED)
    page.evaluate(WATCH)
    replies = talk(page)
    paints, shifts = page.evaluate("[paints, shifts]")
    return {
        "turns": 2 * replies,
        "answer_to_paint": of(paints, "y n"),
        "floor_idle_key_to_paint": of(paints, NOTHING),
        "layout_shift": {
            "unexpected": round(sum(value for value, recent, _ in shifts if not recent), 5),
            "after_input": round(sum(value for value, recent, _ in shifts if recent), 5),
            "moved_unexpectedly": sorted({str(moved) for _, recent, moved in shifts if not recent}),
        },
        "page": {"files": loaded["files"], "compressed_kb": round(loaded["bytes"] / 1000, 1)},
        "usable_after_ms": round(usable),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("link", help="a study link, for workers")
    arguments = parser.parse_args()
    with sync_playwright() as playwright:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("TURNWISE_CHROMIUM") or shutil.which("chromium"), args=flags
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        print(json.dumps(measure(page, arguments.link), indent=2))
        browser.close()


if __name__ == "__main__":
    main()
