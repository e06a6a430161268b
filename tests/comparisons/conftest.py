"""Fixtures with conversations of several studies, bots and versions."""

from collections.abc import Mapping
from typing import Any

from tests.conftest import start_dialogue, worker_of
from tests.desks import begin
from tests.planted import add_exchange, add_label
from turnwise.bots.models import Bot
from turnwise.bots.services import version_of
from turnwise.contexts.models import ContextSetVersion
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.queries import seat_of
from turnwise.dialogues.services import finish
from turnwise.judging.models import Item
from turnwise.judging.queue import services as judging
from turnwise.responses.models import ResponseRun, Source
from turnwise.studies.models import Study

NO, SENSIBLE, BOTH = ((False, False), (True, False), (True, True))


def talk(
    study: Study, planted: Mapping[str, list[Any]], *, details: Mapping[str, Any] | None = None
) -> Dialogue:
    """A finished conversation with the bot whose turn it is; its replies get the labels planted for that bot.

    A label is (sensible, specific), or whether the reply is human-like, as the study asks.
    """
    dialogue = start_dialogue(study)
    seat = seat_of(dialogue.public_id, worker_of(dialogue).pk)
    bot = dialogue.seats.get(bot__isnull=False).bot
    assert bot
    version = version_of(bot, details or {"adapter": "scripted", "of": bot.name})
    for n, label in enumerate(planted[bot.name]):
        add_exchange(dialogue, version, text="Well", latency=10)
        if study.question_set == "ssa":
            answers = {"sensible": label[0], "specific": label[1]}
        else:
            answers = {"human_like": label}
        add_label(dialogue, position=2 * n + 2, answers=answers)
    finish(seat)
    return dialogue


def respond(contexts: ContextSetVersion, bot: Bot) -> ResponseRun:
    """A bot's response to every context."""
    version = version_of(bot, {"adapter": "scripted", "of": bot.name})
    owner = contexts.context_set.owner
    assert owner
    run = ResponseRun.objects.create(
        context_version=contexts, source=Source.BOT, system=bot.title, owner=owner,
        bot=bot, bot_version=version, seed=1, state=ResponseRun.State.DONE,
    )  # fmt: skip
    for context in contexts.contexts.all():
        run.responses.create(
            context=context, text=f"{bot.title} answers.", bot_version=version, created_at=run.created_at
        )
    return run


def judge_all(study: Study, planned: Mapping[tuple[str, str], list[dict[str, Any]]]) -> None:
    """As many raters as there are answers give them, by system and key of the context."""
    for rater in range(max(map(len, planned.values()))):
        desk = begin(study)
        while shown := judging.state(desk)["items"]:
            item = Item.objects.select_related("response__run", "response__context").get(key=shown[0]["key"])
            assert item.response
            of = (item.response.run.system, item.response.context.key)
            judging.judge(desk, key=item.key, answers=planned[of][rater])
        judging.finish(desk)
