"""What two people answered about each other, from their answers to report, page, exports and bundle."""

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from django.core.management import call_command
from django.utils import timezone

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeMeeting, start_dialogue, worker_of
from tests.planted import SignIn, add_exchange, add_label, computed
from tests.tasks.two_people.conftest import come
from turnwise.accounts.models import User
from turnwise.bots.services import version_of
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.queries import seat_of
from turnwise.dialogues.services import SeatOccupant, create_dialogue, finish, open_exchange
from turnwise.labels.services import record
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

ASKS = (
    AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN),
    AskSpec("human-likeness", About.OWN_TURN, Moment.WAITING, required=False),
    AskSpec("likert", About.DIALOGUE, Moment.AT_END),
)
YES, MEH, NO = (
    {"sensible": True, "specific": True},
    {"sensible": True, "specific": False},
    {"sensible": False},
)
SAID = "I told you that I love tennis"


@async_to_sync
async def say_and_judge(
    seats: list[Any], heard: list[dict[str, bool]], own: dict[int, bool], rated: tuple[int, int] | None
) -> None:
    """They write by turns, the other one judges each; all ends with what each says of the whole."""
    for place, answers in enumerate(heard):
        await open_exchange(seats[place % 2], text=SAID if place % 2 else f"Turn {place}", key=uuid4())
        await record(seats[(place + 1) % 2], position=place, answers=answers)
        if place in own:
            await record(seats[place % 2], ask=1, position=place, answers={"human_like": own[place]})
    for seat, rating in zip(seats, rated or (), strict=False):
        scales = ("quality", "fluency", "diversity", "relatedness", "empathy")
        await record(seat, ask=2, position=None, answers=dict.fromkeys(scales, rating))


def met(
    study: Study,
    heard: list[dict[str, bool]],
    own: dict[int, bool] | None = None,
    rated: tuple[int, int] | None = None,
    *,
    left: bool = False,
) -> Dialogue:
    """Two people talk: judgments of each turn by who heard it, of some by who said it, and of the whole."""
    first, second = (SeatOccupant(assignment=come(study)) for _ in range(2))
    dialogue = create_dialogue(study, first, second, now=timezone.now())
    workers = dialogue.seats.order_by("number").values_list("worker_id", flat=True)
    seats = [seat_of(dialogue.public_id, worker) for worker in workers]
    say_and_judge(seats, heard, own or {}, rated)
    if left:
        ended = {"ending": "partner_left", "ended_at": timezone.now(), "due_0": [], "due_1": []}
        Dialogue.objects.filter(pk=dialogue.pk).update(**ended)
    else:
        for seat in seats:
            finish(seat)
    dialogue.refresh_from_db()
    return dialogue


@pytest.fixture
def two(make_meeting: MakeMeeting) -> Study:
    """Two finished conversations, of three turns and of four, and one that somebody left."""
    study = make_meeting(asks=ASKS, title="The ceiling")
    met(study, [YES, MEH, NO], {0: True, 1: False}, rated=(5, 2))
    met(study, [YES, YES, NO, YES], {2: True}, rated=(4, 4))
    met(study, [NO, NO], {0: False}, left=True)
    return study


def values(of: dict[str, Any]) -> list[float]:
    (bot,) = of["bots"]
    assert bot["bot"] == "Human"
    return [cell["value"] for cell in bot["cells"]]


def test_people_are_one_system_in_labels_of_both_seats_and_of_the_whole(two: Study, tmp_path: Path) -> None:
    result = computed(two).result

    assert result
    # Of seven turns that partners judged five are sensible and four are specific.
    assert values(result) == pytest.approx([500 / 7, 400 / 7, 450 / 7])
    assert (result["bots"][0]["labels"], result["raters"]["workers"]) == (7, 4)
    own, whole = result["beside"]
    assert values(own) == pytest.approx([200 / 3])
    assert values(whole)[0] == pytest.approx((5 + 2 + 4 + 4) / 4)
    assert (whole["bots"][0]["labels"], whole["raters"]["workers"]) == (4, 4)
    # Each turn is a reply of its own: nobody but its hearer judged it, and each of the two is rated once.
    assert {row["reply"]: row["labels"] for row in result["by_reply"][0]["replies"]} == {
        1: 2, 2: 2, 3: 2, 4: 1,
    }  # fmt: skip
    course = result["course"]["bots"][0]
    assert (course["bot"], course["finished"], course["latency"]) == ("Human", 2, None)
    # Only the fourth turn of the second conversation repeats one before it.
    assert (course["repetition"]["replies"], course["repetition"]["value"]) == (7, pytest.approx(100 / 7))

    call_command("bundle", str(two.pk), output=tmp_path / "bundle.zip")
    found = recompute(tmp_path / "bundle.zip")
    assert (found.differences, found.changed_files, found.report) == ([], [], result)


