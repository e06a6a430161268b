"""A reply that is stopped at a fixed pace: what its service said of the whole reply stays known."""

from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async

from tests.conftest import MakeStudy, OpenTab, start_dialogue
from tests.outcome_bot import register_outcome_bot, replies_of_all_bots
from turnwise.dialogues.models import Turn
from turnwise.studies.models import ReplyDisplay

pytestmark = pytest.mark.django_db(transaction=True)

WHOLE = "I would rather not talk about that, and I shall tell you at length why I do not. " * 40


@pytest.mark.parametrize("outcome", ["complete", "refused", "filtered", "cut"])
async def test_how_the_whole_reply_ended_stays_known_at_a_fixed_pace(
    make_study: MakeStudy, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    register_outcome_bot(monkeypatch)
    fields = {"reply_display": ReplyDisplay.FIXED_PACE, "reply_pace": 40, "may_stop_replies": True}
    study = await sync_to_async(make_study)(**fields)
    usage = {"prompt": 12, "completion": 34}
    await sync_to_async(replies_of_all_bots)({"text": WHOLE, "outcome": outcome, "usage": usage})
    dialogue = await sync_to_async(start_dialogue)(study)
    tab = await open_tab(dialogue)
    await tab.send(type="turn", key=str(uuid4()), text="Tell me")
    await tab.receive("bot_text")

    await tab.send(type="stop", position=2)
    await tab.receive("bot_turn")

    turn = await Turn.objects.aget(dialogue=dialogue, position=2)
    assert turn.generation == {"outcome": "stopped", "outcome_before_stop": outcome, "usage": usage}
    assert turn.how.as_json() == turn.generation
    assert len(turn.text) < len(WHOLE)
    title = turn.how.outcome_title
    assert title.startswith("stopped by the reader")
    assert ("whole reply" in title) == (outcome != "complete")
