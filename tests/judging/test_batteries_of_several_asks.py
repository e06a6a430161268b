"""Batteries of studies that ask several things: the whole composition is judged by each ask."""

from collections import Counter
from itertools import groupby
from pathlib import Path
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError

from evaluation.report.bundles.recomputation import recompute
from tests.asking import LIKENESS, LIKERT, SCALES, asking, judge_all
from tests.conftest import MakeContexts, MakeRun, MakeStudy
from tests.desks import OPEN, begin, held
from tests.judging.composed import TARGETS, battery, fill
from tests.planted import SignIn, computed, figures, talked
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.exports.bundle import write_bundle
from turnwise.judging.batteries.battery_rules import battery_of, rule_sentences
from turnwise.judging.items import subjects
from turnwise.judging.items.removal import take_out
from turnwise.judging.models import Batch, Battery, Slot
from turnwise.judging.queries import workloads
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession
from turnwise.labels.models import Label
from turnwise.live.frames import RefusedError
from turnwise.questions.services import create_set
from turnwise.studies.asks import About, AskSpec
from turnwise.studies.models import Study
from turnwise.studies.services import ask, set_state

pytestmark = pytest.mark.django_db(transaction=True)

IMPRESSION = AskSpec("reply-impression", About.RESPONSE)
RATINGS = ("appropriate", "trustworthy", "friendly")


