"""A picture that a participant sends to a person in the bot's place."""

from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from tests.conftest import OpenTab, start_dialogue
from tests.operating.conftest import MakeWizard, OpenPage
from tests.pictures import picture, upload
from turnwise.accounts.models import User
from turnwise.dialogues.models import Dialogue, Picture

pytestmark = pytest.mark.django_db(transaction=True)


async def test_the_operator_sees_it_and_nobody_else_of_the_team(
    make_wizard: MakeWizard, rex: User, mallory: User, open_page: OpenPage, open_tab: OpenTab
) -> None:
    rose = await sync_to_async(User.objects.create_user)("rose")
    study = await sync_to_async(make_wizard)(rose, takes_pictures=True)
    page = await open_page(rose)
    begun = await sync_to_async(start_dialogue)(study)
    dialogue = await Dialogue.objects.select_related("study").aget(pk=begun.pk)
    worker = await open_tab(dialogue)
    key = (await sync_to_async(upload)(dialogue, picture())).json()["key"]
    await worker.send(type="turn", key=str(uuid4()), text="Look", picture=key)
    await worker.receive("turn_saved")
    await page.sees(dialogue, waits=True)

    await page.send(type="open", id=str(dialogue.public_id))
    shown = (await page.receive("conversation"))["turns"][-1]

    assert (shown["text"], shown["picture"]["width"]) == ("Look", 64)
    stored = bytes((await Picture.objects.aget()).content)
    found = {}
    for user in (rose, mallory):
        client = Client()
        await sync_to_async(client.force_login)(user)
        answer = await sync_to_async(client.get)(shown["picture"]["address"])
        found[user.username] = (answer.status_code, answer.content == stored)
    assert found == {"rose": (200, True), "mallory": (404, False)}
