"""Conversations as training data: each format comes in again as it went out, and preferences as DPO pairs."""

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from io import BytesIO
from uuid import UUID

import pyarrow.parquet
import pytest
import yaml
from django.test import Client

from tests.conftest import MakePairs
from tests.desks import begin
from tests.transcripts.imports import import_draft
from turnwise.accounts.models import User
from turnwise.exports import chat_formats, preference_pairs
from turnwise.judging.queue import services as judging
from turnwise.studies.models import Study
from turnwise.transcripts.importing import preview_of, upload

SignIn = Callable[[User], Client]
CALL = {"id": "call_1", "type": "function", "function": {"name": "hours", "arguments": '{"day": 1}'}}
OPENAI = [
    {
        "id": "c1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Is it open?\n\nTell me  please. "},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "call_1", "content": "9 to 17"},
            {"role": "assistant", "content": "Yes, until five."},
        ],
    },
    {
        "id": "c2",
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "# Hello\n- you"}],
        "model": "m-1",
    },
]
SHAREGPT = [
    {
        "id": "s1",
        "conversations": [
            {"from": "system", "value": "Be brief."},
            {"from": "human", "value": "Hi"},
            {"from": "function_call", "value": '{"name": "hours", "arguments": "{}"}'},
            {"from": "observation", "value": "9 to 17"},
            {"from": "gpt", "value": "Hello"},
        ],
    }
]


def lines_of(records: Sequence[object]) -> bytes:
    return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in records).encode()


def imported(study: Study, content: bytes, systems: dict[str, str]) -> None:
    draft = upload(study, BytesIO(content), name="chats.jsonl", by=study.owner)
    assert preview_of(draft).problem_count == 0
    import_draft(draft.pk, systems=systems, scripted_opening=False, language="en")


def test_openai_messages_come_in_again_as_they_went_out(study: Study) -> None:
    imported(study, lines_of(OPENAI), {"user": "", "assistant": "assistant", "m-1": "m-1"})

    assert [json.loads(line) for line in chat_formats.openai_lines(study)] == OPENAI


def test_sharegpt_comes_in_again_as_it_went_out(study: Study) -> None:
    imported(study, lines_of(SHAREGPT), {"human": "", "gpt": "gpt"})

    assert [json.loads(line) for line in chat_formats.sharegpt_lines(study)] == SHAREGPT


def test_a_data_set_has_its_card_and_is_read_by_pyarrow_and_the_importer(
    study: Study, rex: User, sign_in: SignIn
) -> None:
    imported(study, lines_of(OPENAI), {"user": "", "assistant": "assistant", "m-1": "m-1"})

    answer = sign_in(rex).get(f"/studies/{study.pk}/dataset.zip")

    archive = zipfile.ZipFile(io.BytesIO(b"".join(answer)))  # type: ignore[arg-type]
    card = archive.read("README.md").decode()
    about = yaml.safe_load(card.split("---\n")[1])
    assert about["configs"] == [
        {"config_name": "default", "data_files": [{"split": "train", "path": "data/train-*"}]}
    ]
    assert (about["size_categories"], about["language"]) == (["n<1K"], ["en"])
    content = archive.read(chat_formats.PARQUET)
    rows = pyarrow.parquet.read_table(io.BytesIO(content)).to_pylist()
    assert [(row["id"], row["model"], len(row["messages"])) for row in rows] == [
        ("c1", "assistant", 5),
        ("c2", "m-1", 2),
    ]
    again = preview_of(upload(study, io.BytesIO(content), name="train.parquet", by=rex))
    assert [each.texts[-1] for each in again.first] == ["Yes, until five.", "# Hello\n- you"]


@pytest.mark.django_db(transaction=True)
def test_preferences_are_the_majority_of_votes_whatever_order_raters_saw(
    make_pairs: MakePairs, rex: User, sign_in: SignIn
) -> None:
    study: Study = make_pairs(4, ("Alpha", "Beta"), raters=3, question_set="preference")
    for _ in range(3):
        desk = begin(study)
        while items := judging.state(desk)["items"]:
            is_first = any("Beta" in text for text in items[0]["sides"][0]["texts"])
            judging.judge(
                desk, key=UUID(items[0]["key"]), answers={"better": "first" if is_first else "second"}
            )
    study.refresh_from_db()

    answer = sign_in(rex).get(f"/studies/{study.pk}/preferences.jsonl")
    pairs = [json.loads(line) for line in b"".join(answer).decode().splitlines()]  # type: ignore[arg-type]

    assert len(pairs) == 4
    for pair in pairs:
        assert (pair["chosen_model"], pair["rejected_model"]) == ("Beta", "Alpha")
        assert pair["votes"] == {"chosen": 3, "rejected": 0, "tied": 0}
        assert "Beta" in pair["chosen"][0]["content"]
        assert pair["prompt"][-1]["role"] == "user"
    assert list(preference_pairs.lines(study))
