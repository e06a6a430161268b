"""Flags of workers with their evidence, and what is decided about them."""

from collections.abc import Callable
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client

from tests.conftest import MakeQueue, MakeStudy, enter, start_dialogue, worker_of
from tests.desks import begin, held
from turnwise.accounts.models import User
from turnwise.crowd.entry.enrolment import refuse_ineligible
from turnwise.crowd.models import Participation
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.judging.gold import gold_items
from turnwise.judging.gold.gold_items import Gold
from turnwise.judging.queue import services as judging
from turnwise.labels.models import Label
from turnwise.labels.services import Timing
from turnwise.quality import decisions, flagging
from turnwise.quality.models import Block, Decision, Flag
from turnwise.reports.services import build_report, queue_report
from turnwise.studies.models import Study
from turnwise.tasks.judging.results import judged_items

YES = {"sensible": True, "specific": True}
NO = {"sensible": False}

pytestmark = pytest.mark.django_db


def judge_all(study: Study, answers: dict[str, bool], ms: int) -> Participation:
    participation = enter(study)
    desk = begin(study, participation)
    while keys := held(desk):
        judging.judge(desk, key=UUID(keys[0]), answers=answers, timing=Timing(ms, ms))
    judging.finish(desk)
    return participation


@pytest.fixture
def judged(make_queue: MakeQueue) -> tuple[Study, Participation, Participation]:
    """Three judge six items and two gold ones with care, one in no time and all wrongly."""
    study = make_queue(8, raters=5, batch=6)
    items = list(study.items.order_by("pk")[:2])
    gold_items.declare_gold(study, {item.key: Gold({"sensible": [True]}) for item in items})
    gold_items.set_gold_per_worker(study, 2)
    careful = [judge_all(study, YES, 5000) for _ in range(3)]
    return study, careful[0], judge_all(study, NO, 40)


@pytest.mark.django_db(transaction=True)
def test_a_report_finds_the_flags_and_the_page_has_their_evidence(
    judged: tuple[Study, Participation, Participation], sign_in: Callable[[User], Client], rex: User
) -> None:
    study, careful, careless = judged
    build_report(queue_report(study).pk)

    kinds = set(Flag.objects.filter(participation=careless).values_list("kind", flat=True))
    page = sign_in(rex).get(f"/studies/{study.pk}/quality/").content.decode()

    assert {"fast", "gold"} <= kinds
    assert not Flag.objects.filter(participation=careful).exists()
    # 40 ms of 5000 ms are 0.8 %; Wilson for 0 of 2 reaches to 66 %
    assert "Took 1\u00a0% of the time that others took for the same items (median of 6)." in page
    assert "0 of 2 gold items were judged correctly (0 to 66\u00a0%)." in page
    wrong = study.items.filter(right_answers__isnull=False)
    assert any(f"/studies/{study.pk}/items/{item.key}/" in page for item in wrong)
    people = sign_in(rex).get(f"/studies/{study.pk}/participants/").content.decode()
    assert "1 worker has flags." in people


