"""Whatever two tabs send, in whatever order and however often: the dialogue stays legal, nothing is lost."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4, uuid5

import pytest
from asgiref.sync import sync_to_async
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import MakeStudy, Tab, session_cookie, start_dialogue, worker_of
from turnwise.bots.hosting import resident_bots
from turnwise.dialogues import turn_taking
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.labels.models import Label
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

KEYS = st.integers(0, 7)
ANSWERS = st.sampled_from(
    [
        {"sensible": True, "specific": True},
        {"sensible": True, "specific": False},
        {"sensible": False},
        {"sensible": False, "specific": True},
        {"specific": True},
        {},
    ]
)
TURNS = st.builds(
    lambda key, text: {"type": "turn", "key": key, "text": text},
    KEYS,
    st.sampled_from(["Hello", "You?", " "]),
)
LABELS = st.builds(
    lambda position, answers: {"type": "label", "position": position, "answers": answers},
    st.integers(-1, 8),
    ANSWERS,
)
OTHERS = st.sampled_from([{"type": kind} for kind in ("retry", "finish", "give_up", "dance")])
# A message and the label of its reply, so that some dialogues get to their end.
EXCHANGE = st.just({"type": "exchange"})
# (which tab, frame, whether to wait for everything to settle before the next)
STEPS = st.lists(st.tuples(st.integers(0, 1), EXCHANGE | TURNS | LABELS | OTHERS, st.booleans()), max_size=10)


Labels = dict[int, dict[str, bool]]


@dataclass
class Acknowledged:
    """What the server has said is saved."""

    turns: dict[str, str] = field(default_factory=dict)
    labels: dict[Tab, Labels] = field(default_factory=lambda: defaultdict(dict))
    """What each tab shows."""
    ended: bool = False

    def note(self, tab: Tab, frame: dict[str, Any]) -> None:
        if frame["type"] == "turn_saved":
            self.turns[frame["turn"]["key"]] = frame["turn"]["text"]
        elif frame["type"] == "label_saved":
            self.labels[tab][frame["position"]] = frame["answers"]
        elif frame["type"] == "state":
            self.labels[tab] = {each["position"]: each["answers"] for each in frame["annotations"]}
            self.ended = self.ended or frame["finished"] is not None


async def settle(dialogue: Dialogue, tabs: list[Tab], acknowledged: Acknowledged) -> None:
    """Wait until every frame has been dealt with and no reply is on its way, and take in all frames.

    A tab's frames are dealt with in order: once this malformed one is refused, all before it are through.
    """
    for tab in tabs:
        mark = str(uuid4())
        await tab.send(type="turn", key=mark, text=None)
        frame: dict[str, Any] = {}
        while frame.get("key") != mark:
            frame = await tab.receive()
            acknowledged.note(tab, frame)
    while any(pk == dialogue.pk for pk, _ in turn_taking._answering):
        await asyncio.sleep(0.005)


async def exchange(dialogue: Dialogue, tabs: list[Tab], which: int, acknowledged: Acknowledged) -> None:
    await tabs[which].send(type="turn", key=str(uuid4()), text="Well?")
    await settle(dialogue, tabs, acknowledged)
    await dialogue.arefresh_from_db()
    for position in [code // 32 for code in dialogue.due_1]:
        await tabs[1 - which].send(
            type="label", position=position, answers={"sensible": True, "specific": True}
        )


async def agree(stored: Labels, tabs: list[Tab], acknowledged: Acknowledged) -> None:
    """Wait until every tab shows the labels that are stored: of the other tab's it hears a moment later."""
    for tab in tabs:
        while acknowledged.labels[tab] != stored:
            acknowledged.note(tab, await tab.receive())


@sync_to_async
def begin(study: Study) -> tuple[Dialogue, str]:
    dialogue = start_dialogue(study)
    return dialogue, session_cookie(worker_of(dialogue))


@sync_to_async
def check(dialogue: Dialogue, acknowledged: Acknowledged) -> Labels:
    """Whether the stored dialogue is legal and holds what was acknowledged; returns its labels."""
    dialogue.refresh_from_db()
    turns = list(Turn.objects.filter(dialogue=dialogue).order_by("position"))
    labels = {label.turn.position: label for label in Label.objects.filter(turn__dialogue=dialogue)}
    assert [turn.position for turn in turns] == list(range(dialogue.turns))
    assert dialogue.turns <= 1 + dialogue.max_turns
    assert all((turn.key is None) == (turn.position % 2 == 0) for turn in turns)
    bot_turns = [turn.position for turn in turns if turn.position % 2 == 0 and turn.position > 0]
    assert dialogue.bot_turns == len(bot_turns)
    assert dialogue.due_1 == [32 * position for position in bot_turns if position not in labels]
    assert all(position in bot_turns for position in labels)
    assert all(label.answers["sensible"] or not label.answers["specific"] for label in labels.values())
    for turn in turns[3::2]:  # a later message of the worker: the reply before it had its label by then
        assert labels[turn.position - 1].created_at <= turn.created_at
    assert acknowledged.turns == {str(turn.key): turn.text for turn in turns if turn.key}
    assert acknowledged.ended == bool(dialogue.ending)
    if dialogue.ending == Dialogue.Ending.COMPLETE:
        assert not dialogue.due_1
        assert len(bot_turns) >= dialogue.min_turns / 2
    return {position: label.answers for position, label in labels.items()}


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(exchanges=st.integers(0, 3), steps=STEPS, fails=st.booleans())
async def test_any_interleaving_leaves_a_legal_dialogue(
    make_study: MakeStudy, exchanges: int, steps: list[tuple[int, dict[str, Any], bool]], fails: bool
) -> None:
    script = {"replies": ["Go on."], "fail_on": [2] if fails else []}
    study = await sync_to_async(make_study)(
        {f"fails-{fails}": 1_000_000}, script=script, min_turns=4, max_turns=6
    )
    dialogue, cookie = await begin(study)
    tabs = [Tab(dialogue, cookie), Tab(dialogue, cookie)]
    acknowledged = Acknowledged()
    for tab in tabs:
        await tab.connect()
        acknowledged.note(tab, tab.first)

    for _ in range(exchanges):
        await exchange(dialogue, tabs, 0, acknowledged)
    for which, frame, wait in steps:
        if frame["type"] == "exchange":
            await exchange(dialogue, tabs, which, acknowledged)
            continue
        keyed = frame | {"key": str(uuid5(UUID(int=frame["key"]), "key"))} if "key" in frame else frame
        await tabs[which].send(**keyed)
        if wait:
            await settle(dialogue, tabs, acknowledged)
    await settle(dialogue, tabs, acknowledged)

    stored = await check(dialogue, acknowledged)
    await asyncio.sleep(0.02)  # what one tab tells the other goes through Redis
    await settle(dialogue, tabs, acknowledged)
    await agree(stored, tabs, acknowledged)
    for tab in tabs:
        await tab.disconnect()
    resident_bots.close()
