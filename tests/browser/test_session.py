"""The main job: talk, judge every reply, get the completion code."""

import pytest
from asgiref.sync import sync_to_async
from django.db.models import F
from playwright.async_api import expect

from tests.browser.conftest import Visitor
from tests.conftest import MakeStudy, enter
from turnwise.crowd.models import Assignment, Participation, VisitCount
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.reservation import keep_place
from turnwise.labels.models import Label
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_full_session_leads_to_the_completion_code(wanda: Visitor, study: Study) -> None:
    await wanda.walk_in(study)
    assert [(each.saw, each.visits) async for each in VisitCount.objects.all()] == [("admitted", 1)]
    for number in range(1, 7):
        await wanda.exchange(f"Message {number}", "Yes", "No")
    await wanda.may_finish(so=False)
    await wanda.exchange("Message 7", "No")
    await wanda.finish()

    participation = await Participation.objects.aget()
    assert await wanda.page.get_by_label("Completion code").input_value() == participation.completion_code
    answers = [label.answers async for label in Label.objects.order_by("turn__position")]
    assert answers == [{"sensible": True, "specific": False}] * 6 + [{"sensible": False, "specific": False}]


async def test_a_finished_chat_stays_finished_until_the_next_page_comes(
    wanda: Visitor, make_study: MakeStudy
) -> None:
    await wanda.start(await sync_to_async(make_study)(min_turns=2))
    await wanda.exchange("Message", "No")
    await wanda.may_finish()
    await wanda.page.route("**/thanks/", lambda route: route.fulfill(status=204))  # the browser stays
    await wanda.page.get_by_role("button", name="Finish").click()
    await wanda.page.get_by_role("button", name="Yes, finish").click()
    await expect(wanda.page.get_by_role("link", name="completion code")).to_be_visible()

    await wanda.page.evaluate("['pagehide', 'pageshow'].forEach(name => dispatchEvent(new Event(name)))")

    await wanda.page.unroute("**/thanks/")
    await wanda.page.get_by_role("link", name="completion code").click()
    await expect(wanda.page.get_by_role("heading", name="Thank you")).to_be_visible()


async def test_finishing_with_an_unsent_message_warns_that_it_will_be_lost(
    wanda: Visitor, make_study: MakeStudy
) -> None:
    study = await sync_to_async(make_study)(min_turns=2, max_turns=8)
    page = wanda.page
    await wanda.start(study)
    await wanda.exchange("Hello")
    await wanda.may_finish()
    dialog, lost = page.locator("#confirm"), "has not been sent and will be lost"

    await page.get_by_role("button", name="Finish").click()
    await expect(dialog).not_to_contain_text(lost)
    await page.get_by_role("button", name="Go back").click()
    await wanda.message.fill("One more thing")
    await page.get_by_role("button", name="Finish").click()

    await expect(dialog).to_contain_text(lost)
    await page.get_by_role("button", name="Go back").click()
    await expect(wanda.message).to_have_value("One more thing")


