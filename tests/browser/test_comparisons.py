"""The comparison's pages as a researcher sees them, on a desk and on a phone."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit, Visitor
from tests.browser.test_charts import DRAWN, inside, meet
from tests.browser.test_staff_pages import sign_in
from tests.comparisons.conftest import BOTH, NO, SENSIBLE, talk
from tests.comparisons.test_measured import rated
from tests.conftest import MakeStudy
from tests.planted import computed
from tests.snapshots import Snapshot
from turnwise.accounts.models import User
from turnwise.bots.models import Bot, BotVersion
from turnwise.bots.services import record_perplexity
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PLANTED = {"ann": [BOTH, BOTH, SENSIBLE], "bob": [BOTH, NO, NO], "cat": [SENSIBLE, NO, BOTH]}
HUMAN = {"ann": [True, True, False], "bob": [True, False, False], "cat": [False, True, False]}
PAGES = ("/compare/?study={0}&study={1}", "/compare/perplexity/?published=yes", "/compare/human-likeness/",
         "/bots/ann/history/")  # fmt: skip


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return Snapshot()


@pytest.fixture
def studies(snapshot: Snapshot, transactional_db: None, request: pytest.FixtureRequest) -> list[Study]:
    """Two studies for all tests: to compute their reports takes longer than to look at the pages."""
    if not snapshot.put_back():
        make_studies(request.getfixturevalue("rex"), request.getfixturevalue("make_study"))
        snapshot.take()
    return list(Study.objects.order_by("pk"))


def make_studies(rex: User, make_study: MakeStudy) -> None:
    limits = {"min_turns": 2, "max_turns": 8}
    ssa = make_study(dict.fromkeys(PLANTED, 9), title="Small talk " + "Donaudampfschifffahrt" * 3, **limits)
    human = make_study(dict.fromkeys(PLANTED, 9), question_set="human-likeness", title="Human", **limits)
    for n in range(9):
        talk(ssa, {bot: labels[: 2 + n % 2] for bot, labels in PLANTED.items()})
        talk(human, {bot: labels[: 2 + n % 2] for bot, labels in HUMAN.items()})
    Bot.objects.filter(name="bob").update(title="Rindfleischetikettierungsüberwachungsaufgabe")
    for value, version in enumerate(BotVersion.objects.exclude(bot__name="ann"), 1):
        record_perplexity(version, perplexity=12.5 * value, data="test set", tokenizer="8K", by=rex)
    for study in (ssa, human):
        computed(study)


async def pages(
    visit: Visit, studies: list[Study], *widths: int, **options: Any
) -> AsyncIterator[tuple[int, str, Visitor]]:
    """Each page at each width, signed in."""
    visitor = await visit(**options)
    await sign_in(visitor)
    for path in PAGES:
        await visitor.go(path.format(*(study.pk for study in studies)))
        for width in widths:
            await visitor.page.set_viewport_size({"width": width, "height": 800})
            yield width, path, visitor


# Tables that must be slid sideways to be read, and numbers that do not say what they are of.
TO_SLIDE = """() => [...document.querySelectorAll(".scroll:has(> table)")]
  .filter(each => each.scrollWidth > each.clientWidth).map(each => each.ariaLabel)"""
NAMELESS = """() =>
  [...document.querySelectorAll(".numbers td:not([data-label])")].map(each => each.textContent)"""


async def test_the_pages_and_their_charts_fit_and_can_be_read_aloud(
    visit: Visit, studies: list[Study]
) -> None:
    searched: set[str] = set()
    async for width, path, visitor in pages(visit, studies, 1280, 320):
        await expect(visitor.page.locator(".plot svg").first).to_be_visible()
        if width == 1280:
            searched.clear()
        assert await visitor.flaws(searched) == [], (width, path)
        assert await visitor.fits(), (width, path)
        if width < 640:
            assert await visitor.page.evaluate(TO_SLIDE) == [], (width, path)
            assert await visitor.page.evaluate(NAMELESS) == [], (width, path)
        charts = await visitor.page.evaluate(DRAWN)

        assert charts, path
        for chart in charts:
            texts, where = chart["texts"], (width, path, chart["name"])
            assert chart["marks"], where
            boxes = [*texts, *chart["marks"], chart["svg"]]
            assert [each["what"] for each in boxes if not inside(each, chart["frame"])] == [], where
            for n, text in enumerate(texts):
                met = [other["what"] for other in [*texts[:n], *chart["marks"]] if meet(text, other)]
                assert met == [], (*where, text["what"])


async def test_from_a_perplexity_entered_to_the_line(visit: Visit, studies: list[Study]) -> None:
    visitor = await visit()
    page = visitor.page
    await sign_in(visitor, "/compare/perplexity/")
    await expect(page.get_by_text("No line and no correlation: 2 points")).to_have_count(3)

    await page.get_by_role("link", name="Ann", exact=True).click()
    await page.get_by_text("Enter its perplexity").click()
    await page.get_by_label("Perplexity").fill("8")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("Say on which held-out data")
    assert await visitor.flaws() == []
    await page.get_by_label("Measured on").fill("test set")
    await page.get_by_label("Tokenizer").fill("8K")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Entered by rex")).to_be_visible()

    await visitor.go("/compare/perplexity/")
    await expect(page.get_by_text("No line and no correlation")).to_have_count(0)
    await expect(page.get_by_role("group", name="Scatter plot of SSA")).to_be_visible()


async def test_studies_are_chosen_by_keyboard(visit: Visit, studies: list[Study]) -> None:
    visitor = await visit()
    page = visitor.page
    await sign_in(visitor, "/compare/")
    for name in ("Human", "Small talk"):
        await page.get_by_role("checkbox", name=name).focus()
        await page.keyboard.press("Space")

    await page.keyboard.press("Enter")

    await expect(page.get_by_role("heading", name="Differences between the studies")).to_be_visible()
    await expect(page.get_by_role("group", name="Chart of the scores of each bot")).to_have_count(2)
    assert "study=" in page.url
    download = page.get_by_role("link", name="CSV", exact=True)
    address = await download.get_attribute("href")
    assert address
    response = await page.request.get(visitor.site + address)
    assert (await response.text()).startswith("study,study_code,bot,score")


# What the charts of a page show on it: each laid out in the place of its picture, as boxes of its texts.
PICTURES = """async () => {
  const found = [];
  for (const picture of document.querySelectorAll(".chart img")) {
    picture.scrollIntoView();
    await picture.decode();
    const frame = picture.closest(".scroll");
    const drawn = await (await fetch(picture.currentSrc)).text();
    const { width } = picture.getBoundingClientRect();
    const parsed = new DOMParser().parseFromString(drawn, "image/svg+xml");
    const svg = document.importNode(parsed.documentElement, true);
    svg.setAttribute("width", width);
    svg.removeAttribute("height");
    picture.after(svg);
    const box = (element) => {
      const { left, top, right, bottom } = element.getBoundingClientRect();
      return { what: element.textContent.trim(), left, top, right, bottom };
    };
    found.push({
      address: picture.currentSrc,
      slides: frame.scrollWidth > frame.clientWidth,
      frame: box(svg),
      texts: [...svg.querySelectorAll("text")].map(box),
    });
    svg.remove();
  }
  return found;
}"""


async def test_a_point_says_its_numbers_and_leads_to_its_bot(visit: Visit, studies: list[Study]) -> None:
    visitor = await visit()
    page = visitor.page
    await sign_in(visitor, "/compare/perplexity/?published=yes")
    chart = page.get_by_role("group", name="Scatter plot of SSA")
    mark = chart.get_by_role("link", name="Cat")

    await mark.hover()
    await expect(chart.locator(".tip text").first).to_have_text("Cat")
    await expect(chart.locator(".tip")).to_contain_text("perplexity per token: ")
    await mark.press("Enter")
    await expect(page).to_have_url(f"{visitor.site}/bots/cat/history/?questions=ssa")


async def test_phones_without_scripts_get_pictures_drawn_for_them(visit: Visit, studies: list[Study]) -> None:
    phone = {"viewport": {"width": 390, "height": 800}, "java_script_enabled": False}
    async for width, path, visitor in pages(visit, studies, 390, 320, **phone):
        charts = await visitor.page.evaluate(PICTURES)

        assert charts, path
        for chart in charts:
            texts = chart["texts"]
            where = (width, path, chart["address"])
            assert "room=narrow" in chart["address"]
            assert not chart["slides"], where
            assert min(text["bottom"] - text["top"] for text in texts) >= 11, where
            assert [text["what"] for text in texts if not inside(text, chart["frame"])] == [], where
            for n, text in enumerate(texts):
                met = [other["what"] for other in texts[:n] if meet(text, other)]
                assert met == [], (*where, text["what"])


async def test_a_version_is_hidden_from_its_history_and_shown_again(
    visit: Visit, rex: User, make_study: MakeStudy
) -> None:
    def planted() -> None:
        rated_by = AskSpec("likert", About.DIALOGUE, Moment.AT_END)
        study = make_study({"ann": 9}, title="Ratings", asks=[rated_by], min_turns=2, max_turns=8)
        for quality, release in ((2, 1), (4, 1), (7, 2)):
            rated(study, quality, release=release)

    await sync_to_async(planted)()
    visitor = await visit()
    await sign_in(visitor, "/bots/ann/history/?questions=likert")
    chart = visitor.page.locator(".plot").first  # of the scores that share its scale
    marks = chart.locator(".mark")
    versions = chart.get_by_role("group", name="Versions").get_by_role("button")
    first, second = versions.nth(0), versions.nth(1)
    await expect(marks).to_have_count(6)  # three scores of two versions

    await first.click()

    await expect(first).to_have_attribute("aria-pressed", "false")
    await expect(marks).to_have_count(3)
    await second.click()  # the last one stays
    await expect(second).to_have_attribute("aria-pressed", "true")
    assert await visitor.flaws() == []
    await first.click()
    await expect(marks).to_have_count(6)
