"""The charts of a report as browsers draw them: nothing is covered, cut or to be scrolled on any screen."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from accounts.models import User
from bots.models import Bot
from studies.models import Study
from tests.browser.conftest import Visit, Visitor
from tests.browser.test_staff_pages import PASSWORD, sign_in
from tests.conftest import MakeStudy
from tests.planted import computed, talked

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

TITLES = ("Small Meena (full), the newest one of all", "GenericBot", "小冰聊天机器人", "ELIZA")

DRAWN = (Path(__file__).parent / "drawn.js").read_text()
TOUCH = 1.0  # pixels by which boxes may meet: those of text are higher than its letters


@pytest.fixture
def rex(rex: User) -> User:
    rex.set_password(PASSWORD)
    rex.save()
    return rex


@pytest.fixture
def compared(make_study: MakeStudy) -> Study:
    study = make_study({"ann": 99, "bob": 99, "cia": 99, "dan": 99}, min_turns=2, max_turns=12)
    for title, bot in zip(TITLES, Bot.objects.order_by("name"), strict=True):
        Bot.objects.filter(pk=bot.pk).update(title=title)
    for n in range(16):
        talked(study, [((n + k) % 5 > 0, (n + k) % 3 > 0 and (n + k) % 5 > 0) for k in range(4)])
    computed(study)
    return study


def meet(one: Any, other: Any) -> bool:
    return bool(
        one["left"] + TOUCH < other["right"]
        and other["left"] + TOUCH < one["right"]
        and one["top"] + TOUCH < other["bottom"]
        and other["top"] + TOUCH < one["bottom"]
    )


async def opened(visit: Visit, study: Study, width: int, **options: Any) -> Visitor:
    visitor = await visit(viewport={"width": width, "height": 900}, **options)
    await sign_in(visitor, f"/studies/{study.pk}/report/")
    await expect(visitor.page.locator(".chart svg:visible")).to_have_count(3)
    return visitor


@pytest.mark.parametrize("width", [1280, 700, 390, 320])
async def test_nothing_is_covered_cut_or_scrolled(
    visit: Visit, rex: User, compared: Study, width: int
) -> None:
    visitor = await opened(visit, compared, width)

    for chart in await visitor.page.evaluate(DRAWN):
        texts = chart["texts"]
        assert len(texts) > 6
        assert chart["marks"]
        for n, text in enumerate(texts):
            met = [other["what"] for other in [*texts[:n], *chart["marks"]] if meet(text, other)]
            assert met == [], (chart["name"], text["what"])
        edges = [each for each in [*texts, *chart["marks"], chart["svg"]] if not inside(each, chart["frame"])]
        assert edges == []
    assert await visitor.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def inside(one: Any, frame: Any) -> bool:
    return bool(
        frame["left"] <= one["left"]
        and one["right"] <= frame["right"]
        and frame["top"] <= one["top"]
        and one["bottom"] <= frame["bottom"]
    )


async def test_a_phone_gets_a_drawing_of_its_own_with_letters_to_read(
    visit: Visit, rex: User, compared: Study
) -> None:
    visitor = await opened(visit, compared, 320)

    sizes = await visitor.page.evaluate(
        "[...document.querySelectorAll('.chart__narrow svg text')].map(t => t.getBoundingClientRect().height)"
    )
    # Those that stand on their sides are as high as they are long.
    assert min(sizes) >= 11


async def test_paper_gets_every_section_and_chart(visit: Visit, rex: User, compared: Study) -> None:
    visitor = await opened(visit, compared, 1280)

    await visitor.page.emulate_media(media="print")

    await expect(visitor.page.locator(".chart svg:visible")).to_have_count(3)
    await expect(visitor.page.get_by_role("navigation", name="Main")).to_be_hidden()
