"""Every form of a worker's page while PostgreSQL ends the session under it: late, and stored once."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.db.backends.signals import connection_created
from django.db.models import Sum
from django.http import HttpResponse
from django.test import AsyncClient, Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from tests.arenas import make_arena
from tests.away import end_session
from tests.conftest import enter, start_dialogue
from tests.crowd.test_practice import TRIED
from tests.pictures import picture
from tests.quality.test_qualification import HALF, TEXT
from tests.questionnaires.test_path import FINE, HOW, OLD_HAND, SSA, WHO
from tests.tasks.pairs.test_training import rightly
from turnwise.crowd.entry import visits
from turnwise.crowd.entry.sessions import signed
from turnwise.crowd.models import Assignment, Outcome, Participation, VisitCount
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.ending import complete
from turnwise.judging.models import JudgingPlan, Training
from turnwise.quality import qualification_tests
from turnwise.quality.models import Attempt, Qualification
from turnwise.questions import question_sets
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

Sent = tuple[Client, str, dict[str, Any]]
"""Who sends a form, to which address, and what."""

Fresh = Callable[[], Sent]
"""The same form of somebody new."""

MOST_POINTS = 4

CONSENT = {"agree": "yes", "consent": "1"}


@pytest.fixture(autouse=True)
def _sets_are_forgotten() -> Iterator[None]:
    yield
    question_sets.forget_question_sets()


def browser() -> Client:
    return Client(raise_request_exception=False)


def own_browser(participation: Participation) -> Client:
    client = browser()
    client.cookies["turnwise_worker"] = signed(participation)
    return client


def form(study: Study, page: str, sent: dict[str, Any] | None = None) -> Fresh:
    """A form that somebody sends who has agreed."""
    return lambda: (own_browser(enter(study)), f"/s/{study.code}/{page}/", sent or {})


def finished(study: Study) -> Participation:
    work = assign(enter(study).pk)
    with transaction.atomic():
        complete(work.pk, Outcome.COMPLETE, now=timezone.now())
    return work.participation


def consent(get: Any) -> Fresh:
    study = get("study")
    return lambda: (browser(), f"/s/{study.code}/consent/", CONSENT)


def seen(get: Any) -> Fresh:
    study = get("study")
    VisitCount.objects.create(study=study, saw=visits.ADMITTED)
    sent = {"visit": visits.visit_ticket(study, visits.ADMITTED)}
    return lambda: (browser(), f"/s/{study.code}/seen/", sent)


def resume(get: Any) -> Fresh:
    study = get("study")
    return lambda: (browser(), f"/s/{study.code}/resume/", {"code": enter(study).resume_code})


def practice(get: Any) -> Fresh:
    study = get("make_study")(question_set="human-likeness", practice=True)
    return form(study, "practice", {"answers": json.dumps(TRIED)})


def once_more(get: Any) -> Fresh:
    study = get("make_study")(re_entry="up_to", re_entry_most=2)
    return lambda: (own_browser(finished(study)), f"/s/{study.code}/again/", {"after": "1"})


def leave(get: Any) -> Fresh:
    study = get("study")
    return lambda: (own_browser(assign(enter(study).pk).participation), f"/s/{study.code}/leave/", {})


def qualify(get: Any) -> Fresh:
    from turnwise.quality.qualification_tests import parse_questions

    study = get("study")
    wanted = Qualification(
        owner=get("rex"),
        title="Reading",
        questions=parse_questions(TEXT),
        pass_mark=2,
        tries=3,
        feedback=True,
    )
    qualification_tests.set_requirement(study, qualification_tests.save_qualification(wanted))
    return form(study, "qualification", HALF)


def train(get: Any) -> Fresh:
    study = get("make_pairs")(2, question_set="preferences")
    JudgingPlan.objects.filter(study=study).update(training_tries=3)
    return form(study, "training", rightly("preferences", but="1-empathy"))


def withdraw(get: Any) -> Fresh:
    study = get("study")

    def fresh() -> Sent:
        own = assign(enter(study).pk).participation
        return browser(), f"{own.data_link}withdraw/", {"sure": "yes"}

    return fresh


def before(get: Any) -> Fresh:
    study = get("make_study")(asks=[SSA, WHO, HOW])
    return form(study, "before", {"answers": json.dumps({"demographics": {"answers": OLD_HAND}})})


def after(get: Any) -> Fresh:
    study = get("make_study")(asks=[SSA, HOW])
    sent = {"answers": json.dumps({"feedback": {"answers": FINE}})}
    return lambda: (own_browser(finished(study)), f"/s/{study.code}/after/", sent)


def upload(get: Any) -> Fresh:
    study = get("make_study")(takes_pictures=True)

    def fresh() -> Sent:
        participation = start_dialogue(study).participation
        assert participation
        file = SimpleUploadedFile("photo.jpg", picture(), content_type="image/jpeg")
        return own_browser(participation), f"/s/{study.code}/picture/", {"picture": file}

    return fresh


FORMS: dict[str, Callable[[Any], Fresh]] = {
    "crowd:again": once_more,
    "crowd:consent": consent,
    "crowd:leave": leave,
    "crowd:practice": practice,
    "crowd:resume": resume,
    "crowd:seen": seen,
    "arena:start": lambda get: form(make_arena(get("rex")), "arena/start"),
    "conversation:start": lambda get: form(get("study"), "start"),
    "dialogues:upload": upload,
    "judging_task:practise": train,
    "judging_task:start": lambda get: form(get("make_queue")(20, raters=25, batch=2), "judge/start"),
    "pairs:start": lambda get: form(get("make_pairs")(20, raters=25, batch=2), "compare/start"),
    "privacy:withdraw": withdraw,
    "quality:qualify": qualify,
    "questionnaires:after": after,
    "questionnaires:before": before,
    "two_people:start": lambda get: form(get("meeting"), "meet/start"),
    "writing:start": lambda get: form(get("make_writing")(20, responses=20), "write/start"),
}


TRIES = {"judging_task:practise", "quality:qualify"}
"""Tries that are counted: they are not sent twice where nobody knows whether the first was committed."""

SHOWN_ANEW: tuple[int, str, dict[str, int]] = (303, "here", {})
"""The browser gets the page, which shows how many tries are left."""


class Killer:
    """Ends the session of this thread at one of its statements, once."""

    def __init__(self, at: int = 0, *, afterwards: bool = False) -> None:
        self.at, self.afterwards = at, afterwards
        self.statements: list[str] = []

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        self.statements.append(sql)
        hit = len(self.statements) == self.at
        if hit and not self.afterwards:
            end_session()
        result = execute(sql, params, many, context)
        if hit and self.afterwards:
            end_session()
        return result


def changes(statement: str) -> bool:
    """Whether a statement writes, locks, or calls a function that may."""
    return not statement.startswith("SELECT") or "FOR " in statement or ' FROM "' not in statement


def sent_under(killer: Killer, sent: Sent) -> HttpResponse:
    client, path, data = sent
    with connection.execute_wrapper(killer):
        response: HttpResponse = client.post(path, data)  # type: ignore[assignment]
    connection.close()  # it may have been ended after the page was made
    return response


def stored() -> dict[str, int]:
    """How many rows there are of each kind, and the counts that a form raises."""
    tables = sorted({model._meta.db_table for model in apps.get_models()})
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in tables))
        rows = dict(cursor.fetchall())
    tries = Training.objects.aggregate(n=Sum("tries"))["n"] or 0
    seen = VisitCount.objects.aggregate(n=Sum("visits"))["n"] or 0
    ended = Assignment.objects.exclude(outcome="").count()
    return {**rows, "tries": tries, "seen": seen, "ended": ended}


def outcome_of(fresh: Fresh, killer: Killer) -> tuple[int, str, dict[str, int]]:
    """Status, where the browser is led, and what was stored."""
    sent = fresh()
    old = stored()
    response = sent_under(killer, sent)
    new = stored()
    grown = {kind: new[kind] - old[kind] for kind in new if new[kind] != old[kind]}
    here = sent[1].removesuffix("withdraw/")
    return response.status_code, response.headers.get("Location", "").replace(here, "here"), grown


def worker_forms(resolver: URLResolver, names: tuple[str, ...] = (), path: str = "") -> Iterator[str]:
    """The names of all worker pages that take a form."""
    for each in resolver.url_patterns:
        if isinstance(each, URLResolver):
            inner = (*names, each.namespace) if each.namespace else names
            yield from worker_forms(each, inner, path + str(each.pattern))
        elif isinstance(each, URLPattern) and (path + str(each.pattern)).startswith("s/"):
            address = f"/{path}{each.pattern}".replace("<slug:code>", "none").replace("<str:token>", "none")
            if "POST" in Client().options(address).headers["Allow"]:
                yield ":".join((*names, str(each.name)))


def test_every_form_of_a_worker_is_tried_here() -> None:
    assert sorted(worker_forms(get_resolver())) == sorted(FORMS)


@pytest.mark.parametrize("name", sorted(FORMS))
def test_a_form_whose_session_ends_at_any_statement_is_stored_once(
    name: str, request: pytest.FixtureRequest
) -> None:
    fresh = FORMS[name](request.getfixturevalue)
    outcome_of(fresh, Killer())  # makes what only the first worker of a study needs
    undisturbed = Killer()
    expected = outcome_of(fresh, undisturbed)
    assert expected[0] < 400 or expected[0] == 422, expected

    for at in points_of(undisturbed.statements):
        where = f"at statement {at}: {undisturbed.statements[at - 1]}"
        assert outcome_of(fresh, Killer(at)) == expected, f"before, {where}"
        found = outcome_of(fresh, Killer(at, afterwards=True))
        assert found == expected or (name in TRIES and found == SHOWN_ANEW), f"after, {where}"


def points_of(statements: list[str]) -> list[int]:
    """Numbers of the statements at which a session ends: the first, the last, and some that change anything.

    Between two queries that only read, nothing is at stake.
    """
    changing = [number for number, statement in enumerate(statements, start=1) if changes(statement)]
    return sorted({1, *changing[:: -(-len(changing) // MOST_POINTS) or 1], *changing[-1:], len(statements)})


END_AT_COMMIT = """
CREATE FUNCTION end_session_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('endings') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
    RETURN NULL;
