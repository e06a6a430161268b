"""Turns, replies, responses, labels and decisions stay; only an erasure, which is logged, changes them."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from tests.conftest import MakeQueue, MakeStudy, start_dialogue
from tests.planted import add_exchange, add_label, bot_of, talked
from tests.rewriting import rewriting
from turnwise.accounts import erasures
from turnwise.accounts.models import Erasure, User
from turnwise.bots.services import version_of
from turnwise.crowd.models import Outcome
from turnwise.crowd.places.ending import end
from turnwise.dialogues.models import Dialogue, ReplyVersion, Turn
from turnwise.labels.models import Label
from turnwise.privacy.withdrawal import withdraw
from turnwise.responses.models import Response

REFUSED = "only_by_erasure"


@pytest.fixture
def dialogue(make_study: MakeStudy) -> Dialogue:
    return talked(make_study(min_turns=2, max_turns=4), [(True, True)])


@pytest.fixture
def application(db: None) -> Iterator[None]:
    """The rest of the test speaks to the database as a role like the application's."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE ROLE records_app; GRANT USAGE ON SCHEMA public TO records_app;"
            " GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO records_app;"
            " GRANT SELECT, USAGE ON ALL SEQUENCES IN SCHEMA public TO records_app"
        )
        cursor.execute("SET LOCAL ROLE records_app")
        yield
        cursor.execute("RESET ROLE")


def refuse(statement: str, *values: Any, match: str = REFUSED) -> None:
    with pytest.raises(DatabaseError, match=match), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)


@pytest.mark.parametrize("table", sorted(erasures.PROTECTED))
def test_records_are_never_emptied(table: str, db: None) -> None:
    erasures.begin(Erasure.Reason.WITHDRAWAL)

    refuse(f"TRUNCATE {table} CASCADE", match="never emptied")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE dialogues_turn SET text = 'Another'",
        "UPDATE dialogues_turn SET created_at = now()",
        "UPDATE dialogues_turn SET position = position + 10",
        "DELETE FROM dialogues_turn WHERE position = 1",
        "WITH gone AS (DELETE FROM dialogues_turn RETURNING 1) SELECT count(*) FROM gone",
        "UPDATE dialogues_dialogue SET ended_at = NULL, ending = ''",
        "UPDATE dialogues_dialogue SET origin = 'relayed'",
        "UPDATE crowd_assignment SET outcome = '', ended_at = NULL",
        "UPDATE labels_label SET answers = '{\"sensible\": true}'",
        "UPDATE labels_label SET answers = '{\"sensible\": true}', changes = changes + 1, changed_at = now()",
        "DELETE FROM labels_label",
    ],
)
def test_what_was_said_and_judged_stays(dialogue: Dialogue, application: None, statement: str) -> None:
    assert Label.objects.exists()

    refuse(statement)


def test_a_forged_version_of_a_reply_does_not_replace_it(dialogue: Dialogue, application: None) -> None:
    turn = Turn.objects.get(dialogue=dialogue, position=2)
    assert turn.bot_version
    ReplyVersion.objects.create(
        turn=turn,
        number=1,
        is_kept=True,
        text="Forged",
        created_at=timezone.now(),
        bot_version=turn.bot_version,
    )

    refuse("SELECT dialogues_put_reply_version(%s, 1)", turn.pk)
    refuse("UPDATE dialogues_replyversion SET text = 'Another'")
    refuse("DELETE FROM dialogues_replyversion")


def test_responses_stay(make_queue: MakeQueue, application: None) -> None:
    make_queue(2)
    assert Response.objects.exists()

    refuse("UPDATE responses_response SET text = 'Another'")
    refuse("DELETE FROM responses_response")


def test_the_application_cannot_write_the_log_of_erasures(application: None) -> None:
    opened = (
        "INSERT INTO accounts_erasure (at, xact, reason, rows)"
        " VALUES (now(), pg_current_xact_id()::text::bigint, 'withdrawal', '{}')"
    )
    refuse(opened, match="erasure_never_changes")
    erasures.begin(Erasure.Reason.WITHDRAWAL)
    for statement in ("UPDATE accounts_erasure SET rows = '{}'", "DELETE FROM accounts_erasure"):
        refuse(statement, match="erasure_never_changes")


def test_a_table_of_the_same_name_opens_no_erasure(dialogue: Dialogue, application: None) -> None:
    """PostgreSQL looks for a name among temporary tables first, and anybody may make those."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE accounts_erasure (at timestamptz, xact bigint, rows jsonb)")
        cursor.execute(
            "INSERT INTO accounts_erasure VALUES (now(), pg_current_xact_id()::text::bigint, '{}')"
        )
        cursor.execute("CREATE TEMPORARY TABLE crowd_assignment AS SELECT * FROM public.crowd_assignment")
        cursor.execute("UPDATE pg_temp.crowd_assignment SET outcome = '', ended_at = NULL")

    refuse("DELETE FROM dialogues_turn")
    refuse("UPDATE labels_label SET answers = '{}', changes = changes + 1")


@pytest.mark.django_db(transaction=True)
def test_an_erasure_ends_with_its_transaction(make_study: MakeStudy) -> None:
    talked(make_study(min_turns=2, max_turns=4), [(True, True)])
    with rewriting():
        Turn.objects.filter(position=0).update(text="Another")

    refuse("UPDATE dialogues_turn SET text = 'Yet another'")
    refuse("UPDATE accounts_erasure SET rows = '{}'", match="erasure_never_changes")
    with pytest.raises(RuntimeError, match="in the transaction that erases"):
        erasures.begin(Erasure.Reason.WITHDRAWAL)


def test_a_withdrawal_is_logged_with_its_rows(dialogue: Dialogue, rex: User, application: None) -> None:
    participation = dialogue.participation
    assert participation
    turns, labels = Turn.objects.count(), Label.objects.count()

    withdraw(participation.pk, by=rex)

    assert not Turn.objects.exists()
    logged = Erasure.objects.get()
    assert (logged.reason, logged.person, logged.study) == ("withdrawal", rex.pk, participation.study_id)
    assert logged.rows == {"dialogues_turn": turns, "labels_label": labels}


def test_raters_revise_their_answers_while_they_are_at_work(make_study: MakeStudy, application: None) -> None:
    dialogue = start_dialogue(make_study(min_turns=2, max_turns=4))
    version = version_of(bot_of(dialogue), {"adapter": "scripted"})
    add_exchange(dialogue, version, text="Hello", latency=10)
    add_label(dialogue, position=2, answers={"sensible": True, "specific": True})
    revise = (
        "UPDATE labels_label SET answers = '{}', changes = changes + 1, changed_at = clock_timestamp()"
        " WHERE id = %s"
    )
    label = Label.objects.latest("pk")
    with connection.cursor() as cursor:
        cursor.execute(revise, [label.pk])
    refuse("UPDATE labels_label SET answers = '{\"sensible\": true}'")  # uncounted

    participation = dialogue.participation
    assert participation
    end(participation.pk, Outcome.COMPLETE, now=timezone.now())
    refuse(revise, label.pk)
