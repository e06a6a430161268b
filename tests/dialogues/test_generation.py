"""How a reply came about: from the socket into the database, and kept from workers."""

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import IntegrityError, transaction
from django.utils import timezone

from chatbots.replies import ReplyOutcome
from tests.conftest import MakeStudy, OpenTab, start_dialogue
from tests.outcome_bot import CONTEXTS, register_outcome_bot, replies_of_all_bots
from turnwise.bots.generation import Generation
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot
from turnwise.dialogues.models import Dialogue, Fault, Turn
from turnwise.studies.models import Study


@pytest.fixture(autouse=True)
def _outcome_bot_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register_outcome_bot(monkeypatch)


pytestmark = pytest.mark.django_db(transaction=True)

MARKDOWN = "\n\n# Plan\r\n\n- one\n    - two\n\n        code\twith tab\n  \n"
THINKING = "First I weigh whether this is allowed."
EVERYTHING: dict[str, Any] = {
    "text": MARKDOWN,
    "outcome": "cut",
    "remarks": ["service: warmed up"],
    "reasoning": THINKING,
    "usage": {"prompt": 12, "completion": 34, "reasoning": 20, "cached": 8},
    "model": "model-2026-11",
    "first_seconds": 0.4,
}


async def talk(study: Study, open_tab: OpenTab, *messages: str) -> tuple[Dialogue, list[dict[str, Any]]]:
    """A conversation of these messages, each reply labelled, with all frames of the replies."""
    dialogue = await sync_to_async(start_dialogue)(study)
    tab = await open_tab(dialogue)
    frames = []
    for message in messages:
        frames.append(await tab.say(message))
        await tab.label(frames[-1]["turn"]["position"], sensible=False)
    tab = await open_tab(dialogue)
    return dialogue, [*frames, tab.first]


async def bot_turns(dialogue: Dialogue) -> list[Turn]:
    """The bot's replies, oldest first."""
    replies = Turn.objects.filter(dialogue=dialogue, bot_version__isnull=False)
    return [turn async for turn in replies.order_by("position")]


async def test_a_reply_is_stored_byte_for_byte_with_how_it_came_about(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    study = await sync_to_async(make_study)(stores_reasoning=True)
    await sync_to_async(replies_of_all_bots)(EVERYTHING)

    dialogue, frames = await talk(study, open_tab, "Hello")

    (turn,) = await bot_turns(dialogue)
    assert turn.text == MARKDOWN
    assert frames[0]["turn"]["text"] == MARKDOWN
    assert turn.generation == {
        "outcome": "cut",
        "remarks": ["service: warmed up"],
        "reasoning": THINKING,
        "usage": {"prompt": 12, "completion": 34, "reasoning": 20, "cached": 8},
        "model": "model-2026-11",
        "first_seconds": 0.4,
    }
    assert turn.how.as_json() == turn.generation  # the typed form loses nothing


async def test_no_frame_of_a_worker_has_the_reasoning_the_model_or_the_outcome(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    study = await sync_to_async(make_study)(stores_reasoning=True)
    await sync_to_async(replies_of_all_bots)(EVERYTHING)

    _, frames = await talk(study, open_tab, "Hello")

    sent = json.dumps(frames)
    assert all(word not in sent for word in (THINKING, "model-2026-11", "cut", "warmed up", "generation"))


async def test_reasoning_is_dropped_unless_the_study_stores_it(study: Study, open_tab: OpenTab) -> None:
    await sync_to_async(replies_of_all_bots)(EVERYTHING)

    dialogue, _ = await talk(study, open_tab, "Hello")

    (turn,) = await bot_turns(dialogue)
    assert turn.how.reasoning == ""
    assert turn.how.usage is not None
    assert turn.how.usage.reasoning == 20


async def test_a_complete_reply_with_nothing_to_record_stores_null(study: Study, open_tab: OpenTab) -> None:
    await sync_to_async(replies_of_all_bots)({"text": "Go on."})

    dialogue, _ = await talk(study, open_tab, "Hello")

    (turn,) = await bot_turns(dialogue)
    assert turn.generation is None
    assert turn.how == Generation()


@pytest.mark.parametrize("outcome", ["refused", "filtered", "tool_call"])
async def test_a_reply_without_text_is_a_turn_and_the_conversation_goes_on(
    study: Study, open_tab: OpenTab, outcome: str
) -> None:
    await sync_to_async(replies_of_all_bots)({"text": " \n", "outcome": outcome}, {"text": "Go on."})

    dialogue, frames = await talk(study, open_tab, "Hello", "And then?")

    first, second = await bot_turns(dialogue)
    assert (first.text, first.generation) == ("", {"outcome": outcome})
    assert second.text == "Go on."
    assert [frame["type"] for frame in frames] == ["bot_turn", "bot_turn", "state"]
    assert outcome not in json.dumps(frames)
    asked = next(context for context in CONTEXTS if context.turns[-1].text == "And then?")
    assert [turn.text for turn in asked.turns] == ["Hi!", "Hello", "", "And then?"]
    assert not await Fault.objects.aexists()


async def test_refusals_are_no_failures_of_the_bot_and_open_no_circuit(
    study: Study, open_tab: OpenTab
) -> None:
    await sync_to_async(replies_of_all_bots)({"text": "", "outcome": "refused"})
    dialogue, _ = await talk(study, open_tab, *[f"Message {n}" for n in range(6)])
    bot = await Bot.objects.aget()
    hosted = resident_bots.hosted_here(bot.pk)
    assert hosted is not None
    health = hosted.resident.health()

    assert len(await bot_turns(dialogue)) == 6
    assert (health.failed, health.state) == (0, "ready")


async def test_an_empty_reply_without_such_an_outcome_stays_a_failure(
    study: Study, open_tab: OpenTab
) -> None:
    await sync_to_async(replies_of_all_bots)({"text": "", "outcome": "cut"})
    tab = await open_tab(await sync_to_async(start_dialogue)(study))

    assert (await tab.say("Hello"))["type"] == "bot_failed"


@pytest.mark.parametrize(
    "generation", [None, {}, {"model": "m"}, {"outcome": "cut"}, {"outcome": "fallback"}]
)
def test_the_database_refuses_an_empty_turn_with_another_outcome(
    dialogue: Dialogue, generation: dict[str, Any] | None
) -> None:
    with pytest.raises(IntegrityError, match="turn_says_something"), transaction.atomic():
        Turn.objects.create(
            dialogue=dialogue, position=1, text="", created_at=timezone.now(), generation=generation
        )


async def test_a_study_cuts_replies_at_its_own_limit(make_study: MakeStudy, open_tab: OpenTab) -> None:
    study = await sync_to_async(make_study)(max_reply_chars=50, max_message_chars=20)
    await sync_to_async(replies_of_all_bots)({"text": "x" * 51})
    dialogue = await sync_to_async(start_dialogue)(study)
    tab = await open_tab(dialogue)

    reply = await tab.say("x" * 20)
    refused = await (await open_tab(await sync_to_async(start_dialogue)(study))).say("x" * 21)

    assert reply["turn"]["text"] == "x" * 50
    (turn,) = await bot_turns(dialogue)
    assert turn.how.outcome is ReplyOutcome.CUT
    assert turn.how.remarks == ("The reply had 51 characters; what follows the first 50 was cut off.",)
    assert (refused["reason"], "20 characters" in refused["say"]) == ("too_long", True)
