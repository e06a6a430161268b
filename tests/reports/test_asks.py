"""A study that asks several things: each has its figures in the report, and its rows in files and bundle."""

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow.parquet
import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeStudy, start_dialogue, worker_of
from tests.planted import SignIn, bot_of, computed, figures
from turnwise.accounts.models import User
from turnwise.bots.services import version_of
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.exports.bundle import write_bundle
from turnwise.exports.turn_files import csv_lines
from turnwise.labels.models import Label
from turnwise.studies.asks import About, AskSpec, Moment, Party
from turnwise.studies.models import Study
from turnwise.studies.services import save_study

pytestmark = pytest.mark.django_db(transaction=True)

WHOLE = AskSpec("likert", About.DIALOGUE, Moment.AT_END)
VOTES = AskSpec("votes", About.PARTNER_TURN, Moment.BEFORE_FINISH, required=False)
OWN = AskSpec("human-likeness", About.OWN_TURN, Moment.BEFORE_FINISH)
SCALES = ("quality", "diversity", "fluency", "relatedness", "empathy")
RATINGS = (7, 5, 3, 6, 2, 4)
"""One of each conversation, for all five scales."""


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    asked = make_study(asks=[WHOLE, VOTES, OWN], opening_speaker="human", opening_text="", min_turns=4)
    for rating in RATINGS:
        rated(asked, rating)
    return asked


def rated(study: Study, rating: int) -> Dialogue:
    """A finished conversation of two exchanges: the second reply voted up, own messages judged, all rated."""
    dialogue = start_dialogue(study)
    version = version_of(bot_of(dialogue), {"adapter": "scripted"})
    for position in range(4):
        of_bot = {"bot_version": version, "latency_ms": 10} if position % 2 else {"key": uuid4()}
        Turn.objects.create(
            dialogue=dialogue, position=position, text="Well", created_at=timezone.now(), **of_bot
        )
        if position % 2 == 0:
            label(dialogue, "human-likeness", {"human_like": True}, position=position)
    label(dialogue, "votes", {"vote": 1}, position=3)
    label(dialogue, "likert", dict.fromkeys(SCALES, rating))
    Dialogue.objects.filter(pk=dialogue.pk).update(
        turns=4, bot_turns=2, due_0=[], ending="complete", ended_at=timezone.now()
    )
    return dialogue


def label(dialogue: Dialogue, questions: str, answers: dict[str, Any], position: int | None = None) -> None:
    at = timezone.now()
    turn = None if position is None else dialogue.turn_set.get(position=position)
    Label.objects.create(
        study=dialogue.study, turn=turn, dialogue=None if turn else dialogue, rater=worker_of(dialogue),
        party=Party.CHATTER, ask=dialogue.study.asks.get(question_set=questions),
        question_set=questions, answers=answers, created_at=at, changed_at=at,
    )  # fmt: skip


def test_each_ask_has_its_figures(study: Study) -> None:
    result = figures(computed(study))

    (bot,) = result["bots"]
    assert (result["question_set"], result["about"]) == ("likert", "dialogue")
    assert [cell["value"] for cell in bot["cells"]] == pytest.approx([*[sum(RATINGS) / 6] * 5, 22.5])
    assert (bot["conversations"], bot["labels"], result["by_reply"]) == (6, 6, [])
    votes, own = result["beside"]
    assert (votes["question_set"], votes["about"], votes["required"]) == ("votes", "partner_turn", False)
    assert votes["bots"][0]["cells"][0]["value"] == 100
    assert votes["bots"][0]["turns"] == 6  # of twelve replies: a vote is nobody's duty
    assert (own["about"], own["bots"][0]["turns"]) == ("own_turn", 12)
    assert own["bots"][0]["cells"][0]["value"] == 100
    assert result["course"]["bots"][0]["latency"]["median_ms"] == 10


def test_each_ask_has_charts_on_the_page_and_as_files(study: Study, rex: User, sign_in: SignIn) -> None:
    drawn = {chart.name: chart.svg for chart in computed(study).charts.all()}
    client = sign_in(rex)

    page = client.get(f"/studies/{study.pk}/report/").content.decode()

    assert set(drawn) - {"by-turn"} == {"scores", "scores-1", "by-reply-1", "scores-2", "by-reply-2"}
    assert "Quality 4.5 points" in drawn["scores"]
    assert "100 percent" in drawn["scores-1"]
    assert all(svg in page for svg in drawn.values())
    assert page.index(drawn["scores-1"]) > page.index("Votes for single replies")
    for name in ("scores-1.svg", "scores-2.pdf"):
        assert client.get(f"/studies/{study.pk}/report/{name}").status_code == 200, name
    assert client.get(f"/studies/{study.pk}/report/scores-3.svg").status_code == 404


