import io
from collections import Counter
from collections.abc import Iterator

import pytest
from django.apps import apps
from django.core.management import call_command

from tests.server import Server
from turnwise.bots.models import BotCopy
from turnwise.studies.models import Study

# Of the server that rehearsals share, once it runs: to start one takes a third of a rehearsal.
SHARED: list[str] = []


@pytest.fixture(scope="session")
def shared_server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server for all rehearsals of this process of tests."""
    server = Server(tmp_path_factory.mktemp("server") / "log")
    server.start()
    yield server.address
    server.end()


@pytest.fixture
def _same_database(_same_database: None, shared_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that a rehearsal starts, and the one that rehearsals share, find the database of the tests."""
    monkeypatch.setattr("tests.rehearsals.conftest.SHARED", [shared_server])


def rehearsed(study: Study, *options: str, own_server: bool = False) -> str:
    """Rehearse a study; what the command says.

    Args:
        study: the study.
        options: those of the command.
        own_server: True if the rehearsal starts its server, as it does by default.
    """
    said = io.StringIO()
    server = [] if own_server else [f"--url={address}" for address in SHARED]
    call_command("rehearse", str(study.pk), *server, *options, stdout=said)
    return said.getvalue()


def rows() -> Counter[str]:
    """How many rows every table of ours has, but for what processes say of themselves.

    A server that takes too long to end is killed, and its last word stays for a while.
    """
    ours = [model for model in apps.get_models() if model._meta.app_label in OURS]
    ours.remove(BotCopy)
    return Counter({model.__name__: model.objects.count() for model in ours})


OURS = (
    "bots",
    "studies",
    "crowd",
    "dialogues",
    "labels",
    "judging",
    "reports",
    "rehearsals",
    "responses",
    "tasks",
)