END $$;
CREATE SEQUENCE endings;
CREATE CONSTRAINT TRIGGER end_session_once AFTER INSERT ON {table}
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_session_once();
"""
NO_MORE = "DROP FUNCTION end_session_once CASCADE; DROP SEQUENCE endings"


@pytest.fixture
def lost_commit() -> Iterator[Callable[[type], None]]:
    """Ends the session during the first commit that adds a row of a kind."""

    def begin(model: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(END_AT_COMMIT.format(table=model._meta.db_table))

    yield begin
    with connection.cursor() as cursor:
        cursor.execute(NO_MORE)


def test_a_try_whose_commit_was_lost_is_not_counted_twice_and_the_page_shows_how_many_are_left(
    request: pytest.FixtureRequest, lost_commit: Callable[[type], None]
) -> None:
    client, page, sent = qualify(request.getfixturevalue)()
    lost_commit(Attempt)

    answer = client.post(page, sent)

    assert (answer.status_code, answer["Location"]) == (303, page)
    assert Attempt.objects.count() == 0
    assert client.get(page).status_code == 200


def test_an_entry_whose_commit_was_lost_is_made_once(
    study: Study, lost_commit: Callable[[type], None]
) -> None:
    lost_commit(Participation)

    answer = browser().post(f"/s/{study.code}/consent/", CONSENT)

    assert answer.status_code == 302
    assert Participation.objects.filter(study=study).count() == 1


async def test_the_same_holds_for_the_server_of_sockets(study: Study) -> None:
    killer = Killer(4)

    def begin(connection: Any, **_signal: Any) -> None:
        if killer not in connection.execute_wrappers and not killer.statements:
            connection.execute_wrappers.append(killer)

    connection_created.connect(begin)
    try:
        async with ThreadSensitiveContext():  # a thread of its own, whose connection is new
            answer = await AsyncClient().post(f"/s/{study.code}/consent/", CONSENT)
            await sync_to_async(lambda: connection.close())()
    finally:
        connection_created.disconnect(begin)

    assert answer.status_code == 302
    assert len(killer.statements) > 4
    assert await Participation.objects.filter(study=study).acount() == 1
