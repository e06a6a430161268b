"""Reasoning of bots in runs: stored if the run says so, shown to staff and exported, never to workers."""

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.test import Client

from tests.conftest import MakeQueue, MakeVersion
from tests.desks import begin
from tests.outcome_bot import OutcomeBot, register_outcome_bot
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.judging.items import subjects
from turnwise.judging.models import Batch
from turnwise.judging.queue import services as judging
from turnwise.responses.models import ResponseRun
from turnwise.responses.tasks import answer_slice

pytestmark = pytest.mark.django_db(transaction=True)

THINKING = "They greet me, so I had better greet them too."


@pytest.fixture
def bot(rex: User, monkeypatch: pytest.MonkeyPatch) -> Bot:
    register_outcome_bot(monkeypatch)
    reply = {"text": "Hello.", "reasoning": THINKING}
    return Bot.objects.create(
        name="thinker",
        title="Thinker",
        adapter=OutcomeBot.name,
        configuration={"replies": [reply]},
        owner=rex,
    )


def run_of(client: Client, bot: Bot, make_version: MakeVersion, **ticked: str) -> ResponseRun:
    """A complete run that was started on its page."""
    form: dict[str, Any] = {"context_version": make_version(2).pk, "bot": bot.pk, "repetitions": 1, "seed": 1}
    answer = client.post("/responses/new/", form | ticked)
    assert answer.status_code == 302, answer.content.decode()
    run = ResponseRun.objects.get()
    while run.state in ("queued", "running"):
        answer_slice(run.pk)
        run.refresh_from_db()
    return run


@pytest.fixture
def run(bot: Bot, make_version: MakeVersion, rex: User, sign_in: SignIn) -> ResponseRun:
    return run_of(sign_in(rex), bot, make_version, stores_reasoning="on")


def test_a_run_that_stores_it_shows_and_exports_it(run: ResponseRun, rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)

    assert [response.how.reasoning for response in run.responses.all()] == [THINKING] * 2
    page = client.get(f"/responses/{run.pk}/").content.decode()
    assert page.count(f'<p class="turn__reasoning" dir="auto">{THINKING}') == 2
    table = client.get(f"/responses/{run.pk}/responses.csv").content.decode()
    lines = client.get(f"/responses/{run.pk}/responses.jsonl").content.decode().splitlines()
    assert [row["reasoning"] for row in csv.DictReader(io.StringIO(table))] == [THINKING] * 2
    assert [json.loads(line)["reasoning"] for line in lines] == [THINKING] * 2


def test_another_run_does_not_store_it(
    bot: Bot, make_version: MakeVersion, rex: User, sign_in: SignIn
) -> None:
    run = run_of(sign_in(rex), bot, make_version)

    assert list(run.responses.values_list("text", "generation")) == [("Hello.", None)] * 2


def test_judges_never_see_it(
    run: ResponseRun, make_queue: MakeQueue, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    study = make_queue(raters=1)
    subjects.add_responses(study, run)
    desk = begin(study)
    rater = Client()
    rater.cookies[COOKIE] = signed(Batch.objects.get(pk=desk.batch_id).assignment.participation)

    sent = [rater.get(f"{study.get_entry_url()}judge/").content.decode()]
    while shown := judging.state(desk)["items"]:
        sent.append(json.dumps(shown))
        judging.judge(desk, key=UUID(shown[0]["key"]), answers={"sensible": False})

    assert "Hello." in "".join(sent)
    assert "had better" not in "".join(sent)
    item = study.items.first()
    assert item
    assert THINKING in sign_in(rex).get(f"/studies/{study.pk}/items/{item.key}/").content.decode()
    call_command("bundle", str(study.pk), output=tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        items = [json.loads(line) for line in archive.read("data/items.jsonl").splitlines()]
    assert [row["reasoning"] for row in items] == [THINKING] * 2
