import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.asking import SSA, asking
from tests.chatbots.local_service import LocalService, Received, Sent, running
from tests.conftest import MakeContexts, MakeRun
from turnwise.accounts.models import User
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot
from turnwise.judging.items import subjects
from turnwise.studies.models import Study
from turnwise.studies.services import set_state

GOOD = '{"sensible": true, "specific": false}'

StartService = Callable[[Callable[[str], Any]], LocalService]
MakeStudyOfTwo = Callable[..., Study]


def said(text: str, **message: Any) -> Sent:
    """A reply of a chat completions service."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text, **message},
    }
    usage = {"prompt_tokens": 200, "completion_tokens": 10}
    return Sent({"model": "judge-1", "choices": [choice], "usage": usage})


@pytest.fixture(autouse=True)
def _no_bot_outlives_its_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")
    yield
    resident_bots.close()


def judged_text(received: Received) -> str:
    """The text to judge in a request; empty for the greeting by which a bot is loaded."""
    last = received.json["messages"][-1]["content"].splitlines()[-1]
    try:
        return str(json.loads(last)["judge"]["text"])
    except (ValueError, KeyError, TypeError):
        return ""


@pytest.fixture
def start_service() -> Iterator[StartService]:
    """Start local services that answer by the text that is to be judged, and are reached as a bot."""
    with ExitStack() as stack:

        def start(answer: Callable[[str], Any]) -> LocalService:
            def reply(received: Received) -> Sent:
                given = answer(judged_text(received))
                return given if isinstance(given, Sent) else said(given)

            return stack.enter_context(running(reply))

        yield start


@pytest.fixture
def make_judge(rex: User, start_service: StartService) -> Callable[..., Bot]:
    """A bot whose service answers so."""

    def make(answer: Callable[[str], Any] = lambda _text: GOOD, name: str = "umpire") -> Bot:
        service = start_service(answer)
        settings = {"base_url": service.url, "model": "judge-1", "retries": 0}
        return Bot.objects.create(
            name=name, title=name.title(), adapter="openai-chat", configuration=settings, owner=rex
        )

    return make


@pytest.fixture
def make_items(rex: User, make_contexts: MakeContexts, make_run: MakeRun) -> MakeStudyOfTwo:
    """An open judging study of the responses of Alpha and Beta to as many contexts."""

    def make(contexts: int = 3, *, raters: int = 2) -> Study:
        study = asking(rex, SSA, raters=raters, batch=500)
        version = make_contexts(contexts)
        for system in ("Alpha", "Beta"):
            subjects.add_responses(study, make_run(version, system))
        return set_state(study.pk, Study.State.OPEN)

    return make
