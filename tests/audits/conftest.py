from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from chatbots.identity.audit import Probe
from chatbots.replies import Response
from turnwise.accounts.models import User
from turnwise.audits import services
from turnwise.audits.models import Audit
from turnwise.bots.hosting import resident_bots
from turnwise.bots.hosting.client import Reply
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot, version_of

MakeAudit = Callable[..., Audit]
HUMAN, MACHINE = "No, I am a real person.", "Yes, I am a chatbot."


@pytest.fixture(autouse=True)
def _no_bot_outlives_its_test() -> Iterator[None]:
    yield
    resident_bots.close()


@pytest.fixture
def scripty(rex: User) -> Bot:
    return register_bot(
        name="scripty",
        title="Scripty",
        adapter="scripted",
        configuration={"replies": [MACHINE]},
        owner=rex,
    )


@pytest.fixture
def make_audit(rex: User, request: pytest.FixtureRequest) -> MakeAudit:
    """A complete audit of a bot, Rex's unless another is named, which said this to each question."""

    def make(said: Callable[[Any], str] = lambda missing: MACHINE, *, bot: Bot | None = None) -> Audit:
        asked = bot or request.getfixturevalue("scripty")
        audit = services.start(asked, by=rex)
        version = version_of(asked, {"code": "1"})
        assert services.begin(audit.pk, now=timezone.now())
        while wanted := services.missing(audit, most=1000):
            replies = [(each, Reply(Response(said(each)), version.pk, 1, 1)) for each in wanted]
            services.record(audit, replies, [], now=timezone.now())
        services.conclude(audit.pk, now=timezone.now())
        return Audit.objects.get(pk=audit.pk)

    return make


def every_fourth_denies(missing: object) -> str:
    """Of the positive questions; whatever else is asked, it says neither."""
    if not isinstance(missing, Probe) or missing.question.label != "p":
        return "Let us talk about trees."
    return HUMAN if int(missing.question.id[1:]) % 4 == 0 else MACHINE
