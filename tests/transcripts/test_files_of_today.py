"""Pages of an import for packed files, tables with chosen columns, and files of which no format is known."""

import json
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from tests.rewriting import rewriting
from tests.transcripts.importers.test_turn_table import ROWS, parquet, workbook
from tests.transcripts.imports import import_draft
from turnwise.dialogues.models import Material, TranscriptImport
from turnwise.studies.models import Study
from turnwise.transcripts.importing import ImportRefusedError, preview_of, set_columns, upload

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Is it open?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"function": {"name": "hours", "arguments": "{}"}}],
    },
    {"role": "tool", "content": "9 to 17"},
    {"role": "assistant", "content": "Yes, until five."},
]


def uploaded(study: Study, content: bytes, name: str) -> TranscriptImport:
    return upload(study, BytesIO(content), name=name, by=study.owner)


def page_of(client: Client, study: Study, content: bytes, name: str) -> tuple[TranscriptImport, str]:
    client.force_login(study.owner)
    sent = {"file": SimpleUploadedFile(name, content)}
    answer = client.post(f"/studies/{study.pk}/imports/upload/", sent, follow=True)
    return study.imports.get(), answer.content.decode()


def test_a_workbook_with_columns_of_other_names_is_mapped_on_its_page(client: Client, study: Study) -> None:
    rows = [["Fall", "Wer", "Was"], ["1", "Kunde", "Hallo"], ["1", "Bot", "Guten Tag"]]

    draft, page = page_of(client, study, workbook(rows), "chats.xlsx")

    assert draft.format == "table"
    assert "Which column is what" in page
    assert '<td dir="auto">Guten Tag</td>' in page
    assert "No column is known to be the conversation or the speaker or the text" in page
    chosen = {"column-conversation": "Fall", "column-speaker": "Wer", "column-text": "Was", "column-time": ""}
    page = client.post(f"/imports/{draft.pk}/columns/", chosen, follow=True).content.decode()
    assert "Import 1 conversation<" in page
    assert '<option value="Wer" selected>' in page
    record = import_draft(
        draft.pk, systems={"Kunde": "", "Bot": "Bot"}, scripted_opening=False, language="en"
    )
    [dialogue] = record.dialogues.all()
    assert list(dialogue.turn_set.values_list("text", flat=True)) == ["Hallo", "Guten Tag"]


def test_columns_are_read_again_after_another_choice(study: Study) -> None:
    draft = uploaded(study, b"conversation,speaker,text,note\n1,user,Hi,A\n1,bot,Yes,B\n", "chats.csv")
    assert preview_of(draft).first[0].texts == ("Hi", "Yes")

    set_columns(draft, {"conversation": "conversation", "speaker": "speaker", "text": "note"})

    assert preview_of(draft).first[0].texts == ("A", "B")


def test_parquet_of_the_hub_comes_in_with_system_and_tool_messages(client: Client, study: Study) -> None:
    content = parquet([{"id": "c1", "messages": [{"role": "user", "content": "Hi"}, MESSAGES[4]]}])
    record = import_draft(
        uploaded(study, content, "train.parquet").pk,
        systems={"user": "", "assistant": "m"},
        scripted_opening=False,
        language="en",
    )
    assert (record.format, record.conversations) == ("openai", 1)

    lines = json.dumps({"id": "c2", "messages": MESSAGES}).encode()
    draft, page = page_of(client, study_without_imports(study), lines, "chats.jsonl")
    assert "The system message of 1 conversation becomes reading material" in page
    assert "2 messages of tools are kept beside their replies" in page
    record = import_draft(
        draft.pk, systems={"user": "", "assistant": "m"}, scripted_opening=False, language="en"
    )
    [dialogue] = record.dialogues.all()
    [material] = Material.objects.filter(seat__dialogue=dialogue)
    assert (material.seat.number, material.text) == (1, "Be brief.")
    reply = dialogue.turn_set.get(position=1)
    assert (reply.text, reply.how.tools[1]) == ("Yes, until five.", {"answer": "9 to 17"})
    transcript = client.get(f"/dialogues/{dialogue.public_id}/").content.decode()
    assert "<summary>Tools: 2 messages</summary>" in transcript
    assert "Be brief." in transcript


def study_without_imports(study: Study) -> Study:
    with rewriting():
        study.imports.all().delete()
    return study


def test_a_file_of_no_known_format_says_what_was_found(client: Client, study: Study, tmp_path: Path) -> None:
    content = b'{"prompt": "Explain tides", "model": "a", "response": "The moon."}\n'

    draft, page = page_of(client, study, content, "answers.jsonl")

    assert draft.format == ""
    assert "The file has JSON with the keys “prompt”, “model”, “response”." in page
    assert "import prompts under Contexts" in page
    file = tmp_path / "answers.jsonl"
    file.write_bytes(content)
    with pytest.raises(CommandError, match="keys “prompt”, “model”, “response”"):
        call_command("import_dialogues", str(file), study=study.code)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"PK\x03\x04 no archive", "The file is damaged"),
        (b"PAR1 no Parquet", "The Parquet file cannot be read"),
    ],
)
def test_a_damaged_packed_file_is_refused_and_nothing_is_stored(
    study: Study, content: bytes, says: str
) -> None:
    with pytest.raises(ImportRefusedError, match=says):
        uploaded(study, content, "chats.xlsx")
    assert not study.imports.exists()


def test_a_table_is_imported_by_command_with_its_columns(study: Study, tmp_path: Path) -> None:
    file = tmp_path / "chats.xlsx"
    file.write_bytes(workbook(ROWS))
    out = StringIO()

    call_command(
        "import_dialogues", str(file), study=study.code, system=["agent=Desk"], language="en", stdout=out,
        column=["conversation=thread_id", "speaker=role", "text=message", "time="],
    )  # fmt: skip

    assert "Imported 2 conversations with 4 turns." in out.getvalue()
    with pytest.raises(CommandError, match="write PART=COLUMN"):
        call_command("import_dialogues", str(file), study=study.code, column=["words=x"])
