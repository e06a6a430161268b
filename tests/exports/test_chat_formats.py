"""Training data: the data set as Hugging Face's `datasets` loads it, and preferences as DPO pairs."""

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
import yaml
from django.test import Client

from tests.conftest import MakePairs
from tests.desks import begin
from tests.exports.test_round_trips import CHATS, OPENAI, imported, lines_of
from turnwise.accounts.models import User
from turnwise.exports import published_formats
from turnwise.judging.queue import services as judging
from turnwise.studies.models import Study

SignIn = Callable[[User], Client]
LOADED = """
import datasets, json, sys
loaded = datasets.load_dataset(sys.argv[1], cache_dir=sys.argv[2], split="train")
print(json.dumps(loaded.to_list()))
"""


def test_load_dataset_reads_the_data_set_by_its_card_without_a_network(
    study: Study, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    imported(study, lines_of(OPENAI), "chats.jsonl", CHATS)

    answer = sign_in(rex).get(f"/studies/{study.pk}/dataset.zip")

    folder = tmp_path / "set"
    zipfile.ZipFile(io.BytesIO(b"".join(answer))).extractall(folder)  # type: ignore[arg-type]
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    arguments = [sys.executable, "-c", LOADED, str(folder), str(tmp_path / "cache")]
    done = subprocess.run(
        arguments, env={**os.environ, **offline}, capture_output=True, text=True, check=True
    )
    rows = json.loads(done.stdout.splitlines()[-1])
    assert [(row["id"], row["model"], row["language"]) for row in rows] == [
        ("c1", "assistant", "en"),
        ("c2", "m-1", "en"),
    ]
    assert rows[0]["messages"][2] == {"role": "assistant", "content": '{"day": 1}', "called": "hours"}
    assert [each["content"] for each in rows[1]["messages"]] == ["Hi", "# Hello\n- you"]
    about = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    assert (about["size_categories"], about["language"]) == (["n<1K"], ["en"])


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
    assert list(published_formats.lines(study))
