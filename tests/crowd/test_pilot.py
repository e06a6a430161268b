"""A study's first people: it holds after them, and goes on without them in its primary analysis."""

import csv
import io
import json
import random
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from evaluation.report.bundles.recomputation import recompute
from evaluation.report.label_columns import PILOT
from tests.conftest import MakeStudy, enter
from tests.planted import SignIn, computed, figures, talked
from turnwise.accounts.models import User
from turnwise.crowd.models import Assignment, Outcome, Participation
from turnwise.crowd.places import pilot
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.ending import end
from turnwise.crowd.places.reservation import HOLD, occupied_places
from turnwise.crowd.queries import progress
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.reports.descriptions import method
from turnwise.reports.queries import analysis_plan
from turnwise.studies.models import Study
from turnwise.studies.queries import counts_of
from turnwise.studies.services import clone, save_study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def piloted(make_study: MakeStudy) -> Study:
    """A study with a pilot of two people."""
    return make_study(
        {"ann": 9, "bob": 9}, min_turns=2, max_turns=8, pilot_size=2, primary_analysis="without_excluded"
    )


def test_a_full_pilot_admits_no_one_until_it_is_ended(
    piloted: Study, client: Client, rex: User, mallory: User, sign_in: SignIn
) -> None:
    first, second = assign(enter(piloted).pk), assign(enter(piloted).pk)
    third = enter(piloted)

    with pytest.raises(EntryRefusedError, match="paused it for now"):
        assign(third.pk)
    page = client.get(piloted.get_entry_url())
    assert (page.status_code, "The research team has paused it" in page.text) == (403, True)
    assert [each.pilot for each in Participation.objects.order_by("pk")] == [True, True, False]

    end(first.participation_id, Outcome.WITHDRAWN)  # whose place another gets
    assert assign(third.pk).pk > second.pk
    with pytest.raises(EntryRefusedError):
        assign(enter(piloted).pk)

    assert sign_in(mallory).post(f"/studies/{piloted.pk}/pilot/").status_code == 404
    owner = sign_in(rex)
    assert "Go on: open the study to everyone" in owner.get(f"/studies/{piloted.pk}/monitor/").text
    said = owner.post(f"/studies/{piloted.pk}/pilot/", follow=True).text
    assert "The study is open to everyone, and its pilot is excluded." in said
    again = owner.post(f"/studies/{piloted.pk}/pilot/", follow=True).text
    assert "is not in its pilot, so there is nothing to continue from." in again

    assign(enter(piloted).pk)
    people = Participation.objects.order_by("pk").values_list("pilot", "excluded_reason")
    assert list(people) == [(True, PILOT)] * 3 + [(False, "")] * 2


def test_pilot_participants_count_only_in_the_analysis_of_all_workers(
    piloted: Study, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    for _ in range(2):
        talked(piloted, [(True, True), (False, False)])
    assert analysis_plan(piloted).excluded == {}  # so that the report is of the pilot until it goes on
    assert sign_in(rex).get("/home/").text.count("Its pilot is done") == 1
    pilot.end_pilot(piloted.pk, by=rex)
    piloted.refresh_from_db()
    assert [each.finished for each in progress(piloted)] == [0, 0]
    assert counts_of([piloted]) == {piloted.pk: (0, 18)}
    for n in range(4):
        talked(piloted, [(True, n > 2), (True, True)])

    stored = figures(computed(piloted))

    assert sum(bot["conversations"] for bot in stored["bots"]) == 4
    assert sum(bot["conversations"] for bot in stored["other"]["bots"]) == 6
    assert [row["reason"] for row in stored["excluded"]] == [PILOT] * 2
    call_command("bundle", str(piloted.pk), output=tmp_path / "bundle.zip")
    found = recompute(tmp_path / "bundle.zip")
    assert (found.differences, found.report) == ([], stored)
    with zipfile.ZipFile(tmp_path / "bundle.zip") as bundle:
        workers = list(csv.DictReader(io.StringIO(bundle.read("data/workers.csv").decode())))
        assert json.loads(bundle.read("study.json"))["protocol"]["pilot_size"] == 2
    assert [row["pilot"] for row in workers] == ["true"] * 2 + ["false"] * 4
    listed = sign_in(rex).get(f"/studies/{piloted.pk}/participants.csv").getvalue().decode()
    assert [row["pilot"] for row in csv.DictReader(io.StringIO(listed))].count("yes") == 2
    assert "2 workers (of these, 2 of its pilot, the first to take part)" in str(method(piloted, stored))


def test_it_is_declared_before_the_study_opens(piloted: Study, make_study: MakeStudy, rex: User) -> None:
    with pytest.raises(ValidationError, match="A pilot is left out of the primary analysis"):
        make_study(pilot_size=2)
    pilot.end_pilot(piloted.pk, by=rex)
    piloted.pilot_size = 3
    with pytest.raises(ValidationError, match="its protocol is fixed"):
        save_study(piloted, owner=rex, consent_text="You talk to a machine.", targets={})
    piloted.refresh_from_db()
    copy = clone(piloted, owner=rex)
    assert (copy.pilot_size, copy.pilot_over_at) == (2, None)


def go_on_elsewhere(study: Study, by: User) -> int:
    try:
        return pilot.end_pilot(study.pk, by=by)
    finally:
        connection.close()


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.01)")
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


