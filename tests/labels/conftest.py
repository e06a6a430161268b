"""Things to judge: responses of two systems to the same contexts, and a study that asks about them."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.models import User
from contexts.models import Context, ContextSet, ContextSetVersion
from crowd.models import Participation
from labels import judging, subjects
from labels.judging import Desk
from labels.models import Batch, Item, JudgingPlan
from responses.models import Response, ResponseRun, Source
from studies.models import Study
from studies.services import save_study, set_state
from tests.conftest import enter

MakeContexts = Callable[..., ContextSetVersion]
MakeRun = Callable[..., ResponseRun]
MakeQueue = Callable[..., Study]


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
        items: int = 0, *, raters: int = 5, batch: int = 50, lease: int = 600, **fields: object
    ) -> Study:
        study = Study(**{"title": "Judge responses", "languages": ["en"], "task": "judging"} | fields)
        save_study(study, owner=rex, consent_text="You judge responses.", targets={})
        plan = JudgingPlan(study=study, raters_per_item=raters, batch_size=batch, lease_seconds=lease)
        subjects.save_plan(plan)
        if items:
            subjects.add_responses(study, make_run(make_contexts(items), "Alpha"))
        return set_state(study.pk, Study.State.OPEN)

    return make


def begin(study: Study, participation: Participation | None = None, *, language: str = "en") -> Desk:
    """Somebody new, or this participant, sits down to judge."""
    batch = judging.begin(participation or enter(study), language=language)
    return desk_of(batch)


def desk_of(batch: Batch) -> Desk:
    return judging.desk_of(batch.public_id, batch.worker_id)


def held(desk: Desk) -> list[str]:
    """Keys of the items before this worker."""
    return [item["key"] for item in judging.state(desk)["items"]]


def item_of(key: str) -> Item:
    return Item.objects.get(key=key)
