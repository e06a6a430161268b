"""What is deleted can be put back for a day, row by row as it was."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import BytesIO

import pytest
from django.apps import apps
from django.contrib.messages import get_messages
from django.db import connection
from django.utils import timezone

from tests.conftest import MakeQueue, MakeStudy, enter
from tests.planted import SignIn, talked
from tests.transcripts.imports import import_draft
from turnwise.accounts.models import User
from turnwise.crowd.models import Worker
from turnwise.dialogues.models import Dialogue, TranscriptImport, Turn
from turnwise.judging.items.subjects import add_turns
from turnwise.labels.models import Label
from turnwise.privacy.withdrawal import withdraw
from turnwise.quality.models import MessageTemplate, Qualification, Requirement
from turnwise.studies.asks import Party
from turnwise.studies.models import Bundle, Study
from turnwise.transcripts import relaying
from turnwise.transcripts.importing import upload
from turnwise.transcripts.undoing import undo
from turnwise.trash import soft_delete
from turnwise.trash.models import Deletion
from turnwise.trash.soft_delete import RestoreRefusedError, SoftDeleter, restore

FILE = b"Bot: Hi!\nAnn: Tea, or =1+1?\nBot: \xe2\x80\x9cYes\xe2\x80\x9d, please.\nAnn: Here.\n"
# What changes with whatever happens, and the deletions themselves.
LEFT_OUT = {
    "accounts_user",
    "studies_study",
    "trash_deletion",
    "django_session",
    "accounts_event",
    "accounts_erasure",
    "reports_report",
}


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    return make_study(min_turns=2, max_turns=6)


def every_row() -> dict[str, list[str]]:
    """All that the database has, as text."""
    found = {}
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            table = model._meta.db_table
            if table not in LEFT_OUT:
                cursor.execute(f'SELECT to_jsonb(t)::text FROM "{table}" AS t ORDER BY 1')
                found[table] = [text for (text,) in cursor]
    return found


def imported(study: Study) -> TranscriptImport:
    draft = upload(study, BytesIO(FILE), name="talk.txt", by=study.owner)
    done = import_draft(draft.pk, systems={"Ann": "", "Bot": "Elsewhere"}, scripted_opening=False)
    turn = Turn.objects.filter(dialogue__imported_in=done, bot_version__isnull=False).first()
    at = done.imported_at
    assert at
    Label.objects.create(
        study=study, turn=turn, rater=Worker.objects.create(), party=Party.OUTSIDE, question_set="ssa",
        answers={"sensible": True, "specific": False}, created_at=at, changed_at=at,
    )  # fmt: skip
    return done


@pytest.mark.django_db
def test_an_import_comes_back_with_its_conversations_labels_and_system(study: Study) -> None:
    talked(study, [(True, True)])
    done = imported(study)
    before = every_row()

    deletion = undo(done.pk, by=study.owner)

    assert not TranscriptImport.objects.exists()
    assert not study.study_bots.filter(bot__title="Elsewhere").exists()
    assert every_row() != before

    version = Study.objects.get(pk=study.pk).results_version
    assert restore(deletion.pk)
    assert every_row() == before
    assert Study.objects.get(pk=study.pk).results_version > version  # so its report follows
    assert not Deletion.objects.exists()


@pytest.mark.django_db
def test_a_finished_conversation_comes_back_though_ended_ones_take_no_turns(study: Study) -> None:
    relayed = relaying.begin(study, system="Elsewhere", by=study.owner)
    for position, text in enumerate(["Hi there.", "How are you?", "Fine."], start=1):
        relaying.add_turn(relayed.pk, position=position, text=text)
    relaying.finish(relayed.pk)
    before = every_row()

    deletion = relaying.discard(relayed.pk, by=study.owner)

    assert not Dialogue.objects.exists()
    restore(deletion.pk)
    assert every_row() == before


@pytest.mark.django_db
def test_foreign_keys_are_restored_and_files_are_unchanged(study: Study, rex: User, mallory: User) -> None:
    draft = upload(study, BytesIO(FILE), name="talk.txt", by=mallory)
    before, kept = every_row(), SoftDeleter()

    kept.delete(User.objects.filter(pk=mallory.pk))
    whose = kept.store("Mallory", by=rex)
    discarded = undo(draft.pk, by=rex)

    restore(discarded.pk)
    assert TranscriptImport.objects.get().by is None
    restore(whose.pk)
    assert TranscriptImport.objects.get().by == mallory
    assert TranscriptImport.objects.get().file == FILE
    assert every_row() == before


@pytest.mark.django_db
def test_more_rows_than_one_statement_takes_come_back(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soft_delete, "AT_ONCE", 3)  # of five turns
    done = imported(study)
    before = every_row()

    restore(undo(done.pk, by=study.owner).pk)

    assert every_row() == before


@pytest.mark.django_db
def test_bundles_that_were_made_without_it_go_when_it_comes_back(
    study: Study, make_study: MakeStudy, make_queue: MakeQueue
) -> None:
    done, readers, unrelated = imported(study), make_queue(), make_study()
    add_turns(readers, study, language="en")
    deletion = undo(done.pk, by=study.owner)
    for each in (study, readers, unrelated):
        Bundle.objects.create(study=each, asked_at=timezone.now(), made_at=timezone.now(), quotes=[each.pk])

    restore(deletion.pk)

    assert [each.study for each in Bundle.objects.all()] == [unrelated]


@pytest.mark.django_db
def test_a_conflicting_row_prevents_the_restore(study: Study) -> None:
    first = relaying.begin(study, system="Elsewhere", by=study.owner)
    deletion = relaying.discard(first.pk, by=study.owner)
    relaying.begin(study, system="Elsewhere", by=study.owner)
    before = every_row()

    with pytest.raises(RestoreRefusedError, match="something else has taken its place"):
        restore(deletion.pk)

    assert every_row() == before
    assert Deletion.objects.get() == deletion


@pytest.mark.django_db(transaction=True)
def test_pressed_twice_at_once_it_comes_back_once(study: Study) -> None:
    deletion = undo(imported(study).pk, by=study.owner)

    def press(_: int) -> Deletion | None:
        try:
            return restore(deletion.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as people:
        came = list(people.map(press, range(4)))

    assert sum(each is not None for each in came) == 1
    assert TranscriptImport.objects.count() == 1


@pytest.mark.django_db
def test_after_a_day_it_is_gone_for_good(study: Study, rex: User, sign_in: SignIn) -> None:
    deletion = undo(imported(study).pk, by=rex)
    Deletion.objects.update(at=timezone.now() - timedelta(hours=24, minutes=1))

    assert "talk.txt" not in sign_in(rex).get("/deleted/").content.decode()
    assert sign_in(rex).post(f"/deleted/{deletion.pk}/put-back/").status_code == 404
    soft_delete.purge_expired()
    assert not Deletion.objects.exists()


@pytest.mark.django_db
def test_nothing_is_kept_of_a_study_from_which_somebody_withdrew(study: Study) -> None:
    somebody = enter(study)
    undo(imported(study).pk, by=study.owner)

    withdraw(somebody.pk)

    assert not Deletion.objects.exists()


@pytest.mark.django_db
def test_the_page_says_what_was_deleted_and_undoes_it(
    study: Study, rex: User, mallory: User, sign_in: SignIn
) -> None:
    done = imported(study)
    browser = sign_in(rex)

    page = browser.post(f"/imports/{done.pk}/undo/", follow=True)

    deletion = Deletion.objects.get()
    address = f"/deleted/{deletion.pk}/put-back/"
    assert f'action="{address}"' in page.content.decode()
    assert "The import is undone: talk.txt" in page.content.decode()
    assert "talk.txt" in browser.get("/deleted/").content.decode()
    assert sign_in(mallory).post(address).status_code == 404
    assert "talk.txt" not in sign_in(mallory).get("/deleted/").content.decode()

    page = browser.post(address, follow=True)
    assert "It is back: talk.txt." in page.content.decode()
    assert TranscriptImport.objects.get() == done
    assert "Nothing to put back." in browser.get("/deleted/").content.decode()


@pytest.mark.django_db
def test_qualifications_and_messages_come_back(study: Study, rex: User, sign_in: SignIn) -> None:
    known = [{"text": "Yes?", "choices": ["Yes", "No"], "right": [0], "why": ""}]
    own = Qualification.objects.create(owner=rex, title="Reads", questions=known, pass_mark=1)
    message = MessageTemplate.objects.create(owner=rex, title="Thanks", text="Thank you.")
    before, browser = every_row(), sign_in(rex)

    browser.post(f"/qualifications/{own.pk}/delete/")
    gone = browser.post(f"/messages/{message.pk}/remove/")

    assert [str(each) for each in get_messages(gone.wsgi_request)]
    assert not Qualification.objects.exists()
    assert not MessageTemplate.objects.exists()
    for deletion in Deletion.objects.all():
        browser.post(f"/deleted/{deletion.pk}/put-back/")
    assert every_row() == before

    Requirement.objects.create(study=study, qualification=own)
    browser.post(f"/qualifications/{own.pk}/delete/")
    assert Qualification.objects.exists()
    assert not Deletion.objects.exists()