def test_ending_the_pilot_waits_for_a_participation_that_is_ending(piloted: Study, rex: User) -> None:
    first = assign(enter(piloted).pk)

    with ThreadPoolExecutor(1) as another:
        with transaction.atomic():
            Participation.objects.select_for_update().get(pk=first.participation_id)
            people = another.submit(go_on_elsewhere, piloted, rex)
            while not somebody_waits():
                assert not people.done()
            end(first.participation_id, Outcome.WITHDRAWN)
        assert people.result() == 1

    assert Participation.objects.get().excluded_reason == PILOT


def test_a_worker_who_joins_while_the_pilot_ends_is_fully_in_the_pilot(piloted: Study, rex: User) -> None:
    first, second = assign(enter(piloted).pk), enter(piloted)

    with ThreadPoolExecutor(1) as another:
        with transaction.atomic():
            Participation.objects.select_for_update().get(pk=first.participation_id)
            people = another.submit(go_on_elsewhere, piloted, rex)
            while not somebody_waits():
                assert not people.done()
            assign(second.pk)
        assert people.result() == 2

    assert list(Participation.objects.values_list("pilot", "excluded_reason")) == [(True, PILOT)] * 2


def test_the_counts_equal_those_of_a_simple_loop(piloted: Study, make_study: MakeStudy) -> None:
    over = make_study({"ann": 9, "bob": 9}, title="Over", pilot_size=3, primary_analysis="without_excluded")
    now, dice = timezone.now(), random.Random(5)
    for study in (piloted, over):
        for n in range(24):
            _placed(study, n, now, dice)
    Study.objects.filter(pk=over.pk).update(pilot_over_at=now)

    places = [
        place
        for place in Assignment.objects.select_related("participation__study", "study_bot")
        if not place.participation.pilot or place.participation.study.pilot_over_at is None
    ]
    done = Counter(place.study_bot_id for place in places if place.outcome == "complete")
    held = Counter(place.study_bot_id for place in places if _is_held(place, now))

    assert 0 < done.total() < 48
    assert held.total() > 0
    assert len(places) < Assignment.objects.count()
    for study in (piloted, over):
        own = [each.pk for each in study.study_bots.all()]
        shown = {each.study_bot_id: (each.finished, each.open) for each in progress(study, now=now)}
        assert shown == {bot: (done[bot], held[bot]) for bot in own}
        assert counts_of([study]) == {study.pk: (sum(done[bot] for bot in own), 18)}
        taken = occupied_places(study.study_bots.all(), now)
        assert {bot: taken[bot] for bot in own} == {bot: done[bot] + held[bot] for bot in own}


def _placed(study: Study, n: int, now: datetime, dice: random.Random) -> None:
    """Somebody with one of the bots, some of them of the pilot, at some point of their work."""
    own = enter(study)
    Participation.objects.filter(pk=own.pk).update(pilot=n % 3 == 0)
    ended = dice.choice(["", "", "complete", "timed_out"])
    began = now - timedelta(hours=3)
    Assignment.objects.create(
        participation=own, study=study, study_bot=dice.choice(list(study.study_bots.all())),
        assigned_at=began, active_at=now - timedelta(minutes=dice.choice([1, 100])), outcome=ended,
        ended_at=now if ended else None,
    )  # fmt: skip


def _is_held(place: Assignment, now: datetime) -> bool:
    return not place.outcome and now - place.active_at < HOLD