@pytest.fixture
def study(rex: User, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    """A draft with two sets of questions about two targets and five pieces of small talk."""
    study = asking(rex, IMPRESSION, LIKENESS)
    fill(study, make_contexts, make_run)
    return study


@pytest.fixture
def opened(study: Study) -> Study:
    subjects.save_battery(battery(study))
    return set_state(study.pk, Study.State.OPEN)


def test_a_worker_gets_one_battery_per_ask(opened: Study) -> None:
    dealt = battery_of(opened)
    assert dealt

    # Two targets, four fillers and one of these again, by each of two sets of questions.
    assert list(workloads(Study.objects.filter(pk=opened.pk))) == [(opened.pk, 14, 1)]
    assert dealt.size == 14


def finish(study: Study, points: int) -> RaterSession:
    """Somebody judges their whole battery: what denies as 2, else so many points; all but that is human."""
    desk = begin(study)
    while keys := held(desk):
        slot = Slot.objects.select_related("item__ask", "item__response__run").get(
            batch=desk.batch_id, key=keys[0]
        )
        denies = slot.item.response.run.system == "Denies"  # type: ignore[union-attr]
        given: dict[str, object] = {"human_like": not denies}
        if slot.item.ask.question_set == "reply-impression":
            given = dict.fromkeys(RATINGS, 2 if denies else points)
            given |= {"reason": "It says so."} if slot.asks_reason else {}
        judging.judge(desk, key=UUID(keys[0]), answers=given)
    judging.finish(desk)
    return desk


def test_the_same_items_are_judged_by_each_ask_one_after_the_other(opened: Study) -> None:
    desk = begin(opened)

    dealt = Slot.objects.filter(batch=desk.batch_id).order_by("position").select_related("item__ask")
    parts = [(number, list(each)) for number, each in groupby(dealt, lambda slot: slot.item.ask.number)]

    assert Batch.objects.get().size == len(dealt) == 14
    assert sorted(number for number, _ in parts) == [0, 1]
    one, other = (Counter(slot.item.response_id for slot in part) for _, part in parts)
    assert one == other
    assert sorted(one.values()) == [1] * 5 + [2]
    for number, part in parts:
        # The second set has no question in free text, so there is no reason to ask for.
        assert [slot.asks_reason for slot in part] == [number == 0 and place == 2 for place in range(1, 8)]
    for item, slot in zip(judging.state(desk)["items"], dealt, strict=True):
        assert (item["ask"], item["key"]) == (slot.item.ask.number, str(slot.key))
        assert slot.key.bytes[0] == slot.item.ask.number


def test_a_repeated_item_is_judged_twice_for_each_ask(opened: Study) -> None:
    finish(opened, 6)

    given = Counter(Label.objects.values_list("question_set", "occasion"))
    assert given == {
        ("reply-impression", 1): 6, ("reply-impression", 2): 1,
        ("human-likeness", 1): 6, ("human-likeness", 2): 1,
    }  # fmt: skip
    assert Batch.objects.get().done == 14


def test_answers_to_the_other_questions_are_refused(opened: Study) -> None:
    desk = begin(opened)
    first = judging.state(desk)["items"][0]
    other = {"human_like": True} if first["ask"] == 0 else dict.fromkeys(RATINGS, 4)

    with pytest.raises(RefusedError):
        judging.judge(desk, key=UUID(first["key"]), answers=other)

    assert not Label.objects.exists()


def test_an_abandoned_battery_is_dealt_again_as_a_whole(opened: Study) -> None:
    desk = begin(opened)
    first = judging.state(desk)["items"][0]
    answers = {"human_like": True} if first["ask"] else dict.fromkeys(RATINGS, 4)
    judging.judge(desk, key=UUID(first["key"]), answers=answers)
    Slot.objects.filter(batch=desk.batch_id, label=None).update(leased_until="2000-01-01T00:00Z")
    Slot.objects.filter(deck__gt=1).delete()

    again = begin(opened)

    items = judging.state(again)["items"]
    assert len(items) == 14
    assert all(UUID(item["key"]).bytes[0] == item["ask"] for item in items)
    assert len([number for number, _ in groupby(items, lambda item: item["ask"])]) == 2


def test_the_report_has_the_differences_within_workers_of_each_ask(
    opened: Study, tmp_path: Path, rex: User, sign_in: SignIn
) -> None:
    careless = finish(opened, 2)
    for points in (5, 6):
        finish(opened, points)

    result = figures(computed(opened))
    (beside,) = result["beside"]

    assert result["battery"]["complete"] == beside["battery"]["complete"] == 3
    # Denies 2 and Confirms 2, 5, 6: by hand 2 - (2 + 5 + 6) / 3.
    appropriate = next(score for score in result["battery"]["paired"] if score["key"] == "appropriate")
    assert appropriate["rows"][0]["difference"] == pytest.approx(2 - 13 / 3)
    assert [row["pairs"] for row in result["battery"]["repeats"]] == [3] * 3
    (likeness,) = beside["battery"]["paired"]
    assert likeness["rows"][0].get("difference", -100) in (-100, None)
    (proposed,) = result["proposed"]["workers"]
    assert Participation.objects.get(pk=careless.participation_id).pseudonym == proposed["worker"]
    assert "standard deviation of 0.00 over 7 judgments" in proposed["reason"]
    page = sign_in(rex).get(f"/studies/{opened.pk}/report/").content.decode()
    assert page.count("<h3>Within workers</h3>") == 2
    with (tmp_path / "bundle.zip").open("wb") as stream:
        write_bundle(opened.pk, stream)
    assert recompute(tmp_path / "bundle.zip").differences == []


def test_the_page_shows_what_the_first_worker_gets_by_each_ask(
    study: Study, rex: User, sign_in: SignIn
) -> None:
    subjects.save_battery(battery(study))
    browser = sign_in(rex)

    page = browser.get(f"/studies/{study.pk}/queue/battery/").content.decode()
    queue = browser.get(f"/studies/{study.pk}/queue/").content.decode()

    assert page.count('scope="rowgroup"') == 2
    assert "A battery of 7" in queue
    assert "with each question set" in queue
    assert "14 items = 42 judgments" in " ".join(queue.split())
    assert rule_sentences(battery(study)) == ["The sum of the ratings has a standard deviation below 2."]


def test_other_asks_deal_a_draft_anew(study: Study) -> None:
    subjects.save_battery(battery(study))

    ask(study.pk, [LIKENESS, IMPRESSION])

    study = Study.objects.get(pk=study.pk)
    desk = begin(set_state(study.pk, Study.State.OPEN))
    for item in judging.state(desk)["items"]:
        slot = Slot.objects.select_related("item__ask").get(batch=desk.batch_id, key=item["key"])
        assert slot.key.bytes[0] == slot.item.ask.number == item["ask"]


def test_a_removed_ask_takes_its_part_of_the_battery_along(study: Study) -> None:
    subjects.save_battery(battery(study))

    ask(study.pk, [IMPRESSION])

    desk = begin(set_state(study.pk, Study.State.OPEN))
    assert len(held(desk)) == 7


def test_an_incomplete_battery_names_the_ask_that_lacks_items(study: Study) -> None:
    study.items.filter(ask__number=1, response__run__system="Denies").delete()

    # Both sets are about the same things, so what has no item of one of them cannot be dealt.
    with pytest.raises(ValidationError, match=r"nothing of “Denies” in the queue .* for .*Human-likeness"):
        subjects.save_battery(battery(study))


@pytest.mark.usefixtures("_sets_are_forgotten")
def test_contexts_and_replies_make_no_battery_and_the_page_says_so_before_anything_is_composed(
    study: Study, rex: User, sign_in: SignIn
) -> None:
    create_set(OPEN, owner=rex)
    ask(study.pk, [IMPRESSION, AskSpec("open-v1", About.CONTEXT)])
    cure = "Make a study for each, or let workers judge items as they come."

    page = sign_in(rex).get(f"/studies/{study.pk}/queue/battery/").content.decode()

    assert cure in page
    assert "Save the battery" not in page
    with pytest.raises(ValidationError, match=cure):
        subjects.save_battery(battery(Study.objects.get(pk=study.pk)))


def test_fillers_are_taken_out_of_all_parts(
    study: Study, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    subjects.add_responses(study, make_run(make_contexts(6), "News"))
    subjects.save_battery(battery(study, fillers_of=["Small talk", "News"]))
    opened = set_state(study.pk, Study.State.OPEN)

    assert take_out(opened, "Small talk") == 10

    systems = Slot.objects.filter(study=opened).values_list(
        "item__response__run__system", "item__ask__number"
    )
    assert {system for system, _ in systems} == {*TARGETS, "News"}
    assert {number for _, number in systems} == {0, 1}
    assert battery_of(opened)


def test_replies_and_whole_conversations_are_composed_each_by_themselves(
    rex: User, make_study: MakeStudy
) -> None:
    talks = make_study({"alpha": 3, "beta": 3}, min_turns=4)
    for _ in range(6):
        talked(talks, [(True, True)] * 2)
    study = asking(rex, AskSpec("ssa", About.RESPONSE), LIKERT)
    subjects.add_turns(study, talks, language="en")
    subjects.add_dialogues(study, talks, language="en")
    systems = sorted(talks.study_bots.values_list("bot__title", flat=True))
    subjects.save_battery(
        Battery(plan=judging.plan_of(study), targets=systems, compared_with=systems[0], workers=2)
    )

    done = judge_all(begin(set_state(study.pk, Study.State.OPEN)))

    asked = [item.ask.question_set for item in done]
    assert sorted(asked) == ["likert", "likert", "ssa", "ssa"]
    assert len([each for each, _ in groupby(asked)]) == 2
    # Nothing of a conversation comes twice while there are others.
    talk = [item.turn.dialogue_id if item.turn else item.dialogue_id for item in done]
    assert len(set(talk)) == 4
    assert set(SCALES) == {
        key for label in Label.objects.filter(dialogue__isnull=False) for key in label.answers
    }
