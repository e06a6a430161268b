"""A study in which a person was the bot, from the conversation to report, transcript and bundle."""

import json
import zipfile
from pathlib import Path
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.core.management import call_command

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import OpenTab, pseudonym_of, start_dialogue
from tests.operating.conftest import MakeWizard, OpenPage, OperatorTab
from tests.planted import SignIn, computed
from turnwise.accounts.models import User
from turnwise.dialogues.models import Dialogue
from turnwise.studies.models import Share, Study

pytestmark = pytest.mark.django_db(transaction=True)

SAID = ("I sail.", "To the sea, when it is calm.")
ANSWERS = ({"sensible": True, "specific": True}, {"sensible": True, "specific": False})


async def talk(study: Study, page: OperatorTab, open_tab: OpenTab) -> Dialogue:
    dialogue = await sync_to_async(start_dialogue)(study)
    worker = await open_tab(dialogue)
    for number, (reply, answers) in enumerate(zip(SAID, ANSWERS, strict=True)):
        await worker.send(type="turn", key=str(uuid4()), text=f"Question {number}?")
        await worker.receive("turn_saved")
        await page.answer(dialogue, 2 * number + 2, reply)
        await worker.receive("bot_turn")
        await worker.label(2 * number + 2, **answers)
    await worker.send(type="finish")
    while not (await worker.receive("state"))["finished"]:
        pass
    return dialogue


def read_only(study: Study, dialogue: Dialogue, sign_in: SignIn) -> str:
    """The transcript as somebody sees it who may only read the study."""
    reader = User.objects.create_user("rita")
    Share.objects.create(study=study, person=reader, role="reader")
    return sign_in(reader).get(f"/dialogues/{dialogue.public_id}/").text


async def test_what_the_operator_said_is_in_report_transcript_and_bundle(
    make_wizard: MakeWizard, rex: User, open_page: OpenPage, open_tab: OpenTab, sign_in: SignIn,
    tmp_path: Path,
) -> None:  # fmt: skip
    study = await sync_to_async(make_wizard)()
    dialogue = await talk(study, await open_page(rex), open_tab)

    result = (await sync_to_async(computed)(study)).result
    assert result
    (bot,) = result["bots"]
    # Both replies make sense, and one of two is specific.
    assert (bot["bot"], bot["labels"]) == ("Wizard", 2)
    assert [cell["value"] for cell in bot["cells"]] == pytest.approx([100, 50, 75])

    client = await sync_to_async(sign_in)(rex)
    transcript = await sync_to_async(client.get)(f"/dialogues/{dialogue.public_id}/")
    assert all(text in transcript.text for text in SAID)
    assert transcript.text.count("written by rex") == 2
    assert "written by" not in await sync_to_async(read_only)(study, dialogue, sign_in)

    bundle = tmp_path / "bundle.zip"
    await sync_to_async(call_command)("bundle", str(study.pk), output=bundle)
    with zipfile.ZipFile(bundle) as archive:
        turns = [json.loads(line) for line in archive.read("data/turns.jsonl").splitlines()]
        everything = b"".join(archive.read(name) for name in archive.namelist())
    said = [(row["speaker"], row["bot"], row["text"]) for row in turns if row["turn"] in (2, 4)]
    assert said == [("bot", "wizard", text) for text in SAID]
    worker = await sync_to_async(pseudonym_of)(dialogue)
    assert {row["said_by"] for row in turns if row["speaker"] == "worker"} == {worker}
    assert b'"rex"' not in everything  # who was the wizard stays at home
    again = recompute(bundle)
    assert (again.differences, again.changed_files, again.report) == ([], [], result)