async def test_a_button_that_waits_looks_so_under_the_pointer_too(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    send = wanda.page.locator("#send")
    await wanda.ready()
    await send.hover()

    looks = await send.evaluate("""button => {
        const shade = () => getComputedStyle(button).backgroundColor;
        const sunken = document.body.appendChild(document.createElement("i"));
        sunken.style.background = "var(--sunken)";
        const before = shade();
        button.style.transition = "none";
        button.setAttribute("aria-disabled", "true");
        const looks = [before, shade(), getComputedStyle(sunken).backgroundColor];
        sunken.remove();
        return looks;
    }""")

    enabled, waiting, sunken = looks
    assert waiting == sunken != enabled


async def test_the_second_question_appears_only_after_yes(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.say("Hello")
    first, second = (wanda.page.get_by_role("group", name=name) for name in ("make sense", "specific"))
    await wanda.keys_count()  # it has come to rest
    place = await first.bounding_box()

    await first.get_by_role("button", name="Yes").click()
    await expect(second).to_be_visible()
    await expect(first).to_be_hidden()
    await wanda.keys_count()
    assert await second.bounding_box() == place
    await second.get_by_role("button", name="No").click()
    await wanda.saved(1, "Sensible · Not specific")
    await wanda.exchange("Another", "No")
    await wanda.saved(2, "Not sensible")


async def test_an_answer_can_be_changed_later(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.exchange("One", "No")
    await wanda.exchange("Two", "Yes", "Yes")
    await wanda.ready()

    await wanda.chip(1).click()
    await expect(wanda.open_question.get_by_role("button", pressed=True)).to_have_accessible_name("No")
    await wanda.answer("Yes", "Yes")
    await wanda.saved(1, "Sensible · Specific")

    assert [label.answers["specific"] async for label in Label.objects.all()] == [True, True]


async def test_an_answer_that_is_only_half_changed_stays_as_it_was(
    wanda: Visitor, make_study: MakeStudy
) -> None:
    await wanda.start(await sync_to_async(make_study)(min_turns=2))
    await wanda.exchange("One", "No")
    await wanda.may_finish()

    await wanda.chip(1).click()
    await wanda.answer("Yes")

    await wanda.may_finish(so=False)
    await wanda.page.get_by_role("button", name="Keep it as it was").click()
    await wanda.saved(1, "Not sensible")
    await wanda.may_finish()
    assert (await Label.objects.aget()).answers == {"sensible": False, "specific": False}


async def test_a_message_waits_until_the_last_reply_is_judged(wanda: Visitor, study: Study) -> None:
    await wanda.start(study)
    await wanda.say("One")
    await expect(wanda.open_question).to_be_focused()
    await wanda.page.keyboard.press("Escape")
    await wanda.message.fill("Two")
    await expect(wanda.page.get_by_text("Answer the question first")).to_be_visible()
    await wanda.message.press("Enter")

    await expect(wanda.open_question).to_be_focused()
    await expect(wanda.page.get_by_text("What you have written is kept")).to_be_visible()
    await wanda.answer("No")
    await wanda.ready()
    await expect(wanda.message).to_be_focused()
    await expect(wanda.message).to_have_value("Two")
    await wanda.message.press("Enter")
    await expect(wanda.bubbles).to_have_count(5)


async def test_the_conversation_ends_at_the_most_turns(wanda: Visitor, make_study: MakeStudy) -> None:
    await wanda.start(await sync_to_async(make_study)(min_turns=2, max_turns=4))
    await wanda.exchange("One")
    await wanda.exchange("Two")

    await expect(wanda.page.get_by_text("That was the last turn. You can finish now.")).to_be_visible()
    await expect(wanda.message).to_be_hidden()
    await expect(wanda.page.get_by_role("button", name="Finish")).to_be_focused()
    await wanda.finish()


async def test_the_only_reply_is_judged_and_not_all_of_one(wanda: Visitor, make_study: MakeStudy) -> None:
    await wanda.start(await sync_to_async(make_study)(min_turns=2, max_turns=2))
    await wanda.exchange("One")

    await expect(wanda.page.locator("#done-text")).to_have_text("Judged")
    await wanda.finish()


async def test_a_message_that_is_too_long_stays_in_the_box_with_the_reason(
    wanda: Visitor, study: Study
) -> None:
    await wanda.start(study)
    await wanda.message.fill("😀" * 8001)
    await wanda.message.press("Enter")

    await expect(wanda.page.get_by_text("8001 / 8000")).to_be_visible()
    await expect(wanda.page.get_by_text("Shorten your message")).to_be_visible()
    await expect(wanda.bubbles).to_have_count(1)


async def test_the_first_keystroke_claims_the_place_or_shows_that_it_is_gone(
    wanda: Visitor, make_study: MakeStudy
) -> None:
    study = await sync_to_async(make_study)({"only": 1})
    await wanda.start(study)
    box = wanda.page.get_by_label("Your message")
    own = await Assignment.objects.aget()
    assert own.active_at == own.assigned_at
    await box.press_sequentially("H")

    async def has_begun() -> bool:
        return bool(await Assignment.objects.filter(active_at__gt=F("assigned_at")).aexists())

    while not await has_begun():
        await wanda.page.wait_for_timeout(20)
    # Had they come back to a page that was closed meanwhile, and somebody else begun:
    await Assignment.objects.aupdate(active_at=F("assigned_at"), held_until=F("assigned_at"))
    await sync_to_async(lambda: keep_place(assign(enter(study).pk).pk))()
    await wanda.page.reload()

    await expect(wanda.page.get_by_role("heading", name="Your place was taken")).to_be_visible()
    await expect(wanda.page.get_by_text("no work of yours is lost")).to_be_visible()
