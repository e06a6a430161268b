"""Several asks in one conversation: votes, ratings of the whole at its end, own messages while one waits."""

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.browser.conftest import Visitor
from tests.conftest import MakeStudy
from turnwise.dialogues.models import Dialogue
from turnwise.labels.models import Label
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

WHOLE = AskSpec("likert", About.DIALOGUE, Moment.AT_END)
VOTES = AskSpec("votes", About.PARTNER_TURN, Moment.BEFORE_FINISH, required=False)
SCALES = ("good", "varied", "fluent", "related", "empathic")


@pytest.fixture
def rated(make_study: MakeStudy) -> Study:
    return make_study(
        asks=[WHOLE, VOTES], opening_speaker="human", opening_text="", min_turns=4, max_turns=28
    )


@pytest_asyncio.fixture(loop_scope="session")
async def chatter(wanda: Visitor, rated: Study) -> Visitor:
    await wanda.work(rated)
    await expect(wanda.message).to_be_visible()
    return wanda


async def said(visitor: Visitor, *texts: str) -> None:
    for text in texts:
        replies = await visitor.page.locator(".turn--bot").count()
        await visitor.ready()
        await visitor.message.fill(text)
        await visitor.message.press("Enter")
        await expect(visitor.page.locator(".turn--bot")).to_have_count(replies + 1)


async def rate(visitor: Visitor, points: int) -> None:
    for word in SCALES:
        group = visitor.page.get_by_role("group", name=word)
        await expect(group).to_be_visible()
        await visitor.ready()
        await group.get_by_role("button", name=str(points), exact=False).first.click()


async def test_a_conversation_is_voted_on_and_rated_at_its_end(chatter: Visitor) -> None:
    page = chatter.page
    await said(chatter, "Hello", "I like tea")
    await expect(page.locator(".dock[data-mode=write]")).to_be_visible()  # nothing has to be judged
    votes = page.get_by_role("group", name="Do you like this reply?")
    await votes.first.get_by_role("button", name="Up").click()
    await votes.last.get_by_role("button", name="Down").click()
    await expect(page.locator("#saved-text")).to_have_text("saved")

    await page.get_by_role("button", name="Finish").click()
    for word in SCALES:
        await expect(page.get_by_role("group", name=word)).to_be_visible()
        await chatter.keys_count()
        await page.keyboard.press("6")
    await chatter.keys_count()
    await page.get_by_role("button", name="Skip").click()  # the comment
    await page.get_by_role("button", name="Yes, finish").click()
    await page.wait_for_url("**/thanks/")

    dialogue = await Dialogue.objects.aget()
    whole = await Label.objects.aget(dialogue=dialogue)
    assert set(whole.answers.values()) == {6}
    assert (whole.party, whole.shown_ms is not None) == ("chatter", True)
    given = Label.objects.filter(turn__dialogue=dialogue).order_by("turn__position")
    assert [label.answers async for label in given] == [{"vote": 1}, {"vote": -1}]


async def test_a_vote_is_taken_back_by_the_same_press(chatter: Visitor) -> None:
    await said(chatter, "Hello")
    up = chatter.page.get_by_role("group", name="Do you like this reply?").get_by_role("button", name="Up")
    await up.click()
    await expect(up).to_have_attribute("aria-pressed", "true")
    await expect(chatter.page.locator("#saved-text")).to_have_text("saved")

    await up.click()

    await expect(up).to_have_attribute("aria-pressed", "false")
    await expect(chatter.page.locator("#saved-text")).to_have_text("saved")
    await chatter.page.reload()
    await expect(up).to_have_attribute("aria-pressed", "false")
    assert [label.answers async for label in Label.objects.all()] == [{}]


async def test_from_the_ratings_one_can_go_back_to_talking(chatter: Visitor) -> None:
    await said(chatter, "Hello", "I like tea")
    await chatter.page.get_by_role("button", name="Finish").click()
    await expect(chatter.page.get_by_role("group", name="good")).to_be_visible()

    await chatter.page.get_by_role("button", name="Keep talking").click()

    await said(chatter, "One more thing")
    assert await Label.objects.acount() == 0


@pytest.fixture
def waited_for(make_study: MakeStudy) -> Study:
    """Own messages are judged while the reply is awaited, replies at any time before the end."""
    return make_study(
        asks=[
            AskSpec("human-likeness", About.OWN_TURN, Moment.WAITING),
            AskSpec("ssa", About.PARTNER_TURN, Moment.BEFORE_FINISH),
        ],
        script={"replies": ["Well."], "seconds": 5},
        opening_speaker="human",
        opening_text="",
        min_turns=2,
        max_turns=8,
    )


async def test_own_messages_are_judged_while_the_reply_is_awaited(wanda: Visitor, waited_for: Study) -> None:
    await wanda.work(waited_for)
    await wanda.say("I like tea")

    own = wanda.page.get_by_role("group", name="Would a person have given this answer?")
    await expect(own).to_be_focused()
    assert await wanda.page.locator(".turn--bot").count() == 0  # nobody waits idly
    await wanda.press("y")
    await expect(wanda.page.locator(".turn--bot")).to_have_count(1)
    await expect(own).to_be_hidden()

    await wanda.ready()  # judging the reply need not come before the next message …
    await wanda.may_finish(so=False)  # … but before the end
    await wanda.page.get_by_role("button", name="Judge this reply").click()
    await wanda.answer("Yes", "No")
    await wanda.finish()
    labels = [
        (label.turn.position, label.question_set, label.answers, label.party)
        async for label in Label.objects.select_related("turn").order_by("turn__position")
    ]
    assert labels == [
        (0, "human-likeness", {"human_like": True}, "chatter"),
        (1, "ssa", {"sensible": True, "specific": False}, "chatter"),
    ]


@pytest.fixture
def own_alone(make_study: MakeStudy) -> Study:
    """Own messages have to be judged before the end; replies may be voted on."""
    return make_study(
        asks=[VOTES, AskSpec("human-likeness", About.OWN_TURN, Moment.BEFORE_FINISH)],
        opening_speaker="human",
        opening_text="",
        min_turns=4,
        max_turns=8,
    )


async def test_optional_judgments_do_not_count_as_given(wanda: Visitor, own_alone: Study) -> None:
    await wanda.work(own_alone)

    await said(wanda, "Hello")
    await expect(wanda.page.locator("#hint")).to_have_text("Write your next message. 1 more reply to go.")
    await said(wanda, "I like tea")

    await expect(wanda.page.locator("#done-text")).to_have_text("Long enough")
    await expect(wanda.page.locator("#why-not")).to_have_text("Judge the 2 messages above, then finish.")
    await expect(wanda.page.locator("#hint")).to_have_text(
        "You can keep talking. Before you finish, answer what is still open above."
    )
