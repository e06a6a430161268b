from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import MakeVersion
from turnwise.accounts.models import User
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot
from turnwise.responses.models import ResponseRun
from turnwise.responses.services import start_run

MakeRun = Callable[..., ResponseRun]


@pytest.fixture(autouse=True)
def _no_bot_outlives_its_test() -> Any:
    yield
    resident_bots.close()


@pytest.fixture
def make_run(rex: User, make_version: MakeVersion) -> MakeRun:
    """A queued run of a scripted bot with this script."""

    def make(contexts_wanted: int = 3, *, repetitions: int = 1, seed: int = 7, **script: Any) -> ResponseRun:
        bot = Bot.objects.create(
            name="scripty", title="Scripty", adapter="scripted", configuration={"replies": ["Sure."]} | script
        )
        version = make_version(contexts_wanted)
        return start_run(version, bot, owner=rex, seed=seed, repetitions=repetitions)

    return make
