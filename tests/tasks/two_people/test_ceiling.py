"""The human ceiling: what two people said is judged in the queue, and stands beside the bots."""

from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import call_command
from django.utils import timezone

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeMeeting, MakeQueue, MakeStudy
from tests.desks import begin
from tests.planted import computed, talked
from tests.tasks.two_people.conftest import come
from turnwise.charts.drawing import svgs
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.dialogues.services import SeatOccupant, create_dialogue
from turnwise.judging.items import subjects
from turnwise.judging.models import Item
from turnwise.judging.queue import services as judging
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

YES, MEH, NO = (
    {"sensible": True, "specific": True},
    {"sensible": True, "specific": False},
    {"sensible": False},
)


def two_talked(study: Study, turns: int, ending: str = "complete") -> Dialogue:
    first, second = (SeatOccupant(assignment=come(study)) for _ in range(2))
    dialogue = create_dialogue(study, first, second, now=timezone.now())
    Turn.objects.bulk_create(
        Turn(dialogue=dialogue, position=place, text=f"Turn {place}", created_at=timezone.now())
        for place in range(turns)
    )
    Dialogue.objects.filter(pk=dialogue.pk).update(
        turns=turns, ending=ending, ended_at=timezone.now(), due_0=[], due_1=[]
    )
    return dialogue


@pytest.fixture
def queue(make_meeting: MakeMeeting, make_study: MakeStudy, make_queue: MakeQueue) -> Study:
    """Five readers of two conversations of people and one with a bot, as Meena's paper has them."""
    meeting = make_meeting()
    first, second = two_talked(meeting, 3), two_talked(meeting, 2)
    two_talked(meeting, 2, ending="partner_left")  # unfinished: nobody judges it
    with_bot = make_study({"robin": 100}, min_turns=2)
    talked(with_bot, [(True, True)])
    queue = make_queue(raters=5)
    assert subjects.add_turns(queue, meeting, language="en").items == 3 + 2  # of both people
    assert subjects.add_turns(queue, with_bot, language="en").items == 1
    for rater in range(5):
        desk = begin(queue)
        while shown := judging.state(desk)["items"]:
            key = UUID(shown[0]["key"])
            turn = Item.objects.select_related("turn").get(key=key).turn
            assert turn
            answers = {
                (first.pk, 0): YES,
                (first.pk, 1): YES if rater < 3 else NO,
                (first.pk, 2): MEH,
                (second.pk, 0): YES if rater < 2 else NO,
                (second.pk, 1): YES,
            }.get((turn.dialogue_id, turn.position), NO)
            judging.judge(desk, key=key, answers=answers)
        judging.finish(desk)
    return queue


def test_people_have_a_row_with_an_interval_next_to_the_bots(queue: Study, tmp_path: Path) -> None:
    result = computed(queue).result

    assert result
    found = {row["bot"]: row["cells"] for row in result["majority"]}
    # Of five turns sensible by majority all but (second, 0): 4 of 5. Specific: (first, 0), (first, 1),
    # (second, 1): 3 of 5.
    assert [cell["value"] for cell in found["Human"]] == pytest.approx([80, 60, 70])
    assert [cell["value"] for cell in found["Robin"]] == [0, 0, 0]
    means = {row["bot"]: row["cells"] for row in result["bots"]}
    # Every judgment: sensible 5 + 3 + 5 + 2 + 5 of 25, specific 5 + 3 + 0 + 2 + 5.
    assert [cell["value"] for cell in means["Human"]] == pytest.approx([80, 60, 70])
    assert means["Human"][2]["low"] < 70 < means["Human"][2]["high"]
    call_command("bundle", str(queue.pk), output=tmp_path / "bundle.zip")
    assert recompute(tmp_path / "bundle.zip").report == result


def test_the_chart_has_a_line_for_people_only_where_people_were_judged(queue: Study) -> None:
    result = computed(queue).result
    assert result
    with_people = svgs(result)["scores"]
    without = {**result, "bots": [row for row in result["bots"] if row["bot"] != "Human"]}

    assert "stroke-dasharray" in with_people
    assert "stroke-dasharray" not in svgs(without)["scores"]