def test_a_study_with_too_many_labels_keeps_its_flags_with_a_note(
    judged: tuple[Study, Participation, Participation],
    sign_in: Callable[[User], Client],
    rex: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study, _careful, careless = judged
    flagging.update_flags(study)
    before = set(Flag.objects.filter(participation=careless).values_list("pk", flat=True))
    monkeypatch.setattr(flagging, "MOST_LABELS", 3)

    assert flagging.update_flags(study) == 1
    assert set(Flag.objects.filter(participation=careless).values_list("pk", flat=True)) == before
    page = sign_in(rex).get(f"/studies/{study.pk}/quality/").content.decode()
    assert "This study has more than 3 labels" in page


def test_the_thresholds_of_a_study_decide_about_flags(
    judged: tuple[Study, Participation, Participation], sign_in: Callable[[User], Client], rex: User
) -> None:
    study, _careful, careless = judged
    client, form = sign_in(rex), flagging.default_limits()
    flagging.update_flags(study)
    assert Flag.objects.filter(participation=careless, kind="gold").exists()

    client.post(f"/studies/{study.pk}/quality/limits/", form | {"gold_least": 0.5, "pace": 0})
    kinds = Flag.objects.filter(participation=careless).values_list("kind", flat=True)
    assert not {"gold", "fast"} & set(kinds)

    refused = client.post(f"/studies/{study.pk}/quality/limits/", form | {"gold_least": 7})
    assert refused.status_code == 422
    assert "less than or equal to 1" in refused.content.decode()
    assert flagging.limits_of(study).gold_least == 0.5


def test_an_exclusion_is_decided_with_a_reason_and_undone_and_no_label_is_lost(
    judged: tuple[Study, Participation, Participation], sign_in: Callable[[User], Client], rex: User
) -> None:
    study, _careful, careless = judged
    client = sign_in(rex)
    here = f"/studies/{study.pk}/quality/{careless.pk}/"
    labels = len(judged_items(study, study.work_asks[0]).judged)

    without = client.post(here, {"action": "exclude", "reason": " "}, follow=True)
    assert "Say why" in without.content.decode()
    assert not Decision.objects.exists()
    client.post(here, {"action": "exclude", "reason": "Gold all wrong."})
    careless.refresh_from_db()
    assert careless.excluded_reason == "Gold all wrong."
    again = client.post(here, {"action": "keep"}, follow=True)
    assert "Undo that first" in again.content.decode()

    client.post(f"/studies/{study.pk}/quality/undo/{Decision.objects.get().pk}/")
    careless.refresh_from_db()
    assert (careless.excluded_reason, careless.excluded_at) == ("", None)
    assert len(judged_items(study, study.work_asks[0]).judged) == labels == 24
    assert list(Decision.objects.values_list("action", "by")) == [("undo", "rex"), ("exclude", "rex")]
    lines = client.get(f"/studies/{study.pk}/quality/decisions.csv").getvalue().decode().splitlines()
    assert lines[1].startswith(f"{careless.pseudonym},exclude,Gold all wrong.,rex,")
    assert lines[1].endswith(",rex")


def test_decisions_are_never_changed_or_deleted(
    judged: tuple[Study, Participation, Participation], rex: User
) -> None:
    made = decisions.decide(judged[2], "reject", reason="=1+1", by=rex)

    for change in (
        lambda: Decision.objects.filter(pk=made.pk).update(reason="else"),
        lambda: Decision.objects.filter(pk=made.pk).delete(),
    ):
        with pytest.raises(IntegrityError, match="decisions_never_change"), transaction.atomic():
            change()


def test_a_blocked_worker_is_refused_by_all_studies_of_the_owner_until_undone(
    judged: tuple[Study, Participation, Participation], make_study: MakeStudy, rex: User, ada: User
) -> None:
    _study, _careful, careless = judged
    own, hers = make_study(title="Later"), make_study(title="Hers")
    Study.objects.filter(pk=hers.pk).update(owner=ada)
    hers.refresh_from_db()
    made = decisions.decide(careless, "block", reason="A program.", by=rex)

    with pytest.raises(EntryRefusedError, match="cannot take part in their studies") as refused:
        refuse_ineligible(careless.worker, own)
    assert refused.value.outcome == "screened_out"
    refuse_ineligible(careless.worker, hers)

    decisions.undo(made, by=rex)
    refuse_ineligible(careless.worker, own)
    assert not Block.objects.exists()
    with pytest.raises(ValidationError, match="already been undone"):
        decisions.undo(made, by=rex)
    with pytest.raises(ValidationError, match="“dismiss” is not a decision"):
        decisions.decide(careless, "dismiss", reason="", by=rex)


def test_a_worker_s_history_shows_only_the_user_s_studies(
    judged: tuple[Study, Participation, Participation],
    make_study: MakeStudy,
    sign_in: Callable[[User], Client],
    rex: User,
    ada: User,
    mallory: User,
) -> None:
    study, _careful, careless = judged
    flagging.update_flags(study)
    hers = make_study(title="Hers alone")
    Study.objects.filter(pk=hers.pk).update(owner=ada)
    version = hers.consent_versions.get()
    Participation.objects.create(worker=careless.worker, study=hers, consent=version)
    decisions.decide(careless, "reject", reason="Gold all wrong.", by=rex)
    page_of = f"/studies/{study.pk}/quality/{careless.pk}/history/"

    page = sign_in(rex).get(page_of).content.decode()

    assert "0 of 2 gold items were judged correctly" in page
    assert "Gold all wrong." in page
    assert "Hers alone" not in page
    assert sign_in(mallory).get(page_of).status_code == 404


def test_a_question_with_a_told_answer_is_an_attention_check(
    make_study: MakeStudy, sign_in: Callable[[User], Client], rex: User
) -> None:
    study, client = make_study(), sign_in(rex)
    dialogues = [start_dialogue(study) for _ in range(2)]
    for dialogue, answers in zip(dialogues, (YES, NO), strict=True):
        turn = dialogue.turn_set.get()
        give = {"turn": turn, "rater": worker_of(dialogue), "study": study, "party": "chatter"}
        give |= {"created_at": dialogue.started_at, "changed_at": dialogue.started_at}
        Label.objects.create(**give, ask=study.asks.get(), question_set="ssa", answers=answers)

    client.post(f"/studies/{study.pk}/quality/checks/", {"asked": "ssa sensible 0"})
    flag = Flag.objects.get()
    page = client.get(f"/studies/{study.pk}/quality/").content.decode()

    assert (flag.participation.worker, flag.kind) == (worker_of(dialogues[1]), "attention")
    assert "1 of 1 attention check was failed." in page
    assert f"/dialogues/{dialogues[1].public_id}/#turn-0" in page
    client.post(f"/studies/{study.pk}/quality/checks/", {"remove": study.attention_checks.get().pk})
    assert not Flag.objects.exists()
    odd = client.post(f"/studies/{study.pk}/quality/checks/", {"asked": "ssa sensible 9"}, follow=True)
    assert "not a question of this study" in odd.content.decode()
