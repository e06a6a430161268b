"""Refused, filtered and long-thinking replies on the pages of staff, in exports, and before raters."""

import json
import zipfile
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import call_command
from django.test import Client

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeQueue, MakeStudy, MakeVersion
from tests.desks import begin
from tests.outcome_bot import OutcomeBot, register_outcome_bot
from tests.planted import SignIn, computed, figures, talked
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.judging.items import subjects
from turnwise.judging.models import Batch
from turnwise.judging.queue import services as judging
from turnwise.responses import services
from turnwise.responses.models import Response
from turnwise.responses.tasks import answer_slice


@pytest.fixture(autouse=True)
def _outcome_bot_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register_outcome_bot(monkeypatch)


pytestmark = pytest.mark.django_db(transaction=True)

NO_TEXT = "This reply has no text."
THINKING = "<b>I</b> had better decline."


@pytest.fixture
def refused(make_study: MakeStudy) -> Dialogue:
    """A finished conversation whose first reply was refused without a text."""
    dialogue = talked(make_study(min_turns=4, max_turns=8), [(False, False), (True, True)])
    with rewriting():
        Turn.objects.filter(dialogue=dialogue, position=2).update(
            text="",
            generation={
                "outcome": "refused",
                "reasoning": THINKING,
                "usage": {"prompt": 1200, "completion": 34, "reasoning": 30},
                "model": "model-2026-11",
                "first_seconds": 0.4,
            },
        )
    return dialogue


def test_the_transcript_says_how_the_reply_came_about(refused: Dialogue, rex: User, sign_in: SignIn) -> None:
    page = " ".join(sign_in(rex).get(f"/dialogues/{refused.public_id}/").content.decode().split())
    turn = page.split('id="turn-2"')[1].split('id="turn-3"')[0]

    for said in (
        NO_TEXT,
        "Outcome: refused by the model",
        "model-2026-11",
        "1,200 prompt tokens",
        "34 completion tokens",
        "(30 of reasoning)",
        "first token after 0.40",
        "<details",
        "&lt;b&gt;I&lt;/b&gt; had better decline.",
    ):
        assert said in turn
    assert "Outcome" not in page.split('id="turn-4"')[1]


def test_exports_and_bundle_have_every_fact(
    refused: Dialogue, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    study = refused.study
    exported = sign_in(rex).get(f"/studies/{study.pk}/turns.jsonl").getvalue().decode()
    call_command("bundle", str(study.pk), output=tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        turns = [json.loads(line) for line in archive.read("data/turns.jsonl").splitlines()]

    facts = {
        "outcome": "refused",
        "model": "model-2026-11",
        "prompt_tokens": 1200,
        "completion_tokens": 34,
        "reasoning_tokens": 30,
        "cached_tokens": None,
        "first_seconds": 0.4,
        "reasoning": THINKING,
    }
    line = next(row for row in map(json.loads, exported.splitlines()) if row["turn"] == 2)
    assert {name: line[name] for name in facts} == facts
    assert line["response"] == ""
    row = next(row for row in turns if row["turn"] == 2)
    assert {name: row[name] for name in facts} == facts
    assert next(row for row in turns if row["turn"] == 3)["outcome"] is None  # a person's


def test_scores_count_the_refusal_and_its_share_stands_beside_them(refused: Dialogue, tmp_path: Path) -> None:
    result = figures(computed(refused.study))
    call_command("bundle", str(refused.study_id), output=tmp_path / "bundle.zip")

    (bot,) = result["bots"]
    assert bot["turns"] == 2  # labelled replies, the refusal among them
    assert bot["refused"] == 50
    assert recompute(tmp_path / "bundle.zip").differences == []


def test_raters_see_a_neutral_place_and_no_outcome(
    refused: Dialogue, make_queue: MakeQueue, rex: User, sign_in: SignIn
) -> None:
    queue = make_queue(raters=1)
    subjects.add_turns(queue, refused.study, language="en")
    desk = begin(queue)
    rater = Client()
    rater.cookies[COOKIE] = signed(Batch.objects.get(pk=desk.batch_id).assignment.participation)
    told = [rater.get(f"{queue.get_entry_url()}judge/").content.decode()]
    while shown := judging.state(desk)["items"]:
        told.append(json.dumps(shown))
        judging.judge(desk, key=UUID(shown[0]["key"]), answers={"sensible": False})

    sent = "".join(told)
    assert '"text": ""' in sent
    assert all(word not in sent for word in ("refused", "had better", "model-2026-11"))
    item = queue.items.get(turn__position=2)
    page = sign_in(rex).get(f"/studies/{queue.pk}/items/{item.key}/").content.decode()
    assert NO_TEXT in page
    assert "refused by the model" in page
    assert NO_TEXT in sign_in(rex).get(f"/studies/{queue.pk}/items/").content.decode()


def test_a_run_stores_refusals_as_responses_and_no_reasoning(
    make_version: MakeVersion, rex: User, sign_in: SignIn
) -> None:
    bot = Bot.objects.create(
        name="careful",
        title="Careful",
        adapter=OutcomeBot.name,
        configuration={"replies": [{"text": "", "outcome": "filtered", "reasoning": THINKING}]},
    )
    run = services.start_run(make_version(2), bot, owner=rex, seed=1)
    answer_slice(run.pk)

    run.refresh_from_db()
    assert run.state == "done"
    assert list(run.responses.values_list("text", "generation")) == [("", {"outcome": "filtered"})] * 2
    page = sign_in(rex).get(f"/responses/{run.pk}/").content.decode()
    assert NO_TEXT in page
    assert "withheld by a filter of the service" in page
    assert Response.objects.count() == 2
