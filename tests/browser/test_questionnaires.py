"""Questions about the person in a real browser: before a conversation and after it, and around judging."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeQueue, MakeStudy
from turnwise.labels.models import Label
from turnwise.studies.ask_rules import rows_of
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Ask, Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SSA = AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN)
WHO = AskSpec("demographics", About.PERSON, Moment.BEFORE_WORK)
HOW = AskSpec("feedback", About.PERSON, Moment.AFTER_WORK, required=False)


async def to_the_questions(visitor: Visitor, study: Study) -> None:
    await visitor.go(study.get_entry_url())
    await visitor.page.get_by_label("I agree to take part").check()
    await visitor.page.get_by_role("button", name="Continue").click()
    await expect(visitor.page.get_by_text("First you answer some questions about yourself.")).to_be_visible()
    assert await visitor.flaws() == []
    await visitor.page.locator("form.after button").click()
    await visitor.page.wait_for_url("**/before/")


async def pass_over(visitor: Visitor) -> None:
    """Leave the open question out by keyboard, once that counts."""
    await visitor.keys_count()
    await visitor.open_question.get_by_role("textbox").press("Control+Enter")


async def answers_to(key: str) -> dict[str, object]:
    label = await Label.objects.aget(question_set=key)
    return dict(label.answers)


async def test_a_person_is_asked_on_a_small_phone_and_by_the_keyboard(
    visit: Visit, make_study: MakeStudy
) -> None:
    study = await sync_to_async(make_study)(
        asks=[SSA, WHO, HOW], opening_speaker="bot", opening_text="Hi!", min_turns=2, max_turns=4
    )
    fae = await visit(viewport={"width": 320, "height": 640})
    page = fae.page
    await to_the_questions(fae, study)
    await expect(page.locator("#done-text")).to_have_text("Question 1 of 4")
    assert await fae.flaws() == []

    await fae.press("3")  # 35 to 44
    await fae.press("4")  # I describe it myself
    await expect(page.locator("#done-text")).to_have_text("Question 3 of 5")
    box = page.get_by_role("textbox", name="How do you describe your gender?")
    await expect(box).to_be_focused()
    await expect(page.locator("#dock")).to_have_attribute("data-keys", "count")
    await page.keyboard.type("Fae")
    await page.keyboard.press("Control+Enter")
    await fae.press("2")  # fluent
    assert await fae.flaws() == []
    await fae.press("6")  # would rather not say
    await expect(page.locator("#over")).to_be_focused()
    await expect(page.locator(".answered li")).to_have_count(5)
    assert await fae.flaws() == []
    assert not await Label.objects.aexists()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("button", name="Continue")).to_be_focused()
    await page.keyboard.press("Enter")

    await page.wait_for_url("**/chat/")
    assert await answers_to("demographics") == {
        "age": "35-44",
        "gender": "own_words",
        "gender_in_own_words": "Fae",
        "language": "fluent",
        "chatbots": "undisclosed",
    }
    await fae.exchange("Hello")
    await fae.may_finish()
    await page.get_by_role("button", name="Finish").click()
    await page.get_by_role("button", name="Yes, finish").click()

    await page.wait_for_url("**/after/")
    await expect(page.get_by_role("heading", name="A few last questions")).to_be_visible()
    assert await fae.flaws() == []
    await page.reload()
    await fae.press("4")
    await fae.answer("Yes, all the time", "Yes, it is fair")
    await pass_over(fae)
    await page.get_by_role("button", name="Answer again").click()
    await fae.answer("5", "With small problems")
    await fae.open_question.get_by_role("textbox").fill("<b>It blinked</b>")
    await fae.answer("Save", "Yes, it is fair")
    await pass_over(fae)
    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_label("Completion code")).to_be_visible()
    assert await answers_to("feedback") == {
        "instructions": 5,
        "pages": "nearly",
        "problems": "<b>It blinked</b>",
        "pay": "fair",
    }


async def test_a_reader_gets_the_questionnaire_and_may_skip_it(visit: Visit, make_queue: MakeQueue) -> None:
    study = await sync_to_async(make_queue)(1, batch=1)
    asked = [each.declared for each in await sync_to_async(lambda: study.work_asks)()]
    before = AskSpec("demographics", About.PERSON, Moment.BEFORE_WORK, required=False)
    await Ask.objects.abulk_create(rows_of(study, [*asked, before, HOW])[1:])
    joe = await visit()
    page = joe.page
    await to_the_questions(joe, study)
    assert await joe.flaws() == []
    await page.get_by_role("button", name="Skip these questions").click()
    await expect(page.get_by_text("That is all. Thank you.")).to_be_visible()
    await page.get_by_role("button", name="Continue").click()

    await page.wait_for_url("**/judge/")
    await joe.answer("Yes", "Yes")
    await joe.may_finish()
    await page.get_by_role("button", name="Finish").click()
    await page.wait_for_url("**/after/")
    await joe.answer("5", "Yes, all the time")
    await page.get_by_role("button", name="Skip these questions").click()
    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_label("Completion code")).to_be_visible()
    assert await answers_to("demographics") == {}
    assert await answers_to("feedback") == {}


@pytest.mark.parametrize(("language", "direction"), [("zh", "ltr"), ("ar", "rtl")])
async def test_the_questionnaire_is_in_the_language_of_the_study(
    visit: Visit, make_study: MakeStudy, language: str, direction: str
) -> None:
    study = await sync_to_async(make_study)(asks=[SSA, WHO], languages=[language])
    visitor = await visit(viewport={"width": 390, "height": 760})
    page = visitor.page
    await visitor.go(study.get_entry_url())
    await page.locator("#agree").check()
    await page.locator("form:has(#agree) button").click()
    await page.locator("form.after button").click()
    await page.wait_for_url("**/before/")

    asked = {"zh": "您多大年纪？", "ar": "كم عمرك؟"}[language]  # noqa: RUF001
    await expect(page.locator("#ask legend")).to_have_text(asked)
    assert await page.evaluate("document.documentElement.dir || 'ltr'") == direction
    assert not await page.locator("text=A few questions about you").count()
    assert await visitor.flaws() == []
