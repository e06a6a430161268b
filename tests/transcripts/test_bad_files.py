"""Bad files of conversations on their page: line and cure are said, and nothing comes in by halves."""

import json
from collections.abc import Callable

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.transcripts.importers.test_turn_table import workbook
from turnwise.accounts.models import User
from turnwise.dialogues.models import Dialogue
from turnwise.studies.models import Study
from turnwise.transcripts.storing import import_requested

GOOD = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}


def lines(*records: object) -> bytes:
    return "".join(f"{json.dumps(each)}\n" for each in records).encode()


def message(id_: str, parent: str | None, role: str) -> dict[str, object]:
    return {"message_id": id_, "parent_id": parent, "message_tree_id": id_, "role": role, "text": "Hi"}


def turns(*speakers: str) -> dict[str, object]:
    return {"id": f"{len(speakers)}", "turns": [{"speaker": each, "text": "Hi"} for each in speakers]}


@pytest.mark.parametrize(
    ("name", "content", "line", "says", "imported"),
    [
        (
            "no_text.csv",
            b"conversation,speaker,note\n1,user,Hi\n1,bot,Hello\n",
            1,
            "No column is known to be the text. The columns are “conversation”, “speaker”, “note”: choose",
            0,
        ),
        (
            "twice.csv",
            b"conversation,speaker,text,text\n1,user,Hi,x\n1,bot,Hello,y\n",
            1,
            "Two columns are called “text”. Rename one of them.",
            0,
        ),
        (
            "twice.xlsx",
            workbook([["conversation", "speaker", "text", "text"], ["1", "user", "Hi", "x"]]),
            1,
            "Two columns are called “text”. Rename one of them.",
            0,
        ),
        (
            "circle.jsonl",
            lines(
                message("p", None, "prompter"),
                message("a", "p", "assistant"),
                message("x", "y", "prompter"),
                message("y", "x", "assistant"),
            ),
            3,
            "The tree has a circle: message “x” replies to itself. Correct its parent.",
            1,
        ),
        (
            "speakers.jsonl",
            lines(turns("user", "bot"), turns(*(f"s{number}" for number in range(10_000)))),
            2,
            "here speak 10,000: “s0”, “s1”, “s2”, “s3”, “s4” and 9,995 more. Name the chatbot “assistant”",
            1,
        ),
        (
            "system.jsonl",
            lines(GOOD, {"messages": [{"role": "system", "content": "Be brief."}]}),
            2,
            "The conversation is only a system message. Add the turns of its two speakers, or remove it.",
            1,
        ),
        (
            "roles.jsonl",
            lines(GOOD, {"messages": [*GOOD["messages"], {"role": "critic", "content": "Hm"}]}),
            2,
            "role is &quot;critic&quot;, which is not known. Write user, assistant, system or tool.",
            1,
        ),
    ],
)
def test_a_bad_file_is_answered_with_line_and_cure_and_no_conversation_comes_in_by_halves(
    study: Study, rex: User, sign_in: Callable[[User], Client],
    name: str, content: bytes, line: int, says: str, imported: int,
) -> None:  # fmt: skip
    browser = sign_in(rex)
    sent = {"file": SimpleUploadedFile(name, content)}

    page = browser.post(f"/studies/{study.pk}/imports/upload/", sent, follow=True).content.decode()

    assert f'<th scope="row">{line}</th><td>' in page
    assert says in page
    draft = study.imports.get()
    browser.post(f"/imports/{draft.pk}/confirm/", {"system-1": "Bot", "language": "en"})
    import_requested(draft.pk)
    assert Dialogue.objects.filter(study=study).count() == imported