def test_the_page_shows_the_figures_of_every_ask(study: Study, rex: User, sign_in: SignIn) -> None:
    computed(study)

    page = sign_in(rex).get(f"/studies/{study.pk}/report/").content.decode()

    assert "Five ratings" in page or "Quality" in page
    assert "Votes for single replies" in page


def test_the_bundle_gives_the_same_numbers_again(study: Study, tmp_path: Path) -> None:
    with (tmp_path / "bundle.zip").open("wb") as stream:
        write_bundle(study.pk, stream)

    found = recompute(tmp_path / "bundle.zip")

    assert found.differences == []
    assert [each["question_set"] for each in found.report["beside"]] == ["votes", "human-likeness"]


def test_in_a_bundle_every_label_names_its_ask_and_no_conversation_names_one_of_several(
    study: Study, tmp_path: Path
) -> None:
    with (tmp_path / "bundle.zip").open("wb") as stream:
        write_bundle(study.pk, stream)

    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        about = json.loads(archive.read("study.json"))
        lines = {
            name: [json.loads(line) for line in archive.read(f"data/{name}.jsonl").splitlines()]
            for name in ("conversations", "labels")
        }
        header = archive.read("data/conversations.csv").decode().partition("\n")[0].split(",")
        typed = pyarrow.parquet.read_schema(io.BytesIO(archive.read("data/conversations.parquet"))).names
    assert "question_set" not in about
    asked = {ask["number"]: ask["question_set"] for ask in about["asks"]}
    assert asked == {0: "likert", 1: "votes", 2: "human-likeness"}
    assert {label["ask"]: label["question_set"] for label in lines["labels"]} == asked
    assert "question_set" not in {*header, *typed, *lines["conversations"][0]}


def test_a_file_has_one_row_per_label_and_none_for_turns_of_judged_conversations(study: Study) -> None:
    rows = list(csv.DictReader(io.StringIO("".join(csv_lines(study)))))

    assert len(rows) == 6 * (1 + 1 + 2)
    assert sorted(row["quality"] for row in rows if row["turn"] == "") == ["2", "3", "4", "5", "6", "7"]
    assert {row["bot"] for row in rows} == {"scripty"}


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (AskSpec("likert", About.PARTNER_TURN, Moment.EACH_TURN), "about whole conversations only"),
        (AskSpec("ssa", About.DIALOGUE, Moment.AT_END), "can be asked about"),
        (AskSpec("likert", About.DIALOGUE, Moment.EACH_TURN), "judged when it is over"),
        (AskSpec("preference", About.PAIR, Moment.AT_END), "can ask only about"),
        (AskSpec("ssa", About.RESPONSE), "can ask only about"),
        (WHOLE, "asked twice"),
    ],
)
def test_an_impossible_ask_is_refused_with_a_remedy(rex: User, ask: AskSpec, said: str) -> None:
    study = Study(title="Chat", languages=["en"])

    with pytest.raises(ValidationError, match=said):
        save_study(study, owner=rex, consent_text="Yes?", targets={}, asks=[WHOLE, ask])

    assert not Study.objects.exists()


def test_asks_cannot_change_once_a_study_is_open(study: Study, rex: User) -> None:
    with pytest.raises(ValidationError, match="has been opened"):
        save_study(study, owner=rex, consent_text="Yes?", targets={}, asks=[WHOLE])

    assert study.asks.count() == 3


def test_the_form_accepts_several_asks(rex: User, sign_in: SignIn) -> None:
    browser: Client = sign_in(rex)
    fields = {
        "title": "Chat", "languages": "en", "consent_text": "Yes?", "pay_amount": "0", "pay_currency": "EUR",
        "expected_minutes": "5", "opening_speaker": "human", "opening_text": "", "min_turns": "6",
        "max_turns": "40", "bots-TOTAL_FORMS": "0", "bots-INITIAL_FORMS": "0", "asks-rows": "3",
        "asks-0-question_set": "likert", "asks-0-when": "dialogue:at_end", "asks-0-required": "on",
        "asks-1-question_set": "", "asks-1-when": "partner_turn:each_turn",
        "asks-2-question_set": "votes", "asks-2-when": "partner_turn:before_finish",
    }  # fmt: skip

    assert browser.post("/studies/new/", fields).status_code == 302

    assert [ask.declared for ask in Study.objects.get().asks.all()] == [WHOLE, VOTES]
    refused = browser.post("/studies/new/", fields | {"asks-2-question_set": "likert"})
    assert "can be asked about whole conversations only" in refused.content.decode()
    assert Study.objects.count() == 1
