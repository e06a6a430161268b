"""Studies in which bots talk, made on their page and played."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from turnwise.accounts.models import User
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.studies.models import Study
from turnwise.studies.services import set_state
from turnwise.tasks.self_play.jobs import play_slice
from turnwise.tasks.self_play.models import SelfPlayPlan

SignIn = Callable[[User], Client]
MakeSelfPlay = Callable[..., SelfPlayPlan]


@pytest.fixture(autouse=True)
def _no_bot_outlives_its_test() -> Iterator[None]:
    yield
    resident_bots.close()


def scripted(name: str, **script: Any) -> Bot:
    configuration = {"replies": [f"{name} says so."]} | script
    return Bot.objects.create(
        name=name.lower(), title=name, adapter="scripted", configuration=configuration, open_to_all=True
    )


@pytest.fixture
def make_self_play(rex: User, sign_in: SignIn) -> MakeSelfPlay:
    """A study that Rex has made on its page and started: Ann with Bob, or alone, as scripted."""

    def make(*, start: bool = True, alone: bool = False, script: Any = None, **fields: Any) -> SelfPlayPlan:
        ann = scripted("Ann", **(script or {}))
        bob = ann if alone else scripted("Bob", **(script or {}))
        plan = {"first": ann.pk, "second": bob.pk, "opener": "text", "opening_text": "Hi!", "seed": 7}
        plan |= {"conversations": 3, "utterances": 4} | fields
        sent = {f"self_play-{name}": value for name, value in plan.items()}
        made = sign_in(rex).post("/studies/new/?task=self_play", sent | {"title": "Bots", "languages": "en"})
        assert made.status_code == 302, made.content.decode()
        if start:
            set_state(SelfPlayPlan.objects.get().study_id, Study.State.OPEN)
        return SelfPlayPlan.objects.select_related("study").get()

    return make


def reread(plan: SelfPlayPlan) -> SelfPlayPlan:
    return SelfPlayPlan.objects.select_related("study").get(pk=plan.pk)


def play(plan: SelfPlayPlan) -> None:
    """All slices; on a slow machine one may be too short."""
    while play_slice(plan.pk):
        pass


def said(plan: SelfPlayPlan) -> dict[int, list[str]]:
    """By number of the conversation, all that was said in it."""
    turns = Turn.objects.filter(dialogue__self_played__plan=plan).order_by("position")
    found: dict[int, list[str]] = {}
    for number, text in turns.values_list("dialogue__self_played__number", "text"):
        found.setdefault(number, []).append(text)
    return found


def is_whole(plan: SelfPlayPlan) -> bool:
    """Whether all conversations have all their turns, and nothing is left to do."""
    lengths = [len(texts) - (1 if plan.study.opening_text else 0) for texts in said(plan).values()]
    ended = plan.played.filter(dialogue__ending=Dialogue.Ending.COMPLETE).count()
    return (
        lengths == [plan.utterances] * plan.conversations
        and ended == plan.conversations
        and reread(plan).study.state == Study.State.CLOSED
    )
