"""Studies whose workers each get one fixed battery: dealt, judged, left, composed, its rules confirmed."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import chain
from pathlib import Path
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from chatbots.identity.answers import ANSWERS, SMALL_TALK
from chatbots.identity.replies import GROUPS, Group, Reply, categorise
from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeContexts, MakeQueue, MakeRun, enter
from tests.desks import begin
from tests.judging import composed
from tests.judging.composed import TARGETS, fill
from tests.planted import SignIn, computed, figures
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.judging.batteries.battery_rules import battery_of
from turnwise.judging.items import subjects
from turnwise.judging.models import Batch, Battery, Slot
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession, SavedJudgment
from turnwise.labels.models import Label
from turnwise.live.frames import RefusedError
from turnwise.studies.models import Study
from turnwise.studies.services import set_state

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    """A draft with two targets over three questions, and five pieces of small talk."""
    queue: Study = make_queue(
        question_set="reply-impression",
        protocol="r-u-a-robot-user-study",
        primary_analysis="without_excluded",
        exclusion_rules="As declared in the battery.",
    )
    Study.objects.filter(pk=queue.pk).update(state=Study.State.DRAFT)
    queue.refresh_from_db()
    fill(queue, make_contexts, make_run)
    return queue


def battery(study: Study, **fields: object) -> Battery:
    return composed.battery(study, **({"repeat_points": 2, "repeat_questions": 2} | fields))


@pytest.fixture
def opened(study: Study) -> Study:
    subjects.save_battery(battery(study))
    return set_state(study.pk, Study.State.OPEN)


def rating(points: int) -> dict[str, object]:
    return {"appropriate": points, "trustworthy": points, "friendly": points}


def judge_next(desk: RaterSession, points: int | None = None) -> SavedJudgment:
    shown = judging.state(desk)["items"][0]
    system = Slot.objects.get(batch=desk.batch_id, key=shown["key"]).item.response
    assert system
    given = points or {"Denies": 2, "Confirms": 6}.get(system.run.system, 4)
    answers = rating(given) | ({"reason": "It says so."} if shown["asks_reason"] else {})
    return judging.judge(desk, key=UUID(shown["key"]), answers=answers)


def judge_all(desk: RaterSession, points: int | None = None) -> None:
    while judging.state(desk)["items"]:
        judge_next(desk, points)
    judging.finish(desk)


def leave(desk: RaterSession) -> None:
    Slot.objects.filter(batch=desk.batch_id, label=None).update(
        leased_until=timezone.now() - timedelta(seconds=1)
    )


# --- dealt and judged ------------------------------------------------------------------------------


def test_a_worker_gets_the_whole_battery_in_its_order_and_judges_one_item_twice(opened: Study) -> None:
    desk = begin(opened)
    dealt = list(Slot.objects.filter(batch=desk.batch_id).order_by("position"))
    shown = judging.state(desk)["items"]

    assert [item["key"] for item in shown] == [str(slot.key) for slot in dealt]
    assert [item["asks_reason"] for item in shown] == [place == 2 for place in range(1, 8)]
    assert len({item["key"] for item in shown}) == 7
    assert len({(item["text"], *item["context"]) for item in shown}) == 6
    judge_all(desk)

    assert Batch.objects.get().size == Batch.objects.get().done == 7
    assert sorted(Label.objects.values_list("occasion", flat=True)) == [1] * 6 + [2]
    twice = Label.objects.get(occasion=2)
    assert Label.objects.filter(response=twice.response, rater=twice.rater).count() == 2
    assert Label.objects.filter(answers__has_key="reason").count() == 1


def test_a_reason_is_asked_only_at_its_position(opened: Study) -> None:
    desk = begin(opened)
    first, second, *_ = judging.state(desk)["items"]

    with pytest.raises(RefusedError, match="No reason is asked for here"):
        judging.judge(desk, key=UUID(first["key"]), answers=rating(4) | {"reason": "Because."})
    with pytest.raises(RefusedError, match="Please also say why"):
        judging.judge(desk, key=UUID(second["key"]), answers=rating(4))

    assert not Label.objects.exists()


def test_the_target_number_of_workers_get_a_battery_and_then_the_study_is_full(opened: Study) -> None:
    desks = [begin(opened) for _ in range(3)]

    orders = [Slot.objects.filter(batch=desk.batch_id).order_by("position") for desk in desks]
    assert len({tuple(order.values_list("item", flat=True)) for order in orders}) == 3
    with pytest.raises(EntryRefusedError, match="doing what is left"):
        begin(opened)
    for desk in desks:
        judge_all(desk)
    with pytest.raises(EntryRefusedError, match="nothing left"):
        begin(opened)


def test_an_abandoned_battery_goes_to_another_worker_as_a_whole(opened: Study) -> None:
    left, *others = [begin(opened) for _ in range(3)]
    key = UUID(judging.state(left)["items"][-1]["key"])
    for _ in range(3):
        judge_next(left)
    leave(left)

    fresh = begin(opened)
    judge_all(fresh)

    assert Batch.objects.get(pk=fresh.batch_id).done == 7
    assert Slot.objects.filter(batch=left.batch_id, label__isnull=False).count() == 3
    with pytest.raises(RefusedError, match="Your earlier answers are safe"):
        judging.judge(left, key=key, answers=rating(4))
    judging.finish(left)  # paid in full for what was left to do
    for desk in others:
        judge_all(desk)
    assert not Slot.objects.filter(study=opened, label=None).exists()


def test_a_worker_who_returns_in_time_continues(opened: Study) -> None:
    desk = begin(opened)
    judge_next(desk)
    leave(desk)

    assert len(judging.state(desk)["items"]) == 6
    judge_all(desk)
    assert Batch.objects.get(pk=desk.batch_id).done == 7


@pytest.mark.django_db(transaction=True)
def test_workers_who_start_at_once_get_different_batteries(opened: Study) -> None:
    people = [enter(opened) for _ in range(3)]

    def come(person: Participation) -> int:
        try:
            return begin(opened, person).batch_id
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as threads:
        batches = list(threads.map(come, people))

    assert {Slot.objects.filter(batch=batch).values("deck").distinct().count() for batch in batches} == {1}
    assert Slot.objects.filter(batch__in=batches).values("deck").distinct().count() == 3


# --- composed --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"targets": ["Denies", "Nobody"], "compared_with": "Denies"}, "nothing of “Nobody” in the queue"),
        ({"fillers": 6}, "it needs 6 different fillers, and the queue has 5"),
        ({"repeats": 5}, "5 fillers should come twice, but a battery has 4"),
        ({"reasons_at": [8]}, "A reason is asked for at position 8, and a battery has 7 items"),
        ({"compared_with": "Small talk"}, "compared with “Small talk”, which is not a target"),
        ({"targets": ["Denies"], "compared_with": "Denies"}, "two targets or more"),
        ({"fillers_of": ["Denies"]}, "“Denies” is both a target and a source of fillers"),
        ({"filler_question": "reason"}, "“reason” is not a rating of these questions: appropriate"),
        ({"filler_question": "friendly"}, "Say from which answer on"),
        ({"repeats": 0}, "A rule looks at what comes twice, but nothing does"),
    ],
)
def test_an_impossible_battery_is_refused_with_the_cure(
    study: Study, fields: dict[str, object], said: str
) -> None:
    before = list(Slot.objects.filter(study=study).values_list("key", flat=True))

    with pytest.raises(ValidationError, match=said):
        subjects.save_battery(battery(study, **fields))

    assert battery_of(study) is None
    assert list(Slot.objects.filter(study=study).values_list("key", flat=True)) == before


def test_questions_without_free_text_have_no_reasons(study: Study, make_queue: MakeQueue) -> None:
    other = make_queue(2)
    Study.objects.filter(pk=other.pk).update(state=Study.State.DRAFT)
    other.refresh_from_db()

    with pytest.raises(ValidationError, match="none in free text"):
        subjects.save_battery(battery(other, targets=["Alpha", "Beta"], compared_with="Alpha"))


def test_a_battery_that_lost_its_items_keeps_the_study_closed(study: Study) -> None:
    subjects.save_battery(battery(study))
    study.items.filter(response__run__system="Denies").delete()

    with pytest.raises(ValidationError, match="nothing of “Denies” in the queue in the language en"):
        set_state(study.pk, Study.State.OPEN)


def test_added_items_go_to_new_workers_and_started_batteries_stay(
    opened: Study, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    desk = begin(opened)
    before = list(Slot.objects.filter(batch=desk.batch_id).order_by("position").values_list("key", flat=True))

    subjects.add_responses(opened, make_run(make_contexts(9), "Small talk"))

    slots = Slot.objects.filter(study=opened)
    assert (
        list(slots.filter(batch=desk.batch_id).order_by("position").values_list("key", flat=True)) == before
    )
    assert slots.values("deck").distinct().count() == 3


def test_in_an_open_study_only_the_number_of_workers_can_grow(
    opened: Study, rex: User, sign_in: SignIn
) -> None:
    stored = battery_of(opened)
    assert stored
    stored.fillers = 3
    with pytest.raises(ValidationError, match="has been opened"):
        subjects.save_battery(stored)

    answer = sign_in(rex).post(f"/studies/{opened.pk}/queue/battery/", {"workers": 5, "fillers": 1})

    assert answer.status_code == 302
    assert (battery_of(opened).workers, battery_of(opened).fillers) == (5, 4)
    assert Slot.objects.filter(study=opened).values("deck").distinct().count() == 5


def test_the_page_composes_shows_and_removes_a_battery(study: Study, rex: User, sign_in: SignIn) -> None:
    client, page = sign_in(rex), f"/studies/{study.pk}/queue/battery/"
    as_published = client.get(page).content.decode()
    assert 'name="fillers" value="11"' in as_published
    assert "Pages of this study" in as_published
    assert 'value="5,15"' in as_published
    wanted = {"targets": list(TARGETS), "fillers_of": ["Small talk"], "fillers": 4, "repeats": 1,
              "workers": 3, "seed": 1, "compared_with": "Confirms", "reasons_at": "2", "repeat_questions": 2,
              "filler_misses": 0}  # fmt: skip

    refused = client.post(page, wanted | {"fillers": 9})
    assert refused.status_code == 422
    assert "needs 9 different fillers" in refused.content.decode()
    assert client.post(page, wanted).status_code == 302
    shown = client.get(page).content.decode()
    assert shown.count("a second time</td>") + shown.count("a second time, with") == 1
    assert "A battery of 7" in client.get(f"/studies/{study.pk}/queue/").content.decode()
    assert client.post(page, {"remove": "1"}).status_code == 302
    assert battery_of(study) is None
    assert not Slot.objects.filter(study=study).exclude(deck=None).exists()
    assert Slot.objects.filter(study=study).count() == 11 * 5


# --- reported, and who is proposed --------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_rules_propose_exclusions_and_a_person_confirms_or_undoes_them(
    opened: Study, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    careful, careless, other = [begin(opened) for _ in range(3)]
    judge_all(careful)
    judge_all(careless, points=4)  # every sum is 12: no spread at all
    judge_all(other)
    client, page = sign_in(rex), f"/studies/{opened.pk}/participants/"

    before = figures(computed(opened))
    proposed = Participation.objects.exclude(proposed_reason="").get()
    assert proposed.pk == careless.participation_id
    assert "standard deviation of 0.00 over 7 judgments, below 2" in proposed.proposed_reason
    assert before["excluded"] == []
    shown = client.get(page).content.decode()
    assert f"Exclude {proposed.pseudonym}" in shown
    client.post(page + "exclude/", {"worker": proposed.pseudonym})
    after = figures(computed(opened))

    # Of two who stay, Denies has 2 and Confirms 6; with the third, who says 4 of all, 2.67 and 5.33.
    means = {row["bot"]: row["cells"][0]["value"] for row in after["bots"]}
    assert means == {"Denies": 2, "Confirms": 6, "Small talk": 4}
    of_all = {row["bot"]: row["cells"][0]["value"] for row in after["other"]["bots"]}
    assert of_all["Denies"] == pytest.approx(8 / 3)
    assert (after["battery"]["complete"], after["other"]["battery"]["complete"]) == (2, 3)
    # Denies less Confirms: -4, -4 and 0; with all three the mean is -8/3.
    (row,) = after["other"]["battery"]["paired"][0]["rows"]
    assert row["difference"] == pytest.approx(-8 / 3)
    assert after["battery"]["repeats"][0]["same"] == 100
    report = client.get(f"/studies/{opened.pk}/report/").content.decode()
    for words in (
        "Within workers",
        "Items judged twice",
        "R-U-A-Robot, user study",
        "Proposed exclusions",
    ):
        assert words in report

    call_command("bundle", str(opened.pk), output=tmp_path / "study.zip")
    assert recompute(tmp_path / "study.zip").differences == []
    lines = client.get(f"/studies/{opened.pk}/turns.jsonl").getvalue().decode().splitlines()
    assert sorted(json.loads(line)["occasion"] for line in lines) == [1] * 18 + [2] * 3

    client.post(page + "exclude/", {"worker": proposed.pseudonym, "undo": "1"})
    assert not Participation.objects.exclude(excluded_at=None).exists()
    assert (
        "no changes were made"
        in client.post(page + "exclude/", {"worker": "W\x00nobody"}, follow=True).content.decode().lower()
    )


def test_the_shipped_answers_make_a_battery_that_can_open(make_queue: MakeQueue, sign_in: SignIn) -> None:
    empty: Study = make_queue(
        question_set="reply-impression",
        protocol="r-u-a-robot-user-study",
        primary_analysis="without_excluded",
        exclusion_rules="As declared in the battery.",
    )
    Study.objects.filter(pk=empty.pk).update(state=Study.State.DRAFT)
    browser, address = sign_in(empty.owner), f"/studies/{empty.pk}/queue/battery/"
    assert "Begin with these" in browser.get(address).content.decode()
    Study.objects.filter(pk=empty.pk).update(languages=["en", "de"])
    refused = browser.post(address, {"ours": "1"})
    assert (refused.status_code, empty.items.count()) == (422, 0)
    assert "in English, and this study has en, de" in refused.content.decode()
    Study.objects.filter(pk=empty.pk).update(languages=["en"])

    page = browser.post(address, {"ours": "1"}, follow=True).content.decode()

    assert "This is what the first worker gets." in page
    assert "Begin with these" not in page
    systems = Counter(empty.items.values_list("response__run__system", flat=True))
    assert systems == dict.fromkeys(ANSWERS, 100) | {"Small talk": 30}
    opened = set_state(empty.pk, Study.State.OPEN)
    assert "up to 20 short texts" in browser.get(opened.get_entry_url()).content.decode()
    slots = Slot.objects.filter(item__study=opened)
    decks: dict[int | None, list[Slot]] = {}
    for slot in slots.select_related("item__response__run", "item__response__context"):
        decks.setdefault(slot.deck, []).append(slot)
    assert len(decks) == 134
    for deck in decks.values():
        met = [slot.item.response for slot in deck]
        assert sorted(each.run.system for each in met if each.run.system != "Small talk") == sorted(ANSWERS)
        assert len({each.context_id for each in met}) == 19  # one piece of small talk comes twice
        assert len(met) == 20
    again = browser.post(address, {"ours": "1"})
    assert again.status_code == 422
    assert "for an empty queue" in again.content.decode()


def test_the_shipped_answers_are_of_the_eight_kinds_of_the_paper() -> None:
    kinds = [categorise(text, "are you a robot?").category for text in ANSWERS.values()]

    assert kinds == [
        Reply.DENIES, Reply.DONT_KNOW, kinds[2], Reply.CLEAR, Reply.TWO_PART, Reply.TWO_PART,
        Reply.THREE_PART, Reply.THREE_PART,
    ]  # fmt: skip
    assert GROUPS[kinds[2]] not in (Group.CONFIRMS, Group.DENIAL)
    assert "write to report@example.com" in list(ANSWERS.values())[-1]
    assert all(text == text.lower() for text in (*ANSWERS.values(), *chain(*SMALL_TALK)))
    assert len({said for said, _ in SMALL_TALK}) == len(SMALL_TALK)
