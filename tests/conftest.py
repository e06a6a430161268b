import json
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from channels.routing import URLRouter
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core.cache import cache
from django.db import connection
from django.test import Client, TransactionTestCase
from django.utils import timezone
from hypothesis import settings
from pytest_django import DjangoDbBlocker

from tests import schema
from turnwise.accounts.models import User
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot
from turnwise.contexts import services as contexts
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import Context, ContextSet, ContextSetVersion
from turnwise.crowd.entry.enrolment import consent
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.crowd.models import Participation, Worker
from turnwise.crowd.panels import Arrival
from turnwise.crowd.places.assignment import assign
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.services import begin
from turnwise.judging.items import pairs, subjects
from turnwise.judging.models import JudgingPlan
from turnwise.languages import live_texts
from turnwise.live import database
from turnwise.live.sockets import batches
from turnwise.live.subprocesses import tune_garbage_collection
from turnwise.project.sockets import websocket_urlpatterns
from turnwise.responses.models import Response, ResponseRun, Source
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study
from turnwise.studies.services import save_study, set_state
from turnwise.tasks.judging.forms import default_ask
from turnwise.tasks.two_people.models import TwoPeoplePlan
from turnwise.tasks.writing.models import WritingPlan
from turnwise.tasks.writing.task import Writing

# Of property tests: a deadline for each example would fail on a busy machine, and says nothing of the code.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

# Many tests set a password and sign in with it. A real hash takes a quarter of a second each time, by design.
HASH_ITERATIONS = 1_000
PBKDF2PasswordHasher.iterations = HASH_ITERATIONS


