"""Remarks of filters on replies: from the socket to transcript, exports, bundle and report."""

import csv
import io
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.core.management import call_command
from django.test import Client

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeQueue, MakeStudy, OpenTab, start_dialogue, worker_of
from tests.desks import begin
from tests.planted import SignIn, computed, figures, talked
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.dialogues.queries import seat_of
from turnwise.dialogues.services import finish
from turnwise.judging.items import subjects
from turnwise.judging.queue import services as judging
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

SAID = "I would love to go to Paris with you some day"
FALLBACK = "Let us talk about something else"
REMARK = "repetition-filter: every candidate repeats an earlier turn; said a fallback"
PLAIN = [(True, True), (True, False)]


@pytest.fixture
def filtered(make_study: MakeStudy) -> Study:
    """A bot that says the same again and again, inside a filter with one fallback."""
    study = make_study(min_turns=4, max_turns=6)
    inner = {"adapter": "scripted", "configuration": {"replies": [SAID]}}
    Bot.objects.update(adapter="repetition-filter", configuration={"bot": inner, "fallbacks": [FALLBACK]})
    return study


@pytest.fixture
async def dialogue(filtered: Study, open_tab: OpenTab) -> tuple[Dialogue, list[dict[str, Any]]]:
    """A finished conversation of two exchanges, and the frames with the replies."""
    dialogue = await sync_to_async(start_dialogue)(filtered)
    tab = await open_tab(dialogue)
    frames = []
    for text in ("Hello", "And then?"):
        frames.append(await tab.say(text))
        await tab.label(frames[-1]["turn"]["position"], sensible=True, specific=False)
    await sync_to_async(end)(dialogue)
    return dialogue, frames


Talk = tuple[Dialogue, list[dict[str, Any]]]


def end(dialogue: Dialogue) -> None:
    finish(seat_of(dialogue.public_id, worker_of(dialogue).pk))


def exported(client: Client, study: Study, ending: str) -> str:
    response = client.get(f"/studies/{study.pk}/turns.{ending}")
    return response.getvalue().decode()


async def test_a_remark_is_stored_with_the_reply_and_not_sent_to_the_worker(dialogue: Talk) -> None:
    turns = [turn async for turn in Turn.objects.filter(dialogue=dialogue[0]).order_by("position")]

    assert [turn.text for turn in turns][2::2] == [SAID, FALLBACK]
    assert turns[4].remarks == {"texts": [REMARK], "fallback": True}
    # Of a reply that was left alone, of a worker's turn and of the opening nothing is stored.
    assert await Turn.objects.filter(remarks__isnull=True).acount() == 4
    assert "repetition-filter" not in json.dumps(dialogue[1])


async def test_a_returning_worker_does_not_see_the_remark(filtered: Study, open_tab: OpenTab) -> None:
    dialogue = await sync_to_async(start_dialogue)(filtered)
    tab = await open_tab(dialogue)
    await tab.exchange("Hello")
    await tab.say("And then?")

    again = await open_tab(dialogue)

    assert again.first["turns"][-1]["text"] == FALLBACK
    assert "repetition-filter" not in json.dumps(again.first)


async def test_the_transcript_shows_the_remark_at_its_reply(
    dialogue: Talk, rex: User, sign_in: SignIn
) -> None:
    get = sync_to_async(lambda: sign_in(rex).get(f"/dialogues/{dialogue[0].public_id}/").content.decode())

    page = await get()

    before, after = page.split('id="turn-4"')
    assert REMARK not in before
    assert REMARK in after


async def test_the_remark_is_in_both_exports(
    dialogue: Talk, filtered: Study, rex: User, sign_in: SignIn
) -> None:
    client = await sync_to_async(sign_in)(rex)
    table = list(csv.DictReader(io.StringIO(await sync_to_async(exported)(client, filtered, "csv"))))
    text = await sync_to_async(exported)(client, filtered, "jsonl")
    lines = [json.loads(line) for line in text.splitlines()]

    assert [(row["remarks"], row["fallback"]) for row in table] == [
        ("", "false"),
        (json.dumps([REMARK]), "true"),
    ]
    assert [(line["remarks"], line["fallback"]) for line in lines] == [([], False), ([REMARK], True)]


async def test_the_report_and_the_bundle_count_remarks_alike(
    dialogue: Talk, filtered: Study, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    report = await sync_to_async(computed)(filtered)
    await sync_to_async(call_command)("bundle", str(filtered.pk), output=tmp_path / "bundle.zip")
    page = await sync_to_async(lambda: sign_in(rex).get(f"/studies/{filtered.pk}/report/"))()

    assert figures(report)["course"]["bots"][0]["remarks"] == {"replies": 1, "fallbacks": 1}
    found = recompute(tmp_path / "bundle.zip")
    assert found.differences == []
    assert found.report["course"]["bots"][0]["remarks"] == {"replies": 1, "fallbacks": 1}
    assert "1 by fallback" in page.content.decode()


def test_only_finished_conversations_are_counted_and_each_reply_once(
    make_study: MakeStudy, tmp_path: Path
) -> None:
    study = make_study(min_turns=2, max_turns=8)
    for texts, fallback in ((["first"], False), (["first", "second"], True)):
        turns = talked(study, PLAIN).turn_set
        turns.filter(position=4).update(remarks={"texts": texts, "fallback": fallback})
    talked(study, PLAIN)
    left = talked(study, PLAIN)
    left.turn_set.update(remarks={"texts": ["of nobody"], "fallback": True})
    Dialogue.objects.filter(pk=left.pk).update(ending="", ended_at=None)

    course = figures(computed(study))["course"]["bots"][0]

    assert course["remarks"] == {"replies": 2, "fallbacks": 1}
    call_command("bundle", str(study.pk), output=tmp_path / "bundle.zip")
    assert recompute(tmp_path / "bundle.zip").differences == []


def test_a_study_without_remarks_shows_none(short: Study) -> None:
    talked(short, PLAIN)

    assert "remarks" not in figures(computed(short))["course"]["bots"][0]


def test_remarks_on_judged_conversations_are_counted_by_turn(
    make_study: MakeStudy, make_queue: MakeQueue, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    talked(make_study(min_turns=4, max_turns=8), PLAIN).turn_set.filter(position=4).update(
        remarks={"texts": [REMARK], "fallback": True}
    )
    queue = make_queue(raters=1)
    subjects.add_turns(queue, Study.objects.exclude(pk=queue.pk).get(), language="en")
    desk = begin(queue)
    while shown := judging.state(desk)["items"]:
        judging.judge(desk, key=UUID(shown[0]["key"]), answers={"sensible": False})

    assert figures(computed(queue))["remarks"] == [{"bot": "Scripty", "items": 1, "fallbacks": 1}]
    call_command("bundle", str(queue.pk), output=tmp_path / "bundle.zip")
    assert recompute(tmp_path / "bundle.zip").differences == []
    pages = [
        sign_in(rex).get(f"/studies/{queue.pk}/items/{item.key}/").content.decode()
        for item in queue.items.order_by("turn__position")
    ]
    assert [REMARK in page for page in pages] == [False, True]
    lines = [json.loads(line) for line in exported(sign_in(rex), queue, "jsonl").splitlines()]
    assert sorted((line["turn"], line["remarks"], line["fallback"]) for line in lines) == [
        (2, [], False),
        (4, [REMARK], True),
    ]
