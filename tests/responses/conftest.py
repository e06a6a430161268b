from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from bots import host
from bots.models import Bot
from contexts import services as contexts
from contexts.files import ContextRow
from contexts.models import ContextSet, ContextSetVersion
from responses.models import ResponseRun
from responses.services import start_run

MakeVersion = Callable[..., ContextSetVersion]
MakeRun = Callable[..., ResponseRun]


@pytest.fixture(autouse=True)
def _no_bot_outlives_its_test() -> Any:
    yield
    host.close()


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
def make_run(rex: User, make_version: MakeVersion) -> MakeRun:
    """A queued run of a scripted bot with this script."""

    def make(contexts_wanted: int = 3, *, repetitions: int = 1, seed: int = 7, **script: Any) -> ResponseRun:
        bot = Bot.objects.create(
            name="scripty", title="Scripty", adapter="scripted", configuration={"replies": ["Sure."]} | script
        )
        version = make_version(contexts_wanted)
        return start_run(version, bot, owner=rex, seed=seed, repetitions=repetitions)

    return make