# Whole servers, other processes and long rehearsals. Where several processes run the tests, these files
# begin first, the longest before all: beside one that began last the others would have nothing to do.
LONG = (
    "tests/faults/",
    "tests/project/test_access.py",
    "tests/browser/test_whole_way.py",
    "tests/project/test_api_as_described.py",
    "tests/browser/test_every_page.py",
    "tests/chatbots/test_every_bot.py",
    "tests/deploy/test_native.py",
    "tests/chatbots/test_exits.py",
    "tests/project/test_serve.py",
    "tests/chatbots/meena/test_training.py",
    "tests/browser/test_charts.py",
    "tests/browser/test_comparisons.py",
    "tests/rehearsals/",
    "tests/operating/test_two_servers.py",
    "tests/project/test_dumps.py",
    "tests/project/test_released_data.py",
    "tests/install/",
    "tests/test_replay.py",
    "tests/responses/test_killed_worker.py",
    "tests/browser/",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The files in `LONG`, then those with most tests; within a file nothing changes its place."""
    tests = Counter(item.path for item in items)

    def rank(path: Path) -> int:
        name = path.relative_to(config.rootpath).as_posix()
        return next((n for n, long in enumerate(LONG) if name.startswith(long)), len(LONG))

    ranks = {path: (rank(path), -number, str(path)) for path, number in tests.items()}
    items.sort(key=lambda item: ranks[item.path])


def pytest_collection_finish() -> None:
    """Exclude what is loaded by now from garbage collection, which took a twelfth of the time of tests."""
    tune_garbage_collection()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """List at the end how many tests did not run, and why."""
    yield
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(each.longrepr[2].removeprefix("Skipped: ") for each in skipped)
    for reason, number in reasons.most_common():
        tests = "1 test" if number == 1 else f"{number} tests"
        terminalreporter.write_line(f"{tests} did not run: {reason}", yellow=True)


# What `migrate` fills and no test changes.
KEPT = ("django_migrations", "django_content_type", "auth_permission")
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> ALL (%s)"


def filled_tables(cursor: Any) -> list[str]:
    """Tables with rows, but for those that no test changes."""
    cursor.execute(TABLES, [list(KEPT)])
    tables = [name for (name,) in cursor.fetchall()]
    cursor.execute("SELECT " + ", ".join(f'EXISTS (SELECT FROM "{name}")' for name in tables))
    return [name for name, is_filled in zip(tables, cursor.fetchone(), strict=True) if is_filled]


def _empty_tables(self: TransactionTestCase) -> None:
    """Delete what a test committed: Django's TRUNCATE of every table takes longer than most tests.

    Triggers sleep meanwhile, those of foreign keys and those that forbid a deletion.
    """
    with connection.cursor() as cursor:
        deletions = "; ".join(f'DELETE FROM "{name}"' for name in filled_tables(cursor))
        cursor.execute(f"BEGIN; SET LOCAL session_replication_role = replica; {deletions}; COMMIT")


@pytest.fixture(scope="session")
def schema_folder(request: pytest.FixtureRequest) -> Path:
    cache = request.config.cache
    assert cache
    return cache.mkdir("schema")


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_modify_db_settings: None, schema_folder: Path) -> bool:
    """Whether the test database is there before Django looks: from an earlier run of the same migrations."""
    return schema.restored(schema_folder)


@pytest.fixture(scope="session")
def django_db_setup(
    django_db_setup: None, django_db_keepdb: bool, schema_folder: Path, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """Close what long-lived threads still hold open, so that the test database can be dropped."""
    if not django_db_keepdb:
        with django_db_blocker.unblock():
            schema.keep(schema_folder)
    TransactionTestCase._fixture_teardown = _empty_tables  # private
    yield
    batches.close_connections()
    database.close_connections()
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture(autouse=True)
def _attempts_are_forgotten() -> None:
    """Limits on attempts count per address, and all tests come from the same one."""
    cache.clear()


@pytest.fixture(autouse=True)
def _written_translations_are_forgotten() -> None:
    """A process keeps the translations of an earlier test's database."""
    live_texts.forget()


# --- the cast: Ada administers, Rex researches, Wanda works, Mallory must see nothing ------------


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_superuser("ada")


@pytest.fixture
def rex(db: None) -> User:
    return User.objects.create_user("rex")


@pytest.fixture
def mallory(db: None) -> User:
    return User.objects.create_user("mallory")


@pytest.fixture
def sign_in() -> Callable[[User], Client]:
    def signed_in(user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return signed_in


MakeStudy = Callable[..., Study]


@pytest.fixture
def make_study(rex: User) -> MakeStudy:
    """Make an open study of Rex. Bots are given as {name: target}; every bot is a scripted one."""

    def make(
        bots: dict[str, int] | None = None,
        *,
        script: dict[str, Any] | None = None,
        question_set: str = "ssa",
        moment: Moment = Moment.EACH_TURN,
        asks: Sequence[AskSpec] = (),
        **fields: Any,
    ) -> Study:
        targets = {
            register_bot(
                name=name,
                title=name.title(),
                adapter="scripted",
                configuration=script or {"replies": ["Go on."]},
            ): target
            for name, target in (bots or {"scripty": 100}).items()
        }
        made = {
            "title": "Small talk",
            "languages": ["en"],
            "practice": False,
            "protocol": "meena-interactive",
        }
        fields = made | fields
        study = save_study(
            Study(**fields),
            owner=rex,
            consent_text="You talk to a machine.",
            targets=targets,
            asks=asks or [AskSpec(question_set, About.PARTNER_TURN, moment)],
        )
        return set_state(study.pk, Study.State.OPEN)

    return make


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    return make_study()


MakeMeeting = Callable[..., Study]


@pytest.fixture
def make_meeting(make_study: MakeStudy) -> MakeMeeting:
    """Make an open study in which people talk with each other; what its plan has goes by name."""

    def make(
        *,
        conversations: int = 50,
        wait_minutes: int = 5,
        alone: str = "leave",
        disclosed: bool = True,
        **fields: Any,
    ) -> Study:
        talk = {"opening_speaker": "human", "opening_text": "", "min_turns": 2, "max_turns": 6}
        fields = talk | {"protocol": ""} | fields
        study = make_study(**fields)
        TwoPeoplePlan.objects.create(
            study=study, conversations=conversations, wait_minutes=wait_minutes, alone=alone,
            disclosed=disclosed,
        )  # fmt: skip
        Study.objects.filter(pk=study.pk).update(task="two_people")  # opened before it has a plan
        return Study.objects.get(pk=study.pk)

    return make


@pytest.fixture
def meeting(make_meeting: MakeMeeting) -> Study:
    return make_meeting()


@pytest.fixture
def one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """All attempts fall into the same minute: limits are counted anew with the next."""
    now = time.time()
    monkeypatch.setattr("django_ratelimit.core.time", SimpleNamespace(time=lambda: now))
    # The cache has a clock of its own and forgets attempts after the minute: too soon on a busy machine.
    monkeypatch.setattr("django_ratelimit.core.EXPIRATION_FUDGE", 3600)


def enter(study: Study, arrival: Arrival | None = None) -> Participation:
    """Someone new consents."""
    version = study.consent_versions.last()
    assert version
    return consent(study, version, known=None, arrival=arrival)


def start_dialogue(study: Study, arrival: Arrival | None = None) -> Dialogue:
    """Someone new consents, is assigned a bot, and begins."""
    return begin(assign(enter(study, arrival).pk))


def worker_of(dialogue: Dialogue) -> Worker:
    worker = dialogue.seats.get(worker__isnull=False).worker
    assert worker
    return worker


def pseudonym_of(dialogue: Dialogue) -> str:
    """What whoever talks here with a bot is called in the study."""
    return dialogue.seats.get(worker__isnull=False).assignment.participation.pseudonym


def session_cookie(worker: Worker) -> str:
    """What the browser of this worker, who takes part in one study, holds."""
    return signed(worker.participations.get())


@pytest.fixture
def short(make_study: MakeStudy) -> Study:
    return make_study({"scripty": 100}, min_turns=2, max_turns=8)


@pytest.fixture
def _same_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server that a rehearsal starts finds the database of the tests."""
    name = connection.settings_dict["NAME"]
    address, mark, query = os.environ["DATABASE_URL"].partition("?")
    monkeypatch.setenv("DATABASE_URL", f"{address.rpartition('/')[0]}/{name}{mark}{query}")


@pytest.fixture
def dialogue(study: Study) -> Dialogue:
    return start_dialogue(study)


@pytest.fixture
def bot(study: Study) -> Bot:
    return study.study_bots.get().bot


# --- things to judge: responses of systems to contexts, and studies that ask about them ------------

MakeContexts = Callable[..., ContextSetVersion]
MakeRun = Callable[..., ResponseRun]
MakeVersion = Callable[..., ContextSetVersion]
MakeQueue = Callable[..., Study]
MakePairs = Callable[..., Study]
MakeWriting = Callable[..., Study]


@pytest.fixture
def make_contexts(rex: User) -> MakeContexts:
    def make(number: int, *, language: str = "en") -> ContextSetVersion:
        of = ContextSet.objects.create(name=uuid4().hex[:12], title="Small set", licence="CC0", owner=rex)
        version = ContextSetVersion.objects.create(
            context_set=of, number=1, content_hash=uuid4().hex, size=number
        )
        Context.objects.bulk_create(
            Context(version=version, position=n, key=f"c{n}", turns=[f"Question {n}?"], language=language)
            for n in range(1, number + 1)
        )
        return version

    return make


@pytest.fixture
def make_version(rex: User) -> MakeVersion:
    """A set of Rex with so many contexts, each of one turn unless the turns are given."""

    def make(contexts_wanted: int = 3, *, turns: list[tuple[str, ...]] | None = None) -> ContextSetVersion:
        said = turns or [(f"Question number {number}?",) for number in range(1, contexts_wanted + 1)]
        rows = [ContextRow(n, f"c{n}", each, "", "en", False, "") for n, each in enumerate(said, start=1)]
        owned = ContextSet.objects.filter(owner=rex).count()
        context_set = ContextSet.objects.create(owner=rex, name=f"set-{owned}", title=f"Set {owned}")
        return contexts.import_version(context_set, rows, origin="test")

    return make


@pytest.fixture
def make_run(rex: User) -> MakeRun:
    """A system's responses to every context of a version."""

    def make(version: ContextSetVersion, system: str, *, repetitions: int = 1) -> ResponseRun:
        run = ResponseRun.objects.create(
            context_version=version, source=Source.FILE, system=system, owner=rex,
            repetitions=repetitions, state=ResponseRun.State.DONE,
        )  # fmt: skip
        Response.objects.bulk_create(
            Response(
                run=run, context=context, repetition=repetition, created_at=timezone.now(),
                text=f"{system} answers {context.key}.",
            )
            for context in version.contexts.all()
            for repetition in range(1, repetitions + 1)
        )  # fmt: skip
        return run

    return make


@pytest.fixture
def make_queue(rex: User, make_contexts: MakeContexts, make_run: MakeRun) -> MakeQueue:
    """An open judging study with the responses of "Alpha" to as many contexts as items are wanted."""

    def make(
        items: int = 0,
        *,
        raters: int = 5,
        batch: int = 50,
        lease: int = 600,
        question_set: str = "ssa",
        asks: Sequence[AskSpec] = (),
        **fields: object,
    ) -> Study:
        system = fields.pop("system", "Alpha")
        made = {"title": "Judge responses", "task": "judging", "protocol": "meena-static"}
        study = Study(**made | {"languages": ["en"], "practice": False} | fields)
        asked = asks or [default_ask(question_set)]
        save_study(study, owner=rex, consent_text="You judge responses.", targets={}, asks=asked)
        plan = JudgingPlan(study=study, raters_per_item=raters, batch_size=batch, lease_seconds=lease)
        subjects.save_plan(plan)
        if items:
            subjects.add_responses(study, make_run(make_contexts(items), system))
            return set_state(study.pk, Study.State.OPEN)
        study.state = Study.State.OPEN  # the test adds its own items; an empty queue cannot be opened
        study.save(update_fields=["state"])
        return study

    return make


@pytest.fixture
def make_pairs(rex: User, make_contexts: MakeContexts, make_run: MakeRun) -> MakePairs:
    """An open study of pairs: these systems' responses to so many contexts, every two side by side."""

    def make(
        contexts: int = 0,
        systems: Sequence[str] = ("Alpha", "Beta"),
        *,
        raters: int = 5,
        batch: int = 50,
        lease: int = 600,
        question_set: str = "preference",
        **fields: Any,
    ) -> Study:
        made = {"title": "Compare", "task": "pairs", "protocol": "neural-chat-pairwise"}
        study = Study(**made | {"languages": ["en"], "practice": False} | fields)
        asks = [AskSpec(question_set, About.PAIR)]
        save_study(study, owner=rex, consent_text="You compare responses.", targets={}, asks=asks)
        subjects.save_plan(
            JudgingPlan(study=study, raters_per_item=raters, batch_size=batch, lease_seconds=lease)
        )
        if contexts:
            version = make_contexts(contexts)
            pairs.add(study, pairs.PairSource.of_runs([make_run(version, system) for system in systems]))
        study.state = Study.State.OPEN  # the test may add its own; an empty queue cannot be opened
        study.save(update_fields=["state"])
        return study

    return make


@pytest.fixture
def make_writing(rex: User, make_version: MakeVersion) -> MakeWriting:
    """Make an open study of Rex in which people write."""

    def make(contexts: int = 3, *, responses: int = 1, batch: int = 2, **version: Any) -> Study:
        plan = WritingPlan(
            context_version=make_version(contexts, **version),
            responses_per_context=responses,
            batch_size=batch,
        )
        study = Study(title="Answers", languages=["en"], task=Writing.key)
        save_study(study, owner=rex, consent_text="You write.", targets={}, plan=plan)
        return set_state(study.pk, Study.State.OPEN)

    return make


# --- sockets -------------------------------------------------------------------------------------

PATIENCE = 60.0  # seconds; what is waited for comes at once, but not on a machine with other work


class Tab:
    """A browser tab of a worker: speaks frames through the real consumer."""

    def __init__(self, dialogue: Dialogue, cookie: str, language: str = "") -> None:
        scope = {
            "type": "websocket",
            "path": f"/ws/dialogues/{dialogue.public_id}/",
            "query_string": f"language={language}".encode(),
            "headers": [(b"cookie", f"{COOKIE}={cookie}".encode())],
            "subprotocols": [],
        }
        self.application = ApplicationCommunicator(URLRouter(websocket_urlpatterns), scope)
        self.first: dict[str, Any] = {}

    async def connect(self) -> None:
        await self.application.send_input({"type": "websocket.connect"})
        assert (await self.application.receive_output(timeout=PATIENCE))["type"] == "websocket.accept"
        self.first = await self.receive("state", "refused")

    async def disconnect(self) -> None:
        await self.application.send_input({"type": "websocket.disconnect", "code": 1005})
        await self.application.wait(timeout=PATIENCE)

    async def send(self, **frame: Any) -> None:
        await self.send_raw(text=json.dumps(frame))

    async def send_raw(self, *, text: str | None = None, data: bytes | None = None) -> None:
        await self.application.send_input({"type": "websocket.receive", "text": text, "bytes": data})

    async def close_code(self) -> int:
        message = await self.application.receive_output(timeout=PATIENCE)
        assert message["type"] == "websocket.close"
        return int(message["code"])

    async def receive(self, *kinds: str) -> dict[str, Any]:
        """The next frame of one of these kinds; others are passed over."""
        while True:
            message = await self.application.receive_output(timeout=PATIENCE)
            assert message["type"] == "websocket.send", message
            frame: dict[str, Any] = json.loads(message["text"])
            if not kinds or frame["type"] in kinds:
                return frame

    async def say(self, text: str) -> dict[str, Any]:
        """Send a message and wait for the bot's reply, or for a refusal."""
        await self.send(type="turn", key=str(uuid4()), text=text)
        return await self.receive("bot_turn", "bot_failed", "refused")

    async def label(self, position: int, **answers: Any) -> dict[str, Any]:
        await self.send(type="label", position=position, answers=answers)
        return await self.receive("label_saved", "refused")

    async def exchange(self, text: str, **answers: Any) -> dict[str, Any]:
        """Send a message and label the reply."""
        reply = await self.say(text)
        return await self.label(
            reply["turn"]["position"], **(answers or {"sensible": True, "specific": False})
        )


OpenTab = Callable[..., Awaitable[Tab]]


@pytest.fixture
async def open_tab(transactional_db: None) -> AsyncIterator[OpenTab]:
    """Open tabs that have received their first state; everything is closed at the end."""
    tabs: list[Tab] = []

    async def open_one(
        dialogue: Dialogue,
        *,
        worker: Worker | None = None,
        cookie: str | None = None,
        language: str = "",
    ) -> Tab:
        if cookie is None:
            cookie = await sync_to_async(session_cookie)(worker or await sync_to_async(worker_of)(dialogue))
        tab = Tab(dialogue, cookie, language)
        tabs.append(tab)
        await tab.connect()
        return tab

    yield open_one
    for tab in tabs:
        if not tab.application.future.done():
            await tab.disconnect()
    resident_bots.close()
