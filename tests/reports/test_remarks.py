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
from tests.rewriting import rewriting
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


def counts(replies: dict[str, Any]) -> dict[str, tuple[int, float]]:
    """Outcomes that occurred, with number and percentage."""
    return {row["outcome"]: (row["replies"], row["percent"]) for row in replies["outcomes"] if row["replies"]}


def exported(client: Client, study: Study, ending: str) -> str:
    response = client.get(f"/studies/{study.pk}/turns.{ending}")
    return response.getvalue().decode()


async def test_a_remark_is_stored_with_the_reply_and_not_sent_to_the_worker(dialogue: Talk) -> None:
    turns = [turn async for turn in Turn.objects.filter(dialogue=dialogue[0]).order_by("position")]

    assert [turn.text for turn in turns][2::2] == [SAID, FALLBACK]
    assert turns[4].generation == {"outcome": "fallback", "remarks": [REMARK]}
    # Of a reply that was left alone, of a worker's turn and of the opening nothing is stored.
    assert await Turn.objects.filter(generation__isnull=True).acount() == 4
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

    assert [(row["remarks"], row["outcome"]) for row in table] == [
        ("", "complete"),
        (json.dumps([REMARK]), "fallback"),
    ]
    assert [(line["remarks"], line["outcome"]) for line in lines] == [
        ([], "complete"),
        ([REMARK], "fallback"),
    ]


async def test_the_report_and_the_bundle_count_remarks_alike(
    dialogue: Talk, filtered: Study, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    report = await sync_to_async(computed)(filtered)
    await sync_to_async(call_command)("bundle", str(filtered.pk), output=tmp_path / "bundle.zip")
    page = await sync_to_async(lambda: sign_in(rex).get(f"/studies/{filtered.pk}/report/"))()

    counted = figures(report)["course"]["bots"][0]["replies"]
    assert (counted["replies"], counted["remarked"], counts(counted)) == (
        2,
        1,
        {"complete": (1, 50), "fallback": (1, 50)},
    )
    found = recompute(tmp_path / "bundle.zip")
    assert found.differences == []
    assert found.report["course"]["bots"][0]["replies"] == counted
    assert '<td data-label="Fallback"><strong>50.0</strong>' in page.content.decode()


def test_only_finished_conversations_are_counted_and_each_reply_once(
    make_study: MakeStudy, tmp_path: Path
) -> None:
    study = make_study(min_turns=2, max_turns=8)
    for texts, outcome in ((["first"], {}), (["first", "second"], {"outcome": "fallback"})):
        turns = talked(study, PLAIN).turn_set
        with rewriting():
            turns.filter(position=4).update(generation={"remarks": texts, **outcome})
    talked(study, PLAIN)
    left = talked(study, PLAIN)
    with rewriting():
        left.turn_set.update(generation={"remarks": ["of nobody"], "outcome": "fallback"})
    with rewriting():
        Dialogue.objects.filter(pk=left.pk).update(ending="", ended_at=None)

    course = figures(computed(study))["course"]["bots"][0]

    assert course["replies"]["remarked"] == 2
    assert counts(course["replies"])["fallback"][0] == 1
    call_command("bundle", str(study.pk), output=tmp_path / "bundle.zip")
    assert recompute(tmp_path / "bundle.zip").differences == []


def test_replies_of_a_study_without_remarks_are_complete(short: Study) -> None:
    talked(short, PLAIN)

    replies = figures(computed(short))["course"]["bots"][0]["replies"]

    assert (replies["remarked"], list(counts(replies))) == (0, ["complete"])


def test_remarks_on_judged_conversations_are_counted_by_turn(
    make_study: MakeStudy, make_queue: MakeQueue, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    with rewriting():
        talked(make_study(min_turns=4, max_turns=8), PLAIN).turn_set.filter(position=4).update(
            generation={"remarks": [REMARK], "outcome": "fallback"}
        )
    queue = make_queue(raters=1)
    subjects.add_turns(queue, Study.objects.exclude(pk=queue.pk).get(), language="en")
    desk = begin(queue)
    while shown := judging.state(desk)["items"]:
        judging.judge(desk, key=UUID(shown[0]["key"]), answers={"sensible": False})

    (replies,) = figures(computed(queue))["replies"]
    assert (replies["bot"], replies["remarked"], counts(replies)["fallback"][0]) == ("Scripty", 1, 1)
    call_command("bundle", str(queue.pk), output=tmp_path / "bundle.zip")
    assert recompute(tmp_path / "bundle.zip").differences == []
    pages = [
        sign_in(rex).get(f"/studies/{queue.pk}/items/{item.key}/").content.decode()
        for item in queue.items.order_by("turn__position")
    ]
    assert [REMARK in page for page in pages] == [False, True]
    lines = [json.loads(line) for line in exported(sign_in(rex), queue, "jsonl").splitlines()]
    assert sorted((line["turn"], line["remarks"], line["outcome"]) for line in lines) == [
        (2, [], "complete"),
        (4, [REMARK], "fallback"),
    ]