def test_the_bundle_names_the_speaker_of_each_turn(two: Study, tmp_path: Path) -> None:
    call_command("bundle", str(two.pk), output=tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        rows = {
            name: [json.loads(line) for line in archive.read(f"data/{name}.jsonl").splitlines()]
            for name in ("conversations", "turns", "labels")
        }
        paragraph = archive.read("method/paragraph.txt").decode()

    seats = {
        str(each.public_id): [
            seat.assignment.participation.pseudonym
            for seat in each.seats.order_by("number")
            if seat.assignment
        ]
        for each in Dialogue.objects.filter(study=two)
    }
    assert [row["ending"] for row in rows["conversations"]] == ["complete", "complete", "partner_left"]
    assert {row["dialogue"]: row["worker"] for row in rows["conversations"]} == {
        dialogue: " ".join(both) for dialogue, both in seats.items()
    }
    assert all(row["said_by"] == seats[row["dialogue"]][row["turn"] % 2] for row in rows["turns"])
    assert len(rows["turns"]) == 3 + 4 + 2
    assert len(rows["labels"]) == (3 + 4 + 2) + (2 + 1 + 1) + (2 + 2)
    assert "7 labels of 1 system (Human)" in paragraph


def test_page_and_files_open_for_the_researcher_and_nobody_else(
    two: Study, rex: User, mallory: User, sign_in: SignIn
) -> None:
    at, client, stranger = f"/studies/{two.pk}", sign_in(rex), sign_in(mallory)
    waiting = client.get(f"{at}/report/").content.decode()
    assert "No results yet." in waiting
    computed(two)

    page = client.get(f"{at}/report/").content.decode()
    rows = list(csv.DictReader(io.StringIO(b"".join(client.get(f"{at}/turns.csv")).decode())))
    study_page = client.get(f"{at}/").content.decode()

    assert "Human" in page
    assert "7 labels" in page
    assert f'href="{at}/report/"' in study_page
    assert f"{at}/rehearsal/" in study_page
    assert len(rows) == 9 + 4 + 4
    assert {row["bot"] for row in rows} == {"Human"}
    counted = [row for row in rows if row["in_primary_analysis"] == "true"]
    assert len(counted) == 7 + 3 + 4
    assert sum(row["sensible"] == "true" for row in counted) == 5
    for path in ("report/", "turns.csv", "turns.jsonl", "bundle.zip"):
        assert stranger.get(f"{at}/{path}").status_code == 404


def test_the_report_has_people_and_the_bot_for_workers_without_a_partner(
    make_meeting: MakeMeeting, tmp_path: Path
) -> None:
    study = make_meeting(bots={"human": 9})  # which is titled “Human”
    met(study, [YES, NO])
    alone = start_dialogue(study)
    bot = alone.seats.get(bot__isnull=False).bot
    assert bot
    add_exchange(alone, version_of(bot, {"adapter": "scripted"}), text="Well", latency=10)
    add_label(alone, position=1, answers={"sensible": False, "specific": False})
    finish(seat_of(alone.public_id, worker_of(alone).pk))

    result = computed(study).result

    assert result
    found = {row["bot"]: [cell["value"] for cell in row["cells"]] for row in result["bots"]}
    assert found == {"Human": [50, 50, 50], "Human (human)": [0, 0, 0]}
    assert [each["finished"] for each in result["course"]["bots"]] == [1, 1]
    call_command("bundle", str(study.pk), output=tmp_path / "bundle.zip")
    assert recompute(tmp_path / "bundle.zip").report == result
