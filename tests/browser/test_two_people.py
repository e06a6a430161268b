"""Two browsers: the lobby, a conversation to its end, and one that vanishes."""

import re
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone
from playwright.async_api import expect

from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeMeeting
from turnwise.crowd.models import Assignment
from turnwise.dialogues.models import Dialogue, Seat, Turn
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def wait_for_a_partner(visitor: Visitor, study: Study) -> None:
    await visitor.go(study.get_entry_url())
    await visitor.page.get_by_label("I agree to take part").check()
    await visitor.page.get_by_role("button", name="Continue").click()
    await visitor.page.get_by_role("button", name="Find a partner").click()


async def wait_in_chinese(visitor: Visitor, study: Study) -> None:
    await visitor.go(study.get_entry_url())
    await visitor.page.get_by_label("同意参加").check()
    await visitor.page.get_by_role("button", name="继续阅读说明").click()
    await visitor.page.get_by_role("button", name="寻找对话对象").click()


async def finish_in_chinese(visitor: Visitor) -> None:
    await visitor.may_finish()
    await visitor.page.get_by_role("button", name="结束").click()
    await visitor.page.get_by_role("button", name=re.compile("^是.结束$")).click()
    await expect(visitor.page.get_by_role("heading", name="您已经完成了")).to_be_visible()


async def test_two_people_talk_to_the_end_in_chinese(visit: Visit, make_meeting: MakeMeeting) -> None:
    study = await sync_to_async(make_meeting)(min_turns=2, max_turns=4, languages=["zh"])
    wanda = await visit()
    wei = await visit(viewport={"width": 320, "height": 640}, color_scheme="dark", has_touch=True)
    for visitor in (wanda, wei):
        visitor.message = visitor.page.locator("#message")
    await wait_in_chinese(wanda, study)
    waits = wanda.page.get_by_role("heading", name="正在等待对话对象")
    await expect(waits).to_be_visible()
    await expect(wanda.page.locator("#waited")).not_to_have_text("0:00")
    assert await wanda.flaws() == []

    await wait_in_chinese(wei, study)

    for visitor in (wanda, wei):
        await expect(visitor.page.get_by_text("是真人")).to_be_visible()
        assert await visitor.flaws() == []
    await wanda.message.press_sequentially("你好!")
    await expect(wei.page.get_by_text("对方正在输入")).to_be_visible()
    await wanda.message.press("Enter")
    await expect(wei.bubbles).to_have_text(["你好!"])
    await expect(wei.page.get_by_text("对方正在输入")).to_be_hidden()
    await wei.answer("是", "否")
    await wei.say("你好,今天过得怎么样?")
    await expect(wanda.bubbles).to_have_count(2)
    await wanda.answer("是", "是")
    await finish_in_chinese(wanda)
    await expect(wei.page.get_by_text("对方已经结束")).to_be_visible()
    await finish_in_chinese(wei)

    dialogue = await Dialogue.objects.aget()
    assert dialogue.ending == "complete"
    assert [turn.text async for turn in Turn.objects.order_by("position")] == [
        "你好!",
        "你好,今天过得怎么样?",
    ]
    assert await Assignment.objects.filter(outcome="complete").acount() == 2


async def test_a_tab_that_was_replaced_says_where_to_wait(visit: Visit, make_meeting: MakeMeeting) -> None:
    study = await sync_to_async(make_meeting)(min_turns=2, max_turns=4)
    wanda = await visit()
    await wait_for_a_partner(wanda, study)
    await expect(wanda.page.get_by_role("heading", name="Waiting for your partner")).to_be_visible()

    other = await wanda.another_tab()

    await expect(wanda.page.get_by_role("heading", name="You are not waiting on this page")).to_be_visible()
    await expect(wanda.page.get_by_text("Close this one.")).to_be_visible()
    await expect(wanda.page.locator("#waited")).to_be_hidden()
    assert await wanda.flaws() == []
    await expect(other.page.get_by_role("heading", name="Waiting for your partner")).to_be_visible()


async def test_a_person_whose_partner_left_is_informed_and_may_end_with_pay(
    visit: Visit, make_meeting: MakeMeeting
) -> None:
    study = await sync_to_async(make_meeting)(pay_amount=2)
    wanda, walter = await visit(), await visit()
    await wait_for_a_partner(wanda, study)
    await expect(wanda.page.get_by_role("heading", name="Waiting")).to_be_visible()
    await wait_for_a_partner(walter, study)
    await wanda.say("Hello?")
    await expect(walter.bubbles).to_have_count(1)

    await walter.page.context.close()
    await Seat.objects.filter(number=1).aupdate(seen_at=timezone.now() - timedelta(minutes=1))

    await expect(wanda.page.get_by_text("Your partner has lost the connection")).to_be_visible()
    await wanda.page.get_by_role("button", name="End here").click()
    await wanda.page.get_by_role("button", name="Yes, end here").click()
    await expect(wanda.page.get_by_text("The person you talked with has left")).to_be_visible()
    assert (await Dialogue.objects.aget()).ending == "partner_left"
