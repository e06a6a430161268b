"""The modules of the chat page that know no DOM, run in the browser that they are written for."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser

# django_db: the server that hands the modules out needs its database.
pytestmark = [pytest.mark.browser, pytest.mark.django_db, pytest.mark.asyncio(loop_scope="session")]

PROGRESS = {"turns": 1, "hint": "Go on."}
HI = {"position": 0, "speaker": "bot", "text": "Hi!", "counted": False, "key": None, "at": ""}
HELLO = {"position": 1, "speaker": "human", "text": "Hello", "counted": True, "key": "k1", "at": ""}
SSA = [
    {"key": "sensible", "choices": [], "asked_if": None},
    {"key": "specific", "choices": [], "asked_if": {"question": "sensible", "value": True}},
]


Run = Callable[..., Awaitable[Any]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def run(browser: Browser, site: str) -> AsyncIterator[Run]:
    """Run a function body with the modules as `m` and one argument."""
    page = await browser.new_page()
    await page.goto(f"{site}/sign-in/")

    async def run(body: str, argument: object = None) -> Any:
        script = """async argument => {
            const modules = await Promise.all(
                ["store", "outbox", "answers", "composer"].map(name => import(`/static/js/chat/${name}.js`)));
            const m = Object.assign({}, ...modules);
            BODY
        }"""
        return await page.evaluate(script.replace("BODY", body), argument)

    yield run
    await page.close()


RECEIVE = "return argument.reduce(m.receive, m.UNKNOWN)"


async def test_frames_add_up_to_the_dialogue(run: Run) -> None:
    known = await run(RECEIVE, [
        {"type": "state", "turns": [HI], "labels": {}, "fault": None, "progress": PROGRESS, "finished": None},
        {"type": "turn_saved", "turn": HELLO, "progress": PROGRESS},
        {"type": "label_saved", "position": 2, "answers": {"sensible": False}, "progress": {"turns": 2}},
    ])  # fmt: skip

    assert known["turns"] == [HI, HELLO]
    assert known["labels"] == {"2": {"sensible": False}}
    assert known["progress"]["turns"] == 2


async def test_a_frame_heard_twice_changes_nothing_more(run: Run) -> None:
    saved = {"type": "turn_saved", "turn": HELLO, "progress": PROGRESS}

    assert await run(RECEIVE, [saved, saved]) == await run(RECEIVE, [saved])


async def test_a_state_replaces_what_was_known(run: Run) -> None:
    known = await run(RECEIVE, [
        {"type": "refused", "reason": "empty", "say": "Write something."},
        {"type": "bot_failed", "fault": {"say": "Broken", "attempts": 1}, "progress": PROGRESS},
        {"type": "state", "turns": [HI], "labels": {}, "fault": None, "progress": PROGRESS, "finished": None},
    ])  # fmt: skip

    assert (known["turns"], known["fault"], known["refusal"]) == ([HI], None, None)


@pytest.mark.parametrize("kind", ["news", "constructor", "__proto__"])
async def test_a_frame_of_an_unknown_type_is_passed_over(run: Run, kind: str) -> None:
    assert await run("return m.receive(m.UNKNOWN, argument) === m.UNKNOWN", {"type": kind})


async def test_an_answer_drops_the_answers_that_are_no_longer_asked(run: Run) -> None:
    body = "return m.withAnswer(argument, {sensible: true, specific: true}, 'sensible', false)"

    assert await run(body, SSA) == {"sensible": False}


async def test_a_question_that_was_not_asked_before_is_asked(run: Run) -> None:
    """What the server filled in for it is no answer."""
    body = "return m.withAnswer(argument, {sensible: false, specific: false}, 'sensible', true)"

    assert await run(body, SSA) == {"sensible": True}


@pytest.mark.parametrize(
    ("answers", "open_question"),
    [({}, "sensible"), ({"sensible": True}, "specific"), ({"sensible": False}, None),
     ({"sensible": True, "specific": False}, None)],
)  # fmt: skip
async def test_the_first_asked_question_without_an_answer_is_open(
    run: Run, answers: dict[str, bool], open_question: str | None
) -> None:
    body = "return m.openQuestion(argument[0], argument[1])?.key ?? null"

    assert await run(body, [SSA, answers]) == open_question


@pytest.mark.parametrize(
    ("captions", "keys"),
    [(["Yes", "No"], ["Y", "N"]), (["Good", "Great", "Poor"], ["1", "2", "3"]), (["1", "2"], ["1", "2"])],
)
async def test_choices_get_their_first_letter_or_a_digit(
    run: Run, captions: list[str], keys: list[str]
) -> None:
    body = "return m.keysOf(argument.map(label => ({label})))"

    assert await run(body, captions) == keys


OUTBOX = "const box = new m.Outbox(localStorage, 'd1'); box.forget();"


async def test_the_outbox_sends_again_what_was_not_acknowledged(run: Run) -> None:
    body = (
        OUTBOX
        + """
        box.holdTurn("k1", "Hello");
        box.holdLabel(2, {sensible: true, specific: true});
        box.holdLabel(4, {sensible: false});
        box.settle({type: "label_saved", position: 4, answers: {sensible: false, specific: false}});
        box.settle({type: "label_saved", position: 2, answers: {sensible: false, specific: false}});
        return new m.Outbox(localStorage, "d1").frames()"""
    )

    assert await run(body) == [
        {"type": "label", "position": 2, "answers": {"sensible": True, "specific": True}},
        {"type": "turn", "key": "k1", "text": "Hello"},
    ]


async def test_the_outbox_lets_go_of_what_the_state_shows(run: Run) -> None:
    body = (
        OUTBOX
        + """
        box.holdTurn("k1", "Hello"); box.holdLabel(2, {sensible: false});
        const labels = {2: {sensible: false, specific: false}};
        box.settle({type: "state", turns: argument, labels, finished: null});
        return box.isEmpty"""
    )

    assert await run(body, [HI, HELLO])


async def test_a_refused_message_goes_back_into_the_draft(run: Run) -> None:
    body = (
        OUTBOX
        + """
        box.holdTurn("k1", "Refused"); box.keepDraft("Begun since");
        box.settle({type: "refused", reason: "not_your_turn", say: "Wait.", key: "k1"});
        return box.held"""
    )

    assert await run(body) == {"draft": "Refused\nBegun since", "turn": None, "labels": {}}


async def test_characters_are_counted_as_the_server_counts_them(run: Run) -> None:
    text = "é😀👩‍👩‍👧"

    assert await run("return m.lengthOf(argument)", text) == len(text)
