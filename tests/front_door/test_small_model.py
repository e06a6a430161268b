"""The button that adds a small language model: from a hub of this machine to a bot in the demo."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import gguf
import pytest
from django.core.cache import cache
from django.core.management import call_command
from pytest_django.fixtures import Settings

from chatbots.base import Context
from chatbots.huggingface.fetching import HubFile
from chatbots.registry import create_bot
from tests.chatbots.tiny_gguf import tiny_llama, write_gguf
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.small_model import services
from turnwise.bots.small_model.services import SMOLLM2, SmallModel, add, folder_of
from turnwise.front_door import demo
from turnwise.studies.demo_studies import create_demo_studies, join_demo

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, settings: Settings) -> None:
    settings.VAR = tmp_path / "var"
    cache.clear()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that a hub of this machine serves, with the hub's addresses."""
    root = tmp_path / "hub"
    handler = partial(SimpleHTTPRequestHandler, directory=str(root))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
        yield root
        server.shutdown()


def put(hub: Path, model: SmallModel, content: bytes) -> None:
    folder = hub / model.file.repository / "resolve" / model.file.revision
    folder.mkdir(parents=True, exist_ok=True)
    (folder / model.file.name).write_bytes(content)


def of(content: bytes) -> SmallModel:
    """The shipped model, with this file."""
    digest = hashlib.sha256(content).hexdigest()
    return replace(SMOLLM2, file=HubFile("owner/tiny-GGUF", "tiny.gguf", len(content), digest))


def test_the_model_is_fetched_unpacked_registered_and_joins_the_demo(
    hub: Path, tmp_path: Path, ada: User, sign_in: SignIn, rex: User
) -> None:
    write_gguf(tiny_llama(tmp_path / "llama"), tmp_path / "m.gguf", gguf.GGMLQuantizationType.Q4_1)
    model = of((tmp_path / "m.gguf").read_bytes())
    put(hub, model, (tmp_path / "m.gguf").read_bytes())
    study = create_demo_studies(ada)
    before = demo.demo_bot()

    add(model, then=join_demo)

    assert services.current(services.LOCKED)["stage"] == services.DONE
    bot = Bot.objects.get(name="smollm2")
    assert (bot.adapter, bot.owner, bot.open_to_all) == ("huggingface-chat", None, True)
    assert [path.name for path in folder_of(model).parent.iterdir()] == ["smollm2"]
    assert (folder_of(model) / "model.safetensors").is_file()
    reply = create_bot(bot.adapter, bot.configuration).respond([Context.from_texts(["I like it"], seed=1)])
    assert isinstance(reply[0].text, str)
    assert study
    assert study.study_bots.get(bot=bot).target == 100
    assert study.study_bots.count() > 1
    assert (before != bot, demo.demo_bot()) == (True, bot)
    page = sign_in(rex).get("/bots/").content.decode()
    assert "is registered, and everyone here can use it" in page
    assert "Add a small language model" not in page


@pytest.mark.parametrize(
    ("served", "words"),
    [
        (None, "answers 404"),
        (b"another", "sent another file: 7 bytes"),
        (b"longer than declared", "sent another file"),
        (b"GGUF and no more", "cannot be read"),
    ],
)
def test_a_failure_says_why_and_leaves_nothing(
    hub: Path, served: bytes | None, words: str, sign_in: SignIn, rex: User
) -> None:
    model = of(b"GGUF and no more")
    hub.mkdir()
    if served is not None:
        put(hub, model, served)

    add(model)

    assert words in services.current(services.LOCKED)["why"]
    assert not Bot.objects.exists()
    assert list(folder_of(model).parent.iterdir()) == []
    page = sign_in(rex).get("/bots/").content.decode()
    assert "It was not added." in page
    assert "Add a small language model of today, 98" in page


def test_an_unreachable_hub_and_a_full_disk_are_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    call_command("add_small_model")
    assert "The hub cannot be reached at http://127.0.0.1:9" in services.current(services.LOCKED)["why"]

    add(replace(SMOLLM2, unpacked=10**18))
    assert "GB are needed" in services.current(services.LOCKED)["why"]


def test_the_page_shows_a_job_under_way_and_starts_no_second_one(sign_in: SignIn, rex: User) -> None:
    client = sign_in(rex)
    services.report(services.FETCHING, 49_181_216, SMOLLM2.file.size)

    page = client.get("/bots/").content.decode()
    answer = client.post("/bots/small-model/")

    assert ("Fetching it: 50&nbsp;% of 98" in page, 'value="50"' in page) == (True, True)
    assert "Add a small language model" not in page
    assert answer["Location"] == "/bots/"
    assert services.current(services.LOCKED)["stage"] == services.FETCHING
